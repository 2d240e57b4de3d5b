"""The virtual environments that are kept: how much room they take, and which of them go."""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from perfvcs.measure.virtualenv import COMPLETE, SAME_SUFFIX, EnvironmentBusy, lock_of, locked, note, remove

PYTHONS_FOLDER = "python"  # in .perf
LOGS = 20  # of installations that failed


class Taken(NamedTuple):
    """How many environments there are, and the bytes that they take together with what installs into them."""

    environments: int
    size: int


def taken(home: Path) -> Taken:
    """The room of all complete environments, as it was noted when they were made: nothing is searched."""
    places = list((home / PYTHONS_FOLDER).glob("p*/"))
    sizes = [found if isinstance(found, int) else 0 for found in (note(place).get("bytes") for place in places)]
    return Taken(sum(place.name.startswith("py") for place in places), sum(sizes))


def prune(folder: Path, keep: int) -> list[Path]:
    """Remove the remains of crashes, and all but the ``keep`` most recently used environments of each interpreter; what was removed.

    An environment that is being made right now stays. Call it only while nobody measures with an environment of this folder.
    """
    for log in sorted(folder.glob("p*.log"), key=lambda log: log.stat().st_mtime)[:-LOGS]:
        log.unlink()
    by_version: dict[str, list[tuple[float, Path]]] = defaultdict(list)
    for place in folder.glob("py*/"):
        by_version[place.name.rpartition("-")[0]].append((_used(place), place))
    removed = []
    for places in by_version.values():
        places.sort(reverse=True)
        for number, (used, place) in enumerate(places):
            if (number >= keep or not used) and _gone(place, used):
                removed.append(place)
    left = {place.name.removeprefix("py").rpartition("-")[0] for place in folder.glob("py*/")}
    for place in folder.glob("pip*/"):
        if place.name.removeprefix("pip").rpartition("-")[0] not in left:
            _gone(place, _used(place))
    for link in folder.glob(f"py*{SAME_SUFFIX}"):
        with suppress(OSError):
            if not (folder / link.read_text("utf-8", "replace")).is_dir():
                link.unlink()
    return removed


def _used(folder: Path) -> float:
    """When an environment was used last; 0 of one that is not complete."""
    with suppress(OSError):
        return (folder / COMPLETE).stat().st_mtime
    return 0.0


def _gone(folder: Path, used: float) -> bool:
    """Remove an environment, unless somebody is making it; whether it went."""
    with suppress(EnvironmentBusy), locked(folder, 0):
        if used or not (folder / COMPLETE).exists():
            remove(folder)
            lock_of(folder).unlink(missing_ok=True)
            return True
    return False
