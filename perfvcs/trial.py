"""A trial: two revisions, measured where that was asked for, their report, and what it means for the caller."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from perfvcs.campaign import Outcome, Request, settle
from perfvcs.check import Report
from perfvcs.check.change import NothingToCompare
from perfvcs.config import FILE, load
from perfvcs.measure import Progress
from perfvcs.repository import Repository, State

DEGRADED, OPEN = 3, 4
DECIDED = ("degradation", "improvement", "same")


@dataclass(frozen=True)
class Trial:
    """The report, and what was measured for it."""

    report: Report
    outcome: Outcome

    def status(self, *, gate: bool = False, strict: bool = False) -> int:
        """The exit status: 3 for a degradation (``gate``: a certain one), 4 where nothing was comparable or, ``strict``, decided."""
        if any(change.gate or not gate for change in self.report.having("degradation")):
            return DEGRADED
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


def conduct(
    repository: Repository, revisions: tuple[str, ...], request: Request, progress: Progress, *,
    measure: bool = False, method: str = "auto", delta: float = 0.01,
) -> Trial:  # fmt: skip
    """The trial of a target (the last of ``revisions``, else HEAD) against a baseline (the first of two, else the nearest ancestor).

    With ``measure``, jobs whose comparisons are not all decided by what is stored are measured, both revisions in turns; a number of
    executions in the request measures all. Raises NothingToCompare.
    """
    baseline, target = _sides(repository, revisions, measure)
    settled: list[str] = []
    if measure:
        config = load(repository.project.root / FILE)
        settled = [] if request.executions else _settled(repository, baseline, target, method, delta)
        remaining = replace(request, settled=tuple(settled))
        if remaining.apply(config)[0]:
            outcome, session = settle(repository, config, (baseline, target), remaining, progress, delta)
            if not outcome.profiles:
                outcome.raise_failures()
            report = repository.compare(baseline, target, method=method, delta=delta, session=session, settled=settled)
            return Trial(report, outcome)
    return Trial(repository.compare(baseline, target, method=method, delta=delta), Outcome())


def _sides(repository: Repository, revisions: tuple[str, ...], measure: bool) -> tuple[State, State]:
    """Baseline and target; where both are to be measured, HEAD stands for the working tree as it is now."""
    state = repository.current if measure else repository.state
    target = state(revisions[-1] if revisions else "HEAD")
    if len(revisions) == 2:
        return state(revisions[0]), target
    if measure and target.dirty:
        return State(target.commit), target
    baseline = repository.baseline(target)
    if baseline is None and measure:
        baseline = next((State(commit) for commit in repository.project.ancestors(target.commit)), None)
    if baseline is None:
        raise NothingToCompare(f"no ancestor of {target.name} has profiles: name a baseline, or measure one with `perf collect`")
    return baseline, target


def _settled(repository: Repository, baseline: State, target: State, method: str, delta: float) -> list[str]:
    """Labels of the jobs of which every comparison is decided already."""
    try:
        changes = repository.compare(baseline, target, method=method, delta=delta).changes
    except NothingToCompare:
        return []
    open_jobs = {change.job for change in changes if change.word not in DECIDED}
    return list(dict.fromkeys(change.job for change in changes if change.job not in open_jobs))
