"""Numbers with units, and names, as people read them: 13.1 ms, +2.4 %, a label of bounded length."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

Name = TypeVar("Name", bound=Hashable)

SCALED = ("s", "B", "bit", "Hz", "J", "W", "V", "A")  # others may have a prefix already
EVENTS = ("op", "ops", "items")  # the same, of so many in some time
COUNTS = ("", "1", "count")
PREFIXES = {-4: "p", -3: "n", -2: "u", -1: "m", 0: "", 1: "k", 2: "M", 3: "G", 4: "T", 5: "P"}
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
METRICS = {"wall": "wall time", "cpu": "CPU time", "maxrss": "peak memory", "run_delay": "run-queue delay"}
COUNTED = ("degradation", "improvement")  # words with a plural
FIRST = ("wall", "cpu", "maxrss")
UNIT = 24  # characters of a unit
# Letters and marks that Unicode calls printable and no font draws: joiners of graphemes, fillers, variation selectors.
UNSEEN = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
# What joins the parts of an emoji, or of a word in Persian or Hindi: behind such a character it is left out, anywhere else it is shown.
JOINING = re.compile(
    "(?<=[^\x00-\x7f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe00-\ufe0f])(?:[\ufe0e\ufe0f]\u200d?|[\u200c\u200d])"
)
FORMULA = re.compile(r"'*[=+\-@\t\r\n]")  # the beginning of what a spreadsheet computes, behind any apostrophes
ISOLATED = ("\u2068", "\u2069")  # first strong isolate, pop: a right-to-left name does not reorder its neighbours


@dataclass(frozen=True)
class Scale:
    """``value * factor`` is a number of ``unit``.

    >>> scale(0.0131, "s")
    Scale(factor=1000.0, unit='ms')
    """

    factor: float
    unit: str


def scale(magnitude: float, unit: str) -> Scale:
    """The SI prefix that brings ``magnitude`` (in ``unit``) between 1 and 1,000; zero and what is not finite keep the unit.

    Seconds stay seconds above 1, bytes stay bytes below. A unit that may carry a prefix already gets a power of ten instead.
    """
    magnitude = abs(magnitude)
    if not math.isfinite(magnitude) or magnitude == 0:
        return Scale(1.0, unit)
    return _scaled(max(-100, math.floor((math.log10(magnitude) + 4e-10) / 3)), unit)


@lru_cache(maxsize=1024)
def _scaled(step: int, unit: str) -> Scale:
    """The scale of magnitudes from 1,000 to the power of ``step`` on; kept, since a site has ten thousand quantities."""
    upper, per, _ = unit.partition("/")
    fraction = unit in COUNTS or unit.startswith(("B", "bit"))  # a part of a byte or of a count takes no prefix
    if upper == "s":
        step = min(step, 0)
    elif fraction and step >= -1:
        step = max(step, 0)
    scaled = unit in COUNTS or upper in SCALED or (per and upper in EVENTS)
    if (fraction and step < 0) or not scaled:
        step = step if step >= 3 or step < -1 else 0
        power = f"×10{str(3 * step).translate(SUPERSCRIPT)}" if step else ""
        return Scale(10.0 ** (-3 * step), f"{power} {'' if unit in COUNTS else unit}".strip())
    step = max(min(PREFIXES), min(max(PREFIXES), step))
    return Scale(10.0 ** (-3 * step), PREFIXES[step] + ("" if unit in ("1", "count") else unit))


def number(value: float) -> str:
    """Four significant digits, thousands grouped, never an exponent for what fits in a line.

    >>> number(1234567.0), number(13.1239), number(0.5), number(200.0)
    ('1,234,567', '13.12', '0.5', '200')
    """
    if not math.isfinite(value):
        return str(value)
    if abs(value) >= 1000:
        return f"{value:,.0f}" if abs(value) < 1e15 else f"{value:.3e}"
    text = f"{value:.{max(0, 3 - math.floor(math.log10(abs(value))))}f}" if abs(value) >= 1e-6 else f"{value:.4g}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def quantity(value: float, unit: str) -> str:
    """A value with its unit and prefix.

    >>> quantity(1.31e-05, "s"), quantity(20_500_000, "B"), quantity(7, "")
    ('13.1 us', '20.5 MB', '7')
    """
    chosen = scale(value, unit)
    return f"{number(value * chosen.factor)} {_short(chosen.unit)}".strip()


@lru_cache(maxsize=1024)
def _short(unit: str) -> str:
    return shorten(unit, UNIT)


def percent(effect: float) -> str:
    """A relative change with its sign; two significant digits below 1 %, one decimal up to 100 %.

    >>> percent(0.0241), percent(-0.00052), percent(12.5), percent(0.0)
    ('+2.4 %', '-0.052 %', '+1,250 %', '0 %')
    """
    if not math.isfinite(effect):
        return f"{effect} %"
    value = 100 * effect
    if abs(value) < 0.005:
        return "0 %"
    if abs(value) >= 100:
        return f"{value:+,.0f} %"
    return f"{value:+.1f} %" if abs(value) >= 1 else f"{value:+.2g} %"


def change(effect: float, low: float | None, high: float | None) -> str:
    """A relative change with its interval, where there is one.

    >>> change(0.073, 0.051, 0.096), change(0.073, None, None)
    ('+7.3 % [+5.1, +9.6]', '+7.3 %')
    """
    bounds = "" if low is None or high is None else f" [{percent(low)[:-2]}, {percent(high)[:-2]}]"
    return percent(effect) + bounds


def difference(shift: float, low: float | None, high: float | None, unit: str) -> str:
    """A change in a metric's unit with its interval, all under one prefix.

    >>> difference(0.0012, 0.001, 0.0014, "s"), difference(-5.0, None, None, "B")
    ('+1.2 ms [+1, +1.4]', '-5 B')
    """
    known = [value for value in (shift, low, high) if value is not None]
    chosen = scale(max(map(abs, known)), unit)
    texts = [f"{'+' * (value > 0)}{number(value * chosen.factor)}" for value in known]
    bounds = f" [{texts[1]}, {texts[2]}]" if len(texts) == 3 else ""
    return f"{texts[0]} {_short(chosen.unit)}".rstrip() + bounds


def interval(low: float | None, high: float | None) -> str:
    """The interval of a relative change, such as ``[-0.3 %, +1.2 %]``; empty when a side is missing."""
    return "" if low is None or high is None else f"[{percent(low)}, {percent(high)}]"


def metric_name(metric: str) -> str:
    """What a metric is called in headings; an unknown one keeps its name."""
    return METRICS.get(metric, metric)


def metric_rank(metric: str) -> tuple[int, str]:
    """A sort key that puts wall time, CPU time and peak memory first."""
    return (FIRST.index(metric), "") if metric in FIRST else (len(FIRST), metric)


def shorten(name: str, width: int = 48) -> str:
    """A name on one line of at most ``width`` characters, its middle left out; control characters become visible.

    Right-to-left text is isolated from its neighbours.

    >>> shorten("sort --reverse"), shorten("a" * 20, 9), shorten("two" + chr(10) + "lines")
    ('sort --reverse', 'aaaaa…aaa', 'two␊lines')
    """
    if len(name) > width:
        tail = (width - 1) * 2 // 5
        name = f"{name[: width - 1 - tail]}…{name[len(name) - tail :]}"
    if name.isascii() and name.isprintable():
        return name
    shown = visible(name)
    foreign = any(unicodedata.bidirectional(character) in ("R", "AL") for character in shown)
    return f"{ISOLATED[0]}{shown}{ISOLATED[1]}" if foreign else shown


def visible(text: str) -> str:
    """A text with a visible character for each that a terminal obeys or that nobody sees: controls, directions, tags, selectors.

    >>> visible("a" + chr(0x202E) + "b" + chr(27)), visible("naïve 標準 👩" + chr(0x200D) + "💻")
    ('a\ufffdb␛', 'naïve 標準 👩💻')
    """
    if text.isascii() and text.isprintable():
        return text
    text = JOINING.sub("", text)
    return text.translate({ord(character): _symbol(character) for character in set(text) if hidden(character)})


def hidden(character: str) -> bool:
    """Whether a character is a control, formats, is not assigned, or is drawn as nothing; a space is none of these."""
    return not (character.isprintable() or unicodedata.category(character) == "Zs") or UNSEEN.match(character) is not None


def _symbol(character: str) -> str:
    return chr(0x2400 + ord(character)) if ord(character) < 32 else "\ufffd"


def printable(text: str) -> str:
    """A text of several lines, made visible; what ``shorten`` has put around names that are written from right to left stays."""
    if not any(hidden(character) for character in set(text) - {"\n"}):
        return text
    return "\n".join(_line(line) for line in text.split("\n"))


def written(value: object) -> object:
    """What a template writes for a value: of a plain text what is ``printable``, so that no name turns the rest of a page around."""
    return printable(value) if type(value) is str else value


def _line(line: str) -> str:
    parts = re.split(f"{ISOLATED[0]}([^{ISOLATED[0]}{ISOLATED[1]}]*){ISOLATED[1]}", line)
    return "".join(
        f"{ISOLATED[0]}{visible(part)}{ISOLATED[1]}" if place % 2 else visible(part) for place, part in enumerate(parts)
    )


def escaped(document: str) -> str:
    """A JSON text with escapes for the characters that JSON lets pass and nobody sees; it means the same, and is safe on a terminal.

    >>> escaped('["\x9b31m"]')
    '["\\\\u009b31m"]'
    """
    if document.isascii() and "\x7f" not in document:
        return document
    unseen = (character for character in set(document) if character > "\x7e" and hidden(character))
    return document.translate({ord(character): _escape(character) for character in unseen})


def _escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[place]:02x}{units[place + 1]:02x}" for place in range(0, len(units), 2))


def disarmed(text: str) -> str:
    """Text that no spreadsheet computes: an apostrophe stands before what it would take for a formula, however many were there already.

    >>> disarmed("=1+1"), disarmed("'=1+1"), disarmed("sort=1"), disarmed("'s")
    ("'=1+1", "''=1+1", 'sort=1', "'s")
    """
    return f"'{text}" if FORMULA.match(text) else text


def armed(text: str) -> str:
    """The text that ``disarmed`` made this of, or would have made it of.

    >>> armed("'=1+1"), armed("''=1+1"), armed("=1+1"), armed("'s")
    ('=1+1', "'=1+1", '=1+1', "'s")
    """
    return text[1:] if text.startswith("'") and FORMULA.match(text) else text


def counted(words: Iterable[tuple[str, int]]) -> str:
    """Words of verdicts with their numbers.

    >>> counted([("degradation", 2), ("same", 3)])
    '2 degradations, 3 same'
    """
    return ", ".join(f"{count} {word}{'s' * (count > 1 and word in COUNTED)}" for word, count in words)


def ambiguous(pairs: Iterable[tuple[Name, str]]) -> set[Name]:
    """The names that stand beside several words, such as a benchmark with several collectors: these have to be said, too.

    >>> ambiguous([("sort", "time"), ("sort", "memory"), ("parse", "time")])
    {'sort'}
    """
    first: dict[Name, str] = {}
    return {name for name, word in pairs if first.setdefault(name, word) != word}


def named(benchmarks: Sequence[tuple[str, str]]) -> list[str]:
    """Names of benchmarks, given as label and collector: with the collector in brackets where a label has several of these.

    >>> named([("sort", "time"), ("sort", "memory"), ("parse", "time")])
    ['sort (time)', 'sort (memory)', 'parse']
    """
    several = ambiguous(benchmarks)
    return [f"{label} ({collector})" if label in several else label for label, collector in benchmarks]
