"""What `perf compare` prints: a bar per command, each against the first in words, and what was
taken out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from perfvcs.check.answer import adjective
from perfvcs.check.text import WORD_WIDTH, measure, remarks, wrap
from perfvcs.check.vocabulary import SURE, said
from perfvcs.text.characters import COLUMNS, columns, padded, shorten
from perfvcs.text.document import json_text
from perfvcs.text.quantity import NO_BOUND, bounded, duration, is_boundless, quantity, share
from perfvcs.text.words import apart, counted, listed, metric_name, metric_rank

if TYPE_CHECKING:
    from perfvcs.check.change import Change
    from perfvcs.measure.commandrecord import Level
    from perfvcs.measure.commandturns import Comparison

NAME, SENTENCE = 28, 40  # columns of a command in a row and in a sentence
SHORTEST_BAR, LONGEST_BAR = 8, 30
HALVES = "▌"


def json(comparison: Comparison) -> str:
    """The comparison as JSON."""
    return json_text(
        {
            "commands": comparison.commands,
            "comparisons": [] if comparison.report is None else comparison.report.changes,
            "way": comparison.way,
            "own": comparison.own,
            "pairs": comparison.pairs,
            "runs": comparison.runs,
            "seconds": comparison.seconds,
            "notes": comparison.notes,
        }
    )


def lines(comparison: Comparison, metrics: Sequence[str], width: int = COLUMNS) -> list[str]:
    """The levels with their bars by metric, then the verdicts, and how it was measured."""
    return [
        *_levels(comparison, metrics, width),
        *_verdicts(comparison, width),
        *_measured(comparison, width),
    ]


class _Row(NamedTuple):
    name: str
    level: Level


def _levels(comparison: Comparison, metrics: Sequence[str], width: int) -> Iterator[str]:
    names = apart([command.command for command in comparison.commands], NAME)
    for metric in metrics:
        rows = [
            _Row(name, level)
            for name, command in zip(names, comparison.commands, strict=True)
            for level in command.levels
            if level.metric == metric
        ]
        if rows:  # no memory is known without a launcher
            yield metric_name(metric)
            yield from _bars(rows, width)
            yield ""


def _bars(rows: Sequence[_Row], width: int) -> Iterator[str]:
    """A row per command: name, level with its interval, spread, and a bar from 0 on."""
    name = max(columns(row.name) for row in rows)
    texts = [_level(row.level) for row in rows]
    spreads = [_spread(row.level) for row in rows]
    level, spread = max(map(len, texts)), max(map(len, spreads))
    room = min(LONGEST_BAR, width - 2 - name - 2 - level - 2 - spread - 2)
    most = max(row.level.centre for row in rows)
    for row, text, varies in zip(rows, texts, spreads, strict=True):
        share = row.level.centre / most if most > 0 else 0.0
        bar = _bar(share, room) if room >= SHORTEST_BAR and len(rows) > 1 else ""
        line = f"  {padded(row.name, name)}  {text:<{level}}  {varies:<{spread}}  {bar}"
        yield line.rstrip()


def _bar(share: float, room: int) -> str:
    half = max(int(share > 0), round(2 * room * share))
    return "█" * (half // 2) + HALVES * (half % 2)


def _level(level: Level) -> str:
    """``38.2 ms [37.9, 38.5]``."""
    if level.low is None or level.high is None or level.low == level.high:
        return quantity(level.centre, level.unit)
    return bounded(level.centre, level.low, level.high, level.unit)


def _spread(level: Level) -> str:
    return "" if level.spread is None else f"spread {share(level.spread)}"


def _verdicts(comparison: Comparison, width: int) -> Iterator[str]:
    """The verdict on each command against the first, in the order in which they were given."""
    if comparison.report is None:
        return
    places = {command.command: place for place, command in enumerate(comparison.commands)}
    changes = sorted(comparison.report.changes, key=lambda change: places[change.job])
    names = apart([command.command for command in comparison.commands], SENTENCE)
    yield from wrap(f"against {names[0]}:", width)
    for place, group in groupby(changes, key=lambda change: places[change.job]):
        for change in group:
            several = len(comparison.commands) > 2
            yield from _verdict(change, names[place] if several else "", width)
    yield ""


def _verdict(change: Change, name: str, width: int) -> Iterator[str]:
    word = said(change)
    of = metric_name(change.metric)
    parts = [f"{of} {measure(change)}".rstrip(), ratio(change)]
    text = ", ".join(filter(None, [name, *parts]))
    indent = " " * (WORD_WIDTH + 5)
    yield from wrap(
        f"  {word.sign} {word.word:<{WORD_WIDTH}} {text}", width, subsequent_indent=indent
    )
    for remark in remarks(change):
        yield from wrap(remark, width, initial_indent=indent, subsequent_indent=indent)


def ratio(change: Change) -> str:
    """``2.12 times as long [2.09, 2.15]``; empty where a ratio has no meaning."""
    if change.effect is None:
        return ""
    how = {"s": "as long", "B": "as large"}.get(change.unit, "as many")
    text = f"{1 + change.effect:.3g} times {how}"
    if change.low is None or change.high is None or change.low == change.high:
        return text
    if is_boundless(change.low, change.high):
        return f"{text} {NO_BOUND}"
    return f"{text} [{1 + change.low:.3g}, {1 + change.high:.3g}]"


def _measured(comparison: Comparison, width: int) -> Iterator[str]:
    yield from wrap(_sentence(comparison), width, subsequent_indent="  ")
    runs = f" of {comparison.runs} runs" if comparison.runs > 1 else ""
    turns = f"{counted(comparison.pairs, 'turn')}{runs} in " if comparison.pairs else ""
    own = comparison.own.get("wall") if comparison.pairs else None  # without turns nothing is timed
    out = "" if own is None else f"; taken out: {quantity(own, 's')} of the {comparison.way}"
    yield from wrap(f"{turns}{duration(comparison.seconds)}{out}", width)
    for note in [*comparison.notes, *_mostly_launching(comparison)]:
        yield from wrap(f"note: {note}", width, subsequent_indent="      ")


def _sentence(comparison: Comparison) -> str:
    """Which of two commands is ahead, or the quickest of several, by the first metric."""
    report = comparison.report
    if report is None:
        return ""
    names = apart([command.command for command in comparison.commands], SENTENCE)
    if len(names) == 2:
        sure = [change for change in report.changes if change.word in SURE]
        first = min(sure, key=lambda change: metric_rank(change.metric), default=None)
        return f"{names[1]} is {adjective(first)} than {names[0]}" if first else ""
    levels = [command.levels[0] for command in comparison.commands]
    least, *others = sorted(range(len(names)), key=lambda number: levels[number].centre)
    high = levels[least].high
    lows = [(levels[number].low, names[number]) for number in others]
    near = [name for low, name in lows if high is None or low is None or low <= high]
    if not near:
        return f"{names[least]} takes least"
    return f"{names[least]} may take least: {near[0]} is too near to tell"


def _mostly_launching(comparison: Comparison) -> Iterator[str]:
    """The commands that take less than what launches them."""
    own = comparison.own.get("wall")
    short = [
        shorten(command.command, SENTENCE)
        for command in comparison.commands
        for level in command.levels
        if level.metric == "wall" and own is not None and level.centre < own
    ]
    if short:
        yield f"less than the {comparison.way} itself, so that it is less certain: {listed(short)}"
