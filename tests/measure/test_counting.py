"""A measurement in turns counts work beside time: which jobs, how often, and what it says."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from conftest import Perf, Project

from perfvcs.jobs import matrix
from perfvcs.jobs.config import read
from perfvcs.measure import counting
from perfvcs.measure.counting import affordable, allowance
from perfvcs.measure.request import Request
from perfvcs.measure.unitseconds import UnitSeconds, UnitTime
from perfvcs.plugins.collector import EVERY_UNIT
from perfvcs.repository import Repository

LOOP = "total = 0\nfor i in range({}):\n    total += i\n"
C_LOOP = """
#include <stdio.h>
int main(void) {{ volatile unsigned n = 0; for (int i = 0; i < {}; i++) n += i; return 0; }}
"""


def metrics() -> set[str]:
    repository = Repository.find()
    headers = repository.index.headers([repository.project.resolve("HEAD")])
    return {name for header in headers for name in header.metrics}


@pytest.fixture
def python_project(project: Project) -> Project:
    project.configure(f'cmd = "{sys.executable} loop.py"\nexact = "always"')
    project.commit("one", **{"loop.py": LOOP.format(1_000_000)})
    project.commit("two", **{"loop.py": LOOP.format(1_190_000)})
    return project


def test_a_python_program_has_its_bytecodes_counted(python_project: Project, perf: Perf) -> None:
    said = perf("check", "--measure", "-n", "4", "--json", code=None)
    assert python_project
    (count,) = [one for one in said.document["changes"] if one["metric"] == "bytecodes"]
    assert count["word"] == "degradation" and 0.1 < count["effect"] < 0.2
    assert count["executions"] == [2, 2]
    said = perf("check", "HEAD~1", "HEAD", code=None)
    # beside the time, or instead of it, where the machine hides which way the time went
    assert "more bytecodes" in said.out or "work became worse: bytecodes +" in said.out


@pytest.mark.needs("gcc", "valgrind")
def test_a_compiled_program_has_its_instructions_counted(project: Project, perf: Perf) -> None:
    project.configure('cmd = "./loop"\nexact = "always"', top='build = ["gcc -O1 loop.c -o loop"]')
    project.commit("one", **{"loop.c": C_LOOP.format(100_000), ".gitignore": "loop\n"})
    project.commit("two", **{"loop.c": f"/* said */{C_LOOP.format(100_000)}"})
    said = perf("check", "--measure", "-n", "2", code=None)
    assert "counting the work of work: 2 executions of each version under valgrind" in said.err
    document = perf("check", "HEAD~1", "HEAD", "--json", code=None).document
    (count,) = [one for one in document["changes"] if one["metric"] == "instructions"]
    assert (count["word"], count["effect"]) == ("same", 0)


@pytest.mark.needs("gcc", "valgrind")
@pytest.mark.parametrize("cmd", ["./loop", "env -C . N=1 ./loop"])
def test_what_chooses_its_code_by_the_processor_is_not_counted(
    project: Project, perf: Perf, cmd: str
) -> None:
    """Valgrind has another one, so that equal counts would say nothing of what runs without."""
    program = (
        'int main(void) {{ volatile int n = 0; int most = __builtin_cpu_supports("avx2") ? {} : 9;'
        " for (int i = 0; i < most; i++) n += i; return 0; }}"
    )
    project.configure(f'cmd = "{cmd}"\nexact = "always"', top='build = ["gcc loop.c -o loop"]')
    project.commit("one", **{"loop.c": program.format(100_000), ".gitignore": "loop\n"})
    project.commit("two", **{"loop.c": program.format(110_000)})
    said = perf("check", "--measure", "-n", "2", code=None)
    assert "the work of work is not counted: it chooses its code by the processor" in said.err
    assert "instructions" not in metrics() and "wall" in metrics()


@pytest.mark.parametrize(("rounds", "executions"), [(20_000, 1), (26_000, 2)])
def test_what_differs_after_one_execution_is_counted_once_more(
    project: Project, perf: Perf, monkeypatch: pytest.MonkeyPatch, rounds: int, executions: int
) -> None:
    """A second one shows whether it varies by itself."""
    monkeypatch.setattr(counting, "EXECUTIONS", 1)
    project.configure(f'cmd = "{sys.executable} loop.py"\nexact = "always"')
    project.commit("one", **{"loop.py": LOOP.format(20_000)})
    project.commit("two", **{"loop.py": f"{LOOP.format(rounds)}"}, other="x")
    said = perf("check", "--measure", "-n", "2", code=None)
    document = perf("check", "HEAD~1", "HEAD", "--json", code=None).document
    (count,) = [one for one in document["changes"] if one["metric"] == "bytecodes"]
    assert count["executions"] == [executions] * 2
    assert "1 execution (2 where these differ) of each version" in said.err


def test_nothing_is_counted_where_nobody_wants_it(python_project: Project, perf: Perf) -> None:
    said = perf("check", "--measure", "-n", "1", "--no-exact", code=None)
    assert "counting" not in said.err and "bytecodes" not in metrics()
    python_project.configure(f'cmd = "{sys.executable} loop.py"\nexact = "never"')
    said = perf("check", "--measure", "-n", "1", "HEAD~1", "HEAD", code=None)
    assert "counting" not in said.err and "bytecodes" not in metrics()


@pytest.mark.needs("valgrind")
def test_what_cannot_be_counted_is_said_and_what_was_timed_stays(
    project: Project, perf: Perf, tmp_path: Path
) -> None:
    """A program that ends with an error where valgrind runs it."""
    script = 'case "$LD_PRELOAD" in *vg*) exit 7;; esac\n'
    project.configure('cmd = "sh work.sh"\nexact = "always"')
    project.commit("one", **{"work.sh": script})
    project.commit("two", other="x")
    said = perf("check", "--measure", "-n", "2", code=None)
    assert tmp_path
    assert "work is not counted: " in said.err and said.code in (0, 4)
    assert "wall" in metrics() and "instructions" not in metrics()


TESTS = """\
from work import work

def test_short():
    assert work(300)

def test_long():
    assert work(20_000)
"""
WORK = (
    "def work(n):\n    total = 0\n    for i in range(n):\n        total += {}\n    return total\n"
)


def test_each_test_has_its_bytecodes_counted(project: Project, perf: Perf) -> None:
    """Setup, and what pytest does, are not among them."""
    project.configure(
        f'cmd = "{sys.executable} -m pytest -q"\nexact = "always"\ncollectors = ["pytest"]'
    )
    project.commit("one", **{"work.py": WORK.format("i"), "test_work.py": TESTS})
    project.commit("two", **{"work.py": WORK.format("i * 2")})
    said = perf("check", "--measure", "-n", "2", code=None)
    assert "counting the work of each unit of work: 2 executions of each version" in said.err
    document = perf("check", "HEAD~1", "HEAD", "--json", code=None).document
    counts = {one["uid"]: one for one in document["changes"] if one["metric"] == "bytecodes"}
    assert counts.keys() == {"test_work.py::test_short", "test_work.py::test_long"}
    for one in counts.values():
        assert 0.2 < one["effect"] < 0.35, "two of seven more in each round"
    times = [one for one in document["changes"] if one["metric"] in ("wall", "cpu")]
    assert len(times) == 4 and all("more bytecodes" in one["work"] for one in times)


@pytest.mark.needs("gcc", "valgrind")
def test_each_part_of_a_compiled_program_has_its_instructions_counted(
    project: Project, perf: Perf
) -> None:
    """Of the part whose code only moves, they are the same."""
    program = """
#include "perfvcs.h"
static volatile unsigned n;
int main(void)
{{
    perfvcs_timer timer = perfvcs_begin();
    for (int i = 0; i < {}; i++) n += i;
    perfvcs_end(timer, "moved", PERFVCS_NO_SIZE);
    timer = perfvcs_begin();
    for (int i = 0; i < 100000; i++) n += i;
    perfvcs_end(timer, "kept", 5);
    return 0;
}}
"""
    build = 'build = ["gcc -O1 -pie -fPIE loop.c -o loop"]'
    project.configure('cmd = "./loop"\nexact = "always"', top=build)
    project.commit("one", **{"loop.c": program.format(100_000), ".gitignore": "loop\n"})
    project.commit("two", **{"loop.c": program.format(120_000)})
    perf("check", "--measure", "-n", "2", code=None)
    document = perf("check", "HEAD~1", "HEAD", "--json", code=None).document
    changes = {
        (one["uid"], one["size"]): (one["word"], round(one["effect"], 2))
        for one in document["changes"]
        if one["metric"] == "instructions"
    }
    assert changes["kept", 5.0] == ("same", 0)
    assert changes["moved", None][1] == 0.2
    assert 0 < changes["work", None][1] < 0.2, "all of the program, too"


@pytest.mark.needs("valgrind")
@pytest.mark.parametrize(
    ("job", "often"),
    [
        ({"cmd": "python -m pytest", "collectors": ["pytest"]}, [2]),
        ({"cmd": "pytest --benchmark-json=b.json", "reads": "pytest-benchmark"}, [2]),
        ({"cmd": "./bench", "reads": "google-benchmark"}, [2]),
        ({"cmd": "./bench", "reads": "catch2"}, [2]),
        ({"cmd": "./bench"}, []),  # all of it is slower under valgrind
        ({"cmd": "./bench.test", "reads": "go"}, [2]),  # runs each as often as it is asked to
        ({"cmd": "go test -bench .", "reads": "go"}, []),  # compiles it first
        ({"cmd": "./bench.test", "reads": "go", "shell": True}, []),
        ({"cmd": "./bench", "reads": "libtest"}, []),  # runs as often as the clock allows
    ],
)
def test_units_are_counted_where_their_harness_says_when_they_begin_or_repeats_them(
    job: dict[str, object], often: list[int]
) -> None:
    """Five seconds of which the units take a tenth, once each."""
    cells = matrix(read({"job": [job]}))
    by_unit = {cells[0].label: UnitSeconds(0.05, 4.5)}
    counted, reasons = affordable(cells, 5.0, 40.0, by_unit)
    assert [one.executions for one in counted] == often and not reasons
    assert all(one.cell.unit == EVERY_UNIT for one in counted)
    assert affordable(cells, 5.0, 1.0, by_unit) == ([], [])


@pytest.mark.parametrize(
    ("job", "reason"),
    [
        (
            {"cmd": "./bench", "reads": "libtest"},
            "it reads `libtest`, which neither says when a benchmark begins nor runs one as often"
            " as it is asked to",
        ),
        (
            {"cmd": "go test -bench .", "reads": "go"},
            "a benchmark is counted where the command is the compiled program, without a shell:"
            " compile it in `build`",
        ),
    ],
)
def test_a_harness_whose_benchmarks_cannot_be_counted_is_named_where_counts_were_asked_for(
    job: dict[str, str], reason: str
) -> None:
    cells = matrix(read({"job": [{"name": "bench", "exact": "always", **job}]}))
    counted, reasons = affordable(cells, 5.0, 40.0, {cells[0].label: UnitSeconds(0.05, 4.5)})
    assert not counted
    assert reasons == [f"the work of bench is not counted: {reason}"]


@pytest.mark.needs("valgrind")
def test_benchmarks_that_are_repeated_take_their_number_of_executions() -> None:
    cells = matrix(read({"job": [{"cmd": "./bench.test", "reads": "go"}]}))
    counted, _ = affordable(cells, 5.0, 110.0, {cells[0].label: UnitSeconds(0.01, 0.02, 16)})
    assert [job.executions for job in counted] == [1]
    assert counted[0].seconds == pytest.approx(2 * (0.5 + 2 * 0.01 + 16 * 3.0))


@pytest.mark.needs("valgrind")
@pytest.mark.parametrize(
    ("job", "measured", "counted", "took"),
    [
        ({"cmd": "./bench.test", "reads": "go"}, 0.0, {"b", "a"}, 4 * (0.5 + 2 * 0.02 + 3 * 3.0)),
        ({"cmd": "./bench.test", "reads": "go"}, 0.0, {"b"}, 4 * (0.5 + 2 * 0.01 + 2 * 3.0)),
        (
            {"cmd": "python -m pytest", "collectors": ["pytest"]},
            1.0,
            {"b", "a"},
            2 * (0.2 + 4.0 + 5 * 2 * 0.02),
        ),
    ],
)
def test_of_units_that_are_too_many_those_are_counted_that_fit(
    job: dict[str, object], measured: float, counted: set[str], took: float
) -> None:
    """Those first whose times differ most; a later one that fits is not left out for one before it
    that does not.
    """
    cells = matrix(read({"job": [job]}))
    each = (UnitTime("b", 0.01, 2), UnitTime("much", 40.0, 40), UnitTime("a", 0.01))
    by_unit = {cells[0].label: UnitSeconds(40.02, measured, 43, each)}
    (part,), reasons = affordable(cells, 5.0, took + 0.01, by_unit)
    assert not reasons and part.cell.left_out == {"a", "b", "much"} - counted
    often = 1 if measured else 2  # what is repeated differs a little each time
    assert (part.executions, part.units, part.among) == (often, len(counted), 3)
    assert part.seconds == pytest.approx(took)


def test_programs_whose_units_do_not_run_apart_are_counted_as_a_whole_or_not() -> None:
    cells = matrix(read({"job": [{"cmd": "python bench.py"}]}))
    by_unit = {cells[0].label: UnitSeconds(0.01, 0.02, 1, (UnitTime("a", 0.01),))}
    assert affordable(cells, 5.0, 40.0, by_unit) == ([], [])


REPEATED_APART = """\
often=1
while [ $# -gt 0 ]; do
  case "$1" in
    -test.bench) only=$2; shift;;
    -test.benchtime) often=${{2%x}}; shift;;
  esac
  shift
done
echo "pkg: m"
for pair in Long:900 Moved:{time} Kept:400; do
  name=${{pair%:*}}
  case "${{only-$name}}" in $name|"^Benchmark$name\\$")
    n=0
    while [ $n -lt $((often * ${{pair#*:}} / 10)) ]; do n=$((n + 1)); done
    echo "Benchmark$name $often ${{pair#*:}} ns/op"
  esac
done
"""


@pytest.mark.needs("valgrind")
def test_the_unit_whose_times_moved_is_counted_before_longer_ones(
    project: Project, perf: Perf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is time for one, and what is left out of the counts is said."""
    monkeypatch.setattr(counting, "allowance", lambda *_: 15.0)
    project.write("perf.toml", '[[job]]\nname = "bench"\ncmd = "sh bench.sh"\nreads = "go"\n')
    project.commit("one", **{"bench.sh": REPEATED_APART.format(time=300)})
    project.commit("two", **{"bench.sh": REPEATED_APART.format(time=360)})
    said = perf("check", "--measure", "-n", "3", code=None)
    assert "counting the work of 1 of 3 units of bench (whose times differ most): " in said.err
    assert '(`exact = "always"` counts all units, "never" none)' in said.err
    document = perf("check", "HEAD~1", "HEAD", "--json", code=None).document
    (count,) = [one for one in document["changes"] if one["metric"] == "instructions"]
    assert (count["uid"], count["word"]) == ("m.Moved", "degradation")
    assert "vanished" not in perf("check", "HEAD~1", "HEAD", code=None).out


def jobs(text: str, seconds: float, room: float) -> tuple[list[int], list[str]]:
    """How often each job is counted whose executions take so many seconds, and why others are
    not.
    """
    cells = matrix(read({"job": [{"cmd": "python work.py", **json.loads(text)}]}))
    counted, reasons = affordable(cells, seconds, room)
    return [job.executions for job in counted], reasons


@pytest.mark.parametrize(
    ("asked", "room", "often"),
    [("auto", 100.0, [2]), ("auto", 11.0, [1]), ("auto", 1.0, []), ("always", 1.0, [2])],
)
def test_counting_takes_no_more_than_its_share(asked: str, room: float, often: list[int]) -> None:
    assert jobs(json.dumps({"exact": asked}), 1.0, room)[0] == often


@pytest.mark.parametrize(
    ("pairs", "asked", "left"),
    [
        (30, Request(), 60.0),
        (5, Request(), 1.0),
        (30, Request(executions=30), 1.0),
        (30, Request(budget=10.0), 6.0),
    ],
)
def test_a_short_session_that_left_a_job_open_has_room_for_counting(
    pairs: int, asked: Request, left: float
) -> None:
    """A fifth of four seconds is no time, and all thirty pairs were measured."""
    assert allowance(4.0, pairs, asked) == left


@pytest.mark.needs("valgrind")
@pytest.mark.parametrize(("asked", "longest"), [("auto", 90.0), ("always", 3600.0)])
def test_counting_that_takes_far_longer_than_expected_is_given_up(
    asked: str, longest: float
) -> None:
    """A script that starts hundreds of programs is no thirty times slower, but hundreds."""
    cells = matrix(read({"job": [{"cmd": "sh t.sh", "timeout": "60s", "exact": asked}]}))
    (job,), _ = affordable(cells, 1.0, 100.0)
    assert job.cell.timeout == pytest.approx(longest, rel=0.05)


@pytest.mark.needs("valgrind")
@pytest.mark.parametrize("program", ["./sort", "perl t.pl", "lua t.lua", "sh t.sh"])
def test_only_the_program_is_slower_where_work_is_counted(program: str) -> None:
    """What an execution costs beside the program, 0.4 s, is no slower under valgrind."""
    cells = matrix(read({"job": [{"cmd": program}]}))
    label = cells[0].label
    counted, _ = affordable(cells, 0.42, 10.0, by_whole={label: 0.02})
    assert [job.executions for job in counted] == [2]
    assert counted[0].seconds == pytest.approx(4 * (0.5 + 30 * 0.02 + 0.4))
    assert affordable(cells, 0.62, 10.0, by_whole={label: 0.6}) == ([], [])


@pytest.mark.needs("node", "valgrind")
def test_a_script_that_a_compiling_program_runs_is_not_counted(
    project: Project, perf: Perf
) -> None:
    project.configure('cmd = "./bench"\nexact = "always"')
    project.write("bench", "#!/usr/bin/env node\n").chmod(0o755)
    project.commit("one")
    project.commit("two", other="x")
    said = perf("check", "--measure", "-n", "2", code=None)
    assert "the work of work is not counted: node compiles while it runs" in said.err
    assert "instructions" not in metrics()


@pytest.mark.parametrize(
    "program",
    [
        "node app.js",
        "/usr/bin/java -jar a.jar",
        "pypy3.10 a.py",
        "node_modules/.bin/mocha test/",
        "env -C tests TZ=UTC npm test",
        "mvn test",
    ],
)
def test_what_compiles_while_it_runs_is_not_counted(program: str) -> None:
    counted, warnings = jobs(json.dumps({"cmd": program, "exact": "always"}), 1.0, 100.0)
    assert counted == [] and "compiles while it runs" in warnings[0]
    assert jobs(json.dumps({"cmd": program}), 1.0, 100.0) == ([], [])


REPEATING = """\
often=1
while [ $# -gt 0 ]; do
  case "$1" in -test.benchtime) often=${{2%x}}; shift;; esac
  shift
done
n=0
while [ $n -lt $often ]; do n=$((n + 1)); done
echo "pkg: m"
echo "BenchmarkSort $often {time} ns/op"
"""


@pytest.mark.needs("valgrind")
def test_what_a_harness_repeats_is_counted_and_its_commit_found_by_the_counts(
    project: Project, perf: Perf
) -> None:
    """One iteration, whatever the program does beside; under the name that its times have."""
    first = REPEATING.format(time=500)
    project.write(
        "perf.toml",
        '[[job]]\nname = "bench"\ncmd = "sh bench.sh"\nreads = "go"\nexact = "always"\n',
    )
    project.commit("one", **{"bench.sh": first})
    project.commit("two", **{"bench.sh": f"sleep 0\n{first}"})
    slower = REPEATING.format(time=700).replace("done\necho", ": $n; done\necho")
    slow = project.commit("three", **{"bench.sh": f"sleep 0\n{slower}"})
    project.commit("four", **{"bench.sh": f"sleep 0\n{slower}# the end\n"})
    perf("check", "--measure", "HEAD~3", "HEAD", "-n", "5", code=3)
    document = perf("check", "HEAD~3", "HEAD", "--json", code=None).document
    (count,) = [one for one in document["changes"] if one["metric"] == "instructions"]
    assert (count["uid"], count["word"]) == ("m.Sort", "degradation")
    assert 0.1 < count["effect"] < 1
    found = perf("bisect", "HEAD~3", "HEAD", "-m", "instructions", "--json", code=None).document
    assert [one["commit"] for one in found["named"]] == [slow]
    assert found["target"]["uid"] == "m.Sort"
