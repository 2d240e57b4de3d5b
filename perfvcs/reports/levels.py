"""The levels of a series between its steps, and the steps and drifts themselves, for views."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp
from typing import TYPE_CHECKING

from perfvcs.reports.allowance import Allowance
from perfvcs.reports.annals import LARGEST_EXPONENT, SHORTEST, described
from perfvcs.subject import Level, Step

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from perfvcs.index.findings import Found
    from perfvcs.index.lines import Course, Line
    from perfvcs.reports.annals import Finding
    from perfvcs.repository import Repository


def shapes(
    repository: Repository, known: Mapping[int, Line], commits: Sequence[str]
) -> dict[int, tuple[list[Level], list[Step]]]:
    """Levels and steps of lines along ``commits``, of those that are long enough to be looked at."""
    courses = {
        number: course for number, course in repository.index.courses(known, commits).items() if len(course.levels) >= SHORTEST
    }
    found = repository.index.findings.steps([course.levels for course in courses.values()])
    accepted = Allowance(repository, commits)
    told = {}
    for (number, course), steps in zip(courses.items(), found, strict=True):
        changes = [_step(described(known[number], course, one, commits), accepted) for one in steps]
        told[number] = _levels(course, steps, commits), changes
    return told


def _step(finding: Finding, accepted: Allowance) -> Step:
    """A finding for views."""
    return Step(
        finding.commit, finding.word, finding.direction, finding.first, finding.last, finding.commits, finding.before, finding.after,
        finding.effect, finding.low, finding.high, finding.p, finding.detectors,
        accepted.reason(finding) if finding.direction == "degradation" else None,
    )  # fmt: skip


def _levels(course: Course, steps: Sequence[Found], commits: Sequence[str]) -> list[Level]:
    """The stretches before, between and after the steps; what lies in a drift is none.

    Their intervals take into account that neighbouring commits resemble each other, as those of the steps do.
    """
    import numpy as np

    from perfvcs.statistics.autocorrelation import autocorrelation
    from perfvcs.statistics.changepoints.drift import residuals
    from perfvcs.statistics.changepoints.pelt import winsorise

    clipped = winsorise(np.array(course.levels))
    drifts = [found.step.word == "drift" for found in steps]
    ends = [found.step.first if drift else found.step.place for found, drift in zip(steps, drifts, strict=True)]
    starts = [found.step.last if drift else found.step.place for found, drift in zip(steps, drifts, strict=True)]
    left = residuals(clipped, sorted({*starts, *ends} - {0, len(clipped)}))
    inflation = float(autocorrelation(left[None], 1).inflation()[0])
    spans = [(start, end) for start, end in zip([0, *starts], [*ends, len(clipped)], strict=True) if start < end]
    return [
        Level(commits[course.places[start]], commits[course.places[end - 1]], *_centre(clipped[start:end], inflation))
        for start, end in spans
    ]


def _centre(logs: NDArray[np.float64], inflation: float) -> tuple[float, float | None, float | None]:
    """The centre of a level with its 99 % interval."""
    from perfvcs.statistics.interval import interval

    found = interval(logs[None])
    centre = float(found.centre[0])
    half = (float(found.high[0]) - centre) * inflation**0.5
    known = len(logs) > 1 and centre + half < LARGEST_EXPONENT
    return exp(centre), *((exp(centre - half), exp(centre + half)) if known else (None, None))
