"""The functions of languages that tree-sitter's grammars read."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_braced import read

from perfvcs.locate.sources import grammars
from perfvcs.locate.sources.outline import outline
from perfvcs.locate.sources.parts import MODULE

SAMPLES = {
    "index.js": (
        """
/** function no() {} */
import x from 'y';
const text = `function ${ {a: 1} } {`, pattern = /[/{]{2}"/g;
export function count(text = {}) { return { a: 1 }; }
const half = (n) => n / 2;
const both = async (a, b) => {
  return a + b;
};
exports.read = function (path) { return path; };
class Box extends Base {
  static find(key) { if (key) { return 1; } }
  #hidden() { return 2; }
  open = () => { return 3; };
}
module.exports = { a(b) { return b; }, c: () => 1 };
""",
        ["count", "half", "both", "read", "Box.find", "Box.#hidden", "Box.open", "a", "c"],
    ),
    "index.ts": (
        """
abstract class Box<T> {
  private find<K>(key: K): number { return f<T>(key); }
}
export const half = function <T>(a: T): T { return a; };
namespace Inner { export function deep() {} }
interface Shape { area(): void }
""",
        ["Box.find", "half", "deep"],
    ),
    "view.tsx": ("const View = () => <b>{f(1)}</b>;\n", ["View"]),
    "run.sh": (
        """
# count() { no; }
count() {
    total=${1#\\{}   # the sum
    echo "} $# {"
}
function turn {
    cat <<'END'
}
END
}
ready=1
""",
        ["count", "turn"],
    ),
    "a.rb": (
        """
module Letters
  class Box < Base
    # def no; end
    def find(key)
      key.each { |part| f(part) }
    end
    def self.open; end
  end
end
""",
        ["Letters.Box.find", "Letters.Box.open"],
    ),
    "A.pm": (
        """
package A::B;
=pod

sub no { 1 }

=cut
sub find { my ($key) = @_; return $key =~ /}/; }
my $half = sub { $_[0] / 2 };
1;
""",
        ["find", "half"],
    ),
    "a.lua": (
        """
-- function no() end
local M = {}
function M.count(text) return 1 end
function M:turn() end
local function inner() end
M.half = function(n) return n / 2 end
return M
""",
        ["M.count", "M:turn", "inner", "M.half"],
    ),
    "A.java": (
        """
/** void no() {} */
public class A<T> extends B {
    A(int x) { super(); }
    int find(int key) { Runnable r = () -> { f(); }; return key; }
    class In { void deep() {} }
}
interface I { default void shape() {} }
""",
        ["A.A", "A.find", "A.In.deep", "I.shape"],
    ),
    "A.cs": (
        """
namespace N { // void No() {}
  public class A<T> : B {
    public A(int x) : base(x) {}
    int Find(int key) { int Inner() { return 1; } return Inner(); }
    int Size { get { return 1; } }
  }
  struct S { public static S operator +(S a, S b) { return a; } }
}
""",
        ["A.A", "A.Find", "A.Size", "S.operator +"],
    ),
}


@pytest.mark.parametrize("path", SAMPLES)
def test_functions_are_found_with_their_lines(path: str) -> None:
    source, names = SAMPLES[path]
    found = read(path, source)
    assert [definition.name for definition in found.definitions] == names
    ends = [(definition.first, definition.last) for definition in found.definitions]
    assert all(one[0] <= one[1] for one in ends)
    assert all(one[1] <= other[0] for one, other in pairwise(ends))


@pytest.mark.parametrize("path", SAMPLES)
def test_crlf_changes_no_line_and_no_digest(path: str) -> None:
    source = SAMPLES[path][0]
    assert read(path, source.replace("\n", "\r\n")).definitions == read(path, source).definitions


@pytest.mark.parametrize(
    ("path", "before", "after", "changed"),
    [
        ("a.js", "f(1);\nfunction g() {}", "f(2);\nfunction g() {}", [MODULE]),
        ("a.js", "function g() { return 'a  b' }", "function g() { return 'a b' }", ["g"]),
        ("a.js", "function g() { return 1 }", "// g\nfunction g() {\n  return 1;\n}", []),
        ("a.sh", "f() { a; }\ng() { b; }", "f() { a; }\ng() { b c; }", ["g"]),
        ("a.sh", "f() { a; b; }", "f() {\n  a # x\n  b\n}", []),
        ("a.rb", "def f\n  a\n  b\nend", "def f\n  a b\nend", ["f"]),
        ("a.rb", "def f\n  a # x\nend", "def f\n\n    a\nend", []),
        ("a.pl", "sub f { $x + 1 }", "=pod\n\nf\n\n=cut\nsub f { $x + 1 }", []),
        ("a.lua", "function f() return 1 end", "function f()\n  return 1 -- x\nend", []),
        (
            "A.java",
            "class A { int f() { return 1; } }",
            "class A { int f() { return 2; } }",
            ["A.f"],
        ),
        ("a.cs", "class A { int F() => 1; }", "class A {\n /* x */ int F() => 1; }", []),
    ],
)
def test_only_what_means_something_changes_a_digest(
    path: str, before: str, after: str, changed: list[str]
) -> None:
    old, new = read(path, before).digests(), read(path, after).digests()
    assert [name for name in new if old.get(name) != new[name]] == changed


@given(
    st.text(alphabet="fn sub def end function()={}[]=>;\n'\"`/\\*#<_$a@|%é\x00\udc80"),
    st.sampled_from(sorted(SAMPLES)),
)
def test_any_text_is_read_or_not(source: str, path: str) -> None:
    found = outline(path, source)
    for one in found.definitions if found else ():
        assert 0 < one.first <= one.last <= source.count("\n") + 1


def test_what_is_in_another_language_is_not_read() -> None:
    assert outline("a.js", "<% for (x of y) %>{{#each}} <<<< :: %% ?? } } )\n" * 30) is None
    assert outline("a.txt", "function f() {}") is None
    assert outline("Makefile", "f() { g; }") is None


@pytest.mark.slow
def test_one_long_line_is_read() -> None:
    source = "function f(a){" + "a=a+1;" * 40_000 + "}function g(){}"
    assert [one.name for one in read("bundle.js", source).definitions] == ["f", "g"]


def test_what_takes_a_parser_too_long_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each backtick of Ruby costs as much as a line."""
    monkeypatch.setattr(grammars, "LONGEST_PARSE", 0.2)
    assert outline("a.rb", "`" * 1_000_000) is None
    assert read("a.rb", "def f\nend\n" * 3).definitions


@pytest.mark.parametrize("text", ["def language(): return 'x'", "", "def language(): return 0"])
def test_a_grammar_of_another_version_is_named_and_not_used(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tree_sitter_lua.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "tree_sitter_lua", raising=False)
    grammars._parser.cache_clear()
    try:
        assert "tree-sitter-lua does not fit the installed tree-sitter" in grammars.unread("lua")
        assert outline("a.lua", "function f() end") is None
    finally:
        sys.modules.pop("tree_sitter_lua", None)
        grammars._parser.cache_clear()
