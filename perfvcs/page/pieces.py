"""The pieces of a subject that a page draws one by one, those first that matter most."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import msgspec

from perfvcs.drawing.commits.chart import grouped
from perfvcs.drawing.curves.sides import FEWEST_SIZES
from perfvcs.drawing.flame.stacks import groups
from perfvcs.drawing.heat.cells import jobs
from perfvcs.drawing.samples import Part, parts
from perfvcs.drawing.tables.listing import Key, title
from perfvcs.drawing.units import together
from perfvcs.subject import Subject
from perfvcs.summary import MAX_SIZES, RECORDER
from perfvcs.text.words import FIRST, metric_rank
from perfvcs.view import Scope


class PagePiece(NamedTuple):
    """A piece of the subject that becomes one block: which section, under which heading, and what to draw."""

    section: str
    key: Key | None
    metric: str
    narrow: Callable[[], Subject]
    scope: Scope = "sample"


def pieces(subject: Subject, *, curves: bool) -> Iterator[PagePiece]:
    """The pieces in the order in which they are worth drawing: effects per metric, the history per series, then the benchmarks.

    With ``curves`` those with sizes come as a whole; recorded calls, and what has very many sizes, then come in no other way.

    Those that matter most come first, each with its wall time, CPU time and peak memory; their other metrics follow."""
    if subject.report is not None:
        for metric in sorted({change.metric for change in subject.report.changes}, key=metric_rank):
            changes = [change for change in subject.report.changes if change.metric == metric]
            report = msgspec.structs.replace(subject.report, changes=changes)
            yield PagePiece("All changes", None, metric, partial(Subject, subject.title, report=report))
    for group in grouped(subject.history):
        key = (group[0].label, group[0].uid, group[0].size)
        yield PagePiece(title(key), key, group[0].metric, partial(Subject, subject.title, history=group))
    for stacks, whole in groups(subject).items():
        yield PagePiece(title((stacks.job, "", None)), None, "call stacks", partial(replace, whole), "stacks")
    for job, whole in jobs(subject).items():
        yield PagePiece(title((job.label, "", None)), None, "overview", partial(replace, whole), "job")
    side_by_side = [
        PagePiece(title((job.label, "", None)), None, metric, partial(replace, whole), "units")
        for (job, metric), whole in together(subject).items()
    ]
    yield from (piece for piece in side_by_side if piece.metric in FIRST)
    ranks: dict[Key, int] = {}
    for change in subject.report.changes if subject.report else ():
        ranks.setdefault((change.job, change.uid, change.size), len(ranks))
    found = [(part, (part.unit.job, part.unit.uid, part.unit.size)) for part in parts(subject) if not part.traced]
    if curves:
        along = [part for part in parts(subject, whole=True) if part.judged and part.sizes >= FEWEST_SIZES]
        yield from _whole(subject, along, ranks)
        told = {(part.unit.job, part.unit.uid) for part in along if part.unit.collector == RECORDER or part.sizes > MAX_SIZES}
        found = [(part, key) for part, key in found if key[:2] not in told]
    ordered = [
        PagePiece(title(key), key, part.metric, part.narrow)
        for part, key in sorted(found, key=lambda pair: ranks.get(pair[1], len(ranks)))
    ]
    yield from (piece for piece in ordered if piece.metric in FIRST)
    yield from (piece for piece in (*side_by_side, *ordered) if piece.metric not in FIRST)


def _whole(subject: Subject, along: list[Part], ranks: Mapping[Key, int]) -> Iterator[PagePiece]:
    """Benchmarks over all their sizes, with their verdicts, those first that matter most."""
    changes = subject.report.changes if subject.report else []
    verdicts = {(change.job, change.uid, change.metric): change for change in changes if change.size is None}
    for part in sorted(
        along, key=lambda part: (part.metric in FIRST[1:], ranks.get((part.unit.job, part.unit.uid, None), len(ranks)))
    ):
        verdict = verdicts.get((part.unit.job, part.unit.uid, part.metric))
        key = (part.unit.job, part.unit.uid, None)
        yield PagePiece(title(key), key, part.metric, partial(part.narrow, verdict), "sizes")
