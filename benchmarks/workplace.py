"""A project, with a scheduler and workers of Dask on this machine in the place of hosts; each can
be ended.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from .repositories import PERF, commit, repository, scratch

WORK = "import time, sys; time.sleep(0.1); sum(i * i for i in range(200_000))\n"
CONFIG = """\
[hosts]
patience = "60s"
[[job]]
name = "work"
cmd = "python3 work.py"
warmup = 0
"""
ONE = [
    "--nthreads",
    "1",
    "--nworkers",
    "1",
    "--resources",
    "perfvcs=1",
    "--no-nanny",
    "--no-dashboard",
]


class Stored(NamedTuple):
    """A profile: its session and worker, and its blocks."""

    session: str
    worker: str
    blocks: list[int]


@dataclass
class Workplace:
    """A project, and a scheduler with workers that can be ended."""

    folder: Path
    scheduler: subprocess.Popen[bytes] | None = None
    address: str = ""

    def __post_init__(self) -> None:
        self.workers: list[subprocess.Popen[bytes]] = []
        self.project = self.folder / "project"

    def make(self) -> None:
        """A project of two commits, the second of which changes nothing."""
        repository(self.project, {"perf.toml": CONFIG, "work.py": WORK})
        commit(self.project, "the same")

    def start(self, workers: int) -> None:
        """A scheduler where there is none, and as many workers as are missing."""
        if self.scheduler is None or self.scheduler.poll() is not None:
            self.stop()
            file = self.folder / "scheduler.json"
            file.unlink(missing_ok=True)
            self.scheduler = self._start(
                "dask_scheduler",
                "--port",
                "0",
                "--no-dashboard",
                "--host",
                "127.0.0.1",
                "--scheduler-file",
                str(file),
            )
            while not file.exists() or not file.read_text().endswith("}"):
                time.sleep(0.05)
            self.address = json.loads(file.read_text())["address"]
        self.workers = [worker for worker in self.workers if worker.poll() is None]
        for _ in range(workers - len(self.workers)):
            place = ["--host", "127.0.0.1", "--local-directory", str(self.folder)]
            self.workers.append(self._start("dask_worker", self.address, *ONE, *place))

    def _start(self, program: str, *words: str) -> subprocess.Popen[bytes]:
        env = {**os.environ, "XDG_CACHE_HOME": str(self.folder / "cache")}
        with open(self.folder / "log", "ab") as log:
            command = [sys.executable, "-m", f"distributed.cli.{program}", *words]
            return subprocess.Popen(command, stdout=log, stderr=log, env=env)

    def stop(self) -> None:
        """End all of it."""
        for process in (*self.workers, self.scheduler):
            if process is not None:
                process.kill()
                process.wait()
        self.workers, self.scheduler = [], None

    def perf(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the project."""
        return subprocess.run(
            [*PERF, *words], cwd=self.project, capture_output=True, text=True, check=False
        )

    def client(self, *words: str) -> subprocess.Popen[str]:
        """Start a command in the project."""
        pipe = subprocess.PIPE
        return subprocess.Popen(
            [*PERF, *words], cwd=self.project, text=True, stdout=pipe, stderr=pipe
        )

    @property
    def over(self) -> tuple[str, ...]:
        """The options of a command that measures over the workers."""
        return "--scheduler", self.address, "--insecure"

    def profiles(self) -> list[Stored]:
        """All that is stored."""
        code = (
            "import json; from perfvcs.repository import Repository; r = Repository.find();ps ="
            " r.profiles(h for c in r.index.commits() for h in"
            " r.index.headers([c]));print(json.dumps([[p.collected.session,"
            " p.environment.notes['worker'], sorted(set(p.resources.execution))] for p in ps]))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=self.project,
            capture_output=True,
            text=True,
            check=False,
        )
        return [Stored(*row) for row in json.loads(done.stdout)] if done.returncode == 0 else []

    def halves(self) -> int:
        """Blocks of which only one version is stored."""
        sides: dict[tuple[str, str], list[list[int]]] = {}
        for one in self.profiles():
            sides.setdefault((one.session, one.worker), []).append(one.blocks)
        return sum(1 for found in sides.values() if len(found) != 2 or found[0] != found[1])

    def stored(self) -> int:
        """How many profiles the newest session has."""
        sessions = [one.session for one in self.profiles()]
        return Counter(sessions)[max(sessions)] if sessions else 0


@contextmanager
def workplace() -> Iterator[Workplace]:
    """A folder that is removed in the end."""
    with scratch("workplace") as folder:
        found = Workplace(folder)
        found.make()
        try:
            yield found
        finally:
            found.stop()
