"""The order of what changed at one commit: that of `perf check`."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from typing import TYPE_CHECKING

from msgspec import structs

from perfvcs.check.change import Change
from perfvcs.check.movement import places, subject
from perfvcs.history.finding import Finding, level

if TYPE_CHECKING:
    from collections.abc import Mapping

    from perfvcs.history.judging import JudgedLine
    from perfvcs.index.lines import Course


def with_ranks(judgements: Mapping[int, JudgedLine]) -> dict[int, JudgedLine]:
    """The judgements, their findings with the places that they have among those of one commit."""
    at: dict[int, dict[int, Finding]] = defaultdict(dict)  # by turn and line
    for number, judgement in judgements.items():
        for finding in judgement.findings:
            at[finding.turn][number] = finding
    ranks: dict[int, int] = {}
    for turn, findings in at.items():
        if len(findings) == 1:  # as most have: a report of all lines takes long
            continue
        changes = {
            number: _change(series, element, turn)
            for number, series in judgements.items()
            if (element := _element(series.course, turn))
        }
        order = places(list(changes.values()))
        ranked = sorted(
            findings,
            key=lambda number: (
                order.get(subject(changes[number]), len(order)),
                -abs(findings[number].effect),
            ),
        )
        ranks |= {id(findings[number]): rank for rank, number in enumerate(ranked)}
    ranked_lines = {
        number: structs.replace(
            judgement,
            findings=[
                structs.replace(finding, rank=ranks.get(id(finding), 0))
                for finding in judgement.findings
            ],
        )
        for number, judgement in judgements.items()
        if judgement.findings
    }
    return {**judgements, **ranked_lines}


def _element(course: Course, turn: int) -> int:
    """The element of a course at a place of the history; 0 where it has none, or none before it."""
    element = bisect_left(course.places, turn)
    return element if element < len(course.places) and course.places[element] == turn else 0


def _change(series: JudgedLine, element: int, turn: int) -> Change:
    """What a line did there: by a verdict measured in turns, else by its finding."""
    line, levels = series.line, series.levels
    environment = line.environment.fingerprint
    if verdict := series.verdicts.get(element):
        return verdict.change(environment)
    same = Change(
        word="same",
        job=line.job.label,
        uid=line.uid,
        size=line.size,
        metric=line.metric,
        unit=line.unit,
        better=line.better,
        series=line.job.key,
        environment=environment,
        baseline=level(levels[element - 1]),
        target=level(levels[element]),
    )
    finding = next((finding for finding in series.findings if finding.turn == turn), None)
    if finding is None:
        return same
    return structs.replace(
        same,
        word=finding.word,
        effect=finding.effect,
        low=finding.low,
        high=finding.high,
        baseline=finding.before,
        target=finding.after,
    )
