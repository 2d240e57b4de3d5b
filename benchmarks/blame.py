"""Slowdowns planted in real projects, changes made by hand, and pairs without any.

Ten projects, and two more for changes by hand: those of Python come from the package index, those of C and
C++ from GitHub. Each gets a repository: its sources and a benchmark of some tenths of a second. A case
makes one slowdown in a function that the benchmark runs, with harmless changes in up to six other
functions that it runs, commits both, and asks `perf blame`:

- ``mutants``: of 5 to 100 %, by the rules of perfvcs/locate/blame/mutation.py in turns, and two kinds that
  `perf mutate` does not plant;
- ``planted``: blaming/planted.toml, written for projects of C and C++;
- ``hand``: blaming/hand.toml, as people make them, in both languages;
- ``same``: harmless changes only.

Cases are written to cases.jsonl in ``folder``, one line each; what is there is not run again, so that it
can be interrupted.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from .blaming.planting import apply, disguise, mutate, written
from .blaming.projects import PROJECTS, Project
from .figures import Row
from .registry import benchmark
from .repositories import git, perf

KINDS = ("planted", "hand", "mutants", "same")
BY_INSTRUCTIONS = ("copy in a loop", "list for set")  # whose cost is in functions of C
UNBLAMED = ("not proved", "same counts", "not seen")
FEWEST = 0.01  # smaller effects are no slowdown


class Case(NamedTuple):
    """A case before it is run: the written change, or a number."""

    key: str
    kind: str
    project: Project
    change: dict[str, Any] | int


def cases(kinds: Sequence[str], projects: Sequence[str], mutants: int, same: int) -> Iterator[Case]:
    """All cases of these kinds and projects."""
    chosen = [one for name, one in PROJECTS.items() if name in projects]
    for kind in kinds:
        if kind in ("planted", "hand"):
            for number, change in enumerate(written(kind)):
                if PROJECTS[change["project"]] in chosen:
                    yield Case(f"{kind} {number}", kind, PROJECTS[change["project"]], change)
            continue
        fitting = [one for one in chosen if one.python or kind == "same"]
        for number in range(mutants if kind == "mutants" else same) if fitting else ():
            yield Case(f"{kind} {number}", kind, fitting[number % len(fitting)], number)


def run(folder: Path, case: Case, seed: int) -> dict[str, Any]:
    """One case: plant, commit, blame."""
    project, change = case.project, case.change
    place = project.prepare(folder)
    known = json.loads((folder / f"{project.name}.json").read_text())
    chance = random.Random(f"{seed} {case.key}")
    git(place, "checkout", "-q", "--force", "main")
    done: dict[str, Any] = {"key": case.key, "kind": case.kind, "project": project.name}
    if isinstance(change, dict):
        done |= apply(place, change)
    elif case.kind == "mutants":
        planted = mutate(place, known, chance, change // 6)
        if planted is None:
            return done | {"error": "nothing could be planted"}
        done |= planted
    done["harmless"] = disguise(place, known, chance, done.get("functions", []))
    git(place, "checkout", "-q", "--detach")
    git(place, "commit", "-qam", "case")
    by_bytecodes = (
        project.python and case.kind != "hand" and done.get("rule") not in BY_INSTRUCTIONS
    )
    metric = "bytecodes" if by_bytecodes else "auto"
    began = time.monotonic()
    try:
        said = perf(place, "blame", "main", "HEAD", "work", "--quiet", "--json", "--metric", metric)
    except RuntimeError as error:
        return done | {"error": str(error)[-400:]}
    done["seconds"] = round(time.monotonic() - began, 1)
    return done | _answer(json.loads(said))


def _answer(found: dict[str, Any]) -> dict[str, Any]:
    """What `perf blame` says: the verdict, the suspects, and the function that is blamed."""
    ranked = [f"{one['path']}:{one['name']}" for one in found["suspects"]]
    tried = [one for one in found["trials"] if one["word"] in ("proved", "contributes")]
    best = max(tried, key=lambda one: (one["word"] == "proved", one["share"]), default=None)
    blamed = ranked[0] if ranked and found["verdict"] not in UNBLAMED else ""
    if best:
        blamed = f"{best['path']}:{best['name']}"
    return {
        "verdict": found["verdict"],
        "effect": found["effect"],
        "used": found["metric"],
        "ranked": ranked[:5],
        "blamed": blamed,
    }


@benchmark("blame", quick="needs clones of ten projects", needs=("network", "valgrind"))
def blame(
    *,
    folder: Path,
    mutants: int = 60,
    same: int = 20,
    projects: tuple[str, ...] = tuple(PROJECTS),
    only: tuple[str, ...] = KINDS,
    seed: int = 1,
) -> Iterator[Row]:
    """How often does `perf blame` name the right function?"""
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "cases.jsonl"
    done = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    known = {one["key"] for one in done}
    for case in cases(only, projects, mutants, same):
        if case.key not in known:
            found = run(folder, case, seed)
            done.append(found)
            with log.open("a") as file:
                file.write(json.dumps(found) + "\n")
            print(found, file=sys.stderr, flush=True)
    yield from report(done)


def report(done: list[dict[str, Any]]) -> Iterator[Row]:
    """The figures of all cases."""
    ran = [one for one in done if "error" not in one]
    same = [one for one in ran if one["kind"] == "same"]
    changed = [one for one in ran if one["kind"] != "same"]
    slow = [one for one in changed if one["effect"] >= FEWEST and one["verdict"] != "no difference"]
    if slow:
        yield _row("all", slow)
    for key in ("kind", "project", "rule", "used"):
        for value in sorted({one[key] for one in slow}):
            yield _row(value, [one for one in slow if one[key] == value])
    yield {"pairs of the same": len(same), "blamed": sum(bool(one["blamed"]) for one in same)}
    yield {"not slower by 1 %": len(changed) - len(slow), "failed": len(done) - len(ran)}


def _row(name: str, rows: list[dict[str, Any]]) -> Row:
    proved = [one["blamed"] in one["functions"] for one in rows if one["verdict"] == "proved"]
    return {
        "cases": name,
        "n": len(rows),
        "first": sum(bool(set(one["ranked"][:1]) & set(one["functions"])) for one in rows),
        "among three": sum(bool(set(one["ranked"][:3]) & set(one["functions"])) for one in rows),
        "proved": sum(proved),
        "wrongly proved": proved.count(False),
        "s, median": median(one["seconds"] for one in rows),
    }
