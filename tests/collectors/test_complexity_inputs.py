"""What can be wrong with what is to be recorded, through the front door: every failure is told
once, in a line with its cure.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Perf, Project, Said, need

from perfvcs.collectors.complexity.calls import parse
from perfvcs.errors import UsageError
from perfvcs.profile import Profile
from perfvcs.repository import Repository

PROGRAM = """\
#include <stdlib.h>
struct list { int count; int items[100]; };
static inline __attribute__((always_inline)) int twice(int n) { return n * 2; }
__attribute__((noinline)) void insert(struct list *l, int item)
{
    int at = l->count++;
    for (; at && l->items[at - 1] > item; at--)
        l->items[at] = l->items[at - 1];
    l->items[at] = item;
}
__attribute__((noinline)) int once(int n) { return n + rand(); }
__attribute__((noinline)) int never(int n) { return n + rand(); }
__attribute__((noinline)) int constant(int n) { return n + rand(); }
__attribute__((noinline)) int around(int n) { if (n == 25 && getenv("FAILS")) exit(3); return n + rand(); }
int main(int argc, char **argv)
{
    static struct list l;
    int sum = once(7) + (argc > 9 ? never(1) : 0);
    (void)argv;
    for (int i = 0; i < 60; i++) {
        insert(&l, rand());
        sum += constant(5) + around(i - 30);
    }
    return twice(sum) == 1;
}
"""

SCRIPT = """\
import os
class Box:
    def __init__(self): self.items = []
    @property
    def width(self): return len(self.items)
    @width.setter
    def width(self, value): pass
def insert(items): return sorted(items)
def once(n): return n
def never(n): return n
def constant(n): return n
def around(n):
    if n == 25 and "FAILS" in os.environ: raise SystemExit(3)
    return n
box = Box()
once(7)
for n in range(60):
    insert(list(range(n))); constant(5); around(n - 30); box.width; box.width = n
"""

JOB = """
[[job]]
name = "w"
cmd = "{cmd}"
executions = 1
warmup = 0
collectors = [{{ name = "complexity", functions = {functions} }}]
"""


@pytest.fixture(params=["c", "python"])
def language(request: pytest.FixtureRequest) -> str:
    if request.param == "c":
        need("cc")
    return str(request.param)


@pytest.fixture
def collect(project: Project, perf: Perf, language: str) -> Callable[..., Said]:
    """Measure these functions of the program in a language."""

    def run(*functions: str, code: int = 0, build: str = "cc -O2 -o w w.c", env: str = "") -> Said:
        names = [f if language == "c" else f"w:{f}" for f in functions]
        job = JOB.format(cmd="./w" if language == "c" else "python w.py", functions=names)
        build = f'build = ["{build}"]\n' if language == "c" else ""
        project.commit(**{"w.c": PROGRAM, "w.py": SCRIPT, "perf.toml": f"{build}{job}{env}"})
        return perf("collect", code=code)

    return run


def failure(said: Said) -> str:
    """The only line that tells what failed."""
    (line,) = [line for line in said.err.splitlines() if line.startswith("failed: ")]
    assert said.err.endswith("perf: 1 failure (see above); nothing stored\n")
    assert Repository.find().store.paths("HEAD") == []
    return line


def sizes(function: str) -> list[float | None]:
    """The sizes of the recorded calls of a function, in order."""
    (profile,) = profiles()
    rows = profile.resources
    assert rows.size is not None
    (wanted,) = [
        number for number, name in enumerate(rows.names) if name.rpartition(":")[2] == function
    ]
    return [size for size, uid in zip(rows.size, rows.uid, strict=True) if uid == wanted]


def profiles() -> list[Profile]:
    store = Repository.find().store
    return [profile for _, profile in store.read_many(store.paths())]


def test_an_unknown_function_gets_a_suggestion(collect: Callable[..., Said]) -> None:
    assert "did you mean `constant`?" in failure(collect("constnat", code=5))


def test_a_function_that_is_never_called_is_a_failure_alone_and_a_note_beside_others(
    collect: Callable[..., Said],
) -> None:
    assert "none of the functions was called, or no call ended: check their names" in failure(
        collect("never", code=5)
    )
    assert "never was n" in collect("never", "once").flat


def test_one_call_a_constant_size_and_sizes_around_zero_are_recorded_as_they_are(
    collect: Callable[..., Said],
) -> None:
    said = collect("once=n", "constant=n", "around=n")
    assert "1 row  size 7" in said.out
    assert "60 rows  size 5" in said.out
    assert "60 rows  sizes -30 to 29" in said.out
    assert sizes("once") == [7]
    assert sizes("constant") == [5] * 60
    assert sizes("around") == list(range(-30, 30))


def test_what_ended_half_way_is_kept_aside_and_not_stored(
    collect: Callable[..., Said], language: str
) -> None:
    line = failure(collect("around=n", code=5, env='env = { FAILS = "1" }\n'))
    assert "exited with status 3" in line
    aside = Path(line.partition("kept in ")[2].rstrip(")"))
    last = 25 if language == "python" else 24  # a call that raises ends, one that exits does not
    assert json.loads(aside.read_text())["resources"]["size"] == list(range(-30, last + 1))


@pytest.mark.parametrize("language", ["python"], indirect=True)
@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ("insert=len(itms)", "failed in 60 of 60 calls: NameError: name 'itms' is not defined"),
        ("insert=str(items)", "failed in 60 of 60 calls: TypeError: str is not a number"),
        ("constant=1e400", "failed in 60 of 60 calls: ValueError: inf is not a finite number"),
        ("constant=1 / (n - 5)", "failed in 60 of 60 calls: ZeroDivisionError: division by zero"),
        ("Box.width", "is defined in lines 5, 7, recorded as one: choose as in w:Box.width@7"),
    ],
)
def test_a_size_that_cannot_be_had_is_a_note(
    collect: Callable[..., Said], entry: str, told: str
) -> None:
    assert told in collect(entry).flat


@pytest.mark.parametrize("language", ["python"], indirect=True)
@pytest.mark.parametrize(
    ("entry", "cure"),
    [
        (
            "insert=len(items",
            "the size of w:insert, 'len(items', is not an expression: '(' was never closed",
        ),
        ("insert=+", "the size of w:insert, '+', is not an expression"),
        ("insert=", "write a function's name, or name=size such as f=len(items)"),
    ],
)
def test_what_is_no_expression_is_refused_before_anything_runs(
    collect: Callable[..., Said], entry: str, cure: str
) -> None:
    said = collect(entry, code=2)
    assert cure in said.err
    assert said.err.count("\n") == 1


@pytest.mark.parametrize("entry", ["w:", ":insert", "w: =n"])
def test_half_a_name_is_refused(entry: str) -> None:
    with pytest.raises(
        UsageError,
        match="write Python's as module:function, those of C and C\\+\\+ as in the source",
    ):
        parse(entry)


@pytest.mark.parametrize("language", ["c"], indirect=True)
@pytest.mark.parametrize(
    ("entry", "build", "cure"),
    [
        (
            "insert",
            "cc -O2 -s -o w w.c",
            "is stripped, its functions cannot be found: build it without -s and do not strip it",
        ),
        ("insert", "cc -O2 -g0 -o w w.c -Wl,-S", "has no debug information (compile with -g)"),
        (
            "insert",
            "cc -O2 -static -o w w.c",
            "is linked statically, so nothing can be loaded into it: link it without -static",
        ),
        ("twice", "cc -O2 -o w w.c", "twice was inlined everywhere in"),
        (
            "insert=l->cuont",
            "cc -O2 -o w w.c",
            "insert=l->cuont: list has no member cuont; did you mean `count`?",
        ),
        ("insert=l +* 3", "cc -O2 -o w w.c", "insert=l +* 3: "),
    ],
)
def test_a_program_that_cannot_be_recorded_names_the_cure(
    collect: Callable[..., Said], entry: str, build: str, cure: str
) -> None:
    assert cure in failure(collect(entry, code=5, build=build))


@pytest.mark.parametrize("language", ["c"], indirect=True)
def test_a_division_by_zero_is_no_size_and_a_note(collect: Callable[..., Said]) -> None:
    said = collect("constant=n / (n - 5)")
    assert (
        "constant=n / (n - 5) had no value in 60 calls (a null pointer, or a division by zero)"
        in said.flat
    )
    assert profiles()[0].resources.size is None


@pytest.mark.needs("cc")
def test_functions_of_one_name_in_two_files_are_distinguished(project: Project, perf: Perf) -> None:
    put = (
        "__attribute__((noinline)) static int put(int n) {{ return n * {factor} + (int)(long)&n %"
        " 2; }}\n"
    )
    other = f"{put.format(factor=3)}int other(int n) {{ return put(n); }}"
    main = (
        f"int other(int);\n{put.format(factor=5)}int main(void) {{ return put(4) + other(7) =="
        " 1; }"
    )
    for functions, names in (
        (["put=n"], ["put (other.c)", "put (w.c)"]),
        (["put (other.c)=n"], ["put"]),
    ):
        job = JOB.format(cmd="./w", functions=functions)
        project.commit(
            **{
                "w.c": main,
                "other.c": other,
                "perf.toml": f'build = ["cc -O2 -o w w.c other.c"]\n{job}',
            }
        )
        perf("collect")
        (profile,) = [one for one in profiles() if one.commit == project.git("rev-parse", "HEAD")]
        assert sorted(profile.resources.names) == names
    assert profile.resources.size == [7]


@pytest.mark.needs("cc")
def test_of_a_hundred_million_calls_a_bounded_sample_is_stored(
    project: Project, perf: Perf
) -> None:
    program = """
        __attribute__((noinline)) long step(long n) { __asm__ volatile(""); return n + 1; }
        int main(void) { long sum = 0; for (long i = 0; i < CALLS; i++) sum += step(i & 1023); return sum == 1; }
    """
    calls = 100_000_000 if os.environ.get("PERFVCS_LONG") else 3_000_000
    job = JOB.format(cmd="./w", functions=["step=n"])
    project.commit(
        **{"w.c": program, "perf.toml": f'build = ["cc -O2 -DCALLS={calls} -o w w.c"]\n{job}'}
    )
    perf("collect")
    (profile,) = profiles()
    assert sum(profile.resources.metrics["rate"]) == pytest.approx(calls)
    assert len(profile.resources.uid) <= 200 * 4 * 11
    assert len(profile.encode()) < 1_000_000


TOOLS = ("git", "sh", "env", "uname", "id", "cat", "sed", "rm", "mkdir")


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on PATH: with the tools that git and builds need, and without a compiler;
    nothing is compiled yet.
    """
    folder = tmp_path / "tools"
    folder.mkdir()
    for name in TOOLS:
        found = shutil.which(name)
        assert found is not None
        (folder / name).symlink_to(found)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "empty"))
    return folder


@pytest.mark.needs("cc")
@pytest.mark.parametrize(
    ("compiler", "cure"),
    [
        ("", "apt install gcc libc6-dev"),
        (
            'exec {cc} -nostdinc -isystem {own} "$@"',
            "install the C library's headers (apt install libc6-dev)",
        ),
        (
            "echo 'ld: cannot find crt1.o: No such file or directory' >&2; exit 1",
            "(apt install libc6-dev)",
        ),
        ("echo 'Segmentation fault' >&2; exit 139", "check the compiler"),
    ],
)
def test_a_compiler_that_is_not_there_or_does_not_work_names_the_cure(
    project: Project,
    perf: Perf,
    tools: Path,
    monkeypatch: pytest.MonkeyPatch,
    compiler: str,
    cure: str,
) -> None:
    project.commit(
        **{
            "w.c": PROGRAM,
            ".gitignore": "w\n",
            "perf.toml": f'overlay = ["w"]\n{JOB.format(cmd="./w", functions=["insert"])}',
        }
    )
    subprocess.run(["cc", "-O2", "-g", "-pg", "-mfentry", "-o", "w", "w.c"], check=True)
    if compiler:
        own = subprocess.run(
            ["cc", "-print-file-name=include"], capture_output=True, text=True, check=True
        ).stdout.strip()
        (tools / "cc").write_text(f"#!/bin/sh\n{compiler.format(cc=shutil.which('cc'), own=own)}\n")
        (tools / "cc").chmod(0o755)
    monkeypatch.setenv("PATH", str(tools))
    line = failure(perf("collect", code=5))
    assert "complexity needs a C compiler to make its recorder" in line
    assert cure in line
