"""Profiles that come from files, and profiles that become files."""

from __future__ import annotations

import os
from pathlib import Path

BUNDLE_SIGNATURES = (b"# v2 git bundle\n", b"# v3 git bundle\n")


def is_folder(path: Path) -> bool:
    """Whether a path is a folder; one that cannot even be asked about, such as too long a name, is
    none.
    """
    return os.path.isdir(path)  # noqa: PTH112 - Path.is_dir raises there


def is_bundle(path: Path) -> bool:
    """Whether a file begins as git's bundles do; one that cannot be read does not."""
    try:
        with path.open("rb") as file:
            return path.is_file() and file.read(len(BUNDLE_SIGNATURES[0])) in BUNDLE_SIGNATURES
    except OSError:
        return False
