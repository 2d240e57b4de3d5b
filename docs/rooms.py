"""Draws the house: rooms, the arrows between them, cycles, and the rooms that `check`, `show` and
`publish` pass.

    python docs/rooms.py [CHECKOUT] [--arrows] [--floors] [--types]

A room is a folder of the package, or a module at its top. An arrow is an import, wherever in a
module it stands; those below ``if TYPE_CHECKING`` count with ``--types`` only. An arrow is a step
back if it lies in a circle of rooms. The floor of a room at the top of the package is one above the
highest that it imports.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from graphlib import TopologicalSorter
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
FAMILIES = ("collectors", "postprocessors", "views")
PATHS = ("check", "show", "publish")
GIVEN = ("__init__.py", "__main__.py", "sitecustomize.py")
MEMBER = re.compile(
    r"perfvcs\.(commands|formats|check\.methods|collectors|postprocessors|views)\.\w+"
)
Graph = Mapping[str, set[str]]


@dataclass(frozen=True)
class House:
    """The modules of a checkout: name -> file; a package is the file ``__init__.py``."""

    root: Path
    types: bool = False

    @cached_property
    def modules(self) -> dict[str, Path]:
        """All modules by their dotted names, those of the families at the top of the checkout
        included.
        """
        found = {}
        package = self.root / "perfvcs"
        for folder in (package, *(self.root / family for family in FAMILIES)):
            for path in sorted(folder.rglob("*.py")):
                parts = path.relative_to(self.root).with_suffix("").parts
                if any(
                    (package.joinpath(*parts[1:place])).is_symlink()
                    for place in range(2, len(parts))
                ):
                    continue  # the families' links
                prefix = () if folder == package else ("perfvcs",)
                found[".".join(part for part in (*prefix, *parts) if part != "__init__")] = path
        return found

    @cached_property
    def imports(self) -> dict[str, set[str]]:
        """What each module imports, in functions, too."""
        return {
            name: set(self._imported(ast.parse(path.read_text())))
            for name, path in self.modules.items()
        }

    def _imported(self, tree: ast.AST) -> Iterator[str]:
        for node in ast.iter_child_nodes(tree):
            if (
                isinstance(node, ast.If)
                and "TYPE_CHECKING" in ast.unparse(node.test)
                and not self.types
            ):
                continue
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                assert not node.level, "relative imports hide the room"
                for alias in node.names:
                    inner = f"{node.module}.{alias.name}"
                    yield inner if inner in self.modules else str(node.module)
            yield from self._imported(node)

    @cached_property
    def repeated(self) -> dict[str, list[str]]:
        """The file names that stand in several folders, with their modules.

        Those do not count that a contract gives: packages, what Python starts by its name, and
        members of families, which are called by the names of their files.
        """
        found: dict[str, list[str]] = defaultdict(list)
        for module, path in self.modules.items():
            if path.name not in GIVEN and not MEMBER.fullmatch(module):
                found[path.name].append(module)
        return {name: modules for name, modules in found.items() if len(modules) > 1}

    def room(self, module: str) -> str:
        """The folder of a module, or the module itself where it is at the top:
        ``perfvcs.check.curves.sides`` -> ``check.curves``.
        """
        parts = module.split(".")[1:]
        if self.modules[module].name != "__init__.py" and len(parts) > 1:
            parts = parts[:-1]
        return ".".join(parts) or "perfvcs"

    @cached_property
    def arrows(self) -> dict[str, set[str]]:
        """The rooms that each room imports."""
        return self.between(self.modules)

    def between(self, modules: Mapping[str, object] | set[str]) -> dict[str, set[str]]:
        """The arrows between the rooms of some modules."""
        found: dict[str, set[str]] = defaultdict(set)
        for module in modules:
            here = self.room(module)
            found[here] |= {self.room(name) for name in self.imports[module] if name in modules} - {
                here
            }
        return dict(found)

    def reached(self, start: str) -> set[str]:
        """The modules that importing one may import, however far, itself included."""
        seen, waiting = {start}, [start]
        while waiting:
            new = (self.imports[waiting.pop()] & self.modules.keys()) - seen
            seen |= new
            waiting += new
        return seen

    @cached_property
    def lines(self) -> dict[str, int]:
        """Lines of Python per room."""
        found: dict[str, int] = defaultdict(int)
        for module, path in self.modules.items():
            found[self.room(module)] += len(path.read_text().splitlines())
        return dict(found)


def circles(arrows: Graph) -> list[set[str]]:
    """The sets of rooms that reach each other, each of two or more."""
    beyond = {room: _beyond(arrows, room) for room in arrows}
    found: list[set[str]] = []
    for room in arrows:
        circle = {other for other in beyond[room] if room in beyond.get(other, ())}
        if circle and circle not in found:
            found.append(circle)
    return found


def _beyond(arrows: Graph, room: str) -> set[str]:
    """The rooms that one reaches, itself only if it comes back."""
    seen: set[str] = set()
    waiting = [room]
    while waiting:
        new = arrows.get(waiting.pop(), set()) - seen
        seen |= new
        waiting += new
    return seen


def back(arrows: Graph) -> list[tuple[str, str]]:
    """The arrows in circles."""
    tied = circles(arrows)
    return [
        (room, to)
        for room, others in arrows.items()
        for to in others
        if any({room, to} <= circle for circle in tied)
    ]


def floors(arrows: Graph) -> list[list[str]]:
    """The rooms at the top of the package, the lowest floor first; each imports from the floors
    below it only. Raises CycleError.
    """
    tops: dict[str, set[str]] = defaultdict(set)
    for room, others in arrows.items():
        top = room.partition(".")[0]
        tops[top] |= {other.partition(".")[0] for other in others} - {top}
    level: dict[str, int] = {}
    for room in TopologicalSorter(tops).static_order():
        level[room] = 1 + max((level[other] for other in tops[room]), default=-1)
    found: list[list[str]] = [[] for _ in range(max(level.values()) + 1)]
    for room in sorted(level):
        found[level[room]].append(room)
    return found


def count(arrows: Graph) -> int:
    """How many arrows there are."""
    return sum(map(len, arrows.values()))


def describe(house: House, *, arrows: bool) -> Iterator[str]:
    """The lines that the script prints."""
    rooms = house.arrows
    yield (
        f"rooms {len(rooms)}, arrows {count(rooms)}, in circles {len(back(rooms))}, lines"
        f" {sum(house.lines.values()):,}"
    )
    yield from (f"circle: {', '.join(sorted(circle))}" for circle in circles(rooms))
    for command in PATHS:
        part = house.between(house.reached(f"perfvcs.commands.{command}"))
        yield (
            f"perf {command}: rooms {len(part)}, arrows {count(part)}, steps back {len(back(part))}"
        )
    for room in sorted(rooms):
        yield f"{room:28} {house.lines[room]:6,} lines" + (
            f"  -> {', '.join(sorted(rooms[room]))}" if arrows else ""
        )


def stacked(house: House) -> Iterator[str]:
    """A line per floor, the highest first."""
    for number, rooms in reversed(list(enumerate(floors(house.arrows)))):
        yield f"{number:2} {', '.join(rooms)}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkout", nargs="?", type=Path, default=HERE, help="where perfvcs/ is")
    parser.add_argument("--arrows", action="store_true", help="print where each room's arrows lead")
    parser.add_argument(
        "--floors", action="store_true", help="print only the rooms by floor, the highest first"
    )
    parser.add_argument("--types", action="store_true", help="count imports that only types need")
    asked = parser.parse_args()
    house = House(asked.checkout.resolve(), asked.types)
    print("\n".join(stacked(house) if asked.floors else describe(house, arrows=asked.arrows)))


if __name__ == "__main__":
    main()
