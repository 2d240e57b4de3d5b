"""Instructions of each benchmark of a program of Catch2, which runs them by the clock."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import lack, need

from perfvcs.collectors.instructions import Instructions
from perfvcs.jobs.harness import chosen
from perfvcs.plugins.collector import EVERY_UNIT, CollectError, Reads, Run

WORK = """
long work(long rounds)
{
    volatile long sum = 0;
    while (rounds--)
        sum += rounds;
    return sum;
}
"""
BENCHMARKS = """
#define CATCH_CONFIG_MAIN
#define CATCH_CONFIG_ENABLE_BENCHMARKING
#include <catch2/catch.hpp>
#include <string>

long work(long rounds);

TEST_CASE("parts")
{
    BENCHMARK("few") { return work(1000); };
    for (long rounds : { 3000, 5000 })
        BENCHMARK("of " + std::to_string(rounds / 1000) + "k") { return work(rounds); };
    BENCHMARK_ADVANCED("prepared")(Catch::Benchmark::Chronometer meter)
    {
        work(70000);
        meter.measure([] { return work(2000); });
    };
}
"""
READS = Reads("catch2")
# as `perf init` writes them
OPTIONS = "--reporter xml --benchmark-samples 20 --benchmark-warmup-time 5 --benchmark-no-analysis"


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """A program of Catch2, compiled without optimising, which would take minutes."""
    need("gcc", "g++", "valgrind")
    if not Path("/usr/include/catch2/catch.hpp").exists():
        lack("Catch2")
    folder = tmp_path_factory.mktemp("catch2")
    (folder / "work.c").write_text(WORK)
    (folder / "work.h").write_text('extern "C" long work(long rounds);\n')
    (folder / "benchmarks.cpp").write_text(
        BENCHMARKS.replace("long work(long rounds);\n", '#include "work.h"\n', 1)
    )
    for command in (
        ["gcc", "-g", "-O1", "-c", "work.c"],
        ["g++", "-g", "-O0", "benchmarks.cpp", "work.o", "-o", "benchmarks"],
    ):
        subprocess.run(command, cwd=folder, check=True)
    return folder / "benchmarks"


@pytest.fixture
def counted(program, tmp_path):
    """Counts a unit of the program, with the words that its harness takes for that."""

    def count(unit):
        argv = chosen([str(program), *OPTIONS.split()], READS, unit, once=True)
        run = Run(
            tuple(argv), program.parent, {"PATH": "/usr/bin:/bin"}, tmp_path / unit[-4:], "job"
        )
        run.scratch.mkdir()
        return Instructions(repeat=0).collect(replace(run, unit=unit, reads=READS, timeout=300))

    return count


@pytest.mark.slow
def test_each_benchmark_of_catch2_is_counted_for_one_iteration(counted):
    """One that prepares something is counted without that."""
    seen = counted(EVERY_UNIT)
    assert seen.engine.endswith(":unit")
    rounds = {"few": 1000, "of 3k": 3000, "of 5k": 5000, "prepared": 2000}
    amounts = dict(zip(seen.uid, seen.values["instructions"], strict=True))
    of_a_round = (amounts["parts > of 5k"] - amounts["parts > of 3k"]) / 2000
    assert 4 <= of_a_round <= 10
    assert amounts == {
        f"parts > {name}": pytest.approx(of_a_round * number, abs=700)
        for name, number in rounds.items()
    }


@pytest.mark.slow
def test_a_benchmark_of_catch2_is_counted_with_its_functions(counted):
    seen = counted("parts > prepared")
    assert not seen.warnings
    inside = sum(
        value
        for uid, value in zip(seen.uid, seen.values["exclusive"], strict=True)
        if uid == "work" and value
    )
    whole = next(value for value in seen.values["instructions"] if value is not None)
    assert 2000 * 4 <= inside <= whole <= inside + 700
    with pytest.raises(CollectError, match="parts > gone is not among the benchmarks"):
        counted("parts > gone")


def test_an_option_that_catch2_takes_only_once_is_replaced():
    words = chosen(["bench", *OPTIONS.split(), "--benchmark-samples=9"], READS, "sort", once=True)
    assert words == [
        *("bench", "--reporter", "xml", "sort", "--benchmark-samples", "1"),
        *("--benchmark-warmup-time", "0", "--benchmark-no-analysis"),
    ]
