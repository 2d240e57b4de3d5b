"""The job matrix: cmd x args x workloads x interpreters x collectors."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import product
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from perfvcs.environment import Knobs
from perfvcs.jobs.cell import Cell, ResultPlan
from perfvcs.jobs.config import (
    DEFAULT,
    AutoTable,
    BadConfig,
    Config,
    JobTable,
    NamedOptions,
    seconds,
    words,
)
from perfvcs.jobs.harness import checked
from perfvcs.jobs.workload import Workload, parse
from perfvcs.plugins import build, names
from perfvcs.profile.naming import Benchmark
from perfvcs.profile.resolver import resolved
from perfvcs.profile.rules import RULES_FILE
from perfvcs.profile.validity import MAX_NAME

MAX_CELLS = 10_000
MAX_COUNT = 1_000_000  # executions; a design beyond it is a slip of the pen
DESIGN_KEYS = ("executions", "warmup")  # of a job, which the entry of a collector may override
READING = {"counters", "time"}  # collectors that read what a harness reports
SHELL_WORDS = {"|", "||", "&", "&&", ";", "<", ">", ">>", "2>&1", "2>", "&>"}


class MemberEntry(NamedTuple):
    """A member that a job names, with the options that are written there, and as it was built from
    them.
    """

    name: str
    options: dict[str, Any]
    built: Any


class CollectorDesign(NamedTuple):
    """How often a job runs under one collector; ``own``: its entry says how many executions."""

    executions: int
    warmup: int
    own: bool


def matrix(config: Config, only: Collection[str] = ()) -> list[Cell]:
    """All cells of the configuration, or those of the jobs named, as ``meant`` has it; raises
    BadConfig if there are none.
    """
    if not config.job:
        raise BadConfig(f"{RULES_FILE} has no [[job]]: add one with at least a `cmd`")
    former_names(config)
    cells: list[Cell] = []
    for table in config.job:
        cells += _cells(config, table, MAX_CELLS - len(cells))
    counted = Counter((cell.label, cell.collector_name) for cell in cells)
    for (label, collector), count in counted.items():
        if count > 1:
            raise BadConfig(
                f"{count} jobs are all `{label}` under `{collector}`: give them different names"
                " (`name = ...`)"
            )
    chosen = chosen_jobs(cells, only)
    return [cell for place, cell in enumerate(cells) if not only or place in chosen]


def chosen_jobs(cells: Sequence[Cell], names: Iterable[str]) -> set[int]:
    """The positions of the cells that names of jobs, or parts of names, mean; raises UsageError for
    an unknown one.

    ``(time)`` means every job under that collector.
    """
    known = [Benchmark(cell.name, cell.label, cell.collector_name) for cell in cells]
    return {place for name in names for place in resolved(name, known, "job").places}


def _cells(config: Config, table: JobTable, room: int) -> list[Cell]:
    """The cells of one job, at most so many; they are counted before any is made."""
    commands = (table.cmd,) if isinstance(table.cmd, str) else table.cmd
    place = f"job `{table.name or next(iter(commands), '')}`"
    workloads: list[Workload | None] = [None]
    if table.workloads is not None:
        workloads = [workload for entry in table.workloads for workload in parse(entry)]
    executions, auto = _executions(table)
    _require_possible(table, commands, workloads, executions, place)
    pythons: list[str | None] = [None]
    if config.python and config.python.versions:
        pythons = list(config.python.versions)
    members = [_member("collectors", entry, place) for entry in table.collectors]
    if table.reads is not None and not {member.name for member in members} & READING:
        raise BadConfig(
            f"{place}: `reads` goes with the collectors {' and '.join(sorted(READING))}: add one,"
            " or leave reads out"
        )
    designs = [_design(entry, executions, table.warmup, place) for entry in table.collectors]
    postprocessors = tuple(
        _member("postprocessors", entry, place).built for entry in table.postprocessors
    )
    timeout = seconds(table.timeout, f"{place}, timeout")
    collecting = list(zip(members, designs, strict=True))
    axes = commands, table.args, workloads, pythons, collecting
    if (count := prod(map(len, axes))) > room:
        whole = MAX_CELLS - room + count
        raise BadConfig(
            f"the matrix has {whole:,} cells with {place}, over the limit of {MAX_CELLS:,}: shorten"
            " args or workloads"
        )
    return [
        Cell(
            name=_name(table, command),
            cmd=command,
            args=args,
            workload=workload,
            python=python,
            shell=table.shell,
            collector_name=member.name,
            options=member.options,
            collector=member.built,
            postprocessors=postprocessors,
            timeout=timeout,
            executions=design.executions,
            warmup=design.warmup,
            binaries=table.binaries,
            retries=table.retries,
            env=config.env | table.env,
            auto=None if design.own else auto,
            hosts=table.hosts,
            result=_result(table, member.name),
            isolate=table.isolate,
            reads=checked(table.reads),
            counting=table.exact,
        )
        for command, args, workload, python, (member, design) in product(*axes)
    ]


def _require_possible(
    table: JobTable,
    commands: Sequence[str],
    workloads: Sequence[Workload | None],
    executions: int,
    place: str,
) -> None:
    """Raise BadConfig for a job without a command, with an impossible number, or with words that
    only a shell understands.
    """
    axes = {
        "cmd": commands,
        "args": table.args,
        "workloads": workloads,
        "collectors": table.collectors,
    }
    for key, values in axes.items():
        if not values:
            raise BadConfig(f"{place}: `{key}` is empty, so there is nothing to run")
    _count("executions", executions, 1, MAX_COUNT, place)
    _count("warmup", table.warmup, 0, MAX_COUNT, place)
    _count("binaries", table.binaries, 1, 1000, place)
    _count("retries", table.retries, 0, 1000, place)
    if len(table.name) > MAX_NAME:
        raise BadConfig(f"{place[:40]}...: `name` has over {MAX_NAME:,} characters: shorten it")
    for text in [*commands, *table.args]:
        split = words(text, place, program=text in commands)
        # an operator that stands by itself and without quotes
        if not table.shell and (operators := SHELL_WORDS.intersection(split, text.split())):
            raise BadConfig(
                f"{place}: `{min(operators)}` in {text!r} needs a shell: add `shell = true`"
            )


def _result(table: JobTable, collector: str) -> ResultPlan:
    """What is read of a job's output; what runs tests or benchmarks by itself prints what they
    took, and how many there are.
    """
    reads = table.output is not False and collector != "pytest" and table.reads is None
    files = table.output if isinstance(table.output, tuple) else ()
    return ResultPlan(reads, files, table.normalise, table.same_output)


def former_names(config: Config) -> dict[str, str]:
    """The names of jobs by those that they had before; raises BadConfig if a name would stand for
    two.
    """
    if not any(table.formerly for table in config.job):
        return {}
    tables = [
        (table, (table.cmd,) if isinstance(table.cmd, str) else table.cmd) for table in config.job
    ]
    for table, commands in tables:
        for command in commands:
            words(command, f"job `{table.name or command}`")  # what has no words has no name
    present = {_name(table, command) for table, commands in tables for command in commands}
    renamed: dict[str, str] = {}
    for table, commands in tables:
        for name, command in product(table.formerly, commands):
            name_now = _name(table, command)
            former = _name(msgspec.structs.replace(table, name=name), command) if name else ""
            place = f"job `{name_now}`, formerly"
            if not former:
                raise BadConfig(f"{place}: an empty name is not one: leave it out")
            if former == name_now:
                raise BadConfig(f"{place}: that is its name now: leave it out")
            if former in present:
                raise BadConfig(
                    f"{place}: `{former}` is a job of its own here: leave it out, or give one of"
                    " them another name"
                )
            if renamed.setdefault(former, name_now) != name_now:
                raise BadConfig(
                    f"{place}: job `{renamed[former]}` says the same of `{former}`: leave it out of"
                    " one of them"
                )
    return renamed


def _design(entry: NamedOptions, executions: int, warmup: int, place: str) -> CollectorDesign:
    """What a collector's entry says of its executions, and the job's word where it says nothing."""
    options = {} if isinstance(entry, str) else entry
    own = options.get("executions", executions), options.get("warmup", warmup)
    _count("executions", own[0], 1, MAX_COUNT, f"{place}, collectors")
    _count("warmup", own[1], 0, MAX_COUNT, f"{place}, collectors")
    return CollectorDesign(*own, "executions" in options)


def _count(key: str, count: object, least: int, most: int, place: str) -> None:
    """Raises BadConfig for what is not a whole number between these."""
    if isinstance(count, bool) or not isinstance(count, int):
        raise BadConfig(f"{place}: `{key}` is {count!r}, but must be a whole number")
    if not least <= count <= most:
        raise BadConfig(f"{place}: `{key}` is {count}, but must be {least} to {most:,}")


def _executions(table: JobTable) -> tuple[int, AutoTable | None]:
    """The number of executions, and what is to be found where it is to be planned from what is
    stored.
    """
    if isinstance(table.executions, int):
        return table.executions, None
    return DEFAULT, table.executions if isinstance(table.executions, AutoTable) else AutoTable()


def _name(table: JobTable, command: str) -> str:
    """The name given; the command's own word (a script's, behind an interpreter) without one or
    with several commands.
    """
    operands = [word for word in shlex.split(command) if not word.startswith("-")]
    named = [Path(word).name for word in operands] or [command]
    interpreted = len(named) > 1 and re.match(
        r"(python|node|ruby|perl|java|bash|sh)[\d.]*$", named[0]
    )
    short = named[1 if interpreted else 0]
    if not table.name:
        return short
    is_only = isinstance(table.cmd, str) or len(table.cmd) == 1
    return table.name if is_only else f"{table.name} {short}"


def _member(family: str, entry: NamedOptions, path: str) -> MemberEntry:
    """A family\'s member as written in a job."""
    options = {} if isinstance(entry, str) else dict(entry)
    kind = entry if isinstance(entry, str) else options.pop("name", None)
    if not isinstance(kind, str):
        raise BadConfig(
            f"{path}: an entry of `{family}` needs a `name`, such as {{ name ="
            f' "{(names(family) or ["time"])[0]}" }}'
        )
    if family == "collectors":  # how often it runs is not what it measures
        options = {key: value for key, value in options.items() if key not in DESIGN_KEYS}
    return MemberEntry(kind, options, build(family, kind, options, path))


def knobs(config: Config) -> Knobs:
    """The machine's settings of a configuration."""
    return Knobs(config.knobs.pin, config.knobs.aslr, config.knobs.padding)
