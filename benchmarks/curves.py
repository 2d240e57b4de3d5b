"""Functions whose calls were recorded with their sizes.

Two revisions of a program of twenty functions as the complexity collector records them, ten
executions a side: five curves (constant, O(log n), O(n), O(n log n), O(n^2)), to each nothing, a
constant, a linear and a quadratic error of ``share`` of the curve at its right end. Calls are skewed
to the right (a log-normal scatter of 12 %), one in 300 is interrupted for 2 to 200 us, the first ones
of an execution are cold, executions differ by 2 % as a whole, and clocks tick every 20 ns. Of each
pattern of sizes: how often a sound function is the same, open, or something else (false alarms, which
are few if all is well); of each error how often it is found / its kind is named rightly / the change
of order is. ``apart``: each revision in a session of its own, ``sessions`` of them stored, which
differ by ``drift``.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import msgspec
import numpy as np

from perfvcs.check import Change, compare, earlier_sessions
from perfvcs.profile import Collected, Job, Metric, Profile, Resources
from perfvcs.profile.summary import Measured

from .figures import Row, percent
from .made import Array, side
from .registry import benchmark

Random = np.random.Generator

EXECUTIONS = 10
TICK = 20e-9
# the largest size, and the seconds of a call
CURVES: dict[str, tuple[float, Callable[[Array], Array]]] = {
    "constant": (10_000, lambda n: 8e-8 + 0 * n),
    "logarithmic": (10_000, lambda n: 6e-8 + 2.5e-8 * np.log(np.maximum(n, 1))),
    "linear": (10_000, lambda n: 1e-7 + 9e-9 * n),
    "linearithmic": (10_000, lambda n: 1e-7 + 2e-9 * n * np.log(np.maximum(n, 1))),
    "quadratic": (1_000, lambda n: 1e-7 + 1e-9 * n * n),
}
ERRORS: dict[str, Callable[[Array], Array]] = {
    "none": lambda x: 0 * x,
    "constant": lambda x: 1 + 0 * x,
    "linear": lambda x: x,
    "quadratic": lambda x: x * x,
}
ORDERS = {
    "constant": "O(1)",
    "logarithmic": "O(log n)",
    "linear": "O(n)",
    "linearithmic": "O(n log n)",
    "quadratic": "O(n^2)",
}
GROWTH = list(ORDERS)
JOB = Job("program", "complexity", "./program", engine="fentry")
Functions = list[tuple[str, str]]  # of each its curve and its error


def uniform(random: Random, most: float, calls: int) -> Array:
    """Any whole number."""
    return random.integers(1, int(most) + 1, calls).astype(float)


def repeated(random: Random, most: float, calls: int) -> Array:
    """Any of a hundred numbers."""
    return np.round(np.linspace(most / 100, most, 100))[random.integers(0, 100, calls)]


def spread(random: Random, most: float, calls: int) -> Array:
    """Whole numbers, small ones as often as large ones by their logarithm."""
    return np.floor(np.exp(random.uniform(0, np.log(most), calls)))


def growing(_: Random, most: float, calls: int) -> Array:
    """A structure that grows: each size once, in rising order."""
    return np.round(np.linspace(1, most, calls))


def few(random: Random, most: float, calls: int) -> Array:
    """Eight sizes, each twice the one before."""
    return np.round(most / 2.0 ** random.integers(0, 8, calls))


def zero(random: Random, most: float, calls: int) -> Array:
    """Any of a hundred numbers or zero, mostly small ones."""
    return np.round(most * (random.integers(0, 101, calls) / 100) ** 2)


PATTERNS = {one.__name__: one for one in (uniform, repeated, spread, growing, few, zero)}


def seconds(random: Random, curve: Array, noise: float) -> Array:
    """What calls take that would take so long on a perfect machine; shape (calls,)."""
    count = len(curve)
    cold = np.exp(-np.arange(count) / 3)
    found = (curve + 1e-6 * cold) * np.exp(
        noise * 0.12 * np.abs(random.standard_normal(count))
        + noise * 0.04 * random.standard_normal(count)
    )
    interrupted = random.random(count) < 1 / 300
    found += interrupted * np.exp(random.uniform(np.log(2e-6), np.log(2e-4), count))
    return np.asarray(TICK * np.floor(found / TICK + random.random(count)))


@dataclass(frozen=True)
class Setting:
    """How revisions are measured."""

    share: float
    calls: int
    pattern: str
    apart: bool
    noise: float
    sessions: int
    drift: float

    def version(
        self, random: Random, number: int, functions: Functions, blocks: Array, *, apart: bool
    ) -> Profile:
        """One revision: every function called so often in each execution."""
        size, duration = [], []
        for curve, error in functions:
            most, shape = CURVES[curve]
            added = self.share * shape(np.array([most]))[0] if number else 0.0
            for block in blocks[:EXECUTIONS]:
                n = PATTERNS[self.pattern](random, most, self.calls)
                ideal = shape(n) + added * ERRORS[error](n / most)
                factor = np.exp(block + self.noise * 0.01 * random.standard_normal())
                size.append(n)
                duration.append(seconds(random, ideal * factor, self.noise))
        count, each = len(functions), EXECUTIONS * self.calls
        rows = Resources(
            [f"{curve} + {error} #{place}" for place, (curve, error) in enumerate(functions)],
            np.repeat(np.arange(count), each).tolist(),
            np.tile(np.repeat(np.arange(EXECUTIONS), self.calls), count).tolist(),
            size=np.concatenate(size).tolist(),
            iteration=np.tile(np.arange(self.calls), count * EXECUTIONS).tolist(),
            metrics={"duration": np.concatenate(duration).tolist()},
        )
        metrics = {"duration": Metric("s")}
        return side(number, rows, EXECUTIONS, metrics=metrics, job=JOB, apart=apart)

    def changes(self, repetition: int, functions: Functions) -> list[Change]:
        """The verdicts on two simulated revisions, in the order of the functions."""
        place = list(PATTERNS).index(self.pattern)
        random = np.random.default_rng([repetition, place, int(1000 * self.share)])
        blocks = self.noise * 0.02 * random.standard_normal((self.sessions, EXECUTIONS))
        if self.apart:
            blocks += self.drift * random.standard_normal((self.sessions, 1))
        else:  # in turns: what moves an execution moves its pair
            blocks[1] = blocks[0]
        both = [
            self.version(random, number, functions, blocks[number], apart=self.apart)
            for number in (0, 1)
        ]
        history = {}
        if self.apart:
            earlier = [
                self.earlier(random, number, functions, block)
                for number, block in enumerate(blocks[2:])
            ]
            history = earlier_sessions(Measured.of(one) for one in [*earlier, *both])
        found: dict[str, list[Change]] = defaultdict(list)
        for change in compare(both[:1], both[1:], history=history).changes:
            found[change.uid].append(change)
        # the change of the whole curve has no size
        names = both[0].resources.names
        return [max(found[name], key=lambda change: change.size is None) for name in names]

    def earlier(self, random: Random, number: int, functions: Functions, block: Array) -> Profile:
        """A stored session of the first revision's code."""
        profile = self.version(random, 0, functions, block, apart=True)
        day = "2026-11-19T09:30:00Z", "2026-11-19T09:40:00Z"
        collected = Collected(f"e{number}", *day, "perfvcs")
        return msgspec.structs.replace(profile, commit=f"{number + 3:040x}", collected=collected)


def right(change: Change, curve: str, error: str) -> tuple[bool, bool, bool]:
    """Whether a change was found, its kind named, and the change of order as it is."""
    kind = change.curve.kind if change.curve else ""
    grew = GROWTH.index(error) > GROWTH.index(curve)
    expected = f"{ORDERS[curve]} -> {ORDERS[error]}" if grew else ""
    told = expected in change.finding if expected else "->" not in change.finding
    return change.word in ("degradation", "suspected"), kind == error, told


@benchmark("curves", quick={"repetitions": 1, "calls": 200, "pattern": ("uniform", "few")})
def curves(
    *,
    repetitions: int = 20,
    calls: int = 1000,
    share: float = 0.2,
    noise: float = 1.0,
    pattern: tuple[str, ...] = tuple(PATTERNS),
    apart: bool = False,
    sessions: int = 2,
    drift: float = 0.03,
) -> Iterator[Row]:
    """How often is `perf check` wrong about recorded calls, and what does it say of injected errors?"""
    sound = [(curve, "none") for curve in CURVES for _ in range(4)]
    wrong = [(curve, error) for curve in CURVES for error in ERRORS]
    for name in pattern:
        setting = Setting(share, calls, name, apart, noise, sessions, drift)
        words: Counter[str] = Counter()
        found: list[tuple[bool, bool, bool]] = []
        for repetition in range(repetitions):
            words.update(change.word for change in setting.changes(repetition, sound))
            changes = setting.changes(10_000 + repetition, wrong)
            for change, (curve, error) in zip(changes, wrong, strict=True):
                if error != "none":
                    found.append(right(change, curve, error))
        total = words.total()
        same, still, suspected = (words[word] for word in ("same", "inconclusive", "suspected"))
        yield {
            "sizes": name,
            "sound functions": total,
            "same, %": percent(same, total),
            "open, %": percent(still, total),
            "suspected, %": percent(suspected, total),
            "changed": total - same - still - suspected,
            "errors": len(found),
            "found": sum(one[0] for one in found),
            "kind right": sum(one[1] for one in found),
            "order right": sum(one[2] for one in found),
        }
