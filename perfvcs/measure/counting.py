"""Work beside time: after a timed session, one or two executions of each version are counted, by
units where the program has some, and where that costs little.
"""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from msgspec import structs

from perfvcs.collectors._shared.commandrun import behind_env, is_python, mentions, runtime
from perfvcs.errors import PerfError, UsageError
from perfvcs.jobs import matrix
from perfvcs.jobs.cell import Cell
from perfvcs.jobs.harness import repeats, undivided
from perfvcs.measure.interpreter import own_program
from perfvcs.plugins.collector import EVERY_UNIT
from perfvcs.profile.naming import is_whole
from perfvcs.profile.summary import summarise
from perfvcs.statistics.multiplicity import PAIRS
from perfvcs.text.quantity import duration
from perfvcs.text.words import COUNTS, counted, listed

if TYPE_CHECKING:
    from perfvcs.measure.request import Request
    from perfvcs.measure.rig import Rig
    from perfvcs.measure.session import Session
    from perfvcs.measure.sites import Sites
    from perfvcs.measure.storedsession import CampaignOutcome
    from perfvcs.profile import Profile
    from perfvcs.repository.state import State

SHARE = 0.2  # of the session that counting may take
# seconds that it may take of any session whose pairs left a job open: of a job of 20 ms these are
# two seconds, in which nothing could be counted
LEAST_ROOM = 20.0
EXECUTIONS = 2  # of each version: two show how much a count varies by itself
TIMED = ("time", "pytest")  # the collectors beside which work is counted
# names in what chooses functions by the processor, as gcc and clang do it
DISPATCHING = (b"__cpu_model", b"__cpu_indicator_init")
RUNS = 2  # of each unit in a counted execution, about
# seconds for each benchmark that its harness repeats: it is started twice; measured 0.8 to 2.2 s
# of a processor for tests of Go of 3 to 9 MB
REPEATING = 1.5
COUNTING = ("instructions", "bytecode")  # collectors that count it already
# more programs that compile while they run, so that no two runs execute the same instructions
COMPILING = ("deno", "bun", "pypy", "luajit", "julia", "dotnet")
HEAVY = 60  # how many times as long an execution may take that is counted


class Counter(NamedTuple):
    """A collector that counts work: its options, how many times as long an execution takes, and the
    seconds that each takes beside that.

    Measured with a C program of 37 million instructions and a Python program of 14 million
    bytecodes: 25 and 3.2 times.
    """

    collector: str
    options: dict[str, object]
    slower: float
    start: float
    under: str


NATIVE = Counter("instructions", {"tool": "cachegrind", "repeat": 0}, 30, 0.5, "valgrind")
PYTHON = Counter("bytecode", {"warm": False, "least": 0.01}, 5, 0.2, "the counter of bytecodes")
COUNTERS = dict(zip(COUNTS, (NATIVE, PYTHON), strict=True))


class UnitSeconds(NamedTuple):
    """What one run of each of a ``number`` of units of a job takes (s), and all that were measured
    at once.
    """

    once: float
    measured: float
    number: int = 1


class CountedJob(NamedTuple):
    """A timed job under its counter, so often."""

    cell: Cell
    counter: Counter
    executions: int
    seconds: float


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
        rig.progress.say(f"work is not counted: {quiet.reasons[0]}")


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


def units(profiles: Iterable[Profile]) -> dict[str, UnitSeconds]:
    """The jobs, by their labels, whose timed profiles have units."""
    found: dict[str, UnitSeconds] = {}
    for profile in profiles:
        rows, times = profile.resources, defaultdict[tuple[int, object], list[float]](list)
        for place, seconds in enumerate(rows.metrics.get("wall", ())):
            if seconds is not None and rows.names[rows.uid[place]] != profile.job.name:
                times[rows.uid[place], rows.size[place] if rows.size else None].append(seconds)
        if times and profile.job.collector in TIMED:
            measured = sum(map(sum, times.values())) / profile.design.executions
            once = sum(map(median, times.values()))
            found[profile.job.label] = UnitSeconds(once, measured, len(times))
    return found


def wholes(profiles: Iterable[Profile]) -> dict[str, float]:
    """What an execution of each timed job takes (s), by its label: the median."""
    times = defaultdict[str, list[float]](list)
    for profile in profiles:
        rows = profile.resources
        for uid, seconds in zip(rows.uid, rows.metrics.get("wall", ()), strict=False):
            if seconds is not None and rows.names[uid] == profile.job.name:
                times[profile.job.label].append(seconds)
    return {label: median(walls) for label, walls in times.items()}


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
                why = undivided(_words(cell), cell.reads) or "it reports no benchmark"
                reasons.append(f"the work of {cell.label} is not counted: {why}")
            continue
        counter = PYTHON if _runs_python(cell) else NATIVE
        counting = _counting(cell, counter, each=has is not None)
        if reason := _uncountable(cell, counting):
            if cell.counting == "always":
                reasons.append(f"the work of {cell.label} is not counted: {reason}")
            continue
        runs = min(seconds, (by_whole or {}).get(cell.label, seconds))
        slowed = _seconds(cell, counter, runs, seconds, has)
        each = 2 * (counter.start + slowed)  # of both versions
        often = min(EXECUTIONS, max(0, int(room / each)))
        if cell.counting == "always":
            often = EXECUTIONS
        if often:
            room -= often * each
            jobs.append(CountedJob(counting, counter, often, often * each))
    return jobs, reasons


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
    return cell.reads is None or not undivided(_words(cell), cell.reads)


def _words(cell: Cell) -> list[str]:
    """The command's words, as far as they do not depend on the workload."""
    return ["/bin/sh", "-c"] if cell.shell else shlex.split(cell.cmd)


def _seconds(
    cell: Cell, counter: Counter, runs: float, seconds: float, has: UnitSeconds | None
) -> float:
    """What counting one execution takes that takes so many ``seconds`` otherwise, of which the
    program ``runs`` so many: only these become slower.

    1. A program without units is slower as a whole.
    2. A benchmark that its harness repeats is counted in two executions of its own.
    3. Units are counted, and what a suite in Python does around them is as quick as ever.
    4. A program that calls perfvcs by itself is counted once more, as a whole.
    """
    whole = counter.slower * runs + seconds - runs
    if has is None:
        return whole
    if repeats(_words(cell), cell.reads):
        return RUNS * has.once + REPEATING * has.number
    inside = counter.slower * RUNS * has.once
    suite = cell.collector_name == "pytest" or cell.reads is not None or "perfvcs_asv" in cell.cmd
    if not suite:
        return inside + whole
    return inside + (max(0.0, seconds - has.measured) if counter is PYTHON else 0.0)


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


def _runs_python(cell: Cell) -> bool:
    """Whether the command is a Python program, as far as its words tell."""
    if cell.collector_name == "pytest" or (cell.reads and "pytest" in cell.reads.format):
        return True
    return cell.python is not None or is_python(shlex.split(cell.cmd)[0])


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
    names = listed(
        [f"each unit of {job.cell.label}" if job.cell.unit else job.cell.label for job in jobs]
    )
    under = listed(list(dict.fromkeys(job.counter.under for job in jobs)))
    often = counted(max(job.executions for job in jobs), "execution")
    if any(job.executions == 1 for job in jobs):
        often += " (2 where these differ)"
    took = duration(sum(job.seconds for job in jobs))
    rig.progress.say(
        f"counting the work of {names}: {often} of each version under {under}, about {took}"
        ' (`exact = "never"` leaves it out)'
    )
