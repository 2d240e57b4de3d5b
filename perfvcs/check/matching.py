"""Which measurements of two sides belong together: pairs to compare, and what is new, missing or not comparable."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

from perfvcs.check.change import Change, Word
from perfvcs.check.comparability import Comparable, comparable, differences, redefined
from perfvcs.check.methods import Builds, Pair, Sessions
from perfvcs.check.past import Past, Unit

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from perfvcs.summary import Header, Measured, Summary

Identity = tuple[object, ...]
Key = tuple[str, float | None, str]  # uid, size, metric

ITSELF = "the same measurement on both sides; a revision against itself needs an A/A measurement: perf check --measure"


@dataclass
class Executions:
    """One side of a unit, session by session: a value per execution, and its build."""

    values: Sessions = ()
    builds: Builds = ()

    def add(self, session: Sequence[tuple[int, float]]) -> None:
        """Append a session's builds and values, unless it has none."""
        if session:
            self.values += (tuple(value for _, value in session),)
            self.builds += (tuple(build for build, _ in session),)


@dataclass(frozen=True)
class Chosen:
    """The comparable profiles of one benchmark on both sides: when ``paired``, place by place of one session."""

    baseline: list[Measured]
    target: list[Measured]
    paired: bool


def match(
    baseline: Sequence[Measured], target: Sequence[Measured], history: Mapping[Unit, Past]
) -> tuple[list[Pair], list[Change]]:
    """Pairs to be judged, and the changes that need no judging.

    A benchmark is the same on both sides when its job's name, collector, args, workload and params are. Sessions which took both
    sides in turns are used when there are any, all of them together; else every profile of the environment in which the target
    was measured last. Executions without a finite value are left out.
    """
    sides = _grouped(baseline), _grouped(target)
    pairs: list[Pair] = []
    decided: list[Change] = []
    for identity in {**sides[0], **sides[1]}:
        old, new = sides[0].get(identity, []), sides[1].get(identity, [])
        if not old or not new:
            decided += _one_sided(new or old, "new" if new else "missing")
            continue
        chosen = choose(old, new)
        if isinstance(chosen, str):
            decided += _not_comparable(_newest(old), _newest(new), chosen)
            continue
        found, rest = _units(chosen, history)
        pairs += found
        decided += rest
    return pairs, decided


def choose(old: Sequence[Measured], new: Sequence[Measured]) -> Chosen | str:
    """The comparable profiles of one benchmark; in words what differs when there are none. Both sides hold at least one."""
    classes: dict[Comparable, tuple[list[Measured], list[Measured]]] = defaultdict(lambda: ([], []))
    for place, side in enumerate((old, new)):
        for one in side:
            classes[comparable(one.header)][place].append(one)
    shared = [members for members in classes.values() if members[0] and members[1]]
    if not shared:
        return differences(_newest(old).header, _newest(new).header)
    shared.sort(key=lambda members: _newest(members[1]).header.collected.started, reverse=True)
    turns = [found for found in map(_in_turns, shared) if found.baseline]
    if turns:
        return turns[0]
    for before, after in shared:
        itself = {_measurement(one.header) for one in before} & {_measurement(one.header) for one in after}
        rest = [one for one in before if _measurement(one.header) not in itself]
        if rest:
            return Chosen(rest, list(after), paired=False)
    return ITSELF


def _grouped(side: Iterable[Measured]) -> dict[Identity, list[Measured]]:
    found: dict[Identity, list[Measured]] = defaultdict(list)
    for one in side:
        job = one.header.job
        params = tuple(sorted((name, repr(value)) for name, value in job.params.items()))
        found[job.name, job.collector, job.args, job.workload, params].append(one)
    return found


def _measurement(header: Header) -> tuple[str, str | None, str, int, str]:
    return header.commit, header.dirty, header.collected.session, header.design.version, header.collected.started


def _version(one: Measured) -> int:
    return one.header.design.version


def _newest(side: Iterable[Measured]) -> Measured:
    return max(side, key=lambda one: one.header.collected.started)


def _in_turns(members: tuple[list[Measured], list[Measured]]) -> Chosen:
    """The sessions which took both sides in turns, one profile a side; of an A/A session its first and its last version."""
    sessions: dict[str, tuple[list[Measured], list[Measured]]] = defaultdict(lambda: ([], []))
    for place, side in enumerate(members):
        for one in side:
            if one.header.design.order == "interleaved":
                sessions[one.header.collected.session][place].append(one)
    chosen = Chosen([], [], paired=True)
    for before, after in sessions.values():
        turns = [(first, last) for first in before for last in after if _version(first) != _version(last)]
        if turns:
            first, last = min(turns, key=lambda pair: (_version(pair[0]), -_version(pair[1])))
            chosen.baseline.append(first)
            chosen.target.append(last)
    return chosen


def _units(chosen: Chosen, history: Mapping[Unit, Past]) -> tuple[list[Pair], list[Change]]:
    old, new = _newest(chosen.baseline).header, _newest(chosen.target).header
    series, environment = new.job.key, new.environment.fingerprint
    before, after = _by_unit(chosen.baseline), _by_unit(chosen.target)
    pairs: list[Pair] = []
    decided: list[Change] = []
    for key in {**before, **after}:
        uid, size, metric = key
        if key not in before or key not in after:
            header, word = (new, "new") if key in after else (old, "missing")
            decided.append(_decided(header, key, word, series))  # type: ignore[arg-type]
            continue
        about, was = new.metrics[metric], old.metrics[metric]
        if about != was:
            decided.append(_decided(new, key, "not comparable", series, redefined(was, about)))
            continue
        sides = (_blocks if chosen.paired else _apart)(before[key], after[key])
        if not sides[0].values or not sides[1].values:
            decided.append(_decided(new, key, "inconclusive", series, "no execution has a usable value on both sides"))
            continue
        past = history.get(Unit(series, environment, uid, size, metric), Past())
        values, builds = (sides[0].values, sides[1].values), (sides[0].builds, sides[1].builds)
        repeated = any(len(set(session)) > 1 for side in builds for session in side)
        pairs.append(
            Pair(new.job.label, uid, size, metric, about, series, *values, chosen.paired, past, builds if repeated else None)
        )
    return pairs, decided


def _by_unit(side: Sequence[Measured]) -> dict[Key, dict[int, Summary]]:
    """Per unit, the summaries by the place of their profile."""
    found: dict[Key, dict[int, Summary]] = defaultdict(dict)
    for place, one in enumerate(side):
        for summary in one.summaries:
            found[summary.uid, summary.size, summary.metric][place] = summary
    return found


def _blocks(before: Mapping[int, Summary], after: Mapping[int, Summary]) -> tuple[Executions, Executions]:
    """The executions that both sides have, session by session."""
    sides = Executions(), Executions()
    for place in before:
        if place in after:
            ours, theirs = _numbered(before[place], after[place]), _numbered(after[place], before[place])
            both = [number for number in ours if number in theirs and isfinite(ours[number]) and isfinite(theirs[number])]
            for side, found in zip(sides, (ours, theirs), strict=True):
                side.add([(number[0], found[number]) for number in both])
    return sides


def _numbered(one: Summary, other: Summary) -> dict[tuple[int, int], float]:
    """The medians by build and execution; by execution alone where each side has one build, whatever its number."""
    single = all(len(set(summary.binaries)) <= 1 for summary in (one, other))
    return {(0 if single else build, number): value for (build, number), value in zip(one.places, one.medians, strict=True)}


def _apart(before: Mapping[int, Summary], after: Mapping[int, Summary]) -> tuple[Executions, Executions]:
    sides = Executions(), Executions()
    for side, summaries in zip(sides, (before, after), strict=True):
        for summary in summaries.values():
            values = zip(summary.places, summary.medians, strict=True)
            side.add([(build, value) for (build, _), value in values if isfinite(value)])
    return sides


def _one_sided(side: Sequence[Measured], word: Word) -> list[Change]:
    newest = _newest(side).header
    return [_decided(newest, key, word, newest.job.key) for key in _by_unit(side)]


def _not_comparable(old: Measured, new: Measured, reason: str) -> list[Change]:
    found = [_decided(new.header, key, "not comparable", new.header.job.key, reason) for key in _by_unit([new])]
    only = _by_unit([old]).keys() - _by_unit([new]).keys()
    return found + [
        _decided(old.header, key, "not comparable", old.header.job.key, reason) for key in _by_unit([old]) if key in only
    ]


def _decided(header: Header, key: Key, word: Word, series: str, reason: str = "") -> Change:
    uid, size, metric = key
    about = header.metrics[metric]
    return Change(
        word=word, job=header.job.label, uid=uid, metric=metric, unit=about.unit, better=about.better, series=series, size=size,
        reason=reason, method="",
    )  # fmt: skip
