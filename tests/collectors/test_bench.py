"""The helpers by which programs in Python, C and C++ report their own measurements."""

from __future__ import annotations

import doctest
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from conftest import ROOT

from perfvcs import bench
from perfvcs.collectors.time import METRICS
from perfvcs.launcher.samples import ReportedSamples, read_samples
from perfvcs.native import native_folder, python_folder

DOCUMENT = ROOT / "docs" / "samples.md"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that is named by the variable."""
    monkeypatch.setenv("PERFVCS_SAMPLES", str(tmp_path / "samples"))
    return tmp_path / "samples"


def samples(file: Path) -> ReportedSamples:
    return read_samples(file, METRICS, "")


def test_a_block_is_measured(file: Path) -> None:
    with bench.measure("parse", size=3):
        sum(range(3_000_000))  # some 50 ms: a virtual processor may account in ticks
    found = samples(file)
    assert (found.uid, found.size) == (["parse"], [3])
    assert set(found.values) == {"wall", "cpu"}
    wall, cpu = found.values["wall"][0], found.values["cpu"][0]
    assert wall is not None
    assert cpu is not None
    assert wall > 0
    assert cpu > 0


def test_a_block_that_raises_is_not_recorded(file: Path) -> None:
    with pytest.raises(ZeroDivisionError), bench.measure("parse"):
        _ = 1 / 0
    assert not file.exists()


def test_every_call_of_a_function_is_measured(file: Path) -> None:
    @bench.measure("factorial")
    def factorial(number: int) -> int:
        """n!"""
        return number * factorial(number - 1) if number else 1

    assert factorial(4) == 24
    assert factorial.__doc__ == "n!"
    assert samples(file).iteration == [0, 1, 2, 3, 4]


def test_the_time_of_one_thread_can_be_taken(file: Path) -> None:
    stop = threading.Event()
    other = threading.Thread(target=lambda: stop.wait(10))
    other.start()
    with bench.measure("own", thread=True):
        sum(range(1000))
    stop.set()
    other.join()
    assert samples(file).uid == ["own"]


def test_a_function_is_repeated(file: Path) -> None:
    calls: list[int] = []

    def function() -> int:
        calls.append(1)
        return len(calls)

    assert bench.repeat("count", function, iterations=5, size=2.5) == 5
    assert samples(file).iteration == [0, 1, 2, 3, 4]
    assert samples(file).size == [2.5] * 5
    with pytest.raises(ValueError, match="at least 1"):
        bench.repeat("count", function, iterations=0)


def test_own_values_are_recorded_with_unit_and_direction(file: Path) -> None:
    bench.declare("throughput", "op/s", "higher")
    bench.record('"ünï"\n\\', throughput=5)
    found = samples(file)
    assert found.uid == ['"ünï"\n\\']
    assert (found.metrics["throughput"].unit, found.metrics["throughput"].better) == (
        "op/s",
        "higher",
    )


def test_a_value_that_is_not_finite_is_refused_where_it_was_made(file: Path) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        bench.record("a", wall=float("nan"))
    assert not file.exists()


def test_without_the_variable_the_code_runs_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PERFVCS_SAMPLES", raising=False)
    monkeypatch.chdir(tmp_path)
    with bench.measure("a"):
        pass
    assert bench.repeat("b", lambda: 7, iterations=2) == 7
    bench.record("c", wall=1)
    bench.declare("d", "B")
    assert list(tmp_path.iterdir()) == []
    assert doctest.testmod(bench).failed == 0


def test_forks_and_threads_may_report_at_once(file: Path) -> None:
    code = (
        "import os, threading\nfrom perfvcs import bench\n"
        "def work():\n    for _ in range(50): bench.record('a', wall=1)\n"
        "os.fork()\nos.fork()\nthreads = [threading.Thread(target=work) for _ in range(3)]\n"
        "[t.start() for t in threads]\n[t.join() for t in threads]\n"
        "try:\n    while True: os.wait()\nexcept ChildProcessError: pass\n"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True)
    assert len(samples(file).uid) == 600


def test_it_is_light(file: Path) -> None:
    code = (
        "import sys; import perfvcs.bench; print(*[n for n in sys.modules if n.partition('.')[0] in"
        " ('numpy', 'msgspec', 'typing')])"
    )
    code = f"import sys\nsys.path.insert(0, {str(native_folder().parent.parent)!r})\n{code}"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []
    assert not file.exists()


def test_interpreters_without_perfvcs_import_the_same_helper(file: Path) -> None:
    assert (python_folder() / "perfvcs_bench.py").read_bytes() == Path(bench.__file__).read_bytes()
    assert {path.name for path in python_folder().glob("*.py")} == {
        "__init__.py",
        "perfvcs_asv.py",
        "perfvcs_bench.py",
        "perfvcs_unit.py",
    }
    env = {"PYTHONPATH": str(python_folder()), "PERFVCS_SAMPLES": str(file)}
    code = (
        "import sys, perfvcs_bench\nperfvcs_bench.record('a', wall=1)\nassert 'perfvcs' not in"
        " sys.modules"
    )
    subprocess.run([sys.executable, "-S", "-c", code], env=env, check=True)
    assert samples(file).uid == ["a"]


def test_a_copy_of_the_file_works(file: Path, tmp_path: Path) -> None:
    shutil.copy(bench.__file__, tmp_path / "own_name.py")
    code = (
        f"import sys\nsys.path.append({str(tmp_path)!r})\nimport own_name\nown_name.record('a',"
        " wall=1)"
    )
    subprocess.run([sys.executable, "-I", "-c", code], check=True)
    assert samples(file).uid == ["a"]


def blocks(language: str) -> list[str]:
    """The examples of the documentation in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", DOCUMENT.read_text(), re.MULTILINE | re.DOTALL)


def test_the_documented_python_example_works(file: Path, tmp_path: Path) -> None:
    for environment in ({"PYTHONPATH": str(python_folder())}, {}):
        (tmp_path / "example.py").write_text(blocks("python")[0])
        subprocess.run(
            [sys.executable, tmp_path / "example.py"], check=True, env=os.environ | environment
        )
    found = samples(file)
    assert sorted(set(found.uid)) == ["insert", "join", "reverse", "sort"]
    assert len(found.uid) == 2 * 23
    assert found.metrics["throughput"].better == "higher"


def test_the_documented_lines_are_valid(file: Path) -> None:
    file.write_text(blocks("json")[0])
    assert samples(file).values["throughput"] == [None, 84033]


def compile_program(tmp_path: Path, source: str, compiler: str, *flags: str) -> str:
    path = tmp_path / ("example.cpp" if compiler == "g++" else "example.c")
    path.write_text(source)
    strict = (
        "-O2",
        "-Wall",
        "-Wextra",
        "-Wpedantic",
        "-Wshadow",
        "-Werror",
        "-I",
        str(native_folder()),
    )
    subprocess.run(
        [compiler, *strict, *flags, "-o", tmp_path / "example", path, "-pthread"], check=True
    )
    return str(tmp_path / "example")


@pytest.mark.needs("gcc")
@pytest.mark.parametrize("standard", ["c99", "gnu99", "c17"])
def test_the_documented_c_example_works(file: Path, tmp_path: Path, standard: str) -> None:
    program = compile_program(tmp_path, blocks("c")[0], "gcc", f"-std={standard}")
    subprocess.run([program], check=True)
    found = samples(file)
    assert (found.uid, found.size) == (["count", "insert"], [1000, None])
    assert found.values["wall"][0] is not None
    assert found.values["throughput"] == [None, 1.5e6]
    assert found.metrics["throughput"].unit == "op/s"


@pytest.mark.needs("g++")
@pytest.mark.parametrize("standard", ["c++11", "c++20"])
def test_the_documented_cpp_example_works(file: Path, tmp_path: Path, standard: str) -> None:
    subprocess.run(
        [compile_program(tmp_path, blocks("cpp")[0], "g++", f"-std={standard}")], check=True
    )
    assert (samples(file).uid, samples(file).size) == (["main"], [1000])


@pytest.mark.needs("gcc")
def test_the_c_helper_does_nothing_without_the_variable(tmp_path: Path) -> None:
    program = compile_program(tmp_path, blocks("c")[0], "gcc")
    for env in ({}, {"PERFVCS_SAMPLES": ""}):
        done = subprocess.run([program], env=env, cwd=tmp_path, capture_output=True, check=True)
        assert done.stderr == b""
    assert {path.name for path in tmp_path.iterdir()} == {"example", "example.c"}


@pytest.mark.needs("gcc")
def test_the_c_helper_reports_when_it_is_included_too_late(tmp_path: Path) -> None:
    (tmp_path / "late.c").write_text(
        '#include <stdio.h>\n#include "perfvcs.h"\nint main(void) { return 0; }'
    )
    command = ["gcc", "-std=c99", "-fsyntax-only", "-I", native_folder(), tmp_path / "late.c"]
    assert (
        b"include it before all other headers"
        in subprocess.run(command, capture_output=True, check=False).stderr
    )


HARD = r"""#include "perfvcs.h"
#include <locale.h>
#include <pthread.h>
static void *work(void *unused)
{
    for (int i = 0; i < 100; i++)
        perfvcs_end(perfvcs_begin(), "thread", i % 2 ? 0.5 : 1e300);
    return unused;
}
int main(void)
{
    pthread_t threads[4];
    char uid[3001];
    memset(uid, 1, 3000);
    uid[3000] = 0;
    setlocale(LC_ALL, "");
    for (int i = 0; i < 4; i++)
        pthread_create(threads + i, 0, work, 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], 0);
    perfvcs_record(uid, PERFVCS_NO_SIZE, "m", -1.5e-300);
    perfvcs_record("\"quoted\"\n\\ \xc3\xbc", 0, "m", 1.5);
    perfvcs_record("lost", 1, "m", 1e308 * 10);
    perfvcs_record("lost", 1e308 * 10, "m", 1);
    return 0;
}
"""


@pytest.mark.needs("gcc")
def test_the_c_helper_takes_threads_and_odd_values(file: Path, tmp_path: Path) -> None:
    flags = ("-fsanitize=address,undefined", "-Wno-overflow")
    program = compile_program(tmp_path, HARD, "gcc", "-std=gnu99", *flags)
    done = subprocess.run(
        [program],
        env=os.environ | {"LC_ALL": "de_DE.UTF-8"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr.count("a value is not finite") == 2
    found = samples(file)
    assert found.uid[:400] == ["thread"] * 400
    assert found.uid[400:] == ["\1" * 3000, '"quoted"\n\\ ü']
    assert found.size[400:] == [None, 0]
    assert found.values["m"][400:] == [-1.5e-300, 1.5]
    assert {json.dumps(size) for size in found.size[:400]} == {"0.5", "1e+300"}


@pytest.mark.needs("gcc")
def test_a_comma_in_place_of_the_decimal_point_is_corrected(tmp_path: Path) -> None:
    header = (native_folder() / "perfvcs.h").read_text()
    assert header.count("snprintf") == 1
    patched = header.replace("snprintf(to, 32,", "german(to, 32,")
    german = (
        "static int german(char *to, int room, const char *format, double value)\n"
        '{ (void)room; (void)format; (void)value; memcpy(to, "1,5e-07", 7); return 7; }\n'
    )
    patched = patched.replace("/* Writes a number as JSON", german + "/* Writes a number as JSON")
    main = (
        'int main(void) { char b[32]; *perfvcs_number(b, 1) = 0; return strcmp(b, "1.5e-07"); }\n'
    )
    subprocess.run(
        [compile_program(tmp_path, patched + main, "gcc", "-std=gnu99", "-Wno-unused-function")],
        check=True,
    )


@pytest.mark.needs("gcc")
def test_a_file_that_cannot_be_written_is_reported_once_per_sample(tmp_path: Path) -> None:
    program = compile_program(tmp_path, blocks("c")[0], "gcc")
    done = subprocess.run(
        [program],
        env={"PERFVCS_SAMPLES": "/no/such/folder/x"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert (
        done.stderr.splitlines() == ["perfvcs.h: a sample is lost: No such file or directory"] * 3
    )
