"""Bars from zero: what the units of a job have of a metric, beside what they had in another
revision, or divided into parts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from perfvcs.check import Change
from perfvcs.check.subject import Subject
from perfvcs.pictures.amounts import BarColumn, Statistic, bars
from perfvcs.pictures.bar import Picture
from perfvcs.pictures.bundle import (
    AGAIN,
    NOTHING_USABLE,
    BothSides,
    UnitRows,
    alike,
    over_time,
    rows_of,
    several,
    unit_metrics,
    valued,
    without_whole,
)
from perfvcs.pictures.canvas import BLUE, VERMILLION, stack
from perfvcs.pictures.pageparts import DrawnUnit
from perfvcs.pictures.sample import no_interval
from perfvcs.plugins import Count
from perfvcs.plugins.view import Scope, Unfit, View
from perfvcs.profile import Profile
from perfvcs.profile.summary import RECORDER
from perfvcs.text.words import metric_name, metric_rank

if TYPE_CHECKING:
    from bokeh.models.ui.ui_element import UIElement
    from bokeh.plotting import figure

MOST_PARTS = 12  # of one bar, each with a colour and a pattern of its own
STATISTICS: Mapping[Statistic, str] = {
    "mean": "mean of the rows",
    "median": "median of the rows",
    "sum": "sum of the rows",
    "min": "least row",
    "max": "largest row",
}
SIDES = (("baseline", BLUE, "blank"), ("target", VERMILLION, "right_diagonal_line"))


class BarGroup(NamedTuple):
    """Profiles that can be compared, their metrics on one figure, and the verdicts on them."""

    profiles: BothSides
    metrics: list[str]
    changes: Sequence[Change] = ()


@dataclass(frozen=True)
class Bars(View[list[BarGroup]]):
    """A bar for each value of the column ``by``, from zero.

    ``stacked``: a column by whose values each bar is divided into parts. ``aggregate``: what the
    rows of one execution under a bar are; ``auto`` sums up what is part of the program's work
    (recorded calls, call stacks, several units of an execution), and takes the median of repeated
    measurements. ``top``: at most so many bars, the largest, and one for all others. ``metrics``:
    names with commas between, which are drawn, and put together where a column is ``metric``;
    without any all of them, or all of one unit of measurement.
    """

    by: BarColumn = "unit"
    stacked: Literal["", "unit", "uid", "size", "execution", "session", "metric"] = ""
    aggregate: Literal["auto", "mean", "median", "sum", "min", "max"] = "auto"
    top: Count = 20
    metrics: str = ""

    @property
    def scope(self) -> Scope:
        """A job's units together, metric after metric, unless metrics stand side by side."""
        return "sample" if self._mixed else "units"

    @property
    def _mixed(self) -> bool:
        return "metric" in (self.by, self.stacked)

    def cut(self, subject: Subject) -> list[BarGroup]:
        """The units with several values of the column, per metric (or unit) and environment."""
        profiles = [*subject.target, *subject.baseline]
        if not any(len(profile.resources) for profile in profiles):
            raise Unfit("there are no measurements")
        groups = self._groups(profiles)
        pairs = [BarGroup(sides, mine) for mine in groups for sides in alike(subject, mine[0])]
        groups_with_several = [
            group
            for group in pairs
            if self._several([*group.profiles[0], *group.profiles[1]], group.metrics)
        ]
        if drawable := [
            group for group in groups_with_several if valued(group.profiles, group.metrics)
        ]:
            changes = subject.report.changes if subject.report else []
            return [group._replace(changes=_of(group, changes)) for group in drawable]
        if not groups and not self.metrics:
            raise Unfit("`flow` draws what was measured over time")
        columns = " or ".join(filter(None, (self.by, self.stacked)))
        raise Unfit(
            NOTHING_USABLE
            if groups_with_several
            else f"it draws bars side by side, and there is only one {columns}"
        )

    def render(self, data: list[BarGroup]) -> UIElement:
        """One figure per group."""
        return stack([self._draw(*group) for group in data])

    def _groups(self, profiles: Sequence[Profile]) -> list[list[str]]:
        """The metrics that come on one figure."""
        units = {
            metric: profile.metrics[metric].unit
            for profile in profiles
            for metric in unit_metrics(profile)
        }
        timed = {
            metric
            for profile in profiles
            for metric in profile.metrics
            if metric in units and over_time(profile, metric)
        }
        named = [metric for metric in self.metrics.split(",") if metric in units]
        unnamed = [
            metric
            for metric in sorted(units, key=metric_rank)
            if metric not in AGAIN and metric not in timed
        ]
        groups: dict[str, list[str]] = {}
        for metric in named if self.metrics else unnamed:
            groups.setdefault(units[metric] if self._mixed else metric, []).append(metric)
        return list(groups.values())

    def _several(self, profiles: Sequence[Profile], mine: Sequence[str]) -> bool:
        having = [
            (profile, metric)
            for profile in profiles
            for metric in mine
            if metric in profile.metrics
        ]
        several_values = {
            "metric": len({metric for _, metric in having}) > 1,
            "session": len({profile.collected.session for profile, _ in having}) > 1,
            "execution": any(len(set(profile.resources.execution)) > 1 for profile, _ in having),
        }
        units = len({profile.job.label for profile, _ in having}) > 1 or any(
            several(profile, metric) for profile, metric in having
        )
        return any(
            several_values.get(column, units) for column in (self.by, self.stacked) if column
        )

    def _draw(
        self, profiles: Sequence[Sequence[Profile]], mine: Sequence[str], changes: Sequence[Change]
    ) -> figure:
        sides = [[rows for metric in mine if (rows := rows_of(side, metric))] for side in profiles]
        styles = [style for style, side in zip(SIDES, sides, strict=True) if side]
        sides = [side for side in sides if side]
        sides, without = (
            without_whole(sides) if {self.by, self.stacked} & {"unit", "uid"} else (sides, "")
        )
        statistic = self._statistic(sides)
        amounts = bars(sides, self.by, self.stacked or None, statistic, self.top, MOST_PARTS)
        verdicts = {(change.uid, change.size): change for change in changes}
        compared = (
            len(sides) == 2 and self.by == "unit" and not self.stacked and statistic == "median"
        )
        amounts = amounts.at(
            {
                key: verdicts.get((key.uid, key.size))
                for key in amounts.keys
                if isinstance(key, DrawnUnit)
            }
            if compared
            else {}
        )
        jobs = {execution.job for side in sides for rows in side for execution in rows.executions}
        styles = styles if len(styles) > 1 else [("mean", BLUE, "blank")]
        picture = Picture(
            amounts,
            styles,
            self.by,
            self.stacked or "unit",
            jobs.pop() if len(jobs) == 1 else "",
            sides[-1][-1].meaning.unit,
        )
        most = max(len(rows.executions) for side in sides for rows in side)
        several = no_interval(most) or f"mean of up to {most:,} executions"
        notes = [f"{STATISTICS[statistic]} of an execution", several, without]
        name = metric_name(mine[0]) if len(mine) == 1 else "together"
        return picture.draw(name, list(filter(None, notes)))

    def _statistic(self, sides: Sequence[Sequence[UnitRows]]) -> Statistic:
        if self.aggregate != "auto":
            return self.aggregate
        every = [rows for side in sides for rows in side]
        work = any(rows.profile.job.collector == RECORDER or rows.traced.any() for rows in every)
        several = (
            self.by in ("execution", "session")
            and not self.stacked
            and any(len(rows.units) > 1 for rows in every)
        )
        return "sum" if work or several else "median"


def _of(group: BarGroup, changes: Sequence[Change]) -> list[Change]:
    series = {profile.job.key for side in group.profiles for profile in side}
    return [
        change for change in changes if change.series in series and [change.metric] == group.metrics
    ]
