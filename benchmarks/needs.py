"""What a benchmark needs beside perfvcs and git, and how to get it."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

CURES = {
    "memray": "pip install memray",
    "pip": "python -m ensurepip",
    "py-spy": "pip install py-spy",
    "pytest": "pip install pytest",
    "distributed": "pip install distributed",
    "statsmodels": "pip install statsmodels",
    "/usr/bin/perf": "on Debian: apt-get install linux-perf",
    "Python.h": "on Debian: apt-get install python3-dev",
    "cc": "on Debian: apt-get install gcc",
    "g++": "on Debian: apt-get install g++",
    "gcc": "on Debian: apt-get install gcc",
    "hyperfine": "on Debian: apt-get install hyperfine",
    "make": "on Debian: apt-get install make",
    "valgrind": "on Debian: apt-get install valgrind",
}
MODULES = {"memray", "pip", "pytest", "distributed", "statsmodels"}
# what no look at the machine tells
GIVEN = {"clones of projects", "network", "results of asv"}


def missing(needs: Iterable[str]) -> list[str]:
    """What is not here, each with its cure: modules and headers of Python, commands (on PATH or
    beside the interpreter), and root's rights.
    """
    return [f"{need} is missing: {_cure(need)}" for need in needs if not _is_here(need)]


def _cure(need: str) -> str:
    return "sudo" if need == "root" else f"install it ({CURES[need]})"


def _is_here(need: str) -> bool:
    if need in GIVEN:
        return True
    if need == "root":
        return os.geteuid() == 0
    if need in MODULES:
        return importlib.util.find_spec(need) is not None
    if need.endswith(".h"):
        return Path(sysconfig.get_path("include"), need).exists()
    return shutil.which(need) is not None or Path(sys.executable).with_name(need).exists()
