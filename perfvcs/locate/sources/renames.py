"""Functions that were renamed, by what their bodies consist of."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from perfvcs.locate.sources.definitions import Outline
from perfvcs.text.characters import source_lines

MOST_ALIKE = 300  # functions of a side that are compared with those of the other one
# the share of common words from which on a lost and a new function are one that was renamed
COMMON_WORDS_SHARE = 0.6


class Body(NamedTuple):
    """A function as ``name (file)``, and its words."""

    name: str
    words: set[str]


def bodies(text: str, path: str, outline: Outline | None, other: Outline | None) -> Iterator[Body]:
    """The functions of one side of a file that the ``other`` has not."""
    common = {definition.name for definition in other.definitions} if other else set()
    for definition in outline.definitions if outline else ():
        if definition.name not in common:
            body = source_lines(text)[definition.first - 1 : definition.last]
            words = set(re.findall(r"\w+", "\n".join(body)))
            yield Body(f"{definition.name} ({path})", words)


def renamed(lost: Sequence[Body], made: Sequence[Body]) -> dict[str, str]:
    """The new names of functions that were lost, as far as the words of bodies tell."""
    pairs: dict[str, str] = {}
    taken: set[str] = set()
    for name, words in lost[:MOST_ALIKE]:
        alike = [
            (len(words & others) / len(words | others), other)
            for other, others in made[:MOST_ALIKE]
            if other not in taken and words | others
        ]
        share, best = max(alike, default=(0.0, ""))
        if share >= COMMON_WORDS_SHARE:
            pairs[name] = best
            taken.add(best)
    return pairs
