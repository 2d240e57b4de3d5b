"""What sharing a block's seed is worth.

Two releases of packaging are installed with pip into a repository of two commits, and `perf collect`
measures how they filter versions by specifiers, whose sets Python orders by the hash seed. The
program counts the calls of Python functions, which depend on nothing else, and is timed. For noise
that is made up, of which the seed explains a known share: what the plan says, and how often its range
of 80 % holds that share.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
from msgspec import structs

from perfvcs.check import compare
from perfvcs.check.change import Change
from perfvcs.measure.blocks import turns
from perfvcs.plan.inside import Drawn, explained
from perfvcs.plan.variation import variations
from perfvcs.profile import Profile
from perfvcs.repository import Repository

from .figures import Row
from .programs import run
from .registry import benchmark
from .repositories import commit, git, perf, repository, scratch

PROGRAM = """\
import sys
import perfvcs_bench as bench
from packaging.specifiers import SpecifierSet
from packaging.version import Version

versions = [Version(f"{major}.{minor}") for major in range(8) for minor in range(12)]
specifiers = ["~=2.3,!=2.5,<3,>=2.1", ">=1.0,!=1.5,<2.0,!=1.7", "<6,>=5.2,!=5.5,!=5.6,!=5.7", "==4.*,>=4.2,!=4.5"]
calls = 0
def count(frame, event, argument):
    global calls
    calls += event == "call"
sys.setprofile(count)
for text in specifiers:
    chosen = SpecifierSet(text)
    for version in versions:
        chosen.contains(version)
sys.setprofile(None)
bench.declare("calls", "", "lower")
bench.record("filter", calls=calls)
for _ in range(20):
    with bench.measure("filter"):
        for text in specifiers:
            chosen = SpecifierSet(text)
            for version in versions:
                chosen.contains(version)
"""
JOB = """
[[job]]
name = "packaging"
cmd = "{python} filter.py"
warmup = 1
env = {{ PYTHONPATH = "."{more} }}
"""
WAYS = {"shared seeds": "", "separate seeds": ', PYTHONHASHSEED = "random"'}
METRICS = ("calls", "cpu")


def replace_rows(profile: Profile, unit: str, most: int | None = None) -> Profile:
    """The rows of one unit, of the first executions only."""
    rows = profile.resources
    code = rows.names.index(unit)
    kept = [
        row
        for row, uid in enumerate(rows.uid)
        if uid == code and (most is None or rows.execution[row] < most)
    ]

    present = [
        name for name in ("uid", "execution", "iteration") if getattr(rows, name) is not None
    ]
    columns = {name: [getattr(rows, name)[row] for row in kept] for name in present}
    metrics = {name: [column[row] for row in kept] for name, column in rows.metrics.items()}
    return structs.replace(
        profile, resources=replace(rows, metrics=metrics, mark=None, size=None, **columns)
    )


def logs(profile: Profile, metric: str) -> np.ndarray:
    """The logarithm of each execution's median."""
    rows = profile.resources
    values, executions = rows.array(metric), np.array(rows.execution)
    return np.array(
        [np.log(np.nanmedian(values[executions == number])) for number in np.unique(executions)]
    )


def released(folder: Path, release: str) -> None:
    """The release beside the program, as one more commit."""
    git(folder, "rm", "-rq", "--ignore-unmatch", "packaging")
    pip = (sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--upgrade")
    run(*pip, "--target", ".", f"packaging=={release}", cwd=folder)
    commit(folder, release)


def collected(folder: Path, more: str, pairs: int) -> list[Profile]:
    """Both releases in turns; their profiles."""
    (folder / "perf.toml").write_text(JOB.format(python=sys.executable, more=more))
    words = ("--quiet", "--committed", "--seed", "15", "-n", str(pairs))
    perf(folder, "collect", *words, "HEAD~1", "HEAD")
    found = Repository.find(folder)
    return [
        replace_rows(
            found.profiles(found.index.headers([found.project.resolve(name)]))[-1], "filter"
        )
        for name in ("HEAD~1", "HEAD")
    ]


@benchmark("planning", quick="needs the package index", needs=("network", "pip"))
def seeds(*, releases: tuple[str, ...] = ("24.1", "24.2"), pairs: int = 30) -> Iterator[Row]:
    """What is sharing a block's seed worth, for two releases of packaging?"""
    with scratch("seeds") as folder:
        repository(folder, {"filter.py": PROGRAM, ".gitignore": "perf.toml\n"})
        for release in releases:
            released(folder, release)
        perf(folder, "init")
        for way, more in WAYS.items():
            sides = collected(folder, more, pairs)
            for metric in METRICS:
                yield {"seeds": way, "metric": metric, **_figures(sides, metric, pairs)}


def _figures(sides: Sequence[Profile], metric: str, pairs: int) -> Row:
    """The spreads, the verdicts after ten and all pairs, and what the plan says of the seed."""
    first, second = (logs(side, metric) for side in sides)
    between = np.concatenate([first - first.mean(), second - second.mean()]).std()
    row: Row = {
        "between executions, %": 100 * between,
        "between pairs, %": 100 * (second - first).std(ddof=1),
        "effect, %": 100 * np.expm1((second - first).mean()),
    }
    for most in sorted({10, pairs}):
        parts = (replace_rows(side, "filter", most) for side in sides)
        changes = compare(*parts).changes
        row[f"{most} pairs"] = _said(next(one for one in changes if one.metric == metric))
    seed = next(one for one in variations(sides) if one.metric == metric).seed
    if seed is None:
        return row | {"the seed explains": "not known"}
    low, high = 100 * seed.low, 100 * seed.high
    return row | {"the seed explains": f"{100 * seed.share:.0f} % ({low:.0f}-{high:.0f})"}


def _said(change: Change) -> str:
    """The word with its interval."""
    if change.low is None or change.high is None:
        return change.word
    return f"{change.word} ({100 * change.low:+.1f} to {100 * change.high:+.1f} %)"


def made_up(rng: np.random.Generator, share: float, blocks: int, number: int) -> list[Drawn]:
    """Two versions that differ, the second place 5 % slower, the machine drifting."""
    own, machine = (
        np.sqrt(share) * rng.standard_normal(blocks),
        np.cumsum(0.1 * rng.standard_normal((blocks, 2)).ravel()).reshape(-1, 2),
    )
    orders = [turns(number, block, [[0, 1]])[0].versions for block in range(blocks)]
    places = [
        {(0, block): order.index(version) for block, order in enumerate(orders)}
        for version in (0, 1)
    ]
    seeds = {(0, block): 1 + block for block in range(blocks)}
    noise = np.sqrt(1 - share) * rng.standard_normal((2, blocks))
    return [
        Drawn(
            {
                at: (
                    0.3 * version
                    + 0.5 * turn
                    + own[at[1]]
                    + machine[at[1], turn]
                    + noise[version, at[1]]
                )
                for at, turn in place.items()
            },
            place,
            seeds,
        )
        for version, place in enumerate(places)
    ]


@benchmark("planning", quick={"draws": 5})
def seeds_drawn(*, draws: int = 1000, seed: int = 15) -> Iterator[Row]:
    """What does the plan say of the seed, where its share is known?"""
    rng = np.random.default_rng(seed)
    for share, blocks in product((0.0, 0.5, 0.9, 0.98), (6, 10, 30)):
        found = [explained([made_up(rng, share, blocks, number)]) for number in range(draws)]
        known = [one for one in found if one is not None]
        yield {
            "share": f"{share:.2f}",
            "blocks": blocks,
            "plan (mean)": round(float(np.mean([one.share for one in known])), 2),
            "its range holds it, %": 100 * np.mean([one.low <= share <= one.high for one in known]),
            "above 0, %": 100 * np.mean([one.low > 0 for one in known]),
        }
