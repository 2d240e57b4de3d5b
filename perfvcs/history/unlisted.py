"""Why a history does not list a degradation that `perf check` has reported along it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from itertools import islice

import msgspec

from perfvcs.check.acceptance import between
from perfvcs.check.change import Change
from perfvcs.check.markdown import decode
from perfvcs.check.text import benchmark
from perfvcs.check.vocabulary import said
from perfvcs.history.finding import title
from perfvcs.history.judging import FEWEST_A_SIDE, JudgedLine
from perfvcs.profile.naming import ONCE
from perfvcs.profile.validity import Malformed
from perfvcs.repository import Repository
from perfvcs.text.words import COUNTS, counted

MOST_REPORTS = 50  # the newest reports of `perf check` that are read


class Unlisted(msgspec.Struct, frozen=True):
    """A degradation of a report on two commits, and the ``reason`` why there is no step."""

    benchmark: str
    metric: str
    effect: float | None
    baseline: str
    target: str
    reason: str


def _is_of(series: JudgedLine, change: Change) -> bool:
    """Whether a change is one of a series; a curve's is one of each of its sizes."""
    line = series.line
    return (
        (line.job.key, line.uid, line.metric, line.better)
        == (change.series, change.uid, change.metric, change.better)
    ) and change.size in (None, line.size)


def _counts(series: JudgedLine, change: Change) -> bool:
    """Whether a series is what the unit of a change executes."""
    line = series.line
    return line.metric in COUNTS and title(line).removesuffix(ONCE) == benchmark(change)


def _lists(series: JudgedLine, start: int, end: int) -> bool:
    """Whether a series has a finding that may be a commit behind place ``start``, up to ``end``."""
    places, found = series.places, series.found
    return found is not None and any(
        places[step.first] <= end and places[step.last] > start and step.effect
        for step in found.judgement.steps
    )


def _reason(series: JudgedLine, change: Change, start: int, end: int, shortest: int) -> str:
    """Why a series has no step for a change there."""
    places = series.places
    before = sum(place <= start for place in places)
    after = sum(place >= end for place in places)
    in_turns = [
        verdict for element, verdict in series.verdicts.items() if start < places[element] <= end
    ]
    if in_turns and not any(verdict.changed for verdict in in_turns):
        return "its commits were measured in turns and are the same"
    if change.paired:
        return "of so many pairs measured in turns, as much is expected by chance"
    if len(places) < shortest:
        has = counted(len(places), "commit")
        return f"not measured in turns, and a series needs {shortest} commits; it has {has}"
    if min(before, after) < FEWEST_A_SIDE:
        side = "before" if before < after else "after"
        has = counted(min(before, after), "commit")
        return (
            f"not measured in turns, and a step needs {FEWEST_A_SIDE} commits on both sides:"
            f" it has {has} {side} it"
        )
    return "the whole series shows no lasting change there"


def unlisted(
    repository: Repository, commits: Sequence[str], judged: Collection[JudgedLine], shortest: int
) -> list[Unlisted]:
    """The degradations of remembered reports on two of ``commits`` (oldest first) that no finding
    of the judged series explains, the newest report first.
    """
    places = {commit: place for place, commit in enumerate(commits)}
    rows: dict[tuple[object, ...], Unlisted] = {}
    for baseline, target, change in _degradations(repository):
        start, end = places.get(baseline), places.get(target)
        if start is None or end is None or start >= end:
            continue
        own = [
            series
            for series in judged
            # a report outlives the profiles that were removed since
            if _is_of(series, change) and {start, end} <= set(series.places)
        ]
        # what settled it, where its time alone did not
        work = [series for series in judged if change.work and _counts(series, change)]
        if own and not any(_lists(series, start, end) for series in (*own, *work)):
            name = benchmark(change)
            reason = _reason(own[0], change, start, end, shortest)
            row = Unlisted(name, change.metric, change.effect, baseline, target, reason)
            rows.setdefault((name, change.metric, target), row)
    return list(rows.values())


def _degradations(repository: Repository) -> Iterator[tuple[str, str, Change]]:
    """What the remembered reports call a degradation that nobody accepted."""
    for remembered in islice(repository.index.memory.all(), MOST_REPORTS):
        with suppress(Malformed):
            for change in decode(remembered.report).changes:
                if said(change).fails:
                    yield *between(change, remembered.baseline, remembered.target), change
