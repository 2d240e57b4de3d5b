"""The file that configures what the runtime records (inside/fentry/configuration.h)."""

from __future__ import annotations

import struct
from pathlib import Path

from perfvcs.collectors.complexity.native.program import Instruction, Steps
from perfvcs.collectors.complexity.native.selection import TraceSelection

MAGIC, VERSION = b"PVCSFECF", 1
OUTERMOST, PATCH = 1, 2
NONE = 0xFFFFFFFF


def write(path: Path, selection: TraceSelection, *, outermost: bool, keep: int) -> None:
    """Write the file."""
    objects: list[bytes] = []
    sites: list[bytes] = []
    nops: list[bytes] = []
    programs: dict[Steps, int] = {(): NONE}
    steps: list[Instruction] = []
    for one in selection.objects:
        objects.append(struct.pack("<QQIIII", one.device, one.inode, len(sites), len(one.sites), len(nops), len(one.others)))
        for site in one.sites:
            if site.steps not in programs:
                programs[site.steps] = len(steps)
                steps += site.steps
            sites.append(struct.pack("<QII", site.offset, site.function, programs[site.steps]))
        nops += [struct.pack("<Q", offset) for offset in one.others]
    head = struct.pack(
        "<8sIIIIIIIIQ", MAGIC, VERSION, (OUTERMOST if outermost else 0) | PATCH, keep, len(selection.names),
        len(objects), len(sites), len(nops), len(steps), 0,
    )  # fmt: skip
    packed = [struct.pack("<HHIq", step.code, step.argument, step.width, step.value) for step in steps]
    path.write_bytes(b"".join([head, *objects, *sites, *nops, *packed]))
