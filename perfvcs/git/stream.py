"""Many blobs and one commit at once: a stream into ``git fast-import``."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, NoReturn

from perfvcs.git.bare import Bare, GitFailed
from perfvcs.git.command import GitEnded, complaint, scratch

STORE_BRANCH = "refs/heads/main"
# bytes; of a few objects fast-import compresses what it writes twice: first a pack, then each of
# them
LARGE_BLOB = 1 << 19
# bytes of paths asked of fast-import at a time: the answers fit into the smallest pipe, 4 KiB
ASKED_AT_ONCE = 1500
PLAIN_PATH = re.compile(rb"[a-zA-Z0-9/._-]+")  # a path that fast-import takes as it is
# of large documents, most of the time goes into compressing; 6 % more bytes
FAST = ("-c", "pack.compression=1")


def blob_id(content: bytes) -> str:
    """The id that git gives to a blob."""
    import hashlib

    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def quote(path: str) -> bytes:
    """A path as fast-import reads it, whatever is in it."""
    name = os.fsencode(path)
    if PLAIN_PATH.fullmatch(name):
        return name
    return b'"' + b"".join(b"\\%03o" % byte for byte in name) + b'"'


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


class _Entry(NamedTuple):
    """What a commit has at a path."""

    path: str
    kind: bytes
    id: str


class Import:
    """One ``git fast-import`` stream to a branch. Nothing counts before ``finish`` returns."""

    def __init__(self, git: Bare, branch: str = STORE_BRANCH) -> None:
        self._git = git
        self._branch = branch
        self._committed = False
        self._stderr = scratch()  # closed with the stream
        try:
            # feature done: a stream that ends without "done", because we were killed, changes no
            # branch
            self._process = git.start(
                *FAST,
                "fast-import",
                "--quiet",
                "--done",
                stdin=subprocess.PIPE,
                stderr=self._stderr,
            )
        except BaseException:
            self._stderr.close()
            raise

    def write(self, *parts: bytes) -> None:
        """Append to the stream; without parts, pass on what is still buffered."""
        assert self._process.stdin is not None
        try:
            for part in parts:
                self._process.stdin.write(part)
            if not parts:
                self._process.stdin.flush()
        except BrokenPipeError:
            self._fail()

    def blob(self, content: bytes) -> str:
        """Store a blob; returns its id."""
        if len(content) > LARGE_BLOB:
            return self._git.run("hash-object", "-w", "--stdin", data=content).decode().strip()
        self.write(b"blob\ndata %d\n" % len(content), content, b"\n")
        return blob_id(content)

    def present(self, commit: str, paths: Iterable[str]) -> Iterator[tuple[str, str | None]]:
        """Each path with the id of its blob in a commit, None if there is none.

        Folders are asked for first: git reads the trees above a path for each question, and most
        paths are in folders that are new.
        """
        wanted = list(paths)
        folders = dict.fromkeys(map(_folder, wanted))
        there = {
            "",
            *(
                entry.path
                for entry in self._asked(commit, filter(None, folders))
                if entry.kind == b"tree"
            ),
        }
        within = (path for path in wanted if _folder(path) in there)
        blobs = {
            entry.path: entry.id for entry in self._asked(commit, within) if entry.kind == b"blob"
        }
        for path in wanted:
            yield path, blobs.get(path)

    def has_folder(self, commit: str, path: str) -> bool:
        """Whether a commit has a folder at ``path``."""
        return any(entry.kind == b"tree" for entry in self._asked(commit, [path]))

    def _asked(self, commit: str, paths: Iterable[str]) -> Iterator[_Entry]:
        """What a commit has at some paths; missing paths are left out."""
        asked: list[str] = []
        size = 0
        for path in paths:
            question = b"ls %s %s\n" % (commit.encode(), quote(path))
            self.write(question)
            asked.append(path)
            size += len(question)
            if size > ASKED_AT_ONCE:
                yield from self._answers(asked)
                asked, size = [], 0
        yield from self._answers(asked)

    def _answers(self, asked: list[str]) -> Iterator[_Entry]:
        self.write()
        assert self._process.stdout is not None
        for path in asked:
            words = self._process.stdout.readline().split(None, 3)
            if len(words) < 2:
                self._fail()
            if words[0] != b"missing":
                yield _Entry(path, words[1], words[2].decode())

    def commit(
        self,
        parent: str | None,
        who: str,
        when: int,
        message: str,
        changes: Mapping[str, str | None],
        trees: Mapping[str, str] | None = None,
    ) -> None:
        """One commit on the branch: each path gets its blob, or goes where that is None; each
        folder of ``trees`` gets its tree.

        ``when``: seconds since 1970.
        """
        text = message.replace("\0", " ").encode("utf-8", "replace")
        self.write(
            b"commit %s\nmark :1\ncommitter %s %d +0000\n"
            % (self._branch.encode(), who.encode("utf-8", "replace"), when)
        )
        self.write(b"data %d\n%s\n" % (len(text), text))
        if parent:
            self.write(b"from %s\n" % parent.encode())
        for path, tree in (trees or {}).items():
            self.write(b"M 040000 %s %s\n" % (tree.encode(), quote(path)))
        # fast-import looks through a folder for each path: one folder after the other stays in the
        # caches
        for path in sorted(changes):
            blob = changes[path]
            self.write(
                b"D %s\n" % quote(path)
                if blob is None
                else b"M 100644 %s %s\n" % (blob.encode(), quote(path))
            )
        self._committed = True

    def finish(self) -> str | None:
        """End the stream and wait until git has moved the branch; the commit that it made.

        Raises GitFailed if git did not.
        """
        made = b""
        if self._committed:
            self.write(b"get-mark :1\n")
            self.write()
            assert self._process.stdout is not None
            made = self._process.stdout.readline()
            if not made:
                self._fail()
        self.write(b"done\n")
        self._end()
        if self._process.returncode:
            self._fail()
        return made.decode().strip() or None

    def close(self) -> None:
        """End the stream in good order, without a commit where ``finish`` was not called."""
        if not self._process.stdin.closed:  # type: ignore[union-attr]
            with contextlib.suppress(GitFailed, GitEnded):
                self.write(b"done\n")
            self._end()
        self._stderr.close()

    def _end(self) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        with self._process:
            self._process.wait()

    def _fail(self) -> NoReturn:
        self._end()
        raise GitFailed(complaint(self._process, self._stderr))
