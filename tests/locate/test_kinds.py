"""Kinds of change by syntax trees, in Python and C."""

from __future__ import annotations

import pytest

from perfvcs.locate.hunks import FileChange, Hunk
from perfvcs.locate.kinds import kinds


def named(old, new, path="work.py", name="work"):
    lines = [text.count("\n") for text in (old, new)]
    change = FileChange(path, path, old, new, (Hunk((1, lines[0]), (1, lines[1])),))
    return [kind.name for kind in kinds(change, name, change.hunks)]


BASE = "def work(data):\n    found = []\n    for one in data:\n        found.append(make(one))\n    return found\n"


@pytest.mark.parametrize(
    ("new", "kind"),
    [
        (BASE.replace("found.append(make(one))", "for two in data:\n            found.append(make(one))"), "deeper loop"),
        (BASE.replace("    return", "    for one in found:\n        one.close()\n    return"), "loop added"),
        (
            BASE.replace("    for one in data:\n        found.append(make(one))\n", "    found.append(make(data))\n"),
            "loop removed",
        ),
        (BASE.replace("found = []", "found = set()"), "container replaced"),
        (BASE.replace("in data", "in list(data)"), "copy added"),
        (BASE.replace("in data", "in data[:]"), "copy added"),
        (BASE.replace("        found", "        if one:\n            found"), "condition added"),
        (BASE.replace("    return", "    if not found:\n        raise ValueError\n    return"), "exception handling added"),
        (BASE.replace("    return found", "    with self.lock:\n        return found"), "synchronisation added"),
        (BASE.replace("    found", "    import json\n    found"), "library"),
        ("@lru_cache\n" + BASE, "cache added"),
        (BASE.replace("make(one)", "check(make(one))"), "functionality"),
        (BASE.replace("found = []", "found = [1]"), "functionality"),
    ],
)
def test_a_change_has_its_kind(new, kind):
    assert kind in named(BASE, new)


OUTSIDE = "    made = make(data)\n    for one in data:\n        use(made)\n"
INSIDE = "    for one in data:\n        use(make(data))\n"


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        (OUTSIDE, INSIDE, "call moved into a loop"),
        (INSIDE, OUTSIDE, "call moved out of a loop"),
        ("    return bisect_left(data, 3)\n", "    return data.index(3)\n", "algorithm replaced"),
        ("    return 3 in set(data)\n", "    return 3 in list(data)\n", "container replaced"),
    ],
)  # fmt: skip
def test_what_moved_or_was_replaced_is_told(old, new, kind):
    assert named("def work(data):\n" + old, "def work(data):\n" + new)[0] == kind


def test_the_lines_are_those_of_the_new_side():
    new = BASE.replace("    return", "    for one in found:\n        one.close()\n    return")
    change = FileChange("work.py", "work.py", BASE, new, (Hunk((4, 0), (5, 2)),))
    assert next((kind.name, kind.lines) for kind in kinds(change, "work", change.hunks)) == ("loop added", [5])


def test_a_dropped_cache_and_a_test_are_told():
    assert named("@lru_cache\n" + BASE, BASE) == ["cache dropped"]
    assert named(BASE, BASE + "\n", path="tests/test_work.py") == ["test"]


C = """int work(int *data, int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++) {
        sum += data[i];
    }
    return sum;
}
"""


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("sum += data[i];", "for (int j = 0; j < n; j++) sum += data[i];", "deeper loop"),
        ("return sum;", "for (int i = 0; i < n; i++) sum--;\n    return sum;", "loop added"),
        ("sum += data[i];", "if (data[i]) sum += data[i];", "condition added"),
        ("return sum;", "pthread_mutex_lock(&mutex);\n    return sum;", "synchronisation added"),
        ("return sum;", "return check(sum);", "functionality"),
    ],
)
def test_c_is_read_by_words_and_braces(old, new, kind):
    assert kind in named(C, C.replace(old, new), path="work.c")


def test_a_call_of_c_that_moves_into_a_loop_is_told():
    old = C.replace("int sum = 0;", "int sum = 0, length = strlen(name);").replace("i < n", "i < length")
    new = C.replace("sum += data[i];", "sum += strlen(name);")
    assert named(old, new, path="work.c")[0] == "call moved into a loop"
