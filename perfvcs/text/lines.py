"""Lines of sources as git and compilers number them."""

from __future__ import annotations


def source_lines(text: str, *, ends: bool = False) -> list[str]:
    """The lines of a text; ``ends`` keeps their newlines.

    Only a newline ends a line, unlike for ``str.splitlines``: GNU sources have form feeds between functions.

    >>> source_lines("a\\fb\\r\\nc"), source_lines("a\\nb", ends=True), source_lines("")
    (['a\\x0cb\\r', 'c'], ['a\\n', 'b'], [])
    """
    parts = text.split("\n")
    last = parts.pop()
    if ends:
        parts = [f"{part}\n" for part in parts]
    return [*parts, last] if last else parts
