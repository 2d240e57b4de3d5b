"""`perf blame` of programs whose time differs although no function does more, and of such as
valgrind cannot run.
"""

from __future__ import annotations

import pytest
from test_blame import unwrapped

from perfvcs.collectors.instructions import valgrind

CONFIG = """build = ["gcc -g -O1 walk.c -o walk"]

[[job]]
name = "walk"
cmd = "./walk"
collectors = ["time"]
"""
WALK = """
#include <stdio.h>
#include <stdlib.h>

#define CELLS (1u << 22)

__attribute__((noinline)) static unsigned walk(const unsigned *cells, unsigned stride)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < CELLS; i++) sum += cells[(i * stride) & (CELLS - 1)];
    return sum;
}

int main(void)
{
    FILE *file = fopen("walk.c", "r");
    if (!file || fseek(file, 0, SEEK_END)) return 1;
    unsigned stride = ftell(file) > LENGTH ? 4099 : 1;
    fclose(file);
    unsigned *cells = malloc(CELLS * sizeof *cells);
    for (unsigned i = 0; i < CELLS; i++) cells[i] = i;
    unsigned sum = 0;
    for (int i = 0; i < 4; i++) sum += walk(cells, stride);
    printf("%u\\n", sum);
    free(cells);
    return 0;
}
"""
WALK = WALK.replace("LENGTH", str(len(WALK) + 10))  # so that one more function changes what is read
UNUSED = """static __attribute__((noinline, used)) int unused_helper(int x) { return x * 3 + 1; }

"""


@pytest.fixture
def walking(project):
    """A program that reads memory in another order on HEAD, by the size of its source, which has a
    function more that nobody calls.
    """
    project.write("perf.toml", CONFIG)
    project.write(".gitignore", "walk\n")
    project.commit("near", **{"walk.c": WALK, "README.md": "Near.\n"})
    moved = WALK.replace("__attribute__", f"{UNUSED}__attribute__", 1)
    project.commit("far", **{"walk.c": moved, "README.md": "Far.\n"})
    return project


@pytest.mark.needs("gcc", "valgrind")
@pytest.mark.usefixtures("walking")
def test_where_time_differs_and_every_count_agrees_both_figures_and_what_is_left_are_named(perf):
    found = perf("blame", "walk", "-q", "--json").document
    assert (found["verdict"], found["metric"], found["trials"]) == ("same counts", "cpu", [])
    assert found["effect"] > 0.2
    (count,) = found["counts"]
    assert count["metric"] == "instructions" and count["differing"] == 0 < count["functions"]
    said = unwrapped(perf("blame", "--stored").out)
    assert "CPU time" in said[0] and said[1].startswith("count: instructions ")
    assert said[2].startswith("same counts: ") and "memory (layout, caches, page faults)" in said[2]
    assert "also:  1 other file changed: README.md" in said


@pytest.mark.needs("gcc")
@pytest.mark.usefixtures("walking")
def test_without_valgrind_a_function_that_nobody_calls_is_not_tried(perf, monkeypatch):
    monkeypatch.setattr(valgrind, "version", lambda: "")
    found = perf("blame", "walk", "-q", "--json").document
    assert (found["verdict"], found["trials"]) == ("not seen", [])
    assert [one["name"] for one in found["suspects"]] == ["unused_helper"]
    said = "\n".join(unwrapped(perf("blame", "--stored", "-v").out))
    assert "not seen: the only changed function was not seen to run" in said
    assert " not seen  unused_helper (walk.c)" in said
    assert "note:  without valgrind " in said and "apt install valgrind" in said


REFUSED = """#include <stdio.h>
#include <valgrind/valgrind.h>

__attribute__((noinline)) static unsigned mix(unsigned x)
{
    return x * 31 + 7;
}

int main(void)
{
    unsigned sum = 0;
    if (RUNNING_ON_VALGRIND) __builtin_trap(); /* as an instruction that valgrind does not know */
    for (unsigned i = 0; i < 40000000; i++) sum += mix(i);
    printf("%u\\n", sum);
    return 0;
}
"""


@pytest.mark.needs("gcc", "valgrind", "perf")
def test_a_program_that_valgrind_cannot_run_is_sampled(project, perf):
    project.write("perf.toml", CONFIG)
    project.write(".gitignore", "walk\n")
    project.commit("first", **{"walk.c": REFUSED})
    slower = "    for (unsigned j = 0; j < 8; j++) x = x * 31 % 1013 + j;\n    return x * 31"
    project.commit("slower", **{"walk.c": REFUSED.replace("    return x * 31", slower)})
    said = unwrapped(perf("blame", "walk", "-q").out)
    assert said[0].startswith("walk: +") and "CPU time" in said[0]
    assert said[1].startswith("cause: mix (walk.c): ")
    assert said[-2].startswith("proof: proved: ")
    assert "note:  valgrind cannot run this program, so its functions are sampled" in said
    assert not any("Assertion" in line for line in said)
