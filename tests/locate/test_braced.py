"""The functions of languages that are outlined by their heads and braces."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfvcs.locate.sources.outline import outline
from perfvcs.locate.sources.parts import MODULE, Outline

RUST = """
//! fn not_this() {}
use std::fmt;
const TEXT: &str = r#"fn nor_this() { "#;

/// How often.
pub fn count<'a>(text: &'a str) -> [u8; 4]
where
    u8: Copy,
{
    let brace = '{';
    fn inner() {}
    text.bytes().map(|x| { x }).collect()
}

impl<T: fmt::Debug> fmt::Display for Box2<T> {
    fn fmt(&self) -> String { format!("}}{{") }
}
trait Shape { fn area(&self) -> f64; fn name(&self) -> &str { "shape" } }
"""
GO = """
package letters

// func no() {}
var text = `func nor() {`

func Count(text string) (any interface{}) {
	return func() int { return '}' }()
}

func (b *Box[T]) Find(key string) int { return 1 }
"""


def read(path: str, source: str) -> Outline:
    found = outline(path, source)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("path", "source", "names"),
    [
        ("src/lib.rs", RUST, ["count", "Box2.fmt", "Shape.name"]),
        ("letters.go", GO, ["Count", "Box.Find"]),
    ],
)
def test_functions_are_found_with_their_lines(path: str, source: str, names: list[str]) -> None:
    found = read(path, source)
    assert [definition.name for definition in found.definitions] == names
    lines = source.split("\n")
    for definition in found.definitions:
        assert definition.name.rpartition(".")[2].strip("#") in lines[definition.first - 1]
    ends = [(definition.first, definition.last) for definition in found.definitions]
    assert all(one[1] <= other[0] for one, other in pairwise(ends))


@pytest.mark.parametrize(
    ("path", "before", "after", "changed"),
    [
        ("a.go", "func F() {\n\treturn 1\n}\n", "// F.\nfunc F() { return 1 } // x\n", []),
        ("a.rs", 'fn f() { g("a // b") }', 'fn f() { g("a // c") }', ["f"]),
        ("a.go", "var a = 1\nfunc g() {}", "var a = 2\nfunc g() {}", [MODULE]),
    ],
)
def test_only_what_means_something_changes_a_digest(
    path: str, before: str, after: str, changed: list[str]
) -> None:
    old, new = read(path, before).digests(), read(path, after).digests()
    assert [name for name in new if old[name] != new[name]] == changed


@given(st.text(alphabet="fn functio()={}[]=>;\n'\"`/\\*#<_$a"), st.sampled_from(["rs", "go"]))
def test_any_text_has_an_outline(source: str, kind: str) -> None:
    found = read(f"a.{kind}", source)
    assert all(0 < one.first <= one.last for one in found.definitions)
