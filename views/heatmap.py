"""Values as colours: counters and memory over time by name, or measurements by execution."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self

from perfvcs.check.subject import Subject
from perfvcs.errors import UsageError
from perfvcs.pictures import streams
from perfvcs.pictures.bundle import (
    NOTHING_USABLE,
    BothSides,
    UnitRows,
    alike,
    jobs,
    over_time,
    rows_of,
    unit_metrics,
    valued,
)
from perfvcs.pictures.canvas import plain
from perfvcs.pictures.heat import By, HeatSide, Sheet, measurements
from perfvcs.pictures.panel import draw, scheme
from perfvcs.plugins import Count
from perfvcs.plugins.view import Scope, Unfit, View
from perfvcs.profile import Profile
from perfvcs.profile.summary import SAMPLER
from perfvcs.system.numeric import np
from perfvcs.text.words import metric_rank

if TYPE_CHECKING:
    from bokeh.models.ui.ui_element import UIElement

MOST_CELLS = 100_000
FEWEST_COLUMNS = 60  # of a page with many figures
FIGURES = 6  # of measurements by execution
NARROW = 420  # pixels below which two revisions stand below one another


class Compared(NamedTuple):
    """Profiles of a job that can be compared, their metrics that stand on one sheet, and what is to
    be said of them.
    """

    profiles: BothSides
    metrics: list[str]
    notes: list[str]


@dataclass(frozen=True)
class Heatmap(View[list[Compared]]):
    """``by``: what the columns are.

    ``time`` draws what was recorded over time, by name. ``execution`` draws all measurements of
    each unit, a row per execution, in their order; ``size`` does so by the size of what was worked
    on. ``log``: colours stand for logarithms. At most ``rows`` times ``columns`` cells are drawn.
    """

    by: By = "time"
    log: bool = False
    rows: Count = 60
    columns: Count = 200
    scope: ClassVar[Scope] = "job"

    def __post_init__(self) -> None:
        if self.rows * self.columns > MOST_CELLS:
            raise UsageError(
                f"heatmap: {self.rows:,} rows of {self.columns:,} columns: give at most"
                f" {MOST_CELLS:,} cells"
            )

    def bounded(self, *, points: int, both: bool) -> Self:  # noqa: ARG002
        """With fewer columns."""
        return replace(self, columns=min(self.columns, max(FEWEST_COLUMNS, points // self.rows)))

    def cut(self, subject: Subject) -> list[Compared]:
        """The data with several names over time, or over what the option ``by`` names."""
        if reason := self._lacks([*subject.baseline, *subject.target]):
            raise Unfit(reason)
        sheets = [
            compared for job in jobs(subject).values() for compared in _compared(job, self.by)
        ]
        if not sheets:
            raise Unfit(NOTHING_USABLE)
        if self.by != "time":
            return sheets
        coarse = (self.rows, FEWEST_COLUMNS)
        drawn = {number: next(_sheets(one, "time", coarse)) for number, one in enumerate(sheets)}
        if not any(map(_moves, drawn.values())):
            why = "; ".join(drawn[0].notes)
            raise Unfit(f"nothing that was recorded over time varies ({why})")
        return [sheets[number] for number, sheet in drawn.items() if _moves(sheet)]

    def _lacks(self, profiles: Sequence[Profile]) -> str | None:
        if self.by == "execution":
            there = any(any(profile.resources.integers("iteration")) for profile in profiles)
            if there:
                return None
            return "every execution has one measurement, and `executions` shows these in order"
        if self.by == "size":
            there = any(len(set(profile.resources.size or ())) > 1 for profile in profiles)
            return None if there else "the measurements are not of several sizes"
        counts = [_names(profile) for profile in profiles]
        if 1 in counts and max(counts) == 1:
            return "it draws several names over time, and there is one, which `flow` shows"
        cure = "--set by=execution draws other measurements"
        if any(counts):
            return None
        return f"it draws what the collectors `counters` and `memory` record over time ({cure})"

    def render(self, data: list[Compared]) -> UIElement:
        """One figure per job and metric, of counters one for all; two revisions side by side."""
        from bokeh.layouts import column

        most = self.rows, self.columns
        sheets = chain.from_iterable(_sheets(compared, self.by, most) for compared in data)
        named = (sheet for sheet in sheets if sheet.names)
        shown = list(named if self.by == "time" else islice(named, FIGURES))
        if shown and next(named, None) is not None:
            more = f"the first {FIGURES} pairs of benchmark and metric, and there are more"
            shown[-1] = replace(shown[-1], notes=[*shown[-1].notes, more])
        drawn = [self._draw(sheet) for sheet in shown]
        return drawn[0] if len(drawn) == 1 else column(*drawn, sizing_mode="stretch_width")

    def _draw(self, sheet: Sheet) -> UIElement:
        """The panels of a sheet side by side, or below one another where there is little room,
        under one scale of colours.
        """
        from bokeh.models.layouts import Row

        colours = scheme(sheet, log=self.log)
        plots = [draw(sheet, panel, colours) for panel in sheet.panels]
        if len(plots) == 1:
            return plots[0]
        for plot in plots:
            plot.x_range = plots[0].x_range if sheet.linked else plot.x_range
            plot.styles = {"flex": f"1 1 {NARROW}px"}
        return Row(children=[*plots], sizing_mode="stretch_width", styles={"flex-wrap": "wrap"})


def _moves(sheet: Sheet) -> bool:
    """Whether there are rows to draw, with more than one moment."""
    moments = sum(int((panel.cells.count > 0).any(axis=0).sum()) for panel in sheet.panels)
    return bool(sheet.names) and moments > 1


def _compared(subject: Subject, by: By) -> Iterator[Compared]:
    """The sheets of one job; each names its environment if there are several."""
    profiles = [*subject.target, *subject.baseline]
    for chosen in _metrics(profiles, by):
        usual = max(chosen, key=lambda name: sum(name in profile.metrics for profile in profiles))
        pairs = alike(subject, usual)
        for pair in pairs:
            before, after = pair
            if len(pairs) > 1:
                place = [f"in {plain((after or before)[0].environment.fingerprint, 24)}"]
            else:
                place = []
            if valued(pair, chosen):
                yield Compared(pair, chosen, place)


def _sheets(compared: Compared, by: By, most: tuple[int, int]) -> Iterator[Sheet]:
    """The heat maps of what can be compared, of at most ``most`` rows and columns each."""
    before, after = compared.profiles
    sides = [
        HeatSide("baseline", _columns(before, compared.metrics)),
        HeatSide("target", _columns(after, compared.metrics)),
    ]
    there = [side for side in sides if side.rows]
    there = there if len(there) > 1 else [side._replace(name="") for side in there]
    made: Iterable[Sheet] = (
        [streams.over_time(there, most)] if by == "time" else measurements(there, by, most)
    )
    yield from (replace(sheet, notes=compared.notes + sheet.notes) for sheet in made)


def _metrics(profiles: Sequence[Profile], by: By) -> list[list[str]]:
    """The metrics of a job, those together that stand on one sheet: all counters."""
    every = dict.fromkeys(name for profile in profiles for name in unit_metrics(profile))
    if by != "time":
        return [[name] for name in sorted(every, key=metric_rank)]
    timed = [name for name in every if _timed(profiles, name)]
    if timed and profiles[0].job.collector == SAMPLER:
        return [timed]
    return [[name] for name in sorted(timed, key=metric_rank)]


def _timed(profiles: Sequence[Profile], metric: str) -> bool:
    return any(metric in profile.metrics and over_time(profile, metric) for profile in profiles)


def _columns(profiles: Sequence[Profile], chosen: Sequence[str]) -> list[UnitRows]:
    every = (rows_of(profiles, name) for name in chosen)
    return [rows for rows in every if rows is not None]


def _names(profile: Profile) -> int:
    """The counters or units of a profile recorded over time; counting stops at the second."""
    uid, count = np.asarray(profile.resources.uid, np.int64), 0
    for metric in unit_metrics(profile):
        if count < 2 and over_time(profile, metric):
            count += len(np.unique(uid[np.isfinite(profile.resources.array(metric))]))
    return count
