"""Python programs: their interpreters record themselves (``collectors/memory/inside/python``), with
memray or else tracemalloc.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from perfvcs.collectors._shared.commandrun import executed, python_path, read_part
from perfvcs.collectors.memory import inside
from perfvcs.collectors.memory.heap import Heap, RecordingInterpreter
from perfvcs.launcher.execution import name_command
from perfvcs.plugins.collector import CollectError, Run
from perfvcs.system.foreign import UNDECODABLE

if TYPE_CHECKING:
    from perfvcs.collectors.memory import Memory

PREFIX = "PERFVCS_HEAP"
MAX_FILES = 10_000
INSTALL = "pip install 'memray>=1.10', beside perfvcs or into the measured project's environment"
# Any of these: of a long message only the end is kept.
LOST_FILE = re.compile(
    r"grow output file|Failed to write output, deactivating|__ios_failure|basic_filebuf::"
)
CLOSED = (
    "memray lost its file: close descriptors by os.closerange, which leaves it out, or set recorder"
    ' = "tracemalloc"'
)
NO_MEMRAY = (
    "memory: tracemalloc tells peaks but neither counts nor bytes, since this Python has no"
    f" memray: {INSTALL}"
)


def record(run: Run, request: Memory) -> Heap:
    """Execute once and record what its interpreters allocate; raises CollectError."""
    folder = run.scratch / "heap"
    folder.mkdir()
    try:
        executed(run, env={**run.env, **_environment(run, request, folder)})
    except CollectError as error:
        if request.recorder == "tracemalloc" or not LOST_FILE.search(str(error)):
            raise
        raise CollectError(f"{error}: {CLOSED}") from None
    if _files(folder, "lost-*.json"):
        raise CollectError(f"{name_command(run.argv)}: {CLOSED}")
    interpreters = [_interpreter(path) for path in _files(folder, "python-*.json")]
    if not interpreters:
        raise CollectError(
            f"{name_command(run.argv)} started no Python that loads the recorder: leave out the"
            " options -I, -E and -S, do not clear PYTHONPATH, and use Python 3.9 or newer; for a"
            ' program that is not Python, set recorder = "shim"'
        )
    captures = _files(folder, "memray-*.bin*")
    if captures:
        from perfvcs.collectors.memory.captures import captured_heap

        lost = sum(not interpreter.memray for interpreter in interpreters)
        made = captured_heap(
            captures,
            next(interpreter for interpreter in interpreters if interpreter.memray),
            run,
            request,
        )
        made.warnings.extend(
            [f"memory: {lost} of its interpreters have no memray and are left out: {INSTALL}"]
            if lost
            else []
        )
        return made
    if request.recorder == "memray":
        raise CollectError(f"memory: the measured Python has no memray: {INSTALL}", lasting=True)
    from perfvcs.collectors.memory.captures import traced_heap as traced

    traces = _files(folder, "tracemalloc-*.json")
    warnings, lost = (
        [NO_MEMRAY] if request.recorder == "auto" else [],
        len(_files(folder, "began-*.json")) - len(traces),
    )
    if lost > 0:
        warnings.append(
            f"memory: {lost} process{'es' * (lost != 1)} did not end Python normally (os._exit,"
            " exec, signals; workers of multiprocessing do): tracemalloc leaves out what they"
            f" allocated, memray does not: {INSTALL}"
        )
    return traced(traces, run, request, warnings)


def _environment(run: Run, request: Memory, folder: Path) -> dict[str, str]:
    """The interpreters' environment; hashes are the same each time, unless the program sets
    them.
    """
    return {
        "PYTHONPATH": python_path(run.env, inside.MEMORY_INSIDE / "python"),
        "PYTHONHASHSEED": run.env.get("PYTHONHASHSEED", "0"),
        PREFIX: str(folder),
        f"{PREFIX}_RECORDER": request.recorder,
        f"{PREFIX}_EXACT": str(int(request.exact)),
        f"{PREFIX}_SITES": str(request.sites),
        f"{PREFIX}_MEMRAY": f"{sys.implementation.cache_tag}:{_own_memray()}",
    }


def _own_memray() -> str:
    """The folder with perfvcs' own memray, for interpreters of the same version; empty where there
    is none.
    """
    spec = find_spec("memray")
    return str(Path(spec.origin).parents[1]) if spec is not None and spec.origin else ""


def _files(folder: Path, pattern: str) -> Sequence[Path]:
    files = sorted(folder.glob(pattern))
    if len(files) > MAX_FILES:
        raise CollectError(
            f"memory: over {MAX_FILES:,} interpreters were started: measure fewer at once"
        )
    return files


def _interpreter(path: Path) -> RecordingInterpreter:
    try:
        return msgspec.json.decode(read_part(path, 0, 1 << 16), type=RecordingInterpreter)
    except UNDECODABLE:
        raise CollectError(
            f"{path.name} is not what perfvcs wrote: the program must leave it alone"
        ) from None
