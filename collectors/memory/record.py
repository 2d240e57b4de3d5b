"""Files that the preloaded allocation counter leaves behind, one per process; ``collectors/memory/inside/layout.h`` has their form."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfvcs.collector import CollectError
from perfvcs.collectors._shared.recording import read_part

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAGIC, VERSION = b"PVCSHEAP", 1
BINS, SITES, POOL, HEADER = 32, 1 << 16, 1 << 22, 4096
FORKED, FOREIGN, SLOW, FULL = 1, 2, 4, 8
RECORD_KINDS = (
    "(unknown)", "malloc", "calloc", "realloc", "memalign", "aligned_alloc", "posix_memalign", "valloc", "pvalloc", "reallocarray",
)  # fmt: skip
HEAD_FIELDS = [
    ("magic", "S8"), ("version", "<u4"), ("pid", "<u4"), ("count", "<u8"), ("bytes", "<u8"), ("live", "<u8"), ("peak", "<u8"),
    ("epochs", "<u8"), ("inherited", "<u8"), ("mapped", "<u8"), ("missed", "<u8"), ("width", "<u8"), ("sites", "<u4"),
    ("flags", "<u4"), ("pool", "<u8"), ("began", "<u8", (BINS,)),
]  # fmt: skip
SITE = [
    ("hash", "<u8"), ("stack", "<u8"), ("depth", "<u4"), ("kind", "<u2"), ("scan", "<u2"), ("count", "<u8"), ("bytes", "<u8"),
    ("live", "<u8"), ("blocks", "<u8"), ("peak", "<u8"), ("epoch", "<u8"), ("inherited", "<u8"), ("inherited_blocks", "<u8"),
    ("change", "<i8", (BINS,)),
]  # fmt: skip
MAX_FILES = 10_000
MAX_MAP = 1 << 24  # bytes of a process' list of modules


@dataclass(frozen=True)
class Module:
    """A file that was mapped from ``low`` to ``high``, ``bias`` above the addresses that it names itself."""

    bias: int
    low: int
    high: int
    path: str


@dataclass(frozen=True)
class AllocationRecord:
    """One process: its header, its sites (arrays of the layout's records), all stacks' addresses, and its modules by their scan."""

    head: Any
    sites: NDArray[np.void]
    pool: NDArray[np.uint64]
    modules: dict[int, list[Module]]

    @property
    def flags(self) -> int:
        """What the process reported about itself."""
        return int(self.head["flags"])

    @property
    def peaks(self) -> NDArray[np.int64]:
        """Bytes of each site when the process had most."""
        import numpy as np

        now = self.sites["epoch"] == self.head["epochs"]
        return np.where(now, self.sites["peak"], self.sites["live"]).astype(np.int64)

    @property
    def leaked(self) -> NDArray[np.int64]:
        """Bytes of each site that this process allocated and did not free."""
        import numpy as np

        return self.sites["live"].astype(np.int64) - self.sites["inherited"].astype(np.int64)

    def addresses(self, number: int) -> list[int]:
        """The return addresses of one site, innermost first."""
        site = self.sites[number]
        return [int(one) for one in self.pool[int(site["stack"]) : int(site["stack"]) + int(site["depth"])]]

    def module(self, scan: int, address: int) -> Module | None:
        """The module in which an address was at the time of a scan."""
        return next((one for one in self.modules.get(scan, ()) if one.low <= address < one.high), None)


def read(folder: Path) -> list[AllocationRecord]:
    """What the processes of one execution left; raises CollectError."""
    paths = sorted(folder.glob("memory-*.bin"))
    if len(paths) > MAX_FILES:
        raise CollectError(f"over {MAX_FILES:,} processes were started: measure fewer at once")
    return [_read(path) for path in paths]


def _read(path: Path) -> AllocationRecord:
    import numpy as np

    def refuse(why: str) -> CollectError:
        return CollectError(f"{path.name} {why}: the program must leave it alone")

    header = np.dtype(HEAD_FIELDS).itemsize
    content = read_part(path, 0, header)
    if len(content) < header or content[:8] != MAGIC:
        raise refuse("is not a file of allocations")
    head = np.frombuffer(content, HEAD_FIELDS, 1)[0]
    if head["version"] != VERSION:
        raise CollectError(
            f"{path.name} has version {head['version']} of the format, not {VERSION}: remove perfvcs' cache folder"
        )
    number, pooled, record = int(head["sites"]), int(head["pool"]), np.dtype(SITE).itemsize
    if number > SITES or pooled > POOL:
        raise refuse("counts more than it can hold")
    content = read_part(path, HEADER, number * record)
    pool = read_part(path, HEADER + SITES * record, pooled * 8)
    if len(content) < number * record or len(pool) < pooled * 8:
        raise refuse("was cut off")
    sites = np.frombuffer(content, SITE, number)
    if number and ((sites["stack"] + sites["depth"]).max() > pooled or sites["kind"].max() >= len(RECORD_KINDS)):
        raise refuse("has stacks that are not in it")
    return AllocationRecord(head, sites, np.frombuffer(pool, "<u8", pooled), _modules(path.with_suffix(".map")))


def _modules(path: Path) -> dict[int, list[Module]]:
    """The modules by the number of the scan that found them; lines that make no sense are those of a process killed while writing."""
    found: dict[int, list[Module]] = {}
    content = read_part(path, 0, MAX_MAP) if path.exists() else b""
    for line in content.split(b"\0")[:-1]:
        words = os.fsdecode(line).split(" ", 4)
        if len(words) == 5:
            try:
                scan, bias, low, high = int(words[0]), *(int(word, 16) for word in words[1:4])
            except ValueError:
                continue
            found.setdefault(scan, []).append(Module(bias, low, high, words[4]))
    return found
