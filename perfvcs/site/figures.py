"""The numbers of changes and verdicts as the pages of a site show them."""

from __future__ import annotations

from math import exp
from typing import TYPE_CHECKING, NamedTuple

from perfvcs.check.vocabulary import WORDS
from perfvcs.site import model
from perfvcs.site.model import LARGEST_EXPONENT
from perfvcs.text.characters import shorten
from perfvcs.text.quantity import change, percent
from perfvcs.text.words import metric_name

if TYPE_CHECKING:
    from perfvcs.history.finding import Finding
    from perfvcs.history.record import SeriesRecord
    from perfvcs.history.verdict import Verdict

LEAST_CHANCE = 1e-12  # a chance below is not told apart


REASON_CHARACTERS = 200


class ChangeFigures(NamedTuple):
    """The numbers of a change as pages have them."""

    effect: float
    low: float | None
    high: float | None
    before: float
    after: float
    p: float | None


def figures(finding: Finding) -> ChangeFigures:
    """A change's numbers with as many digits as mean something, for programs and for drawing; texts
    are made from the finding itself, as in a terminal.

    With more digits, every new commit at the level after it would change them a little, and with
    them all pages that show it.
    """
    low, high = (None if end is None else _shown(end) for end in (finding.low, finding.high))
    before, after = (float(f"{value:.4g}") for value in (finding.before, finding.after))
    return ChangeFigures(
        _shown(finding.effect),
        low,
        high,
        before,
        after,
        None if finding.p is None else max(LEAST_CHANCE, float(f"{finding.p:.1g}")),
    )


def texts(finding: Finding) -> tuple[str, str, str]:
    """A change as pages say it: its effect with the interval, alone, and its levels."""
    effect, levels = finding.effect, finding.levels.replace("->", "→")
    return change(effect, finding.low, finding.high), percent(effect), levels


def _shown(effect: float) -> float:
    """An effect as exactly as ``percent`` writes it."""
    return round(effect, 3) if abs(effect) >= 0.01 else float(f"{effect:.2g}")


def level(series: SeriesRecord, turn: int) -> float:
    """The level at one of a series' places, in the metric's unit."""
    return exp(float(series.levels[turn]))


def metric(series: SeriesRecord) -> str:
    """The metric's name."""
    return shorten(metric_name(series.line.metric), 60)


def effect(difference: float) -> float | None:
    """after/before - 1 of a difference of logarithms; None if it is unknown or beyond a float."""
    return exp(difference) - 1 if abs(difference) < LARGEST_EXPONENT else None  # not of NaN either


def cell_of(series: SeriesRecord, turn: int, value: str, before: str) -> model.CellData:
    """A version of a series as a cell, whether it was compared or not."""
    word, verdict = series.word(turn), series.verdicts.get(turn)
    if word == "new":
        return model.CellData("new", "new", value, f"{value}, the first of this series")
    if verdict is None:
        return model.CellData(
            "", "", value, f"{value}, not compared with {before}: perf check does"
        )
    return cell(verdict, word, value, before)


def cell(verdict: Verdict, word: str, value: str, before: str) -> model.CellData:
    """A verdict as a cell; ``word``: its own, or accepted; ``before``: the other commit."""
    size, low, high = verdict.effect, verdict.low, verdict.high
    moved = "" if size is None else f" {change(size, low, high)}"
    if not verdict.reason or verdict.accepted is not None:
        reason = ""
    else:
        reason = f" ({shorten(verdict.reason, REASON_CHARACTERS)})"
    detail = f"{value}, {word}{moved} against {before}{reason}"
    row, finding = WORDS[word], shorten(verdict.finding, REASON_CHARACTERS)
    text = word if size is None else percent(size)
    if not (row.moved or word == "accepted"):
        text, finding = row.sign, finding if verdict.since else ""
    return model.CellData(word, text, value, detail, size, low, high, finding)
