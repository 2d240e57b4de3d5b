"""The modules import one way: no cycles, and the order of layers that the design fixes."""

from __future__ import annotations

import ast
import re
from collections import Counter
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, script

LAYERS = (  # docs/architecture.md draws the same
    {"errors", "text", "bench"},
    {"system"},
    {"profile", "native", "statistics"},
    {"git"},
    {"environment", "plugins"},
    {"store", "launcher"},
    {"index", "collectors", "postprocessors", "formats"},
    {"jobs", "check"},
    {"gate"},
    {"repository"},
    {"history"},
    {"plan"},
    {"measure"},
    {"hosts"},
    {"locate", "judge"},
    {"pictures", "hooks", "agents"},
    {"views"},
    {"reports", "exchange"},
    {"site"},
    {"watch"},
    {"ci"},
    {"commands", "pytestplugin"},
    {"cli"},
    {"entry"},
    {"__main__"},
)
FAMILIES = {"collectors", "postprocessors", "views"}
NOT_FOR_FAMILIES = {
    "store",
    "git",
    "index",
    "jobs",
    "repository",
    "leftovers",
    "lookup",
    "measure",
    "history",
    "reports",
    "exchange",
    "commands",
    "cli",
}


# started as programs, by their files, by an entry point, or imported by users' programs
STARTED = {
    "__main__",
    "bench",
    "pytestplugin",
    "hosts.measurer",
    "launcher.fallback",
    "launcher.portable",
    "native.assembler",
}
BY_NAME = re.compile(
    r"(commands|formats|check\.methods|collectors|postprocessors|views)\.\w+|(.*\.inside|native)\.(python|start)(\.\w+)?"
)


CALLED_BY_OTHERS = re.compile(r"\.(pytest_\w+|dask_setup)$")
# parts of the product that may use a name of ours
READABLE = {".py", ".html", ".js", ".c", ".h"}


def defined(node: ast.stmt) -> list[str]:
    """The names that a statement defines."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [target.id for target in targets if isinstance(target, ast.Name)]


@cache
def rooms() -> Any:
    """docs/rooms.py."""
    return script(ROOT / "docs" / "rooms.py")


@cache
def house() -> Any:
    """The modules and rooms of this checkout, as docs/rooms.py sees them."""
    return rooms().House(ROOT)


@pytest.fixture(scope="module")
def graph() -> dict[str, set[str]]:
    return house().imports


def layer(module: str) -> str:
    """The second part of a dotted name: ``perfvcs.check.verdict`` -> ``check``."""
    return (module + ".").split(".")[1]


@cache
def reached(start: str) -> frozenset[str]:
    """Every module of ours that importing ``start`` may import, however far; and click."""
    found = house().reached(start)
    return frozenset(
        {
            name
            for module in found
            for name in house().imports[module]
            if name in found or name.startswith("click")
        }
    )


def test_every_module_is_on_one_floor(graph):
    rooms = {layer(name) for name in graph} - {""}
    floors = [room for floor in LAYERS for room in floor]
    assert len(floors) == len(set(floors))
    assert rooms == set(floors)


def test_the_arrows_between_rooms_point_one_way():
    try:
        floors = rooms().floors(house().arrows)
    except CycleError as error:
        pytest.fail(" <- ".join(error.args[1]))
    for number, floor in enumerate(floors):
        below = {room for lower in floors[:number] for room in lower}
        tops = {
            room: others
            for room, others in house().arrows.items()
            if room.partition(".")[0] in floor
        }
        assert {
            other.partition(".")[0] for others in tops.values() for other in others
        } <= below | set(floor)


def test_folders_inside_a_room_are_not_tied_either():
    assert [sorted(circle) for circle in rooms().circles(house().arrows)] == []


def test_the_page_of_the_architecture_names_every_room_and_no_other(graph):
    page = (ROOT / "docs" / "architecture.md").read_text()
    block = page[page.index("perfvcs/\n") :].partition("\n```")[0]
    named = re.findall(r"^  ?(\w+)(?:/|\.py) ", block, flags=re.MULTILINE)
    families = [
        family
        for line in block.splitlines()
        if not line.startswith(" ")
        for family in re.findall(r"\b(\w+)/", line)
    ]
    beside = re.findall(
        r"\b(\w+)\.py",
        " ".join(line for line in block.splitlines() if re.match(r"  \w+\.py", line)),
    )
    rooms = {layer(name) for name in graph} - {""}
    assert rooms - FAMILIES <= {*named, *beside}, "rooms that the page does not name"
    assert set(named) <= rooms, "rooms that are not there"
    assert {*families} == FAMILIES | {"perfvcs"}, "the families"


def test_the_page_of_the_architecture_goes_from_the_bottom_up():
    floors = {room: number for number, floor in enumerate(LAYERS) for room in floor}
    page = (ROOT / "docs" / "architecture.md").read_text()
    block = page[page.index("perfvcs/\n") :].partition("\n```")[0]
    named = re.findall(r"^  (\w+)(?:/|\.py) ", block, flags=re.MULTILINE)
    assert named == sorted(named, key=floors.__getitem__)


def test_the_page_of_the_architecture_names_no_file_that_is_gone():
    named = re.findall(r"\b(\w+\.(?:py|js|c))\b", (ROOT / "docs" / "architecture.md").read_text())
    there = {
        path.name
        for top in ("perfvcs", *sorted(FAMILIES), "docs", "tests")
        for path in (ROOT / top).rglob("*.*")
    }
    assert [name for name in named if name not in there] == []


def test_no_two_files_of_tests_have_one_name():
    """pytest imports them by their names, without their folders."""
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert [name for name, count in Counter(names).items() if count > 1] == []


def test_no_module_imports_itself_in_a_circle(graph):
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" <- ".join(error.args[1]))


def test_every_module_is_imported_by_another_one_of_the_product(graph):
    """What only tests import is not there for users."""
    wanted = {name for module, imports in graph.items() for name in imports if name != module}
    wanted |= {parent for name in wanted for parent in accumulate(name.split("."), "{}.{}".format)}
    alone = {name.removeprefix("perfvcs.") for name in graph.keys() - wanted}
    assert not {name for name in alone - STARTED if not BY_NAME.fullmatch(name)}


@pytest.mark.slow
def test_every_name_at_the_top_of_a_module_is_used_by_the_product():
    """Members are found by their files."""
    tops = [ROOT / name for name in ("perfvcs", "comment", *sorted(FAMILIES))]
    files = [path for top in tops for path in top.rglob("*.*") if path.suffix in READABLE]
    texts = {path: path.read_text() for path in files}
    uses = Counter(word for text in texts.values() for word in re.findall(r"\w+", text))
    alone = []
    for path, text in texts.items():
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        module = module.removeprefix("perfvcs.").removesuffix(".__init__")
        if path.suffix != ".py" or module in STARTED:
            continue
        nodes = ast.parse(text).body
        if BY_NAME.fullmatch(module):
            nodes = [node for node in nodes if not isinstance(node, ast.ClassDef)]
        names = (name for node in nodes for name in defined(node))
        alone += [f"{module}.{name}" for name in names if uses[name] == 1]
    assert [name for name in alone if not CALLED_BY_OTHERS.search(name)] == []


@pytest.mark.parametrize("level", range(len(LAYERS)))
def test_a_layer_imports_none_above_it(graph, level):
    above = set().union(*LAYERS[level + 1 :])
    for module in graph:
        if layer(module) in LAYERS[level]:
            wrong = [
                name
                for name in reached(module)
                if name.startswith("perfvcs.") and layer(name) in above
            ]
            assert not wrong, f"{module} must not import {wrong}"


def test_families_know_neither_the_store_nor_the_command_line(graph):
    for module in graph:
        if layer(module) in FAMILIES:
            everything = reached(module)
            wrong = [
                name
                for name in everything
                if name.startswith("perfvcs.") and layer(name) in NOT_FOR_FAMILIES
            ]
            assert not wrong, f"{module} must not import {wrong}"
            assert not any(name.split(".")[0] == "click" for name in everything), (
                f"{module} must not import click"
            )


def test_a_collector_is_imported_by_none_but_itself(graph):
    for module, imports in graph.items():
        own = tuple(module.split(".")[1:3])
        for name in imports:
            family, member = (*name.split(".")[1:3], "", "")[:2]
            if family == "collectors" and member not in ("", "_shared"):
                assert own == (family, member), (
                    f"{module} must not import {name}: perfvcs.plugins finds collectors by their"
                    " names"
                )


def test_the_recorder_of_c_has_one_way_in(graph):
    recorder = "perfvcs.collectors.complexity.native"
    for module, imports in graph.items():
        if not f"{module}.".startswith(f"{recorder}."):
            assert not [name for name in imports if name.startswith(f"{recorder}.")], module


def test_only_the_command_line_imports_click_and_what_draws_its_bar(graph):
    wrong = [
        name
        for name, imports in graph.items()
        if layer(name) not in ("cli", "commands") and "click" in imports
    ]
    assert wrong == ["perfvcs.measure.progress"]


@pytest.mark.slow
def test_only_the_room_of_git_runs_it():
    def runs_git(path: Path) -> bool:
        nodes = ast.walk(ast.parse(path.read_text()))
        commands = (
            node.elts[0] for node in nodes if isinstance(node, ast.List | ast.Tuple) and node.elts
        )
        return any(isinstance(word, ast.Constant) and word.value == "git" for word in commands)

    found = {name for name, path in house().modules.items() if runs_git(path)}
    assert found == {"perfvcs.git.command", "perfvcs.environment"}, (
        "the environment records git's version, and runs it for nothing else"
    )


def test_nothing_imports_a_family_by_its_bare_name(graph):
    for module, imports in graph.items():
        assert not {name.split(".")[0] for name in imports} & FAMILIES, module


def test_a_file_name_stands_once_but_for_families() -> None:
    assert house().repeated == {}


def test_scripts_import_what_exists() -> None:
    """Nobody runs every benchmark after a rename."""
    scripts = [
        path
        for folder in ("benchmarks", "docs", "examples")
        for path in sorted((ROOT / folder).rglob("*.py"))
    ]
    wanted = {
        (node.module, alias.name): script
        for script in scripts
        for node in ast.walk(ast.parse(script.read_text()))
        if isinstance(node, ast.ImportFrom)
        and node.module
        and node.module.split(".")[0] == "perfvcs"
        for alias in node.names
    }
    assert wanted
    lost = [
        f"{script.name}: {module}.{name}"
        for (module, name), script in wanted.items()
        if not _gives(module, name)
    ]
    assert lost == []


def _gives(module: str, name: str) -> bool:
    """Whether a module has a name, or is the package of one; nothing but packages is imported."""
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        return False
    inner = Path(spec.origin).with_name(name)
    return (
        bool(re.search(rf"\b{name}\b", Path(spec.origin).read_text()))
        or inner.is_dir()
        or inner.with_suffix(".py").exists()
    )
