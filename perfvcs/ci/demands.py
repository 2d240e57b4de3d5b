"""What a job is held to whatever the baseline did."""

from __future__ import annotations

from typing import NamedTuple

from perfvcs.check.change import Report
from perfvcs.check.vocabulary import Word
from perfvcs.profile.naming import labelled
from perfvcs.text.characters import shorten

NAME = 300  # characters


class Demand(NamedTuple):
    """A limit, or an output that has to stay the same. ``word`` is ``degradation`` where it is not
    met, which fails the job, ``suspected`` where that is open, else ``same``; ``said`` is the
    sentence, empty where it is met.
    """

    job: str
    name: str
    word: Word
    said: str


def demands(report: Report) -> list[Demand]:
    """All of a report, those first that are not met."""
    outputs = [
        Demand(
            job,
            f"{job}, output",
            "degradation",
            f"the output of {shorten(job, NAME)} differs, and had to stay the same",
        )
        for job in report.wrong
    ]
    limits = [
        Demand(
            limit.job,
            f"{labelled(limit.job, limit.uid, limit.size)}, limit of {limit.measured}",
            limit.word,
            limit.said,
        )
        for limit in report.limits
    ]
    return [*outputs, *limits]


def unmet(report: Report) -> list[Demand]:
    """Those that fail the job."""
    return [demand for demand in demands(report) if demand.word == "degradation"]
