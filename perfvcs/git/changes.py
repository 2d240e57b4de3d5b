"""Uncommitted changes, and the hash that shows whether a commit made exactly these changes."""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from perfvcs.git.command import git
from perfvcs.git.project import Project

# versions of the index that have every path in full; the fourth leaves out what the path before it
# has, too
VERBATIM = (2, 3)
LARGE_FILE = 1_000_000  # bytes; a larger file is not read
LARGEST_TICK = 50_000_000  # ns; two changes of a file within it can leave the same times
COARSE_TICK = 2_100_000_000  # ns; the same where a file system keeps whole seconds
OWN_GITIGNORE = b"# perf ci writes here\n*\n"  # of a folder of reports
SITE_MANIFEST = ".perfvcs-site.json"  # which a site has
# what language servers keep in a tree, which changes while people only read it
LANGUAGE_SERVERS = (".cache/clangd/", ".clangd/", ".ccls-cache/", ".metals/", ".bloop/")
UNTRACKED = "??"  # git's two letters for a file that it does not track
_DIFF = ("diff-tree", "-r", "-z", "--no-renames", "--full-index")
_OTHERS = (
    "ls-files",
    "--others",
    "--exclude-standard",
    "--directory",
    "--no-empty-directory",
    "-z",
)
# Where the files that are not large are more together, none of them is read.
MOST_CHANGED_BYTES, MOST_FILES = 16_000_000, 2_000


def lacks(git_dir: Path, name: str) -> bool:
    """Whether no index entry of a working tree has such a name (ASCII, in any case)."""
    try:
        # with core.splitIndex most entries are in a second file
        if not (git_dir / "HEAD").is_file() or any(git_dir.glob("sharedindex.*")):
            return False
        index = (git_dir / "index").read_bytes()
    except FileNotFoundError:  # nothing was added yet
        return True
    except OSError:
        return False
    whole = index[:4] == b"DIRC" and int.from_bytes(index[4:8], "big") in VERBATIM
    return whole and name.lower().encode() not in index.lower()


class WorkingChanges(msgspec.Struct, frozen=True):
    """Changes of the working tree against HEAD: in tracked files, and untracked ones that git does
    not ignore.

    ``ignore`` are patterns as in .gitignore: untracked files that fit are left out too. So are
    ``artefacts``, untracked paths that measuring is known to make, folders with a slash at their
    end, as ``untracked`` has them. Repositories inside the tree that are not submodules are never
    part of it, and of a submodule only its commit is.
    """

    project: Project
    ignore: tuple[str, ...] = ()
    artefacts: frozenset[str] = frozenset()

    def exist(self) -> bool:
        """Whether there are any; cheaper than their hash."""
        codes: dict[str, list[str]] = {}
        for code, name in self._counted():
            codes.setdefault(name, []).append(code)
        # staged and changed again, removed from the index only, or with other line ends: it may be
        # as in HEAD
        unsure = [
            name
            for name, states in codes.items()
            if len(states) > 1
            or "M" in states[0]
            or (states[0] != UNTRACKED and " " not in states[0])
        ]
        return len(unsure) < len(codes) or (bool(unsure) and self.hash() is not None)

    def files(self) -> list[str]:
        """Their paths relative to the root: changed, added, untracked and deleted files."""
        return list(dict.fromkeys(name for _, name in self._counted()))

    def new(self) -> list[str]:
        """The paths of those that git does not track."""
        return [name for code, name in self._counted() if code == UNTRACKED]

    def left_out(self) -> list[str]:
        """The artefacts that are there now: as paths, folders with a slash at their end."""
        names = [name for code, name in self._listed() if code == UNTRACKED]
        return sorted(set(self._made(names).values()))

    def repositories(self) -> list[str]:
        """The untracked folders (with a slash at the end) that are repositories, no submodules."""
        return sorted(
            name
            for code, name in self._entries()
            if code == UNTRACKED and name.endswith("/") and not _is_ours(name)
        )

    def hash(self) -> str | None:
        """SHA-256 over them; None when there are none. Nothing is written to the repository.

        It is ``difference(parent, child)`` when exactly these changes are committed, unless there
        are files that are not read: larger than ``LARGE_FILE``, unreadable, or too many. Those
        count by path, size, times and inode; see ``committed``.
        """
        names = self.files()
        if not names:
            return None
        stamps = _stamps(self.project.root, names)
        return _hash(
            _written(self.project, "HEAD", [name for name in names if name not in stamps]), stamps
        )

    def _counted(self) -> Iterator[tuple[str, str]]:
        """As ``_listed``, without the artefacts."""
        listed = list(self._listed())
        made = self._made([name for code, name in listed if code == UNTRACKED])
        return ((code, name) for code, name in listed if code != UNTRACKED or name not in made)

    def _made(self, names: Iterable[str]) -> dict[str, str]:
        """Those of some untracked paths that are artefacts, with the artefact that each lies in."""
        artefacts: dict[str, str] = {}
        for name in names if self.artefacts else ():
            around = [f"{folder}/" for folder in map(str, Path(name).parents)]
            if made := next((path for path in (name, *around) if path in self.artefacts), None):
                artefacts[name] = made
        folders = sorted({made for made in artefacts.values() if made.endswith("/")})
        if not folders:
            return artefacts
        # what the build makes as a whole does not hold files of the project; where it does, a new
        # file is one of these
        tracked = self.project.git("--literal-pathspecs", "ls-files", "-z", "--", *folders).split(
            "\0"
        )
        mixed = {folder for folder in folders if any(name.startswith(folder) for name in tracked)}
        return {name: made for name, made in artefacts.items() if made not in mixed}

    def _listed(self) -> Iterator[tuple[str, str]]:
        """git's two letters for each path, and the path; no repositories inside, no caches."""
        for code, name in self._entries():
            kept = code == UNTRACKED and name.startswith(LANGUAGE_SERVERS)
            # .perf never counts, even where a .gitignore lets git see it
            if not kept and not name.endswith("/") and not _is_ours(name):
                yield code, name

    def _entries(self) -> Iterator[tuple[str, str]]:
        """All that git lists; repositories inside have a slash at their end."""
        if self.project.bare:
            return
        ask = ("status", "--porcelain", "-z", "--no-renames", "--ignore-submodules=dirty")
        if self.ignore:  # which `git status` cannot be given
            listed = self.project.git(*ask, "--untracked-files=no").split("\0")
            patterns = [f"--exclude={pattern}" for pattern in self.ignore]
            others = self.project.git(
                "ls-files", "--others", "--exclude-standard", *patterns, "-z"
            ).split("\0")
            listed += [f"{UNTRACKED} {name}" for name in others if name]
        else:
            listed = self.project.git(*ask, "--untracked-files=all").split("\0")
        for entry in filter(None, listed):
            yield entry[:2], entry[3:]


def _is_ours(name: str) -> bool:
    return name.partition("/")[0] == ".perf"


def untracked(folder: Path) -> set[str]:
    """What git neither tracks nor ignores in a working tree; a folder without any file that it
    tracks as a whole, with a slash.
    """
    return set(filter(None, git(folder, *_OTHERS).split("\0")))


def tracked(folder: Path) -> list[str]:
    """The paths that git tracks in a working tree."""
    return list(filter(None, git(folder, "ls-files", "-z").split("\0")))


def rewritten(folder: Path, names: Collection[str]) -> list[str]:
    """Those of some tracked paths of a working tree whose content is not the one of its commit."""
    if not names:
        return []
    # any number of names would not fit into a command
    diff = git(folder, "diff", "--no-ext-diff", "--name-only", "--no-renames", "-z", "HEAD")
    differing = set(diff.split("\0"))
    return [name for name in names if name in differing]


def ignored(folder: Path) -> list[str]:
    """What git ignores in a working tree, but for compiled Python and what perf wrote."""
    listed = git(folder, *_OTHERS, "--ignored")
    names = (name for name in listed.split("\0") if name and "__pycache__" not in name.split("/"))
    return [name for name in names if name.rstrip("/") != ".perf" and not _is_own(folder / name)]


def _is_own(folder: Path) -> bool:
    """Whether perf writes reports or a site there."""
    with contextlib.suppress(OSError):
        return (folder / SITE_MANIFEST).is_file() or (
            folder / ".gitignore"
        ).read_bytes() == OWN_GITIGNORE
    return False


def difference(project: Project, old: str, new: str) -> str | None:
    """SHA-256 of what commit ``new`` changes against ``old``, None when their trees are equal."""
    return _hash(project.git(*_DIFF, old, new), {})


def committed(project: Project, old: str, new: str, hashes: Collection[str]) -> str | None:
    """The one of some ``hashes`` of changes on top of commit ``old`` that are exactly what commit
    ``new`` made of it; None when none is.

    Files that were not read for a hash must be in the working tree as they were then, and hold what
    was committed: they are read now, but only when everything else agrees.
    """
    raw = project.git(*_DIFF, old, new)
    if (changes := _hash(raw, {})) in hashes or project.bare:
        return changes if changes in hashes else None
    parts = raw.split("\0")[:-1]
    entries = dict(zip(parts[1::2], parts[::2], strict=True))
    present = [name for name, entry in entries.items() if not entry.endswith(" D")]
    stamps = _stamps(project.root, present)
    read = "".join(f"{entry}\0{name}\0" for name, entry in entries.items() if name not in stamps)
    changes = _hash(read, stamps)
    if not stamps or changes not in hashes or _written(project, new, stamps):
        return None
    return changes if _stamps(project.root, present) == stamps else None


def _hash(raw: str, stamps: Mapping[str, str]) -> str | None:
    import hashlib

    stamped = "".join(f"{stamp}\0{name}\0" for name, stamp in sorted(stamps.items()))
    if raw or stamped:
        return hashlib.sha256(f"{raw}{stamped}".encode("utf-8", "surrogateescape")).hexdigest()
    return None


def _written(project: Project, base: str, names: Iterable[str]) -> str:
    """git's raw diff from commit ``base`` to these files of the working tree; may be empty."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="perfvcs-") as folder:
        objects = Path(folder) / "objects"
        objects.mkdir()
        # quoted as git wants it, since a colon would separate two folders
        lender = str(project.common_dir / "objects").replace("\\", "\\\\").replace('"', '\\"')
        extra = {
            "GIT_INDEX_FILE": str(Path(folder) / "index"),
            "GIT_OBJECT_DIRECTORY": str(objects),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": f'"{lender}"',
        }
        project.git("read-tree", base, extra=extra)
        take = (
            "-c",
            "core.safecrlf=false",
            "update-index",
            "--add",
            "--remove",
            "--replace",
            "--info-only",
            "-z",
            "--stdin",
        )
        project.git(*take, extra=extra, text="".join(f"{name}\0" for name in names))
        return project.git(
            *_DIFF, base, project.git("write-tree", "--missing-ok", extra=extra), extra=extra
        )


def _stamps(root: Path, names: Iterable[str]) -> dict[str, str]:
    """What stands for each file that is not read: its kind, size, times and inode; for a file that
    is being changed, what equals nothing.

    Whoever changes a file cannot keep the time of its last change (ctime), but two changes can fall
    on the same tick of the file system's clock: files that changed a moment ago are looked at again
    after it.
    """
    states = _states(root, names)
    small = [
        state.st_size
        for state in states.values()
        if stat.S_ISREG(state.st_mode) and state.st_size <= LARGE_FILE
    ]
    few = len(small) <= MOST_FILES and sum(small) <= MOST_CHANGED_BYTES
    large = {
        name: state
        for name, state in states.items()
        if not _is_read(f"{root}/{name}", state, few=few)
    }
    wait = _unsettled(large.values())
    if wait > 0:
        time.sleep(wait / 1e9)
        large = _states(root, large)
        now = time.time_ns()
        return {
            name: _stamp(state) if not _unsettled([state]) else f"changing {now}"
            for name, state in large.items()
        }
    return {name: _stamp(state) for name, state in large.items()}


def _states(root: Path, names: Iterable[str]) -> dict[str, os.stat_result]:
    states = {}
    for name in names:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            states[name] = os.lstat(f"{root}/{name}")
    return states


def _is_read(path: str, state: os.stat_result, *, few: bool) -> bool:
    if stat.S_ISREG(state.st_mode):
        return few and state.st_size <= LARGE_FILE and os.access(path, os.R_OK)
    # a folder is a submodule, or in place of a deleted file
    return stat.S_ISLNK(state.st_mode) or stat.S_ISDIR(state.st_mode)


def _unsettled(states: Iterable[os.stat_result]) -> int:
    """Nanoseconds until another change of any of these files is sure to leave another time."""
    now, wait = time.time_ns(), 0
    for changed in {state.st_ctime_ns for state in states}:
        tick = LARGEST_TICK if changed % 1_000_000_000 else COARSE_TICK
        if abs(now - changed) < tick:
            wait = max(wait, changed + tick - now)
    return wait


def _stamp(state: os.stat_result) -> str:
    return (
        f"{state.st_mode:o} {state.st_size} {state.st_mtime_ns} {state.st_ctime_ns} {state.st_ino}"
    )
