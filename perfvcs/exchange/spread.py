"""Results that a tool spreads over a folder of small files: Criterion's, which become one document."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from perfvcs.formats import content
from perfvcs.formats._foreign import MAX_FOREIGN
from perfvcs.formats.criterion import message_of
from perfvcs.validity import Malformed

FORMAT = "criterion"
NEWEST = "new"
RUN_FOLDERS = (NEWEST, "base", "change")  # of a benchmark: its last run, what that was compared with, and how both differ
ESTIMATES = "estimates.json"  # in each of them
NAME, SAMPLE = "benchmark.json", "sample.json"


def is_part(folder: Path, names: Sequence[str]) -> bool:
    """Whether a folder with files of these names is one of a benchmark of Criterion, whose single files are not profiles."""
    return folder.name in RUN_FOLDERS and ESTIMATES in names


def is_newest(folder: Path, names: Sequence[str]) -> bool:
    """Whether it holds what the last run measured."""
    return folder.name == NEWEST and NAME in names and SAMPLE in names


def joined(folders: Sequence[Path]) -> bytes:
    """One document of the benchmarks in these folders; raises Malformed that names the folder, and as ``content`` does."""
    lines: list[bytes] = []
    size = 0
    for folder in folders:
        name, sample = content(folder / NAME), content(folder / SAMPLE)
        size += len(name) + len(sample)
        if size > MAX_FOREIGN:
            raise Malformed(f"{folder}: the files up to here have over {MAX_FOREIGN:,} bytes: import the folders one by one")
        try:
            lines.append(message_of(name, sample))
        except Malformed as error:
            raise Malformed(f"{folder}: {error}") from None
    return b"".join(sorted(lines))
