"""What commands print: plain lines for a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import geometric_mean
from typing import TYPE_CHECKING

from perfvcs.quantity import metric_name, metric_rank, quantity, shorten
from perfvcs.summary import summarise

if TYPE_CHECKING:
    from perfvcs.measure.campaign import Outcome


def stored(outcome: Outcome) -> Iterator[str]:
    """What a campaign stored: per version and job the centres of the judged metrics; then warnings."""
    width = max((len(shorten(profile.job.label, 34)) for profile in outcome.profiles), default=0)
    for profile in outcome.profiles:
        version = profile.commit[:10] + ("+" if profile.dirty else " ")
        shown = [
            (summary.metric, quantity(geometric_mean(positive), profile.metrics[summary.metric].unit))
            for summary in summarise(profile)
            if summary.uid == profile.job.name and (positive := [value for value in summary.medians if value > 0])
        ]
        centres = "  ".join(
            f"{metric_name(metric)} {text}" for metric, text in sorted(shown, key=lambda row: metric_rank(row[0]))
        )
        yield f"{version} {shorten(profile.job.label, 34):{width}}  {centres}  n={profile.design.executions}"
    if outcome.profiles:
        seeds = ", ".join(map(str, outcome.seeds))
        yield f"stored {len(outcome.paths)} profile{'s' * (len(outcome.paths) != 1)} (seed {seeds})"
    elif not outcome.failures:
        yield "nothing to measure: everything asked for has its profiles"
    yield from (f"note: {warning}" for warning in outcome.warnings)
