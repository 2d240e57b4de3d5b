"""Kinds of change by syntax trees, in Python and C."""

from __future__ import annotations

import pytest
from cases import each

from perfvcs.locate.blame import syntaxtrees
from perfvcs.locate.blame.kinds import kinds
from perfvcs.locate.sources.hunks import DifferingFile, Hunk

native = pytest.mark.unless(
    "" if syntaxtrees.available("a.c") else "tree-sitter is not installed: pip install '.[native]'"
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


KEPT = """def work(self, key):
    if key in self.known:
        return self.known[key]
    value = self.known[key] = slow(key)
    return value
"""
CAUGHT = """def work(self, key):
    try:
        return self.known[key]
    except KeyError:
        self.known[key] = value = slow(key)
        return value
"""
ASKED = """def work(self, key):
    value = KNOWN.get(key)
    if value is None:
        value = KNOWN[key] = slow(key)
    return value
"""
LOCAL = """def work(self, keys):
    known = {}
    for key in keys:
        if key not in known:
            known[key] = slow(key)
        value = known[key]
        use(value)
"""
ONCE = """def work(self, key):
    if self.value is None:
        self.value = slow(self)
    return self.value
"""
UNSET = ONCE.replace("self.value is None", "not hasattr(self, 'value')")
PLAIN = "def work(self, key):\n    return slow(key)\n"
SLOW_EACH = "def work(self, keys):\n    for key in keys:\n        use(slow(key))\n"
COUNTED = "def work(self, key):\n    self.known[key] = self.known.get(key, 0) + one(key)\n"
GROUPED = """def work(self, keys):
    groups = {}
    for key in keys:
        if key not in groups:
            groups[key] = list()
        group = groups[key]
        group.append(key)
    return groups
"""
FIRST = "def work(data):\n    for one in data:\n        if one:\n            return one\n"
LAST = "def work(data):\n    for one in data:\n        if one:\n            last = one\n    return last\n"
NESTED = "def work(data):\n    for one in data:\n        for two in data:\n            use(two)\n"
FLAT = (
    "def work(data):\n    for one in data:\n        pass\n    for two in data:\n        use(two)\n"
)
LOCKED = "def work(self):\n    with self.lock:\n        for one in self.all:\n            one()\n"
LOCKING = "def work(self):\n    for one in self.all:\n        with self.lock:\n            one()\n"
LISTED = "def work(data):\n    return any([use(one) for one in data])\n"
ANY = "def work(data):\n    return any(use(one) for one in data)\n"


@each(
    "slower faster kind opposite",
    [
        (PLAIN, KEPT, "cache dropped", "cache added"),
        (PLAIN, CAUGHT, "cache dropped", "cache added"),
        (PLAIN, ASKED, "cache dropped", "cache added"),
        (PLAIN, ONCE, "cache dropped", "cache added"),
        (PLAIN, UNSET, "cache dropped", "cache added"),
        (SLOW_EACH, LOCAL, "cache dropped", "cache added"),
        (PLAIN, f"@functools.cache\n{PLAIN}", "cache dropped", "cache added"),
        (f"@property\n{PLAIN}", f"@cached_property\n{PLAIN}", "cache dropped", "cache added"),
        (f"@lru_cache(maxsize=0)\n{PLAIN}", KEPT, "cache dropped", "cache added"),
        (f"@lru_cache(0)\n{PLAIN}", f"@lru_cache\n{PLAIN}", "cache dropped", "cache added"),
        (f"@lru_cache(2)\n{PLAIN}", f"@lru_cache\n{PLAIN}", "cache smaller", "cache larger"),
        (f"@lru_cache\n{PLAIN}", f"@lru_cache(None)\n{PLAIN}", "cache smaller", "cache larger"),
        (BASE.replace("in data", "in sorted(data)"), BASE, "sort added", "sort removed"),
        (BASE.replace("    for", "    data.sort()\n    for"), BASE, "sort added", "sort removed"),
        (BASE.replace("in data", "in data.copy()"), BASE, "copy added", "copy removed"),
        (LAST, FIRST, "early exit removed", "early exit added"),
        (NESTED, FLAT, "deeper loop", "shallower loop"),
        (LOCKING, LOCKED, "lock moved into a loop", "lock moved out of a loop"),
        (LISTED, ANY, "container replaced", "container replaced"),
    ],
)
def test_a_kind_and_its_opposite_are_told_apart(slower, faster, kind, opposite):
    assert named(faster, slower)[0] == kind
    assert named(slower, faster)[0] == opposite


@each("text", [COUNTED, GROUPED, f"@lru_cache(maxsize=0)\n{PLAIN}"])
def test_what_keeps_no_results_is_not_a_cache(text):
    assert not [kind for kind in named(PLAIN, text) if "cache" in kind]


def test_a_function_that_is_wrapped_outside_of_functions_is_cached():
    old, new = "find = cache(_find)\n", "find = _find\n"
    assert named(old, new, name="<module>") == ["cache dropped"]
    assert named(new, old, name="<module>") == ["cache added"]


@each(
    "path old new says",
    [
        ("work.py", "LIMIT = 64", "LIMIT = 2048", "LIMIT is 2048, was 64"),
        ("work.py", "size: int = 8", "size: int = 9", "size is 9, was 8"),
        ("work.c", "#define LIMIT 64", "#define LIMIT 2048", "LIMIT is 2048, was 64"),
        (
            "work.c",
            "static const int limit = 64;",
            "static const int limit = 8;",
            "limit is 8, was 64",
        ),
        ("work.py", "A = 1\nB = 2", "A = 1\nB = 3", "B is 3, was 2"),
        ("work.js", "const limit = 64;", "const limit = 9;", "limit is 9, was 64"),
        ("work.rs", "const LIMIT: usize = 64;", "const LIMIT: usize = 9;", "LIMIT is 9, was 64"),
        ("work.py", "work = one(2)", "work = one(3)", "other statements"),
        ("work.py", "LIMIT = 64", "SIZE = 64", "other statements"),
    ],
)
@native
def test_a_constant_is_said_with_both_values(path, old, new, says):
    span = 1, old.count("\n") + 1
    change = DifferingFile(path, path, f"{old}\n", f"{new}\n", (Hunk(span, span),))
    assert [kind.says for kind in kinds(change, "<module>", change.hunks)] == [says]


def test_a_decorator_is_said():
    assert named(PLAIN, f"@logged\n{PLAIN}") == ["functionality"]
    change = DifferingFile(
        "work.py", "work.py", PLAIN, f"@logged\n{PLAIN}", (Hunk((0, 0), (1, 1)),)
    )
    assert [kind.says for kind in kinds(change, "work", change.hunks)] == ["logged decorates it"]


def test_what_is_no_longer_called_is_named():
    old, new = "def work(data):\n    reserve(data)\n", "def work(data):\n    pass\n"
    change = DifferingFile("work.py", "work.py", old, new, (Hunk((2, 1), (2, 1)),))
    assert [kind.says for kind in kinds(change, "work", change.hunks)] == [
        "no longer calls reserve"
    ]


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


@each(
    "reference value",
    [
        ("int work(const Big &big) { return use(big); }", "int work(Big big) { return use(big); }"),
        (
            "int work(int n) { for (const Big &big : all) use(big); }",
            "int work(int n) { for (Big big : all) use(big); }",
        ),
    ],
)
@native
def test_a_reference_that_became_a_value_is_a_copy(reference, value):
    assert named(reference + "\n", value + "\n", path="work.cpp")[0] == "copy added"
    assert named(value + "\n", reference + "\n", path="work.cpp")[0] == "copy removed"


@native
def test_an_early_exit_of_c_is_told_from_its_opposite():
    early = C.replace("sum += data[i];", "if (data[i]) return i;")
    late = C.replace("sum += data[i];", "if (data[i]) sum = i;")
    assert named(early, late, path="work.c") == ["early exit removed"]
    assert named(late, early, path="work.c") == ["early exit added"]


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


def test_a_language_without_syntax_trees_has_no_kinds():
    assert named("fn work() {\n}\n", "fn work() {\n    run();\n}\n", path="work.zig") == []
