"""Allocations by call stack: what the memory collector asks for and what its engines answer."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from perfvcs.launcher.execution import name_command
from perfvcs.plugins.collector import CollectError
from perfvcs.system.numeric import Floats, np

if TYPE_CHECKING:
    from collections.abc import Sequence


LARGEST_PROGRAM = 1 << 31  # bytes of a program that is looked into
HEAP_COLUMNS = ("bytes", "count", "peak", "leaked")
OTHER_SITES = "(other)"  # what the sites that are not kept have in all
# allocators, and what lies between them and the code that wanted memory
MACHINERY = re.compile(
    r"malloc|calloc|realloc|reallocarray|memalign|aligned_alloc|posix_memalign|valloc|pvalloc|mmap"
    r"|operator new(\[\])?|_Zn[wa]\w+"
    r"|(__gnu_cxx|std|__cxxabiv1)::.*|__cxa_.*|(PyMem|PyObject|PyMem_Raw)_(Malloc|Calloc|Realloc)|\(unknown\)"
)
LIBRARIES = re.compile(r"(libc|libstdc\+\+|libgcc_s|ld-linux|ld-musl|libpthread|libm).*\.so[\d.]*")


def check(program: str) -> list[str]:
    """Remarks on a program that a library will be loaded into; raises CollectError if nothing can
    be loaded into it.
    """
    try:
        status = Path(program).stat()
    except OSError:
        return []  # starting it gives the better message
    name = name_command([program])
    if status.st_mode & (stat.S_ISUID | stat.S_ISGID) and os.geteuid() != status.st_uid:
        raise CollectError(
            f"{name} runs with another user's rights (setuid), which forbids loading libraries:"
            " measure a copy of it",
            lasting=True,
        )
    linked, has_malloc = _linkage(program, status.st_size, status.st_mtime_ns)
    if not linked:
        raise CollectError(
            f"{name} is linked statically, so that nothing can be loaded into it: link it without"
            " -static",
            lasting=True,
        )
    return (
        [f"memory: {name} contains its own malloc: memory allocated with it is not seen"]
        if has_malloc
        else []
    )


@cache
def _linkage(path: str, size: int, _changed: int) -> tuple[bool, bool]:
    """Whether a file can load libraries, and whether it defines malloc; scripts and unreadable
    files are assumed to be fine.
    """
    from elftools.elf.elffile import ELFFile

    from perfvcs.collectors._shared.symbols import damage

    try:
        with open(path, "rb") as file:
            if file.read(4) != b"\x7fELF" or size > LARGEST_PROGRAM:
                return True, False
            elf = ELFFile(file)
            linked = any(
                segment["p_type"] in ("PT_INTERP", "PT_DYNAMIC") for segment in elf.iter_segments()
            )
            return linked, linked and _defines_malloc(elf)
    except damage(OSError):
        return True, False


def _defines_malloc(elf: Any) -> bool:
    for table in (".symtab", ".dynsym"):
        section: Any = elf.get_section_by_name(table)
        symbols = section.get_symbol_by_name("malloc") if section is not None else None
        if any(
            symbol["st_shndx"] != "SHN_UNDEF" and symbol["st_info"]["type"] == "STT_FUNC"
            for symbol in symbols or ()
        ):
            return True
    return False


class HeapFrame(NamedTuple):
    """A function, its source as ``file:line``, and the object file that it is in; empty where they
    are not known.
    """

    function: str
    place: str
    file: str


Stack = tuple[HeapFrame, ...]  # the innermost first


@dataclass(frozen=True)
class AllocationSite:
    """What one call stack allocated: bytes, calls, bytes at the process' peak, bytes that were
    never freed; None is not known.
    """

    stack: Stack
    bytes: float | None = None
    count: float | None = None
    peak: float | None = None
    leaked: float | None = None


@dataclass(frozen=True)
class Moment:
    """One function's (or with an empty name the process') bytes alive, ``number`` parts of its life
    after the start.

    ``time`` is in seconds since the process' start.
    """

    function: str
    number: int
    live: float
    time: float


@dataclass(frozen=True)
class Heap:
    """What one execution allocated.

    ``peak`` is in bytes and that of the process with the largest; ``bytes``, ``count`` and
    ``leaked`` are sums over all processes, None if the engine does not report it. ``mapped``: bytes
    that the program took directly from the system. ``engine`` is the way it was measured,
    ``warnings`` are lines for the user.
    """

    engine: str
    peak: float
    bytes: float | None = None
    count: float | None = None
    leaked: float | None = None
    mapped: float | None = None
    sites: Sequence[AllocationSite] = ()
    course: Sequence[Moment] = ()
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class RecordingInterpreter:
    """A Python that recorded itself: its program, and the folder of its memray; empty where it has
    none.
    """

    executable: str
    memray: str


def largest(sites: Sequence[AllocationSite], most: int) -> list[AllocationSite]:
    """The sites of one stack as one, and of these the ones with the largest share in anything; the
    others are one without a stack.

    A column of the result is None where no site of the input knows it.
    """
    if not sites:
        return []
    columns = [
        name for name in HEAP_COLUMNS if any(getattr(site, name) is not None for site in sites)
    ]
    numbers = {
        stack: number for number, stack in enumerate(dict.fromkeys(site.stack for site in sites))
    }
    sums = np.zeros((len(numbers), len(columns)))
    rows = [[getattr(site, name) or 0.0 for name in columns] for site in sites]
    np.add.at(sums, [numbers[site.stack] for site in sites], np.array(rows))
    most_costly = shares(sums, most)
    stacks = list(numbers)
    chosen = [
        AllocationSite(stacks[row], **dict(zip(columns, sums[row].tolist(), strict=True)))
        for row in most_costly
    ]
    rest = sums.sum(axis=0) - sums[most_costly].sum(axis=0)
    if rest.any():
        chosen.append(AllocationSite((), **dict(zip(columns, rest.tolist(), strict=True))))
    return chosen


def shares(table: Floats, most: int) -> list[int]:
    """The rows of a table with the largest share in any column, at most so many, in the table's
    order.
    """
    share = (table / np.maximum(table.sum(axis=0), 1)).max(axis=1)
    places: list[int] = np.sort(
        np.argsort(-share, kind="stable")[: min(most, int((share > 0).sum()))]
    ).tolist()
    return places


def owner(stack: Stack) -> str:
    """The function that a site is called after: the innermost that is neither an allocator nor of
    the languages' own libraries.
    """
    for function, _place, file in stack:
        if not _is_machinery(function) and not LIBRARIES.fullmatch(file.rpartition("/")[2]):
            return function
    return stack[0].function if stack else OTHER_SITES


@cache
def _is_machinery(function: str) -> bool:
    """By its name without template arguments, parameters and the type that it returns."""
    from perfvcs.collectors._shared.frames import without_arguments

    name = without_arguments(function).partition("(")[0]
    return (
        MACHINERY.fullmatch(name if name.startswith("operator") else name.rpartition(" ")[2])
        is not None
    )


def text(frame: HeapFrame) -> str:
    """A frame as profiles have it: ``function (file:line)``, or the object's file where no line is
    known.
    """
    inside = frame.place or frame.file.rpartition("/")[2]
    return f"{frame.function} ({inside})" if inside else frame.function


def short(file: str, folder: Path) -> str:
    """A source file's path from the project's folder, so that it is the same in every checkout."""
    path = Path(file)
    for root in (folder, folder.resolve()):
        if path.is_relative_to(root):
            return str(path.relative_to(root))
    return file
