"""The words that a verdict can be, and all that anything says of them: sign, shape, colour and
weight.

Every report, page, figure and document looks here; scripts and templates get the same table as
data. A new word is one more of ``Word``, a row of ``WORDS``, and one of the glossary.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Literal, NamedTuple, Protocol, get_args

# those first that matter most
Word = Literal[
    "degradation",
    "improvement",
    "suspected",
    "not comparable",
    "inconclusive",
    "new",
    "missing",
    "same",
]
VERDICT_WORDS: tuple[Word, ...] = get_args(Word)
Colour = Literal["vermillion", "green", "orange", "purple", "muted", "sky", "blue"]


class VerdictWord(NamedTuple):
    """A word as it is said: its ``sign`` is of one column; figures draw a ``shape`` (bokeh's name
    of it), which may be hollow, in a ``colour``, so that nothing is said by colour alone.

    ``fails``: it fails a check. ``sure``: the program changed; ``moved``: its numbers did.
    ``settled`` words say what happened, the others are open. ``compared``: there are two sides, and
    they can be compared.
    """

    word: str
    sign: str
    shape: str
    colour: Colour
    meaning: str
    fails: bool = False
    sure: bool = False
    moved: bool = False
    settled: bool = False
    compared: bool = True
    hollow: bool = False


WORDS = {
    row.word: row
    for row in (
        VerdictWord(
            "degradation",
            "▲",
            "triangle",
            "vermillion",
            "worse, beyond chance and beyond delta",
            fails=True,
            sure=True,
            moved=True,
            settled=True,
        ),
        VerdictWord(
            "improvement",
            "▼",
            "inverted_triangle",
            "green",
            "better, beyond chance and beyond delta",
            sure=True,
            moved=True,
            settled=True,
        ),
        VerdictWord(
            "suspected",
            "◆",
            "diamond",
            "orange",
            "the numbers moved, but the machine may be the cause, not the code",
            moved=True,
        ),
        VerdictWord(
            "not comparable",
            "✕",
            "x",
            "purple",
            "measured in different ways or environments",
            compared=False,
        ),
        VerdictWord(
            "inconclusive",
            "○",
            "circle",
            "muted",
            "neither a change nor sameness is shown",
            hollow=True,
        ),
        VerdictWord("new", "+", "cross", "sky", "only the target has it", compared=False),
        VerdictWord("missing", "–", "dash", "muted", "only the baseline has it", compared=False),
        VerdictWord(
            "same", "●", "circle", "blue", "a change of delta or more is ruled out", settled=True
        ),
        VerdictWord(
            "accepted",
            "✓",
            "square_pin",
            "muted",
            "a degradation that perf-accepted.toml records with a reason",
            settled=True,
            hollow=True,
        ),
    )
}
SURE: tuple[Word, ...] = tuple(word for word in VERDICT_WORDS if WORDS[word].sure)
ONE_SIDED: tuple[Word, ...] = ("new", "missing")
ACCEPTABLE: tuple[Word, ...] = ("degradation", "suspected")
EXCEEDED = "limit exceeded"  # beside the words: a limit that fails a check
ORDER = (*VERDICT_WORDS, "accepted")  # of tallies
OPEN_EXPLAINED = tuple(
    WORDS[word] for word in ("inconclusive", "suspected", "not comparable")
)  # whose meaning stands below a report


class Judged(Protocol):
    """A verdict that the project may have accepted, with the reason."""

    @property
    def word(self) -> str:
        """Its word, were it not accepted."""

    @property
    def accepted(self) -> str | None:
        """The reason for which it is."""


def said(verdict: Judged) -> VerdictWord:
    """The word by which a verdict is called: ``accepted`` if it is."""
    return WORDS["accepted" if verdict.accepted is not None else verdict.word]


def tally(verdicts: Iterable[Judged]) -> dict[str, int]:
    """How many verdicts have each word that occurs, in the order of ``VERDICT_WORDS``; the accepted
    ones apart and last.
    """
    counts = Counter(said(verdict).word for verdict in verdicts)
    return {word: counts[word] for word in ORDER if word in counts}


class Directed(Protocol):
    """What has a better direction: a metric, or a line of one."""

    @property
    def better(self) -> str:
        """Is ``lower`` or ``higher`` better?"""


def comparative(unit: str, *, worse: bool) -> str:
    """What becomes of a metric in a unit: slower or faster, larger or smaller, else worse or
    better.
    """
    words = {"s": ("slower", "faster"), "B": ("larger", "smaller")}.get(unit, ("worse", "better"))
    return words[0] if worse else words[1]


def direction(metric: Directed, effect: float) -> Literal["degradation", "improvement"]:
    """``degradation`` or ``improvement``: what a change of that sign is for the metric."""
    worse = effect < 0 if metric.better == "higher" else effect > 0
    return "degradation" if worse else "improvement"
