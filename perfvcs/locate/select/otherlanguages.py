"""Changed programs in languages of which the analysis knows files only: who may notice them."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from perfvcs.jobs.cell import Cell
    from perfvcs.locate.select.reached import Reach
    from perfvcs.locate.sources.uses import Sources


def beside_program(cell: Cell, paths: Iterable[str], sources: Sources) -> str:
    """How a job may notice one of some changed files: it is below the folder of what the command
    names; empty where none is.
    """
    programs = list(_named(cell, sources))
    return _beside(paths, programs)


def beside_sources(reach: Reach, paths: Iterable[str]) -> str:
    """The same, below the folder of a source that the job runs."""
    return _beside(paths, {function.partition(":")[0] for function in reach.functions})


def _beside(paths: Iterable[str], programs: Iterable[str]) -> str:
    folders = {path.rpartition("/")[0]: path for path in sorted(programs, reverse=True)}
    for path in paths:
        around = {
            "" if str(folder) == "." else str(folder) for folder in PurePosixPath(path).parents
        }
        if near := sorted(around & folders.keys()):
            return (
                f"{path} changed, in the folder of {folders[near[-1]]}, and is known by file only"
            )
    return ""


def _named(cell: Cell, sources: Sources) -> Iterator[str]:
    """The files that a command names."""
    command = " ".join(filter(None, (cell.cmd, cell.args)))
    try:
        words = shlex.split(command)
    except ValueError:  # of a shell
        words = command.split()
    for word in words:
        if (path := os.path.normpath(word)) in sources.files:
            yield path
