"""Git's plumbing on a bare repository of our own: one process per operation, and none of the user's settings."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple

from perfvcs.errors import PerfError

BRANCH = "refs/heads/main"
# bytes; of a few objects fast-import compresses what it writes twice: first a pack, then each of them
LARGE = 1 << 19
WINDOW = 1500  # bytes of paths asked of fast-import at a time: the answers fit into the smallest pipe, 4 KiB
CHUNK = 1 << 20
ENDED_BY = (signal.SIGHUP, signal.SIGINT, signal.SIGKILL, signal.SIGTERM)  # what somebody sends; others are git's own failures
FAST = ("-c", "pack.compression=1")  # of large documents, most of the time goes into compressing; 6 % more bytes
# Nothing that git finds in a store makes it start a program or reach another place, and it does nothing unasked.
SETTINGS = (
    "core.hooksPath=/dev/null", "core.fsmonitor=false", "core.attributesFile=/dev/null", "protocol.allow=never", "gc.auto=0",
    "maintenance.auto=false", "commit.gpgSign=false", "core.quotePath=true",
)  # fmt: skip


class GitMissing(PerfError):
    """There is no git on PATH."""


class GitEnded(PerfError):
    """Somebody ended git: a signal of a user's, or the system, which was short of memory. The store is as it was."""


class GitFailed(Exception):
    """Git ended with an error; the text is what it wrote. Callers turn it into a PerfError."""

    @property
    def reason(self) -> str:
        """The first line that says something."""
        return next((line.removeprefix("fatal: ") for line in str(self).splitlines() if line.strip()), "git was killed")


class Fault(NamedTuple):
    """Why an object cannot be read."""

    reason: str


class Entry(NamedTuple):
    """One line of a tree listing."""

    mode: str
    blob: str
    path: str


def clean_environment() -> dict[str, str]:
    """The environment without what redirects git (we run inside hooks) and without the user's and the system's settings."""
    found = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    found |= {"LC_ALL": "C", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_DEFAULT_HASH": "sha1"}
    return found | {"GIT_TERMINAL_PROMPT": "0", "GIT_ATTR_NOSYSTEM": "1", "GIT_NO_LAZY_FETCH": "1"}


def blob_id(content: bytes) -> str:
    """The id that git gives to a blob."""
    import hashlib

    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def quote(path: str) -> bytes:
    """A path as fast-import reads it, whatever is in it."""
    plain = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-")
    return b'"' + b"".join(b"%c" % byte if byte in plain else b"\\%03o" % byte for byte in os.fsencode(path)) + b'"'


@dataclass(frozen=True)
class Git:
    """The bare repository at ``path``. All methods raise GitFailed, and GitMissing."""

    path: Path

    def start(self, *args: str, stdin: IO[bytes] | int, stderr: IO[bytes]) -> subprocess.Popen[bytes]:
        """A git process in a session of its own: Ctrl-C reaches us, and we end git in good order."""
        settings = [part for setting in SETTINGS for part in ("-c", setting)]
        command = ["git", "--no-replace-objects", f"--git-dir={self.path}", *settings, *args]
        try:
            return subprocess.Popen(
                command, stdin=stdin, stdout=subprocess.PIPE, stderr=stderr, env=clean_environment(), start_new_session=True
            )
        except FileNotFoundError:
            raise GitMissing("git is not installed or not on PATH: install git") from None

    def run(self, *args: str, data: bytes = b"") -> bytes:
        """What a short git command prints, ``data`` on its stdin."""
        with _scratch() as stderr:
            process = self.start(*args, stdin=subprocess.PIPE, stderr=stderr)
            with process, _killed_on_error(process):
                output, _ = process.communicate(data)
            if process.returncode:
                raise GitFailed(f"{_complaint(process, stderr)}\n{output[:CHUNK].decode(errors='replace')}")
        return output

    def fields(self, *args: str) -> Iterator[bytes]:
        """The NUL-terminated fields that a git command prints, streamed."""
        with _scratch() as stderr:
            process = self.start(*args, stdin=subprocess.DEVNULL, stderr=stderr)
            with process, _killed_on_error(process):
                assert process.stdout is not None
                rest = b""
                while chunk := process.stdout.read(CHUNK):
                    *whole, rest = (rest + chunk).split(b"\0")
                    yield from whole
            if process.returncode:
                raise GitFailed(_complaint(process, stderr))

    def listing(self, tree: str, *folders: str) -> Iterator[Entry]:
        """All blobs (and submodules) below a tree, or below some of its folders."""
        for field in self.fields("ls-tree", "-r", "-z", "--full-tree", tree, "--", *folders):
            properties, path = field.split(b"\t", 1)
            mode, _, blob = properties.decode().split(" ")
            yield Entry(mode, blob, os.fsdecode(path))

    def objects(self, names: Iterable[str], limit: int) -> Iterator[bytes | Fault]:
        """The contents of blobs, in order of ``names`` (ids, or ``commit:path``), through one ``cat-file --batch``.

        What cannot be read, or has more than ``limit`` bytes, is a Fault, and the others still come.
        """
        waiting = list(names)
        while waiting:
            with _scratch() as requests, _scratch() as stderr:
                # From a file, not a pipe: there is no second pipe that could fill up while we wait on the first.
                requests.writelines(name.replace("\n", " ").encode("utf-8", "surrogateescape") + b"\n" for name in waiting)
                requests.seek(0)
                process = self.start("cat-file", "--batch", stdin=requests, stderr=stderr)
                answered = 0
                with process, _killed_on_error(process):
                    assert process.stdout is not None
                    for _ in waiting:
                        answered += 1
                        content = _content(process.stdout, limit)
                        if content is None:  # git gave up on this one; a fresh process reads the others
                            process.wait()
                            yield Fault(_reason(_complaint(process, stderr)))
                            break
                        yield content
            waiting = waiting[answered:]


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
        skipped = len(stdout.read(min(left, CHUNK)))
        if not skipped:
            return None
        left -= skipped
    return Fault(f"{size:,} bytes are over the limit of {limit:,}" if words[1] == b"blob" else "it is not a file")


class Import:
    """One ``git fast-import`` stream. Nothing that it was given counts before ``finish`` returns."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._stderr = _scratch()  # closed with the stream
        try:
            # feature done: a stream that ends without "done", because we were killed, changes no branch
            self._process = git.start(*FAST, "fast-import", "--quiet", "--done", stdin=subprocess.PIPE, stderr=self._stderr)
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
        if len(content) > LARGE:
            return self._git.run("hash-object", "-w", "--stdin", data=content).decode().strip()
        self.write(b"blob\ndata %d\n" % len(content), content, b"\n")
        return blob_id(content)

    def present(self, commit: str, paths: Iterable[str]) -> Iterator[tuple[str, str | None]]:
        """Each path with the id of its blob in a commit, None where there is none."""
        asked: list[str] = []
        size = 0
        for path in paths:
            question = b"ls %s %s\n" % (commit.encode(), quote(path))
            self.write(question)
            asked.append(path)
            size += len(question)
            if size > WINDOW:
                yield from self._answers(asked)
                asked, size = [], 0
        yield from self._answers(asked)

    def _answers(self, asked: list[str]) -> Iterator[tuple[str, str | None]]:
        self.write()
        assert self._process.stdout is not None
        for path in asked:
            words = self._process.stdout.readline().split(None, 3)
            if len(words) < 2:
                self._fail()
            yield path, words[2].decode() if words[0] != b"missing" and words[1] == b"blob" else None

    def commit(self, parent: str | None, who: str, when: int, message: str, changes: Mapping[str, str | None]) -> None:
        """One commit on the branch: each path gets its blob, or goes where that is None."""
        text = message.replace("\0", " ").encode("utf-8", "replace")
        self.write(b"commit %s\ncommitter %s %d +0000\n" % (BRANCH.encode(), who.encode("utf-8", "replace"), when))
        self.write(b"data %d\n%s\n" % (len(text), text))
        if parent:
            self.write(b"from %s\n" % parent.encode())
        for path, blob in changes.items():
            self.write(b"D %s\n" % quote(path) if blob is None else b"M 100644 %s %s\n" % (blob.encode(), quote(path)))

    def finish(self) -> None:
        """End the stream and wait until git has moved the branch; raises GitFailed where it did not."""
        self.write(b"done\n")
        self._end()
        if self._process.returncode:
            self._fail()

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

    def _fail(self) -> None:
        self._end()
        raise GitFailed(_complaint(self._process, self._stderr))


@contextlib.contextmanager
def _killed_on_error(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Git is stopped, with its children, when nobody wants the rest; asked politely, it removes its temporary files."""
    try:
        yield
    except BaseException:
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
        raise


def _scratch() -> IO[bytes]:
    """A file for what git is asked or complains about; in memory, so that a full disk does not swallow what git says of it."""
    try:
        return open(os.memfd_create("perfvcs"), "w+b")
    except (AttributeError, OSError):  # an old kernel, or none of Linux
        return tempfile.TemporaryFile()


def _complaint(process: subprocess.Popen[bytes], stderr: IO[bytes]) -> str:
    """What git wrote, and what it cannot write: that the system ended it at a limit on files. Raises GitEnded."""
    if -process.returncode in ENDED_BY:
        name = signal.Signals(-process.returncode).name
        raise GitEnded(f"git was ended by {name} while it worked on the store, which is as it was: run the command again")
    return f"{_text(stderr)}\nFile too large" if process.returncode == -signal.SIGXFSZ else _text(stderr)


def _text(stderr: IO[bytes]) -> str:
    stderr.seek(0)
    return stderr.read(CHUNK).decode(errors="replace").strip()


def _reason(text: str) -> str:
    """The last line that says something, without git's prefix."""
    lines = [line.partition(": ")[2] or line for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "git ended without a word"
