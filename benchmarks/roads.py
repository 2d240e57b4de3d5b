"""The road of a new user, from `perf init` to `perf accept`, on projects of twelve kinds.

Each project (small_projects/) has several parts. A commit makes a function of one part slower; some
harmless ones lie around it. Then, without naming a benchmark: `init`; `check --measure` of the slip
against its parent, `blame`, and `show`; two more commits, `check --measure` from the first measured commit
to the newest one, and what its `Next:` line names (`bisect`); `history`; and `accept` with the id that
the first report printed, after which the check has to pass.

A command is right where it names the part (the whole program, where perfvcs measures this kind only as a
whole), the function and the commit. All that is said is written to KIND.txt in ``folder``.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path
from typing import Any

from .figures import Row
from .registry import benchmark
from .repositories import PERF, commit, git, scratch
from .small_projects import KINDS, SmallProject, small_project
from .small_projects.claims import (
    Claim,
    contradictions,
    name_of,
    next_command,
    of_history,
    of_report,
    subject_of,
)

COMMANDS = ("init", "check", "blame", "show", "bisect", "history", "accept")
LONGEST = 1800.0  # seconds of one command
RIGHT = "right"
CAUSES = ("proved", "contributes")  # what a trial says of a cause


class Wrong(Exception):
    """What a command says is not right; the message says in what."""


class Refused(Exception):
    """A command does not answer; the message is its last line."""


class Road:
    """A project on its way; ``words`` and ``seconds`` are by command, ``claims`` what was said."""

    def __init__(self, project: SmallProject, place: Path) -> None:
        self.project = project
        self.place = place
        self.words: dict[str, str] = {}
        self.claims: list[Claim] = []
        self.subject = ": ".join(filter(None, (project.job, project.unit)))
        self.first = self.parent = self.slip = self.accepting = ""

    def perf(self, *words: str, fine: tuple[int, ...] = (0, 3)) -> str:
        """What a command prints; raises Refused where it exits with anything else."""
        began = time.monotonic()
        done = subprocess.run(
            [*PERF, *words],
            cwd=self.place,
            capture_output=True,
            text=True,
            check=False,
            timeout=LONGEST,
            env={**os.environ, "COLUMNS": "80"},
        )
        with self.place.with_suffix(".txt").open("a") as log:
            log.write(f"$ perf {shlex.join(words)}\n{done.stderr}{done.stdout}")
            log.write(f"[exit {done.returncode}, {time.monotonic() - began:.0f} s]\n\n")
        if done.returncode not in fine:
            last = (done.stderr.strip() or done.stdout.strip() or "nothing").splitlines()[-1]
            raise Refused(f"exit {done.returncode}: {last}")
        return done.stdout

    def go(self) -> None:
        """Walk all of it; a command that is refused or wrong does not keep the next ones from
        running.
        """
        steps: dict[str, Callable[[], None]] = {
            name: getattr(self, f"_{name}") for name in COMMANDS
        }
        for name, step in steps.items():
            try:
                step()
                self.words[name] = RIGHT
            except Wrong as error:
                self.words[name] = f"wrong: {error}"
            except (Refused, subprocess.TimeoutExpired) as error:
                self.words[name] = f"refused: {error}"

    def _init(self) -> None:
        self.project.begin(self.place)
        self.perf("init", "--yes")
        said = (self.place / "perf.toml").read_text()
        self.first = commit(self.place, "Measure it")
        self.parent = self.project.go_on(self.place, 0)
        self.slip = self.project.slip_in(self.place)
        if f'name = "{self.project.job}"' not in said:
            raise Wrong(f"the job is not `{self.project.job}`")

    def _check(self) -> None:
        report = json.loads(self.perf("check", "--measure", "HEAD~1", "HEAD", "--json"))
        ids = [change["id"] for change in report["changes"] if change["word"] == "degradation"]
        self.accepting = " ".join(ids)
        self._compared("check", report)

    def _compared(self, command: str, report: dict[str, Any]) -> None:
        """Right where the slip's benchmark leads, and no other became slower but the job that
        contains it.
        """
        self.claims += of_report(command, report)
        worse = [one for one in report["changes"] if one["word"] == "degradation"]
        self._named(subject_of(report["sentence"]), report["sentence"])
        others = {name_of(one) for one in worse} - {self.subject, self.project.job}
        if others:
            raise Wrong(f"also {', '.join(sorted(others))}")

    def _named(self, subject: str, sentence: str) -> None:
        if subject not in (self.subject, self.project.unit or self.subject):
            raise Wrong(f"says “{sentence.splitlines()[0]}”")

    def _blame(self) -> None:
        said = self.perf("blame")
        found = json.loads(self.perf("blame", "--stored", "--json"))
        subject = subject_of(said)
        self.claims.append(
            Claim("blame", subject, found["metric"], *(found[k] for k in ("effect", "low", "high")))
        )
        causes = [one["name"] for one in found["trials"] if one["word"] in CAUSES]
        if causes != [self.project.function]:
            named = ", ".join(causes) or "nothing"
            raise Wrong(f"{named} is named: “{' '.join(said.split())[:200]}”")
        self._named(subject, said)

    def _show(self) -> None:
        said = self.perf("show", self.parent, self.slip, "--text")
        self.perf("show", self.parent, self.slip, "--no-open", "--output", "../page.html")
        page = unescape((self.place.parent / "page.html").read_text())
        sentence = " ".join(said.split("\n\n")[1].split()).partition(": ")[2]
        self._named(subject_of(sentence), sentence)
        if self.subject not in page:
            raise Wrong(f"the page does not name {self.subject}")

    def _bisect(self) -> None:
        for number in (1, 2):
            self.project.go_on(self.place, number)
        report = json.loads(self.perf("check", "--measure", self.first, "HEAD", "--json"))
        self.claims += of_report("check of all", report)
        command = shlex.split(next_command(report["next"]))
        if command[:2] != ["perf", "bisect"]:
            raise Wrong(f"the report ends with “{report['next']}”")
        found = json.loads(self.perf(*command[1:], "--json"))
        target, effect = found["target"], found["effect"]
        values = (effect[name] for name in ("value", "low", "high"))
        self.claims.append(Claim("bisect", target["benchmark"], target["metric"], *values))
        named = [one["commit"] for one in found["named"]]
        if named != [self.slip]:
            subjects = [git(self.place, "log", "-1", "--format=%s", one) for one in named]
            raise Wrong(f"names {', '.join(subjects) or 'no commit'}")
        self._named(target["benchmark"], target["benchmark"])

    def _history(self) -> None:
        history = json.loads(self.perf("history", "--json"))
        self.claims += of_history(history)
        steps = {(one["commit"], one["benchmark"]) for one in history["findings"]}
        right = {(self.slip, name) for name in (self.subject, self.project.job)}
        for found, name in sorted(steps - right):
            raise Wrong(f"{name} at {git(self.place, 'log', '-1', '--format=%s', found)}")
        if (self.slip, self.subject) not in steps:
            raise Wrong(f"no step of {self.subject} at the slip")

    def _accept(self) -> None:
        if not self.accepting:
            raise Refused("no report printed an id")
        self.perf("accept", *self.accepting.split(), "--reason", "it has to be")
        commit(self.place, "Accept it")
        said = self.perf("check", self.parent, self.slip, fine=(0, 3, 4))
        if "accepted" not in said or "became slower" in said:
            raise Wrong(f"then check says “{' '.join(said.split())[:200]}”")


@benchmark("roads", quick={"only": ("shell",)}, needs=("valgrind",))
def roads(*, folder: str = "", only: tuple[str, ...] = KINDS) -> Iterator[Row]:
    """Does each command name the right benchmark, function and commit, and agree with the others?"""
    with scratch("roads") as temporary:
        inside = Path(folder).resolve() if folder else temporary
        inside.mkdir(parents=True, exist_ok=True)
        for kind in only:
            yield _walked(small_project(kind), inside)


def _walked(project: SmallProject, folder: Path) -> Row:
    road, began = Road(project, folder / project.kind), time.monotonic()
    road.go()
    minutes = (time.monotonic() - began) / 60
    for name, words in road.words.items():
        print(f"{project.kind}: {name}: {words}", file=sys.stderr, flush=True)
    disagree = list(contradictions(road.claims))
    for words in disagree:
        print(f"{project.kind}: contradiction: {words}", file=sys.stderr, flush=True)
    measured = "unit" if project.unit else "whole program"
    found: Row = {"kind": project.kind, "measured": measured}
    found |= {name: words.partition(":")[0] for name, words in road.words.items()}
    return found | {"contradictions": len(disagree), "min": minutes}
