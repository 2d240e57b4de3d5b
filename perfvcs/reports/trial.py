"""A trial: two revisions, measured where that was asked for, their report, and what it means for the caller."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from datetime import date, datetime
from textwrap import wrap
from typing import TYPE_CHECKING, Literal

import msgspec

from perfvcs import __version__
from perfvcs.check.acceptance import is_open
from perfvcs.check.change import NothingToCompare, Report
from perfvcs.profile import Malformed
from perfvcs.repository import Repository, State
from perfvcs.rules import FILE

if TYPE_CHECKING:
    from perfvcs.measure.campaign import Outcome
    from perfvcs.measure.progress import Progress
    from perfvcs.measure.request import Request

DEGRADED, OPEN = 3, 4
DECIDED = ("degradation", "improvement", "same")
UNCOMPARED = ("not comparable", "new", "missing")

Form = Literal["text", "json", "markdown", "line", "repeat"]


@dataclass(frozen=True)
class Trial:
    """The report on two states, and what was measured for it, if anything was.

    ``basis`` names all that it was made from; empty where it is a part of what is stored. ``told`` is when the same report was printed
    in full before (UTC, ISO 8601).
    """

    baseline: State
    target: State
    report: Report
    outcome: Outcome | None = None
    basis: str = ""
    told: str = ""

    def status(self, *, gate: bool = False, strict: bool = False) -> int:
        """The exit status: 3 for a degradation (``gate``: a certain one) that is not accepted, 4 where nothing was comparable or,
        ``strict``, decided.
        """
        if any(is_open(change) and (change.gate or not gate) for change in self.report.changes):
            return DEGRADED
        if self.outcome:
            self.outcome.raise_failures()
        compared = [change for change in self.report.changes if change.word not in UNCOMPARED]
        undecided = [change for change in self.report.having("inconclusive", "suspected") if change.accepted is None]
        return OPEN if not compared or (strict and undecided) else 0

    def render(self, form: Form, *, verbose: bool = False) -> str:
        """The report in a form; ``repeat`` is what to say where it was told before."""
        if form == "json":
            from perfvcs.check.document import encode

            return encode(self.report)
        if form == "markdown":
            from perfvcs.check.markdown import markdown

            return markdown(self.report)
        from perfvcs.check.text import summary, text, title

        if form == "repeat":
            when = f"{datetime.fromisoformat(self.told).astimezone():%Y-%m-%d %H:%M}"
            return "\n".join(wrap(f"{title(self.report)}, as told on {when} (--again: in full)", 80))
        if form == "line":
            return summary(self.report)
        measured = self.outcome.profiles if self.outcome else ()
        pairs = max((profile.design.executions for profile in measured), default=0)
        return text(self.report, verbose=verbose, pairs=pairs)

    def was_told(self, repository: Repository) -> None:
        """Remember that the report was printed in full: asked again, it takes a line."""
        report = msgspec.json.encode(self.report)
        repository.index.memory.note(self.baseline.commit, self.target.commit, report, self.basis, shown=True)


def judge(
    repository: Repository, revisions: tuple[str, ...], *, method: str = "auto", delta: float | None = None, afresh: bool = False
) -> Trial:
    """The trial, from what is stored, of a target (the last of ``revisions``, else HEAD) against a baseline.

    The baseline is the first of two revisions, else the nearest ancestor with comparable profiles. What is remembered of the same
    comparison is not computed again, unless ``afresh``. Raises NothingToCompare.
    """
    target = repository.state(revisions[-1] if revisions else "HEAD")
    baseline = repository.state(revisions[0]) if len(revisions) == 2 else repository.baseline(target)
    if baseline is None:
        cure = "fetch the rest of a shallow clone (`git fetch --unshallow`)" if repository.project.shallow else "name a baseline"
        raise NothingToCompare(f"no ancestor of {target.name} has profiles: {cure}, or measure one with `perf collect`")
    return compared(repository, baseline, target, method=method, delta=delta, afresh=afresh)


def compared(repository: Repository, baseline: State, target: State, *, method: str, delta: float | None, afresh: bool) -> Trial:
    """The trial of two states; raises NothingToCompare."""
    from perfvcs.check.document import decode

    memory, pair = repository.index.memory, (baseline.commit, target.commit)
    basis = _basis(repository, baseline, target, method, delta)
    known = None if afresh else memory.recall(*pair)
    if known and known.basis == basis:
        try:
            return Trial(baseline, target, decode(known.report), basis=basis, told=known.shown)
        except Malformed:  # of another version, or a changed byte
            pass
    report = repository.compare(baseline, target, method=method, delta=delta)
    memory.note(*pair, msgspec.json.encode(report), basis, shown=False)
    now = memory.recall(*pair)  # an equal report stays told
    return Trial(baseline, target, report, basis=basis, told=now.shown if now else "")


def _basis(repository: Repository, baseline: State, target: State, method: str, delta: float | None) -> str:
    """The hash of all that a report from what is stored depends on: the profiles, the options, and the project's own files."""
    project, accepted = repository.project, repository.acceptances
    path = project.root / FILE
    text = path.read_bytes().hex() if path.is_file() and not project.bare else ""
    ended = [one.id for one in accepted if one.has_ended(date.today())]
    states = [(state.commit, state.dirty) for state in (baseline, target)]
    options = [__version__, method, delta, project.shallow]
    about = [repository.index.head, states, options, text, accepted, ended]
    return hashlib.sha256(msgspec.json.encode(about)).hexdigest()


def measure(
    repository: Repository,
    revisions: tuple[str, ...],
    request: Request,
    progress: Progress,
    *,
    method: str = "auto",
    delta: float | None = None,
) -> Trial:
    """The trial after measuring, both revisions in turns, the jobs whose comparisons are not all decided by what is stored.

    A number of executions in the request measures all. HEAD is the working tree as it is now; its baseline, when none is named, is the
    commit below its changes, else the nearest ancestor with comparable profiles, else the parent.
    """
    from perfvcs.jobs.config import load
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
        return compared(repository, baseline, target, method=method, delta=delta, afresh=True)
    outcome, session = settle(repository, config, (baseline, target), remaining, progress, delta)
    if not outcome.profiles:
        outcome.raise_failures()
    report = repository.compare(baseline, target, method=method, delta=delta, session=session, settled=settled)
    return Trial(baseline, target, report, outcome)


def _settled(repository: Repository, baseline: State, target: State, method: str, delta: float | None) -> list[str]:
    """Labels of the jobs of which every comparison is decided already."""
    try:
        changes = repository.compare(baseline, target, method=method, delta=delta).changes
    except NothingToCompare:
        return []
    open_jobs = {change.job for change in changes if change.word not in DECIDED}
    return list(dict.fromkeys(change.job for change in changes if change.job not in open_jobs))
