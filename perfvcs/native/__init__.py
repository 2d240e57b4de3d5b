"""What perfvcs brings along for other programs: C sources that it compiles, a C and C++ header, and a Python module."""

from __future__ import annotations

from pathlib import Path


def native_folder() -> Path:
    """The folder with ``perfvcs.h`` and the C sources, for ``cc -I``."""
    return Path(__file__).parent


def python_folder() -> Path:
    """The folder with nothing but ``perfvcs_bench``, for the PYTHONPATH of interpreters that have no perfvcs."""
    return Path(__file__).parent / "python"


def tracing_folder() -> Path:
    """The folder for the PYTHONPATH of programs whose calls are recorded; its ``sitecustomize`` starts that."""
    return Path(__file__).parent / "tracing"


def testing_folder() -> Path:
    """The folder for the PYTHONPATH of a pytest whose tests are measured, where its plugin is found."""
    return Path(__file__).parent / "testing"
