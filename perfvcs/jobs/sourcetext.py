"""The texts of sources and makefiles without the comments that their languages have."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from perfvcs.jobs.ownfiles import OF_PROGRAM, OF_SUFFIX, SHEBANG

if TYPE_CHECKING:
    from collections.abc import Mapping

MAKEFILE = r"(?:.*/)?(?:(?:GNU)?[Mm]akefile[^/]*|[^/]+\.ma?k)"
# a text in quotes, to its end or that of its line: what looks like a comment there is none
QUOTED = (
    r'"""[\s\S]*?(?:"""|\Z)'
    r"|'''[\s\S]*?(?:'''|\Z)"
    r'|"(?:\\[\s\S]|[^"\\\n])*"?'
    r"|'(?:\\[\s\S]|[^'\\\n])*'?"
)
NUMBER_SIGN = rf"(?m)(?P<text>{QUOTED})|(?:^|(?<=\s))#[^\n]*"
SLASHES = rf"(?m)(?P<text>{QUOTED})|(?:^|(?<=[\s;{{}}]))//[^\n]*|/\*[\s\S]*?(?:\*/|(?P<open>\Z))"
DASHES = rf"(?P<text>{QUOTED})|--[^\n]*"
BEGINNING = 100  # characters of a text in which its interpreter is looked for


COMMENTS: Mapping[str, str] = {
    **dict.fromkeys(("python", "perl", "ruby", "shell", "make"), NUMBER_SIGN),
    **dict.fromkeys(("native", "rust", "go", "node", "java"), SLASHES),
    "lua": DASHES,
}


def without_comments(path: str, text: str) -> str:
    """The text of a file without the comments that its language has; all of it where that is not
    known: what looks like a comment in data is data.

    >>> without_comments("cases.csv", "# 1\\n"), without_comments("cases.py", "x = 1  # 1\\n")
    ('# 1\\n', 'x = 1   \\n')
    """
    comments = COMMENTS.get(_language(path, text))
    return text if comments is None else re.sub(comments, _kept, text)


def _kept(comment: re.Match[str]) -> str:
    """What stays of a comment, or of a text in quotes: all of the latter, and of one without an
    end.
    """
    has_no_end = comment.groupdict().get("open") is not None
    return comment[0] if has_no_end or comment["text"] is not None else " "


def _language(path: str, text: str) -> str:
    """The language of a file, by its name or by the program in its first line."""
    if re.fullmatch(MAKEFILE, path):
        return "make"
    if suffix := PurePosixPath(path).suffix:
        return OF_SUFFIX.get(suffix.lower(), "")
    interpreter = SHEBANG.match(text[:BEGINNING])
    return OF_PROGRAM.get(interpreter[1], interpreter[1]) if interpreter else ""
