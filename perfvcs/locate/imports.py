"""Which files of the project an import or include means."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath

from perfvcs.locate.sources import language


class Finder:
    """Knows the ``paths`` of all sources, and which files define each module of Fortran (``provided``)."""

    def __init__(self, paths: Iterable[str], provided: Mapping[str, list[str]]) -> None:
        self._provided = provided
        self._modules: dict[str, list[str]] = defaultdict(list)
        self._headers: dict[str, list[str]] = defaultdict(list)
        self._absolute: dict[str, list[str]] = {}
        every = set(paths)
        self._packages = {path.rpartition("/")[0] for path in every if path.endswith("/__init__.py")}
        for path in every:
            if language(path) == "python":
                parts = _dotted(path).split(".")
                for start in range(len(parts)):
                    if "/".join(parts[:start]) not in self._packages:
                        self._modules[".".join(parts[start:])].append(path)
                self._modules["/" + _dotted(path)].append(path)
            else:
                self._headers[path.rpartition("/")[2].lower()].append(path)

    def find(self, path: str, word: str) -> Iterator[str]:
        """The files that a word in an import of the file ``path`` can mean: several where settings decide, none of a library."""
        kind = language(path)
        if kind == "python":
            yield from self._imported(path, word)
        elif kind == "fortran" and word in self._provided:
            yield from self._provided[word]
        else:
            tail = os.path.normpath(word).lstrip("./").lower()
            for other in self._headers.get(tail.rpartition("/")[2], ()):
                if f"/{other.lower()}".endswith(f"/{tail}"):
                    yield other

    def _imported(self, path: str, word: str) -> Iterator[str]:
        """A module, and the packages around it, which are loaded before it."""
        name = word.lstrip(".")
        if level := len(word) - len(name):
            folder = PurePosixPath(path).parent
            for _ in range(level - 1):
                folder = folder.parent
            base = "" if str(folder) == "." else str(folder).replace("/", ".")
            full = ".".join(part for part in (base, name) if part)
            for start in range(len(base.split(".")) if base else 0, len(full.split(".")) + 1):
                yield from self._modules.get("/" + ".".join(full.split(".")[:start]), ())
            return
        if word not in self._absolute:  # which is the same for all files
            parts = name.split(".")
            self._absolute[word] = [
                path for end in range(1, len(parts) + 1) for path in self._modules.get(".".join(parts[:end]), ())
            ]
        yield from self._absolute[word]


def _dotted(path: str) -> str:
    """The dotted name of a Python file below the root; a package is named by its folder."""
    plain = path.rpartition(".")[0].removesuffix("/__init__")
    return ("" if plain == "__init__" else plain).replace("/", ".")
