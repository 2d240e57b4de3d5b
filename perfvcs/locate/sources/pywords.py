"""The words of which a part of a Python source consists, and the names in them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
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
    digest,
    ending,
    words_of,
)

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
BLOCKS = (
    ast.If,
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.With,
    ast.AsyncWith,
    ast.Try,
    ast.TryStar,
    ast.Match,
)
ANYTHING = "*"
# what looks up names that need not stand in the source, unless a constant names them
LOOKUPS = frozenset({"getattr", "hasattr", "setattr", "delattr"})
COMPUTING = frozenset(
    {
        "vars",
        "dir",
        "__dict__",
        "getmembers",
        "attrgetter",
        "methodcaller",
        "__subclasses__",
        "getattr_static",
        "mro",
        "__mro__",
    }
)
OF_MODULE = frozenset({"globals", "locals", "vars", "dir", "eval", "exec"})
BY_NAME = frozenset(
    {
        "import_module",
        "__import__",
        "iter_modules",
        "walk_packages",
        "entry_points",
        "run_path",
        "run_module",
        "spec_from_file_location",
    }
)
WALKING = frozenset({"listdir", "scandir", "glob", "rglob", "iglob", "iterdir", "walk"})
FINDING = BY_NAME | WALKING | {"find_spec"}
# what reads docstrings and the like, here or in the library that it stands for
READING_DOCSTRINGS = frozenset({"__doc__", "getdoc", "docopt", "yacc", "ply", "sly", "doctest"})
READING_ANNOTATIONS = frozenset(
    {
        "__annotations__",
        "get_type_hints",
        "get_annotations",
        "annotation",
        "annotations",
        "return_annotation",
        "beartype_this_package",
        "typeguard",
        "install_import_hook",
    }
)
READING_SOURCES = frozenset(
    {"getsource", "getsourcelines", "getsourcefile", "findsource", "getcomments", "linecache"}
)
HANDED_ON = frozenset({"__doc__", "__annotations__"})
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
PLAIN_ANNOTATIONS = (
    ast.Name,
    ast.Attribute,
    ast.Subscript,
    ast.Constant,
    ast.Tuple,
    ast.List,
    ast.Starred,
    ast.BinOp,
    ast.BitOr,
    ast.expr_context,
)


def without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements of a body that say what happens."""
    return body[1:] if body and is_constant(body[0]) else body


def is_constant(node: ast.AST) -> bool:
    """Whether a statement is nothing but a constant: a docstring, or ``...``."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def is_plain(node: Any) -> bool:
    """Whether a statement only gives names a meaning."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return not any(alias.name == ANYTHING for alias in node.names)
    targets = node.targets if isinstance(node, ast.Assign | ast.Delete) else [node.target]
    return all(
        isinstance(target, ast.Name)
        for one in targets
        for target in (one.elts if isinstance(one, ast.Tuple | ast.List) else [one])
    )


def last_name(node: ast.AST) -> str:
    """The last name of a dotted one; empty for anything else."""
    return (
        node.id
        if isinstance(node, ast.Name)
        else node.attr
        if isinstance(node, ast.Attribute)
        else ""
    )


def branches(node: Any) -> Iterator[tuple[str, list[ast.stmt]]]:
    """The bodies of a block, by their names."""
    for name in ("body", "orelse", "finalbody"):
        if children := getattr(node, name, []):
            yield name, children
    for number, handler in enumerate(getattr(node, "handlers", ())):
        yield f"handler{number}", handler.body
    for number, case in enumerate(getattr(node, "cases", ())):
        yield f"case{number}", case.body


def bound(node: ast.AST) -> list[str]:
    """The names to which a statement gives a meaning, in blocks too; of an attribute or element,
    those along the way to it.
    """
    if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
        return [node.name]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [
            alias.asname or alias.name.partition(".")[0]
            for alias in node.names
            if alias.name != ANYTHING
        ]
    if isinstance(node, BLOCKS):
        own = [
            name
            for child in ast.iter_child_nodes(node)
            if not isinstance(child, ast.stmt)
            for name in _targets(child)
        ]
        return own + [
            name for _, children in branches(node) for child in children for name in bound(child)
        ]
    if isinstance(node, ast.Expr):
        return _targets(node.value, called=True)
    return _targets(node)


def _targets(node: ast.AST, *, called: bool = False) -> list[str]:
    found: list[str] = []
    for child in ast.walk(node):
        if isinstance(child, ast.Name | ast.Attribute | ast.Subscript) and isinstance(
            child.ctx, ast.Store | ast.Del
        ):
            found += _way(child)
        elif called and isinstance(child, ast.Call):
            found += _way(child.func)
    return found


def _way(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Attribute):
        return [*_way(node.value), node.attr]
    return _way(node.value) if isinstance(node, ast.Subscript | ast.Starred) else []


_MARKED = frozenset().union(*(names for _, names in _MARKS))
SEARCHING = {name: tuple(mark for mark, names in _MARKS if name in names) for name in _MARKED}


def is_computed(annotation: ast.expr) -> bool:
    """Whether an annotation does more than to name a type where it is read."""
    return not all(isinstance(node, PLAIN_ANNOTATIONS) for node in ast.walk(annotation))


def annotations_of(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.expr]:
    """The annotations of a function's parameters and of what it returns."""
    arguments = node.args
    every = (
        *arguments.posonlyargs,
        *arguments.args,
        *arguments.kwonlyargs,
        arguments.vararg,
        arguments.kwarg,
    )
    found = [one.annotation for one in every if one is not None and one.annotation is not None]
    return [*found, node.returns] if node.returns else found


def told(tree: ast.AST) -> dict[str, str]:
    """The digests of docstrings and of annotations in a tree, with the names of what they belong
    to.
    """
    docstrings: list[str] = []
    annotations: list[str] = []
    for node in ast.walk(tree):
        if (
            isinstance(node, (*FUNCTIONS, ast.ClassDef, ast.Module))
            and node.body
            and is_constant(node.body[0])
        ):
            docstrings += (getattr(node, "name", ""), ast.dump(node.body[0]))
        if isinstance(node, FUNCTIONS) and (own := annotations_of(node)):
            annotations += (node.name, *map(ast.dump, own))
        elif isinstance(node, ast.AnnAssign):
            annotations.append(ast.dump(node.annotation))
    return {DOCSTRINGS: digest(docstrings), ANNOTATIONS: digest(annotations)}


def copies(node: ast.stmt) -> bool:
    """Whether a statement only hands docstrings and the like on: ``self.__doc__ =
    function.__doc__``.
    """
    targets = node.targets if isinstance(node, ast.Assign) else []
    return bool(targets) and all(
        isinstance(one, ast.Attribute) and one.attr in HANDED_ON for one in targets
    )


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
            texts = (one.value for one in pieces if one.__class__ is ast.Constant)
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
        own: set[str] = set()
        for child in (*node.targets, node.value):
            self._walk(child, words, own, annotations)
        names |= own - {DOCSTRINGS, ANNOTATIONS}

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
            for one in several:
                self._walk(one, words, names, False)
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
                *(one for one in arguments.kw_defaults if one),
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
