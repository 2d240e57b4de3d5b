"""Where CPU time says no more than wall time does, as in a program that only computes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perfvcs.check import Change, Report
from perfvcs.check.acceptance import DEFAULT_DELTA
from perfvcs.check.subject import Series, Subject
from perfvcs.pictures.pageparts import DrawnUnit
from perfvcs.pictures.sample import Centre, samples
from perfvcs.profile import Profile

WALL, CPU = "wall", "cpu"
REMARK = "CPU time is the same, within the intervals or 1 %, and is not drawn."
MOVED_ALIKE = "CPU time moved as much, within the intervals or 1 %, and is not drawn."


def computing(subject: Subject) -> set[DrawnUnit]:
    """The benchmarks whose CPU time is their wall time, on each side and by the verdict."""
    sides = [_computing(side) for side in (subject.baseline, subject.target) if side]
    words: dict[tuple[str, str, float | None], dict[str, str]] = {}
    for change in subject.report.changes if subject.report else ():
        words.setdefault((change.job, change.uid, change.size), {})[change.metric] = change.word
    return {
        unit
        for unit in (set.intersection(*sides) if sides else ())
        if (verdicts := words.get((unit.job, unit.uid, unit.size), {})).get(WALL)
        == verdicts.get(CPU)
    }


def _computing(profiles: Sequence[Profile]) -> set[DrawnUnit]:
    places: dict[DrawnUnit, dict[str, dict[str, Centre]]] = {}
    for sample in samples(profiles):
        if sample.metric in (WALL, CPU) and sample.centre is not None:
            metrics = places.setdefault(sample.unit, {}).setdefault(sample.environment, {})
            metrics[sample.metric] = sample.centre
    return {
        unit for unit, environments in places.items() if all(map(_echoed, environments.values()))
    }


def _echoed(metrics: Mapping[str, Centre]) -> bool:
    return metrics.keys() == {WALL, CPU} and _equal(metrics[WALL], metrics[CPU])


def _equal(wall: Centre, cpu: Centre) -> bool:
    """Whether they differ by less than matters, or each lies in the other's interval."""
    near = abs(wall.value - cpu.value) <= DEFAULT_DELTA * abs(wall.value)
    return near or (_covers(wall, cpu.value) and _covers(cpu, wall.value))


def _covers(centre: Centre, value: float) -> bool:
    if centre.low is None or centre.high is None:
        return False
    return centre.low <= value <= centre.high


def moved_alike(report: Report) -> bool:
    """Whether CPU time changed as wall time did: same verdicts, effects in both intervals."""
    sides: dict[tuple[str, str, float | None], dict[str, Change]] = {}
    for change in report.changes:
        if change.metric in (WALL, CPU):
            sides.setdefault((change.series, change.uid, change.size), {})[change.metric] = change
    measured = [metrics for metrics in sides.values() if CPU in metrics]
    return bool(measured) and all(
        WALL in metrics and _alike(metrics[WALL], metrics[CPU]) for metrics in measured
    )


def _alike(wall: Change, cpu: Change) -> bool:
    if wall.word != cpu.word:
        return False
    if wall.effect is None or cpu.effect is None:
        return wall.effect == cpu.effect
    return _equal(_ratio(wall, wall.effect), _ratio(cpu, cpu.effect))


def _ratio(change: Change, effect: float) -> Centre:
    """A change as target/baseline, with its interval."""
    low, high = (None if end is None else 1 + end for end in (change.low, change.high))
    return Centre(1 + effect, low, high, min(change.executions))


def same_course(wall: Sequence[Series], cpu: Sequence[Series]) -> bool:
    """Whether CPU time was wall time at every commit, and has steps at the same ones."""
    if [series.environment for series in wall] != [series.environment for series in cpu]:
        return False
    return all(map(_same, wall, cpu))


def _same(wall: Series, cpu: Series) -> bool:
    if [step.commit for step in wall.steps] != [step.commit for step in cpu.steps]:
        return False
    centres = _centres(wall)
    each = _centres(cpu)
    return centres.keys() == each.keys() and all(
        _equal(centres[commit], centre) for commit, centre in each.items()
    )


def _centres(series: Series) -> dict[str, Centre]:
    return {
        point.commit: Centre(point.centre, point.low, point.high, point.executions)
        for point in series.points
    }
