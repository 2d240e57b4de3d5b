"""Functions of a program as their debug information describes them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from perfvcs.collectors.complexity.native.elf import Elf, Symbol
from perfvcs.collectors.complexity.native.types import (
    DEEPEST_TYPE,
    STRUCTS,
    Type,
    number,
    original,
    scope,
    tag,
    text,
)

FRAME = 0x91  # DW_OP_fbreg
CLONES = (".isra", ".constprop", ".part", ".lto_priv", ".cold")


@dataclass(frozen=True)
class Parameter:
    """A parameter in the order of the source; ``place`` is its location attribute of this instance,
    None when it has none.
    """

    name: str | None
    type: Type
    artificial: bool
    place: Any = field(default=None, repr=False)
    constant: int | None = None


@dataclass(frozen=True)
class BinaryFunction:
    """One place in a program where a function begins.

    ``symbol`` distinguishes clones; ``file`` is the source's path as compiled.
    """

    elf: Elf = field(repr=False)
    die: Any = field(repr=False)
    address: int
    name: str
    file: str
    symbol: Symbol | None
    find: Any = field(default=None, repr=False)

    @property
    def clone(self) -> str | None:
        """The suffix that the compiler gave a changed copy; None for the function itself."""
        name = self.symbol.name if self.symbol else ""
        indices = [name.find(part) for part in CLONES if part in name]
        return name[min(indices) :] if indices else None

    @cached_property
    def parameters(self) -> list[Parameter]:
        """Its parameters as the source has them; an instance that the compiler changed may list
        them otherwise.
        """
        listed = [child for child in self.die.iter_children() if tag(child) == "formal_parameter"]
        source = (
            self.die.get_DIE_from_attribute("DW_AT_abstract_origin")
            if "DW_AT_abstract_origin" in self.die.attributes
            else None
        )
        if source is None:
            return [self._parameter(child, child) for child in listed]
        places = {
            child.get_DIE_from_attribute("DW_AT_abstract_origin").offset: child
            for child in listed
            if "DW_AT_abstract_origin" in child.attributes
        }
        declared = [child for child in source.iter_children() if tag(child) == "formal_parameter"]
        return [self._parameter(child, places.get(child.offset)) for child in declared]

    def _parameter(self, declared: Any, instance: Any) -> Parameter:
        source = original(declared, "DW_AT_type")
        artificial = "DW_AT_artificial" in original(declared, "DW_AT_artificial").attributes
        place = instance.attributes.get("DW_AT_location") if instance is not None else None
        constant = number(instance, "DW_AT_const_value") if instance is not None else None
        return Parameter(
            text(original(declared, "DW_AT_name")),
            Type.of(source, self.find),
            artificial,
            place,
            constant,
        )

    @cached_property
    def result(self) -> Type:
        """What it returns."""
        return Type.of(original(self.die, "DW_AT_type"), self.find)

    @cached_property
    def signature(self) -> str:
        """Its parameters' types, as in ``(int, Item const&)``."""
        shown = [parameter.type.name for parameter in self.parameters if not parameter.artificial]
        return f"({', '.join(shown)})"

    @property
    def method(self) -> bool:
        """Whether it has a ``this``."""
        return (
            bool(self.parameters)
            and self.parameters[0].artificial
            and self.parameters[0].name == "this"
        )

    @property
    def constructor(self) -> bool:
        """Whether it begins before its object does."""
        parts = scope(self.die)
        return (
            self.method
            and bool(parts)
            and parts[-1].split("<")[0] == (self.name.rsplit("::", 1)[-1]).split("<")[0]
        )

    @property
    def optimised(self) -> bool:
        """Whether the compiler was free to pass parameters in its own way: gcc then renames the
        function, clang does not.
        """
        if self.clone is not None:
            return True
        local = self.symbol is None or self.symbol.local
        return (
            local
            and "clang" in (text(self.die.cu.get_top_DIE(), "DW_AT_producer") or "")
            and not self._in_memory
        )

    @property
    def _in_memory(self) -> bool:
        """Whether a number or pointer has one place on the stack for good: so it is without
        optimisation.
        """
        return any(
            parameter.place is not None
            and parameter.place.form == "DW_FORM_exprloc"
            and parameter.place.value[:1] == [FRAME]
            and parameter.type.kind in ("integer", "float", "pointer")
            for parameter in self.parameters
        )


@dataclass
class BinaryFunctions:
    """All of one file: ``found`` are those that begin with a hook, or all where hooks are not asked
    for.
    """

    elf: Elf
    hooked: bool = True
    found: list[BinaryFunction] = field(default_factory=list)
    _inlined: list[Any] = field(default_factory=list, repr=False)
    _unhooked: list[Any] = field(default_factory=list, repr=False)

    @classmethod
    def read(cls, elf: Elf, *, hooked: bool = True) -> BinaryFunctions:
        """From the debug information; with ``hooked=False`` also those that do not begin with a
        hook.
        """
        functions = cls(elf, hooked)
        if elf.debug is None:
            return functions
        symbols: dict[int, Symbol] = {}
        for symbol in elf.symbols:
            earlier = symbols.get(symbol.address)
            if earlier is None or earlier.local:
                symbols[symbol.address] = symbol
        seen: set[int] = set()
        for unit in elf.debug.iter_CUs():
            top = unit.get_top_DIE()
            file = _path(top)
            for die in _subprograms(top, 0):
                functions._add(die, file, symbols, seen)
        return functions

    @cached_property
    def split(self) -> bool:
        """Whether the debug information proper is in other files."""
        units = self.elf.debug.iter_CUs() if self.elf.debug is not None else ()
        return any(
            key in unit.get_top_DIE().attributes
            for unit in units
            for key in ("DW_AT_dwo_name", "DW_AT_GNU_dwo_name")
        )

    @cached_property
    def inlined(self) -> set[str]:
        """Names of functions that only exist inside others."""
        return {_name(die) for die in self._inlined} - {function.name for function in self.found}

    @cached_property
    def unhooked(self) -> set[str]:
        """Names of functions that do not call ``__fentry__``."""
        return {_name(die) for die in self._unhooked} - {function.name for function in self.found}

    def _add(self, die: Any, file: str, symbols: dict[int, Symbol], seen: set[int]) -> None:
        if "DW_AT_declaration" in die.attributes:
            return
        address = self._begin(die)
        if not address:
            if number(die, "DW_AT_inline"):
                self._inlined.append(die)
            return
        if address in seen:
            return
        seen.add(address)
        if self.hooked and address not in self.elf.hooks:
            self._unhooked.append(die)
            return
        self.found.append(
            BinaryFunction(
                self.elf,
                die,
                address,
                _name(die),
                _declared(die) or file,
                symbols.get(address),
                self.definition,
            )
        )

    def _begin(self, die: Any) -> int | None:
        """Where a function begins; those with a cold part far away have a list of ranges."""
        address = number(die, "DW_AT_low_pc")
        ranges = number(die, "DW_AT_ranges")
        if address is not None or ranges is None or self.elf.debug is None:
            return address
        lists: Any = self.elf.debug.range_lists()
        if lists is None:
            return None
        base = number(die.cu.get_top_DIE(), "DW_AT_low_pc") or 0
        starts = [
            entry.begin_offset + (0 if entry.is_absolute else base)
            for entry in lists.get_range_list_at_offset(ranges, die.cu)
            if hasattr(entry, "begin_offset")
        ]
        return next(
            (start for start in starts if start in self.elf.hooks), starts[0] if starts else None
        )

    @cached_property
    def _definitions(self) -> dict[tuple[str, ...], Any]:
        by_name: dict[tuple[str, ...], Any] = {}
        if self.elf.debug is not None:
            for unit in self.elf.debug.iter_CUs():
                for die in _structs(unit.get_top_DIE(), 0):
                    if (name := text(die)) and "DW_AT_declaration" not in die.attributes:
                        by_name.setdefault((*scope(die), name), die)
        return by_name

    def definition(self, die: Any) -> Any | None:
        """The definition of a struct that one source only declares, from another source."""
        name = text(die)
        return self._definitions.get((*scope(die), name)) if name else None


def _name(die: Any) -> str:
    return "::".join([*scope(die), text(original(die, "DW_AT_name")) or "(unnamed)"])


def _path(top: Any) -> str:
    name, folder = text(top) or "", text(top, "DW_AT_comp_dir") or ""
    return str(Path(folder) / name)


def _declared(die: Any) -> str | None:
    """The file in which a function stands, by the line table's list of files."""
    source = original(die, "DW_AT_decl_file")
    index = number(source, "DW_AT_decl_file")
    if index is None:
        return None
    program = source.dwarfinfo.line_program_for_CU(source.cu)
    if program is None:
        return None
    header = program.header
    old = header["version"] < 5
    files = header["file_entry"]
    place = index - 1 if old else index
    if not 0 <= place < len(files):
        return None
    entry = files[place]
    folders = header["include_directory"]
    which = entry["dir_index"] - 1 if old else entry["dir_index"]
    folder = folders[which].decode(errors="replace") if 0 <= which < len(folders) else ""
    top = text(source.cu.get_top_DIE(), "DW_AT_comp_dir") or ""
    return str(Path(top) / folder / entry["name"].decode(errors="replace"))


def _subprograms(die: Any, depth: int) -> Iterator[Any]:
    """The functions below an entry; classes only declare them."""
    for child in die.iter_children():
        named = tag(child)
        if named == "subprogram":
            yield child
            if child.has_children and "DW_AT_inline" not in child.attributes:
                yield from _nested(child, depth + 1)
        elif named == "namespace" and depth < DEEPEST_TYPE:
            yield from _subprograms(child, depth + 1)


def _nested(die: Any, depth: int) -> Iterator[Any]:
    """Functions inside functions (of GNU C, and of clang's local classes)."""
    for child in die.iter_children():
        named = tag(child)
        if named == "subprogram" and "DW_AT_declaration" not in child.attributes:
            yield child
        elif named == "lexical_block" and depth < DEEPEST_TYPE:
            yield from _nested(child, depth + 1)


def _structs(die: Any, depth: int) -> Iterator[Any]:
    for child in die.iter_children():
        named = tag(child)
        if named in STRUCTS:
            yield child
        if named in (*STRUCTS, "namespace") and depth < 8:
            yield from _structs(child, depth + 1)
