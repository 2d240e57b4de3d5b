"""The functions of a source file with their lines: what a frame of a call tree and a hunk of a diff
are about.
"""

from __future__ import annotations

import ast
import hashlib
import re
import warnings
from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from perfvcs.collectors._shared.frames import INLINED

MODULE = "<module>"
PYTHON = frozenset({"py", "pyi", "pyw"})
NATIVE = frozenset(
    {"c", "h", "cc", "cpp", "cxx", "c++", "hh", "hpp", "hxx", "h++", "inl", "ipp", "tcc"}
)
LARGEST_OUTLINED = 4 << 20  # characters of a source that is read
LONGEST_HEAD = 10_000  # characters; what is longer is no head of a function or class
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# what is not code: comments, strings, characters, preprocessor lines
_NOISE = re.compile(
    r"//(?:[^\n\\]|\\.|\\\n)*|/\*.*?(?:\*/|\Z)"
    r'|R"([^ ()\\\n]{0,16})\((?:.*?\)\1"|.*)|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\''
    r"|^[ \t]*\#(?:[^\n\\]|\\.|\\\n)*",
    re.DOTALL | re.MULTILINE,
)
_WORD = re.compile(r'"(?:[^"\\\n]|\\.)*"|\w+|\S')
_NAME = re.compile(
    r"(?<![\w~])((?:[\w~]++(?:<[^<>;{}]*>)?\s*+::\s*+)*(?:operator\s*+(?:\(\)|[^\s(]{1,3}|\w++)|~?\w++))\s*+\("
)
_TEMPLATE = re.compile(r"\btemplate\s*<(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>")
_SCOPE = re.compile(r"\b(namespace|class|struct|union|enum)\b([^;(){}=]*)$")
_NOT_FUNCTIONS = frozenset(
    {
        "if",
        "for",
        "while",
        "switch",
        "catch",
        "return",
        "sizeof",
        "defined",
        "alignas",
        "noexcept",
        "decltype",
        "int",
        "void",
        "char",
        "long",
        "double",
        "float",
        "unsigned",
    }
)


class Definition(NamedTuple):
    """A function: its lines from ``first`` to ``last``, counted from 1; ``digest`` is the same
    where only comments and layout differ.

    ``name`` is the qualified name; a function inside a function is part of it.
    """

    name: str
    first: int
    last: int
    digest: str


class Outline(msgspec.Struct, frozen=True):
    """The functions of one file in the order of their lines; what stands outside of them belongs to
    ``<module>``.
    """

    language: str
    definitions: tuple[Definition, ...]
    outside: str = ""

    def at(self, line: int) -> str:
        """The function to which a line belongs."""
        place = bisect_left(self.definitions, line, key=lambda definition: definition.last)
        there = self.definitions[place : place + 1]
        return there[0].name if there and there[0].first <= line else MODULE

    def named(self, name: str) -> list[Definition]:
        """All definitions of a name, which may be several: a property and its setter, or one for
        each platform.
        """
        return [definition for definition in self.definitions if definition.name == name]

    def digests(self) -> dict[str, str]:
        """The digests of functions, by name: they differ where a function changed."""
        by_name: dict[str, list[str]] = {}
        for definition in self.definitions:
            by_name.setdefault(definition.name, []).append(definition.digest)
        return {name: "".join(parts) for name, parts in by_name.items()} | {MODULE: self.outside}


def language(path: str) -> str:
    """``python``, ``c`` (C++ too), or empty for a file that has no functions that we know."""
    name = path.rpartition("/")[2]
    suffix = name.rpartition(".")[2].lower() if "." in name else ""
    if suffix in PYTHON:
        return "python"
    return "c" if suffix in NATIVE else ""


def outline(path: str, source: str) -> Outline | None:
    """The functions of a file; None where its language is not known or it cannot be read."""
    kind = language(path)
    if not kind or len(source) > LARGEST_OUTLINED:
        return None
    return _python(source) if kind == "python" else _native(source)


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


def plain(name: str) -> str:
    """The name of a function of C++ without arguments and templates, as its definition may have it.

    >>> plain("void Sort<int, std::less<int>>::run(int, char const*) const"), plain("insert'2")
    ('Sort::run', 'insert')
    """
    outside, depth = [], 0
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


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _python(source: str) -> Outline | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
        definitions = tuple(_definitions(tree.body, ""))
        outside = _digest("".join(ast.dump(node) for node in _outside(tree.body)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return Outline("python", definitions, outside)


def _definitions(body: list[ast.stmt], scope: str) -> Iterator[Definition]:
    for node in body:
        if isinstance(node, FUNCTIONS):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            yield Definition(
                scope + node.name, first, node.end_lineno or node.lineno, _digest(_dumped(node))
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
        if isinstance(node, FUNCTIONS) or (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        ):
            continue
        if isinstance(node, ast.ClassDef):
            yield ast.Name(node.name)
            yield from (*node.bases, *node.keywords, *node.decorator_list)
            yield from _outside(node.body)
        else:
            yield node


def _native(source: str) -> Outline:
    """The functions of C or C++ by their braces: no compiler has to be able to read the file."""
    text = _NOISE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), source)
    definitions: list[Definition] = []
    # of the open braces outside of functions; None where it has no name
    scopes: list[str | None] = []
    start, outside = 0, []
    ends, lines = (
        _closing(text),
        [place for place, character in enumerate(text) if character == "\n"],
    )
    for mark in re.finditer(r"[{};]", text):
        if mark.start() < start:
            continue
        head = text[start : mark.start()]
        if mark[0] == "{":
            name = _function_name(head) if len(head) <= LONGEST_HEAD else ""
            end = ends.get(mark.start()) if name else None
            if name and end is not None:
                first = bisect_left(lines, start + len(head) - len(head.lstrip())) + 1
                whole = "::".join([*(scope for scope in scopes if scope), name])
                last = bisect_left(lines, end) + 1
                # strings and numbers count, too: they are taken from the source itself
                definitions.append(
                    Definition(
                        whole,
                        first,
                        last,
                        _digest(" ".join(_WORD.findall(_without_comments(source[start:end])))),
                    )
                )
                start = end
                continue
            opened = _scope(head) if len(head) <= LONGEST_HEAD else None
            if opened is None and "=" in head:  # an initialiser
                end = ends.get(mark.start())
                outside.append(text[start : end or mark.end()])
                start = end or mark.end()
                continue
            scopes.append(opened or None)
        elif mark[0] == "}" and scopes:
            scopes.pop()
        outside.append(head)
        start = mark.end()
    preprocessor = re.findall(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", source, re.MULTILINE)
    words = " ".join(" ".join([*outside, *preprocessor]).split())
    return Outline("c", tuple(definitions), _digest(words))


def _without_comments(source: str) -> str:
    return _NOISE.sub(lambda found: " " if found[0].startswith(("//", "/*")) else found[0], source)


def _scope(head: str) -> str | None:
    """The name of what opens behind ``head``: a namespace, a class; empty where it has none, None
    for anything else.
    """
    head = re.sub(
        r"\[\[[^\[\]]*\]\]|\b(?:alignas|__attribute__|__declspec)\s*\((?:[^()]|\([^()]*\))*\)",
        " ",
        _TEMPLATE.sub(" ", head),
    )
    found = _SCOPE.search(head)
    if found is None:
        return None
    own = re.split(r"(?<!:):(?!:)", found[2])[0]  # without base classes
    names = [
        name
        for name in re.findall(r"\w+(?:\s*::\s*\w+)*", re.sub(r"<[^<>]*>", "", own))
        if name != "final"
    ]
    return re.sub(r"\s+", "", names[-1]) if names and found[1] != "enum" else ""


def _function_name(head: str) -> str:
    """The function whose body begins behind ``head``; empty where it is not one."""
    head = head.rpartition("}")[2]
    if ")" not in head or re.search(
        r"(?<![=!<>])=(?![=])", re.sub(r"operator\s*\S{1,3}|\([^()]*\)", "", head)
    ):
        return ""
    head = re.sub(
        r"\b(?:__attribute__|__declspec|noexcept|throw|requires|decltype)\s*\((?:[^()]|\([^()]*\))*\)",
        " ",
        head,
    )
    for found in _NAME.finditer(head):
        name = re.sub(r"\s+", "", found[1])
        if name.rpartition("::")[2] not in _NOT_FUNCTIONS and not (
            name.isupper() and _names_type(head, found.end())
        ):
            return re.sub(r"<[^<>]*>", "", name) if "operator" not in name else name
    return ""


def _names_type(head: str, start: int) -> bool:
    """Whether the brackets that are open at ``start`` are a macro's about the type, as in
    ``EXPORT(char *) name(int a)``.
    """
    depth = 1
    for place in range(start, len(head)):
        depth += (head[place] == "(") - (head[place] == ")")
        if not depth:
            found = re.match(r"[\s*&]*(?:[\w~]+[\s*&]+)*([\w~:]+)\s*\(", head[place + 1 :])
            return found is not None and not found[1].isupper()
    return False


def _closing(text: str) -> dict[int, int]:
    """The place behind the brace that closes each one, by the place of that one."""
    waiting: list[int] = []
    found: dict[int, int] = {}
    for mark in re.finditer(r"[{}]", text):
        if mark[0] == "{":
            waiting.append(mark.start())
        elif waiting:
            found[waiting.pop()] = mark.end()
    return found
