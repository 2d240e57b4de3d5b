"""Waiting for an event of another process: the only clock that tests of anything but waiting
read.
"""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE_SECONDS = 120  # a loaded machine may take that long


def happens(condition: Callable[[], object]) -> bool:
    """Whether a condition holds at last."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not (holds := bool(condition())) and time.monotonic() < end:
        time.sleep(0.02)
    return holds
