"""What a page shows, drawn with characters: the views that have a form for the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from perfvcs import plugins
from perfvcs.errors import UsageError
from perfvcs.page.choice import choose, configured, fitting, nothing
from perfvcs.subject import Subject
from perfvcs.text.characters import shorten
from perfvcs.text.columns import COLUMNS

FIRST = ("history", "effects", "scatter")  # the first of these that fits comes before the table
TABLE = "table"
LONGEST = 10_000  # characters of a title


@runtime_checkable
class Terse(Protocol):
    """A view with a form for the terminal."""

    def text(self, subject: Subject, width: int) -> str:
        """Lines of at most ``width`` columns."""
        ...


def text(subject: Subject, view: str | None = None, options: Mapping[str, str] | None = None, width: int = COLUMNS) -> str:
    """The view that is named, else the most telling one with the table below it; lines of at most ``width`` columns.

    Raises UsageError as ``choose`` does, and where the view cannot be drawn with characters.
    """
    from perfvcs.text.columns import wrapped

    if view is not None:
        chosen = choose(subject, view, options)
        if not isinstance(chosen[view], Terse):
            able = [name for name, one in fitting(subject, plugins.names("views")).items() if isinstance(one, Terse)]
            raise UsageError(f"view `{view}` cannot be drawn with characters; these can: {', '.join(able) or 'none'}")
    else:
        found = fitting(subject, (*FIRST, TABLE))
        first = [name for name in FIRST if name in found][:1]
        listed = [TABLE] if TABLE in found and not subject.history else []  # which would be a row per commit
        names = first + listed
        chosen = configured({name: found[name] for name in names}, options or {})
    drawn = [one.text(subject, width) for one in chosen.values() if isinstance(one, Terse)]
    head = "\n".join(wrapped([shorten(subject.title, LONGEST), *subject.notes], width))
    return "\n\n".join([head, *(drawn or [nothing(subject)])])
