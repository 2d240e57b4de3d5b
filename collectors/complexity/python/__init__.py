"""Calls of Python functions: the program's own interpreters record them, with probes put into the
functions' bodies.

``collectors/complexity/inside/python`` is what runs there; this side names the functions to it, and
reads what it wrote.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from perfvcs.collectors._shared.commandrun import launched, python_path
from perfvcs.collectors.complexity import inside
from perfvcs.collectors.complexity.calls import Calls, Interrupted, RecordingRequest, Records, read
from perfvcs.collectors.complexity.python.notes import (
    SLOW_RECORDING,
    FunctionLocation,
    RecorderNotes,
    Timed,
    compiled_recorder,
    read_notes,
)
from perfvcs.collectors.complexity.python.questions import check_defined, discover, entries, remarks
from perfvcs.launcher import LaunchOptions
from perfvcs.launcher.execution import Execution, Pace, failure, name_command
from perfvcs.plugins.collector import CollectError, Run
from perfvcs.system.numeric import np

VERSION = "/1"  # of the ways to record, as the interpreters know it too
SEPARATOR, END = "\x1f", "\x1e"  # as perfvcs_hook has them


def record(run: Run, request: RecordingRequest) -> Calls:
    """Execute once and record the calls of the functions; raises CollectError, with what there is
    when the program failed half way.
    """
    places, lines = [FunctionLocation.of(function) for function in request.functions], list[str]()
    if not places:
        places = discover(
            run, request.most, lambda: _timed(run), lambda some: _sizes(run, request, some)
        )
        lines.append(entries(places))
    calls, _ = _recorded(run, request, places, run.scratch / "calls")
    calls.warnings[:0] = lines
    return calls


def _recorded(
    run: Run, request: RecordingRequest, places: Sequence[FunctionLocation], folder: Path
) -> tuple[Calls, RecorderNotes]:
    modules, reason_for_none = compiled_recorder(run)
    ask(folder, places, request, modules)
    execution = execute(run, folder)
    notes = read_notes(folder)
    reason = failure(run.argv, execution, run.timeout)
    if reason is None:
        check_started(run, notes)
        check_defined(places, notes)
    try:
        records = read(folder, len(places), request.keep)
    except CollectError as error:
        raise CollectError(f"{name_command(run.argv)}: {error}") from None
    slow = [f"{SLOW_RECORDING}: {line}" for line in dict.fromkeys(notes.slow)]
    calls = _calls(
        places, notes, records, execution.pace, [reason_for_none] if reason_for_none else slow
    )
    if reason is not None:
        raise Interrupted(reason, calls, lasting=execution.timed_out)
    return calls, notes


def _timed(run: Run) -> list[Timed]:
    """What all functions of the project took in one execution."""
    folder = run.scratch / "discovery"
    folder.mkdir()
    (folder / "request").write_text(
        SEPARATOR.join(("discover", str(run.cwd))) + END, encoding="utf-8", errors="surrogateescape"
    )
    execution = execute(run, folder)
    if reason := failure(run.argv, execution, run.timeout):
        raise CollectError(reason, lasting=execution.timed_out)
    notes = read_notes(folder)
    check_started(run, notes)
    return notes.timed


def _sizes(
    run: Run, request: RecordingRequest, places: list[FunctionLocation]
) -> dict[FunctionLocation, tuple[int, str]]:
    """How many different sizes calls of these functions had in one execution, and what is their
    size.
    """
    calls, notes = _recorded(run, request, places, run.scratch / "sizes")
    by_place = {}
    for number, place in enumerate(places):
        size = calls.size[calls.function == number]
        by_place[place] = (
            len(np.unique(size[~np.isnan(size)])),
            next(iter(notes.guesses[number]), ""),
        )
    return by_place


def environment(run: Run, folder: Path) -> dict[str, str]:
    """The environment in which interpreters record what the file ``request`` in ``folder`` asks
    for.
    """
    path = python_path(run.env, inside.COMPLEXITY_INSIDE / "python")
    return {**run.env, "PYTHONPATH": path, "PERFVCS_TRACING": str(folder / "request")}


def execute(run: Run, folder: Path) -> Execution:
    """Run the command with the recorder in its interpreters; raises CollectError."""
    return launched(
        run, env=environment(run, folder), options=LaunchOptions(run.cpus, run.aslr, pace=True)
    )


def check_started(run: Run, notes: RecorderNotes) -> None:
    """Raises CollectError when no interpreter loaded the recorder."""
    if not notes.interpreters:
        raise CollectError(
            f"{name_command(run.argv)} started no Python that loads the recorder: leave out the"
            " options -I, -E and -S, do not clear PYTHONPATH, and use Python 3.9 or newer",
            lasting=True,
        )


def ask(
    folder: Path,
    places: Sequence[FunctionLocation],
    request: RecordingRequest,
    modules: Sequence[tuple[str, Path]],
) -> None:
    """Write what the interpreters are to record."""
    folder.mkdir()
    lines: list[Sequence[object]] = [
        (request.keep, int(request.outermost), *(part for pair in modules for part in pair))
    ]
    lines += [
        (number, place.module, place.name, place.line, place.size or "")
        for number, place in enumerate(places)
    ]
    text = "".join(SEPARATOR.join(map(str, line)) + END for line in lines)
    (folder / "request").write_text(text, encoding="utf-8", errors="surrogateescape")


def _calls(
    places: Sequence[FunctionLocation],
    notes: RecorderNotes,
    records: Records,
    pace: Pace | None,
    lines: list[str],
) -> Calls:
    return Calls(
        names=[place.uid for place in places],
        function=records.function,
        size=records.size,
        duration=records.duration,
        cost=records.cost,
        number=records.number,
        rate=records.rate,
        pace=(pace or Pace()).at(records.start),
        engine="+".join(sorted(engine.partition("/")[0] for engine in notes.engines) or ["rewrite"])
        + VERSION,
        warnings=[*lines, *remarks(places, notes, records)],
        left=int(records.unfinished.sum()),
    )
