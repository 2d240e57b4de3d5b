"""What `perf judge` is asked, by the settings of the base, and what of that one judgement and a
tournament do alike.
"""

from __future__ import annotations

import hashlib
import os
import time
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from msgspec import structs

from perfvcs.check.method import CheckRequest
from perfvcs.errors import UsageError, system_reason
from perfvcs.git.blobs import CommittedFiles, Unreadable
from perfvcs.jobs.config import BadConfig, Config
from perfvcs.jobs.config import read as read_config
from perfvcs.jobs.configchanges import Table, tables
from perfvcs.judge.candidate import NAMES, Candidate, Target, apart, laid_out
from perfvcs.judge.correctness import Correctness, HiddenFiles
from perfvcs.judge.safeguard import lasting
from perfvcs.judge.trials import Trials, Unaffordable
from perfvcs.measure.executor import SHORTEST_TIMEOUT
from perfvcs.measure.request import Request
from perfvcs.profile.benchmarkfilter import EVERYTHING, BenchmarkFilter
from perfvcs.profile.rules import LARGEST_RULES, RULES_FILE
from perfvcs.repository.state import State
from perfvcs.system.foreign import content, toml
from perfvcs.text.quantity import duration

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from perfvcs.check.change import Report
    from perfvcs.check.method import CheckRequest
    from perfvcs.git.project import Project
    from perfvcs.judge.expectation import Expectation
    from perfvcs.measure.request import Request
    from perfvcs.repository import Repository


class Settings(NamedTuple):
    """perf.toml, as its tables and as what it means; ``committed``: it is the base's."""

    table: Table
    config: Config
    committed: bool


def of_base(project: Project, base: str) -> Settings:
    """The base's perf.toml; the working tree's where the base has none.

    Files of the overlay that the base has are its own on both sides; every execution has a home of
    its own. Raises UsageError.
    """
    files = CommittedFiles(project)
    try:
        text = files.text(base, RULES_FILE, LARGEST_RULES)
    except Unreadable as error:
        raise BadConfig(f"{RULES_FILE} of {base[:10]} cannot be read: {error}") from None
    committed = text is not None
    if text is None:
        text = _here(project)
    table = toml(text, lambda why: BadConfig(f"{RULES_FILE} of {base[:10]} is not TOML: {why}"))
    config = read_config(table)
    entries = [os.path.normpath(entry) for entry in config.overlay]
    files.ask([base], *entries)
    loose = tuple(entry for entry in entries if not _has(files, base, entry))
    # what an execution leaves in a home makes no later one faster
    jobs = tuple(structs.replace(job, isolate=True) for job in config.job)
    return Settings(table, structs.replace(config, overlay=loose, job=jobs), committed)


def _has(files: CommittedFiles, base: str, entry: str) -> bool:
    known = files.of(base, entry)
    return bool(known.blob or known.why)  # a folder has no blob, but is there


def _here(project: Project) -> str:
    try:
        return content(project.root / RULES_FILE, LARGEST_RULES).decode("utf-8")
    except FileNotFoundError:
        raise UsageError(
            f"there is no {RULES_FILE}: make one with `perf init`, or compare two commands with"
            " `perf check --against`"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadConfig(f"{RULES_FILE} cannot be read: {error}") from None


BUDGET = 120.0  # seconds
MARK = 8  # characters
ENOUGH = 2  # times as long as what is known to be needed


class JudgeRequest(NamedTuple):
    """What is asked: of a ``target`` against the commit ``base``.

    ``table`` is the base's perf.toml. ``correct`` are the commands that the target has to pass,
    ``hidden`` the files that are laid over both sides, ``budget`` the seconds for all of it.
    Only the ``benchmarks`` count. ``wait``: for another run to end.
    ``same_output``: what the jobs print has to be what the base's print. ``sandbox``: both sides
    run without network, and with the rest of the disk read-only.
    """

    base: str
    target: Target
    expectation: Expectation
    table: Table
    budget: float = BUDGET
    correct: tuple[str, ...] = ()
    hidden: tuple[Path, ...] = ()
    benchmarks: BenchmarkFilter = EVERYTHING
    wait: bool = False
    same_output: bool = False
    sandbox: bool = False

    def candidate(
        self, project: Project, place: Path, names: Sequence[str] = NAMES
    ) -> AbstractContextManager[Candidate]:
        """The target, laid out in the folder ``place``: see ``laid_out``. What the commands of
        ``correct`` read judges as what those of jobs read.
        """
        commands = [{"cmd": command} for command in self.correct]
        table = {**self.table, "job": [*tables(self.table, "job"), *commands]}
        marked = [f"{name}{self._mark}" for name in names]
        return laid_out(project, self.base, self.target, table, place, marked)

    @property
    def _mark(self) -> str:
        """What tells products that are measured with other hidden files from each other."""
        digest = hashlib.sha256()
        for file in self.hidden:
            try:
                digest.update(hashlib.sha256(file.read_bytes()).digest())
            except OSError as error:
                raise UsageError(f"--hidden {file}: {system_reason(error)}") from None
        return f"-{digest.hexdigest()[:MARK]}" if self.hidden else ""

    @property
    def measured_base(self) -> str:
        """What the base is called as it is measured."""
        return f"base{self._mark}" if self.hidden else self.base[:10]

    @contextmanager
    def baseline(self, project: Project, place: Path) -> Iterator[tuple[State, tuple[str, ...]]]:
        """The base as it is measured, and the products that this takes: one in the folder ``place``
        where hidden files are laid over it, which no later comparison may take for the base.
        """
        if not self.hidden:
            yield State(self.base), ()
            return
        with apart(project, self.base, self.measured_base, self.table, place) as product:
            yield State(self.base, product.digest, product=product.name), (product.spec,)

    def session(
        self, project: Project, candidates: Sequence[Candidate], others: Sequence[str], began: float
    ) -> tuple[Trials, Request]:
        """What is tried beside a session of candidates, and what it measures: these, and products
        by the ``others``' specs. The budget ``began`` then, by the monotonic clock.
        """
        spent = time.monotonic() - began
        left = max(SHORTEST_TIMEOUT, self.budget - spent)
        trials = Trials(
            left,
            Correctness(self.correct, began + self.budget, len(candidates)),
            candidates,
            partial(lasting, same_output=self.same_output),
            HiddenFiles(project.root, self.hidden),
            spent=spent,
            sealed=self.sandbox,
            counts=self.expectation.metric == "maxrss",
        )
        return trials, Request(
            jobs=self.benchmarks.jobs,
            committed=True,
            against=(*others, *(candidate.product.spec for candidate in candidates)),
            budget=left,
            wait=self.wait,
        )

    def too_small(self, error: Unaffordable, began: float) -> str:
        """Why nothing is decided where the budget, which ``began`` then, does not hold what is
        needed.
        """
        least = duration(ceil(ENOUGH * (time.monotonic() - began + error.seconds)))
        return f"a budget of {duration(self.budget)} is too small: {error}; give {least} or more"

    @property
    def question(self) -> CheckRequest:
        """What is asked of each comparison."""
        return CheckRequest("auto", None, self.expectation.within)

    def compare(self, repository: Repository, first: State, second: State, session: str) -> Report:
        """The comparison of two states by what a session measured."""
        from perfvcs.check.narrowing import narrowed

        criteria = repository.criteria(first, second, committed=True)
        report = repository.compare(
            first, second, self.question, session=session, criteria=criteria
        )
        return narrowed(report, self.benchmarks) if self.benchmarks else report
