"""Are injected regressions found among many counters, and good runs left alone? ``python benchmarks/counters/run.py FOLDER``.

A shop of three tiers (web, database, load) runs five times as it is and once with each fault, in turns, half a minute each. FOLDER becomes
a repository whose commits ``good`` and one per fault have their profiles in FOLDER/profiles, one execution per run: try
``perf check good cpu --method counters`` there. An existing FOLDER/profiles is only judged again.
"""

from __future__ import annotations

import argparse
import math
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import load
import tiers

from perfvcs.profile import Collected, Design, Environment, Job, Metric, Profile, Resources, decode

GOOD = 5
METRICS = {name: Metric(unit, better) for name, (unit, better) in load.COUNTERS.items()}


def git(folder: Path, *args: str) -> str:
    command = ["git", "-C", str(folder), "-c", "user.name=Ada", "-c", "user.email=ada@example.org", *args]
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip()


def present(value: float) -> float | None:
    return None if math.isnan(value) else value


def measure(folder: Path, seconds: float) -> None:
    """Ten runs into six profiles, and a repository with their commits."""
    started = datetime.now(UTC)
    runs: dict[str, list[list[list[float]]]] = {}
    for number, fault in enumerate(tiers.FAULTS):
        for name in ("good", fault) if number % 2 else (fault, "good"):
            runs.setdefault(name, []).append(load.run(name, seconds))
            print(f"{name}: {len(runs[name][-1])} samples", flush=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    session = started.strftime("%Y%m%dT%H%M%S-c0ffee")
    collected = Collected(session, f"{started:%FT%TZ}", f"{datetime.now(UTC):%FT%TZ}", "perfvcs")
    (folder / "profiles").mkdir()
    for name in sorted(runs, key=lambda name: name != "good"):
        git(folder, "commit", "--quiet", "--allow-empty", "-m", tiers.FAULTS.get(name, "the shop as it is"))
        git(folder, "tag", name)
        rows = [(run, time, row) for run, table in enumerate(runs[name]) for time, row in enumerate(table)]
        resources = Resources(
            ["shop"], [0] * len(rows), [run for run, _, _ in rows], iteration=[time for _, time, _ in rows],
            metrics={metric: [present(row[place]) for _, _, row in rows] for place, metric in enumerate(METRICS)},
        )  # fmt: skip
        profile = Profile(
            commit=git(folder, "rev-parse", "HEAD"), job=Job("shop", "counters", "./shop", engine="proc/1"), collected=collected,
            environment=Environment({"cpu": "this"}, "0123456789ab"), design=Design(executions=len(runs[name])), metrics=METRICS,
            resources=resources,
        )  # fmt: skip
        (folder / "profiles" / f"{name}.json").write_bytes(profile.encode())


def runs(profile: Profile) -> list[list[list[float]]]:
    """The runs of a profile, each a matrix of times by counters."""
    columns = [profile.resources.array(name).tolist() for name in profile.metrics]
    found: dict[int, list[list[float]]] = {}
    for execution, *row in zip(profile.resources.execution, *columns, strict=True):
        found.setdefault(execution, []).append(row)
    return list(found.values())


def judge(folder: Path) -> int:
    """A table of ten comparisons, each good run against the other good ones and each fault against all; how many came out wrong."""
    from perfvcs.statistics.multivariate.counters import compare

    good = runs(decode((folder / "profiles" / "good.json").read_bytes()))
    cases = [(f"good {number}", good[: number - 1] + good[number:], run) for number, run in enumerate(good, 1)]
    cases += [(fault, good, runs(decode((folder / "profiles" / f"{fault}.json").read_bytes()))[0]) for fault in tiers.FAULTS]
    wrong = 0
    print(f"{'new run':8} {'counters':>8} {'clusters':>8}  regressed: target counter (error, threshold; mean before -> after)")
    for name, old, new in cases:
        found = compare(old, new, list(METRICS))
        flagged = sorted((one for one in found.clusters if one.regressed), key=lambda one: one.threshold / one.error)
        texts = [
            f"{one.target} ({one.error:.0%}, {one.threshold:.0%}; {one.before:.4g} -> {one.after:.4g})"
            + (f" with {', '.join(other for other in one.counters if other != one.target)}" if len(one.counters) > 1 else "")
            for one in flagged
        ]
        print(f"{name:8} {len(found.structure.counters):8} {len(found.clusters):8}  " + ("\n" + " " * 28).join(texts or ["none"]))
        wrong += bool(flagged) == name.startswith("good")
    print(f"{wrong} of {len(cases)} wrong")
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=30.0, help="of a run")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    if not (options.folder / "profiles").exists():
        measure(options.folder, options.seconds)
    raise SystemExit(judge(options.folder) > 0)


if __name__ == "__main__":
    main()
