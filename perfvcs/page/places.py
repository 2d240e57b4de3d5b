"""The pieces of a subject that a page draws one by one, those first that matter most."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import msgspec

from perfvcs.drawing.commits.chart import grouped
from perfvcs.drawing.curves.sides import FEWEST
from perfvcs.drawing.flame.stacks import groups
from perfvcs.drawing.heat.cells import jobs
from perfvcs.drawing.samples import Part, parts
from perfvcs.drawing.tables.listing import Key, title
from perfvcs.drawing.units import together
from perfvcs.subject import Subject
from perfvcs.summary import MAX_SIZES, RECORDER
from perfvcs.text.words import FIRST, metric_rank
from perfvcs.views import View

KINDS = ("whole", "stacks", "units", "jobs")


class Place(NamedTuple):
    """A piece of the subject that becomes one block: which section, under which heading, and what to draw.

    ``whole``: over all sizes; ``stacks``: of all call stacks of one job; ``units``: of all units of one job; ``jobs``: all rows
    of one job.
    """

    section: str
    key: Key | None
    metric: str
    narrow: Callable[[], Subject]
    whole: bool = False
    stacks: bool = False
    units: bool = False
    jobs: bool = False

    def suits(self, view: View) -> bool:
        """Whether a view draws pieces of this kind."""
        return all(getattr(view, kind, False) == getattr(self, kind) for kind in KINDS)


def places(subject: Subject, curves: bool) -> Iterator[Place]:
    """The pieces in the order in which they are worth drawing: effects per metric, the history per series, then the benchmarks.

    With ``curves`` those with sizes come as a whole; recorded calls, and what has very many sizes, then come in no other way.

    Those that matter most come first, each with its wall time, CPU time and peak memory; their other metrics follow."""
    if subject.report is not None:
        for metric in sorted({change.metric for change in subject.report.changes}, key=metric_rank):
            changes = [change for change in subject.report.changes if change.metric == metric]
            report = msgspec.structs.replace(subject.report, changes=changes)
            yield Place("All changes", None, metric, partial(Subject, subject.title, report=report))
    for group in grouped(subject.history):
        key = (group[0].label, group[0].uid, group[0].size)
        yield Place(title(key), key, group[0].metric, partial(Subject, subject.title, history=group))
    for stacks, whole in groups(subject).items():
        yield Place(title((stacks.job, "", None)), None, "call stacks", partial(replace, whole), stacks=True)
    for job, whole in jobs(subject).items():
        yield Place(title((job.label, "", None)), None, "overview", partial(replace, whole), jobs=True)
    side_by_side = [
        Place(title((job.label, "", None)), None, metric, partial(replace, whole), units=True)
        for (job, metric), whole in together(subject).items()
    ]
    yield from (place for place in side_by_side if place.metric in FIRST)
    ranks: dict[Key, int] = {}
    for change in subject.report.changes if subject.report else ():
        ranks.setdefault((change.job, change.uid, change.size), len(ranks))
    found = [(part, (part.unit.job, part.unit.uid, part.unit.size)) for part in parts(subject) if not part.traced]
    if curves:
        along = [part for part in parts(subject, whole=True) if part.judged and part.sizes >= FEWEST]
        yield from _whole(subject, along, ranks)
        told = {(part.unit.job, part.unit.uid) for part in along if part.unit.collector == RECORDER or part.sizes > MAX_SIZES}
        found = [(part, key) for part, key in found if key[:2] not in told]
    ordered = [
        Place(title(key), key, part.metric, part.narrow)
        for part, key in sorted(found, key=lambda pair: ranks.get(pair[1], len(ranks)))
    ]
    yield from (place for place in ordered if place.metric in FIRST)
    yield from (place for place in (*side_by_side, *ordered) if place.metric not in FIRST)


def _whole(subject: Subject, along: list[Part], ranks: Mapping[Key, int]) -> Iterator[Place]:
    """Benchmarks over all their sizes, with their verdicts, those first that matter most."""
    changes = subject.report.changes if subject.report else []
    verdicts = {(change.job, change.uid, change.metric): change for change in changes if change.size is None}
    for part in sorted(
        along, key=lambda part: (part.metric in FIRST[1:], ranks.get((part.unit.job, part.unit.uid, None), len(ranks)))
    ):
        verdict = verdicts.get((part.unit.job, part.unit.uid, part.metric))
        key = (part.unit.job, part.unit.uid, None)
        yield Place(title(key), key, part.metric, partial(part.narrow, verdict), whole=True)
