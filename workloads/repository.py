"""Makes a repository in which perf's own jobs run: ``python workloads/repository.py KIND N``.

perf.toml at the top names this as the command of its workloads. So each revision makes its own
in its checkout, with its own ``perf``, below build/workloads, which git ignores. All dates and
seeds are fixed, and a repository that is there is left alone. What is printed is the workload: the
folder and the id of its last commit.

=========  =======================================================================================
history    N commits, each with the profiles of ten jobs of twenty executions, and three steps
pair       two commits measured in turns, with N jobs of ten executions and three metrics
files      one commit, and N files of measurements in each of five formats
rows       a profile with N rows of seven units, which grow in seven ways with their size
calls      a program with N calls of a function, whose calls are to be recorded
executions a job that only starts, to be executed N times
=========  =======================================================================================
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

MADE = Path("build/workloads")
SEED = 20261120
FIRST = 1_700_000_000  # seconds since 1970 of the first commit; each is ten minutes after the last
METRICS = {"wall": ("s", 0.0131), "cpu": ("s", 0.0122), "maxrss": ("B", 20.5e6)}
FIELDS = {"cpu": "a processor", "machine": "x86_64"}
JOBS, EXECUTIONS = 10, 20
PAIR_EXECUTIONS = 10
STEPS = ((0.25, 0.08), (0.5, -0.05), (0.8, 0.12))  # place in the history, and size
SAMPLES = 20
GROWTH: dict[str, Callable[[int], float]] = {
    "constant": lambda _: 1.0,
    "logarithmic": math.log,
    "linear": float,
    "linearithmic": lambda n: n * math.log(n),
    "quadratic": lambda n: n**2.0,
    "power": lambda n: n**1.5,
    "exponential": lambda n: 1.001**n,
}
PROGRAM = """\
def work(number):
    return number + 1


def main():
    total = 0
    for _ in range({n}):
        total = work(total)


main()
"""


def git(folder: Path, *args: str, data: bytes | None = None) -> str:
    """What git prints."""
    command = ["git", "-C", str(folder), *args]
    return subprocess.run(command, input=data, check=True, stdout=subprocess.PIPE).stdout.decode()


def perf(folder: Path, *args: str) -> None:
    """Run the perf of the revision, not its completion, as the variables of that job would have
    it.
    """
    env = {name: value for name, value in os.environ.items() if name != "_PERF_COMPLETE"}
    command = ["perf", "-C", str(folder), *args]
    subprocess.run(command, check=True, stdout=sys.stderr, env=env)


def commits(folder: Path, config: str, count: int = 1) -> list[str]:
    """A linear history with a perf.toml and a file that changes; the ids, oldest first."""
    git(folder, "init", "--quiet", "--initial-branch=main")
    stream = [b"blob\nmark :1\ndata %d\n%s\n" % (len(config), config.encode())]
    for number in range(count):
        message, text = b"Change number %d" % number, b"%d\n" % number
        stream.append(
            b"commit refs/heads/main\ncommitter Ada <ada@example.org> %d +0000\ndata %d\n%s\n"
            b"M 100644 :1 perf.toml\nM 100644 inline number.txt\ndata %d\n%s\n"
            % (FIRST + 600 * number, len(message), message, len(text), text)
        )
    git(folder, "fast-import", "--quiet", data=b"".join(stream))
    git(folder, "reset", "--quiet", "--hard", "main")
    return git(folder, "rev-list", "--reverse", "main").split()


def table(jobs: int) -> str:
    """A perf.toml with so many jobs."""
    return "".join(f'[[job]]\nname = "job{number}"\ncmd = "true"\n\n' for number in range(jobs))


def profile(
    commit: str, name: str, session: str, design: dict[str, Any], resources: dict[str, Any]
) -> dict[str, Any]:
    """A document as docs/format.md describes it."""
    fingerprint = hashlib.sha256(json.dumps(FIELDS, sort_keys=True).encode()).hexdigest()[:12]
    units = {metric: unit for metric, (unit, _) in METRICS.items() if metric in resources}
    return {
        "format": "perfvcs-profile/1",
        "commit": commit,
        "dirty": None,
        "job": {"name": name, "collector": "time", "cmd": "true", "engine": "launcher/1"},
        "collected": {
            "session": session,
            "started": "2026-11-20T09:30:00.000Z",
            "ended": "2026-11-20T09:30:02.000Z",
            "tool": "perfvcs 0.1.0",
        },
        "environment": {"fingerprint": fingerprint, "fields": FIELDS, "notes": {}, "warnings": []},
        "design": {"binaries": 1, "warmup": 1, "seed": 1} | design,
        "metrics": {metric: {"unit": unit} for metric, unit in units.items()},
        "resources": resources,
        "models": [],
        "postprocessors": [],
    }


def drawn(lot: random.Random, name: str, count: int, shift: float = 0.0) -> dict[str, Any]:
    """The rows of so many executions of one unit."""
    columns = {
        metric: [round(centre * math.exp(shift + lot.gauss(0, 0.02)), 9) for _ in range(count)]
        for metric, (_, centre) in METRICS.items()
    }
    uid = {"names": [name], "codes": [0] * count}
    return {"uid": uid, "execution": list(range(count))} | columns


def history(folder: Path, count: int) -> None:
    """The levels of all jobs step where STEPS says."""
    lot = random.Random(SEED)
    ids = commits(folder, table(JOBS), count)
    steps = [(round(share * count), size) for share, size in STEPS]

    def documents() -> Iterator[dict[str, Any]]:
        for place, commit in enumerate(ids):
            level = sum(size for at, size in steps if place >= at)
            session = f"20261120T093000-{place:06x}"
            design = {"executions": EXECUTIONS, "order": "sequential"}
            for number in range(JOBS):
                rows = drawn(lot, f"job{number}", EXECUTIONS, level)
                del rows["cpu"], rows["maxrss"]
                yield profile(commit, f"job{number}", session, design, rows)

    store(folder, documents())


def pair(folder: Path, count: int) -> None:
    """Nothing has changed between the two."""
    lot = random.Random(SEED)
    ids = commits(folder, table(count), 2)

    def documents() -> Iterator[dict[str, Any]]:
        for place, commit in enumerate(ids):
            design = {"executions": PAIR_EXECUTIONS, "order": "interleaved"}
            turns = {"version": place, "versions": ids}
            for number in range(count):
                name = f"job{number}"
                rows = drawn(lot, name, PAIR_EXECUTIONS)
                yield profile(commit, name, "20261120T093000-000001", design | turns, rows)

    store(folder, documents())


def store(folder: Path, documents: Iterator[dict[str, Any]]) -> None:
    """Import the documents, which are files as long as that takes."""
    waiting = folder / "waiting"
    waiting.mkdir()
    for number, document in enumerate(documents):
        (waiting / f"{number}.json").write_text(json.dumps(document))
    perf(folder, "import", "--quiet", str(waiting.absolute()))
    shutil.rmtree(waiting)


def rows(folder: Path, count: int) -> None:
    """The profile is a file beside the repository's."""
    lot = random.Random(SEED)
    (commit,) = commits(folder, table(1))
    names = list(GROWTH)
    sizes = [1 + row // len(names) % 1000 for row in range(count)]
    wall = [
        GROWTH[names[row % len(names)]](size) * 1e-6 * math.exp(lot.gauss(0, 0.02))
        for row, size in enumerate(sizes)
    ]
    uid = {"names": names, "codes": [row % len(names) for row in range(count)]}
    columns = {"uid": uid, "execution": [0] * count, "size": sizes, "wall": wall}
    columns |= {"iteration": [row // len(names) for row in range(count)]}
    design = {"executions": 1, "order": "sequential"}
    document = profile(commit, "growth", "20261120T093000-000001", design, columns)
    (folder / "rows.json").write_text(json.dumps(document))


def files(folder: Path, count: int) -> None:
    """Tables, and what four other tools write."""
    lot = random.Random(SEED)
    commits(folder, table(1))
    for number in range(count):
        times = [0.01 * math.exp(lot.gauss(0, 0.02)) for _ in range(SAMPLES)]
        for form, text in written(f"case{number}", times).items():
            place = folder / "files" / form
            place.mkdir(parents=True, exist_ok=True)
            suffix = "csv" if form == "csv" else "perf" if form == "perun" else "json"
            (place / f"{number}.{suffix}").write_text(text)


def written(name: str, times: list[float]) -> dict[str, str]:
    """The same times of one benchmark in five formats."""
    lines = [f"{name},{run},{value}\n" for run, value in enumerate(times)]
    google = [
        {
            "name": name,
            "run_name": name,
            "run_type": "iteration",
            "repetitions": len(times),
            "repetition_index": run,
            "iterations": 1000,
            "real_time": 1e9 * value,
            "cpu_time": 1e9 * value,
            "time_unit": "ns",
        }
        for run, value in enumerate(times)
    ]
    mean = sum(times) / len(times)
    hyperfine = {
        "command": name,
        "mean": mean,
        "stddev": 0.0002,
        "median": mean,
        "user": mean,
        "system": 0.0,
        "min": min(times),
        "max": max(times),
        "times": times,
        "exit_codes": [0] * len(times),
    }
    stats = {"min": min(times), "max": max(times), "mean": mean, "rounds": len(times)}
    benchmark = {
        "group": None,
        "name": name,
        "fullname": f"tests/test_it.py::{name}",
        "params": None,
        "extra_info": {},
        "stats": stats | {"iterations": 1, "data": times},
    }
    machine = {"python_implementation_version": "3.11.2"}
    resources = [
        {"amount": value, "structure-unit-size": 1, "uid": name, "type": "mixed"} for value in times
    ]
    return {
        "csv": "".join(["uid,run,wall [s]\n", *lines]),
        "google_benchmark": json.dumps({"context": {"num_cpus": 2}, "benchmarks": google}),
        "hyperfine": json.dumps({"results": [hyperfine]}),
        "pytest_benchmark": json.dumps({"machine_info": machine, "benchmarks": [benchmark]}),
        "perun": json.dumps({"header": {"type": "mixed"}, "global": {"resources": resources}}),
    }


def calls(folder: Path, count: int) -> None:
    """The calls of the function are recorded by the collector `complexity`."""
    collector = '{ name = "complexity", functions = ["calls:work"] }'
    job = f'[[job]]\nname = "calls"\ncmd = "python calls.py"\ncollectors = [{collector}]\n'
    commits(folder, f"{job}executions = 1\nwarmup = 0\n")
    (folder / "calls.py").write_text(PROGRAM.replace("{n}", str(count)))
    git(folder, "add", "calls.py")
    dates = {f"GIT_{who}_DATE": f"{FIRST + 600} +0000" for who in ("AUTHOR", "COMMITTER")}
    command = ["git", "-C", str(folder), "commit", "--quiet", "--message", "Calls"]
    subprocess.run(command, check=True, env=os.environ | dates)


def executions(folder: Path, count: int) -> None:
    """One measures next to nothing, so that what is left is perf's own part."""
    job = f'[[job]]\nname = "start"\ncmd = "true"\nexecutions = {count}\nwarmup = 0\n'
    commits(folder, f"{job}\n[knobs]\npadding = false\n")


KINDS = {maker.__name__: maker for maker in (history, pair, files, rows, calls, executions)}


def main() -> None:
    """Make the repository under another name first, so that a half one is never taken."""
    kind, count = sys.argv[1], int(sys.argv[2])
    folder = MADE / f"{kind}-{count}"
    if not folder.exists():
        making = folder.with_suffix(".making")
        shutil.rmtree(making, ignore_errors=True)
        making.mkdir(parents=True)
        KINDS[kind](making, count)
        making.rename(folder)
    print(folder, git(folder, "rev-parse", "HEAD"), sep="\n", end="")


if __name__ == "__main__":
    main()
