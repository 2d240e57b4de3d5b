"""Subjects of pages with realistic values, made in memory: one revision, two, and a history, also with hostile names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from samples import sample_profile

from perfvcs.check import Report, Word, compare
from perfvcs.profile import Design, Environment, Job, Metric, Profile, Resources, Stacks
from perfvcs.views import Point, Series, Subject

BASELINE, TARGET = "1f0e" * 10, "8c7f" * 10
METRICS = {
    "wall": Metric("s"), "cpu": Metric("s"),
    "maxrss": Metric("B"), "faults": Metric("", "none"), "throughput": Metric("op/s", "higher"),
}  # fmt: skip
CENTRES = {"wall": 0.0131, "cpu": 0.0122, "maxrss": 20.5e6, "faults": 800.0, "throughput": 76e3}
ATTACKS = (
    "</script><img src=x onerror=alert(1)>", "<b>bold</b>", "a" * 10_000, "مقياس الأداء", "naïve 🚀 sort",
    "two\nlines\x00", "@{x} $index $$x^2$$",
    "`; drop table", "' onmouseover='alert(2)", "\u202egnp.exe", " ", "'%s{{7*7}}",
)  # fmt: skip
WORDS: tuple[Word, ...] = ("degradation", "improvement", "suspected", "inconclusive", "same", "not comparable", "new", "missing")

Folded = Mapping[tuple[str, ...], float]
STACK_METRICS = {"busy": Metric("s"), "samples": Metric("", "none"), "share": Metric("", "none")}
MAIN: Folded = {
    ("main (a.py)",): 5, ("main (a.py)", "f (a.py)"): 10, ("main (a.py)", "f (a.py)", "g (b.py)"): 25, ("main (a.py)", "h (b.py)"): 60,
}  # fmt: skip


def measured(
    name: str = "sort", *, executions: int = 10, iterations: int = 1, metrics: Sequence[str] = ("wall", "cpu", "maxrss"), seed: int = 1,
    factor: float = 1.0, uids: Sequence[str] = (), sizes: Sequence[float] = (), commit: str = TARGET, **overrides: Any,
) -> Profile:  # fmt: skip
    """A profile whose executions differ by 2 % and whose measurements inside one differ by 1 %, with some that waited."""
    random = np.random.default_rng(seed)
    units = [(uid, size) for uid in range(len(uids) or 1) for size in (sizes or [None])]
    shape = (len(units), executions, iterations)
    count = int(np.prod(shape))
    unit, execution, iteration = (axis.ravel() for axis in np.indices(shape))
    slow = 1 + 0.03 * random.gamma(1.0, 1.0, (1, executions, 1))
    values = {}
    for metric in metrics:
        scatter = random.normal(0, 0.01, shape) + random.normal(0, 0.02, (len(units), executions, 1))
        values[metric] = CENTRES[metric] * factor * (1 + np.arange(len(units)))[:, None, None] * np.exp(scatter) * slow
    mark = (random.random(executions) < 0.15).astype(int)[execution]
    rows = Resources(
        names=list(uids) or [name], uid=[0] * count if not uids else [uids.index(uids[units[u][0]]) for u in unit.tolist()],
        execution=execution.tolist(), iteration=iteration.tolist() if iterations > 1 else None, mark=mark.tolist(),
        size=[units[u][1] for u in unit.tolist()] if sizes else None,
        metrics={metric: column.ravel().tolist() for metric, column in values.items()},
    )  # fmt: skip
    fields: dict[str, Any] = {
        "commit": commit, "resources": rows, "metrics": {metric: METRICS[metric] for metric in metrics},
        "job": Job(name=name, collector="time", cmd=f"./{name}", engine="launcher/1"),
        "design": Design(
            executions=executions, warmup=1, version=int(commit == TARGET), order="interleaved", seed=20261120,
            versions=[BASELINE, TARGET],
        ),
        "environment": Environment(
            {"cpu": "AMD EPYC 7B13", "kernel": "6.1.0", "machine": "x86_64", "libc": "glibc 2.36"}, "9b1c6d0f42aa",
            {"load": "0.12"}, ["the load was 1.7 on 2 processors: stop other programs"],
        ),
    }  # fmt: skip
    return sample_profile(**(fields | overrides))


def sampled(*executions: Folded, commit: str = TARGET, metric: str = "samples", **overrides: Any) -> Profile:
    """A profile as the collector `samples` gives it, of one folded set of stacks per execution."""
    known = list(dict.fromkeys(stack for folded in executions for stack in folded))
    frames = list(dict.fromkeys(frame for stack in known for frame in stack))
    names = ["work", *dict.fromkeys(stack[-1] for stack in known)]
    rows = [(number, stack) for number, folded in enumerate(executions) for stack in (None, *folded)]
    totals = [sum(folded.values()) for folded in executions]
    metrics = STACK_METRICS if metric == "samples" else {metric: Metric("", "none", "deterministic")}
    values: dict[str, list[float | None]] = {
        "busy": [totals[number] / 100 if stack is None else None for number, stack in rows],
        metric: [totals[number] if stack is None else executions[number][stack] for number, stack in rows],
        "share": [None if stack is None else executions[number][stack] / totals[number] for number, stack in rows],
    }
    resources = Resources(
        names, [0 if stack is None else names.index(stack[-1]) for _, stack in rows], [number for number, _ in rows],
        trace=[-1 if stack is None else known.index(stack) for _, stack in rows],
        metrics={name: values[name] for name in metrics},
    )  # fmt: skip
    fields: dict[str, Any] = {
        "commit": commit, "metrics": metrics, "resources": resources, "design": Design(executions=len(executions)),
        "stacks": Stacks(frames, [[frames.index(frame) for frame in stack] for stack in known]),
        "job": Job("work", "samples", "./work", engine="perf-dwarf/1"),
    }  # fmt: skip
    return sample_profile(**(fields | overrides))


def one(**options: Any) -> Subject:
    """One revision with two jobs."""
    names = ("sort --reverse data/10k.txt", "parse")
    return Subject(
        "sort at 8c7f8c7f, “insert by halves”", [measured(name, seed=seed, **options) for seed, name in enumerate(names)]
    )


def two(count: int = 12, **options: Any) -> Subject:
    """Two revisions, interleaved, with effects between -20 and +25 %."""
    effects = [1.0, 1.25, 1.03, 0.8, 1.004, 1.0, 0.97, 1.06, 1.0, 1.001, 1.012, 2.4]
    names = [f"benchmark {number} --with data/{number}k.txt" for number in range(count)]
    before = [measured(name, seed=2 * number, commit=BASELINE, **options) for number, name in enumerate(names)]
    after = [measured(name, seed=2 * number + 1, factor=effects[number % 12], **options) for number, name in enumerate(names)]
    return Subject("1f0e1f0e against 8c7f8c7f", after, before, report(before, after))


def report(before: Sequence[Profile], after: Sequence[Profile]) -> Report:
    """The default verdict."""
    return compare(before, after)


def history(commits: int = 60, *, labels: Sequence[str] = ("sort", "parse"), environments: int = 1, seed: int = 5) -> Subject:
    """Series with a degradation in the middle and an improvement near the end; every seventh commit has one execution."""
    random = np.random.default_rng(seed)
    series = []
    for label in labels:
        for metric in ("wall", "cpu", "maxrss"):
            for environment in range(environments):
                points = []
                for number in range(commits):
                    centre = CENTRES[metric] * (1 + 0.2 * environment) * (1.12 if commits // 2 <= number < commits - 5 else 1.0)
                    centre *= float(np.exp(random.normal(0, 0.008)))
                    alone = number % 7 == 3
                    word: str = {commits // 2: "degradation", commits - 5: "improvement"}.get(
                        number, "inconclusive" if alone else "same"
                    )
                    points.append(
                        Point(
                            f"{number:08x}" * 5, f"commit {number}: <i>tidy</i>", "Ada Lovelace", f"2026-0{1 + number % 9}-12 10:00",
                            1 if alone else 10,
                            centre, None if alone else centre * 0.985, None if alone else centre * 1.016, word if number else "",
                            float(random.normal(0, 0.01)) if number else None,
                        )
                    )  # fmt: skip
                unit, better = METRICS[metric].unit, METRICS[metric].better
                series.append(Series(label, label.split(" ")[0], None, metric, unit, better, f"9b1c6d0f42a{environment}", points))
    return Subject("history of sort and parse", history=series)


def hostile() -> Subject:
    """Two revisions whose every name is an attack."""
    sides = []
    for commit, factor in ((BASELINE, 1.0), (TARGET, 1.3)):
        job = Job(name=ATTACKS[0], collector="time", cmd="./x", args=ATTACKS[1], workload=ATTACKS[4], engine="launcher/1")
        place = Environment({ATTACKS[0]: ATTACKS[1]}, "9b1c6d0f42aa", {}, [ATTACKS[0]])
        metrics = {"wall": Metric(ATTACKS[0]), "cpu": Metric(ATTACKS[6])}
        profile = measured(
            uids=ATTACKS, factor=factor, commit=commit, job=job, environment=place, iterations=3, seed=int(10 * factor)
        )
        rows = profile.resources
        rows.metrics = {name: rows.metrics[name] for name in metrics}
        sides.append(
            [sample_profile(**{name: getattr(profile, name) for name in profile.__struct_fields__} | {"metrics": metrics})]
        )
    return Subject(ATTACKS[0] * 20, sides[1], sides[0], report(*sides))


def hostile_history() -> Subject:
    """A history whose commits, authors and environments are attacks."""
    points = [
        Point(f"{number:08x}" * 5, attack, attack, attack, 3, 1e-5, 0.9e-5, 1.1e-5, "degradation", 0.1)
        for number, attack in enumerate(ATTACKS)
    ]
    return Subject(
        ATTACKS[3],
        history=[Series(attack, attack, None, "wall", "s", "lower", attack, points) for attack in ATTACKS for _ in (1, 2)],
    )
