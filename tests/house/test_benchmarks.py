"""The benchmarks: each runs at its quick size, its page names it, and documents show what it recorded."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from statistics import mean

import pytest
from conftest import ROOT

from benchmarks import documents
from benchmarks.__main__ import listing, main
from benchmarks.figures import RECORDED, lines, record, tables
from benchmarks.registry import CURES, GIVEN, MODULES, Benchmark, benchmarks

KNOWN = benchmarks()
PAGES = sorted(documents.PAGES.glob("*.md"))
LONGEST = 20.0  # seconds of the processors that a quick size may take; 10 on an idle machine
LOOP = 0.006  # seconds of a loop over a million numbers; 0.004 on an idle machine
NAMED = re.compile(r"python -m benchmarks((?: [a-z_]+)+)")


def quick() -> list[Benchmark]:
    return [one for one in KNOWN.values() if not isinstance(one.quick, str)]


def pages() -> list[object]:
    """The pages with quick benchmarks, each with what these need."""
    found = []
    for page, members in groupby(quick(), key=lambda one: one.page):
        tools = {tool for one in members for tool in one.needs} - MODULES
        found.append(pytest.param(page, marks=pytest.mark.needs(*sorted(tools))))
    return found


@pytest.fixture
def uncovered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Coverage fails loudly on a full disk, and leaves half a file where it is killed."""
    monkeypatch.delenv("COVERAGE_PROCESS_START", raising=False)


def loop_seconds() -> float:
    """The processor time of a loop over a million numbers: others on the same core, or another
    processor, change it as they change that of a benchmark.
    """
    began = time.process_time()
    sum(range(1_000_000))
    return time.process_time() - began


@pytest.mark.slow
@pytest.mark.parametrize("page", pages())
@pytest.mark.usefixtures("uncovered")
def test_every_benchmark_runs_at_its_quick_size(page: str, tmp_path: Path) -> None:
    names = [one.name for one in quick() if one.page == page]
    command = [sys.executable, "-m", "benchmarks", *names, "--quick", "--json"]
    loops: list[float] = []
    with (tmp_path / "said").open("w") as said:
        done = subprocess.Popen(
            [*command, str(tmp_path / "found")], cwd=ROOT, stdout=said, stderr=subprocess.STDOUT
        )
        while not loops or done.poll() is None:
            loops.append(loop_seconds())
            with suppress(subprocess.TimeoutExpired):
                done.wait(1)
    assert done.returncode == 0, (tmp_path / "said").read_text()[-6000:]
    found = json.loads((tmp_path / "found").read_text())
    assert [one["benchmark"] for one in found] == names
    for one in found:
        assert one["rows"], one["benchmark"]
        longest = LONGEST * max(1.0, mean(loops) / LOOP)
        assert one["cpu"] < longest, (one["benchmark"], one["cpu"], longest)


def test_the_others_say_why_they_have_no_quick_size() -> None:
    others = [one for one in KNOWN.values() if isinstance(one.quick, str)]
    assert others
    assert not [
        one.name for one in others if not re.search(r"need|take|read|still|over", one.quick)
    ]


def test_what_is_needed_has_a_cure() -> None:
    assert {need for one in KNOWN.values() for need in one.needs} <= {*CURES, *GIVEN, "root"}


def test_options_of_a_quick_size_are_options() -> None:
    for one in quick():
        assert not set(one.quick) - set(one.options), one.name
        assert not set(one.required) - set(one.quick), one.name


def test_the_list_has_every_benchmark_with_its_question() -> None:
    said = listing(KNOWN)
    for one in KNOWN.values():
        assert re.search(rf"^  {one.name} +\S.*[.?]", said, re.MULTILINE), one.name


def test_every_benchmark_is_named_on_its_page_and_every_named_one_is_there() -> None:
    named = {path.stem: named_in(path) for path in PAGES}
    others = [*(ROOT / "docs").glob("*.md"), ROOT / "CONTRIBUTING.md"]
    assert set().union(*named.values(), *map(named_in, others)) <= set(KNOWN)
    assert [one.name for one in KNOWN.values() if one.name not in named[one.page]] == []


def named_in(page: Path) -> set[str]:
    """The benchmarks that a page names as commands."""
    return {name for words in NAMED.findall(page.read_text()) for name in words.split()}


@pytest.mark.parametrize("page", documents.pages(), ids=lambda path: str(path.relative_to(ROOT)))
def test_documents_show_what_is_recorded(page: Path) -> None:
    text = page.read_text()
    assert documents.filled(text) == text, "python -m benchmarks --docs"


def test_every_record_is_shown_and_is_of_a_benchmark() -> None:
    shown = {name for page in documents.pages() for name in documents.names(page.read_text())}
    assert {path.stem for path in RECORDED.glob("*.json")} == shown
    assert shown <= set(KNOWN)


def test_a_mark_chooses_a_table_and_its_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        {"kind": "a", "s": 1.23456, "n": 12345},
        {"kind": "b", "s": None, "n": 2},
        {"all": True},
    ]
    monkeypatch.setattr(documents, "recorded", lambda _: {"rows": rows})
    before = "words\n\n<!-- recorded x: kind; s -->\n\n| old |\n\nmore\n<!-- recorded x 2 -->\n"
    first = "| kind | s |\n|---|---|\n| a | 1.23 |\n| b |  |"
    after = f"words\n\n<!-- recorded x: kind; s -->\n\n{first}\n\nmore\n"
    assert documents.filled(before).startswith(after)
    assert tables(rows)[0].splitlines()[2] == "| a | 1.23 | 12,345 |"
    assert list(lines(rows))[1].split() == ["a", "1.23", "12,345"]


def test_several_seeds_are_rows_of_their_own(tmp_path: Path) -> None:
    main(["rare", "--draws", "2", "--seed", "1", "2", "--json", str(tmp_path / "found")])
    (found,) = json.loads((tmp_path / "found").read_text())
    assert {row["seed"] for row in found["rows"]} == {1, 2}
    assert found["options"] == {"draws": 2, "seed": [1, 2]}


def test_of_a_path_its_name_is_recorded() -> None:
    options = {
        "results": Path("/home/ada/results"),
        "folder": "/home/ada/x",
        "runs": 3,
        "kinds": (),
    }
    told = record("rare", options, [], 0.0, 0.0)["options"]
    assert told == {"results": "results", "folder": "x", "runs": 3, "kinds": []}
    for path in RECORDED.iterdir():
        assert not any(
            str(value).startswith("/") for value in json.loads(path.read_text())["options"].values()
        ), path.name


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nothing"], "no benchmark is called nothing: python -m benchmarks lists them"),
        (
            ["trials", "--quick"],
            "trials has no quick size: ten jobs on two versions take over 10 s",
        ),
        (["blame_kinds"], "blame_kinds: --folder is required"),
    ],
)
def test_what_cannot_run_says_so_in_one_line(words: list[str], said: str) -> None:
    with pytest.raises(SystemExit) as found:
        main(words)
    assert found.value.code == said


def test_a_benchmark_without_its_tool_stops_with_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemExit) as found:
        main(["memory_native"])
    cure = "install it (on Debian: apt-get install gcc)"
    assert found.value.code == f"memory_native: gcc is missing: {cure}"
