"""Programs and shared libraries: their symbols, and which functions call ``__fentry__`` where they
begin.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from perfvcs.collectors._shared.symbols import damage
from perfvcs.plugins.collector import CollectError
from perfvcs.system.foreign import printable

if TYPE_CHECKING:
    from elftools.dwarf.dwarfinfo import DWARFInfo
    from elftools.elf.elffile import ELFFile


COMPILER_FLAGS = ("-g", "-pg", "-mfentry")
RECORDING_CURE = (
    "perfvcs gives these flags to the commands of build through compilers on PATH; where a build"
    " names its compiler by its path, write {cflags} behind it"
)
HOOK = b"__fentry__"  # what gcc's -mfentry calls
ENDBR = b"\xf3\x0f\x1e\xfa"
LARGEST_ELF = 1 << 31  # bytes of a file; debug information of the largest browsers is of that order


class Unresolved(CollectError):
    """A function or a size cannot be found in a program; the message names the cure."""

    def __init__(self, message: str) -> None:
        super().__init__(message, lasting=True)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turns what the parser makes of damaged files into Unresolved."""
    try:
        yield
    except damage(RecursionError, OverflowError, MemoryError, OSError) as error:
        reason = printable(f"{type(error).__name__}: {error}", 200)
        raise Unresolved(
            f"complexity: the debug information of {path} cannot be read ({reason}): build it again"
        ) from error


class _Segment(NamedTuple):
    """A part of the file that is loaded: where, how many bytes, and from which place in the
    file.
    """

    address: int
    size: int
    offset: int


@dataclass(frozen=True)
class Symbol:
    """A function of the symbol table; ``address`` is counted from the start of the file's image."""

    name: str
    address: int
    local: bool


@dataclass
class Elf:
    """One file, read once; raises Unresolved for what is not a program of this machine."""

    path: Path
    content: bytes = field(repr=False)
    device: int
    inode: int
    _stubs: dict[int, bool] = field(default_factory=dict, repr=False)

    @classmethod
    def read(cls, path: Path) -> Elf:
        """The file at ``path``."""
        try:
            with path.open("rb") as file:
                status = os.fstat(file.fileno())
                if status.st_size > LARGEST_ELF:
                    raise Unresolved(
                        f"{path} has over {LARGEST_ELF >> 30} GiB: build it with less debug"
                        " information (-g1)"
                    )
                return cls(path, file.read(), status.st_dev, status.st_ino)
        except OSError as error:
            raise Unresolved(f"cannot read {path}: {error.strerror}") from None

    @cached_property
    def file(self) -> ELFFile:
        """The parsed file."""
        from io import BytesIO

        from elftools.common.exceptions import ELFError
        from elftools.elf.elffile import ELFFile

        try:
            parsed = ELFFile(BytesIO(self.content))
        except (ELFError, struct.error, ValueError) as error:
            raise Unresolved(
                f"{self.path} is not a readable program: {error}: build it again"
            ) from None
        if parsed["e_machine"] != "EM_X86_64" or parsed.elfclass != 64:
            raise Unresolved(
                f"{self.path} is for {parsed.get_machine_arch()}: functions of C and C++ are"
                " recorded on x86-64 only"
            )
        return parsed

    @cached_property
    def debug(self) -> DWARFInfo | None:
        """Its debug information; None when it has none."""
        return (
            self.file.get_dwarf_info()
            if self.file.has_dwarf_info() and self.file.get_section_by_name(".debug_info")
            else None
        )

    @cached_property
    def dynamic(self) -> bool:
        """Whether a program asks for the dynamic loader: only then can something be loaded into
        it.
        """
        return any(segment["p_type"] == "PT_INTERP" for segment in self.file.iter_segments())

    @cached_property
    def _tags(self) -> list[Any]:
        section: Any = self.file.get_section_by_name(".dynamic")
        return list(section.iter_tags()) if section is not None else []

    @cached_property
    def needed(self) -> list[str]:
        """Names of the libraries that it is linked with."""
        return [tag.needed for tag in self._tags if tag.entry.d_tag == "DT_NEEDED"]

    @cached_property
    def search(self) -> list[str]:
        """Where it looks for its libraries first: RUNPATH or RPATH, with $ORIGIN filled in."""
        paths = [
            getattr(tag, "runpath" if tag.entry.d_tag == "DT_RUNPATH" else "rpath")
            for tag in self._tags
            if tag.entry.d_tag in ("DT_RUNPATH", "DT_RPATH")
        ]
        origin = str(self.path.resolve().parent)
        return [
            folder.replace("${ORIGIN}", origin).replace("$ORIGIN", origin)
            for path in paths
            for folder in path.split(":")
            if folder
        ]

    @cached_property
    def _segments(self) -> list[_Segment]:
        return [
            _Segment(segment["p_vaddr"], segment["p_filesz"], segment["p_offset"])
            for segment in self.file.iter_segments()
            if segment["p_type"] == "PT_LOAD"
        ]

    def code(self, address: int, count: int) -> bytes:
        """``count`` bytes of the image at an address; fewer at the end of what the file has."""
        for start, size, offset in self._segments:
            if start <= address < start + size:
                return self.content[
                    offset + address - start : offset + min(address - start + count, size)
                ]
        return b""

    @cached_property
    def symbols(self) -> list[Symbol]:
        """The functions of the symbol table, else of that for dynamic linking."""
        for name in (".symtab", ".dynsym"):
            section = self.file.get_section_by_name(name)
            if section is not None:
                return self._functions(section)
        return []

    @property
    def stripped(self) -> bool:
        """Whether the symbol table was removed."""
        return self.file.get_section_by_name(".symtab") is None

    def _functions(self, section: Any) -> list[Symbol]:
        table, names = section.data(), section.stringtable.data()
        functions = []
        for name, info, _other, where, address, _size in struct.iter_unpack(
            "<IBBHQQ", table[: len(table) // 24 * 24]
        ):
            if info & 15 in (2, 10) and where not in (0, 0xFFF1):  # functions, defined here
                end = names.find(b"\0", name)
                functions.append(
                    Symbol(names[name:end].decode(errors="replace"), address, info >> 4 == 0)
                )
        return functions

    @cached_property
    def _slots(self) -> set[int]:
        """Places that hold the address of ``__fentry__`` once the loader is through."""
        slots = set()
        for name in (".rela.dyn", ".rela.plt", ".rela.got"):
            section = self.file.get_section_by_name(name)
            symbols: Any = self.file.get_section_by_name(".dynsym")
            if section is None or symbols is None:
                continue
            hooks = {
                number
                for number, symbol in enumerate(symbols.iter_symbols())
                if symbol.name == HOOK.decode()
            }
            data = section.data()
            for offset, info, _addend in struct.iter_unpack("<QQq", data[: len(data) // 24 * 24]):
                if info >> 32 in hooks:
                    slots.add(offset)
        return slots

    @property
    def refers(self) -> bool:
        """Whether anything in it calls ``__fentry__``."""
        return bool(self._slots)

    def _leads_to_hook(self, target: int) -> bool:
        if target not in self._stubs:
            self._stubs[target] = self._is_stub(target)
        return self._stubs[target]

    def _is_stub(self, target: int) -> bool:
        """Whether there is a jump through one of the slots (an entry of the PLT)."""
        stub = self.code(target, 16)
        at = 4 if stub.startswith(ENDBR) else 0
        at += stub[at : at + 1] == b"\xf2"  # bnd
        if stub[at : at + 2] != b"\xff\x25" or len(stub) < at + 6:
            return False
        return target + at + 6 + struct.unpack_from("<i", stub, at + 2)[0] in self._slots

    def hook(self, address: int) -> tuple[int, int] | None:
        """The call of ``__fentry__`` with which a function at ``address`` begins: its address and
        its return address.
        """
        code = self.code(address, 12)
        at = 4 if code.startswith(ENDBR) else 0
        start = address + at
        if code[at : at + 1] == b"\xe8" and len(code) >= at + 5:
            end = start + 5
            return (
                (start, end)
                if self._leads_to_hook(end + struct.unpack_from("<i", code, at + 1)[0])
                else None
            )
        if code[at : at + 2] == b"\xff\x15" and len(code) >= at + 6:
            end = start + 6
            return (
                (start, end)
                if end + struct.unpack_from("<i", code, at + 2)[0] in self._slots
                else None
            )
        return None

    @cached_property
    def hooks(self) -> dict[int, tuple[int, int]]:
        """The calls of ``__fentry__`` by the addresses of the functions that begin with them."""
        if not self._slots:
            return {}
        addresses = {symbol.address for symbol in self.symbols}
        return {address: call for address in addresses if (call := self.hook(address)) is not None}
