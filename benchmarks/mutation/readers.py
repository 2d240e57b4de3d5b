"""All readers of foreign bytes, each with documents that it reads: ``READERS`` has them by name."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from mutation import documents, kept, recordings
from perfvcs import formats
from perfvcs.collector import Run
from perfvcs.collectors.memory.heap import AllocationRequest

OURS = "perf-mutants"  # what the files of a reader are called


@dataclass(frozen=True)
class Reader:
    """What reads a document in an empty folder, and what it reads; ``share`` of the documents, 1 for most."""

    read: Callable[[bytes, Path], object]
    seeds: Sequence[bytes]
    share: float = 1.0


def _run(folder: Path) -> Run:
    return Run(("/bin/true",), folder, {}, folder, "all")


def _put(folder: Path, name: str, document: bytes) -> Path:
    path = folder / name
    path.write_bytes(document)
    return path


def _imported(suffix: str) -> Callable[[bytes, Path], object]:
    """As `perf import` does it: what was read is written in our own format, and placed in the store."""

    def read(document: bytes, folder: Path) -> object:  # noqa: ARG001
        from perfvcs.store.document import path_of
        from perfvcs.summary import Measured

        profile = formats.decode(document, f"mutant{suffix}")
        encoded = profile.encode()
        return path_of(profile, encoded), Measured.of(profile), [formats.encode(profile, name) for name in ("csv", "perun")]

    return read


def _taken(format_name: str) -> Callable[[bytes, Path], object]:
    """As `perf import` does it with a named format, whose files may hold many profiles."""

    def read(document: bytes, folder: Path) -> object:  # noqa: ARG001
        from perfvcs.store.document import path_of
        from perfvcs.summary import Measured

        profiles = list(formats.decode_all(document, "mutant", format_name))
        return [(path_of(profile, profile.encode()), Measured.of(profile)) for profile in profiles]

    return read


def _stored(document: bytes, folder: Path) -> object:  # noqa: ARG001
    """As the index does it with what other people pushed."""
    from perfvcs.profile import decode
    from perfvcs.summary import Measured

    return Measured.of(decode(document))


def _objects(document: bytes, folder: Path) -> object:
    from perfvcs.exchange.objects import indexed, is_index, is_object

    store = folder / "ab"
    store.mkdir(exist_ok=True)
    path = _put(store, "c" * 38, document)
    return is_object(path), is_index(path), indexed(path)


def _config(document: bytes, folder: Path) -> object:
    from perfvcs.jobs import matrix
    from perfvcs.jobs.config import load

    config = load(_put(folder, "perf.toml", document))
    return matrix(config)


def _accepted(document: bytes, folder: Path) -> object:
    from perfvcs.check.register import load

    return load(_put(folder, "perf-accepted.toml", document))


def _samples(document: bytes, folder: Path) -> object:
    from perfvcs.launcher.samples import read_samples
    from perfvcs.profile import Metric

    return read_samples(_put(folder, "samples", document), {"wall": Metric("s")}, "all")


def _callgrind(document: bytes, folder: Path) -> object:
    from perfvcs.collectors.instructions.rows import observations
    from perfvcs.collectors.instructions.valgrind import read
    from perfvcs.profile import Metric

    _put(folder, "counts.1", document)
    counts = read(folder, ("/bin/true",), None)
    metrics = dict.fromkeys(("instructions", "exclusive", "inclusive", "calls", "self", "repeatability"), Metric(""))
    return observations(_run(folder), counts, metrics, (), 0.001, None)


def _perf_stat(document: bytes, folder: Path) -> object:
    from perfvcs.collectors.instructions.hardware import _count

    return _count(_put(folder, "answer", document))


def _tracemalloc(document: bytes, folder: Path) -> object:
    from perfvcs.collectors.memory.traces import heap

    return heap([_put(folder, "tracemalloc-1.json", document)], _run(folder), AllocationRequest(), [])


def _memray(document: bytes, folder: Path) -> object:
    from perfvcs.collectors.memory.captures import combined

    return combined(document, _run(folder), AllocationRequest())


def _interpreter(document: bytes, folder: Path) -> object:
    from perfvcs.collectors.memory.python import _interpreter as read

    return read(_put(folder, "python-1.json", document))


def _shim(document: bytes, folder: Path) -> object:
    from perfvcs.collectors.memory.census import heap
    from perfvcs.collectors.memory.record import HEADER, SITES, read

    # the mutant is the header, the sites, the pool and the modules without the empty space between them
    head, modules = document.rsplit(b"|map|", 1) if b"|map|" in document else (document, b"")
    path = folder / "memory-1.bin"
    head, pool = head[: HEADER + recordings.SHIM_SITES], head[HEADER + recordings.SHIM_SITES :]
    with path.open("wb") as file:
        file.write(head)
        file.truncate(HEADER + SITES * recordings.SHIM_SITE)
        file.seek(HEADER + SITES * recordings.SHIM_SITE)
        file.write(pool)
    _put(folder, "memory-1.map", modules)
    return heap(read(folder), _run(folder), AllocationRequest(), "allocations/1", [])


def _pyspy(document: bytes, folder: Path) -> object:
    from perfvcs.collectors.samples import _observations
    from perfvcs.collectors.samples.pyspy import REPORT, PySpy

    _put(folder, REPORT, document)
    sampler = PySpy()
    return _observations(_run(folder), sampler, sampler.read(_run(folder), folder, document[-200:].decode(errors="replace")))


def _perf_script(document: bytes, folder: Path) -> object:
    from perfvcs.collectors.samples.linux import fold

    return fold(document.decode(errors="replace").splitlines(keepends=True), str(folder))


def _attach(document: bytes, folder: Path) -> object:
    from perfvcs.collectors.samples.recording import _refused

    return _refused(_put(folder, "attach.txt", document))


def _calls(document: bytes, folder: Path) -> object:
    from perfvcs.collectors.complexity.calls.recording import read

    _put(folder, "calls-1-1.bin", document)
    return read(folder, 2, 200)


def _fentry(document: bytes, folder: Path) -> object:
    from perfvcs.collectors.complexity.native.records import read

    _put(folder, "fentry-1.bin", document)
    return read(folder, 2, 200)


def _uftrace(document: bytes, folder: Path) -> object:
    from perfvcs.collectors.complexity.calls import RecordingRequest as Asked
    from perfvcs.collectors.complexity.native.program import SIGNED_FLAG, Code, Instruction
    from perfvcs.collectors.complexity.native.uftrace import TracedTarget, _read
    from perfvcs.launcher.pace import Pace

    program = _put(folder, "program", b"\x7fELF" + bytes(12) + b"\x03\x00")
    steps = (Instruction(Code.REGISTER, 0, 4 | SIGNED_FLAG), Instruction(Code.REGISTER))
    targets = [TracedTarget("f", "f", program, 0x1000, steps), TracedTarget("g", "g", program, 0x2000, ())]
    records, _, modules = document.partition(b"|map|")
    _put(folder, "1.dat", records)
    _put(folder, "sid-1.map", modules.replace(b"PROGRAM", bytes(program)))
    return _read(folder, targets, Asked(()), [], _run(folder), Pace())


def _notes(document: bytes, folder: Path) -> object:
    from perfvcs.collectors.complexity.python.notes import read_notes

    _put(folder, "notes-1.txt", document)
    return read_notes(folder)


def _pytest(document: bytes, folder: Path) -> object:
    from perfvcs.collectors.pytest.notes import read_notes
    from perfvcs.collectors.pytest.session import Known, Settings, _observations, _reached
    from perfvcs.collectors.pytest.suite import outcomes

    _put(folder, "notes-1.jsonl", document)
    notes = read_notes(folder)
    known = Known(outcomes(notes), _reached(notes, folder))
    return _observations(_run(folder), Settings(10, 0.1, True), known, notes, set(), set())


def _source(document: bytes, folder: Path) -> object:
    from perfvcs.collectors.complexity.python.questions import definitions
    from perfvcs.collectors.pytest.names import _names

    path = _put(folder, "module.py", document)
    return definitions(path), _names(path)


def _process(document: bytes, folder: Path) -> object:  # noqa: ARG001
    """Not of the program, but it names itself in it; the other fields are the kernel's."""
    from perfvcs.collectors.counters.processes import Ended, Stat

    try:
        return Stat.of(b"12 (" + document + b") " + b" ".join([b"S", *[b"1"] * 50]))
    except Ended:
        return None


def _pace(document: bytes, folder: Path) -> object:
    import os

    from perfvcs.launcher.pace import Pace

    with _put(folder, "pace", document).open("rb") as file:
        pace = Pace.of(file.fileno())
    return pace.mean, pace.at([1e9, 5e12]), os


def _elf(document: bytes, folder: Path) -> object:
    from perfvcs.collectors._shared.debuginfo import look_up
    from perfvcs.collectors.complexity.native.elf import Elf
    from perfvcs.collectors.complexity.native.functions import BinaryFunctions
    from perfvcs.collectors.complexity.native.reading import reading
    from perfvcs.collectors.memory.program import _linkage

    path = _put(folder, "program", document)
    _linkage.__wrapped__(str(path), len(document), 0)
    look_up(str(path), [0x1129, 0x1140])
    with reading(path):
        found = BinaryFunctions.read(Elf.read(path), hooked=False)
        return [(one.name, [parameter.type for parameter in one.parameters]) for one in found.found]


def _frames(document: bytes, folder: Path) -> object:
    """Names of functions and files as all engines tidy them."""
    from perfvcs.collectors._shared import frames
    from perfvcs.collectors._shared.recording import printable
    from perfvcs.collectors.memory.heap import owner
    from perfvcs.formats._metric import described, usable

    text = document.decode(errors="replace")
    name, _, file = text.partition("\n")
    frames.native.cache_clear()
    frames.python.cache_clear()
    return (
        frames.native(name, file, str(folder)),
        frames.python(name, file, str(folder)),
        owner(((printable(name), "", file),)),
        usable(name),
        described(name[:10_000]),
    )


def _report(document: bytes, folder: Path) -> object:  # noqa: ARG001
    """A verdict as it is remembered beside the index."""
    from perfvcs.check.document import decode
    from perfvcs.check.text import text

    return text(decode(document))


def _database(name: str) -> Callable[[bytes, Path], object]:
    def read(document: bytes, folder: Path) -> object:
        from perfvcs.index.findings import Findings
        from perfvcs.index.verdicts import LastVerdicts

        path = _put(folder, name, document)
        if name == "verdicts.db":
            memory = LastVerdicts(path)
            try:
                return memory.of(["a" * 40]), memory.recall("b" * 40, "a" * 40), list(memory.all())
            finally:
                memory.close()
        findings = Findings(path)
        try:
            return findings.judged([kept.given()])
        finally:
            findings.close()

    return read


def _index(document: bytes, folder: Path) -> object:
    from perfvcs.index import Index

    index = Index(kept.store(), _put(folder, "index.db", document))
    try:
        commits = [f"{number:040x}" for number in range(1, 3)]
        return (
            index.headers(),
            index.measured(commits),
            index.counts(commits),
            index.series(),
            index.lines(),
            [index.history(job.key) for job in index.series()],
            index.spreads(commits),
            index.find("0"),
            index.made_from("a" * 64),
            index.damaged(),
            index.courses([1], commits),
        )
    finally:
        index.close()


def _audits(document: bytes, folder: Path) -> object:
    from perfvcs.reports.replay import _Cache

    return _Cache(_put(folder, "audits.json", document)).get("a")


def _manifest(document: bytes, folder: Path) -> object:
    import os

    from perfvcs.site.folder import MANIFEST
    from perfvcs.site.folder import _manifest as read

    _put(folder, MANIFEST, document)
    number = os.open(folder, os.O_RDONLY)
    try:
        return read(folder, number)
    finally:
        os.close(number)


def _packages(document: bytes, folder: Path) -> object:
    from perfvcs.measure.interpreter import Interpreter
    from perfvcs.measure.virtualenv import COMPLETE, _read

    (folder / "bin").mkdir(exist_ok=True)
    _put(folder, "bin/python", b"")
    _put(folder, COMPLETE, document)
    return _read(folder, Interpreter(folder / "bin/python", "3.11.2", "CPython"))


def _record(document: bytes, folder: Path) -> object:
    """What the git folder knows of ``.perf``."""
    from perfvcs.gate.record import NAME, read

    _put(folder, NAME, document)
    return read(cast(Any, SimpleNamespace(common_dir=folder)))


def _launcher(document: bytes, folder: Path) -> object:
    from perfvcs.launcher import _execution, _reported

    with _put(folder, "report", document).open("rb") as file:
        return _execution(("/bin/true",), (), _reported(file.fileno()), 0, "")


@cache
def readers() -> dict[str, Reader]:
    """The readers by name."""
    packed = [zlib.compress(one) for one in documents.perun()] + documents.gzipped()
    return {
        "csv": Reader(_imported(".csv"), documents.tables()),
        "asv": Reader(_imported(".json"), documents.asv()),
        "perun": Reader(_imported(".perf"), documents.perun()),
        "perfvcs": Reader(_imported(".json"), documents.profiles()),
        "compressed": Reader(_imported(".gz"), packed, 0.5),
        "store": Reader(_stored, documents.profiles()),
        "perun-index": Reader(_objects, documents.object_indexes()),
        "perf.toml": Reader(_config, documents.configurations()),
        "perf-accepted.toml": Reader(_accepted, documents.registers()),
        "samples": Reader(_samples, recordings.samples()),
        "callgrind": Reader(_callgrind, recordings.callgrind(), 0.5),
        "perf-stat": Reader(_perf_stat, [b"# started\n\n12345,,instructions:u,100,100.00,,\n"]),
        "tracemalloc": Reader(_tracemalloc, recordings.tracemalloc()),
        "memray": Reader(_memray, recordings.memray()),
        "interpreter": Reader(_interpreter, [b'{"executable": "/usr/bin/python3", "memray": ""}']),
        "shim": Reader(_shim, recordings.shim()),
        "py-spy": Reader(_pyspy, recordings.pyspy()),
        "perf-script": Reader(_perf_script, recordings.perf_script()),
        "attach": Reader(_attach, [b"", b"2", b"no perf\n"], 0.3),
        "calls": Reader(_calls, recordings.calls()),
        "fentry": Reader(_fentry, recordings.fentry()),
        "uftrace": Reader(_uftrace, recordings.uftrace()),
        "notes": Reader(_notes, recordings.notes(), 0.5),
        "pytest": Reader(_pytest, recordings.pytest()),
        "source": Reader(
            _source,
            [
                b"import os\n\n\n@cache\ndef f(x: int = 3) -> int:\n    def g(): yield lambda: x\n    return g\n",
                b"class A:\n    def f(self): return [x for x in ()]\n",
            ],
        ),
        "process": Reader(_process, [b"bash", b"a) R 1"], 0.3),
        "launcher": Reader(_launcher, recordings.launcher(), 0.3),
        "pace": Reader(_pace, [struct.pack("<8q", *(10**9 * number for number in range(8)))], 0.3),
        "elf": Reader(_elf, recordings.programs(), 0.05),
        "frames": Reader(_frames, recordings.frames()),
        "report": Reader(_report, kept.reports()),
        "index": Reader(_index, kept.indexes(), 0.03),
        "verdicts": Reader(_database("verdicts.db"), kept.verdicts(), 0.05),
        "steps": Reader(_database("steps.db"), kept.findings(), 0.05),
        "audits": Reader(_audits, kept.audits()),
        "record": Reader(_record, kept.records()),
        "manifest": Reader(_manifest, kept.manifests()),
        **{f"format {name}": Reader(_taken(name), documents) for name, documents in documents.foreign().items()},
        "packages": Reader(_packages, [json.dumps(["numpy==1.26.0", "click==8.1.7"]).encode()], 0.5),
    }
