"""Members of the families (collectors, postprocessors, views): files and folders first, entry
points for foreign ones.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import re
import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from perfvcs.errors import UsageError, nearest
from perfvcs.text.mistakes import in_options

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Natural = Annotated[int, msgspec.Meta(ge=0)]  # options that are numbers of things
Count = Annotated[int, msgspec.Meta(ge=1)]
CONTRACTS = {  # family -> the module and the class that say what its members offer
    "collectors": ("perfvcs.plugins.collector", "Collector"),
    "postprocessors": ("perfvcs.plugins.postprocessor", "Postprocessor"),
    "views": ("perfvcs.plugins.view", "View"),
    "formats": ("perfvcs.plugins.format", "Format"),
    "methods": ("perfvcs.check.method", "Method"),
}


def names(family: str) -> list[str]:
    """The members of a family: its own files and folders, and foreign ones under the entry point
    group ``perfvcs.<family>``.
    """
    own = _own(family)
    return own + sorted(set(foreign(family)) - set(own))


@cache
def _own(family: str) -> list[str]:
    """The files and folders of a family, by name; those with _ are parts that members share."""
    package = importlib.import_module(f"perfvcs.{family}")
    return sorted(
        module.name
        for module in pkgutil.iter_modules(package.__path__)
        if not module.name.startswith("_")
    )


def foreign(family: str) -> dict[str, EntryPoint]:
    """The entry points of other packages in the group ``perfvcs.<family>``, by name.

    Importing ``importlib.metadata`` and asking it takes a tenth of what a command on a few files
    takes, and nearly nowhere is there anything to be told.
    """
    others = [finder for finder in sys.meta_path if finder is not PathFinder]
    offering = any(hasattr(finder, "find_distributions") for finder in others)
    if not offering and not _may_be_offered(tuple(sys.path)):
        return {}
    from importlib.metadata import entry_points

    return {entry.name: entry for entry in entry_points(group=f"perfvcs.{family}")}


@cache
def _may_be_offered(path: tuple[str, ...]) -> bool:
    """Whether a package on Python's ``path`` may bring members; False only where none does."""
    return any(map(_offers, dict.fromkeys(path)))


def _offers(folder: str) -> bool:
    """Whether packages that are installed in a folder may bring members; one in a file, such as a
    zip, or in an egg, may.
    """
    if folder.lower().endswith(".egg") or os.path.isfile(folder):  # noqa: PTH113 - any text
        return True
    try:
        names = os.listdir(folder or ".")  # noqa: PTH208 - any text stands there
    except OSError:
        return False
    for name in names:
        if name.lower().endswith((".dist-info", ".egg-info")):
            try:
                with open(f"{folder or '.'}/{name}/entry_points.txt", "rb") as file:
                    if b"[perfvcs." in re.sub(rb"[ \t]", b"", file.read()):
                        return True
            except OSError:  # it has none
                continue
    return False


def find(family: str, name: str) -> type[Any]:
    """The class of a member: of ``sort-by``, in the file ``sort_by.py`` or in a folder of that
    name, it is ``SortBy``.

    Raises UsageError with a suggestion.
    """
    stem = name.replace("-", "_")
    if stem in _own(family):
        module = importlib.import_module(f"perfvcs.{family}.{stem}")
        found: type[Any] = getattr(module, "".join(part.capitalize() for part in stem.split("_")))
        return found
    if entry := foreign(family).get(name):
        return loaded(family, entry)
    raise UsageError(
        f"there is no {family.removesuffix('s')} `{name}`{nearest(name, names(family))}"
    )


def loaded(family: str, entry: EntryPoint) -> type[Any]:
    """A foreign member; raises UsageError where it cannot be imported, or lacks what the family's
    contract requires.
    """
    from inspect import get_annotations

    place = f"the {family.removesuffix('s')} `{entry.name}` ({entry.value})"
    try:
        found = entry.load()
    except (ImportError, AttributeError) as error:
        raise UsageError(
            f"{place} cannot be imported, {error}: install what it needs, or uninstall it"
        ) from error
    except Exception as error:  # whatever foreign code raises while it is imported
        raise UsageError(
            f"{place} cannot be imported, {type(error).__name__}: {error}: fix it, or uninstall it"
        ) from error
    if not isinstance(found, type) or not is_dataclass(found):
        raise UsageError(f"{place} is not a dataclass, whose fields are its options")
    module, name = CONTRACTS[family]
    contract = getattr(importlib.import_module(module), name)
    wanted = {**get_annotations(contract), **vars(contract)}
    lacking = [name for name in wanted if not name.startswith("_") and not _has(found, name)]
    # of a class between it and the contract
    lacking += sorted(getattr(found, "__abstractmethods__", frozenset()) - {*lacking})
    if lacking:
        listed = ", ".join(f"`{name}`" for name in lacking)
        raise UsageError(
            f"{place} lacks {listed}, which {contract.__module__}.{contract.__name__} requires"
        )
    return found


def _has(member: type[Any], name: str) -> bool:
    """Whether a dataclass defines a field, an attribute or a method; an abstract one is not
    defined.
    """
    found = getattr(member, name, None)
    return name in member.__dataclass_fields__ or (
        found is not None and not getattr(found, "__isabstractmethod__", False)
    )


def build(
    family: str, name: str, options: Mapping[str, Any], origin: str, *, text: bool = False
) -> Any:
    """A member with its options, which are the fields of its dataclass; with ``text`` values may be
    numbers written as text.

    Raises UsageError naming the place.
    """
    member = find(family, name)
    known = [field.name for field in fields(member)]
    for option in options:
        if option not in known:
            raise UsageError(
                f"{origin}: {family.removesuffix('s')} `{name}` has no option"
                f" `{option}`{nearest(option, known)}"
            )
    try:
        return msgspec.convert(dict(options), member, strict=not text)
    except msgspec.ValidationError as error:
        raise UsageError(
            f"{origin}: {family.removesuffix('s')} `{name}`: {in_options(str(error), member)}"
        ) from None
    except UsageError as error:  # of an option that is out of range
        raise UsageError(f"{origin}: {error}") from None
