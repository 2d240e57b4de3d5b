"""How tests end, by pytest's reports, which functions run for each where these are watched, and the
file with what is found.
"""

from __future__ import annotations

import json
import os

import pytest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterable
    from typing import Any

    from perfvcs.collectors._shared.functions.inside.python import perfvcs_functions

LONGEST_REASON = 300  # characters of a reason


class NoteFile:
    """The file with what is found; opened anew for each line, since tests may close all
    descriptors.
    """

    def __init__(self, folder: str) -> None:
        self._process = os.getpid()
        self._path = f"{folder}/notes-{self._process}.jsonl"
        self._system = os.open, os.write, os.close, os.getpid

    def add(self, kind: str, **fields: object) -> None:
        """Append a line; forked processes add none."""
        opened, write, close, process = self._system
        if process() != self._process:
            return
        data = (json.dumps({"kind": kind, **fields}) + "\n").encode()
        descriptor = opened(
            self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600
        )
        try:
            while data:
                data = data[write(descriptor, data) :]
        finally:
            close(descriptor)


class Reports:
    """How tests end, by the reports that are logged."""

    def __init__(self, notes: NoteFile, left_out: Iterable[str] = ()) -> None:
        self.notes = notes
        self.left_out = frozenset(left_out)
        self.logged: list[Any] = []

    def pytest_collectreport(self, report: Any) -> None:
        """A file that cannot be collected."""
        if report.failed:
            self.notes.add("problem", id=clean(report.nodeid), why=reason(report))

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: Any, items: list[Any]) -> None:
        """How many tests there are, after deselection, ours of what is left out among it."""
        left = [item for item in items if clean(item.nodeid) in self.left_out]
        if left:
            items[:] = [item for item in items if clean(item.nodeid) not in self.left_out]
            config.hook.pytest_deselected(items=left)
            self.notes.add("left_out", ids=[clean(item.nodeid) for item in left])
        self.notes.add("collected", count=len(items))

    def pytest_runtest_logreport(self, report: Any) -> None:
        """One phase of a test, or of a part of it."""
        self.logged.append(report)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: Any, exitstatus: int) -> None:  # noqa: ARG002
        """The end."""
        self.notes.add("finished", status=int(exitstatus))

    def pytest_internalerror(self, excrepr: Any) -> None:
        """An error in pytest or a plugin."""
        lines = str(excrepr).strip().splitlines()
        self.notes.add("problem", id="", why=clean(lines[-1] if lines else "")[:LONGEST_REASON])


class Study(Reports):
    """Runs nothing itself: watches how each test ends, and which functions run for it."""

    def __init__(
        self,
        notes: NoteFile,
        functions: perfvcs_functions.RunningCode | None,
        left_out: Iterable[str] = (),
    ) -> None:
        super().__init__(notes, left_out)
        self.functions = functions
        self.fixtures: dict[Any, perfvcs_functions.Codes] = {}
        self.numbers: dict[perfvcs_functions.ProjectFunction, int] = {}
        if functions is not None:
            notes.add("engine", name=functions.install())

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: Any) -> Generator[None, None, None]:
        """One test, by whatever runs it."""
        self.logged.clear()
        self.notes.add("begin", id=clean(item.nodeid))
        outside = self.functions.swap() if self.functions else {}
        yield
        if self.functions:
            functions = self.functions.swap(outside)
            definitions = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {})
            for fixture in (
                definition for several in definitions.values() for definition in several
            ):
                functions |= self.fixtures.get(fixture, {})
            self._tell(clean(item.nodeid), functions)
        outcome, why = ending(self.logged)
        self.notes.add("test", id=clean(item.nodeid), outcome=outcome, why=why)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, None, None]:
        """What a fixture runs that several tests share belongs to all of them, not to the first
        alone.
        """
        if self.functions is None or fixturedef.scope == "function":
            yield
            return
        outer = self.functions.swap()
        yield
        inner = self.functions.swap(outer)
        outer |= inner
        self.fixtures.setdefault(fixturedef, {}).update(inner)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: Any, exitstatus: int) -> None:
        """What ran outside of tests belongs to none of them."""
        if self.functions:
            outside = self.functions.swap()
            self.functions.remove()
            self._tell("", outside)
        super().pytest_sessionfinish(session, exitstatus)

    def _tell(self, test: str, codes: perfvcs_functions.Codes) -> None:
        places = sorted(self.functions.places(codes)) if self.functions else []
        for place in places:
            if place not in self.numbers:
                self.numbers[place] = len(self.numbers)
                self.notes.add(
                    "function", file=clean(place[0]), name=clean(place[1]), line=place[2]
                )
        processes = self.functions is not None and self.functions.processes(codes)
        self.notes.add(
            "reached",
            id=test,
            functions=[self.numbers[place] for place in places],
            processes=processes,
        )


def ending(reports: Iterable[Any]) -> tuple[str, str]:
    """How a test ended, by the reports of its phases, and why, in one line."""
    phases = list(reports)
    for report in phases:
        if report.failed:
            return "failed", reason(report)
    for report in phases:
        if report.skipped:
            return ("xfailed" if hasattr(report, "wasxfail") else "skipped"), ""
    called = any(report.when == "call" and report.passed for report in phases)
    return ("passed", "") if called else ("unrun", "")


def reason(report: Any) -> str:
    """The first line of an error."""
    crash = getattr(report.longrepr, "reprcrash", None)
    lines = (
        (crash.message if crash is not None else str(report.longrepr or "")).strip().splitlines()
    )
    # where pytest shows sources
    errors = [line[1:].strip() for line in lines if line.startswith("E ")]
    chosen = lines[0] if crash is not None and lines else (errors or lines or [""])[-1]
    return clean(chosen)[:LONGEST_REASON]


def clean(text: object) -> str:
    """Text that can be written as UTF-8."""
    return str(text).encode("utf-8", "backslashreplace").decode()
