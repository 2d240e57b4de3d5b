"""Benchmarks that their harness runs as often as it is asked to, counted by the difference."""

from __future__ import annotations

import os
import subprocess
from functools import partial
from pathlib import Path

import pytest

from perfvcs.collectors.instructions import Instructions, repetitions
from perfvcs.jobs.harness import chosen, repeated, steady
from perfvcs.plugins.collector import EVERY_UNIT, CollectError, Reads, Repetition, Run

GO = Reads("go")
BENCHMARKS = """\
package mark

import "testing"

var sink int

//go:noinline
func work(n int) (sum int) {
	for i := 0; i < n; i++ {
		sum += i ^ sum
	}
	return sum
}

func BenchmarkLong(b *testing.B) {
	sink += work(3000000)
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		sink += work(50000)
	}
}

func BenchmarkSized(b *testing.B) {
	b.Run("n=1000", func(b *testing.B) {
		for i := 0; i < b.N; i++ {
			sink += work(1000)
		}
	})
	b.Run("n=10000", func(b *testing.B) {
		for i := 0; i < b.N; i++ {
			sink += work(10000)
		}
	})
}

func BenchmarkFails(b *testing.B) {
	if b.N > 1 {
		b.Fatal("once is enough")
	}
}
"""
LONG, SIZED = "mark.Long", "mark.Sized"
# a harness that runs another benchmark beside the one that it is asked for
SHELL = """\
often=1 name=.
while [ $# -gt 0 ]; do
  case "$1" in
    -test.bench) name=$2; shift;;
    -test.benchtime) often=${2%x}; shift;;
  esac
  shift
done
echo "pkg: m"
echo "BenchmarkBoth $often 5 ns/op"
case $name in *Both*) echo "BenchmarkBeside 1 5 ns/op";; esac
"""


@pytest.fixture(scope="module")
def mark(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A compiled test of Go."""
    folder = tmp_path_factory.mktemp("mark")
    (folder / "go.mod").write_text("module mark\n\ngo 1.18\n")
    (folder / "mark_test.go").write_text(BENCHMARKS)
    subprocess.run(["go", "test", "-c", "-o", "mark.test", "."], cwd=folder, check=True)
    return folder / "mark.test"


def asked(scratch: Path, *words: str, unit: str = EVERY_UNIT) -> Run:
    """An execution in which a unit is to be counted, as a session makes it."""
    scratch.mkdir()
    return Run(
        argv=tuple(chosen(words, GO, unit, once=True)),
        cwd=scratch,
        env=dict(os.environ),
        scratch=scratch,
        uid="bench",
        unit=unit,
        reads=GO,
        alone=unit != EVERY_UNIT,
        repetition=Repetition(partial(repeated, words, GO), steady(GO)),
    )


def amounts(rows):
    """What one iteration executes, by unit and size."""
    names = [uid.partition(" cpus=")[0] for uid in rows.uid]
    column = rows.values["instructions"]
    return {
        (uid, size): value
        for uid, size, value in zip(names, rows.size, column, strict=True)
        if value is not None
    }


@pytest.mark.slow
@pytest.mark.needs("go", "valgrind")
def test_each_benchmark_of_go_is_counted_without_what_it_prepares(mark, tmp_path):
    counter = Instructions(tool="cachegrind", repeat=0)
    run = asked(tmp_path / "run", str(mark), "-test.bench", "Long|Sized")
    seen = counter.collect(run)
    assert seen.engine.endswith(":unit") and not seen.warnings
    counts = amounts(seen)
    assert counts.keys() == {(LONG, None), (SIZED, 1000.0), (SIZED, 10_000.0)}
    each = counts[LONG, None] / 50_000  # of a round of the loop
    assert 3 <= each < 7
    assert counts[SIZED, 1000.0] == pytest.approx(1000 * each, rel=0.02)
    assert counts[SIZED, 10_000.0] == pytest.approx(10_000 * each, rel=0.01)
    assert min(run.repetition.iterations.values()) < max(run.repetition.iterations.values())


@pytest.mark.slow
@pytest.mark.needs("go", "valgrind")
def test_a_benchmark_of_go_is_counted_by_functions_under_its_own_name(mark, tmp_path):
    unit = LONG if os.cpu_count() == 1 else f"{LONG} cpus={os.cpu_count()}"
    run = asked(tmp_path / "run", str(mark), "-test.bench", ".", unit=unit)
    seen = Instructions(tool="callgrind", repeat=0).collect(run)
    whole = amounts(seen)[LONG, None]
    rows = zip(seen.uid, seen.values["exclusive"], strict=True)
    (own,) = (value for uid, value in rows if uid == "mark.work" and value is not None)
    assert own == pytest.approx(whole, rel=0.01), "start and preparation are left out"
    assert 3 * 50_000 <= whole < 7 * 50_000
    rows = zip(seen.uid, seen.values["self"], strict=True)
    (own,) = (value for uid, value in rows if uid == "mark.work" and value is not None)
    assert own == pytest.approx(whole, rel=0.01), "goroutines hide it from no path"


@pytest.mark.slow
@pytest.mark.needs("go", "valgrind")
def test_a_benchmark_that_fails_where_it_is_repeated_is_named_and_others_are_counted(
    mark, tmp_path
):
    run = asked(tmp_path / "run", str(mark), "-test.bench", "Long|Fails")
    seen = Instructions(tool="cachegrind", repeat=0).collect(run)
    assert amounts(seen).keys() == {(LONG, None)}
    (warning,) = seen.warnings
    assert warning.startswith("mark.Fails") and " is not counted: " in warning
    alone = asked(tmp_path / "alone", str(mark), "-test.bench", "Fails")
    with pytest.raises(CollectError, match="is not counted: "):
        Instructions(tool="cachegrind", repeat=0).collect(alone)


def test_a_benchmark_that_does_not_run_alone_is_not_counted(tmp_path):
    (tmp_path / "bench.sh").write_text(SHELL)
    run = asked(tmp_path / "run", "/bin/sh", str(tmp_path / "bench.sh"))
    units = repetitions.RepeatedBenchmarks(run, run.repetition, pytest.fail, tmp_path)
    with pytest.raises(CollectError, match=r"runs 2 benchmarks where it is asked for m\.Both"):
        units.amounts()


def test_a_command_that_repeats_nothing_is_not_counted(tmp_path):
    """Its counts differ by chance alone."""
    (tmp_path / "bench.sh").write_text(SHELL.replace("Beside", "Both"))
    run = asked(tmp_path / "run", "/bin/sh", str(tmp_path / "bench.sh"))
    totals = iter(range(600_000, 700_000))
    units = repetitions.RepeatedBenchmarks(
        run, run.repetition, lambda *_: Total(next(totals)), tmp_path
    )
    with pytest.raises(CollectError, match="executes no more where it is to run a benchmark"):
        units.amounts()


@pytest.mark.parametrize(
    ("start", "each", "iterations"),
    [
        (3_200_000, 20, 10_000_000),
        (3_200_000, 300, 100_000),
        (3_200_000, 50_000, 1000),
        (900_000_000, 300_000_000, 10),
    ],
)
def test_iterations_are_enough_to_count_and_few_enough_to_wait_for(
    tmp_path, start, each, iterations
):
    """The versions of a session have them in common, whatever each of them takes."""
    (tmp_path / "bench.sh").write_text(SHELL.replace("Beside", "Both"))
    run = asked(tmp_path / "run", "/bin/sh", str(tmp_path / "bench.sh"))
    often = []

    def counting(dearer):
        def record(run, folder):
            assert folder.is_dir()
            number = int(run.argv[run.argv.index("-test.benchtime") + 1].removesuffix("x"))
            often.append(number)
            return Total(start + number * dearer * each)

        return record

    for version, dearer in enumerate((1, 5)):
        folder = tmp_path / str(version)
        folder.mkdir()
        units = repetitions.RepeatedBenchmarks(run, run.repetition, counting(dearer), folder)
        (amount,) = units.amounts()
        assert amount.amount == pytest.approx(dearer * each)
    assert run.repetition.iterations == {("m.Both", None): iterations}
    assert often[-2:] == [2, iterations] and len(often) <= 7


class Total(float):
    """Counts of which only the sum is known."""

    @property
    def total(self) -> float:
        return float(self)
