"""Views: each file is one, named like it; this page is their contract.

A view is a frozen dataclass; its fields are its options. It renders bokeh models and leaves files to the command. The page hands a
view one benchmark's one metric at a time (``perfvcs.page``), so that figures can be folded; a view must also draw a whole subject. A
field ``points`` bounds what is drawn, and is lowered for a page of many figures. A view with a true attribute ``whole``
draws a benchmark over all its sizes, one with ``stacks`` all call stacks of a job. Files with a leading underscore are shared drawing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from perfvcs.profile import Profile

if TYPE_CHECKING:
    from bokeh.models.ui.ui_element import UIElement

    from perfvcs.check import Change, Report


@dataclass(frozen=True)
class Point:
    """One commit in the history of one unit's metric: centre and 99 % interval of the log-median, in the metric's unit.

    ``low`` and ``high`` are None with a single execution; ``verdict`` is the word against the point before
    (``accepted`` where the project has accepted it), or empty.
    """

    commit: str
    title: str
    author: str
    when: str
    executions: int
    centre: float
    low: float | None
    high: float | None
    verdict: str = ""
    effect: float | None = None


@dataclass(frozen=True)
class Series:
    """The history of one unit's metric; points are ordered by ancestry, oldest first."""

    label: str
    uid: str
    size: float | None
    metric: str
    unit: str
    better: str
    environment: str
    points: Sequence[Point]


@dataclass(frozen=True)
class Subject:
    """What a page is about; a view takes what it needs of it.

    ``baseline`` is empty for a page about one revision; ``report`` is there when two were compared; ``history`` for series. ``verdict``
    is that on the one benchmark and metric which a page has cut out.
    """

    title: str
    target: Sequence[Profile] = ()
    baseline: Sequence[Profile] = ()
    report: Report | None = None
    history: Sequence[Series] = ()
    verdict: Change | None = None


class View(Protocol):
    """What every member of the family offers."""

    def fits(self, subject: Subject) -> str | None:
        """Why it cannot draw this subject; None when it can."""
        ...

    def render(self, subject: Subject) -> UIElement:
        """The bokeh layout; called only when ``fits`` says None."""
        ...
