"""Time grows no faster than what is read: with these texts it did, or benchmarks/patterns.py would
find that it does.
"""

from __future__ import annotations

import gzip
import json
import re
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import TESTS

from benchmarks import patterns
from perfvcs import formats
from perfvcs.check.matching import _partners
from perfvcs.collectors._shared.testing.suite import _names
from perfvcs.errors import PerfError
from perfvcs.locate.sources import read
from perfvcs.locate.sources.outline import outline

SECONDS = 10.0  # of CPU time, where a quadratic reader takes minutes


def spent(task: Callable[[], object]) -> float:
    began = time.process_time()
    task()
    return time.process_time() - began


def test_blanks_in_the_place_of_a_history_are_refused_at_once(
    tmp_path: Path, project, perf
) -> None:
    path = tmp_path / "data.js.gz"
    path.write_bytes(gzip.compress(b"window.BENCHMARK_DATA = {}" + b" " * 4_200_000 + b"x"))
    project.commit("begin", a="1")
    assert path.stat().st_size < 10_000
    assert spent(lambda: perf("import", str(path), code=None)) < SECONDS


HEADING = "fastest       │ slowest       │ median        │ mean          │ samples │ iters"
DOCUMENTS = {
    "a title of blanks": ("divan.txt", f"a {HEADING}\n{' ' * 1_000_000}x\n".encode()),
    "a title that goes on": ("divan.txt", f"a {HEADING}\n{' fastest' * 200_000}\n".encode()),
    "blanks before a variable": ("a.data.js", b"window.BENCHMARK_DATA = {" + b" \n" * 1_000_000),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_is_refused_at_once(name: str) -> None:
    path, document = DOCUMENTS[name]

    def task() -> None:
        with pytest.raises(PerfError):
            formats.decode(document, path)

    assert spent(task) < SECONDS


def test_a_title_of_divan_is_still_the_name_of_all_below_it() -> None:
    row = "╰─ sum  1 ms │ 2 ms │ 1 ms │ 1.5 ms │ 100 │ 100"
    profile = formats.decode(f"my sorts {HEADING}\n{row}\n".encode(), "a.txt")
    assert profile.resources.names == ["my sorts::sum"]


FOLDER = TESTS / "data" / "formats"
SIZE, TIMES = 1_000_000, 10
# the first line of what repeats in a text
BODIES = {
    "benchmark-js.txt": 0,
    "cargo-criterion.json": 0,
    "celero.csv": 1,
    "divan.txt": 1,
    "go-test.json": 0,
    "go.txt": 0,
    "gungraun.txt": 0,
    "hyperfine.csv": 1,
    "libtest.txt": 0,
    "locust.csv": 1,
    "massif.out": 3,
    "ncu.csv": 4,
    "nsys.csv": 2,
    "perf-script.txt": 0,
    "py-spy.folded": 0,
}


def lists(value: Any) -> list[list[Any]]:
    """All lists of objects in a document of JSON."""
    if isinstance(value, dict):
        return [inner for held in value.values() for inner in lists(held)]
    if not isinstance(value, list) or not value or not isinstance(value[0], dict):
        return []
    return [value, *(inner for held in value for inner in lists(held))]


def grown(path: Path) -> bytes:
    """A file with what it holds again and again, under other names."""
    text = path.read_text()
    if path.name in BODIES:
        lines = text.splitlines(keepends=True)
        head, body = (
            "".join(part) for part in (lines[: BODIES[path.name]], lines[BODIES[path.name] :])
        )
        count = SIZE // len(body)
        return (head + "".join(named(body, number) for number in range(count))).encode()
    document = json.loads(text)
    if not lists(document):  # objects by their names
        by_name = document.get("metrics", document)
        written = list(by_name.items())
        for number in range(SIZE // len(text)):
            by_name |= {f"{name} of many {number}": value for name, value in written}
        return json.dumps(document).encode()
    longest = max(lists(document), key=lambda each: len(json.dumps(each)))
    written = ", ".join(map(json.dumps, longest))
    longest[:] = ["here"]
    whole = json.dumps(document)
    count = SIZE // len(written)
    return whole.replace('"here"', ", ".join(named(written, n) for n in range(count))).encode()


def named(text: str, number: int) -> str:
    return re.sub(r"(?<=[a-z])ort\b", f"ort{number}", text)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [*BODIES, *(path.name for path in FOLDER.glob("*.json") if path.name not in BODIES)]
)
def test_a_large_file_takes_few_times_its_memory(name: str) -> None:
    document = grown(FOLDER / name)
    assert len(document) > SIZE * 0.8
    formats.decode((FOLDER / name).read_bytes(), name)  # imports what it needs
    tracemalloc.start()
    try:
        began = time.process_time()
        profile, *_ = formats.decode_all(document, name)
        taken = time.process_time() - began
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(profile.resources) > 1 or profile.stacks is not None
    assert peak < TIMES * len(document)
    assert taken < SECONDS


COUNT = 40_000
SOURCES = {
    "python": "".join(f"def f(): return a{i}\n" for i in range(COUNT)),
    "c": "".join(f"int f(void) {{ return a{i}; }}\n" for i in range(COUNT)),
    "fortran": "".join(f"subroutine f\n call a{i}\nend\n" for i in range(COUNT)),
}


@pytest.mark.slow
@pytest.mark.parametrize("language", SOURCES)
def test_many_functions_of_one_name_are_read_in_time(language: str) -> None:
    found = []
    assert spent(lambda: found.append(read(language, SOURCES[language].encode()))) < SECONDS
    assert len(found[0].functions["f"].mentions) == COUNT


@pytest.mark.parametrize(
    "text",
    ['u8R"0(a)"' * COUNT, "/* " * COUNT, "#" + "/*" * COUNT, '"' * COUNT, "a : " * COUNT],
    ids=["raw strings", "comments", "a directive", "quotes", "labels"],
)
def test_what_has_no_end_in_c_is_read_in_time(text: str) -> None:
    assert spent(lambda: read("c", text.encode())) < SECONDS


@pytest.mark.slow
def test_the_lines_of_many_functions_are_found_in_time(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("def f():\n pass\n" * 50_000)
    assert spent(lambda: _names(path)) < SECONDS
    for name in ("a.py", "a.c"):
        text = path.read_text() if name == "a.py" else SOURCES["c"]
        made = []
        assert (
            spent(lambda name=name, text=text, made=made: made.append(outline(name, text)))
            < SECONDS
        )
        assert spent(lambda made=made: [made[0].at(line) for line in range(COUNT)]) < SECONDS
        assert spent(made[0].digests) < SECONDS
    assert spent(lambda: outline("a.c", "f() {\n" * COUNT)) < SECONDS


def test_jobs_that_all_run_the_same_are_compared_in_time() -> None:
    command = ("time", "true", "", "", "[]")
    jobs = {f"job {number}": {command} for number in range(COUNT)}
    assert spent(lambda: _partners(jobs, jobs)) < SECONDS


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pattern", "method"),
    [
        (r"\s*window", "search"),
        (r"(a|a)*b", "match"),
        (rb".*? +y", "fullmatch"),
        (r"\w+_\w+!", "match"),
    ],
)
def test_the_script_finds_patterns_that_take_too_long(pattern: str | bytes, method: str) -> None:
    assert patterns.tried(patterns.Use("here", re.compile(pattern), (method,)), seconds=5)


@pytest.mark.slow
def test_patterns_that_took_too_long_do_so_no_longer() -> None:
    words = ("formats/divan", "github_action", "memory/heap", "perfvcs/plugins")
    (counts,) = patterns.patterns(only=words)
    assert counts["patterns"] and counts["too slow"] == 0


@pytest.mark.slow
def test_all_patterns_of_the_sources_are_known_to_the_script() -> None:
    found, unknown = patterns.uses()
    assert len(found) > 300 and len(unknown) < 10
    assert {"match", "search", "fullmatch", "sub"} <= {
        method for use in found for method in use.methods
    }
