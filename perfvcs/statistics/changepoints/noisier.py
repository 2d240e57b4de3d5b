"""Where the spread of a series changed for good, whatever its level did."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Noisier:
    """A lasting change of the spread of a series of logarithms; it may have become calmer, too.

    ``place`` is the likeliest index of the first value with the new spread. ``before`` and ``after`` are the standard deviations about the
    levels (logarithms: .02 is about 2 %), ``p`` the chance of such a change where there is none.
    """

    place: int
    before: float
    after: float
    p: float
