"""A project to be attacked: a real repository whose store has profiles, reports and acceptances."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from perfvcs.store import Store

from ..repositories import PERF
from .processes import Said, start, wait
from .profiles import sized, timed

PATIENCE = 120.0  # seconds after which an undisturbed command hangs
SLOWER = ("slow0", "slow1", "slow2", "slow3")
PROFILES = 10  # of each commit, beside those of SLOWER
CONFIGURATION = """\
build = ["sh -c 'sleep 0.03'"]
[[job]]
name = "one"
cmd = "sleep 0.005"
executions = 3
warmup = 0
[[job]]
name = "two"
cmd = "sh two.sh"
workloads = [{ command = "seq 100" }]
executions = 3
warmup = 0
"""


class Project:
    """A folder with ``project`` (the repository), ``out`` (what commands write elsewhere) and
    ``tmp`` (TMPDIR).
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root, self.out, self.tmp = folder / "project", folder / "out", folder / "tmp"
        self.home = self.root / ".perf"

    @property
    def store(self) -> Store:
        """The store, opened anew."""
        return Store(self.home / "store", "Ada <ada@example.org>")

    @cached_property
    def commits(self) -> list[str]:
        """The commits at the beginning, oldest first."""
        return self.git("rev-list", "--reverse", "HEAD").split()

    @property
    def env(self) -> dict[str, str]:
        """An environment without settings of whoever runs this."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("GIT_", "PERFVCS_"))
        }
        who = {
            f"GIT_{role}_{part}": text
            for role in ("AUTHOR", "COMMITTER")
            for part, text in PERSON.items()
        }
        fixed = {
            "TMPDIR": str(self.tmp),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "NO_COLOR": "1",
            "COLUMNS": "80",
        }
        return {**kept, **who, **fixed, "XDG_CACHE_HOME": str(CACHE)}

    def git(self, *words: str) -> str:
        """What git prints; raises CalledProcessError."""
        done = subprocess.run(
            ["git", *words], cwd=self.root, env=self.env, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def perf(self, *words: str) -> Said:
        """Run a command of perfvcs undisturbed."""
        return self.run([*PERF, *words])

    def run(self, words: Sequence[str]) -> Said:
        """Run any command undisturbed."""
        return wait(start(words, str(self.root), self.env), PATIENCE)

    def begin(self, configuration: str) -> Project:
        """Make the repository with one commit, and an empty store."""
        for folder in (self.root, self.out, self.tmp):
            folder.mkdir(parents=True)
        self.git("init", "--quiet", "--initial-branch=main")
        (self.root / "perf.toml").write_text(configuration)
        self.commit("one")
        self.must("init")
        return self

    def commit(self, text: str) -> None:
        """One commit of everything, with another file.txt."""
        (self.root / "file.txt").write_text(text)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", text)

    def build(self) -> Project:
        """Make the repository, its store and its reports."""
        self.begin(CONFIGURATION)
        (self.root / "two.sh").write_text("sleep 0.005 & wait\n")
        (self.root / ".gitignore").write_text("perf-accepted.toml\n")
        self.commit("two")
        self.commit("three")
        baseline, target = self.commits[-2:]
        profiles = [
            timed(commit, f"job{number}", number)
            for commit in self.commits
            for number in range(PROFILES)
        ]
        for job in SLOWER:
            profiles.append(timed(baseline, job, 1, versions=(baseline, target)))
            profiles.append(timed(target, job, 1, versions=(baseline, target), factor=1.5))
        self.store.add(profiles, "The beginning")
        self.store.add(
            [sized(self.commits[0], f"sized{number}", number) for number in range(3)], "With sizes"
        )
        self.must("check", "HEAD~1", "HEAD", code=3)
        for job in SLOWER[:3]:
            self.must("accept", job, "--reason", "wanted")
        return self

    def must(self, *words: str, code: int = 0) -> Said:
        """Run a command that has to work."""
        said = self.perf(*words)
        if said.code != code:
            raise AssertionError(f"perf {' '.join(words)} ended with {said.code}: {said.err}")
        return said

    def copy(self, folder: Path) -> Project:
        """The whole project at another place."""
        shutil.copytree(self.folder, folder, symlinks=True)
        return Project(folder)


PERSON = {"NAME": "Ada", "EMAIL": "ada@example.org"}
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
