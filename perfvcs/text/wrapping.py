"""Sentences as lines of a terminal."""

from __future__ import annotations

import re

# a number and its unit, which stay on one line
UNIT = re.compile(r"(?<=\d) (?=(?:%|[kMGT]?B|[kMG]|[numk]?s|min|h)(?!\w))")
JOINT = "\0"  # stands in a text for the space of such a pair; no text that is shown has one


def wrap(
    text: str,
    width: int,
    *,
    initial_indent: str = "",
    subsequent_indent: str = "",
    break_long_words: bool = True,
) -> list[str]:
    """A text as lines of at most ``width`` characters, which part neither a number from its unit
    nor a name at a hyphen.

    >>> wrap("pytest-benchmark: +8.5 %", 22)
    ['pytest-benchmark:', '+8.5 %']
    """
    import textwrap

    lines = textwrap.wrap(
        UNIT.sub(JOINT, text),
        width,
        initial_indent=initial_indent,
        subsequent_indent=subsequent_indent,
        break_long_words=break_long_words,
        break_on_hyphens=False,
    )
    return [line.replace(JOINT, " ") for line in lines]
