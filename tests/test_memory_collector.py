"""The memory collector in the hands of a user: its alternatives, and what the other commands make of its profiles."""

from __future__ import annotations

import json
import re
from pathlib import Path

import heaps
import pytest
from heaps import measured, of_functions, run_of, stacks_of, whole

from perfvcs import plugins
from perfvcs.collector import CollectError
from perfvcs.memory import Request, dhat, heaptrack
from perfvcs.repository import Repository

KNOWN = {known.source.name: known for known in heaps.programs()}
SIMPLE = ("blocks.c", "cleared.c", "ends.c", "recursive.c", "threads.c")


@pytest.mark.needs("gcc", "valgrind")
@pytest.mark.parametrize("name", SIMPLE)
def test_dhat_agrees_with_our_own_counts(name: str, tmp_path: Path) -> None:
    found = measured((str(KNOWN[name].build(tmp_path)),), tmp_path, recorder="dhat")
    assert of_functions(found, KNOWN[name].functions) == KNOWN[name].totals
    assert found.engine == "dhat/1" and whole(found)["mapped"] is None


@pytest.mark.needs("gcc", "heaptrack")
@pytest.mark.parametrize("name", SIMPLE)
def test_heaptrack_agrees_in_all_but_bytes_which_it_does_not_tell(name: str, tmp_path: Path) -> None:
    found = measured((str(KNOWN[name].build(tmp_path)),), tmp_path, recorder="heaptrack")
    assert of_functions(found, KNOWN[name].functions) == {**KNOWN[name].totals, "bytes": 0.0}
    assert found.engine == "heaptrack/1" and whole(found)["bytes"] is None


@pytest.mark.needs("gcc", "valgrind")
def test_dhat_names_lines_and_says_that_forks_count_twice(tmp_path: Path) -> None:
    found = measured((str(KNOWN["forks.c"].build(tmp_path)),), tmp_path, recorder="dhat")
    assert len(found.warnings) == 1 and "forked" in found.warnings[0]
    assert any(re.match(r"inside \(.*forks\.c:7\)", frame) for stack in stacks_of(found, "inside") for frame in stack)


@pytest.mark.needs("gcc", "heaptrack")
def test_heaptrack_says_when_it_lost_the_program(tmp_path: Path) -> None:
    with pytest.raises(CollectError, match=r'heaptrack recorded nothing.*recorder = "shim"'):
        measured((str(KNOWN["leaves.c"].build(tmp_path)),), tmp_path, recorder="heaptrack")


@pytest.mark.parametrize(("recorder", "tool"), [("heaptrack", "heaptrack"), ("dhat", "valgrind")])
def test_a_missing_tool_is_named_with_its_package(
    recorder: str, tool: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    collector = plugins.build("collectors", "memory", {"recorder": recorder}, "here")
    assert collector.available() == f"memory: there is no {tool}: apt install {tool}"
    assert collector.engine == f"{recorder}/1"
    with pytest.raises(CollectError, match=f"apt install {tool}"):
        collector.collect(run_of(("/bin/true",), tmp_path))


def test_frames_of_other_tools_are_read(tmp_path: Path) -> None:
    run = run_of((str(tmp_path / "program"),), tmp_path)
    assert dhat._frame(f"0x1234: f(int (*)(char)) ({tmp_path}/src/a.c:3)", run) == ("f(int (*)(char))", "src/a.c:3", "")
    assert dhat._frame("0x1234: malloc (in /usr/lib/some.so)", run) == ("malloc", "", "/usr/lib/some.so")
    assert dhat._frame("0x1234: ???", run) == dhat._frame("0x12: ??? (in /lib/x.so)", run) == ("(unknown)", "", "")
    assert dhat._frame("[root]", run) == ("[root]", "", "")
    assert heaptrack._frame("main (p.c)") == ("main", "p.c", "") and heaptrack._frame("0x7fff12") == ("(unknown)", "", "")


@pytest.mark.parametrize(
    "content", ["", "{}", '{"pps": [], "ftbl": 3}', '{"pps": [{"fs": [7], "tb": 1, "tbk": 1}], "ftbl": ["a"]}']
)
def test_a_file_of_dhat_that_cannot_be_read_is_one_line(tmp_path: Path, content: str) -> None:
    tool = tmp_path / "valgrind"
    tool.write_text(
        f"#!/bin/sh\nfor word; do case $word in --dhat-out-file=*) printf '%s' '{content}' >\"${{word#*=}}\"; esac; done\n"
    )
    text = tool.read_text().replace('"${word#*=}"', '"$(dirname "${word#*=}")/1.json"')
    tool.write_text(text)
    tool.chmod(0o755)
    with pytest.MonkeyPatch.context() as patch, pytest.raises(CollectError, match="update valgrind"):
        patch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        dhat.record(run_of(("/bin/ls",), tmp_path), Request())


SOURCE = """
#include <stdlib.h>
static volatile void *seen;
__attribute__((noinline)) static void fill(int n) { for (int i = 0; i < n; i++) seen = malloc(1000); }
int main(int count, char **words) { fill(%s * atoi(words[1])); return count < 2; }
"""


@pytest.mark.needs("gcc")
def test_a_commit_that_allocates_more_is_a_degradation(project, perf):
    project.configure('cmd = "./work"\nargs = ["100"]\ncollectors = ["memory"]', top='build = ["gcc -g -w -o work work.c"]')
    project.write(".gitignore", "work\n")
    project.commit("one", **{"work.c": SOURCE % 10})
    project.commit("same", **{"work.c": SOURCE % 10 + "\n"})
    project.commit("more", **{"work.c": SOURCE % 11})
    perf("init")
    perf("collect", "HEAD~2..HEAD", "HEAD~2")
    assert perf("check", "HEAD~2", "HEAD~1").code == 0
    said = perf("check", "HEAD~1", "HEAD", "--json", code=3)
    changed = {
        (change["uid"], change["metric"]): change for change in json.loads(said.out)["changes"] if change["word"] == "degradation"
    }
    assert changed.keys() == {("work", "peak"), ("work", "bytes"), ("work", "count")}
    assert {metric: change["target"] for (_, metric), change in changed.items()} == {"peak": 1.1e6, "bytes": 1.1e6, "count": 1100}


@pytest.mark.needs("gcc")
def test_what_a_workload_binds_is_the_size_of_every_row(project, perf):
    project.configure(
        'cmd = "./work"\nworkloads = [{ integers = [100, 200, 400] }]\ncollectors = ["memory"]\nexecutions = 1',
        top='build = ["gcc -g -w -o work work.c"]',
    )
    project.write(".gitignore", "work\n")
    project.commit("one", **{"work.c": SOURCE % 1})
    perf("init")
    perf("collect")
    repository = Repository.find()
    profiles = repository.profiles(one.header for one in repository.measured(repository.state("HEAD")))
    for profile in profiles:
        rows = profile.resources
        fill = rows.uid.index(rows.names.index("fill"))
        assert rows.size == [float(profile.job.workload)] * len(rows)
        assert rows.metrics["site_bytes"][fill] == 1000 * (rows.size[fill] or 0)
        assert profile.stacks and rows.trace
        stack = [profile.stacks.frames[frame] for frame in profile.stacks.stacks[rows.trace[fill]]]
        assert stack[-3:] == ["main (work.c:5)", "fill (work.c:4)", "malloc"]
    assert len(profiles) == 3
