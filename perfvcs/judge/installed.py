"""What a candidate's build and commands left: in its copy, in the place of the base's benchmarks,
and in its virtual environment. There it shows who brought something: dependencies from elsewhere,
or the candidate, whose build can write anything there, into lists of files, too.
"""

from __future__ import annotations

import csv
import filecmp
import os
import re
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from perfvcs.git.blobs import ChangedFile
from perfvcs.jobs.benchmark_files import commands
from perfvcs.jobs.pythonneeds import normalized
from perfvcs.jobs.shadows import BY_ITSELF, shadows
from perfvcs.jobs.spoken import Spoken, committed
from perfvcs.judge.footprint import files
from perfvcs.judge.guardcheck import PASSED, GuardCheck
from perfvcs.measure.held import stamps
from perfvcs.measure.pythons import InstallError
from perfvcs.measure.virtualenv import VOLATILE
from perfvcs.system.foreign import beginning, content
from perfvcs.text.words import listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from perfvcs.git.project import Project
    from perfvcs.judge.candidate import Candidate

    # installs distributions, as name==version, into a folder; raises InstallError
    Bring = Callable[[Sequence[str], Path], None]


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


LARGEST = 100_000  # bytes of a file of an environment that is looked into
STARTED = re.compile(r"^import[ \t][^\n]*", re.MULTILINE)  # the lines of a .pth that Python runs
VERSION = re.compile(r"[\d._-]+")  # in the name of what is installed
METADATA = ".dist-info"
ORIGIN = "direct_url.json"  # of what comes from a folder or an address (PEP 610)
LARGEST_RECORD = 20_000_000  # bytes of the list of a distribution's files
LARGEST_TEXT = 10_000_000  # bytes of a file in which an environment's own path may stand
ARCHIVES = (".whl", ".gz", ".zip", ".bz2", ".xz", ".tgz")
PLUGINS = re.compile(r"^\[pytest11\]([^\[]*)", re.MULTILINE)
PACKAGES = "lib/*/site-packages"
FLAGS, STAMPED = slice(4, 8), 16  # bytes of a compiled module (PEP 552): how it is checked
IMPORTED = (".py", ".so")  # suffixes of what Python imports


class Installed(NamedTuple):
    """The files of a candidate's environment that decide what runs there and are not in the base's:
    those that it ``made``, those that dependencies ``brought``, and those of which neither is
    ``known``.
    """

    made: list[str]
    brought: list[str]
    unknown: list[str]

    def __add__(self, other: Installed) -> Installed:  # type: ignore[override]
        """These and others, each once."""
        pairs = zip(self, other, strict=True)
        return Installed(*(list(dict.fromkeys(own + more)) for own, more in pairs))

    @property
    def check(self) -> GuardCheck:
        """What a change may well need is no reason to reject it."""
        said = []
        if self.brought:
            names = listed(self.brought)
            said.append(f"dependencies of the change run by themselves in each Python: {names}")
        if self.unknown:
            names = listed(self.unknown)
            said.append(f"whether {names} came from elsewhere, or the change made it, is not known")
        if not said:
            return PASSED
        return GuardCheck("doubted" if self.unknown else "warning", "; ".join(said))


NOTHING = Installed([], [], [])


def installed(
    project: Project, candidate: Candidate, base: Path, own: Path, bring: Bring
) -> Installed:
    """The files of a candidate's ``own`` virtual environment that run in the place of what a
    benchmark starts, or by themselves before it, and are not in that of the ``base``; and the
    files of what both have from elsewhere that are others.

    ``bring`` installs again what a dependency is said to have brought: only that shows it.
    """
    if base == own:
        return NOTHING
    before = {running for running, _ in _unasked(base)}
    new = {file for running, file in _unasked(own) if running not in before}
    owners = {file: _owners(file, candidate) for file in new}
    brought, unknown = _confirmed({file: of for file, of in owners.items() if of}, base, bring)
    made = {_name(file) for file in new - brought - unknown}
    if programs := _programs(own) - _programs(base):
        known = committed(project, candidate.base)
        spoken = Spoken.of(project, candidate.base, known, candidate.table)
        words = {word for text in commands(candidate.table) for word in text.split()}
        outside = {name for name in programs & spoken.paths if shutil.which(name)}
        made |= {f"bin/{name}" for name in outside | (programs & words)}
    other = _altered(base, own)
    return Installed(
        sorted(made | {*other.made}),
        sorted(map(_name, brought)),
        sorted({*map(_name, unknown), *other.unknown}),
    )


def _programs(environment: Path) -> set[str]:
    return {file.name for file in environment.glob("bin/*")}


def _unasked(environment: Path) -> Iterator[tuple[str, Path]]:
    """What runs in a virtual environment whatever is started, without versions, and the files that
    this is from: lines of .pth files, modules that Python imports by itself, plugins of pytest.
    """
    for packages in environment.glob(PACKAGES):
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


def _packages(file: Path) -> Path:
    """The folder of packages that has a file, or the metadata in which that lies."""
    return file.parent.parent if file.parent.name.endswith(METADATA) else file.parent


def _name(file: Path) -> str:
    """What a file of an environment is called, with its folder where that is a distribution's."""
    return str(file.relative_to(_packages(file)))


def _owners(file: Path, candidate: Candidate) -> list[Path]:
    """The distributions that have a file, by what installers note; none where one of them comes
    from a folder or an address, or from an archive that the candidate changed.
    """
    archives = [path for path in candidate.changed if path.endswith(ARCHIVES)]
    noted = f"\n{_name(file)},"
    owners = [
        record.parent
        for record in _packages(file).glob(f"*{METADATA}/RECORD")
        if noted in f"\n{beginning(record, LARGEST_RECORD)}"
    ]
    return [] if any(_is_given(owner, archives) for owner in owners) else owners


def _is_given(metadata: Path, archives: Sequence[str]) -> bool:
    """Whether a distribution comes from a folder or an address, or from one of some archives."""
    begins = f"{normalized(metadata.name.partition('-')[0])}-"
    names = (normalized(path.rpartition("/")[2]) for path in archives)
    return (metadata / ORIGIN).exists() or any(name.startswith(begins) for name in names)


def _confirmed(
    owners: dict[Path, list[Path]], base: Path, bring: Bring
) -> tuple[set[Path], set[Path]]:
    """The files that their owners have where the base has these, or else where they are installed
    once more; and those of owners that cannot be.
    """
    known = {metadata.name for metadata in base.glob(f"{PACKAGES}/*{METADATA}")}
    asked = {owner.name for names in owners.values() for owner in names} - known
    with TemporaryDirectory(prefix="perfvcs-brought-") as folder:
        place, is_there = Path(folder), True
        entries = [name.removesuffix(METADATA).replace("-", "==", 1) for name in sorted(asked)]
        try:
            if entries:
                bring(entries, place)
        except InstallError:
            is_there = False
        brought = {file for file in owners if same(place / _name(file), file)}
    lost = {file for file, names in owners.items() if any(owner.name in asked for owner in names)}
    return brought, set() if is_there else lost


def _altered(base: Path, own: Path) -> Installed:
    """The files of an environment's interpreter, and of what the base has from elsewhere in the
    same version, that are others than the base's, or that Python imports in the place of one.

    Of one that is no text, another build of the same sources may be another; and what comes from
    a folder or an address now may be another on purpose.
    """
    made = [
        str(file.relative_to(base))
        for file in (*base.glob("pyvenv.cfg"), *base.glob("bin/python*"))
        if not _alike(file, base, own)
    ]
    unknown: list[str] = []
    for packages in base.glob(PACKAGES):
        own_packages = own / packages.relative_to(base)
        kept: list[str] = []
        for metadata in packages.glob(f"*{METADATA}"):
            own_metadata = own_packages / metadata.name
            if (metadata / ORIGIN).exists() or not own_metadata.is_dir():
                continue
            names = [*_files(metadata)]
            kept += names
            is_given = (own_metadata / ORIGIN).exists()
            for name in names:
                if not _alike(file := packages / name, base, own):
                    is_text = "\0" not in beginning(file, LARGEST)
                    (made if is_text and not is_given else unknown).append(os.path.normpath(name))
        unknown += _compiled_otherwise(kept, packages, own_packages)
        new = stamps(own_packages).keys() - stamps(packages).keys()
        made += _imported_instead(kept, new)
    return Installed(made, [], unknown)


def _files(metadata: Path) -> Iterator[str]:
    """The files of a distribution as the installer noted them, but what it made itself."""
    text = beginning(metadata / "RECORD", LARGEST_RECORD)
    for name, *_ in filter(None, csv.reader(text.splitlines())):
        is_own = os.path.basename(name) in VOLATILE  # noqa: PTH119
        if not is_own and "__pycache__" not in name:
            yield name


def _alike(file: Path, base: Path, own: Path) -> bool:
    """Whether an environment has the same file as the base, but for where it is."""
    other = own / file.relative_to(base)
    if file.is_symlink() or other.is_symlink():
        return file.is_symlink() and other.is_symlink() and file.readlink() == other.readlink()
    if same(file, other):
        return True
    try:
        texts = [
            content(each, LARGEST_TEXT).replace(os.fsencode(folder), b"")
            for each, folder in ((file, base), (other, own))
        ]
    except OSError:
        return False
    return texts[0] == texts[1] and len(texts[0]) < LARGEST_TEXT


def _compiled_otherwise(names: Iterable[str], packages: Path, own: Path) -> Iterator[str]:
    """What Python compiled of modules whose instructions are not the base's, which it runs all the
    same; the order in which modules are compiled can change some bytes, too.
    """
    folders = [os.fsencode(each.parents[2]) for each in (packages, own)]
    for name in names:
        source = packages / name
        if source.suffix != ".py":
            continue
        for file in source.parent.glob(f"__pycache__/{source.stem}.*.pyc"):
            path = file.relative_to(packages)
            codes = [
                content(each, LARGEST_TEXT).replace(folder, b"")
                for each, folder in zip((file, own / path), folders, strict=True)
                if each.is_file()
            ]
            if len({code[FLAGS] + code[STAMPED:] for code in codes}) > 1:
                yield str(path)


def _imported_instead(names: Iterable[str], new: Iterable[str]) -> list[str]:
    """The ``new`` files that Python would import in the place of others, or a folder that it would.

    >>> _imported_instead(["six.py", "a/b.py"], ["six/__init__.py", "a/b.abi3.so", "a/c.py"])
    ['six/__init__.py', 'a/b.abi3.so']
    """
    modules = {_module(name) for name in names if name.endswith(IMPORTED)}
    return [name for name in new if _is_instead(name, modules)]


def _is_instead(name: str, modules: set[str]) -> bool:
    if name.endswith(IMPORTED) and _module(name) in modules:
        return True
    return any(str(parent) in modules for parent in Path(name).parents)


def _module(name: str) -> str:
    """A path without the suffixes."""
    folder, slash, last = name.rpartition("/")
    return f"{folder}{slash}{last.partition('.')[0]}"
