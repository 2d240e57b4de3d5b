"""A trial: two revisions, measured where that was asked for, their report, and what it means for the caller."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from perfvcs.check.change import NothingToCompare, Report
from perfvcs.repository import Repository, State

if TYPE_CHECKING:
    from perfvcs.measure.campaign import Outcome, Request
    from perfvcs.measure.session import Progress

DEGRADED, OPEN = 3, 4
DECIDED = ("degradation", "improvement", "same")


@dataclass(frozen=True)
class Trial:
    """The report, and what was measured for it, if anything was."""

    report: Report
    outcome: Outcome | None = None

    def status(self, *, gate: bool = False, strict: bool = False) -> int:
        """The exit status: 3 for a degradation (``gate``: a certain one), 4 where nothing was comparable or, ``strict``, decided."""
        if any(change.gate or not gate for change in self.report.having("degradation")):
            return DEGRADED
        if self.outcome:
            self.outcome.raise_failures()
        compared = [change for change in self.report.changes if change.word not in ("not comparable", "new", "missing")]
        return OPEN if not compared or (strict and self.report.having("inconclusive", "suspected")) else 0

    def render(self, form: Literal["text", "json", "markdown", "line"], *, verbose: bool = False) -> str:
        """The report in a form."""
        if form == "json":
            from perfvcs.check.document import encode

            return encode(self.report)
        if form == "markdown":
            from perfvcs.check.markdown import markdown

            return markdown(self.report)
        from perfvcs.check.text import summary, text

        return summary(self.report) if form == "line" else text(self.report, verbose=verbose)


def judge(repository: Repository, revisions: tuple[str, ...], *, method: str = "auto", delta: float = 0.01) -> Trial:
    """The trial, from what is stored, of a target (the last of ``revisions``, else HEAD) against a baseline.

    The baseline is the first of two revisions, else the nearest ancestor with comparable profiles. Raises NothingToCompare.
    """
    target = repository.state(revisions[-1] if revisions else "HEAD")
    baseline = repository.state(revisions[0]) if len(revisions) == 2 else repository.baseline(target)
    if baseline is None:
        cure = "fetch the rest of a shallow clone (`git fetch --unshallow`)" if repository.project.shallow else "name a baseline"
        raise NothingToCompare(f"no ancestor of {target.name} has profiles: {cure}, or measure one with `perf collect`")
    return Trial(repository.compare(baseline, target, method=method, delta=delta))


def measure(
    repository: Repository,
    revisions: tuple[str, ...],
    request: Request,
    progress: Progress,
    *,
    method: str = "auto",
    delta: float = 0.01,
) -> Trial:
    """The trial after measuring, both revisions in turns, the jobs whose comparisons are not all decided by what is stored.

    A number of executions in the request measures all. HEAD is the working tree as it is now; its baseline, when none is named, is the
    commit below its changes, else the nearest ancestor with comparable profiles, else the parent.
    """
    from perfvcs.jobs.config import FILE, load
    from perfvcs.measure.campaign import settle

    target = repository.current(revisions[-1] if revisions else "HEAD")
    if len(revisions) == 2:
        baseline = repository.current(revisions[0])
    elif target.dirty:
        baseline = State(target.commit)
    else:
        nearest = repository.baseline(target) or next(map(State, repository.project.ancestors(target.commit)), None)
        if nearest is None:
            raise NothingToCompare(f"{target.name} has no ancestor to be compared with: name a baseline")
        baseline = nearest
    config = load(repository.project.root / FILE)
    settled = [] if request.executions else _settled(repository, baseline, target, method, delta)
    remaining = replace(request, settled=tuple(settled))
    if not remaining.apply(config)[0]:
        return Trial(repository.compare(baseline, target, method=method, delta=delta))
    outcome, session = settle(repository, config, (baseline, target), remaining, progress, delta)
    if not outcome.profiles:
        outcome.raise_failures()
    report = repository.compare(baseline, target, method=method, delta=delta, session=session, settled=settled)
    return Trial(report, outcome)


def _settled(repository: Repository, baseline: State, target: State, method: str, delta: float) -> list[str]:
    """Labels of the jobs of which every comparison is decided already."""
    try:
        changes = repository.compare(baseline, target, method=method, delta=delta).changes
    except NothingToCompare:
        return []
    open_jobs = {change.job for change in changes if change.word not in DECIDED}
    return list(dict.fromkeys(change.job for change in changes if change.job not in open_jobs))
