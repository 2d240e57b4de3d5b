"""What perfvcs does for a program in each language, cell by cell.

A small project per language (small_projects/) has a benchmark, several files, and a commit that
makes one function slower while others change at no cost, in the same file, in others, and in
programs of other languages. `init` is asked without a perf.toml, everything else with one that is
written by hand, for the program as a whole. A cell is

- yes: `init` proposes the project's own benchmark; a profile has the metric (`samples`: and the
  function by its name); `select` follows functions; `bisect` names the commit; `blame` names the
  function and proves it, and says the kind of change,
- by file, by hunk: it does so for files, or lines,
- no, with the reason.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from .figures import Row
from .registry import benchmark
from .repositories import PERF, commit, scratch
from .small_projects import LANGUAGES, SmallProject, small_project

LONGEST = 900.0  # seconds of one command
TOOLS = {
    "Python": "CPython",
    "C": "gcc",
    "Go": "go",
    "Rust": "rustc",
    "JavaScript": "node",
    "Perl": "perl",
    "Ruby": "ruby",
    "Lua": "lua",
    "Java": "OpenJDK",
}
VERSIONS = {
    "Python": ("python3", "--version"),
    "C": ("gcc", "-dumpfullversion"),
    "Go": ("go", "version"),
    "Rust": ("rustc", "--version"),
    "JavaScript": ("node", "--version"),
    "shell": ("sh", "-c", "readlink -f $(command -v sh)"),
    "Perl": ("perl", "-e", "print $^V"),
    "Ruby": ("ruby", "--version"),
    "Lua": ("lua", "-v"),
    "Java": ("java", "--version"),
}
METRICS = {"time": "wall", "memory": "bytes", "instructions": "instructions"}
COLLECTORS = ("time", "memory", "instructions", "samples")


DIED = re.compile(
    r"was killed by \w+|exited with status \d+|was stopped after its time-out|is linked statically"
)
CALLED = re.compile(r"\b([A-Za-z_]\w{3,}) ?\(")
OF_EVERY_PROGRAM = {"main", "print", "printf", "length"}


class No(Exception):
    """Why a cell is not "yes"; the message is what the cell says."""


class Tried:
    """A project in which everything is tried."""

    def __init__(self, language: str, folder: Path) -> None:
        self.language, self.place = language, folder
        self.project: SmallProject = small_project(LANGUAGES[language])

    def cells(self) -> Iterator[tuple[str, str]]:
        """The cells of a row, each by its name, one after another."""
        self.project.begin(self.place / "init")
        yield "init", self._answer(self._init)
        home = self.place / "all"
        self.project.begin(home)
        (home / "perf.toml").write_text(self._config())
        self.first = commit(home, "Measure it")
        for collector in COLLECTORS:
            yield collector, self._answer(self._collected, collector)
        yield "per benchmark", self._answer(self._units)
        self.parent = self.project.go_on(home, len(self.project.innocent))
        self.slip = self.project.slip_among(home)
        yield "select", self._answer(self._selected)
        yield "blame", self._answer(self._blamed)
        yield "kinds", self._answer(self._kinds)
        self.project.go_on(home, len(self.project.innocent))
        yield "bisect", self._answer(self._bisected)

    def _config(self) -> str:
        measured = self.project.measured
        build = f"build = {json.dumps(measured['build'])}\n" if "build" in measured else ""
        env = f'env = {{ PYTHONPATH = "{measured["path"]}" }}\n' if "path" in measured else ""
        jobs = (
            f'[[job]]\nname = "{collector}"\ncmd = "{measured["cmd"]}"\n'
            f'collectors = ["{collector}"]\nexecutions = 2\ntimeout = "300s"\n'
            for collector in COLLECTORS
        )
        return build + env + "\n".join(jobs)

    def _answer(self, question: Callable[..., str], *words: str) -> str:
        try:
            return question(*words)
        except No as reason:
            return f"no ({reason})"
        except subprocess.TimeoutExpired:
            return f"no (over {LONGEST:.0f} s)"

    def _perf(self, *words: str, folder: str = "all", fine: tuple[int, ...] = (0, 3)) -> str:
        """What a command prints; raises No with its last line where it does not answer."""
        done = subprocess.run(
            [*PERF, *words],
            cwd=self.place / folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=LONGEST,
            env={**os.environ, "COLUMNS": "200"},
        )
        with (self.place / "said.txt").open("a") as log:
            log.write(f"$ perf {' '.join(words)}\n{done.stderr}{done.stdout}\n")
        if done.returncode not in fine:
            said = (done.stderr.strip() or done.stdout.strip() or "nothing").splitlines()
            died = next(filter(None, map(DIED.search, said)), None)
            raise No(f"the program {died[0]}" if died else said[-1].removeprefix("perf: ")[:120])
        return done.stdout

    def _init(self) -> str:
        self._perf("init", folder="init")
        config = tomllib.loads((self.place / "init" / "perf.toml").read_text())
        jobs = config.get("job", [])
        commands = " ".join(str(job["cmd"]) for job in jobs)
        if not any(job["name"] == self.project.job for job in jobs):
            raise No(f"proposes `{commands}`")
        return "yes"

    def _collected(self, collector: str) -> str:
        self._perf("collect", "-j", collector, "--quiet")
        rows = self._rows(collector)
        if collector == "samples":
            name = self.project.function.rpartition(".")[2]
            frames = {row["uid"] for row in rows}
            if any(is_named(name, uid) for uid in frames):
                return "yes"
            if any(is_named(other, uid) for other in self._functions() for uid in frames):
                return f"yes (`{name}` is inlined)"
            raise No("functions have no names")
        if not any(row["metric"] == METRICS[collector] for row in rows):
            raise No(f"no {METRICS[collector]}")
        return "yes"

    def _functions(self) -> set[str]:
        """The names that the project gives to functions, and those that it calls."""
        return set(CALLED.findall("\n".join(self.project.files.values()))) - OF_EVERY_PROGRAM

    def _rows(self, job: str) -> list[dict[str, Any]]:
        """The rows of a job in the profiles of the first commit."""
        table = self.place / f"{job}.jsonl"
        self._perf("export", "--table", str(table), self.first, "-j", job, "--force")
        return list(map(json.loads, table.read_text().splitlines()))

    def _units(self) -> str:
        units = {row["uid"] for row in self._rows("time")} - {"time"}
        if not units:
            raise No("the program as a whole")
        return "yes"

    def _selected(self) -> str:
        said = json.loads(self._perf("select", self.parent, self.slip, "-j", "time", "--json"))
        (row,) = said["benchmarks"]
        if not row["run"]:
            raise No(f"wrong: {row['reason']}")
        return "yes" if row["by"] in ("recorded", "static") else "by file"

    def _blamed(self) -> str:
        self._perf("blame", self.parent, self.slip, "-j", "time", "--quiet")
        self.found = json.loads(
            self._perf("blame", "--stored", self.parent, self.slip, "-j", "time", "--json")
        )
        causes = [one for one in self.found["trials"] if one["word"] in ("proved", "contributes")]
        names = [one["name"] for one in causes]
        if self.project.function in names:
            return "yes"
        if causes and causes[0]["path"] == self.project.slip["path"]:
            return "by hunk"
        raise No(self.found["verdict"])

    def _kinds(self) -> str:
        suspects = getattr(self, "found", {}).get("suspects", [])
        kinds = [one["kinds"] for one in suspects if one["name"] == self.project.function]
        if not any(kinds):
            raise No("no kind")
        return "yes"

    def _bisected(self) -> str:
        words = ("bisect", self.first, "HEAD", "-j", "time", "--json")
        found = json.loads(self._perf(*words, fine=(0, 3, 4)))
        named = [one["commit"] for one in found["named"]]
        if named != [self.slip]:
            raise No("open" if not named else "wrong")
        return "yes"


def is_named(name: str, uid: str) -> bool:
    """Whether a frame is that of a function."""
    return name in uid.partition(" (")[0].replace("::", ".").split(".")


def version(language: str) -> str:
    """The tool that runs a language here, with its version."""
    done = subprocess.run(VERSIONS[language], capture_output=True, text=True, check=False)
    line = (done.stdout or done.stderr).strip().splitlines()[0]
    number = re.search(r"[0-9]+(?:\.[0-9]+)+", line)
    return f"{TOOLS[language]} {number[0]}" if number else Path(line).name


@benchmark(
    "languages", quick="two languages take over 60 s, and each needs its tools", needs=("valgrind",)
)
def languages(*, folder: str = "", only: tuple[str, ...] = tuple(LANGUAGES)) -> Iterator[Row]:
    """What does each command do for a program in each language?"""
    with scratch("languages") as temporary:
        inside = Path(folder).resolve() if folder else temporary
        for language in only:
            missing = [tool for tool in small_project(LANGUAGES[language]).needs if not here(tool)]
            if missing:
                print(f"{language}: {', '.join(missing)} is missing", file=sys.stderr)
                continue
            shutil.rmtree(inside / language, ignore_errors=True)
            (inside / language).mkdir(parents=True)
            cells = {}
            for name, said in Tried(language, inside / language).cells():
                print(f"{language}: {name}: {said}", file=sys.stderr, flush=True)
                cells[name] = said
            yield {"language": language, "with": version(language), **cells}


def here(tool: str) -> bool:
    """Whether a tool is on PATH, or a module of this Python."""
    return shutil.which(tool) is not None or tool == "pip"
