"""Runs the benchmarks of an asv suite without asv, and reports them to perfvcs: ``python -m
perfvcs_asv FOLDER [NAME...]``.

Each NAME keeps the benchmarks whose name contains it. Measures ``time_*`` (wall and CPU time of a
call), ``track_*`` (the value that they return) and ``peakmem_*`` (peak memory of a process of their
own), in modules and classes, with ``setup``, ``teardown``, ``setup_cache``, ``params``, ``number``
and ``unit``. A benchmark with many parameters runs with some of them, spread evenly.

The exit status is 1 if nothing could be measured. The file stands alone beside ``perfvcs_bench``,
for Python 3.7 and newer.
"""

from __future__ import annotations

import gc
import importlib
import importlib.util
import inspect
import itertools
import math
import os
import pkgutil
import re
import resource
import sys
import time
import types
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from perfvcs import bench
else:
    import perfvcs_bench as bench

BENCHMARK_NAME = re.compile(r"(time|track|peakmem)_\w|(Time|Track|PeakMem)[A-Z_]")
ORDER = ("peakmem", "track", "time")  # memory first, before other benchmarks leave theirs behind
MOST_COMBINATIONS = 10  # of parameters of one benchmark
# samples of one benchmark, and the seconds after which no further one starts
SAMPLES, BUDGET = 5, 0.2
SAMPLE_SECONDS = 0.005  # seconds of a sample, which has as many calls as that takes
LEAST_SIZES = 3  # different numbers that make a parameter a size
EVERY = "*"
COUNTED = os.environ.get("PERFVCS_UNIT", "")  # the only benchmark to run, which is counted


class Benchmark:
    """A function or method of the suite; ``place`` is its module or its class."""

    def __init__(self, module: types.ModuleType, place: Any, name: str) -> None:
        self.module, self.place, self.name = module, place, name
        kind = BENCHMARK_NAME.match(name)
        assert kind is not None
        self.kind = (kind[1] or kind[2]).lower()
        inside = [
            module.__name__.partition(".")[2],
            "" if place is module else place.__name__,
            name,
        ]
        self.uid = ".".join(part for part in inside if part)

    def instance(self) -> Any:
        """A new object of the class, or the module."""
        return self.place() if inspect.isclass(self.place) else self.place

    def attribute(self, instance: Any, name: str, default: Any = None) -> Any:
        """An attribute of the function, else of its class, else of its module."""
        return next(iter(self.attributes(instance, name)), default)

    def attributes(self, instance: Any, name: str) -> list[Any]:
        """The attributes of that name of the function, its class and its module."""
        places = [
            getattr(instance, self.name),
            instance,
            *([] if instance is self.module else [self.module]),
        ]
        return [getattr(place, name) for place in places if hasattr(place, name)]


class Case:
    """A benchmark with one combination of parameters."""

    def __init__(
        self, benchmark: Benchmark, values: tuple[Any, ...], names: list[str], size: int | None
    ) -> None:
        self.benchmark, self.values = benchmark, values
        shown = [f"{names[at]}={_shown(value)}" for at, value in enumerate(values) if at != size]
        self.uid = benchmark.uid + (f" ({', '.join(shown)})" if shown else "")
        self.size = None if size is None else float(values[size])

    def prepare(self, caches: dict[object, Any]) -> tuple[Callable[[], Any], Callable[[], None]]:
        """The call to measure, set up, and what tears it down; ``caches`` keeps what
        ``setup_cache`` returned.
        """
        instance = self.benchmark.instance()
        arguments = self.values
        cache = self.benchmark.attribute(instance, "setup_cache")
        if cache is not None:
            key = (cache.__module__, cache.__qualname__)
            if key not in caches:
                caches[key] = cache()
            if caches[key] is not None:
                arguments = (caches[key], *arguments)
        for setup in reversed(self.benchmark.attributes(instance, "setup")):
            setup(*arguments)
        method = getattr(instance, self.benchmark.name)

        def end() -> None:
            for teardown in self.benchmark.attributes(instance, "teardown"):
                teardown(*arguments)

        return (lambda: method(*arguments)), end


def _shown(value: Any) -> str:
    """A parameter in a name: the same text in every process, so without addresses."""
    return str(getattr(value, "__name__", None) or re.sub(r" at 0x[0-9a-f]+", "", repr(value)))[
        :200
    ]


def modules(folder: Path) -> Iterator[types.ModuleType]:
    """The modules of a suite; one that cannot be imported is named on standard error and in a note.

    Only the suite is found in its folder: what it measures is imported from where it is installed.
    """
    start = folder / "__init__.py"
    spec = importlib.util.spec_from_file_location(
        folder.name, start, submodule_search_locations=[str(folder)]
    )
    assert spec is not None and spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules[folder.name] = package
    if start.exists():
        try:
            spec.loader.exec_module(package)
        except Exception as error:
            _failed(folder.name, error)
            return
        yield package
    for entry in sorted(
        pkgutil.walk_packages([str(folder)], f"{folder.name}.", onerror=_failed),
        key=lambda entry: entry.name,
    ):
        try:
            yield importlib.import_module(entry.name)
        except Exception as error:
            _failed(entry.name, error)


def _failed(name: str, error: BaseException | None = None) -> None:
    reason = " ".join(f"{type(error).__name__}: {error}".split()) if error else "cannot be imported"
    said = f"{name}: not measured: {reason[:500]}"
    print(said, file=sys.stderr)
    bench.note(said)


def benchmarks(module: types.ModuleType) -> Iterator[Benchmark]:
    """The benchmarks that a module defines itself."""
    for name, place in sorted(vars(module).items()):
        if name.startswith("_") or getattr(place, "__module__", None) != module.__name__:
            continue
        if inspect.isclass(place):
            for method in dir(place):
                if BENCHMARK_NAME.match(method) and callable(getattr(place, method)):
                    yield Benchmark(module, place, method)
        elif inspect.isfunction(place) and BENCHMARK_NAME.match(name):
            yield Benchmark(module, module, name)


def cases(benchmark: Benchmark) -> list[Case]:
    """A benchmark with its parameters; the one that is made of numbers becomes the size."""
    instance = benchmark.instance()
    params = list(benchmark.attribute(instance, "params", []))
    if not params:
        return [Case(benchmark, (), [], None)]
    if not isinstance(params[0], (list, tuple)):
        params = [params]
    params = [list(values) for values in params]
    names = [str(name) for name in benchmark.attribute(instance, "param_names", [])]
    names += [f"param{at + 1}" for at in range(len(names), len(params))]
    sizes = [
        at
        for at, values in enumerate(params)
        if len(set(map(repr, values))) >= LEAST_SIZES and all(map(_positive, values))
    ]
    size = sizes[0] if len(sizes) == 1 else None
    combinations = list(itertools.product(*params))
    count = min(len(combinations), MOST_COMBINATIONS)
    chosen = sorted(
        {round(at * (len(combinations) - 1) / max(1, count - 1)) for at in range(count)}
    )
    return [Case(benchmark, combinations[at], names, size) for at in chosen]


def _positive(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < math.inf


def measure(case: Case, caches: dict[object, Any]) -> bool:
    """Measure one case and report it; False if it fails, or if its setup leaves it out
    (NotImplementedError).
    """
    try:
        if COUNTED:
            _count(case, caches)
            return True
        return {"time": _time, "track": _track, "peakmem": _peak}[case.benchmark.kind](case, caches)
    except NotImplementedError:
        return False
    except Exception as error:
        _failed(case.uid, error)
        return False


def _count(case: Case, caches: dict[object, Any]) -> None:
    """One call, counted by what asks for it; before that another one with a setup of its own, so
    that what it imports and remembers is there.
    """
    for measured in (False, True):
        call, end = case.prepare(caches)
        try:
            gc.disable()
            if measured:
                with bench.measure(case.uid, case.size):
                    call()
            else:
                call()
        finally:
            gc.enable()
            end()


def _time(case: Case, caches: dict[object, Any]) -> bool:
    """Wall and CPU time of a call, by samples of many calls; each sample has a setup of its own."""
    number = int(case.benchmark.attribute(case.benchmark.instance(), "number", 0) or 0)
    times: list[tuple[float, float]] = []
    begin = time.perf_counter()
    while not times or (len(times) < SAMPLES and time.perf_counter() - begin < BUDGET):
        call, end = case.prepare(caches)
        try:
            if not number:
                number = _number(call)
            times.append(_sample(call, number))
        finally:
            end()
    for wall, cpu in times:
        bench.record(case.uid, case.size, wall=wall, cpu=cpu)
    return True


def _number(call: Callable[[], Any]) -> int:
    """How many calls make a sample."""
    number = 1
    while True:
        wall, _ = _sample(call, number)
        if wall * number >= SAMPLE_SECONDS or number >= 1_000_000:
            return number
        number = min(number * 10, max(number + 1, math.ceil(SAMPLE_SECONDS / max(wall, 1e-9))))


def _sample(call: Callable[[], Any], number: int) -> tuple[float, float]:
    """Seconds of wall and CPU time of a call, the mean of so many; the garbage collector is off, as
    in asv.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        cpu, wall = time.process_time_ns(), time.perf_counter_ns()
        for _ in range(number):
            call()
        wall, cpu = time.perf_counter_ns() - wall, time.process_time_ns() - cpu
    finally:
        if enabled:
            gc.enable()
    return wall / number / 1e9, cpu / number / 1e9


def _track(case: Case, caches: dict[object, Any]) -> bool:
    """The value that a function returns; its unit becomes the name of the metric."""
    call, end = case.prepare(caches)
    try:
        value = float(call())
    finally:
        end()
    if math.isfinite(value):
        unit = str(case.benchmark.attribute(case.benchmark.instance(), "unit", "unit"))
        metric = "value" if unit == "unit" else re.sub(r"[^A-Za-z0-9]+", "_", f"value_{unit}")[:60]
        bench.declare(metric, "" if unit == "unit" else unit)
        bench.record(case.uid, case.size, **{metric: value})
    return math.isfinite(value)


def _peak(case: Case, caches: dict[object, Any]) -> bool:
    """The peak memory of a process that sets up and calls once."""
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if not child:
        status = 1
        try:
            case.prepare(caches)[0]()
            bench.record(
                case.uid,
                case.size,
                maxrss=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            )
            status = 0
        except NotImplementedError:
            pass
        except Exception as error:
            _failed(case.uid, error)
        finally:
            sys.stderr.flush()
            os._exit(status)
    return os.waitpid(child, 0)[1] == 0


def main(words: list[str]) -> int:
    """Measure a suite and return the exit status."""
    if not words or not Path(words[0]).is_dir():
        print("usage: python -m perfvcs_asv FOLDER [NAME...]", file=sys.stderr)
        return 2
    # `-m` puts it there
    sys.path[:] = [entry for entry in sys.path if entry and Path(entry).resolve() != Path.cwd()]
    found = [one for module in modules(Path(words[0]).resolve()) for one in benchmarks(module)]
    found = [one for one in found if not words[1:] or any(word in one.uid for word in words[1:])]
    caches: dict[object, Any] = {}
    measured = 0
    for benchmark in sorted(found, key=lambda one: ORDER.index(one.kind)):
        try:
            each = cases(benchmark)
        except Exception as error:
            _failed(benchmark.uid, error)
            continue
        each = [case for case in each if COUNTED in ("", EVERY, case.uid)]
        measured += sum([measure(case, caches) for case in each])
    if COUNTED not in ("", EVERY) and not measured:
        print(f"{COUNTED} is not among the benchmarks of {words[0]}, or failed", file=sys.stderr)
    elif not measured:
        print(f"{words[0]}: no benchmark could be measured", file=sys.stderr)
    return 0 if measured else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
