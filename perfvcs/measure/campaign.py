"""A campaign: revisions are measured in interleaved sessions and stored, until everything is measured or decided."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from perfvcs.jobs import Cell, knobs, matrix
from perfvcs.jobs.config import Config
from perfvcs.measure.session import CollectFailed, Failure, Progress, Session
from perfvcs.measure.site import Version
from perfvcs.measure.virtualenv import prune
from perfvcs.profile import Profile
from perfvcs.repository import Repository, State

PYTHONS = 20  # virtual environments that are kept
TOGETHER = 8  # versions of one session; more would stretch a block until its pairs see different weather


@dataclass(frozen=True)
class Request:
    """What the caller asks of a campaign beyond perf.toml; None leaves perf.toml's word.

    ``committed``: HEAD is the commit, not the working tree. ``settled``: labels of jobs that need no measuring.
    """

    jobs: tuple[str, ...] = ()
    executions: int | None = None
    warmup: int | None = None
    seed: int | None = None
    pin: str | None = None
    aslr: bool | None = None
    padding: bool | None = None
    missing: bool = False
    wait: bool = False
    committed: bool = False
    settled: tuple[str, ...] = ()

    def apply(self, config: Config) -> tuple[list[Cell], Config]:
        """The cells to measure and the configuration with the knobs asked for."""
        asked = {name: getattr(self, name) for name in ("pin", "aslr", "padding") if getattr(self, name) is not None}
        config = msgspec.structs.replace(config, knobs=msgspec.structs.replace(config.knobs, **asked))
        counts = {name: getattr(self, name) for name in ("executions", "warmup") if getattr(self, name) is not None}
        cells = [replace(cell, **counts) for cell in matrix(config, self.jobs) if cell.label not in self.settled]
        return cells if self.executions is None else [replace(cell, auto=None) for cell in cells], config


@dataclass
class Outcome:
    """What a campaign did: the places of the stored profiles, what failed, and warnings about noise."""

    paths: list[str] = field(default_factory=list)
    profiles: list[Profile] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    seeds: list[int] = field(default_factory=list)

    def json(self) -> str:
        """What was stored and what failed, as one JSON object."""
        rows = [
            {"path": path, "commit": one.commit, "dirty": one.dirty, "job": one.job.label, "collector": one.job.collector,
             "executions": one.design.executions, "session": one.collected.session}
            for path, one in zip(self.paths, self.profiles, strict=True)
        ]  # fmt: skip
        failures = [{"job": failure.label, "version": failure.version, "reason": failure.reason} for failure in self.failures]
        found = {"stored": rows, "failed": failures, "warnings": self.warnings, "seeds": self.seeds}
        return msgspec.json.format(msgspec.json.encode(found)).decode()

    def raise_failures(self) -> None:
        """Raise CollectFailed when anything could not be measured; what and why was told when it happened."""
        if self.failures:
            failures = "1 failure" if len(self.failures) == 1 else f"{len(self.failures)} failures"
            kept = "the rest was stored" if self.paths else "nothing was stored"
            raise CollectFailed(f"{failures}, told above; {kept}")


def versions(repository: Repository, states: Sequence[State], *, committed: bool = False) -> list[Version]:
    """The versions of states; ``here`` for what the working tree holds just now, unless that may change meanwhile."""
    head = None if repository.project.bare or committed else repository.project.head
    here = repository.current(head) if head else None
    return [Version(state.commit, state.dirty, here=state == here) for state in states]


def groups(found: Sequence[Version]) -> list[list[Version]]:
    """Versions in groups to be measured together; neighbours share a group, so that each can be compared with the next."""
    step = TOGETHER - 1
    starts = range(0, max(len(found) - 1, 1), step) if found else ()
    return [list(found[start : start + TOGETHER]) for start in starts]


def collect(repository: Repository, config: Config, commits: Sequence[str], request: Request, progress: Progress) -> Outcome:
    """Measure the job matrix on commits and store the profiles, group by group; what was stored stays whatever happens later."""
    cells, config = request.apply(config)
    outcome = Outcome()
    with repository.measuring(wait=request.wait):
        states = [State(commit) if request.committed else repository.current(commit) for commit in commits]
        for state in states:
            if state.dirty is None:
                repository.promote(state.commit)
        if request.missing:
            states = [state for state in states if not _complete(repository, state, cells)]
        cells = _planned(repository, cells, commits, progress) if states else cells
        for group in groups(versions(repository, states, committed=request.committed)):
            with _session(repository, config, cells, group, request, progress) as session:
                blocks = {number: cell.executions * cell.binaries for number, cell in enumerate(cells)}
                progress.begin(session.steps(blocks))
                session.warm_up()
                session.run(blocks)
                _keep(repository, session, outcome)
    return outcome


def _planned(repository: Repository, cells: list[Cell], commits: Sequence[str], progress: Progress) -> list[Cell]:
    """The cells with their automatic numbers of executions, by what is stored up to HEAD."""
    if not any(cell.auto for cell in cells):
        return cells
    from perfvcs.plan.automatic import planned

    found, lines = planned(repository, cells, repository.project.head or commits[-1])
    for line in lines:
        progress.say(line)
    return found


def _complete(repository: Repository, state: State, cells: Iterable[Cell]) -> bool:
    headers = [one.header for one in repository.measured(state)]
    present = {(header.job.label, header.job.collector, header.job.cmd) for header in headers}
    return all((cell.label, cell.collector_name, cell.cmd) in present for cell in cells)


def settle(
    repository: Repository, config: Config, pair: tuple[State, State], request: Request, progress: Progress, delta: float | None
) -> tuple[Outcome, str]:
    """Measure two revisions interleaved until every comparison is decided, looking after each of 5 to 30 pairs.

    The same revision twice is an A/A measurement. A number of executions in the request means that many pairs and one look. ``delta``
    is the smallest effect that counts, see ``check.compare``. Returns what was stored, and the session.
    """
    from perfvcs.check.look import look
    from perfvcs.statistics.looks import schedule

    cells, config = request.apply(config)
    outcome = Outcome()
    looks = schedule() if request.executions is None else (request.executions,)
    with repository.measuring(wait=request.wait):
        both = versions(repository, pair)
        with _session(repository, config, cells, both, request, progress) as session:
            pending, done, history = set(range(len(cells))), 0, repository.history(pair[1])
            progress.begin(session.steps(dict.fromkeys(pending, looks[-1])))
            session.warm_up()
            for pairs in looks:
                session.run(dict.fromkeys(pending, pairs - done))
                done = pairs
                for number in list(pending) if pairs < looks[-1] else ():
                    sides = session.sides(number)
                    if sides is None or look(*sides, pairs=pairs, most=looks[-1], delta=delta, history=history).pairs is None:
                        pending.discard(number)
                if not pending:
                    break
            _keep(repository, session, outcome)
            return outcome, session.id


def _session(
    repository: Repository, config: Config, cells: list[Cell], found: list[Version], request: Request, progress: Progress
) -> Session:
    project, home = repository.project, repository.home
    return Session(project, home, config, cells, found, progress, knobs=knobs(config), seed=request.seed)


def _keep(repository: Repository, session: Session, outcome: Outcome) -> None:
    profiles = session.profiles()
    names = ", ".join(dict.fromkeys(version.name for version in session.versions))
    outcome.paths += repository.store.add(profiles, f"Collect {names}")
    repository.refresh()
    prune(repository.home / "python", PYTHONS)
    outcome.profiles += profiles
    outcome.failures += session.failures
    outcome.warnings += [line for line in session.warnings if line not in outcome.warnings]
    outcome.seeds.append(session.seed)
