"""The files that the executions in a checkout began with: shows when an execution changed one."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from perfvcs.git.changes import rewritten, tracked
from perfvcs.jobs.workload import Workload
from perfvcs.measure.held import stamps
from perfvcs.plugins.collector import CollectError
from perfvcs.text.characters import shorten
from perfvcs.text.words import listed

Stamp = tuple[int, ...]


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
        self._stamps = {name: stamp for name in names if (stamp := _stamp(f"{folder}/{name}"))}
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
        now = {name: _stamp(f"{self.folder}/{name}") for name in self._stamps if self._ran}
        seen = [name for name, stamp in now.items() if stamp != self._stamps[name]]
        self._ran = False
        if seen:
            overlaid = [
                name
                for name in seen
                if any(Path(name).is_relative_to(entry) for entry in self._overlay)
            ]
            other = rewritten(self.folder, [name for name in seen if name not in overlaid])
            self._changed |= dict.fromkeys([*overlaid, *other])
            self._stamps |= {name: stamp for name, stamp in now.items() if stamp is not None}
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
        return stamps(path) if path.is_dir() else _stamp(str(path))


def _walk(folder: Path) -> Iterator[tuple[str, list[str], list[str]]]:
    """The folders below one, without what git and perfvcs keep there."""
    for parent, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in (".git", ".perf")]
        yield parent, folders, files


def _stamp(path: str) -> Stamp | None:
    """The stamp by which a change of a file or link is seen; None for anything else."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    if stat.S_ISDIR(status.st_mode):
        return None
    return status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino
