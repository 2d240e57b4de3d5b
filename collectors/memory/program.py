"""The program whose allocations are recorded: checks before it starts, and its execution."""

from __future__ import annotations

import os
import stat
import struct
from functools import cache
from pathlib import Path
from typing import Any

from perfvcs.collector import CollectError
from perfvcs.launcher.execution import name_command

LARGEST_PROGRAM = 1 << 31  # bytes of a program that is looked into


def check(program: str) -> list[str]:
    """Remarks on a program that a library will be loaded into; raises CollectError if nothing can be loaded into it."""
    try:
        about = Path(program).stat()
    except OSError:
        return []  # starting it gives the better message
    name = name_command([program])
    if about.st_mode & (stat.S_ISUID | stat.S_ISGID) and os.geteuid() != about.st_uid:
        raise CollectError(
            f"{name} runs with another user's rights (setuid), which forbids loading libraries: measure a copy of it",
            lasting=True,
        )
    linked, own = _linkage(program, about.st_size, about.st_mtime_ns)
    if not linked:
        raise CollectError(
            f"{name} is linked statically, so that nothing can be loaded into it: link it without -static", lasting=True
        )
    return [f"memory: {name} contains its own malloc: memory allocated with it is not seen"] if own else []


@cache
def _linkage(path: str, size: int, _changed: int) -> tuple[bool, bool]:
    """Whether a file can load libraries, and whether it defines malloc; scripts and unreadable files are assumed to be fine."""
    from elftools.common.exceptions import ELFError
    from elftools.construct import ConstructError
    from elftools.elf.elffile import ELFFile

    try:
        with open(path, "rb") as file:
            if file.read(4) != b"\x7fELF" or size > LARGEST_PROGRAM:
                return True, False
            elf = ELFFile(file)
            linked = any(segment["p_type"] in ("PT_INTERP", "PT_DYNAMIC") for segment in elf.iter_segments())
            return linked, linked and _defines(elf, "malloc")
    except (OSError, ELFError, ConstructError, struct.error, LookupError, ValueError, TypeError, AttributeError, AssertionError):
        return True, False


def _defines(elf: Any, name: str) -> bool:
    for table in (".symtab", ".dynsym"):
        section: Any = elf.get_section_by_name(table)
        symbols = section.get_symbol_by_name(name) if section is not None else None
        if any(one["st_shndx"] != "SHN_UNDEF" and one["st_info"]["type"] == "STT_FUNC" for one in symbols or ()):
            return True
    return False
