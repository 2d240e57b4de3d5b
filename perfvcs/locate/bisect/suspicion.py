"""The commits of a span by what they change, before anything is measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import expm1, isfinite, log
from statistics import fmean
from typing import TYPE_CHECKING

from perfvcs.locate.bisect.decision import decide
from perfvcs.locate.bisect.evidence import Evidence
from perfvcs.locate.select.impact import impact
from perfvcs.locate.select.reached import BenchmarkUnit, Reach, recorded, seen
from perfvcs.locate.select.selection import touches
from perfvcs.locate.select.static import reach as static_reach
from perfvcs.locate.select.static import resolved
from perfvcs.locate.sources.differences import UNREAD, Changes, FileChange, along
from perfvcs.locate.sources.uses import Sources
from perfvcs.text.words import counted, plural

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from perfvcs.jobs import Cell
    from perfvcs.jobs.config import Config
    from perfvcs.locate.bisect.decision import Decision
    from perfvcs.locate.bisect.saved import Target
    from perfvcs.locate.bisect.span import Span
    from perfvcs.measure.progress import Progress
    from perfvcs.repository import Repository


TIME_METRICS = ("cpu", "wall")
SLOWER = 60  # how much longer an execution takes under valgrind
CHEAP = 60.0  # seconds that counting may take in any case


@dataclass(frozen=True)
class Guide:
    """What counts say: the difference of the ends, as a logarithm that is above 0 where the bad one is worse, and the probability of each
    commit to have made it, shape (commits,).
    """

    effect: float
    jump: NDArray[np.float64]

    def relative(self, *, improvement: bool = False) -> float:
        """The bad end's count by the good one's, minus 1."""
        return expm1(-self.effect if improvement else self.effect)


@dataclass
class Counting:
    """A search by counts; ``count`` gives those of some commits by number, and leaves out what cannot be counted.

    ``known`` are the counts so far. It ends by itself, mostly after as many commits as halving takes.
    """

    last: int
    known: dict[int, float]
    skipped: set[int]
    weights: Callable[[float], NDArray[np.float64]]
    sign: int
    count: Callable[[Sequence[int]], dict[int, float]]

    def run(self) -> Guide | None:
        """Count until the commits are known; None where the counts do not differ, or in the other direction."""
        while (decision := self._decide()).step.what != "ended":
            wanted = self._wanted(decision)
            found = self.count(wanted) if wanted else {}
            self.known |= found
            self.skipped |= set(wanted) - found.keys()
            if not found and {0, self.last} & self.skipped:
                return None
            if not wanted:
                break
        return self.guide()

    def guide(self) -> Guide | None:
        """What the counts so far say; None where they do not differ, or in the other direction."""
        decision = self._decide()
        if decision.belief is None or decision.step.why in ("equal", "unproved", "reversed"):
            return None
        return Guide(decision.belief.effect, decision.belief.jump)

    def _wanted(self, decision: Decision) -> list[int]:
        step = decision.step
        places = {"pair": [0, self.last], "confirm": [step.commit - 1, step.commit]}.get(step.what, [step.commit])
        return [place for place in places if place not in self.known and place not in self.skipped]

    def _decide(self) -> Decision:
        evidence = Evidence(self.last, exact=True, skipped=self.skipped)
        levels = {place: self.sign * log(value) for place, value in sorted(self.known.items())}
        if {0, self.last} <= levels.keys():
            ends = levels[0], levels[self.last]
            evidence.add(*ends)
            for place, level in levels.items():
                if 0 < place < self.last:
                    evidence.add(*ends, place, level)
                if place - 1 in levels:
                    evidence.add_step(place, levels[place - 1], level)
        return decide(evidence, self.weights)


def counting(cell: Cell, target: Target) -> Cell | None:
    """The benchmark under a collector that counts its instructions; None where nothing does, or where not its time is asked for."""
    from dataclasses import replace

    from perfvcs.plugins import build
    from perfvcs.plugins.collector import Collector

    if target.metric not in TIME_METRICS or target.uid != cell.name or cell.exact:
        return None
    options: dict[str, object] = {"tool": "cachegrind", "repeat": 0}
    member: Collector = build("collectors", "instructions", options, f"job `{cell.name}`")
    if member.available():
        return None
    return replace(
        cell, collector_name="instructions", collector=member, options=options, executions=1, warmup=0, binaries=1, retries=1,
        postprocessors=(), auto=None, timeout=cell.timeout * SLOWER,
    )  # fmt: skip


def pays(seconds: float, commits: int, blocks: int) -> bool:
    """Whether counts of some commits are worth their time, where an execution takes so many ``seconds`` and ``blocks`` are ahead."""
    return seconds * SLOWER * commits <= max(CHEAP, 3 * seconds * blocks)


MOST_READ = 1000  # commits whose files are looked into: of more, all are alike
NOTHING_RUNS = "changes nothing that runs"
UNTOUCHED = "changes nothing that the benchmark is known to run"


@dataclass(frozen=True)
class SuspectCommit:
    """A commit, whether it ``touches`` what the benchmark runs, and the ``reasons``, or why not.

    Reasons are functions and files. ``read``: whether all that it changes was looked into.
    """

    commit: str
    touches: bool
    reasons: tuple[str, ...]
    read: bool = True


def suspects(
    repository: Repository, span: Span, target: Target | None, config: Config, progress: Progress,
    most: int | None = None,
) -> list[SuspectCommit] | None:  # fmt: skip
    """What is known of each commit after the good one, in order; None of more than are read.

    ``most`` as in ``changes.along``.
    """
    if span.last > MOST_READ:
        return None
    commits = counted(span.last, "commit")
    progress.say(f"reading what {commits} {plural(span.last, 'changes', 'change')}")
    sources = Sources(repository.project, repository.home, span.bad)
    reach = _reach(repository, span, target, config, sources) if target else None
    if reach is not None and reach.processes:
        reach = None  # what the processes run that it starts is not known
    made = along(repository.project, span.commits, most)
    rows = zip(span.commits[1:], made, strict=True)
    return [_followed(sources, commit, change, reach, config.overlay) for commit, change in rows]


def _reach(repository: Repository, span: Span, target: Target, config: Config, sources: Sources) -> Reach | None:
    """What the target runs: as it was recorded on the span's newest commits or before, else the functions in which it was seen, else
    what it can run by the ``sources`` of the bad end.
    """
    unit = BenchmarkUnit(target.job, target.collector, "" if target.uid in target.job else target.uid)
    commits = [*reversed(span.commits), *repository.with_profiles(repository.project.ancestors(span.good))]
    found = recorded(repository, commits, [unit])
    same = found.get(unit) or found.get(BenchmarkUnit(target.job, target.collector))
    if same or (same := next((reach for one, reach in found.items() if one.job == target.job), None)):
        named = resolved(sources, same)
        if not isinstance(named, str):
            return named
    for commit in repository.with_profiles(commits):
        headers = [one for one in repository.index.headers([commit]) if one.job.label == target.job and one.dirty is None]
        for profile in repository.profiles(headers):
            if (reach := seen(profile)).functions:
                return reach
        if headers:
            break
    return _static(span, target, config, sources)


def _static(span: Span, target: Target, config: Config, sources: Sources) -> Reach | None:
    """What the target can run by the sources of the bad end; None where these do not tell."""
    from perfvcs.jobs import matrix

    cell = next((cell for cell in matrix(config) if cell.label == target.job), None) if config.job else None
    if cell is None:
        return None
    command = " ".join(filter(None, (cell.cmd, cell.args)))
    reach = static_reach(sources, span.bad, command, shell=cell.shell)
    return None if isinstance(reach, str) else reach


def _followed(sources: Sources, commit: str, made: Changes, reach: Reach | None, overlay: Sequence[str]) -> SuspectCommit:
    """The same as ``suspect``, where names are followed to where ``sources`` use what changed."""
    found = suspect(commit, made, reach, overlay)
    if reach is None or found.touches or found.reasons == (NOTHING_RUNS,):
        return found
    followed = impact(Changes(_mattering(made, overlay)), sources, reach.outside)
    reason = touches(reach, followed)
    return SuspectCommit(commit, touches=True, reasons=(reason,)) if reason else found


def suspect(commit: str, made: Changes, reach: Reach | None, overlay: Sequence[str] = ()) -> SuspectCommit:
    """A commit by the functions and files that it changes itself; ``reach`` is what the benchmark runs, None where that is not known."""
    mattering = _mattering(made, overlay)
    if not mattering:
        return SuspectCommit(commit, touches=False, reasons=(NOTHING_RUNS,))
    whys = {file.path: f" ({file.why})" for file in mattering if file.why}
    unread = {file.path: "" for file in mattering if file.why == UNREAD}
    unseen = tuple(f"{path}{why}" for path, why in (whys | unread).items())
    if reach is None:
        named = [f"{file.path}:{name}" for file in mattering for name in sorted(file.functions)]
        reasons = (*named, *unseen) or tuple(file.path for file in mattering)
        return SuspectCommit(commit, touches=True, reasons=reasons, read=not unread)
    touched = tuple(sorted(reach.touched(made)))
    if touched or unseen:
        return SuspectCommit(commit, touches=True, reasons=(*touched, *unseen), read=not unread)
    return SuspectCommit(commit, touches=False, reasons=(UNTOUCHED,))


def _mattering(made: Changes, overlay: Sequence[str]) -> tuple[FileChange, ...]:
    return tuple(file for file in made.files if file.matters and not _is_overlaid(file.path, overlay))


def _is_overlaid(path: str, overlay: Sequence[str]) -> bool:
    """Whether a file is one of the benchmark's own, which all commits get from the newest configuration."""
    return path == "perf.toml" or any(path == entry.strip("./") or path.startswith(f"{entry.strip('./')}/") for entry in overlay)


def stored_levels(
    repository: Repository, span: Span, target: Target, key: str, environment: str, without: set[str]
) -> dict[int, float]:
    """By number of a commit the logarithm of what was measured there in sessions of their own, but those ``without``."""
    places = {commit: number for number, commit in enumerate(span.commits)}
    found: dict[int, list[float]] = {}
    for one in repository.index.measured(list(span.commits), environment):
        header = one.header
        if header.dirty is not None or header.job.key != key or header.collected.session in without:
            continue
        for summary in one.summaries:
            if (summary.uid, summary.size, summary.metric) == (target.uid, target.size, target.metric):
                usable = [value for value in summary.medians if isfinite(value) and value > 0]
                if usable:
                    found.setdefault(places[header.commit], []).append(target.sign * fmean(map(log, usable)))
    return {place: fmean(levels) for place, levels in found.items()}
