"""What is tried on both sides of a judgement before and while it is measured."""

from __future__ import annotations

import time
from collections import defaultdict
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from perfvcs.errors import PerfError
from perfvcs.judge.attempt import Attempt, Sandbox
from perfvcs.judge.footprint import Stamps, differing, stamps
from perfvcs.judge.guardcheck import GuardCheck, Rejected
from perfvcs.judge.installed import NOTHING, Installed, installed, replaced, standing_in
from perfvcs.judge.plain import BASE, Plain, Side, typical
from perfvcs.measure.executor import LocalExecutor, Wanted
from perfvcs.plugins.collector import OF_COPIES, Observations, Run
from perfvcs.repository.seals import remove_foreign
from perfvcs.text.quantity import quantities
from perfvcs.text.words import listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from perfvcs.git.project import Project
    from perfvcs.judge.candidate import Candidate
    from perfvcs.judge.correctness import Correctness, HiddenFiles
    from perfvcs.measure.journal import Identity
    from perfvcs.measure.sites import SiteKind, Sites
    from perfvcs.measure.tally import Tally

AMONG = 5  # blocks, after which one more of each side runs
SHARE = 0.25  # of the budget for all of them
FEWEST_TURNS = 3  # a plain one, and two blocks
EARLY = 4  # executions of the base before a target is built
EARLY_SHARE = 0.1  # of the budget for these


class Unaffordable(PerfError):
    """The budget does not hold what is needed, which takes so many ``seconds`` more."""

    exit_code = 4

    def __init__(self, what: str, seconds: float) -> None:
        super().__init__(what)
        self.seconds = seconds


class Trials:
    """What is tried on the sites of a judgement before it is measured.

    Makes the executor of the session (``width`` blocks at a time): that has the sites. ``check`` is
    called with them, the place of the target among the versions, and the sandbox, in which all of
    it runs if that is ``sealed``. ``candidates`` are the targets in their order. ``lasting`` gives,
    of the plain executions of one, the checks that no later execution takes back. ``hidden`` files
    are laid over what was built. ``spent`` are the seconds that laying the targets out took.
    ``counts``: their processes are counted.
    """

    width = 1

    def __init__(
        self,
        budget: float,
        check: Correctness,
        candidates: Sequence[Candidate],
        lasting: Callable[[Sequence[Plain]], Mapping[str, GuardCheck]],
        hidden: HiddenFiles,
        *,
        spent: float = 0.0,
        sealed: bool = False,
        counts: bool = False,
    ) -> None:
        self.spent = spent
        self.budget, self.check, self.candidates = budget, check, candidates
        self.lasting, self.hidden = lasting, hidden
        self.sealed, self.counts = sealed, counts
        self.end = time.monotonic() + budget
        self.tries: Sequence[Attempt] = ()
        self.rejected: dict[int, Mapping[str, GuardCheck]] = {}
        self.early: dict[int, Side] = {}
        self._installed: defaultdict[int, Installed] = defaultdict(lambda: NOTHING)  # by version

    def __call__(self, sites: Sites, tally: Tally) -> LocalExecutor:
        """The executor of the session."""
        return _Executor(sites, tally, self)

    def begin(self, early: Sequence[Attempt]) -> None:
        """Execute the base before anything of a target has run: what it takes then, no target can
        have changed.
        """
        end = min(self.end, time.monotonic() + EARLY_SHARE * self.budget)
        for turn in range(EARLY):
            for attempt in early:
                attempt.end = self.end
                if turn == 0:
                    attempt.first(end - time.monotonic())
                elif time.monotonic() < end:
                    attempt.more()
        self.early = {attempt.number: attempt.plain.target for attempt in early}

    @property
    def _least(self) -> float:
        """The seconds that the fewest executions of a base and a target take that show anything: in
        pairs, and without perfvcs' variables. Those of the job that takes the least.
        """
        return 2 * FEWEST_TURNS * min(map(typical, self.early.values()), default=0.0)

    def afford(self, seconds: float, doing: str) -> None:
        """Raises Unaffordable where less than so many seconds are left."""
        left = max(0.0, self.end - time.monotonic())
        if left <= seconds:
            took, rest = quantities([seconds, left], "s")
            what = f"{doing} takes {took} or more, and {rest} are left" if seconds else ""
            raise Unaffordable(what or f"nothing is left for {doing}", seconds)

    def run(
        self, sites: Sites, sandbox: Sandbox | None, tally: Tally, look: Callable[[int], None]
    ) -> None:
        """Try what is to be tried: first what a first execution does, which nothing came before,
        then whether each target is right. One that is rejected is given up; Rejected is raised
        where nothing else happened. ``look`` is called after what ran of the version at a position,
        but for executions, which look themselves.
        """
        self.afford(self._least, "executing both sides")
        end = min(self.end, time.monotonic() + SHARE * self.budget)
        for position in self._positions:
            self._reject(sites, position, tally, self._spoilt(sites, position, built=True))
        for attempt in self.tries:
            attempt.plain.early = self.early.get(attempt.number, Side())
            attempt.end = self.end
            attempt.first(end - time.monotonic())
        look(BASE)
        for position in self._positions:
            with self._giving_up(sites, position, tally):
                self.check(sites, position, sandbox, look)
        for place, attempt in enumerate(self.tries):
            attempt.run((end - time.monotonic()) / (len(self.tries) - place))
        look(BASE)
        for position in self._positions:
            of_target = [plain for plain in self.plain if plain.position == position]
            checks = {**self.lasting(of_target), **self._spoilt(sites, position)}
            self._reject(sites, position, tally, checks)

    def _spoilt(self, sites: Sites, position: int, *, built: bool = False) -> dict[str, GuardCheck]:
        """The check whether the base's benchmarks are still what runs in a target's copies, which
        were only just ``built``, or ran, too: what tests make is theirs, but for modules of Python,
        which the target's code may have made meanwhile.
        """
        base, candidate = sites.folders(BASE)[0], self.candidates[position - 1]
        names: list[str] = []
        for copy in sites.folders(position):
            names += replaced(candidate, base, copy)
            end = "" if built else ".py"
            names += standing_in(sites.project, candidate, base, copy, end)
        environments = zip(sites.environments(BASE), sites.environments(position), strict=False)
        for of_base, own in environments:
            found = installed(sites.project, candidate, of_base.folder, own.folder, of_base.bring)
            names += found.made
            self._installed[position] += found
        if not names:
            return {}
        said = f"what runs in its copy changes what measures or judges it ({listed(names)})"
        return {"benchmark_files": GuardCheck("rejected", said)}

    @property
    def _positions(self) -> list[int]:
        """The places of the targets that are still tried."""
        return list(dict.fromkeys(attempt.plain.position for attempt in self.tries))

    def _reject(
        self, sites: Sites, position: int, tally: Tally, checks: Mapping[str, GuardCheck]
    ) -> None:
        """Give up a target that checks reject, if there are any."""
        if checks:
            with self._giving_up(sites, position, tally):
                raise Rejected(checks)

    @contextmanager
    def _giving_up(self, sites: Sites, position: int, tally: Tally) -> Iterator[None]:
        """Give up a target that is rejected inside, and the session where no other is left."""
        try:
            yield
        except Rejected as error:
            self.rejected[position] = error.checks
            self.tries = [each for each in self.tries if each.plain.position != position]
            if not self.tries and not tally.failures:
                raise
            for number in range(len(sites.cells)):
                tally.give_up(number, position, str(error))
            if not self.tries:
                tally.alive.clear()

    def complete(self) -> None:
        """Execute what the guard still needs once the measurement is decided."""
        for attempt in self.tries:
            attempt.end = min(attempt.end, self.end)
            attempt.complete()

    def note(self, changed: Iterable[str], position: int) -> None:
        """Note files of the base's copy that the version at a position changed."""
        for attempt in self.tries:
            target = attempt.plain.target
            if position == attempt.plain.position:
                target.changed += sorted(set(changed).difference(target.changed))

    @property
    def plain(self) -> list[Plain]:
        """What was seen."""
        return [attempt.plain for attempt in self.tries]

    def checks(self, project: Project, position: int) -> dict[str, GuardCheck]:
        """The checks of the candidate at a position that rest on what was laid out, by names."""
        found = {"correct": self.check.check, "installed": self._installed[position].check}
        if self.hidden:
            candidate = self.candidates[position - 1]
            found["hidden"] = self.hidden.check(project, candidate, position)
        return found


class _Executor(LocalExecutor):
    """Tries the sites once they are made."""

    def __init__(self, sites: Sites, tally: Tally, trials: Trials) -> None:
        super().__init__(sites, tally)
        sites.built = trials.hidden.lay
        self._trials = trials
        self._sandbox = Sandbox.of(sites) if trials.sealed else None
        self._position = BASE  # of the version that is executed
        self._took = 0.0  # seconds to prepare the base
        self._by_builds: dict[int, set[str]] = {}
        self._stamps: Stamps = {}
        self.within = self._around

    def prepare(self, identity: Identity, stack: ExitStack) -> None:
        """Make the sites and try them."""
        super().prepare(identity, stack)
        self._stamps = self._copies()
        self._trials.tries = [
            attempt
            for position in range(BASE + 1, len(self.versions))
            for attempt in self._attempts(position)
        ]
        for position, changed in self._by_builds.items():
            self._trials.note(changed, position)
        if self._trials.tries:
            self.tally.progress.say("running both sides as a user would")
            self._trials.run(self.sites, self._sandbox, self.tally, self._look)

    def _attempts(self, position: int) -> list[Attempt]:
        """The plain executions of a version; of the base, those before there is any other."""
        return [
            Attempt(
                self.sites,
                number,
                position,
                self.scratch,
                self.identity.seed,
                self._sandbox,
                counts=self._trials.counts,
            )
            for number in range(len(self.cells))
            if {(number, BASE), (number, position)} <= self.tally.alive
        ]

    def _prepare(self, position: int, kind: SiteKind, stack: ExitStack) -> None:
        """Make the sites of a version, and note what that changes in the base's copies."""
        if position == BASE:
            self._trials.afford(self._trials.spent, "preparing what is compared")
            began = time.monotonic()
            super()._prepare(position, kind, stack)
            self._took += time.monotonic() - began
            return
        if not self._by_builds:
            self._trials.begin(self._attempts(BASE))
        # what the base installed or built, the target may share, but not its checkout
        least = min(self._took, self._trials.spent)
        ahead = len(self.versions) - position
        self._trials.afford(ahead * least, "preparing what is compared")
        before = self._copies()
        super()._prepare(position, kind, stack)
        changed = differing(before, self._copies()) if before else set()
        self._by_builds.setdefault(position, set()).update(changed, self._foreign())

    def _copies(self) -> Stamps:
        """The base's copies as they are now; empty where none could be made."""
        return stamps(self.sites.folders(BASE))

    def running(self, blocks: Iterable[Wanted]) -> Iterator[None]:
        """Run blocks, and now and then both sides as a user would."""
        for block in blocks:
            yield from super().running([block])
            if block.block % AMONG == AMONG - 1:
                for attempt in self._trials.tries:
                    if attempt.number in block.cells and self.tally.fits(attempt.number):
                        attempt.more()
                self._look(BASE)

    def _execute(
        self, number: int, position: int, binary: int, seed: int, failures: list[str]
    ) -> Observations | None:
        """One execution, after which no target has changed the base's copies unnoticed; it is
        looked at after the base's, too, so that all find the same caches.
        """
        self._position = position
        seen = super()._execute(number, position, binary, seed, failures)
        self._look(position)
        return seen

    def _note_result(self, number: int, position: int, run: Run, seen: Observations) -> None:
        if self.cells[number].collector_name not in OF_COPIES:
            self._trials.hidden.end(position, run.cwd)
        super()._note_result(number, position, run, seen)

    def _look(self, position: int) -> None:
        """Note what the version at a position has changed in the base's copies since the last look,
        which the base may.
        """
        before, self._stamps = self._stamps, self._copies()
        if position != BASE:
            self._trials.note([*differing(before, self._stamps), *self._foreign()], position)

    def _foreign(self) -> list[str]:
        """The seals of kept builds and environments that what ran here has written."""
        home = self.sites.home
        return [str(path.relative_to(home)) for path in remove_foreign(home)]

    def _around(self, run: Run) -> tuple[str, ...]:
        """The words that start an execution, which begins now."""
        self._trials.hidden.begin(self._position, run.cwd)
        if self._sandbox is None:
            return run.within
        return self._sandbox.around(run.scratch, run.scratch, run.cwd, self.folders.folder)
