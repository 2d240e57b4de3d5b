"""What became of the base's benchmarks in the copy of a candidate, where its build, its tests and
the program itself have run.
"""

from __future__ import annotations

import filecmp
from pathlib import Path
from typing import TYPE_CHECKING

from perfvcs.git.blobs import ChangedFile
from perfvcs.jobs.shadows import shadows
from perfvcs.judge.footprint import files

if TYPE_CHECKING:
    from perfvcs.git.project import Project
    from perfvcs.judge.candidate import Candidate


def replaced(candidate: Candidate, base: Path, copy: Path) -> list[str]:
    """The files that measure or judge and are others in the ``copy`` of a candidate than it was
    laid out with; not those of which the copy of the ``base`` has the same, or which are no longer
    as they were there, too.
    """
    own = {*candidate.changed} - {*candidate.restored}
    return [
        path
        for path in candidate.measuring
        if not same(laid := candidate.folder / path, copy / path)
        and not same(copy / path, base / path)
        and (path in own or same(laid, base / path))
    ]


def standing_in(
    project: Project, candidate: Candidate, base: Path, copy: Path, end: str = ""
) -> list[str]:
    """The files that were made in the ``copy`` of a candidate alone, and stand in the place of what
    measures; only those whose names ``end`` so.
    """
    new = {*files(copy)} - {*files(base)} - candidate.listed
    added = [ChangedFile(path, "A", "100644") for path in sorted(new) if path.endswith(end)]
    return shadows(project, candidate.base, added, candidate.table)


def same(file: Path, other: Path) -> bool:
    """Whether two files have the same content, or lead to the same."""
    filecmp.clear_cache()  # it goes by size and time, which a program can restore
    try:
        return file.is_symlink() == other.is_symlink() and filecmp.cmp(file, other, shallow=False)
    except OSError:  # only one of them is there
        return False
