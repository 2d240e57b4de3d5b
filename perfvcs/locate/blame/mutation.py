"""Slowdowns that are planted into functions of Python, one at a time, by their syntax tree: what
benchmarks should notice.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Literal, NamedTuple

from perfvcs.locate.sources.pystatements import FUNCTIONS, last_name
from perfvcs.text.characters import source_lines

MutationRule = Literal[
    "extra pass", "copy in a loop", "list for set", "cache dropped", "call repeated", "busy loop"
]
# by `perf mutate`
PLANTED: tuple[MutationRule, ...] = (
    "extra pass",
    "copy in a loop",
    "list for set",
    "cache dropped",
)
CACHES = frozenset({"lru_cache", "cache"})
PLANTED_NAME = "_perf_planted"


class Mutant(NamedTuple):
    """A source with one slowdown: what was planted, in which function, and at which line of the new
    text.
    """

    rule: MutationRule
    function: str
    line: int
    text: str


def mutants(
    source: str, *, times: int = 1, rules: tuple[MutationRule, ...] = PLANTED, function: str = ""
) -> Iterator[Mutant]:
    """All mutants of a source, or those of one function; ``times`` repeats what is planted.

    Nothing of a source that cannot be read.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return
    text = source_lines(source, ends=True)
    for name, node in _functions(tree.body, ""):
        if function in ("", name):
            for rule in rules:
                edit = _EDITS[rule](node, times)
                if edit is not None:
                    yield Mutant(rule, name, edit.line, edit.apply(text))


class _Edit(NamedTuple):
    """Lines before which others are put, and a part of a line that becomes another one."""

    line: int
    inserted: tuple[str, ...] = ()
    columns: tuple[int, int] | None = None
    replaced: str = ""

    def apply(self, text: list[str]) -> str:
        at = self.line - 1
        if self.columns is None:
            return "".join([*text[:at], *(f"{line}\n" for line in self.inserted), *text[at:]])
        line = text[at].encode()
        start, end = self.columns  # in bytes, as syntax trees have them
        changed = (line[:start] + self.replaced.encode() + line[end:]).decode()
        return "".join([*text[:at], *([changed] if changed.strip() else []), *text[at + 1 :]])


def _functions(
    body: list[ast.stmt], scope: str
) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for node in body:
        if isinstance(node, FUNCTIONS):
            yield scope + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node.body, f"{scope}{node.name}.")


def _start(node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.stmt | None:
    """The first statement behind the docstring; None where nothing can stand before it on a line of
    its own.
    """
    body = node.body
    first = body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        body = body[1:]
    if not body or body[0].lineno == node.lineno or isinstance(body[0], (*FUNCTIONS, ast.ClassDef)):
        return None
    return body[0]


def _data(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """The first parameter that is not the object itself; empty without any."""
    arguments = [*node.args.posonlyargs, *node.args.args]
    return next(
        (argument.arg for argument in arguments if argument.arg not in ("self", "cls", "mcs")), ""
    )


def _insert(statement: ast.stmt | None, *lines: str) -> _Edit | None:
    if statement is None:
        return None
    return _Edit(statement.lineno, tuple(" " * statement.col_offset + line for line in lines))


def _pass(node: ast.FunctionDef | ast.AsyncFunctionDef, times: int) -> _Edit | None:
    data = _data(node)
    many = f"for {PLANTED_NAME} in range({times}):" if times > 1 else "if True:"
    loop = f"    for {PLANTED_NAME} in {data} if hasattr(type({data}), '__len__') else ():"
    return _insert(_start(node), many, loop, "        pass") if data else None


def _copy(node: ast.FunctionDef | ast.AsyncFunctionDef, times: int) -> _Edit | None:
    """Copies, for each element of the first loop over something with a name, what the loop runs
    over.
    """
    for loop in ast.walk(node):
        if (
            isinstance(loop, ast.For)
            and isinstance(loop.iter, ast.Name)
            and loop.body[0].lineno > loop.lineno
        ):
            data = loop.iter.id
            copy = (
                f"{PLANTED_NAME} = [list({data}) for {PLANTED_NAME} in range({times})] if"
                f" hasattr(type({data}), '__len__') else None"
            )
            return _insert(loop.body[0], copy)
    return None


def _set(node: ast.FunctionDef | ast.AsyncFunctionDef, times: int) -> _Edit | None:  # noqa: ARG001
    """Turns a set that is only searched into a list."""
    for compare in ast.walk(node):
        if (
            isinstance(compare, ast.Compare)
            and len(compare.ops) == 1
            and isinstance(compare.ops[0], ast.In | ast.NotIn)
        ):
            what = compare.comparators[0]
            if isinstance(what, ast.Set) and what.end_col_offset and what.lineno == what.end_lineno:
                text = f"[{', '.join(ast.unparse(element) for element in what.elts)}]"
                return _Edit(what.lineno, (), (what.col_offset, what.end_col_offset), text)
    looked = {
        compare.comparators[0].id
        for compare in ast.walk(node)
        if isinstance(compare, ast.Compare)
        and isinstance(compare.ops[0], ast.In | ast.NotIn)
        and isinstance(compare.comparators[0], ast.Name)
    }
    for assignment in ast.walk(node):
        if (
            not isinstance(assignment, ast.Assign)
            or not isinstance(assignment.targets[0], ast.Name)
            or assignment.targets[0].id not in looked
        ):
            continue
        value, name = assignment.value, assignment.targets[0].id
        uses = sum(
            isinstance(other, ast.Attribute)
            and isinstance(other.value, ast.Name)
            and other.value.id == name
            for other in ast.walk(node)
        )
        if (
            isinstance(value, ast.Call)
            and isinstance(value.func, ast.Name)
            and value.func.id in ("set", "frozenset")
            and value.args
            and not uses
        ):
            return _Edit(
                value.lineno, (), (value.func.col_offset, value.func.end_col_offset or 0), "list"
            )
    return None


def _cache(node: ast.FunctionDef | ast.AsyncFunctionDef, times: int) -> _Edit | None:  # noqa: ARG001
    for decorator in node.decorator_list:
        name = last_name(decorator.func if isinstance(decorator, ast.Call) else decorator)
        if name in CACHES and decorator.lineno == decorator.end_lineno:
            return _Edit(decorator.lineno, (), (0, 10_000))
        if name == "cached_property" and decorator.end_col_offset:
            return _Edit(
                decorator.lineno, (), (decorator.col_offset, decorator.end_col_offset), "property"
            )
    return None


def _call(node: ast.FunctionDef | ast.AsyncFunctionDef, times: int) -> _Edit | None:
    """Repeats the first call whose result is kept, before it, and drops the result."""
    for statement in node.body:
        if (
            isinstance(statement, ast.Assign)
            and isinstance(statement.value, ast.Call)
            and node.lineno < statement.lineno == statement.end_lineno
        ):
            return _insert(
                statement,
                f"for {PLANTED_NAME} in range({times}):",
                f"    {ast.unparse(statement.value)}",
            )
    return None


def _busy(node: ast.FunctionDef | ast.AsyncFunctionDef, times: int) -> _Edit | None:
    return _insert(_start(node), f"for {PLANTED_NAME} in range({times}):", "    pass")


_EDITS = {
    "extra pass": _pass,
    "copy in a loop": _copy,
    "list for set": _set,
    "cache dropped": _cache,
    "call repeated": _call,
    "busy loop": _busy,
}
