"""Projects with patches for `perf judge`: speed-ups, changes without an effect, and tricks.

A file of TOML holds a project: files of its own, those that come from this Python's standard library
with ``replace`` done in them, and its patches. A patch replaces texts (``edits``: path, before,
after), writes ``files``, appends texts (``append``) and makes ``links``; ``answers`` are the words that are right beside
`not decided`. ``{output}`` in a patch is what the project prints, as a string of C.
"""

from __future__ import annotations

import json
import sysconfig
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ..repositories import git, repository

HERE = Path(__file__).parent
PROJECTS = ("json", "shell", "words", "distances")
# files of tricks that were written after the guard of their time
UNSEEN = ("unseen", "later", "last", "fresh", "inputs", "beyond")
IGNORED = "__pycache__/\n*.o\n/words\n/distances\n/mixer\n*.bin\n"
Kind = Literal["faster", "equal", "trick"]
ANSWERS: dict[Kind, tuple[str, ...]] = {"faster": ("proved",), "equal": ("refuted",)}


@dataclass(frozen=True)
class Patch:
    """A change of a project. ``options`` of `perf judge` may name ``{hidden}``, a file that only the
    judge has. ``leaves`` is a file that it leaves outside of the project, ``outside`` the
    text of one beside it, to which ``{outside}`` of a link leads.
    """

    name: str
    kind: Kind
    edits: tuple[tuple[str, str, str], ...] = ()
    files: dict[str, str] = field(default_factory=dict)
    append: dict[str, str] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    leaves: str = ""
    outside: str = ""

    @property
    def right(self) -> tuple[str, ...]:
        """The verdicts that are right."""
        return (*(self.answers or ANSWERS[self.kind]), "not decided")

    def apply(self, folder: Path, output: str = "") -> None:
        """Change the files in a folder; raises LookupError where one is not as it was."""
        for path, before, after in self.edits:
            text = (folder / path).read_text()
            if text.count(before) != 1:
                raise LookupError(f"{self.name}: {path} has {text.count(before)} times {before!r}")
            (folder / path).write_text(text.replace(before, after.replace("{output}", output)))
        for path, text in self.files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text.replace("{output}", output))
        for path, text in self.append.items():
            with (folder / path).open("a") as file:
                file.write(text)
        beside = folder.with_name("outside")
        if self.outside:
            beside.write_text(self.outside.replace("{output}", output))
        for path, target in self.links.items():
            git(folder, "rm", "-r", "--quiet", path)
            (folder / path).symlink_to(target.replace("{outside}", str(beside)))


@dataclass(frozen=True)
class JudgedProject:
    """A project, the command that its benchmark runs, and its patches."""

    name: str
    files: dict[str, str]
    patches: tuple[Patch, ...]
    run: tuple[str, ...]
    hidden: str = ""

    def begin(self, folder: Path) -> Path:
        """The project as a repository."""
        return repository(folder, self.files | {".gitignore": IGNORED})


def judged_project(name: str) -> JudgedProject:
    """A project by its name; raises LookupError where this Python's library is another one."""
    document = tomllib.loads((HERE / f"{name}.toml").read_text())
    files: dict[str, str] = {path: text.lstrip("\n") for path, text in document["files"].items()}
    for path, source in document.get("library", {}).items():
        files[path] = _of_library(source, document["replace"])
    patches = tuple(_patch(row) for row in document.get("patch", ()))
    return JudgedProject(name, files, patches, tuple(document["run"]), document.get("hidden", ""))


def unseen(names: tuple[str, ...]) -> list[tuple[JudgedProject, Patch]]:
    """The tricks of files that were written after the guard, each with its project."""
    rows = [
        row for name in names for row in tomllib.loads((HERE / f"{name}.toml").read_text())["patch"]
    ]
    return [(judged_project(row.pop("project")), _patch(row)) for row in rows]


def _of_library(source: str, replaced: list[list[str]]) -> str:
    text = (Path(sysconfig.get_path("stdlib")) / source).read_text()
    for before, after in replaced:
        text = text.replace(before, after)
    return text


def _patch(row: dict[str, Any]) -> Patch:
    lists = {key: tuple(row[key]) for key in ("options", "answers") if key in row}
    edits = tuple((path, before, after) for path, before, after in row.get("edits", ()))
    texts: dict[str, Any] = {**row, **lists, "edits": edits}
    return Patch(**texts)


def literal(output: str) -> str:
    """A text as a string of C, or of Python."""
    return json.dumps(output)
