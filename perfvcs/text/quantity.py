"""Numbers with units as people read them: 13.1 ms, +2.4 %, [-0.3 %, +1.2 %]."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache

import msgspec

from perfvcs.text.characters import shorten

SCALED = ("s", "B", "bit", "Hz", "J", "W", "V", "A")  # others may have a prefix already
# of what is small with a prefix already, seconds
PREFIXED = {"ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
RATE_EVENTS = ("op", "ops", "items")  # the same, of so many in some time
COUNTS = ("", "1", "count")
PREFIXES = {-4: "p", -3: "n", -2: "u", -1: "m", 0: "", 1: "k", 2: "M", 3: "G", 4: "T", 5: "P"}
# s; tenths of a nanosecond are easier to read than hundreds of picoseconds
NANO, TENTH = 1e-9, 9.99e-11
SMALLEST_MANTISSA = 1e-3  # of a unit with a prefix: below, a smaller prefix is the better one
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
UNIT_WIDTH = 24  # characters of a unit
SMALLEST_SHOWN = 100  # of the last decimal: a level with fewer has lost its digits beside a larger
MOST_DECIMALS = 2  # of a change in percent, to tell an end of an interval from 0
HUGE = 1e7  # percent from which on only their power of ten is of interest
WIDEST = 1e3  # ratio of an interval's ends from which on it bounds nothing
NO_BOUND = "(no bound)"


_MICRO = ContextVar("_MICRO", default="u")


@contextmanager
def micro_sign() -> Iterator[None]:
    """Write µs, as pages do; a terminal may have no such character, and gets us."""
    token = _MICRO.set("µ")
    try:
        yield
    finally:
        _MICRO.reset(token)


class Scale(msgspec.Struct, frozen=True):
    """``value * factor`` is a number of ``unit``.

    >>> scale(0.0131, "s")
    Scale(factor=1000.0, unit='ms')
    """

    factor: float
    unit: str


def scale(magnitude: float, unit: str) -> Scale:
    """The SI prefix that brings ``magnitude`` (in ``unit``) between 1 and 1,000; zero and what is
    not finite keep the unit.

    Seconds stay seconds above 1, and nanoseconds down to .1 ns; bytes stay bytes below. A unit that
    may carry a prefix already gets a power of ten instead; but a small part of a millisecond or
    microsecond is a number of a smaller one.
    """
    magnitude = abs(magnitude)
    if not math.isfinite(magnitude) or magnitude == 0:
        return Scale(1.0, f"{_MICRO.get()}s" if unit == "us" else unit)
    if magnitude < SMALLEST_MANTISSA and (seconds := PREFIXED.get(unit)):
        smaller = scale(magnitude * seconds, "s")
        return Scale(smaller.factor * seconds, smaller.unit)
    step = max(-100, math.floor((math.log10(magnitude) + 4e-10) / 3))
    return _scaled(
        -3 if TENTH <= magnitude < NANO and unit.partition("/")[0] == "s" else step,
        unit,
        _MICRO.get(),
    )


@lru_cache(maxsize=1024)
def _scaled(step: int, unit: str, micro: str) -> Scale:
    """The scale of magnitudes from 1,000 to the power of ``step`` on; kept, since a site has ten
    thousand quantities.
    """
    unit = f"{micro}s" if unit == "us" else unit
    upper, per, _ = unit.partition("/")
    # a part of a byte or of a count takes no prefix
    fraction = unit in COUNTS or unit.startswith(("B", "bit"))
    if upper == "s":
        step = min(step, 0)
    elif fraction and step >= -1:
        step = max(step, 0)
    scaled = unit in COUNTS or upper in SCALED or (per and upper in RATE_EVENTS)
    if (fraction and step < 0) or not scaled:
        step = step if step >= 3 or step < -1 else 0
        power = f"×10{str(3 * step).translate(SUPERSCRIPT)}" if step else ""
        return Scale(10.0 ** (-3 * step), f"{power} {'' if unit in COUNTS else unit}".strip())
    step = max(min(PREFIXES), min(max(PREFIXES), step))
    prefix = micro if PREFIXES[step] == "u" else PREFIXES[step]
    return Scale(10.0 ** (-3 * step), prefix + ("" if unit in ("1", "count") else unit))


def number(value: float) -> str:
    """Four significant digits, thousands grouped, never an exponent for what fits in a line.

    >>> number(1234567.0), number(13.1239), number(0.5), number(200.0)
    ('1,234,567', '13.12', '0.5', '200')
    """
    if not math.isfinite(value):
        return str(value)
    if abs(value) >= 1000:
        return f"{value:,.0f}" if abs(value) < 1e15 else f"{value:.3e}"
    if abs(value) < 1e-6:
        return f"{value:.4g}"
    text = f"{value:.{max(0, 3 - math.floor(math.log10(abs(value))))}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def numbers(values: Sequence[float]) -> list[str]:
    """Numbers that stand together, each as ``number`` writes it, but all with as many significant
    digits as one with decimals needs.

    >>> numbers([20.0, 20.01]), numbers([1.5, 12.0, 200.0]), numbers([7, 1234])
    (['20.00', '20.01'], ['1.5', '12', '200'], ['7', '1,234'])
    """
    texts = [number(value) for value in values]
    needed = [text.strip("-").replace(".", "").strip("0") for text in texts if _has_decimals(text)]
    if not needed:
        return texts
    digits = max(map(len, needed))
    return [_with_digits(text, digits) for text in texts]


def _has_decimals(text: str) -> bool:
    return "." in text and "e" not in text


def _with_digits(text: str, digits: int) -> str:
    """A number below 1,000 with the zeros that it lacks."""
    if not text.strip("-").replace(".", "").strip("0").isdecimal():
        return text
    value = float(text)
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:.{decimals}f}"


def quantities(values: Sequence[float], units: str | Sequence[str]) -> list[str]:
    """Values that stand together, of one unit or of one each, with their prefixes and ``numbers``.

    >>> quantities([0.02, 0.02001], "s"), quantities([0.0009, 1.234], "s")
    (['20.00 ms', '20.01 ms'], ['900.0 us', '1.234 s'])
    """
    each = [units] * len(values) if isinstance(units, str) else units
    scales = [scale(value, unit) for value, unit in zip(values, each, strict=True)]
    texts = numbers([value * chosen.factor for value, chosen in zip(values, scales, strict=True)])
    return [
        f"{text} {_short(chosen.unit)}".strip() for text, chosen in zip(texts, scales, strict=True)
    ]


def span(low: float, high: float, unit: str) -> str:
    """From one value to another.

    >>> span(0.02, 0.02001, "s")
    '20.00 ms to 20.01 ms'
    """
    return " to ".join(quantities([low, high], unit))


def bounded(value: float, low: float, high: float, unit: str) -> str:
    """A value with its interval, all under its prefix.

    >>> bounded(0.02, 0.01998, 0.02001, "s")
    '20.00 ms [19.98, 20.01]'
    """
    chosen = scale(value, unit)
    centre, least, most = numbers([part * chosen.factor for part in (value, low, high)])
    return f"{centre} {_short(chosen.unit)}".rstrip() + f" [{least}, {most}]"


def quantity(value: float, unit: str) -> str:
    """A value with its unit and prefix.

    >>> quantity(1.31e-05, "s"), quantity(20_500_000, "B"), quantity(7, "")
    ('13.1 us', '20.5 MB', '7')
    """
    chosen = scale(value, unit)
    return f"{number(value * chosen.factor)} {_short(chosen.unit)}".strip()


def step(before: float | None, after: float | None, unit: str) -> str:
    """Two levels under one prefix, with four digits of the larger and as many decimals on both
    sides; empty where one is unknown.

    >>> step(0.03895, 0.037, "s"), step(10e3, 12e3, ""), step(1.226e-7, 1.926e-5, "s")
    ('38.95 -> 37.00 ms', '10 k -> 12 k', '0.123 -> 19.26 us')
    """
    if before is None or after is None:
        return ""
    chosen = scale(max(abs(before), abs(after)), unit)
    old, new = before * chosen.factor, after * chosen.factor
    top = max(abs(old), abs(new))
    if not math.isfinite(top):
        return f"{old} -> {new} {_short(chosen.unit)}".rstrip()
    # "10 -> 12 k" reads as if the first were ten
    both = f" {chosen.unit}" if chosen.unit and unit in COUNTS else ""
    return (
        f"{_side(old, top, old, new)}{both} -> {_side(new, top, old, new)}"
        f" {_short(chosen.unit)}".rstrip()
    )


def _side(value: float, top: float, *both: float) -> str:
    """One level of a step, whose larger one is ``top``; one that is far smaller keeps three digits,
    so that the ratio can be seen.
    """
    if top >= 1e9 or 0 < top < 1e-3:
        return f"{value:.4g}"
    if not top or all(level == int(level) for level in both):
        return f"{value:,.0f}"
    digits = max(0, 3 - math.floor(math.log10(top)))
    if abs(value) >= SMALLEST_MANTISSA and abs(value) * 10**digits < SMALLEST_SHOWN:
        return f"{value:.3g}"
    return f"{value:,.{digits}f}"


def at_sizes(sizes: tuple[float, float]) -> str:
    """At which sizes something is, from the smallest to the largest.

    >>> at_sizes((4510, 5000)), at_sizes((10, 10))
    ('at sizes 4,510 to 5,000', 'at size 10')
    """
    low, high = map(number, sizes)
    return f"at size {low}" if low == high else f"at sizes {low} to {high}"


@lru_cache(maxsize=1024)
def _short(unit: str) -> str:
    return shorten(unit, UNIT_WIDTH)


def percent(effect: float) -> str:
    """A relative change with its sign; two significant digits below 1 %, one decimal up to 100 %, a
    power of ten from 10,000,000 % on.

    >>> percent(0.0241), percent(-0.00052), percent(12.5), percent(0.0), percent(5.47e13)
    ('+2.4 %', '-0.052 %', '+1,250 %', '0 %', '+5e15 %')
    """
    if not math.isfinite(effect):
        return f"{effect} %"
    if abs(effect) >= HUGE / 100:
        digit, _, power = f"{effect:+.0e}".partition("e")
        return f"{digit}e{int(power) + 2} %"
    value = 100 * effect
    if abs(value) < 0.005:
        return "0 %"
    if abs(value) >= 100:
        return f"{value:+,.0f} %"
    return f"{value:+.1f} %" if abs(value) >= 1 else f"{value:+.2g} %"


def share(part: float) -> str:
    """A share or a spread as a percentage of two significant digits, without a sign.

    >>> share(0.0241), share(3.3), share(0.00052)
    ('2.4 %', '330 %', '0.052 %')
    """
    return f"{number(float(f'{100 * part:.2g}'))} %"


def change(effect: float, low: float | None, high: float | None) -> str:
    """A relative change with its interval, where there is one, all with as many decimals.

    >>> change(0.073, 0.051, 0.096), change(0.073, None, None), change(-0.025, -0.049, -0.00046)
    ('+7.3 % [+5.1, +9.6]', '+7.3 %', '-2.50 % [-4.90, -0.05]')
    >>> change(1.3, -0.9999999, 2e14)
    '+130 % (no bound)'
    """
    if low is None or high is None:
        return percent(effect)
    if is_boundless(low, high):
        return f"{percent(effect)} {NO_BOUND}"
    texts = _alike([effect, low, high])
    return f"{texts[0]} % [{texts[1]}, {texts[2]}]"


def is_boundless(low: float, high: float) -> bool:
    """Whether the interval of a relative change says nothing that a reader can use: it may be less
    or more than double, and its ends are a factor of 1,000 apart.

    >>> is_boundless(-0.9999999, 2e14), is_boundless(-1.0, 0.2), is_boundless(2.0, 5e4)
    (True, False, False)
    """
    return low < 0 and high > 1 and 1 + high > WIDEST * (1 + low)


def _alike(effects: Sequence[float]) -> list[str]:
    """Relative changes in percent, with as many decimals as the largest of them has, or with one or
    two more where an end would look like 0; each as ``percent`` writes it where that is more.
    """
    values = [100 * effect for effect in effects]
    largest = max(map(abs, values))
    if not math.isfinite(largest) or largest >= HUGE or largest < 0.005:
        return [percent(effect)[:-2] for effect in effects]
    _, _, decimals = percent(largest / 100)[:-2].partition(".")
    digits = len(decimals)
    while digits < MOST_DECIMALS and any(
        abs(value) >= 0.005 and not round(value, digits) for value in values
    ):
        digits += 1
    return [f"{value:+,.{digits}f}" if round(value, digits) else "0" for value in values]


def difference(shift: float, low: float | None, high: float | None, unit: str) -> str:
    """A change in a metric's unit with its interval, all under one prefix.

    >>> difference(0.0012, 0.001, 0.0014, "s"), difference(-5.0, None, None, "B")
    ('+1.2 ms [+1.0, +1.4]', '-5 B')
    """
    given = [value for value in (shift, low, high) if value is not None]
    chosen = scale(max(map(abs, given)), unit)
    texts = numbers([value * chosen.factor for value in given])
    texts = [f"{'+' * (value > 0)}{text}" for value, text in zip(given, texts, strict=True)]
    bounds = f" [{texts[1]}, {texts[2]}]" if len(texts) == 3 else ""
    return f"{texts[0]} {_short(chosen.unit)}".rstrip() + bounds


def interval(low: float | None, high: float | None) -> str:
    """The interval of a relative change, such as ``[-0.3 %, +1.2 %]``; empty when a side is
    missing.
    """
    if low is None or high is None:
        return ""
    if is_boundless(low, high):
        return NO_BOUND
    least, most = _alike([low, high])
    return f"[{least} %, {most} %]"


def duration(seconds: float) -> str:
    """A time in seconds, to the second below ten minutes and to the minute above.

    >>> duration(0.4), duration(12.3), duration(200), duration(300), duration(4800), duration(7200)
    ('under 1 s', '12 s', '3 min 20 s', '5 min', '1 h 20 min', '2 h')
    """
    if seconds < 1:
        return "under 1 s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 600:
        minutes, rest = divmod(round(seconds), 60)
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(round(seconds / 60), 60)
    if not hours:
        return f"{minutes} min"
    return f"{hours:,} h {minutes} min" if minutes else f"{hours:,} h"
