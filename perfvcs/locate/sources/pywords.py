"""The words of which a part of a Python source consists, and the names in them."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import cache
from typing import Any

from perfvcs.locate.sources.parts import (
    ANNOTATIONS,
    COMPUTED,
    DOCSTRINGS,
    FOLDERS,
    GLOBAL,
    IMPORTING,
    LISTING,
    SOURCES,
    ending,
    words_of,
)
from perfvcs.locate.sources.pystatements import (
    ANYTHING,
    annotations_of,
    copies,
    is_computed,
    without_docstring,
)
from perfvcs.text.words import wordset

# what looks up names that need not stand in the source, unless a constant names them
LOOKUPS = frozenset({"getattr", "hasattr", "setattr", "delattr"})
COMPUTING = wordset(
    "vars dir __dict__ getmembers attrgetter methodcaller __subclasses__ getattr_static mro __mro__"
)
OF_MODULE = frozenset({"globals", "locals", "vars", "dir", "eval", "exec"})
BY_NAME = wordset(
    "import_module __import__ iter_modules walk_packages entry_points run_path run_module"
    " spec_from_file_location"
)
WALKING = frozenset({"listdir", "scandir", "glob", "rglob", "iglob", "iterdir", "walk"})
FINDING = BY_NAME | WALKING | {"find_spec"}
# what reads docstrings and the like, here or in the library that it stands for
READING_DOCSTRINGS = frozenset({"__doc__", "getdoc", "docopt", "yacc", "ply", "sly", "doctest"})
READING_ANNOTATIONS = wordset(
    "__annotations__ get_type_hints get_annotations annotation annotations return_annotation"
    " beartype_this_package typeguard install_import_hook"
)
READING_SOURCES = frozenset(
    {"getsource", "getsourcelines", "getsourcefile", "findsource", "getcomments", "linecache"}
)
_MARKS = (
    (COMPUTED, COMPUTING | FINDING - {"walk"}),
    (GLOBAL, OF_MODULE),
    (LISTING, FINDING),
    (FOLDERS, WALKING),
    (IMPORTING, BY_NAME),
    (DOCSTRINGS, READING_DOCSTRINGS),
    (ANNOTATIONS, READING_ANNOTATIONS),
    (SOURCES, READING_SOURCES),
)
_MARKED = frozenset().union(*(names for _, names in _MARKS))
SEARCHING = {name: tuple(mark for mark, names in _MARKS if name in names) for name in _MARKED}


class Words:
    """Reads the words and names of syntax trees; ``uses`` are the modules that they import."""

    def __init__(self) -> None:
        self.uses: dict[str, None] = {}

    def of(self, nodes: Sequence[ast.AST], *, annotations: bool) -> tuple[list[str], set[str]]:
        """What some nodes consist of, and the names in them."""
        words: list[str] = []
        names: set[str] = set()
        for node in nodes:
            self._walk(node, words, names, annotations)
        return words, names

    def _walk(self, node: Any, words: list[str], names: set[str], annotations: bool) -> None:  # noqa: FBT001 - called a million times
        kind = node.__class__
        if kind is ast.Name:
            name = node.id
            words.append(name)
            names.add(name)
            if name in SEARCHING:
                names.update(SEARCHING[name])
            return
        if kind is ast.Attribute:
            name = node.attr
            words.append("." + name)
            names.add(name)
            if name in SEARCHING:
                names.update(SEARCHING[name])
            self._walk(node.value, words, names, annotations)
            return
        if kind is ast.Constant:
            value = node.value
            words.append(repr(value))
            if value.__class__ is str:
                names.update(words_of(value))
            return
        words.append(kind.__name__)
        if kind is ast.JoinedStr or kind is ast.BinOp:
            pieces = node.values if kind is ast.JoinedStr else (node.left, node.right)
            texts = (piece.value for piece in pieces if piece.__class__ is ast.Constant)
            names.update(filter(None, (ending(text) for text in texts if text.__class__ is str)))
        if kind is ast.Call:
            if (
                node.func.__class__ is ast.Name
                and node.func.id in LOOKUPS
                and not _names_constant(node)
            ):
                names.add(COMPUTED)
        elif kind is ast.arg:
            words.append(node.arg)
            names.add(node.arg)
            if annotations and node.annotation is not None:
                self._walk(node.annotation, words, names, annotations)
            return
        elif kind is ast.FunctionDef or kind is ast.AsyncFunctionDef:
            self.function(node, words, names, outermost=False)
            return
        elif kind is ast.AnnAssign and not annotations:
            self._walk(node.target, words, names, annotations)
            if node.value is not None:
                self._walk(node.value, words, names, annotations)
            return
        elif kind is ast.ClassDef:
            annotations = True
        elif kind is ast.Assign and copies(node):
            self._copied(node, words, names, annotations)
            return
        elif kind is ast.Import or kind is ast.ImportFrom:
            self._import(node, words, names)
            return
        for field in _fields(kind):
            value = getattr(node, field)
            if value.__class__ is list:
                words.append("[")
                for child in (
                    without_docstring(value) if kind is ast.ClassDef and field == "body" else value
                ):
                    self._child(child, words, names, annotations)
            else:
                self._child(value, words, names, annotations)

    def _copied(
        self,
        node: ast.Assign,
        words: list[str],
        names: set[str],
        annotations: bool,  # noqa: FBT001
    ) -> None:
        """What an assignment consists of that hands docstrings on, which reads none."""
        read: set[str] = set()
        for child in (*node.targets, node.value):
            self._walk(child, words, read, annotations)
        names |= read - {DOCSTRINGS, ANNOTATIONS}

    def _child(self, child: Any, words: list[str], names: set[str], annotations: bool) -> None:  # noqa: FBT001
        if isinstance(child, ast.AST):
            self._walk(child, words, names, annotations)
            return
        words.append(repr(child))
        if child.__class__ is str:  # of `global`, of an exception, of a pattern
            names.add(child)

    def function(
        self,
        node: ast.FunctionDef | ast.AsyncFunctionDef,
        words: list[str],
        names: set[str],
        *,
        outermost: bool,
    ) -> None:
        """A function without annotations; decorators and defaults of the outermost one are computed
        outside of it.
        """
        words.append(node.name)
        arguments = node.args
        for kind, several in (
            ("/", arguments.posonlyargs),
            ("", arguments.args),
            ("*", arguments.kwonlyargs),
        ):
            words.append(kind)
            for argument in several:
                self._walk(argument, words, names, False)
        for single in (arguments.vararg, arguments.kwarg):
            words.append("**")
            if single is not None:
                self._walk(single, words, names, False)
        words.append(str(len(arguments.defaults)))
        if not outermost:
            computed = filter(is_computed, annotations_of(node))
            for child in (
                *node.decorator_list,
                *arguments.defaults,
                *filter(None, arguments.kw_defaults),
                *computed,
            ):
                self._walk(child, words, names, False)
        for statement in without_docstring(node.body):
            self._walk(statement, words, names, False)

    def _import(self, node: ast.Import | ast.ImportFrom, words: list[str], names: set[str]) -> None:
        if isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            words.append(module)
            self.uses[module] = None
            separator = "" if module.endswith(".") else "."
            self.uses.update(
                dict.fromkeys(
                    f"{module}{separator}{alias.name}"
                    for alias in node.names
                    if alias.name != ANYTHING
                )
            )
        for alias in node.names:
            words += (alias.name, alias.asname or "")
            if isinstance(node, ast.Import):
                self.uses[alias.name] = None
            names.update(alias.name.split("."))
            if alias.asname:
                names.add(alias.asname)
            if alias.name == ANYTHING:
                names.add("__all__")


@cache
def _fields(kind: type[ast.AST]) -> tuple[str, ...]:
    return tuple(
        name for name in kind._fields if name not in ("ctx", "type_comment", "kind", "type_ignores")
    )


def _names_constant(call: ast.Call) -> bool:
    """Whether the name that a call of ``getattr`` and the like looks up is a constant."""
    return len(call.args) > 1 and isinstance(call.args[1], ast.Constant)
