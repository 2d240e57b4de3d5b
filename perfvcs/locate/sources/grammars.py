"""Syntax trees by the grammars of tree-sitter, where these are installed (the extras ``languages``
and ``native``), and the functions of languages in them.

Those of Python, C, C++, Rust and Go are read without one.
"""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from perfvcs.locate.sources import language, suffix
from perfvcs.locate.sources.parts import Definition, Outline, digest

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

MOST_UNREAD_SHARE = 0.1  # of a file: beyond, it is in another language, or the grammar does not fit
LONGEST_PARSE = 5.0  # seconds of the processor
CHUNK = 1 << 15  # bytes, which take no parser as long
_NAME = re.compile(r"[#$]?[\w$]+")


class Grammar(NamedTuple):
    """A grammar: the ``package`` on PyPI, the function that gives it, and the kinds of nodes.

    ``functions`` have a field ``name``; ``nameless`` ones are called by what contains them
    (``naming``). ``holders``: classes and the like, whose names come before those of functions.
    """

    package: str
    gives: str = "language"
    functions: frozenset[str] = frozenset()
    nameless: frozenset[str] = frozenset()
    naming: frozenset[str] = frozenset()
    holders: frozenset[str] = frozenset()


def _grammar(
    package: str,
    functions: str = "",
    *,
    gives: str = "language",
    nameless: str = "",
    naming: str = "",
    holders: str = "",
) -> Grammar:
    kinds = (frozenset(words.split()) for words in (functions, nameless, naming, holders))
    return Grammar(package, gives, *kinds)


_JAVASCRIPT = {
    "functions": "function_declaration generator_function_declaration method_definition",
    "nameless": "arrow_function function_expression generator_function",
    "naming": "variable_declarator pair assignment_expression field_definition"
    " public_field_definition",
    "holders": "class_declaration abstract_class_declaration class",
}
GRAMMARS = {
    "c": _grammar("tree-sitter-c"),
    "c++": _grammar("tree-sitter-cpp"),
    "go": _grammar("tree-sitter-go"),
    "rust": _grammar("tree-sitter-rust"),
    "javascript": _grammar("tree-sitter-javascript", **_JAVASCRIPT),
    "typescript": _grammar("tree-sitter-typescript", gives="language_typescript", **_JAVASCRIPT),
    "tsx": _grammar("tree-sitter-typescript", gives="language_tsx", **_JAVASCRIPT),
    "ruby": _grammar("tree-sitter-ruby", "method singleton_method", holders="class module"),
    "perl": _grammar(
        "tree-sitter-perl",
        "subroutine_declaration_statement method_declaration_statement",
        nameless="anonymous_subroutine_expression",
        naming="assignment_expression",
        holders="class_statement role_statement",
    ),
    "lua": _grammar(
        "tree-sitter-lua",
        "function_declaration",
        nameless="function_definition",
        naming="assignment_statement field",
    ),
    "java": _grammar(
        "tree-sitter-java",
        "method_declaration constructor_declaration compact_constructor_declaration",
        holders="class_declaration interface_declaration enum_declaration record_declaration",
    ),
    "c#": _grammar(
        "tree-sitter-c-sharp",
        "method_declaration constructor_declaration operator_declaration property_declaration"
        " indexer_declaration destructor_declaration conversion_operator_declaration"
        " local_function_statement",
        holders="class_declaration interface_declaration struct_declaration record_declaration",
    ),
    "shell": _grammar("tree-sitter-bash", "function_definition"),
}
SUFFIXES = {
    "go": "go",
    "rust": "rs",
    "javascript": "js mjs cjs jsx",
    "typescript": "ts mts cts",
    "tsx": "tsx",
    "ruby": "rb rake",
    "perl": "pl pm t",
    "lua": "lua",
    "java": "java",
    "c#": "cs",
    "shell": "sh bash",
}
BY_SUFFIX = {end: name for name, suffixes in SUFFIXES.items() for end in suffixes.split()}


def language_of(path: str) -> str:
    """The language of a file that is not read without a grammar, by its suffix; else empty."""
    return BY_SUFFIX.get(suffix(path), "")


def family(path: str) -> str:
    """The language of a file, with those that its programs also read; empty where it is not known.

    >>> family("a.tsx"), family("a.h"), family("data.bin")
    ('javascript', 'c', '')
    """
    name = language(path) or language_of(path)
    return "javascript" if name in ("typescript", "tsx") else name


def unread(name: str) -> str:
    """Why a language has no grammar here, with the cure; empty where it has one, or needs none."""
    parser = _parser(name) if name else ""
    return parser if isinstance(parser, str) else ""


def tree(name: str, text: bytes) -> Node | None:
    """The syntax tree of a source in a language; None without a grammar, or where it would take too
    long, as of a megabyte of quotes.
    """
    parser = _parser(name)
    if isinstance(parser, str) or (len(text) > CHUNK and not _is_quick(parser, text)):
        return None
    return parser.parse(text).root_node


def _is_quick(parser: Parser, text: bytes) -> bool:
    """Whether a text is parsed within ``LONGEST_PARSE``; the texts of nodes are only known of one
    that is then parsed as a whole.
    """
    end, is_late = time.process_time() + LONGEST_PARSE, False

    def read(start: int, _: object) -> bytes:
        nonlocal is_late
        is_late = is_late or time.process_time() > end
        return b"" if is_late else text[start : start + CHUNK]

    parser.parse(read)
    return not is_late


@cache
def _parser(name: str) -> Parser | str:
    """The parser of a language, or why there is none."""
    from importlib import import_module

    package = GRAMMARS[name].package
    try:
        from tree_sitter import Language, Parser

        module = import_module(package.replace("-", "_"))
    except ImportError:
        return f"no grammar for {name} (pip install tree-sitter {package})"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of grammars made for older ones
            return Parser(Language(getattr(module, GRAMMARS[name].gives)()))
    except (AttributeError, TypeError, ValueError, OSError):
        cure = f"pip install --upgrade tree-sitter {package}"
        return f"the installed {package} does not fit the installed tree-sitter ({cure})"


def outlined(path: str, source: str) -> Outline | None:
    """The functions of a file; those inside a function are part of it. None where no grammar reads
    it.
    """
    name = language_of(path)
    if not name or not GRAMMARS[name].functions:
        return None
    content = source.replace("\r\n", "\n").encode("utf-8", "surrogatepass")
    root = tree(name, content)
    if root is None or unread_bytes(root) > MOST_UNREAD_SHARE * len(content):
        return None
    parts = _Parts(GRAMMARS[name], content)
    parts.walk(root)
    return Outline(name, tuple(parts.definitions), digest(parts.outside))


def unread_bytes(root: Node) -> int:
    """How many bytes of a tree are not understood."""
    count, waiting = 0, [root]
    while waiting:
        node = waiting.pop()
        if node.type == "ERROR":
            count += node.end_byte - node.start_byte
        elif node.has_error:
            waiting += node.children
    return count


class _Parts:
    """The functions of a tree, and the words outside of them."""

    def __init__(self, grammar: Grammar, content: bytes) -> None:
        self.grammar, self.content = grammar, content
        self.definitions: list[Definition] = []
        self.outside: list[str] = []

    def walk(self, root: Node) -> None:
        """Read a tree; nodes come in the order of the source."""
        waiting = [(root, "")]
        while waiting:
            node, holder = waiting.pop()
            if _is_comment(node):
                continue
            if name := self._function(node):
                first, last = node.start_point[0] + 1, _last_line(node)
                full = f"{holder}.{name}" if holder else name
                self.definitions.append(Definition(full, first, last, digest(_words(node))))
                continue
            if node.type in self.grammar.holders:
                holder = ".".join(filter(None, (holder, _held(node))))
            if not node.child_count or _is_text(node):
                self.outside += _words(node)
                continue
            self.outside += [node.type] if node.is_named else []
            waiting += [(child, holder) for child in reversed(node.children)]

    def _function(self, node: Node) -> str:
        """The name of the function that a node defines; empty where it defines none."""
        if node.type in self.grammar.functions:
            return _declared(node)
        if node.type not in self.grammar.naming:
            return ""
        last = node.child(node.child_count - 1)
        value: Node | None = node.child_by_field_name("value") or last
        while value is not None and value.type in ("expression_list", "parenthesized_expression"):
            value = value.named_child(0) if value.named_child_count == 1 else None
        if value is None or value.type not in self.grammar.nameless:
            return ""
        named = node.named_child(0)
        text = "" if named is None else text_of(named)
        if node.type in ("assignment_statement", "field"):  # of Lua, as it prints them
            return text
        names = _NAME.findall(text)
        return names[-1].lstrip("$") if names else ""


def _declared(node: Node) -> str:
    """The name in the head of a function."""
    name = node.child_by_field_name("name")
    if name is not None:
        return text_of(name)
    operator = node.child_by_field_name("operator") or node.child_by_field_name("type")
    return f"operator {text_of(operator)}" if operator is not None else "this"


def _held(node: Node) -> str:
    """The name of a class or the like."""
    named = node.child_by_field_name("name")
    return "" if named is None else (_NAME.findall(text_of(named)) or [""])[-1]


def _is_comment(node: Node) -> bool:
    return "comment" in node.type or node.type == "pod"


def _is_text(node: Node) -> bool:
    """Whether the blanks in a node are part of it."""
    return any(word in node.type for word in ("string", "regex", "heredoc", "character"))


def _words(root: Node) -> Iterator[str]:
    """The words of a tree and the kinds of what they form, without comments and layout."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if _is_comment(node):
            continue
        if not node.child_count or _is_text(node):
            text = text_of(node)
            yield from [text] if text.strip(" \t\r\n;") else []
            continue
        if node.is_named:
            yield node.type
        waiting += reversed(node.children)


def _last_line(node: Node) -> int:
    """The last line of a node, counted from 1; one that ends with its line does not reach into the
    next one.
    """
    row, column = node.end_point
    return max(row + (column > 0), node.start_point[0] + 1)


def text_of(node: Node) -> str:
    """The text of a node."""
    return (node.text or b"").decode("utf-8", "replace")
