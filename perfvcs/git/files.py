"""Files as commits have them, read without a checkout: through links that stay in the project, and never more than a bound."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from perfvcs.git.project import Project

LINK = "120000"  # the mode of a symbolic link
WHY = {
    "symlink": "it is a link out of the project",
    "dangling": "it is a link to nothing",
    "loop": "it is a link to itself",
    "notdir": "it is a link to nothing",
}


class Unreadable(Exception):
    """A commit has a file that cannot be read as text; the message says why."""


class CommittedFile(NamedTuple):
    """What a commit has under a name: the id of a blob and its bytes (empty: nothing), or why it cannot be read."""

    blob: str = ""
    size: int = 0
    why: str = ""


class ChangedFile(NamedTuple):
    """A file that differs between two commits: git's letter for what became of it, and its new mode."""

    path: str
    status: str
    mode: str


class CommittedFiles:
    """The files of some names in a project's commits; git is asked once for each commit, and once for each content."""

    def __init__(self, project: Project, names: Iterable[str]) -> None:
        self._project = project
        self._names = tuple(names)
        self._known: dict[tuple[str, str], CommittedFile] = {}
        self._texts: dict[str, str] = {}

    def ask(self, commits: Iterable[str]) -> None:
        """Ask git for many commits at once."""
        missing = [commit for commit in dict.fromkeys(commits) if (commit, self._names[0]) not in self._known]
        if not missing:
            return
        wanted = [(commit, name) for commit in missing for name in self._names]
        asked = "".join(f"{commit}:{name}\n" for commit, name in wanted)
        answer = self._project.git("cat-file", "--batch-check", "--follow-symlinks", text=asked)
        self._known |= zip(wanted, _answers(answer.encode("utf-8", "surrogateescape")), strict=True)

    def of(self, commit: str, name: str) -> CommittedFile:
        """What a commit has under one of the names."""
        self.ask([commit])
        return self._known[commit, name]

    def text(self, commit: str, name: str, most: int) -> str | None:
        """The text of a file of at most so many bytes; None if there is none. Raises Unreadable."""
        found = self.of(commit, name)
        if found.why:
            raise Unreadable(found.why)
        if not found.blob:
            return None
        if found.size > most:
            raise Unreadable(f"it has more than {most:,} bytes")
        if found.blob not in self._texts:
            self._texts[found.blob] = self._project.git("cat-file", "blob", found.blob)
        text = self._texts[found.blob]
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


def changed_files(project: Project, old: str, new: str) -> list[ChangedFile]:
    """The files that differ between two commits; one that was renamed is two."""
    compare = ("diff-tree", "-r", "-z", "--no-renames", "--no-ext-diff", "--no-textconv")
    fields = project.git(*compare, old, new).split("\0")
    entries = (field.split(" ") for field in fields[:-1:2])
    return [ChangedFile(path, entry[4], entry[1]) for entry, path in zip(entries, fields[1::2], strict=True)]
