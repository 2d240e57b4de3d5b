"""Functions that Node and the JVM compile while a program runs, by the maps that they write."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from perfvcs.collectors._shared.commandrun import environment, runtime
from perfvcs.collectors.samples.linux import fold
from perfvcs.collectors.samples.perfmaps import MAP, compiled, remove
from perfvcs.plugins import build
from perfvcs.plugins.collector import Observations, Run

IMAGE = "/tmp/perf-12.map"
JAVASCRIPT = """
function hot(n) { let s = 0; for (let i = 0; i < n; i++) s = (s * 31 + i) % 65521; return s; }
let sum = 0;
for (let round = 0; round < 20; round++) sum += hot(3e6);
console.log(sum);
"""
JAVA = """
package work;
public class Work {
    static int hot(int n) { int s = 0; for (int i = 0; i < n; i++) s = (s * 31 + i) % 65521; return s; }
    public static void main(String[] words) {
        int sum = 0;
        for (int round = 0; round < 60; round++) sum += hot(3000000);
        System.out.println(sum);
    }
}
"""


@pytest.mark.parametrize(
    ("symbol", "frame"),
    [
        ("JS:*count /home/me/src/index.js:3:15", "count (src/index.js)"),
        ("JS:~ /home/me/index.js:1:1", "<module> (index.js)"),
        ("JS:^Box.find file:///home/me/a b.mjs:12:3", "Box.find (a b.mjs)"),
        ("LazyCompile:~run node:internal/main:10:2", "run (node:internal/main)"),
        ("JS:*get size /home/me/a.js:1:2", "get size (a.js)"),
        ("JS:odd", "odd (node)"),
        ("int letters.Count.most(java.lang.String)", "Count.most (letters/Count.java)"),
        ("void A.<init>(int)", "A.A (A.java)"),
        ("void a.b.Out$In.run()", "Out.In.run (a/b/Out.java)"),
        ("Interpreter", "Interpreter (runtime)"),
        ("StubRoutines (1)", "StubRoutines (runtime)"),
        ("JS:" + "x" * 100_000, "[unknown]"),
        ("(" * 100_000, "[unknown]"),
    ],
)
def test_a_symbol_of_a_map_is_a_frame(symbol: str, frame: str) -> None:
    found = compiled(symbol, IMAGE, "/home/me")
    assert found == frame or (len(symbol) > 1000 and found.isprintable() and len(found) < 3000)


def test_other_images_are_not_maps() -> None:
    assert compiled("main", "/home/me/a.out", "/home/me") == ""
    assert compiled("main", "/tmp/perf-x.map", "/home/me") == ""
    assert not MAP.fullmatch("/home/tmp/perf-1.map")


def test_a_map_that_was_read_is_named_and_only_such_are_removed(tmp_path: Path) -> None:
    text = f"  7f12 JS:*hot {tmp_path}/a.js:1:2 ({IMAGE})\n  7f13 main (/usr/bin/node)\n\n"
    folded = fold(text.splitlines(keepends=True), str(tmp_path))
    assert folded.maps == {IMAGE}
    assert list(folded.stacks) == [("main (node)", "hot (a.js)")]
    other = tmp_path / "perf-1.map"
    other.write_text("")
    remove({str(other)})
    assert other.exists()


@pytest.mark.parametrize(
    ("name", "line", "known"),
    [
        ("node", "", "node"),
        ("java", "", "java"),
        ("tool", "#!/usr/bin/env node", "node"),
        ("tool", "#!/bin/sh", ""),
        ("tool", "", ""),
    ],
)
def test_a_runtime_is_known_by_its_name_or_the_first_line(
    name: str, line: str, known: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(f"{line}\n")
    assert runtime([str(tmp_path / name)]) == known


def test_options_of_the_user_are_kept() -> None:
    found = environment("node", {"NODE_OPTIONS": "--expose-gc", "A": "b"})
    assert found["A"] == "b" and found["NODE_OPTIONS"].startswith("--expose-gc --perf-basic-prof")


def sampled(argv: tuple[str, ...], cwd: Path, scratch: Path) -> Observations:
    scratch.mkdir()
    collector = build("collectors", "samples", {}, "job `work`")
    return collector.collect(Run(argv, cwd, dict(os.environ), scratch, "work", timeout=120))


@pytest.mark.needs("node", "/usr/bin/perf")
def test_a_function_of_javascript_has_its_name(tmp_path: Path) -> None:
    (tmp_path / "work.js").write_text(JAVASCRIPT)
    before = set(Path("/tmp").glob("perf-*.map"))
    found = sampled(("/usr/bin/node", "work.js"), tmp_path, tmp_path / "scratch")
    assert "hot (work.js)" in found.uid and found.engine.startswith("perf-fp")
    assert not set(Path("/tmp").glob("perf-*.map")) - before


@pytest.mark.needs("java", "javac", "/usr/bin/perf")
def test_a_method_of_java_has_its_name(tmp_path: Path) -> None:
    (tmp_path / "Work.java").write_text(JAVA)
    subprocess.run(["javac", "-d", ".", "Work.java"], cwd=tmp_path, check=True)
    found = sampled(("/usr/bin/java", "-cp", ".", "work.Work"), tmp_path, tmp_path / "scratch")
    assert "Work.hot (work/Work.java)" in found.uid
