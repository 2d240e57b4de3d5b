"""Small projects, one of each kind that `perf init` knows, with a slip in one function.

A file of TOML holds a project: its files, a slip, innocent changes, and what is right to say of the
slip. With ``like``, what another file holds comes first.
"""

from __future__ import annotations

import os
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
# the project of each language in which everything is tried
LANGUAGES = {
    "Python": "perfvcs-bench",
    "C": "make",
    "Go": "go",
    "Rust": "cargo",
    "JavaScript": "node",
    "shell": "shell",
    "Perl": "perl",
    "Ruby": "ruby",
    "Lua": "lua",
    "Java": "java",
}
REPORT = "print(sum(range(1000)))\n"  # a program that no benchmark runs


@dataclass(frozen=True)
class SmallProject:
    """A project and its slip.

    ``job`` and ``unit`` are the benchmark that the slip makes slower; ``unit`` is empty where `perf`
    measures the project's program only as a whole. ``function`` is the one with the slip.
    ``measured``: the keys of a perf.toml that is written by hand.
    """

    kind: str
    job: str
    function: str
    slip: dict[str, Any]
    innocent: list[dict[str, Any]]
    files: dict[str, str]
    unit: str = ""
    needs: list[str] = field(default_factory=list)
    measured: dict[str, Any] = field(default_factory=dict)

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

    def slip_among(self, folder: Path) -> str:
        """Commit the slip with all the innocent changes, and with some of files that have no part
        in the benchmark; the commit's id.
        """
        for change in (*self.innocent, self.slip):
            self._edit(folder, change)
        others = {"README.md": "Letters.\n", "tools/report.py": REPORT, "tools/report.js": REPORT}
        return commit(folder, "a slip among others", others)

    def _commit(self, folder: Path, message: str, change: dict[str, Any]) -> str:
        self._edit(folder, change)
        git(folder, "add", "--all")
        git(folder, "commit", "--quiet", "--message", message)
        return git(folder, "rev-parse", "HEAD")

    def _edit(self, folder: Path, change: dict[str, Any]) -> None:
        path = folder / change["path"]
        text = path.read_text()
        for edit in (change, *change.get("also", ())):
            if text.count(edit["old"]) != 1:
                raise ValueError(f"{self.kind}: {change['path']} lacks {edit['old']!r}")
            text = text.replace(edit["old"], edit["new"])
        path.write_text(text)


def small_project(kind: str) -> SmallProject:
    """The project of a kind; ``{cpus}`` in its unit is what Go writes of the processors."""
    read = _read(kind)
    processors = len(os.sched_getaffinity(0))
    cpus = f" cpus={processors}" if processors > 1 else ""
    return SmallProject(kind=kind, **read | {"unit": read.get("unit", "").replace("{cpus}", cpus)})


def _read(name: str) -> dict[str, Any]:
    own: dict[str, Any] = tomllib.loads((HERE / f"{name}.toml").read_text())
    if "like" not in own:
        return own
    shared = _read(own.pop("like"))
    return {**shared, **own, "files": {**shared["files"], **own["files"]}}
