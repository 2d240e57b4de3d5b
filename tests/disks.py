"""Disks that are small, or cannot be written to."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from conftest import lack


@contextmanager
def mounted(folder: Path, options: str) -> Iterator[Path]:
    """A file system in memory at a folder, with these options of ``mount``: ``size=4m``.

    The test needs ``mount``, and is skipped without the right to use it.
    """
    folder.mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        lack("the right to mount a file system")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def write_protect(disk: Path) -> None:
    """Let a mounted file system be read only."""
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
