"""Verdicts of `perf judge` on patches whose right verdict is known.

Two projects in Python, made of modules of its standard library, and two in C, with ten speed-ups, ten
changes without an effect, and twenty tricks (`judged/`). Each is judged in a working tree with
``--same-output``, and with what else a patch asks for.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from .figures import Row
from .judged import PROJECTS, UNSEEN, JudgedProject, Patch, judged_project, literal, unseen
from .registry import Wrong, benchmark
from .repositories import PERF, git, scratch

VERDICTS = {0: "proved", 3: "refuted", 4: "not decided", 5: "failed", 6: "rejected"}
EQUAL = Patch("a line of the README", "equal", files={"README.md": "# Another title\n"})
SHARED = Path("/dev/shm/perfvcs-judged-words")  # what the trick with shared memory leaves


class Judged(NamedTuple):
    """What a judgement said, and what it took."""

    verdict: str
    why: str
    seconds: float
    pairs: int


def judgement(project: JudgedProject, patch: Patch, folder: Path, budget: float) -> Judged:
    """Judge a patch in a repository of its own; raises RuntimeError where that does not answer."""
    place = project.begin(folder / "project")
    hidden = folder / "input.txt"
    hidden.write_text(project.hidden)
    patch.apply(place, literal(_output(project, place)) if _asks_output(patch) else "")
    home = folder / "home"
    home.mkdir()
    options = [
        word.format(hidden=hidden, output=_quoted(project, place, word)) for word in patch.options
    ]
    command = [*PERF, "judge", "--json", "--same-output", "--budget", f"{budget:g}s", *options]
    began = time.monotonic()
    done = subprocess.run(
        command,
        cwd=place,
        env=os.environ | {"HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.monotonic() - began
    SHARED.unlink(missing_ok=True)
    if patch.leaves:
        Path(patch.leaves).expanduser().unlink(missing_ok=True)
    if done.returncode not in VERDICTS:
        raise RuntimeError(f"{patch.name}: exit {done.returncode}: {done.stderr[-2000:]}")
    said = json.loads(done.stdout)
    return Judged(said["verdict"], said["why"], seconds, said["cost"]["pairs"])


def _asks_output(patch: Patch) -> bool:
    texts = [*(after for _, _, after in patch.edits), patch.outside]
    return any("{output}" in text for text in texts)


def _quoted(project: JudgedProject, place: Path, word: str) -> str:
    return _output(project, place).strip() if "{output}" in word else ""


def _output(project: JudgedProject, place: Path) -> str:
    """What the project prints at HEAD."""
    with scratch("judged") as folder:
        git(place, "worktree", "add", "--quiet", "--detach", str(folder / "head"), "HEAD")
        here = folder / "head"
        if (here / "Makefile").exists():
            subprocess.run(["make", "--silent"], cwd=here, check=True)
        done = subprocess.run(project.run, cwd=here, capture_output=True, text=True, check=True)
        git(place, "worktree", "remove", "--force", str(here))
    return done.stdout


@benchmark("judging", quick="each judgement takes over 5 s", needs=("gcc", "make"))
def judged_patches(
    *, budget: float = 60.0, every: int = 1, first: int = 0, only: tuple[str, ...] = PROJECTS
) -> Iterator[Row]:
    """Is `perf judge` right about speed-ups, changes without an effect, and tricks?

    Judges ``every`` n-th patch, the ``first`` of which is that number, of the projects in ``only``.
    """
    pairs = [(project, patch) for project in map(judged_project, only) for patch in project.patches]
    yield from _all_judged(pairs[first::every], budget)


@benchmark("judging", quick="each judgement takes over 5 s", needs=("gcc", "make"))
def judged_unseen(
    *, budget: float = 60.0, every: int = 1, first: int = 0, only: tuple[str, ...] = UNSEEN
) -> Iterator[Row]:
    """Is `perf judge` right about tricks that were written after its guard?

    As in judged_patches, of the files of tricks in ``only``.
    """
    yield from _all_judged(unseen(only)[first::every], budget)


def _all_judged(pairs: Sequence[tuple[JudgedProject, Patch]], budget: float) -> Iterator[Row]:
    """A row for each patch, and one for each kind of them; raises Wrong after the last."""
    wrong: list[str] = []
    tally: dict[str, list[tuple[Patch, Judged]]] = {}
    for project, patch in pairs:
        with scratch("judged") as folder:
            judged = judgement(project, patch, folder, budget)
        tally.setdefault(patch.kind, []).append((patch, judged))
        is_right = judged.verdict in patch.right
        if not is_right:
            wrong.append(f"{project.name}: {patch.name}: {judged.verdict}: {judged.why}")
        yield {
            "patch": f"{project.name}: {patch.name}",
            "kind": patch.kind,
            "verdict": judged.verdict,
            "right": is_right,
            "s": judged.seconds,
            "pairs": judged.pairs,
            "why": judged.why,
        }
    for kind, rows in tally.items():
        yield {
            "kind": kind,
            "patches": len(rows),
            "right": sum(judged.verdict in patch.right for patch, judged in rows),
            **{
                word: sum(judged.verdict == word for _, judged in rows)
                for word in VERDICTS.values()
            },
            "s, median": median(judged.seconds for _, judged in rows),
            "s, most": max(judged.seconds for _, judged in rows),
        }
    if wrong:
        raise Wrong("; ".join(wrong))


@benchmark("judging", quick="each judgement takes over 5 s", needs=("gcc", "make"))
def judged_equal(*, count: int = 200, budget: float = 30.0, minutes: float = 1e9) -> Iterator[Row]:
    """How often is a change without an effect called faster, or rejected?"""
    began = time.monotonic()
    projects = [judged_project(name) for name in PROJECTS]
    rows: list[Judged] = []
    wrong: list[str] = []
    for number in range(count):
        if time.monotonic() - began > 60 * minutes:
            break
        project = projects[number % len(projects)]
        with scratch("judged") as folder:
            judged = judgement(project, EQUAL, folder, budget)
        rows.append(judged)
        if judged.verdict in ("proved", "rejected", "failed"):
            wrong.append(f"{project.name}: {judged.verdict}: {judged.why}")
        print(number, project.name, *judged, file=sys.stderr, flush=True)
    yield {
        "judgements": len(rows),
        **{word: sum(judged.verdict == word for judged in rows) for word in VERDICTS.values()},
        "s, median": median(judged.seconds for judged in rows),
        "load": os.getloadavg()[1],
    }
    if wrong:
        raise Wrong("; ".join(wrong))


@benchmark("judging", quick="each judgement takes over 5 s", needs=("gcc", "make"))
def judged_budgets(
    *,
    count: int = 5,
    budgets: tuple[int, ...] = (10, 15, 20),
    only: tuple[str, ...] = ("json", "words"),
) -> Iterator[Row]:
    """How long does a judgement take that has to use up its budget, in seconds?

    Of a change without an effect, in a project in Python and one in C.
    """
    for project in map(judged_project, only):
        for budget in budgets:
            rows: list[Judged] = []
            for _ in range(count):
                with scratch("judged") as folder:
                    rows.append(judgement(project, EQUAL, folder, budget))
            yield {
                "project": project.name,
                "budget": budget,
                "judgements": count,
                "s, least": min(judged.seconds for judged in rows),
                "s, median": median(judged.seconds for judged in rows),
                "s, most": max(judged.seconds for judged in rows),
                "pairs, median": median(judged.pairs for judged in rows),
                "load": os.getloadavg()[1],
            }
