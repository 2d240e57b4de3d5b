"""Names and lines of addresses in programs and libraries: from ``addr2line`` where there is one,
else read here.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import posixpath
import re
import shutil
import subprocess
from bisect import bisect_right
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from perfvcs.system.foreign import printable
from perfvcs.text.characters import source_lines

if TYPE_CHECKING:
    from elftools.elf.elffile import ELFFile


READING_SECONDS = 120.0  # seconds for one file
LARGEST_FILE = 1 << 31  # bytes of a file that is read here
DISCRIMINATOR = re.compile(r" \(discriminator \d+\)$")


class CodePlace(NamedTuple):
    """Where a function's code stands in the source; line 0 is not known."""

    function: str
    file: str
    line: int


# by path, size and time of the last change of the file
_known: dict[tuple[str, int, int], dict[int, list[CodePlace]]] = {}


@cache
def damage(*more: type[Exception]) -> tuple[type[Exception], ...]:
    """What the parser of programs and libraries makes of damaged ones, and ``more``."""
    import struct

    from elftools.common.exceptions import DWARFError, ELFError
    from elftools.construct import ConstructError

    return (
        ELFError,
        DWARFError,
        ConstructError,
        struct.error,
        LookupError,
        ValueError,
        TypeError,
        AttributeError,
        AssertionError,
        *more,
    )


def look_up(path: str, addresses: list[int]) -> dict[int, list[CodePlace]]:
    """The places at some addresses of a file, one each; an unreadable file gives nothing."""
    from elftools.elf.elffile import ELFFile

    try:
        with open(path, "rb") as file:
            elf = ELFFile(file)
            functions = _functions(elf)
            try:
                lines = _lines(elf, addresses)
            except damage():
                lines = {}
    except damage(OSError, RecursionError, OverflowError, MemoryError):
        return {}
    starts = [code.start for code in functions]
    places: dict[int, list[CodePlace]] = {}
    for address in addresses:
        number = bisect_right(starts, address) - 1
        if number >= 0:
            function = functions[number]
            if address < function.start + max(function.size, 1):
                name = printable(demangled(function.name))
                places[address] = [CodePlace(name, *lines.get(address, ("", 0)))]
    return places


class _ElfFunction(NamedTuple):
    start: int
    size: int
    name: str


def _functions(elf: ELFFile) -> list[_ElfFunction]:
    functions: dict[int, tuple[int, str]] = {}
    for table in (".dynsym", ".symtab"):
        section: Any = elf.get_section_by_name(table)
        if section is not None:
            for symbol in section.iter_symbols():
                if (
                    symbol["st_info"]["type"] in ("STT_FUNC", "STT_LOOS")
                    and symbol["st_shndx"] != "SHN_UNDEF"
                ):
                    functions[symbol["st_value"]] = (symbol["st_size"], symbol.name)
    return [_ElfFunction(start, *rest) for start, rest in sorted(functions.items())]


def _lines(elf: ELFFile, addresses: list[int]) -> dict[int, tuple[str, int]]:
    """File and line of those addresses that the line tables know."""
    lines: dict[int, tuple[str, int]] = {}
    if not elf.has_dwarf_info() or elf.get_section_by_name(".debug_line") is None:
        return lines
    debug = elf.get_dwarf_info()
    for unit in debug.iter_CUs():
        program: Any = debug.line_program_for_CU(unit)
        if program is None:
            continue
        before: Any = None
        for entry in program.get_entries():
            state = entry.state
            if state is None:
                continue
            if before is not None:
                first = bisect_right(addresses, before.address - 1)
                for address in addresses[first : bisect_right(addresses, state.address - 1)]:
                    lines[address] = (_file(program, unit, before.file), before.line)
            before = None if state.end_sequence else state
    return lines


def _file(program: Any, unit: Any, number: int) -> str:
    """The path of a file in a line table, with its folder."""
    fives = program["version"] >= 5
    entry = program["file_entry"][number if fives else number - 1]
    name = _decoded(entry.name)
    folders = program["include_directory"]
    index = entry.dir_index if fives else entry.dir_index - 1
    folder = _decoded(folders[index]) if 0 <= index < len(folders) else ""
    top: Any = unit.get_top_DIE().attributes.get("DW_AT_comp_dir")
    parts = [_decoded(top.value) if top is not None else "", folder, name]
    return printable(posixpath.join(*parts).rstrip("/"))


def _decoded(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


@cache
def _demangler() -> Any:
    name = ctypes.util.find_library("stdc++") or "libstdc++.so.6"
    try:
        demangler = ctypes.CDLL(name).__cxa_demangle
    except (OSError, AttributeError):
        return None
    demangler.restype = ctypes.c_void_p
    return demangler


def demangled(name: str) -> str:
    """A C++ symbol as the source names it, if the C++ library is available.

    >>> demangled("main")
    'main'
    """
    if not name.startswith("_Z") or (ask := _demangler()) is None:
        return name
    status = ctypes.c_int()
    readable = ask(name.encode(), None, None, ctypes.byref(status))
    if not readable or status.value:
        return name
    result = ctypes.string_at(readable).decode(errors="replace")
    ctypes.CDLL(None).free(ctypes.c_void_p(readable))
    return result


def resolve(path: str, addresses: Iterable[int]) -> dict[int, list[CodePlace]]:
    """The functions at some addresses of a file, the innermost inlined one first; empty lists if
    nothing is known.
    """
    try:
        status = Path(path).stat()
    except OSError:
        return {address: [] for address in addresses}
    remembered = _known.setdefault((path, status.st_size, status.st_mtime_ns), {})
    wanted = list(addresses)
    missing = sorted({address for address in wanted if address not in remembered})
    if missing:
        places = _asked(path, missing)
        if places is None:
            places = look_up(path, missing) if status.st_size <= LARGEST_FILE else {}
        remembered.update({address: places.get(address, []) for address in missing})
    return {address: remembered[address] for address in wanted}


@cache
def _tool() -> str | None:
    return shutil.which("addr2line")


def _asked(path: str, addresses: list[int]) -> dict[int, list[CodePlace]] | None:
    """The answers of addr2line; None where there is none, or none in time."""
    tool = _tool()
    if tool is None:
        return None
    try:
        done = subprocess.run(
            [tool, "-a", "-f", "-i", "-C", "-e", path],
            input="".join(f"{address:#x}\n" for address in addresses).encode(),
            capture_output=True,
            timeout=READING_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return None if done.returncode else _parsed(done.stdout.decode(errors="replace"))


def _parsed(answers: str) -> dict[int, list[CodePlace]]:
    """Answers are a line with the address, then two lines per function."""
    by_address: dict[int, list[CodePlace]] = {}
    places: list[CodePlace] = []
    lines = iter(source_lines(answers))
    for line in lines:
        if re.fullmatch(r"0x[0-9a-f]+", line):
            places = by_address.setdefault(int(line, 16), [])
            continue
        where = DISCRIMINATOR.sub("", next(lines, "??:0"))
        file, _, number = where.rpartition(":")
        if line == "??":
            continue
        path = "" if file == "??" else printable(file)
        row = int(number) if number.isdecimal() else 0
        places.append(CodePlace(printable(line), path, row))
    return by_address
