"""Repository: the one object that commands talk to; it brings project, store, index, measuring and
verdicts together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from perfvcs import gate
from perfvcs.errors import UsageError
from perfvcs.git.project import Project, UnknownRevision
from perfvcs.index import Index
from perfvcs.profile.rules import REGISTER_FILE, RULES_FILE
from perfvcs.profile.units import in_base_units
from perfvcs.repository import leftovers, seals
from perfvcs.repository.state import State, States, WorkingTree
from perfvcs.store import Store
from perfvcs.system.lock import Locked, hold

if TYPE_CHECKING:
    from perfvcs.check import EarlierSessions, Report, Unit
    from perfvcs.check.acceptance import Acceptable, Acceptance
    from perfvcs.check.method import CheckRequest
    from perfvcs.git.changes import WorkingChanges
    from perfvcs.index.snapshot import FormerNames
    from perfvcs.profile import Profile
    from perfvcs.profile.rules import Rules
    from perfvcs.profile.summary import Header, Measured
    from perfvcs.repository.criteria import Criteria, CriteriaReader

NEAREST_ANCESTORS = 60  # ancestors with profiles that tell how much a series moves between sessions


class Repository:
    """The performance history of a project, in its ``.perf`` folder."""

    def __init__(self, project: Project, home: Path) -> None:
        self.project = project
        self.home = home
        self.working_tree = WorkingTree(project, home)

    @classmethod
    def find(cls, start: Path | None = None, *, create: bool = False) -> Repository:
        """The repository around a folder, its ``.perf`` made when ``create``; what a crash left is
        cleaned up.

        Raises NoRepository; Untrusted where ``.perf`` came from elsewhere.
        """
        return cls.of(Project.find(start), create=create)

    @classmethod
    def of(cls, project: Project, *, create: bool = False) -> Repository:
        """The repository of a project that is already found; raises as ``find`` does."""
        if create:
            repository = cls(project, gate.make(project))
            project.exclude(f"/{gate.PERF_FOLDER}")  # without a slash at its end: it may be a link
            repository.store = Store.create(repository.home / "store")
        else:
            repository = cls(project, gate.enter(project))
            if not (repository.home / "store").is_dir():
                raise gate.nothing(project)
        repository.clean()
        return repository

    @cached_property
    def store(self) -> Store:
        """The profiles."""
        return Store(self.home / "store")

    @cached_property
    def index(self) -> Index:
        """The cache of headers and summaries, up to date with the store."""
        index = Index(self.store, self.home / "index.db", self.former)
        index.refresh()
        return index

    @property
    def former(self) -> FormerNames:
        """The names of perf.toml's jobs by those that they had before. Raises BadConfig."""
        return self.working_tree.former

    def refresh(self) -> None:
        """Lets the index follow what was just stored."""
        self.index.refresh()

    def reindex(self) -> int:
        """Builds the index anew from the store; returns how many profiles it has."""
        self.index.rebuild()
        return self.index.total()

    def size(self) -> int:
        """Bytes that the store takes on disk."""
        return sum(path.stat().st_size for path in self.store.path.rglob("*") if path.is_file())

    @contextmanager
    def measuring(self, *, wait: bool = False) -> Iterator[None]:
        """Holds the right to measure; raises Locked."""
        with hold(self.home / "lock", wait=wait):
            leftovers.sweep(self.project, self.home)
            self._release()  # measuring takes hours
            with seals.watched(self.home):
                yield

    def _release(self) -> None:
        """Lets the next read of the index see what others stored while this waited."""
        if "index" in vars(self):
            self.index.release()

    def clean(self) -> None:
        """Removes what a killed run left, unless a run is going on."""
        # what cannot be cleaned up now can be read all the same
        with suppress(Locked, OSError):
            if leftovers.are_there(self.project, self.home):
                with self.measuring():
                    pass

    def gc(self) -> None:
        """Pack the store, and drop what crashes and failed measurements left more than two weeks
        ago.
        """
        self.store.gc()
        leftovers.drop_old(self.home)

    # -- what is measured --------------------------------------------------------------------------

    @property
    def changes(self) -> WorkingChanges:
        """What the working tree changes against HEAD, without artefacts."""
        return self.working_tree.changes

    @cached_property
    def states(self) -> States:
        """Which state a revision means."""
        return States(self.project, self.index, self.working_tree.hash)

    def state(self, revision: str) -> State:
        """What a revision, or the name of a product, stands for in a verdict."""
        return self.states.of(revision)

    def product(self, name: str) -> State | None:
        """The product of this name that was measured last; None where none was."""
        return self.states.product(name)

    def current(self, revision: str) -> State:
        """What a revision stands for when it is measured now: HEAD is the working tree as it is."""
        try:
            commit = self.project.resolve(revision)
        except UnknownRevision:
            if self.product(revision):
                raise UsageError(
                    f"`{revision}` is a product: measure it again with --against {revision}=..."
                ) from None
            raise
        here = not self.project.bare and commit == self.project.head
        return State(commit, self.changes.hash() if here else None)

    def promote(self, commit: str) -> None:
        """Move profiles of uncommitted changes to the commit that made exactly these changes: for
        commands that store profiles anyway.
        """
        if not (before := self.states.before_committed(commit)):
            return
        moved = [measured.header.path for measured in self.measured(before)]
        profiles = [
            msgspec.structs.replace(profile, commit=commit, dirty=None)
            for _, profile in self.store.read_many(moved)
        ]
        self.store.add(
            profiles,
            f"Promote to {commit[:10]}: its changes were measured before they were committed",
        )
        self.store.remove(moved, f"Promote to {commit[:10]}: the profiles of uncommitted changes")
        self.refresh()

    def with_profiles(self, commits: Iterable[str]) -> Iterator[str]:
        """Those of some commits (none twice) that have profiles, in their order; no further ahead
        than they are asked for.

        It ends where no commit is left that could have any.
        """
        return self.index.among(commits, self.index.most_commits())

    def measured_ancestors(self, commit: str) -> Iterator[str]:
        """The ancestors of a commit that have profiles, the nearest first."""
        return self.index.among(
            self.project.ancestors(commit),
            self.index.most_commits() - len(self.index.counts([commit])),
        )

    def measured(self, state: State) -> list[Measured]:
        """Headers and summaries of a state's profiles."""
        return [
            measured
            for measured in self.index.measured([state.filed], products=bool(state.product))
            if state.has(measured)
        ]

    def profiles(self, headers: Iterable[Header]) -> list[Profile]:
        """The whole profiles of headers, as they were stored when the index was read: others may
        replace or remove them.

        Their values are in units without a prefix, unless models were fitted to them as they were.
        """
        stored = self.store.read_many([header.path for header in headers], at=self.index.head)
        renamed = (self.former.profile(profile) for _, profile in stored)
        return [profile if profile.models else in_base_units(profile) for profile in renamed]

    def baseline(self, target: State) -> State | None:
        """The nearest ancestor with a comparable profile, else the nearest with any; the commit
        itself below uncommitted changes.
        """
        wanted = {
            (measured.header.job.key, measured.header.environment.fingerprint)
            for measured in self.measured(target)
        }
        below = State(target.filed)
        if target.dirty and self.measured(below):
            return below
        fallback = None
        for commit in self.measured_ancestors(target.commit):
            headers = [header for header in self.index.headers([commit]) if header.dirty is None]
            if any(
                (header.job.key, header.environment.fingerprint) in wanted for header in headers
            ):
                return State(commit)
            fallback = fallback or (State(commit) if headers else None)
        return fallback

    @contextmanager
    def replacing(self) -> Iterator[None]:
        """Holds the right to replace stored profiles by new versions; waits for others, so that two
        never make versions of the same one.
        """
        with hold(self.home / "process.lock", wait=True):
            self._release()
            yield

    @property
    def rules(self) -> Rules:
        """The ``[[check]]`` tables that judge what comes next: those of HEAD, or as they were
        edited since. Raises BadConfig.
        """
        head = self.project.head or ""
        return self.criteria_reader.rules(head, head).rules

    @cached_property
    def criteria_reader(self) -> CriteriaReader:
        """Reads what the project's commits are judged by."""
        from perfvcs.repository.criteria import CriteriaReader

        return CriteriaReader(self.project)

    def criteria(self, baseline: State, target: State, *, committed: bool = False) -> Criteria:
        """What two states are judged by; ``committed``: what is not committed never judges.

        Raises BadConfig.
        """
        here = not target.product and not target.below and target.commit == self.project.head
        live = here and (
            committed or (target.dirty is not None and target.dirty == self.working_tree.hash())
        )
        changed = self.changes.files if live and not self.project.bare else None
        return self.criteria_reader.of(baseline, target, committed=committed, changed=changed)

    def judge_changes(self, baseline: str, target: str) -> str:
        """What a commit changes of how it is judged against another one, in a sentence: perf.toml,
        the overlay, the benchmark's own files; empty where it does not.
        """
        from perfvcs.check.answer import criteria
        from perfvcs.check.change import JudgedBy

        judged_by = self.criteria(State(baseline), State(target), committed=True).judged_by
        return criteria(JudgedBy(differences=judged_by.differences))

    # -- verdicts ----------------------------------------------------------------------------------

    def compare(
        self,
        baseline: State,
        target: State,
        asked: CheckRequest | None = None,
        *,
        session: str = "",
        settled: Sequence[str] = (),
        criteria: Criteria | None = None,
    ) -> Report:
        """The verdict on two states from what is stored, by the rules of the baseline unless a
        method is ``asked`` for; raises NothingToCompare.

        ``session`` leaves only what that session measured, and what was ``settled`` before it
        (labels of jobs). ``criteria`` are known already.
        """
        from perfvcs.check import NothingToCompare, compare, earlier_sessions
        from perfvcs.check.method import BY_RULES

        asked = asked or BY_RULES
        along = self._along(target)
        # once, also what several need
        wanted = dict.fromkeys([*along, baseline.filed, target.filed])
        measured = self.index.measured(wanted, products=bool(baseline.product or target.product))
        ours = [profile for profile in measured if profile.header.design.product is None]
        history = earlier_sessions([profile for profile in ours if profile.header.commit in along])
        sides = [list(filter(state.has, measured)) for state in (baseline, target)]
        if session:
            sides = [_of_session(side, session, settled) for side in sides]
        for state, side in zip((baseline, target), sides, strict=True):
            if not side:
                cure = f"`{state.collecting}`, or both with `perf check --measure`"
                if not (self.project.root / RULES_FILE).is_file():
                    cure = f"`{state.collecting} -- CMD`"
                raise NothingToCompare(f"{state.name} has no profiles: measure it with {cure}")
        criteria = criteria or self.criteria(baseline, target)
        report = compare(
            sides[0],
            sides[1],
            method=asked.method,
            rules=criteria.rules,
            delta=asked.delta,
            within=asked.within,
            history=history,
            read=self.profiles,
            overall=True,
            same_machine=asked.same_machine,
        )
        judged_by = criteria.judged_by
        remarks = [judged_by.remark, report.judged_by.remark]
        report = msgspec.structs.replace(
            report,
            baseline=baseline.name,
            target=target.name,
            judged_by=msgspec.structs.replace(judged_by, remark="; ".join(filter(None, remarks))),
        )
        changes = self.criteria_reader.wanted(
            report.changes, sides[0], baseline.commit, target.commit
        )
        return msgspec.structs.replace(report, changes=self.accepted(changes, baseline, target))

    @cached_property
    def acceptances(self) -> list[Acceptance]:
        """What perf-accepted.toml has accepted as it is now; raises BadRegister."""
        from perfvcs.check.register import load

        acceptances = [] if self.project.bare else load(self.project.root / REGISTER_FILE)
        for job, present in self.index.renamed():
            acceptances = [acceptance.renamed(job, present) for acceptance in acceptances]
        return acceptances

    def accepted(
        self, changes: Sequence[Acceptable], baseline: State, target: State
    ) -> Sequence[Acceptable]:
        """The changes, with what the project has accepted on the way from baseline to target."""
        if not self.acceptances:
            return changes
        from datetime import date

        from perfvcs.check.acceptance import accept
        from perfvcs.check.renewal import offered
        from perfvcs.git.ancestry import Ancestry

        way, today = Ancestry(self.project, baseline.commit, target.commit), date.today()
        changes = accept(changes, self.acceptances, way=way, today=today)
        return offered(changes, self.acceptances, way, today)

    def history(self, target: State) -> dict[Unit, EarlierSessions]:
        """What the sessions of the nearest measured ancestors, and the target's own, say of how
        much each benchmark moves.
        """
        from perfvcs.check import earlier_sessions

        return earlier_sessions(self.index.measured(self._along(target)))

    def _along(self, target: State) -> list[str]:
        """The nearest measured ancestors, oldest first, and the target's own commit."""
        return [
            *reversed(list(islice(self.measured_ancestors(target.commit), NEAREST_ANCESTORS))),
            target.commit,
        ]


def _of_session(
    profiles: Iterable[Measured], session: str, settled: Sequence[str]
) -> list[Measured]:
    """Those of a session, and those of jobs (labels) that were settled before it."""
    return [
        profile
        for profile in profiles
        if profile.header.collected.session == session or profile.header.job.label in settled
    ]
