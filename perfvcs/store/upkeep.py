"""Packing the store, and sweeping up what killed processes left."""

from __future__ import annotations

import contextlib
import shutil
import time
from pathlib import Path

from perfvcs.git.bare import Bare, GitFailed
from perfvcs.store import locks
from perfvcs.store.failures import explain, says

STALE_FILE = 3600.0  # seconds after which a half-written pack no longer has a writer
CROWDED_OBJECTS, CROWDED_PACKS = 6700, 50  # from here packing is worth its time, as in git itself


def crowded(path: Path) -> bool:
    """Whether packing the store at a path is worth its time."""
    packs = sum(1 for _ in (path / "objects/pack").glob("*.pack"))
    loose = 256 * sum(1 for _ in (path / "objects/17").glob("*"))  # ids are uniform: one folder stands for all
    return packs > CROWDED_PACKS or loose > CROWDED_OBJECTS


def pack(path: Path, git: Bare) -> None:
    """Pack the store at a path, alone; raises Unwritable, Damaged, and Contended where others keep it locked."""
    with locks.alone(path):
        _sweep(path)
        deadline = time.monotonic() + locks.WRITER_PATIENCE
        while not _packed(path, git):
            if time.monotonic() > deadline:
                raise locks.contended(path)
            time.sleep(0.1)


def _packed(path: Path, git: Bare) -> bool:
    """Whether git could; not where it found a lock that is in use, or that a killed one has left just now."""
    with contextlib.suppress(FileNotFoundError):
        (path / "gc.pid.lock").unlink()  # git holds it for an instant, and we are the only ones who pack
    locks.break_stale(path)
    try:
        git.run("gc", "--quiet", "--force", "--prune=2.weeks.ago")
    except GitFailed as error:
        if not says(error, locks.LOCK_EXISTS):
            explain(path, error)
        return False
    return True


def _sweep(path: Path) -> None:
    """Remove what git's killed processes leave: half-written packs and objects, crash reports, half a store beside this one."""
    for left in path.parent.glob(f"{path.name}.new-*"):
        with contextlib.suppress(OSError):
            if time.time() - left.stat().st_mtime > STALE_FILE:
                shutil.rmtree(left)
    for pattern in ("objects/pack/tmp_*", "objects/??/tmp_obj_*", "objects/tmp_*", "fast_import_crash_*"):
        for left in path.glob(pattern):
            with contextlib.suppress(OSError):
                if time.time() - left.stat().st_mtime > STALE_FILE:
                    left.unlink()
