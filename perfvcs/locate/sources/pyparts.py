"""The parts of a Python source, by its syntax tree."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

from perfvcs.locate.sources.parts import Functions, Parts, Statement, digest
from perfvcs.locate.sources.pystatements import (
    BLOCKS,
    FUNCTIONS,
    annotations_of,
    bound,
    branches,
    is_computed,
    is_constant,
    is_plain,
    last_name,
    told,
    without_docstring,
)
from perfvcs.locate.sources.pywords import Words
from perfvcs.text.words import wordset

# what test runners call by its name
CALLED_BY_NAME = wordset(
    "setup teardown setup_method teardown_method setup_class teardown_class setup_module"
    " teardown_module setup_function teardown_function setUp tearDown setUpClass tearDownClass"
    " setUpModule tearDownModule load_tests"
)
PLAIN_STATEMENTS = (
    ast.Assign,
    ast.AnnAssign,
    ast.AugAssign,
    ast.Import,
    ast.ImportFrom,
    ast.Delete,
)


class _Place(NamedTuple):
    """Where a statement stands: the class around it, ``within`` which blocks, and whether only the
    program runs it.

    ``bare``: the class has neither bases nor decorators, so that nobody calls its methods but by
    their names.
    """

    scope: str = ""
    within: str = ""
    main: bool = False
    bare: bool = True
    decorated: bool = False


def parts(source: bytes) -> Parts | None:
    """The parts of a source; None where this Python cannot read it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
        return _Reader().read(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


class _Reader:
    """Collects the parts of one file."""

    def __init__(self) -> None:
        self.functions = Functions()
        self.statements: list[Statement] = []
        self.words = Words()

    def read(self, tree: ast.Module) -> Parts:
        for node in without_docstring(tree.body):
            self._statement(node, _Place())
        return Parts(
            "python",
            self.functions.all,
            tuple(self.statements),
            tuple(self.words.uses),
            told=told(tree),
        )

    def _statement(self, node: ast.stmt, place: _Place) -> None:
        if isinstance(node, FUNCTIONS):
            self._function(node, place)
        elif isinstance(node, ast.ClassDef):
            self._class(node, place)
        elif isinstance(node, BLOCKS):
            self._block(node, place)
        elif not isinstance(node, ast.Pass | ast.Global | ast.Nonlocal) and not is_constant(node):
            words, names = self.words.of([node], annotations=True)
            plain = isinstance(node, PLAIN_STATEMENTS) and is_plain(node)
            self._add(
                place,
                words,
                names,
                bound(node),
                effect=not plain,
                imports=plain and isinstance(node, ast.Import | ast.ImportFrom),
            )

    def _add(
        self,
        place: _Place,
        words: list[str],
        names: set[str],
        binds: Sequence[str],
        *,
        effect: bool = False,
        function: str = "",
        imports: bool = False,
    ) -> None:
        """A statement; within a class it may mean that the class is another one."""
        if place.scope and not (function and place.bare and not _is_special(function)):
            binds = [*binds, place.scope.rpartition(".")[2]]
        content = digest([place.within, *words])
        self.statements.append(
            Statement(
                scope=place.scope,
                digest=content,
                binds=tuple(dict.fromkeys(binds)),
                mentions=tuple(sorted(names)),
                effect=effect,
                main=place.main,
                function=function,
                imports=imports,
            )
        )

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, place: _Place) -> None:
        if any(last_name(decorator) == "overload" for decorator in node.decorator_list):
            return
        name = f"{place.scope}.{node.name}" if place.scope else node.name
        words: list[str] = [type(node).__name__]
        names: set[str] = set()
        self.words.function(node, words, names, outermost=True)
        # a property may have a setter of its name
        self.functions.add(name, digest([place.within, *words]), names)
        # what is computed where the function is defined
        arguments = node.args
        outside: list[ast.AST] = [
            *node.decorator_list,
            *arguments.defaults,
            *(expression for expression in arguments.kw_defaults if expression),
        ]
        inspected = bool(node.decorator_list) or place.decorated
        outside += [
            expression
            for expression in annotations_of(node)
            if inspected or is_computed(expression)
        ]
        words, names = self.words.of(outside, annotations=True)
        called = (
            node.name in CALLED_BY_NAME or node.name.startswith("pytest_") or "'autouse'" in words
        )
        called = called or (not place.scope and _is_special(name))  # a module's `__getattr__`
        self._add(
            place, ["def", node.name, *words], names, [node.name], effect=called, function=name
        )

    def _class(self, node: ast.ClassDef, place: _Place) -> None:
        name = f"{place.scope}.{node.name}" if place.scope else node.name
        words, names = self.words.of(
            [*node.bases, *node.keywords, *node.decorator_list], annotations=True
        )
        self._add(place, ["class", node.name, *words], names, [node.name])
        bare = not (node.bases or node.keywords or node.decorator_list)
        inner = _Place(
            name, place.within, place.main, bare, bool(node.decorator_list or node.keywords)
        )
        for child in without_docstring(node.body):
            self._statement(child, inner)

    def _block(self, node: Any, place: _Place) -> None:
        """A statement with others inside: what decides about these, and they themselves."""
        if isinstance(node, ast.If) and last_name(node.test) == "TYPE_CHECKING":
            for child in node.orelse:
                self._statement(child, place)
            return
        bodies = list(branches(node))
        inside = [child for _, children in bodies for child in children]
        apart = (ast.excepthandler, ast.match_case)
        head: list[ast.AST] = [
            child
            for child in ast.iter_child_nodes(node)
            if child not in inside and not isinstance(child, apart)
        ]
        head += [
            handler.type for handler in getattr(node, "handlers", ()) if handler.type is not None
        ]
        words, names = self.words.of(head, annotations=True)
        main = place.main or (isinstance(node, ast.If) and _is_main(node.test))
        binds = [name for child in (*head, *inside) for name in bound(child)]
        repeats = isinstance(
            node, ast.For | ast.AsyncFor | ast.While | ast.With | ast.AsyncWith | ast.Match
        )
        inside_block = place._replace(main=main)
        if repeats:
            inner, more = self.words.of(inside, annotations=True)
            self._add(
                inside_block,
                [type(node).__name__, *words, *inner],
                names | more,
                binds,
                effect=True,
            )
        else:
            self._add(inside_block, [type(node).__name__, *words], names, binds)
        around = digest([place.within, type(node).__name__, *words])
        for branch, children in bodies:
            for child in children:
                self._statement(child, inside_block._replace(within=f"{around}{branch}"))


def _is_special(function: str) -> bool:
    name = function.rpartition(".")[2]
    return name.startswith("__") and name.endswith("__")


def _is_main(test: ast.expr) -> bool:
    """Whether a condition is ``__name__ == "__main__"``."""
    return isinstance(test, ast.Compare) and last_name(test.left) == "__name__"
