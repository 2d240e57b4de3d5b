"""Time what must stay fast at 10,000 commits and 100,000 profiles: ``python benchmarks/budgets.py
FOLDER``.

FOLDER keeps the repositories that are built at first (about a minute) and used again later. Whole
commands are run as processes, and the median counts; commands that do not exist yet are named. The
budgets are those of the design, section "Scale".
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from perfvcs.index import Index
from perfvcs.profile import Collected, Design, Environment, Job, Metric, Profile, Resources
from perfvcs.store import Store

COMMITS, JOBS, SAMPLES = 10_000, 10, 20
PAIR_JOBS, PAIR_EXECUTIONS = 100, 10
WIDE_JOBS = 334  # of three metrics each
COMPLETE = "complete `perf show`, no repository"
CHECK, WIDE = "perf check HEAD~1 HEAD", "perf check HEAD~1 HEAD, 1,002 series"
METRICS = {"wall": Metric("s"), "cpu": Metric("s"), "maxrss": Metric("B")}
ENVIRONMENT = Environment(
    fields={"cpu": "benchmark", "machine": "x86_64"},
    fingerprint="0123456789ab",
    notes={"load": "0.10"},
)
BUDGETS = {
    "python -c pass": None,
    COMPLETE: 50,
    "perf --help": 60,
    "perf log -n1": 150,
    "perf log": 150,
    "perf status": 150,
    CHECK: 300,
    WIDE: 1000,
    "store one more profile": 30,
    "index one more profile": None,
    "add 100,000 profiles": 30_000,
    "build the index": None,
}


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


def build_project(folder: Path, commits: int, jobs: int) -> list[str]:
    """A repository with a linear history, a perf.toml and a clean working tree; returns its
    commits, oldest first.
    """
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    config = "".join(
        f'[[job]]\nname = "job{number}"\ncmd = "true"\nexecutions = {SAMPLES}\n\n'
        for number in range(jobs)
    ).encode()
    stream = [b"blob\nmark :1\ndata %d\n%s\n" % (len(config), config)]
    for number in range(commits):
        stream.append(
            b"commit refs/heads/main\ncommitter Ada <ada@example.org> %d +0000\n"
            % (1_700_000_000 + 600 * number)
        )
        message, text = b"Change number %d" % number, b"%d\n" % number
        stream.append(
            b"data %d\n%s\nM 100644 :1 perf.toml\nM 100644 inline file.txt\n"
            % (len(message), message)
        )
        stream.append(b"data %d\n%s\n" % (len(text), text))
    git(folder, "fast-import", "--quiet", data=b"".join(stream))
    git(folder, "reset", "--quiet", "--hard", "main")
    with (folder / ".git/info/exclude").open("a") as exclude:
        exclude.write(".perf/\n")
    return git(folder, "rev-list", "--reverse", "main").split()


def profiles(
    commits: list[str], jobs: int, executions: int, metrics: dict[str, Metric], *, together: bool
) -> Iterator[Profile]:
    """One profile per commit and job; ``together``: all commits in one interleaved session."""
    random_numbers = random.Random(20261120)
    made = [
        Job(name=f"job{number}", collector="time", cmd="true", engine="launcher/1")
        for number in range(jobs)
    ]
    for place, commit in enumerate(commits):
        session = "20261120T093000-pair00" if together else f"20261120T093000-{place:06x}"
        collected = Collected(
            session, "2026-11-20T09:30:00.000Z", "2026-11-20T09:30:02.000Z", "perfvcs 0.1.0"
        )
        design = Design(executions=executions, warmup=1, seed=1)
        if together:
            design = Design(
                executions=executions,
                warmup=1,
                seed=1,
                order="interleaved",
                version=place,
                versions=commits,
            )
        for number, job in enumerate(made):
            centre = 0.01 * (number + 1)
            columns: dict[str, list[float | None]] = {
                name: [
                    round(centre * random_numbers.lognormvariate(0, 0.02), 9)
                    for _ in range(executions)
                ]
                for name in metrics
            }
            rows = Resources(
                names=[job.name],
                uid=[0] * executions,
                execution=list(range(executions)),
                metrics=columns,
            )
            yield Profile(
                commit=commit,
                job=job,
                collected=collected,
                environment=ENVIRONMENT,
                design=design,
                metrics=metrics,
                resources=rows,
            )


def build(folder: Path) -> dict[str, float]:
    """The large repository and the pair, measured while they are made; milliseconds."""
    times: dict[str, float] = {}
    large = folder / "large"
    commits = build_project(large, COMMITS, JOBS)
    store = Store.create(large / ".perf/store")
    start = time.perf_counter()
    wall = {"wall": METRICS["wall"]}
    store.add(profiles(commits, JOBS, SAMPLES, wall, together=False), "Everything")
    times["add 100,000 profiles"] = 1000 * (time.perf_counter() - start)
    times["MB after adding"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    start = time.perf_counter()
    Index(store, large / ".perf/index.db").refresh()
    times["build the index"] = 1000 * (time.perf_counter() - start)
    times["MB after indexing"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    for name, jobs in (("pair", PAIR_JOBS), ("wide", WIDE_JOBS)):
        pair = folder / name
        commits = build_project(pair, 2, jobs)
        store = Store.create(pair / ".perf/store")
        store.add(profiles(commits, jobs, PAIR_EXECUTIONS, METRICS, together=True), "A pair")
        Index(store, pair / ".perf/index.db").refresh()
    (folder / "built.json").write_text(json.dumps(times))
    return times


def time_one_more(large: Path, runs: int) -> dict[str, float]:
    """Medians of storing one more profile on HEAD, and of indexing it; they are taken out again."""
    store = Store(large / ".perf/store")
    index = Index(store, large / ".perf/index.db")
    index.refresh()
    head = git(large, "rev-parse", "HEAD")
    stored, indexed, paths = [], [], []
    for run in range(runs):
        (profile,) = profiles([head], 1, 19, {"wall": METRICS["wall"]}, together=False)
        profile.resources.metrics["wall"][0] = 1.0 + run
        start = time.perf_counter()
        paths += store.add([profile], "One more")
        stored.append(time.perf_counter() - start)
        start = time.perf_counter()
        index.refresh()
        indexed.append(time.perf_counter() - start)
    store.remove(paths, "Undo")
    index.refresh()
    return {
        "store one more profile": 1000 * statistics.median(stored),
        "index one more profile": 1000 * statistics.median(indexed),
    }


def time_command(
    folder: Path, command: list[str], runs: int, extra: Mapping[str, str] = MappingProxyType({})
) -> float | str:
    """Median of whole processes in milliseconds; a word where the command does not work.

    Exit codes 0, 3 and 4 are answers.
    """
    # As for an installed package: modules are compiled once, in the run that does not count,
    # wherever this one may write them.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    env["PYTHONPYCACHEPREFIX"] = str(folder.parent.absolute() / "bytecode")
    env |= extra
    times = []
    for _ in range(runs + 1):
        # a verdict that is remembered is not computed
        for path in (folder / ".perf").glob("verdicts.db*"):
            path.unlink()
        start = time.perf_counter()
        done = subprocess.run(
            command, cwd=folder, env=env, capture_output=True, text=True, check=False
        )
        times.append(1000 * (time.perf_counter() - start))
        if done.returncode not in (0, 3, 4):
            words = (done.stderr or done.stdout).strip().splitlines()
            return f"missing (exit {done.returncode}: {words[-1] if words else ''})"
    return statistics.median(times[1:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where the repositories are, or will be")
    parser.add_argument("--runs", type=int, default=11, help="of each command")
    options = parser.parse_args()
    folder, built = options.folder, options.folder / "built.json"
    found: dict[str, float | str] = dict(
        json.loads(built.read_text()) if built.exists() else build(folder)
    )
    found |= time_one_more(folder / "large", options.runs)
    perf = Path(sys.executable).with_name("perf")
    found["python -c pass"] = time_command(folder, [sys.executable, "-c", "pass"], options.runs)
    asked = {"COMP_WORDS": "perf show ", "COMP_CWORD": "2", "_PERF_COMPLETE": "bash_complete"}
    empty = folder / "empty"
    empty.mkdir(exist_ok=True)
    found[COMPLETE] = time_command(empty, [str(perf)], options.runs, asked)
    for name in BUDGETS:
        if name.startswith("perf "):
            where = folder / {CHECK: "pair", WIDE: "wide"}.get(name, "large")
            found[name] = time_command(
                where, [str(perf), *name.partition(",")[0].split()[1:]], options.runs
            )
    for name, value in found.items():
        budget = BUDGETS.get(name)
        if isinstance(value, str):
            print(f"{name:45} {value}")
        else:
            verdict = (
                ""
                if budget is None
                else f"  budget {budget:>6}  {'within' if value <= budget else 'OVER'}"
            )
            print(f"{name:45} {value:>10.1f}{' ms' if 'MB' not in name else ' MB'}{verdict}")


if __name__ == "__main__":
    main()
