"""Bundles: profiles in one file, for jobs that may not push. `perf pull` and `perf import` read them as they read any other remote."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from perfvcs.errors import UsageError
from perfvcs.exchange.delivery import unwritable
from perfvcs.exchange.mirror import Mirror
from perfvcs.exchange.sharing import unpushed
from perfvcs.text.words import counted

if TYPE_CHECKING:
    from perfvcs.repository import Repository

BUNDLE_SIGNATURES = (b"# v2 git bundle\n", b"# v3 git bundle\n")


def is_bundle(path: Path) -> bool:
    """Whether a file begins as git's bundles do; one that cannot be read does not."""
    try:
        with path.open("rb") as file:
            return path.is_file() and file.read(len(BUNDLE_SIGNATURES[0])) in BUNDLE_SIGNATURES
    except OSError:
        return False


def write(repository: Repository, names: tuple[str, ...], jobs: tuple[str, ...], path: Path, *, force: bool) -> int:
    """Write the profiles of revisions, or those that the usual remote was never seen to have, into a bundle; how many.

    Raises UsageError where there are none, where the file is there already, unless ``force`` holds, and where it cannot be written.
    """
    if path.exists() and not force:
        raise UsageError(f"{path} already exists: --force overwrites it")
    blobs = _chosen(repository, names, jobs)
    part = path.with_name(f".{path.name[:60]}.part")
    try:
        part.unlink(missing_ok=True)
        part.touch()
        with Mirror.opened(repository.home, repository.store) as mirror:
            mirror.bundle(
                part.absolute(), blobs, repository.store.who, int(time.time()), f"Hand over {counted(len(blobs), 'profile')}"
            )
        part.replace(path)
    except OSError as error:
        raise unwritable(path, error) from None
    finally:
        part.unlink(missing_ok=True)
    return len(blobs)


def _chosen(repository: Repository, names: tuple[str, ...], jobs: tuple[str, ...]) -> Mapping[str, str]:
    """The blobs of the profiles that are to be handed over, by their paths."""
    if not names and not jobs:
        if not (blobs := unpushed(repository)):
            raise UsageError("nothing to export: the remote has everything; name revisions to export them anyway")
        return blobs
    wanted = {path for name in names or ("HEAD",) for path in repository.select(name, jobs)}
    return {entry.path: entry.new for entry in repository.store.entries(*sorted(wanted)) if entry.new and entry.path in wanted}
