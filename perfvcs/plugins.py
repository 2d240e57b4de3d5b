"""Members of the families (collectors, postprocessors, views): files first, entry points for foreign ones."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, get_args, get_type_hints

import msgspec

from perfvcs.errors import UsageError, nearest


def names(family: str) -> list[str]:
    """The members of a family: its own files, and foreign ones under the entry point group ``perfvcs.<family>``."""
    package = importlib.import_module(f"perfvcs.{family}")
    own = [module.name for module in pkgutil.iter_modules(package.__path__) if not module.name.startswith("_")]
    return sorted(own) + sorted(set(_foreign(family)) - set(own))


def _foreign(family: str) -> dict[str, Any]:
    from importlib.metadata import entry_points

    return {found.name: found for found in entry_points(group=f"perfvcs.{family}")}


def find(family: str, name: str) -> type[Any]:
    """The class of a member: in the file ``sort_by.py`` or ``sort-by`` it is ``SortBy``; raises UsageError with a suggestion."""
    package = importlib.import_module(f"perfvcs.{family}")
    stem = name.replace("-", "_")
    if stem in (module.name for module in pkgutil.iter_modules(package.__path__)):
        module = importlib.import_module(f"perfvcs.{family}.{stem}")
        found: type[Any] = getattr(module, "".join(part.capitalize() for part in stem.split("_")))
        return found
    if foreign := _foreign(family).get(name):
        loaded: type[Any] = foreign.load()
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
    """msgspec's message; of a key that a table in the options does not have, with the nearest one that it has."""
    unknown = re.fullmatch(r"Object contains unknown field `(.*)` - at `\$\.(\w+)`", message)
    if unknown is None:
        return message
    kinds = get_args(get_type_hints(member)[unknown[2]])
    known = next(kind.__struct_fields__ for kind in kinds if isinstance(kind, type) and issubclass(kind, msgspec.Struct))
    return f"{unknown[2]} has no key `{unknown[1]}`{nearest(unknown[1], known)}"
