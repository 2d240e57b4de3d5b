"""Files as commits have them, read without a checkout: through links inside the project, within
bounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from io import BytesIO
from itertools import product
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
    rest = answer
    while rest:
        line, _, rest = rest.partition(b"\n")
        words = line.rsplit(b" ", 2)
        if line.endswith(b" missing"):
            yield CommittedFile()
        elif words[0].decode("ascii", "replace") in WHY:  # the path at which it ended follows
            rest = rest[int(words[1]) + 1 :]
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
