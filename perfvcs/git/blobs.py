"""Files and links as commits have them, read without a checkout: through links inside the project,
within bounds.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from io import BytesIO
from itertools import islice, product, takewhile
from typing import NamedTuple

from perfvcs.git.command import GitError
from perfvcs.git.project import Project

LINK = "120000"  # the mode of a symbolic link
NOT_HERE = "git does not have it here"
WHY = {
    "symlink": "it is a link out of the project",
    "dangling": "it is a link to nothing",
    "loop": "it is a link to itself",
    "notdir": "it is a link to nothing",
}


class Unreadable(Exception):
    """A commit has a file that cannot be read as text; the message says why."""


class CommittedFile(NamedTuple):
    """What a commit has under a name: a blob's id and size (or nothing), or why it has none."""

    blob: str = ""
    size: int = 0
    why: str = ""


class ChangedFile(NamedTuple):
    """A file that differs between two commits: git's letter, its new mode and blob."""

    path: str
    status: str
    mode: str
    blob: str = ""

    @property
    def added(self) -> bool:
        """Whether the older commit does not have it."""
        return self.status == "A"


class CommittedFiles:
    """Files in a project's commits; git is asked once for each file of a commit and content."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._known: dict[tuple[str, str], CommittedFile] = {}
        self._texts: dict[str, str] = {}

    def ask(self, commits: Iterable[str], *names: str) -> None:
        """Ask git at once what many commits have under some names."""
        wanted = [
            file for file in product(dict.fromkeys(commits), names) if file not in self._known
        ]
        if wanted:
            asked = "".join(f"{commit}:{name}\n" for commit, name in wanted)
            try:
                listed = self._project.git(
                    "cat-file", "--batch-check", "--follow-symlinks", text=asked
                )
            except GitError:  # a part of a clone that is not here
                self._known |= dict.fromkeys(wanted, CommittedFile(why=NOT_HERE))
            else:
                answers = _answers(listed.encode("utf-8", "surrogateescape"))
                self._known |= zip(wanted, answers, strict=True)

    def of(self, commit: str, name: str) -> CommittedFile:
        """What a commit has under a name."""
        self.ask([commit], name)
        return self._known[commit, name]

    def text(self, commit: str, name: str, most: int) -> str | None:
        """The text of a file of at most so many bytes; None if there is none. Raises Unreadable."""
        file = self.of(commit, name)
        if file.why:
            raise Unreadable(file.why)
        if not file.blob:
            return None
        if file.size > most:
            raise Unreadable(f"it has more than {most:,} bytes")
        if file.blob not in self._texts:
            # git's output comes without its last line end, and TOML takes no carriage return alone
            try:
                self._texts[file.blob] = self._project.git("cat-file", "blob", file.blob) + "\n"
            except GitError:
                raise Unreadable(NOT_HERE) from None
        text = self._texts[file.blob]
        try:
            text.encode()
        except UnicodeEncodeError:
            raise Unreadable("it is not UTF-8") from None
        return text.removeprefix("\ufeff")


def _answers(answer: bytes) -> Iterator[CommittedFile]:
    """The answers of ``cat-file --batch-check --follow-symlinks``, in order."""
    stream = BytesIO(answer)
    while line := stream.readline().removesuffix(b"\n"):
        words = line.rsplit(b" ", 2)
        if line.endswith(b" missing"):
            yield CommittedFile()
        elif words[0].decode("ascii", "replace") in WHY:  # the path at which it ended follows
            stream.read(int(words[1]) + 1)
            yield CommittedFile(why=WHY[words[0].decode()])
        elif words[-2] == b"blob":
            yield CommittedFile(words[0].decode(), int(words[2]))
        else:
            yield CommittedFile(why="it is not a file")


def contents(project: Project, blobs: Iterable[str]) -> dict[str, str]:
    """The contents of blobs, asked for at once: a process for each is slow; raises GitError."""
    names = list(dict.fromkeys(blobs))
    if not names:
        return {}
    asked = "".join(f"{name}\n" for name in names)
    printed = project.git("cat-file", "--batch=%(objectsize)", text=asked)
    return dict(
        zip(names, _printed(f"{printed}\n".encode("utf-8", "surrogateescape")), strict=True)
    )


def _printed(answer: bytes) -> Iterator[str]:
    """The contents in an answer of ``cat-file --batch``, in order."""
    stream = BytesIO(answer)
    while size := stream.readline().strip():
        yield stream.read(int(size) + 1)[:-1].decode("utf-8", "surrogateescape")


def changed_files(project: Project, old: str, new: str) -> list[ChangedFile]:
    """The files that differ between two commits; one that was renamed is two."""
    compare = ("diff-tree", "-r", "-z", "--no-renames", "--no-ext-diff", "--no-textconv")
    fields = project.git(*compare, old, new).split("\0")
    files = []
    for entry, path in zip(fields[:-1:2], fields[1::2], strict=True):
        _, mode, _, blob, status = entry.split(" ")
        files.append(ChangedFile(path, status, mode, blob))
    return files


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
