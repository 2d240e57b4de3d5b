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

from perfvcs import formats

from . import documents, kept, programs, recordings
from .programs import put

OURS = "perf-mutants"  # what the files of a reader are called


@dataclass(frozen=True)
class Reader:
    """What reads a document in an empty folder, and what it reads; ``share`` of the documents, 1
    for most.
    """

    read: Callable[[bytes, Path], object]
    seeds: Sequence[bytes]
    share: float = 1.0


def _imported(suffix: str) -> Callable[[bytes, Path], object]:
    """As `perf import` does it: what was read is written in our own format, and placed in the
    store.
    """

    def read(document: bytes, folder: Path) -> object:  # noqa: ARG001
        from perfvcs.profile.summary import Measured
        from perfvcs.store.removal import path_of

        profile = formats.decode(document, f"mutant{suffix}")
        encoded = profile.encode()
        return (
            path_of(profile, encoded),
            Measured.of(profile),
            [formats.encode(profile, name) for name in ("csv", "perun")],
        )

    return read


def _taken(format_name: str) -> Callable[[bytes, Path], object]:
    """As `perf import` does it with a named format, whose files may hold many profiles."""

    def read(document: bytes, folder: Path) -> object:  # noqa: ARG001
        from perfvcs.profile.summary import Measured
        from perfvcs.store.removal import path_of

        profiles = list(formats.decode_all(document, "mutant", format_name))
        return [(path_of(profile, profile.encode()), Measured.of(profile)) for profile in profiles]

    return read


def _stored(document: bytes, folder: Path) -> object:  # noqa: ARG001
    """As the index does it with what other people pushed."""
    from perfvcs.profile.decoding import decode
    from perfvcs.profile.summary import Measured

    return Measured.of(decode(document))


def _objects(document: bytes, folder: Path) -> object:
    from perfvcs.exchange.sources import indexed, is_index, is_object

    store = folder / "ab"
    store.mkdir(exist_ok=True)
    path = put(store, "c" * 38, document)
    return is_object(path), is_index(path), indexed(path)


def _config(document: bytes, folder: Path) -> object:
    from perfvcs.jobs import matrix
    from perfvcs.jobs.config import load

    config = load(put(folder, "perf.toml", document))
    return matrix(config)


def _accepted(document: bytes, folder: Path) -> object:
    from perfvcs.check.register import load

    return load(put(folder, "perf-accepted.toml", document))


def _report(document: bytes, folder: Path) -> object:  # noqa: ARG001
    """A verdict as it is remembered beside the index."""
    from perfvcs.check.markdown import decode, markdown
    from perfvcs.check.text import text

    report = decode(document)
    return text(report), markdown(report, verbose=True)


def _ci_report(document: bytes, folder: Path) -> object:  # noqa: ARG001
    """As `perf ci --post` does it with what a fork's job has written."""
    from perfvcs.ci.artifacts import comment, summary
    from perfvcs.ci.civerdict import decode

    verdict = decode(document)
    return comment(verdict, "main"), summary(verdict), verdict.speaks


def _database(name: str) -> Callable[[bytes, Path], object]:
    def read(document: bytes, folder: Path) -> object:
        from perfvcs.index.seriesresults import Findings
        from perfvcs.index.verdicts import LastVerdicts

        path = put(folder, name, document)
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

    index = Index(kept.store(), put(folder, "index.db", document))
    try:
        commits = [f"{number:040x}" for number in range(1, 3)]
        return (
            index.headers(),
            index.measured(commits),
            index.counts(commits),
            index.series(),
            index.lines(),
            [index.history(job.key) for job in index.series()],
            index.find("0"),
            index.origins(commits[0]),
            index.damaged(),
            index.courses([1], commits),
        )
    finally:
        index.close()


def _audits(document: bytes, folder: Path) -> object:
    from perfvcs.reports.replay import _Cache

    return _Cache(put(folder, "audits.json", document)).get("a")


def _manifest(document: bytes, folder: Path) -> object:
    import os

    from perfvcs.git.changes import SITE_MANIFEST
    from perfvcs.site.folder import _manifest as read

    put(folder, SITE_MANIFEST, document)
    number = os.open(folder, os.O_RDONLY)
    try:
        return read(folder, number)
    finally:
        os.close(number)


def _packages(document: bytes, folder: Path) -> object:
    from perfvcs.measure.held import COMPLETE
    from perfvcs.measure.pythons import note

    put(folder, COMPLETE, document)
    return note(folder)


def _record(document: bytes, folder: Path) -> object:
    """What the git folder knows of ``.perf``."""
    from perfvcs.gate.inspection import RECORD_FOLDER, read

    put(folder, RECORD_FOLDER, document)
    return read(cast(Any, SimpleNamespace(common_dir=folder)))


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
        "samples": Reader(programs.samples, recordings.samples()),
        "callgrind": Reader(programs.callgrind, recordings.callgrind(), 0.5),
        "perf-stat": Reader(
            programs.perf_stat, [b"# started\n\n12345,,instructions:u,100,100.00,,\n"]
        ),
        "tracemalloc": Reader(programs.tracemalloc, recordings.tracemalloc()),
        "memray": Reader(programs.memray, recordings.memray()),
        "interpreter": Reader(
            programs.interpreter, [b'{"executable": "/usr/bin/python3", "memray": ""}']
        ),
        "shim": Reader(programs.shim, recordings.shim()),
        "py-spy": Reader(programs.pyspy, recordings.pyspy()),
        "perf-script": Reader(programs.perf_script, recordings.perf_script()),
        "attach": Reader(programs.attach, [b"", b"2", b"no perf\n"], 0.3),
        "calls": Reader(programs.calls, recordings.calls()),
        "fentry": Reader(programs.fentry, recordings.fentry()),
        "notes": Reader(programs.notes, recordings.notes(), 0.5),
        "pytest": Reader(programs.pytest, recordings.pytest()),
        "source": Reader(
            programs.source,
            [
                (
                    b"import os\n\n\n@cache\ndef f(x: int = 3) -> int:\n    def g(): yield lambda:"
                    b" x\n    return g\n"
                ),
                b"class A:\n    def f(self): return [x for x in ()]\n",
            ],
        ),
        "process": Reader(programs.process, [b"bash", b"a) R 1"], 0.3),
        "launcher": Reader(programs.launcher, recordings.launcher(), 0.3),
        "pace": Reader(
            programs.pace, [struct.pack("<8q", *(10**9 * number for number in range(8)))], 0.3
        ),
        "elf": Reader(programs.elf, recordings.programs(), 0.05),
        "frames": Reader(programs.frames, recordings.frames()),
        "report": Reader(_report, kept.reports()),
        "ci-report": Reader(_ci_report, kept.ci_reports()),
        "index": Reader(_index, kept.indexes(), 0.03),
        "verdicts": Reader(_database("verdicts.db"), kept.verdicts(), 0.05),
        "steps": Reader(_database("steps.db"), kept.findings(), 0.05),
        "audits": Reader(_audits, kept.audits()),
        "record": Reader(_record, kept.records()),
        "manifest": Reader(_manifest, kept.manifests()),
        **{
            f"format {name}": Reader(_taken(name), documents)
            for name, documents in documents.foreign().items()
        },
        "packages": Reader(
            _packages, [json.dumps(["numpy==1.26.0", "click==8.1.7"]).encode()], 0.5
        ),
    }
