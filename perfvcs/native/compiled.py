"""Programs and shared objects from the shipped C sources, compiled once per machine, compiler and
version of the source.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from perfvcs.errors import PerfError

COMPILERS = ("cc", "gcc", "clang")
COMPILE_TIMEOUT = 120.0  # seconds for one source; usual is 0.1


class NotCompiled(PerfError):
    """A shipped C source could not be compiled; the message names the cure."""

    exit_code = 5


def cache_folder() -> Path:
    """``$XDG_CACHE_HOME/perfvcs``, else ``~/.cache/perfvcs``; it need not exist."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(named) if Path(named).is_absolute() else Path.home() / ".cache") / "perfvcs"


def compiled(source: Path, *, flags: Sequence[str] = (), shared: bool = False) -> Path:
    """The executable (or shared object) of a shipped C source and the headers beside it, compiled
    when the cache has none yet.

    ``flags`` are added to the compiler's command line after the source, so that libraries can stand
    there. Many processes may ask at once: each compiles into a file of its own and renames it. A
    cache folder that cannot be written, or that belongs to another user, is replaced by a temporary
    folder of this process. Raises NotCompiled.
    """
    compiler = _compiler()
    target = (
        f"{source.stem}-{_key(source, compiler, flags, shared=shared)}{'.so' if shared else ''}"
    )
    folder = own_folder() or _temporary()
    if not (folder / target).exists():
        try:
            _compile(
                compiler,
                source,
                folder / target,
                [*(["-shared", "-fPIC"] if shared else []), "-I", str(source.parent)],
                flags,
            )
        except OSError as error:
            cure = "free some space there or set XDG_CACHE_HOME to another folder"
            raise NotCompiled(f"cannot write {folder / target}: {error.strerror}: {cure}") from None
    return folder / target


def _compiler() -> Path:
    for name in COMPILERS:
        found = shutil.which(name)
        if found:
            return Path(found)
    raise NotCompiled(
        "there is no C compiler: apt install gcc libc6-dev (or your system's package of that name)"
    )


def _key(source: Path, compiler: Path, flags: Sequence[str], *, shared: bool) -> str:
    """20 hex digits over all that decides the result; the compiler counts as its file, since asking
    its version takes 10 ms.
    """
    real = compiler.resolve()
    about = real.stat()
    # The C library is part of it because a home folder can be shared by machines of different age.
    system = os.uname()
    libc = os.confstr("CS_GNU_LIBC_VERSION") if "CS_GNU_LIBC_VERSION" in os.confstr_names else ""
    parts = (
        system.machine,
        system.sysname,
        libc or "",
        str(real),
        str(about.st_size),
        str(about.st_mtime_ns),
        str(shared),
        *flags,
    )
    digest = hashlib.sha256("\0".join(parts).encode(errors="surrogateescape"))
    for file in (source, *sorted(source.parent.glob("*.h"))):
        digest.update(b"\0" + file.read_bytes())
    return digest.hexdigest()[:20]


def _compile(
    compiler: Path, source: Path, target: Path, options: Sequence[str], flags: Sequence[str]
) -> None:
    """Compile beside ``target`` and rename; an interrupted compiler leaves no half file under the
    final name.
    """
    import tempfile

    number, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    os.close(number)
    unfinished = Path(name)
    command = [str(compiler), "-O2", "-std=gnu11", *options, "-o", name, str(source), *flags]
    try:
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                stdin=subprocess.DEVNULL,
                check=False,
                timeout=COMPILE_TIMEOUT,
            )
        except subprocess.TimeoutExpired:
            raise NotCompiled(
                f"{compiler} took over {COMPILE_TIMEOUT:.0f} s for {source.name}: check the"
                " compiler"
            ) from None
        if done.returncode:
            raise NotCompiled(_failure(compiler, source, done.stderr.decode(errors="replace")))
        unfinished.chmod(0o755)
        _flush(unfinished)
        unfinished.rename(target)
    finally:
        unfinished.unlink(missing_ok=True)


def _failure(compiler: Path, source: Path, output: str) -> str:
    lines = [line.strip() for line in output.splitlines()]
    telling = next(
        (line for line in lines if "error" in line or "cannot find" in line),
        lines[0] if lines else "no message",
    )
    missing = re.search(r"fatal error: '?([\w/.+-]+\.h)\b|cannot find (\S*crt\d|-lc)\b", output)
    cure = (
        "check the compiler"
        if missing is None
        else "install the C library's headers (apt install libc6-dev)"
    )
    if missing is not None and missing[1] == "Python.h":
        cure = "install the interpreter's headers (apt install python3-dev)"
    return f"{compiler} cannot compile {source.name}: {telling[:200]}: {cure}"


def _flush(path: Path) -> None:
    """A power cut after the rename must not leave an empty program behind: it would be taken for
    good.
    """
    with path.open("rb") as file:
        os.fsync(file.fileno())


def own_folder() -> Path | None:
    """The cache folder when files can be made in it and nobody else could have put something
    there.
    """
    try:
        folder = cache_folder()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        about = folder.stat()
        if (
            about.st_uid == os.geteuid()
            and not about.st_mode & 0o002
            and os.access(folder, os.W_OK | os.X_OK)
        ):
            return folder
    except (OSError, RuntimeError):  # RuntimeError: there is no home folder
        pass
    return None


@cache
def _temporary() -> Path:
    import tempfile

    folder = tempfile.mkdtemp(prefix="perfvcs-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


@cache
def preloadable(library: Path) -> Path:
    """A path of a shared object that LD_PRELOAD can hold, whose words are parted by spaces and
    colons.
    """
    if " " not in str(library) and ":" not in str(library):
        return library
    path = _temporary() / library.name
    if not path.exists():
        path.symlink_to(library)
    return path
