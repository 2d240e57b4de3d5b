"""The functions of a project by the frames of its call trees."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from pathlib import PurePosixPath

from perfvcs.git.project import Project
from perfvcs.locate.hunks import texts
from perfvcs.locate.outline import Definition, language, last_name, outline, plain, unit
from perfvcs.text.lines import source_lines

MOST_SOURCES = 2000  # files of C and C++ whose functions are looked up


class Places:
    """The functions of a project by the frames of its call trees."""

    def __init__(self, files: Iterable[str]) -> None:
        self.files = set(files)
        self._known: dict[str, str | None] = {}
        self._ends: defaultdict[str, list[str]] = defaultdict(list)
        for path in self.files:
            self._ends[PurePosixPath(path).name].append(path)
        self._native: dict[str, str] = {}
        self._mentions: dict[str, set[str]] = {}

    @classmethod
    def of(cls, project: Project, a: str, b: str, *, native: bool) -> Places:
        """Those of two commits; ``native``: the functions of C and C++ in the sources of ``b`` are looked up, too."""
        before, after = _files(project, a), _files(project, b)
        found = cls([*before, *after])
        if native:
            sources = sorted(path for path in after if language(path) == "c")[:MOST_SOURCES]
            known = texts(project, {after[path] for path in sources})
            for path in sources:
                text = known[after[path]] or ""
                source = outline(path, text)
                found.define(path, source.definitions if source else (), source_lines(text))
        return found

    def define(self, path: str, definitions: Iterable[Definition], source: Sequence[str]) -> None:
        """The functions of C and C++ that a file defines, since frames of those name no file."""
        for one in definitions:
            key = f"{path}:{one.name}"
            self._native.setdefault(plain(one.name), key)
            self._native.setdefault(last_name(plain(one.name)), key)
            self._mentions.setdefault(key, set()).update(re.findall(r"\w+", "\n".join(source[one.first - 1 : one.last])))

    def inside(self, key: str, reached: Collection[str]) -> set[str]:
        """The functions of C and C++ that may be parts of the body of one: it, or one inside it, names them, and no frame does."""
        found: set[str] = set()
        waiting = [key]
        while waiting:
            named = {self._native.get(word) for word in self._mentions.get(waiting.pop(), ())}
            new = {one for one in named if one is not None and one not in reached} - found - {key}
            found |= new
            waiting += new
        return found

    def owner(self, frame: str) -> str | None:
        """The function that answers for a frame, as ``file:name``; None where it is not of this project."""
        if frame not in self._known:
            self._known[frame] = self._find(frame)
        return self._known[frame]

    def _find(self, frame: str) -> str | None:
        name, file = unit(frame)
        if file.endswith((".py", ".pyw")):
            path = self._path(file)
            return f"{path}:{name}" if path else None
        bare = plain(name)
        known = self._native.get(bare) or self._native.get(bare.rpartition("::")[2])
        if known is None and file and ("/" in file or not re.search(r"\.so\b|^\[|^[\w.]*\.?builtins$", file)) and self._native:
            return f"{file}:{bare}"
        return known

    def _path(self, file: str) -> str | None:
        """The project's file that a frame is in: that very path, or the only one that ends like it (of an installed package)."""
        if file in self.files:
            return file
        fitting = (
            [path for path in self._ends.get(PurePosixPath(file).name, ()) if path.endswith(f"/{file}")] if "/" in file else []
        )
        return fitting[0] if len(fitting) == 1 else None


def _files(project: Project, commit: str) -> dict[str, str]:
    """The files of a commit, each with the name of its content."""
    entries = (entry.partition("\t") for entry in project.git("ls-tree", "-r", "-z", commit).split("\0"))
    return {path: about.split(" ")[2] for about, _, path in entries if " blob " in about}


def is_source(path: str, overlay: Iterable[str]) -> bool:
    """Whether a file may differ in what is measured: not the benchmark's own, which are the same for all revisions."""
    return not any(path == entry.rstrip("/") or path.startswith(f"{entry.rstrip('/')}/") for entry in overlay)
