"""Units that measure the same thing: values in ms and in s become comparable once all are in s."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from msgspec import structs

from perfvcs.profile import Profile

# prefixes, as powers of ten that divide
SMALL_PREFIXES = {"p": 12, "n": 9, "u": 6, "µ": 6, "μ": 6, "m": 3}
LARGE = {"k": 3, "M": 6, "G": 9, "T": 12, "P": 15}
BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50}  # powers of two
# Which prefixes a unit takes. K is left out: to some KB is 1,000 bytes, to others 1,024.
TAKES = {
    "s": SMALL_PREFIXES,
    "B": LARGE,
    "bit": LARGE,
    "Hz": LARGE,
    "op": LARGE,
    "ops": LARGE,
    "items": LARGE,
    "J": SMALL_PREFIXES | LARGE,
    "W": SMALL_PREFIXES | LARGE,
    "V": SMALL_PREFIXES | LARGE,
    "A": SMALL_PREFIXES | LARGE,
    "1": {},
}
OTHER_UNITS = {
    "min": ("s", 60),
    "h": ("s", 3600),
    "sec": ("s", 1),
    "secs": ("s", 1),
    "second": ("s", 1),
    "seconds": ("s", 1),
    "byte": ("B", 1),
    "bytes": ("B", 1),
}
# what comes in whole numbers, whoever reads it
WHOLE = ("B", "bit", "", "1", "count", "op", "ops", "items")


class Base(NamedTuple):
    """A value times ``times``, divided by ``over``, is a number of ``unit``; one of both is 1, or
    both are whole.
    """

    unit: str
    times: int = 1
    over: int = 1


@lru_cache(maxsize=1024)
def base(unit: str) -> Base:
    """The unit without a prefix that measures the same, and how to get there; an unknown unit is
    its own.

    >>> base("ms"), base("ops/ms")
    (Base(unit='s', times=1, over=1000), Base(unit='ops/s', times=1000, over=1))
    """
    upper, slash, lower = unit.partition("/")
    above = _plain(upper)
    if above is None or (slash and not lower):
        return Base(unit)
    if not slash:
        return above
    below = _plain(lower) or Base(lower)
    times, over = above.times * below.over, above.over * below.times
    common = min(times, over) if max(times, over) % min(times, over) == 0 else 1
    return Base(f"{above.unit}/{below.unit}", times // common, over // common)


def is_read(unit: str) -> bool:
    """Whether values of a unit are readings of an instrument with a finest step, such as a clock;
    counts and bytes are exact.

    >>> is_read("s"), is_read("B"), is_read("ops/s"), is_read("faults")
    (True, False, True, False)
    """
    unit_read = base(unit).unit
    upper, slash, lower = unit_read.partition("/")
    return (unit_read in TAKES and unit_read not in WHOLE) or (
        bool(slash) and "s" in (upper, lower)
    )


def in_base_units(profile: Profile) -> Profile:
    """The profile with all values in units without a prefix; the profile itself where they are
    already.
    """
    bases = {name: base(metric.unit) for name, metric in profile.metrics.items()}
    moved = {
        name: target for name, target in bases.items() if target.unit != profile.metrics[name].unit
    }
    if not moved:
        return profile
    rows = profile.resources
    columns = {
        name: _converted(rows.metrics[name], target)
        for name, target in moved.items()
        if name in rows.metrics
    }
    metrics = {
        name: structs.replace(profile.metrics[name], unit=target.unit)
        for name, target in moved.items()
    }
    return structs.replace(
        profile,
        metrics=profile.metrics | metrics,
        resources=replace(rows, metrics=rows.metrics | columns),
    )


def _converted(column: Sequence[float | None], target: Base) -> list[float | None]:
    """The values of a column in a base unit; None stays None."""
    return [None if value is None else value * target.times / target.over for value in column]


def _plain(unit: str) -> Base | None:
    """The base of a unit without a fraction bar; None for what is not known."""
    if unit in OTHER_UNITS:
        name, times = OTHER_UNITS[unit]
        return Base(name, times)
    for name, prefixes in TAKES.items():
        prefix = unit.removesuffix(name) if unit.endswith(name) else None
        if prefix == "":
            return Base(name)
        if prefix in prefixes:
            power = 10 ** prefixes[prefix]
            return Base(name, over=power) if prefix in SMALL_PREFIXES else Base(name, power)
        if prefix in BINARY and name in ("B", "bit"):
            return Base(name, 2 ** BINARY[prefix])
    return None
