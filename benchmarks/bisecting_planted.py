"""`perf bisect` on real projects: 64 real commits of each, into one of which a slowdown was
planted, beside `git bisect run`.

    python benchmarks/bisecting_planted.py CLONES FOLDER [--only NAME ...] [--seed 1] [--asv ASV
    [--made]]

CLONES holds a clone of each project of ``PROJECTS``: a folder named like it, or bare and ending in
`+NAME/repo`. In FOLDER a repository is made of 64 commits of each project along the first parents:
the newest ones among which the benchmark's instructions, in a sample of them, differ by less than
half of what is planted (larger real changes would be as right an answer, or make both ends equal
again). From one commit on, chosen by chance, a function that the benchmark calls runs a loop first,
which costs 3 to 20 % of the benchmark's CPU time, calibrated here. A line per project: what was
planted, what was named, builds, executions, commits whose instructions were counted, and minutes;
and the same of a `git bisect run` that compares the median of five executions with the middle
between the medians of both ends. It is right where the planted commit is among those that are
named. With the program ASV, `asv find` searches the projects in Python, too, by the CPU time of
what the benchmark does after its imports; with --made it does that only, in the repositories that
an earlier call has made.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from pathlib import Path

from culprits.planting import COMMITS, clone_of, git, make
from culprits.projects import PROJECTS, Planted
from culprits.quiet import Unquiet, calibrated, steady
from culprits.rivals import asv_find, naive


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("clones", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--asv", default="", metavar="ASV", help="the program asv, whose find is to be run as well"
    )
    parser.add_argument(
        "--made", action="store_true", help="run only asv, in repositories that are there"
    )
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    for place, project in enumerate(PROJECTS):
        culprit = random.Random(f"{asked.seed} {place}").randrange(2, COMMITS - 1)
        if asked.only and project.name not in asked.only:
            continue
        if asked.made:
            folder = asked.folder.resolve() / project.name
            if folder.exists() and not project.is_c:
                say_asv(
                    asked.asv,
                    project,
                    folder,
                    git(folder, "rev-list", "--reverse", "--first-parent", "main").split(),
                )
            continue
        clone, folder = (
            clone_of(asked.clones.resolve(), project.name),
            asked.folder.resolve() / project.name,
        )
        scratch = folder.with_name(f"{folder.name}-scratch")
        try:
            originals = steady(project, clone, scratch, culprit)
            turns = calibrated(project, clone, scratch, originals[-1])
        except Unquiet as error:
            print(f"{project.name:11} not searched: {error}", flush=True)
            continue
        commits = make(project, clone, originals, folder, culprit, turns)
        command = [
            sys.executable,
            "-m",
            "perfvcs",
            "bisect",
            commits[0],
            "--metric",
            "cpu",
            "--unit",
            "task",
            "--json",
        ]
        with folder.with_name(f"{folder.name}.log").open("w") as log:
            done = subprocess.run(
                command, cwd=folder, stdout=subprocess.PIPE, stderr=log, text=True, check=False
            )
        try:
            found = json.loads(done.stdout)
        except ValueError:
            print(f"{project.name:11} failed: see {folder}.log", flush=True)
            continue
        named = [commits.index(one["commit"]) for one in found.get("named", [])]
        likely = max(found["commits"], key=lambda row: row.get("probability") or 0)
        verdict = "right" if culprit in named else "wrong" if named else "not named"
        guess, builds, minutes = naive(project, folder, commits)
        effect = 100 * (found.get("effect") or {}).get("value", float("nan"))
        print(
            f"{project.name:11} {project.size:+5.0%} at {culprit:2}: {verdict}: {found['ended']}"
            f" {named}, likeliest {commits.index(likely['commit'])}, ends {effect:+.1f} %,"
            f" {found.get('built', 0)} builds, {found.get('executions', 0)} executions,"
            f" {len(found.get('counted', ()))} counted, {found.get('seconds', 0) / 60:.1f} min; git"
            f" bisect run: {guess}, {builds} builds, {minutes:.1f} min",
            flush=True,
        )
        if asked.asv and not project.is_c:
            say_asv(asked.asv, project, folder, commits)


def say_asv(asv: str, project: Planted, folder: Path, commits: list[str]) -> None:
    number, builds, minutes = asv_find(asv, project, folder, commits)
    print(f"{project.name:11} asv find: {number}, {builds} builds, {minutes:.1f} min", flush=True)


if __name__ == "__main__":
    main()
