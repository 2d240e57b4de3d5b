"""One run of a project's tests with the plugin in their pytest, and its notes."""

from __future__ import annotations

import ast
import atexit
import json
import shlex
import shutil
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from perfvcs.collectors._shared.commandrun import launched, python_path, read_at_most
from perfvcs.collectors._shared.functions import MODULE, PYTHON_PATHS, trimmed
from perfvcs.collectors._shared.testing import inside
from perfvcs.collectors._shared.testing.pluginnotes import PytestNotes, ReachedFunction, read_notes
from perfvcs.environment import PADDING
from perfvcs.launcher.execution import Execution, failure, name_command
from perfvcs.plugins.collector import CollectError, Run
from perfvcs.profile.validity import MAX_NAME
from perfvcs.system.foreign import printable

# the only function of a test that was found and not run, since it was not asked for
UNRUN_FUNCTION = "(left out)"
MAX_SOURCE = 16 << 20  # bytes
CONFIGURATION_FILES = ("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml")
TABLES = {"pyproject.toml": "[tool.pytest", "tox.ini": "[pytest]", "setup.cfg": "[tool:pytest]"}
LARGEST_FILE = 1_000_000  # characters of a file that are searched
NAMED_TESTS = 3  # tests or files that a message names
PLUGIN, VARIABLE = "perfvcs_pytest", "PERFVCS_TESTING"
SOME_FAILED, INTERRUPTED, NO_TESTS = 1, 2, 5  # exit statuses of pytest


def qualified(functions: Iterable[ReachedFunction], root: Path) -> set[str]:
    """Functions as ``file:qualified name``, file below the project's root; those whose line has no
    name are their module.
    """
    names, names_by_line = set(), dict[str, dict[int, str]]()
    for function in functions:
        name = function.name
        if not name:
            if function.file not in names_by_line:
                names_by_line[function.file] = _names(root / function.file)
            name = names_by_line[function.file].get(function.line, MODULE)
        names.add(printable(f"{function.file}:{trimmed(name)}", MAX_NAME))
    return names


def _names(path: Path) -> dict[int, str]:
    """The qualified name of the code that begins at each line, the innermost one's where several
    do; none where it is not such a source.
    """
    if ".." in path.parts:
        return {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # compiling takes a time quadratic in functions that are equal
            tree = ast.parse(read_at_most(path, MAX_SOURCE))
    except (CollectError, SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    return dict(_defined(tree, ""))


def _defined(node: ast.AST, scope: str) -> Iterator[tuple[int, str]]:
    """The first line and the qualified name of each function and class below a node, those around
    others first.
    """
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{scope}{child.name}"
            yield (
                min([child.lineno, *(decorator.lineno for decorator in child.decorator_list)]),
                name,
            )
            yield from _defined(
                child, f"{name}." if isinstance(child, ast.ClassDef) else f"{name}.<locals>."
            )
        elif isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield from _defined(child, scope)


def options(argv: Sequence[str], root: Path, folder: Path) -> list[str]:
    """What keeps pytest in ``root`` where neither the command nor the project says where it is; an
    empty file of settings is in ``folder``.

    Otherwise a revision without settings would have those of the project around its checkout, its
    ``conftest.py``, and other names of its tests than the working tree has.
    """
    if any(
        word == option or word.startswith(f"{option}=")
        for word in argv
        for option in ("-c", "--config-file", "--rootdir")
    ):
        return []
    if any(_settings(place) for place in _places(argv, root)):
        return []
    empty = folder / "pytest.ini"
    empty.write_text("[pytest]\n", encoding="utf-8")
    return ["-c", str(empty), f"--rootdir={root}", f"--confcutdir={root}"]


def _places(argv: Sequence[str], root: Path) -> Iterator[Path]:
    """The folders of the project in which pytest looks: those of its arguments, and what is above
    them.
    """
    yield root
    for word in argv[1:]:
        path = root / word.partition("::")[0]
        if not word.startswith("-") and path.exists():
            yield from (
                place
                for place in (path, *path.parents)
                if place.is_relative_to(root) and place.is_dir()
            )


def _settings(folder: Path) -> bool:
    if any((folder / name).is_file() for name in CONFIGURATION_FILES):
        return True
    return any(table in _start(folder / name) for name, table in TABLES.items())


def _start(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(LARGEST_FILE)
    except OSError:
        return ""


def run_suite(run: Run, mode: str, **asked: object) -> PytestNotes:
    """Execute the command once with the plugin; ``asked`` are its settings.

    Raises CollectError when it ran no tests to the end.
    """
    folder, environment = with_plugin(run, mode, **asked)
    execution = launched(run, env=environment)
    notes = read_notes(folder)
    if reason := _problem(run, execution, notes):
        nothing = NO_TESTS in notes.statuses and not notes.tests  # as often as it is run
        raise CollectError(reason, lasting=execution.timed_out or nothing)
    return notes


def with_plugin(run: Run, mode: str, **asked: object) -> tuple[Path, dict[str, str]]:
    """The folder for the plugin's notes, and the environment in which the command loads it."""
    folder = Path(tempfile.mkdtemp(prefix=f"{mode}-", dir=run.scratch))
    environment, restored = _environment(run, folder)
    left_out = sorted(run.left_out)
    request = {
        "mode": mode,
        "folder": str(folder),
        "root": str(run.cwd),
        "environment": restored,
        "left_out": left_out,
        **asked,
    }
    (folder / "request").write_text(json.dumps(request), encoding="utf-8")
    return folder, environment


def _environment(run: Run, folder: Path) -> tuple[dict[str, str], dict[str, str | None]]:
    """The command's environment, and what the plugin makes of it again, so that tests see what they
    would without us.
    """
    changed = {
        "PYTHONPATH": python_path(run.env, inside.TESTING_INSIDE / "python", PYTHON_PATHS),
        "PYTEST_PLUGINS": ",".join(filter(None, (PLUGIN, run.env.get("PYTEST_PLUGINS")))),
    }
    if stay := options(
        (*run.argv, *shlex.split(run.env.get("PYTEST_ADDOPTS", ""))), run.cwd, folder
    ):
        changed["PYTEST_ADDOPTS"] = " ".join(
            filter(None, (shlex.join(stay), run.env.get("PYTEST_ADDOPTS")))
        )
    # these stay: nothing is to be left in the project's folder
    added = {
        "PYTHONPYCACHEPREFIX": _bytecode(),
        "HYPOTHESIS_STORAGE_DIRECTORY": str(folder / "hypothesis"),
    }
    added = {name: value for name, value in added.items() if name not in run.env}
    if "PYTHONDONTWRITEBYTECODE" in run.env:
        added.pop("PYTHONPYCACHEPREFIX", None)
    environment = {**run.env, **changed, **added, VARIABLE: str(folder / "request")}
    # the padding has moved the stack already; the folder with perfvcs_bench stays, since what is
    # tested may report with it
    return environment, {name: run.env.get(name) for name in changed} | {PADDING: None}


@cache
def _bytecode() -> str:
    """The folder for compiled modules, as long as this process lives."""
    folder = tempfile.mkdtemp(prefix="perfvcs-bytecode-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _problem(run: Run, execution: Execution, notes: PytestNotes) -> str | None:
    """Why an execution shows nothing about the tests, in one line with the cure; None if it
    does.
    """
    command = name_command(run.argv)
    failed = failure(run.argv, execution, run.timeout)
    if not notes.versions:
        if failed:
            return f"{failed}{_cure(execution)}"
        return (
            f"{command} ran no pytest that loads perfvcs' plugin: make it `python -m pytest`, which"
            " runs unittest's cases too, without the option -I or -E"
        )
    if old := [version for version in notes.versions if version.partition(".")[0] in ("5", "6")]:
        return f"{command} runs pytest {old[0]}: update it to 7 or newer"
    if execution.timed_out or execution.signal is not None:
        return f"{failed}{f' ({notes.running} was running)' if notes.running else ''}"
    if notes.running:
        return (
            f"{command} ended in the middle of {notes.running}, with status {execution.status}: do"
            " not measure that test"
        )
    if INTERRUPTED in notes.statuses or any(status > SOME_FAILED for status in notes.statuses):
        return _interrupted(command, notes, failed)
    if execution.status and execution.status not in notes.statuses:
        return failed
    return None


def _interrupted(command: str, notes: PytestNotes, failed: str | None) -> str:
    if notes.problems:
        named = [f"{name or 'pytest'}: {why}" for name, why in notes.problems[:NAMED_TESTS]]
        more = (
            f"; and {len(notes.problems) - NAMED_TESTS} more"
            if len(notes.problems) > NAMED_TESTS
            else ""
        )
        return (
            f"{command} could not collect its tests: {'; '.join(named)}{more}: correct them, or"
            " leave them out with --ignore"
        )
    if NO_TESTS in notes.statuses and not notes.tests:
        return f"{command} found no tests: check its paths, -k and -m"
    if unfinished := [test.id for test in notes.tests if test.outcome == "unrun"]:
        return f"{command} was interrupted in {unfinished[-1]}: do not measure that test"
    return failed or f"{command} stopped before its last test: run it without perf and see why"


def _cure(execution: Execution) -> str:
    if "No module named pytest" in execution.stderr:
        return (
            ': install it: requires = ["pytest"] in the table [python] of perf.toml, or `pip'
            " install pytest`"
        )
    if PLUGIN in execution.stderr:
        return (
            ": perfvcs' plugin cannot be loaded: leave out Python's options -I and -E, and use"
            " pytest 7 or newer"
        )
    return ""


def outcomes(notes: PytestNotes) -> Mapping[str, str]:
    """How each test ended; one that several processes ran, or that ran several times, as in the
    last run that did not pass.
    """
    by_test: dict[str, str] = {}
    for test in notes.tests:
        if by_test.get(test.id, "passed") == "passed":
            by_test[test.id] = test.outcome
    return by_test


def named(tests: list[str]) -> str:
    """The first of some tests, and how many more there are."""
    more = f" and {len(tests) - NAMED_TESTS} more" if len(tests) > NAMED_TESTS else ""
    return ", ".join(tests[:NAMED_TESTS]) + more


def counted(number: int, what: str) -> str:
    """``1 test``, ``2 tests``."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
