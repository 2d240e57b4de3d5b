"""Watches tests that run as ever: how each ends, and which functions run for it."""

from __future__ import annotations

import pytest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterable
    from typing import Any

    from perfvcs.collectors._shared.functions.inside.python import perfvcs_functions
    from perfvcs.collectors._shared.testing.inside.python.perfvcs_reports import (
        NoteFile,
        Reports,
        clean,
        ending,
    )
else:
    from perfvcs_reports import Reports, clean, ending


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
