"""Where the links of a project lead, by the commits that have them and the working tree, without a
checkout.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice, takewhile
from typing import NamedTuple

from perfvcs.git.blobs import LINK, ChangedFile, contents
from perfvcs.git.project import Project

LONGEST_PATH = 4096  # characters, as Linux has it
DEEPEST = 200  # parts of a path that are read
MOST_HOPS = 40  # links on the way to a file, as Linux has it
MOST_FOLLOWED = 20_000  # links that are followed in all
ENTRY = re.compile(rf"(?:^|\0){LINK} blob (\w+)\t([^\0]*)")


class _Way(NamedTuple):
    """A path on the way to what it means: the folder reached, the rest, and the links passed."""

    at: tuple[str, ...]
    rest: tuple[str, ...]
    hops: int


class TooManyLinks(Exception):
    """Links lead to more places than anybody needs."""


class Links:
    """Where the links of a project lead, by their paths; one that differs between two states leads
    to both places.

    ``root`` is the folder of the working tree, for links and paths that are absolute.
    """

    def __init__(self, links: Iterable[tuple[str, str]] = (), root: str = "") -> None:
        self._targets: dict[str, set[str]] = defaultdict(set)
        self._root, self._followed = root, 0
        for path, target in links:
            self._targets[path].add(target)

    @cached_property
    def paths(self) -> list[str]:
        """The paths of all of them, sorted."""
        return sorted(self._targets)

    def places(self, names: Iterable[str]) -> set[str]:
        """The paths that some names mean: each of the links on the way, and what they lead to.

        Raises TooManyLinks.
        """
        return {place for name in {*names} for place in self._places(name)}

    def _places(self, name: str) -> Iterator[str]:
        first = _Way((), self._parts(name), 0)
        waiting = [first] if len(name) <= LONGEST_PATH else []
        while waiting:
            at, rest, hops = waiting.pop()
            for number, part in enumerate(rest, 1):
                if part == "..":
                    if not at:  # out of the project
                        break
                    at = at[:-1]
                    continue
                path = "/".join([*at, part])
                if path in self._targets:
                    yield path
                    self._followed += 1
                    if self._followed > MOST_FOLLOWED:
                        raise TooManyLinks
                    for target in self._targets[path] if hops < MOST_HOPS else ():
                        origin = () if target.startswith("/") else at
                        waiting.append(
                            _Way(origin, (*self._parts(target), *rest[number:]), hops + 1)
                        )
                    break
                at = (*at, part)
            else:
                yield "/".join(at)

    def _parts(self, name: str) -> tuple[str, ...]:
        """The parts of a path; of an absolute one, those below the root."""
        if name.startswith("/"):
            if self._root and name.startswith(f"{self._root}/"):
                name = name.removeprefix(f"{self._root}/")
            else:
                name = ".."
        return tuple(part for part in name.split("/")[:DEEPEST] if part not in ("", "."))

    def within(self, places: Iterable[str]) -> set[str]:
        """Where the links in some folders lead, and those in that. Raises TooManyLinks."""
        targets: set[str] = set()
        waiting, seen = [*places], set[str]()
        while waiting:
            place = waiting.pop()
            if place in seen or not place:
                continue
            seen.add(place)
            for link in self._below(place):
                led = {
                    target
                    for target in self._places(link)
                    if target and not f"{link}/".startswith(f"{target}/")
                }
                targets |= led
                waiting += led
        return targets

    def _below(self, place: str) -> Iterator[str]:
        begin = f"{place}/"
        first = bisect_left(self.paths, begin)
        return takewhile(lambda path: path.startswith(begin), islice(self.paths, first, None))


def committed_links(
    project: Project, commit: str, changed: Sequence[ChangedFile]
) -> list[tuple[str, str]]:
    """The links in a commit, and those among changed files: their paths, and where they point.

    Raises GitError.
    """
    entries = ENTRY.findall(project.git("ls-tree", "-r", "-z", "--full-tree", commit))
    entries += [(file.blob, file.path) for file in changed if file.mode == LINK and file.blob]
    if not entries:
        return []
    blobs = list(dict.fromkeys(blob for blob, _ in entries))
    sizes = project.git(
        "cat-file", "--batch-check=%(objectsize)", text="".join(f"{blob}\n" for blob in blobs)
    ).split("\n")
    short = [
        blob
        for blob, size in zip(blobs, sizes, strict=True)
        if size.isdigit() and int(size) <= LONGEST_PATH
    ]
    targets = contents(project, short)
    return [(path, targets[blob]) for blob, path in entries if blob in targets]
