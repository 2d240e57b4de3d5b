"""Numbers that a document writes as text, with or without a unit: "0.45", "0.616s", "12 ms"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import isfinite
from typing import Any, NamedTuple

from perfvcs.units import base

LONGEST_NUMBER = 400  # characters; more are not a number
WRITTEN = re.compile(r"\s*+([-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,4})?)\s*+([^\W\d_][^\s\d]{0,31}|%)?\s*+")


class WrittenNumber(NamedTuple):
    """A number and the unit behind it, which is empty where there is none."""

    value: float
    unit: str = ""


def written(value: Any) -> WrittenNumber | None:
    """The finite number that a value is, or that a text says; None where it is or says something else.

    >>> written("0.616s"), written(" 12 ms"), written(3), written("fast"), written("1_0")
    (Written(value=0.616, unit='s'), Written(value=12.0, unit='ms'), Written(value=3.0, unit=''), None, None)
    """
    unit = ""
    if isinstance(value, str):
        found = WRITTEN.fullmatch(value) if len(value) <= LONGEST_NUMBER else None
        if found is None:
            return None
        value, unit = float(found[1]), found[2] or ""
    elif type(value) not in (int, float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return WrittenNumber(number, unit) if isfinite(number) else None


def common_unit(units: Sequence[str]) -> str:
    """The unit for values in some units: theirs where it is one, else that without a prefix; empty where they have none in common."""
    known = dict.fromkeys(filter(None, units))
    if len(known) < 2:
        return next(iter(known), "")
    bases = {base(unit).unit for unit in known}
    return bases.pop() if len(bases) == 1 else ""


def converted(quantity: WrittenNumber, unit: str) -> float | None:
    """The value in a unit, in which one without a unit is already; None where both measure different things.

    >>> converted(Written(12.0, "ms"), "s"), converted(Written(12.0), "s"), converted(Written(1.0, "B"), "s")
    (0.012, 12.0, None)
    """
    if quantity.unit in ("", unit):
        return quantity.value
    old, new = base(quantity.unit), base(unit)
    value = quantity.value * old.times / old.over * new.over / new.times
    return value if old.unit == new.unit and isfinite(value) else None
