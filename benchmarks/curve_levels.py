"""The methods on curves: equal curves that are called changed, errors that are found, and their kinds.

Grids of 5 to 1,000 sizes, linear (to 500) and logarithmic (1 to 100,000), and 16 doublings; baselines
that are constant, logarithmic, linear, quadratic, a power or an exponential; 1, 3, 5 and 10
executions a side in turns; multiplicative noise of 1, 5 and 10 % in every value, independent. Beside
each sound curve the target has a constant, a linear or a quadratic error of 10 % of the curve at its
right end. Of each method and grid, over all baselines, executions and noises: which share of the
sound curves is called changed, or suspected, the worst such share of one baseline and number of
executions, and how often errors are found (changed or suspected) / their kinds named rightly.

``start``: each execution is off as a whole by so much (standard deviation). ``floor``: every value has
a further noise of that share of the curve's left end, as a clock has, whatever the size. ``apart``:
the two sides were measured one after the other. No correction for many comparisons hides a false
alarm: each curve counts as if it were alone.
"""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any
from unittest import mock

import numpy as np

from perfvcs.check import Change, compare
from perfvcs.check.curves.contrast import Contrast, contrasts
from perfvcs.check.curves.replication import ExecutionLines
from perfvcs.check.methods import curves as default
from perfvcs.check.methods.log_median import PERIOD
from perfvcs.profile import Metric, Profile, Resources

from .figures import Row
from .made import Array, Flags, side
from .noise import balanced, coin
from .registry import benchmark

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
GRIDS: dict[str, Array] = {
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
BASELINES: dict[str, Callable[[Array], Array]] = {
    "constant": lambda x: 100 + 0 * x,
    "logarithmic": lambda x: 50 + 100 * np.log(x),
    "linear": lambda x: 5 + 2 * x,
    "quadratic": lambda x: 1 + 0.01 * x**2,
    "power": lambda x: 3 * x**1.5,
    "exponential": lambda x: 50 * np.exp(5 * x / x.max()),
}
ERRORS: dict[str, Callable[[Array], Array]] = {
    "none": lambda u: 0 * u,
    "constant": lambda u: 1 + 0 * u,
    "linear": lambda u: u,
    "quadratic": lambda u: u * u,
}
SHARE = 0.1
PAIRS = (5, 8, 10, 15, 30)
SIZED = 10  # sizes of the curves with a period effect
ROWS = 60_000  # of a side at most: grids with more have fewer repetitions


@dataclasses.dataclass(frozen=True)
class Disturbed:
    """What disturbs the values of a study beside their noise."""

    start: float = 0.0
    floor: float = 0.0
    apart: bool = False

    def values(
        self, random: np.random.Generator, curve: Array, shape: tuple[int, int], noise: float
    ) -> Array:
        """What executions measure along a curve; (curves, executions, sizes)."""
        found = curve * (1 + noise * random.standard_normal((*shape, len(curve))))
        found *= np.exp(self.start * random.standard_normal((*shape, 1)))
        return np.asarray(found + self.floor * curve[0] * random.standard_normal(found.shape))


def version(number: int, values: Array, sizes: Array, *, apart: bool) -> Profile:
    """A profile of values of the shape (curves, executions, sizes)."""
    curves, executions, count = values.shape
    rows = Resources(
        [f"curve {curve}" for curve in range(curves)],
        np.repeat(np.arange(curves), executions * count).tolist(),
        np.tile(np.repeat(np.arange(executions), count), curves).tolist(),
        size=np.tile(sizes, curves * executions).tolist(),
        metrics={"wall": values.ravel().tolist()},
    )
    return side(number, rows, executions, metrics={"wall": Metric("ms")}, apart=apart)


def changes_of(
    method: str, both: tuple[Array, Array], sizes: Array, *, apart: bool
) -> list[Change]:
    """The changes of all curves, each a family of its own."""
    old, new = (version(number, values, sizes, apart=apart) for number, values in enumerate(both))
    with mock.patch.object(default, "q_values", lambda p: p):
        return compare([old], [new], method=method).changes


@dataclasses.dataclass(frozen=True)
class Cell:
    """A grid, a baseline, so many executions and so much noise."""

    grid: str
    baseline: str
    executions: int
    noise: float

    def counts(
        self, method: str, most: int, disturbed: Disturbed, *, sound: bool
    ) -> dict[str, Array]:
        """Of each error the counts changed, suspected, of the right kind, and all; shape (4,)."""
        sizes = GRIDS[self.grid]
        repetitions = max(5, min(most, ROWS // (self.executions * len(sizes))))
        places = [list(GRIDS).index(self.grid), list(BASELINES).index(self.baseline)]
        random = np.random.default_rng([*places, self.executions, int(1000 * self.noise)])
        curve, shape, found = BASELINES[self.baseline](sizes), (repetitions, self.executions), {}
        for error, grows in ERRORS.items():
            if sound and error != "none":
                continue
            moved = curve + SHARE * curve[-1] * grows(sizes / sizes[-1])
            before, after = (
                disturbed.values(random, one, shape, self.noise) for one in (curve, moved)
            )
            changes = changes_of(method, (before, after), sizes, apart=disturbed.apart)
            words = Counter(change.word for change in changes)
            right = [change.curve.kind if change.curve else "none" for change in changes]
            changed = words["degradation"] + words["improvement"]
            counted = [changed, words["suspected"], right.count(error), repetitions]
            found[error] = np.array(counted, dtype=float)
        return found


def _sums() -> dict[str, Array]:
    return defaultdict(lambda: np.zeros(4))


def _shares(sums: dict[str, Array], worst: float) -> Row:
    """Counts as shares in percent."""
    changed, suspected, _, total = sums["none"]
    row: Row = {"changed, %": 100 * changed / total, "suspected, %": 100 * suspected / total}
    row["worst, %"] = 100 * worst if worst else ""
    for error in [error for error in sums if error != "none"]:
        found, kinds = sums[error][0] + sums[error][1], sums[error][2]
        row[error] = f"{100 * found / sums[error][3]:.1f} / {100 * kinds / sums[error][3]:.1f}"
    return row


@benchmark(
    "curves",
    quick={
        "repetitions": 5,
        "grid": ("6 linear",),
        "method": ("curves", "integral"),
        "executions": (1, 5),
    },
)
def curve_levels(
    *,
    repetitions: int = 200,
    method: tuple[str, ...] = METHODS,
    grid: tuple[str, ...] = tuple(GRIDS),
    executions: tuple[int, ...] = (1, 3, 5, 10),
    noise: tuple[float, ...] = (0.01, 0.05, 0.1),
    start: float = 0.0,
    floor: float = 0.0,
    apart: bool = False,
    sound: bool = False,
) -> Iterator[Row]:
    """How often do the methods on curves call equal curves changed, and find errors and their kinds?"""
    disturbed = Disturbed(start, floor, apart)
    for name in method:
        total = _sums()
        for one in grid:
            sums, worst = _sums(), defaultdict[tuple[str, int], Array](lambda: np.zeros(4))
            for baseline, many, much in product(BASELINES, executions, noise):
                cell = Cell(one, baseline, many, much)
                counts = cell.counts(name, repetitions, disturbed, sound=sound)
                worst[baseline, many] += counts["none"]
                for error, counted in counts.items():
                    sums[error] += counted
                    total[error] += counted
            alarms = max(float((each[0] + each[1]) / each[3]) for each in worst.values())
            yield {"method": name, "sizes": one, **_shares(sums, alarms)}
        yield {"method": name, "sizes": "all", **_shares(total, 0.0)}


@benchmark("curves", quick={"repetitions": 5})
def curve_periods(*, repetitions: int = 200) -> Iterator[Row]:
    """Equal curves called changed / +5 % found, in percent, where the second execution is slower."""
    for (order, known), share in product(
        ((coin, False), (coin, True), (balanced, True)), (0.0, 0.05, 0.1, 0.2)
    ):
        said = "known" if known else "not known"
        row: Row = {"second slower by": f"{100 * share:g} %, {order.__name__}, order {said}"}
        for pairs in PAIRS:
            alarms = called(order, known, share, pairs, 0.0, repetitions)
            found = called(order, known, share, pairs, 0.05, max(1, repetitions // 5))
            row[f"{pairs} pairs"] = f"{100 * alarms:.1f} / {100 * found:.0f}"
        yield row


def called(
    order: Callable[[np.random.Generator, int], Flags],
    known: bool,
    share: float,
    pairs: int,
    effect: float,
    draws: int,
) -> float:
    """Which share of curves is called changed.

    Executions start 1 % off, values another 1 %; delta is 1 %.
    """
    random = np.random.default_rng([pairs, int(1000 * share), int(1000 * effect), known])
    bar = float(np.log1p(0.01))
    later = np.stack([order(random, pairs) for _ in range(draws)])
    starts = random.standard_normal((draws, 2, pairs, 1))
    logs = 0.01 * (starts + random.standard_normal((draws, 2, pairs, SIZED)))
    for number in (0, 1):
        second = (later == bool(number))[..., None]
        logs[:, number] += np.log1p(effect) * number + np.log1p(share) * second
    away, z = logs - logs.mean(axis=(1, 2), keepdims=True), np.linspace(-1, 1, SIZED)
    lines = np.stack([away.mean(axis=3), away @ z / (z @ z), away[..., 0], away[..., -1]], axis=3)
    fields: dict[str, Any] = dict.fromkeys(ExecutionLines.__struct_fields__)
    members = []
    for (first, second), mine in zip(lines, later, strict=True):
        own = {"logarithmic": True, "builds": False, "first": first, "second": second}
        own["later"] = mine if known else None
        members.append((ExecutionLines(**(fields | own)), True, ()))
    return float(np.mean([changed(one, bar) for one in contrasts(members, 0.99, 0.01)]))


def changed(one: Contrast, bar: float) -> bool:
    """Whether the default verdict on curves is a change, as ``check.methods.curves`` has it."""
    convincing = one.p <= 0.01 and one.permutation_p <= one.veto
    if not convincing or max(map(abs, one.theta)) < bar or one.order == "one":
        return False
    part = one.part(bar)
    beyond = max(one.low[part], -one.high[part]) > np.log1p(PERIOD)
    known = one.order != "unknown" or one.veto <= 0.01 or beyond
    return bool(known and one.tells(bar, part))
