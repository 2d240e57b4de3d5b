"""Bytes that others wrote: a reader takes a document or refuses it.

With these, found by benchmarks/mutants.py, some did neither.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import zlib
from pathlib import Path
from random import Random

import pytest
from conftest import ROOT

from benchmarks.mutation import kept, recordings
from benchmarks.mutation.changes import mutated
from benchmarks.mutation.readers import Reader, readers
from perfvcs.errors import PerfError

DEEP = b"[" * 3000
DIGITS = b"7" * 5000


def replaced(document: bytes, old: bytes, new: bytes) -> bytes:
    assert old in document
    return document.replace(old, new, 1)


@pytest.fixture
def reader(request: pytest.FixtureRequest) -> Reader:
    return readers()[request.param]


REFUSED = {
    "perf.toml, brackets": ("perf.toml", b"build = " + DEEP),
    "perf.toml, tables in tables": ("perf.toml", b"build = " + b"{a=" * 3000),
    "perf.toml, a key of very many parts": ("perf.toml", b"[" + b"a." * 100_000 + b"a]\n"),
    "perf.toml, nested by keys": (
        "perf.toml",
        b"".join(b"[" + b"a." * n + b"a]\nb = 1\n" for n in (70, 400)),
    ),
    "perf.toml, a number of 5,000 digits": ("perf.toml", b"build_timeout = " + DIGITS),
    "perf.toml, a date that there is not": ("perf.toml", b"build_timeout = 2026-02-30"),
    "perf.toml, a command of 100 kB": ("perf.toml", b'[[job]]\ncmd = "' + b"a" * 100_000 + b'"'),
    "perf.toml, more cells than memory holds": (
        "perf.toml",
        b'[[job]]\ncmd = "a"\nargs = ['
        + b'"",' * 2000
        + b"]\nworkloads = ["
        + b'"w",' * 2000
        + b"]",
    ),
    "perf-accepted.toml, brackets": ("perf-accepted.toml", b"a.b = " + DEEP),
    "perf-accepted.toml, nested by keys": ("perf-accepted.toml", b"a." * 400 + b"a = 1"),
    "perf-accepted.toml, a key of very many parts": (
        "perf-accepted.toml",
        b"a." * 50_000 + b"a = 1",
    ),
    "perf.toml, a hexadecimal number of 5,000 digits": (
        "perf.toml",
        b"[[job]]\ncmd = 'x'\nbinaries = 0x" + b"f" * 5_000,
    ),
    "perf-accepted.toml, a number of 5,000 digits": ("perf-accepted.toml", b"a.effect = " + DIGITS),
    "Perun, half a surrogate pair and NaN": (
        "perun",
        (
            b'{"collector_info": {"name": "c", "params": {"p": "\\ud800"}}, "resources":'
            b' [{"amount": NaN, "uid": "f"}]}'
        ),
    ),
    "Perun, half a surrogate pair as a uid": (
        "perun",
        b'{"resources": [{"amount": 1, "uid": "\\udfff", "x": NaN}]}',
    ),
    "Perun, nested": ("perun", b'{"header": ' + b'{"a":' * 3000),
    "pytest, nanoseconds of 400 digits": (
        "pytest",
        replaced(recordings.pytest()[0], b'"runs": [[10, 9', b'"runs": [[10, ' + DIGITS[:400]),
    ),
    "a table, half a quarter of a million brackets": ("csv", b"[" * 262_144 + b"\na,1\n"),
    "a table, a title of brackets": ("csv", b"uid," + b"x [" * 33_000 + b"\na,1\n"),
    "a table, a title of spaces": ("csv", b'uid,"a' + b" " * 100_000 + b'("\na,1\n'),
    "a bomb": ("compressed", gzip.compress(b"[" * (1 << 25), 9)),
    "a bomb of many members": ("compressed", gzip.compress(b" " * (1 << 20), 9) * 40),
    "a compression that ends too early": ("compressed", zlib.compress(b"[" * (1 << 24))[:-4]),
    "a profile of Chrome without samples": (
        "format cpuprofile",
        (
            b'{"nodes": [{"id": 1, "callFrame": {"functionName": "f"}}], "samples": [],'
            b' "timeDeltas": []}'
        ),
    ),
    "py-spy, nested": ("py-spy", b'{"shared": {"frames": [], "x": ' + DEEP),
    "py-spy, a stack that is nested": (
        "py-spy",
        b'{"shared": {"frames": []}, "profiles": [{"samples": ['
        + b"[" * 900
        + b"0"
        + b"]" * 901
        + b"}]}",
    ),
    "py-spy, a frame before the first": (
        "py-spy",
        (
            b'{"shared": {"frames": [{"name": "f", "file": "f.py"}]}, "profiles": [{"samples":'
            b" [[-1]]}]}"
        ),
    ),
    "tracemalloc, nested": ("tracemalloc", b'{"x": ' + DEEP),
    "memray, nested": ("memray", b'{"x": ' + DEEP),
    "memray, nothing": ("memray", b""),
    "an interpreter, nested": ("interpreter", b'{"x": ' + DEEP),
    "callgrind, no function": ("callgrind", b"cmd: ./x\nevents: Ir\ntotals: 70\n"),
    "samples, a name that no terminal shows": (
        "samples",
        b'{"uid": "a", "wall": 0.6, "\\u0000": "sort"}\n',
    ),
    "a launcher's report that is cut off": ("launcher", b"perfvcs-launcher 1\nend 1\nwall 5\ncp"),
    "a launcher's report of other bytes": ("launcher", b"\xff\xfeend 1\n"),
    "a manifest, nested": ("manifest", b'{"x": ' + DEEP),
    "a manifest, not UTF-8": ("manifest", b'{"format": "\xff"}'),
    "a record, not UTF-8": ("record", b'{"token": "\xff"}'),
    "a record, nested": ("record", b'{"x": ' + DEEP),
    "a report, nested": ("report", b'{"x": ' + DEEP),
}


@pytest.mark.parametrize(("reader", "document"), REFUSED.values(), ids=REFUSED, indirect=["reader"])
def test_what_cannot_be_read_is_refused(reader: Reader, document: bytes, tmp_path: Path) -> None:
    with pytest.raises(PerfError):
        reader.read(document, tmp_path)


TAKEN = {
    "perf script, a line of brackets": (
        "perf-script",
        b"7f12 main" + b" (" * 50_000 + b"\n" + b" 7f12" + b" x ()" * 30_000,
    ),
    "perf script, samples lost 10^5000 times": (
        "perf-script",
        b"PERF_RECORD_LOST lost " + DIGITS + b"\n",
    ),
    "perf script, very many losses without a number": (
        "perf-script",
        b"PERF_RECORD_LOST lost " * 10_000 + b"\n",
    ),
    "py-spy, errors of 5,000 digits": (
        "py-spy",
        replaced(recordings.pyspy()[0], b"Samples: 100", b"Samples: " + DIGITS),
    ),
    "calls seen more often than a number holds": (
        "fentry",
        replaced(recordings.fentry()[0], (40).to_bytes(8, "little"), b"\xff" * 8),
    ),
    "remembered audits, nested": ("audits", b'{"a": ' + DEEP),
    "installed packages, nested": ("packages", DEEP),
    "an error number of 5,000 digits": ("attach", DIGITS),
    "an error number that is not UTF-8": ("attach", b"\xff"),
    "a module that is nested": ("source", b"x = " + b"-" * 100_000 + b"1"),
    "a module of one long sum": ("source", b"x = 1" + b" + 1" * 3000),
}


@pytest.mark.parametrize(("reader", "document"), TAKEN.values(), ids=TAKEN, indirect=["reader"])
def test_what_makes_no_sense_in_it_is_left_out(
    reader: Reader, document: bytes, tmp_path: Path
) -> None:
    reader.read(document, tmp_path)


def test_an_index_that_mirrors_no_commit_is_made_anew(tmp_path: Path) -> None:
    reader = readers()["index"]
    head = kept.store().head().encode()
    for other in (b"\0" * len(head), b"-" * len(head)):
        found = reader.read(reader.seeds[0].replace(head, other), tmp_path)
        assert isinstance(found, tuple) and len(found[0]) == 3
        for path in tmp_path.iterdir():
            path.unlink()


@pytest.mark.parametrize("name", sorted(readers()))
def test_every_reader_takes_what_is_as_it_should_be(name: str, tmp_path: Path) -> None:
    reader = readers()[name]
    for number, document in enumerate(reader.seeds):
        folder = tmp_path / str(number)
        folder.mkdir()
        reader.read(document, folder)


def test_a_mutant_depends_on_its_number_alone() -> None:
    found = [mutated(recordings.pyspy(), Random(f"1:py-spy:{number}")) for number in range(50)]
    assert found == [
        mutated(recordings.pyspy(), Random(f"1:py-spy:{number}")) for number in range(50)
    ]
    assert len(set(found)) > 40


@pytest.mark.slow
def test_the_benchmark_reads_mutants_and_counts_what_came_of_them(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks", "mutants", "--folder", str(tmp_path)]
    command += ["--seed", "3", "--reader", "py-spy"]
    done = subprocess.run(
        [*command, "--count", "60"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1].split()[:2] == ["all", "60"]
    # goes on where it was
    subprocess.run([*command, "--count", "90"], cwd=ROOT, capture_output=True, check=True)
    (counts,) = json.loads((tmp_path / "state-3-0.json").read_text()).values()
    assert counts["documents"] == counts["refused"] + counts["accepted"] == 90


def test_a_document_that_fails_is_kept_with_its_traceback(tmp_path: Path) -> None:
    script = f"""
import sys
from benchmarks import mutants
from benchmarks.mutation.readers import Reader
from benchmarks.registry import Wrong
def fails(document, folder):
    raise {{0: KeyError, 1: MemoryError}}[len(document)]
mutants.readers = lambda: {{"x": Reader(fails, [b""])}}
mutants.warm = lambda known: None
mutants.mutated = lambda seeds, random: b"" if int(random.random() * 2) else b"a"
try:
    for row in mutants.mutants(folder={str(tmp_path)!r}, count=40):
        print(*row.values())
except Wrong:
    sys.exit(1)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr
    _, documents, refused, accepted, tracebacks, slow, memory = done.stdout.splitlines()[-1].split()
    assert (documents, refused, accepted, slow) == ("40", "0", "0", "0")
    assert int(tracebacks) + int(memory) == 40 and int(tracebacks) and int(memory)
    assert len(list((tmp_path / "x").iterdir())) == 40
    assert "KeyError" in (tmp_path / "failures.txt").read_text()
