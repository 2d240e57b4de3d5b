"""A page drawn with characters, by the views that have a form for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain, islice

from perfvcs import plugins
from perfvcs.check.screen import screen
from perfvcs.errors import UsageError
from perfvcs.page.choice import Drawable, choose, configured, fitting, nothing
from perfvcs.subject import Subject
from perfvcs.text.characters import shorten
from perfvcs.text.columns import COLUMNS

FIRST_VIEWS = ("history", "effects", "scatter")  # the first of these that fits comes before the table
TABLE = "table"
LONGEST_TITLE = 10_000  # characters of a title


def text(subject: Subject, view: str | None = None, options: Mapping[str, str] | None = None, width: int = COLUMNS) -> str:
    """The view that is named, else the most telling one with the table below it; lines of at most ``width`` columns.

    Raises UsageError as ``choose`` does, and where the view cannot be drawn with characters.
    """
    from perfvcs.text.columns import wrapped

    chosen = configured(subject, _telling(subject), options or {}) if view is None else choose(subject, view, options)
    drawn = [said for one in chosen if (said := one.view.text(one.data, width)) is not None]
    if view is not None and not drawn:
        every = fitting(subject, plugins.names("views"))
        able = [one.name for one in every if one.view.text(one.data, width) is not None]
        raise UsageError(f"view `{view}` cannot be drawn with characters; these can: {', '.join(able) or 'none'}")
    head = "\n".join(wrapped([shorten(subject.title, LONGEST_TITLE), *subject.notes], width))
    return "\n\n".join([head, *_answer(subject, width), *(drawn or [nothing(subject)])])


def _answer(subject: Subject, width: int) -> list[str]:
    """The report of two revisions, as `perf check` prints it."""
    if subject.report is None:
        return []
    return [screen(subject.report, causes=subject.causes, following=subject.following, width=width)]


def _telling(subject: Subject) -> Iterator[Drawable]:
    """The most telling view, and the table, which of a history would be a row per commit."""
    yield from islice(chain.from_iterable(fitting(subject, [name]) for name in FIRST_VIEWS), 1)
    if not subject.history:
        yield from fitting(subject, [TABLE])
