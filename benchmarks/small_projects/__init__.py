"""Small projects, one of each kind that `perf init` knows, with a slip in one function.

A file of TOML holds a project: its files, a slip, innocent changes, and what is right to say of the
slip. With ``like``, what another file holds comes first.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..repositories import commit, git, repository

HERE = Path(__file__).parent
KINDS = (
    "pytest",
    "asv",
    "pytest-benchmark",
    "perfvcs-bench",
    "ctest",
    "make",
    "google-benchmark",
    "catch2",
    "cargo",
    "go",
    "node",
    "shell",
)


@dataclass(frozen=True)
class SmallProject:
    """A project and its slip.

    ``job`` and ``unit`` are the benchmark that the slip makes slower; ``unit`` is empty where `perf`
    measures the project's program only as a whole. ``function`` is the one with the slip.
    """

    kind: str
    job: str
    function: str
    slip: dict[str, Any]
    innocent: list[dict[str, Any]]
    files: dict[str, str]
    unit: str = ""
    needs: list[str] = field(default_factory=list)

    def begin(self, folder: Path) -> None:
        """A repository with the project in its first commit."""
        repository(folder, {name: text.lstrip("\n") for name, text in self.files.items()})

    def go_on(self, folder: Path, number: int) -> str:
        """Commit a change that costs nothing; the commit's id.

        The first ones are those that are written, the others only add a line to README.md.
        """
        if number < len(self.innocent):
            return self._commit(folder, f"innocent {number}", self.innocent[number])
        readme = folder / "README.md"
        text = readme.read_text() if readme.exists() else ""
        return commit(folder, f"innocent {number}", {"README.md": f"{text}Line {number}.\n"})

    def slip_in(self, folder: Path) -> str:
        """Commit the slip; the commit's id."""
        return self._commit(folder, "a slip", self.slip)

    def _commit(self, folder: Path, message: str, change: dict[str, Any]) -> str:
        path = folder / change["path"]
        text = path.read_text()
        for edit in (change, *change.get("also", ())):
            if text.count(edit["old"]) != 1:
                raise ValueError(f"{self.kind}: {change['path']} lacks {edit['old']!r}")
            text = text.replace(edit["old"], edit["new"])
        path.write_text(text)
        git(folder, "add", "--all")
        git(folder, "commit", "--quiet", "--message", message)
        return git(folder, "rev-parse", "HEAD")


def small_project(kind: str) -> SmallProject:
    """The project of a kind."""
    return SmallProject(kind=kind, **_read(kind))


def _read(name: str) -> dict[str, Any]:
    own: dict[str, Any] = tomllib.loads((HERE / f"{name}.toml").read_text())
    if "like" not in own:
        return own
    shared = _read(own.pop("like"))
    return {**shared, **own, "files": {**shared["files"], **own["files"]}}
