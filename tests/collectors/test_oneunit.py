"""Counting inside one unit of a program: real programs, one unit each."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import lack, need

from perfvcs.collectors.bytecode import Bytecode
from perfvcs.collectors.instructions import Instructions, filters, valgrind
from perfvcs.native import native_folder, python_folder
from perfvcs.plugins.collector import EVERY_UNIT, CollectError, Reads, Run

CORE = """
def count(number):
    total = 0
    for part in range(number):
        total += part
    return total
"""
ROUND = 7 if sys.version_info < (3, 13) else 6  # bytecodes of a round
TESTS = """
import multiprocessing
import os
import subprocess
import sys
import threading
import unittest

import pytest
from core import count

seen = []

def test_first():
    seen.append("first")
    count(100_000)

def test_count():
    count(1000)

@pytest.mark.parametrize("number", [500, 1500])
def test_sizes(number):
    count(number)

def test_after():
    assert seen
    count(300)

def test_fails():
    assert count(3) == 4

def test_once():
    assert "once" not in seen
    seen.append("once")
    count(700)

def test_warm():
    if "warm" not in seen:
        seen.append("warm")
        count(50_000)
    count(400)

def test_thread():
    thread = threading.Thread(target=count, args=(2000,))
    thread.start()
    thread.join()

def test_process():
    subprocess.run([sys.executable, "-c", "from core import count; count(30_000)"], check=True)

def test_workers():
    worker = multiprocessing.get_context("fork").Process(target=count, args=(5000,))
    worker.start()
    worker.join()

class TestCase(unittest.TestCase):
    def test_method(self):
        count(600)
"""

BENCH = """
import perfvcs_bench as bench
from core import count

@bench.measure("decorated")
def decorated():
    count(700)

with bench.measure("first"):
    count(90_000)
for size in (100, 200, 300):
    with bench.measure("parse", size=size):
        count(size)
    decorated()
with bench.measure("outer"):
    with bench.measure("inner"):
        count(800)
    count(100)
bench.repeat("repeated", lambda: count(400), iterations=30)
bench.record("reported", wall=1.0)
try:
    with bench.measure("raising"):
        count(2)
        raise LookupError
except LookupError:
    pass
"""
SUITE = """
from core import count

class Suite:
    params = [10, 100, 1000]
    param_names = ["number"]

    def setup_cache(self):
        return {"before": count(10_000)}

    def setup(self, cache, number):
        self.numbers = list(range(number, 0, -1))
        count(5000)

    def time_sum(self, cache, number):
        assert cache["before"] and self.numbers[0] == number
        self.numbers.sort()
        count(number)

    def peakmem_sum(self, cache, number):
        count(number)

def track_total():
    return count(50)
"""


@pytest.fixture
def run(tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "suite").mkdir()
    (tmp_path / "lib/core.py").write_text(CORE)
    (tmp_path / "test_core.py").write_text(TESTS)
    (tmp_path / "bench.py").write_text(BENCH)
    (tmp_path / "suite/sums.py").write_text(SUITE)

    def make(unit, *words, **variables):
        scratch = tmp_path / f"scratch-{len(list(tmp_path.iterdir()))}"
        scratch.mkdir()
        env = {
            "PATH": "/usr/bin:/bin",
            "PYTHONPATH": f"{tmp_path}/lib:{python_folder()}",
        } | variables
        command = words or ("-m", "pytest", "-q", "test_core.py")
        return Run((sys.executable, *command), tmp_path, env, scratch, "tests", unit=unit)

    return make


def total(seen, metric):
    values = [value for value in seen.values[metric] if value is not None]
    assert seen.uid[0] == "tests"
    return values[0]


def exclusive(seen, name):
    places = [place for place, uid in enumerate(seen.uid) if uid == name]
    return sum(seen.values["exclusive"][place] or 0 for place in places)


def calls(seen, name):
    places = [place for place, uid in enumerate(seen.uid) if uid == name]
    return sum(seen.values["calls"][place] or 0 for place in places)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("test", "rounds"),
    [
        ("test_count", 1000),
        ("test_sizes[500]", 500),
        ("test_after", 300),
        ("test_once (once)", 700),
        ("test_warm", 400),
        ("test_thread", 2000),
        ("TestCase::test_method", 600),
    ],
)
def test_the_bytecodes_of_a_test_are_those_of_its_call(run, test, rounds):
    seen = Bytecode(warm=False).collect(run(f"test_core.py::{test}"))
    assert seen.engine == "instructions/1:unit"
    assert not seen.warnings
    assert ROUND * rounds < total(seen, "bytecodes") < ROUND * rounds + 1000
    assert calls(seen, "count (lib/core.py)") == 1


@pytest.mark.slow
def test_a_process_that_a_test_starts_belongs_to_it(run):
    seen = Bytecode(warm=False).collect(run("test_core.py::test_process"))
    assert calls(seen, "count (lib/core.py)") == 1
    assert total(seen, "bytecodes") > ROUND * 30_000


@pytest.mark.needs("gcc", "valgrind")
def test_a_worker_that_a_test_forks_belongs_to_it(run):
    seen = Bytecode(warm=False).collect(run("test_core.py::test_workers"))
    assert calls(seen, "count (lib/core.py)") == 1
    assert ROUND * 5000 < total(seen, "bytecodes") < ROUND * 5000 + 20_000
    seen = Instructions(repeat=0).collect(run("test_core.py::test_workers"))
    assert total(seen, "instructions") > 250 * 5000


@pytest.mark.slow
def test_workers_of_xdist_are_left_out(run):
    pytest.importorskip("xdist")
    seen = Bytecode(warm=False).collect(run("test_core.py::test_after", PYTEST_ADDOPTS="-n 2"))
    assert calls(seen, "count (lib/core.py)") == 1
    assert total(seen, "bytecodes") < ROUND * 300 + 1000


@pytest.mark.needs("gcc", "valgrind")
def test_the_instructions_of_a_test_are_those_of_its_call(run):
    """A round takes the interpreter some 360 instructions, and the switch 7,000 of its own."""
    rounds = {"test_sizes[500]": 500, "test_sizes[1500]": 1500, "test_thread": 2000}
    seen = {test: Instructions(repeat=0).collect(run(f"test_core.py::{test}")) for test in rounds}
    assert {found.engine.partition("-")[0] for found in seen.values()} == {"callgrind"}
    assert all(found.engine.endswith(":unit") for found in seen.values())
    least, middle, most = (total(found, "instructions") for found in seen.values())
    assert 2.8 < middle / least < 3.4
    assert 4 < most / least < 5.5
    assert not any(found.warnings for found in seen.values())


@pytest.mark.needs("gcc", "valgrind")
def test_the_instructions_of_a_process_that_a_test_starts_belong_to_it(run):
    seen = Instructions(repeat=0, tool="cachegrind").collect(run("test_core.py::test_process"))
    assert total(seen, "instructions") > 200 * 30_000
    assert set(seen.values) == {"instructions", "repeatability", "exclusive"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("test", "message"),
    [
        ("test_fails", "test_core.py::test_fails failed: assert 3 == 4"),
        ("test_gone", "test_core.py::test_gone is not among the tests that"),
    ],
)
def test_a_test_that_does_not_pass_is_not_counted(run, test, message):
    with pytest.raises(CollectError, match=message):
        Bytecode(warm=False).collect(run(f"test_core.py::{test}"))


@pytest.mark.slow
def test_a_program_that_says_nothing_of_its_units_is_counted_as_a_whole(run):
    seen = Bytecode(warm=False).collect(run("count", "-c", "from core import count; count(1000)"))
    assert seen.engine == "instructions/1"
    assert seen.warnings[0].startswith("counted over the whole program: nothing in")
    assert total(seen, "bytecodes") > ROUND * 1000


@pytest.mark.parametrize(
    ("unit", "rounds", "counted"),
    [
        ("first", 90_000, 1),
        ("decorated", 700, 1),
        ("parse", 200, 1),  # the mean of its sizes
        ("outer", 900, 2),
        ("inner", 800, 1),
        ("repeated", 400, 1),
    ],
)
def test_the_bytecodes_of_a_block_are_those_between_its_ends(run, unit, rounds, counted):
    seen = Bytecode(warm=False).collect(run(unit, "bench.py"))
    assert seen.engine == "instructions/1:unit"
    assert ROUND * rounds < total(seen, "bytecodes") < ROUND * rounds + 2000
    assert calls(seen, "count (lib/core.py)") == pytest.approx(counted)


def test_a_block_that_raises_or_is_only_reported_is_not_counted(run):
    with pytest.raises(CollectError, match="raising is not among the units that"):
        Bytecode(warm=False).collect(run("raising", "bench.py"))
    seen = Bytecode(warm=False).collect(run("reported", "bench.py"))
    assert seen.engine == "instructions/1"
    assert "reports reported and does not say when it begins" in seen.warnings[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("unit", "rounds"),
    [("sums.Suite.time_sum", 370), ("sums.Suite.peakmem_sum", 370), ("sums.track_total", 50)],
)
def test_the_bytecodes_of_a_benchmark_of_asv_are_those_of_a_call(run, unit, rounds):
    seen = Bytecode(warm=False).collect(run(unit, "-m", "perfvcs_asv", "suite"))
    assert seen.engine == "instructions/1:unit"
    assert ROUND * rounds < total(seen, "bytecodes") < ROUND * rounds + 200
    assert calls(seen, "count (lib/core.py)") == pytest.approx(1)


def test_a_benchmark_that_a_suite_has_not_is_named(run):
    with pytest.raises(CollectError, match=r"sums\.gone is not among the benchmarks of suite"):
        Bytecode(warm=False).collect(run("sums.gone", "-m", "perfvcs_asv", "suite"))


@pytest.mark.needs("gcc", "valgrind")
def test_the_instructions_of_a_block_are_those_between_its_ends(run):
    first, mean = (
        total(Instructions(repeat=0).collect(run(unit, "bench.py")), "instructions")
        for unit in ("first", "parse")
    )
    assert 200 < (first - 7_000) / (mean - 7_000) < 800


PROGRAM = """
#include "perfvcs.h"
#include <pthread.h>
#include <sys/wait.h>
__attribute__((noinline)) long work(long n)
{
    volatile long s = 0;
    for (long i = 0; i < n; i++)
        s += i;
    return s;
}
static void *thread(void *n) { work((long)n); return 0; }
int main(void)
{
    work(1000000);
    for (int i = 1; i <= 3; i++) {
        perfvcs_timer timer = perfvcs_begin();
        work(1000 * i);
        perfvcs_end(timer, "parse", 1000 * i);
        timer = perfvcs_begin();
        work(50000);
        perfvcs_end(timer, "other", PERFVCS_NO_SIZE);
    }
    perfvcs_timer outer = perfvcs_begin();
    work(3000);
    perfvcs_timer inner = perfvcs_begin();
    work(700);
    perfvcs_end(inner, "inner", PERFVCS_NO_SIZE);
    work(4000);
    perfvcs_end(outer, "outer", PERFVCS_NO_SIZE);
    perfvcs_timer crossing = perfvcs_begin();
    work(500);
    perfvcs_timer crossed = perfvcs_begin();
    work(60);
    perfvcs_end(crossing, "crossing", PERFVCS_NO_SIZE);
    work(7);
    perfvcs_end(crossed, "crossed", PERFVCS_NO_SIZE);
    perfvcs_timer threads = perfvcs_begin();
    pthread_t started;
    pthread_create(&started, 0, thread, (void *)20000);
    pthread_join(started, 0);
    perfvcs_end(threads, "threads", PERFVCS_NO_SIZE);
    perfvcs_timer forks = perfvcs_begin();
    if (!fork()) {
        work(9000);
        _exit(0);
    }
    wait(0);
    perfvcs_end(forks, "forks", PERFVCS_NO_SIZE);
    for (int k = 0; k < 3000; k++) {
        perfvcs_timer often = perfvcs_begin();
        work(100);
        perfvcs_end(often, "often", 5);
    }
    return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    need("gcc", "valgrind")
    folder = tmp_path_factory.mktemp("programs")
    (folder / "timed.c").write_text(PROGRAM)
    for name, flags in (("timed", ("-pie", "-fPIE")), ("fixed", ("-no-pie", "-fno-pie"))):
        command = ["gcc", "-g", "-O1", *flags, "-I", str(native_folder()), "timed.c", "-pthread"]
        subprocess.run([*command, "-o", name], cwd=folder, check=True)
    return folder / "timed"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("unit", "rounds", "counted"),
    [
        ("parse", 2000, 1),  # the mean of its sizes
        ("inner", 700, 1),
        ("outer", 7700, 3),
        ("crossing", 560, 2),
        ("crossed", 67, 2),
        ("threads", 20_000, 1),
        ("forks", 9000, 1),
        ("often", 100, 1),
    ],
)
def test_the_instructions_of_a_timed_part_are_those_between_its_ends(
    run, program, unit, rounds, counted
):
    seen = Instructions(repeat=0).collect(replace(run(unit), argv=(str(program),)))
    assert seen.engine.endswith(":unit")
    assert calls(seen, "work") == counted
    assert exclusive(seen, "work") == pytest.approx(6 * rounds, abs=8 * counted)
    assert [warning.partition(" runs ")[2] for warning in seen.warnings] == (
        ["the unit more often, and its first 100 runs are counted"] if unit == "often" else []
    )


def test_a_program_in_which_nothing_can_be_preloaded_is_counted_as_a_whole(run, program):
    fixed = replace(run("parse"), argv=(str(program.with_name("fixed")),))
    seen = Instructions(repeat=0).collect(fixed)
    assert calls(seen, "work") == 3015
    assert not seen.engine.endswith(":unit")
    assert "reports parse and does not say when it begins" in seen.warnings[0]


def test_without_a_compiler_the_whole_program_is_counted(run, program, monkeypatch):
    monkeypatch.setattr(valgrind, "_switch", lambda: None)
    seen = Instructions(repeat=0).collect(replace(run("parse"), argv=(str(program),)))
    assert not seen.engine.endswith(":unit")
    assert any("can be switched only with a C compiler" in line for line in seen.warnings)


GOOGLE = """
#include <benchmark/benchmark.h>
static __attribute__((noinline)) long work(long n)
{
    volatile long x = 0;
    for (long i = 0; i < n; i++)
        x = x + i;
    return x;
}
static void BM_once(benchmark::State &s) { for (auto _ : s) work(1000); }
static void BM_sized(benchmark::State &s) { for (auto _ : s) work(s.range(0)); }
struct Fixed : benchmark::Fixture {};
BENCHMARK_F(Fixed, Method)(benchmark::State &s) { for (auto _ : s) work(300); }
static void BM_pausing(benchmark::State &s)
{
    work(70000);
    for (auto _ : s) {
        work(200);
        s.PauseTiming();
        work(80000);
        s.ResumeTiming();
        work(400);
    }
    work(90000);
}
BENCHMARK(BM_once);
BENCHMARK(BM_once)->Threads(2);
BENCHMARK(BM_sized)->Arg(100)->Arg(5000);
BENCHMARK(BM_pausing)->Repetitions(3);
BENCHMARK_MAIN();
"""


@pytest.fixture(scope="module")
def google(tmp_path_factory):
    """A program of Google Benchmark."""
    need("g++", "valgrind")
    if not Path("/usr/include/benchmark/benchmark.h").exists():
        lack("Google Benchmark")
    folder = tmp_path_factory.mktemp("google")
    (folder / "google.cpp").write_text(GOOGLE)
    command = ["g++", "-g", "-O1", "google.cpp", "-lbenchmark", "-pthread", "-o", "google"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "google"


@pytest.mark.slow
def test_a_benchmark_of_google_benchmark_is_counted_by_its_filter(run, google, monkeypatch):
    def collect(unit):
        return Instructions(repeat=0).collect(replace(run(unit), argv=(str(google),)))

    for unit, rounds in (
        ("BM_sized/5000", 5000),
        ("BM_sized", 5100),
        ("Fixed/Method", 300),
        ("BM_pausing", 3 * 600),
    ):
        seen = collect(unit)
        assert seen.engine.endswith(":unit") and not seen.warnings
        assert exclusive(seen, "work(long)") == pytest.approx(6 * rounds, abs=60)
        assert total(seen, "instructions") < 6 * rounds + 1000
    monkeypatch.setattr(filters, "LOOP", ())  # as where the library has no names
    seen = collect("BM_sized")
    assert exclusive(seen, "work(long)") == pytest.approx(6 * 5100, abs=60)
    assert 6 * 5100 + 1000 < total(seen, "instructions") < 6 * 5100 + 10_000
    seen = collect("Fixed/Method")
    assert "is counted with the start of" in seen.warnings[0]
    with pytest.raises(CollectError, match="BM_gone is not among the benchmarks of"):
        collect("BM_gone")


def amounts(seen):
    """What was counted, by unit and size."""
    (column,) = seen.values.values()
    return {
        (uid, size): value for uid, size, value in zip(seen.uid, seen.size, column, strict=True)
    }


@pytest.mark.slow
def test_each_benchmark_of_google_benchmark_is_counted_in_one_execution(run, google):
    """Those of several threads are not, since these mix."""
    once = ("--benchmark_min_time=0", "--benchmark_format=json")
    asked = replace(run(EVERY_UNIT), argv=(str(google), *once), reads=Reads("google-benchmark"))
    seen = Instructions(tool="cachegrind", repeat=0).collect(asked)
    assert seen.engine.endswith(":unit") and seen.engine.startswith("callgrind")
    assert amounts(seen) == {
        ("Fixed(Method)", None): pytest.approx(6 * 300, abs=250),
        ("BM_once", None): pytest.approx(6 * 1000, abs=250),
        ("BM_sized", 100.0): pytest.approx(6 * 100, abs=250),
        ("BM_sized", 5000.0): pytest.approx(6 * 5000, abs=250),
        ("BM_pausing", None): pytest.approx(6 * 600, abs=250),
    }
    (column,) = seen.metrics.values()
    assert (column.kind, column.better) == ("deterministic", "lower")
    unread = replace(asked, reads=None, scratch=asked.scratch / "unread")
    unread.scratch.mkdir()
    assert not Instructions(repeat=0).collect(unread).engine.endswith(":unit"), "as a whole"


@pytest.mark.slow
def test_loops_that_do_not_fit_what_is_reported_are_not_counted(run, google):
    """Benchmarks that run until enough time is over run more than once."""
    argv = (str(google), "--benchmark_min_time=0.01", "--benchmark_format=json")
    asked = replace(run(EVERY_UNIT), argv=argv, reads=Reads("google-benchmark"))
    with pytest.raises(CollectError, match="cannot be told apart: it ran"):
        Instructions(repeat=0).collect(asked)


@pytest.mark.slow
def test_each_part_that_perfvcs_h_times_is_counted_in_one_execution(run, program):
    seen = Instructions(tool="cachegrind", repeat=0).collect(
        replace(run(EVERY_UNIT), argv=(str(program),))
    )
    found = amounts(seen)
    whole = found.pop(("tests", None))
    rounds = {
        ("parse", 1000.0): 1000,
        ("parse", 2000.0): 2000,
        ("parse", 3000.0): 3000,
        ("other", None): 50_000,
        ("inner", None): 700,
        ("outer", None): 7700,
        ("crossing", None): 560,
        ("crossed", None): 67,
        ("often", 5.0): 100,
    }
    for unit, number in rounds.items():
        assert 6 * number < found[unit] < 6 * number + 12_000, unit
    assert found["threads", None] > 6 * 20_000 and found["forks", None] > 6 * 9000
    assert found.keys() == rounds.keys() | {("threads", None), ("forks", None)}
    assert whole > 6 * 1_000_000, "all of the program, too"


@pytest.mark.slow
def test_a_program_in_which_no_unit_can_be_seen_is_counted_as_a_whole(run, program):
    fixed = replace(run(EVERY_UNIT), argv=(str(program.with_name("fixed")),))
    seen = Instructions(tool="cachegrind", repeat=0).collect(fixed)
    assert not seen.engine.endswith(":unit") and seen.uid[0] == "tests"


@pytest.mark.slow
def test_the_bytecodes_of_each_test_are_counted_in_one_execution(run):
    """Each in its last run; what failed is not."""
    seen = Bytecode(warm=False).collect(run(EVERY_UNIT))
    assert seen.engine == "instructions/1:unit"
    rounds = {
        "test_first": 100_000,
        "test_count": 1000,
        "test_sizes[500]": 500,
        "test_sizes[1500]": 1500,
        "test_after": 300,
        "test_once": 700,
        "test_warm": 400,
        "test_thread": 2000,
        "test_process": 30_000,
        "test_workers": 5000,
        "TestCase::test_method": 600,
    }
    found = {uid.removeprefix("test_core.py::"): value for (uid, _), value in amounts(seen).items()}
    assert found.keys() == rounds.keys()
    for test, number in rounds.items():
        assert ROUND * number < found[test] < ROUND * number + 20_000, test
    assert found["test_count"] < ROUND * 1000 + 1000


@pytest.mark.slow
def test_the_bytecodes_of_each_part_of_a_program_are_counted_in_one_execution(run):
    """At each size; what begins inside another part is in that one."""
    found = amounts(Bytecode(warm=False).collect(run(EVERY_UNIT, "bench.py")))
    assert found.pop(("tests", None)) > ROUND * 90_000, "all of the program, too"
    rounds = {
        ("first", None): 90_000,
        ("parse", 100.0): 100,
        ("parse", 200.0): 200,
        ("parse", 300.0): 300,
        ("decorated", None): 700,
        ("outer", None): 900,
        ("repeated", None): 400,
    }
    assert found.keys() == rounds.keys()
    for unit, number in rounds.items():
        assert ROUND * number < found[unit] < ROUND * number + 700, unit


@pytest.mark.slow
def test_the_bytecodes_of_each_benchmark_of_asv_are_counted_in_one_execution(run):
    found = amounts(Bytecode(warm=False).collect(run(EVERY_UNIT, "-m", "perfvcs_asv", "suite")))
    assert {uid for uid, _ in found} == {
        "sums.Suite.time_sum",
        "sums.Suite.peakmem_sum",
        "sums.track_total",
    }
    for size in (10.0, 100.0, 1000.0):
        assert ROUND * size < found["sums.Suite.time_sum", size] < ROUND * size + 300
