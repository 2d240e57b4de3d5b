"""Has one test counted, or each, while all tests run as ever: by pytest's whole protocol, a first
time and, if it can be repeated, once more, when what it imports and remembers is there.
"""

from __future__ import annotations

import functools
import inspect

import pytest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from perfvcs.collectors._shared.testing.inside.python.perfvcs_measurement import (
        Measurement,
        MeterReading,
    )
    from perfvcs.collectors._shared.testing.inside.python.perfvcs_reports import NoteFile, clean
    from perfvcs.native.python.perfvcs_unit import unit
else:
    from perfvcs_measurement import Measurement
    from perfvcs_reports import clean
    from perfvcs_unit import unit

# pytest's exit statuses where tests passed, failed, could not be collected, or were none
HARMLESS = (0, 1, 2, 5)


class Switch:
    """A meter that reads nothing, and has the test ``name`` counted."""

    def __init__(self) -> None:
        self.name = ""
        self._counts = False

    def clock(self) -> int:
        """Nothing."""
        return 0

    def start(self) -> None:
        """Begin to count."""
        self._counts = unit.begin(self.name)

    def stop(self) -> MeterReading:
        """Stop counting."""
        if self._counts:
            unit.end()
        return (0, 0, None)


def is_plain(function: Any) -> bool:
    """Whether a function has done its work when its call returns."""
    return not (
        inspect.iscoroutinefunction(function)
        or inspect.isasyncgenfunction(function)
        or inspect.isgeneratorfunction(function)
    )


class CountedTest(Measurement):
    """Repeats the test with that name once, and leaves all others to pytest; or repeats each."""

    def __init__(self, notes: NoteFile, left_out: Iterable[str] = ()) -> None:
        super().__init__(notes, 1, 1.0, (), left_out)
        self.meter: Any = Switch()
        self.chosen = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: Any, nextitem: Any) -> object:
        """One test."""
        self.meter.name = clean(item.nodeid)
        self.chosen = unit.every or self.meter.name == unit.name
        if not self.chosen:
            self.logged.clear()
            return None
        return super().pytest_runtest_protocol(item, nextitem)

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_pyfunc_call(self, pyfuncitem: Any) -> Any:
        """The test's own function, without what pytest does around it."""
        function = pyfuncitem.obj
        if not self.chosen:
            yield
        elif is_plain(function):
            pyfuncitem.obj = self._counting(function)
            yield
            pyfuncitem.obj = function
        else:
            yield from super().pytest_pyfunc_call(pyfuncitem)

    def _counting(self, function: Any) -> Any:
        @functools.wraps(function)
        def counting(*args: object, **kwargs: object) -> object:
            self.meter.start()
            try:
                return function(*args, **kwargs)
            finally:
                self.reading = self.meter.stop()

        return counting

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_call(self, item: Any) -> Any:
        """A test without such a function."""
        if self.chosen:
            yield from super().pytest_runtest_call(item)
        else:
            yield

    @pytest.hookimpl(optionalhook=True)
    def pytest_timeout_set_timer(self) -> bool:
        """No limit of pytest-timeout: counting takes its time."""
        return True

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: Any, exitstatus: int) -> None:
        """The end, which is good where the test could be counted, whatever became of others."""
        super().pytest_sessionfinish(session, exitstatus)
        if exitstatus in HARMLESS:
            session.exitstatus = 0
