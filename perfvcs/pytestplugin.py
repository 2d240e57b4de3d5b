"""``pytest --perf``: after the tests, those that pass are measured in processes of their own, and
the profile is stored.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from perfvcs.errors import PerfError, UsageError
from perfvcs.measure.progress import Progress
from perfvcs.text.characters import printable

if TYPE_CHECKING:
    from perfvcs.measure.storedsession import CampaignOutcome

EXECUTIONS = 5  # processes, the least for a verdict
MEASURING = "perfvcs-measuring"  # the plugin in a process that is being measured
# options of pytest that run no test
SHOWING = ("collectonly", "setuponly", "showfixtures", "show_fixtures_per_test")
LINES = pytest.StashKey[list[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options."""
    group = parser.getgroup("perfvcs", "performance history")
    group.addoption(
        "--perf",
        action="store_true",
        help="After the tests, measure those that pass and store the profile beside git.",
    )
    group.addoption(
        "--perf-executions",
        type=int,
        default=EXECUTIONS,
        metavar="N",
        help=f"Processes that measure them ({EXECUTIONS}).",
    )


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Measure, unless the tests were interrupted or only shown; what fails makes the exit status
    1.
    """
    config = session.config
    if (
        not config.getoption("--perf")
        or config.pluginmanager.has_plugin(MEASURING)
        or hasattr(config, "workerinput")
    ):
        return
    if any(config.getoption(name, False) for name in SHOWING):
        return
    if session.exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        config.stash[LINES] = ["nothing is measured, since the tests did not run to their end"]
        return
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    try:
        outcome = _measure(config, Spoken(reporter))
    except PerfError as error:
        config.stash[LINES] = [f"perf: {error}"]
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    else:
        from perfvcs.reports.plainlines import stored

        config.stash[LINES] = list(stored(outcome))


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """What was measured, or why nothing was."""
    if LINES in config.stash:
        terminalreporter.section("performance")
        for line in config.stash[LINES]:
            terminalreporter.write_line(printable(line))


class Spoken(Progress):
    """Tells on pytest's own terminal how far measuring is."""

    def __init__(self, reporter: pytest.TerminalReporter | None) -> None:
        self.reporter = reporter

    def begin(self, total: int) -> None:
        """A line."""
        self.say(f"\nmeasuring the tests in {total} processes")

    def say(self, line: str) -> None:
        """A line."""
        if self.reporter is not None:
            self.reporter.write_line(printable(line))

    def fail(self, failure: str) -> None:
        """A line."""
        self.say(f"failed: {failure}")


def _measure(config: pytest.Config, progress: Spoken) -> CampaignOutcome:
    """The same tests again, with the collector of that name; raises PerfError."""
    from perfvcs.git.project import Project
    from perfvcs.jobs.config import JobTable, single
    from perfvcs.measure.campaign import collect
    from perfvcs.measure.request import Request
    from perfvcs.measure.rig import Rig
    from perfvcs.repository import Repository

    if config.getoption("--perf-executions") < 1:
        raise UsageError("--perf-executions: give a number of processes, such as 5")
    here = config.invocation_params.dir
    project = Project.find(here)
    if project.root.resolve() != here.resolve():
        raise UsageError(
            "the tests are measured from the project's own folder: run pytest --perf in"
            f" {project.root}"
        )
    command = [_python(), "-m", "pytest", *_words(config.invocation_params.args)]
    settings = JobTable(
        "",
        name="pytest",
        collectors=("pytest",),
        executions=config.getoption("--perf-executions"),
        warmup=0,
    )
    rig = Rig(Repository.of(project, create=True), single(command, settings), progress)
    outcome = collect(rig, project.expand(["HEAD"]), Request(), typed=True)
    outcome.raise_failures()
    return outcome


def _python() -> str:
    """This interpreter: by its short name, which is the same on every machine, where that leads to
    it.
    """
    found = shutil.which("python")
    return (
        "python" if found and Path(found).parent == Path(sys.executable).parent else sys.executable
    )


def _words(arguments: Sequence[object]) -> list[str]:
    """pytest's arguments without ours."""
    found, skipped = [], False
    for word in map(str, arguments):
        if skipped or word == "--perf" or word.startswith("--perf-executions="):
            skipped = False
        elif word == "--perf-executions":
            skipped = True
        else:
            found.append(word)
    return found
