"""Functions out of contexts: what each took itself and with all that it called."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perfvcs.collectors._shared import frames
from perfvcs.collectors.instructions.counts import sums

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from perfvcs.collectors.instructions.counts import Counts

UNKNOWN_NAMES = ("???", "")  # what valgrind calls an image or function that it does not know


@dataclass(frozen=True)
class FunctionCounts:
    """One entry per function of the program and its libraries, as columns of equal length.

    ``uid`` is its name, with the image behind where that name means something else, too. ``frame`` is the name with the image.
    ``of`` (contexts,) is the function of each context. ``inclusive`` counts what happened while it was active, once however often it
    calls itself. ``calls`` is NaN for one that is only a part of others.
    """

    uid: list[str]
    name: list[str]
    frame: list[str]
    of: NDArray[np.int64]
    exclusive: NDArray[np.float64]
    inclusive: NDArray[np.float64]
    calls: NDArray[np.float64]


def functions(counts: Counts, cwd: Path, taken: str = "") -> FunctionCounts:
    """The functions, in order of their first context.

    ``cwd`` is the folder that images of the project are named from, ``taken`` a uid that no function may have.
    """
    import numpy as np

    numbers: dict[str, int] = {}
    names: list[str] = []
    of = np.empty(len(counts.contexts), np.int64)
    for place, context in enumerate(counts.contexts):
        name = frames.UNKNOWN_FRAME if context.name in UNKNOWN_NAMES else context.name
        image = frames.UNKNOWN_FRAME if context.image in UNKNOWN_NAMES else context.image
        frame = frames.native(name, image, str(cwd))
        of[place] = number = numbers.setdefault(frame, len(numbers))
        if number == len(names):
            names.append(frames.function(name))
    count = len(numbers)
    often = Counter([*names, taken])
    uid = [name if often[name] == 1 else frame for name, frame in zip(names, numbers, strict=True)]
    exclusive = sums(of, counts.exclusive, count)
    whole = np.array([not context.within for context in counts.contexts], bool)
    real = whole[counts.callee]
    calls = sums(of[counts.callee[real]], counts.calls[real], count)
    calls[sums(of[whole], np.ones(int(whole.sum())), count) == 0] = np.nan
    return FunctionCounts(uid, names, list(numbers), of, exclusive, _inclusive(counts, of, exclusive), calls)


def _inclusive(counts: Counts, of: NDArray[np.int64], exclusive: NDArray[np.float64]) -> NDArray[np.float64]:
    """The cost of each function's outermost activations (contexts of level 1), and of what they called.

    Calls from one such context to another of the same function (a part that the compiler split off) are inside already.
    """
    import numpy as np

    outer = np.array([context.level == 1 for context in counts.contexts], bool)
    within = outer[counts.caller] & outer[counts.callee] & (of[counts.caller] == of[counts.callee])
    leaving = outer[counts.caller] & ~within
    found = sums(of[outer], counts.exclusive[outer], len(exclusive))
    found += sums(of[counts.caller[leaving]], counts.inclusive[leaving], len(exclusive))
    bounded: NDArray[np.float64] = np.clip(found, exclusive, counts.total)
    return bounded
