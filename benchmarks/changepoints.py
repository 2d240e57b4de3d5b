"""Steps as annotators count them, and the newest value of a history.

A step is right if a true place is within five commits; each place and each step counts once. `flat`
are series without a true place of which a step is reported. Coverage is that of the 99 % intervals of
steps whose neighbours are found, too, in histories without drifts; `drifting` counts those with drifts,
whose levels move by more than the step. The newest value is judged in histories
of one value per commit. The t-test is the usual one on the last 64 values; its threshold is set so
that it has as many false alarms as the judge in the same histories.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, log
from pathlib import Path

import numpy as np
from scipy import stats

from perfvcs.statistics.changepoints.judgement import judge_all
from perfvcs.statistics.changepoints.newest import Levelled
from perfvcs.statistics.changepoints.presentlevel import present_levels
from perfvcs.statistics.changepoints.steps import ChangePoint, scale

from . import series_noise as made
from .figures import Row, percent
from .registry import benchmark
from .series_noise import History, Recipe, Series

NEAR = 5
SETS: dict[str, Mapping[str, Recipe]] = {
    "development": made.DEVELOPMENT,
    "held out": made.HELD_OUT,
    "wandering": made.WANDERING,
}
KINDS = {
    "normal": made.normal,
    "t3": made.heavy,
    "skewed": made.skewed,
    "gamma": made.gamma,
    "AR(1) .4 laplace": made.autoregressive(0.4, made.laplace),
    "wandering": made.wandering,
}
WORDS = {"changed": 2, "suspected": 1}


def matched(found: Sequence[int], truth: Sequence[int]) -> int:
    """How many of the places and steps belong together, one to one, the nearest first."""
    pairs = sorted(
        (abs(place - there), place, there)
        for place in found
        for there in truth
        if abs(place - there) <= NEAR
    )
    used: set[int] = set()
    taken: set[int] = set()
    for _, place, there in pairs:
        if place not in used and there not in taken:
            used.add(place)
            taken.add(there)
    return len(used)


def covered(history: History, steps: Sequence[ChangePoint]) -> Iterator[bool]:
    """Whether the interval of each step has the truth, where all steps are the true ones."""
    places = zip(steps, history.truth, strict=True)
    if all(abs(step.place - there) <= NEAR for step, there in places):
        for step, size in zip(steps, history.sizes, strict=True):
            low, high = step.interval()
            yield low <= size <= high


@dataclass
class Score:
    """Counts of some histories: true, reported and right places; flat series with a step, of how
    many; intervals with the truth, of how many, without drifts and with them.
    """

    true: int = 0
    reported: int = 0
    right: int = 0
    flat: int = 0
    flats: int = 0
    covered: tuple[int, int] = (0, 0)
    drifting: tuple[int, int] = (0, 0)

    def add(self, history: History, steps: Sequence[ChangePoint]) -> None:
        """Count one history."""
        places = [step.place for step in steps]
        self.right += matched(places, history.truth)
        self.reported += len(places)
        self.true += len(history.truth)
        if not history.truth:
            self.flats += 1
            self.flat += bool(places)
        if len(steps) != len(history.truth):
            return
        hits = list(covered(history, steps))
        name = "drifting" if history.drifts else "covered"
        inside, of = getattr(self, name)
        setattr(self, name, (inside + sum(hits), of + len(hits)))

    def row(self) -> Row:
        return {
            "places": self.true,
            "precision": f"{self.right / max(self.reported, 1):.3f}",
            "recall": f"{self.right / max(self.true, 1):.3f}",
            "F1": f"{2 * self.right / max(self.reported + self.true, 1):.3f}",
            "flat": f"{self.flat}/{self.flats}",
            "coverage, %": percent(*self.covered),
            "drifting, %": percent(*self.drifting),
        }


@benchmark("histories", quick={"runs": 2})
def changepoints(*, runs: int = 40, seed: int = 11) -> Iterator[Row]:
    """How well are steps of a history found, as annotators count them?"""
    for title, recipes in SETS.items():
        whole = Score()
        for number, (name, recipe) in enumerate(recipes.items()):
            rng = np.random.default_rng([seed, number])
            histories = [recipe.make(rng) for _ in range(runs)]
            score = Score()
            for history, judged in zip(
                histories, judge_all([one.values for one in histories]), strict=True
            ):
                score.add(history, list(judged.steps))
                whole.add(history, list(judged.steps))
            yield {"generators": title, "series": name, **score.row()}
        yield {"generators": title, "series": "all", **whole.row()}


@benchmark("histories", quick={"runs": 2})
def changepoints_switching(*, runs: int = 10, seed: int = 11) -> Iterator[Row]:
    """What is said of 800 values that move between two levels 13 % apart?"""
    for dwell in (2, 5, 10, 20, 40):
        rng = np.random.default_rng([seed, dwell])
        drawn = [made.switching(rng, 800, dwell, 0.13, 0.01) for _ in range(runs)]
        answers = judge_all([values for values, _ in drawn])
        yield {
            "dwell": dwell,
            "moves": np.mean([len(truth) for _, truth in drawn]),
            "steps": np.mean([len(one.steps) for one in answers]),
        }


@benchmark("histories", quick={"runs": 2})
def changepoints_end(*, runs: int = 160, seed: int = 11) -> Iterator[Row]:
    """Is +5 % found ten commits before the end, with noise of 2 %, within two commits or the range?"""
    noises = {"normal": made.normal, "t3": made.heavy, "AR(1) .3": made.autoregressive(0.3)}
    for name, noise in noises.items():
        for n in (100, 400, 1000):
            rng = np.random.default_rng([seed, n])
            step = _stepped(n, n - 10, log(1.05))
            answers = judge_all([0.02 * noise(rng, n) + step for _ in range(runs)])
            hits = [any(_finds(one, n - 10) for one in answer.steps) for answer in answers]
            yield {"noise": name, "n": n, "found, %": 100 * np.mean(hits)}


def _stepped(n: int, place: int, size: float) -> Series:
    return np.where(np.arange(n) < place, 0.0, size)


def _finds(step: ChangePoint, place: int) -> bool:
    near = abs(step.place - place) <= 2
    return near or step.first <= place <= step.last


@benchmark("histories", quick={"runs": 5})
def changepoints_equal(*, runs: int = 40, seed: int = 11) -> Iterator[Row]:
    """How many steps are reported of nearly equal points, and is +20 % found among them?"""
    rng = np.random.default_rng([seed, 4181])
    plain = [made.nearly_equal(rng, n) for n in rng.integers(40, 300, runs).tolist()]
    worse = sum(step.effect > 0 for one in judge_all(plain) for step in one.steps)
    yield {"what": "points", "count": sum(map(len, plain))}
    yield {"what": "steps for the worse", "count": worse}
    for title, behind in (("anywhere", 0), ("three commits before the end", 3), ("newest", 1)):
        series, places = [], []
        for values in plain:
            n = len(values)
            places.append(n - behind if behind else int(rng.integers(20, n - 10)))
            series.append(values + _stepped(n, places[-1], log(1.2)))
        hits = []
        for answer, place in zip(judge_all(series), places, strict=True):
            newest = answer.newest
            worse_now = behind and newest and newest.effect > 0
            hits.append(bool(worse_now) or any(abs(s.place - place) <= 3 for s in answer.steps))
        yield {"+20 %": title, "found within three points, %": 100 * np.mean(hits)}


@benchmark("histories", quick={"runs": 10})
def changepoints_newest(*, runs: int = 200, seed: int = 11) -> Iterator[Row]:
    """How often is the newest value called worse, without and with +20 %?"""
    every: dict[int, list[Judged]] = {}
    for name, noise in KINDS.items():
        for n in (12, 60, 300):
            rng = np.random.default_rng([seed, n])
            plain = [rng.choice([0.02, 0.05, 0.08]) * noise(rng, n) for _ in range(runs)]
            judged = Judged.of(plain)
            every.setdefault(n, []).append(judged)
            yield {"newest of": name, "n": n, **judged.row()}
    for n, parts in every.items():
        yield {"newest of": "all", "n": n, **Judged.together(parts).row()}


@benchmark("histories", quick="needs results of asv", needs=("results of asv",))
def changepoints_cut(*, results: Path, runs: int = 4000, seed: int = 11) -> Iterator[Row]:
    """The same in a real history, cut at random commits; what changed there is a false alarm, too."""
    whole = [np.log(values) for values in asv_series(results) if len(values) > 40]
    rng = np.random.default_rng([seed, 20])
    drawn = (whole[int(rng.integers(len(whole)))] for _ in range(runs))
    plain = [values[: int(rng.integers(40, len(values) + 1))] for values in drawn]
    yield {"series": len(whole), "cuts": runs, **Judged.of(plain).row()}


def asv_series(results: Path) -> list[list[float]]:
    """The values of each benchmark of a folder of asv's results (one JSON file per commit and
    Python, such as results/ubuntu-latest of django/django-asv), by date.
    """
    documents = [json.loads(path.read_text()) for path in results.glob("*-*.json")]
    series: dict[tuple[str, int, str], list[float]] = {}
    for document in sorted(documents, key=lambda one: one["date"]):
        for name, row in document["results"].items():
            for number, value in enumerate(row[0] or []):
                if value is not None and isfinite(value) and value > 0:
                    key = (name, number, document["params"]["python"])
                    series.setdefault(key, []).append(value)
    return list(series.values())


@dataclass(frozen=True)
class Judged:
    """The newest values' words (2 changed, 1 suspected, 0 else), their chances and those of a t-test,
    without and with +20 %.
    """

    words: Series
    chances: Series
    tests: Series
    moved: Series
    rare: Series
    passed: Series

    @classmethod
    def of(cls, plain: Sequence[Series]) -> Judged:
        """Judge the newest value of each series."""
        columns: list[Series] = []
        for added in (0.0, log(1.2)):
            series = [np.append(one[:-1], one[-1] + added) for one in plain]
            answers = judge_all(series)
            words = [WORDS[one.newest.word] if one.newest else 0 for one in answers]
            before = [
                Levelled(values, [step.place for step in one.steps], scale(values)).before(
                    len(values) - 1
                )
                for values, one in zip(series, answers, strict=True)
            ]
            chances = [
                one.newest.chance if one.newest else level.chance(float(values[-1]))
                for values, one, level in zip(series, answers, present_levels(before), strict=True)
            ]
            columns += [np.array(words), np.array(chances), np.array([*map(t_test, series)])]
        return cls(*columns)

    @classmethod
    def together(cls, parts: Sequence[Judged]) -> Judged:
        names = cls.__dataclass_fields__
        return cls(*(np.concatenate([getattr(one, name) for one in parts]) for name in names))

    def row(self) -> Row:
        """False alarms, what is found, and what a t-test finds with as many alarms, in percent."""
        alike = np.quantile(self.tests, np.mean(self.words > 0))
        return {
            "degradation": f"{np.mean(self.words > 1):.2%} {np.mean(self.moved > 1):.1%}",
            "and suspected": f"{np.mean(self.words > 0):.2%} {np.mean(self.moved > 0):.1%}",
            "t-test, as many, %": 100 * np.mean(self.passed <= alike),
            "at .5 %, %": 100 * np.mean(self.rare <= np.quantile(self.chances, 0.005)),
            "t-test at .5 %, %": 100 * np.mean(self.passed <= np.quantile(self.tests, 0.005)),
        }


def t_test(values: Series) -> float:
    """The chance of the newest value."""
    past = values[:-1][-64:]
    spread = past.std(ddof=1)
    if spread == 0:
        return float(values[-1] == past[-1])
    return float(2 * stats.t.sf(abs(values[-1] - past.mean()) / spread, len(past) - 1))
