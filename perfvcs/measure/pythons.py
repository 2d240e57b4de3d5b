"""The virtual environments that are kept: how they are made and found, and which of them go.

``.perf/python`` has them, each under a name that is never used again, and small files (``.same``)
that name the one made from a recipe. Who makes, takes or removes one holds the lock of that folder,
who measures in one holds the lock of the environment.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from perfvcs.errors import PerfError
from perfvcs.measure.held import COMPLETE, Held, User, aside, begin, lock, take
from perfvcs.repository import seals
from perfvcs.system.disk import remove

PYTHONS_FOLDER = "python"  # in .perf
LOGS = 20  # of installations that failed
SAME_SUFFIX = ".same"  # of a file beside the environments: it names the one that a recipe leads to
ENVIRONMENT_NAME = re.compile(r"py[^/\0]+-[0-9a-f]{16}")


class InstallError(PerfError):
    """A virtual environment could not be made or removed."""

    exit_code = 5


class EnvironmentBusy(InstallError):
    """Another process is making or removing virtual environments."""


@contextmanager
def locked(folder: Path, timeout: float) -> Iterator[None]:
    """Only one process at a time makes, takes and removes environments. Raises EnvironmentBusy."""
    deadline = time.monotonic() + timeout
    while (descriptor := lock(folder)) is None:
        if time.monotonic() >= deadline:
            raise EnvironmentBusy(
                f"another process is making an environment in {folder}: wait for it, or end it"
            )
        time.sleep(0.05)
    try:
        yield
    finally:
        os.close(descriptor)


@contextmanager
def making(folder: Path, prefix: str, user: User) -> Iterator[Held]:
    """An empty folder for an environment, held for ``user``, and gone where making it fails.

    The caller has the lock of all.
    """
    held = begin(folder / f"{prefix}-{os.urandom(8).hex()}", user)
    try:
        yield held
    except BaseException:
        if user in held.users:
            held.drop()
            held.release(user)
        raise


def made_from(folder: Path, recipe: str, user: User) -> Held | None:
    """The environment that was made from a recipe, taken for ``user``; None where there is none."""
    way = folder / f"{recipe}{SAME_SUFFIX}"
    try:
        name = way.read_text("utf-8", "replace") if seals.holds(way) else ""
    except OSError:
        return None
    return take(folder / name, user) if ENVIRONMENT_NAME.fullmatch(name) else None


def remember(held: Held, recipe: str) -> None:
    """Notes that the recipe leads to this environment from now on."""
    seals.write(held.folder.with_name(f"{recipe}{SAME_SUFFIX}"), held.folder.name.encode())


def note(folder: Path) -> dict[str, Any]:
    """What is known of a complete environment (``installed``, ``content``, ``bytes``) or {}."""
    with suppress(OSError, ValueError, RecursionError):
        content = json.loads((folder / COMPLETE).read_bytes())
        return content if isinstance(content, dict) else {"installed": content}  # of older versions
    return {}


class Taken(NamedTuple):
    """How many environments there are, and the bytes that they take."""

    environments: int
    size: int


def taken(home: Path) -> Taken:
    """The room of all complete environments, as it was noted when they were made."""
    sizes = [note(place).get("bytes") for place in (home / PYTHONS_FOLDER).glob("py*/")]
    return Taken(len(sizes), sum(size for size in sizes if isinstance(size, int)))


def prune(folder: Path, keep: int) -> list[Path]:
    """Remove the remains of crashes, and all but the newest environments; gives what was removed.

    The ``keep`` most recently used ones of each interpreter stay, those that somebody holds, and
    all of them while one is made. Raises InstallError.
    """
    try:
        with locked(folder, 0):
            return _prune(folder, keep)
    except (EnvironmentBusy, FileNotFoundError):
        return []


def _prune(folder: Path, keep: int) -> list[Path]:
    for log in sorted(folder.glob("p*.log"), key=lambda log: log.stat().st_mtime)[:-LOGS]:
        log.unlink()
    by_version: dict[str, list[tuple[float, Path]]] = defaultdict(list)
    for place in folder.glob("py*/"):
        by_version[place.name.rpartition("-")[0]].append((_used(place), place))
    surplus = [
        place
        for places in by_version.values()
        for number, (used, place) in enumerate(sorted(places, reverse=True))
        if number >= keep or not used
    ]
    removed = [place for place in surplus if _remove(place)]
    for place in folder.glob("pip*/"):  # of older versions
        _remove(place)
    for link in folder.glob(f"p*{SAME_SUFFIX}"):
        with suppress(OSError):
            if not (folder / link.read_text("utf-8", "replace")).is_dir():
                link.unlink()
    for name in folder.glob("p*.lock"):  # of older versions
        name.unlink(missing_ok=True)
    return removed


def _used(folder: Path) -> float:
    """When an environment was used last; 0 of one that is not complete."""
    with suppress(OSError):
        return (folder / COMPLETE).stat().st_mtime
    return 0.0


def _remove(folder: Path) -> bool:
    """Remove an environment, unless somebody holds it or its installer still runs; whether it went.

    Raises InstallError.
    """
    descriptor = None if folder.is_symlink() else lock(folder)
    if descriptor is None:
        return False
    try:
        with suppress(OSError):
            (folder / COMPLETE).unlink()  # first, so that a crash leaves no half one in use
        remove(aside(folder))
        remove(folder)
    finally:
        os.close(descriptor)
    if folder.exists():
        raise InstallError(f"{folder} cannot be removed: delete it by hand")
    return True
