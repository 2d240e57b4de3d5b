"""Kinds of change by syntax trees, in Python and C."""

from __future__ import annotations

import pytest
from cases import each

from perfvcs.locate.blame import features
from perfvcs.locate.blame.kinds import kinds
from perfvcs.locate.sources.hunks import DifferingFile, Hunk

native = pytest.mark.unless(
    "" if features.available() else "tree-sitter is not installed: pip install '.[native]'"
)


def named(old, new, path="work.py", name="work"):
    lines = [text.count("\n") for text in (old, new)]
    change = DifferingFile(path, path, old, new, (Hunk((1, lines[0]), (1, lines[1])),))
    return [kind.name for kind in kinds(change, name, change.hunks)]


BASE = (
    "def work(data):\n    found = []\n    for one in data:\n        found.append(make(one))\n   "
    " return found\n"
)


@each(
    "new kind",
    [
        (
            BASE.replace(
                "found.append(make(one))", "for two in data:\n            found.append(make(one))"
            ),
            "deeper loop",
        ),
        (
            BASE.replace("    return", "    for one in found:\n        one.close()\n    return"),
            "loop added",
        ),
        (
            BASE.replace(
                "    for one in data:\n        found.append(make(one))\n",
                "    found.append(make(data))\n",
            ),
            "loop removed",
        ),
        (BASE.replace("found = []", "found = set()"), "container replaced"),
        (BASE.replace("in data", "in list(data)"), "copy added"),
        (BASE.replace("in data", "in data[:]"), "copy added"),
        (BASE.replace("        found", "        if one:\n            found"), "condition added"),
        (
            BASE.replace("    return", "    if not found:\n        raise ValueError\n    return"),
            "exception handling added",
        ),
        (
            BASE.replace("    return found", "    with self.lock:\n        return found"),
            "synchronisation added",
        ),
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
)
def test_what_moved_or_was_replaced_is_reported(old, new, kind):
    assert named("def work(data):\n" + old, "def work(data):\n" + new)[0] == kind


def test_the_lines_are_those_of_the_new_side():
    new = BASE.replace("    return", "    for one in found:\n        one.close()\n    return")
    change = DifferingFile("work.py", "work.py", BASE, new, (Hunk((4, 0), (5, 2)),))
    assert next((kind.name, kind.lines) for kind in kinds(change, "work", change.hunks)) == (
        "loop added",
        [5],
    )


def test_a_dropped_cache_and_a_test_are_reported():
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
        ("sum += data[i];", "sum += data[i];\n        memcpy(copy, data, n);", "copy added"),
        ("return sum;", "assert(sum);\n    return sum;", "exception handling added"),
        ("i < n;", "i < strlen(name);", "functionality"),
    ],
)
@native
def test_c_is_read_by_its_syntax_tree(old, new, kind):
    assert kind in named(C, C.replace(old, new), path="work.c")


@native
def test_a_call_of_c_that_moves_into_a_loop_is_reported():
    old = C.replace("int sum = 0;", "int sum = 0, length = strlen(name);").replace(
        "i < n", "i < length"
    )
    new = C.replace("sum += data[i];", "sum += strlen(name);")
    assert named(old, new, path="work.c")[0] == "call moved into a loop"


CPP = """namespace shop {
template <typename T> struct Store {
    std::vector<T> all;
    T find(int key) const { for (const T &one : load(all)) { if (one.key == key && one.on) return one; } throw Missing(key); }
};
}
"""


@pytest.mark.parametrize(
    ("old", "new", "kinds_of_it"),
    [
        ("std::vector<T> all;", "std::list<T> all;", {"container replaced"}),
        ("one.key == key && one.on", "one.key == key", {"condition removed"}),
        (
            "for (const T &one : load(all)) {",
            "for (const T &one : all) { load(all);",
            {"call moved into a loop"},
        ),
        ("throw Missing(key);", "return T();", {"exception handling removed", "functionality"}),
        (
            "return one; }",
            "{ std::lock_guard<std::mutex> lock(mutex); return one; } }",
            {"synchronisation added"},
        ),
        ("return one; }", "return (new T(one))[0]; }", {"functionality"}),
    ],
)
@native
def test_cpp_is_read_by_its_syntax_tree(old, new, kinds_of_it):
    name = "<module>" if "all;" in old and "for" not in old else "shop::Store::find"
    assert kinds_of_it <= set(named(CPP, CPP.replace(old, new), path="shop.hpp", name=name))


@native
def test_a_condition_of_the_preprocessor_is_none_of_the_program():
    assert named(
        "#if A\nint a;\n#endif\n", "#if A && B\nint a;\n#endif\n", path="work.c", name="<module>"
    ) == ["functionality"]


BRANCHES = """int work(const char *text)
{
    if (*text == ';') {
    }
#if MANY && \\
    LINES
    else if (*text == ' ') {
        skip(text);
    }
#endif
    else if (*text && *text != '#') {
        use(text);
    }
    return 0;
}
"""


@native
def test_an_else_behind_a_branch_of_the_preprocessor_is_read():
    new = BRANCHES.replace("*text && *text != '#'", "*text")
    assert named(BRANCHES, new, path="work.c") == ["condition removed"]
    longer = BRANCHES.replace("use(text);", "if (first(text)) use(text);")
    change = DifferingFile("work.c", "work.c", BRANCHES, longer, (Hunk((12, 1), (12, 1)),))
    assert kinds(change, "work", change.hunks)[0].lines == [12]


def test_what_a_comprehension_goes_through_is_evaluated_once():
    old = BASE.replace("found = []", "all = read(data)")
    assert named(old, old.replace("read(data)", "[two for two in read(data)]")) == ["loop added"]


@pytest.mark.parametrize(
    "path",
    ["test.c", "src/xmltest.cpp", "tests/a.c", "test_work.py", "work_test.py", "unittests.c"],
)
def test_a_test_is_known_by_its_path(path):
    assert named(C, C.replace("0;", "1;"), path=path) == ["test"]
