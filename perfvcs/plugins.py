"""Members of the families (collectors, postprocessors, views): files and folders first, entry points for foreign ones."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from perfvcs.errors import UsageError, nearest

Natural = Annotated[int, msgspec.Meta(ge=0)]  # options that are numbers of things
Count = Annotated[int, msgspec.Meta(ge=1)]
WORDS = {
    "int": "a whole number", "float": "a number", "str": "a text", "bool": "true or false", "object": "a table",
    "array": 'a list such as ["a", "b"]',
}  # fmt: skip
LIMITS = {">=": "of at least", "<=": "of at most"}


def names(family: str) -> list[str]:
    """The members of a family: its own files and folders, and foreign ones under the entry point group ``perfvcs.<family>``."""
    own = _own(family)
    return own + sorted(set(foreign(family)) - set(own))


def _own(family: str) -> list[str]:
    """The files and folders of a family, by name; those with _ are parts that members share."""
    package = importlib.import_module(f"perfvcs.{family}")
    return sorted(module.name for module in pkgutil.iter_modules(package.__path__) if not module.name.startswith("_"))


def foreign(family: str) -> dict[str, Any]:
    """The entry points of other packages in the group ``perfvcs.<family>``, by name."""
    from importlib.metadata import entry_points

    return {found.name: found for found in entry_points(group=f"perfvcs.{family}")}


def find(family: str, name: str) -> type[Any]:
    """The class of a member: of ``sort-by``, in the file ``sort_by.py`` or in a folder of that name, it is ``SortBy``.

    Raises UsageError with a suggestion.
    """
    stem = name.replace("-", "_")
    if stem in _own(family):
        module = importlib.import_module(f"perfvcs.{family}.{stem}")
        found: type[Any] = getattr(module, "".join(part.capitalize() for part in stem.split("_")))
        return found
    if found_outside := foreign(family).get(name):
        loaded: type[Any] = found_outside.load()
        return loaded
    raise UsageError(f"there is no {family.removesuffix('s')} `{name}`{nearest(name, names(family))}")


def build(family: str, name: str, options: Mapping[str, Any], place: str, *, text: bool = False) -> Any:
    """A member with its options, which are the fields of its dataclass; with ``text`` values may be numbers written as text.

    Raises UsageError naming the place.
    """
    member = find(family, name)
    known = [field.name for field in fields(member)]
    for option in options:
        if option not in known:
            raise UsageError(f"{place}: {family.removesuffix('s')} `{name}` has no option `{option}`{nearest(option, known)}")
    try:
        return msgspec.convert(dict(options), member, strict=not text)
    except msgspec.ValidationError as error:
        raise UsageError(f"{place}: {family.removesuffix('s')} `{name}`: {_explained(str(error), member)}") from None
    except UsageError as error:  # of an option that is out of range
        raise UsageError(f"{place}: {error}") from None


def _explained(message: str, member: type[Any]) -> str:
    """What msgspec has found in the words of this table, with the nearest of what it could have been."""
    text, _, place = message.partition(" - at ")
    names = re.findall(r"\w+", re.sub(r"\[.*?\]", "", place))
    path = ".".join(names)
    if unknown := re.fullmatch(r"Object contains unknown field `(.*)`", text):
        known = [name for kind in _kinds(member, names) for name in getattr(kind, "__struct_fields__", ())]
        return f"{path} has no key `{unknown[1]}`{nearest(unknown[1], known)}"
    if expected := re.match(r"Expected `([a-z |]+)`(?: (>=|<=) (\S+))?", text):
        words = " or ".join(WORDS.get(kind, kind) for kind in expected[1].split(" | ") if kind != "null")
        return f"{path}: give {words}" + (f" {LIMITS[expected[2]]} {expected[3]}" if expected[2] else "")
    if wrong := re.fullmatch(r"Invalid enum value (.*)", text):
        choices = [str(choice) for kind in _kinds(member, names) if get_origin(kind) is Literal for choice in get_args(kind)]
        return f"{path} is {wrong[1]}: give {', '.join(choices)}"
    return message


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
