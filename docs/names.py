"""Counts names with several meanings (classes, aliases, parameters, constants), positional flags,
tuples in place of named types.

    python docs/names.py [CHECKOUT] [--list]

A class or a constant has several meanings if several modules define one of that name; private ones,
which stay in their modules, are counted apart. An alias has as many meanings as its definitions
have texts, and one more where a class has its name. A parameter has as many meanings as its
annotations have texts. A flag is a parameter of the type bool.

A constant is used where it is read, in its own module or in one that imports it. One that is a
number or a string, is used once and has no comment could be the number or string itself.
"""

from __future__ import annotations

import argparse
import ast
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from rooms import HERE, House

PARAMETERS = ("place", "found", "one", "each", "told")
LONG = 350  # lines
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Names:
    """The names in the modules of a checkout."""

    def __init__(self, root: Path) -> None:
        self.lines: dict[str, int] = {}
        self.classes: dict[str, set[str]] = defaultdict(set)
        self.constants: dict[str, set[str]] = defaultdict(set)
        self.aliases: dict[str, set[str]] = defaultdict(set)
        self.parameters: dict[str, list[str]] = defaultdict(list)
        self.flags: list[str] = []
        self.tuples: list[str] = []
        self.uses: Counter[str] = Counter()
        self.literals: dict[str, str] = {}
        for module, path in House(root).modules.items():
            source = path.read_text()
            self.lines[module] = source.count("\n")
            tree = ast.parse(source)
            self._read(module, tree)
            self.uses.update(_uses(module, tree))
            self.literals |= _literals(module, tree, source.splitlines())

    def used_once(self) -> list[str]:
        """The constants that are used once, as ``module.NAME``."""
        constants = {
            f"{module}.{name}" for name, modules in self.constants.items() for module in modules
        }
        return sorted(name for name in constants if self.uses[name] == 1)

    def _read(self, module: str, tree: ast.Module) -> None:
        for node in tree.body:
            for name in _constants(node):
                self.constants[name].add(module)
            for alias in _aliases(node):
                self.aliases[ast.unparse(alias.targets[0])].add(ast.unparse(alias.value))
        for inner in ast.walk(tree):
            if isinstance(inner, ast.ClassDef):
                self.classes[inner.name].add(module)
            elif isinstance(inner, Function):
                self._function(f"{module}.{inner.name}", inner)

    def _function(self, name: str, node: Function) -> None:
        arguments = node.args
        for parameter in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            self.parameters[parameter.arg].append(
                ast.unparse(parameter.annotation) if parameter.annotation else ""
            )
        special = node.name.startswith("__") and node.name.endswith("__")
        if not special and any(
            _is_bool(parameter) for parameter in (*arguments.posonlyargs, *arguments.args)
        ):
            self.flags.append(name)
        if _elements(node.returns) >= 3:
            self.tuples.append(name)


def _constants(node: ast.stmt) -> Iterator[str]:
    targets = (
        node.targets
        if isinstance(node, ast.Assign)
        else [node.target]
        if isinstance(node, ast.AnnAssign)
        else []
    )
    for target in targets:
        names = target.elts if isinstance(target, ast.Tuple) else [target]
        yield from (
            name.id
            for name in names
            if isinstance(name, ast.Name) and name.id.isupper() and name.id != "TYPE_CHECKING"
        )


def _aliases(node: ast.stmt) -> Iterator[ast.Assign]:
    """The aliases of types in a statement of a module, or inside its ``if TYPE_CHECKING``."""
    for inner in node.body if isinstance(node, ast.If) else [node]:
        if isinstance(inner, ast.Assign) and isinstance(inner.value, ast.Subscript | ast.BinOp):
            name = inner.targets[0]
            if (
                isinstance(name, ast.Name)
                and name.id.strip("_")[:1].isupper()
                and not name.id.isupper()
            ):
                yield inner


def _uses(module: str, tree: ast.Module) -> Iterator[str]:
    """Each use of a constant, as ``module.NAME`` of the module that defines it."""
    origins = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            origins |= {
                alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names
            }
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id.isupper():
            yield origins.get(node.id, f"{module}.{node.id}")
        elif isinstance(node, ast.Attribute) and node.attr.isupper():
            holder = ast.unparse(node.value)
            yield f"{origins.get(holder, holder)}.{node.attr}"


def _literals(module: str, tree: ast.Module, lines: list[str]) -> dict[str, str]:
    """The constants that are a number or a string without a comment, as ``module.NAME``."""
    found = {}
    for node in tree.body:
        value = getattr(node, "value", None)
        if isinstance(value, ast.UnaryOp):
            value = value.operand
        commented = "#" in lines[node.end_lineno - 1] or lines[node.lineno - 2].startswith("#")
        if isinstance(value, ast.Constant) and not commented:
            found |= {f"{module}.{name}": ast.unparse(value) for name in _constants(node)}
    return found


def _is_bool(parameter: ast.arg) -> bool:
    return isinstance(parameter.annotation, ast.Name) and parameter.annotation.id == "bool"


def _elements(node: ast.expr | None) -> int:
    """Of a tuple of a fixed length that a function returns, be it one of many or None instead: how
    many it has.
    """
    tuples = [
        len(inner.slice.elts)
        for inner in (ast.walk(node) if node is not None else ())
        if isinstance(inner, ast.Subscript)
        and ast.unparse(inner.value) == "tuple"
        and isinstance(inner.slice, ast.Tuple)
        if not any(
            isinstance(element, ast.Constant) and element.value is ...
            for element in inner.slice.elts
        )
    ]
    return max(tuples, default=0)


def describe(names: Names, *, listed: bool) -> Iterator[str]:
    """The lines that the script prints."""
    for what, modules in (("classes", names.classes), ("constants", names.constants)):
        several = {name: where for name, where in modules.items() if len(where) > 1}
        private = sum(name.startswith("_") for name in several)
        yield (
            f"{what} {len(modules):,}, names in several modules {len(several) - private} (and"
            f" private {private})"
        )
        for name, where in (
            sorted(several.items(), key=lambda item: (-len(item[1]), item[0])) if listed else ()
        ):
            yield f"    {name}: {len(where)}: {', '.join(sorted(where))}"
    once = names.used_once()
    plain = [name for name in once if name in names.literals]
    yield (
        f"constants used once {len(once):,}, of them numbers and strings without a comment"
        f" {len(plain):,}"
    )
    for name in plain if listed else ():
        yield f"    {name} = {names.literals[name]}"
    texts = {
        name: found | {"a class"} if name in names.classes else found
        for name, found in names.aliases.items()
    }
    meanings = {name: found for name, found in texts.items() if len(found) > 1}
    yield f"aliases of types {len(texts)}, with several meanings {len(meanings)}"
    for name, found in sorted(meanings.items()) if listed else ():
        yield f"    {name}: {len(found)}: {'; '.join(sorted(found))}"
    for name in PARAMETERS:
        types = names.parameters[name]
        yield f"parameter {name}: {len(types)}, types {len(set(types))}" + (
            f": {sorted(set(types))}" if listed else ""
        )
    for what, where in (
        ("positional flags", names.flags),
        ("tuples of three or more", names.tuples),
    ):
        yield f"functions with {what}: {len(where)}" + "".join(
            f"\n    {name}" for name in where if listed
        )
    long = sorted(
        ((count, module) for module, count in names.lines.items() if count > LONG), reverse=True
    )
    yield f"modules above {LONG} lines: {len(long)}" + "".join(
        f"\n    {module} {count}" for count, module in long
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkout", nargs="?", type=Path, default=HERE, help="where perfvcs/ is")
    parser.add_argument("--list", action="store_true", help="print the names and where they are")
    asked = parser.parse_args()
    print("\n".join(describe(Names(asked.checkout.resolve()), listed=asked.list)))


if __name__ == "__main__":
    main()
