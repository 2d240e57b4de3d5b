"""What a series shows beside steps and drifts, in words that are the same wherever they are read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfvcs.history.finding import direction
from perfvcs.statistics.changepoints.newest import SUPPORT
from perfvcs.text.quantity import change, percent, quantity
from perfvcs.text.words import counted

if TYPE_CHECKING:
    from perfvcs.history.finding import Newest, Noisier, Switching
    from perfvcs.history.judging import JudgedLine
    from perfvcs.history.record import SeriesRecord

SHORT = 10  # characters of a commit's id


def remarks_of(one: JudgedLine | SeriesRecord) -> list[str]:
    """The remarks on one line, the newest value first."""
    found = [newest(one.newest)] if one.newest else []
    found += [switching(one.switching)] if one.switching else []
    return [*found, *map(noisier, one.noisier)]


def switching(one: Switching) -> str:
    """``switches between 12.1 ms (60 %) and 13.7 ms (40 %) since abc1234, 41 times``."""
    levels = [
        f"{quantity(level, one.line.unit)} ({100 * share:.0f} %)" for level, share in zip(one.levels, one.shares, strict=True)
    ]
    named = f"{', '.join(levels[:-1])} and {levels[-1]}" if len(levels) > 1 else levels[0]
    return f"switches between {named} since {one.first[:SHORT]}, {counted(one.moves, 'time')}"


def noisier(one: Noisier) -> str:
    """``noisier since abc1234: values differ by 4.1 %, before by 1.2 %``."""
    word = "noisier" if one.after > one.before else "calmer"
    return f"{word} since {one.commit[:SHORT]}: values differ by {percent(one.after)[1:]}, before by {percent(one.before)[1:]}"


def newest(one: Newest) -> str:
    """``degradation at the newest commit abc1234: 12.3 ms, +20 % ...``."""
    unit = one.line.unit
    word = one.word if one.word != "suspected" else f"suspected {direction(one.line, one.effect)}"
    since = f", since {one.since[:SHORT]}" if one.since != one.commit else ""
    usual = f"{quantity(one.low, unit)} to {quantity(one.high, unit)}"
    effect = change(one.effect, None, None)
    return (
        f"{word} at the newest commit {one.commit[:SHORT]}{since}: {quantity(one.value, unit)}, {effect} against the level of"
        f" {quantity(one.expected, unit)}, where 99.9 % of single values are from {usual}{_doubt(one)}"
    )


def _doubt(one: Newest) -> str:
    """Why a newest value is only suspected."""
    if one.word != "suspected":
        return ""
    few = f"only {one.support} earlier values are at this level"
    chance = f"a value as far away has a chance of {100 * one.chance:.2g} %"
    return f"; {few if one.support < SUPPORT else chance}, and the next commit confirms or withdraws it"
