"""Call trees, matched and compared: planted differences are found, what only moved is not
blamed.
"""

from __future__ import annotations

import random

import pytest
from cases import each

from perfvcs.locate.blame.calltree import CallTree, least_of, normal
from perfvcs.locate.blame.pairing import contributions, deepest, match, unsettled


def tree(*paths):
    """Such as ("main/load/parse", 10, 3): cost of its own, and how often its caller entered it."""
    return CallTree.of_paths((path.split("/"), cost, calls) for path, cost, calls in paths)


def amounts(a, b, owner=None, **options):
    found = contributions(match(a, b, **options), owner)
    return {name: one.amount for name, one in found.items() if abs(one.amount) > 1e-9}


BEFORE = tree(
    ("main", 5, 1), ("main/load", 10, 1), ("main/load/parse", 30, 3), ("main/store", 20, 4)
)


def test_a_function_that_costs_more_per_call_is_blamed_itself():
    after = tree(
        ("main", 5, 1), ("main/load", 10, 1), ("main/load/parse", 45, 3), ("main/store", 20, 4)
    )
    assert amounts(BEFORE, after) == {"parse": pytest.approx(15)}


def test_of_more_calls_the_caller_is_blamed():
    after = tree(
        ("main", 5, 1), ("main/load", 10, 1), ("main/load/parse", 60, 6), ("main/store", 20, 4)
    )
    found = contributions(match(BEFORE, after))
    assert found["load"].oftener == pytest.approx(30)
    assert dict(found["load"].callees) == {"parse": pytest.approx(30)}
    assert found["parse"].amount == pytest.approx(0)


def test_both_at_once_are_distinguished():
    after = tree(
        ("main", 5, 1), ("main/load", 10, 1), ("main/load/parse", 90, 6), ("main/store", 20, 4)
    )
    found = amounts(BEFORE, after)
    assert found == {"load": pytest.approx(30), "parse": pytest.approx(30)}


def test_a_new_call_is_the_callers():
    after = tree(
        ("main", 5, 1),
        ("main/load", 10, 1),
        ("main/load/parse", 30, 3),
        ("main/load/parse/check", 12, 3),
        ("main/store", 20, 4),
    )
    assert amounts(BEFORE, after) == {"parse": pytest.approx(12)}


def test_what_was_inlined_is_not_blamed():
    assert amounts(BEFORE, tree(("main", 5, 1), ("main/load", 40, 1), ("main/store", 20, 4))) == {}


def test_what_was_extracted_is_not_blamed():
    after = tree(
        ("main", 5, 1),
        ("main/load", 4, 1),
        ("main/load/open", 6, 1),
        ("main/load/parse", 30, 3),
        ("main/store", 20, 4),
    )
    assert amounts(BEFORE, after) == {}


NAN = float("nan")


@pytest.mark.parametrize(
    ("calls", "name"),
    [((3, NAN), "parse [inlined]"), ((NAN, 3), "parse"), ((NAN, NAN), "parse [inlined]")],
)
def test_a_part_of_its_caller_is_the_function_that_it_was_or_becomes(calls, name):
    """A compiler that puts a function into its caller, or no longer does, is not a cause; what the
    function costs more is.
    """
    names = ["parse" if calls[0] == 3 else "parse [inlined]", name]
    sides = [
        CallTree(
            ["(all)", "main", "load", one, f"{one}/step"],
            [-1, 0, 1, 2, 3],
            [0, 5, 10, cost, 7],
            [1, 1, 2, count, 6],
        )
        for one, count, cost in zip(names, calls, (30, 45), strict=True)
    ]
    matched = match(*sides)
    assert matched.names[3] == "parse [inlined]"
    found = contributions(matched, lambda frame: frame.replace(" [inlined]", ""))
    assert {name: one.amount for name, one in found.items() if abs(one.amount) > 1e-9} == {
        "parse": pytest.approx(15)
    }
    assert found["parse"].calls == (0, 0)


def test_a_renamed_function_is_known_by_what_it_calls():
    a = tree(
        ("main", 1, 1),
        ("main/old", 5, 1),
        ("main/old/x", 2, 1),
        ("main/old/y", 2, 1),
        ("main/old/y/z", 9, 1),
    )
    b = tree(
        ("main", 1, 1),
        ("main/new", 5, 1),
        ("main/new/x", 2, 1),
        ("main/new/y", 2, 1),
        ("main/new/y/z", 15, 1),
    )
    assert amounts(a, b) == {"z": pytest.approx(6)}


def test_a_renamed_function_is_known_by_its_body():
    a, b = tree(("main", 1, 1), ("main/old", 5, 1)), tree(("main", 1, 1), ("main/new", 8, 1))
    assert amounts(a, b) == {"main": pytest.approx(3)}
    assert amounts(a, b, renamed={"old": "new"}) == {"new": pytest.approx(3)}


def test_a_moved_function_is_the_same_one():
    a, b = (
        tree(("main", 1, 1), ("main/f (a.py)", 5, 1)),
        tree(("main", 1, 1), ("main/f (b.py)", 8, 1)),
    )
    assert amounts(a, b) == {"f (b.py)": pytest.approx(3)}


def test_recursion_counts_once():
    found = tree(
        ("walk", 1, 1),
        ("walk/visit", 1, 2),
        ("walk/visit/walk", 1, 2),
        ("walk/visit/walk/visit", 1, 4),
    )
    assert found.names == ["(all)", "walk", "visit"]
    assert found.own == [0, 2, 2]
    assert found.inclusive()[1] == 4
    assert found.calls == [1, 1, 6]


def test_libraries_are_answered_for_by_their_callers():
    a = tree(("main", 1, 1), ("main/f", 2, 1), ("main/f/sorted", 5, 1))
    b = tree(("main", 1, 1), ("main/f", 2, 1), ("main/f/sorted", 9, 1))
    assert amounts(a, b, owner=lambda name: None if name == "sorted" else name) == {
        "f": pytest.approx(4)
    }


def test_the_deepest_node_explains_at_least_half():
    after = tree(
        ("main", 5, 1), ("main/load", 10, 1), ("main/load/parse", 45, 3), ("main/store", 24, 4)
    )
    matched = match(BEFORE, after)
    assert matched.path(deepest(matched)) == ["main", "load", "parse"]


@pytest.mark.parametrize(
    ("name", "same"),
    [
        ("f at 0x7f3a", "f at #"),
        ("run.<locals>.{lambda(int)#2}::operator()", "run.<locals>.{lambda(int)}::operator()"),
        ("job_1402348 (tmpab12_x9z.py)", "job_# (#.py)"),
        ("utf8_decode2 (codec.c)", "utf8_decode2 (codec.c)"),
    ],
)
def test_names_lose_what_differs_from_run_to_run(name, same):
    assert normal(name) == same


def random_tree(chance, nodes):
    paths, known = [], [[]]
    for number in range(nodes):
        path = [*chance.choice(known[-200:]), f"f{number % 997}_{number}"]
        known.append(path)
        paths.append(("/".join(path), float(chance.randint(1, 50)), chance.randint(1, 5)))
    return paths


@each("seed", range(20))
def test_a_planted_difference_is_found_and_the_order_of_siblings_changes_nothing(seed):
    chance = random.Random(seed)
    paths = random_tree(chance, 300)
    place = chance.randrange(len(paths))
    path, cost, calls = paths[place]
    planted = [*paths[:place], (path, cost + 1000, calls), *paths[place + 1 :]]
    before, after = tree(*paths), tree(*chance.sample(planted, len(planted)))
    assert amounts(before, after) == {path.rpartition("/")[2]: pytest.approx(1000)}


@each("seed", range(20))
def test_contributions_add_up_to_the_difference(seed):
    chance = random.Random(seed)
    before, after = tree(*random_tree(chance, 200)), tree(*random_tree(chance, 250))
    assert sum(amounts(before, after).values()) == pytest.approx(after.total - before.total)


def test_the_least_of_several_executions_has_no_disturbance():
    runs = [
        tree(("main", 5 + noise, 1), ("main/f", 7 + other, 2))
        for noise, other in ((0, 3), (4, 0), (9, 9))
    ]
    assert least_of(runs).own == [0, 5, 7]


def test_a_path_that_only_one_execution_has_costs_nothing():
    assert least_of([tree(("main", 5, 1)), tree(("main", 5, 1), ("main/gc", 9, 1))]).total == 5


def test_how_far_an_amount_varies_is_known_from_several_executions():
    runs = [tree(("main", 5, 1), ("main/f", cost, 1)) for cost in (10, 12, 14)]
    repeats = [contributions(match(runs[0], run)) for run in runs]
    assert unsettled(repeats)["f"] == pytest.approx(2 * 2 / 3**0.5)
    assert unsettled(repeats[:1]) == {}
