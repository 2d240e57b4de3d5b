"""The views that a page draws: all that fit, or the one that was asked for, with the options that were given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any, NamedTuple

from perfvcs import plugins
from perfvcs.errors import UsageError, nearest
from perfvcs.subject import Subject
from perfvcs.view import Unfit, View

VIEW_ORDER = ("effects", "history", "intervals", "scatter", "curves", "executions")  # of the views in a block; then by name
SET_OPTION = "--set"


class Drawable(NamedTuple):
    """A view that fits a subject, and what it has cut out of it."""

    name: str
    view: View[Any]
    data: Any


def choose(subject: Subject, name: str | None = None, options: Mapping[str, str] | None = None) -> list[Drawable]:
    """The views to draw, the most telling first: the one named, else all that fit and need not be asked for.

    ``options`` are values for fields of these views, as text; a field is set on every view that has it. Raises UsageError for a view
    that is unknown or does not fit, for a field that none has, and for a value that a field cannot take.
    """
    names = plugins.names("views")
    if name is None:
        unasked = {one: view for one, view in _views(names).items() if not view.asked}
        return configured(subject, fitted(subject, unasked), options or {})
    if name not in names:
        raise UsageError(f"there is no view `{name:.80}`{nearest(name, names)}")
    view = _configured(_views([name]), options or {})[name]  # what it draws may be among its options
    try:
        return [Drawable(name, view, view.cut(subject))]
    except Unfit as reason:
        others = ", ".join(one.name for one in fitting(subject, names))
        cure = f"these do: {others}" if others else "and no other does: collect something first"
        raise UsageError(f"view `{name}` does not fit here, {reason}; {cure}") from None


def fitting(subject: Subject, names: Iterable[str]) -> list[Drawable]:
    """The views among these that can draw the subject, the most telling first."""
    return fitted(subject, _views(names))


def _views(names: Iterable[str]) -> dict[str, View[Any]]:
    return {name: plugins.find("views", name)() for name in sorted(names, key=_rank)}


def fitted(subject: Subject, views: Mapping[str, View[Any]]) -> list[Drawable]:
    """The views that can draw a subject, in their order; each is asked once."""
    found = []
    for name, view in views.items():
        try:
            found.append(Drawable(name, view, view.cut(subject)))
        except Unfit:
            continue
    return found


def _rank(name: str) -> tuple[int, str]:
    return (VIEW_ORDER.index(name) if name in VIEW_ORDER else len(VIEW_ORDER), name)


def configured(subject: Subject, chosen: Iterable[Drawable], options: Mapping[str, str]) -> list[Drawable]:
    """These views with values in their fields, where they still fit; raises UsageError as ``choose`` does."""
    known = {one.name: one for one in chosen}
    views = _configured({name: one.view for name, one in known.items()}, options)
    return [
        one for name, view in views.items()
        for one in ([known[name]] if view is known[name].view else fitted(subject, {name: view}))
    ]  # fmt: skip


def _configured(views: Mapping[str, View[Any]], options: Mapping[str, str]) -> dict[str, View[Any]]:
    """The views with these values in their fields; raises UsageError for one that none has or that a field cannot take."""
    known = {name: _fields(view) for name, view in views.items()}
    every = sorted({field for own in known.values() for field in own})
    for option in options:
        if option not in every:
            raise UsageError(f"{SET_OPTION} {option:.80}: no view that is drawn has this field{nearest(option, every)}")
    built = dict(views)
    for name, own in known.items():
        if given := {option: value for option, value in options.items() if option in own}:
            built[name] = plugins.build("views", name, given, SET_OPTION, text=True)
    return built


def _fields(view: Any) -> list[str]:
    return [field.name for field in fields(view)]


def nothing(subject: Subject) -> str:
    """Why there is nothing to draw, in words."""
    if subject.report is not None and subject.report.changes:
        return "Nothing to draw: no comparison has an effect; the table says why."
    if subject.history:
        return (
            "Nothing to draw: no commit of this series has a value above 0, as a history needs; `perf show REV` shows the others."
        )
    if subject.target or subject.baseline:
        return "Nothing to draw: the profiles have no measurements."
    return "Nothing to draw: there is no profile. `perf collect` makes one."
