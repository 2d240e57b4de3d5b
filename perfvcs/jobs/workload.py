"""Workloads: what a job works on; in perf.toml a literal, or a table that generates numbers,
strings, files or outputs.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import IO

from msgspec import Struct
from msgspec.structs import replace

from perfvcs.environment.variables import SEED_PLACEHOLDER
from perfvcs.errors import NO_SPACE, PerfError, UsageError, nearest
from perfvcs.jobs.config import seconds, words
from perfvcs.jobs.content import (
    DEFAULT_TIMEOUT,
    GENERATOR_VERSION,
    MAX_FILE,
    chunks,
    integer,
    length_of,
    letters,
    only,
    readable,
    seed_of,
    values,
)
from perfvcs.launcher.preparation import run
from perfvcs.profile import ParameterValue
from perfvcs.profile.validity import MAX_NAME

MAX_STRING = 128 * 1024 - 1  # Linux refuses a longer argument (MAX_ARG_STRLEN)
# of a folder; they differ where nothing of the input does
BY_PRODUCTS = frozenset({".git", ".perf", "__pycache__"})
CONTENTS = ("text", "binary", "integers", "words")
WORKLOAD_KINDS: dict[str, tuple[str, ...]] = {
    "integers": (),
    "strings": ("seed",),
    "files": ("content", "seed"),
    "command": ("name", "sizes", "timeout"),
}


class WorkloadError(PerfError):
    """A workload could not be generated."""

    exit_code = 5


class Workload(Struct, frozen=True):
    """A literal, and the base of those that are generated.

    ``name`` is stable and readable, ``params`` are bound as ``{n}`` in the command, ``size`` is
    what models are fitted over.
    """

    name: str
    params: Mapping[str, ParameterValue] = {}
    size: float | None = None

    def __hash__(self) -> int:
        return hash((self.name, self.size))

    def prepare(self, cwd: Path, folder: Path, env: Mapping[str, str]) -> str:  # noqa: ARG002
        """The text for ``{workload}``; a generated file is put into ``folder``, commands run in
        ``cwd`` under ``env``.

        Raises WorkloadError.
        """
        return self.name

    def drawn(self, seed: int) -> Workload | None:  # noqa: ARG002
        """The content for an execution with this seed; None if all executions share it."""
        return None

    def source(self, cwd: Path, text: str) -> dict[str, str]:  # noqa: ARG002
        """The workload's name and 16 hex digits of its content's SHA-256, empty for what is not a
        file or folder below ``cwd``.

        ``text`` is what ``prepare`` returned.
        """
        place = PurePosixPath(self.name)
        if not place.parts or "\0" in self.name or place.is_absolute() or ".." in place.parts:
            return {}
        with suppress(OSError):
            if digest := _digest(cwd / place):
                return {self.name: digest}
        return {}


class NumberWorkload(Workload, frozen=True):
    """An integer as text."""

    def source(self, cwd: Path, text: str) -> dict[str, str]:  # noqa: ARG002
        """Nothing: its name says all."""
        return {}


class String(Workload, frozen=True):
    """Random lower-case letters and digits, ``length`` characters of them; without a ``seed`` each
    block has its own.
    """

    length: int = 0
    seed: int | None = 0

    def prepare(self, cwd: Path, folder: Path, env: Mapping[str, str]) -> str:  # noqa: ARG002
        """The characters themselves."""
        return letters(self.length, self.seed or 0)

    def drawn(self, seed: int) -> String | None:
        """The characters of a block."""
        return replace(self, seed=seed) if self.seed is None else None

    def source(self, cwd: Path, text: str) -> dict[str, str]:  # noqa: ARG002
        """The digest of the characters."""
        import hashlib

        return {self.name: hashlib.sha256(text.encode()).hexdigest()[:16]}


class FileWorkload(Workload, frozen=True):
    """A generated file of exactly ``length`` bytes, the same on every machine; without a ``seed``
    each block has its own.
    """

    length: int = 0
    content: str = "text"
    seed: int | None = 0

    def prepare(self, cwd: Path, folder: Path, env: Mapping[str, str]) -> str:  # noqa: ARG002
        """The absolute path of the file, made unless ``folder`` has it.

        Its name ends with its digest, which shows a change.
        """
        name = f"{self.content}-{self.length}-{self.seed or 0}-{GENERATOR_VERSION}"
        for path in folder.absolute().glob(f"{name}-*"):
            if path.name == f"{name}-{_digest(path)}":
                return str(path)
        with _written(folder, self.name) as file:
            for chunk in chunks(self.content, self.length, self.seed or 0):
                file.write(chunk)
            file.flush()
            path = folder.absolute() / f"{name}-{_digest(Path(file.name))}"
            _place(file, path)
        return str(path)

    def drawn(self, seed: int) -> FileWorkload | None:
        """The file of a block."""
        return replace(self, seed=seed) if self.seed is None else None

    def source(self, cwd: Path, text: str) -> dict[str, str]:
        """The digest of the file at ``text``."""
        digest = _digest(cwd / text)
        return {self.name: digest} if digest else {}


class OutputWorkload(Workload, frozen=True):
    """The standard output of a command as a file.

    The command is run for every ``prepare``, since it may itself differ between revisions; equal
    outputs share one file. ``{seed}`` in it is each block's own.
    """

    argv: tuple[str, ...] = ()
    timeout: float = DEFAULT_TIMEOUT

    def prepare(self, cwd: Path, folder: Path, env: Mapping[str, str]) -> str:
        """The absolute path of the file, named by its content."""
        with _written(folder, self.name) as file:
            try:
                run(
                    _filled(self.argv, 0),
                    cwd=cwd,
                    env=env,
                    timeout=self.timeout,
                    output=file,
                    limit=MAX_FILE,
                )
            except PerfError as error:
                raise WorkloadError(f"the workload could not be generated: {error}") from None
            digest = _digest(Path(file.name))
            path = folder.absolute() / f"output-{digest}"
            if _digest(path) != digest:  # what other revisions were given stays as it is
                _place(file, path)
        return str(path)

    def drawn(self, seed: int) -> OutputWorkload | None:
        """The output of a block."""
        filled = _filled(self.argv, seed)
        return None if filled == self.argv else replace(self, argv=filled)

    def source(self, cwd: Path, text: str) -> dict[str, str]:
        """The digest of the file at ``text``."""
        digest = _digest(cwd / text)
        return {self.name: digest} if digest else {}


def parse(entry: object) -> list[Workload]:
    """The workloads of one entry of ``workloads`` in perf.toml: a string, or a table with one of
    ``WORKLOAD_KINDS``; raises UsageError.
    """
    if isinstance(entry, str):
        return [Workload(entry)]
    if not isinstance(entry, Mapping):
        raise UsageError(
            f"workloads: {entry!r} is neither a string nor a table such as {{ integers = [1000,"
            " 2000] }"
        )
    kinds = [kind for kind in WORKLOAD_KINDS if kind in entry]
    tables = [WORKLOAD_KINDS[kinds[0]]] if kinds else WORKLOAD_KINDS.values()
    only(entry, [*WORKLOAD_KINDS, *chain.from_iterable(tables)], "workloads")
    if len(kinds) != 1:
        both = " and ".join(f"`{kind}`" for kind in kinds)
        raise UsageError(
            f"workloads: a table needs exactly one of {', '.join(WORKLOAD_KINDS)}"
            + (f", not {both}" if both else "")
        )
    kind = kinds[0]
    workloads = {"integers": _numbers, "strings": _strings, "files": _files, "command": _outputs}[
        kind
    ](entry)
    return list({workload.name: workload for workload in workloads}.values())


def _numbers(entry: Mapping[str, object]) -> Iterable[Workload]:
    return [
        NumberWorkload(str(n), {"n": n}, float(n))
        for n in values(entry["integers"], "integers", integer)
    ]


def _strings(entry: Mapping[str, object]) -> Iterable[Workload]:
    seed = seed_of(entry)
    for n in values(entry["strings"], "strings", length_of):
        if n > MAX_STRING:
            raise UsageError(
                f"workloads: a string of {n:,} characters does not fit into an argument"
                f" ({MAX_STRING:,}): use `files`"
            )
        yield String(f"string-{n}{_suffix(seed)}", {"n": n}, float(n), n, seed)


def _files(entry: Mapping[str, object]) -> Iterable[Workload]:
    content, seed = entry.get("content", "text"), seed_of(entry)
    if not isinstance(content, str) or content not in CONTENTS:
        raise UsageError(
            f"workloads: content = {content!r} is not known{nearest(str(content), CONTENTS)}"
        )
    for n in values(entry["files"], "files", length_of):
        yield FileWorkload(
            f"{content}-{readable(n)}{_suffix(seed)}", {"n": n}, float(n), n, content, seed
        )


def _outputs(entry: Mapping[str, object]) -> Iterable[Workload]:
    command, timeout = entry["command"], entry.get("timeout", DEFAULT_TIMEOUT)
    if not isinstance(command, str):
        raise UsageError(
            f'workloads: command = {command!r} is not a command; write it like "python3 generate.py'
            ' {n}"'
        )
    argv, limit = words(command, "workloads, command"), seconds(timeout, "workloads, timeout")
    name = entry.get("name", "")
    if not isinstance(name, str) or len(name) > MAX_NAME:
        raise UsageError(f"workloads: name = {name!r:.80} is not a name: write a short text")
    if "sizes" not in entry:
        if "{n}" in command:
            raise UsageError(
                "workloads: the command has {n}, but there is no list of `sizes`: add sizes ="
                " [1000, 2000]"
            )
        return [OutputWorkload(name or command, argv=tuple(argv), timeout=limit)]
    if "{n}" not in command:
        raise UsageError("workloads: there are `sizes`, but the command has no {n} to put them in")
    return [
        OutputWorkload(
            f"{name}-{n}" if name else command.replace("{n}", str(n)),
            {"n": n},
            float(n),
            tuple(word.replace("{n}", str(n)) for word in argv),
            limit,
        )
        for n in values(entry["sizes"], "sizes", integer)
    ]


def _filled(argv: tuple[str, ...], seed: int) -> tuple[str, ...]:
    return tuple(word.replace(SEED_PLACEHOLDER, str(seed)) for word in argv)


def _suffix(seed: int | None) -> str:
    """The seed as part of a name; empty for the default one."""
    if seed is None:
        return "-seeds"
    return f"-seed{seed}" if seed else ""


def _digest(path: Path) -> str | None:
    """16 hex digits of the SHA-256 of a file, or of the names and contents below a folder; None for
    anything else.
    """
    import hashlib

    if path.is_file():
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:16]
    if not path.is_dir():
        return None
    digest = hashlib.sha256()
    for member in sorted(path.rglob("*")):
        if member.is_file() and not BY_PRODUCTS & set(member.relative_to(path).parts):
            digest.update(
                f"{member.relative_to(path).as_posix()}\0{_digest(member)}\0".encode(
                    "utf-8", "surrogateescape"
                )
            )
    return digest.hexdigest()[:16]


@contextmanager
def _written(folder: Path, name: str) -> Iterator[IO[bytes]]:
    """A temporary file in ``folder``, gone afterwards unless it was placed; an OSError becomes one
    line with the cure.
    """
    import tempfile

    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, prefix="making-", delete=False) as file:
            try:
                yield file
            finally:
                Path(file.name).unlink(missing_ok=True)
    except OSError as error:
        full = error.errno in NO_SPACE
        cure = "free some space, or choose a smaller size" if full else "make the folder writable"
        raise WorkloadError(
            f"the workload `{name}` cannot be written to {folder}: {error.strerror}: {cure}"
        ) from None


def _place(file: IO[bytes], path: Path) -> None:
    """Give a written file its name at once; read-only, since a program that changed its input would
    falsify its next run.
    """
    file.flush()
    os.fsync(file.fileno())
    Path(file.name).chmod(0o444)
    Path(file.name).replace(path)
