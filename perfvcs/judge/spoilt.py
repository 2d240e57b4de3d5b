"""What became of the base's benchmarks in the copy of a candidate, where its build, its tests and
the program itself have run, and in its virtual environment.
"""

from __future__ import annotations

import filecmp
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from perfvcs.git.blobs import ChangedFile
from perfvcs.jobs.benchmark_files import commands
from perfvcs.jobs.shadows import BY_ITSELF, shadows
from perfvcs.jobs.spoken import Spoken, committed
from perfvcs.judge.footprint import files
from perfvcs.system.foreign import beginning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from perfvcs.git.project import Project
    from perfvcs.judge.candidate import Candidate


LARGEST = 100_000  # bytes of a file of an environment that is looked into
STARTED = re.compile(r"^import[ \t][^\n]*", re.MULTILINE)  # the lines of a .pth that Python runs
VERSION = re.compile(r"[\d._-]+")  # in the name of what is installed
PLUGINS = re.compile(r"^\[pytest11\]([^\[]*)", re.MULTILINE)


def replaced(candidate: Candidate, base: Path, copy: Path) -> list[str]:
    """The files that measure or judge and are others in the ``copy`` of a candidate than it was
    laid out with; not those of which the copy of the ``base`` has the same, or which are no longer
    as they were there, too.
    """
    own = {*candidate.changed} - {*candidate.restored}
    return [
        path
        for path in candidate.measuring
        if not _same(laid := candidate.folder / path, copy / path)
        and not _same(copy / path, base / path)
        and (path in own or _same(laid, base / path))
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


def installed(project: Project, candidate: Candidate, base: Path, own: Path) -> list[str]:
    """The files of a candidate's ``own`` virtual environment that run in the place of what a
    benchmark starts, or by themselves before it, and are not in that of the ``base``. A text may
    speak of what is no program, such as a package: only one that is on PATH is replaced.
    """
    if base == own:
        return []
    before = dict(_unasked(base))
    new = [name for running, name in _unasked(own) if running not in before]
    if programs := _programs(own) - _programs(base):
        known = committed(project, candidate.base)
        spoken = Spoken.of(project, candidate.base, known, candidate.table)
        words = {word for text in commands(candidate.table) for word in text.split()}
        outside = {name for name in programs & spoken.paths if shutil.which(name)}
        new += [f"bin/{name}" for name in outside | (programs & words)]
    return sorted({*new})


def _programs(environment: Path) -> set[str]:
    return {file.name for file in environment.glob("bin/*")}


def _unasked(environment: Path) -> Iterator[tuple[str, str]]:
    """What runs in a virtual environment whatever is started, without versions, and the files that
    this is from: lines of .pth files, modules that Python imports by itself, plugins of pytest.
    """
    for packages in environment.glob("lib/*/site-packages"):
        for file in packages.glob("*.pth"):
            for line in STARTED.findall(beginning(file, LARGEST)):
                yield VERSION.sub("", line), file.name
        for name in BY_ITSELF:
            yield from ((file.name, file.name) for file in packages.glob(f"{name}.*"))
        if not (packages / "pytest").exists():  # so that nothing loads its plugins
            continue
        for file in packages.glob("*.dist-info/entry_points.txt"):
            for section in PLUGINS.findall(beginning(file, LARGEST)):
                for line in filter(None, map(str.strip, section.split("\n"))):
                    yield f"plugin {line}", f"{file.parent.name}/{file.name}"


def _same(file: Path, other: Path) -> bool:
    filecmp.clear_cache()  # it goes by size and time, which a program can restore
    try:
        return file.is_symlink() == other.is_symlink() and filecmp.cmp(file, other, shallow=False)
    except OSError:  # only one of them is there
        return False
