"""How large the files of a build are, and what is in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import ClassVar

from perfvcs.collectors._shared.unmodified import Unmodified
from perfvcs.errors import UsageError
from perfvcs.launcher.execution import name_command
from perfvcs.plugins.collector import CollectError, Observations, Run
from perfvcs.profile import Metric

METRICS = {
    "bytes": Metric("B", "lower", "deterministic"),
    "part_bytes": Metric("B", "none", "deterministic"),
}
MOST_FILES = 10_000  # that patterns may find


@dataclass(frozen=True)
class Size(Unmodified):
    """The bytes of files, and of their sections, symbols and members; nothing is executed.

    ``files``: patterns below the folder in which the command would run, such as ``build/*.so``;
    ``**`` stands for any folders; by default the files that the command names. A pattern that finds
    one file stands for it under any name, so that a version in the name makes no new benchmark.
    ``largest``: how many parts of a file are recorded, the largest.
    """

    engine: ClassVar[str] = "stat/1"
    metrics: ClassVar[Mapping[str, Metric]] = METRICS

    files: tuple[str, ...] = ()
    largest: int = 50

    def __post_init__(self) -> None:
        for pattern in self.files:
            path = PurePosixPath(pattern)
            if path.is_absolute() or ".." in path.parts or not path.parts:
                raise UsageError(f"size: {pattern!r} is not below the project: write build/*.so")
        if not 0 <= self.largest <= 10_000:
            raise UsageError(f"size: largest is {self.largest!r}: give a number from 0 to 10,000")

    def collect(self, run: Run) -> Observations:
        """Look at the files; raises CollectError where a pattern finds none."""
        from perfvcs.collectors.size.fileparts import parts

        rows = Observations(values={name: [] for name in METRICS}, metrics=dict(METRICS))
        files = list(self._found(run.cwd) if self.files else _named(run))
        try:
            sizes = {name: path.stat().st_size for name, path in files}
        except OSError as error:
            raise CollectError(f"{error.filename} cannot be read: {error.strerror}") from None
        rows.add(run.uid, {"bytes": sum(sizes.values())}, size=run.size)
        for name, path in files:
            if len(files) > 1:
                rows.add(name, {"bytes": sizes[name]}, size=run.size)
            found = sorted(parts(path).items(), key=lambda part: (-part[1], part[0]))
            for part, count in found[: self.largest]:
                label = f"{name} {part}" if len(files) > 1 else part
                rows.add(label, {"part_bytes": count}, size=run.size)
        return rows

    def _found(self, folder: Path) -> Iterator[tuple[str, Path]]:
        """The files by their names, each once; links count as nothing, since they may lead
        anywhere.
        """
        seen: set[Path] = set()
        for pattern in self.files:
            found = [path for path in sorted(folder.glob(pattern)) if _is_own(path, folder)]
            if not found:
                raise CollectError(
                    f"size: no file is called {pattern} in {folder}: build it first, or correct"
                    " files",
                    lasting=True,
                )
            for path in found:
                name = pattern if len(found) == 1 else path.relative_to(folder).as_posix()
                if path not in seen:
                    seen.add(path)
                    yield name, path
            if len(seen) > MOST_FILES:
                raise CollectError(
                    f"size: {pattern} finds over {MOST_FILES:,} files: name fewer", lasting=True
                )


def _named(run: Run) -> Iterator[tuple[str, Path]]:
    """The files below the folder that a command names; raises CollectError where there are none."""
    folder = run.cwd.resolve()
    paths = dict.fromkeys((folder / word).resolve() for word in run.argv)
    named = [path for path in paths if path.is_file() and path.is_relative_to(folder)]
    if not named:
        raise CollectError(
            f"size: {name_command(run.argv)} names no file of the project: write files ="
            ' ["build/*.so"]',
            lasting=True,
        )
    yield from ((path.relative_to(folder).as_posix(), path) for path in named)


def _is_own(path: Path, folder: Path) -> bool:
    """Whether it is a regular file, and no folder on the way to it is a link."""
    return path.is_file() and path.resolve() == folder.resolve() / path.relative_to(folder)
