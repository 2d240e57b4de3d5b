"""A program under test reports its own measurements: it times parts of itself, and perfvcs stores
them.

The file stands alone: a copy of it works in any project with Python 3.7 or newer, under any name.
Where the variable PERFVCS_SAMPLES is not set, which is whenever perfvcs is not measuring, the code
runs and nothing else happens.

While perfvcs is measuring, the generators of ``random`` and of ``numpy.random`` start from the seed
in PERFVCS_SEED, which all revisions share in a block, unless the program seeds them itself after
this module was imported.

>>> from perfvcs import bench
>>> with bench.measure("parse", size=1000):
...     total = sum(range(1000))
>>> bench.repeat("add", lambda: 1 + 1, iterations=3)
2
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType, TracebackType
    from typing import Any, ParamSpec, TypeVar

    P = ParamSpec("P")
    R = TypeVar("R")

__all__ = ["declare", "measure", "note", "record", "repeat", "seed"]

VARIABLE = "PERFVCS_SAMPLES"
SEED = "PERFVCS_SEED"
# modules with a generator of their own, and a function that seeds it
SEEDED = ("random", "numpy.random")
MOST_SEEDS = 1 << 32  # what numpy takes

_unit: Any = None
if os.environ.get("PERFVCS_UNIT"):  # one unit is to be counted, by what is beside this file
    with contextlib.suppress(ImportError):
        from perfvcs_unit import unit as _unit  # type: ignore[import-not-found,no-redef]


class measure:  # reads as a verb: ``with bench.measure("parse"):``
    """Measure a block, or with ``@measure(...)`` every call of a function; a block that raises is
    not recorded.

    ``uid`` names what is measured, ``size`` how much it works on. CPU time is that of the whole
    process; ``thread=True`` takes that of the calling thread alone, for programs whose threads work
    on different things at the same time.
    """

    def __init__(self, uid: str, size: float | None = None, *, thread: bool = False) -> None:
        self.uid = uid
        self.size = size
        self.thread = thread

    def __enter__(self) -> measure:
        self._clock = time.thread_time_ns if self.thread else time.process_time_ns
        self._cpu = self._clock()
        self._wall = time.perf_counter_ns()
        self._counts = _unit is not None and _unit.begin(self.uid, self.size)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._counts:
            _unit.end(counts=kind is None)
        wall = time.perf_counter_ns()
        cpu = self._clock()
        if kind is None:
            record(self.uid, self.size, wall=(wall - self._wall) / 1e9, cpu=(cpu - self._cpu) / 1e9)

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def measured(*args: P.args, **kwargs: P.kwargs) -> R:
            # one of its own per call: calls nest and run in threads
            with measure(self.uid, self.size, thread=self.thread):
                return function(*args, **kwargs)

        return measured


def repeat(
    uid: str, function: Callable[[], R], iterations: int = 20, size: float | None = None
) -> R:
    """Call ``function`` so many times, measure each call, and return the last result; all is
    written after the last call.

    There is no warm-up: the first calls are recorded too, and the analysis finds out what is
    warm-up.
    """
    if iterations < 1:
        raise ValueError("iterations must be at least 1")
    if _unit is not None:
        function = _counting(uid, function, size)
    times = []
    for _ in range(iterations):
        cpu = time.process_time_ns()
        wall = time.perf_counter_ns()
        result = function()
        times.append((time.perf_counter_ns() - wall, time.process_time_ns() - cpu))
    if os.environ.get(VARIABLE):
        _append([_sample(uid, size, {"wall": wall / 1e9, "cpu": cpu / 1e9}) for wall, cpu in times])
    return result


def _counting(uid: str, function: Callable[[], R], size: float | None) -> Callable[[], R]:
    """The function, with its calls counted if that is what is asked for."""

    def counting() -> R:
        if not _unit.begin(uid, size):
            return function()
        counts = False
        try:
            result = function()
            counts = True
        finally:
            _unit.end(counts=counts)
        return result

    return counting


def record(uid: str, size: float | None = None, **metrics: float) -> None:
    """Report values that were measured in another way; ``wall`` and ``cpu`` are in seconds, for
    others see ``declare``.
    """
    if os.environ.get(VARIABLE):
        _append([_sample(uid, size, metrics)])


def declare(metric: str, unit: str, better: str = "lower", *, deterministic: bool = False) -> None:
    """Tell the unit of a metric and which direction is better: ``lower``, ``higher`` or ``none``
    (recorded, never judged). ``deterministic``: it is exact, so that any change counts and one
    execution is enough.
    """
    if os.environ.get(VARIABLE):
        declared: dict[str, object] = {"metric": metric, "unit": unit, "better": better}
        if deterministic:
            declared["deterministic"] = True
        _append([declared])


def note(text: str) -> None:
    """Report in words what went wrong but is no reason to fail, such as a part that cannot be
    measured; ``perf collect`` shows it.
    """
    if os.environ.get(VARIABLE):
        _append([{"note": str(text)}])


def seed() -> int | None:
    """The seed that all revisions share in this block, for generators of your own; None where
    perfvcs is not measuring.

    With None, ``random.Random(seed())`` and ``numpy.random.default_rng(seed())`` begin anywhere.
    """
    text = os.environ.get(SEED, "")
    return int(text) % MOST_SEEDS if text.isascii() and text.isdigit() and len(text) <= 20 else None


class _Seeding:
    """Seeds the generators of modules when these are imported, which is before the program can seed
    them itself.
    """

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in SEEDED:
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(name, path, target)
            if spec is not None:
                if spec.loader is not None and not isinstance(spec.loader, type):
                    spec.loader.exec_module = functools.partial(_execute, spec.loader.exec_module)  # type: ignore[method-assign]
                return spec
        return None


def _execute(execute: Callable[[ModuleType], None], module: ModuleType) -> None:
    execute(module)
    if module.__name__ in SEEDED:  # a loader may be that of other modules too
        _begin(module)


def _begin(module: Any) -> None:
    module.seed(seed())


if seed() is not None:
    for _name in SEEDED:
        if _name in sys.modules:
            _begin(sys.modules[_name])
    sys.meta_path.insert(0, _Seeding())


def _sample(uid: str, size: float | None, metrics: dict[str, float]) -> dict[str, object]:
    values = {name: float(value) for name, value in metrics.items()}  # numpy's numbers are no JSON
    return {"uid": uid, **({} if size is None else {"size": float(size)}), **values}


def _append(lines: list[dict[str, object]]) -> None:
    """Append in one write, so that processes and threads do not mix; the file is opened anew to
    survive fork and daemons.
    """
    text = "".join(json.dumps(line, allow_nan=False) + "\n" for line in lines).encode()
    descriptor = os.open(
        os.environ[VARIABLE],
        os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0),
        0o644,
    )
    try:
        while text:
            text = text[os.write(descriptor, text) :]
    finally:
        os.close(descriptor)
