"""Every method of comparison, on made-up noise.

The methods are those that perfvcs knows; each judges every comparison alone (a run of its own), at its
own published rule where it has one, else at 1 %. The noises have 10 blocks of 10 measurements, all in
turns but the last, which has all of one version first. A method that needs longer than ``seconds`` of
a processor gets fewer draws. Left out are methods that do not even tell ten times as much from
samples. `suspected`: so it was called, never changed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from statistics import fmean
from time import process_time

import numpy as np

from perfvcs.check.case import Case
from perfvcs.check.change import Change
from perfvcs.check.matching import match
from perfvcs.check.method import Method, load, names
from perfvcs.check.rows import ProfileRows
from perfvcs.errors import PerfError
from perfvcs.profile import Profile, Resources
from perfvcs.profile.summary import Measured

from .figures import Row
from .made import side
from .noise import NOISES, Array, drift_apart, lognormal, samples
from .registry import benchmark

EFFECTS = (0.0, 0.02, 0.05, 0.1)
BLOCKS = 10
FEWEST = 20  # draws, however long a method takes
PILOT = 5
CELLS: list[Cell] = []  # what the processes that judge work on


@dataclass(frozen=True)
class Cell:
    """Comparisons of one kind of noise with one effect."""

    noise: str
    effect: float
    cases: list[Case]


@dataclass(frozen=True)
class Score:
    """The share of comparisons with a change in the right direction (without an effect, in any);
    ``suspected``: no change was called, those found were only suspected.
    """

    found: float
    suspected: bool

    @property
    def text(self) -> str:
        """What was found, in words."""
        digits = 1 if 0 < self.found < 0.0995 else 0
        only = " suspected" if self.suspected and self.found > 0 else ""
        return f"{100 * self.found:.{digits}f} %{only}"


def profile(version: int, units: Sequence[Array], *, turns: bool) -> Profile:
    """One version's measurements, seconds of shape (blocks, measurements) per unit."""
    blocks, inner = units[0].shape
    each = blocks * inner
    values: list[float | None] = np.concatenate([unit.ravel() for unit in units]).tolist()
    rows = Resources(
        names=[f"unit {number}" for number in range(len(units))],
        uid=np.repeat(np.arange(len(units)), each).tolist(),
        execution=np.tile(np.repeat(np.arange(blocks), inner), len(units)).tolist(),
        iteration=np.tile(np.arange(inner), blocks * len(units)).tolist(),
        metrics={"wall": values},
    )
    return side(version, rows, blocks, apart=not turns)


def cell(
    noise: str, effect: float, sides: Sequence[tuple[Array, Array]], *, turns: bool = True
) -> Cell:
    """The comparisons of pairs of sides, each (blocks, measurements)."""
    profiles = [profile(place, [pair[place] for pair in sides], turns=turns) for place in (0, 1)]
    found = [Measured.of(one) for one in profiles]
    cases, _ = match(
        found[:1],
        found[1:],
        {},
        ProfileRows({id(one): each for one, each in zip(found, profiles, strict=True)}),
    )
    return Cell(noise, effect, cases)


def synthetic_cells(draws: int) -> Iterator[Cell]:
    """Every kind of noise."""
    for noise in (*NOISES, drift_apart):
        for effect in EFFECTS:
            rng = np.random.default_rng(20261120)
            sides = [samples(rng, noise, BLOCKS, effect) for _ in range(draws)]
            label = noise.__name__.replace("_", " ")
            yield cell(
                label,
                effect,
                [(pair[0], pair[1]) for pair in sides],
                turns=noise is not drift_apart,
            )


def judge(method: Method, case: Case) -> Change | None:
    """The method's change for a case; None if it has nothing to say."""
    found = method.compare([case])
    return found[0] if found else None


def score(method: Method, one: Cell, draws: int) -> Score:
    """How the method fares with the first draws of a cell."""
    changes = [judge(method, case) for case in one.cases[:draws]]
    words = [change.word if change else "" for change in changes]
    hits = [
        word == "degradation"
        or (word == "improvement" and not one.effect)
        or (word == "suspected" and right(change, one.effect))
        for word, change in zip(words, changes, strict=True)
    ]
    changed = "degradation" in words or "improvement" in words
    return Score(fmean(hits), suspected=not changed)


def right(change: Change | None, effect: float) -> bool:
    """Whether a suspected change goes the way of the effect, if there is one."""
    return not effect or (change is not None and (change.effect or 0) > 0)


def obstacle(method: Method) -> str:
    """Why a method has no place in the tables: what it says of ten times as much; empty for a good
    one.
    """
    rng = np.random.default_rng(1)
    sides = [samples(rng, lognormal, BLOCKS, 9.0) for _ in range(PILOT)]
    try:
        found = [
            judge(method, case)
            for case in cell("pilot", 9.0, [(pair[0], pair[1]) for pair in sides]).cases
        ]
    except PerfError as error:
        return str(error)
    if any(change and change.word in ("degradation", "suspected") for change in found):
        return ""
    last = found[-1]
    return (last.reason if last else "") or "it has nothing to say of samples without sizes"


def affordable(method: Method, cells: Sequence[Cell], draws: int, seconds: float) -> int:
    """How many draws of every cell fit into the time, of a processor."""
    for one in cells:
        judge(method, one.cases[0])  # the first one of all opens the rows
    start = process_time()
    for one in cells:
        judge(method, one.cases[-1])
    each = process_time() - start
    return min(draws, max(FEWEST, int(seconds / each)))


def evaluate(
    name: str, draws: int, seconds: float
) -> str | tuple[int, dict[tuple[str, float], Score]]:
    """How many draws a method had, and its scores by noise and effect; what is in its way when it
    has no place in the tables.
    """
    method = load(name)()
    reason = obstacle(method)
    if reason:
        return reason
    enough = affordable(method, CELLS, draws, seconds)
    found = {(one.noise, one.effect): score(method, one, enough) for one in CELLS}
    return enough, found


@benchmark("methods", quick={"draws": 5, "seconds": 0.1, "method": ("log-median", "student")})
def methods(
    *, draws: int = 300, seconds: float = 30, jobs: int = 0, method: tuple[str, ...] = ()
) -> Iterator[Row]:
    """How often is every method wrong, and how often does it find changes?"""
    cells = list(synthetic_cells(draws))
    chosen = method or names()
    judged = partial(evaluate, draws=draws, seconds=seconds)
    with get_context("fork").Pool(jobs or os.cpu_count(), CELLS.extend, (cells,)) as pool:
        results = dict(zip(chosen, pool.map(judged, chosen, chunksize=1), strict=True))
    kinds = list(dict.fromkeys(one.noise for one in cells))
    scored = {name: found for name, found in results.items() if not isinstance(found, str)}
    for effect in EFFECTS:
        for name, (enough, scores) in scored.items():
            made = {kind: scores[kind, effect].text for kind in kinds}
            yield {"method": f"`{name}`", "found of": _changed(effect), **made, "draws": enough}
    for name, reason in results.items():
        if isinstance(reason, str):
            yield {"left out": f"`{name}`", "why": reason}


def _changed(effect: float) -> str:
    return f"+{100 * effect:g} %" if effect else "the same"
