"""Programs that the ``counters`` collector samples, which wait until that was done instead of for
some time.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from perfvcs.collectors.counters import treesampler

WAITS = """
import os.path, time
def sampled(count, size=os.path.getsize, sleep=time.sleep):
    begun = max(size({file!r}), 2)  # where the first sample begins
    while size({file!r}) - begun <= count: sleep(0.005)
"""


class Sampling:
    """All ``moments`` at which the tree and the machine are read, each of which adds a byte to a
    file.

    What ``waits`` in Python defines ``sampled(n)``: it returns after so many more whole samples.
    """

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        file, real = folder / "moments", treesampler._moment
        file.touch()
        self.waits = WAITS.format(file=str(file))
        self.moments: list[treesampler._Moment] = []

        def moment(*words: Any) -> treesampler._Moment:
            self.moments.append(real(*words))
            with file.open("a") as opened:
                opened.write("x")
            return self.moments[-1]

        monkeypatch.setattr(treesampler, "_moment", moment)

    @property
    def taken(self) -> list[treesampler._Moment]:
        """Where samples begin and end: the first and the last moment are for the totals."""
        return self.moments[1:-1]

    def used(self, rates: list[float]) -> float:
        """What a rate amounts to over all samples, however far apart the machine let them be."""
        seconds = [
            now.at - before.at for before, now in pairwise(self.taken) if now.tree[0]["processes"]
        ]
        return sum(rate * passed for rate, passed in zip(rates, seconds, strict=True))
