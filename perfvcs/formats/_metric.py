"""Names of metrics made from what foreign documents call them, or from units, and a metric's
description in the heading of a column.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from math import isfinite
from typing import Literal, NamedTuple

import msgspec

from perfvcs.profile import REPEATED, Metric, Profile
from perfvcs.profile.units import Base, base
from perfvcs.profile.validity import RESERVED, Malformed

BETTER = ("lower", "higher", "none")
METRIC_KINDS = ("sampled", "deterministic")
METRIC_NAME_WIDTH = 64
DIGITS = 8
METRIC_NAMES = {"s": "wall", "ops/s": "throughput"}
SECONDS = re.compile(r"/(?:sec|secs|second|seconds)$")


def usable(name: str) -> str:
    """The name of a metric for a column of any name: what a name cannot hold becomes ``_``; the
    same name gives the same.

    >>> usable("wall"), usable("time delta"), usable("99 %"), usable("size")
    ('wall', 'time_delta', 'm_99', 'size_')
    """
    metric_name = re.sub(r"[^A-Za-z0-9_.:-]+", "_", name[:10_000].strip())
    metric_name = metric_name if metric_name == name else metric_name.strip("_")
    if not metric_name[:1].isalpha():
        metric_name = f"m_{metric_name}"
    if metric_name in RESERVED:
        metric_name += "_"
    if len(metric_name) > METRIC_NAME_WIDTH:
        digest = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:DIGITS]
        metric_name = f"{metric_name[: METRIC_NAME_WIDTH - DIGITS - 1]}_{digest}"
    return metric_name


def distinct(columns: Iterable[str]) -> dict[str, str]:
    """Columns to the ``usable`` names of their metrics; raises Malformed where two would get the
    same one.
    """
    columns_of: dict[str, str] = {}
    for column in columns:
        name = usable(column)
        if name in columns_of:
            raise Malformed(
                f"the columns `{columns_of[name][:80]}` and `{column[:80]}` would both be the"
                f" metric `{name}`: rename one"
            )
        columns_of[name] = column
    return {column: name for name, column in columns_of.items()}


def described(heading: str) -> tuple[str, Metric | None]:
    """A column's name and what its heading says of the metric, ``name [unit better kind]``; None
    where it says nothing.

    >>> described("wall [s]")
    ('wall', Metric(unit='s', better='lower', kind='sampled'))
    >>> described("rate (1/s higher)")
    ('rate', Metric(unit='1/s', better='higher', kind='sampled'))
    """
    # no pattern: what tries every bracket as the first takes a time quadratic in the brackets
    title = heading.strip()
    start = -1
    if title.endswith("]"):
        start = title.find("[", 1)
    elif title.endswith(")"):
        start = title.rfind("(")
    inside = title[start + 1 : -1]
    if start < 1 or (title[start] == "(" and ")" in inside):
        return title, None
    words = inside.strip().split(" ")
    kind = words.pop() if words[-1] in METRIC_KINDS else METRIC_KINDS[0]
    better = words.pop() if words and words[-1] in BETTER else BETTER[0]
    return title[:start].strip(), metric(" ".join(words).strip(), better, kind)


def heading(name: str, metric: Metric) -> str:
    """The heading of a metric's column, which ``described`` reads; as short as it can be."""
    words = [metric.better] * (metric.better != BETTER[0]) + [metric.kind] * (
        metric.kind != METRIC_KINDS[0]
    )
    brief = f"{name} [{' '.join(filter(None, [metric.unit, *words]))}]"
    return (
        brief
        if described(brief) == (name, metric)
        else f"{name} [{metric.unit} {metric.better} {metric.kind}]"
    )


def metric(unit: str, better: str, kind: str = METRIC_KINDS[0]) -> Metric:
    """A metric from words; raises Malformed for an unknown word."""
    try:
        return msgspec.convert({"unit": unit.strip(), "better": better, "kind": kind}, Metric)
    except msgspec.ValidationError as error:
        raise Malformed(f"a metric's description is wrong: {error}") from None


class RoundValues(NamedTuple):
    """The values of one metric of a unit at a size, in the order of the rows, in the unit without a
    prefix.
    """

    uid: str
    size: float | None
    metric: str
    definition: Metric
    values: list[float]

    @property
    def mean(self) -> float:
        """Their mean."""
        return sum(self.values) / len(self.values)

    @property
    def name(self) -> str:
        """The unit and its size, ``sort/100``."""
        return self.uid if self.size is None else f"{self.uid}/{self.size:g}"


def benchmarks(profile: Profile) -> list[RoundValues]:
    """Every unit, size and metric that has values, without repeated rows and those of call stacks;
    raises Malformed where none is left.
    """
    rows, by_benchmark = profile.resources, dict[tuple[int, float | None, str], list[float]]()
    sizes = rows.size if rows.size is not None else [None] * len(rows)
    marks, traces = rows.integers("mark"), rows.integers("trace")
    bases = {name: base(definition.unit) for name, definition in profile.metrics.items()}
    for name, column in rows.metrics.items():
        for uid, size, mark, trace, value in zip(
            rows.uid, sizes, marks, traces, column, strict=True
        ):
            if value is not None and mark != REPEATED and trace < 0:
                by_benchmark.setdefault((uid, size, name), []).append(
                    value * bases[name].times / bases[name].over
                )
    if not by_benchmark:
        raise Malformed("the profile has no values outside its call stacks and repeated executions")
    return [
        RoundValues(
            rows.names[uid],
            size,
            name,
            Metric(bases[name].unit, profile.metrics[name].better, profile.metrics[name].kind),
            values,
        )
        for (uid, size, name), values in by_benchmark.items()
    ]


def written(document: object) -> bytes:
    """JSON; raises Malformed for names that it cannot hold."""
    try:
        return msgspec.json.encode(document)
    except UnicodeEncodeError:
        raise Malformed("a name has bytes that are not UTF-8, which JSON cannot hold") from None


def judged(profile: Profile) -> list[RoundValues]:
    """Those whose direction is known; raises Malformed where there are none."""
    directed = [
        benchmark for benchmark in benchmarks(profile) if benchmark.definition.better != "none"
    ]
    if not directed:
        raise Malformed("the profile has no metric of which less or more is better")
    return directed


class Written(msgspec.Struct, frozen=True):
    """How the values of a unit are kept: as a metric in the unit without a prefix."""

    metric: str
    definition: Metric
    base: Base

    def moved(self, value: float | None) -> float | None:
        """A value in the metric's unit; None where no number can say it."""
        converted = None if value is None else value * self.base.times / self.base.over
        return converted if converted is not None and isfinite(converted) else None


def quantity(unit: str, better: Literal["lower", "higher", "none"], name: str = "") -> Written:
    """What values in a unit are: times (also by operation or iteration) are ``wall``, what is per
    second ``rate``, others ``value``.

    >>> quantity("ns/iter", "lower").metric, quantity("ops/us", "higher").moved(2.0)
    ('wall', 2000000.0)
    """
    unit = SECONDS.sub("/s", unit)
    if unit.count("/") == 1 and (scale := base(unit)).unit.startswith("s/") and not name:
        scale = Base("s", scale.times, scale.over)  # whatever it is that takes the time
    else:
        scale = base(unit)
    return Written(name or _metric_of(scale.unit), Metric(scale.unit, better), scale)


def direction(unit: str) -> Literal["lower", "higher", "none"]:
    """Which direction a unit alone says is better: less of times, more of what is per second; of
    others it says nothing.

    >>> direction("us/op"), direction("iter/sec"), direction("B"), direction("")
    ('lower', 'higher', 'none', 'none')
    """
    upper, _, lower = base(SECONDS.sub("/s", unit)).unit.partition("/")
    if lower == "s":
        return "higher"
    return "lower" if upper == "s" else "none"


def _metric_of(unit: str) -> str:
    """The name of a metric in a base unit: ``wall``, ``throughput``, ``rate_B``, ``value_B``."""
    if unit in METRIC_NAMES:
        return METRIC_NAMES[unit]
    name = "rate" if unit.endswith("/s") else "value"
    counted, _, _ = unit.partition("/s")
    return usable(f"{name}_{counted}") if counted else name
