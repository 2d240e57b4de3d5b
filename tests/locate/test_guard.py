"""`perf mutate`: planted slowdowns that benchmarks notice, and those that they do not."""

from __future__ import annotations

import sys

import pytest

from perfvcs.locate.blame.guard import systematic

LIBRARY = """
def total(numbers):
    found = 0
    for number in numbers:
        found += number
    return found


def rarely(numbers):
    return len(numbers)


def never(numbers):
    return numbers
"""
RUN = (
    "import library\n\nnumbers = list(range(100))\nfor _ in range(50):\n   "
    " library.total(numbers)\nlibrary.rarely([1])\n"
)
CONFIG = (
    f'overlay = ["run.py"]\n\n[[job]]\nname = "work"\ncmd = "{sys.executable} run.py"\ncollectors ='
    ' ["time"]\n'
)


@pytest.fixture
def library(project):
    project.write("perf.toml", CONFIG)
    project.commit("first", **{"library.py": LIBRARY, "run.py": RUN})
    return project


def test_the_score_is_the_share_that_was_noticed_and_what_is_unguarded_is_named(library, perf):
    found = perf("mutate", "-n", "9", "-q", "--json").document
    by_function = {(one["rule"], one["function"]): one["noticed"] for one in found["planted"]}
    assert by_function == {
        ("extra pass", "total"): True,
        ("copy in a loop", "total"): True,
        ("extra pass", "rarely"): False,
    }
    assert found["score"] == pytest.approx(2 / 3)
    assert found["unguarded"] == ["rarely (library.py)"]
    assert (found["reached"], found["unreached"]) == (2, 1)
    assert library.git("status", "--porcelain", "--untracked-files=no") == ""


@pytest.mark.usefixtures("library")
def test_it_is_reported_in_lines_and_the_same_seed_plants_the_same(perf):
    first, second = (perf("mutate", "-n", "2", "-q", "--seed", "3").out for _ in range(2))
    assert first == second
    assert (
        first.startswith("score ")
        and "of 2 planted slowdowns noticed at 1.0 % (bytecodes, " in first
    )


@pytest.mark.parametrize(
    ("config", "code", "message"),
    [
        (
            CONFIG.replace(f"{sys.executable} run.py", "sh run.sh"),
            2,
            "no job of perf.toml is a Python program",
        ),
        (
            CONFIG.replace("run.py", "other.py"),
            4,
            "the benchmarks run no Python function of this project",
        ),
    ],
)
def test_where_nothing_can_be_planted_it_is_one_line(library, perf, config, code, message):
    library.write("perf.toml", config)
    library.commit("other", **{"other.py": "print(1)\n", "run.sh": "true\n"})
    said = perf("mutate", "-q", code=code)
    assert message in said.err and len(said.err.splitlines()) == 1


@pytest.mark.parametrize("start", [0.0, 0.31, 0.62, 0.999])
def test_samples_of_other_seeds_are_about_the_same_mixture(start):
    """Four rules with 30 mutants each stand behind each other; one function costs as much as a
    quarter of all.
    """
    weights = [1.0] * 120
    weights[70] = 40.0
    chosen = systematic(weights, 20, start)
    by_rule = [sum(place // 30 == rule for place in chosen if place != 70) for rule in range(4)]
    assert len(set(chosen)) == 20 and 70 in chosen
    assert sorted(by_rule) == [4, 5, 5, 5]


@pytest.mark.parametrize(
    ("weights", "count", "chosen"),
    [([], 3, []), ([1, 2], 5, [0, 1]), ([1, 1, 1], 3, [0, 1, 2]), ([0.0, 5.0], 1, [1])],
)
def test_where_there_are_few_all_are_chosen(weights, count, chosen):
    assert systematic(weights, count, 0.5) == chosen
