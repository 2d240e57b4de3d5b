"""The guard: what would make a gain worthless, each as a check of its own."""

from __future__ import annotations

from math import expm1, log, log1p
from statistics import median
from typing import TYPE_CHECKING, Literal

import msgspec

from perfvcs.check.change import exceeded
from perfvcs.check.movement import CLOCKS
from perfvcs.judge.attempt import ROUNDS
from perfvcs.judge.plain import typical
from perfvcs.plugins.collector import OF_COPIES
from perfvcs.profile.naming import is_whole, labelled
from perfvcs.text.quantity import percent, quantity
from perfvcs.text.words import counted, listed, metric_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from perfvcs.check.change import Change, LimitVerdict
    from perfvcs.judge.candidate import Candidate
    from perfvcs.judge.plain import Plain, Side
    from perfvcs.judge.quiet import Trust
    from perfvcs.profile import Profile

Word = Literal["passed", "warning", "doubted", "rejected", "not tried"]

APART = 0.05  # least difference of logarithms between two ways to time that says something
FIFTH = 5  # the part of the plain pairs that may show a gain by chance
HALF = 0.5  # of the effect: what an honest one keeps, however it is timed
FEWEST_LATER = 2  # executions behind the first one
CONFIDENCE = 0.99
SHOWN = 0.1  # of a process's time: a reported gain that its clocks must show
LEAST_SHARE = 0.2  # of what is reported: a gain that the launcher's clock must see

TOO_SMALL = "the budget is too small to run both sides often enough without perfvcs' variables"


class GuardCheck(msgspec.Struct, frozen=True):
    """One check of the guard: its word, and what was seen, in a sentence; empty where it passed and
    there is nothing to tell.
    """

    word: Word = "passed"
    said: str = ""


PASSED = GuardCheck()


class Seen(msgspec.Struct, frozen=True):
    """What the guard looks at: the candidate, the comparisons, the plain executions, and the base
    against itself.

    ``outputs`` are the jobs whose output differs between the sides, and on neither varies by
    itself; ``same_output``: it has to be the same. ``left`` says which processes jobs left running,
    ``limits`` how the target keeps to those of the base. ``apart`` are the series whose units are
    processes of their own.
    """

    candidate: Candidate
    changes: Sequence[Change]
    plain: Sequence[Plain]
    trust: Trust
    outputs: Sequence[str] = ()
    same_output: bool = False
    left: Sequence[str] = ()
    limits: Sequence[LimitVerdict] = ()
    apart: Collection[str] = ()


def examine(seen: Seen) -> dict[str, GuardCheck]:
    """The checks by their names."""
    of_programs = [change for change in seen.changes if change.series not in seen.apart]
    plain = {
        "processes": _processes,
        "first_execution": _first_execution,
        "files_left": _files_left,
        "folders": _folders,
        "variables": lambda each: _variables(each, of_programs),
        "inputs": _inputs,
    }
    return {
        "output": _output(seen),
        "units": _units(seen.changes),
        "benchmark_files": _benchmark_files(seen.candidate),
        **{name: _worst(map(check, seen.plain)) for name, check in plain.items()},
        "left": _left_running(seen),
        "limits": _limits(seen.limits),
        "clocks": _clocks(of_programs),
        "quiet": _quiet(seen.trust),
    }


def series_apart(profiles: Iterable[Profile]) -> set[str]:
    """The series of profiles whose units are processes of their own, not parts of one."""
    return {profile.job.key for profile in profiles if profile.job.collector in OF_COPIES}


def doubts(changes: Sequence[Change], trust: Trust, apart: Collection[str]) -> list[str]:
    """What speaks against the figures of a report, without executions beside these; ``apart`` as in
    ``Seen``.
    """
    of_programs = [change for change in changes if change.series not in apart]
    checks = (_clocks(of_programs), _quiet(trust))
    return [check.said for check in checks if check.word in ("rejected", "doubted")]


def said_by(checks: Mapping[str, GuardCheck], word: Word) -> list[str]:
    """What the checks with a word say."""
    return [check.said for check in checks.values() if check.word == word]


def _worst(checks: Iterable[GuardCheck]) -> GuardCheck:
    order: Sequence[Word] = ("rejected", "doubted", "warning", "not tried", "passed")
    every = list(checks)
    if not every:
        return GuardCheck("not tried", "no job ran on both sides")
    return min(every, key=lambda check: order.index(check.word))


def _output(seen: Seen) -> GuardCheck:
    differing = dict.fromkeys([*seen.outputs, *(each.job for each in seen.plain if each.differs)])
    if not differing:
        return PASSED
    word: Word = "rejected" if seen.same_output else "warning"
    return GuardCheck(word, f"the output of {listed(list(differing))} differs from the base's")


def _left_running(seen: Seen) -> GuardCheck:
    return GuardCheck("rejected", listed(list(seen.left))) if seen.left else PASSED


def _limits(limits: Sequence[LimitVerdict]) -> GuardCheck:
    """A limit that the target exceeds is a reason to reject it, unless the base does so, too."""
    beyond = exceeded(limits)
    own = [verdict for verdict in beyond if verdict.before != verdict.word]
    if not beyond:
        return PASSED
    said = "; ".join(verdict.said for verdict in (own or beyond))
    return GuardCheck("rejected" if own else "warning", said)


def _units(changes: Sequence[Change]) -> GuardCheck:
    """A benchmark that only the base has cannot be slower."""
    missing = dict.fromkeys(
        labelled(change.job, change.uid, change.size)
        for change in changes
        if change.word == "missing"
    )
    if not missing:
        return PASSED
    names = listed(list(missing))
    return GuardCheck("rejected", f"{counted(len(missing), 'benchmark')} is gone: {names}")


def _benchmark_files(candidate: Candidate) -> GuardCheck:
    parts = []
    if candidate.restored:
        parts.append(
            f"the change touches what measures or judges it ({listed(candidate.restored)}): both"
            " sides were measured with the base's"
        )
    if candidate.kept:
        parts.append(f"it touches {listed(candidate.kept)}, which can change what a benchmark does")
    return GuardCheck("warning", "; ".join(parts)) if parts else PASSED


def _untried(plain: Plain) -> GuardCheck | None:
    """Why plain executions say nothing; None where they do."""
    if plain.untried:
        return GuardCheck("not tried", plain.untried)
    if plain.base.failure:
        return GuardCheck("not tried", f"of the base: {plain.base.failure}")
    if plain.target.failure:
        return GuardCheck("rejected", plain.target.failure)
    return None


def _processes(plain: Plain) -> GuardCheck:
    if plain.target.processes and not plain.base.processes:
        many = counted(plain.target.processes, "process", "processes")
        return GuardCheck("rejected", f"{plain.job} leaves {many} running, which the base does not")
    least = LEAST_SHARE * max(plain.base.cpu, default=0.0)
    if plain.target.adopted > max(least, 2 * plain.base.adopted) > 0:
        took = quantity(plain.target.adopted, "s")
        return GuardCheck(
            "rejected",
            f"processes of {plain.job} for which nothing waits take {took} of CPU time, which is in"
            " no figure",
        )
    return _untried(plain) or PASSED


def _first_execution(plain: Plain) -> GuardCheck:
    """A first execution that makes what the later ones live on."""
    if untried := _untried(plain):
        return untried
    if len(plain.target.seconds) < 1 + FEWEST_LATER:
        return GuardCheck("doubted", TOO_SMALL)
    if not plain.target.is_first_longer or plain.base.is_first_longer:
        return PASSED
    first, later = plain.target.seconds[0], typical(plain.target)
    told = (
        f"{plain.job}: the first execution takes {quantity(first, 's')}, the later ones"
        f" {quantity(later, 's')}; the base's do not differ so"
    )
    left = _left(plain.target, plain.base)
    if left:
        return GuardCheck("rejected", f"{told}: a cache outlives the process ({listed(left)})")
    # in empty shared folders no cache outlives it
    word: Word = "warning" if plain.apart else "doubted"
    return GuardCheck(word, f"{told}: is there a cache that outlives the process?")


def _files_left(plain: Plain) -> GuardCheck:
    left = _left(plain.target, plain.base)
    if left and not plain.target.failure:
        return GuardCheck(
            "warning", f"{plain.job} leaves files that the base does not: {listed(left)}"
        )
    return _untried(plain) or PASSED


def _left(target: Side, base: Side) -> list[str]:
    return sorted(target.files - base.files)


def _folders(plain: Plain) -> GuardCheck:
    if changed := plain.target.changed:
        names = listed(list(dict.fromkeys(changed)))
        return GuardCheck(
            "rejected", f"{plain.job}, or its build, changes files of the base's copy: {names}"
        )
    return _untried(plain) or PASSED


def _inputs(plain: Plain) -> GuardCheck:
    if not plain.drawn:
        said = f"{plain.job} has the same input in each block: see {{seed}}"
    elif not plain.agreeing:
        said = f"no output of {plain.job} is known to be the same on both sides"
    else:
        inputs = counted(plain.agreeing, "input")
        return GuardCheck("passed", f"{plain.job} prints the same for {inputs}")
    return GuardCheck("not tried", said)


def _variables(plain: Plain, changes: Sequence[Change]) -> GuardCheck:
    """A gain that is there only while perfvcs' variables are set, or that lives on what lies in a
    shared folder or in shared memory.

    Only a sure gain is doubted. It is rejected if all plain pairs but a fifth miss it by 5 % and by
    half of it, and all together by more than chance explains: on a busy machine, some do so.
    It is in doubt if most do, and chance may explain it.
    """
    if untried := _untried(plain):
        return untried
    gains = [
        change
        for change in changes
        if change.metric in CLOCKS
        and change.word == "improvement"
        and change.effect is not None
        and change.job == plain.job
        and is_whole(change.job, change.uid)
    ]
    checks = [_missed(plain, change) for change in gains]
    return _worst(checks) if checks else PASSED


def _missed(plain: Plain, gain: Change) -> GuardCheck:
    """Whether plain executions miss a gain."""
    ratios = sorted(plain.ratios(gain.metric))
    if len(ratios) < ROUNDS - 1:
        return GuardCheck("doubted", TOO_SMALL)
    effect = log1p(gain.effect or 0.0)
    gaps = [log(ratio) - effect for ratio in ratios]
    least = max(APART, HALF * abs(effect))
    if median(gaps) <= least:
        return PASSED
    where = ", with empty shared folders," if plain.apart else ""
    said = (
        f"the {metric_name(gain.metric)} of {plain.job} changes by {percent(expm1(effect))} under"
        f" perfvcs, and without the variables PERFVCS_*{where} by {percent(median(ratios) - 1)}"
    )
    if gaps[len(gaps) // FIFTH] <= least or not _beyond_chance(gaps):
        return GuardCheck("doubted", f"{said}: a larger budget shows which of them is right")
    lives = ", or live on what lies there" if plain.apart else ""
    return GuardCheck("rejected", f"{said}: does it look at them{lives}?")


def _beyond_chance(gaps: Sequence[float]) -> bool:
    """Whether the mean of some differences is not 0."""
    from perfvcs.statistics.difference import interval

    return bool(interval([gaps], CONFIDENCE).low[0] > 0)


def _clocks(changes: Sequence[Change]) -> GuardCheck:
    """A gain that a program reports of itself, and that its process does not show."""
    checks = [
        _contradiction(whole, parts, changes)
        for whole in changes
        if whole.metric == "wall"
        and is_whole(whole.job, whole.uid)
        and (parts := _parts(whole, changes))
    ]
    return _worst(checks) if checks else PASSED


def _parts(whole: Change, changes: Sequence[Change]) -> list[Change]:
    """What a program reports of itself beside its process."""
    return [
        change
        for change in changes
        if change.series == whole.series
        and change.metric == whole.metric
        and not is_whole(change.job, change.uid)
    ]


def _contradiction(whole: Change, parts: Sequence[Change], changes: Sequence[Change]) -> GuardCheck:
    """What a process's clocks say of its parts.

    1. Parts that gain at least 20 % of the process's time must take half of that from it: its wall
       time may not deny that.
    2. Of a tenth on, it must show, too: by CPU time by its estimate, or surely by wall time.
    """
    processors = [
        change
        for change in changes
        if change.series == whole.series and change.uid == whole.uid and change.metric == "cpu"
    ]
    reported = sum(part.baseline or 0.0 for part in parts)
    gained = sum(max(0.0, -(part.shift_high or 0.0)) for part in parts)
    # of a busy machine's wall time, much is nobody's
    whole_time = min(change.baseline or 0.0 for change in [whole, *processors])
    if not whole.baseline or reported > whole.baseline or gained < SHOWN * whole_time:
        return PASSED
    if whole.shift_low is None or whole.shift_high is None:
        return PASSED
    said = f"{whole.job} reports that it takes {quantity(gained, 's')} less, but its process"
    least = HALF * gained
    if gained >= LEAST_SHARE * whole.baseline and whole.shift_low >= -least:
        most = quantity(max(0.0, -whole.shift_low), "s")
        moved = "the work moved out of what is timed"
        return GuardCheck("rejected", f"{said} takes {most} less at most: {moved}")
    taken = min((change.shift or 0.0 for change in processors), default=0.0)
    if taken <= -least or whole.shift_high <= -HALF * least:
        return PASSED
    return GuardCheck("doubted", f"{said} does not show that so far: give it a larger budget")


def _quiet(trust: Trust) -> GuardCheck:
    if trust.quiet:
        return PASSED
    return GuardCheck(
        "rejected",
        f"the base differs from itself by {percent(trust.effect or 0.0)} ({trust.benchmark}) in"
        " this very call: measure on a quieter machine",
    )
