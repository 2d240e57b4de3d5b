"""Views: each file is one, named like it; this page is their contract.

A view is a frozen dataclass; its fields are its options. It renders bokeh models and leaves files to the command. The page hands a
view one benchmark's one metric at a time (``perfvcs.page``), so that figures can be folded; a view must also draw a whole subject. A
field ``points`` bounds what is drawn, and is lowered for a page of many figures. A view with a true attribute ``whole``
draws a benchmark over all its sizes, one with ``stacks`` all call stacks of a job, one with ``units`` all units of a job under one
metric, one with ``jobs`` all rows of a job. One with a true attribute ``asked`` is drawn only where it is named. A method
``text(subject, width)`` draws with characters, in lines of at most ``width`` columns; a method ``listed(subject)`` gives a table, which
the page shows instead of a figure. What views share is `perfvcs.drawing`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from bokeh.models.ui.ui_element import UIElement

    from perfvcs.subject import Subject


class View(Protocol):
    """What every member of the family offers."""

    def fits(self, subject: Subject) -> str | None:
        """Why it cannot draw this subject; None when it can."""
        ...

    def render(self, subject: Subject) -> UIElement:
        """The bokeh layout; called only when ``fits`` says None."""
        ...
