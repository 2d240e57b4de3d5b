"""How long a build takes from its sources, and again when nothing has changed."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from perfvcs.collectors._shared.unmodified import Unmodified
from perfvcs.errors import UsageError, system_reason
from perfvcs.launcher import preparation
from perfvcs.plugins import build
from perfvcs.plugins.collector import CollectError, Observations, Run
from perfvcs.profile import Metric
from perfvcs.system.executionresult import ExecutionResult

if TYPE_CHECKING:
    from perfvcs.plugins.collector import Collector

AGAIN = "again"  # the unit of the second build
# how compilers' caches are switched off
UNCACHED = {
    "CCACHE_DISABLE": "1",
    "SCCACHE_RECACHE": "1",
    "RUSTC_WRAPPER": "",
    "CMAKE_C_COMPILER_LAUNCHER": "",
    "CMAKE_CXX_COMPILER_LAUNCHER": "",
    "PIP_NO_CACHE_DIR": "1",
}


@dataclass(frozen=True)
class Rebuild(Unmodified):
    """Time and peak memory of a command that builds, in a copy of the checkout that is made for
    each execution, without ``.git`` and without what executions left there.

    ``cache``: compilers may use their caches (ccache, sccache, pip's), which the warm-up has
    filled; by default they are switched off. ``clean``: a command that runs in the copy before,
    such as ``make clean``, where the checkout has been built already. ``again``: the command runs a
    second time in the same copy, as the unit ``again``, which shows what a build takes when nothing
    has changed.
    """

    cache: bool = False
    again: bool = True
    clean: str = ""

    def __post_init__(self) -> None:
        try:
            shlex.split(self.clean)
        except ValueError:
            raise UsageError("rebuild: clean: close the quotation") from None

    @property
    def engine(self) -> str:
        """That of the collector ``time``, which measures."""
        return _time().engine

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """Those of the collector ``time``."""
        return _time().metrics

    def collect(self, run: Run) -> Observations:
        """Copy the sources and build, once or twice; raises CollectError."""
        folder = run.scratch / "sources"
        try:
            shutil.copytree(run.cwd, folder, symlinks=True, ignore=_left_behind(run))
        except OSError as error:  # shutil.Error is one
            raise CollectError(
                f"rebuild: {run.cwd} cannot be copied: {system_reason(error)}"
            ) from None
        here = f"{run.cwd}{os.sep}"
        argv = [
            f"{folder}{word[len(here) - 1 :]}" if word.startswith(here) else word
            for word in run.argv
        ]
        env = dict(run.env) if self.cache else {**run.env, **UNCACHED}
        copied = replace(run, argv=tuple(argv), cwd=folder, env=env, functions=False)
        if self.clean:
            words = shlex.split(self.clean)
            try:
                preparation.run(words, cwd=folder, env=env, timeout=run.timeout, within=run.within)
            except preparation.CommandFailed as error:
                raise CollectError(f"rebuild: clean: {error}", lasting=True) from None
        rows = _time().collect(replace(copied, scratch=_made(run.scratch / "first")))
        if self.again:
            result = ExecutionResult(reads=False)  # what the first one printed stays
            scratch = _made(run.scratch / "second")
            second = replace(copied, scratch=scratch, uid=AGAIN, result=result)
            _append(rows, _time().collect(second))
            if run.result is not None:
                run.result.left += result.left
        return rows


def _time() -> Collector:
    collector: Collector = build("collectors", "time", {}, "rebuild")
    return collector


def _left_behind(run: Run) -> Callable[[str, list[str]], set[str]]:
    """Which names in a folder of the checkout are not copied, as ``shutil.copytree`` asks it."""

    def names(parent: str, names: list[str]) -> set[str]:
        within, kept = Path(parent).relative_to(run.cwd), set(names).difference((".git", ".perf"))
        if run.begun_with is not None:
            kept = {name for name in kept if str(within / name) in run.begun_with}
        return set(names) - kept

    return names


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _append(rows: Observations, more: Observations) -> None:
    """Add the rows of the second build to those of the first."""
    before, added = len(rows.uid), len(more.uid)
    rows.metrics |= more.metrics
    for name in rows.metrics:
        column = rows.values.setdefault(name, [None] * before)
        column.extend(more.values.get(name) or [None] * added)
    rows.uid += more.uid
    rows.size += more.size
    rows.iteration += more.iteration
    rows.mark += more.mark
    rows.warnings += [note for note in more.warnings if note not in rows.warnings]
