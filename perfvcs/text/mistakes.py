"""What msgspec says of a mistake in a table, in the words of whoever wrote the table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal, get_args, get_origin, get_type_hints

from perfvcs.errors import nearest

_IN_TOML = {
    "array": "a list",
    "bool": "true or false",
    "float": "a number",
    "int": "a whole number",
    "object": "a table",
    "str": "a string",
}
_IN_OPTIONS = {
    "int": "a whole number",
    "float": "a number",
    "str": "a text",
    "bool": "true or false",
    "object": "a table",
    "array": 'a list such as ["a", "b"]',
}
_LIMITS = {">=": "of at least", "<=": "of at most"}


def in_file(message: str, whole: type[Any]) -> str:
    """msgspec's message on a file read as ``whole``, as a TOML writer would say it, with the
    nearest right key.
    """
    text, _, place = message.partition(" - at ")
    place = place.strip("`").removeprefix("$").removeprefix(".")
    names = _path(place)
    where = f"{place}: " if place else ""
    table = place.partition("[")[0]
    if table in ("job", "check") and table != place:
        number, _, rest = place.removeprefix(f"{table}[").partition("]")
        key = rest.lstrip(".")
        where = f"[[{table}]] no. {int(number) + 1}{', ' if key else ''}{key}: "
    if unknown := re.search(r"unknown field `(.*)`", text):
        return f"{where}there is no key `{unknown[1]}`{nearest(unknown[1], _keys(whole, names))}"
    if missing := re.search(r"missing required field `(.*)`", text):
        return f"{where}`{missing[1]}` is missing"
    if place == "python.released":
        return "[python] released is a project's name in the package index, such as sqlparse"
    text = re.sub(r"`([a-z |]+)`", _in_toml, text)
    if wrong := re.fullmatch(r"Invalid enum value ('.*')", text):
        choices = [f'"{choice}"' for choice in _choices(whole, names)]
        text = f"{wrong[1]} is neither {' nor '.join(choices)}"
    return where.replace("[...]", "") + text[:1].lower() + text[1:]


def in_options(message: str, member: type[Any]) -> str:
    """msgspec's message on the options of a family's ``member``, with the nearest of what they
    could have been.
    """
    text, _, place = message.partition(" - at ")
    names = _path(place)
    path = ".".join(names)
    if unknown := re.fullmatch(r"Object contains unknown field `(.*)`", text):
        return f"{path} has no key `{unknown[1]}`{nearest(unknown[1], _keys(member, names))}"
    if expected := re.match(r"Expected `([a-z |]+)`(?: (>=|<=) (\S+))?", text):
        words = " or ".join(
            _IN_OPTIONS.get(kind, kind) for kind in expected[1].split(" | ") if kind != "null"
        )
        return f"{path}: give {words}" + (
            f" {_LIMITS[expected[2]]} {expected[3]}" if expected[2] else ""
        )
    if wrong := re.fullmatch(r"Invalid enum value (.*)", text):
        return f"{path} is {wrong[1]}: give {', '.join(_choices(member, names))}"
    return message


def _path(place: str) -> list[str]:
    """The keys of a place such as ``$.job[0].reads``."""
    return re.findall(r"\w+", re.sub(r"\[[^\[\]]*\]", "", place))


def _choices(whole: Any, names: Sequence[str]) -> list[str]:
    """The values that the key at a path of keys may have, where they are listed."""
    literals = [kind for kind in _kinds(whole, names) if get_origin(kind) is Literal]
    return [str(choice) for kind in literals for choice in get_args(kind)]


def _keys(whole: Any, names: Sequence[str]) -> list[str]:
    """The keys that the table at a path of keys may have."""
    kinds = _kinds(whole, names)
    return [name for kind in kinds for name in getattr(kind, "__struct_fields__", ())]


def _in_toml(types: re.Match[str]) -> str:
    """msgspec's names of types in the words of TOML."""
    names = [name for name in types[1].split(" | ") if name != "null"]
    return " or ".join(_IN_TOML.get(name, name) for name in names)


def _kinds(member: Any, names: Sequence[str]) -> list[Any]:
    """The types that a field of a table, or of one inside it, may have."""
    found = [member]
    for name in names:
        hints = [get_type_hints(kind).get(name) for kind in found if isinstance(kind, type)]
        found = [each for hint in hints for each in _flat(hint)]
    return found


def _flat(hint: Any) -> Iterator[Any]:
    """The members of unions and the elements of lists."""
    inner = () if get_origin(hint) is Literal else get_args(hint)
    yield hint
    for each in inner:
        yield from _flat(each)
