"""Which profiles stand for a commit in listings: those of the state that its name means, as in
verdicts.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple

from perfvcs.profile.benchmarkfilter import EVERYTHING, BenchmarkFilter
from perfvcs.profile.rules import RULES_FILE
from perfvcs.text.words import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from perfvcs.profile.summary import Measured
    from perfvcs.repository import Repository
    from perfvcs.repository.state import State


class ProfileCount(NamedTuple):
    """How many profiles a commit has: of the state that stands for it, which may be one with
    uncommitted ``changes`` on top, and of ``others``, such as with other changes, or products.
    """

    own: int
    others: int = 0
    changes: bool = False

    @property
    def remark(self) -> str:
        """What the number alone does not say; mostly empty."""
        if not self.changes:
            those = counted(self.others, "profile")
            return f"and {those} with uncommitted changes on top" if self.others else ""
        more = f"; {counted(self.others, 'other profile')}" if self.others else ""
        return f"with uncommitted changes on top{more}"


class CommitProfiles:
    """The profiles of commits, of some benchmarks; what stands for a commit is asked once."""

    def __init__(self, repository: Repository, benchmarks: BenchmarkFilter = EVERYTHING) -> None:
        self._repository, self._benchmarks = repository, benchmarks
        self._states: dict[str, State] = {}

    def _of(self, commits: Iterable[str]) -> dict[str, State]:
        """What stands for each commit, in their order."""
        asked = list(commits)
        new = (commit for commit in asked if commit not in self._states)
        self._states |= self._repository.states.of_commits(new)
        return {commit: self._states[commit] for commit in asked}

    def measured(self, commits: Sequence[str]) -> list[tuple[str, Measured]]:
        """What was measured of some commits (newest first), the oldest first, each beside its
        commit.
        """
        states = self._of(reversed(commits))
        owners = {(state.filed, state.dirty): commit for commit, state in states.items()}
        filed = dict.fromkeys(state.filed for state in states.values())
        rows = [
            (owners.get((profile.header.commit, profile.header.dirty), ""), profile)
            for profile in self._repository.index.measured(filed)
            if self._benchmarks.has_job(profile.header.job.label, profile.header.job.collector)
        ]
        places = {commit: place for place, commit in enumerate(states)}
        return sorted((row for row in rows if row[0]), key=lambda row: places[row[0]])

    def counts(self, commits: Iterable[str]) -> dict[str, ProfileCount]:
        """How many profiles each commit has."""
        index, states = self._repository.index, self._of(commits)
        stored, changed = index.counts(states), index.changed()
        return {
            commit: (
                self._counted(commit, state)
                if self._benchmarks or commit in changed or state.below
                else ProfileCount(stored.get(commit, 0))
            )
            for commit, state in states.items()
        }

    def _counted(self, commit: str, state: State) -> ProfileCount:
        """Counts one by one."""
        found: Counter[bool] = Counter()
        for header in self._repository.index.headers({commit, state.filed}):
            own = (header.commit, header.dirty) == (state.filed, state.dirty)
            own = own and header.design.product is None
            if self._benchmarks.has_job(header.job.label, header.job.collector):
                found[own] += own or header.commit == commit
        return ProfileCount(found[True], found[False], bool(state.dirty and not state.below))

    def commits(self, walk: Iterator[str]) -> Iterator[str]:
        """The commits that have any; the first may have been measured before it was committed."""
        newest = list(islice(walk, 1))
        for commit in chain(newest, self._repository.with_profiles(walk)):
            known = not self._benchmarks and commit not in newest
            if known or any(self.counts([commit])[commit][:2]):
                yield commit


def standing(repository: Repository, state: State) -> str:
    """What the profiles of HEAD are of, where that is not HEAD as it was committed, or the working
    tree differs from it; else empty.
    """
    if state.below:
        return "measured before it was committed"
    if state.dirty:
        now = state.dirty == repository.working_tree.hash()
        return "measured with these changes" if now else "measured only with other changes"
    if not repository.changes.exist():
        return ""
    command = "" if (repository.project.root / RULES_FILE).is_file() else " -- CMD"
    return f"measured without these changes; `perf collect{command}` measures them"
