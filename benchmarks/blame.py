"""How often `perf blame` names the right function: slowdowns planted in real projects, changes made
by hand, and pairs without any.

    python benchmarks/blame.py FOLDER [--mutants 60] [--same 20] [--projects toolz,cJSON] [--only
    planted] [--seed 1]

Ten projects, and two more for changes by hand: those of Python come from the package index, those
of C and C++ from GitHub. Each gets a repository: its sources and a benchmark of some tenths of a
second. A case makes one slowdown in a function that the benchmark runs, with harmless changes in up
to six other functions that it runs, commits both, and asks `perf blame`:

- ``mutants``: of 5 to 100 %, by the rules of perfvcs/locate/blame/mutation.py in turns, and two
  kinds that `perf mutate` does not plant;
- ``planted``: blaming/planted.toml, written for projects of C and C++;
- ``hand``: blaming/hand.toml, as people make them, in both languages;
- ``same``: harmless changes only.

Written to FOLDER/cases.jsonl, one line each; what is there is not run again, so that it can be
interrupted.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from blaming.planting import apply, disguise, mutate, written
from blaming.projects import PROJECTS, Project, git

PERF = Path(sys.executable).parent / "perf"
KINDS = ("planted", "hand", "mutants", "same")
BY_INSTRUCTIONS = ("copy in a loop", "list for set")  # whose cost is in functions of C
FEWEST = 0.01  # smaller effects are no slowdown


def cases(options: argparse.Namespace) -> Iterator[tuple[str, str, Project, dict[str, Any] | int]]:
    """All cases: a key, the kind, the project, and the written change or a number."""
    chosen = [
        one
        for name, one in PROJECTS.items()
        if name in options.projects.split(",") or not options.projects
    ]
    for kind in KINDS:
        if options.only not in ("", kind):
            continue
        if kind in ("planted", "hand"):
            for number, change in enumerate(written(kind)):
                if PROJECTS[change["project"]] in chosen:
                    yield f"{kind} {number}", kind, PROJECTS[change["project"]], change
        else:
            fitting = [one for one in chosen if one.python or kind == "same"]
            for number in range(options.mutants if kind == "mutants" else options.same):
                if fitting:
                    yield f"{kind} {number}", kind, fitting[number % len(fitting)], number


def run(
    folder: Path, key: str, kind: str, project: Project, change: dict[str, Any] | int, seed: int
) -> dict[str, Any]:
    """One case: plant, commit, blame."""
    place = project.prepare(folder)
    known = json.loads((folder / f"{project.name}.json").read_text())
    chance = random.Random(f"{seed} {key}")
    git(place, "checkout", "-q", "--force", "main")
    case: dict[str, Any] = {"key": key, "kind": kind, "project": project.name}
    if isinstance(change, dict):
        case |= apply(place, change)
    elif kind == "mutants":
        planted = mutate(place, known, chance, change // 6)
        if planted is None:
            return case | {"error": "nothing could be planted"}
        case |= planted
    case["harmless"] = disguise(place, known, chance, case.get("functions", []))
    git(place, "checkout", "-q", "--detach")
    git(place, "commit", "-qam", "case")
    metric = (
        "bytecodes"
        if project.python and kind != "hand" and case.get("rule") not in BY_INSTRUCTIONS
        else "auto"
    )
    command = [str(PERF), "blame", "main", "HEAD", "work", "--quiet", "--json", "--metric", metric]
    began = time.monotonic()
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    case["seconds"] = round(time.monotonic() - began, 1)
    if done.returncode:
        return case | {"error": done.stderr.strip()[-400:]}
    found = json.loads(done.stdout)
    ranked = [f"{one['path']}:{one['name']}" for one in found["suspects"]]
    tried = [one for one in found["trials"] if one["word"] in ("proved", "contributes")]
    best = max(tried, key=lambda one: (one["word"] == "proved", one["share"]), default=None)
    return case | {
        "verdict": found["verdict"],
        "effect": found["effect"],
        "used": found["metric"],
        "ranked": ranked[:5],
        "scores": [round(one["score"], 5) for one in found["suspects"]][:5],
        "blamed": (
            f"{best['path']}:{best['name']}"
            if best
            else ranked[0]
            if ranked and found["verdict"] != "not proved"
            else ""
        ),
        "trials": [
            [one["name"], one["word"], one["share"], one["reason"]] for one in found["trials"]
        ],
    }


def report(done: list[dict[str, Any]]) -> None:
    """The figures."""
    ran = [one for one in done if "error" not in one]
    slow = [
        one
        for one in ran
        if one["kind"] != "same" and one["effect"] >= FEWEST and one["verdict"] != "no difference"
    ]
    same = [one for one in ran if one["kind"] == "same"]
    print(f"{'':30} {'n':>4} {'first':>6} {'three':>6} {'proved':>6} {'wrong':>6} {'s':>6}")
    _row("all", slow)
    for key in ("kind", "project", "rule", "used"):
        for value in sorted({one[key] for one in slow}):
            _row(value, (one for one in slow if one[key] == value))
    small = [one for one in ran if one["kind"] != "same" and one not in slow]
    print(f"not slower by 1 %: {len(small)}; failed: {len(done) - len(ran)}")
    print(
        f"pairs of the same: {len(same)}, of which {sum(bool(one['blamed']) for one in same)} have"
        " a function blamed"
    )


def _row(name: str, chosen: Iterable[dict[str, Any]]) -> None:
    rows = list(chosen)
    if not rows:
        return
    first = sum(bool(set(one["ranked"][:1]) & set(one["functions"])) for one in rows)
    three = sum(bool(set(one["ranked"][:3]) & set(one["functions"])) for one in rows)
    right = [one["blamed"] in one["functions"] for one in rows]
    proved = sum(one["verdict"] == "proved" and good for one, good in zip(rows, right, strict=True))
    wrong = sum(
        one["verdict"] == "proved" and not good for one, good in zip(rows, right, strict=True)
    )
    seconds = sorted(one["seconds"] for one in rows)[len(rows) // 2]
    print(f"{name[:30]:30} {len(rows):4} {first:6} {three:6} {proved:6} {wrong:6} {seconds:6.0f}")


def main() -> None:
    """Run the cases that are not there yet, and report all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--mutants", type=int, default=60)
    parser.add_argument("--same", type=int, default=20)
    parser.add_argument("--projects", default="", help="names, with commas between them")
    parser.add_argument("--only", default="", choices=("", *KINDS))
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "cases.jsonl"
    done = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    known = {one["key"] for one in done}
    for key, kind, project, change in cases(options):
        if key in known:
            continue
        case = run(folder, key, kind, project, change, options.seed)
        done.append(case)
        with log.open("a") as file:
            file.write(json.dumps(case) + "\n")
        said = ("functions", "rule", "effect", "verdict", "blamed", "error", "seconds")
        print(key, project.name, *(case[name] for name in said if name in case), flush=True)
    report(done)


if __name__ == "__main__":
    main()
