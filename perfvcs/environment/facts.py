"""The facts of a host that a job may ask for: its processors, memory, system, and what its processor can do."""

from __future__ import annotations

import os
import re
from pathlib import Path

import msgspec

from perfvcs.environment import memory, processor
from perfvcs.environment.noise import read

FILE_SYSTEM = Path("/")


class Facts(msgspec.Struct, frozen=True):
    """What is known of a host.

    ``memory`` is in bytes, ``flags`` are those of /proc/cpuinfo, such as ``avx2``, ``load`` is the average of a minute.
    """

    host: str
    cores: int
    memory: int
    cpu: str
    machine: str
    kernel: str
    system: str
    flags: frozenset[str]
    load: float

    @property
    def named(self) -> dict[str, str | int]:
        """Those that stay, and have a name of their own."""
        return {name: getattr(self, name) for name in self.__struct_fields__ if name not in ("flags", "load")}


def facts(root: Path = FILE_SYSTEM) -> Facts:
    """Those of this host."""
    flags = re.search(r"^(?:flags|Features)\s*:\s*(.+)$", read(root / "proc/cpuinfo") or "", re.M)
    names = os.uname()
    return Facts(
        host=names.nodename, cores=len(os.sched_getaffinity(0)), memory=memory(root),
        cpu=processor(root), machine=names.machine, kernel=names.release, system=names.sysname,
        flags=frozenset(flags[1].split() if flags else ()), load=os.getloadavg()[0],
    )  # fmt: skip
