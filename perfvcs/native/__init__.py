"""What perfvcs brings along for other programs: the launcher's C source, a C and C++ header, and
Python modules.
"""

from __future__ import annotations

from pathlib import Path


def native_folder() -> Path:
    """The folder with ``perfvcs.h`` and the launcher's source, for ``cc -I``."""
    return Path(__file__).parent


def python_folder() -> Path:
    """The folder with ``perfvcs_bench`` and ``perfvcs_asv``, for the PYTHONPATH of interpreters
    that have no perfvcs.
    """
    return Path(__file__).parent / "python"


def start_folder() -> Path:
    """The folder whose ``sitecustomize`` shuffles the heap of an interpreter that finds it on its
    PYTHONPATH.
    """
    return Path(__file__).parent / "start"
