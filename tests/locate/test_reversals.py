"""What `perf blame` takes back to prove a cause: a function alone, or with what it needs; never more
than that where less shows it.
"""

from __future__ import annotations

import re

import pytest
from cases import each
from test_blame import CONFIG

from perfvcs.git.project import Project as Git
from perfvcs.locate.blame.reversals import Reversals, reverted
from perfvcs.locate.sources.hunks import difference


@pytest.fixture
def blame(project, perf):
    """Commit two versions of some files, and give what is blamed for the difference."""

    def run(old: dict[str, str], new: dict[str, str], metric: str = "bytecodes"):
        project.write("perf.toml", CONFIG)
        project.commit("old", **old)
        project.commit("new", **new)
        return perf("blame", "--metric", metric, "-q", "--json").document

    return run


def trials(document):
    """The trials that showed a share, by function: its share in percent, and what else was taken
    back.
    """
    return {
        trial["name"]: (round(100 * trial["share"]), trial["besides"])
        for trial in document["trials"]
        if trial["word"] in ("proved", "contributes")
    }


def replaced(text, *pairs):
    """The text with each part replaced, which it must have once."""
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


RUN = """\
import shapes

print(sum(shapes.Point(number).x + shapes.Line(number).y for number in range(400)))
print(sum(shapes.third(number) for number in range(400)))
"""
SHAPES = """\
from math import floor


class Point:
    def __init__(self, x):
        self.x = floor(x)


class Line:
    def __init__(self, y):
        self.y = floor(y)


def third(number):
    return number // 3
"""


CONVERT = """\
def whole(number, times):
    for _ in range(times):
        pass
    return number
"""


@each(
    "imports besides",
    [
        ("from math import floor\nfrom convert import whole", ""),
        ("from convert import whole", "with what it needs"),
    ],
    ids=["one more import", "another import"],
)
def test_functions_that_contribute_alone_are_named_before_the_whole_file(blame, imports, besides):
    """Without both constructors the import cannot be taken back: with the whole file it can."""
    slower = replaced(
        SHAPES,
        ("from math import floor", imports),
        ("self.x = floor(x)", "self.x = whole(x, 40)"),
        ("self.y = floor(y)", "self.y = whole(y, 20)"),
        ("return number // 3", "return sum([number for _ in range(30)]) // 90"),
    )
    found = blame(
        {"run.py": RUN, "shapes.py": SHAPES, "convert.py": CONVERT}, {"shapes.py": slower}
    )
    shown = trials(found)
    assert shown.keys() == {"Point.__init__", "Line.__init__", "third"}
    assert [shown[name][1] for name in sorted(shown)] == [besides, besides, ""]
    assert 97 <= sum(share for share, _ in shown.values()) <= 103
    assert found["verdict"] == "contributes"


def test_each_function_that_contributes_has_a_line(blame, perf):
    slower = replaced(
        SHAPES,
        ("floor(x)", "floor(sum([x for _ in range(20)]) // 20)"),
        ("floor(y)", "floor(sum([y for _ in range(10)]) // 10)"),
    )
    blame({"run.py": RUN, "shapes.py": SHAPES}, {"shapes.py": slower})
    said = perf("blame", "--stored").out.splitlines()
    cause, proof, other = (
        next(line for line in said if line.startswith(word)) for word in ("cause", "proof", "and")
    )
    assert cause.startswith("cause: Point.__init__ (shapes.py)")
    shares = [int(re.search(r"contributes (\d+) %", line)[1]) for line in (proof, other)]
    assert shares[0] > shares[1] > 10 and 97 <= sum(shares) <= 103
    assert other.startswith("and:   Line.__init__ (shapes.py:11) contributes ")


CACHED = """\
class Store:
    def __init__(self, rows):
        self.rows = rows
        self._places = {}
        for place, row in enumerate(rows):
            self._places.setdefault(row, place)

    def place(self, row):
        return self._places[row]


class Other:
    def __init__(self):
        self._places = []
"""
SCANNED = """\
class Store:
    def __init__(self, rows):
        self.rows = rows

    def place(self, row):
        for place, other in enumerate(self.rows):
            if other == row:
                return place
        raise KeyError(row)


class Other:
    def __init__(self):
        self._places = []
"""
SETS = """\
class Store:
    def __init__(self, rows):
        self.rows = rows
        self.known = set(rows)

    def add(self, row):
        self.known.add(row)

    def place(self, row):
        self.add(row)
        return 1 if self.known.issuperset([row]) else 0


class Other:
    def __init__(self):
        self._places = []
"""
LISTS = replaced(
    SETS,
    ("set(rows)", "list(rows)"),
    ("self.known.add(row)", "self.known.append(row)"),
    ("1 if self.known.issuperset([row]) else 0", "sum([row == other for other in self.known]) > 0"),
)
STORED = """\
import store

kept = store.Store(list(range(150)))
print(len(vars(store.Other())), sum(kept.place(number) for number in range(150)))
"""


@each(
    "old new besides",
    [(CACHED, SCANNED, "with what it needs"), (SETS, LISTS, "with what it uses in its class")],
    ids=["an attribute that is gone", "an attribute of another type"],
)
def test_a_method_is_proved_with_what_its_class_sets(blame, old, new, besides):
    found = blame({"run.py": STORED, "store.py": old}, {"store.py": new})
    assert found["verdict"] == "proved"
    assert (found["trials"][-1]["name"], found["trials"][-1]["besides"]) == ("Store.place", besides)


def test_a_common_word_of_another_file_is_not_needed(project):
    """The other file still has the name, so that it is hardly the one that was lost."""
    first = {
        "fold.py": "def fold(word):\n    data = word.lower()\n    return data\n",
        "other.py": "data = 1\nmore = data\n",
    }
    project.commit("old", **first)
    project.commit(
        "new",
        **{
            "fold.py": first["fold.py"].replace("data", "text").replace("lower", "casefold"),
            "other.py": "more = 2\nmost = more\nleast = 'data'\n",
        },
    )
    git = Git.find(project.root)
    found = difference(git, git.resolve("HEAD~1"), git.resolve("HEAD"))
    reversals = Reversals(found).of(found.units["fold.py:fold"])
    assert [list(reversal.hunks) for reversal in reversals] == [["fold.py"]]


SHELL = """#!/bin/sh
LIST="a b c d e f g h"
count() {
    for letter in $LIST; do
        : "$letter"
    done
}
other() {
    echo done
}
for round in 1 2 3 4 5 6 7 8 9; do count; done
other
"""


def test_a_hunk_of_another_language_is_taken_back_with_what_it_needs(project):
    project.commit("old", **{"count.sh": SHELL})
    slower = replaced(SHELL, ('LIST="a b c d e f g h"\n', ""), ("$LIST", "$(seq 9)"))
    project.commit("new", **{"count.sh": slower})
    git = Git.find(project.root)
    found = difference(git, git.resolve("HEAD~1"), git.resolve("HEAD"))
    reversals = Reversals(found).of(found.units["count.sh:count"])
    assert [reversal.besides for reversal in reversals[:2]] == ["", "with what it needs"]
    assert reverted(found, reversals[1].hunks) == {"count.sh": SHELL}
