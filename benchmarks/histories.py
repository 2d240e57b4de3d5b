"""How well and how fast `perf history` finds steps.

    python benchmarks/histories.py [--runs 200] [--seed 1]      what it finds in synthetic series,
    one table python benchmarks/histories.py --budget FOLDER              2,000 commits x 100
    series; FOLDER keeps the repository

Quality: flat series must stay silent whatever their noise, steps must be found, in the middle and
shortly before the end, ramps are drifts. `steps` and `drifts` are how many were reported per
series, `alarmed` the share of series with any, `found` the share of series in which the step was
reported within two commits (for ramps: a drift that overlaps it). Mixed: several steps per series,
of 2 to 20 %, in noise of 0.5 to 3 % (normal, heavy-tailed, dependent, with bursts); a step counts
as found within two commits, each report once.

Budget: whole processes, the first one with an empty cache, then with a full one, then after one
more commit.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import exp, log
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from perfvcs.index import Index
from perfvcs.profile import Collected, Design, Environment, Job, Metric, Profile, Resources
from perfvcs.statistics.changepoints.judgement import steps
from perfvcs.statistics.changepoints.steps import ChangePoint
from perfvcs.store import Store

Series = NDArray[np.float64]
NEAR = 2  # commits that a report may be away from the truth
NOISE = 0.02


def normal(rng: np.random.Generator, n: int) -> Series:
    return rng.standard_normal(n)


def heavy(rng: np.random.Generator, n: int) -> Series:
    """Student's t with three degrees of freedom."""
    return rng.standard_t(3, n)


def dependent(strength: float) -> Callable[[np.random.Generator, int], Series]:
    """AR(1) with unit variance."""

    def made(rng: np.random.Generator, n: int) -> Series:
        values = rng.standard_normal(n)
        for place in range(1, n):
            values[place] = strength * values[place - 1] + (1 - strength**2) ** 0.5 * values[place]
        return values

    return made


def bursts(rng: np.random.Generator, n: int) -> Series:
    """Normal noise; in each fifty values one or two in a row are ten standard deviations off."""
    values = rng.standard_normal(n)
    for start in range(0, n - 49, 50):
        place = start + int(rng.integers(45))
        values[place : place + int(rng.integers(1, 3))] += rng.choice([-10.0, 10.0])
    return values


@dataclass(frozen=True)
class Case:
    """One kind of series: its noise, and what is added to it; ``truth`` is where."""

    name: str
    shape: Callable[[np.random.Generator, int], Series]
    n: int
    added: Series | float = 0.0
    truth: tuple[int, int] | None = None
    ramp: bool = False


def stepped(n: int, place: int, size: float) -> Series:
    return np.where(np.arange(n) < place, 0.0, log(1 + size))


def cases() -> Iterator[Case]:
    yield Case("flat, normal", normal, 1000)
    yield Case("flat, t3", heavy, 1000)
    yield Case("flat, AR(1) .3", dependent(0.3), 1000)
    yield Case("flat, AR(1) .6", dependent(0.6), 1000)
    yield Case("flat, bursts", bursts, 1000)
    slope = np.clip((np.arange(400) - 150) / 100, 0, 1) * log(1.2)
    yield Case("ramp +20 % over 100", normal, 400, slope, (150, 250), ramp=True)
    yield Case(
        "ramp +10 % over 400", normal, 400, np.linspace(0, log(1.1), 400), (0, 400), ramp=True
    )
    for size in (0.02, 0.05, 0.1):
        yield Case(f"+{size:.0%} in the middle", normal, 400, stepped(400, 200, size), (200, 200))
        yield Case(
            f"+{size:.0%} 10 before the end", normal, 400, stepped(400, 390, size), (390, 390)
        )
    yield Case("+5% 10 before, n=100", normal, 100, stepped(100, 90, 0.05), (90, 90))
    yield Case("+5% 10 before, n=1000", normal, 1000, stepped(1000, 990, 0.05), (990, 990))
    yield Case("+5% 10 before, t3", heavy, 400, stepped(400, 390, 0.05), (390, 390))
    yield Case("+5% 5 before the end", normal, 400, stepped(400, 395, 0.05), (395, 395))


def hit(case: Case, found: list[ChangePoint]) -> bool:
    assert case.truth
    if case.ramp:
        return any(
            step.word == "drift" and step.first <= case.truth[1] and step.last >= case.truth[0]
            for step in found
        )
    return any(near(step, case.truth[0]) for step in found if step.word == "step")


def near(step: ChangePoint, place: int) -> bool:
    """Whether a report is right about a place: within two commits, or inside the range that it
    gives.
    """
    return abs(step.place - place) <= NEAR or (
        step.word == "step" and step.first <= place <= step.last
    )


def quality(runs: int, seed: int) -> None:
    """The table of the single cases, and the line of the mixed population."""
    print(
        f"{'series':24} {'n':>5} {'steps':>7} {'drifts':>7} {'alarmed':>8} {'found':>7} {'ms':>6}"
    )
    for number, case in enumerate(cases()):
        rng = np.random.default_rng([seed, number])
        reports, hits, start = [], 0, time.perf_counter()
        for _ in range(runs):
            values = NOISE * case.shape(rng, case.n) + case.added
            found = steps(values)
            reports.append(found)
            hits += bool(case.truth) and hit(case, found)
        took = 1000 * (time.perf_counter() - start) / runs
        counts = [
            sum(step.word == word for found in reports for step in found) / runs
            for word in ("step", "drift")
        ]
        alarmed = f"{sum(map(bool, reports)) / runs:8.1%}" if case.truth is None else ""
        share = f"{hits / runs:7.1%}" if case.truth else ""
        print(
            f"{case.name:24} {case.n:5} {counts[0]:7.3f} {counts[1]:7.3f} {alarmed:>8} {share:>7}"
            f" {took:6.1f}"
        )
    mixed(runs, seed)


def mixed(runs: int, seed: int) -> None:
    """Precision, recall and F1 over series with several steps, all reports counted, drifts too."""
    rng = np.random.default_rng([seed, 999])
    right = reported = true = large = large_right = 0
    shapes = [normal, heavy, dependent(0.3), bursts]
    for _ in range(runs):
        n, noise = int(rng.integers(150, 600)), float(np.exp(rng.uniform(log(0.005), log(0.03))))
        places: list[int] = []
        for place in sorted(rng.integers(10, n - 10, int(rng.integers(0, 7))).tolist()):
            if not places or place - places[-1] >= 15:
                places.append(place)
        sizes = np.exp(rng.uniform(log(0.02), log(0.2), len(places))) * rng.choice(
            [-1, 1], len(places)
        )
        values = noise * shapes[int(rng.integers(len(shapes)))](rng, n)
        for place, size in zip(places, sizes.tolist(), strict=True):
            values[place:] += size
        found = steps(values)
        left = {step.place: step for step in found}
        for place, size in zip(places, sizes.tolist(), strict=True):
            close = [other for other in left if near(left[other], place)]
            if close:
                del left[min(close, key=lambda other: abs(other - place))]
                right += 1
            large += abs(size) >= 2 * noise
            large_right += bool(close) and abs(size) >= 2 * noise
        reported += len(found)
        true += len(places)
    precision, recall = right / max(1, reported), right / true
    print(
        f"mixed, {runs} series, {true} steps: precision {precision:.3f}, recall {recall:.3f}, F1"
        f" {2 * precision * recall / (precision + recall):.3f}; recall of those of at least 2 s"
        f" {large_right / large:.3f}"
    )


COMMITS, JOBS, EXECUTIONS = 2000, 50, 10
METRICS = {"wall": Metric("s"), "cpu": Metric("s")}  # two series per job
BUDGET = 1000.0  # milliseconds


def profiles(commits: list[str], levels: Series, first: int) -> Iterator[Profile]:
    """One profile per commit and job with the log levels (commits, jobs); ``first`` is the number
    of the first commit.
    """
    chance = random.Random(first)
    jobs = [
        Job(name=f"job{number}", collector="time", cmd="true", engine="launcher/1")
        for number in range(JOBS)
    ]
    environment = Environment(
        fields={"cpu": "benchmark", "machine": "x86_64"}, fingerprint="0123456789ab"
    )
    for place, commit in enumerate(commits, first):
        collected = Collected(
            f"20261120T093000-{place:06x}",
            "2026-11-20T09:30:00.000Z",
            "2026-11-20T09:30:02.000Z",
            "perfvcs 0.1.0",
        )
        for number, job in enumerate(jobs):
            level = exp(float(levels[place - first, number]))
            columns: dict[str, list[float | None]] = {
                name: [
                    round(level * share * chance.lognormvariate(0, 0.01), 9)
                    for _ in range(EXECUTIONS)
                ]
                for name, share in (("wall", 1.0), ("cpu", 0.9))
            }
            rows = Resources(
                names=[job.name],
                uid=[0] * EXECUTIONS,
                execution=list(range(EXECUTIONS)),
                metrics=columns,
            )
            yield Profile(
                commit=commit,
                job=job,
                collected=collected,
                environment=environment,
                design=Design(executions=EXECUTIONS, warmup=1),
                metrics=METRICS,
                resources=rows,
            )


def git(folder: Path, *args: str, data: bytes | None = None) -> str:
    command = [
        "git",
        "-C",
        str(folder),
        "-c",
        "user.name=Ada",
        "-c",
        "user.email=ada@example.org",
        *args,
    ]
    return (
        subprocess.run(command, input=data, capture_output=True, check=True).stdout.decode().strip()
    )


def build_commits(folder: Path, count: int) -> None:
    """A project of so many commits in a straight line."""
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    stream = []
    for number in range(count):
        message, text = b"Change number %d" % number, b"%d\n" % number
        stream.append(
            b"commit refs/heads/main\ncommitter Ada <ada@example.org> %d +0000\n"
            % (1_700_000_000 + 600 * number)
        )
        stream.append(
            b"data %d\n%s\nM 100644 inline file.txt\ndata %d\n%s\n"
            % (len(message), message, len(text), text)
        )
    git(folder, "fast-import", "--quiet", data=b"".join(stream))
    git(folder, "reset", "--quiet", "--hard", "main")
    with (folder / ".git/info/exclude").open("a") as exclude:
        exclude.write(".perf/\n")


def build(folder: Path, stepping: int) -> None:
    """A project of 2,000 commits, each measured; of the jobs, ``stepping`` step two to eight times,
    the others never.
    """
    build_commits(folder, COMMITS)
    rng = np.random.default_rng(1)
    levels = log(0.01) + NOISE * rng.standard_normal((COMMITS, JOBS))
    for number in range(stepping):
        for place in rng.integers(20, COMMITS - 20, int(rng.integers(2, 9))).tolist():
            levels[place:, number] += float(rng.uniform(0.03, 0.15) * rng.choice([-1, 1]))
    store = Store.create(folder / ".perf/store")
    store.add(
        profiles(git(folder, "rev-list", "--reverse", "main").split(), levels, 0), "Everything"
    )
    start = time.perf_counter()
    Index(store, folder / ".perf/index.db").refresh()
    print(
        f"{folder.name}: the index of {COMMITS * JOBS:,} profiles took"
        f" {time.perf_counter() - start:.1f} s"
    )


def run(folder: Path, *args: str) -> tuple[float, float, float, str]:
    """A whole process of ``perf history``: milliseconds, those of computing, its largest size in
    MB, and what it looked at.
    """
    perf = Path(sys.executable).with_name("perf")
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    env["PYTHONPYCACHEPREFIX"] = str(folder.parent.absolute() / "bytecode")
    start = time.perf_counter()
    with subprocess.Popen(
        [str(perf), "history", *args], cwd=folder, env=env, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        out = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    took = 1000 * (time.perf_counter() - start)
    assert process.returncode == 0, out
    computing = 1000 * (usage.ru_utime + usage.ru_stime)
    return (
        took,
        computing,
        usage.ru_maxrss / 1024,
        next(line for line in out.splitlines() if "looked at" in line),
    )


def budget(folder: Path) -> None:
    """Time ``perf history`` on two repositories: a tenth of the series step, or all of them."""
    for name, stepping in (("few", JOBS // 10), ("all", JOBS)):
        project = folder / name
        if not project.exists():
            build(project, stepping)
        run(project, "-n1")
        for path in (project / ".perf").glob("steps.db*"):
            path.unlink()
        took, computing, size, said = run(project)
        print(
            f"{name}: {said}\n  empty cache     {took:7.0f} ms, computing {computing:5.0f} ms,"
            f" {size:.0f} MB"
        )
        times = sorted(run(project)[:2] for _ in range(7))
        verdict = f"budget {BUDGET:.0f}  {'within' if times[3][0] <= BUDGET else 'OVER'}"
        print(
            f"  full cache      {times[3][0]:7.0f} ms, computing {times[3][1]:5.0f} ms  {verdict}"
        )
        print(f"  one benchmark   {run(project, 'job1')[0]:7.0f} ms")
        git(project, "commit", "--quiet", "--allow-empty", "--message", "One more")
        added = [git(project, "rev-parse", "HEAD")]
        Store(project / ".perf/store").add(
            profiles(added, np.full((1, JOBS), log(0.01)), COMMITS), "One more"
        )
        took, computing, *_ = run(project)
        print(f"  one commit more {took:7.0f} ms, computing {computing:5.0f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=200, help="series of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--budget", type=Path, metavar="FOLDER", help="time whole commands instead")
    options = parser.parse_args()
    if options.budget:
        budget(options.budget)
    else:
        quality(options.runs, options.seed)


if __name__ == "__main__":
    main()
