"""Why a comparison stays open: what several methods ask for, and their sentences where it is missing."""

from __future__ import annotations

FEWEST_EXECUTIONS = 5  # executions a side, or pairs

SINGLE_EXECUTION = "a single {} has no spread: at least 5, better 10"
TOO_FEW_EXECUTIONS = "only {} {}s a side: at least 5, better 10"
FROM_DIFFERENT_SESSIONS = "the two sides come from different sessions, and how much sessions differ is not known yet"
ONE_ORDER = "the same side was measured first in every pair, or in all but one, so the order may be the cause"
NO_ORDER = (
    "which side was measured first in each pair is not known, and fewer than 8 pairs cannot rule out that the order is the cause"
)
