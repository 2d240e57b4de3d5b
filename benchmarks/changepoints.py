"""How well a history is judged: steps as annotators count them, and the newest value.

    python benchmarks/changepoints.py [--runs 40] [--seed 11]      simulated histories
    (series_noise.py) python benchmarks/changepoints.py --newest 4000                only newest
    values, of so many histories of each kind python benchmarks/changepoints.py --cuts RESULTS
    newest values of asv's results (see hosted.py), cut at random commits PYTHONPATH=CHECKOUT python
    benchmarks/changepoints.py          the same with another checkout's judge

A step is right if a true place is within five commits; each place and each step counts once. `flat`
are series without a true place of which a step is reported. Coverage is that of the 99 % intervals
of steps whose neighbours are found, too, in histories without drifts; `drifting` counts those with
drifts that were not found, whose levels move by more than the step. The newest value is judged in
histories of one value per commit. The t-test is the usual one on the last 64 values; its threshold
is set so that it has as many false alarms as the judge in the same histories.
"""

from __future__ import annotations

import argparse
import time
from math import log
from pathlib import Path

import numpy as np
import series_noise as made
from scipy import stats

from perfvcs.statistics.changepoints.judgement import judge_all

NEAR = 5


def judged(series):
    """Steps and drifts of each series, and its newest value if that is judged."""
    return [(list(one.steps), one.newest) for one in judge_all(series)]


def matched(found, truth):
    """How many of the places and steps belong together, one to one, the nearest first."""
    pairs = sorted(
        (abs(place - there), place, there)
        for place in found
        for there in truth
        if abs(place - there) <= NEAR
    )
    used, taken = set(), set()
    for _, place, there in pairs:
        if place not in used and there not in taken:
            used.add(place)
            taken.add(there)
    return len(used)


def annotated(title, recipes, runs, seed):
    print(
        f"\n{title:18} {'places':>7} {'precision':>10} {'recall':>7} {'F1':>6} {'flat':>8}"
        f" {'coverage':>13} {'drifting':>10} {'ms':>6}"
    )
    total = np.zeros(7)
    for number, (name, recipe) in enumerate(recipes.items()):
        rng = np.random.default_rng([seed, number])
        histories = [recipe.make(rng) for _ in range(runs)]
        start = time.process_time()
        answers = judged([one.values for one in histories])
        took = 1000 * (time.process_time() - start) / runs
        right = reported = true = flat = flats = 0
        covers = np.zeros((2, 2), dtype=int)  # without drifts, with drifts; inside, of how many
        for history, (steps, _) in zip(histories, answers, strict=True):
            places = [step.place for step in steps if step.word == "step"]
            right += matched(places, history.truth)
            reported += len(places)
            true += len(history.truth)
            flats += not history.truth
            flat += bool(places) and not history.truth
            if len(steps) == len(history.truth) and not any(step.word == "drift" for step in steps):
                hits = list(covered(history, steps))
                covers[int(history.drifts)] += sum(hits), len(hits)
        line(
            name,
            true,
            right,
            reported,
            f"{flat}/{flats}",
            *(f"{hits}/{of}" for hits, of in covers.tolist()),
            took,
        )
        total += (true, right, reported, *covers.ravel())
    line(
        "all",
        *total[:3],
        "",
        *(f"{hits / max(of, 1):.1%}" for hits, of in (total[3:5], total[5:])),
        0.0,
    )


def covered(history, steps):
    """Whether the interval of each step has the truth, where all steps are the true ones."""
    if all(
        abs(step.place - there) <= NEAR for step, there in zip(steps, history.truth, strict=True)
    ):
        for step, size in zip(steps, history.sizes, strict=True):
            low, high = step.interval()
            yield low <= size <= high


def line(name, true, right, reported, flat, coverage, drifting, took):
    precision, recall = right / max(reported, 1), right / max(true, 1)
    f1 = 2 * right / max(reported + true, 1)
    print(
        f"{name:18} {true:7.0f} {precision:10.3f} {recall:7.3f} {f1:6.3f} {flat:>8} {coverage:>13}"
        f" {drifting:>10} {took:6.1f}"
    )


def back_and_forth(seed):
    print(
        f"\n{'dwell':>6} {'moves':>6} {'steps':>6} {'switching':>10}   of 800 values on levels 13 %"
        " apart"
    )
    for dwell in (2, 5, 10, 20, 40):
        rng = np.random.default_rng([seed, dwell])
        series, truths = zip(
            *(made.switching(rng, 800, dwell, 0.13, 0.01) for _ in range(10)), strict=True
        )
        answers = judge_all(series)
        counts = [len(steps) for steps, _ in judged(series)]
        found = np.mean([one.switching is not None for one in answers])
        print(
            f"{dwell:6} {np.mean([len(one) for one in truths]):6.1f} {np.mean(counts):6.1f}"
            f" {found:10.0%}"
        )


def near_the_end(runs, seed):
    print(
        "\n+5 % ten commits before the end, noise of 2 %; found within two commits or inside the"
        " range"
    )
    for name, noise in (
        ("normal", made.normal),
        ("t3", made.heavy),
        ("AR(1) .3", made.autoregressive(0.3)),
    ):
        for n in (100, 400, 1000):
            rng = np.random.default_rng([seed, n])
            series = [
                0.02 * noise(rng, n) + np.where(np.arange(n) < n - 10, 0.0, log(1.05))
                for _ in range(4 * runs)
            ]
            hits = [
                any(
                    s.word == "step" and (abs(s.place - n + 10) <= 2 or s.first <= n - 10 <= s.last)
                    for s in steps
                )
                for steps, _ in judged(series)
            ]
            print(f"  {name:10} n = {n:5}   {np.mean(hits):6.1%}")


def dashboard(runs, seed):
    rng = np.random.default_rng([seed, 4181])
    lengths = rng.integers(40, 300, runs).tolist()
    plain = [made.nearly_equal(rng, n) for n in lengths]
    worse = sum(step.effect > 0 for steps, _ in judged(plain) for step in steps)
    print(f"\nnearly equal: {sum(lengths)} points, {worse} steps for the worse")
    for title, behind in (
        ("anywhere", None),
        ("with three commits at the new level", 3),
        ("the newest value", 1),
    ):
        series, places = [], []
        for values in plain:
            place = len(values) - behind if behind else int(rng.integers(20, len(values) - 10))
            series.append(values + np.where(np.arange(len(values)) < place, 0.0, log(1.2)))
            places.append(place)
        hits = [
            any(abs(step.place - place) <= 3 for step in steps)
            or bool(behind and newest and newest.word != "usual" and newest.effect > 0)
            for (steps, newest), place in zip(judged(series), places, strict=True)
        ]
        print(f"  +20 % {title}: found within three points in {np.mean(hits):.1%}")


KINDS = {
    "normal": made.normal,
    "t3": made.heavy,
    "skewed": made.skewed,
    "gamma": made.gamma,
    "AR(1) .4 laplace": made.autoregressive(0.4, made.laplace),
    "wandering": made.wandering,
}
HEAD = (
    f"{'newest of':18} {'n':>5}   {'degradation':>16} {'and suspected':>16}  "
    f" {'t-test, as many':>16} {'at .5 %, t-test':>16}"
)


def newest_values(runs, seed):
    """False alarms without and with +20 % in the newest value."""
    print(f"\n{HEAD}")
    every = {}
    for name, noise in KINDS.items():
        for n in (12, 60, 300):
            rng = np.random.default_rng([seed, n])
            plain = [rng.choice([0.02, 0.05, 0.08]) * noise(rng, n) for _ in range(runs)]
            every.setdefault(n, []).append(trade_off(name, n, plain))
    for n, rows in every.items():
        traded("all", n, *(np.concatenate(column) for column in zip(*rows, strict=True)))


def cuts(results, runs, seed):
    """The same in a real history, cut at random commits; what changed there is a false alarm,
    too.
    """
    from hosted import profiles
    from hosted import results as read

    series = {}
    for commit, (_, documents) in read(results).items():
        for one in profiles(commit, documents):
            series.setdefault((one.job.name, one.environment.fingerprint), []).append(
                one.resources.metrics["wall"][0]
            )
    whole = [np.log(values) for values in series.values() if len(values) > 40]
    rng = np.random.default_rng([seed, 20])
    drawn = (whole[int(rng.integers(len(whole)))] for _ in range(runs))
    plain = [values[: int(rng.integers(40, len(values) + 1))] for values in drawn]
    print(f"\n{len(series)} series, {HEAD}")
    trade_off("cuts", runs, plain)


def trade_off(name, n, plain):
    """Words and chances of the newest values without and with +20 %, and those of a t-test."""
    columns = []
    for added in (0.0, log(1.2)):
        series = [np.append(one[:-1], one[-1] + added) for one in plain]
        found = [
            one
            for start in range(0, len(series), 500)
            for _, one in judged(series[start : start + 500])
        ]
        columns.append(
            np.array(
                [{"changed": 2, "suspected": 1}.get(one.word, 0) if one else 0 for one in found]
            )
        )
        columns.append(np.array([one.chance if one else 1.0 for one in found]))
        columns.append(np.array([t_test(one) for one in series]))
    return traded(name, n, *columns)


def traded(name, n, words, chances, tests, moved, rare, passed):
    alarms = [
        f"{np.mean(words > 1):.2%} {np.mean(moved > 1):6.1%}",
        f"{np.mean(words > 0):.2%} {np.mean(moved > 0):6.1%}",
    ]
    equal = np.mean(passed <= np.quantile(tests, np.mean(words > 0)))
    half = [
        np.mean(with_ <= np.quantile(without, 0.005))
        for without, with_ in ((chances, rare), (tests, passed))
    ]
    print(
        f"{name:18} {n:5}   {alarms[0]:>16} {alarms[1]:>16}   {equal:16.1%} {half[0]:8.1%}"
        f" {half[1]:7.1%}",
        flush=True,
    )
    return words, chances, tests, moved, rare, passed


def t_test(values):
    """The chance of the newest value."""
    past = values[:-1][-64:]
    spread = past.std(ddof=1)
    return (
        2 * stats.t.sf(abs(values[-1] - past.mean()) / spread, len(past) - 1)
        if spread > 0
        else float(values[-1] == past[-1])
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=40, help="histories of each kind")
    parser.add_argument("--newest", type=int, help="only newest values, of so many histories")
    parser.add_argument("--cuts", type=Path, help="asv's results, cut --runs times")
    parser.add_argument("--seed", type=int, default=11)
    options = parser.parse_args()
    if options.cuts:
        cuts(options.cuts, options.runs, options.seed)
        return
    if options.newest:
        newest_values(options.newest, options.seed)
        return
    annotated("development", made.DEVELOPMENT, options.runs, options.seed)
    annotated("held out", made.HELD_OUT, options.runs, options.seed)
    annotated("wandering", made.WANDERING, options.runs, options.seed)
    back_and_forth(options.seed)
    near_the_end(options.runs, options.seed)
    dashboard(options.runs, options.seed)
    newest_values(5 * options.runs, options.seed)


if __name__ == "__main__":
    main()
