"""What a bisection works on: a cell on the commits of a span, what is known of them so far, their
sites, each of which is made once, and the two ends, measured in turns and compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING

from perfvcs.check.change import Change, NothingToCompare, Report
from perfvcs.check.method import CheckRequest
from perfvcs.locate.bisect.saved import Begun, Measuring, SavedBisections, Target
from perfvcs.locate.bisect.seen import Seen
from perfvcs.locate.bisect.span import CURE, Span, UnmeasurableEnd, require_room
from perfvcs.measure.counting import COUNTING, count
from perfvcs.measure.request import Request
from perfvcs.measure.rig import Rig
from perfvcs.measure.rig import versions as versions_of
from perfvcs.measure.sites import BuildFlags, FirstExecution, SiteKind, Sites
from perfvcs.repository.state import State

if TYPE_CHECKING:
    from perfvcs.jobs.cell import Cell
    from perfvcs.measure.session import Session
    from perfvcs.measure.site import Site, Version
    from perfvcs.profile import Reached
    from perfvcs.repository import Repository


def judged_ends(
    rig: Rig,
    between: Span,
    request: Request,
    delta: float | None,
    enough: Callable[[Report], bool] | None,
    *,
    by_work: bool,
) -> Report:
    """The verdict on the ends, measured in turns for that, with their work counted beside; raises
    UnmeasurableEnd.

    The first few pairs do where ``enough`` says so of what they show. ``by_work``: the count is
    what is asked for, and counted whatever it costs.
    """
    from perfvcs.locate.bisect.decision import FIRST_PAIRS
    from perfvcs.measure.campaign import FirstLook, settle

    repository, ends = rig.repository, (State(between.good), State(between.bad))
    rig.progress.say(
        f"measuring {between.good[:10]} and {between.bad[:10]} in turns: is there a difference?"
    )
    wanted = CheckRequest(delta=delta)
    first = None if enough is None else FirstLook(FIRST_PAIRS, enough)
    began = monotonic()
    outcome, session = settle(rig, ends, request, wanted, first)
    if by_work or enough is None:
        count(rig, ends, request, outcome, session, monotonic() - began, always=by_work)
    try:
        return repository.compare(*ends, wanted, session=session)
    except NothingToCompare:
        if not outcome.failures:
            raise
        require_room(repository.home, [failure.reason for failure in outcome.failures])
        names = " and ".join(dict.fromkeys(failure.version for failure in outcome.failures))
        raise UnmeasurableEnd(f"{names} cannot be measured (see above): {CURE}") from None


def series_of(repository: Repository, cells: Iterable[Cell]) -> set[str]:
    """The stored series that executions of some cells prolong, and those of what is counted beside
    their time, by the keys of their jobs.
    """
    asked = {
        (cell.label, collector) for cell in cells for collector in (cell.collector_name, *COUNTING)
    }
    jobs = repository.index.series()
    return {job.key for job in jobs if (job.label, job.collector) in asked}


def session_of_ends(repository: Repository, between: Span, target: Target) -> Measuring | None:
    """The newest session that measured the two ends alone, in turns: its pairs count."""
    ends = [between.good, between.bad]
    for measured in reversed(repository.index.measured(ends)):
        header = measured.header
        alike = (header.job.label, header.job.collector) == (target.job, target.collector)
        if alike and header.design.versions == ends and header.dirty is None:
            return Measuring(header.collected.session, "pair")
    return None


def earlier_sessions(repository: Repository, between: Span) -> list[str]:
    """All sessions that measured both ends."""
    ends = {between.good, between.bad}
    sessions = [
        measured.header.collected.session
        for measured in repository.index.measured(list(ends))
        if ends <= set(measured.header.design.versions)
    ]
    return list(dict.fromkeys(sessions))


def verdicts(
    repository: Repository, between: Span, target: Target, named: Iterable[int]
) -> Iterator[tuple[int, Change]]:
    """What `perf check` says of the target: between the ends (0), and between each commit that is
    named (its number) and its parent; nothing of a curve, or of several environments.
    """
    commits = between.commits
    for number in (0, *named):
        good, bad = commits[number - 1 : number + 1] if number else (between.good, between.bad)
        changes: Sequence[Change] = ()
        with suppress(NothingToCompare):
            changes = repository.compare(State(good), State(bad)).comparisons
        judged = [change for change in changes if is_of(target, change)]
        if len(judged) == 1 and judged[0].paired and judged[0].curve is None:
            yield number, judged[0]


def is_of(target: Target, change: Change) -> bool:
    """Whether a change is that of a target."""
    about = change.job, change.uid, change.size, change.metric
    return about == (target.job, target.uid, target.size, target.metric)


class KeptSites:
    """The sites that were made so far, by commit, build and flags; they live as long as the
    ``stack``.

    ``warm`` as in ``Sites``: sessions that share them number their cells alike.
    """

    def __init__(self) -> None:
        self.stack = ExitStack()
        self.known: dict[tuple[str, int, BuildFlags], Site] = {}
        self.warm: dict[tuple[int, Version], Reached | None] = {}
        self.first: dict[tuple[int, Version], FirstExecution] = {}


class SessionSites(Sites):
    """The sites of one session; takes from ``kept`` those that are already made."""

    def __init__(self, like: Sites, kept: KeptSites) -> None:
        super().__init__(
            like.project,
            like.home,
            like.config,
            like.cells,
            like.versions,
            like.knobs,
            like.changes,
        )
        self.kept, self.warm, self.first = kept, kept.warm, kept.first

    def prepare(self, position: int, kind: SiteKind, stack: ExitStack) -> None:  # noqa: ARG002
        """Makes a version's sites of one kind unless they exist; they outlive the session and its
        ``stack``.
        """
        commit = self.versions[position].commit
        places = [(commit, binary, kind.flags) for binary in range(kind.binaries)]
        if not all(place in self.kept.known for place in places):
            super().prepare(position, kind, self.kept.stack)
            self.kept.known |= {
                place: self._sites[position, place[1], kind.flags] for place in places
            }
        for place in places:
            self._sites[position, place[1], kind.flags] = self.kept.known[place]


@dataclass(frozen=True)
class Searched:
    """The cell that is measured on the commits of the ``span``; ``begun`` and ``seen`` are kept up
    to date.
    """

    rig: Rig
    cell: Cell
    span: Span
    begun: Begun
    saved: SavedBisections
    seen: Seen
    kept: KeptSites
    seed: int | None

    def sites(self, numbers: Sequence[int], cells: Sequence[Cell]) -> SessionSites:
        """The sites of a session that measures some commits, by their numbers."""
        states = [State(self.span.commits[number]) for number in numbers]
        versions = versions_of(self.rig.repository, states, Request(committed=True))
        return SessionSites(self.rig.sites(cells, versions), self.kept)

    def note_built(self, numbers: Sequence[int]) -> None:
        """Remember that commits were built, each once."""
        commits = [self.span.commits[number] for number in numbers]
        self.begun.built += [commit for commit in commits if commit not in self.begun.built]

    def skip(self, session: Session, numbers: Sequence[int], *, ends: bool) -> None:
        """Takes out the commits that failed; raises UnmeasurableEnd for one of the ``ends``,
        FullDisk.
        """
        collectors = ("", self.cell.collector_name)  # a collector that only guides may fail
        reasons = {
            failure.version: failure.reason
            for failure in session.failures
            if failure.collector in collectors
        }
        require_room(self.rig.repository.home, reasons.values())
        for number, version in zip(numbers, session.versions, strict=True):
            if version.name not in reasons:
                continue
            if 0 < number < self.span.last:
                self.begun.skipped[version.commit] = reasons[version.name]
            elif ends:
                end = "GOOD" if number == 0 else "BAD"
                raise UnmeasurableEnd(
                    f"{end} {version.name} cannot be measured (see above): {CURE}"
                )
        self.saved.write()
