"""Profiles that come from files, and profiles that become files."""

from __future__ import annotations

import os
from pathlib import Path


def is_folder(path: Path) -> bool:
    """Whether a path is a folder; one that cannot even be asked about, such as too long a name, is
    none.
    """
    return os.path.isdir(path)  # noqa: PTH112 - Path.is_dir raises there
