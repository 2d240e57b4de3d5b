"""Calls of functions in C and C++: a preloaded runtime records those that were compiled with ``-pg
-mfentry``.

``inside/fentry`` is what runs in the program; this side finds the functions and their sizes in the
program's files, and reads what was recorded.
"""

from __future__ import annotations

import dataclasses
import platform
import struct
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from perfvcs.collectors._shared.commandrun import launched
from perfvcs.collectors.complexity import inside
from perfvcs.collectors.complexity.calls import Calls, Interrupted, RecordingRequest, TracedFunction
from perfvcs.collectors.complexity.native.debugfunctions import BinaryFunctions
from perfvcs.collectors.complexity.native.elf import Elf, Unresolved, reading
from perfvcs.collectors.complexity.native.program import Instruction, Steps
from perfvcs.collectors.complexity.native.recordplan import (
    TraceSelection,
    automatic,
    plugins,
    programs,
    select,
)
from perfvcs.launcher import LaunchOptions
from perfvcs.launcher.execution import Execution, Pace, failure, name_command
from perfvcs.native.compiled import NotCompiled, compiled, preloadable
from perfvcs.plugins.collector import CollectError, Run
from perfvcs.system.numeric import np

if TYPE_CHECKING:
    from perfvcs.collectors.complexity.native.debugfunctions import BinaryFunctions
    from perfvcs.collectors.complexity.native.records import CallRows, Losses


MAGIC, VERSION = b"PVCSFECF", 1
OUTERMOST, PATCH = 1, 2
NONE = 0xFFFFFFFF  # no program, in fentry.c
ENGINE = "fentry/1"
OPTIONS = ("-mgeneral-regs-only", "-ldl", "-lpthread")
GLANCE = 4  # calls kept per function and bucket if all functions are recorded
ROUGH = 0.5  # of the time between begin and end; what is left of less is doubtful
SMALLEST_SHARE = 0.001  # of the time of the slowest; functions below it are not proposed


class BinaryIdentity(NamedTuple):
    """A program file as it is now; ``changed`` in ns since 1970."""

    path: str
    device: int
    inode: int
    size: int
    changed: int


_found: dict[tuple[object, ...], TraceSelection] = {}


def write(path: Path, selection: TraceSelection, *, outermost: bool, keep: int) -> None:
    """Write the file."""
    objects: list[bytes] = []
    sites: list[bytes] = []
    nops: list[bytes] = []
    programs: dict[Steps, int] = {(): NONE}
    steps: list[Instruction] = []
    for file in selection.objects:
        objects.append(
            struct.pack(
                "<QQIIII",
                file.device,
                file.inode,
                len(sites),
                len(file.sites),
                len(nops),
                len(file.others),
            )
        )
        for site in file.sites:
            if site.steps not in programs:
                programs[site.steps] = len(steps)
                steps += site.steps
            sites.append(struct.pack("<QII", site.offset, site.function, programs[site.steps]))
        nops += [struct.pack("<Q", offset) for offset in file.others]
    head = struct.pack(
        "<8sIIIIIIIIQ",
        MAGIC,
        VERSION,
        (OUTERMOST if outermost else 0) | PATCH,
        keep,
        len(selection.names),
        len(objects),
        len(sites),
        len(nops),
        len(steps),
        0,
    )
    packed = [
        struct.pack("<HHIq", step.code, step.argument, step.width, step.value) for step in steps
    ]
    path.write_bytes(b"".join([head, *objects, *sites, *nops, *packed]))


def record(run: Run, request: RecordingRequest) -> Calls:
    """Execute once and record the calls of the functions; raises CollectError, with what there is
    when the program failed half way.
    """
    preloaded = runtime()
    files = tuple(_identity(path) for path in _files(run))
    selection = (
        _selected(files, run, request)
        if request.functions
        else _discovered(files, run, request, preloaded)
    )
    return _calls(run, request, selection, preloaded)


def runtime() -> Path:
    """The compiled runtime, by a path that LD_PRELOAD can hold; raises CollectError."""
    if platform.machine() != "x86_64":
        raise CollectError(
            f"functions of C and C++ are recorded on x86-64 only, this is {platform.machine()}"
        )
    try:
        library = compiled(
            inside.COMPLEXITY_INSIDE / "fentry" / "fentry.c", flags=OPTIONS, shared=True
        )
    except NotCompiled as error:
        raise CollectError(
            f"complexity needs a C compiler to make its recorder: {error}", lasting=True
        ) from None
    return preloadable(library)


def _identity(path: Path) -> BinaryIdentity:
    status = path.stat()
    return BinaryIdentity(
        str(path), status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
    )


def _files(run: Run) -> list[Path]:

    with reading(Path(run.argv[0])):
        return programs(run)


@cache
def _functions(identity: BinaryIdentity) -> BinaryFunctions:
    path = Path(identity.path)
    with reading(path):
        return BinaryFunctions.read(Elf.read(path))


@cache
def _select(
    files: tuple[BinaryIdentity, ...], functions: tuple[TracedFunction, ...]
) -> TraceSelection:

    everything = [_functions(file) for file in files]
    with reading(Path(files[0][0])):
        return select(functions, everything)


def _selected(
    files: tuple[BinaryIdentity, ...], run: Run, request: RecordingRequest
) -> TraceSelection:

    try:
        return _select(files, request.functions)
    except Unresolved:
        further = tuple(
            _identity(path) for path in plugins(run, [Path(file.path) for file in files])
        )
        if not further:
            raise
        return _select(files + further, request.functions)


def _discovered(
    files: tuple[BinaryIdentity, ...], run: Run, request: RecordingRequest, preloaded: Path
) -> TraceSelection:
    """The functions that take the most time of those with a size, found by one execution that
    records all of these.
    """
    key = (files, run.argv, run.cwd, request.most, request.outermost)
    if key in _found:
        return _found[key]
    everything = [_functions(file) for file in files]
    with reading(Path(files[0][0])):
        candidates = automatic(everything, run.cwd)
    glance = dataclasses.replace(run, scratch=Path(tempfile.mkdtemp(dir=run.scratch)))
    calls = _calls(glance, dataclasses.replace(request, keep=GLANCE), candidates, preloaded)
    time = np.bincount(
        calls.function, weights=calls.duration * calls.rate, minlength=len(calls.names)
    )
    spread = [
        len(set(calls.size[calls.function == number].tolist()))
        for number in range(len(calls.names))
    ]
    ranked = sorted(range(len(calls.names)), key=lambda number: (spread[number] < 2, -time[number]))
    best = [number for number in ranked if time[number] > SMALLEST_SHARE * time.max()][
        : request.most
    ]
    if not best:
        raise CollectError(
            "complexity: none of the program's functions with a size was called, or no call ended:"
            " name functions in functions"
        )
    entries = tuple(
        TracedFunction(calls.names[number], candidates.sizes[number]) for number in best
    )
    selection = select(entries, everything)
    shown = ", ".join(f'"{entry.name}={entry.size}"' for entry in entries)
    _found[key] = dataclasses.replace(
        selection, warnings=[f"complexity: chosen by time; to keep them: functions = [{shown}]"]
    )
    return _found[key]


def _calls(
    run: Run, request: RecordingRequest, selection: TraceSelection, preloaded: Path
) -> Calls:
    from perfvcs.collectors.complexity.native.records import read

    folder = run.scratch / "fentry"
    folder.mkdir()
    write(folder / "request", selection, outermost=request.outermost, keep=request.keep)
    execution = _execute(run, folder, preloaded)
    reason = failure(run.argv, execution, run.timeout)
    try:
        rows = read(folder, len(selection.names), request.keep)
    except CollectError as error:
        raise CollectError(f"{name_command(run.argv)}: {error}") from None
    if reason is None and not len(rows.function):
        _check_loaded(run, folder)
        if rows.losses.memory:
            raise CollectError("; ".join(_losses(rows.losses)))
    calls = Calls(
        names=selection.names,
        function=rows.function,
        size=rows.size,
        duration=rows.duration,
        cost=rows.cost,
        number=rows.number,
        rate=rows.rate,
        pace=(execution.pace or Pace()).at(rows.start),
        engine=ENGINE,
        warnings=[*selection.warnings, *_remarks(selection, rows)],
        left=rows.losses.unwound + rows.losses.switched,
    )
    if reason is not None:
        raise Interrupted(reason, calls, lasting=execution.timed_out)
    return calls


def _execute(run: Run, folder: Path, preloaded: Path) -> Execution:
    preload = ":".join(filter(None, (str(preloaded), run.env.get("LD_PRELOAD"))))
    environment = {**run.env, "LD_PRELOAD": preload, "PERFVCS_FENTRY": str(folder / "request")}
    return launched(run, env=environment, options=LaunchOptions(run.cpus, run.aslr, pace=True))


def _check_loaded(run: Run, folder: Path) -> None:
    """Raises CollectError when the runtime was not there, or stayed out of the way."""
    if (folder / "shadow").exists():
        raise CollectError(
            f"{name_command(run.argv)} runs with a shadow stack, so returns cannot be recorded:"
            " unset GLIBC_TUNABLES (x86_shstk)"
        )
    if not (folder / "loaded").exists():
        raise CollectError(
            f"{name_command(run.argv)} does not load what LD_PRELOAD names: start the program"
            " itself, without sudo or setuid, and keep its environment"
        )


def _remarks(selection: TraceSelection, rows: CallRows) -> list[str]:
    lines = []
    count = np.bincount(rows.function, minlength=len(selection.names))
    uncalled = [name for name, calls in zip(selection.names, count, strict=True) if not calls]
    if uncalled and len(uncalled) < len(selection.names):
        lost = any(dataclasses.astuple(rows.losses))
        lines.append(
            f"complexity: {', '.join(uncalled)}"
            f" {'has no recorded calls' if lost else 'was not called'}"
        )
    sizeless = np.bincount(
        rows.function, weights=np.isnan(rows.size) * rows.rate, minlength=len(selection.names)
    )
    for name, size, calls in zip(selection.names, selection.sizes, sizeless, strict=True):
        if size is not None and calls:
            lines.append(
                f"complexity: {name}={size} had no value in {round(calls):,} calls (a null pointer,"
                " or a division by zero)"
            )
    return lines + _rough(selection.names, rows) + _losses(rows.losses)


def _rough(names: list[str], rows: CallRows) -> list[str]:
    net, gross = (
        np.bincount(rows.function, weights=durations * rows.rate, minlength=len(names))
        for durations in (rows.duration, rows.duration + rows.cost)
    )
    rough = [
        name
        for name, exclusive, whole in zip(names, net, gross, strict=True)
        if exclusive < ROUGH * whole
    ]
    if not rough:
        return []
    return [
        f"complexity: most of the time measured of {', '.join(rough)} was the recorder's own, which"
        " is subtracted: these durations are rough; record fewer or longer calls"
    ]


def _losses(losses: Losses) -> list[str]:
    lines = {
        "unwound": (
            "were left by an exception, a long jump or the thread's end and are not recorded"
        ),
        "switched": "left their stack (coroutines) and are not recorded",
        "missed": "were made by signal handlers that interrupted the recorder and are not recorded",
        "full": "were nested too deep (over 131,072 open calls) and are not recorded",
        "memory": (
            "are not recorded: there was no space, or too little allowed (ulimit -f), in the folder"
            " for temporary files"
        ),
    }
    return [
        f"complexity: {count:,} calls {line}"
        for name, line in lines.items()
        if (count := getattr(losses, name))
    ]
