"""Pull requests that are judged within a minute.

Each is a commit of a real project in Python (`layouts` makes them): one half changes nothing that a
benchmark can notice, the other adds 2, 3 or 5 % of work. Each is measured twice by `perf check --measure`
with a budget, with work counted beside time and without, in an order that alternates. Cases are written
to requests.jsonl in ``folder``, one line each; what is there is not run again.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from .blaming.harmless import KINDS
from .blaming.projects import PROJECTS
from .figures import Row
from .layouts import CLOCKS, Log, Prepared, asked, prepared, target
from .made import CHANGED
from .registry import benchmark

ARMS = {"time and work": [], "time alone": ["--no-exact"]}
SLIPS = (0.02, 0.03, 0.05)


@benchmark("pairs", quick="needs clones of projects", needs=("network",))
def first_minute(
    *, folder: Path, requests: int = 100, budget: int = 60, seed: int = 1
) -> Iterator[Row]:
    """What share of pull requests is settled within a minute, with and without counted work?"""
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    ran = Log.of(folder / "requests.jsonl")
    names = [name for name, project in PROJECTS.items() if project.python]
    made: dict[str, Prepared] = {}
    for number in range(requests):
        turn, place = divmod(number, len(names))
        name = names[place]
        kind, slip = KINDS[turn // 2 % len(KINDS)], 0.0
        if turn % 2:
            kind, slip = "slip", SLIPS[turn // 2 % len(SLIPS)]
        case = {"project": name, "kind": kind, "slip": slip, "number": number}
        # neither the project nor the kind of commit decides which comes first
        arms = list(ARMS) if (turn // 2 + place) % 2 else list(reversed(ARMS))
        open_arms = [arm for arm in arms if not ran.has(case | {"arm": arm})]
        if not open_arms:
            continue
        if name not in made:
            made[name] = prepared(folder, PROJECTS[name], "")
        if commit := target(made[name], case, seed):
            for arm in open_arms:
                options = ["--budget", f"{budget}s", *ARMS[arm]]
                ran.add(case | {"arm": arm} | _judged(made[name].place, commit, options))
    for arm in ARMS:
        if cases := [case for case in ran.cases.values() if case["arm"] == arm]:
            yield {"measured": arm} | _row(cases)


def _judged(place: Path, commit: str, options: list[str]) -> dict[str, Any]:
    """The words on the round of a commit and its parent."""
    shutil.rmtree(place / ".perf", ignore_errors=True)
    began = time.monotonic()
    done = asked(place, "check", "--measure", "--json", *options, "main", commit)
    words = [
        change["word"]
        for change in json.loads(done.stdout)["changes"]
        if change["uid"] == "round" and change["metric"] in CLOCKS
    ]
    return {"words": words, "exit": done.returncode, "seconds": time.monotonic() - began}


def _row(cases: list[dict[str, Any]]) -> Row:
    """The counts of an arm."""
    slips = [case for case in cases if case["slip"]]
    harmless = [case for case in cases if not case["slip"]]
    return {
        "slips": len(slips),
        "found": sum("degradation" in case["words"] for case in slips),
        "called faster or the same": sum(
            bool({"improvement", "same"} & {*case["words"]}) for case in slips
        ),
        "harmless": len(harmless),
        "called the same": sum("same" in case["words"] for case in harmless),
        "called changed": sum(bool({*CHANGED} & {*case["words"]}) for case in harmless),
        "seconds": median(case["seconds"] for case in cases),
    }
