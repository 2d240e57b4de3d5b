"""What a page draws: the views that fit, and the pieces of its subject, the most important
first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from functools import partial
from typing import Any, NamedTuple

import msgspec

from perfvcs import plugins
from perfvcs.check import Change, Report
from perfvcs.check.subject import Subject
from perfvcs.check.vocabulary import WORDS
from perfvcs.errors import UsageError, nearest
from perfvcs.pictures.bundle import jobs, together
from perfvcs.pictures.chart import grouped
from perfvcs.pictures.curvesides import FEWEST_OF_CURVE
from perfvcs.pictures.listing import title
from perfvcs.pictures.pageparts import BenchmarkKey, DrawnUnit, Naming, Part, parts
from perfvcs.pictures.stacks import groups
from perfvcs.plugins.view import Scope, Unfit, View
from perfvcs.profile.summary import MAX_SIZES, RECORDER
from perfvcs.reports.echoes import (
    CPU,
    MOVED_ALIKE,
    REMARK,
    WALL,
    computing,
    moved_alike,
    same_course,
)
from perfvcs.text.words import FIRST_METRICS, metric_rank, named

# of the views in a block; then by name
VIEW_ORDER = ("effects", "history", "intervals", "scatter", "curves", "executions")
SET_OPTION = "--set"


class Drawable(NamedTuple):
    """A view that fits a subject, and what it has cut out of it."""

    name: str
    view: View[Any]
    data: Any


def choose(
    subject: Subject, name: str | None = None, options: Mapping[str, str] | None = None
) -> list[Drawable]:
    """The views to draw, the most telling first: the one named, else all that fit and need not be
    asked for.

    ``options`` are values for fields of these views, as text; a field is set on every view that has
    it. Raises UsageError for a view that is unknown or does not fit, for a field that none has, and
    for a value that a field cannot take.
    """
    names = plugins.names("views")
    if name is None:
        unasked = {key: view for key, view in _views(names).items() if not view.asked}
        return configured(subject, fitted(subject, unasked), options or {})
    if name not in names:
        raise UsageError(f"there is no view `{name:.80}`{nearest(name, names)}")
    # what it draws may be among its options
    view = _configured(_views([name]), options or {})[name]
    try:
        return [Drawable(name, view, view.cut(subject))]
    except Unfit as reason:
        others = ", ".join(drawable.name for drawable in fitting(subject, names))
        cure = f"these do: {others}" if others else "and no other does: collect something first"
        raise UsageError(f"view `{name}` does not fit here, {reason}; {cure}") from None


def fitting(subject: Subject, names: Iterable[str]) -> list[Drawable]:
    """The views among these that can draw the subject, the most telling first."""
    return fitted(subject, _views(names))


def _views(names: Iterable[str]) -> dict[str, View[Any]]:
    return {name: plugins.find("views", name)() for name in sorted(names, key=_rank)}


def fitted(subject: Subject, views: Mapping[str, View[Any]]) -> list[Drawable]:
    """The views that can draw a subject, in their order; each is asked once."""
    drawables = []
    for name, view in views.items():
        try:
            drawables.append(Drawable(name, view, view.cut(subject)))
        except Unfit:
            continue
    return drawables


def _rank(name: str) -> tuple[int, str]:
    return (VIEW_ORDER.index(name) if name in VIEW_ORDER else len(VIEW_ORDER), name)


def configured(
    subject: Subject, chosen: Iterable[Drawable], options: Mapping[str, str]
) -> list[Drawable]:
    """These views with values in their fields, where they still fit; raises as ``choose``."""
    drawables = {drawable.name: drawable for drawable in chosen}
    views = _configured({name: drawable.view for name, drawable in drawables.items()}, options)
    return [
        drawable
        for name, view in views.items()
        for drawable in (
            [drawables[name]] if view is drawables[name].view else fitted(subject, {name: view})
        )
    ]


def _configured(views: Mapping[str, View[Any]], options: Mapping[str, str]) -> dict[str, View[Any]]:
    """The views with these values in their fields; raises UsageError for what none can take."""
    fields_by_view = {name: _fields(view) for name, view in views.items()}
    every = sorted({field for own_fields in fields_by_view.values() for field in own_fields})
    for option in options:
        if option not in every:
            raise UsageError(
                f"{SET_OPTION} {option:.80}: no view that is drawn has this"
                f" field{nearest(option, every)}"
            )
    built = dict(views)
    for name, own_fields in fields_by_view.items():
        if given := {option: value for option, value in options.items() if option in own_fields}:
            built[name] = plugins.build("views", name, given, SET_OPTION, text=True)
    return built


def _fields(view: Any) -> list[str]:
    return [field.name for field in fields(view)]


def nothing(subject: Subject) -> str:
    """Why there is nothing to draw, in words."""
    if subject.report is not None and subject.report.changes:
        return "Nothing to draw: no comparison has an effect; the table says why."
    if subject.history:
        return (
            "Nothing to draw: no commit of this series has a value above 0, as a history needs;"
            " `perf show REV` shows the others."
        )
    if subject.target or subject.baseline:
        return "Nothing to draw: the profiles have no measurements."
    return "Nothing to draw: there is no profile. `perf collect` makes one."


class PagePiece(NamedTuple):
    """A piece of the subject that becomes one block: which section, under which heading, and what
    to draw.

    ``changed``: a verdict says that it is other than before, or may be. ``echo``: its figure would
    say what that of wall time says, whose ``remark`` tells of it.
    """

    section: str
    key: BenchmarkKey | None
    metric: str
    narrow: Callable[[], Subject]
    scope: Scope = "sample"
    changed: bool = False
    echo: bool = False
    remark: str = ""


def pieces(subject: Subject, *, curves: bool) -> Iterator[PagePiece]:
    """The pieces in the order in which they are worth drawing: effects per metric, the history per
    series, what changed, the rest.

    With ``curves`` those with sizes come as a whole; recorded calls, and what has very many sizes,
    then come in no other way.

    Of the rest jobs come before their benchmarks, each with its wall time, CPU time and peak
    memory; their other metrics follow.
    """
    names = Naming.of(subject)
    effects = list(_effects(subject, names))
    yield from (piece for piece in effects if piece.changed or piece.metric in FIRST_METRICS)
    yield from _courses(subject)
    waiting = _waiting(subject)
    ordered = list(_benchmarks(subject, names, waiting, curves=curves))
    yield from (piece for piece in ordered if piece.changed)
    side_by_side = list(_jobs(subject, {(unit.job, unit.collector) for unit in waiting}))
    yield from (
        piece for piece in side_by_side if piece.scope != "units" or piece.metric in FIRST_METRICS
    )
    ordered = [piece for piece in ordered if not piece.changed]
    yield from (piece for piece in ordered if piece.scope == "sizes")
    ordered = [piece for piece in ordered if piece.scope != "sizes"]
    yield from (piece for piece in ordered if piece.metric in FIRST_METRICS)
    rest = [piece for piece in side_by_side if piece.scope == "units"]
    yield from (
        piece
        for piece in (*effects, *rest, *ordered)
        if piece.metric not in FIRST_METRICS and not piece.changed
    )


def _courses(subject: Subject) -> Iterator[PagePiece]:
    groups = {
        (group[0].label, group[0].uid, group[0].size, group[0].metric): group
        for group in grouped(subject.history)
    }
    for (*_, metric), group in groups.items():
        key = (group[0].label, group[0].uid, group[0].size)
        wall, cpu = (groups.get((*key, time)) for time in (WALL, CPU))
        same = wall is not None and cpu is not None and same_course(wall, cpu)
        narrow = partial(Subject, subject.title, history=group)
        yield _marked(PagePiece(title(key), key, metric, narrow), same=same)


def _marked(piece: PagePiece, *, same: bool, remark: str = REMARK) -> PagePiece:
    """The piece, where CPU time is the ``same`` as wall time, which ``remark`` says."""
    if piece.metric == CPU:
        return piece._replace(echo=same)
    return piece._replace(remark=remark) if same and piece.metric == WALL else piece


def _effects(subject: Subject, names: Naming) -> Iterator[PagePiece]:
    if subject.report is None:
        return
    same = moved_alike(subject.report)
    for metric in sorted({change.metric for change in subject.report.changes}, key=metric_rank):
        mine = [change for change in subject.report.changes if change.metric == metric]
        changes = [msgspec.structs.replace(change, job=names.change(change)[0]) for change in mine]
        report = msgspec.structs.replace(subject.report, changes=changes)
        moved = any(WORDS[change.word].moved for change in changes)
        narrow = partial(Subject, subject.title, report=report)
        piece = PagePiece("All changes", None, metric, narrow, changed=moved)
        yield _marked(piece, same=same, remark=MOVED_ALIKE)


def _waiting(subject: Subject) -> set[DrawnUnit]:
    """The benchmarks with another wall time than CPU time, or without one of them."""
    metrics: dict[DrawnUnit, set[str]] = {}
    for part in parts(subject):
        metrics.setdefault(part.unit, set()).add(part.metric)
    return metrics.keys() - computing(subject)


def _jobs(subject: Subject, waiting: Container[tuple[str, str]]) -> Iterator[PagePiece]:
    """Pieces of all units of a job together: call stacks, courses over time, and each metric.

    ``waiting``: jobs in which something has another wall time than CPU time.
    """
    stacks, whole, units = groups(subject), jobs(subject), together(subject)
    keys = [(job.label, job.collector) for job in whole]
    names = dict(zip(keys, named(keys), strict=True))
    for group, mine in stacks.items():
        yield PagePiece(
            names[group.job, group.collector], None, "call stacks", partial(replace, mine), "stacks"
        )
    for job, mine in whole.items():
        yield PagePiece(
            names[job.label, job.collector], None, "overview", partial(replace, mine), "job"
        )
    for (job, metric), mine in units.items():
        with_report = partial(replace, mine, report=subject.report)
        piece = PagePiece(names[job.label, job.collector], None, metric, with_report, "units")
        yield _marked(piece, same=(job.label, job.collector) not in waiting)


class _Verdicts:
    """The verdicts of a report by what they are on, and their places."""

    def __init__(self, report: Report | None) -> None:
        changes = report.changes if report else []
        self._changes = {
            (change.series, change.uid, change.size, change.metric): change for change in changes
        }
        self._places = {key: place for place, key in enumerate(self._changes)}
        self._curves = {
            (change.job, change.uid, change.metric): key
            for key, change in self._changes.items()
            if change.size is None
        }

    def of(self, part: Part) -> Change | None:
        """The verdict on a part; one over sizes is that of its job, whatever the workloads."""
        series = [cut.profile.job.key for cut in (*part.target, *part.baseline)]
        keys = ((job, part.unit.uid, part.unit.size, part.metric) for job in series)
        series_key = next((key for key in keys if key in self._changes), None)
        if series_key is None and part.unit.size is None:
            series_key = self._curves.get((part.unit.job, part.unit.uid, part.metric))
        return None if series_key is None else self._changes[series_key]

    def place(self, change: Change | None) -> int:
        """Its place in the report."""
        key = None if change is None else (change.series, change.uid, change.size, change.metric)
        return len(self._changes) if key is None else self._places[key]


def _benchmarks(
    subject: Subject, names: Naming, waiting: Collection[DrawnUnit], *, curves: bool
) -> Iterator[PagePiece]:
    """Benchmarks, those first that matter most; with ``curves`` those over all their sizes before
    the others.

    ``waiting`` have another wall time than CPU time.
    """
    verdicts = _Verdicts(subject.report)
    separate = [part for part in parts(subject) if not part.traced]
    if curves:
        along = [
            part
            for part in parts(subject, whole=True)
            if part.judged and part.sizes >= FEWEST_OF_CURVE
        ]
        aside = {
            (part.unit.job, part.unit.uid)
            for part in along
            if part.unit.collector == RECORDER or part.sizes > MAX_SIZES
        }
        separate = [part for part in separate if (part.unit.job, part.unit.uid) not in aside]
        by_place = [(part, verdicts.of(part)) for part in along]
        sized = {unit._replace(size=None) for unit in waiting}
        for part, verdict in sorted(
            by_place,
            key=lambda pair: (pair[0].metric in FIRST_METRICS[1:], verdicts.place(pair[1])),
        ):
            same = part.unit._replace(size=None) not in sized
            yield _marked(_piece(part, verdict, names.unit(part.unit), "sizes"), same=same)
    first: dict[BenchmarkKey, int] = {}
    placed = [
        (part, verdict := verdicts.of(part), names.unit(part.unit), verdicts.place(verdict))
        for part in separate
    ]
    for _, _, key, place in placed:
        first[key] = min(first.get(key, place), place)
    for part, verdict, key, _ in sorted(placed, key=lambda row: first[row[2]]):
        yield _marked(_piece(part, verdict, key, "sample"), same=part.unit not in waiting)


def _piece(part: Part, verdict: Change | None, key: BenchmarkKey, scope: Scope) -> PagePiece:
    moved = verdict is not None and WORDS[verdict.word].moved
    return PagePiece(title(key), key, part.metric, partial(part.narrow, verdict), scope, moved)
