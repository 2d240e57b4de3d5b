"""The contract of the views, which are found by their names in ``views/``.

A view is a frozen dataclass that inherits from ``View``. Its fields are its options, and the first
line of its module says how it is to be read. It is asked once about a subject and once about each
piece that a page cuts out of it (``perfvcs.reports.page``): ``cut`` takes what there is to draw,
and that is drawn as a figure, in characters, or as a table. It leaves files to the command.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Generic, Literal, Self, TypeVar

from perfvcs.errors import UsageError

if TYPE_CHECKING:
    from bokeh.models.ui.ui_element import UIElement

    from perfvcs.check.subject import Subject
    from perfvcs.pictures.listing import Listing

# What one figure is about: one metric of a benchmark (or of all: their changes), the same over all
# its sizes, all call stacks of a job, all units of a job under one metric, or all rows of a job.
Scope = Literal["sample", "job", "units", "stacks", "sizes"]
Data = TypeVar("Data")  # what a view draws, in a form of its own


class Unfit(UsageError):
    """A view has nothing to draw of a subject; the message is a reason that ends a sentence, such
    as ``it draws two revisions``.
    """


class View(ABC, Generic[Data]):
    """What every member of the family offers; what is not abstract need not be defined."""

    asked: ClassVar[bool] = False  # whether it is drawn only where it is named

    @property
    def scope(self) -> Scope:
        """Of which pieces a page makes its figures."""
        return "sample"

    @abstractmethod
    def cut(self, subject: Subject) -> Data:
        """What there is to draw, whatever the bounds; costs less than to draw it.

        Raises Unfit where there is nothing.
        """

    @abstractmethod
    def render(self, data: Data) -> UIElement:
        """A bokeh layout of what was cut."""

    def telling(self, data: Data) -> str | None:  # noqa: ARG002
        """What a diagnostic has to say, in one sentence; empty where that is nothing, so that a
        page does not draw it unasked.

        None where a view is drawn whatever it shows.
        """
        return None

    def beside(self, data: Data) -> list[Listing]:  # noqa: ARG002
        """Tables that a page shows below the figure."""
        return []

    def text(self, data: Data, width: int) -> str | None:  # noqa: ARG002
        """The same in characters, in lines of at most ``width`` columns; None where it has no such
        form.
        """
        return None

    def table(self, data: Data) -> Listing | None:  # noqa: ARG002
        """The same as a table, which a page then shows instead of a figure; None where it has no
        such form.
        """
        return None

    def bounded(self, *, points: int, both: bool) -> Self:
        """The view with less to draw, for a page of many figures, where it has such fields.

        ``points``: at most so many of whatever it draws; ``both``: on both kinds of axes.
        """
        if not is_dataclass(self):
            return self
        own = {field.name: getattr(self, field.name) for field in fields(self)}
        bounds = {
            "points": min(points, own.get("points", points)),
            "both": both and own.get("both", True),
        }
        return replace(self, **{name: bound for name, bound in bounds.items() if name in own})
