"""The functions of a project, by the frames in which they are seen to run."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from pathlib import PurePosixPath

from perfvcs.git.project import Project
from perfvcs.locate.sources import language
from perfvcs.locate.sources.definitions import Definition
from perfvcs.locate.sources.hunks import texts
from perfvcs.locate.sources.outline import is_outlined, last_name, outline, plain, unit
from perfvcs.text.characters import source_lines

MOST_SOURCES = 2000  # files of compiled languages whose functions are looked up


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
        """Those of two commits; ``native``: the functions of C and C++ in the sources of ``b`` are
        looked up, too.
        """
        before, after = _files(project, a), _files(project, b)
        places = cls([*before, *after])
        if native:
            sources = sorted(path for path in after if _is_native(path))[:MOST_SOURCES]
            contents = texts(project, {after[path] for path in sources})
            for path in sources:
                text = contents[after[path]] or ""
                source = outline(path, text)
                places.define(path, source.definitions if source else (), source_lines(text))
        return places

    @property
    def names_native(self) -> bool:
        """Whether functions of C and C++ are known."""
        return bool(self._native)

    def define(self, path: str, definitions: Iterable[Definition], source: Sequence[str]) -> None:
        """The functions of C and C++ that a file defines, since frames of those name no file."""
        for definition in definitions:
            key = f"{path}:{definition.name}"
            self._native.setdefault(plain(definition.name), key)
            self._native.setdefault(last_name(plain(definition.name)), key)
            self._mentions.setdefault(key, set()).update(
                re.findall(r"\w+", "\n".join(source[definition.first - 1 : definition.last]))
            )

    def inside(self, key: str, reached: Collection[str]) -> set[str]:
        """The functions of C and C++ that may be parts of the body of one: it, or one inside it,
        names them, and no frame does.
        """
        inner: set[str] = set()
        waiting = [key]
        while waiting:
            named = {self._native.get(word) for word in self._mentions.get(waiting.pop(), ())}
            new = (
                {function for function in named if function is not None and function not in reached}
                - inner
                - {key}
            )
            inner |= new
            waiting += new
        return inner

    def owner(self, frame: str) -> str | None:
        """The function that answers for a frame, as ``file:name``; None where it is not of this
        project.
        """
        if frame not in self._known:
            self._known[frame] = self._find(frame)
        return self._known[frame]

    def _find(self, frame: str) -> str | None:
        name, file = unit(frame)
        if file.endswith((".py", ".pyw")):
            path = self._path(file)
            return f"{path}:{name}" if path else None
        bare = plain(name)
        key = self._native.get(bare) or self._native.get(last_name(bare))
        if (
            key is None
            and file
            and ("/" in file or not re.search(r"\.so\b|^\[|^[\w.]*\.?builtins$", file))
            and self._native
        ):
            return f"{file}:{bare}"
        return key

    def _path(self, file: str) -> str | None:
        """The project's file that a frame is in: that very path, or the only one that ends like it
        (of an installed package).
        """
        if file in self.files:
            return file
        fitting = (
            [
                path
                for path in self._ends.get(PurePosixPath(file).name, ())
                if path.endswith(f"/{file}")
            ]
            if "/" in file
            else []
        )
        return fitting[0] if len(fitting) == 1 else None


def _is_native(path: str) -> bool:
    """Whether the functions of a file have frames that name no file."""
    return is_outlined(path) and language(path) != "python"


def _files(project: Project, commit: str) -> dict[str, str]:
    """The files of a commit, each with the name of its content."""
    entries = (
        entry.partition("\t") for entry in project.git("ls-tree", "-r", "-z", commit).split("\0")
    )
    return {
        path: attributes.split(" ")[2] for attributes, _, path in entries if " blob " in attributes
    }


def is_source(path: str, overlay: Iterable[str]) -> bool:
    """Whether a file may differ in what is measured: not the benchmark's own, which are the same
    for all revisions.
    """
    return not any(
        path == entry.rstrip("/") or path.startswith(f"{entry.rstrip('/')}/") for entry in overlay
    )
