"""The files of executions: those in a checkout that they begin with, which shows when one changed
another, and the folders for temporary files, and a home, that each has for itself.
"""

from __future__ import annotations

import fcntl
import os
import stat
import tempfile
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from perfvcs.errors import system_reason
from perfvcs.git.changes import rewritten, tracked
from perfvcs.jobs.workload import Workload
from perfvcs.measure.held import stamps
from perfvcs.plugins.collector import CollectError
from perfvcs.repository.leftovers import TEMPORARY, usual
from perfvcs.system.disk import remove, stamp
from perfvcs.text.characters import shorten
from perfvcs.text.words import listed


class Originals:
    """The files of a revision in a ``folder``, with what was laid over them, and the workloads
    there.

    They are as they were when it was made: built and installed. A ``plain`` folder is not a
    checkout.
    """

    def __init__(self, folder: Path, overlay: Iterable[str] = (), *, plain: bool = False) -> None:
        self.folder, self._overlay = folder, tuple(overlay)
        names = [] if plain else tracked(folder)
        for entry in self._overlay:
            paths = (folder / entry).rglob("*") if (folder / entry).is_dir() else [folder / entry]
            names += [str(path.relative_to(folder)) for path in paths]
        present_ones = {name: stamp(f"{folder}/{name}") for name in names}
        self._stamps = {
            name: present
            for name, present in present_ones.items()
            if present is not None and not stat.S_ISDIR(present[0])
        }
        self._sources: dict[Workload, dict[str, str]] = {}
        self._inputs: dict[Workload, object] = {}
        self._changed: dict[str, None] = {}
        self._ran = False  # something, since the files were looked at
        self.names: frozenset[str] | None = None  # of all files and folders, where they are listed

    def list_all(self) -> None:
        """List all files and folders, also those that git does not track."""
        self.names = frozenset(
            str(Path(parent, name).relative_to(self.folder))
            for parent, folders, files in _walk(self.folder)
            for name in (*folders, *files)
        )

    def removed(self, words: Iterable[str]) -> str:
        """The message that the first of some words was one of the files; empty if none is gone."""
        for word in words:
            if os.path.normpath(word) in self._stamps and not os.path.lexists(self.folder / word):
                return (
                    f"`{shorten(word)}` was in the checkout, but what is measured there removed it"
                )
        return ""

    def begin(self) -> None:
        """An execution begins."""
        self._ran = True

    def changed(self) -> str:
        """A note on the files that executions have changed, empty where there are none.

        Takes 2 µs for each file, after an execution.
        """
        now = {name: stamp(f"{self.folder}/{name}") for name in self._stamps if self._ran}
        seen = [name for name, present in now.items() if present != self._stamps[name]]
        self._ran = False
        if seen:
            overlaid = [
                name
                for name in seen
                if any(Path(name).is_relative_to(entry) for entry in self._overlay)
            ]
            other = rewritten(self.folder, [name for name in seen if name not in overlaid])
            self._changed |= dict.fromkeys([*overlaid, *other])
            self._stamps |= {name: present for name, present in now.items() if present is not None}
        if not self._changed:
            return ""
        return (
            f"{listed([*self._changed])} changed while it was measured: later executions found"
            " something else"
        )

    def source(self, workload: Workload, text: str) -> Mapping[str, str]:
        """The digest of a workload before the first execution; ``text`` is what was prepared."""
        if workload not in self._sources:
            self._sources[workload] = workload.source(self.folder, text)
            self._inputs[workload] = self._state(workload)
        return self._sources[workload]

    def require(self, workload: Workload) -> None:
        """Raises CollectError where a workload's file or folder is no longer what it was."""
        if (
            workload not in self._sources
            or (now := self._state(workload)) == self._inputs[workload]
        ):
            return
        if workload.source(self.folder, "") != self._sources[workload]:
            raise CollectError(
                f"{workload.name} changed while it was measured: let the program write elsewhere, "
                "or let `cmd` copy its input first",
                lasting=True,
            )
        self._inputs[workload] = now

    def _state(self, workload: Workload) -> object:
        """The stamps of a file or folder of the project; None of what else is a workload."""
        if type(workload) is not Workload or not self._sources[workload]:
            return None
        path = self.folder / workload.name
        return stamps(path) if path.is_dir() else stamp(path)


def _walk(folder: Path) -> Iterator[tuple[str, list[str], list[str]]]:
    """The folders below one, without what git and perfvcs keep there."""
    for parent, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in (".git", ".perf")]
        yield parent, folders, files


# XDG base directories: https://specifications.freedesktop.org/basedir-spec/latest/
OF_A_HOME = {
    "HOME": "",
    "XDG_CACHE_HOME": ".cache",
    "XDG_CONFIG_HOME": ".config",
    "XDG_DATA_HOME": ".local/share",
    "XDG_RUNTIME_DIR": ".run",
    "XDG_STATE_HOME": ".local/state",
}


class ExecutionFolders:
    """The folders of the executions of a session, in one below the ``usual`` place, or below
    ``fallback`` where that may not be written; ``warning`` says so.

    Removed with everything in it by ``close``; what a killed process left, by the sweep before the
    next measurement.
    """

    def __init__(self, env: Mapping[str, str], fallback: Path) -> None:
        self.warning = ""
        asked = usual(env)
        try:
            self.folder, self._lock = _made(asked)
        except OSError as error:
            self.warning = (
                f"{asked} cannot be written ({system_reason(error)}): executions get temporary"
                f" folders in {fallback}: set TMPDIR to another folder"
            )
            self.folder, self._lock = _made(fallback)

    @contextmanager
    def fresh(
        self, env: Mapping[str, str], *, kept: Container[str] = (), isolate: bool = False
    ) -> Iterator[dict[str, str]]:
        """The environment of an execution with empty folders of its own, which are removed after
        it; ``isolate``: with a home, too. Variables that are ``kept`` stay.

        Raises CollectError.
        """
        named = [TEMPORARY[0], *(name for name in TEMPORARY[1:] if name in env)]
        places = dict.fromkeys(named, self.folder / "t")
        if isolate:
            places |= {name: self.folder / "h" / part for name, part in OF_A_HOME.items()}
        places = {name: path for name, path in places.items() if name not in kept}
        try:
            for path in dict.fromkeys(places.values()):
                path.mkdir(parents=True, mode=0o700, exist_ok=isolate)
            yield {**env, **{name: str(path) for name, path in places.items()}}
        except FileExistsError:
            raise CollectError(
                f"what an execution left in {self.folder} cannot be removed: remove it by hand",
                lasting=True,
            ) from None
        finally:
            for name in ("t", "h"):
                remove(self.folder / name)

    def close(self) -> None:
        """Removes all of it."""
        remove(self.folder)
        os.close(self._lock)


def _made(place: Path) -> tuple[Path, int]:
    """A folder below ``place``, and the descriptor that holds it; raises OSError."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=f"perfvcs-{os.getpid():010d}-", dir=place))
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        with suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if folder.exists():  # nobody took it for abandoned before it was locked
            return folder, descriptor
        os.close(descriptor)
