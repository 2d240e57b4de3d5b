"""Subjects of pages with realistic values, made in memory: one revision, two, and a history, also
with hostile names.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from browsing import drawn
from samples import sample_profile

from perfvcs.check import Report, Word, compare
from perfvcs.check.subject import Level, Point, Series, Step, Subject
from perfvcs.plugins.view import Unfit, View
from perfvcs.profile import Design, Environment, Job, Metric, Profile, Resources, Stacks
from perfvcs.reports.packing import FigureArchive

if TYPE_CHECKING:
    from bokeh.plotting import figure

BASELINE, TARGET = "1f0e" * 10, "8c7f" * 10
METRICS = {
    "wall": Metric("s"),
    "cpu": Metric("s"),
    "maxrss": Metric("B"),
    "faults": Metric("", "none"),
    "throughput": Metric("op/s", "higher"),
}
CENTRES = {"wall": 0.0131, "cpu": 0.0122, "maxrss": 20.5e6, "faults": 800.0, "throughput": 76e3}
ATTACKS = (
    "</script><img src=x onerror=alert(1)>",
    "<b>bold</b>",
    "a" * 10_000,
    "مقياس الأداء",
    "naïve 🚀 sort",
    "two\nlines\x00",
    "@{x} $index $$x^2$$",
    "`; drop table",
    "' onmouseover='alert(2)",
    "\u202egnp.exe",
    " ",
    "'%s{{7*7}}",
)
WORDS: tuple[Word, ...] = (
    "degradation",
    "improvement",
    "suspected",
    "inconclusive",
    "same",
    "not comparable",
    "new",
    "missing",
)

Folded = Mapping[tuple[str, ...], float]
STACK_METRICS = {"busy": Metric("s"), "samples": Metric("", "none"), "share": Metric("", "none")}
MAIN: Folded = {
    ("main (a.py)",): 5,
    ("main (a.py)", "f (a.py)"): 10,
    ("main (a.py)", "f (a.py)", "g (b.py)"): 25,
    ("main (a.py)", "h (b.py)"): 60,
}


def measured(
    name: str = "sort",
    *,
    executions: int = 10,
    iterations: int = 1,
    metrics: Sequence[str] = ("wall", "cpu", "maxrss"),
    seed: int = 1,
    factor: float = 1.0,
    uids: Sequence[str] = (),
    sizes: Sequence[float] = (),
    commit: str = TARGET,
    **overrides: Any,
) -> Profile:
    """A profile whose executions differ by 2 % and whose measurements inside one differ by 1 %,
    with some that waited.
    """
    random = np.random.default_rng(seed)
    units = [(uid, size) for uid in range(len(uids) or 1) for size in (sizes or [None])]
    shape = (len(units), executions, iterations)
    count = int(np.prod(shape))
    unit, execution, iteration = (axis.ravel() for axis in np.indices(shape))
    slow = 1 + 0.03 * random.gamma(1.0, 1.0, (1, executions, 1))
    values = {}
    for metric in metrics:
        scatter = random.normal(0, 0.01, shape) + random.normal(
            0, 0.02, (len(units), executions, 1)
        )
        values[metric] = (
            CENTRES[metric]
            * factor
            * (1 + np.arange(len(units)))[:, None, None]
            * np.exp(scatter)
            * slow
        )
    mark = (random.random(executions) < 0.15).astype(int)[execution]
    rows = Resources(
        names=list(uids) or [name],
        uid=[0] * count if not uids else [uids.index(uids[units[u][0]]) for u in unit.tolist()],
        execution=execution.tolist(),
        iteration=iteration.tolist() if iterations > 1 else None,
        mark=mark.tolist(),
        size=[units[u][1] for u in unit.tolist()] if sizes else None,
        metrics={metric: column.ravel().tolist() for metric, column in values.items()},
    )
    fields: dict[str, Any] = {
        "commit": commit,
        "resources": rows,
        "metrics": {metric: METRICS[metric] for metric in metrics},
        "job": Job(name=name, collector="time", cmd=f"./{name}", engine="launcher/1"),
        "design": Design(
            executions=executions,
            warmup=1,
            version=int(commit == TARGET),
            order="interleaved",
            seed=20261120,
            versions=[BASELINE, TARGET],
        ),
        "environment": Environment(
            {"cpu": "AMD EPYC 7B13", "kernel": "6.1.0", "machine": "x86_64", "libc": "glibc 2.36"},
            "9b1c6d0f42aa",
            {"load": "0.12"},
            ["the load was 1.7 on 2 processors: stop other programs"],
        ),
    }
    return sample_profile(**(fields | overrides))


def sampled(
    *executions: Folded, commit: str = TARGET, metric: str = "samples", **overrides: Any
) -> Profile:
    """A profile as the collector `samples` gives it, of one folded set of stacks per execution."""
    known = list(dict.fromkeys(stack for folded in executions for stack in folded))
    frames = list(dict.fromkeys(frame for stack in known for frame in stack))
    names = ["work", *dict.fromkeys(stack[-1] for stack in known)]
    rows = [
        (number, stack) for number, folded in enumerate(executions) for stack in (None, *folded)
    ]
    totals = [sum(folded.values()) for folded in executions]
    metrics = (
        STACK_METRICS if metric == "samples" else {metric: Metric("", "none", "deterministic")}
    )
    values: dict[str, list[float | None]] = {
        "busy": [totals[number] / 100 if stack is None else None for number, stack in rows],
        metric: [
            totals[number] if stack is None else executions[number][stack] for number, stack in rows
        ],
        "share": [
            None if stack is None else executions[number][stack] / totals[number]
            for number, stack in rows
        ],
    }
    resources = Resources(
        names,
        [0 if stack is None else names.index(stack[-1]) for _, stack in rows],
        [number for number, _ in rows],
        trace=[-1 if stack is None else known.index(stack) for _, stack in rows],
        metrics={name: values[name] for name in metrics},
    )
    fields: dict[str, Any] = {
        "commit": commit,
        "metrics": metrics,
        "resources": resources,
        "design": Design(executions=len(executions)),
        "stacks": Stacks(frames, [[frames.index(frame) for frame in stack] for stack in known]),
        "job": Job("work", "samples", "./work", engine="perf-dwarf/1"),
    }
    return sample_profile(**(fields | overrides))


def counted(
    name: str = "shop",
    *,
    executions: int = 3,
    moments: int = 40,
    factor: float = 1.0,
    seed: int = 1,
    only: Sequence[str] = (),
    **overrides: Any,
) -> Profile:
    """A profile as the collector `counters` gives it: a row of totals, then one per moment, and one
    of the machine beside it.

    Reads follow the load by ``factor``; the number of threads never changes. ``only``: counters,
    all without it.
    """
    random = np.random.default_rng(seed)
    shape = (executions, moments)
    load = 1 + 0.6 * np.sin(np.linspace(0, 12, moments)) + 0.1 * random.normal(size=shape)
    rss = 20e6 * (1 + np.linspace(0, 1, moments)) * np.exp(0.02 * random.normal(size=shape))
    tree = {
        "cpu_use": 0.5 * load,
        "rss": rss,
        "rss_anon": 0.7 * rss,
        "read_char_rate": 3e6 * factor * load,
        "write_char_rate": 1e6 * load,
        "voluntary_switch_rate": 900 * load,
        "threads": np.full(shape, 4.0),
        "descriptors": 12 + np.round(4 * random.random(shape)),
    }
    whole = np.full((executions, 1 + 2 * moments), np.nan)
    columns = (
        {"wall": whole.copy()}
        | {counter: whole.copy() for counter in tree}
        | {"machine_busy": whole.copy()}
    )
    columns["wall"][:, 0] = 4 * np.exp(0.02 * random.normal(size=executions))
    columns["machine_busy"][:, 1 + moments :] = 0.6 * load
    for counter, values in tree.items():
        columns[counter][:, 1 : 1 + moments] = values
    kept = {counter: columns[counter].ravel().tolist() for counter in only or columns}
    units = {
        "wall": "s",
        "rss": "B",
        "rss_anon": "B",
        "read_char_rate": "B/s",
        "write_char_rate": "B/s",
        "voluntary_switch_rate": "1/s",
    }
    fields: dict[str, Any] = {
        "job": Job(name, "counters", f"./{name}", engine="proc+launcher/1"),
        "design": Design(executions=executions),
        "metrics": {
            counter: Metric(units.get(counter, ""), "lower" if counter == "wall" else "none")
            for counter in kept
        },
        "resources": Resources(
            [name, "machine"],
            [*[0] * (1 + moments), *[1] * moments] * executions,
            np.repeat(np.arange(executions), 1 + 2 * moments).tolist(),
            iteration=[0, *range(moments), *range(moments)] * executions,
            metrics={
                counter: [None if math.isnan(one) else one for one in column]
                for counter, column in kept.items()
            },
        ),
    }
    return sample_profile(**(fields | overrides))


def heaped(
    name: str = "names",
    *,
    executions: int = 1,
    moments: int = 60,
    factor: float = 1.0,
    only: Sequence[str] = (),
    folded: Folded = MAIN,
    **overrides: Any,
) -> Profile:
    """A profile as the collector `memory` gives it: totals, the stacks that allocated, and what
    three functions kept alive when.

    ``only``: metrics, all without it.
    """
    sites = {stack: 1000 * factor * weight for stack, weight in folded.items()}
    course = [(uid, moment) for uid in (name, "g", "h", "parse") for moment in range(moments)]
    live = [
        1e6 * factor * (1 + math.sin(moment / 9 + at))
        for at in range(4)
        for moment in range(moments)
    ]
    own: list[dict[str, float]] = [{"peak": 3e6 * factor, "bytes": 9e6 * factor, "count": 4e4}]
    own += [{"site_bytes": value, "site_peak": value / 3} for value in sites.values()]
    own += [
        {"live": value, "moment": 0.01 * moment}
        for value, (_, moment) in zip(live, course, strict=True)
    ]
    uids = [name, *(stack[-1] for stack in sites), *(uid for uid, _ in course)]
    names = list(dict.fromkeys(uids))
    frames = list(dict.fromkeys(frame for stack in sites for frame in stack))
    metrics = only or list(dict.fromkeys(metric for row in own for metric in row))
    units = {"count": "", "moment": "s"}
    fields: dict[str, Any] = {
        "job": Job(name, "memory", f"./{name}", engine="allocations/1"),
        "design": Design(executions=executions),
        "metrics": {
            metric: Metric(
                units.get(metric, "B"), "lower" if metric in own[0] else "none", "deterministic"
            )
            for metric in metrics
        },
        "resources": Resources(
            names,
            [names.index(uid) for uid in uids] * executions,
            np.repeat(np.arange(executions), len(own)).tolist(),
            iteration=[*[0] * (1 + len(sites)), *(moment for _, moment in course)] * executions,
            trace=[-1, *range(len(sites)), *[-1] * len(course)] * executions,
            metrics={metric: [row.get(metric) for row in own] * executions for metric in metrics},
        ),
        "stacks": Stacks(frames, [[frames.index(frame) for frame in stack] for stack in sites]),
    }
    return sample_profile(**(fields | overrides))


def called(
    name: str = "skiplist",
    *,
    calls: int = 300,
    executions: int = 5,
    seed: int = 1,
    slope: float = 0.0,
    **overrides: Any,
) -> Profile:
    """A profile as the collector `complexity` gives it: calls of two functions, the first of them
    slower by ``slope`` s per element.
    """
    random = np.random.default_rng(seed)
    shape = (2, executions, calls)
    size = np.sort(random.integers(1, 2_000, shape), axis=-1)
    seconds = (9e-8 + 3e-8 * np.log(size)) * np.exp(0.1 * np.abs(random.normal(size=shape)))
    seconds[0] += slope * size[0]
    unit, execution, number = (axis.ravel().tolist() for axis in np.indices(shape))
    fields: dict[str, Any] = {
        "job": Job(name, "complexity", f"./{name}", engine="fentry"),
        "design": Design(executions=executions),
        "metrics": {"duration": Metric("s")},
        "resources": Resources(
            ["SkipList.insert", "SkipList.search"],
            unit,
            execution,
            iteration=number,
            size=[*map(float, size.ravel().tolist())],
            metrics={"duration": seconds.ravel().tolist()},
        ),
    }
    return sample_profile(**(fields | overrides))


def everything(*, commit: str = TARGET, factor: float = 1.0, seed: int = 1) -> list[Profile]:
    """A little of what all collectors take of one revision, so that every view of a revision has
    something to draw.
    """
    folded = {
        ("main (a.py)",): 5.0,
        ("main (a.py)", "f (b.py)"): 7.0 * factor,
        ("main (a.py)", "f (b.py)", "g (c.py)"): 20.0,
    }
    options: dict[str, Any] = {"seed": seed, "factor": factor, "commit": commit}
    return [
        measured("sort", executions=5, iterations=12, metrics=["wall"], **options),
        measured(
            "tests", uids=["test_parse", "test_split"], executions=5, metrics=["cpu"], **options
        ),
        called(executions=5, calls=100, seed=seed, slope=1e-9 * (factor - 1), commit=commit),
        counted(executions=2, moments=20, only=("rss", "cpu_use", "read_char_rate"), **options),
        heaped(
            moments=20,
            only=("live", "moment", "site_bytes"),
            folded=folded,
            factor=factor,
            commit=commit,
        ),
    ]


def attacked(profile: Profile) -> Profile:
    """The same measurements under hostile names: of job, arguments, what was measured and in which
    unit, frames, and machine.
    """
    attacks = [attack[:200] for attack in ATTACKS]

    def names(count: int) -> list[str]:
        return [
            f"{attacks[number % len(attacks)]}{number // len(attacks) or ''}"
            for number in range(count)
        ]

    rows = profile.resources
    metrics = {
        name: Metric(attacks[at % 2], one.better, one.kind)
        for at, (name, one) in enumerate(profile.metrics.items())
    }
    stacks = (
        None
        if profile.stacks is None
        else Stacks(names(len(profile.stacks.frames)), profile.stacks.stacks)
    )
    job = msgspec.structs.replace(
        profile.job, name=ATTACKS[0], args=ATTACKS[2], workload=ATTACKS[4]
    )
    place = Environment({ATTACKS[0]: ATTACKS[1]}, "9b1c6d0f42aa", {}, [ATTACKS[0]])
    return msgspec.structs.replace(
        profile,
        job=job,
        metrics=metrics,
        environment=place,
        stacks=stacks,
        resources=replace(rows, names=names(len(rows.names))),
    )


def all_of_one() -> Subject:
    """One revision as every collector saw it."""
    return Subject("all that was measured of 8c7f8c7f", everything())


def all_of_two() -> Subject:
    """Two revisions as every collector saw them, the second slower by a fifth."""
    before, after = everything(commit=BASELINE, seed=1), everything(factor=1.2, seed=2)
    return Subject("1f0e1f0e against 8c7f8c7f", after, before, report(before, after))


def all_hostile() -> Subject:
    """One revision as every collector saw it, all of whose names are attacks."""
    return Subject(ATTACKS[0] * 20, [attacked(profile) for profile in everything()])


def all_hostile_of_two() -> Subject:
    """Two revisions whose every name is an attack."""
    before, after = [
        [attacked(profile) for profile in everything(factor=factor)] for factor in (1.0, 1.3)
    ]
    return Subject(ATTACKS[6], after, before, report(before, after))


def one(**options: Any) -> Subject:
    """One revision with two jobs."""
    names = ("sort --reverse data/10k.txt", "parse")
    return Subject(
        "sort at 8c7f8c7f, “insert by halves”",
        [measured(name, seed=seed, **options) for seed, name in enumerate(names)],
    )


def two(count: int = 12, **options: Any) -> Subject:
    """Two revisions, interleaved, with effects between -20 and +25 %."""
    effects = [1.0, 1.25, 1.03, 0.8, 1.004, 1.0, 0.97, 1.06, 1.0, 1.001, 1.012, 2.4]
    names = [f"benchmark {number} --with data/{number}k.txt" for number in range(count)]
    before = [
        measured(name, seed=2 * number, commit=BASELINE, **options)
        for number, name in enumerate(names)
    ]
    after = [
        measured(name, seed=2 * number + 1, factor=effects[number % 12], **options)
        for number, name in enumerate(names)
    ]
    return Subject("1f0e1f0e against 8c7f8c7f", after, before, report(before, after))


def report(before: Sequence[Profile], after: Sequence[Profile]) -> Report:
    """The default verdict."""
    return compare(before, after)


def history(
    commits: int = 60,
    *,
    labels: Sequence[str] = ("sort", "parse"),
    environments: int = 1,
    seed: int = 5,
) -> Subject:
    """Series with a degradation in the middle and an improvement near the end; every seventh commit
    has one execution.
    """
    random = np.random.default_rng(seed)
    series = []
    for label in labels:
        for metric in ("wall", "cpu", "maxrss"):
            for environment in range(environments):
                points = []
                for number in range(commits):
                    centre = (
                        CENTRES[metric]
                        * (1 + 0.2 * environment)
                        * (1.12 if commits // 2 <= number < commits - 5 else 1.0)
                    )
                    centre *= float(np.exp(random.normal(0, 0.008)))
                    alone = number % 7 == 3
                    word: str = {commits // 2: "degradation", commits - 5: "improvement"}.get(
                        number, "inconclusive" if alone else "same"
                    )
                    points.append(
                        Point(
                            f"{number:08x}" * 5,
                            f"commit {number}: <i>tidy</i>",
                            "Ada Lovelace",
                            f"2026-0{1 + number % 9}-12 10:00",
                            1 if alone else 10,
                            centre,
                            None if alone else centre * 0.985,
                            None if alone else centre * 1.016,
                            word if number else "",
                            float(random.normal(0, 0.01)) if number else None,
                        )
                    )
                unit, better = METRICS[metric].unit, METRICS[metric].better
                series.append(
                    Series(
                        label,
                        label.split(" ")[0],
                        None,
                        metric,
                        unit,
                        better,
                        f"9b1c6d0f42a{environment}",
                        points,
                    )
                )
    return Subject("history of sort and parse", history=series)


def found(subject: Subject) -> Subject:
    """A history with what `perf history` finds in it: a degradation in the middle, which is
    accepted for CPU time, and an improvement at its end.

    Of memory nothing; the last but one commit was merged.
    """
    series = []
    for one in subject.history:
        points = [
            replace(point, aside=point is one.points[-2], medians=[point.centre] * point.executions)
            for point in one.points
        ]
        middle, end, last = len(points) // 2, len(points) - 12, len(points) - 1
        spans = [(0, last)] if one.metric == "maxrss" else [(0, middle - 1), (middle, end)]
        levels = []
        for start, stop in spans:
            centre = float(np.median([point.centre for point in points[start : stop + 1]]))
            levels.append(
                Level(
                    points[start].commit,
                    points[stop].commit,
                    centre,
                    0.997 * centre,
                    1.003 * centre,
                )
            )
        before, after = levels[0].centre, levels[-1].centre
        at, later = points[middle].commit, points[last].commit
        reason = "it checks its <b>input</b>" if one.metric == "cpu" else None
        steps = [
            Step(
                at,
                "degradation",
                "degradation",
                points[middle - 2].commit,
                at,
                3,
                before,
                after,
                after / before - 1,
                0.11,
                0.13,
                1e-30,
                ("pelt", "divisive"),
                reason,
            ),
            Step(
                later,
                "improvement",
                "improvement",
                points[end + 1].commit,
                later,
                11,
                after,
                before,
                before / after - 1,
                None,
                None,
                1e-9,
                ("pelt", "window"),
            ),
        ]
        series.append(
            replace(one, points=points, levels=levels, steps=steps if len(levels) > 1 else [])
        )
    return replace(subject, history=series)


def hostile() -> Subject:
    """Two revisions whose every name is an attack."""
    sides = []
    for commit, factor in ((BASELINE, 1.0), (TARGET, 1.3)):
        job = Job(
            name=ATTACKS[0],
            collector="time",
            cmd="./x",
            args=ATTACKS[1],
            workload=ATTACKS[4],
            engine="launcher/1",
        )
        place = Environment({ATTACKS[0]: ATTACKS[1]}, "9b1c6d0f42aa", {}, [ATTACKS[0]])
        metrics = {"wall": Metric(ATTACKS[0]), "cpu": Metric(ATTACKS[6])}
        profile = measured(
            uids=ATTACKS,
            factor=factor,
            commit=commit,
            job=job,
            environment=place,
            iterations=3,
            seed=int(10 * factor),
        )
        rows = profile.resources
        rows.metrics = {name: rows.metrics[name] for name in metrics}
        sides.append(
            [
                sample_profile(
                    **{name: getattr(profile, name) for name in profile.__struct_fields__}
                    | {"metrics": metrics}
                )
            ]
        )
    return Subject(ATTACKS[0] * 20, sides[1], sides[0], report(*sides))


def hostile_history() -> Subject:
    """A history whose commits, authors and environments are attacks."""
    points = [
        Point(
            f"{number:08x}" * 5,
            attack,
            attack,
            attack,
            3,
            1e-5,
            0.9e-5,
            1.1e-5,
            "degradation",
            0.1,
            None,
            None,
            attack,
        )
        for number, attack in enumerate(ATTACKS)
    ]
    first, middle, last = points[0].commit, points[4].commit, points[-1].commit
    levels = [Level(first, points[3].commit, 1e-5), Level(middle, last, 1.1e-5, 1.09e-5, 1.12e-5)]
    steps = [
        Step(
            middle,
            "degradation",
            "degradation",
            middle,
            middle,
            1,
            1e-5,
            1.1e-5,
            0.1,
            None,
            None,
            0.0,
            ATTACKS[:1],
            attack,
        )
        for attack in ATTACKS
    ]
    return Subject(
        ATTACKS[3],
        history=[
            Series(
                attack, attack, None, "wall", "s", "lower", attack, points, levels, steps, attack
            )
            for attack in ATTACKS
            for _ in (1, 2)
        ],
    )


def refusal(view: View[Any], subject: Subject) -> str | None:
    """Why a view does not draw a subject; None where it does."""
    try:
        view.cut(subject)
    except Unfit as reason:
        return str(reason)
    return None


def rendered(view: View[Any], subject: Subject) -> Any:
    """The layout that a view makes of a subject."""
    return view.render(view.cut(subject))


def packed(layout: Any) -> tuple[dict[str, Any], int]:
    """The document of a layout as a page packs it for BokehJS, and how many plots it has.

    Bokeh's own encoder computes the defaults of all models, only to leave them out.
    """
    archive = FigureArchive()
    plots = archive.add(layout, "f1")
    (found,) = drawn(archive.text())
    return found["doc"], plots


def written(view: View[Any], subject: Subject, width: int) -> str:
    """What a view draws with characters."""
    found = view.text(view.cut(subject), width)
    assert found is not None
    return found


def figures(view: View[Any], subject: Subject) -> list[figure]:
    """The figures that a view draws of a subject which fits, in the order in which it makes them,
    after bokeh has accepted them.
    """
    layout = rendered(view, subject)
    packed(layout)
    return plots(layout)


def plots(layout: Any) -> list[figure]:
    """The figures in a layout, in the order in which they were made."""
    from bokeh.plotting import figure

    return sorted(layout.select({"type": figure}), key=lambda plot: int(plot.id.lstrip("p")))  # type: ignore[attr-defined]


def labels(plot: figure) -> list[str]:
    """What the legends of a figure say."""
    from bokeh.models import Legend

    return [item.label.value for legend in plot.select({"type": Legend}) for item in legend.items]  # type: ignore[attr-defined]


def said(plot: figure) -> str:
    """The title of a figure on one line, and its caption."""
    return " ".join(
        part.text.replace("\n", " ") for part in (plot.title, *plot.below) if hasattr(part, "text")
    )
