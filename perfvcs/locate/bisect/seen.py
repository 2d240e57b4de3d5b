"""The blocks that a bisection has measured, and what they say of its commits."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, log
from typing import TYPE_CHECKING, NamedTuple

from perfvcs.locate.bisect.evidence import Evidence

if TYPE_CHECKING:
    from perfvcs.index import Index
    from perfvcs.locate.bisect.saved import Begun, Target
    from perfvcs.locate.bisect.span import Span
    from perfvcs.profile.summary import Measured


def measures(measured: Measured, target: Target) -> bool:
    """Whether a profile has the values of a target."""
    job = measured.header.job
    return (job.label, job.collector) == (target.job, target.collector)


class SeenBlock(NamedTuple):
    """The values of one block in the order of its session's commits, and the step that it was for,
    see ``NextStep``.
    """

    what: str
    commit: int
    values: tuple[float, ...]


class Seen:
    """The blocks of one bisection, all that its sessions stored included; commits are numbers in
    the ``span``.

    ``exact``: what is measured repeats exactly. ``series`` is the job's key and its environment's
    fingerprint, empty before any block.
    """

    def __init__(self, span: Span, begun: Begun, *, exact: bool) -> None:
        self.span, self.begun, self.exact = span, begun, exact
        self.numbers = {commit: number for number, commit in enumerate(span.commits)}
        self.blocks: list[SeenBlock] = []
        self.series = ("", "")

    def recall(self, index: Index) -> None:
        """Read what the sessions of this bisection have stored."""
        self.blocks = []
        measurings = {session.session: session for session in self.begun.sessions}
        if not measurings:
            return
        by_session: dict[str, list[Measured]] = {}
        for measured in index.measured(list(self.span.commits)):
            if measured.header.collected.session in measurings and self._is_target(measured):
                by_session.setdefault(measured.header.collected.session, []).append(measured)
        for session, measuring in measurings.items():
            members = sorted(
                by_session.get(session, ()), key=lambda member: member.header.design.version
            )
            commit = self.numbers.get(measuring.commit, 0)
            # what was measured with another way between the same ends in mind says nothing here
            wanted = [self.span.commits[number] for number in self.commits(measuring.what, commit)]
            if list(dict.fromkeys(member.header.commit for member in members)) == wanted:
                self.blocks += self.read(members, measuring.what, commit)

    def _is_target(self, measured: Measured) -> bool:
        return measures(measured, self.begun.target) and measured.header.dirty is None

    def read(self, members: Sequence[Measured], what: str, commit: int) -> list[SeenBlock]:
        """The blocks that all of a session's versions have; each was measured on one host."""
        versions = {member.header.design.version for member in members}
        by_host: dict[str, list[Measured]] = {}
        for member in members:
            by_host.setdefault(member.header.worker, []).append(member)
        self.series = members[0].header.job.key, members[0].header.environment.fingerprint
        blocks: list[SeenBlock] = []
        for host_members in by_host.values():
            if len(host_members) == len(versions):
                blocks += self._read(host_members, what, commit)
        return blocks

    def _read(self, members: Sequence[Measured], what: str, commit: int) -> list[SeenBlock]:
        target = self.begun.target
        columns = []
        for member in members:
            summary = next(
                (
                    candidate
                    for candidate in member.summaries
                    if (candidate.uid, candidate.size, candidate.metric)
                    == (target.uid, target.size, target.metric)
                ),
                None,
            )
            rows = () if summary is None else zip(summary.executions, summary.medians, strict=True)
            columns.append({number: value for number, value in rows if isfinite(value)})
        return [
            SeenBlock(what, commit, tuple(column[number] for column in columns))
            for number in sorted(columns[0])
            if all(number in column for column in columns)
        ]

    def commits(self, what: str, commit: int, count: int = 0) -> list[int]:
        """The numbers of the commits of a session, or of a block with so many values."""
        if what == "confirm":
            return [commit - 1, commit]
        if what == "pair":
            return [0, self.span.last]
        return [commit] if count == 1 or (not count and self.exact) else [0, commit, self.span.last]

    @property
    def skipped(self) -> set[int]:
        """The commits that do not run."""
        return {self.numbers[commit] for commit in self.begun.skipped if commit in self.numbers}

    def is_logarithmic(self) -> bool:
        """Whether values are compared by their logarithms."""
        return all(value > 0 for block in self.blocks for value in block.values)

    def evidence(self) -> Evidence:
        """What the decision reads."""
        evidence = Evidence(self.span.last, exact=self.exact, skipped=self.skipped)
        logarithmic, sign = self.is_logarithmic(), self.begun.target.sign
        first: tuple[float, float] | None = None
        for what, commit, values in self.blocks:
            scaled = [sign * (log(value) if logarithmic else value) for value in values]
            if what == "confirm":
                evidence.add_step(commit, scaled[0], scaled[1])
            elif what == "pair":
                evidence.add(scaled[0], scaled[1])
                first = first or (scaled[0], scaled[1])
            elif (
                len(scaled) == 1 and first
            ):  # what repeats exactly is compared with the ends as they were
                evidence.add(*first, commit, scaled[0])
            elif len(scaled) == 3:
                evidence.add(scaled[0], scaled[2], commit, scaled[1])
        return evidence

    def counts(self) -> dict[int, int]:
        """Executions of each commit."""
        counts: dict[int, int] = {}
        for what, commit, values in self.blocks:
            for number in self.commits(what, commit, len(values)):
                counts[number] = counts.get(number, 0) + 1
        return counts

    def values(self) -> dict[int, float]:
        """The mean of what each commit gave."""
        by_commit: dict[int, list[float]] = {}
        for what, commit, values in self.blocks:
            for number, value in zip(self.commits(what, commit, len(values)), values, strict=True):
                by_commit.setdefault(number, []).append(value)
        return {number: self.mean(values) for number, values in sorted(by_commit.items())}

    def sides(self) -> dict[int, tuple[float, float]]:
        """The means of a parent and its commit where they were measured in turns."""
        rows_of: dict[int, list[tuple[float, ...]]] = {}
        for what, commit, values in self.blocks:
            if what == "confirm" or (what == "pair" and self.span.last == 1):
                rows_of.setdefault(commit or 1, []).append(values)
        columns = {number: list(zip(*rows, strict=True)) for number, rows in rows_of.items()}
        return {
            number: (self.mean(first), self.mean(second))
            for number, (first, second) in columns.items()
        }

    def mean(self, values: Sequence[float]) -> float:
        """A mean of logarithms where it can be."""
        from statistics import fmean, geometric_mean

        return geometric_mean(values) if self.is_logarithmic() else fmean(values)
