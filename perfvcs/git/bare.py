"""Git's plumbing on a bare repository of our own: one process per operation, and none of the user's
settings.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from typing import IO, NamedTuple

import msgspec

from perfvcs.git.command import READ_AT_ONCE, complaint, scratch, start


class GitFailed(Exception):
    """Git ended with an error; the text is what it wrote. Callers turn it into a PerfError."""

    @property
    def reason(self) -> str:
        """The first line that says something."""
        return next(
            (line.removeprefix("fatal: ") for line in str(self).splitlines() if line.strip()),
            "git was killed",
        )


class Fault(NamedTuple):
    """Why an object cannot be read."""

    reason: str


class TreeEntry(NamedTuple):
    """One line of a tree listing."""

    mode: str
    blob: str
    path: str


class Bare(msgspec.Struct, frozen=True):
    """The bare repository at ``path``, which finds objects in these other folders, too.

    All methods raise GitFailed, and GitMissing.
    """

    path: Path
    others: tuple[Path, ...] = ()

    def start(
        self, *args: str, stdin: IO[bytes] | int, stderr: IO[bytes]
    ) -> subprocess.Popen[bytes]:
        """A hardened git process on the repository."""
        return start(
            f"--git-dir={self.path}",
            *args,
            hardened=True,
            extra=self.variables,
            stdin=stdin,
            stderr=stderr,
        )

    @property
    def variables(self) -> dict[str, str]:
        """The variables with which git finds objects in the other folders."""
        if self.others:
            return {"GIT_ALTERNATE_OBJECT_DIRECTORIES": ":".join(map(_quoted, self.others))}
        return {}

    def run(self, *args: str, data: bytes = b"") -> bytes:
        """The output of a short git command, with ``data`` on its stdin."""
        with scratch() as stderr:
            process = self.start(*args, stdin=subprocess.PIPE, stderr=stderr)
            with process, _killed_on_error(process):
                output, _ = process.communicate(data)
            if process.returncode:
                printed = output[:READ_AT_ONCE].decode(errors="replace")
                raise GitFailed(f"{complaint(process, stderr)}\n{printed}")
        return output

    def fields(self, *args: str) -> Generator[bytes, None, None]:
        """The NUL-terminated fields that a git command prints, streamed."""
        with scratch() as stderr:
            process = self.start(*args, stdin=subprocess.DEVNULL, stderr=stderr)
            with process, _killed_on_error(process):
                assert process.stdout is not None
                rest = b""
                while chunk := process.stdout.read(READ_AT_ONCE):
                    *whole, rest = (rest + chunk).split(b"\0")
                    yield from whole
            if process.returncode:
                raise GitFailed(complaint(process, stderr))

    def listing(self, tree: str, *folders: str) -> Iterator[TreeEntry]:
        """All blobs (and submodules) below a tree, or below some of its folders."""
        for field in self.fields("ls-tree", "-r", "-z", "--full-tree", tree, "--", *folders):
            properties, path = field.split(b"\t", 1)
            mode, _, blob = properties.decode().split(" ")
            yield TreeEntry(mode, blob, os.fsdecode(path))

    def objects(self, names: Iterable[str], limit: int) -> Iterator[bytes | Fault]:
        """The contents of blobs, in order of ``names`` (ids, or ``commit:path``), through one
        ``cat-file --batch``.

        What cannot be read, or has more than ``limit`` bytes, is a Fault, and the others still
        come.
        """
        waiting = list(names)
        while waiting:
            with scratch() as requests, scratch() as stderr:
                # From a file, not a pipe: there is no second pipe that could fill up while we wait
                # on the first.
                requests.writelines(
                    name.replace("\n", " ").encode("utf-8", "surrogateescape") + b"\n"
                    for name in waiting
                )
                requests.seek(0)
                process = self.start("cat-file", "--batch", stdin=requests, stderr=stderr)
                answered = 0
                with process, _killed_on_error(process):
                    assert process.stdout is not None
                    for _ in waiting:
                        answered += 1
                        content = _content(process.stdout, limit)
                        # git gave up on this one; a fresh process reads the others
                        if content is None:
                            process.wait()
                            yield Fault(_reason(complaint(process, stderr)))
                            break
                        yield content
            waiting = waiting[answered:]


def _quoted(folder: Path) -> str:
    """A path in a list of paths, as git reads it: one in double quotes may hold a colon."""
    return '"' + re.sub(r'(["\\])', r"\\\1", str(folder)) + '"'


def _content(stdout: IO[bytes], limit: int) -> bytes | Fault | None:
    """The next answer of ``cat-file --batch``; None when the process died on it."""
    line = stdout.readline()
    if not line.endswith(b"\n"):
        return None
    words = line.split()
    if len(words) != 3 or words[1] not in (b"blob", b"tree", b"commit", b"tag"):
        return Fault("the object is missing")
    size, left = int(words[2]), int(words[2]) + 1
    if words[1] == b"blob" and size <= limit:
        content = stdout.read(left)
        return content[:-1] if len(content) == left else None
    while left:
        skipped = len(stdout.read(min(left, READ_AT_ONCE)))
        if not skipped:
            return None
        left -= skipped
    return Fault(
        f"{size:,} bytes are over the limit of {limit:,}"
        if words[1] == b"blob"
        else "it is not a file"
    )


@contextlib.contextmanager
def _killed_on_error(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Git is stopped, with its children, when nobody wants the rest; it then removes its files."""
    try:
        yield
    except BaseException:
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
        raise


def _reason(text: str) -> str:
    """The last line that says something, without git's prefix."""
    lines = [line.partition(": ")[2] or line for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "git ended without a message"
