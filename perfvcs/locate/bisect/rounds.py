"""A bisection that measures: sessions of blocks as ``decide`` asks for them, every one of them
stored, until the commit is known.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import zip_longest

from msgspec.structs import replace

from perfvcs.jobs.cell import Cell
from perfvcs.locate.bisect.decision import Decision, NextStep, StoppingRules, decide, together
from perfvcs.locate.bisect.evidence import Evidence
from perfvcs.locate.bisect.instructioncounts import Guide, InstructionCounts
from perfvcs.locate.bisect.posterior import Prior
from perfvcs.locate.bisect.saved import Begun, Measuring, SavedBisections
from perfvcs.locate.bisect.searched import KeptSites, Searched
from perfvcs.locate.bisect.seen import Seen, SeenBlock
from perfvcs.locate.bisect.span import Span, UnmeasurableEnd
from perfvcs.locate.bisect.suspicion import SuspectCommit, stored_levels
from perfvcs.locate.repeating import StoredCount
from perfvcs.measure.announcement import announced
from perfvcs.measure.journal import Identity
from perfvcs.measure.rig import Rig
from perfvcs.measure.session import Session
from perfvcs.measure.storedsession import CampaignOutcome, kept
from perfvcs.profile.rules import USUAL_DELTA
from perfvcs.profile.summary import Measured
from perfvcs.system.numeric import Floats
from perfvcs.text.quantity import duration
from perfvcs.text.words import counted

EXACT_LEAST = 1e-9  # share by which ends differ
# seconds for which quick benchmarks may go on where many noisy executions show little
PROVING = 300.0


@dataclass
class Outcome:
    """How a bisection ended: ``why`` as in ``NextStep``, or ``budget``; ``blocks`` and
    ``executions`` with all that was measured for it before: ``recalled`` blocks.

    ``values`` has the mean of each commit by its number, ``sides`` those of the parent and the
    commit where the two were measured in turns. ``guide`` is what counts of instructions say, if
    they were taken and differ.
    """

    decision: Decision
    why: str
    evidence: Evidence
    logarithmic: bool
    blocks: int
    recalled: int
    executions: int
    values: Mapping[int, float]
    sides: Mapping[int, tuple[float, float]]
    guide: Guide | None = None


@dataclass
class Lane:
    """A session of a search that is open: its step, the numbers of its commits, and what it has
    measured.
    """

    step: NextStep
    numbers: list[int]
    session: Session
    stack: ExitStack
    blocks: list[SeenBlock] = field(default_factory=list)


class Search:
    """Measures one cell on the commits of a span.

    ``begun`` is kept up to date, so that another call goes on where this one ended. ``read`` gives
    the ``suspects``, once the ends seem to differ.
    """

    def __init__(
        self,
        rig: Rig,
        cell: Cell,
        span: Span,
        begun: Begun,
        saved: SavedBisections,
        read: Callable[[], list[SuspectCommit] | None],
        *,
        least: float | None = None,
        seed: int | None = None,
    ) -> None:
        self.rig, self.repository, self.progress = rig, rig.repository, rig.progress
        self.span, self.begun, self.saved = span, begun, saved
        # a fresh checkout is compared with others that have run: its first execution is slower,
        # unless its values repeat anyway
        warmup = cell.warmup if cell.exact else max(1, cell.warmup)
        self.cell = replace(cell, executions=1, binaries=1, auto=None, warmup=warmup)
        self.seed = seed
        target, ends = begun.target, (span.commits[0], span.commits[-1])
        stored = StoredCount(target.job, target.collector, target.uid, target.size, target.metric)
        exact = cell.exact and not stored.varies(self.repository.index, ends)
        # of what repeats exactly any difference counts, as in `perf check`
        usual = EXACT_LEAST if exact else USUAL_DELTA
        self.least = usual if least is None else least
        self.suspects: list[SuspectCommit] | None = None
        self._read: Callable[[], list[SuspectCommit] | None] | None = read
        self.seen = Seen(span, begun, exact=exact)
        self.levels: dict[int, float] | None = None
        self.kept = KeptSites()
        self.on = Searched(
            rig=rig,
            cell=self.cell,
            span=span,
            begun=begun,
            saved=saved,
            seen=self.seen,
            kept=self.kept,
            seed=seed,
        )
        self.counts = InstructionCounts(self.on, self._weights)

    def run(self, budget: float | None = None) -> Outcome:
        """Measures until the decision says that the search ended, or for ``budget`` seconds."""
        begin, before = time.monotonic(), self.begun.seconds
        deadline = None if budget is None else begin + budget
        self.seen.recall(self.repository.index)
        recalled = len(self.seen.blocks)
        self.begun.ended = ""
        self.counts.recall()
        try:
            with self.kept.stack:
                decision = self._informed()
                while not _is_over(deadline):
                    if self.counts.pay(decision, partial(self._remaining, decision)):
                        self.counts.take()
                    elif decision.step.what == "ended":
                        break
                    else:
                        self._announce(decision)
                        self._measure(decision, deadline)
                    decision = self._informed()
        finally:
            self.begun.seconds = before + time.monotonic() - begin
            self.saved.write()
        why = decision.step.why or "budget"
        self.begun.ended = "" if why == "budget" else why
        self.saved.write()
        return Outcome(
            decision=decision,
            why=why,
            evidence=self.seen.evidence(),
            logarithmic=self.seen.is_logarithmic(),
            blocks=len(self.seen.blocks),
            recalled=recalled,
            executions=sum(self.seen.counts().values()),
            values=self.seen.values(),
            sides=self.seen.sides(),
            guide=self.counts.guide,
        )

    def _informed(self) -> Decision:
        """The decision with what commits change; reads the changes between sessions, which are to
        be quiet.
        """
        decision = self._decide()
        if self._read is None or decision.belief is None:
            return decision
        self.suspects, self._read = self._read(), None
        return self._decide()

    def _decide(self) -> Decision:
        least = self.least
        if not self.seen.is_logarithmic():
            least *= max(abs(value) for block in self.seen.blocks for value in block.values)
        quick = (
            int(PROVING * len(self.seen.blocks) / self.begun.seconds) if self.begun.seconds else 0
        )
        rules = StoppingRules(
            least, max(StoppingRules.most_pairs, quick), max(StoppingRules.most_blocks, quick)
        )
        return decide(self.seen.evidence(), self._weights, rules)

    def _weights(self, effect: float) -> Floats:
        """The commits' shares of the prior, by the difference of the ends."""
        if self.levels is None and self.seen.series[0]:
            sessions = {session.session for session in self.begun.sessions}.union(
                self.begun.ignored
            )
            self.levels = stored_levels(
                self.repository, self.span, self.begun.target, *self.seen.series, sessions
            )
        touched = None if self.suspects is None else [suspect.touches for suspect in self.suspects]
        levels = self.levels or {} if self.seen.is_logarithmic() else {}
        return Prior(self.span.last, touched, levels, self.counts.guide).weights(effect)

    def _announce(self, decision: Decision) -> None:
        step, names = decision.step, self.span.commits
        if step.what == "pair":
            text = f"{names[0][:10]} and {names[-1][:10]}, in turns"
        elif step.what == "confirm":
            text = f"{names[step.commit][:10]} against its parent, in turns"
        else:
            candidates = sorted({following.commit for following in self._at_once(decision)})
            text = (
                f"{' and '.join(names[commit][:10] for commit in candidates)}{self._left(decision)}"
            )
        self.progress.say(f"measuring {text}")

    def _left(self, decision: Decision) -> str:
        """How many commits are open, and how many more are to be built for that."""
        if decision.belief is None:
            return ""
        builds, blocks = self._remaining(decision)
        per = (
            self.begun.seconds / len(self.seen.blocks)
            if self.seen.blocks and self.begun.seconds
            else 0.0
        )
        left = f", {duration(max(1.0, per * blocks))} left" if per else ""
        return (
            f" ({counted(len(decision.belief.range()), 'commit')} in question,"
            f" {counted(builds, 'build')} to come{left})"
        )

    def _remaining(self, decision: Decision) -> tuple[int, int]:
        """About how many more builds and blocks it takes: the bits that are open, divided by what
        one block tells.
        """
        from math import ceil, log2

        belief, pairs = decision.belief, len(self.seen.evidence().pairs)
        assert belief is not None
        shares = [float(share) for share in belief.jump / belief.jump.sum() if share > 0]
        bits = -sum(share * log2(share) for share in shares)
        ratio = (belief.effect / belief.error) ** 2 / pairs if belief.error else float("inf")
        per_block = min(1.0, ratio / 4)
        return ceil(bits - 0.5) if bits > 0.5 else 0, ceil((bits + 3) / max(per_block, 0.02))

    def _measure(self, decision: Decision, deadline: float | None) -> None:
        """Opens sessions and runs blocks in them as long as the next commits to measure are theirs:
        one session, or on hosts one for each of several candidates.
        """
        begin, before, earlier = time.monotonic(), self.begun.seconds, list(self.seen.blocks)
        lanes: dict[NextStep, Lane] = {}
        opened: list[Lane] = []
        try:
            with ExitStack() as stack:
                while decision.step in lanes or not lanes:
                    wanted = self._at_once(decision)
                    for step in [step for step in lanes if step not in wanted]:
                        lanes.pop(step).stack.close()
                    for step in wanted:
                        if step not in lanes:
                            lanes[step] = self._open(step, wanted[step], stack)
                            opened.append(lanes[step])
                    self._run(lanes, wanted)
                    self.seen.blocks = earlier + [block for lane in opened for block in lane.blocks]
                    if not all(lane.blocks for lane in lanes.values()) or _is_over(deadline):
                        return
                    decision = self._decide()
        finally:
            self.begun.seconds = before + time.monotonic() - begin

    def _at_once(self, decision: Decision) -> dict[NextStep, int]:
        """How many blocks of which steps run at the same time: as many as hosts take the time of
        one.
        """
        width = self.rig.executor.width
        if decision.step.what != "block" or width == 1:
            return {decision.step: width}

        return Counter(
            NextStep("block", commit) for commit in together(self.seen.evidence(), decision, width)
        )

    def _open(self, step: NextStep, blocks: int, stack: ExitStack) -> Lane:
        """Begins a session of a step. What it gives is stored when its own stack, or this one, is
        closed.
        """
        numbers = self.seen.commits(step.what, step.commit)
        sites = self.on.sites(numbers, [self.cell])
        identity = Identity.new(self.seed)
        outcome = CampaignOutcome()
        begun_session = Measuring(
            identity.session, step.what, self.span.commits[step.commit] if step.commit else ""
        )
        self.begun.sessions.append(begun_session)
        self.saved.write()
        lane_stack = stack.enter_context(ExitStack())
        lane_stack.callback(
            lambda: None if outcome.profiles else self.begun.sessions.remove(begun_session)
        )
        session = lane_stack.enter_context(
            Session(sites, self.progress, identity, executor=self.rig.executor)
        )
        lane_stack.enter_context(kept(self.repository, session, outcome))
        self.on.note_built(numbers)
        session.begin({0: blocks})
        session.warm_up({0: blocks})
        return Lane(step, numbers, session, lane_stack)

    def _run(self, lanes: Mapping[NextStep, Lane], wanted: Mapping[NextStep, int]) -> None:
        """Runs blocks of all sessions at the same time; skips a commit that fails."""
        running = []
        for step, blocks in wanted.items():
            if lanes[step].blocks:
                lanes[step].session.begin({0: blocks})
            running.append(lanes[step].session.running({0: blocks}))
        for _ in zip_longest(*running):
            pass
        for lane in lanes.values():
            profiles = lane.session.so_far(0)
            if profiles is None:
                lane.blocks = []
                self.on.skip(lane.session, lane.numbers, ends=True)
                continue
            measured = [Measured.of(profile) for side in profiles for profile in side]
            lane.blocks = self.seen.read(measured, lane.step.what, lane.step.commit)
            if not lane.blocks:
                raise UnmeasurableEnd(
                    f"{self.begun.target.job} reports no usable {self.begun.target.metric}: name"
                    " another --metric"
                )


def _is_over(deadline: float | None) -> bool:
    return deadline is not None and time.monotonic() >= deadline


@contextmanager
def measuring(rig: Rig, *, wait: bool) -> Iterator[Rig]:
    """The right to measure, seen by others."""
    from perfvcs.locate.blame.laboratory import Once

    repository = rig.repository
    with announced(repository.home, (), rig.progress) as seen, repository.measuring(wait=wait):
        yield rig.watched(Once(seen))
