"""One run of a project's tests with the plugin in their pytest, and its notes."""

from __future__ import annotations

import atexit
import json
import os
import shlex
import shutil
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from perfvcs.collector import CollectError, Run
from perfvcs.collectors._shared.execution import launched
from perfvcs.collectors._shared.functions import PYTHON_PATHS
from perfvcs.collectors.pytest import inside
from perfvcs.collectors.pytest.notes import PytestNotes, read_notes
from perfvcs.collectors.pytest.root import options
from perfvcs.environment import PADDING
from perfvcs.launcher.execution import Execution, failure, name_command

PLUGIN, VARIABLE = "perfvcs_pytest", "PERFVCS_TESTING"
SOME_FAILED, INTERRUPTED, NO_TESTS = 1, 2, 5  # exit statuses of pytest
NAMED_TESTS = 3  # tests or files that a message names


def run_suite(run: Run, mode: str, **asked: object) -> PytestNotes:
    """Execute the command once with the plugin; ``asked`` are its settings. Raises CollectError when it ran no tests to the end."""
    folder = Path(tempfile.mkdtemp(prefix=f"{mode}-", dir=run.scratch))
    environment, restored = _environment(run, folder)
    left_out = sorted(run.left_out)
    request = {"mode": mode, "folder": str(folder), "root": str(run.cwd), "environment": restored, "left_out": left_out, **asked}
    (folder / "request").write_text(json.dumps(request), encoding="utf-8")
    execution = launched(run, env=environment)
    notes = read_notes(folder)
    if reason := _problem(run, execution, notes):
        raise CollectError(reason, lasting=execution.timed_out)
    return notes


def _environment(run: Run, folder: Path) -> tuple[dict[str, str], dict[str, str | None]]:
    """The command's environment, and what the plugin makes of it again, so that tests see what they would without us."""
    changed = {
        "PYTHONPATH": os.pathsep.join(
            filter(None, (str(inside.PYTEST_INSIDE / "python"), str(PYTHON_PATHS), run.env.get("PYTHONPATH")))
        ),
        "PYTEST_PLUGINS": ",".join(filter(None, (PLUGIN, run.env.get("PYTEST_PLUGINS")))),
    }
    if stay := options((*run.argv, *shlex.split(run.env.get("PYTEST_ADDOPTS", ""))), run.cwd, folder):
        changed["PYTEST_ADDOPTS"] = " ".join(filter(None, (shlex.join(stay), run.env.get("PYTEST_ADDOPTS"))))
    # these stay: nothing is to be left in the project's folder
    kept = {"PYTHONPYCACHEPREFIX": _bytecode(), "HYPOTHESIS_STORAGE_DIRECTORY": str(folder / "hypothesis")}
    kept = {name: value for name, value in kept.items() if name not in run.env}
    if "PYTHONDONTWRITEBYTECODE" in run.env:
        kept.pop("PYTHONPYCACHEPREFIX", None)
    environment = {**run.env, **changed, **kept, VARIABLE: str(folder / "request")}
    # the padding has moved the stack already; the folder with perfvcs_bench stays, since what is tested may report with it
    return environment, {name: run.env.get(name) for name in changed} | {PADDING: None}


@cache
def _bytecode() -> str:
    """The folder for compiled modules, as long as this process lives."""
    folder = tempfile.mkdtemp(prefix="perfvcs-bytecode-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _problem(run: Run, execution: Execution, notes: PytestNotes) -> str | None:
    """Why an execution shows nothing about the tests, in one line with the cure; None if it does."""
    command = name_command(run.argv)
    failed = failure(run.argv, execution, run.timeout)
    if not notes.versions:
        if failed:
            return f"{failed}{_cure(execution)}"
        return (
            f"{command} ran no pytest that loads perfvcs' plugin: make it `python -m pytest`, which runs unittest's cases too, without "
            "the option -I or -E"
        )
    if old := [version for version in notes.versions if version.partition(".")[0] in ("5", "6")]:
        return f"{command} runs pytest {old[0]}: update it to 7 or newer"
    if execution.timed_out or execution.signal is not None:
        return f"{failed}{f' ({notes.running} was running)' if notes.running else ''}"
    if notes.running:
        return f"{command} ended in the middle of {notes.running}, with status {execution.status}: do not measure that test"
    if INTERRUPTED in notes.statuses or any(status > SOME_FAILED for status in notes.statuses):
        return _interrupted(command, notes, failed)
    if execution.status and execution.status not in notes.statuses:
        return failed
    return None


def _interrupted(command: str, notes: PytestNotes, failed: str | None) -> str:
    if notes.problems:
        named = [f"{name or 'pytest'}: {why}" for name, why in notes.problems[:NAMED_TESTS]]
        more = f"; and {len(notes.problems) - NAMED_TESTS} more" if len(notes.problems) > NAMED_TESTS else ""
        return f"{command} could not collect its tests: {'; '.join(named)}{more}: correct them, or leave them out with --ignore"
    if NO_TESTS in notes.statuses and not notes.tests:
        return f"{command} found no tests: check its paths, -k and -m"
    if unfinished := [test.id for test in notes.tests if test.outcome == "unrun"]:
        return f"{command} was interrupted in {unfinished[-1]}: do not measure that test"
    return failed or f"{command} stopped before its last test: run it without perf and see why"


def _cure(execution: Execution) -> str:
    if "No module named pytest" in execution.stderr:
        return ': install it: requires = ["pytest"] in the table [python] of perf.toml, or `pip install pytest`'
    if PLUGIN in execution.stderr:
        return ": perfvcs' plugin cannot be loaded: leave out Python's options -I and -E, and use pytest 7 or newer"
    return ""


def outcomes(notes: PytestNotes) -> Mapping[str, str]:
    """How each test ended; one that several processes ran, or that ran several times, as in the last run that did not pass."""
    found: dict[str, str] = {}
    for test in notes.tests:
        if found.get(test.id, "passed") == "passed":
            found[test.id] = test.outcome
    return found


def named(tests: list[str]) -> str:
    """The first of some tests, and how many more there are."""
    more = f" and {len(tests) - NAMED_TESTS} more" if len(tests) > NAMED_TESTS else ""
    return ", ".join(tests[:NAMED_TESTS]) + more


def counted(number: int, what: str) -> str:
    """``1 test``, ``2 tests``."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
