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
from perfvcs.jobs.pythonneeds import normalized
from perfvcs.jobs.shadows import BY_ITSELF, shadows
from perfvcs.jobs.spoken import Spoken, committed
from perfvcs.judge.footprint import files
from perfvcs.system.foreign import beginning

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from perfvcs.git.project import Project
    from perfvcs.judge.candidate import Candidate


LARGEST = 100_000  # bytes of a file of an environment that is looked into
STARTED = re.compile(r"^import[ \t][^\n]*", re.MULTILINE)  # the lines of a .pth that Python runs
VERSION = re.compile(r"[\d._-]+")  # in the name of what is installed
METADATA = ".dist-info"
LARGEST_RECORD = 20_000_000  # bytes of the list of a distribution's files
ARCHIVES = (".whl", ".gz", ".zip", ".bz2", ".xz", ".tgz")
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


def installed(
    project: Project, candidate: Candidate, base: Path, own: Path
) -> tuple[list[str], list[str]]:
    """The files of a candidate's ``own`` virtual environment that run in the place of what a
    benchmark starts, or by themselves before it, and are not in that of the ``base``: those that
    the candidate made, and those that dependencies brought from elsewhere.

    A text may speak of what is no program, such as a package: only one that is on PATH is replaced.
    """
    if base == own:
        return [], []
    before = {running for running, _ in _unasked(base)}
    new = {file for running, file in _unasked(own) if running not in before}
    foreign = {file for file in new if _is_brought(file, candidate)}
    made = {_name(file) for file in new - foreign}
    if programs := _programs(own) - _programs(base):
        known = committed(project, candidate.base)
        spoken = Spoken.of(project, candidate.base, known, candidate.table)
        words = {word for text in commands(candidate.table) for word in text.split()}
        outside = {name for name in programs & spoken.paths if shutil.which(name)}
        made |= {f"bin/{name}" for name in outside | (programs & words)}
    return sorted(made), sorted(map(_name, foreign))


def _programs(environment: Path) -> set[str]:
    return {file.name for file in environment.glob("bin/*")}


def _unasked(environment: Path) -> Iterator[tuple[str, Path]]:
    """What runs in a virtual environment whatever is started, without versions, and the files that
    this is from: lines of .pth files, modules that Python imports by itself, plugins of pytest.
    """
    for packages in environment.glob("lib/*/site-packages"):
        for file in packages.glob("*.pth"):
            for line in STARTED.findall(beginning(file, LARGEST)):
                yield VERSION.sub("", line), file
        for name in BY_ITSELF:
            yield from ((file.name, file) for file in packages.glob(f"{name}.*"))
        if not (packages / "pytest").exists():  # so that nothing loads its plugins
            continue
        for file in packages.glob("*.dist-info/entry_points.txt"):
            for section in PLUGINS.findall(beginning(file, LARGEST)):
                for line in filter(None, map(str.strip, section.split("\n"))):
                    yield f"plugin {line}", file


def _name(file: Path) -> str:
    """What a file of an environment is called, with its folder where that is a distribution's."""
    is_metadata = file.parent.name.endswith(METADATA)
    return f"{file.parent.name}/{file.name}" if is_metadata else file.name


def _is_brought(file: Path, candidate: Candidate) -> bool:
    """Whether only distributions from elsewhere have a file, by what installers note: not one from
    a folder or an address (PEP 610), nor from an archive that the candidate changed.
    """
    is_metadata = file.parent.name.endswith(METADATA)
    packages = file.parent.parent if is_metadata else file.parent
    noted = f"\n{file.relative_to(packages)},"
    archives = [path for path in candidate.changed if path.endswith(ARCHIVES)]
    owners = [
        record.parent
        for record in packages.glob(f"*{METADATA}/RECORD")
        if noted in f"\n{beginning(record, LARGEST_RECORD)}"
    ]
    return bool(owners) and not any(_is_given(owner, archives) for owner in owners)


def _is_given(metadata: Path, archives: Sequence[str]) -> bool:
    """Whether a distribution comes from a folder or an address, or from one of some archives."""
    begins = f"{normalized(metadata.name.partition('-')[0])}-"
    names = (normalized(path.rpartition("/")[2]) for path in archives)
    return (metadata / "direct_url.json").exists() or any(name.startswith(begins) for name in names)


def _same(file: Path, other: Path) -> bool:
    filecmp.clear_cache()  # it goes by size and time, which a program can restore
    try:
        return file.is_symlink() == other.is_symlink() and filecmp.cmp(file, other, shallow=False)
    except OSError:  # only one of them is there
        return False
