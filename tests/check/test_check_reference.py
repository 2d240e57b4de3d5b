"""The default verdict against a second implementation on scipy and statsmodels, over a whole run of
many benchmarks.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations, product
from math import log1p
from typing import Any, NamedTuple

import numpy as np
import pytest
from comparisons import profile
from numpy.typing import NDArray
from scipy import stats
from statsmodels.stats.multitest import multipletests

from perfvcs.check import EarlierSessions, Unit, compare, earlier_sessions
from perfvcs.profile import Metric
from perfvcs.profile.summary import Measured

Values = dict[str, NDArray[np.float64]]
COUNTS, NOISES, EFFECTS = (
    (1, 2, 4, 5, 8),
    (0.0, 0.001, 0.01, 0.05),
    (0.0, 0.0095, 0.0105, 0.03, -0.03, 0.5),
)
# two commits, four sessions each
BETWEEN = np.array([0.0, 0.004, -0.003, 0.002, 0.01, 0.013, 0.006, 0.012])
DEGREES = 6


class Expected(NamedTuple):
    word: str
    gate: bool
    effect: float
    p: float
    low: float
    high: float


def run(seed: int, scale: float = 1.0) -> tuple[Values, Values]:
    """Every combination of executions, noise and effect as one unit, in seconds about ``scale``."""
    rng = np.random.default_rng(seed)
    old, new = {}, {}
    for m, noise, effect in product(COUNTS, NOISES, EFFECTS):
        name = f"{m} {noise} {effect}"
        old[name] = scale * np.exp(rng.normal(0, noise, m))
        new[name] = scale * (1 + effect) * np.exp(rng.normal(0, noise, m))
    return old, new


def permuted(a: NDArray[np.float64], b: NDArray[np.float64], paired: bool) -> tuple[float, float]:
    """The exact permutation p by brute force, and the smallest that it can be."""
    if paired:
        gaps = b - a
        sums = np.abs(patterns(len(gaps)) @ gaps)
        observed = abs(gaps.sum())
    else:
        pooled = np.concatenate([a, b])
        sums = np.abs(2 * pooled[choices(len(pooled), len(a))].sum(axis=1) - pooled.sum())
        observed = abs(2 * a.sum() - pooled.sum())
    return float(np.mean(sums >= observed - 1e-9)), 2 / len(sums)


@cache
def patterns(count: int) -> NDArray[np.int64]:
    """Every pattern of signs, one a row."""
    return np.array(list(product((1, -1), repeat=count)))


@cache
def choices(count: int, chosen: int) -> NDArray[np.int64]:
    """Every choice of so many places, one a row."""
    return np.array(list(combinations(range(count), chosen)))


def interval(
    a: NDArray[np.float64], b: NDArray[np.float64], paired: bool, between: float | None
) -> tuple[float, float, float]:
    """p-value and 99 % interval of the mean of b minus the mean of a."""
    theta = b.mean() - a.mean()
    variances = (
        [np.var(b - a, ddof=1) / len(a)]
        if paired
        else [np.var(side, ddof=1) / len(side) for side in (a, b)]
    )
    degrees = [len(side) - 1 for side in (a, b)][: len(variances)]
    if between is not None and not paired:
        within = (variances[0] + variances[1]) / 2
        variances.append(2 * max(0.0, between - within))
        degrees.append(DEGREES)
    total = sum(variances)
    if total < 1e-24:
        return (1.0 if abs(theta) < 1e-12 else 0.0), theta, theta
    df = total**2 / sum(
        variance**2 / free for variance, free in zip(variances, degrees, strict=True)
    )
    half = stats.t.ppf(0.995, df) * np.sqrt(total)
    return 2 * stats.t.sf(abs(theta) / np.sqrt(total), df), theta - half, theta + half


def expected(
    old: Values, new: Values, *, paired: bool, higher: bool, between: float | None, delta: float
) -> dict[str, Expected]:
    logs = {name: (np.log(old[name]), np.log(new[name])) for name in old}
    many = [name for name, (a, _) in logs.items() if len(a) > 1]
    tests = {name: interval(*logs[name], paired, between) for name in many}
    kept = dict(
        zip(many, multipletests([tests[name][0] for name in many], 0.05, "fdr_bh")[0], strict=True)
    )
    found = {}
    for name, (a, b) in logs.items():
        theta, m, bar = b.mean() - a.mean(), len(a), log1p(delta)
        if m == 1:
            found[name] = Expected("inconclusive", False, np.expm1(theta), np.nan, np.nan, np.nan)
            continue
        p, low, high = tests[name]
        changed = kept[name] and p <= 0.01 and abs(theta) >= bar
        if changed:
            chance, least = permuted(a, b, paired)
            changed = chance <= max(0.01 if paired else 0.03, least) + 1e-12
        judged = paired or between is not None
        # in these pairs nobody knows who came first, and five can all have the same side first by
        # chance
        settles = m >= 8 or not paired or max(low, -high) > log1p(0.2)
        worse = (theta < 0) == higher
        if len({*old[name], *new[name]}) == 1:
            word = "same"
        elif changed:
            word = (
                ("degradation" if worse else "improvement")
                if m >= 5 and judged and settles
                else "suspected"
            )
        else:
            word = "same" if m >= 5 and judged and -bar <= low and high <= bar else "inconclusive"
        gate = word == "degradation" and (low > bar or high < -bar)
        found[name] = Expected(word, gate, np.expm1(theta), p, np.expm1(low), np.expm1(high))
    return found


@pytest.mark.parametrize("better", ["lower", "higher"])
@pytest.mark.parametrize("design", ["in turns", "apart", "apart with a history"])
@pytest.mark.parametrize(("scale", "delta"), [(1.0, 0.01), (1e-290, 0.03), (1e290, 0.0)])
def test_every_word_interval_and_p_is_that_of_the_second_implementation(
    design: str, better: Any, scale: float, delta: float
) -> None:
    old, new = run(5, scale)
    # a count: equal values of a clock are judged by its step
    metric, paired = Metric("", better=better), design == "in turns"
    sides = [
        profile(
            {name: column.tolist() for name, column in values.items()},
            side,
            metric=metric,
            order="interleaved" if paired else "sequential",
            session="s" if paired else f"s{side}",
        )
        for side, values in enumerate((old, new))
    ]
    between, history = None, None
    if design == "apart with a history":
        between = float((np.var(BETWEEN[:4], ddof=1) + np.var(BETWEEN[4:], ddof=1)) / 2)
        past = EarlierSessions(tuple(BETWEEN.tolist()), ("a",) * 4 + ("b",) * 4)
        history = dict.fromkeys(earlier_sessions(map(Measured.of, sides)), past)
    report = compare([sides[0]], [sides[1]], method="student", history=history, delta=delta)
    wanted = expected(
        old, new, paired=paired, higher=better == "higher", between=between, delta=delta
    )
    assert {change.uid: change.word for change in report.changes} == {
        name: one.word for name, one in wanted.items()
    }
    for change in report.changes:
        one = wanted[change.uid]
        assert change.gate == one.gate
        assert change.effect == pytest.approx(one.effect, rel=1e-6, abs=1e-9)
        for mine, theirs in ((change.p, one.p), (change.low, one.low), (change.high, one.high)):
            assert (np.nan if mine is None else mine) == pytest.approx(
                theirs, rel=1e-6, abs=1e-9, nan_ok=True
            ) or (mine is None and theirs > 1e300)
    assert len(report.counts) >= (4 if design != "apart" else 3)


def test_unrelated_benchmarks_of_the_run_raise_what_a_change_needs() -> None:
    """p = .004 is enough alone, and not among 200 comparisons that show nothing."""
    rng = np.random.default_rng(4)
    noise = rng.normal(0, 1, 10)
    noise = (noise - noise.mean()) / noise.std(ddof=1)
    edge = np.exp(0.03 + noise * 0.03 * np.sqrt(10) / stats.t.isf(0.002, 9))
    one, ones = [1.0] * 10, {f"{place}": [1.0, 1.1] * 5 for place in range(200)}
    swapped = {name: [1.1, 1.0] * 5 for name in ones}
    alone = compare([profile({"edge": one})], [profile({"edge": edge.tolist()}, 1)]).changes[0]
    assert (alone.p, alone.word) == (pytest.approx(0.004), "degradation")
    among = compare(
        [profile({"edge": one, **ones})], [profile({"edge": edge.tolist(), **swapped}, 1)]
    )
    (found,) = (change for change in among.changes if change.uid == "edge")
    assert (found.word, found.q) == ("inconclusive", pytest.approx(0.004 * 201))


@pytest.mark.parametrize("count", [4, 5, 9, 10, 30])
def test_a_history_counts_from_five_sessions_on(count: int) -> None:
    rng = np.random.default_rng(6)
    old, new = (np.exp(rng.normal(shift, 0.001, 8)) for shift in (0, 0.2))
    sides = [
        profile(side.tolist(), place, order="sequential", session=f"s{place}")
        for place, side in enumerate((old, new))
    ]
    unit: Unit = next(iter(earlier_sessions(map(Measured.of, sides))))
    past = EarlierSessions(
        tuple(rng.normal(0, 0.005, count).tolist()), tuple(f"{place}" for place in range(count))
    )
    (change,) = compare([sides[0]], [sides[1]], history={unit: past}).changes
    assert change.word == ("suspected" if count < 5 else "degradation")
