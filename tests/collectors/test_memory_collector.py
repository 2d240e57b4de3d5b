"""The memory collector in the hands of a user: what is refused, and what the other commands make of
its profiles.
"""

from __future__ import annotations

import pytest

from perfvcs import plugins
from perfvcs.errors import UsageError
from perfvcs.repository import Repository


@pytest.mark.parametrize("recorder", ["heaptrack", "dhat"])
def test_a_recorder_that_is_not_there_is_refused_with_those_that_are(recorder: str) -> None:
    with pytest.raises(
        UsageError, match=f"recorder is '{recorder}': give auto, shim, memray, tracemalloc"
    ):
        plugins.build("collectors", "memory", {"recorder": recorder}, "here")


SOURCE = """
#include <stdlib.h>
static volatile void *seen;
__attribute__((noinline)) static void fill(int n) { for (int i = 0; i < n; i++) seen = malloc(1000); }
int main(int count, char **words) { fill(%s * atoi(words[1])); return count < 2; }
"""


@pytest.mark.needs("gcc")
def test_a_commit_that_allocates_more_is_a_degradation(project, perf):
    project.configure(
        'cmd = "./work"\nargs = ["100"]\ncollectors = ["memory"]',
        top='build = ["gcc -g -w -o work work.c"]',
    )
    project.write(".gitignore", "work\n")
    project.commit("one", **{"work.c": SOURCE % 10})
    project.commit("same", **{"work.c": SOURCE % 10 + "\n"})
    project.commit("more", **{"work.c": SOURCE % 11})
    perf("init")
    perf("collect", "HEAD~2..HEAD", "HEAD~2")
    assert perf("check", "HEAD~2", "HEAD~1").code == 0
    said = perf("check", "HEAD~1", "HEAD", "--json", code=3)
    changed = {
        (change["uid"], change["metric"]): change
        for change in said.document["changes"]
        if change["word"] == "degradation"
    }
    assert changed.keys() == {("work", "peak"), ("work", "bytes"), ("work", "count")}
    assert {metric: change["target"] for (_, metric), change in changed.items()} == {
        "peak": 1.1e6,
        "bytes": 1.1e6,
        "count": 1100,
    }


@pytest.mark.needs("gcc")
def test_what_a_workload_binds_is_the_size_of_every_row(project, perf):
    project.configure(
        'cmd = "./work"\nworkloads = [{ integers = [100, 200, 400] }]\ncollectors ='
        ' ["memory"]\nexecutions = 1',
        top='build = ["gcc -g -w -o work work.c"]',
    )
    project.write(".gitignore", "work\n")
    project.commit("one", **{"work.c": SOURCE % 1})
    perf("init")
    perf("collect")
    repository = Repository.find()
    profiles = repository.profiles(
        one.header for one in repository.measured(repository.state("HEAD"))
    )
    for profile in profiles:
        rows = profile.resources
        fill = rows.uid.index(rows.names.index("fill"))
        assert rows.size == [float(profile.job.workload)] * len(rows)
        assert rows.metrics["site_bytes"][fill] == 1000 * (rows.size[fill] or 0)
        assert profile.stacks and rows.trace
        stack = [profile.stacks.frames[frame] for frame in profile.stacks.stacks[rows.trace[fill]]]
        assert stack[-3:] == ["main (work.c:5)", "fill (work.c:4)", "malloc"]
    assert len(profiles) == 3
