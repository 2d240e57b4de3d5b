"""A developer, a bare repository and a clone that watches it."""

from __future__ import annotations

import subprocess
from pathlib import Path

from conftest import Perf, Project, Said

from perfvcs.repository import Repository


class MeasuringMachine:
    """A developer, a bare repository to which they push, and a clone that watches."""

    def __init__(self, folder: Path, perf: Perf) -> None:
        self.developer, self.forge, self.clone, self.run = (
            Project(folder / "developer"),
            folder / "forge",
            folder / "machine",
            perf,
        )
        self.developer.configure()
        self.developer.commit("one", **{"work.sh": "true\n"})
        self.developer.git("clone", "--quiet", "--bare", ".", str(self.forge))
        self.developer.git("remote", "add", "origin", str(self.forge))
        self.developer.git("clone", "--quiet", str(self.forge), str(self.clone))

    def push(self, *titles: str) -> list[str]:
        """Commits more on the branch; their ids."""
        found = [self.developer.commit(title) for title in titles]
        self.developer.git("push", "--quiet", "origin", "main")
        return found

    def watch(self, *words: str, code: int | None = 0) -> Said:
        """What a watch of the clone says until nothing is left to measure."""
        return self.run("-C", str(self.clone), "watch", "--once", *words, code=code)

    def measured(self) -> dict[str, int]:
        """How many executions the clone has of each commit."""
        found: dict[str, int] = {}
        for header in Repository.find(self.clone).index.headers():
            found[header.commit] = found.get(header.commit, 0) + header.design.executions
        return found

    def memory(self) -> Path:
        (path,) = self.clone.glob(".perf/watch/*/memory.json")
        return path

    def shared(self) -> int:
        """How many profiles the bare repository has."""
        words = ["git", "ls-tree", "-r", "--name-only", "refs/perf/profiles"]
        done = subprocess.run(words, cwd=self.forge, capture_output=True, text=True, check=False)
        return done.stdout.count(".json")
