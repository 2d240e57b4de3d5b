"""What commands print: plain lines for a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import geometric_mean
from textwrap import wrap
from typing import TYPE_CHECKING

from perfvcs.summary import Header, summarise
from perfvcs.text.characters import shorten
from perfvcs.text.columns import COLUMNS
from perfvcs.text.naming import apart
from perfvcs.text.quantity import quantity
from perfvcs.text.words import counted, metric_name, metric_rank, named

if TYPE_CHECKING:
    from perfvcs.measure.campaign import CampaignOutcome
    from perfvcs.profile import Profile

LABEL_CHARACTERS = 34  # characters of a benchmark's name
VERSION = 11
SHOWN_FUNCTIONS = 8  # functions of one profile that are shown


def stored(outcome: CampaignOutcome) -> Iterator[str]:
    """What a campaign stored: per version and job the centres of the judged metrics; then warnings."""
    names = named([(profile.job.label, profile.job.collector) for profile in outcome.profiles])
    names = apart(names, LABEL_CHARACTERS)
    width = max(map(len, names), default=0)
    for profile, benchmark in zip(outcome.profiles, names, strict=True):
        product = profile.design.product
        version = shorten(product.name, VERSION) if product else profile.commit[:10] + ("+" if profile.dirty else " ")
        shown = [
            (summary.metric, quantity(geometric_mean(positive), profile.metrics[summary.metric].unit))
            for summary in summarise(profile)
            if summary.uid == profile.job.name and (positive := [value for value in summary.medians if value > 0])
        ]
        centres = "  ".join(
            f"{metric_name(metric)} {text}" for metric, text in sorted(shown, key=lambda row: metric_rank(row[0]))
        )
        host = Header.of(profile).worker
        name = f"{version:{VERSION}} {benchmark:{width}}" + (f"  on {host}" if host else "")
        values = f"{centres}  n={profile.design.executions}".lstrip()
        yield from [f"{name}  {values}"] if len(name) + len(values) + 2 <= COLUMNS else [name.rstrip(), f"{'':12}{values}"]
        if not shown:
            yield from _units(profile)
    if outcome.profiles:
        seeds = ", ".join(map(str, outcome.seeds))
        yield f"stored {counted(len(outcome.paths), 'profile')} (seed {seeds})"
    elif not outcome.failures:
        yield "nothing to measure: the profiles are stored already, or the change does not touch the benchmarks"
    for warning in outcome.warnings:
        yield from wrap(f"note: {warning}", COLUMNS, subsequent_indent="      ")


def _units(profile: Profile) -> Iterator[str]:
    """A line for each of the units that a profile without a whole has, those with the most rows first."""
    import numpy as np

    rows = profile.resources
    unit = np.asarray(rows.uid, dtype=np.int64)
    counts = np.bincount(unit, minlength=len(rows.names))
    order = [number for number in np.argsort(-counts, kind="stable").tolist() if counts[number]]
    metric = next((name for name, about in profile.metrics.items() if about.better != "none"), None)
    names = apart([rows.names[number] for number in order[:SHOWN_FUNCTIONS]], LABEL_CHARACTERS)
    width = max(map(len, names), default=0)
    lines = []
    for number, name in zip(order, names, strict=False):
        own = unit == number
        parts = [
            f"{name:{width}}",
            f"{counts[number]:,} {'row' if counts[number] == 1 else 'rows'}",
        ]
        if rows.size is not None and np.isfinite(sizes := rows.array("size")[own]).any():
            low, high = np.nanmin(sizes), np.nanmax(sizes)
            parts.append(f"size {low:g}" if low == high else f"sizes {low:g} to {high:g}")
        if metric and np.isfinite(values := rows.array(metric)[own]).any():
            parts.append(f"median {quantity(float(np.nanmedian(values)), profile.metrics[metric].unit)}")
        lines.append("  ".join(parts))
    if len(order) > SHOWN_FUNCTIONS:
        lines.append(f"and {len(order) - SHOWN_FUNCTIONS} more: perf show {profile.commit[:10]}")
    indent = max(2, min(12, COLUMNS - max(map(len, lines), default=0)))
    yield from (f"{'':{indent}}{line}" for line in lines)
