"""Results of asv (https://asv.readthedocs.io), of both versions of its files, as docs/exchange.md describes them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import product
from math import isfinite, prod
from typing import Any, ClassVar, Literal, TypeVar

import msgspec
from msgspec.structs import replace

from perfvcs import environment
from perfvcs.formats._foreign import NoResults, bounded, collected, parsed
from perfvcs.profile import MAX_NAME, Design, Environment, Job, Malformed, Metric, Profile, Resources

COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
TELLING = re.compile(rb'"commit_hash"\s*:')
# by how the names of benchmarks begin; asv takes less for better of all of them
METRICS = {
    "time": ("wall", Metric("s")), "timeraw": ("wall", Metric("s")), "mem": ("memory", Metric("B")),
    "peakmem": ("maxrss", Metric("B")),
}  # fmt: skip
TRACKED = ("value", Metric(""))
COLUMNS = ("result", "params", "version", "started_at", "duration")  # in files of version 1 only the first two, by their names
SHORT = 8  # digits of a benchmark's version
LATEST = 253402300799000  # ms: the end of the year 9999

Struct = TypeVar("Struct", bound=msgspec.Struct)
Value = float | None
Taken = tuple[str, float | None, str, list[float]]  # of a unit at a size: the metric and its values


class _Results(msgspec.Struct):
    """A file; of version 1 it has no ``result_columns``."""

    commit_hash: str
    results: dict[str, Any]
    params: dict[str, Any] = {}
    requirements: dict[str, Any] = {}
    env_vars: dict[str, Any] = {}
    result_columns: list[str] | None = None


class _Result(msgspec.Struct):
    """One benchmark: a value, and maybe samples, of each combination of its parameters; None or no value where it failed."""

    result: list[Value] | Value = None
    params: list[list[str]] = []
    version: str | None = None
    started_at: int | None = None
    samples: list[list[Value] | None] | None = None


@dataclass(frozen=True)
class Asv:
    """One file of asv's ``results/MACHINE/``: all benchmarks of one commit in one environment.

    ``versions``: whether a benchmark whose code asv has seen change is another one from then on.
    """

    suffixes: ClassVar[tuple[str, ...]] = (".json",)

    versions: Literal["apart", "together"] = "apart"

    def recognises(self, name: str, head: bytes) -> bool:
        """By a field that only asv has."""
        return name.lower().removesuffix(".gz").endswith(self.suffixes) and TELLING.search(head) is not None

    def decode(self, document: bytes, stem: str = "") -> Profile:  # noqa: ARG002 - file names there hold commit and environment
        """The profile; raises NoResults where everything failed, Malformed with the place."""
        found = _converted(parsed(bounded(document)), _Results, "$")
        if not COMMIT.fullmatch(found.commit_hash):
            raise Malformed("$.commit_hash is not a full commit id")
        results = {name: _result(name, value, found.result_columns) for name, value in found.results.items()}
        rows = [row for name, result in results.items() for row in self._rows(name, result)]
        if not rows:
            raise NoResults("it has no results: each of its benchmarks failed or was skipped")
        times = sorted(one.started_at for one in results.values() if one.started_at is not None and 0 < one.started_at < LATEST)
        session = collected(document, "asv")
        if times:
            session = replace(session, started=_moment(times[0]), ended=_moment(times[-1]))
        return Profile(
            commit=found.commit_hash, job=Job("asv", "asv", "", engine="asv"), collected=session, environment=_environment(found),
            design=Design(executions=1), metrics=_metrics(rows), resources=_resources(rows),
        )  # fmt: skip

    def _rows(self, name: str, result: _Result) -> Iterator[Taken]:
        """What one benchmark has, unit by unit."""
        values = result.result if isinstance(result.result, list) else [result.result]
        if values == [None]:  # everything failed, whatever the parameters
            return
        if prod(map(len, result.params)) != len(values):
            raise Malformed(
                f"$.results.{name[:200]} has {len(values)} values, which is not one for each combination of its parameters"
            )
        metric, _ = METRICS.get(re.split("_", name.rpartition(".")[2])[0], TRACKED)
        unit = f"{name} @{result.version[:SHORT]}" if self.versions == "apart" and result.version else name
        sized = [number for number, given in enumerate(result.params) if all(_number(text) is not None for text in given)]
        place = sized[0] if len(sized) == 1 else -1  # of the parameter that is a size
        samples = result.samples or []
        for number, (given, value) in enumerate(zip(product(*result.params), values, strict=True)):
            others = [text for at, text in enumerate(given) if at != place]
            one = f"{unit}({', '.join(others)})" if others else unit
            size = _number(given[place]) if place >= 0 else None
            taken = (samples[number] if number < len(samples) else None) or [value]
            if kept := [sample for sample in taken if sample is not None]:
                yield one, size, metric, kept


def _result(name: str, value: Any, columns: list[str] | None) -> _Result:
    """One benchmark of either version of the files."""
    if columns is not None and isinstance(value, list):
        value = {key: entry for key, entry in zip(columns, value, strict=False) if entry is not None}
    elif not isinstance(value, dict):
        value = {"result": value}
    return _converted({key: entry for key, entry in value.items() if entry is not None}, _Result, f"$.results.{name[:200]}")


def _converted(value: Any, kind: type[Struct], place: str) -> Struct:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise Malformed(str(error).replace("`$", f"`{place}")) from None


def _number(text: str) -> float | None:
    """The number that a parameter is; None for any other."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) else None


def _metrics(rows: list[Taken]) -> dict[str, Metric]:
    known = dict([*METRICS.values(), TRACKED])
    return {name: known[name] for name in dict.fromkeys(row[2] for row in rows)}


def _resources(rows: list[Taken]) -> Resources:
    """The rows as columns; all samples are iterations of one execution, since asv does not say which process took which."""
    numbers = {unit: number for number, unit in enumerate(dict.fromkeys(row[0] for row in rows))}
    found = Resources(names=list(numbers), iteration=[], metrics={name: [] for name in _metrics(rows)})
    sizes: list[float | None] = []
    for unit, size, metric, values in rows:
        count = len(values)
        found.uid += [numbers[unit]] * count
        found.iteration += range(count)  # type: ignore[operator]
        sizes += [size] * count
        for name in found.metrics:
            found.metrics[name] += values if name == metric else [None] * count
    found.execution = [0] * len(found.uid)
    found.size = sizes if any(size is not None for size in sizes) else None
    return found


def _environment(found: _Results) -> Environment:
    """The machine and what was installed, as asv tells them apart."""
    groups = (found.params, found.requirements, found.env_vars)
    fields = {str(key)[:MAX_NAME]: str(value)[:MAX_NAME] for group in groups for key, value in group.items() if value is not None}
    return Environment(fields, environment.fingerprint(fields) if fields else "")


def _moment(milliseconds: int) -> str:
    return f"{datetime.fromtimestamp(milliseconds / 1000, UTC):%Y-%m-%dT%H:%M:%SZ}"
