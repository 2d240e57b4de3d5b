"""Types of debug information, reduced to what sizes and calling conventions need."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

TypeKind = Literal["integer", "float", "pointer", "struct", "array", "function", "void", "other"]

TRANSPARENT = (
    "typedef",
    "const_type",
    "volatile_type",
    "restrict_type",
    "atomic_type",
    "immutable_type",
)
POINTERS = {"pointer_type": "*", "reference_type": "&", "rvalue_reference_type": "&&"}
STRUCTS = ("structure_type", "class_type", "union_type")
SCOPES = (*STRUCTS, "namespace", "enumeration_type")
SIGNED = (0x05, 0x06, 0x0D)  # DW_ATE_signed, signed_char, signed_fixed
BOOLEAN, FLOAT, COMPLEX, UTF = 0x02, 0x04, 0x03, 0x10
BY_REFERENCE = 0x04  # DW_CC_pass_by_reference
DEEPEST_TYPE = 64  # nested types; more is a damaged file


def tag(die: Any) -> str:
    """The tag without its prefix."""
    name = die.tag
    return name[7:] if isinstance(name, str) else "unknown"


def text(die: Any, attribute: str = "DW_AT_name") -> str | None:
    """An attribute that is a string."""
    value = die.attributes.get(attribute)
    return (
        value.value.decode(errors="replace")
        if value is not None and isinstance(value.value, bytes)
        else None
    )


def number(die: Any, attribute: str) -> int | None:
    """An attribute that is a number."""
    value = die.attributes.get(attribute)
    return value.value if value is not None and isinstance(value.value, int) else None


def refer(die: Any) -> Any | None:
    """The entry of a type that another one has."""
    return die.get_DIE_from_attribute("DW_AT_type") if "DW_AT_type" in die.attributes else None


def original(die: Any, attribute: str) -> Any:
    """The nearest of an entry, what it is an instance of, and what that was declared as, that has
    an attribute; else the last of them.
    """
    for _ in range(DEEPEST_TYPE):
        if attribute in die.attributes:
            break
        further = _declared(die, "DW_AT_abstract_origin", "DW_AT_specification")
        if further is None:
            break
        die = further
    return die


def _declared(die: Any, *attributes: str) -> Any | None:
    """What an entry is an instance of, or was declared as, by the first attribute that it has."""
    key = next((key for key in attributes if key in die.attributes), None)
    return None if key is None else die.get_DIE_from_attribute(key)


def scope(die: Any) -> list[str]:
    """The namespaces and classes around an entry, outermost first; anonymous ones are
    ``(anonymous)``, inline ones are left in.
    """
    for _ in range(DEEPEST_TYPE):
        further = _declared(die, "DW_AT_specification", "DW_AT_abstract_origin")
        if further is None:
            break
        die = further
    names: list[str] = []
    around = die.get_parent()
    while around is not None and tag(around) in (*SCOPES, "subprogram", "lexical_block"):
        if tag(around) in SCOPES:
            names.append(text(around) or "(anonymous)")
        elif tag(around) == "subprogram":
            names.append(text(original(around, "DW_AT_name")) or "?")
        around = around.get_parent()
    return names[::-1]


@dataclass(frozen=True)
class Member:
    """A data member of a struct, or one of its bases, without a name; ``offset`` in bytes.

    ``bits``: place and width of a bit-field.
    """

    name: str | None
    offset: int
    type: Type
    base: bool = False
    bits: tuple[int, int] | None = None


@dataclass(frozen=True)
class Type:
    """One type; ``die`` is None for void."""

    die: Any = field(repr=False)
    # a definition for what is only declared here
    find: Any = field(default=None, repr=False, compare=False)

    @classmethod
    def of(cls, die: Any, find: Any = None) -> Type:
        """The type of an entry that has one."""
        return cls(refer(die), find)

    @cached_property
    def plain(self) -> Type:
        """Without typedefs and qualifiers; what is only declared is looked up where it is
        defined.
        """
        die = self.die
        for _ in range(DEEPEST_TYPE):
            if die is None or tag(die) not in TRANSPARENT:
                break
            die = refer(die)
        if die is not None and "DW_AT_declaration" in die.attributes and self.find is not None:
            die = self.find(die) or die
        return Type(die, self.find)

    @cached_property
    def kind(self) -> TypeKind:
        """What it is once typedefs are gone."""
        die = self.plain.die
        if die is None:
            return "void"
        named = tag(die)
        if named in POINTERS:
            return "pointer"
        if named in STRUCTS:
            return "struct"
        if named == "base_type":
            encoding = number(die, "DW_AT_encoding")
            if encoding == FLOAT:
                return "float"
            return "integer" if encoding != COMPLEX and self.width in (1, 2, 4, 8) else "other"
        kinds: dict[str, TypeKind] = {
            "enumeration_type": "integer",
            "array_type": "array",
            "subroutine_type": "function",
        }
        return kinds.get(named, "other")

    @property
    def reference(self) -> bool:
        """Whether it is a reference, which stands for what it refers to."""
        return self.plain.die is not None and tag(self.plain.die) in (
            "reference_type",
            "rvalue_reference_type",
        )

    @cached_property
    def width(self) -> int:
        """Size in bytes; 0 when not known."""
        die = self.plain.die
        if die is None:
            return 0
        if tag(die) in POINTERS:
            return 8
        size = number(die, "DW_AT_byte_size")
        if size is not None:
            return size
        if tag(die) == "array_type":
            return self.count * self.target.width
        further = refer(die)
        return (
            Type(further, self.find).width
            if further is not None and further.offset != die.offset
            else 0
        )

    @cached_property
    def signed(self) -> bool:
        """Whether an integer has a sign."""
        die = self.plain.die
        if tag(die) == "enumeration_type":
            further = refer(die)
            if further is not None:
                return Type(further).signed
            return any(
                (number(child, "DW_AT_const_value") or 0) < 0 for child in die.iter_children()
            )
        return number(die, "DW_AT_encoding") in SIGNED

    @cached_property
    def counts(self) -> bool:
        """Whether it is an integer that can count something: no truth value, no character."""
        die = self.plain.die
        return (
            self.kind == "integer"
            and number(die, "DW_AT_encoding") not in (BOOLEAN, UTF)
            and text(die) != "char"
        )

    @cached_property
    def target(self) -> Type:
        """What a pointer leads to, or what an array has."""
        return Type(refer(self.plain.die), self.find)

    @cached_property
    def count(self) -> int:
        """Elements of an array; 0 when not known."""
        product = 1
        for child in self.plain.die.iter_children():
            if tag(child) == "subrange_type":
                count, top = number(child, "DW_AT_count"), number(child, "DW_AT_upper_bound")
                if count is None:
                    count = top + 1 if top is not None and top < 1 << 62 else 0
                product *= count
        return product

    @property
    def vector(self) -> bool:
        """Whether an array is one of a vector register."""
        return "DW_AT_GNU_vector" in self.plain.die.attributes

    @cached_property
    def members(self) -> list[Member]:
        """Bases and data members, static ones left out."""
        return list(self._members())

    def _members(self) -> Iterator[Member]:
        for child in self.plain.die.iter_children():
            named = tag(child)
            if (
                named not in ("member", "inheritance")
                or "DW_AT_external" in child.attributes
                or "DW_AT_declaration" in child.attributes
            ):
                continue
            offset = number(child, "DW_AT_data_member_location")
            bits = None
            if (width := number(child, "DW_AT_bit_size")) is not None:
                place = number(child, "DW_AT_data_bit_offset")
                if place is None:  # DWARF 4 of old: counted from the other end of the unit
                    unit = number(child, "DW_AT_byte_size") or Type.of(child).width
                    place = (
                        8 * ((offset or 0) + unit)
                        - (number(child, "DW_AT_bit_offset") or 0)
                        - width
                    )
                offset, bits = place // 8, (place % 8, width)
            if offset is None and "DW_AT_data_member_location" in child.attributes:
                continue  # of a virtual base: computed while the program runs
            if named == "inheritance" and "DW_AT_virtuality" in child.attributes:
                continue
            yield Member(
                text(child), offset or 0, Type.of(child, self.find), named == "inheritance", bits
            )

    @cached_property
    def scope(self) -> list[str]:
        """Namespaces and classes around it."""
        return scope(self.plain.die)

    @cached_property
    def name(self) -> str:
        """As the source writes it, qualified."""
        return self._name(0)

    def _name(self, depth: int) -> str:
        die = self.die
        if die is None:
            return "void"
        named = tag(die)
        if depth > DEEPEST_TYPE:
            return "..."
        if named in POINTERS:
            return Type(refer(die))._name(depth + 1) + POINTERS[named]
        if named == "const_type":
            return Type(refer(die))._name(depth + 1) + " const"
        if named in TRANSPARENT and named != "typedef":
            return Type(refer(die))._name(depth + 1)
        if named == "array_type":
            return Type(refer(die))._name(depth + 1) + "[]"
        if named == "subroutine_type":
            return Type(refer(die))._name(depth + 1) + "()"
        return "::".join([*scope(die), text(die) or "(anonymous)"])

    @property
    def by_reference(self) -> bool:
        """Whether C++ passes and returns it through a pointer to a copy because copying or
        destroying it runs code.
        """
        die = self.plain.die
        convention = number(die, "DW_AT_calling_convention")
        if convention is not None:
            return convention == BY_REFERENCE
        return any(_runs_code(child) for child in die.iter_children()) or any(
            member.type.kind == "struct" and member.type.by_reference for member in self.members
        )


def _runs_code(child: Any) -> bool:
    """Whether a declaration is a destructor or a copy or move constructor that somebody wrote."""
    if (
        tag(child) != "subprogram"
        or "DW_AT_artificial" in child.attributes
        or number(child, "DW_AT_defaulted") == 1
    ):
        return False
    name = text(child) or ""
    if name.startswith("~"):
        return True
    around = text(child.get_parent()) or ""
    given = [
        parameter
        for parameter in child.iter_children()
        if tag(parameter) == "formal_parameter" and "DW_AT_artificial" not in parameter.attributes
    ]
    if name != around.split("<")[0] or len(given) != 1:
        return False
    type_ = Type.of(given[0])
    return (
        type_.reference
        and type_.target.plain.die is not None
        and type_.target.plain.die.offset == child.get_parent().offset
    )
