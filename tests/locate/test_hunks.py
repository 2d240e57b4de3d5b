"""What changed between two commits, function by function, and versions with parts of it taken
back.
"""

from __future__ import annotations

import pytest

from perfvcs.git.project import Project as Git
from perfvcs.locate.blame import experiments
from perfvcs.locate.blame.reversals import reverted
from perfvcs.locate.sources.hunks import Hunk, difference
from perfvcs.locate.sources.outline import outline, plain, unit

BEFORE = """import os

LIMIT = 3


def first(a):
    return a + 1


class Box:
    size = 2

    @property
    def full(self):
        return self.size > LIMIT


def last(b):
    # nothing
    return b
"""
C = """
#include <stdio.h>
#define SIZE 3 /* { */

namespace list {
template <typename T> struct Node { T value; Node *next; int length() const { return 1 + (next ? next->length() : 0); } };
}

static const char *names[] = {"a{", "b"};

enum kind { ONE, TWO };

int list_size(struct list *list)
{
    int size = 0;
    for (; list; list = list->next) { size++; } // }
    return size;
}

Sorted::Sorted(int size) : size_(size), data_{nullptr} {
    resize(size);
}

bool operator<(const Key &a, const Key &b) { return a.n < b.n; }
"""


def compared(project, **after):
    project.commit("after", **{name.replace("_", "."): text for name, text in after.items()})
    git = Git.find(project.root)
    return git, difference(git, git.resolve("HEAD~1"), git.resolve("HEAD"))


@pytest.fixture
def before(project):
    project.commit("before", **{"a.py": BEFORE})
    return project


def test_units_are_functions_methods_and_the_rest(before):
    text = (
        BEFORE.replace("a + 1", "a + 2")
        .replace("> LIMIT", ">= LIMIT")
        .replace("LIMIT = 3", "LIMIT = 4")
        .replace("nothing", "no-op")
    )
    _, found = compared(before, a_py=text)
    assert sorted(found.units) == ["a.py:<module>", "a.py:Box.full", "a.py:first", "a.py:last"]
    assert sorted(one.name for one in found.meaning) == ["<module>", "Box.full", "first"]


def test_a_hunk_that_adds_several_functions_is_cut_between_them(before):
    text = BEFORE.replace("def last", "def new(c):\n    return c\n\n\n@new\ndef last")
    _, found = compared(before, a_py=text)
    assert {key: [hunk.new for hunk in one.hunks] for key, one in found.units.items()} == {
        "a.py:new": [(18, 4)],
        "a.py:last": [(22, 1)],
    }


def test_taking_everything_back_gives_the_old_text(before):
    text = "# top\n" + BEFORE.replace("a + 1", "a + 2").replace("    size = 2\n", "").replace(
        "return b\n", "return b, b"
    )
    git, found = compared(before, a_py=text)
    change = found.files["a.py"]
    assert change.without(change.hunks) == BEFORE
    assert change.without([]) == text
    made = experiments.commit(
        git, before.root, git.resolve("HEAD"), reverted(found, {"a.py": change.hunks})
    )
    assert git.tree(made) == git.tree(git.resolve("HEAD~1"))


def test_one_unit_taken_back_leaves_the_others(before):
    text = BEFORE.replace("a + 1", "a + 2").replace("return b", "return b + b")
    _, found = compared(before, a_py=text)
    texts = reverted(found, {"a.py": found.units["a.py:first"].hunks})
    assert texts == {"a.py": text.replace("a + 2", "a + 1")}


def test_the_same_content_is_the_same_commit(before):
    git, _ = compared(before, a_py=BEFORE + "x = 1\n")
    head = git.resolve("HEAD")
    assert experiments.commit(git, before.root, head, {"a.py": BEFORE}) == experiments.commit(
        git, before.root, head, {"a.py": BEFORE}
    )


def test_renamed_functions_and_files_are_recognised(before):
    moved = BEFORE.replace("def first(a)", "def opening(a)").replace(
        "a + 1", "a + 1 + len(str(a)) * LIMIT"
    )
    before.git("mv", "a.py", "b.py")
    _, found = compared(
        before,
        b_py=moved.replace(
            "return a", "\n".join("    a += 1" for _ in range(1)).strip() + "\n    return a"
        ),
    )
    assert found.files["b.py"].old_path == "a.py"


def test_binary_files_deleted_files_and_names_with_spaces_are_no_trouble(before):
    (before.root / "blob.c").write_bytes(b"\0\1\2")
    before.write("with space\tand tab.py", "x = 1\n")
    before.git("rm", "-q", "a.py")
    _, found = compared(before)
    assert (found.others, found.blobs) == ([], {"blob.c": ""})  # a whole that was not there before
    assert "with space\tand tab.py" in found.files


def test_ten_thousand_files_are_bounded(before):
    for number in range(1000):
        before.write(f"many/m{number}.py", f"x = {number}\n")
    _, found = compared(before)
    assert (len(found.files), found.left_out) == (400, 600)


def test_functions_of_c_are_found_by_their_braces():
    found = outline("a.cpp", C)
    assert [one.name for one in found.definitions] == [
        "list::Node::length",
        "list_size",
        "Sorted::Sorted",
        "operator<",
    ]
    size = found.named("list_size")[0]
    assert (size.first, size.last) == (13, 18)


def test_comments_and_layout_do_not_change_a_function_of_c():
    first = {one.name: one.digest for one in outline("a.cpp", C).definitions}
    second = {
        one.name: one.digest
        for one in outline(
            "a.cpp", C.replace("size++; } // }", "size++;   } /* all */")
        ).definitions
    }
    assert first == second
    assert first == {
        one.name: one.digest
        for one in outline("a.cpp", C.replace("(; list; list", "( ;list ; list")).definitions
    }
    assert first != {
        one.name: one.digest
        for one in outline("a.cpp", C.replace("size++", "size += 2")).definitions
    }


@pytest.mark.parametrize(
    ("frame", "found"),
    [
        ("Box.full (a.py)", ("Box.full", "a.py")),
        ("make.<locals>.inner.<locals>.<genexpr> (a.py)", ("make", "a.py")),
        ("<module> (a.py)", ("<module>", "a.py")),
        ("<lambda> (a.py)", ("<module>", "a.py")),
        ("Box.<lambda> (a.py)", ("Box", "a.py")),
        ("insert (sort)", ("insert", "sort")),
    ],
)
def test_a_frame_is_in_a_function(frame, found):
    assert unit(frame) == found


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("SkipList<int>::insert(int const&)", "SkipList::insert"),
        ("std::vector<int, std::allocator<int>>::size() const", "std::vector::size"),
        ("operator<(Key const&, Key const&)", "operator<"),
        ("main", "main"),
    ],
)
def test_a_name_of_c_plus_plus_loses_its_arguments(name, found):
    assert plain(name) == found


@pytest.mark.parametrize(
    ("head", "name"),
    [
        ("EXPORT(const char *) make(int a)", "make"),
        ("static API(void) close(struct file *file)", "close"),
        ("void swap(int a) NOEXCEPT(true)", "swap"),
        ("Box::Box(int a) : size_(a)", "Box::Box"),
        ("int (*choose(int a))(int)", "choose"),
        ("TEST(Box, closes)", "TEST(Box, closes)"),
        ("int NAME(third)(int n)", "NAME(third)"),
        ("int (third)(int n)", "third"),
        ("int THIRD(int n)", "THIRD"),
        ("FMT_ENABLE_IF(is_big<T>::value) void put(T a)", "put"),
        ("FMT_ENABLE_IF(is_big(T)) inline void put(T a)", "put"),
        ("inline auto localtime_r FMT_NOMACRO(...) -> null<>", "localtime_r"),
        ("template <typename T> requires (sizeof(T) > 2) int put(T a)", "put"),
        ("#if A\n    #error it's wrong\n#endif\nint f(int a)", "f"),
        ("template <typename T, ENABLE_IF(is_big<T>())> void put(T a)", "put"),
        ('__attribute__((section("hot"))) void spin(int a)', "spin"),
    ],
)
def test_macros_in_a_declaration_are_not_the_function(head, name):
    assert [
        one.name for one in outline("a.cpp", f"{head}\n{{\n    return 0;\n}}\n").definitions
    ] == [name]


def test_a_class_behind_a_macro_is_not_called_by_the_macro():
    source = outline("a.h", "NO_WARNINGS(4251) class Box {\n    int size();\n};\n")
    assert source is not None and source.definitions == ()


def test_macros_that_stand_further_right_are_no_part_of_functions():
    text = "\t#define SKIP(s) do { ++s; } while (0)\n\t#define END() do { } while (0)\nint f(int a) {\n    return a;\n}\n"
    source = outline("a.c", text)
    assert source is not None
    assert [(one.name, one.first) for one in source.definitions] == [("f", 3)]


def test_a_source_of_c_whose_braces_do_not_match_has_no_functions():
    torn = "int f(int a) {\n#ifdef X\nif (a) {\n#endif\nif (!a) {\n} }\nint g(void) { return 1; }\n"
    assert outline("a.c", torn) is None


def test_a_function_with_a_macro_for_a_head_is_no_part_of_the_rest():
    one, two = (outline("a.c", f"int a;\nDEFINE(f) {{ return {n}; }}\n") for n in (1, 2))
    assert [definition.name for definition in one.definitions] == ["DEFINE(f)"]
    assert one.outside == two.outside and one.digests() != two.digests()


@pytest.mark.parametrize(
    ("head", "scope"),
    [
        ("template <class T, int N> class Array", "Array"),
        (
            (
                "template <typename T, typename = std::enable_if_t<(sizeof(T) > 1)>> struct Array"
                " final : Base<T>"
            ),
            "Array",
        ),
        ("class LIBRARY_API Visitor : public std::base", "Visitor"),
        ("namespace a::b", "a::b"),
        ("struct [[nodiscard]] alignas(8) Result", "Result"),
    ],
)
def test_templates_and_macros_before_a_class_are_not_its_name(head, scope):
    found = outline(
        "a.h", f"{head} {{\n    int size() const {{ return [](int x) {{ return x; }}(1); }}\n}};\n"
    )
    assert [one.name for one in found.definitions] == [f"{scope}::size"]


def test_a_hunk_over_several_functions_is_cut_between_them(before):
    """All lines differ, since they are indented anew: one hunk of git."""
    inside = "".join(
        f"    {line}" if line.strip() else line
        for line in BEFORE.replace("a + 1", "a + 2").splitlines(keepends=True)
    )
    _, found = compared(before, a_py="if True:\n" + inside)
    assert sorted(one.name for one in found.meaning) == ["<module>", "first"]
    change = found.files["a.py"]
    assert change.without([hunk for unit in found.units.values() for hunk in unit.hunks]) == BEFORE


def test_other_ends_of_lines_are_no_change(before):
    text = BEFORE.replace("a + 1", "a + 2").replace("\n", "\r\n")
    (before.root / "a.py").write_bytes(text.encode())
    _, found = compared(before)
    assert [one.name for one in found.units.values()] == ["first"]
    assert "a + 1\n" in found.files["a.py"].without(found.units["a.py:first"].hunks)


ENDINGS = {
    "form feeds": (BEFORE.replace("\n\n\n", "\n\f\n\n"), "\n"),
    "CRLF": (BEFORE, "\r\n"),
    "U+2028 and U+0085": (BEFORE.replace("# nothing", "# \u2028 \x85 \x1c \v nothing"), "\n"),
    "no newline at the end": (BEFORE.rstrip("\n"), "\n"),
}


def endings(project, text, newline, changed):
    """Commit a text and its changed form as bytes, without what git may do to newlines."""
    for content in (text, changed(text)):
        (project.root / "a.py").write_bytes(content.replace("\n", newline).encode())
        project.commit("more")
    git = Git.find(project.root)
    return difference(git, git.resolve("HEAD~1"), git.resolve("HEAD"))


@pytest.mark.parametrize(("text", "newline"), ENDINGS.values(), ids=ENDINGS)
def test_lines_are_numbered_as_git_numbers_them(project, text, newline):
    found = endings(
        project,
        text,
        newline,
        lambda one: one.replace("a + 1", "a + 2").replace("return b", "return b + b"),
    )
    assert {name: [hunk.new for hunk in unit.hunks] for name, unit in found.units.items()} == {
        f"a.py:{name}": [(text[: text.index(old)].count("\n") + 1, 1)]
        for name, old in (("first", "return a"), ("last", "return b"))
    }
    change = found.files["a.py"]
    assert change.without(change.hunks) == change.old == text.replace("\n", newline)
    assert change.without(found.units["a.py:first"].hunks) == change.new.replace("a + 2", "a + 1")


def test_what_comes_behind_a_last_line_without_a_newline_can_be_taken_back(project):
    found = endings(
        project,
        BEFORE.rstrip("\n"),
        "\n",
        lambda one: one.replace("return b", "return b * 2\n\n\ndef new():\n    pass\n"),
    )
    change = found.files["a.py"]
    assert change.without(change.hunks) == BEFORE.rstrip("\n")
    assert change.without([Hunk((20, 1), (20, 1))]) == change.new.replace(
        "return b * 2", "return b"
    )


def test_a_hunk_of_two_functions_is_cut_between_them(project):
    old = "def number(text):\n    return int(text)\n\n\ndef fields(line):\n    return line\n"
    new = old.replace(
        "    return int(text)\n",
        "    return checked(text)\n\n\ndef checked(text):\n    return int(text) + len(text)\n",
    )
    project.commit("old", **{"parse.py": old})
    project.commit("new", **{"parse.py": new})
    git = Git.find(project.root)
    found = difference(git, git.resolve("HEAD~1"), git.resolve("HEAD"))
    units = {unit.name: unit.hunks for unit in found.meaning}
    assert units == {"number": (Hunk((2, 1), (2, 3)),), "checked": (Hunk((2, 0), (5, 2)),)}
    texts = reverted(found, {"parse.py": units["number"]})
    assert texts["parse.py"] == new.replace(
        "    return checked(text)\n\n\n", "    return int(text)\n"
    )
