"""Looking at a comparison several times while it is measured, after Haybittle and Peto."""

from __future__ import annotations

PAIRS = 30
STEP = 5
EARLY = 0.001
FINAL = 0.0095


def schedule(pairs: int = PAIRS) -> tuple[int, ...]:
    """The numbers of pairs after which to look: every fifth up to ``pairs``, which is always the last."""
    return (*range(STEP, pairs, STEP), pairs)


def level(pairs: int, final: int = PAIRS) -> float:
    """The p-value that a change needs after ``pairs`` of at most ``final`` pairs.

    Six looks at these levels have false alarms of at most 1.7 %. Source: Haybittle 1971; Peto et al. 1976.
    """
    return FINAL if pairs >= final else EARLY
