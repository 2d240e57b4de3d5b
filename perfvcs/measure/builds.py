"""Builds: they are run in a checkout, and the files that one left there are kept under a key of all
that it was made from, so that a revision is built once.

``.perf/builds/KEY`` has the files in ``tree``, and beside them a digest of them that is written
last. It can be deleted at any time.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from perfvcs.errors import PerfError, system_reason
from perfvcs.git.worktree import CheckoutError
from perfvcs.jobs.config import Config, seconds
from perfvcs.launcher.preparation import CommandFailed, run
from perfvcs.native import native_folder
from perfvcs.profile.buildidentity import COMPILER_NAME
from perfvcs.repository import seals
from perfvcs.system.disk import entries, remove

SOURCE_SUFFIXES = ("c", "C", "cc", "cp", "cpp", "cxx", "CPP", "c++")
VARIABLES = ("CC", "CXX")
SCRIPT = """\
#!/bin/sh
# Adds flags wherever code is made: with -flto that is also where it is linked. Other linking gets
# none, since -pg would link in a profiler's start-up. gcc bears no -fomit-frame-pointer beside -pg.
PATH={path}
export PATH
{before}making=
for word in "$@"; do
    case $word in
        -c | -S | -flto | -flto=* | {sources}) making=1 ;;
    esac
done
[ "$making" ] || exec {compiler} "$@"
for word in "$@"; do
    shift
    [ "$word" = {dropped} ] || set -- "$@" "$word"
done
exec {compiler} "$@" {flags}
"""
# The assembler of cross compilers has another name, which they know.
NAMES_ASSEMBLER = "PERFVCS_AS=$({compiler} -print-prog-name=as)\nexport PERFVCS_AS\n"
ASSEMBLER = """\
#!/bin/sh
exec {python} -I -S {program} {seed} {mark} "${{PERFVCS_AS:-as}}" "$@"
"""
KEPT_BUILDS = 30  # the newest
LARGEST_BUILDS = 4 << 30  # of all builds
LARGEST_BUILD = 1 << 30  # bytes of one: a larger one is made again
CHUNK_BYTES = 1 << 20
DIGEST = "digest"
CFLAGS = "{cflags}"  # in a build command
LAID_OUT = "laid-out"  # the file that is there once an assembler laid code out


class BuildError(PerfError):
    """A revision could not be built; its jobs are not measured."""

    exit_code = 5


def wrapped(
    env: Mapping[str, str], flags: Sequence[str], folder: Path, layout: str = ""
) -> dict[str, str]:
    """The environment in which every C and C++ compiler on PATH compiles with ``flags`` added;
    their wrappers are put in ``folder``. With a seed, the ``layout`` of their code follows from it.

    Setting CFLAGS would not do: it replaces what a build that reads it has as its own, optimisation
    among them, and one that assigns it does not see ours.
    """
    path = env.get("PATH", os.defpath)
    compilers: dict[str, str] = {}
    for place in path.split(os.pathsep):
        for name in _compilers(place):
            compilers.setdefault(name, str(Path(place, name).absolute()))
    folder.mkdir(parents=True, exist_ok=True)
    patterns = " | ".join(f"*.{suffix}" for suffix in SOURCE_SUFFIXES)
    added = _laying_out(folder, layout) if layout else ()
    for name, compiler in compilers.items():
        script = folder / name
        of_layout = (*added, "-fno-integrated-as") if added and _is_clang(compiler) else added
        script.write_text(
            SCRIPT.format(
                path=shlex.quote(path),
                sources=patterns,
                compiler=shlex.quote(compiler),
                flags=shlex.join([*flags, *of_layout]),
                before=NAMES_ASSEMBLER.format(compiler=shlex.quote(compiler)) if layout else "",
                dropped="-fomit-frame-pointer" if flags else "''",
            )
        )
        script.chmod(0o755)
    named = {name: _renamed(env[name], compilers, folder) for name in VARIABLES if name in env}
    return dict(env) | named | {"PATH": os.pathsep.join((str(folder.absolute()), path))}


def _laying_out(folder: Path, layout: str) -> tuple[str, ...]:
    """What makes a compiler call our assembler, which is put in a folder below ``folder``."""
    place = folder.absolute() / "assembler"
    place.mkdir()
    script = place / "as"
    script.write_text(
        ASSEMBLER.format(
            python=shlex.quote(sys.executable),
            program=shlex.quote(str(native_folder() / "assembler.py")),
            seed=shlex.quote(layout),
            mark=shlex.quote(str(place / LAID_OUT)),
        )
    )
    script.chmod(0o755)
    return ("-ffunction-sections", f"-B{place}")


def _is_clang(compiler: str) -> bool:
    return "clang" in Path(compiler).resolve().name


def _compilers(folder: str) -> list[str]:
    try:
        return [
            file.name
            for file in Path(folder).iterdir()
            if re.fullmatch(COMPILER_NAME, file.name) and os.access(file, os.X_OK)
        ]
    except OSError:  # PATH may name what is not there
        return []


def _renamed(command: str, compilers: Mapping[str, str], folder: Path) -> str:
    """The command of CC or CXX, with a wrapper in place of a compiler named by its path."""
    program, _, rest = command.partition(" ")
    if Path(program).is_absolute() and compilers.get(Path(program).name) == program:
        return f"{folder.absolute() / Path(program).name} {rest}".strip()
    return command


class Builds:
    """The builds that are kept in a ``.perf`` folder; its owner alone measures there."""

    def __init__(self, home: Path) -> None:
        self.folder = home / "builds"

    def restore(self, key: str, checkout: Path) -> bool:
        """Put what a build left into a checkout; False where it is not kept, or is no longer what
        was kept, which is then forgotten.

        Raises CheckoutError where the checkout's disk has no room for it.
        """
        place = self.folder / key
        try:
            sealed = seals.holds(place / DIGEST)
            if not sealed or (place / DIGEST).read_text() != _digest(place / "tree"):
                raise ValueError(key)
        except (OSError, ValueError):
            _forget(place)
            return False
        with suppress(OSError):
            os.utime(place)
        for name in entries(checkout):
            if name != ".git":
                remove(checkout / name)
        try:
            shutil.copytree(place / "tree", checkout, symlinks=True, dirs_exist_ok=True)
        except OSError as error:
            raise CheckoutError(
                f"the build that is kept in {place} cannot be copied: {system_reason(error)}"
            ) from None
        return True

    def keep(self, key: str, checkout: Path) -> None:
        """Keeps what a build left in a checkout; if it cannot be copied, that is made again."""
        place = self.folder / key
        if _size(checkout) > LARGEST_BUILD:
            return
        try:
            _forget(place)
            place.mkdir(parents=True)
            shutil.copytree(
                checkout,
                place / "tree",
                symlinks=True,
                ignore=lambda folder, _: {".git"} if Path(folder) == checkout else (),
            )
            seals.write(place / DIGEST, _digest(place / "tree").encode())
            self._prune()
        except (OSError, shutil.Error):
            with suppress(OSError):
                _forget(place)

    def _prune(self) -> None:
        """Removes the builds that were not used for longest, and what a crash left."""
        ages = {}
        for name in entries(self.folder):
            place = self.folder / name
            with suppress(OSError):
                ages[place] = place.stat().st_mtime if (place / DIGEST).exists() else 0.0
        held = 0
        for number, place in enumerate(sorted(ages, key=lambda place: ages[place], reverse=True)):
            held += _size(place) if ages[place] else 0
            if not ages[place] or number >= KEPT_BUILDS or held > LARGEST_BUILDS:
                _forget(place)


def key_of(*parts: object) -> str:
    """The name of a build by all that it is made from; ``parts`` have an exact ``repr``."""
    return hashlib.sha256(repr(parts).encode("utf-8", "surrogateescape")).hexdigest()[:32]


def _forget(folder: Path) -> None:
    if os.path.lexists(folder):
        with suppress(FileNotFoundError):
            (folder / DIGEST).unlink()  # first, so that nobody takes half of it
        remove(folder)


def _files(top: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Every file and link below a folder, in order; the ``.git`` of a checkout is left out."""
    for folder, folders, files in os.walk(top):
        here = Path(folder)
        folders.sort()
        linked = [name for name in folders if (here / name).is_symlink()]
        for name in sorted([*files, *linked]):
            if here != top or name != ".git":
                yield here / name, (here / name).lstat()


def _size(top: Path) -> int:
    with suppress(OSError):
        return sum(status.st_size for _, status in _files(top))
    return 0


def _digest(top: Path) -> str:
    """The SHA-256 of all names, modes and contents below a folder."""
    digest = hashlib.sha256()
    for path, status in _files(top):
        digest.update(
            f"{path.relative_to(top)}\0{status.st_mode:o}\0{status.st_size}\0".encode(
                "utf-8", "surrogateescape"
            )
        )
        if stat.S_ISLNK(status.st_mode):
            digest.update(os.fsencode(path.readlink()))
        elif stat.S_ISREG(status.st_mode):
            with path.open("rb") as file:
                while chunk := file.read(CHUNK_BYTES):
                    digest.update(chunk)
    return digest.hexdigest()


def run_build(
    config: Config,
    folder: Path,
    env: Mapping[str, str],
    flags: Sequence[str],
    scratch: Path,
    log: Path,
    layout: str = "",
) -> bool:
    """Runs the build commands in a checkout, with compilers that add the flags; returns whether
    they laid code out by the seed ``layout``. Raises BuildError.

    These compilers are made in a folder of their own in ``scratch``. What the commands print goes
    into ``log``.
    """
    limit = seconds(config.build_timeout, "build_timeout")
    with ExitStack() as until_built:
        compilers = None
        if flags or layout:
            temporary = TemporaryDirectory(prefix="compilers-", dir=scratch)
            compilers = Path(until_built.enter_context(temporary))
            env = wrapped(env, flags, compilers, layout)
        try:
            for command in config.build:
                run(_with(flags, command), cwd=folder, env=env, timeout=limit, log=log)
        except CommandFailed as error:
            raise BuildError(f"the build failed: {error}") from None
        return compilers is not None and (compilers / "assembler" / LAID_OUT).exists()


def _with(flags: Sequence[str], command: str) -> list[str]:
    """A build command's words with the flags for ``{cflags}``, as words or inside one."""
    words: list[str] = []
    for word in shlex.split(command):
        if word == CFLAGS:
            words += flags
        elif CFLAGS in word:
            words.append(word.replace(CFLAGS, " ".join(flags)).rstrip())
        else:
            words.append(word)
    return words
