"""The folders that an execution has for itself: an empty one for temporary files, and where a job
asks for it a home.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from perfvcs.errors import system_reason
from perfvcs.plugins.collector import CollectError
from perfvcs.repository.leftovers import TEMPORARY, usual
from perfvcs.system.disk import remove

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
