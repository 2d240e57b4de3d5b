"""Names and texts as they may be shown: of bounded length, and without what a terminal, a page or a
spreadsheet would obey.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


# Letters and marks that Unicode calls printable and no font draws: joiners of graphemes, fillers,
# variation selectors.
UNSEEN = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0"
    + "".join(map(chr, (*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))
)
# What joins the parts of an emoji, or of a word in Persian or Hindi: behind such a character it is
# left out, anywhere else it is shown.
JOINERS = frozenset("\ufe0e\ufe0f\u200c\u200d")
JOINING = (
    "(?<=[^\x00-\x7f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe00-\ufe0f])"
    "(?:[\ufe0e\ufe0f]\u200d?|[\u200c\u200d])"
)
# the beginning of what a spreadsheet computes, behind any apostrophes
FORMULA = r"'*[=+\-@\t\r\n]"
# first strong isolate, pop: a right-to-left name does not reorder its neighbours
ISOLATED = ("\u2068", "\u2069")
ISOLATED_PART = "\u2068([^\u2068\u2069]*)\u2069"
QUOTED = re.compile(r"`([^`\n]{1,200})`")  # a command in a sentence
HEIGHTS = "▁▂▃▄▅▆▇█"
ASCII_INK = "_.-=+*#@"  # rising ink, for terminals without the blocks
MISSING_VALUE = " "
NEIGHBOURS = 5  # values that the median is taken of, so that two far from the others do not count
COLUMNS = 80  # of a terminal, where nothing says otherwise; all reports are written for it
BRAILLE = 0x2800
ASCII_SIGNS = str.maketrans("┤│└┬─┼━├┃░▲▼◆○●✕–✓□■×…·←→±²⁻↗↘", "+|+--+=+|:^v*o@x-v#*x~.<>~2-/\\")


def shorten(name: str, width: int = 48) -> str:
    """A name on one line of at most ``width`` characters, its middle left out; control characters
    become visible.

    Right-to-left text is isolated from its neighbours. What was shortened before loses more of its
    middle.

    >>> shorten("sort --reverse"), shorten("a" * 20, 9), shorten("two" + chr(10) + "lines")
    ('sort --reverse', 'aaaaa…aaa', 'two␊lines')
    >>> shorten("tests: tests/test_words.py::Lists::test_sorting[long]", 40)
    'tests: tests…::Lists::test_sorting[long]'
    >>> shorten(shorten("b" * 300, 200), 9)
    'bbbbb…bbb'
    """
    if name.isascii() and name.isprintable():
        return name if len(name) <= width else _without_middle(name, width)
    if ISOLATED[0] in name:
        name = re.sub(ISOLATED_PART, r"\1", name)
    return _isolated(name if len(name) <= width else _without_middle(name, width))


def _without_middle(name: str, width: int) -> str:
    """The beginning and the end of a name, with one ellipsis between them; of a test its name,
    which says more than its file, with another one in it where it is too long as well.
    """
    last, head = (width - 1) * 2 // 5, width // 5
    room = width - 1 - head
    part = name.find("::", len(name) - room)
    if part >= 0:
        last = max(last, len(name) - part)
    elif (part := name.rfind("::")) > head:
        return f"{name[:head].partition('…')[0]}…{_without_middle(name[part:], room)}"
    start, end = name[: width - 1 - last], name[len(name) - last :]
    return f"{start.partition('…')[0]}…{end.rpartition('…')[2]}"


@lru_cache(maxsize=1024)
def _isolated(name: str) -> str:
    """A name made visible, and isolated where any of it is written from right to left."""
    shown = visible(name)
    foreign = any(unicodedata.bidirectional(character) in ("R", "AL") for character in shown)
    return f"{ISOLATED[0]}{shown}{ISOLATED[1]}" if foreign else shown


def visible(text: str) -> str:
    """A text with a visible character for each that a terminal obeys or that nobody sees: controls,
    directions, tags, selectors.

    >>> visible("a" + chr(0x202E) + "b" + chr(27)), visible("naïve 標準 👩" + chr(0x200D) + "💻")
    ('a\ufffdb␛', 'naïve 標準 👩💻')
    """
    if text.isascii() and text.isprintable():
        return text
    if not JOINERS.isdisjoint(text):
        text = re.sub(JOINING, "", text)
    return text.translate(
        {ord(character): _symbol(character) for character in set(text) if hidden(character)}
    )


def hidden(character: str) -> bool:
    """Whether a character is a control, formats, is not assigned, or is drawn as nothing; a space
    is none of these.
    """
    return (
        not (character.isprintable() or unicodedata.category(character) == "Zs")
        or character in UNSEEN
    )


def _symbol(character: str) -> str:
    return chr(0x2400 + ord(character)) if ord(character) < 32 else "\ufffd"


def printable(text: str) -> str:
    """A text of several lines, made visible; what ``shorten`` has put around names that are written
    from right to left stays.
    """
    if text.isascii() and text.isprintable():
        return text
    if not any(hidden(character) for character in set(text) - {"\n"}):
        return text
    return "\n".join(_line(line) for line in text.split("\n"))


def written(value: object) -> object:
    """What a template writes for a value: of a plain text what is ``printable``, so that no name
    turns the rest of a page around.
    """
    return printable(value) if type(value) is str else value


def coded(text: str) -> str:
    """A sentence of our own as HTML: what stands between backticks, such as a command, as code.

    >>> str(coded("see `perf log` & <b>"))
    'see <code>perf log</code> &amp; &lt;b&gt;'
    """
    from markupsafe import Markup, escape

    return Markup(QUOTED.sub(r"<code>\1</code>", str(escape(printable(text)))))


def _line(line: str) -> str:
    parts = re.split(ISOLATED_PART, line)
    return "".join(
        f"{ISOLATED[0]}{visible(part)}{ISOLATED[1]}" if place % 2 else visible(part)
        for place, part in enumerate(parts)
    )


def escaped(document: str) -> str:
    """A JSON text with escapes for the characters that JSON lets pass and nobody sees; it means the
    same, and is safe on a terminal.

    >>> escaped('["\x9b31m"]')
    '["\\\\u009b31m"]'
    """
    if document.isascii() and "\x7f" not in document:
        return document
    unseen = (character for character in set(document) if character > "\x7e" and hidden(character))
    return document.translate({ord(character): _escape(character) for character in unseen})


def _escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(
        f"\\u{units[place]:02x}{units[place + 1]:02x}" for place in range(0, len(units), 2)
    )


def disarmed(text: str) -> str:
    """Text that no spreadsheet computes: an apostrophe stands before what it would take for a
    formula, however many were there already.

    >>> disarmed("=1+1"), disarmed("'=1+1"), disarmed("sort=1"), disarmed("'s")
    ("'=1+1", "''=1+1", 'sort=1', "'s")
    """
    return f"'{text}" if re.match(FORMULA, text) else text


def armed(text: str) -> str:
    """The text that ``disarmed`` made this of, or would have made it of.

    >>> armed("'=1+1"), armed("''=1+1"), armed("=1+1"), armed("'s")
    ('=1+1', "'=1+1", '=1+1', "'s")
    """
    return text[1:] if text.startswith("'") and re.match(FORMULA, text) else text


def usual_range(values: Sequence[float], least: float = 0.0) -> tuple[float, float]:
    """The ends of a scale for finite values in their order (at least one), where a value or two far
    from those around them must not flatten all others: it goes beyond the medians of five
    neighbours, and beyond the ends of the series, by what lies between these, or ``least``.

    >>> usual_range([1, 2, 1, 900, 2, 1, 2])
    (1, 3)
    """
    low, high = min(values), max(values)
    if len(values) < NEIGHBOURS:
        return low, high
    cut = [values[:3], values[:4], values[-4:], values[-3:]]  # by the ends of the series
    whole = zip(*(values[turn:] for turn in range(NEIGHBOURS)), strict=False)
    medians = [sorted(near)[len(near) // 2] for near in (*cut, *whole)]
    usual = [*medians, values[0], values[-1]]
    lowest, highest = min(usual), max(usual)
    span = max(highest - lowest, least)
    return max(low, lowest - span), min(high, highest + span)


def sparkline(
    values: Sequence[float | None],
    *,
    width: int | None = None,
    plain: bool = False,
    least: float = 0.02,
) -> str:
    """One character per value, lowest to highest; None and what is not finite is a gap, and what
    lies far from all others stands at the edge.

    ``width``: only the newest so many are shown. ``plain``: ASCII. The scale spans at least the
    share ``least`` of the middle value, so that noise of a percent does not look like a mountain.

    >>> sparkline([1, 2, None, 3]), sparkline([5, 5, 5], plain=True), sparkline([])
    ('▁▄ █', '===', '')
    """
    shown = list(values if width is None else values[max(0, len(values) - width) :])
    finite = [value for value in shown if value is not None and math.isfinite(value)]
    if not finite:
        return MISSING_VALUE * len(shown)
    if not math.isfinite(max(finite) - min(finite)):  # further apart than a float can say
        shown = [None if value is None else value / 4 for value in shown]
        return sparkline(shown, plain=plain, least=least)
    low, high = usual_range(finite, least * abs(finite[-1]))
    middle = low / 2 + high / 2
    span = max(high - low, least * abs(middle))
    steps = ASCII_INK if plain else HEIGHTS
    return "".join(
        MISSING_VALUE
        if value is None or not math.isfinite(value)
        else steps[_step(value, middle, span)]
        for value in shown
    )


def _step(value: float, middle: float, span: float) -> int:
    """The step 0..7 of a value on a scale of ``span`` about ``middle``."""
    share = 0.5 if span == 0 else (value - middle) / span + 0.5
    return min(len(HEIGHTS) - 1, max(0, math.floor(share * len(HEIGHTS) * (1 - 1e-9))))


def fits(encoding: str | None) -> bool:
    """Whether a terminal of this encoding can show the blocks."""
    try:
        HEIGHTS.encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def source_lines(text: str, *, ends: bool = False) -> list[str]:
    """The lines of a text; ``ends`` keeps their newlines.

    Only a newline ends a line, unlike for ``str.splitlines``: GNU sources have form feeds between
    functions.

    >>> source_lines("a\\fb\\r\\nc"), source_lines("a\\nb", ends=True), source_lines("")
    (['a\\x0cb\\r', 'c'], ['a\\n', 'b'], [])
    """
    parts = text.split("\n")
    last = parts.pop()
    if ends:
        parts = [f"{part}\n" for part in parts]
    return [*parts, last] if last else parts


def columns(text: str) -> int:
    """How many columns of a terminal a text takes at most: East Asian wide characters and most
    emoji take two.
    """
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


def fitted(name: str, width: int) -> str:
    """A name that takes at most ``width`` columns, its middle left out where it is longer."""
    for room in range(width, 0, -1):
        if columns(text := shorten(name, room)) <= width:
            return text
    return ""


def padded(name: str, width: int) -> str:
    """``fitted`` to exactly ``width`` columns."""
    text = fitted(name, width)
    return text + " " * (width - columns(text))


def aligned(rows: Sequence[Sequence[str]], right: int) -> list[str]:
    """Rows of cells as lines, each column as wide as its widest cell; that of number ``right`` is
    aligned to the right.

    >>> aligned([("sort", "9 s"), ("parse", "12 ms")], right=1)
    ['sort     9 s', 'parse  12 ms']
    """
    widths = [max(map(columns, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [padded(cell, width) for cell, width in zip(row, widths, strict=True)]
        cells[right] = " " * (widths[right] - columns(row[right])) + row[right]
        lines.append("  ".join(cells).rstrip())
    return lines


def cut(line: str, width: int) -> str:
    """What fits of a line; nothing says that something is missing, so that names are ``fitted``
    before.
    """
    while columns(line) > width:
        line = line[: width - columns(line)]
    return line


def wrapped(texts: Iterable[str], width: int) -> list[str]:
    """Sentences on as many lines as they take, each beginning on its own."""
    from perfvcs.text.wrapping import wrap

    return [fitted(line, width) for text in texts for line in wrap(text, width)]


def beside(entries: Sequence[str], width: int) -> list[str]:
    """Entries of a legend, as many on a line as fit, three spaces between them."""
    lines: list[str] = []
    for entry in (fitted(entry, width) for entry in entries):
        if lines and columns(lines[-1]) + 3 + columns(entry) <= width:
            lines[-1] += f"   {entry}"
        else:
            lines.append(entry)
    return lines


def ascii_only(text: str) -> str:
    """The same drawing for a terminal that has no other characters: dots for braille, the nearest
    sign for others, ? for the rest.
    """
    dots = dict.fromkeys(range(BRAILLE + 1, BRAILLE + 256), ".") | {BRAILLE: " "}
    return text.translate(ASCII_SIGNS).translate(dots).encode("ascii", "replace").decode()
