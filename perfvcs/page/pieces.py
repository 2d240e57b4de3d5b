"""The pieces of a subject that a page draws one by one, those first that matter most."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import msgspec

from perfvcs.check import Change, Report
from perfvcs.drawing.commits.chart import grouped
from perfvcs.drawing.curves.sides import FEWEST_OF_CURVE
from perfvcs.drawing.flame.stacks import groups
from perfvcs.drawing.parts import BenchmarkKey, Naming, Part, parts
from perfvcs.drawing.tables.listing import title
from perfvcs.drawing.units import jobs, together
from perfvcs.subject import Subject
from perfvcs.summary import MAX_SIZES, RECORDER
from perfvcs.text.words import FIRST_METRICS, metric_rank, named
from perfvcs.view import Scope

MOVED_VERDICTS = ("degradation", "improvement", "suspected")


class PagePiece(NamedTuple):
    """A piece of the subject that becomes one block: which section, under which heading, and what to draw.

    ``changed``: a verdict says that it is other than before, or may be.
    """

    section: str
    key: BenchmarkKey | None
    metric: str
    narrow: Callable[[], Subject]
    scope: Scope = "sample"
    changed: bool = False


def pieces(subject: Subject, *, curves: bool) -> Iterator[PagePiece]:
    """The pieces in the order in which they are worth drawing: effects per metric, the history per series, what changed, the rest.

    With ``curves`` those with sizes come as a whole; recorded calls, and what has very many sizes, then come in no other way.

    Of the rest jobs come before their benchmarks, each with its wall time, CPU time and peak memory; their other metrics follow."""
    names = Naming.of(subject)
    effects = list(_effects(subject, names))
    yield from (piece for piece in effects if piece.changed or piece.metric in FIRST_METRICS)
    for group in grouped(subject.history):
        key = (group[0].label, group[0].uid, group[0].size)
        yield PagePiece(title(key), key, group[0].metric, partial(Subject, subject.title, history=group))
    ordered = list(_benchmarks(subject, names, _Verdicts(subject.report), curves=curves))
    yield from (piece for piece in ordered if piece.changed)
    side_by_side = list(_jobs(subject))
    yield from (piece for piece in side_by_side if piece.scope != "units" or piece.metric in FIRST_METRICS)
    ordered = [piece for piece in ordered if not piece.changed]
    yield from (piece for piece in ordered if piece.scope == "sizes")
    ordered = [piece for piece in ordered if piece.scope != "sizes"]
    yield from (piece for piece in ordered if piece.metric in FIRST_METRICS)
    rest = [piece for piece in side_by_side if piece.scope == "units"]
    yield from (piece for piece in (*effects, *rest, *ordered) if piece.metric not in FIRST_METRICS and not piece.changed)


def _effects(subject: Subject, names: Naming) -> Iterator[PagePiece]:
    """The changes of each metric."""
    if subject.report is None:
        return
    for metric in sorted({change.metric for change in subject.report.changes}, key=metric_rank):
        mine = [change for change in subject.report.changes if change.metric == metric]
        changes = [msgspec.structs.replace(change, job=names.change(change)[0]) for change in mine]
        report = msgspec.structs.replace(subject.report, changes=changes)
        moved = any(change.word in MOVED_VERDICTS for change in changes)
        yield PagePiece("All changes", None, metric, partial(Subject, subject.title, report=report), changed=moved)


def _jobs(subject: Subject) -> Iterator[PagePiece]:
    """Pieces of all units of a job together: call stacks, courses over time, and each metric."""
    stacks, whole, units = groups(subject), jobs(subject), together(subject)
    known = [(job.label, job.collector) for job in whole]
    names = dict(zip(known, named(known), strict=True))
    for group, mine in stacks.items():
        yield PagePiece(names[group.job, group.collector], None, "call stacks", partial(replace, mine), "stacks")
    for job, mine in whole.items():
        yield PagePiece(names[job.label, job.collector], None, "overview", partial(replace, mine), "job")
    for (job, metric), mine in units.items():
        with_report = partial(replace, mine, report=subject.report)
        yield PagePiece(names[job.label, job.collector], None, metric, with_report, "units")


class _Verdicts:
    """The verdicts of a report by what they are on, and their places."""

    def __init__(self, report: Report | None) -> None:
        changes = report.changes if report else []
        self._found = {(change.series, change.uid, change.size, change.metric): change for change in changes}
        self._places = {key: place for place, key in enumerate(self._found)}
        self._curves = {(one.job, one.uid, one.metric): key for key, one in self._found.items() if one.size is None}

    def of(self, part: Part) -> Change | None:
        """The verdict on a part; one over sizes is that of its job, whatever workloads it was measured with."""
        series = [cut.profile.job.key for cut in (*part.target, *part.baseline)]
        keys = ((one, part.unit.uid, part.unit.size, part.metric) for one in series)
        found = next((key for key in keys if key in self._found), None)
        if found is None and part.unit.size is None:
            found = self._curves.get((part.unit.job, part.unit.uid, part.metric))
        return None if found is None else self._found[found]

    def place(self, change: Change | None) -> int:
        """Its place in the report."""
        key = None if change is None else (change.series, change.uid, change.size, change.metric)
        return len(self._found) if key is None else self._places[key]


def _benchmarks(subject: Subject, names: Naming, verdicts: _Verdicts, *, curves: bool) -> Iterator[PagePiece]:
    """Benchmarks, those first that matter most; with ``curves`` those over all their sizes before the others."""
    found = [part for part in parts(subject) if not part.traced]
    if curves:
        along = [part for part in parts(subject, whole=True) if part.judged and part.sizes >= FEWEST_OF_CURVE]
        aside = {(part.unit.job, part.unit.uid) for part in along if part.unit.collector == RECORDER or part.sizes > MAX_SIZES}
        found = [part for part in found if (part.unit.job, part.unit.uid) not in aside]
        by_place = [(part, verdicts.of(part)) for part in along]
        for part, verdict in sorted(by_place, key=lambda pair: (pair[0].metric in FIRST_METRICS[1:], verdicts.place(pair[1]))):
            yield _piece(part, verdict, names.unit(part.unit), "sizes")
    first: dict[BenchmarkKey, int] = {}
    placed = [(part, verdict := verdicts.of(part), names.unit(part.unit), verdicts.place(verdict)) for part in found]
    for _, _, key, place in placed:
        first[key] = min(first.get(key, place), place)
    for part, verdict, key, _ in sorted(placed, key=lambda one: first[one[2]]):
        yield _piece(part, verdict, key, "sample")


def _piece(part: Part, verdict: Change | None, key: BenchmarkKey, scope: Scope) -> PagePiece:
    moved = verdict is not None and verdict.word in MOVED_VERDICTS
    return PagePiece(title(key), key, part.metric, partial(part.narrow, verdict), scope, moved)
