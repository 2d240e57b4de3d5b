"""Runs tests again and again by pytest's whole protocol, and measures what each takes: wall time,
CPU time, and memory at its peak.
"""

from __future__ import annotations

import os
import re
from resource import RUSAGE_CHILDREN, getrusage
from time import perf_counter_ns, process_time_ns

import pytest
from _pytest import runner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable
    from typing import Any

    from perfvcs.collectors._shared.testing.inside.python.perfvcs_reports import (
        NoteFile,
        Reports,
        clean,
        ending,
    )

    MeterReading = tuple[int, int, int | None]
else:
    from perfvcs_reports import Reports, clean, ending

STATUS, CLEAR = "/proc/self/status", "/proc/self/clear_refs"
PEAK = re.compile(rb"^VmHWM:\s*(\d+) kB", re.MULTILINE)


class Measurement(Reports):
    """Runs each test by the whole protocol: a first time, whose reports are the ones that count,
    and then again while it ends the same.
    """

    def __init__(
        self,
        notes: NoteFile,
        repeat: int,
        budget: float,
        once: Iterable[str],
        left_out: Iterable[str] = (),
    ) -> None:
        super().__init__(notes, left_out)
        self.repeat, self.budget, self.once = repeat, round(budget * 1e9), frozenset(once)
        self.meter = Meter()
        self.reading: MeterReading | None = None
        self.rounds: list[MeterReading] | None = None
        self.timed = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: Any, nextitem: Any) -> object:
        """One test with all its repetitions."""
        self.logged.clear()
        self.reading = self.rounds = None
        self.notes.add("begin", id=clean(item.nodeid))
        why = ""
        result = self._by_others(item, nextitem)
        if result is not None:
            runs, why = self._first(), "another plugin runs it"
        else:
            item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
            runs, why = self._repeated(item, nextitem)
            item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        outcome, reason_for_it = ending(self.logged)
        self.notes.add(
            "test",
            id=clean(item.nodeid),
            outcome=outcome,
            why=reason_for_it,
            runs=runs,
            once=why,
            rounds=self.rounds or [],
        )
        return True

    def _by_others(self, item: Any, nextitem: Any) -> object:
        """What another plugin says that runs tests in its own way; None when none does."""
        arguments = {"item": item, "nextitem": nextitem}
        for hook in reversed(item.ihook.pytest_runtest_protocol.get_hookimpls()):
            wraps = hook.hookwrapper or getattr(hook, "wrapper", False)
            if wraps or hook.plugin is self or hook.plugin is runner:
                continue
            result = hook.function(**{name: arguments[name] for name in hook.argnames})
            if result is not None:
                return result
        return None

    def _first(self) -> list[MeterReading]:
        return [] if self.reading is None else [self.reading]

    def _repeated(self, item: Any, nextitem: Any) -> tuple[list[MeterReading], str]:
        """The readings of all runs, and why there is but one, where that is no test's normal
        course.
        """
        # a doctest's, which its run clears
        names: dict[str, Any] = getattr(getattr(item, "dtest", None), "globs", {})
        before = dict(names)
        # Only what belongs to the test itself is taken down between its runs. Its parent stands for
        # the next test.
        reports = list(runner.runtestprotocol(item, log=False, nextitem=item.parent))
        runs, why = self._first(), self._single(item)
        if ending([*self.logged, *reports])[0] == "passed" and runs and not why:
            why = self._again(item, runs, lambda: names.update(before))
        call: Any = runner.CallInfo.from_call(
            lambda: item.session._setupstate.teardown_exact(nextitem),
            when="teardown",
            reraise=(pytest.exit.Exception, KeyboardInterrupt),
        )
        if call.excinfo is not None:
            last = item.ihook.pytest_runtest_makereport(item=item, call=call)
            reports[-1] = reports[-1] if reports[-1].failed else last
        for report in reports:
            item.ihook.pytest_runtest_logreport(report=report)
        return runs, why

    def _single(self, item: Any) -> str:
        """Why a test is not to be repeated; empty when it may be."""
        if clean(item.nodeid) in self.once:
            return "asked"
        if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            return "hypothesis"
        return "benchmark" if self.rounds else ""

    def _again(self, item: Any, runs: list[MeterReading], restore: Callable[[], None]) -> str:
        """Repeat while the test passes and there is time; returns how it ended otherwise, empty
        when it never did.
        """
        cancel = getattr(item.ihook, "pytest_timeout_cancel_timer", None)
        if cancel is not None:
            cancel(item=item)  # a limit for one run is none for all of them
        sections, properties = (
            getattr(item, "_report_sections", []),
            getattr(item, "user_properties", []),
        )
        lengths = len(sections), len(properties)
        start = self.meter.clock()
        for _ in range(self.repeat):
            self.reading, logged = None, len(self.logged)
            restore()
            reports = runner.runtestprotocol(item, log=False, nextitem=item.parent)
            outcome, why = ending([*self.logged[logged:], *reports])
            del sections[lengths[0] :], properties[lengths[1] :], self.logged[logged:]
            if outcome != "passed" or self.reading is None:
                return why or f"then {outcome}"
            runs.append(self.reading)
            if self.meter.clock() - start > self.budget:
                break
        return ""

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_pyfunc_call(self, pyfuncitem: Any) -> Generator[None, None, None]:
        """The test's own function."""
        self.timed = True
        self.meter.start()
        yield
        self.reading = self.meter.stop()
        self.rounds = rounds(getattr(pyfuncitem, "funcargs", None)) or None

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_call(self, item: Any) -> Generator[None, None, None]:
        """Tests without such a function: methods of unittest's cases, doctests, those of other
        plugins.
        """
        if getattr(type(item), "runtest", None) is pytest.Function.runtest:
            yield
            return
        self.timed = False
        case = getattr(item, "_testcase", None) or getattr(item, "instance", None)
        method = getattr(case, "_callTestMethod", None)
        if method is not None and hasattr(case, "__dict__"):
            case.__dict__["_callTestMethod"] = lambda test: self._around(method, test)
        else:
            method = None
            self.meter.start()
        yield
        if method is not None:
            case.__dict__.pop("_callTestMethod", None)
        elif not self.timed:
            self.reading = self.meter.stop()

    def _around(self, method: Any, test: Any) -> Any:
        self.timed = True
        self.meter.start()
        try:
            return method(test)
        finally:
            self.reading = self.meter.stop()


def rounds(arguments: dict[str, Any] | None) -> list[MeterReading]:
    """The rounds that pytest-benchmark's fixture measured, in ns per call; none without it, and
    where it is switched off.
    """
    fixture = (arguments or {}).get("benchmark")
    data = getattr(getattr(getattr(fixture, "stats", None), "stats", None), "data", None)
    if not isinstance(data, list):
        return []
    return [(round(value * 1e9), -1, None) for value in data if isinstance(value, float)]


class Meter:
    """Takes readings; holds the system's functions itself, since tests replace clocks and files in
    modules.
    """

    def __init__(self) -> None:
        self._wall, self._cpu, self._usage = perf_counter_ns, process_time_ns, getrusage
        self._open, self._read, self._write, self._close = os.open, os.read, os.write, os.close
        self._begun: tuple[int, int, int, int | None] | None = None

    def clock(self) -> int:
        """Nanoseconds of wall time."""
        return self._wall()

    def start(self) -> None:
        """Begin to measure, or begin again."""
        before, children = self._reset(), self._children()
        cpu = self._cpu()
        self._begun = (self._wall(), cpu, children, before)

    def stop(self) -> MeterReading | None:
        """Wall and CPU time since ``start`` in ns, and by how many bytes resident memory rose at
        most; None without a start.

        CPU time has all threads in it, and the child processes that were waited for.
        """
        wall, cpu = self._wall(), self._cpu()
        if self._begun is None:
            return None
        (began, cpu_before, children, before), self._begun = self._begun, None
        cpu += self._children() - cpu_before - children
        after = None if before is None else self._peak()
        return (
            wall - began,
            cpu,
            None if before is None or after is None else max(after - before, 0),
        )

    def _children(self) -> int:
        """Nanoseconds of CPU time of the child processes that were waited for."""
        usage = self._usage(RUSAGE_CHILDREN)
        return round((usage.ru_utime + usage.ru_stime) * 1e9)

    def _reset(self) -> int | None:
        """Have the system forget the peak, and give the resident bytes; None where it does not let
        us.
        """
        try:
            descriptor = self._open(CLEAR, os.O_WRONLY | os.O_CLOEXEC)
            try:
                self._write(descriptor, b"5")
            finally:
                self._close(descriptor)
        except OSError:
            return None
        return self._peak()

    def _peak(self) -> int | None:
        try:
            descriptor = self._open(STATUS, os.O_RDONLY | os.O_CLOEXEC)
            try:
                match = PEAK.search(self._read(descriptor, 1 << 14))
            finally:
                self._close(descriptor)
        except OSError:
            return None
        return int(match[1]) * 1024 if match else None
