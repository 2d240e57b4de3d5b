"""The inputs of a build or an installation besides the files of the revision.

These are the overlay, which is laid over every checkout, the variables of its environment, and the
files elsewhere that requirements name.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from perfvcs.errors import UsageError, system_reason
from perfvcs.measure.builds import BuildError
from perfvcs.measure.held import BYTECODE, Stamps, stamps
from perfvcs.system.disk import remove, stamped
from perfvcs.system.foreign import beginning


def lay(root: Path, folder: Path, entry: str) -> str:
    """Copies an entry of the newest files over a checkout; returns its SHA-256's start."""
    source, place = overlay_source(root, entry)
    target = folder / place
    if not target.parent.resolve().is_relative_to(folder.resolve()):
        raise BuildError(
            f"overlay `{entry}` would leave the checkout through a symbolic link of this revision"
        )
    try:
        remove(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        # a link becomes what it leads to, since the revision may not have that
        if source.is_dir():
            shutil.copytree(
                source, target, symlinks=True, ignore=shutil.ignore_patterns("__pycache__", ".git")
            )
        else:
            shutil.copy2(source, target)
    except (FileExistsError, NotADirectoryError):
        raise BuildError(
            f"overlay `{entry}` has no place in this revision, where a folder above it is a file"
        ) from None
    except shutil.Error as error:
        raise BuildError(
            f"overlay `{entry}` cannot be copied: {system_reason(error)}: take that out of it"
        ) from None
    return _content(source)


def overlay_source(root: Path, entry: str) -> tuple[Path, Path]:
    """What an entry of the overlay means, through links, and its place; raises UsageError."""
    place = Path(os.path.normpath(entry))
    source = (root / place).resolve()
    inside = (
        source.relative_to(root.resolve()).parts if source.is_relative_to(root.resolve()) else ()
    )
    if (
        not inside
        or place.is_absolute()
        or ".." in place.parts
        or {".git", ".perf"}.intersection((inside[0], place.parts[0]))
    ):
        raise UsageError(
            f"perf.toml: overlay `{entry}` is not part of the project: name a file or folder of it"
        )
    if not source.exists():
        raise UsageError(f"perf.toml: overlay `{entry}` does not exist: create it or take it out")
    return source, place


def files_of(path: Path) -> list[Path]:
    """A file, or what is below a folder in order, compiled Python left out."""
    if path.is_file():
        return [path]
    return sorted(file for file in path.rglob("*") if "__pycache__" not in file.parts)


def _content(path: Path) -> str:
    """16 hex digits over names and contents of a file or folder, compiled Python left out."""
    digest = hashlib.sha256()
    for file in files_of(path):
        # a link in a folder stays one, and leads to the revision's own
        if file.is_symlink():
            content = os.fsencode(file.readlink())
        elif file.is_file():
            content = file.read_bytes()
        else:
            continue
        digest.update(
            f"{file.relative_to(path).as_posix()}\0{len(content)}\0".encode(
                "utf-8", "surrogateescape"
            )
        )
        digest.update(content)
    return digest.hexdigest()[:16]


# Variables that differ from terminal to terminal, or from job to job of a CI service. Every other
# one may be read by a compiler, an installer or a build backend.
OF_A_SESSION = re.compile(
    "TERM|TERMINAL.*|TERM_.*|COLORTERM|COLUMNS|LINES|LS_COLORS|LESS.*|PAGER|EDITOR|VISUAL|MAIL"
    "|PS[0-4]|PROMPT.*|HIST.*|SHLVL|SHELL_SESSION.*|WINDOWID|WINDOWPATH|DISPLAY|WAYLAND_.*"
    "|XAUTHORITY|XDG_(SESSION|RUNTIME|SEAT|VTNR|CURRENT|MENU).*|DBUS_.*|SESSION_MANAGER|DESKTOP_.*"
    "|GIO_.*|GNOME_.*|KDE_.*|KONSOLE_.*|VTE_.*|ITERM_.*|LC_TERMINAL.*|KITTY_.*|ALACRITTY_.*"
    "|WEZTERM_.*|VSCODE_.*|TMUX.*|STY|WINDOW|SSH_.*|GPG_.*|SUDO_.*|INVOCATION_ID|JOURNAL_STREAM"
    "|SYSTEMD_.*|MEMORY_PRESSURE_.*|MAKELEVEL|MFLAGS|PYTEST_.*|GIT_.*"
    "|GITHUB_.*|RUNNER_.*|ACTIONS_.*|INPUT_.*|CI_.*|GITLAB_.*|BUILD_(ID|NUMBER|TAG|URL)|JOB_.*"
)
# variables of pip and uv that name files, and where both have their settings
NAMING = re.compile("(PIP|UV)_.*(REQUIREMENT|CONSTRAINT|OVERRIDE|EXCLUDE|FIND_LINKS|CONFIG_FILE)S?")
SETTINGS = (
    "/etc/pip.conf",
    "/etc/uv/uv.toml",
    "~/.pip/pip.conf",
    "~/.config/pip/pip.conf",
    "~/.config/uv/uv.toml",
)
# options whose values are lists of requirements, which name files themselves
LISTS = ("--requirements", "--constraints", "--build-constraints", "--overrides", "--excludes")
LONGEST_LIST = 1 << 20  # bytes
FILE_URL = re.compile(r"file:(?://[^/\s]*)?(/[^\s#?]*)")
SHORT_OPTION = re.compile(r"-[qvhVUI]*([A-Za-z])[ =]?(.*)", re.DOTALL)


class Named(NamedTuple):
    """The files that the words of an installer name: whether some are in the ``checkout``, and the
    stamps of those ``elsewhere``, by path.
    """

    checkout: bool
    elsewhere: dict[str, Stamps]


def variables(env: Mapping[str, str], configured: Mapping[str, str]) -> dict[str, str]:
    """The variables that a build or an installation may obey, those of perf.toml included."""
    open_ones = {name: text for name, text in env.items() if not OF_A_SESSION.fullmatch(name)}
    return dict(sorted((open_ones | dict(configured)).items()))


def named(words: Sequence[str], checkout: Path, env: Mapping[str, str]) -> Named:
    """The files that an installer with these words and variables in a checkout reads.

    Lists of requirements are followed. A word that may be a package of an index or a file counts as
    both.
    """
    top = checkout.absolute()
    waiting = [(option, value, top) for option, value in options(words)]
    for name, text in env.items():
        if setting := NAMING.fullmatch(name):
            option = "" if setting[2] == "CONFIG_FILE" else LISTS[0]
            waiting += [(option, value, top) for value in re.split(r"[\s,]+", text)]
    inside, seen, elsewhere = False, set[Path](), dict[str, Stamps]()
    while waiting:
        option, value, base = waiting.pop()
        for path in _paths(value, {base, top}):
            inside |= path.is_relative_to(top)
            real = Path(os.path.realpath(path))
            if not real.is_relative_to(os.path.realpath(top)):
                elsewhere[str(real)] = _stamps(real)
            if _is_list(option) and path not in seen:
                seen.add(path)
                waiting += [(*pair, path.parent) for pair in _listed(path, env)]
    for text in SETTINGS:
        path = Path(text.replace("~", env.get("HOME", ""), 1))
        if path.is_file():
            elsewhere[text] = _stamps(path)
    return Named(inside, dict(sorted(elsewhere.items())))


def options(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The words of a command as pairs of an option, or nothing, and what follows it.

    >>> list(options(["-r", "a.txt", "-qcb.txt", "--pre", "c"]))
    [('-r', ''), ('-r', 'a.txt'), ('-c', 'b.txt'), ('--pre', ''), ('--pre', 'c')]
    """
    option = ""
    for word in words:
        if word.startswith("--"):
            option, _, value = re.sub(r"\s+", "=", word, count=1).partition("=")
            yield option, value
        elif short := SHORT_OPTION.fullmatch(word):
            option = f"-{short[1]}"
            yield option, short[2]
        else:
            yield option, word
            option = ""


def is_editable(option: str) -> bool:
    """Whether an option asks for an editable install; pip takes the first letters of a name."""
    return option == "-e" or (len(option) > 3 and "--editable".startswith(option))


def _is_list(option: str) -> bool:
    short = option in ("-r", "-c", "-b")
    return short or (len(option) > 3 and any(name.startswith(option) for name in LISTS))


def _paths(value: str, bases: set[Path]) -> Iterator[Path]:
    """The paths of what is there that a requirement, or the value of an option, may name."""
    text = re.sub(r"\[[^][]*\]$", "", value.strip("\"', "))
    url = FILE_URL.search(text)
    places = [unquote(url[1]), unquote(url[1]).rpartition("@")[0]] if url else [text]
    for place in filter(None, places):
        for base in bases:
            path = Path(os.path.normpath(base / re.sub("^~/", f"{Path.home()}/", place)))
            if os.path.lexists(path):
                yield path


def _listed(path: Path, env: Mapping[str, str]) -> list[tuple[str, str]]:
    """The pairs of a list of requirements; none of what is not a file."""
    text = beginning(path, LONGEST_LIST).replace("\\\n", " ")
    text = re.sub(r"\$\{(\w+)\}", lambda variable: env.get(variable[1], ""), text)
    lines = (re.sub(r"(^|\s)#.*", "", line).split() for line in text.splitlines())
    return [pair for line in lines for pair in options(line)]


def _stamps(path: Path) -> Stamps:
    """The stamps of a file or folder, by which a change is seen; no repositories, no bytecode."""
    if path.is_dir():
        unseen = {".git", BYTECODE}
        return {
            name: stamp for name, stamp in stamps(path).items() if not unseen & {*name.split("/")}
        }
    status = path.stat() if path.exists() else path.lstat()
    return {"": [*stamped(status)]}
