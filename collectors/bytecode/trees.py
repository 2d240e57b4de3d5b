"""Executes a Python program that counts by itself, and reads what its interpreters wrote."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from perfvcs.collectors._shared.commandrun import executed, python_path, read_at_most
from perfvcs.collectors._shared.extension import extension
from perfvcs.collectors._shared.frames import above, inclusive, python
from perfvcs.collectors._shared.testing.oneunit import UnitAmount, UnitRun, rows_of
from perfvcs.collectors.bytecode import inside
from perfvcs.launcher.execution import name_command
from perfvcs.plugins.collector import CollectError, Observations, Run
from perfvcs.profile import Metric, Stacks
from perfvcs.system.foreign import UNDECODABLE

PREFIX = "PERFVCS_BYTECODE"
LARGEST_FILE = 1 << 28  # bytes
MAX_FILES = 10_000
SECOND = 1e9  # nanoseconds
OWN = re.compile(
    r"\(perfvcs_(unit|counter|counted|counts)(\.py)?\)$"
)  # what switches the counter off
OURS = -1  # the node of functions that are left out
FOREIGN = "{} is not what perfvcs wrote: the program must leave it alone"


class ThreadCalls(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The tree of one thread, as columns with an entry per node; ``again`` counts calls inside a
    call of the same node.
    """

    frames: list[int]
    parents: list[int]
    entered: list[int]
    again: list[int]
    amounts: list[int]


class ProcessCalls(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one process wrote: names with their files (in ``<>``: modules of C functions), and a
    tree per thread; where each unit is counted, which ``unit`` ran, at which size, and which began
    ``inner`` until then, inside others.
    """

    frames: list[tuple[str, str]]
    trees: list[ThreadCalls]
    unit: tuple[str, float | None] | None = None
    inner: list[str] = []


@dataclass
class Counted:
    """The calls of all processes and threads as one tree; node 0 is the interpreter itself, a
    parent has a smaller number.

    ``runs``: how many runs of a unit are in it together; 0 where it is a whole program.
    """

    names: list[str] = field(default_factory=lambda: [""])
    parents: list[int] = field(default_factory=lambda: [-1])
    amounts: list[int] = field(default_factory=lambda: [0])
    entered: list[int] = field(default_factory=lambda: [1])
    again: list[int] = field(default_factory=lambda: [0])
    warnings: list[str] = field(default_factory=list)
    compiled: bool = False
    runs: int = 0

    def add(self, names: list[str], tree: ThreadCalls) -> None:
        """One thread more; ``names`` are those of the process' frames.

        Raises ValueError where the tree makes no sense.
        """
        columns = tree.frames, tree.parents, tree.entered, tree.again, tree.amounts
        if (
            len({len(column) for column in columns}) > 1
            or not tree.parents
            or min(map(min, columns[2:4])) < 0
        ):
            raise ValueError
        place = [0] * len(tree.parents)
        self.amounts[0] += max(0, tree.amounts[0])
        for node in range(1, len(place)):
            parent = tree.parents[node]
            if not 0 <= parent < node or not 0 <= tree.frames[node] < len(names):
                raise ValueError
            key = place[parent], names[tree.frames[node]]
            if key[0] < 0 or OWN.search(key[1]):
                place[node] = OURS
                continue
            number = self._places.get(key)
            if number is None:
                number = self._places[key] = len(self.names)
                self.names.append(key[1])
                self.parents.append(key[0])
                for column in (self.amounts, self.entered, self.again):
                    column.append(0)
            place[node] = number
            # times are less what asking the clock takes
            self.amounts[number] += max(0, tree.amounts[node])
            self.entered[number] += tree.entered[node]
            self.again[number] += tree.again[node]

    def __post_init__(self) -> None:
        self._places: dict[tuple[int, str], int] = {}


def record(run: Run, meter: str, *, warm: bool = False) -> Counted:
    """Execute once and count; raises CollectError, and Undivided where the run's unit cannot be
    counted alone.

    ``warm``: the program is executed once before, uncounted.
    """
    counted = Counted()
    counting, folder, counted.compiled = _counting(run, meter)
    unit = UnitRun.of(counting) if run.unit else None
    counting = unit.run if unit is not None else counting
    if warm:
        executed(replace(counting, env={**counting.env, PREFIX: ""}))
    execution = executed(counting)
    for file in _files(run, folder, unit, counted):
        _add(_decoded(file), counted, str(run.cwd), file.name)
    if execution.leftover:
        counted.warnings.append(
            f"{name_command(run.argv)} left processes running, which were stopped and not counted"
        )
    return counted


def record_each(run: Run) -> Observations:
    """Execute once and count in each unit; then once more, in the whole program, if that repeats
    itself.

    Raises CollectError, and Undivided where nothing says when units begin and end.
    """
    counting, folder, _ = _counting(run, "instructions")
    unit = UnitRun.of(counting)
    executed(unit.run)
    runs = sorted(folder.glob("run-*.json"), key=_run_of)
    processes = {_process_of(file) for file in runs}
    made: defaultdict[int, float] = defaultdict(float)
    for file in folder.glob("process-*.json"):
        if len(processes) == 1:  # otherwise nobody knows whose run it was
            made[_run_of(file)] += _total(_decoded(file), file)
    amounts, inner = list[UnitAmount](), set[str]()
    for file in runs:
        process = _decoded(file)
        inner.update(process.inner)
        if process.unit is not None:
            total = _total(process, file) + made[_run_of(file)]
            amounts.append(UnitAmount(*process.unit, total))
    amounts = [amount for amount in amounts if amount.uid not in inner]
    rows = rows_of(run, "bytecodes", unit.each(amounts))
    if unit.is_whole_repeatable:
        whole = record(replace(run, unit=""), "instructions")
        rows.add(run.uid, {"bytecodes": float(sum(whole.amounts))}, size=run.size)
    return rows


def _counting(run: Run, meter: str) -> tuple[Run, Path, bool]:
    """The run with what counts in it, the folder for what that writes, and whether it is the one in
    C.
    """
    folder = run.scratch / f"bytecode-{'unit' if run.unit else 'whole'}"
    folder.mkdir()
    path = python_path(run.env, inside.BYTECODE_INSIDE / "python")
    modules, _ = extension(run, inside.BYTECODE_INSIDE / "counts.c")
    asked = {PREFIX: str(folder), f"{PREFIX}_METER": meter} | {
        f"{PREFIX}_MODULE": f"{tag}:{module}" for tag, module in modules
    }
    env = {"PYTHONHASHSEED": "0", **run.env, "PYTHONPATH": path, **asked}
    return replace(run, env=env), folder, bool(modules)


def _files(run: Run, folder: Path, unit: UnitRun | None, counted: Counted) -> list[Path]:
    """What the interpreters wrote: of whole processes, and of the chosen runs of the unit."""
    runs, processes = ([*folder.glob(f"{kind}-*.json")] for kind in ("run", "process"))
    if len(runs) + len(processes) > MAX_FILES:
        raise CollectError(
            f"{name_command(run.argv)} started over {MAX_FILES:,} interpreters: give it less to do"
        )
    began, ended = (
        {_process_of(file) for file in files}
        for files in (folder.glob("began-*"), (*runs, *processes))
    )
    if unit is not None:
        chosen = unit.chosen(map(_run_of, runs))
        runs, processes = (
            [file for file in files if _run_of(file) in chosen] for files in (runs, processes)
        )
        counted.runs = len(runs)
    elif not processes:
        raise CollectError(
            f"{name_command(run.argv)} started no Python that loads the counter: leave out the"
            " options -I, -E and -S, do not clear PYTHONPATH, and let it end by itself",
            lasting=True,
        )
    if lost := len(began - ended):
        counted.warnings.append(
            f"{lost} of {len(began)} processes of {name_command(run.argv)} did not end"
            " Python normally (os._exit, signals; workers of multiprocessing do) and are not"
            " counted: let one process do the work"
        )
    return sorted(runs) + sorted(processes)


def _run_of(file: Path) -> int:
    """The number of the unit's run in a file's name; 0 where it has none."""
    number = file.stem.rpartition("-")[2]
    return int(number) if number.isdecimal() and len(number) < 10 else 0


def _process_of(file: Path) -> str:
    """The number of the process that wrote a file."""
    return file.name.split("-")[1].removesuffix(".json")


def _total(process: ProcessCalls, file: Path) -> float:
    """All instructions of a process, without those that switch the counter off."""
    counted = Counted()
    _add(process, counted, "", file.name)
    return float(sum(counted.amounts))


def _decoded(path: Path) -> ProcessCalls:
    """What a process wrote; raises CollectError."""
    content = read_at_most(path, LARGEST_FILE)
    if len(content) > LARGEST_FILE:
        raise CollectError(
            f"{path.name} has over {LARGEST_FILE >> 20} MiB: give the program less to do"
        )
    try:
        return msgspec.json.decode(content, type=ProcessCalls)
    except UNDECODABLE:
        raise CollectError(FOREIGN.format(path.name)) from None


def _add(process: ProcessCalls, counted: Counted, cwd: str, name: str) -> None:
    """Adds the trees of a process, whose file has a name; raises CollectError."""
    try:
        names = [_frame(name, file, cwd) for name, file in process.frames]
        for tree in process.trees:
            counted.add(names, tree)
    except ValueError:
        raise CollectError(FOREIGN.format(name)) from None


def _frame(name: str, file: str, cwd: str) -> str:
    """A function's name in a profile: with its file, or for C with its module.

    >>> _frame("list.append", "<builtins>", "/home/me")
    'list.append (builtins)'
    >>> _frame("Heap.push", "/home/me/heap.py", "/home/me")
    'Heap.push (heap.py)'
    """
    if file.startswith("<") and not file.startswith(("<frozen", "<string", "<stdin")):
        return python(name, file[1:-1] or "?", cwd)
    return python(name, file, cwd)


def observations(
    run: Run, counted: Counted, metrics: Mapping[str, Metric], least: float
) -> Observations:
    """The rows; ``least`` is the share of all instructions and calls below which functions and
    paths are left out.
    """
    rows = Observations(
        metrics=dict(metrics),
        values={name: [] for name in metrics},
        warnings=list(counted.warnings),
    )
    one = 1 / max(1, counted.runs)
    scale = one if "bytecodes" in metrics else one / SECOND
    exclusive = [amount * scale for amount in counted.amounts]
    entered = [calls * one for calls in counted.entered]
    whole, below = (inclusive(of, counted.parents) for of in (exclusive, entered))
    if "bytecodes" in metrics:
        rows.add(run.uid, {"bytecodes": whole[0]}, size=run.size)
    large = [
        cost >= least * whole[0] or calls >= least * below[0]
        for cost, calls in zip(whole, below, strict=True)
    ]
    calls = [first + again * one for first, again in zip(entered, counted.again, strict=True)]
    _append_functions(rows, run, counted, (exclusive, whole, calls), large)
    rows.stacks = Stacks([], [])
    frames: dict[str, int] = {}
    paths: list[list[int]] = [[]]
    for node in range(1, len(exclusive)):
        name = counted.names[node]
        path: list[int] = []
        if large[node]:  # a node below one that is left out is left out too: it has less
            path = [*paths[counted.parents[node]], frames.setdefault(name, len(frames))]
            row = {"self": exclusive[node], "entered": entered[node]}
            rows.add(name, row, size=run.size, trace=len(rows.stacks.stacks))
            rows.stacks.stacks.append(path)
        paths.append(path)
    rows.stacks.frames.extend(frames)
    return rows


def _append_functions(
    observations: Observations,
    run: Run,
    counted: Counted,
    costs: tuple[list[float], list[float], list[float]],
    large: list[bool],
) -> None:
    """A row per function, which counts once what happened while it was active.

    ``costs`` are those of each node itself and with all below it, and its calls; ``large`` says
    whether it is large enough to be kept.
    """
    own, whole, called = costs
    exclusive, whole_of, calls = (defaultdict[str, float](float) for _ in costs)
    nodes = range(1, len(large))
    for node in nodes:
        name = counted.names[node]
        exclusive[name] += own[node]
        recursive = above(counted.names, counted.parents, counted.parents[node], name) is not None
        whole_of[name] += 0.0 if recursive else whole[node]
        calls[name] += called[node]
    chosen = {counted.names[node] for node in nodes if large[node]}
    for name in sorted(chosen, key=lambda name: (-whole_of[name], name)):
        row = {"exclusive": exclusive[name], "inclusive": whole_of[name], "calls": calls[name]}
        observations.add(name, row, size=run.size)
