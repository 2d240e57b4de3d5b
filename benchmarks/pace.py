"""What reading the machine's pace costs, how much of the scatter between executions it explains,
and what that does to verdicts.

    python benchmarks/pace.py [--executions 20] [--language python] [--language cpp] [--seconds 10]
    [--draws 100]

1. A program sleeps for some seconds with and without readings; printed is the processor time that
   the launcher takes for each of them.
2. The skip list of examples/skiplist is recorded; printed is, of each function, the standard
   deviation between executions of the mean
   logarithm of its calls' durations (within quarters of a doubling of the size), as they were and
   at one pace (statistics/sessions.py).
3. Simulated: revisions of a program, and of five functions of O(log n) with 400 calls, in ten and
   fifteen executions a side. In half of the
   executions a neighbour on the core makes all 1.5 times as slow, and they differ by 2 % otherwise.
   Printed is how often what did not change is the same, open or called changed, and slips of 2, 5
   and 10 % are found, without and with the pace.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from needs import need

from perfvcs import launcher
from perfvcs.check import compare
from perfvcs.launcher.execution import READING
from perfvcs.profile import Collected, Design, Job, Metric, Profile, Resources
from perfvcs.repository import Repository
from perfvcs.statistics.sessions import adjusted

BUILD = Path(__file__).resolve().parents[1] / "examples/skiplist/build.py"
COMMITS = ("1" * 40, "2" * 40)
FUNCTIONS, CALLS = 5, 400
# how much slower the fixed work is, and the exponent by which a function follows
SLOW, SLOPE = 1.6, 0.85


def cost(seconds: int) -> tuple[float, int]:
    """Processor time of a reading, in s, and how many there were."""
    spent, count = [], 0
    for pace in (False, True):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        found = launcher.launch(
            ["/bin/sleep", str(seconds)],
            cwd=Path.cwd(),
            env={},
            timeout=60,
            options=launcher.LaunchOptions(pace=pace),
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        count = len(found.pace.readings) // READING if found.pace else 0
    return (spent[1] - spent[0]) / count, count


def recorded(language: str, executions: int) -> Profile:
    """The skip list's first version."""
    perf = str(Path(sys.executable).with_name("perf"))
    with tempfile.TemporaryDirectory() as folder:
        repository = Path(folder, language)
        subprocess.run(
            [sys.executable, BUILD, language, repository], check=True, capture_output=True
        )
        about = repository / "perf.toml"
        lines = about.read_text().splitlines()
        about.write_text(
            "\n".join(
                f"executions = {executions}" if line.startswith("executions") else line
                for line in lines
            )
        )
        subprocess.run([perf, "collect", "--quiet", "v1"], cwd=repository, check=True)
        store = Repository.find(repository).store
        return store.read(next(iter(store.paths())))


def scatter(profile: Profile) -> None:
    """Print the standard deviations between executions."""
    rows = profile.resources
    uid, execution = np.array(rows.uid), np.array(rows.execution)
    for number, name in enumerate(rows.names):
        here = (uid == number) & (rows.array("duration") > 0) & (rows.array("size") > 0)
        value, pace, numbers = (
            rows.array("duration")[here],
            rows.array("pace")[here],
            execution[here],
        )
        cell = np.round(4 * np.log2(rows.array("size")[here])).astype(int)
        found = []
        for one in (value, adjusted(value, pace, cell, numbers)):
            logs = np.log(one)
            away = logs - (np.bincount(cell, logs) / np.maximum(np.bincount(cell), 1))[cell]
            away = np.clip(away, *np.percentile(away, [2, 98]))
            found.append(np.std(np.bincount(numbers, away) / np.bincount(numbers), ddof=1))
        print(
            f"  {name.rpartition(':')[2]:20} {100 * found[0]:5.1f} %  at one pace"
            f" {100 * found[1]:4.1f} %"
        )


def simulated(
    random: np.random.Generator,
    version: int,
    factor: float,
    executions: int,
    *,
    calls: int,
    pace: bool,
) -> Profile:
    """One side: a program, or where there are ``calls`` functions."""
    shape = (FUNCTIONS, executions, calls) if calls else (1, executions, 1)
    slow = np.where(random.permuted(np.arange(executions)) < executions // 2, 1.0, SLOW)[
        None, :, None
    ]
    value = (
        factor
        * slow**SLOPE
        * np.exp(0.02 * random.standard_normal((shape[0], executions, 1)))
        * np.ones(shape)
    )
    size = random.integers(1, 10_001, shape).astype(float)
    if calls:
        value *= (6e-8 + 2.5e-8 * np.log(size)) * np.exp(
            0.12 * np.abs(random.standard_normal(shape))
        )
    metrics: dict[str, Any] = {"duration": value.ravel().tolist()}
    about = {"duration": Metric("s")}
    if pace:
        metrics["pace"] = (
            (1.7e-6 * slow * np.exp(0.02 * random.standard_normal(shape))).ravel().tolist()
        )
        about["pace"] = Metric("s", "none")
    number, execution, call = (part.ravel().tolist() for part in np.indices(shape))
    names = [f"f{one}" for one in range(shape[0])]
    sizes = size.ravel().tolist() if calls else None
    rows = Resources(names, number, execution, iteration=call, size=sizes, metrics=metrics)
    return Profile(
        commit=COMMITS[version],
        job=Job("list", "complexity" if calls else "time", "./list", engine="fentry/1"),
        metrics=about,
        resources=rows,
        collected=Collected("s", "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z", "perfvcs"),
        design=Design(
            executions=executions, order="interleaved", version=version, versions=list(COMMITS)
        ),
    )


def verdicts(draws: int) -> None:
    """Print how often each word is said; of programs there are five times as many draws."""
    for what, calls in (("programs", 0), ("functions", CALLS)):
        for executions in (10, 15):
            for factor in (1.0, 1.02, 1.05, 1.1):
                for pace in (False, True):
                    words: Counter[str] = Counter()
                    for draw in range(draws if calls else FUNCTIONS * draws):
                        random = np.random.default_rng([draw, round(100 * factor)])
                        both = [
                            simulated(
                                random,
                                version,
                                (1.0, factor)[version],
                                executions,
                                calls=calls,
                                pace=pace,
                            )
                            for version in (0, 1)
                        ]
                        words.update(
                            change.word
                            for change in compare(
                                [both[0]], [both[1]], delta=0.05 if calls else 0.01
                            ).changes
                        )
                    said = ", ".join(
                        f"{100 * count / words.total():.1f} % {word}"
                        for word, count in words.most_common()
                    )
                    about = (
                        f"{what}, {executions} executions, {100 * factor - 100:+3.0f} %,"
                        f" {'with   ' if pace else 'without'}"
                    )
                    print(f"  {about} pace: {said}", flush=True)


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--executions", type=int, default=20)
    parser.add_argument("--language", action="append", choices=("python", "cpp"))
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--draws", type=int, default=100)
    options = parser.parse_args()
    if "cpp" in (options.language or ("cpp",)):
        need("g++", "make")
    each, count = cost(options.seconds)
    print(f"a reading takes {1e6 * each:.1f} us of processor time (mean of {count})")
    for language in options.language or ("python", "cpp"):
        print(f"{language}, standard deviation between {options.executions} executions:")
        scatter(recorded(language, options.executions))
    print(f"simulated, {FUNCTIONS * options.draws} of each:")
    verdicts(options.draws)


if __name__ == "__main__":
    main()
