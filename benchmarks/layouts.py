"""Commits that change nothing, and what `perf check --measure` calls them.

Real projects in Python and C, each with a benchmark that repeats its work for some tenths of a second.
Commits change comments, docstrings, blank lines, unused functions and locals, or the order of
functions, and are compared with their parent: each `degradation` and `improvement` is wrong, and is
due to where code or objects lie; `perf blame` is asked, too, and has nothing to prove. Beside them stand
commits with 2 to 10 % more work. Cases are written to layouts.jsonl in ``folder``, one line each; what is
there is not run again, so that it can be interrupted.

What the heap does to a program in Python also shows without a clock: where objects lie decides how
often Python's caches miss, and with that how many instructions the interpreter executes for the same
bytecodes.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from statistics import median
from typing import Any, NamedTuple

from perfvcs.environment import clean
from perfvcs.native import native_folder, python_folder

from .blaming.harmless import KINDS, plant
from .blaming.projects import PROJECTS, PYTHON, Project
from .figures import Row
from .made import CHANGED
from .registry import benchmark
from .repositories import ANSWERS, PERF, commit, git, repository

SECONDS = 0.15  # seconds of the work of an execution
SLIP = 10_000  # turns of a loop, the fewest by which its speed is measured
SLIPS = (0.02, 0.03, 0.05, 0.1)
CLOCKS = ("wall", "cpu")
TRIES = 20  # changes that are planted until one builds
PYTHON_BENCH = """\
import contextlib, io, sys
import perfvcs_bench as bench
from slip import SLIP

with open("work.py") as file:
    work = compile(file.read(), "work.py", "exec")

def more(n):
    while n:
        n -= 1

for _ in range(int(sys.argv[1])):
    with contextlib.redirect_stdout(io.StringIO()), bench.measure("round"):
        exec(work, {"__name__": "__main__"})
        more(SLIP)
"""
NATIVE_BENCH = """

#include "slip.h"
int main(int argc, char **argv)
{
    if (argc < 2 || !freopen("/dev/null", "w", stdout)) return 1;
    for (int i = 0; i < atoi(argv[1]); i++) {
        perfvcs_timer timer = perfvcs_begin();
        work();
        for (volatile unsigned n = SLIP; n; n--);
        perfvcs_end(timer, "round", PERFVCS_NO_SIZE);
    }
    return 0;
}
"""
CONFIG = """\
{build}overlay = {overlay}

[[job]]
name = "work"
cmd = "{command} {rounds}"
timeout = "60s"
{more}"""


class Prepared(NamedTuple):
    """A project's repository, what its benchmark runs, and the slip of one round that takes as long
    as the rest of it.
    """

    project: Project
    place: Path
    known: dict[str, Any]
    whole: float


def prepared(folder: Path, project: Project, more: str) -> Prepared:
    """A copy of the project whose benchmark repeats its work; ``more`` ends its perf.toml."""
    source = project.prepare(folder)
    known = json.loads((folder / f"{project.name}.json").read_text())
    place = folder / f"{project.name}-rounds"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(source, place, ignore=shutil.ignore_patterns(".git", ".perf", "__pycache__"))
    bench = next(place.glob("bench.*"))
    overlay = [bench.name]
    if project.python:
        bench.rename(place / "work.py")
        overlay.append("work.py")
        bench.write_text(PYTHON_BENCH)
    else:
        work = bench.read_text().replace("int main(", "int work(").rstrip().removesuffix("}")
        # what is not main has to return something
        bench.write_text(f'#include "perfvcs.h"\n{work}return 0;\n}}\n{NATIVE_BENCH}')
    _slip(place, 0)
    short, turns = _seconds(project, place), SLIP
    while (slow := _slowed(project, place, turns)) < 2 * short:  # else noise hides it
        turns *= 4
    words = {
        "build": f"build = [{json.dumps(project.build)}]\n" if project.build else "",
        "overlay": json.dumps(overlay),
        "command": _command(project)[0] if not project.python else f"{PYTHON} bench.py",
        "rounds": max(5, round(SECONDS / short)),
        "more": more,
    }
    ignored = "__pycache__\n*.pyc\n/bench\n"
    repository(place, {"perf.toml": CONFIG.format(**words), ".gitignore": ignored}, "base")
    return Prepared(project, place, known, turns * short / (slow - short))


def _slowed(project: Project, place: Path, turns: int) -> float:
    _slip(place, turns)
    seconds = _seconds(project, place)
    _slip(place, 0)
    return seconds


def _slip(place: Path, turns: int) -> None:
    (place / "slip.py").write_text(f"SLIP = {turns}\n")
    (place / "slip.h").write_text(f"#define SLIP {turns}\n")


def _command(project: Project) -> list[str]:
    return [str(PYTHON), "bench.py"] if project.python else ["./bench"]


def _seconds(project: Project, place: Path) -> float:
    """The processor time of a round, at best."""
    samples = place.parent / "samples.jsonl"
    samples.unlink(missing_ok=True)
    added = {"CPATH": str(native_folder()), "PYTHONPATH": str(python_folder())}
    env = clean({"PATH": "/usr/bin:/bin"}, added)
    if project.build:
        subprocess.run(project.build, cwd=place, env=env, shell=True, check=True)
    command = [*_command(project), "10"]
    for _ in range(3):
        reporting = env | {"PERFVCS_SAMPLES": str(samples)}
        subprocess.run(command, cwd=place, env=reporting, check=True)
    return min(json.loads(line)["cpu"] for line in samples.read_text().splitlines())


def target(made: Prepared, case: dict[str, Any], seed: int) -> str:
    """The commit of a case, with more work or a change without effect; empty where none could be
    made.
    """
    if not case["slip"]:
        chance = Random(f"{seed} {case['project']} {case['number']}")
        return _planted(made, case["kind"], chance)
    git(made.place, "checkout", "-q", "--force", "--detach", "main")
    _slip(made.place, round(case["slip"] * made.whole))
    return commit(made.place, f"{case['slip']}")


def _planted(prepared: Prepared, kind: str, chance: Random) -> str:
    """A commit with a change without effect that builds; its id, empty where none could be made."""
    project, place = prepared.project, prepared.place
    for _ in range(TRIES):
        git(place, "checkout", "-q", "--force", "main")
        if not plant(place, prepared.known, chance, kind):
            return ""
        built = 0
        if project.build:
            env = clean({"PATH": "/usr/bin:/bin"}, {"CPATH": str(native_folder())})
            done = subprocess.run(
                project.build, cwd=place, env=env, shell=True, capture_output=True, check=False
            )
            built = done.returncode
        if not built:
            git(place, "checkout", "-q", "--detach")
            return commit(place, kind)
    return ""


def _checked(place: Path, target: str, options: list[str]) -> dict[str, Any]:
    """What the check and the blame say of a commit and its parent, and the exit codes of the check
    and of its gate.
    """
    shutil.rmtree(place / ".perf", ignore_errors=True)
    words = ["check", "--measure", "--json", *options, "main", target]
    began = time.monotonic()
    done = asked(place, *words)
    seconds = time.monotonic() - began
    gate = asked(place, "check", "--gate", "main", target)
    changes = [one for one in json.loads(done.stdout)["changes"] if one["metric"] in CLOCKS]
    blame = json.loads(asked(place, "blame", "main", target, "work", "--quiet", "--json").stdout)
    return {
        "words": sorted({one["word"] for one in changes}),
        "exit": done.returncode,
        "gate": gate.returncode,
        "effect": median(one["effect"] or 0.0 for one in changes if one["uid"] == "round"),
        "width": median(
            one["high"] - one["low"] for one in changes if one["uid"] == "round" and one["high"]
        ),
        "seconds": round(seconds, 1),
        "reasons": sorted({one["reason"] for one in changes}),
        "blame": blame["verdict"],
    }


def asked(place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """What perf answers in a repository; raises RuntimeError where it fails."""
    done = subprocess.run([*PERF, *words], cwd=place, capture_output=True, text=True, check=False)
    if done.returncode not in ANSWERS:
        raise RuntimeError(f"perf {' '.join(words)}: exit {done.returncode}: {done.stderr[-2000:]}")
    return done


@benchmark("pairs", quick="needs clones of projects", needs=("network", "gcc", "g++"))
def layouts(
    *,
    folder: Path,
    commits: int = 10,
    projects: tuple[str, ...] = tuple(PROJECTS),
    slips: int = 1,
    executions: int = 0,
    more: str = "",
    seed: int = 1,
) -> Iterator[Row]:
    """How often is a commit that changes nothing called changed, and how often are slips found?"""
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    options = ["--executions", str(executions)] if executions else []
    ran = Log.of(folder / "layouts.jsonl")
    for name in projects:
        harmless = [(KINDS[number % len(KINDS)], 0.0, number) for number in range(commits)]
        slow = [("slip", slip, number) for number in range(slips) for slip in SLIPS]
        cases: list[dict[str, Any]] = [
            {"project": name, "kind": kind, "slip": slip, "number": number}
            for kind, slip, number in (*harmless, *slow)
        ]
        if all(map(ran.has, cases)):
            continue
        made = prepared(folder, PROJECTS[name], more)
        for case in cases:
            if not ran.has(case) and (planted := target(made, case, seed)):
                ran.add(case | _checked(made.place, planted, options))
    yield from _rows([case for case in ran.cases.values() if case["project"] in projects])


class Log(NamedTuple):
    """The cases that have been run, which are also the lines of a file."""

    path: Path
    cases: dict[tuple[Any, ...], dict[str, Any]]

    @classmethod
    def of(cls, path: Path) -> Log:
        """What an earlier run has left."""
        lines = path.read_text().splitlines() if path.exists() else []
        return cls(path, {_key(case): case for case in map(json.loads, lines)})

    def has(self, case: dict[str, Any]) -> bool:
        """Whether it has been run."""
        return _key(case) in self.cases

    def add(self, case: dict[str, Any]) -> None:
        """Note one more."""
        self.cases[_key(case)] = case
        with self.path.open("a") as file:
            file.write(json.dumps(case) + "\n")
        print(case, file=sys.stderr, flush=True)


def _key(case: dict[str, Any]) -> tuple[Any, ...]:
    return case["project"], case["kind"], case["slip"], case["number"], case.get("arm")


def _rows(done: list[dict[str, Any]]) -> Iterator[Row]:
    """A row per project, then per slip."""
    same = [one for one in done if not one["slip"]]
    groups = [(name, [one for one in same if one["project"] == name]) for name in PROJECTS]
    for name, cases in [*groups, ("all", same)]:
        if cases:
            yield {"project": name} | _row(cases)
    for slip in SLIPS:
        if cases := [one for one in done if one["slip"] == slip]:
            yield {"more work, %": 100 * slip} | _row(cases)


def _row(cases: list[dict[str, Any]]) -> Row:
    return {
        "commits": len(cases),
        "changed": sum(bool(set(CHANGED) & {*one["words"]}) for one in cases),
        "exit 3": sum(one["exit"] == 3 for one in cases),
        "gate 3": sum(one["gate"] == 3 for one in cases),
        "proved": sum(one["blame"] in ("proved", "contributes") for one in cases),
        "largest, %": 100 * max(abs(one["effect"]) for one in cases),
        "interval, %": 100 * median(one["width"] for one in cases),
        "seconds": median(one["seconds"] for one in cases),
    }
