"""Series of equal lengths, worked on side by side: a call of numpy costs as much as the work on a
short one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from perfvcs.system.numeric import Floats, np

MOST_VALUES = 4_096  # values that are worked on at once: more would not stay near the processor


def batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """The indices of series with these ``lengths``, those of equal length together, at most so many
    at once as have ``MOST_VALUES`` values.
    """
    by_length: dict[int, list[int]] = defaultdict(list)
    for index, length in enumerate(lengths):
        by_length[length].append(index)
    for length, indices in by_length.items():
        count = max(1, MOST_VALUES // max(length, 1))
        for start in range(0, len(indices), count):
            yield indices[start : start + count]


def side_by_side(work: Callable[[Floats], Floats], series: Sequence[Floats]) -> list[Floats]:
    """What ``work`` on the last axis makes of each series (n,); of an empty one an empty one."""
    results = list(series)
    for indices in batches([len(values) for values in series]):
        if len(series[indices[0]]):
            rows = work(np.stack([series[index] for index in indices]))
            for index, row in zip(indices, rows, strict=True):
                results[index] = row
    return results
