"""Tells as JSON what files of memray hold; run by an interpreter that has memray: ``reading.py
FOLDER SITES FILE...``.
"""

from __future__ import annotations

import json
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

MOMENTS = 32
MOST_FRAMES = 256


def main(packages: str, sites: int, depth: int, paths: list[str]) -> None:
    """Print one line of JSON per file, with ``error`` if it cannot be read."""
    if packages:
        sys.path.append(packages)
    for path in paths:
        try:
            result = tell(path, sites, depth)
        except Exception as error:
            result = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(result))


def tell(path: str, sites: int, depth: int) -> dict[str, Any]:
    """Totals, what each line allocated, and the stacks of what was alive at the peak and at the
    end.
    """
    from memray import FileReader  # type: ignore[import-not-found,import-untyped,unused-ignore]

    with FileReader(path) as reader:
        metadata = reader.metadata
        peak = list(reader.get_high_watermark_allocation_records(merge_threads=True))
        leaked = list(reader.get_leaked_allocation_records(merge_threads=True))
        moments = [(record.time, record.heap) for record in reader.get_memory_snapshots()]
    totals = {
        "peak": sum(record.size for record in peak),
        "leaked": sum(record.size for record in leaked),
        "at_peak": _stacks(peak, sites, depth),
        "at_end": _stacks(leaked, sites, depth),
        "moments": _course(moments, metadata.start_time.timestamp()),
    }
    return totals | _statistics(path, sites)


def _statistics(path: str, sites: int) -> dict[str, Any]:
    """Totals of all calls, and the lines with most bytes or calls."""
    from memray._memray import compute_statistics  # type: ignore[import-not-found,import-untyped,unused-ignore]

    statistics = compute_statistics(path, num_largest=1_000_000)
    count = dict(statistics.top_locations_by_count)
    size = dict(statistics.top_locations_by_size)
    locations = dict.fromkeys([*list(size)[:sites], *list(count)[:sites]])
    rows = [[*where, size.get(where, 0), count.get(where, 0)] for where in locations]
    return {
        "bytes": statistics.total_memory_allocated,
        "count": statistics.total_num_allocations,
        "lines": rows,
    }


def _stacks(records: Iterable[Any], sites: int, depth: int) -> list[list[Any]]:
    ordered = sorted(records, key=lambda record: -record.size)[:sites]
    return [
        [record.size, record.allocator, record.stack_trace(max_stacks=depth)] for record in ordered
    ]


def _course(moments: list[tuple[int, int]], start: float) -> list[list[float]]:
    """At most MOMENTS points, spread evenly: seconds after the start and bytes."""
    step = max(1, -(-len(moments) // MOMENTS))
    return [[max(0.0, time / 1000 - start), heap] for time, heap in moments[step - 1 :: step]]


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
