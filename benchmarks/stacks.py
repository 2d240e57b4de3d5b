"""What large flame graphs and heat maps cost: ``python benchmarks/stacks.py``.

Pages of one view each are made of 100,000 different call stacks of 21 frames, of one revision and
of two, the latter also with five executions each, and of a million rows of counters and of
measurements. Shown are the CPU time of making a page, the least of three after a first one, so that
what is imported once does not count, and its bytes.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from perfvcs.check.subject import Subject
from perfvcs.pictures import page
from perfvcs.profile import Collected, Job, Metric, Profile, Resources, Stacks

WHEN = "2026-11-20T09:30:00Z"
STACKS, DEPTH, ROWS = 100_000, 20, 1_000_000


def profile(
    job: Job,
    rows: Resources,
    metrics: dict[str, Metric],
    stacks: Stacks | None = None,
    commit: str = "8c7f",
) -> Profile:
    """A profile of these rows."""
    return Profile(
        commit=commit * 10,
        job=job,
        metrics=metrics,
        resources=rows,
        collected=Collected("x", WHEN, WHEN, "perfvcs"),
        stacks=stacks,
    )


def sampled(seed: int, executions: int, commit: str = "8c7f") -> Profile:
    """Stacks of 3,000 functions in 50 files, all different, each seen in every execution."""
    generator = np.random.default_rng(seed)
    frames = [f"function{number} (file{number % 50}.c)" for number in range(3000)]
    table = [[0, *row] for row in generator.integers(1, 3000, (STACKS, DEPTH)).tolist()]
    count = STACKS * executions
    rows = Resources(
        ["work"],
        [0] * count,
        np.repeat(np.arange(executions), STACKS).tolist(),
        trace=[*range(STACKS)] * executions,
        metrics={"samples": generator.pareto(1, count).tolist()},
    )
    return profile(
        Job("work", "samples", "./work"),
        rows,
        {"samples": Metric("", "none")},
        Stacks(frames, table),
        commit,
    )


def counters() -> Subject:
    """Two counters, each sampled half a million times in ten executions."""
    values = np.random.default_rng(1).random((2, ROWS // 2)).tolist()
    rows = Resources(
        ["shop"],
        [0] * (ROWS // 2),
        np.repeat(np.arange(10), ROWS // 20).tolist(),
        iteration=[*range(1, ROWS // 20 + 1)] * 10,
        metrics={"rss": values[0], "cpu_use": values[1]},
    )
    return Subject(
        "x",
        [
            profile(
                Job("shop", "counters", "./shop"),
                rows,
                {"rss": Metric("B", "none"), "cpu_use": Metric("", "none")},
            )
        ],
    )


def measurements() -> Subject:
    """A million measurements in a hundred executions."""
    rows = Resources(
        ["sort"],
        [0] * ROWS,
        np.repeat(np.arange(100), ROWS // 100).tolist(),
        iteration=[*range(ROWS // 100)] * 100,
        metrics={"wall": np.random.default_rng(1).random(ROWS).tolist()},
    )
    return Subject("x", [profile(Job("sort", "time", "./sort"), rows, {"wall": Metric("s")})])


def main() -> None:
    """Print the table."""
    cases: list[tuple[str, str, dict[str, str], Callable[[], Subject]]] = [
        ("100,000 stacks", "flamegraph", {}, lambda: Subject("x", [sampled(3, 1)])),
        (
            "100,000 stacks each of two revisions",
            "flamediff",
            {},
            lambda: Subject("x", [sampled(3, 1)], [sampled(4, 1, "1f0e")]),
        ),
        (
            "the same in 5 executions each",
            "flamediff",
            {},
            lambda: Subject("x", [sampled(3, 5)], [sampled(4, 5, "1f0e")]),
        ),
        ("1,000,000 values of counters", "heatmap", {}, counters),
        ("1,000,000 measurements", "heatmap", {"by": "execution"}, measurements),
    ]
    print("| | view | CPU time | bytes |\n|---|---|---|---|")
    for name, view, options, make in cases:
        subject, seconds = make(), []
        for _ in range(4):
            began = time.process_time()
            html = page.render(subject, view, options)
            seconds.append(time.process_time() - began)
        print(
            f"| {name} | `{view}` | {min(seconds[1:]):.2f} s | {len(html.encode()) / 1e6:.2f} MB |",
            flush=True,
        )


if __name__ == "__main__":
    main()
