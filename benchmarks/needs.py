"""What a benchmark needs beside perfvcs and git: without it, the benchmark stops with one line."""

from __future__ import annotations

import importlib.util
import shutil
import sys
import sysconfig
from pathlib import Path

CURES = {
    "memray": "pip install memray",
    "pip": "python -m ensurepip",
    "py-spy": "pip install py-spy",
    "pytest": "pip install pytest",
    "selenium": "pip install selenium",
    "/usr/bin/chromedriver": "on Debian: apt-get install chromium-driver",
    "/usr/bin/chromium": "on Debian: apt-get install chromium",
    "/usr/bin/perf": "on Debian: apt-get install linux-perf",
    "Python.h": "on Debian: apt-get install python3-dev",
    "cc": "on Debian: apt-get install gcc",
    "g++": "on Debian: apt-get install g++",
    "gcc": "on Debian: apt-get install gcc",
    "make": "on Debian: apt-get install make",
    "valgrind": "on Debian: apt-get install valgrind",
}
MODULES = {"memray", "pip", "pytest", "selenium"}


def need(*tools: str) -> None:
    """Stop unless these are here: modules and headers of Python, and commands, on PATH or beside
    the interpreter; raises SystemExit.
    """
    for tool in tools:
        if not _here(tool):
            raise SystemExit(
                f"{Path(sys.argv[0]).name}: {tool} is missing: install it ({CURES[tool]})"
            )


def _here(tool: str) -> bool:
    if tool in MODULES:
        return importlib.util.find_spec(tool) is not None
    if tool.endswith(".h"):
        return Path(sysconfig.get_path("include"), tool).exists()
    return shutil.which(tool) is not None or Path(sys.executable).with_name(tool).exists()
