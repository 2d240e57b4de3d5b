"""Which profiles stand for a commit in listings: those of the state that its name means, as in
verdicts.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple

from perfvcs.profile.benchmarkfilter import EVERYTHING
from perfvcs.text.words import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from perfvcs.profile.benchmarkfilter import BenchmarkFilter
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


def measured_of(
    repository: Repository, commits: Sequence[str], benchmarks: BenchmarkFilter = EVERYTHING
) -> list[tuple[str, Measured]]:
    """What was measured of some commits (newest first), the oldest first, each beside its commit;
    of some benchmarks.
    """
    states = repository.states.of_commits(reversed(commits))
    owners = {(state.filed, state.dirty): commit for commit, state in states.items()}
    filed = dict.fromkeys(state.filed for state in states.values())
    rows = [
        (owners.get((profile.header.commit, profile.header.dirty), ""), profile)
        for profile in repository.index.measured(filed)
        if benchmarks.has_job(profile.header.job.label, profile.header.job.collector)
    ]
    places = {commit: place for place, commit in enumerate(states)}
    return sorted((row for row in rows if row[0]), key=lambda row: places[row[0]])


def profile_counts(
    repository: Repository, commits: Iterable[str], benchmarks: BenchmarkFilter = EVERYTHING
) -> dict[str, ProfileCount]:
    """How many profiles each commit has, of the jobs of some benchmarks."""
    index, states = repository.index, repository.states.of_commits(commits)
    stored = index.counts(states)
    counts = {commit: ProfileCount(stored.get(commit, 0)) for commit in states}
    changed = index.changed()
    for commit, state in states.items():
        if benchmarks or commit in changed or state.below:
            counts[commit] = _counted(repository, commit, state, benchmarks)
    return counts


def _counted(
    repository: Repository, commit: str, state: State, benchmarks: BenchmarkFilter
) -> ProfileCount:
    """Counts one by one."""
    found: Counter[bool] = Counter()
    for header in repository.index.headers({commit, state.filed}):
        own = (header.commit, header.dirty) == (state.filed, state.dirty)
        own = own and header.design.product is None
        if benchmarks.has_job(header.job.label, header.job.collector):
            found[own] += own or header.commit == commit
    return ProfileCount(found[True], found[False], bool(state.dirty and not state.below))


def measured_commits(
    repository: Repository, walk: Iterator[str], benchmarks: BenchmarkFilter
) -> Iterator[str]:
    """The commits that have profiles of some benchmarks; the first may have been measured before it
    was committed.
    """
    newest = list(islice(walk, 1))
    for commit in chain(newest, repository.with_profiles(walk)):
        known = not benchmarks and commit not in newest
        if known or any(profile_counts(repository, [commit], benchmarks)[commit][:2]):
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
    if repository.changes.exist():
        return "measured without these changes; `perf collect` measures them"
    return ""
