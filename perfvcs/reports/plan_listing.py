"""The listing of a plan for a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil
from textwrap import wrap
from typing import TYPE_CHECKING

from perfvcs.plan.design import EFFECTS, Option
from perfvcs.reports.plan_notes import LARGEST_EFFECT, duration_text, levels, meaning, percent, seed, share
from perfvcs.text.characters import shorten
from perfvcs.text.columns import COLUMNS
from perfvcs.text.quantity import quantity
from perfvcs.text.words import counted, metric_name

if TYPE_CHECKING:
    from perfvcs.plan.rows import PlanRow
    from perfvcs.plan.survey import Survey

NAME, MEAN, VARIES, FINDS, OPTION = 12, 10, 7, 9, 10
TIME_METRICS = ("wall", "cpu")
SHOWN_UNITS = 6  # of a program, shown without -v


def design(survey: Survey) -> str:
    """How it was measured last, and what that costs."""
    cost = survey.cost
    each = f" of {quantity(cost.execution, 's')}" if cost.execution else ""
    text = f"{counted(survey.executions, 'execution')}{each}"
    if survey.binaries > 1:
        text += f" for each of {survey.binaries} builds"
    if survey.warmup:
        text += f", {survey.warmup} before them to warm up"
    return f"{text}; {counted(survey.sessions, 'session')} of it stored"


def table(survey: Survey, rows: Sequence[PlanRow], *, verbose: bool) -> Iterator[str]:
    """A job's units with their metrics, and what these numbers mean."""
    if not rows:
        yield "  no execution has a value"
    listed = selected(rows, verbose=verbose)
    units = list(dict.fromkeys((row.variation.uid, row.variation.size) for row in listed))
    kept = units if verbose else units[:SHOWN_UNITS]
    what = "builds" if survey.binaries > 1 else "executions"
    if any(row.options for row in listed):
        yield f"{f'{what} to find':>{COLUMNS}}"
        columns = "".join(f"{f'{100 * effect:g} %':>{OPTION}}" for effect in EFFECTS)
        yield f"  {'':{NAME}}{'':{MEAN}}{'varies':>{VARIES}}{'finds':>{FINDS}}{columns}"
    notes: dict[str, None] = {}
    for uid, size in kept:
        named = uid if size is None else f"{uid} [{size:.10g}]"
        if uid != survey.name:
            yield f"  {shorten(named, COLUMNS - 4)}:"
        prefix, looked = "" if uid == survey.name else f"{shorten(named, 30)}, ", False
        for row in listed:
            one = row.variation
            if (one.uid, one.size) == (uid, size):
                yield from _metric(row)
                name = f"{prefix}{metric_name(one.metric)}"
                notes |= dict.fromkeys(meaning(row, survey, name))
                notes |= dict.fromkeys(seed(one, survey, name, verbose=verbose))
                if one.inside is not None and (verbose or not looked):  # a unit's times tell much the same
                    looked = True
                    notes |= dict.fromkeys(levels(row, one.inside, survey, name, verbose=verbose))
    if len(units) > len(kept):
        yield f"  and {len(units) - len(kept)} more units: perf plan -v"
    for note in notes:
        yield from indented(note)


def selected(rows: Sequence[PlanRow], *, verbose: bool) -> Sequence[PlanRow]:
    """All rows, or without ``verbose`` the times where there are any."""
    return rows if verbose else [row for row in rows if row.variation.metric in TIME_METRICS] or rows


def _metric(row: PlanRow) -> Iterator[str]:
    one = row.variation
    mean = "" if one.mean is None else quantity(one.mean, one.unit)
    head = f"  {shorten(metric_name(one.metric), NAME - 1):<{NAME}}{shorten(mean, MEAN - 1):<{MEAN}}"
    if one.difference is None:
        yield from wrap(f"{head} {one.problem}", COLUMNS, subsequent_indent=" " * (NAME + MEAN + 3))
        return
    finds = "-" if row.finds is None else share(row.finds.effect)
    counts = "".join(f"{_count(option.replicates):>{OPTION}}" for option in row.options)
    yield f"{head}{share(one.deviation or 0.0):>{VARIES}}{finds:>{FINDS}}{counts}"
    reach = (
        "" if row.finds is None or row.finds.effect > LARGEST_EFFECT else f"{percent(row.finds.low)}-{percent(row.finds.high)}"
    )
    ranges = "".join(f"{_range(option):>{OPTION}}" for option in row.options)
    if one.deviation and (reach or ranges.strip()):
        yield f"  {'':{NAME + MEAN + VARIES}}{reach:>{FINDS}}{ranges}"
    if any(option.seconds for option in row.options):
        spent = "".join(f"{_spent(option.seconds):>{OPTION}}" for option in row.options)
        yield f"  {'':{NAME + MEAN + VARIES + FINDS}}{spent}"


def reach(rows: Sequence[PlanRow]) -> Iterator[str]:
    """The delta that the present design reaches, where that is not the one that counts."""
    known = [row for row in rows if row.variation.metric in TIME_METRICS] or rows
    reached = max((row.settles for row in known if row.settles is not None and row.settles > row.delta), default=0.0)
    if reached:
        percents = f"{ceil(1000 * reached) / 10:g}"
        yield from indented(
            f"as many executions of equal versions settle ±{percents} % in 4 of 5 cases: perf check --within {percents}"
        )


def indented(text: str) -> list[str]:
    """A paragraph below a heading."""
    return wrap(text, COLUMNS, initial_indent="  ", subsequent_indent="  ")


def _count(count: int | None) -> str:
    return ">9999" if count is None else str(count)


def _range(option: Option) -> str:
    if option.low is None:
        return ""
    if option.high is None:
        return f"{option.low} up"
    return f"{option.low}-{option.high}" if option.low != option.high else ""


def _spent(value: float | None) -> str:
    """A duration as it fits its column; times that nobody waits for are left out."""
    text = "" if value is None else duration_text(value)
    return text if len(text) < OPTION else ""
