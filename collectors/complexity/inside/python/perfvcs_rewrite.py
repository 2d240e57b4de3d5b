"""Puts probes into the bodies of chosen functions, in the tree of a module; everything else stays
as it was written.
"""

from __future__ import annotations

import _ast as ast
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import CodeType
    from typing import Any

    from perfvcs.collectors.complexity.inside.python import perfvcs_tree as tree

    FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
else:
    tree = _module("perfvcs_tree")  # noqa: F821 - the hook's

PROBE_MARK = b"\0perfvcs\0"  # begins the constants that stand for probes until the tree is compiled
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
SIMPLE = (  # nodes of a size expression that are evaluated in the function itself
    ast.Expression,
    ast.Name,
    ast.Load,
    ast.Attribute,
    ast.Constant,
    ast.Subscript,
    ast.BinOp,
    ast.UnaryOp,
    ast.operator,
    ast.unaryop,
    ast.IfExp,
    ast.Compare,
    ast.cmpop,
    ast.BoolOp,
    ast.boolop,
)


class RecordedFunction:
    """A function to be recorded: its name in its module, the line where one is named, and the
    expression of its size.
    """

    def __init__(self, index: int, name: str, line: int, size: str | None) -> None:
        self.index, self.name, self.line, self.size = index, name, line, size


def rewrite(
    source: bytes | str,
    path: str,
    entries: Mapping[str, list[RecordedFunction]],
    instrument: Callable[..., Any],
    *,
    quiet: bool,
) -> CodeType:
    """The code of a module in which the functions of ``entries`` (by qualified name) record their
    calls.

    ``instrument(entry, parameters, definition)`` makes what the body refers to. Raises SyntaxError
    as compiling the source does.
    """
    rewriter = Rewriter(entries, instrument)
    # What the compiler says of the program it says when it compiles it for itself, unless this is
    # the only time.
    with Silence(quiet=quiet):
        code = compile(rewriter.visit(tree.parse(source, path)), path, "exec", dont_inherit=True)
    return _resolve(code, rewriter.constants)


class Silence:
    """Keeps the compiler from warning of calls of constants (where ``quiet``, of anything), without
    loading the module ``warnings``.
    """

    def __init__(self, *, quiet: bool) -> None:
        import _warnings

        self.filters: Any = getattr(sys.modules.get("warnings"), "filters", _warnings.filters)
        self.item = ("ignore", None if quiet else self, Warning, None, 0)

    def match(self, text: str) -> bool:
        """Whether a warning is to be left out."""
        return "object is not callable" in text and "bytes" in text

    def __enter__(self) -> None:
        self.filters.insert(0, self.item)

    def __exit__(self, *_: object) -> None:
        self.filters.remove(self.item)


def _resolve(code: CodeType, constants: list[object]) -> CodeType:
    """The code with the objects in place of the constants that stand for them."""
    resolved: list[Any] = []
    for value in code.co_consts:
        if isinstance(value, type(code)):
            resolved.append(_resolve(value, constants))
        elif isinstance(value, bytes) and value.startswith(PROBE_MARK):
            resolved.append(constants[int(value[len(PROBE_MARK) :])])
        else:
            resolved.append(value)
    return code.replace(co_consts=tuple(resolved))


class Rewriter(tree.Transformer):
    """Walks over the definitions of a module with their qualified names."""

    def __init__(
        self, entries: Mapping[str, list[RecordedFunction]], instrument: Callable[..., Any]
    ) -> None:
        self.entries = entries
        self.instrument = instrument
        self.constants: list[object] = []
        self.scope: list[str] = []

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        self.scope.append(node.name)
        self.generic_visit(node)
        self.scope.pop()
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._definition(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._definition(node)

    def _definition(self, node: FunctionNode) -> ast.AST:
        name = ".".join([*self.scope, node.name])
        enclosing = self.scope[-1] if self.scope and self.scope[-1] != "<locals>" else ""
        self.scope += [node.name, "<locals>"]
        self.generic_visit(node)
        del self.scope[-2:]
        line = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        for entry in self.entries.get(name, ()):
            if entry.line in (0, node.lineno, line):
                self._record(node, entry, enclosing)
                break
        return node

    def _record(self, node: FunctionNode, entry: RecordedFunction, enclosing: str) -> None:
        start = int(tree.documented(node.body))
        body: list[ast.stmt] = node.body[start:] or [tree.located(ast.Pass(), node.body[-1])]
        parts = self.instrument(entry, parameters(node), node, enclosing)
        place = body[0]
        if isinstance(node, ast.AsyncFunctionDef) or yields(body):
            body = [Suspensions(self, parts).visit(statement) for statement in body]
            began = ast.withitem(self._call(parts.begin, self._size(parts, node)))
            added: list[ast.stmt] = [ast.With(items=[began], body=body)]
        else:
            # At the last line, which is where most functions return: debuggers and the like see no
            # other there.
            leave = tree.located(parts.leaving(self._constant), last(body))
            guarded = ast.Try(body=body, handlers=[], orelse=[], finalbody=[leave])
            added = [*self._enter(parts, node, entry), guarded]
        for statement in added:
            tree.located(statement, place)
        node.body = [*node.body[:start], *added]

    def _enter(self, parts: Any, node: FunctionNode, entry: RecordedFunction) -> list[ast.stmt]:
        """The statements that evaluate the size and start the clock."""
        size = (inline(entry.size, node) if entry.size else None) or self._size(parts, node)
        entered = parts.entering(size, whole=whole(size), constant=self._constant)
        # What a signal's handler raises here is the program's.
        again = ast.If(test=self._call(parts.failed), body=[ast.Raise()], orelse=[])
        limit, others = (
            ast.ExceptHandler(type=self._constant(kind), name=None, body=[statement])
            for kind, statement in (
                (RecursionError, parts.limited(self._constant)),
                (BaseException, again),
            )
        )
        return [ast.Try(body=[entered], handlers=[limit, others], orelse=[], finalbody=[])]

    def _size(self, parts: Any, node: FunctionNode) -> ast.expr:
        return self._call(
            parts.size, *(ast.Name(id=name, ctx=ast.Load()) for name in parameters(node))
        )

    def _call(self, function: object, *arguments: ast.expr) -> ast.expr:
        return ast.Call(func=self._constant(function), args=list(arguments), keywords=[])

    def _constant(self, value: object) -> ast.expr:
        self.constants.append(value)
        return ast.Constant(value=PROBE_MARK + str(len(self.constants) - 1).encode())


class Suspensions(tree.Transformer):
    """Stops the clock of a generator or coroutine where it is suspended, in its own body only."""

    def __init__(self, rewriter: Rewriter, parts: Any) -> None:
        self.call = rewriter._call
        self.parts = parts

    def visit_Yield(self, node: ast.Yield) -> ast.AST:
        self.generic_visit(node)
        value = node.value or ast.Constant(value=None)
        paused = ast.Yield(value=self.call(self.parts.pause, value))
        return tree.located(
            self.call(self.parts.resume, self.call(self.parts.current), paused), node
        )

    def visit_YieldFrom(self, node: ast.YieldFrom) -> ast.AST:
        self.generic_visit(node)
        node.value = tree.located(
            self.call(self.parts.delegate, self.call(self.parts.current), node.value), node
        )
        return node

    def visit_Await(self, node: ast.Await) -> ast.AST:
        self.generic_visit(node)
        node.value = tree.located(
            self.call(self.parts.awaiting, self.call(self.parts.current), node.value), node
        )
        return node

    def visit_AsyncFor(self, node: ast.AsyncFor) -> ast.AST:
        self.generic_visit(node)
        node.iter = self._wrapped(self.parts.iterating, node.iter)
        return node

    def visit_AsyncWith(self, node: ast.AsyncWith) -> ast.AST:
        self.generic_visit(node)
        for item in node.items:
            item.context_expr = self._wrapped(self.parts.managing, item.context_expr)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        self.generic_visit(node)
        if node.is_async:
            node.iter = self._wrapped(self.parts.iterating, node.iter)
        return node

    def _wrapped(self, function: object, value: ast.expr) -> ast.expr:
        return tree.located(self.call(function, self.call(self.parts.current), value), value)

    def _other(self, node: ast.AST) -> ast.AST:
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = visit_ClassDef = (
        visit_GeneratorExp
    ) = _other


def parameters(node: FunctionNode) -> list[str]:
    """The names of all parameters, in order."""
    given = node.args
    arguments = [*given.posonlyargs, *given.args, given.vararg, *given.kwonlyargs, given.kwarg]
    return [argument.arg for argument in arguments if argument is not None]


def yields(body: list[ast.stmt]) -> bool:
    """Whether statements of a function make it a generator."""
    todo: list[ast.AST] = list(body)
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            return True
        if not isinstance(node, SCOPES):
            todo += tree.children(node)
    return False


def inline(text: str, node: FunctionNode) -> ast.expr | None:
    """The expression of a size, when the function itself can evaluate it and that runs none of the
    program's functions but __len__.
    """
    expression = tree.parse(text.strip(), mode="eval")
    arguments, bound = set(parameters(node)), bindings(node)
    for part in tree.walk(expression):
        if isinstance(part, ast.Call):
            if not (
                isinstance(part.func, ast.Name)
                and part.func.id == "len"
                and len(part.args) == 1
                and not part.keywords
            ):
                return None
        elif not isinstance(part, SIMPLE) or (
            isinstance(part, ast.Name) and part.id not in arguments and part.id in bound
        ):
            return None
        for attribute in part._attributes:
            if hasattr(part, attribute):
                delattr(part, attribute)  # it is to get that of the statement which it goes before
    return expression.body  # type: ignore[no-any-return]


def whole(size: ast.expr) -> bool:
    """Whether the expression of a size can give nothing but an int: sums and products of
    lengths.
    """
    if isinstance(size, ast.BinOp):
        return (
            isinstance(size.op, (ast.Add, ast.Sub, ast.Mult))
            and whole(size.left)
            and whole(size.right)
        )
    if isinstance(size, ast.Constant):
        return type(size.value) is int
    return isinstance(size, ast.Call) and isinstance(size.func, ast.Name) and size.func.id == "len"


def last(body: list[ast.stmt]) -> ast.stmt:
    """The statement that stands last, in whatever is nested last."""
    inner = (
        getattr(body[-1], "finalbody", None)
        or getattr(body[-1], "orelse", None)
        or getattr(body[-1], "body", None)
    )
    return (
        last(inner)
        if inner and isinstance(inner, list) and not isinstance(body[-1], SCOPES)
        else body[-1]
    )


def bindings(node: FunctionNode) -> set[str]:
    """The names that a function's body assigns, imports, declares or defines."""
    names: set[str] = set()
    for part in tree.walk(node):
        if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load):
            names.add(part.id)
        elif isinstance(part, (ast.Global, ast.Nonlocal)):
            names.update(part.names)
        elif isinstance(part, ast.alias):
            names.add((part.asname or part.name).split(".")[0])
        elif isinstance(part, (ast.ExceptHandler, *SCOPES)) and isinstance(
            getattr(part, "name", None), str
        ):
            names.add(part.name)  # type: ignore[union-attr,arg-type]
        elif isinstance(getattr(part, "rest", None), str) or type(part).__name__ in (
            "MatchAs",
            "MatchStar",
        ):
            names.update(
                name for name in (getattr(part, "name", None), getattr(part, "rest", None)) if name
            )
    return names
