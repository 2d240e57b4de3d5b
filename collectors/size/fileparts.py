"""What is in a file: sections and symbols of ELF, members of archives and wheels."""

from __future__ import annotations

import tarfile
import zipfile
import zlib
from collections import Counter
from itertools import islice
from lzma import LZMAError
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from perfvcs.collectors._shared.symbols import damage, demangled
from perfvcs.system.foreign import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

ELF, AR = b"\x7fELF", b"!<arch>\n"
AR_HEADER = 60  # bytes before each member
MOST_PARTS = 1_000_000
LARGEST_UNPACKED = 1 << 32  # bytes of the members of an archive, from which on it is not read on
NAME = 300  # characters of a part
DAMAGED = (
    OSError,
    EOFError,
    RecursionError,
    OverflowError,
    MemoryError,
    NotImplementedError,
    zlib.error,
    LZMAError,
    tarfile.TarError,
    zipfile.BadZipFile,
)


def parts(path: Path) -> dict[str, int]:
    """The bytes of each part by its name; none of a file of another kind, or one that is damaged.

    Sections are called as in ELF (``.text``), symbols as in the source, members by their paths.
    Members of a zip count as they are packed, others as they are.
    """
    found = Counter[str]()
    try:
        with path.open("rb") as file:
            for name, count in islice(_parts(file), MOST_PARTS):
                if count > 0:
                    found[printable(name, NAME)] += count
    except damage(*DAMAGED):
        return {}
    return dict(found)


def _parts(file: IO[bytes]) -> Iterator[tuple[str, int]]:
    head = file.read(len(AR))
    file.seek(0)
    if head.startswith(ELF):
        yield from _elf(file)
    elif head == AR:
        yield from _members_of_ar(file)
    elif zipfile.is_zipfile(file):
        with zipfile.ZipFile(file) as archive:
            yield from ((member.filename, member.compress_size) for member in archive.infolist())
    else:
        file.seek(0)
        yield from _members_of_tar(file)


def _elf(file: IO[bytes]) -> Iterator[tuple[str, int]]:
    """Sections that take room in the file, then functions and objects."""
    from elftools.elf.elffile import ELFFile

    elf: Any = ELFFile(file)
    for section in elf.iter_sections():
        if section.name and section["sh_type"] != "SHT_NOBITS":
            yield section.name, section["sh_size"]
    table = elf.get_section_by_name(".symtab") or elf.get_section_by_name(".dynsym")
    if table is None:
        return
    places: set[tuple[int, int]] = set()  # several names of one function count once
    for symbol in table.iter_symbols():
        place = symbol["st_value"], symbol["st_size"]
        is_code = symbol["st_info"]["type"] in ("STT_FUNC", "STT_OBJECT")
        if is_code and symbol["st_shndx"] != "SHN_UNDEF" and place not in places:
            places.add(place)
            yield demangled(symbol.name), symbol["st_size"]


def _members_of_ar(file: IO[bytes]) -> Iterator[tuple[str, int]]:
    """Object files of a static library; GNU's long names are in a member of their own."""
    file.seek(len(AR))
    names = b""
    while len(header := file.read(AR_HEADER)) == AR_HEADER:
        title, count = header[:16].rstrip(), int(header[48:58])
        if title == b"//":
            names = file.read(count)
        else:
            if title[:1] == b"/" and title[1:].isdigit():
                title = names[int(title[1:]) :].split(b"\n", 1)[0]
            file.seek(count, 1)
            if title not in (b"/", b"/SYM64/"):
                yield title.rstrip(b"/").decode(errors="replace"), count
        file.seek(count % 2, 1)


def _members_of_tar(file: IO[bytes]) -> Iterator[tuple[str, int]]:
    unpacked = 0
    with tarfile.open(fileobj=file) as archive:
        for member in archive:
            unpacked += member.size
            if unpacked > LARGEST_UNPACKED:
                return
            if member.isfile():
                yield member.name, member.size
