"""Many counters over time: which of them no longer move together as they did."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perfvcs.check.case import Case, decided_change, prepare
from perfvcs.check.change import Change, CounterCluster
from perfvcs.check.method import Method
from perfvcs.check.statement import finite
from perfvcs.check.vocabulary import Word
from perfvcs.profile import is_derived
from perfvcs.profile.summary import Measured, has_totals
from perfvcs.system.numeric import Floats, np

if TYPE_CHECKING:
    from perfvcs.check.rows import UnitTable
    from perfvcs.statistics.multivariate.counters import CounterComparison

FEWEST_OBSERVATIONS = 5  # observations of either side
# good runs from which what is normal is known: with two, one comparison in twenty of equal versions
# is beyond it
RUNS = 3
MOST_METRICS = 3  # of a benchmark whose metrics have a direction
MOST_NAMED_COUNTERS = 3  # counters in the finding
# Recorded, but not compared: what others on the machine decide as much as the program, and copies
# of `cpu_use` in ticks of 10 ms, which would predict it whatever it does.
ASIDE = ("waiting", "involuntary_switch_rate", "timeslice_rate", "user_use", "system_use")

TOO_FEW_OBSERVATIONS = "too few observations with all counters: {} and {}, at least {} each"
GUESSED = "{} of the old version: what is normal is a guess, at least {}, better 5"


@dataclass(frozen=True)
class Counters(Method):
    """``degradation`` where a cluster of counters is no longer predicted as before; else ``same``;
    one change per unit.

    Counters have no direction: the word means that the new version behaves differently. Counters
    that move together are a cluster; one stands for it and is predicted by the others with a linear
    model of the old version. The cluster regressed where the error, as a share of its total, is
    above the threshold: what good runs of the old version show, each predicted by the others
    (executions, or sessions where an execution is one observation), or 30 % where there is one run
    only. Below three good runs it is ``suspected``: too little to learn from. Counters that only
    one side's profiles have are ``new`` or ``missing``. It judges every benchmark of at least three
    metrics, or of two where none has a direction, from its rows; below five observations a side it
    has no answer. Source: Shang et al. 2015, section 4.
    """

    def compare(self, cases: Sequence[Case]) -> list[Change]:
        """One change per unit of each benchmark."""
        benchmarks = list({id(case.chosen): case for case in cases}.values())
        prepare(benchmarks)
        return [change for case in benchmarks for change in _judge(case)]


def _judge(case: Case) -> Iterator[Change]:
    sides = case.chosen.sides
    metrics = [profile.header.metrics for side in sides for profile in side]
    names = [name for name in case.header.metrics if not is_derived(name, case.header.metrics)]
    names = [name for name in names if all(name in defined for defined in metrics)]
    least = 2 if case.counters else MOST_METRICS
    if case.counters:
        yield from _alone(case)
    units = [
        list(dict.fromkeys(uid for profile in side for uid in case.rows.units(profile)))
        for side in sides
    ]
    # beside the job itself are the machine and what the program reported
    if has_totals(case.header.job, case.header.metrics):
        units = [[uid for uid in side if uid == case.header.job.name] for side in units]
    for uid in dict.fromkeys([*units[0], *units[1]]):
        if uid not in units[0] or uid not in units[1]:
            yield _change(case, uid, "missing" if uid in units[0] else "new")
        elif len(names) < least:
            yield _change(
                case,
                uid,
                "inconclusive",
                f"{len(names)} metrics: at least {least} are needed to move together",
            )
        else:
            yield _compared(case, uid, names)


def _alone(case: Case) -> Iterator[Change]:
    """The counters that only one side has."""
    words: tuple[Word, Word] = "missing", "new"
    before, after = (
        {name: profile.header for profile in side for name in profile.header.metrics}
        for side in case.chosen.sides
    )
    for ours, theirs, word in zip((before, after), (after, before), words, strict=True):
        for name in ours:
            in_totals = (
                has_totals(case.header.job, case.header.metrics)
                and ours[name].metrics[name].better != "none"
            )
            if name not in theirs and not is_derived(name, ours) and not in_totals:
                yield decided_change(ours[name], "", None, name, word, series=case.series)


def _compared(case: Case, uid: str, names: Sequence[str]) -> Change:
    from perfvcs.statistics.multivariate.counters import compare

    old, new = (
        [run for profile in side for run in _runs(case, profile, uid, names)]
        for side in case.chosen.sides
    )
    counts = len(old), len(new)
    # totals and the machine's counters are in other rows
    if has_totals(case.header.job, case.header.metrics):
        every = np.concatenate([np.empty((0, len(names))), *old, *new])
        measured = np.isfinite(every).any(axis=0)
        # a group is part of the whole and would foretell it
        places = [
            place
            for place, name in enumerate(names)
            if measured[place] and name not in ASIDE and "." not in name
        ]
        names = [names[place] for place in places]
        old, new = [run[:, places] for run in old], [run[:, places] for run in new]
    observations = _complete(old, new)
    comparison = None
    with suppress(ValueError):  # a version without a complete observation
        comparison = compare(old, np.concatenate([np.empty((0, len(names))), *new]), names)
        observations = comparison.observations
    if comparison is None or min(observations) < FEWEST_OBSERVATIONS:
        reason = TOO_FEW_OBSERVATIONS.format(*observations, FEWEST_OBSERVATIONS)
        return _change(case, uid, "inconclusive", reason, counts)
    if not comparison.clusters and comparison.structure.unknown:
        reason = TOO_FEW_OBSERVATIONS.format(*_complete(old, new), FEWEST_OBSERVATIONS)
        return _change(case, uid, "inconclusive", reason, counts)
    if not comparison.clusters:
        return _change(case, uid, "same", "no counter changes over time", counts, comparison)
    regressed = [cluster for cluster in comparison.clusters if cluster.regressed]
    learned = max((len(cluster.errors) for cluster in regressed), default=0)
    if not regressed:
        return _change(case, uid, "same", "", counts, comparison)
    if learned >= RUNS:
        return _change(case, uid, "degradation", "", counts, comparison)
    reason = GUESSED.format(f"{learned} good runs" if learned else "a single good run", RUNS)
    return _change(case, uid, "suspected", reason, counts, comparison)


def _runs(case: Case, measured: Measured, uid: str, names: Sequence[str]) -> list[Floats]:
    """The runs of a profile, each (times, counters): its executions, or all of it where an
    execution is one observation.
    """
    table: UnitTable = case.rows.table(measured, uid)
    values, places = (
        np.stack([table.metrics[name] for name in names], axis=1),
        np.stack([table.binary, table.execution], axis=1),
    )
    iteration = table.iteration
    if has_totals(case.header.job, case.header.metrics):
        sampled = iteration > 0  # its totals are number 0
        values, places, iteration = values[sampled], places[sampled], iteration[sampled]
    keys, place = np.unique(places, axis=0, return_inverse=True)
    order = np.lexsort((iteration, place.reshape(-1)))
    if len(values) < 2 * len(keys):
        return [values[order]] if len(values) else []
    return np.split(values[order], np.cumsum(np.bincount(place.reshape(-1)))[:-1])


def _complete(old: Sequence[Floats], new: Sequence[Floats]) -> tuple[int, int]:
    first, second = (
        sum(int(np.isfinite(run).all(axis=1).sum()) for run in side) for side in (old, new)
    )
    return first, second


def _change(
    case: Case,
    uid: str,
    word: Word,
    reason: str = "",
    executions: tuple[int, int] = (0, 0),
    comparison: CounterComparison | None = None,
) -> Change:
    every = comparison.clusters if comparison else ()
    clusters = [
        CounterCluster(
            counters=list(cluster.counters),
            target=cluster.target,
            error=finite(cluster.error),
            threshold=finite(cluster.threshold) or 0.0,
            regressed=cluster.regressed,
        )
        for cluster in every
    ]
    return Change(
        word=word,
        job=case.job,
        uid=uid,
        metric="counters",
        unit="",
        better="none",
        series=case.series,
        environment=case.environment,
        executions=executions,
        paired=case.chosen.paired,
        method="counters",
        reason=reason,
        clusters=clusters if comparison else None,
        gate=word == "degradation",
        finding=_finding([cluster.target for cluster in every if cluster.regressed], len(every)),
    )


def _finding(regressed: Sequence[str], count: int) -> str:
    """How many of ``count`` clusters changed, by the counters that stand for them; empty where none
    did.
    """
    if not regressed:
        return ""
    listed = ", ".join(regressed[:MOST_NAMED_COUNTERS])
    if len(regressed) > MOST_NAMED_COUNTERS:
        listed += f" and {len(regressed) - MOST_NAMED_COUNTERS} more"
    behave = "behaves" if len(regressed) == 1 else "behave"
    return f"{len(regressed)} of {count} clusters of counters {behave} differently: {listed}"
