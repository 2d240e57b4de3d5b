"""Each of several builds lays its code out anew, in the same way for all versions."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from conftest import Perf, Project

from perfvcs.jobs.config import read
from perfvcs.measure.builds import run_build, wrapped
from perfvcs.repository import Repository

NAMES = ("crc", "search", "third", "fourth", "fifth")
FUNCTION = """
__attribute__((noinline, noclone)) int {0}(int n) {{
    int sum = 0;
    for (int i = 0; i < n; i++) sum += (n ^ i) % 7;
    return sum;
}}
"""
MAIN = 'int printf(const char *, ...);\nint main(int n, char **words) {{ (void)words; printf("%d\\n", {}); return 0; }}\n'
SOURCE = "".join(map(FUNCTION.format, NAMES)) + MAIN.format(
    " + ".join(f"{name}(n + {place})" for place, name in enumerate(NAMES))
)
UNUSED = "static __attribute__((noinline,used)) int unused_helper(int x){ return x*3+1; }\n"
pytestmark = pytest.mark.needs("gcc")


def built(
    folder: Path, layout: str, command: str = "gcc -O2 b.c -o b", source: str = SOURCE
) -> bool:
    """Builds in a folder, with this layout; whether it was laid out."""
    folder.mkdir(exist_ok=True)
    (folder / "b.c").write_text(source)
    config = read({"build": [command], "job": [{"cmd": "./b"}]})
    log = folder / "log"
    return run_build(config, folder, dict(os.environ), (), folder, log, layout)


def addresses(program: Path) -> dict[str, int]:
    said = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in said.splitlines()]
    return {row[2]: int(row[0], 16) for row in rows if len(row) == 3}


def order(program: Path) -> list[str]:
    """The functions by their addresses."""
    places = addresses(program)
    return sorted(NAMES, key=places.__getitem__)


def output(program: Path) -> str:
    return subprocess.run([program], capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
def test_each_seed_is_another_layout_and_the_program_does_the_same(tmp_path: Path) -> None:
    assert not built(tmp_path / "plain", "")
    orders, places, said = set(), set(), {output(tmp_path / "plain" / "b")}
    for seed in range(8):
        program = tmp_path / str(seed) / "b"
        assert built(program.parent, f"{seed}")
        orders.add(tuple(order(program)))
        places.add(tuple(addresses(program)[name] % 64 for name in NAMES))
        said.add(output(program))
    assert len(orders) > 4 and len(places) > 4
    assert len(said) == 1


@pytest.mark.slow
def test_one_seed_is_one_layout_whatever_function_is_added(tmp_path: Path) -> None:
    for seed in ("1", "2", "3"):
        first, again, more = (tmp_path / f"{seed}{name}" for name in ("first", "again", "more"))
        built(first, seed)
        built(again, seed)
        built(more, seed, source=UNUSED + SOURCE)
        assert (first / "b").read_bytes() == (again / "b").read_bytes()
        assert order(first / "b") == order(more / "b")
        assert "unused_helper" in addresses(more / "b")


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        "gcc -O2 -pipe b.c -o b",
        "gcc -O2 -static b.c -o b",
        "gcc -O2 -flto b.c -o b",
        "sh -c 'gcc -O2 -c b.c -o b.o && gcc b.o -o b'",
        "sh -c 'CFLAGS=-O0 && gcc -O1 b.c -o b'",
        pytest.param("clang -O2 b.c -o b", marks=pytest.mark.needs("clang")),
        pytest.param("g++ -O2 b.c -o b", marks=pytest.mark.needs("g++")),
    ],
)
def test_it_holds_for_other_ways_to_build(tmp_path: Path, command: str) -> None:
    places = set()
    source = (
        f'#ifdef __cplusplus\nextern "C" {{\n#endif\n{SOURCE}\n#ifdef __cplusplus\n}}\n#endif\n'
    )
    for seed in ("1", "2", "3", "4"):
        assert built(tmp_path / seed, seed, command, source)
        known = addresses(tmp_path / seed / "b")
        places.add(tuple(known.get(name, 0) for name in (*NAMES, "main")))
        assert output(tmp_path / seed / "b") == output(tmp_path / "1" / "b")
    assert len(places) > 1


def test_a_compiler_that_is_named_by_its_path_lays_nothing_out(tmp_path: Path) -> None:
    assert not built(tmp_path / "a", "1", "/usr/bin/gcc -O2 b.c -o b")


def test_flags_stay_what_they_were_without_a_layout(tmp_path: Path) -> None:
    wrapped(os.environ, ("-g",), tmp_path / "compilers")
    assert "assembler" not in (tmp_path / "compilers" / "gcc").read_text()
    wrapped(os.environ, (), tmp_path / "drawn", "1")
    script = (tmp_path / "drawn" / "gcc").read_text()
    assert "-ffunction-sections" in script and "fomit-frame-pointer ]" not in script


def layouts(revision: str = "HEAD") -> list[str | None]:
    repository = Repository.find()
    headers = repository.index.headers([repository.project.resolve(revision)])
    return [header.environment.fields.get("layouts") for header in headers]


def test_several_builds_have_layouts_that_were_drawn(project: Project, perf: Perf) -> None:
    project.configure('cmd = "./b"\nbinaries = 2', top='build = ["gcc -O2 b.c -o b"]')
    project.commit("one", **{"b.c": SOURCE, ".gitignore": "b\n"})
    perf("collect")
    assert layouts() == ["drawn"]
    project.configure('cmd = "./b"', top='build = ["gcc -O2 b.c -o b"]')
    project.commit("two")
    perf("collect")
    assert layouts() == [None]


def test_what_cannot_be_built_with_a_layout_is_built_without(
    project: Project, perf: Perf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A compiler that refuses the option."""
    compiler = tmp_path / "compilers" / "cc"
    compiler.parent.mkdir()
    refusing = (
        'case "$*" in *-ffunction-sections*) echo refused >&2; exit 1;; esac\nexec gcc "$@"\n'
    )
    compiler.write_text(f"#!/bin/sh\n{refusing}")
    compiler.chmod(0o755)
    monkeypatch.setenv("PATH", f"{compiler.parent}:{os.environ['PATH']}")
    project.configure('cmd = "./b"\nbinaries = 2', top='build = ["cc -O2 b.c -o b"]')
    project.commit("one", **{"b.c": SOURCE, ".gitignore": "b\n"})
    said = perf("collect")
    assert layouts() == [None]
    assert "the builds have one layout" in said.flat
