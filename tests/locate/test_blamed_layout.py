"""`perf blame` of programs whose time differs although no function does more, and of such as
valgrind cannot run.
"""

from __future__ import annotations

import json

import pytest
from test_blame import unwrapped

from perfvcs.collectors.instructions import valgrind
from perfvcs.locate.blame.elsewhere import is_program

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
    unsigned stride = 0;
    FILE *file = fopen("stride.txt", "r");
    if (!file || fscanf(file, "%u", &stride) != 1) return 1;
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
UNUSED = """static __attribute__((noinline, used)) int unused_helper(int x) { return x * 3 + 1; }

"""


@pytest.fixture
def walking(project):
    """A program that reads memory in another order on HEAD, by its input, and has a function more
    that nobody calls.
    """
    project.write("perf.toml", CONFIG)
    project.write(".gitignore", "walk\n")
    project.commit("near", **{"walk.c": WALK, "stride.txt": "0001\n"})
    moved = WALK.replace("__attribute__", f"{UNUSED}__attribute__", 1)
    project.commit("far", **{"walk.c": moved, "stride.txt": "4099\n"})
    return project


@pytest.mark.slow
@pytest.mark.needs("gcc", "valgrind")
@pytest.mark.usefixtures("walking")
def test_where_time_differs_and_every_count_agrees_both_figures_and_what_is_left_are_named(perf):
    found = json.loads(perf("blame", "walk", "-q", "--json").out)
    assert (found["verdict"], found["metric"], found["trials"]) == ("same counts", "cpu", [])
    assert found["effect"] > 0.2
    (count,) = found["counts"]
    assert count["metric"] == "instructions" and count["differing"] == 0 < count["functions"]
    said = unwrapped(perf("blame", "--stored").out)
    assert "CPU time" in said[0] and said[1].startswith("count: instructions ")
    assert said[2].startswith("same counts: ") and "memory (layout, caches, page faults)" in said[2]
    assert "also:  1 other file changed: stride.txt" in said


@pytest.mark.slow
@pytest.mark.needs("gcc")
@pytest.mark.usefixtures("walking")
def test_without_valgrind_a_function_that_nobody_calls_is_not_tried(perf, monkeypatch):
    monkeypatch.setattr(valgrind, "version", lambda: "")
    found = json.loads(perf("blame", "walk", "-q", "--json").out)
    assert (found["verdict"], found["trials"]) == ("not seen", [])
    assert [one["name"] for one in found["suspects"]] == ["unused_helper"]
    said = "\n".join(unwrapped(perf("blame", "--stored", "-v").out))
    assert "not seen: the only changed function was not seen to run" in said
    assert " not seen  unused_helper (walk.c)" in said
    assert "note:  without valgrind " in said and "apt install valgrind" in said


GO = """package main

import "fmt"

//go:noinline
func mix(x int) int {
	return x*31 + 7
}

func main() {
	sum := 0
	for i := 0; i < 40000000; i++ {
		sum += mix(i)
	}
	fmt.Println(sum)
}
"""


@pytest.mark.slow
@pytest.mark.needs("go", "valgrind", "perf")
def test_a_program_that_valgrind_cannot_run_is_sampled(project, perf):
    project.write("perf.toml", CONFIG.replace("gcc -g -O1 walk.c -o walk", "go build -o walk ."))
    project.write(".gitignore", "walk\n")
    project.commit("first", **{"main.go": GO, "go.mod": "module walk\n"})
    slower = "	for j := 0; j < 8; j++ {\n		x = x*31%1013 + j\n	}\n"
    project.commit(
        "slower", **{"main.go": GO.replace("	return x*31", f"{slower}	return x*31")}
    )
    said = unwrapped(perf("blame", "walk", "-q").out)
    assert said[0].startswith("walk: +") and "CPU time" in said[0]
    assert said[1].startswith("cause: mix (main.go): ")
    assert said[-2].startswith("proof: proved: ")
    assert "note:  valgrind cannot run this program, so its functions are sampled" in said
    assert not any("Assertion" in line for line in said)


@pytest.mark.slow
@pytest.mark.needs("perl", "valgrind")
def test_a_program_whose_language_is_not_read_is_not_called_innocent(project, perf):
    project.write("perf.toml", CONFIG.partition("\n\n")[2].replace("./walk", "perl walk.pl"))
    script = "my $sum = 0;\nfor my $n (1..TIMES) { $sum += $n; }\nprint $sum;\n"
    project.commit("first", **{"walk.pl": script.replace("TIMES", "2000")})
    project.commit("more", **{"walk.pl": script.replace("TIMES", "90000")})
    said = unwrapped(perf("blame", "walk", "-q").out)
    assert said[0].startswith("walk: +") and " instructions (" in said[0]
    assert said[1] == "not seen: what changed is not read as source, so no function of it is blamed"
    assert said[2].startswith("moved: Perl_") and " of all instructions" in said[2]
    assert said[3] == "also:  1 other file changed: walk.pl"


def test_files_of_languages_that_are_not_read_here_are_programs():
    assert is_program("cmd/main.go") and is_program("src/lib.rs") and is_program("A.MJS")
    assert not is_program("data.txt") and not is_program("Makefile") and not is_program("go")
