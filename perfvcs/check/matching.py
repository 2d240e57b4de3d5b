"""Which measurements of two sides belong together: cases to judge, and what is new, missing or not
comparable.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec.structs import replace

from perfvcs.check.case import NO_USABLE_VALUE, Case, Chosen, Sizes, decided_change
from perfvcs.check.change import Change
from perfvcs.check.comparability import (
    APART,
    Comparable,
    beside,
    comparable,
    differences,
    installed_otherwise,
    of_known_build,
    redefined,
)
from perfvcs.check.vocabulary import Word
from perfvcs.profile import Metric, is_derived
from perfvcs.profile.summary import SAMPLER, Header, Measured
from perfvcs.text.characters import shorten

if TYPE_CHECKING:
    from perfvcs.check.pastsessions import EarlierSessions, Unit
    from perfvcs.check.rows import ProfileRows


RENAMED_WIDTH = 60

JobCommand = tuple[object, ...]
JobIdentity = tuple[object, ...]
UnitMetric = tuple[str, str]  # uid, metric
ITSELF = (
    "the same measurement on both sides; a revision against itself needs an A/A measurement: perf"
    " check --measure"
)


def renamings(before: Iterable[Measured], after: Iterable[Measured]) -> list[str]:
    """A sentence with the cure for each job that is missing where exactly one new job runs the
    same, and is new to it alone.
    """
    old, new = _commands(before), _commands(after)
    missing = {name: what for name, what in old.items() if name not in new}
    added = {name: what for name, what in new.items() if name not in old}
    presents, formers = _partners(missing, added), _partners(added, missing)
    pairs = [(name, *others) for name, others in presents.items() if len(others) == 1]
    return [
        f"`{shorten(former, RENAMED_WIDTH)}` is missing, and `{shorten(present, RENAMED_WIDTH)}`"
        f" runs the same command: if it was renamed, write formerly = [{_quoted(former)}] into that"
        " job of perf.toml"
        for former, present in pairs
        if len(formers[present]) == 1
    ]


def _partners(
    these: dict[str, set[JobCommand]], those: dict[str, set[JobCommand]]
) -> dict[str, set[str]]:
    """The jobs of the other side that run the same, at most two for each command: more than one is
    too many.
    """
    by_command: dict[JobCommand, list[str]] = defaultdict(list)
    for name, what in those.items():
        for command in what:
            by_command[command].append(name)
    names: dict[str, set[str]] = {}
    for name, what in these.items():
        names[name] = {other for command in what for other in by_command[command][:2]}
    return names


def _quoted(name: str) -> str:
    return shorten(msgspec.json.encode(name).decode(), RENAMED_WIDTH)


def _commands(side: Iterable[Measured]) -> dict[str, set[JobCommand]]:
    """What the jobs of one side run, by their names."""
    commands: dict[str, set[JobCommand]] = defaultdict(set)
    for measured in side:
        job = measured.header.job
        commands[job.name].add(
            (job.collector, job.cmd, job.args, job.workload, repr(sorted(job.params.items())))
        )
    return commands


class _Measurement(NamedTuple):
    """What tells one measurement of a version from another; both sides may have the same one."""

    commit: str
    dirty: str | None
    session: str
    version: int
    started: str


def match(
    baseline: Sequence[Measured],
    target: Sequence[Measured],
    history: Mapping[Unit, EarlierSessions],
    rows: ProfileRows,
    *,
    same_machine: bool = False,
) -> tuple[list[Case], list[Change]]:
    """Cases to be judged, and the changes that need no judging; for ``same_machine`` see
    ``Chosen``.

    A benchmark is the same on both sides when its job's name, collector, args, workload and params
    are. Sessions which took both sides in turns are used when there are any, all of them together;
    else every profile of the environment in which the target was measured last.
    """
    sides = _grouped(baseline), _grouped(target)
    cases: list[Case] = []
    decided: list[Change] = []
    for identity in {**sides[0], **sides[1]}:
        old, new = sides[0].get(identity, []), sides[1].get(identity, [])
        if not old or not new:
            decided += _all(new or old, "new" if new else "missing")
            continue
        chosen = choose(old, new)
        if isinstance(chosen, str):
            decided += _not_comparable(_newest(old), _newest(new), chosen)
            continue
        chosen = replace(chosen, same_machine=same_machine and not chosen.paired)
        judged, rest = _cases(chosen, history, rows)
        cases += judged
        decided += rest
    return cases, decided


def choose(old: Sequence[Measured], new: Sequence[Measured]) -> Chosen | str:
    """The comparable profiles of one benchmark; in words what differs if there are none.

    Both sides hold at least one.
    """
    classes: dict[Comparable, tuple[list[Measured], list[Measured]]] = defaultdict(lambda: ([], []))
    products = any(measured.header.design.product for measured in (*old, *new))
    for place, side in enumerate((old, new)):
        for measured in side:
            classes[(beside if products else comparable)(measured.header)][place].append(measured)
    shared = [members for members in classes.values() if members[0] and members[1]]
    if not shared and products:
        return "a product is compared within the session that measured it: perf collect --against"
    if not shared and not (shared := of_known_build(classes)):
        return differences(_newest(old).header, _newest(new).header)
    shared.sort(key=lambda members: _newest(members[1]).header.collected.started, reverse=True)
    turns = [turn for turn in map(_in_turns, shared) if turn.baseline]
    if turns:
        return _over_hosts(turns)
    reason = ""
    for before, after in shared:
        same = {_measurement(measured.header) for measured in after}
        rest = [measured for measured in before if _measurement(measured.header) not in same]
        if alike := _installed_alike(rest, after):
            return Chosen(*alike, paired=False)
        if rest and not reason:
            moved = installed_otherwise(_newest(rest).header, _newest(after).header)
            reason = f"{moved} ({APART})"
    return reason or ITSELF


def _installed_alike(
    before: Sequence[Measured], after: Sequence[Measured]
) -> tuple[list[Measured], list[Measured]] | None:
    """The profiles of both sides in whose environments the same was installed as in the newest one;
    None where the baseline has none.

    What is measured in turns may differ in that by what the revisions ask for.
    """
    newest = _newest(after).header
    sides = [
        [one for one in side if not installed_otherwise(one.header, newest)]
        for side in (before, after)
    ]
    return (sides[0], sides[1]) if sides[0] else None


def _grouped(side: Iterable[Measured]) -> dict[JobIdentity, list[Measured]]:
    groups: dict[JobIdentity, list[Measured]] = defaultdict(list)
    for measured in side:
        job = measured.header.job
        params = tuple(sorted((name, repr(value)) for name, value in job.params.items()))
        groups[job.name, job.collector, job.args, job.workload, params].append(measured)
    return groups


def _measurement(header: Header) -> _Measurement:
    return _Measurement(
        header.commit,
        header.dirty,
        header.collected.session,
        header.design.version,
        header.collected.started,
    )


def _version(measured: Measured) -> int:
    return measured.header.design.version


def _newest(side: Iterable[Measured]) -> Measured:
    return max(side, key=lambda measured: measured.header.collected.started)


def _in_turns(members: tuple[list[Measured], list[Measured]]) -> Chosen:
    """The sessions which took both sides in turns, one profile a side and host; of an A/A session
    its first and its last version.
    """
    sessions: dict[tuple[str, str], tuple[list[Measured], list[Measured]]] = defaultdict(
        lambda: ([], [])
    )
    for place, side in enumerate(members):
        for measured in side:
            if measured.header.design.order == "interleaved":
                sessions[measured.header.collected.session, measured.header.worker][place].append(
                    measured
                )
    chosen = Chosen([], [], paired=True)
    for before, after in sessions.values():
        turns = [
            (first, last) for first in before for last in after if _version(first) != _version(last)
        ]
        if turns:
            first, last = min(turns, key=lambda pair: (_version(pair[0]), -_version(pair[1])))
            chosen.baseline.append(first)
            chosen.target.append(last)
    return chosen


def _over_hosts(turns: Sequence[Chosen]) -> Chosen:
    """The newest comparable profiles taken in turns, with those of their sessions that hosts of
    another kind measured of the same series.

    A pair never leaves its host, so that what hosts differ by cancels out of it.
    """
    chosen = turns[0]
    sessions = {
        measured.header.collected.session for measured in chosen.target if measured.header.worker
    }
    series = chosen.target[0].header.job.key
    for other in turns[1:]:
        for first, last in zip(*other.sides, strict=True):
            if (
                last.header.collected.session in sessions
                and last.header.worker
                and last.header.job.key == series
            ):
                chosen.baseline.append(first)
                chosen.target.append(last)
    return chosen


def _cases(
    chosen: Chosen, history: Mapping[Unit, EarlierSessions], rows: ProfileRows
) -> tuple[list[Case], list[Change]]:
    old, new = _newest(chosen.baseline).header, _newest(chosen.target).header
    before, after = _by_unit(chosen.baseline), _by_unit(chosen.target)
    cases: list[Case] = []
    decided: list[Change] = []
    for key in {**before, **after}:
        uid, metric = key
        if key not in before or key not in after:
            header, side = (new, after) if key in after else (old, before)
            word: Word = "new" if key in after else "missing"
            reason = _disregarded(old.metrics.get(metric), new.metrics.get(metric))
            # the series of the target, which continues
            decided += _each(
                header, key, side[key], "not comparable" if reason else word, reason, new.job.key
            )
        elif (meaning := new.metrics[metric]) != (was := old.metrics[metric]):
            decided += _each(
                new, key, {**before[key], **after[key]}, "not comparable", redefined(was, meaning)
            )
        else:
            cases.append(Case(chosen, new, uid, metric, before[key], after[key], rows, history))
    if before or after:
        if new.job.collector == SAMPLER:
            cases.append(Case(chosen, new, "", "", {}, {}, rows, history))
        return cases, decided
    empty = [
        name
        for name, meaning in new.metrics.items()
        if meaning.better != "none" and meaning == old.metrics.get(name)
    ]
    if empty:  # not a single value on either side
        decided += [
            decided_change(new, "", None, name, "inconclusive", NO_USABLE_VALUE) for name in empty
        ]
    elif min(len(_measured(old)), len(_measured(new))) > 1:
        # counters, none of which is good or bad by itself
        cases.append(Case(chosen, new, "", "", {}, {}, rows, history))
    return cases, decided


def _measured(header: Header) -> list[str]:
    """The metrics that are measurements, not what a postprocessor says of them."""
    return [name for name in header.metrics if not is_derived(name, header.metrics)]


def _disregarded(was: Metric | None, meaning: Metric | None) -> str:
    """In words, how a metric was redefined that only one side judges; empty where that is not why
    the other side has none.
    """
    if was is None or meaning is None or (was.better == "none") == (meaning.better == "none"):
        return ""
    return redefined(was, meaning)


def _by_unit(side: Sequence[Measured]) -> dict[UnitMetric, Sizes]:
    """Per unit and metric, per size, the summaries by the place of their profile.

    A session whose metric meant something else than in the newest one is left out.
    """
    sizes_of: dict[UnitMetric, Sizes] = defaultdict(lambda: defaultdict(dict))
    metrics = _newest(side).header.metrics
    for place, measured in enumerate(side):
        for summary in measured.summaries:
            if measured.header.metrics[summary.metric] == metrics.get(summary.metric):
                sizes_of[summary.uid, summary.metric][summary.size][place] = summary
    return sizes_of


def _each(
    header: Header,
    key: UnitMetric,
    sizes: Iterable[float | None],
    word: Word,
    reason: str = "",
    series: str = "",
) -> list[Change]:
    return [decided_change(header, key[0], size, key[1], word, reason, series) for size in sizes]


def _all(side: Sequence[Measured], word: Word) -> list[Change]:
    newest = _newest(side).header
    return [
        change
        for key, sizes in _by_unit(side).items()
        for change in _each(newest, key, sizes, word)
    ]


def _not_comparable(old: Measured, new: Measured, reason: str) -> list[Change]:
    before, after = _by_unit([old]), _by_unit([new])
    changes = [
        change
        for key, sizes in after.items()
        for change in _each(new.header, key, sizes, "not comparable", reason)
    ]
    for key, sizes in before.items():
        only = [size for size in sizes if size not in after.get(key, {})]
        changes += _each(old.header, key, only, "not comparable", reason)
    return changes
