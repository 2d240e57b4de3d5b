"""The views that a page draws: all that fit, or the one that was asked for, with the options that were given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from perfvcs import plugins
from perfvcs.errors import UsageError, nearest
from perfvcs.subject import Subject
from perfvcs.views import View

ORDER = ("effects", "history", "intervals", "scatter", "curves", "executions")  # of the views in a block; then by name
PLACE = "--set"


def choose(subject: Subject, name: str | None = None, options: Mapping[str, str] | None = None) -> dict[str, View]:
    """The views to draw by their names, the most telling first: the one named, else all that fit and need not be asked for.

    ``options`` are values for fields of these views, as text; a field is set on every view that has it. Raises UsageError for a view
    that is unknown or does not fit, for a field that none has, and for a value that a field cannot take.
    """
    names = plugins.names("views")
    if name is None:
        chosen = {one: view for one, view in fitting(subject, names).items() if not getattr(view, "asked", False)}
        return configured(chosen, options or {})
    if name not in names:
        raise UsageError(f"there is no view `{name:.80}`{nearest(name, names)}")
    view = configured({name: plugins.find("views", name)()}, options or {})[name]  # what it draws may be among its options
    if reason := view.fits(subject):
        others = ", ".join(fitting(subject, names))
        cure = f"these do: {others}" if others else "and no other does: collect something first"
        raise UsageError(f"view `{name}` does not fit here, {reason}; {cure}")
    return {name: view}


def fitting(subject: Subject, names: Iterable[str]) -> dict[str, View]:
    """The views among these that can draw the subject, the most telling first."""
    views: dict[str, View] = {name: plugins.find("views", name)() for name in sorted(names, key=_rank)}
    return {name: view for name, view in views.items() if view.fits(subject) is None}


def _rank(name: str) -> tuple[int, str]:
    return (ORDER.index(name) if name in ORDER else len(ORDER), name)


def configured(views: Mapping[str, View], options: Mapping[str, str]) -> dict[str, View]:
    """The views with these values in their fields; raises UsageError for one that none has or that a field cannot take."""
    known = {name: _fields(view) for name, view in views.items()}
    every = sorted({field for own in known.values() for field in own})
    for option in options:
        if option not in every:
            raise UsageError(f"{PLACE} {option:.80}: no view that is drawn has this field{nearest(option, every)}")
    built = dict(views)
    for name, own in known.items():
        if given := {option: value for option, value in options.items() if option in own}:
            built[name] = plugins.build("views", name, given, PLACE, text=True)
    return built


def _fields(view: Any) -> list[str]:
    return [field.name for field in fields(view)] if is_dataclass(view) else []


def nothing(subject: Subject) -> str:
    """Why there is nothing to draw, in words."""
    if subject.report is not None and subject.report.changes:
        return "Nothing to draw: no comparison has an effect; the table says why."
    if subject.history:
        return "Nothing to draw: no commit of this series has a value above 0, as a history needs; `perf show REV` tells of the others."
    if subject.target or subject.baseline:
        return "Nothing to draw: the profiles have no measurements."
    return "Nothing to draw: there is no profile. `perf collect` makes one."
