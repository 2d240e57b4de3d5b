"""The order of what changed at one commit: that of `perf check`."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from typing import TYPE_CHECKING

from msgspec import structs

from perfvcs.check.change import Change
from perfvcs.check.movement import CLOCKS, WHOLE, SizedUnit, places, subject
from perfvcs.history.finding import LARGEST_EXPONENT, level
from perfvcs.system.numeric import np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from perfvcs.history.finding import Finding
    from perfvcs.history.judging import JudgedLine
    from perfvcs.index.lines import Course, Line


def with_ranks(
    lines: Mapping[int, Line], courses: Mapping[int, Course], judgements: Mapping[int, JudgedLine]
) -> dict[int, JudgedLine]:
    """The judgements, their findings with the places that they have among those of one commit."""
    at: dict[int, dict[int, Finding]] = defaultdict(dict)  # by turn and line
    for number, judgement in judgements.items():
        for finding in judgement.findings:
            at[finding.turn][number] = finding
    several = {turn: findings for turn, findings in at.items() if len(findings) > 1}
    if not several:
        return dict(judgements)
    measured = _Measured(lines, courses, judgements, list(several))
    ranks: dict[int, int] = {}
    for turn, findings in several.items():
        changes, time = measured.at(turn, findings)
        order = places(list(changes.values()), time)
        ranked = sorted(
            findings,
            key=lambda number: (
                order.get(subject(changes[number]), len(order)),
                -abs(findings[number].effect),
            ),
        )
        ranks |= {id(findings[number]): rank for rank, number in enumerate(ranked)}
    return {
        number: structs.replace(
            judgement,
            findings=[
                structs.replace(finding, rank=ranks.get(id(finding), 0))
                for finding in judgement.findings
            ],
        )
        for number, judgement in judgements.items()
    }


class _Measured:
    """The lines that were measured at some places of a history, with the levels before."""

    def __init__(
        self,
        lines: Mapping[int, Line],
        courses: Mapping[int, Course],
        judgements: Mapping[int, JudgedLine],
        turns: Sequence[int],
    ) -> None:
        self._lines, self._courses, self._judgements = lines, courses, judgements
        self._numbers = list(courses)
        self._units: dict[SizedUnit, int] = {}
        self._metrics: dict[tuple[str, str], int] = {}
        self._columns = np.array(
            [
                self._coded(line.job.label, line.uid, line.size, line.metric, line.unit)
                for line in map(lines.__getitem__, courses)
            ]
        )
        counts = [max(0, len(course.places) - 1) for course in courses.values()]
        places = np.concatenate([np.array(course.places)[1:] for course in courses.values()])
        levels = np.concatenate([np.array(course.levels)[:-1] for course in courses.values()])
        asked = np.flatnonzero(np.isin(places, turns))
        order = asked[places[asked].argsort(kind="stable")]
        self._places = places[order]
        self._line = np.repeat(np.arange(len(counts)), counts)[order]
        self._before = np.exp(np.minimum(levels[order], LARGEST_EXPONENT))
        self._verdicts: dict[int, list[int]] = defaultdict(list)  # by turn: numbers of lines
        for number, judgement in judgements.items():
            for element in judgement.verdicts:
                self._verdicts[courses[number].places[element]].append(number)

    def at(
        self, turn: int, findings: Mapping[int, Finding]
    ) -> tuple[dict[int, Change], dict[SizedUnit, float]]:
        """What lines did at a place by number, of all that moved and of the clocks beside them; and
        the seconds that are spent in each unit, by all lines that were measured there.
        """
        low, high = self._places.searchsorted([turn, turn + 1])
        here, amounts = self._line[low:high], self._before[low:high].copy()
        columns = self._columns[here]
        known = {*findings, *self._verdicts.get(turn, ())}
        changed = np.array([self._numbers[line] in known for line in here.tolist()])
        beside = np.isin(columns[:, 0], columns[changed, 0])
        changes = {}
        for row in np.flatnonzero(beside).tolist():
            number = self._numbers[here[row]]
            if not changed[row] and self._lines[number].metric not in CLOCKS:
                continue
            changes[number] = change = self._change(number, turn, findings.get(number))
            amounts[row] = abs(change.baseline or change.target or 0.0)
            columns[row] = self._coded(
                change.job, change.uid, change.size, change.metric, change.unit
            )
        units, metrics, seconds = columns.T
        spent = _time_spent(units, metrics, seconds > 0, amounts).tolist()
        return changes, dict(zip(self._units, spent, strict=False))

    def _coded(
        self, job: str, uid: str, size: float | None, metric: str, unit: str
    ) -> tuple[int, int, bool]:
        """The numbers of a unit at a size and of a metric of its job, and whether that is time."""
        sized = self._units.setdefault(SizedUnit(job, uid, size), len(self._units))
        return sized, self._metrics.setdefault((job, metric), len(self._metrics)), unit == "s"

    def _change(self, number: int, turn: int, finding: Finding | None) -> Change:
        """What a line did at a place: by a verdict measured in turns, else by the finding, if there
        is one.
        """
        line, course, judged = (
            self._lines[number],
            self._courses[number],
            self._judgements.get(number),
        )
        element = bisect_left(course.places, turn)
        environment = line.environment.fingerprint
        if judged and (verdict := judged.verdicts.get(element)):
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
            baseline=level(course.levels[element - 1]),
            target=level(course.levels[element]),
        )
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


def _time_spent(
    units: NDArray[np.int64],
    metrics: NDArray[np.int64],
    seconds: NDArray[np.bool_],
    amounts: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Seconds that are spent in each unit at one size, by its number, as a report has them: its own
    time, else its part of the longest one by its part of the largest amount of a metric.

    ``amounts`` (k,) are of the units and metrics of jobs with these numbers (k,); some are
    ``seconds`` (k,).
    """
    times = np.zeros(int(units.max()) + 1)
    largest, parts = np.zeros(int(metrics.max()) + 1), np.zeros(len(times))
    np.fmax.at(times, units[seconds], amounts[seconds])
    np.fmax.at(largest, metrics, amounts)
    timed = np.zeros(len(times), dtype=bool)
    timed[units[seconds]] = True
    whole = float(times.max()) or WHOLE
    most = largest[metrics]
    with np.errstate(invalid="ignore"):  # infinite amounts
        shares = np.where(most > 0, amounts / np.where(most > 0, most, 1.0), 1.0)
        np.fmax.at(parts, units, shares * whole)
    return np.where(timed, times, parts)
