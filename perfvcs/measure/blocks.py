"""The complete blocks of a session: all that counts of it, whenever it ends."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from perfvcs.measure.journal import Block
from perfvcs.measure.recording import JobRecording


class Blocks:
    """Blocks by the numbers of job and block. One more is one assignment, so that no interruption leaves a half."""

    def __init__(self) -> None:
        self._done: defaultdict[int, dict[int, Block]] = defaultdict(dict)

    def __len__(self) -> int:
        return sum(map(len, self._done.values()))

    def add(self, block: Block) -> None:
        """One more, or one in the place of an older one."""
        self._done[block.job][block.block] = block

    def missing(self, job: int, numbers: Iterable[int]) -> set[int]:
        """Which of these blocks of a job are not done."""
        return set(numbers).difference(self._done[job])

    def hosts(self, job: int, version: int) -> list[str]:
        """The hosts that measured a job on a version, the one with the first block first."""
        return list(dict.fromkeys(block.host for block in self.of(job, version)))

    def series(self) -> Mapping[tuple[int, int], tuple[str, str]]:
        """The series of every job and version, by their numbers."""
        return {
            (job, version): series
            for job, blocks in self._done.items()
            for block in blocks.values()
            for version, series in block.series.items()
        }

    def of(self, job: int, version: int, host: str | None = None) -> list[Block]:
        """Those in which a version gave something for a job, on any host or a certain one, in the order of their numbers."""
        blocks = self._done[job]
        found = [blocks[number] for number in sorted(blocks) if version in blocks[number].seen]
        return found if host is None else [block for block in found if block.host == host]

    def recording(self, job: int, version: int, host: str = "") -> JobRecording:
        """What a job gave on a version, on one host."""
        found = JobRecording()
        for block in self.of(job, version, host):
            found.add(block.seen[version], block.block, block.binary, block.places[version], block.seed)
        return found

    def failed(self, job: int, version: int, host: str = "") -> int:
        """How many executions on one host failed and were repeated."""
        return sum(block.failed.get(version, 0) for block in self.of(job, version, host))
