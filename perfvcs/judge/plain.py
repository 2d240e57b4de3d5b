"""What both sides of a judgement did where they were run as a user would start them."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import msgspec

BASE = 0  # its place among the versions
SAME_SEED = (0, 1)  # executions that show whether a seed decides the output
FIRST = 1.5  # times as long as every later execution: what is kept for these
SHORT = 0.03  # seconds; below, what a first execution takes longer says nothing


class Side(msgspec.Struct):
    """The executions of one side: what they took by wall and by CPU time (s), the digests of their
    outputs (empty where these are not read) and of the files that each wrote into its copy (by
    path; none where these stay), the files that they left, that are gone with the layer over their
    copy, and that they deleted there, the processes that they left, the most CPU time (s) of
    processes for which nobody waited, the most processes at a time (0: nobody counted), the most
    bytes that these kept in files that are memory, the files of the base's copy that they changed,
    and why one failed.
    """

    seconds: list[float] = []
    cpu: list[float] = []
    outputs: list[str] = []
    written: list[dict[str, str]] = []
    files: set[str] = set()
    gone: set[str] = set()
    deleted: set[str] = set()
    processes: int = 0
    adopted: float = 0.0
    beside: int = 0
    aside: int = 0
    changed: list[str] = []
    failure: str = ""

    @property
    def is_first_longer(self) -> bool:
        """Whether the first took much longer than each later one, by wall or by CPU time."""
        return _is_first_longer(self.seconds) or self.is_first_busier

    @property
    def is_first_busier(self) -> bool:
        """Whether the first took much more CPU time than each later one."""
        return _is_first_longer(self.cpu)

    def times(self, metric: str) -> list[float]:
        """What the executions took by a clock, in s."""
        return self.cpu if metric == "cpu" else self.seconds


class Plain(msgspec.Struct):
    """The plain executions of a job's command on both sides, in turns; ``job`` is its label.

    The target is at ``position`` among the versions. ``drawn``: its input is another one in each
    block. ``apart``: they ran in namespaces of their own, with empty shared folders; ``layered``:
    what they wrote into their copy was gone afterwards. ``early`` are executions of the base before
    the target was built. ``untried`` says why there are none; empty where there are some.
    """

    job: str
    position: int
    drawn: bool
    apart: bool
    layered: bool = False
    untried: str = ""
    early: Side = msgspec.field(default_factory=Side)
    base: Side = msgspec.field(default_factory=Side)
    target: Side = msgspec.field(default_factory=Side)

    @property
    def is_first_of_base_longer(self) -> bool:
        """Whether the base's first execution took much longer than each later one: that before the
        target was built, which leaves its caches where nothing is layered.
        """
        both = Side(self.early.seconds + self.base.seconds, self.early.cpu + self.base.cpu)
        return self.base.is_first_longer or both.is_first_longer

    @property
    def left(self) -> list[str]:
        """The files that the target leaves, and the base does not."""
        return sorted(self.target.files - self.base.files - self.early.files)

    @property
    def written(self) -> list[str]:
        """The files that the target leaves, or that only a layer forgets, and the base does not."""
        base = self.base.files | self.base.gone | self.early.files
        return sorted((self.target.files | self.target.gone) - base)

    @property
    def deleted(self) -> list[str]:
        """The files that the target deletes in its copy, and the base does not."""
        return sorted(self.target.deleted - self.base.deleted)

    @property
    def failed(self) -> bool:
        """Whether an execution failed."""
        return bool(self.base.failure or self.target.failure)

    @property
    def differs(self) -> bool:
        """Whether the target's output is not the base's, which with one seed is always the same."""
        base, target = self.base.outputs, self.target.outputs
        if len(base) < len(SAME_SEED) or len(set(base[: len(SAME_SEED)])) > 1:
            return False
        return any(one != other for one, other in zip(base, target, strict=False))

    @property
    def differing(self) -> list[str]:
        """The files that the base writes into its copy, with one seed always the same, and the
        target writes otherwise, or not at all.
        """
        if min(len(self.base.written), len(self.target.written)) < len(SAME_SEED):
            return []
        (first, second), target = self.base.written, self.target.written
        stable = {path for path, digest in first.items() if second.get(path) == digest}
        return sorted(
            path
            for path in stable
            if first[path] and any(files.get(path) not in ("", first[path]) for files in target)
        )

    @property
    def agreeing(self) -> int:
        """How many different outputs both sides have printed, each for the same input."""
        pairs = zip(self.base.outputs, self.target.outputs, strict=False)
        return len({one for one, other in pairs if one and one == other})

    def effects(self, metric: str, baseline: float) -> list[float]:
        """By how much the target's time differs, as a share of what the base takes where it is
        measured: an execution that has to compile what others find compiled takes longer on both
        sides. Without the first executions of each side.
        """
        pairs = zip(self.base.times(metric)[1:], self.target.times(metric)[1:], strict=False)
        return [(after - before) / baseline for before, after in pairs]


def typical(side: Side) -> float:
    """The median of the later executions, in s; of the first where there is no other."""
    return median(side.seconds[1:] or side.seconds or [0.0])


def _is_first_longer(times: Sequence[float]) -> bool:
    if not times:
        return False
    first, *later = times
    most = max(later, default=first)
    return first > FIRST * most and first - most > SHORT
