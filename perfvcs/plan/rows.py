"""What a plan says of each unit and metric of a job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perfvcs.plan.design import DetectableEffect, Option, PlanRule, finding, options, reachable
from perfvcs.text.words import metric_rank

if TYPE_CHECKING:
    from perfvcs.plan.survey import Survey
    from perfvcs.plan.variation import Variation


@dataclass(frozen=True)
class PlanRow:
    """One unit and metric: its delta, what its present design finds, the delta that it settles, and what would find the ``EFFECTS``."""

    variation: Variation
    delta: float
    finds: DetectableEffect | None
    settles: float | None
    options: Sequence[Option]


def rows_of(survey: Survey, delta: float | None, family: int) -> list[PlanRow]:
    """A row for each unit and metric of a job: units as they come, wall and CPU time first; ``delta`` None is the usual one of a metric."""
    order = {unit: number for number, unit in enumerate(dict.fromkeys((known.uid, known.size) for known in survey.variations))}
    ordered = sorted(survey.variations, key=lambda known: (order[known.uid, known.size], metric_rank(known.metric)))
    return [_row(known, survey, PlanRule(known.delta if delta is None else delta, family)) for known in ordered]


def _row(variation: Variation, survey: Survey, rule: PlanRule) -> PlanRow:
    replicates = survey.binaries if survey.binaries > 1 else survey.executions
    return PlanRow(
        variation,
        rule.delta,
        finding(variation, replicates, rule),
        reachable(variation, replicates),
        options(variation, survey, rule),
    )
