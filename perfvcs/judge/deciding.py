"""Files of a change by which commands decide what to run, though they may build, too."""

from __future__ import annotations

import tomllib
from configparser import ConfigParser
from configparser import Error as ConfigError
from typing import TYPE_CHECKING

from perfvcs.git.blobs import CommittedFiles, Unreadable
from perfvcs.jobs.benchmark_files import decides

if TYPE_CHECKING:
    from collections.abc import Iterable

    from perfvcs.git.project import Project
    from perfvcs.jobs.configchanges import Table

LARGEST = 1_000_000  # bytes of a file whose section of the test runner is compared
SECTION = "tool:pytest"  # of setup.cfg
PROJECT_FILES = ("pyproject.toml", "setup.cfg")  # which say far more than how tests are run


def deciding(
    project: Project, base: str, commit: str, paths: Iterable[str], settings: Table
) -> list[str]:
    """Those of some paths by which commands of jobs decide what to run, unless what they say of
    that is the same in both commits.
    """
    files = CommittedFiles(project)
    return [
        path
        for path in paths
        if decides(settings, path) and not _runs_the_same(files, base, commit, path)
    ]


def _runs_the_same(files: CommittedFiles, base: str, commit: str, path: str) -> bool:
    if path.rpartition("/")[2] not in PROJECT_FILES:
        return False
    try:
        return _of_runner(files, base, path) == _of_runner(files, commit, path)
    except (Unreadable, ValueError, RecursionError, ConfigError):
        return False


def _of_runner(files: CommittedFiles, commit: str, path: str) -> object:
    """What a commit's file says to pytest; raises ValueError, RecursionError or ConfigError where
    it is no such file.
    """
    text = files.text(commit, path, LARGEST) or ""
    if path.endswith(".toml"):
        tools = tomllib.loads(text).get("tool", {})
        return tools.get("pytest") if isinstance(tools, dict) else None
    parser = ConfigParser(interpolation=None, strict=False)
    parser.read_string(text)
    return dict(parser[SECTION]) if parser.has_section(SECTION) else None
