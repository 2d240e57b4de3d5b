"""Duration against size: every call of chosen functions, in Python, C and C++."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from perfvcs.collectors._shared.commandrun import is_python
from perfvcs.collectors.complexity.calls import Interrupted, RecordingRequest, TracedFunction, parse
from perfvcs.errors import UsageError
from perfvcs.plugins.collector import CollectError, Observations, Run
from perfvcs.profile import Metric

if TYPE_CHECKING:
    from perfvcs.collectors.complexity.calls import Calls

METRICS = {"duration": Metric("s"), "cost": Metric("s", "none")}
RATE, PACE_METRIC = Metric("", "none"), Metric("s", "none")
MOST_NAMES = 5  # names in a message


@dataclass(frozen=True)
class Complexity:
    """One row per call of the chosen functions: its size, its duration and what recording it cost
    (already subtracted), and the machine's pace at that moment, by which verdicts distinguish a
    slow moment from a slow call.

    ``functions``: names, each with the expression of its size behind a ``=`` where that is not to
    be guessed, or ``"auto"``. Python's are written ``package.module:Class.method``, those of C and
    C++ as the source names them. ``language`` decides where the names and the command do not.
    ``recursion``: whether calls inside a call of the same function are recorded too. ``keep``: how
    many calls are kept per function and bucket of sizes (a quarter of a doubling); of more a random
    sample is. ``most``: functions that ``"auto"`` chooses.
    """

    # as far as known before an execution; its observations name the one used
    engine: ClassVar[str] = "fentry/1"
    metrics: ClassVar[Mapping[str, Metric]] = METRICS

    functions: tuple[str, ...] | Literal["auto"] = "auto"
    language: Literal["auto", "python", "native"] = "auto"
    recursion: Literal["outermost", "all"] = "outermost"
    keep: int = 200
    most: int = 10

    def __post_init__(self) -> None:
        for name, value, top in (("keep", self.keep, 1_000_000), ("most", self.most, 1000)):
            if not 1 <= value <= top:
                raise UsageError(
                    f"complexity: {name} is {value!r}: give a whole number from 1 to {top:,}"
                )
        if not self.functions:
            raise UsageError('complexity: functions is empty: name some, or give "auto"')
        kinds = {function.python for function in self._functions}
        if len(kinds) == 2:
            raise UsageError(
                "complexity: functions has names of Python (module:name) and of C: give each"
                " language a job of its own"
            )
        if kinds and self.language != "auto" and kinds != {self.language == "python"}:
            raise UsageError(f"complexity: {self._miswritten()}")
        if kinds == {True}:
            self._check_places()

    def _check_places(self) -> None:
        """Wrong names of Python functions are reported before anything is measured; raises
        UsageError.
        """
        from perfvcs.collectors.complexity.python.notes import FunctionLocation

        seen = set()
        for function in self._functions:
            uid = FunctionLocation.of(function).uid
            if uid in seen:
                raise UsageError(f"complexity: functions has {uid} twice: name it once")
            seen.add(uid)

    def _miswritten(self, module: str = "module") -> str:
        """A line about the first name, which is not one of the language that the program is in."""
        name = self._functions[0].name
        if self._functions[0].python:
            return (
                f"{name} is a name of Python: write it as the C source does, such as"
                f" {name.rpartition(':')[2]}"
            )
        example = f"{module}:{name.removeprefix(module + '.')}"
        return (
            f"{name} does not say in which module it is: write {name} as module:function, such as"
            f" {example}"
        )

    @property
    def _functions(self) -> tuple[TracedFunction, ...]:
        return (
            ()
            if isinstance(self.functions, str)
            else tuple(parse(entry) for entry in self.functions)
        )

    def available(self) -> str | None:
        """It runs wherever Linux does; an engine that is missing is named, with its cure, when it
        is needed.
        """
        return (
            None
            if sys.platform == "linux"
            else "complexity needs Linux: measure on a Linux machine"
        )

    def flags(self, program: str) -> tuple[str, ...]:
        """The compiler flags with which ``program`` (the command's first word) can be recorded;
        empty if none are needed.
        """
        from perfvcs.collectors.complexity import native

        return native.flags() if self._language(program) == "native" else ()

    def collect(self, run: Run) -> Observations:
        """Execute once; raises CollectError."""
        if self._lacks_module(run.argv[0]):
            scripts = [Path(word).stem for word in run.argv if word.endswith(".py")]
            raise CollectError(f"complexity: {self._miswritten(*scripts[:1])}", lasting=True)
        request = RecordingRequest(
            self._functions, self.recursion == "outermost", self.keep, self.most
        )
        try:
            return _observations(self._record(run, request))
        except Interrupted as error:
            partial = _observations(error.calls) if len(error.calls.function) else None
            raise CollectError(str(error), partial, lasting=error.lasting) from None

    def _record(self, run: Run, request: RecordingRequest) -> Calls:
        """The calls of the functions of a program, which is in the one or the other language."""
        if self._language(run.argv[0]) == "python":
            from perfvcs.collectors.complexity import python

            return python.record(run, request)
        from perfvcs.collectors.complexity import native

        return native.record(run, request)

    def _lacks_module(self, program: str) -> bool:
        """Whether the first name would be one of C and the program runs in Python; with language =
        "native" it may load libraries.
        """
        bare = bool(self._functions) and not set(":(") & set(self._functions[0].name)
        return bare and self.language == "auto" and is_python(program)

    def _language(self, program: str) -> Literal["python", "native"]:
        if self.language != "auto":
            return self.language
        if self._functions and not self._lacks_module(program):
            return "python" if self._functions[0].python else "native"
        return "python" if is_python(program) else "native"


def _nothing(calls: Calls) -> str:
    """The reason why there are no rows."""
    if not calls.left:
        return (
            "none of the functions was called, or no call ended: check their names, or whether the"
            " command reaches them"
        )
    names = ", ".join(calls.names[:MOST_NAMES]) + (
        " and others" if len(calls.names) > MOST_NAMES else ""
    )
    many = (
        f"all {calls.left:,} calls of {names} were"
        if calls.left > 1
        else f"the only call of {names} was"
    )
    return (
        f"{many} left by an exception or a long jump, or did not end, so that nothing is recorded:"
        " name functions that return"
    )


def _observations(calls: Calls) -> Observations:
    if not len(calls.function):
        raise CollectError(_nothing(calls))
    observations = Observations(
        uid=[calls.names[number] for number in calls.function.tolist()],
        size=[None if isnan(size) else size for size in calls.size.tolist()],
        iteration=calls.number.tolist(),
        mark=[0] * len(calls.function),
        values={"duration": calls.duration.tolist(), "cost": calls.cost.tolist()},
        metrics=dict(METRICS),
        warnings=list(calls.warnings),
        engine=calls.engine,
    )
    if (calls.rate > 1).any():
        observations.values["rate"], observations.metrics["rate"] = calls.rate.tolist(), RATE
    # a call may end before the machine's pace was read during it, and nothing may have read any
    pace = [None if isnan(value) else float(f"{value:.4g}") for value in calls.pace.tolist()]
    if any(value is not None for value in pace):
        observations.values["pace"], observations.metrics["pace"] = pace, PACE_METRIC
    return observations
