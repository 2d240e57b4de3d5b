"""The parts of a Python source, by its syntax tree."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

from perfvcs.locate.parts import COMPUTED, GLOBAL, IMPORTING, LISTING, Function, Parts, Statement, digest, words_of

# what looks up names that need not stand in the source, unless a constant names them
LOOKUPS = frozenset({"getattr", "hasattr", "setattr", "delattr"})
COMPUTING = frozenset({
    "vars", "dir", "__dict__", "getmembers", "attrgetter", "methodcaller", "__subclasses__", "getattr_static", "mro", "__mro__",
})  # fmt: skip
OF_MODULE = frozenset({"globals", "locals", "vars", "dir", "eval", "exec"})
BY_NAME = frozenset({
    "import_module", "__import__", "iter_modules", "walk_packages", "entry_points", "run_path", "run_module", "spec_from_file_location",
})  # fmt: skip
FINDING = BY_NAME | {"listdir", "scandir", "glob", "rglob", "iglob", "iterdir", "find_spec"}
_MARKS = ((COMPUTED, COMPUTING | FINDING), (GLOBAL, OF_MODULE), (LISTING, FINDING), (IMPORTING, BY_NAME))
SEARCHING = {name: tuple(mark for mark, names in _MARKS if name in names) for name in COMPUTING | OF_MODULE | FINDING}
# what test runners call by its name
CALLED_BY_NAME = frozenset({
    "setup", "teardown", "setup_method", "teardown_method", "setup_class", "teardown_class", "setup_module", "teardown_module",
    "setup_function", "teardown_function", "setUp", "tearDown", "setUpClass", "tearDownClass", "setUpModule", "tearDownModule",
    "load_tests",
})  # fmt: skip
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
BLOCKS = (
    ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.TryStar, ast.Match,
)  # fmt: skip
PLAIN = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Import, ast.ImportFrom, ast.Delete)
ANYTHING = "*"


class _Place(NamedTuple):
    """Where a statement stands: the class around it, ``within`` which blocks, and whether only the program runs it.

    ``bare``: the class has neither bases nor decorators, so that nobody calls its methods but by their names.
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
        self.functions: dict[str, Function] = {}
        self.statements: list[Statement] = []
        self.uses: dict[str, None] = {}

    def read(self, tree: ast.Module) -> Parts:
        for node in _without_docstring(tree.body):
            self._statement(node, _Place())
        return Parts("python", self.functions, tuple(self.statements), tuple(self.uses))

    def _statement(self, node: ast.stmt, place: _Place) -> None:
        if isinstance(node, FUNCTIONS):
            self._function(node, place)
        elif isinstance(node, ast.ClassDef):
            self._class(node, place)
        elif isinstance(node, BLOCKS):
            self._block(node, place)
        elif not isinstance(node, ast.Pass | ast.Global | ast.Nonlocal) and not _is_constant(node):
            words, names = self._words([node], annotations=True)
            bound = _bound(node)
            plain = isinstance(
                node, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Import | ast.ImportFrom | ast.Delete
            ) and _is_plain(node)
            self._add(
                place, words, names, bound, effect=not plain, imports=plain and isinstance(node, ast.Import | ast.ImportFrom)
            )

    def _add(
        self, place: _Place, words: list[str], names: set[str], binds: Sequence[str], *, effect: bool = False, function: str = "",
        imports: bool = False,
    ) -> None:  # fmt: skip
        """A statement; within a class it may mean that the class is another one."""
        if place.scope and not (function and place.bare and not _is_special(function)):
            binds = [*binds, place.scope.rpartition(".")[2]]
        found = digest([place.within, *words])
        self.statements.append(
            Statement(
                place.scope, found, tuple(dict.fromkeys(binds)), tuple(sorted(names)), effect, place.main, function, imports
            )
        )

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, place: _Place) -> None:
        if any(_last(decorator) == "overload" for decorator in node.decorator_list):
            return
        name = f"{place.scope}.{node.name}" if place.scope else node.name
        words: list[str] = [type(node).__name__]
        names: set[str] = set()
        self._inner_function(node, words, names, outermost=True)
        known = self.functions.get(name)
        found = digest([place.within, *words])
        if known:  # of a property with a setter, or defined for several platforms
            found, names = digest([known.digest, found]), names.union(known.mentions)
        self.functions[name] = Function(found, tuple(sorted(names)))
        # what is computed where the function is defined
        arguments = node.args
        outside: list[ast.AST] = [*node.decorator_list, *arguments.defaults, *(one for one in arguments.kw_defaults if one)]
        inspected = bool(node.decorator_list) or place.decorated
        if inspected:
            every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg)
            outside += [one.annotation for one in every if one is not None and one.annotation is not None]
            outside += [node.returns] if node.returns else []
        words, names = self._words(outside, annotations=True)
        called = node.name in CALLED_BY_NAME or node.name.startswith("pytest_") or "'autouse'" in words
        self._add(place, ["def", node.name, *words], names, [node.name], effect=called, function=name)

    def _class(self, node: ast.ClassDef, place: _Place) -> None:
        name = f"{place.scope}.{node.name}" if place.scope else node.name
        words, names = self._words([*node.bases, *node.keywords, *node.decorator_list], annotations=True)
        self._add(place, ["class", node.name, *words], names, [node.name])
        bare = not (node.bases or node.keywords or node.decorator_list)
        inner = _Place(name, place.within, place.main, bare, bool(node.decorator_list or node.keywords))
        for child in _without_docstring(node.body):
            self._statement(child, inner)

    def _block(self, node: Any, place: _Place) -> None:
        """A statement with others inside: what decides about these, and they themselves."""
        if isinstance(node, ast.If) and _last(node.test) == "TYPE_CHECKING":
            for child in node.orelse:
                self._statement(child, place)
            return
        branches = list(_branches(node))
        inside = [child for _, children in branches for child in children]
        apart = (ast.excepthandler, ast.match_case)
        head: list[ast.AST] = [
            child for child in ast.iter_child_nodes(node) if child not in inside and not isinstance(child, apart)
        ]
        head += [one.type for one in getattr(node, "handlers", ()) if one.type is not None]
        words, names = self._words(head, annotations=True)
        main = place.main or (isinstance(node, ast.If) and _is_main(node.test))
        binds = [name for child in (*head, *inside) for name in _bound(child)]
        repeats = isinstance(node, ast.For | ast.AsyncFor | ast.While | ast.With | ast.AsyncWith | ast.Match)
        own = place._replace(main=main)
        if repeats:
            inner, more = self._words(inside, annotations=True)
            self._add(own, [type(node).__name__, *words, *inner], names | more, binds, effect=True)
        else:
            self._add(own, [type(node).__name__, *words], names, binds)
        around = digest([place.within, type(node).__name__, *words])
        for branch, children in branches:
            for child in children:
                self._statement(child, own._replace(within=f"{around}{branch}"))

    def _words(self, nodes: Sequence[ast.AST], *, annotations: bool) -> tuple[list[str], set[str]]:
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
        if kind is ast.Call:
            if node.func.__class__ is ast.Name and node.func.id in LOOKUPS and not _names_constant(node):
                names.add(COMPUTED)
        elif kind is ast.arg:
            words.append(node.arg)
            names.add(node.arg)
            if annotations and node.annotation is not None:
                self._walk(node.annotation, words, names, annotations)
            return
        elif kind is ast.FunctionDef or kind is ast.AsyncFunctionDef:
            self._inner_function(node, words, names, outermost=False)
            return
        elif kind is ast.AnnAssign and not annotations:
            self._walk(node.target, words, names, annotations)
            if node.value is not None:
                self._walk(node.value, words, names, annotations)
            return
        elif kind is ast.ClassDef:
            annotations = True
        elif kind is ast.Import or kind is ast.ImportFrom:
            self._import(node, words, names)
            return
        for field in _fields(kind):
            value = getattr(node, field)
            if value.__class__ is list:
                words.append("[")
                for child in _without_docstring(value) if kind is ast.ClassDef and field == "body" else value:
                    self._child(child, words, names, annotations)
            else:
                self._child(value, words, names, annotations)

    def _child(self, child: Any, words: list[str], names: set[str], annotations: bool) -> None:  # noqa: FBT001
        if isinstance(child, ast.AST):
            self._walk(child, words, names, annotations)
            return
        words.append(repr(child))
        if child.__class__ is str:  # of `global`, of an exception, of a pattern
            names.add(child)

    def _inner_function(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef, words: list[str], names: set[str], *, outermost: bool
    ) -> None:
        """A function without annotations; decorators and defaults of the outermost one are computed outside of it."""
        words.append(node.name)
        arguments = node.args
        for kind, several in (("/", arguments.posonlyargs), ("", arguments.args), ("*", arguments.kwonlyargs)):
            words.append(kind)
            for one in several:
                self._walk(one, words, names, False)
        for single in (arguments.vararg, arguments.kwarg):
            words.append("**")
            if single is not None:
                self._walk(single, words, names, False)
        words.append(str(len(arguments.defaults)))
        if not outermost:
            for child in (*node.decorator_list, *arguments.defaults, *(one for one in arguments.kw_defaults if one)):
                self._walk(child, words, names, False)
        for statement in _without_docstring(node.body):
            self._walk(statement, words, names, False)

    def _import(self, node: ast.Import | ast.ImportFrom, words: list[str], names: set[str]) -> None:
        if isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            words.append(module)
            self.uses[module] = None
            separator = "" if module.endswith(".") else "."
            self.uses.update(dict.fromkeys(f"{module}{separator}{alias.name}" for alias in node.names if alias.name != ANYTHING))
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
    return tuple(name for name in kind._fields if name not in ("ctx", "type_comment", "kind", "type_ignores"))


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    return body[1:] if body and _is_constant(body[0]) else body


def _is_constant(node: ast.AST) -> bool:
    """Whether a statement is nothing but a constant: a docstring, or ``...``."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _names_constant(call: ast.Call) -> bool:
    """Whether the name that a call of ``getattr`` and the like looks up is a constant."""
    return len(call.args) > 1 and isinstance(call.args[1], ast.Constant)


def _is_plain(node: Any) -> bool:
    """Whether a statement only gives names a meaning."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return not any(alias.name == ANYTHING for alias in node.names)
    targets = node.targets if isinstance(node, ast.Assign | ast.Delete) else [node.target]
    return all(
        isinstance(target, ast.Name)
        for one in targets
        for target in (one.elts if isinstance(one, ast.Tuple | ast.List) else [one])
    )


def _is_special(function: str) -> bool:
    name = function.rpartition(".")[2]
    return name.startswith("__") and name.endswith("__")


def _is_main(test: ast.expr) -> bool:
    """Whether a condition is ``__name__ == "__main__"``."""
    return isinstance(test, ast.Compare) and _last(test.left) == "__name__"


def _last(node: ast.AST) -> str:
    """The last name of a dotted one; empty for anything else."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _branches(node: Any) -> Iterator[tuple[str, list[ast.stmt]]]:
    for name in ("body", "orelse", "finalbody"):
        if children := getattr(node, name, []):
            yield name, children
    for number, handler in enumerate(getattr(node, "handlers", ())):
        yield f"handler{number}", handler.body
    for number, case in enumerate(getattr(node, "cases", ())):
        yield f"case{number}", case.body


def _bound(node: ast.AST) -> list[str]:
    """The names to which a statement gives a meaning, in blocks too; of an attribute or element, those along the way to it."""
    if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
        return [node.name]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [alias.asname or alias.name.partition(".")[0] for alias in node.names if alias.name != ANYTHING]
    if isinstance(node, BLOCKS):
        own = [name for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt) for name in _targets(child)]
        return own + [name for _, children in _branches(node) for child in children for name in _bound(child)]
    if isinstance(node, ast.Expr):
        return _targets(node.value, called=True)
    return _targets(node)


def _targets(node: ast.AST, *, called: bool = False) -> list[str]:
    found: list[str] = []
    for child in ast.walk(node):
        if isinstance(child, ast.Name | ast.Attribute | ast.Subscript) and isinstance(child.ctx, ast.Store | ast.Del):
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
