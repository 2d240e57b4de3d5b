"""Work beside time: after a timed session, one or two executions of each version are counted, by
units where the program has some, and where that costs little.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec import structs

from perfvcs.collectors._shared.commandrun import behind_env, mentions, runtime
from perfvcs.errors import PerfError, UsageError
from perfvcs.jobs import matrix
from perfvcs.jobs.cell import Cell
from perfvcs.jobs.harness import repeats, undivided
from perfvcs.launcher.execution import TIMED_OUT
from perfvcs.measure.countingcosts import (
    COUNTERS,
    NATIVE,
    PYTHON,
    Counter,
    is_pytest,
    of_execution,
    of_suite,
    of_units,
    runs_python,
    words_of,
)
from perfvcs.measure.interpreter import own_program
from perfvcs.measure.unitseconds import TIMED, UnitSeconds, units, wholes
from perfvcs.plan.expected import SHARE
from perfvcs.plugins.collector import EVERY_UNIT
from perfvcs.profile.naming import is_whole
from perfvcs.profile.summary import summarise
from perfvcs.statistics.multiplicity import PAIRS
from perfvcs.text.quantity import duration
from perfvcs.text.words import counted, listed

if TYPE_CHECKING:
    from perfvcs.measure.request import Request
    from perfvcs.measure.rig import Rig
    from perfvcs.measure.session import Session
    from perfvcs.measure.sites import Sites
    from perfvcs.measure.storedsession import CampaignOutcome
    from perfvcs.repository.state import State

# seconds that it may take of any session whose pairs left a job open, since it decides what time
# cannot: of a job of 20 ms these are two seconds, in which nothing could be counted, and of a suite
# of tests of half a second, 30 s
LEAST_ROOM = 60.0
EXECUTIONS = 2  # of each version: two show how much a count varies by itself
# names in what chooses functions by the processor, as gcc and clang do it
DISPATCHING = (b"__cpu_model", b"__cpu_indicator_init")
COUNTING = ("instructions", "bytecode")  # collectors that count it already
# more programs that compile while they run, so that no two runs execute the same instructions
COMPILING = ("deno", "bun", "pypy", "luajit", "julia", "dotnet")
HEAVY = 60  # how many times as long an execution may take that is counted
# how many times as long as expected, from which on it is given up: a program that starts hundreds
# of others becomes far slower than one that computes
LATE = 3


class CountedJob(NamedTuple):
    """A timed job under its counter, so often; so many ``units`` of it where others are left out,
    of ``among`` so many.
    """

    cell: Cell
    counter: Counter
    executions: int
    seconds: float
    units: int = 0
    among: int = 0


def count(
    rig: Rig,
    pair: tuple[State, State],
    request: Request,
    outcome: CampaignOutcome,
    session: str,
    seconds: float,
    *,
    always: bool = False,
) -> None:
    """Counts what both sides of a session execute, which took so many ``seconds``, and stores it
    with the session; says what cannot be counted.

    A job with ``exact = "auto"`` is counted where that takes at most a fifth of the whole, or some
    seconds where time left a job open, or ``always``.
    """
    cells, equipped = rig.asked(request)
    if not request.exact or request.scheduler or not outcome.profiles or pair[0] == pair[1]:
        return
    present = {cell.label for cell in matrix(equipped.config) if cell.collector_name in COUNTING}
    timed = [cell for cell in cells if cell.collector_name in TIMED and cell.label not in present]
    if always:
        timed = [structs.replace(cell, counting="always") for cell in timed]
    pairs = max(profile.design.executions for profile in outcome.profiles)
    pairs = PAIRS if outcome.given_up else pairs
    left = allowance(seconds, pairs, request)
    total = sum(profile.design.executions for profile in outcome.profiles) or 1
    measured = outcome.profiles
    jobs, reasons = affordable(timed, seconds / total, left, units(measured), wholes(measured))
    for reason in reasons:
        rig.progress.say(reason)
    if not jobs:
        return
    _announce(rig, jobs)
    from perfvcs.measure.journal import Identity
    from perfvcs.measure.progress import Reasons
    from perfvcs.measure.rig import versions
    from perfvcs.measure.session import Session
    from perfvcs.measure.storedsession import kept

    quiet, repository = Reasons(), rig.repository
    identity = structs.replace(Identity.new(outcome.seeds[-1]), session=session)
    found = type(outcome)()
    try:
        with repository.measuring(wait=request.wait):
            both = versions(repository, pair, request)
            sites = equipped.sites([job.cell for job in jobs], both)
            with Session(sites, quiet, identity) as counting, kept(repository, counting, found):
                for reason in _run(counting, sites, jobs):
                    rig.progress.say(reason)
    except PerfError as error:
        quiet.fail(str(error))
    outcome.paths += found.paths
    outcome.profiles += found.profiles
    if quiet.reasons:
        reason = quiet.reasons[0]
        if TIMED_OUT in reason and not always:
            reason = 'it takes far longer than expected (`exact = "always"` counts it)'
        rig.progress.say(f"work is not counted: {reason}")


def allowance(seconds: float, pairs: int, request: Request) -> float:
    """The seconds that counting may take after a session of so many ``seconds``, in which a job was
    measured in so many ``pairs`` at most.
    """
    left = seconds * SHARE / (1 - SHARE)
    if pairs >= PAIRS and request.executions is None:
        left = max(left, LEAST_ROOM)
    return left if request.budget is None else min(left, request.budget - seconds)


def _run(session: Session, sites: Sites, jobs: Sequence[CountedJob]) -> Iterator[str]:
    """Counts jobs, and says which are not. What differs after a single execution of each version
    may vary by itself, which another one shows.
    """
    often: dict[int, int] = {}
    for number, job in enumerate(jobs):
        program = own_program(job.cell.cmd, sites.program(number, 0), sites.place(0)[0])
        if job.counter is NATIVE and (compiler := runtime([program])):
            yield f"the work of {job.cell.label} is not counted: {_of_no_count(compiler)}"
        elif job.counter is NATIVE and mentions(program, DISPATCHING):
            yield (
                f"the work of {job.cell.label} is not counted: it chooses its code by the"
                " processor, which is another one under valgrind"
            )
        else:
            often[number] = job.executions
    session.run(often)
    once = [number for number, executions in often.items() if executions == 1]
    if again := [number for number in once if _differs(session, number)]:
        session.run(dict.fromkeys(again, 1))


def _differs(session: Session, number: int) -> bool:
    counts: list[dict[tuple[str, float | None], float]] = []
    for profiles in session.so_far(number) or ():
        rows = [summary for profile in profiles for summary in summarise(profile)]
        counts.append(
            {(row.uid, row.size): row.medians[0] for row in rows if row.metric in COUNTERS}
        )
    return len(counts) > 1 and counts[0] != counts[1]


def affordable(
    timed: Sequence[Cell],
    seconds: float,
    room: float,
    by_unit: Mapping[str, UnitSeconds] | None = None,
    by_whole: Mapping[str, float] | None = None,
) -> tuple[list[CountedJob], list[str]]:
    """The jobs that can be counted, as often as there is time for in ``room`` (s), and why others
    cannot whose counts were asked for. An execution takes so many ``seconds`` of the session; those
    of ``by_whole`` run so long of these, and those of ``by_unit`` have units.
    """
    jobs, reasons = list[CountedJob](), list[str]()
    for cell in timed:
        has = (by_unit or {}).get(cell.label)
        if cell.counting == "never":
            continue
        if not _is_divisible(cell, has):
            if cell.counting == "always" and cell.reads is not None:
                why = undivided(words_of(cell), cell.reads) or "it reports no benchmark"
                reasons.append(f"the work of {cell.label} is not counted: {why}")
            continue
        counter = PYTHON if runs_python(cell) else NATIVE
        counting = _counting(cell, counter, each=has is not None)
        if reason := _uncountable(cell, counting):
            if cell.counting == "always":
                reasons.append(f"the work of {cell.label} is not counted: {reason}")
            continue
        runs = min(seconds, (by_whole or {}).get(cell.label, seconds))
        slowed = of_execution(cell, counter, runs, seconds, has)
        each = 2 * (counter.start + slowed)  # of both versions
        often = min(EXECUTIONS, max(0, int(room / each)))
        if cell.counting == "always":
            often = EXECUTIONS
        elif has is None:
            longest = max(LEAST_ROOM, LATE * each / 2)
            counting = structs.replace(counting, timeout=min(counting.timeout, longest))
        job = CountedJob(counting, counter, often, often * each)
        if not often and has is not None and _is_separable(cell):
            job = _in_part(cell, job, has, room, seconds)
        if job.executions:
            room -= job.seconds
            jobs.append(job)
    return jobs, reasons


def _in_part(
    cell: Cell, job: CountedJob, has: UnitSeconds, room: float, seconds: float
) -> CountedJob:
    """A job whose units are too many to count, with as many as fit into ``room`` (s), those first
    whose counts tell most; an execution takes so many ``seconds`` otherwise.
    """
    # what is repeated differs a little each time, so that one execution would not do
    often = EXECUTIONS if repeats(words_of(cell), cell.reads) else 1
    around = of_suite(cell, job.counter, has, seconds)
    chosen, took = list[str](), 2 * often * (job.counter.start + around)
    for unit in has.each:
        each = 2 * often * of_units(cell, job.counter, UnitSeconds(unit.once, 0.0, unit.sizes))
        if took + each <= room:
            took += each
            chosen.append(unit.uid)
    if not chosen:
        return job
    left = {unit.uid for unit in has.each}.difference(chosen)
    counted_cell = structs.replace(job.cell, left_out=cell.left_out | left)
    return CountedJob(counted_cell, job.counter, often, took, len(chosen), len(has.each))


def under_counter(cell: Cell, metric: str, uid: str) -> Cell:
    """A timed job under what counts a metric of one of its units beside its time; raises UsageError
    where nothing here does.
    """
    counting = _counting(cell, COUNTERS[metric], each=not is_whole(cell.label, uid))
    if reason := _uncountable(cell, counting):
        raise UsageError(f"the {metric} of {cell.label} cannot be counted: {reason}")
    return counting


def _is_divisible(cell: Cell, has: UnitSeconds | None) -> bool:
    """Whether the job is one program, or its units can be counted one by one."""
    if has is None:
        return cell.reads is None and cell.collector_name != "pytest"
    return cell.reads is None or not undivided(words_of(cell), cell.reads)


def _is_separable(cell: Cell) -> bool:
    """Whether the time of units that are left out is saved: the others run without them."""
    return is_pytest(cell) or repeats(words_of(cell), cell.reads)


def _counting(cell: Cell, counter: Counter, *, each: bool) -> Cell:
    from perfvcs.plugins import build

    member = build("collectors", counter.collector, dict(counter.options), f"job `{cell.name}`")
    return structs.replace(
        cell,
        collector_name=counter.collector,
        collector=member,
        options=dict(counter.options),
        executions=EXECUTIONS,
        warmup=0,
        binaries=1,
        retries=0,
        postprocessors=(),
        auto=None,
        timeout=cell.timeout * HEAVY,
        unit=EVERY_UNIT if each else "",
    )


def _uncountable(cell: Cell, counting: Cell) -> str:
    """Why a job cannot be counted exactly; empty where it can."""
    words = behind_env(shlex.split(cell.cmd))
    name = Path(words[0]).name.rstrip("0123456789.") if words else ""
    if compiler := runtime(words) or (name if name in COMPILING else ""):
        return _of_no_count(compiler)
    return counting.collector.available() or ""


def _of_no_count(compiler: str) -> str:
    return f"{compiler} compiles while it runs, so that no count repeats"


def _announce(rig: Rig, jobs: Sequence[CountedJob]) -> None:
    names = listed([_named(job) for job in jobs])
    under = listed(list(dict.fromkeys(job.counter.under for job in jobs)))
    often = counted(max(job.executions for job in jobs), "execution")
    if any(job.executions == 1 for job in jobs):
        often += " (2 where these differ)"
    took = duration(sum(job.seconds for job in jobs))
    asked = ' (`exact = "never"` leaves it out)'
    if any(job.units for job in jobs):
        asked = ' (`exact = "always"` counts all units, "never" none)'
    rig.progress.say(
        f"counting the work of {names}: {often} of each version under {under}, about {took}{asked}"
    )


def _named(job: CountedJob) -> str:
    if job.units:
        return f"{job.units} of {job.among} units of {job.cell.label} (whose times differ most)"
    return f"each unit of {job.cell.label}" if job.cell.unit else job.cell.label
