"""Kinds of change by the grammars of other languages than Python, C and C++."""

from __future__ import annotations

import pytest

from perfvcs.locate.blame.kinds import kinds
from perfvcs.locate.sources.hunks import DifferingFile, Hunk

LOOPS = {
    "a.go": (
        "package a\n\nfunc work(x []int) int {\n\tg(x)\n\treturn 1\n}\n",
        "\tg(x)\n",
        "\tfor range x {\n\t\tg(x)\n\t}\n",
    ),
    "a.rs": (
        "fn work() {\n    g(1);\n}\n",
        "    g(1);\n",
        "    for x in y {\n        g(1);\n    }\n",
    ),
    "a.js": ("function work(x) {\n  g(x);\n}\n", "  g(x);\n", "  x.forEach((y) => g(x));\n"),
    "a.ts": (
        "function work(x: number[]) {\n  g(x);\n}\n",
        "  g(x);\n",
        "  for (const y of x) g(x);\n",
    ),
    "a.rb": ("def work(x)\n  g(x)\nend\n", "  g(x)\n", "  x.each do |y|\n    g(x)\n  end\n"),
    "a.pl": ("sub work {\n  g($x);\n}\n", "  g($x);\n", "  for my $y (@z) {\n    g($x);\n  }\n"),
    "a.lua": ("function work(x)\n  g(x)\nend\n", "  g(x)\n", "  while x do\n    g(x)\n  end\n"),
    "A.java": (
        "class A { void work(int x) {\n  g(x);\n} }\n",
        "  g(x);\n",
        "  for (int y : z) g(x);\n",
    ),
    "a.cs": (
        "class A { void Work(int x) {\n  g(x);\n} }\n",
        "  g(x);\n",
        "  foreach (var y in z) g(x);\n",
    ),
    "a.sh": ("work() {\n  g 1\n}\n", "  g 1\n", "  for x in 1 2; do\n    g 1\n  done\n"),
}


def named(path: str, old: str, new: str) -> list[str]:
    """What is said of the only function of a file."""
    lines = [text.count("\n") for text in (old, new)]
    change = DifferingFile(path, path, old, new, (Hunk((1, lines[0]), (1, lines[1])),))
    outlined = change.outlines[1]
    assert outlined is not None
    (function,) = outlined.definitions
    return [kind.name for kind in kinds(change, function.name, change.hunks)]


@pytest.mark.parametrize("path", LOOPS)
def test_a_loop_around_a_call_is_seen(path: str) -> None:
    text, old, new = LOOPS[path]
    assert text.count(old) == 1
    assert named(path, text, text.replace(old, new)) == ["loop added", "call moved into a loop"]
    assert named(path, text.replace(old, new), text) == ["loop removed", "call moved out of a loop"]


@pytest.mark.parametrize(
    ("path", "old", "new", "kind"),
    [
        ("a.js", "function f() { return new Map(); }", "function f() { return new Set(); }", "container replaced"),
        ("A.java", "class A { Object f() { return new ArrayList<>(); } }", "class A { Object f() { return new LinkedList<>(); } }", "container replaced"),
        ("a.rs", "fn f() { g(1); }", "fn f() { if x { g(1); } }", "condition added"),
        ("a.go", "func f() { g(1) }", "func f() { mu.Lock(); g(1) }", "synchronisation added"),
        ("a.cs", "class A { void F() { G(); } }", "class A { void F() { lock (this) { G(); } } }", "synchronisation added"),
        ("a.rb", "def f\n  g\nend", "def f\n  g if x\nend", "condition added"),
        ("a.pl", "sub f { g(1); }", "sub f { g(1) unless $x; }", "condition added"),
        ("a.lua", "function f() g(1) end", "function f() if x then g(1) end end", "condition added"),
        ("A.java", "class A { void f() { g(); } }", "class A { void f() { try { g(); } catch (E e) {} } }", "exception handling added"),
        ("a.sh", "f() { g; }", "f() { g; h; }", "functionality"),
        ("a.ts", "function f() { return [1].sort(); }", "function f() { return [1]; }", "sort removed"),
    ],
)  # fmt: skip
def test_a_change_has_its_kind(path: str, old: str, new: str, kind: str) -> None:
    assert kind in named(path, f"{old}\n", f"{new}\n")
