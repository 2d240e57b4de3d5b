"""Where the project stands: what is measured at HEAD, what is missing, and the last verdict."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from perfvcs.errors import PerfError, UsageError
from perfvcs.jobs import matrix
from perfvcs.jobs.config import KEEP, load
from perfvcs.measure.announcement import RunningSession, running, unfinished
from perfvcs.profile.benchmarkfilter import EVERYTHING, BenchmarkFilter
from perfvcs.profile.rules import RULES_FILE
from perfvcs.reports.commitprofiles import CommitProfiles, standing
from perfvcs.reports.log import described, last_verdicts
from perfvcs.reports.trends import MetricTrend, cells, leading, trends
from perfvcs.text.characters import COLUMNS, shorten
from perfvcs.text.document import filled, json_text
from perfvcs.text.quantity import duration, quantity
from perfvcs.text.words import apart, counted, listed, plural
from perfvcs.text.wrapping import wrap

if TYPE_CHECKING:
    from perfvcs.exchange.sharing import RemoteDifference
    from perfvcs.index.verdicts import LastVerdict
    from perfvcs.measure.journal import SessionHeader
    from perfvcs.measure.pythons import Taken
    from perfvcs.profile.summary import Measured
    from perfvcs.repository import Repository
    from perfvcs.repository.state import State


BACK = 24  # commits back that a sparkline looks
SPARKLINE_POINTS = 16  # of a sparkline
FEW_JOBS = 20  # jobs listed one by one
LABEL_CHARACTERS = 30  # characters of a job's name
MOST_CHANGES = 100  # changed files, and artefacts, in the JSON
SESSIONS = 3  # interrupted ones listed one by one


def lines() -> Iterator[str]:
    """The standing of the repository around the current folder; what is missing for that, with its
    cure, where there is none.
    """
    from perfvcs.repository import Repository

    try:
        status = status_of(Repository.find())
    except PerfError as error:
        yield "perfvcs keeps the performance history of a git repository beside its code history."
        yield str(error)
    else:
        yield from status.lines()
        if status.verdict:
            yield "perf show draws it, perf log lists the commits, perf history the lasting changes"
    yield "all commands: perf --help"


class JobRow(msgspec.Struct, frozen=True):
    """One job at HEAD: how many executions are stored, with its trend; none when it is missing."""

    label: str
    collector: str
    executions: int
    trend: MetricTrend | None

    @property
    def job(self) -> str:
        """The label of its job."""
        return self.trend.job if self.trend else self.label


class MeasuredJob(msgspec.Struct, frozen=True):
    """A benchmark at HEAD, or its job as a whole, with the number of its executions."""

    benchmark: str
    job: str
    collector: str
    executions: int


class PythonsRow(msgspec.Struct, frozen=True):
    """How many virtual environments there are, their bytes, and how many are kept."""

    environments: int
    size: int
    keep: int


class UnfinishedSession(msgspec.Struct, frozen=True):
    """An interrupted session, and the command that continues it."""

    session: str
    started: str
    versions: list[State]
    continued_by_name: str = msgspec.field(name="continue")


class StatusDocument(msgspec.Struct, frozen=True, kw_only=True):
    """What `perf status --json` prints; of the paths of ``changes`` and ``artefacts`` the first."""

    commit: str
    title: str
    dirty: bool
    changes: list[str]
    changed: int
    artefacts: list[str]
    jobs: list[MeasuredJob]
    verdict: LastVerdict | None
    profiles: int
    pythons: PythonsRow | None
    damaged: int
    problem: str
    unfinished: list[UnfinishedSession]
    remote: RemoteDifference | None
    running: Sequence[RunningSession]
    standing: str


class Status(msgspec.Struct, frozen=True):
    """What ``perf status`` says."""

    commit: str
    title: str
    changes: Sequence[str]
    artefacts: Sequence[str]
    rows: Sequence[JobRow]
    verdict: LastVerdict | None
    profiles: int
    damaged: int
    problem: str
    unfinished: Sequence[SessionHeader] = ()
    running: Sequence[RunningSession] = ()
    remote: RemoteDifference | None = None
    pythons: Taken | None = None
    keep: int = KEEP
    repositories: Sequence[str] = ()
    standing: str = ""

    @property
    def dirty(self) -> bool:
        """Whether the working tree has changes that count."""
        return bool(self.changes)

    def lines(self) -> Iterator[str]:
        """The listing for a terminal of 80 columns."""
        yield from self._head()
        yield from self._jobs()
        yield from self._measuring()
        missing = any(not row.executions for row in self.rows)
        if missing and not any(self.commit in run.commits for run in self.running):
            yield "measure what is missing with `perf collect`"
        yield from self._unfinished()
        if self.verdict:
            verdict = f"last verdict: {described(self.verdict)} (perf check)"
            yield from wrap(verdict, COLUMNS, subsequent_indent="  ")
        elif any(row.executions for row in self.rows):
            yield "no verdict yet: perf check"
        yield from self._stored()

    def _head(self) -> Iterator[str]:
        """HEAD, and how the working tree differs from it."""
        changed = " (with uncommitted changes)" if self.dirty else ""
        yield f"HEAD is {self.commit[:10]} {shorten(self.title, 50)}{changed}"
        listings = {
            "changed": self.changes,
            "not counted, since measuring makes it": self.artefacts,
            "not counted, since it is a repository of its own": self.repositories,
        }
        for what, names in listings.items():
            if names:
                yield shorten(f"  {what}: {listed(names)}", COLUMNS)
        if self.problem:
            yield shorten(self.problem, 500)
        if self.standing:
            yield f"  {self.standing}"

    def _jobs(self) -> Iterator[str]:
        """The first jobs, those that are measured before the others."""
        measured = [row for row in self.rows if row.executions]
        missing = [row for row in self.rows if not row.executions]
        drawn = [*measured, *missing][:FEW_JOBS]
        labels = apart([row.label for row in drawn], LABEL_CHARACTERS)
        width = max(map(len, labels), default=0)
        wide = max((len(shorten(row.collector, 20)) for row in drawn), default=0)
        shown = [row.trend for row in drawn if row.executions and row.trend]
        newest = iter(cells(shown, SPARKLINE_POINTS))
        for row, label in zip(drawn, labels, strict=True):
            name = f"{label:{width}}  {shorten(row.collector, 20):{wide}}".rstrip()
            if not row.executions:
                yield f"  missing   {name}"
                continue
            _, value, line = next(newest) if row.trend else ("", "", "")
            executions = f"n={row.executions:<4}"
            yield f"  measured  {name:{width + wide + 2}}  {executions} {value:>9}  {line}".rstrip()
        if len(self.rows) > FEW_JOBS:
            yield (
                f"  and {len(self.rows) - FEW_JOBS} more: {len(measured)} are measured,"
                f" {len(missing)} missing"
            )

    def _stored(self) -> Iterator[str]:
        """What the store, the environments and the remote hold."""
        yield f"the store holds {counted(self.profiles, 'profile')}"
        if self.pythons and self.pythons.size:
            environments = self.pythons.environments
            many = counted(environments, "virtual environment")
            enforced = "; `perf gc` enforces it" if environments > self.keep else ""
            yield (
                f"{many} {plural(environments, 'takes', 'take')} {quantity(self.pythons.size, 'B')}"
                f" ([python] keep = {self.keep}{enforced})"
            )
        if self.damaged:
            yield f"{self.damaged} damaged: see `perf fsck`"
        if self.remote and (line := self.remote.line()):
            yield line

    def _measuring(self) -> Iterator[str]:
        """What is being measured just now, and how far it is."""
        for run in self.running[:SESSIONS]:
            names = shorten(
                ", ".join(commit[:10] for commit in run.commits) or "uncommitted changes", 33
            )
            so_far = (
                f", {run.done:,} of {counted(run.total, 'execution')}"
                if run.total
                else ", not begun yet"
            )
            yield f"being measured for {duration(time.time() - run.began)}: {names}{so_far}"
        if len(self.running) > SESSIONS:
            yield f"  and {counted(len(self.running) - SESSIONS, 'more run')} waiting"

    def _unfinished(self) -> Iterator[str]:
        """Interrupted sessions, and how each is continued: the newest by default, the others by
        name.
        """
        for number, header in enumerate(self.unfinished[:SESSIONS]):
            yield f"interrupted: session {header.session} on {shorten(header.names, 33)}"
            yield (
                "  finish it with"
                f" `{header.continued if number == 0 else header.continued_by_name}`"
            )
        if len(self.unfinished) > SESSIONS:
            yield f"  and {len(self.unfinished) - SESSIONS} more"

    def json(self) -> str:
        """The status as JSON."""
        pythons = self.pythons
        return json_text(
            filled(
                StatusDocument,
                self,
                changes=_readable(self.changes),
                changed=len(self.changes),
                artefacts=_readable(self.artefacts),
                jobs=[filled(MeasuredJob, row, benchmark=row.label) for row in self.rows],
                pythons=pythons and filled(PythonsRow, pythons, keep=self.keep),
                unfinished=[filled(UnfinishedSession, header) for header in self.unfinished],
            )
        )


def _readable(names: Sequence[str]) -> list[str]:
    """The first of some paths; bytes that are not UTF-8 have no place in JSON."""
    return [
        name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        for name in names[:MOST_CHANGES]
    ]


def status_of(repository: Repository, benchmarks: BenchmarkFilter = EVERYTHING) -> Status:
    """The standing of HEAD: the jobs of perf.toml (or of some benchmarks), and those measured
    without it.
    """
    from perfvcs.exchange.sharing import remote_difference

    project, index = repository.project, repository.index
    state = repository.state("HEAD")
    executions = _executions(repository.measured(state), benchmarks)
    problem, wanted, keep = "", [], KEEP
    try:
        config = load(project.root / RULES_FILE)
        keep = config.python.keep if config.python else KEEP
        cells = [(cell.label, cell.collector_name) for cell in matrix(config)]
        wanted = [cell for cell in cells if benchmarks.has_job(*cell) and not benchmarks.units]
    except UsageError as error:
        problem = str(error)
    ids = [state.commit, *islice(repository.measured_ancestors(state.commit), BACK - 1)]
    drawn = {
        (trend.label, trend.collector): trend
        for trend in reversed(trends(CommitProfiles(repository, benchmarks), ids, benchmarks))
    }  # the first metric of each wins
    rows = [
        JobRow(*key, _count(executions.get(key, 0), drawn.get(key)), drawn.get(key))
        for key in dict.fromkeys([*wanted, *executions])
    ]
    head = project.describe([state.commit])[state.commit]
    changes = repository.changes
    verdict = last_verdicts(repository, [state.verdict_key], benchmarks).get(state.verdict_key)
    return Status(
        commit=state.commit,
        title=head.title,
        changes=changes.files() if changes.exist() else [],
        artefacts=changes.left_out(),
        rows=rows,
        verdict=verdict,
        profiles=index.total(),
        damaged=len(index.damaged()),
        problem=problem,
        unfinished=unfinished(repository.home),
        running=running(repository.home),
        remote=remote_difference(repository),
        pythons=_pythons(repository),
        keep=keep,
        repositories=changes.repositories(),
        standing=standing(repository, state) if executions else "",
    )


def _executions(
    measured: Sequence[Measured], benchmarks: BenchmarkFilter
) -> dict[tuple[str, str], int]:
    """How many executions each job under a collector has in the environment of the newest; of units
    that are asked for, each unit.
    """
    newest = {
        (profile.header.job.label, profile.header.job.collector): (
            profile.header.environment.fingerprint
        )
        for profile in sorted(measured, key=lambda profile: profile.header.collected.started)
    }
    executions: Counter[tuple[str, str]] = Counter()
    for profile in measured:
        header, job = profile.header, profile.header.job
        here = header.environment.fingerprint == newest[job.label, job.collector]
        if here and benchmarks.has_job(job.label, job.collector):
            units = {name for name, _ in leading(profile, benchmarks)}
            for name in units if benchmarks.units else [job.label]:
                executions[name, job.collector] += header.design.executions
    return executions


def _count(stored: int, trend: MetricTrend | None) -> int:
    """How many executions the value beside it is of; where there is none, how many are stored."""
    return trend.executions if stored and trend else stored


def _pythons(repository: Repository) -> Taken | None:
    """What virtual environments take; None where there are none, without importing what makes
    them.
    """
    if not (repository.home / "python").is_dir():
        return None
    from perfvcs.measure.pythons import taken

    return taken(repository.home)
