"""The functions of a source file with their lines: what a frame of a call tree and a hunk of a diff
are about.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator

from perfvcs.collectors._shared.frames import INLINED
from perfvcs.locate.sources import LARGEST_SOURCE, language
from perfvcs.locate.sources.parts import MODULE, Definition, Outline, digest, located
from perfvcs.locate.sources.pystatements import FUNCTIONS, is_constant


def outline(path: str, source: str) -> Outline | None:
    """The functions of a file; None where its language is not known or it cannot be read."""
    if len(source) > LARGEST_SOURCE:
        return None
    if language(path) == "python":
        return _python(source)
    if language(path) == "c":
        return _native(source)
    from perfvcs.locate.sources import braced, grammars

    if braced.is_braced(path):
        return braced.outlined(path, source)
    return grammars.outlined(path, source)


def unit(frame: str) -> tuple[str, str]:
    """The function and the file that a frame of a call tree is in; a function inside another one is
    part of that.

    >>> unit("recurse.<locals>.wrap (sqlparse/utils.py)")
    ('recurse', 'sqlparse/utils.py')
    >>> unit("<listcomp> (a.py)"), unit("push(int) (sort)")
    (('<module>', 'a.py'), ('push(int)', 'sort'))
    """
    name, _, rest = frame.replace(INLINED, "").rpartition(" (")
    if not rest.endswith(")"):
        return frame.replace(INLINED, ""), ""
    outer = name.partition(".<locals>")[0]
    if outer.startswith("<") and not outer.startswith("<lambda>.") and rest.endswith(".py)"):
        return MODULE, rest[:-1]
    return re.sub(r"\.<(?:lambda|listcomp|genexpr|dictcomp|setcomp)>$", "", outer), rest[:-1]


RECEIVER = re.compile(r"\.\(\*(\w{1,200})\)\.")  # of Go


def plain(name: str) -> str:
    """The name of a function of C++ without arguments and templates, as its definition may have it.

    >>> plain("void Sort<int, std::less<int>>::run(int, char const*) const"), plain("insert'2")
    ('Sort::run', 'insert')

    A method of Go has its receiver in brackets.

    >>> plain("example.org/router.(*Router).Match")
    'example.org/router.Router.Match'
    """
    outside, depth = [], 0
    name = RECEIVER.sub(r".\1.", name)
    name = re.sub(r"\[abi:\w+\]|…", "", name)  # a tag, and template arguments that were left out
    if name.startswith("decltype"):  # the type that it returns
        name = name[_closing_round(name) :]
    for character in (
        name.replace("operator()", "operator\1")
        .replace("operator<<", "operator\2")
        .replace("operator<", "operator\3")
    ):
        depth += character == "<"
        if not depth:
            outside.append(character)
        depth -= character == ">" and depth > 0
    text = "".join(outside).partition("(")[0].strip().rpartition(" ")[2].partition("'")[0]
    return text.replace("\1", "()").replace("\2", "<<").replace("\3", "<").lstrip("*&")


def _closing_round(text: str) -> int:
    """The place behind the first round brackets."""
    depth = 0
    for place, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == ")" and not depth:
            return place + 1
    return 0


def last_name(name: str) -> str:
    """The last part of a qualified name.

    >>> last_name("Box.full"), last_name("shop::Store::find"), last_name("main")
    ('full', 'find', 'main')
    """
    return re.split(r"\.|::", name)[-1]


def scope(name: str) -> str:
    """The class or namespace of a qualified name; empty where it has none.

    >>> scope("Box.full"), scope("shop::Store::find"), scope("main")
    ('Box', 'shop::Store', '')
    """
    return re.split(r"(?:\.|::)(?=[^.:]*$)", name)[0] if re.search(r"\.|::", name) else ""


def _python(source: str) -> Outline | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
        definitions = tuple(_definitions(tree.body, ""))
        outside = digest(["".join(map(ast.dump, _outside(tree.body)))])
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return Outline("python", definitions, outside)


def _definitions(body: list[ast.stmt], scope: str) -> Iterator[Definition]:
    for node in body:
        if isinstance(node, FUNCTIONS):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            yield Definition(
                scope + node.name, first, node.end_lineno or node.lineno, digest([_dumped(node)])
            )
        elif isinstance(node, ast.ClassDef):
            yield from _definitions(node.body, f"{scope}{node.name}.")
        else:
            for inner in _blocks(node):
                yield from _definitions(inner, scope)


def _blocks(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The statements inside a statement that is neither a function nor a class."""
    for name in ("body", "orelse", "finalbody"):
        statements = getattr(node, name, None)
        if isinstance(statements, list):
            yield statements
    for handler in getattr(node, "handlers", ()):
        yield handler.body


def _dumped(node: ast.AST) -> str:
    """A function without its docstring."""
    body = node.body  # type: ignore[attr-defined]
    first = body[0] if body else None
    if (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    ):
        node.body = body[1:]  # type: ignore[attr-defined]
        try:
            return ast.dump(node)
        finally:
            node.body = body  # type: ignore[attr-defined]
    return ast.dump(node)


def _outside(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """What is executed outside of functions: the statements of the module and of classes."""
    for node in body:
        if isinstance(node, FUNCTIONS) or is_constant(node):
            continue
        if isinstance(node, ast.ClassDef):
            yield ast.Name(node.name)
            yield from (*node.bases, *node.keywords, *node.decorator_list)
            yield from _outside(node.body)
        else:
            yield node


def _native(source: str) -> Outline | None:
    """The functions of C or C++ by their braces: no compiler has to be able to read the file."""
    from perfvcs.locate.sources.clike import bodies

    found = bodies(source)
    if found is None:
        return None
    return Outline("c", located(source, found.functions), found.outside)
