"""Whether a count that is exact for most programs was the same in each execution of a revision."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from perfvcs.index import Index


class StoredCount(NamedTuple):
    """A metric of a unit at a size, by a collector of a job with a label."""

    job: str
    collector: str
    uid: str
    size: float | None
    metric: str

    def varies(self, index: Index, commits: Sequence[str]) -> bool | None:
        """Whether what is stored of commits shows differences between executions, as the count of a
        program that draws its hash seed does; None where one of them was executed once at most.
        """
        seen = list(self._values(index, commits))
        if any(len(set(values)) > 1 for _, values in seen):
            return True
        several = {commit for commit, values in seen if len(values) > 1}
        return False if several.issuperset(commits) else None

    def _values(
        self, index: Index, commits: Sequence[str]
    ) -> Iterator[tuple[str, tuple[float, ...]]]:
        for measured in index.measured(commits):
            header = measured.header
            job = header.job.label, header.job.collector
            if header.dirty is not None or job != (self.job, self.collector):
                continue
            for summary in measured.summaries:
                if (summary.uid, summary.size, summary.metric) == self[2:]:
                    yield header.commit, summary.medians
