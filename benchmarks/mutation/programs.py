"""Readers of what measured programs, and the tools that measure them, leave in a folder or write to
a pipe.
"""

from __future__ import annotations

import os
from pathlib import Path

from perfvcs.collectors.memory import Memory
from perfvcs.plugins.collector import Run

from . import recordings


def run_in(folder: Path) -> Run:
    """An execution in a folder."""
    return Run(("/bin/true",), folder, {}, folder, "all")


def put(folder: Path, name: str, document: bytes) -> Path:
    """A file with a document."""
    path = folder / name
    path.write_bytes(document)
    return path


def samples(document: bytes, folder: Path) -> object:
    from perfvcs.launcher.samples import read_samples
    from perfvcs.profile import Metric

    return read_samples(put(folder, "samples", document), {"wall": Metric("s")}, "all")


def callgrind(document: bytes, folder: Path) -> object:
    from perfvcs.collectors.instructions.countfiles import CountedProgram, read
    from perfvcs.collectors.instructions.paths import observations
    from perfvcs.profile import Metric

    put(folder, "counts.1", document)
    counts = read(folder, CountedProgram(("/bin/true",)))
    metrics = dict.fromkeys(
        ("instructions", "exclusive", "inclusive", "calls", "self", "repeatability"), Metric("")
    )
    return observations(run_in(folder), counts, metrics, (), 0.001, None)


def perf_stat(document: bytes, folder: Path) -> object:
    from perfvcs.collectors.instructions.hardware import _count

    return _count(put(folder, "answer", document))


def tracemalloc(document: bytes, folder: Path) -> object:
    from perfvcs.collectors.memory.captures import traced_heap

    return traced_heap([put(folder, "tracemalloc-1.json", document)], run_in(folder), Memory(), [])


def memray(document: bytes, folder: Path) -> object:
    from perfvcs.collectors.memory.captures import combined

    return combined(document, run_in(folder), Memory())


def interpreter(document: bytes, folder: Path) -> object:
    from perfvcs.collectors.memory.python import _interpreter as read

    return read(put(folder, "python-1.json", document))


def shim(document: bytes, folder: Path) -> object:
    from perfvcs.collectors.memory.census import HEADER, SITES, heap, read

    # the mutant is the header, the sites, the pool and the modules without the empty space between
    # them
    head, modules = document.rsplit(b"|map|", 1) if b"|map|" in document else (document, b"")
    path = folder / "memory-1.bin"
    head, pool = head[: HEADER + recordings.SHIM_SITES], head[HEADER + recordings.SHIM_SITES :]
    with path.open("wb") as file:
        file.write(head)
        file.truncate(HEADER + SITES * recordings.SHIM_SITE)
        file.seek(HEADER + SITES * recordings.SHIM_SITE)
        file.write(pool)
    put(folder, "memory-1.map", modules)
    return heap(read(folder), run_in(folder), Memory(), "allocations/1", [])


def pyspy(document: bytes, folder: Path) -> object:
    from perfvcs.collectors.samples import _observations
    from perfvcs.collectors.samples.pyspy import REPORT, PySpy

    put(folder, REPORT, document)
    sampler = PySpy()
    return _observations(
        run_in(folder),
        sampler,
        sampler.read(run_in(folder), folder, document[-200:].decode(errors="replace")),
    )


def perf_script(document: bytes, folder: Path) -> object:
    from perfvcs.collectors.samples.linux import fold

    return fold(document.decode(errors="replace").splitlines(keepends=True), str(folder))


def attach(document: bytes, folder: Path) -> object:
    from perfvcs.collectors.samples.sampler import _refused

    return _refused(put(folder, "attach.txt", document))


def calls(document: bytes, folder: Path) -> object:
    from perfvcs.collectors.complexity.calls import read

    put(folder, "calls-1-1.bin", document)
    return read(folder, 2, 200)


def fentry(document: bytes, folder: Path) -> object:
    from perfvcs.collectors.complexity.native.records import read

    put(folder, "fentry-1.bin", document)
    return read(folder, 2, 200)


def notes(document: bytes, folder: Path) -> object:
    from perfvcs.collectors.complexity.python.notes import read_notes

    put(folder, "notes-1.txt", document)
    return read_notes(folder)


def pytest(document: bytes, folder: Path) -> object:
    from perfvcs.collectors._shared.testing.pluginnotes import read_notes
    from perfvcs.collectors._shared.testing.suite import outcomes
    from perfvcs.collectors.pytest import Known, Pytest, _observations, _reached

    put(folder, "notes-1.jsonl", document)
    notes = read_notes(folder)
    known = Known(outcomes(notes), _reached(notes, folder))
    return _observations(run_in(folder), Pytest(), known, notes, set(), set())


def source(document: bytes, folder: Path) -> object:
    from perfvcs.collectors._shared.testing.suite import _names
    from perfvcs.collectors.complexity.python.questions import definitions

    path = put(folder, "module.py", document)
    return definitions(path), _names(path)


def process(document: bytes, folder: Path) -> object:  # noqa: ARG001
    """Not of the program, but it names itself in it; the other fields are the kernel's."""
    from perfvcs.collectors.counters.processes import Ended, Stat

    try:
        return Stat.of(b"12 (" + document + b") " + b" ".join([b"S", *[b"1"] * 50]))
    except Ended:
        return None


def pace(document: bytes, folder: Path) -> object:
    import os

    from perfvcs.launcher.execution import Pace

    with put(folder, "pace", document).open("rb") as file:
        pace = Pace.of(file.fileno())
    return pace.mean, pace.at([1e9, 5e12]), os


def elf(document: bytes, folder: Path) -> object:
    from perfvcs.collectors._shared.symbols import look_up
    from perfvcs.collectors.complexity.native.debugfunctions import BinaryFunctions
    from perfvcs.collectors.complexity.native.elf import Elf, reading
    from perfvcs.collectors.memory.heap import _linkage

    path = put(folder, "program", document)
    _linkage.__wrapped__(str(path), len(document), 0)
    look_up(str(path), [0x1129, 0x1140])
    with reading(path):
        found = BinaryFunctions.read(Elf.read(path), hooked=False)
        return [(one.name, [parameter.type for parameter in one.parameters]) for one in found.found]


def frames(document: bytes, folder: Path) -> object:
    """Names of functions and files as all engines tidy them."""
    from perfvcs.collectors._shared import frames
    from perfvcs.collectors.memory.heap import HeapFrame, owner
    from perfvcs.formats._metric import described, usable
    from perfvcs.system.foreign import printable

    text = document.decode(errors="replace")
    name, _, file = text.partition("\n")
    frames.native.cache_clear()
    frames.python.cache_clear()
    return (
        frames.native(name, file, str(folder)),
        frames.python(name, file, str(folder)),
        owner((HeapFrame(printable(name), "", file),)),
        usable(name),
        described(name[:10_000]),
    )


def launcher(document: bytes, folder: Path) -> object:
    from perfvcs.launcher.launchreport import executed, read_report

    with put(folder, "report", document).open("rb") as file:
        os.lseek(file.fileno(), 0, os.SEEK_END)  # where the launcher's own lines have left it
        return executed(("/bin/true",), (), read_report(file.fileno()), 0, "")
