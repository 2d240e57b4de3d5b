"""What ``perf plan`` says: how much every benchmark varies, what its design finds, and what would find more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import msgspec

from perfvcs.plan.design import PlanRule, builds
from perfvcs.plan.rows import PlanRow, rows_of
from perfvcs.plan.survey import Survey, surveys
from perfvcs.reports.plan_listing import design, indented, reach, selected, table
from perfvcs.text.characters import escaped, shorten
from perfvcs.text.columns import COLUMNS
from perfvcs.text.words import metric_name

if TYPE_CHECKING:
    from perfvcs.repository import Repository


@dataclass(frozen=True)
class Plan:
    """All jobs that were measured; the delta that was asked for, None where each metric has its usual one; the comparisons of a check."""

    revision: str
    asked: float | None
    family: int
    jobs: Sequence[tuple[Survey, Sequence[PlanRow]]]

    def lines(self, *, verbose: bool = False) -> Iterator[str]:
        """The listing for a terminal of 80 columns; ``verbose`` lists all units and metrics, and the levels of variance."""
        for survey, rows in self.jobs:
            yield from wrap(shorten(survey.job, 200), COLUMNS, subsequent_indent="    ")
            yield from indented(design(survey))
            yield from table(survey, rows, verbose=verbose)
            yield from reach(rows)
            yield ""
        yield from self._ending(verbose=verbose)

    def _ending(self, *, verbose: bool) -> Iterator[str]:
        planned = [(row, option) for _, rows in self.jobs for row in selected(rows, verbose=verbose) for option in row.options]
        if not planned:
            return
        yield from wrap(
            "finds: the smallest change that a check with as many executions as now, measured in turns, finds in 4 of 5 cases. To find: "
            "the executions per revision needed for a change of this size. Below each number: its range (80 %) as far as the stored "
            "data shows, then the time for one revision.",
            COLUMNS,
        )
        every = {metric_name(row.variation.metric) for row, _ in planned}
        smaller: dict[tuple[float, float], dict[str, None]] = {}
        for row, option in planned:
            if option.delta != row.delta:
                smaller.setdefault((option.effect, option.delta), {})[metric_name(row.variation.metric)] = None
        for (effect, delta), names in sorted(smaller.items()):
            of = "" if len(names) == len(every) else f" of {', '.join(names)}"
            yield from wrap(
                f"{100 * effect:g} %{of} is found only with --delta {100 * delta:g}: estimates of less than delta do not count.",
                COLUMNS,
            )
        if self.family > 5:
            alpha = PlanRule(family=self.family).alpha
            yield from wrap(f"A check makes {self.family} comparisons at once, so each needs p < {alpha:.2g}.", COLUMNS)

    def json(self) -> str:
        """The same as JSON."""
        jobs: list[dict[str, Any]] = [
            {
                "job": survey.job, "collector": survey.collector, "series": survey.series, "sessions": survey.sessions,
                "profiles": survey.profiles, "binaries": survey.binaries, "executions": survey.executions, "warmup": survey.warmup,
                "cost": survey.cost, "best_executions_per_build": _first(builds(row.variation, survey) for row in rows),
                "units": [_unit(row) for row in rows],
            }
            for survey, rows in self.jobs
        ]  # fmt: skip
        found = {"revision": self.revision, "delta": self.asked, "alpha": PlanRule(family=self.family).alpha, "comparisons": self.family,
                 "power": 0.8, "jobs": jobs}  # fmt: skip
        return escaped(msgspec.json.format(msgspec.json.encode(found)).decode())


def plan(repository: Repository, revision: str = "HEAD", jobs: Sequence[str] = (), delta: float | None = None) -> Plan:
    """The plan from what is stored up to a revision, ``delta`` None being the usual one of each metric; raises NothingToCompare."""
    found = surveys(repository, revision, jobs)
    family = sum(known.difference is not None for survey in found for known in survey.variations)
    return Plan(revision, delta, family, [(survey, rows_of(survey, delta, family)) for survey in found])


def _unit(row: PlanRow) -> dict[str, Any]:
    one = row.variation
    return {
        "uid": one.uid, "size": one.size, "metric": one.metric, "unit": one.unit, "mean": one.mean, "delta": row.delta,
        "replicates": one.replicates,
        "measurements": one.measurements, "deviation": one.deviation, "pair_deviation": one.difference,
        "pair_deviation_drawn_in": one.drawn, "df": one.df, "paired": one.paired, "seed": one.seed,
        "levels": one.inside, "problem": one.problem,
        "finds": row.finds, "settles": row.settles, "options": row.options,
    }  # fmt: skip


def _first(values: Iterator[int | None]) -> int | None:
    return next((value for value in values if value is not None), None)
