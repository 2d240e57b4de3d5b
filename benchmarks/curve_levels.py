"""How often the methods on curves call equal curves changed, and how often they find an error and
name its kind, on many grids of sizes.

    python benchmarks/curve_levels.py [--repetitions 200] [--method NAME]... [--grid NAME]...
    [--executions M]... [--noise SHARE]...
                                      [--start SHARE] [--floor SHARE] [--apart] [--sound] [--detail]
    python benchmarks/curve_levels.py --kinds [--repetitions 200] [--grid NAME]... [--noise
    SHARE]... python benchmarks/curve_levels.py --period [--repetitions 200]

Grids of 5 to 1,000 sizes, linear (to 500) and logarithmic (1 to 100,000), and 16 doublings;
baselines that are constant, logarithmic, linear, quadratic, a power or an exponential; 1, 3, 5 and
10 executions a side in turns; multiplicative noise of 1, 5 and 10 % in every value, independent.
Beside each sound curve the target has a constant, a linear or a quadratic error of 10 % of the
curve at its right end.

``--start``: each execution is off as a whole by so much (standard deviation). ``--floor``: every
value has a further noise of that share of the curve's left end, as a clock has, whatever the size.
``--apart``: the two sides were measured one after the other.

Prints of each method and grid, over all baselines, executions and noises: which share of the sound
curves is called changed, or suspected, the worst such share of one baseline and number of
executions, and how often the errors are found (changed or suspected) and their kinds named rightly.
``--kinds`` prints the same of ``statistics.regression.kind`` alone, which all that name a kind ask,
for one execution a side; that is quick. ``--period``: the contrast alone, of curves of ten sizes in
pairs whose second execution is slower by 0 to 20 % at every size; the order is drawn by a coin, and
known or not, or balanced and known. No correction for many comparisons hides a false alarm: each
curve counts as if it were alone. To have the figures of an earlier checkout, run the script with
its folder first in PYTHONPATH.
"""

from __future__ import annotations

import argparse
import dataclasses
import time
from collections import Counter, defaultdict
from collections.abc import Callable

import numpy as np
from noise import balanced, coin
from numpy.typing import NDArray

from perfvcs.check import Change, compare
from perfvcs.check.curves.contrast import Contrast, contrasts
from perfvcs.check.curves.replication import ExecutionLines
from perfvcs.check.methods import curves as default
from perfvcs.profile import Collected, Design, Environment, Job, Metric, Profile, Resources
from perfvcs.statistics.regression.kind import KINDS, kind

Floats = NDArray[np.float64]

METHODS = (
    "curves",
    "absolute-error",
    "studentized",
    "relative-error",
    "best-model-order",
    "integral",
    "linear-difference",
    "polynomial-difference",
    "local-statistics",
    "average-amount",
)
GRIDS: dict[str, Floats] = {
    **{
        f"{count} linear": np.linspace(500 / count, 500, count)
        for count in (5, 6, 10, 16, 30, 100, 500, 1000)
    },
    **{
        f"{count} logarithmic": np.geomspace(1, 1e5, count)
        for count in (5, 6, 10, 16, 30, 100, 500, 1000)
    },
    "16 doublings": 2.0 ** np.arange(16),
    "6 doublings": 10 * 2.0 ** np.arange(6),
}
BASELINES: dict[str, Callable[[Floats], Floats]] = {
    "constant": lambda x: 100 + 0 * x,
    "logarithmic": lambda x: 50 + 100 * np.log(x),
    "linear": lambda x: 5 + 2 * x,
    "quadratic": lambda x: 1 + 0.01 * x**2,
    "power": lambda x: 3 * x**1.5,
    "exponential": lambda x: 50 * np.exp(5 * x / x.max()),
}
ERRORS: dict[str, Callable[[Floats], Floats]] = {
    "none": lambda u: 0 * u,
    "constant": lambda u: 1 + 0 * u,
    "linear": lambda u: u,
    "quadratic": lambda u: u * u,
}
SHARE = 0.1
PAIRS = (5, 8, 10, 15, 30)
SIZED = 10  # sizes of the curves with a period effect
ROWS = 60_000  # of a side at most: grids with more have fewer repetitions
COMMITS = ("1" * 40, "2" * 40)


def side(values: Floats, sizes: Floats, version: int, apart: bool) -> Profile:
    """A profile of values of the shape (curves, executions, sizes)."""
    curves, executions, count = values.shape
    names = [f"curve {number}" for number in range(curves)]
    rows = Resources(
        names,
        np.repeat(np.arange(curves), executions * count).tolist(),
        np.tile(np.repeat(np.arange(executions), count), curves).tolist(),
        size=np.tile(sizes, curves * executions).tolist(),
        metrics={"wall": values.ravel().tolist()},
    )
    return Profile(
        commit=COMMITS[version],
        job=Job("program", "time", "./program"),
        collected=Collected(
            f"s{version * apart}",
            f"2026-11-2{version}T09:30:00Z",
            f"2026-11-2{version}T09:40:00Z",
            "perfvcs",
        ),
        environment=Environment({"cpu": "x"}, "0123456789ab"),
        metrics={"wall": Metric("ms")},
        resources=rows,
        design=Design(
            executions=executions,
            order="sequential" if apart else "interleaved",
            version=version * (not apart),
            versions=list(COMMITS[version : version + 1] if apart else COMMITS),
        ),
    )


def values(
    random: np.random.Generator,
    curve: Floats,
    shape: tuple[int, int],
    noise: float,
    options: argparse.Namespace,
) -> Floats:
    """What executions measure along a curve; (curves, executions, sizes)."""
    found = curve * (1 + noise * random.standard_normal((*shape, len(curve))))
    found *= np.exp(options.start * random.standard_normal((*shape, 1)))
    return np.asarray(found + options.floor * curve[0] * random.standard_normal(found.shape))


def judged(method: str, first: Floats, second: Floats, sizes: Floats, apart: bool) -> list[Change]:
    """The changes of all curves, in one go."""
    return compare(
        [side(first, sizes, 0, apart)], [side(second, sizes, 1, apart)], method=method
    ).changes


def cell(
    method: str,
    grid: str,
    baseline: str,
    executions: int,
    noise: float,
    options: argparse.Namespace,
) -> dict[str, Floats]:
    """Of each error the shares changed, suspected, and of the right kind; shape (3,)."""
    sizes = GRIDS[grid]
    repetitions = max(5, min(options.repetitions, ROWS // (executions * len(sizes))))
    seed = [list(GRIDS).index(grid), list(BASELINES).index(baseline), executions, int(1000 * noise)]
    random = np.random.default_rng(seed)
    curve, found = BASELINES[baseline](sizes), {}
    for error, shape in ERRORS.items():
        if error != "none" and options.sound:
            continue
        added = SHARE * curve[-1] * shape(sizes / sizes[-1])
        sides = (
            values(random, one, (repetitions, executions), noise, options)
            for one in (curve, curve + added)
        )
        changes = judged(method, *sides, sizes, options.apart)
        words = Counter(change.word for change in changes)
        right = [change.curve.kind if change.curve else "none" for change in changes]
        shares = (
            words["degradation"] + words["improvement"],
            words["suspected"],
            right.count(error),
        )
        found[error] = np.array([*shares, repetitions], dtype=float)
    return found


def study(method: str, options: argparse.Namespace) -> None:
    """Print the table of one method."""
    print(f"\n{method}")
    print(
        f"  {'sizes':17}{'changed':>9}{'suspected':>11}{'worst':>8}   "
        + "".join(f"{error:>20}" for error in list(ERRORS)[1:])
    )
    total: dict[str, Floats] = defaultdict(lambda: np.zeros(4))
    for grid in options.grid or GRIDS:
        sums: dict[str, Floats] = defaultdict(lambda: np.zeros(4))
        worst: dict[tuple[str, int], Floats] = defaultdict(lambda: np.zeros(4))
        for baseline in BASELINES:
            for executions in options.executions:
                for noise in options.noise:
                    for error, counts in cell(
                        method, grid, baseline, executions, noise, options
                    ).items():
                        sums[error] += counts
                        total[error] += counts
                        if error == "none":
                            worst[baseline, executions] += counts
        row(grid, sums, max(float((one[0] + one[1]) / one[3]) for one in worst.values()))
        if options.detail:
            for (baseline, executions), one in sorted(
                worst.items(), key=lambda item: -sum(item[1][:2] / item[1][3])
            )[:3]:
                print(
                    f"      {baseline}, {executions} executions: {one[0] / one[3]:.1%} changed,"
                    f" {one[1] / one[3]:.1%} suspected"
                )
    row("all", total, float("nan"))


def kinds(options: argparse.Namespace) -> None:
    """Print the table of the kinds alone, one execution a side."""
    print(
        f"  {'sizes':17}{'changed':>9}{'':11}{'worst':>8}   "
        + "".join(f"{error:>20}" for error in list(ERRORS)[1:])
    )
    total: dict[str, Floats] = defaultdict(lambda: np.zeros(4))
    for grid in options.grid or GRIDS:
        sizes, random = GRIDS[grid], np.random.default_rng(list(GRIDS).index(grid))
        repetitions = max(20, min(options.repetitions, 10 * ROWS // len(sizes)))
        x, number = np.tile(sizes, repetitions), np.repeat(np.arange(repetitions), len(sizes))
        sums: dict[str, Floats] = defaultdict(lambda: np.zeros(4))
        worst = 0.0
        for shape in BASELINES.values():
            curve, alarms = shape(sizes), []
            for noise in options.noise:
                for error, grows in ERRORS.items():
                    both = (curve, curve + SHARE * curve[-1] * grows(sizes / sizes[-1]))
                    y1, y2 = (
                        values(random, one, (repetitions, 1), noise, options).ravel()
                        for one in both
                    )
                    found = kind(x, y1, x, y2, number, number).index
                    sums[error] += (
                        np.mean(found > 0),
                        0.0,
                        np.mean(found == KINDS.index(error)),
                        1.0,
                    )
                    alarms += [np.mean(found > 0)] * (error == "none")
            worst = max(worst, float(np.mean(alarms)))
        row(grid, sums, worst)
        for error, one in sums.items():
            total[error] += one
    row("all", total, float("nan"))


def periods(options: argparse.Namespace) -> None:
    """Print how often curves are called changed where the second execution of a pair is slower."""
    print(
        "equal called changed / 5 % more found, in percent\n| second slower by | "
        + " | ".join(f"{n} pairs" for n in PAIRS)
        + " |"
    )
    print("|---|" + "---|" * len(PAIRS))
    for order, known in ((coin, False), (coin, True), (balanced, True)):
        for share in (0.0, 0.05, 0.1, 0.2):
            cells = []
            for pairs in PAIRS:
                draws = (options.repetitions, max(1, options.repetitions // 5))
                found = [
                    called(order, known, share, pairs, *each)
                    for each in zip((0.0, 0.05), draws, strict=True)
                ]
                cells.append(f"{100 * found[0]:.1f} / {100 * found[1]:.0f}")
            label = (
                f"{100 * share:g} %, {order.__name__}, order {'known' if known else 'not known'}"
            )
            print(f"| {label} | " + " | ".join(cells) + " |", flush=True)


def called(
    order: Callable[[np.random.Generator, int], NDArray[np.bool_]],
    known: bool,
    share: float,
    pairs: int,
    effect: float,
    draws: int,
) -> float:
    """Which share of curves is called changed: executions start 1 % off, values another 1 %; delta
    is 1 %.
    """
    random, bar = (
        np.random.default_rng([pairs, int(1000 * share), int(1000 * effect), known]),
        np.log1p(0.01),
    )
    later = np.stack([order(random, pairs) for _ in range(draws)])
    logs = 0.01 * (
        random.standard_normal((draws, 2, pairs, 1))
        + random.standard_normal((draws, 2, pairs, SIZED))
    )
    for version in (0, 1):
        logs[:, version] += (
            np.log1p(effect) * version + np.log1p(share) * (later == bool(version))[..., None]
        )
    away, z = logs - logs.mean(axis=(1, 2), keepdims=True), np.linspace(-1, 1, SIZED)
    lines = np.stack([away.mean(axis=3), away @ z / (z @ z), away[..., 0], away[..., -1]], axis=3)
    fields = {field.name: None for field in dataclasses.fields(ExecutionLines)} | {
        "logarithmic": True,
        "builds": False,
    }
    members = []
    for (first, second), mine in zip(lines, later, strict=True):
        own = {"first": first, "second": second} | (
            {"later": mine if known else None} if "later" in fields else {}
        )
        members.append((ExecutionLines(**(fields | own)), True, ()))
    return float(np.mean([changed(one, float(bar)) for one in contrasts(members, 0.99, 0.01)]))


def changed(one: Contrast, bar: float) -> bool:
    """Whether the default verdict on curves is a change, as ``check.methods.curves`` has it;
    earlier versions asked for no order.
    """
    order = getattr(one, "order", "mixed")
    if (
        not (one.p <= 0.01 and one.permutation_p <= one.veto and max(map(abs, one.theta)) >= bar)
        or order == "one"
    ):
        return False
    part = one.part(bar)
    known = (
        order != "unknown"
        or one.veto <= 0.01
        or max(one.low[part], -one.high[part]) > np.log1p(default.PERIOD)
    )
    return bool(known and one.tells(bar, part))


def row(label: str, sums: dict[str, Floats], worst: float) -> None:
    """Print one line."""
    none = sums["none"]
    cells = [
        f"{(sums[error][0] + sums[error][1]) / sums[error][3]:8.1%}"
        f" /{sums[error][2] / sums[error][3]:6.1%}"
        for error in list(ERRORS)[1:]
        if error in sums
    ]
    told = f"{none[0] / none[3]:9.2%}{none[1] / none[3]:11.2%}{worst:8.1%}"
    print(f"  {label:17}{told}   " + "".join(f"{cell:>20}" for cell in cells), flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--repetitions",
        type=int,
        default=200,
        help="of each error, baseline, number of executions and noise",
    )
    parser.add_argument("--method", action="append", choices=[*METHODS, "auto"])
    parser.add_argument("--grid", action="append", choices=GRIDS)
    parser.add_argument("--executions", action="append", type=int)
    parser.add_argument("--noise", action="append", type=float)
    parser.add_argument("--start", type=float, default=0.0)
    parser.add_argument("--floor", type=float, default=0.0)
    parser.add_argument("--kinds", action="store_true", help="the kinds of errors alone")
    parser.add_argument(
        "--period", action="store_true", help="pairs whose second execution is slower"
    )
    parser.add_argument("--apart", action="store_true")
    parser.add_argument("--sound", action="store_true", help="sound curves only")
    parser.add_argument(
        "--detail", action="store_true", help="print the worst baselines of each grid"
    )
    options = parser.parse_args()
    options.executions = options.executions or [1, 3, 5, 10]
    options.noise = options.noise or [0.01, 0.05, 0.1]
    begin = time.perf_counter()
    default.q_values = lambda p: p  # each curve a family of its own
    if options.kinds:
        kinds(options)
    if options.period:
        periods(options)
    for method in () if options.kinds or options.period else options.method or METHODS:
        study(method, options)
    print(f"\n{time.perf_counter() - begin:.0f} s")


if __name__ == "__main__":
    main()
