"""The functions of a project, by the frames in which they are seen to run."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import PurePosixPath

from perfvcs.git.project import Project
from perfvcs.locate.sources import language
from perfvcs.locate.sources.braced import is_braced
from perfvcs.locate.sources.grammars import family
from perfvcs.locate.sources.hunks import texts
from perfvcs.locate.sources.outline import last_name, outline, plain, unit
from perfvcs.locate.sources.parts import Definition
from perfvcs.text.characters import source_lines

COMPILED_WHILE_RUNNING = ("javascript", "java")  # frames of which name the file
MOST_SOURCES = 2000  # files of compiled languages whose functions are looked up


class Places:
    """The functions of a project by the frames of its call trees."""

    def __init__(
        self, files: Iterable[str], read: Callable[[str], str | None] = lambda _: None
    ) -> None:
        self.files, self._read = set(files), read
        self._by_last_name: dict[str, dict[str, str]] = {}  # by file
        self._known: dict[str, str | None] = {}
        self._ends: defaultdict[str, list[str]] = defaultdict(list)
        for path in self.files:
            self._ends[PurePosixPath(path).name].append(path)
        self._native: dict[str, str] = {}
        self._mentions: dict[str, set[str]] = {}

    @classmethod
    def of(cls, project: Project, a: str, b: str, *, native: bool) -> Places:
        """Those of two commits; ``native``: the functions of compiled programs in the sources of
        ``b`` are looked up, too.
        """
        before, after = files_of(project, a), files_of(project, b)

        def read(path: str) -> str | None:
            blob = after.get(path, "")
            return texts(project, [blob])[blob] if blob else None

        places = cls([*before, *after], read)
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
        """Whether functions of compiled programs are known."""
        return bool(self._native)

    def define(self, path: str, definitions: Iterable[Definition], source: Sequence[str]) -> None:
        """The functions that a file defines whose frames name no file."""
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
        if family(file) in COMPILED_WHILE_RUNNING:
            path = self._path(file)
            return f"{path}:{self._full_name(path, name)}" if path else None
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

    def _full_name(self, path: str, name: str) -> str:
        """The name of a function as its source has it, which runtimes do not know."""
        if path not in self._by_last_name:
            found = outline(path, self._read(path) or "")
            definitions = reversed(found.definitions if found else ())
            self._by_last_name[path] = {last_name(one.name): one.name for one in definitions}
        return self._by_last_name[path].get(last_name(name), name)

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
    """Whether the functions of a file have frames that name no file: of C, C++, Rust and Go."""
    return language(path) == "c" or is_braced(path)


def files_of(project: Project, commit: str) -> dict[str, str]:
    """The files of a commit, each with the name of its content."""
    entries = (
        entry.partition("\t") for entry in project.git("ls-tree", "-r", "-z", commit).split("\0")
    )
    return {
        path: attributes.split(" ")[2] for attributes, _, path in entries if " blob " in attributes
    }
