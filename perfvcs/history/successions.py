"""Lines that begin where another of the same benchmark ended, and what keeps the two from being one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from perfvcs.check.comparability import differences, redefined

if TYPE_CHECKING:
    from perfvcs.index.lines import Course, Line


def successions(lines: Mapping[int, Line], courses: Mapping[int, Course]) -> dict[int, str]:
    """The lines that begin where another of the same benchmark and metric has ended, and in words what keeps the two from being one."""
    same: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for number, course in courses.items():
        line = lines[number]
        if len(course.places):
            same[line.job.label, line.job.collector, line.uid, line.size, line.metric].append(number)
    found = {}
    for numbers in same.values():
        numbers.sort(key=lambda number: courses[number].places[0])
        for old, new in pairwise(numbers):
            if courses[new].places[0] > courses[old].places[-1]:
                found[new] = difference(lines[old], lines[new])
    return found


def difference(old: Line, new: Line) -> str:
    """In words, what keeps two lines from being one."""
    return "; ".join(filter(None, (differences(old, new), redefined(old, new)))) or "the job was redefined"
