"""Checks of the options of postprocessors; messages name the option and its cure."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from perfvcs.errors import UsageError, nearest
from perfvcs.postprocessors._outcome import name_of

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def check_word(member: DataclassInstance, option: str, known: Collection[str]) -> None:
    """Raise UsageError where an option is none of the words that there are."""
    value = getattr(member, option)
    if value not in known:
        raise UsageError(f"{name_of(member)}: {option} cannot be {value!r}{nearest(str(value), known)}")


def check_number(
    member: DataclassInstance, option: str, low: float, high: float, example: str, *, whole: bool = False, above: bool = False
) -> None:
    """Raise UsageError where a numeric option is outside ``low`` to ``high`` (``above``: ``low`` itself too), or not ``whole``.

    None, an option that was not given, is right.
    """
    value = getattr(member, option)
    if value is None:
        return
    number = isinstance(value, int if whole else (int, float)) and not isinstance(value, bool)
    if not number or not low <= value <= high or (above and value == low):
        kind = "a whole number" if whole else "a number"
        span = f"above {low:g}" + (f", at most {high:g}" if high < 1e300 else "") if above else f"from {low:,g} to {high:,g}"
        raise UsageError(f"{name_of(member)}: {option} is {value!r}: give {kind} {span}, such as {example}")
