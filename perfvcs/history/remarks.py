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

ID_CHARACTERS = 10  # characters of a commit's id


def remarks_of(series: JudgedLine | SeriesRecord) -> list[str]:
    """The remarks on one line, the newest value first."""
    remarks = [newest(series.newest)] if series.newest else []
    remarks += [switching(series.switching)] if series.switching else []
    return [*remarks, *map(noisier, series.noisier)]


def switching(finding: Switching) -> str:
    """``switches between 12.1 ms (60 %) and 13.7 ms (40 %) since abc1234, 41 times``."""
    levels = [
        f"{quantity(level, finding.line.unit)} ({100 * share:.0f} %)"
        for level, share in zip(finding.levels, finding.shares, strict=True)
    ]
    named = f"{', '.join(levels[:-1])} and {levels[-1]}" if len(levels) > 1 else levels[0]
    return f"switches between {named} since {finding.first[:ID_CHARACTERS]}, {counted(finding.moves, 'time')}"


def noisier(finding: Noisier) -> str:
    """``noisier since abc1234: values differ by 4.1 %, before by 1.2 %``."""
    word = "noisier" if finding.after > finding.before else "calmer"
    before, after = percent(finding.before)[1:], percent(finding.after)[1:]
    return f"{word} since {finding.commit[:ID_CHARACTERS]}: values differ by {after}, before by {before}"


def newest(finding: Newest) -> str:
    """``degradation at the newest commit abc1234: 12.3 ms, +20 % ...``."""
    unit = finding.line.unit
    word = finding.word if finding.word != "suspected" else f"suspected {direction(finding.line, finding.effect)}"
    since = f", since {finding.since[:ID_CHARACTERS]}" if finding.since != finding.commit else ""
    usual = f"{quantity(finding.low, unit)} to {quantity(finding.high, unit)}"
    effect = change(finding.effect, None, None)
    return (
        f"{word} at the newest commit {finding.commit[:ID_CHARACTERS]}{since}: {quantity(finding.value, unit)}, {effect} against the"
        f" level of {quantity(finding.expected, unit)}, where 99.9 % of single values are from {usual}{_doubt(finding)}"
    )


def _doubt(finding: Newest) -> str:
    """Why a newest value is only suspected."""
    if finding.word != "suspected":
        return ""
    few = f"only {finding.support} earlier values are at this level"
    chance = f"a value as far away has a chance of {100 * finding.chance:.2g} %"
    return f"; {few if finding.support < SUPPORT else chance}, and the next commit confirms or withdraws it"
