"""The seals of the builds and virtual environments that are kept: files that are written last, and
without which nothing is reused.

What is measured can write below ``.perf`` as perfvcs can, and seal what it changed there. So who
measures knows the seals that were there before anything ran, and those that it wrote itself; no
other counts, and at the end all others are removed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from perfvcs.system import disk

# below `.perf`: of builds, and of environments with what leads to them
SEALS = ("builds/*/digest", "python/*/.complete", "python/*/.seal", "python/*.same")
# the known ones below each `.perf` in which this process measures
_watched: dict[Path, dict[Path, disk.Stamp]] = {}


@contextmanager
def watched(home: Path) -> Iterator[None]:
    """Only this process seals what is in the ``.perf`` folder ``home`` meanwhile."""
    _watched[home] = dict(_present(home))
    try:
        yield
    finally:
        remove_foreign(home)
        del _watched[home]


def write(path: Path, content: bytes) -> None:
    """Seal something; raises OSError."""
    disk.write(path, content)
    renew(path)


def renew(path: Path) -> None:
    """Note that a seal is as this process left it."""
    stamp = disk.stamp(path)
    for known in _known(path):
        if stamp is not None:
            known[path] = stamp


def holds(path: Path) -> bool:
    """Whether a seal was there before anything ran, or is this process's own; so is any where
    nothing is measured.
    """
    stamp = disk.stamp(path)
    return all(known.get(path) == stamp for known in _known(path))


def remove_foreign(home: Path) -> list[Path]:
    """Remove the seals of a ``.perf`` folder that something else wrote; returns which. Takes 12 µs
    for each that is there.
    """
    foreign = [path for path, _ in _present(home) if not holds(path)]
    for path in foreign:
        disk.remove(path)
    return foreign


def _known(path: Path) -> Iterator[dict[Path, disk.Stamp]]:
    return (known for home, known in _watched.items() if path.is_relative_to(home))


def _present(home: Path) -> Iterator[tuple[Path, disk.Stamp]]:
    for pattern in SEALS:
        for path in home.glob(pattern):
            if stamp := disk.stamp(path):
                yield path, stamp
