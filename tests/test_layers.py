"""The modules import one way: no cycles, and the order of layers that the design fixes."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import perfvcs

PACKAGE = Path(perfvcs.__file__).parent
LAYERS = (  # docs/architecture.md draws the same
    {"errors", "interruption", "text"},
    {"keeper"},
    {"profile", "native", "statistics", "units", "rules", "descriptors", "wholefile"},
    {"git"},
    {"lock", "summary", "environment", "process", "plugins", "collector", "linuxperf", "interpreter", "fork", "workloads"},
    {"store", "launcher"},
    {"index", "collectors", "complexity", "instructions", "counters", "sampling", "testing"}
    | {"memory", "postprocessors", "formats"},
    {"jobs", "check"},
    {"gate"},
    {"subject", "repository"},
    {"history"},
    {"drawing"},
    {"views"},
    {"plan"},
    {"measure", "locate"},
    {"page", "hooks"},
    {"reports", "exchange"},
    {"site"},
    {"commands", "pytestplugin"},
    {"cli"},
    {"entry"},
)
FAMILIES = {"collectors", "postprocessors", "views"}
NOT_FOR_FAMILIES = {
    "store",
    "git",
    "index",
    "jobs",
    "repository",
    "measure",
    "locate",
    "history",
    "reports",
    "exchange",
    "commands",
    "cli",
}


def sources() -> dict[str, Path]:
    """Module name -> file; a package is the file ``__init__.py``."""
    found = {}
    for folder in (PACKAGE, *(PACKAGE / family for family in FAMILIES)):  # a glob does not follow the families' links
        for path in folder.rglob("*.py"):
            parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
            found[".".join(part for part in parts if part != "__init__")] = path
    return found


def imported(tree: ast.AST, modules: dict[str, Path]) -> Iterator[str]:
    """The modules that a tree imports anywhere, functions included; ``if TYPE_CHECKING`` does not count."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.expr) or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)):
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "relative imports hide the layer"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in modules else str(node.module)
        yield from imported(node, modules)


@pytest.fixture(scope="module")
def graph() -> dict[str, set[str]]:
    modules = sources()
    return {name: set(imported(ast.parse(path.read_text()), modules)) for name, path in modules.items()}


def layer(module: str) -> str:
    """The second part of a dotted name: ``perfvcs.check.verdict`` -> ``check``."""
    return (module + ".").split(".")[1]


@pytest.fixture(scope="module")
def reached(graph: dict[str, set[str]]) -> Callable[[str], set[str]]:
    """Every module that importing one may import, however far."""

    @cache
    def modules(start: str) -> set[str]:
        seen, todo = set(), [start]
        while todo:
            new = graph.get(todo.pop(), set()) - seen
            seen |= new
            todo += new
        return seen

    return modules


def test_no_module_imports_itself_in_a_circle(graph):
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" <- ".join(error.args[1]))


@pytest.mark.parametrize("level", range(len(LAYERS)))
def test_a_layer_imports_none_above_it(graph, reached, level):
    above = set().union(*LAYERS[level + 1 :])
    for module in graph:
        if layer(module) in LAYERS[level]:
            wrong = [name for name in reached(module) if name.startswith("perfvcs.") and layer(name) in above]
            assert not wrong, f"{module} must not import {wrong}"


def test_families_know_neither_the_store_nor_the_command_line(graph, reached):
    for module in graph:
        if layer(module) in FAMILIES:
            everything = reached(module)
            wrong = [name for name in everything if name.startswith("perfvcs.") and layer(name) in NOT_FOR_FAMILIES]
            assert not wrong, f"{module} must not import {wrong}"
            assert not any(name.split(".")[0] == "click" for name in everything), f"{module} must not import click"


def test_a_collector_is_imported_by_none_but_itself(graph):
    for module, imports in graph.items():
        own = tuple(module.split(".")[1:3])
        for name in imports:
            family, member = (*name.split(".")[1:3], "", "")[:2]
            if family == "collectors" and member not in ("", "_shared"):
                assert own == (family, member), f"{module} must not import {name}: plugins.py finds collectors by their names"


def test_only_the_command_line_imports_click(graph):
    wrong = [name for name, imports in graph.items() if layer(name) not in ("cli", "commands") and "click" in imports]
    assert not wrong


def test_only_the_room_of_git_runs_it():
    def runs_git(path: Path) -> bool:
        nodes = ast.walk(ast.parse(path.read_text()))
        commands = (node.elts[0] for node in nodes if isinstance(node, ast.List | ast.Tuple) and node.elts)
        return any(isinstance(word, ast.Constant) and word.value == "git" for word in commands)

    found = {name for name, path in sources().items() if runs_git(path)}
    assert found == {"perfvcs.git.command", "perfvcs.environment"}, (
        "the environment records git's version, and runs it for nothing else"
    )


def test_nothing_imports_a_family_by_its_bare_name(graph):
    for module, imports in graph.items():
        assert not {name.split(".")[0] for name in imports} & FAMILIES, module
