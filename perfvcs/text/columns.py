"""Text that keeps to the columns of a terminal: names, padded cells, legends and sentences; and drawings in ASCII."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

from perfvcs.text.characters import shorten

COLUMNS = 80  # of a terminal, where nothing says otherwise; all reports are written for it
BRAILLE = 0x2800
ASCII_SIGNS = str.maketrans("┤│└┬─┼━├┃░▲▼◆○●✕–✓□■×…·←→±²⁻", "+|+--+=+|:^v*o@x-v#*x~.<>~2-")


def columns(text: str) -> int:
    """How many columns of a terminal a text takes at most: East Asian wide characters and most emoji take two."""
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


def cut(line: str, width: int) -> str:
    """What fits of a line; nothing says that something is missing, so that names are ``fitted`` before."""
    while columns(line) > width:
        line = line[: width - columns(line)]
    return line


def wrapped(texts: Iterable[str], width: int) -> list[str]:
    """Sentences on as many lines as they take, each beginning on its own."""
    from textwrap import wrap

    return [fitted(line, width) for text in texts for line in wrap(text, width)]


def beside(entries: Sequence[str], width: int) -> list[str]:
    """Entries of a legend, as many on a line as fit, three spaces between them."""
    found: list[str] = []
    for entry in (fitted(entry, width) for entry in entries):
        if found and columns(found[-1]) + 3 + columns(entry) <= width:
            found[-1] += f"   {entry}"
        else:
            found.append(entry)
    return found


def ascii_only(text: str) -> str:
    """The same drawing for a terminal that has no other characters: dots for braille, the nearest sign for others, ? for the rest."""
    dots = dict.fromkeys(range(BRAILLE + 1, BRAILLE + 256), ".") | {BRAILLE: " "}
    return text.translate(ASCII_SIGNS).translate(dots).encode("ascii", "replace").decode()
