"""What sharing a block's seed is worth: two releases of packaging in turns, with shared and with
separate hash seeds.

    python benchmarks/seeds.py [--releases 24.1 24.2] [--pairs 30] [--made-up]

Installs both releases with pip into a repository of two commits and lets `perf collect` measure how
they filter versions by specifiers, whose sets Python orders by the hash seed. The program counts
the calls of Python functions, which depend on nothing else, and is timed. Printed are the standard
deviations between executions and between the differences of pairs, the verdicts after so many
pairs, and what `perf plan` says that the seed explains. With `--made-up` nothing is measured: for
noise of which the seed explains a known share it prints what the plan says, and how often its range
of 80 % holds that share.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
from msgspec import structs
from needs import need

from perfvcs.check import compare
from perfvcs.measure.blocks import turns
from perfvcs.plan.inside import Drawn, explained
from perfvcs.plan.variation import variations
from perfvcs.profile import Profile
from perfvcs.repository import Repository

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


def run(folder: Path, *command: str) -> None:
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)


def commit(folder: Path, release: str) -> None:
    """The release beside the program, as one more commit."""
    run(folder, "git", "rm", "-rq", "--ignore-unmatch", "packaging")
    run(
        folder,
        sys.executable,
        "-m",
        "pip",
        "install",
        "-q",
        "--no-deps",
        "--upgrade",
        "--target",
        ".",
        f"packaging=={release}",
    )
    run(folder, "git", "add", "packaging", "filter.py")
    run(folder, "git", "commit", "-qm", release)


def measure(folder: Path, more: str, pairs: int) -> list[Profile]:
    """Both releases in turns; their profiles."""
    (folder / "perf.toml").write_text(JOB.format(python=sys.executable, more=more))
    run(
        folder,
        sys.executable,
        "-m",
        "perfvcs",
        "collect",
        "--quiet",
        "--committed",
        "--seed",
        "15",
        "-n",
        str(pairs),
        "HEAD~1",
        "HEAD",
    )
    repository = Repository.find(folder)
    found = [
        repository.profiles(repository.index.headers([repository.project.resolve(name)]))[-1]
        for name in ("HEAD~1", "HEAD")
    ]
    return [replace_rows(one, "filter") for one in found]


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


def report(way: str, sides: Sequence[Profile], pairs: int) -> None:
    """The figures of one way."""
    old, new = sides
    known = {one.metric: one for one in variations(sides)}
    for metric in METRICS:
        first, second = logs(old, metric), logs(new, metric)
        spread, gaps = (
            np.concatenate([first - first.mean(), second - second.mean()]).std(),
            (second - first).std(ddof=1),
        )
        words = []
        for most in sorted({10, pairs}):
            change = next(
                one
                for one in compare(*(replace_rows(side, "filter", most) for side in sides)).changes
                if one.metric == metric
            )
            bounds = (
                ""
                if change.low is None or change.high is None
                else f" ({100 * change.low:+.1f} to {100 * change.high:+.1f} %)"
            )
            words.append(f"{most} pairs: {change.word}{bounds}")
        seed = known[metric].seed
        share = (
            "not known"
            if seed is None
            else f"{100 * seed.share:.0f} % ({100 * seed.low:.0f}-{100 * seed.high:.0f})"
        )
        effect = np.expm1((second - first).mean())
        print(
            f"| {way} | {metric} | {100 * spread:.2f} % | {100 * gaps:.2f} % | {100 * effect:+.1f}"
            f" % | {'; '.join(words)} | {share} |",
            flush=True,
        )


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


def calibrate(draws: int) -> None:
    """How well the plan knows a share that is known exactly."""
    print("| share | blocks | plan (mean) | its range holds it | above 0 |\n" + "|---" * 5 + "|")
    rng = np.random.default_rng(15)
    for share, blocks in product((0.0, 0.5, 0.9, 0.98), (6, 10, 30)):
        found = [explained([made_up(rng, share, blocks, number)]) for number in range(draws)]
        known = [one for one in found if one is not None]
        held, above = (
            np.mean([one.low <= share <= one.high for one in known]),
            np.mean([one.low > 0 for one in known]),
        )
        print(
            f"| {share:.2f} | {blocks} | {np.mean([one.share for one in known]):.2f} |"
            f" {100 * held:.0f} % | {100 * above:.0f} % |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--releases", nargs=2, default=["24.1", "24.2"])
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--made-up", action="store_true")
    asked = parser.parse_args()
    if asked.made_up:
        calibrate(1000)
        return
    need("pip")
    os.environ |= {
        "GIT_AUTHOR_NAME": "x",
        "GIT_AUTHOR_EMAIL": "x@x",
        "GIT_COMMITTER_NAME": "x",
        "GIT_COMMITTER_EMAIL": "x@x",
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(folder, "git", "init", "-q")
        (folder / "filter.py").write_text(PROGRAM)
        for release in asked.releases:
            commit(folder, release)
        run(folder, sys.executable, "-m", "perfvcs", "init")
        print(
            "| seeds | metric | between executions | between pairs | effect | verdict | the seed"
            " explains |\n" + "|---" * 7 + "|"
        )
        for way, more in WAYS.items():
            report(way, measure(folder, more, asked.pairs), asked.pairs)


if __name__ == "__main__":
    main()
