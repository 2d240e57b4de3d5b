"""Slowdowns planted by syntax tree do what they say, and change no result."""

from __future__ import annotations

import ast

import pytest

from perfvcs.locate.blame.mutation import PLANTED, mutants

SOURCE = '''
from functools import cached_property, lru_cache


@lru_cache(maxsize=None)
def fib(n):
    """The nth number of Fibonacci."""
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def common(a, b):
    known = set(b)
    found = []
    for one in a:
        if one in known and one not in {1, 2}:
            found.append(one)
    return found


class Box:
    @cached_property
    def size(self): return 3

    def fits(self, things, *, at=0):
        count = len(things)
        return count + at <= self.size
'''


def planted(rule, times=1):
    return list(mutants(SOURCE, times=times, rules=(rule,)))


def result(text):
    space = {}
    exec(compile(text, "work.py", "exec"), space)
    return space["fib"](10), space["common"]([1, 2, 3, 4], [2, 3, 4]), space["Box"]().fits([1, 2])


@pytest.mark.parametrize("rule", [*PLANTED, "call repeated", "busy loop"])
@pytest.mark.parametrize("times", [1, 3])
def test_mutants_run_and_give_the_same_results(rule, times):
    found = planted(rule, times)
    assert found
    for one in found:
        assert result(one.text) == result(SOURCE) == (55, [3, 4], True)
        assert ast.dump(ast.parse(one.text)) != ast.dump(ast.parse(SOURCE))


@pytest.mark.parametrize(
    ("rule", "functions"),
    [
        ("extra pass", ["fib", "common", "Box.fits"]),
        ("copy in a loop", ["common"]),
        ("list for set", ["common"]),
        ("cache dropped", ["fib", "Box.size"]),
        ("call repeated", ["common", "Box.fits"]),
    ],
)
def test_a_rule_is_applied_where_it_fits(rule, functions):
    assert [one.function for one in planted(rule)] == functions


def test_only_one_place_changes():
    for one in mutants(SOURCE):
        before, after = SOURCE.splitlines(), one.text.splitlines()
        assert abs(len(after) - len(before)) <= 3
        assert len(set(before) - set(after)) <= 1


def test_what_is_not_python_has_no_mutants():
    assert list(mutants("def broken(:\n")) == []


def test_a_form_feed_does_not_shift_what_is_planted():
    text = "def first(a):\n    return a\n\f\n\ndef second(data):\n    found = 0\n    return found\n"
    (made,) = mutants(text, rules=("extra pass",), function="second")
    assert made.text.split("\n")[made.line - 2 : made.line] == ["def second(data):", "    if True:"]
