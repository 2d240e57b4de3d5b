"""Checks of the guard that rest on the plain executions of a job, as a user would start it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import expm1, log, log1p
from statistics import geometric_mean, median

from perfvcs.check.change import Change
from perfvcs.judge.attempt import ROUNDS
from perfvcs.judge.guardcheck import PASSED, GuardCheck, Word, worst
from perfvcs.judge.plain import Plain, typical
from perfvcs.profile.naming import is_whole
from perfvcs.statistics.difference import interval
from perfvcs.text.quantity import percent, quantities, quantity
from perfvcs.text.words import CLOCKS, COUNTS, counted, listed, metric_name

APART = 0.05  # least difference between two ways to time, as a share, that says something
FIFTH = 5  # the part of the plain pairs that may show a gain by chance
HALF = 0.5  # of the effect: what an honest one keeps, however it is timed
MOST_GAINED = -0.999  # an effect that has a logarithm
FEWEST_LATER = 2  # executions behind the first one
CONFIDENCE = 0.99
MUCH_WORK = 0.3  # of all that is counted: a gain that CPU time shows
STARTING = 0.002  # seconds of CPU time that a process takes before it does anything
ASIDE = 1_000_000  # bytes beside a process's own memory that say something
LEAST_ADOPTED = 0.02  # of the base's CPU time: what a process that nothing waits for may take

TOO_SMALL = "the budget is too small to run both sides often enough without perfvcs' variables"


def examine_executions(
    plain: Sequence[Plain], changes: Sequence[Change]
) -> Mapping[str, GuardCheck]:
    """The checks by their names; ``changes`` are those of whole programs."""
    gains = {
        each.job: [change for change in changes if _is_gain(change, each.job, CLOCKS)]
        for each in plain
    }
    counts = {
        each.job: [change for change in changes if _is_gain(change, each.job, COUNTS)]
        for each in plain
    }
    checks = {
        "processes": _processes,
        "memory": _memory,
        "first_execution": _first_execution,
        "files_left": _files_left,
        "folders": _folders,
        "variables": lambda each: _variables(each, gains[each.job]),
        "base": lambda each: _base(each, gains[each.job]),
        "counts": lambda each: _counted(each, counts[each.job]),
        "inputs": _inputs,
    }
    return {name: worst(map(check, plain)) for name, check in checks.items()}


def _is_gain(change: Change, job: str, metrics: Sequence[str]) -> bool:
    return (
        change.metric in metrics
        and change.word == "improvement"
        and change.effect is not None
        and bool(change.baseline)
        and change.job == job
        and is_whole(change.job, change.uid)
    )


def _untried(plain: Plain) -> GuardCheck | None:
    """Why plain executions say nothing; None where they do."""
    if plain.untried:
        return GuardCheck("not tried", plain.untried)
    if plain.base.failure:
        word: Word = "doubted" if plain.base.seconds else "not tried"
        return GuardCheck(word, f"of the base: {plain.base.failure}")
    if plain.target.failure:
        return GuardCheck("rejected", plain.target.failure)
    return None


def _processes(plain: Plain) -> GuardCheck:
    if plain.target.processes and not plain.base.processes:
        many = counted(plain.target.processes, "process", "processes")
        return GuardCheck("rejected", f"{plain.job} leaves {many} running, which the base does not")
    least = LEAST_ADOPTED * max(plain.base.cpu, default=0.0)
    if plain.target.adopted > max(least, 2 * plain.base.adopted) > 0:
        took = quantity(plain.target.adopted, "s")
        return GuardCheck(
            "rejected",
            f"processes of {plain.job} for which nothing waits take {took} of CPU time, which is in"
            " no figure",
        )
    return _untried(plain) or PASSED


def _memory(plain: Plain) -> GuardCheck:
    """Peak memory is that of the largest process, by what is mapped into it: one that is divided,
    or keeps its data in files that are memory, seems to need less.
    """
    if plain.target.beside > plain.base.beside:
        return GuardCheck(
            "doubted",
            f"{plain.job} has more processes at a time than the base, and its peak memory is that"
            " of the largest",
        )
    if plain.target.aside > plain.base.aside + ASIDE:
        more = quantity(plain.target.aside - plain.base.aside, "B")
        return GuardCheck(
            "doubted",
            f"{plain.job} keeps {more} more than the base in files that are memory, which is in no"
            " peak of a process",
        )
    return _untried(plain) or PASSED


def _first_execution(plain: Plain) -> GuardCheck:
    """A first execution that makes what the later ones live on."""
    if untried := _untried(plain):
        return untried
    if len(plain.target.seconds) < 1 + FEWEST_LATER:
        return GuardCheck("doubted", TOO_SMALL)
    if not plain.target.is_first_longer or plain.is_first_of_base_longer:
        return PASSED
    first, later = plain.target.seconds[0], typical(plain.target)
    took = quantities([first, later], "s")
    told = (
        f"{plain.job}: the first execution takes {took[0]}, the later ones"
        f" {took[1]}; the base's do not differ so"
    )
    if left := plain.left:
        return GuardCheck("rejected", f"{told}: a cache outlives the process ({listed(left)})")
    # in empty shared folders no cache outlives it
    is_sure = plain.layered or (plain.apart and not plain.target.is_first_busier)
    word: Word = "warning" if is_sure else "doubted"
    return GuardCheck(word, f"{told}: is there a cache that outlives the process?")


def _files_left(plain: Plain) -> GuardCheck:
    kinds = {"leaves": plain.written, "deletes": plain.deleted}
    said = [
        f"{plain.job} {does} files that the base does not: {listed(names)}"
        for does, names in kinds.items()
        if names
    ]
    if said and not plain.target.failure:
        return GuardCheck("warning", "; ".join(said))
    return _untried(plain) or PASSED


def _folders(plain: Plain) -> GuardCheck:
    if changed := plain.target.changed:
        names = listed(list(dict.fromkeys(changed)))
        of_base = "files of the base's copy, or of a build that is kept"
        return GuardCheck("rejected", f"{plain.job}, or its build, changes {of_base}: {names}")
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


def _variables(plain: Plain, gains: Sequence[Change]) -> GuardCheck:
    """A gain that is there only while perfvcs' variables are set, or that lives on what lies in a
    shared folder, in shared memory or where an earlier execution left it.

    Only a sure gain is doubted. It is rejected if all plain pairs but a fifth miss it by 5 % and by
    half of it, and all together by more than chance explains: on a busy machine, some do so.
    It is in doubt if most do, and chance may explain it; and where they miss that of wall time
    alone, which what else runs makes longer on both sides.
    """
    if untried := _untried(plain):
        return untried
    if not gains:
        return PASSED
    surest = _surest(gains)
    return worst(_missed(plain, gain, by_itself=gain is surest) for gain in gains)


def _surest(gains: Sequence[Change]) -> Change:
    """The gain of CPU time, if there is one: wall time a busy machine makes longer."""
    return min(gains, key=lambda gain: gain.metric)


def _missed(plain: Plain, gain: Change, *, by_itself: bool) -> GuardCheck:
    """Whether plain executions miss a gain; ``by_itself``: those before it was measured have to
    show it, too, which find nothing that measuring left.
    """
    effect = gain.effect or 0.0
    effects = plain.effects(gain.metric, gain.baseline or 1.0)
    if len(effects) < ROUNDS - 1:
        return GuardCheck("doubted", TOO_SMALL)
    gaps = sorted(seen - effect for seen in effects)
    least = max(APART, HALF * abs(effect))
    before = median(effects[: ROUNDS - 1] if by_itself else effects)
    if max(before - effect, median(gaps)) <= least:
        return PASSED
    where = ", with empty shared folders," if plain.apart else ""
    without = percent(max(before, median(effects)))
    said = (
        f"the {metric_name(gain.metric)} of {plain.job} changes by {percent(effect)} under"
        f" perfvcs, and without the variables PERFVCS_*{where} by {without}"
    )
    if not by_itself or gaps[len(gaps) // FIFTH] <= least or not _beyond_chance(gaps):
        return GuardCheck("doubted", f"{said}: a larger budget shows which of them is right")
    if plain.layered:
        lives = ", or live on what lies there, or on what an earlier execution left"
    else:
        lives = ", or live on what lies there" if plain.apart else ""
    return GuardCheck("rejected", f"{said}: does it look at them{lives}?")


def _base(plain: Plain, gains: Sequence[Change]) -> GuardCheck:
    """A base that takes longer since the target is there: what that gains then, the base lost.

    By CPU time where that gained; by wall time, which a busy machine makes longer, only else.
    """
    if untried := _untried(plain):
        return untried
    if not gains:
        return PASSED
    gain = _surest(gains)
    early = [time for time in plain.early.times(gain.metric)[1:] if time > 0]
    later = [time for time in plain.base.times(gain.metric)[1:] if time > 0]
    if plain.drawn:  # those with the same inputs
        later = later[: len(early)]
    if min(len(early), len(later)) < FEWEST_LATER:
        return GuardCheck("doubted", TOO_SMALL)
    longer = log(geometric_mean(later) / geometric_mean(early))
    if longer <= max(APART, HALF * -log1p(max(gain.effect or 0.0, MOST_GAINED))):
        return PASSED
    name = metric_name(gain.metric)
    return GuardCheck(
        "doubted",
        f"the {name} of {plain.job} on the base is larger by {percent(expm1(longer))} than before"
        " the target was built: does the target slow it down?",
    )


def _counted(plain: Plain, gains: Sequence[Change]) -> GuardCheck:
    """A gain of work that is there only while it is counted: executions that nobody counts take
    less of their CPU time by a share that is below a quarter of it.
    """
    largest = min((gain.effect or 0.0 for gain in gains), default=0.0)
    if largest > -MUCH_WORK or plain.untried:
        return PASSED
    pairs = list(zip(plain.base.cpu[1:], plain.target.cpu[1:], strict=False))
    if len(pairs) < FEWEST_LATER:
        return GuardCheck("doubted", TOO_SMALL)
    work = median(before for before, _ in pairs) - STARTING
    gained = median(before - after for before, after in pairs)
    if work < STARTING or gained >= -0.25 * largest * work:
        return PASSED
    fewer, took = percent(-largest).lstrip("+"), percent(-gained / (work + STARTING))
    return GuardCheck(
        "doubted",
        f"{plain.job} executes {fewer} less while that is counted, and its CPU time changes by"
        f" {took} while it is not: does it look who counts?",
    )


def _beyond_chance(gaps: Sequence[float]) -> bool:
    """Whether the mean of some differences is not 0."""
    return bool(interval([gaps], CONFIDENCE).low[0] > 0)
