"""Schedulers and workers of Dask as processes of their own on this machine, in the place of hosts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil

SCHEDULER = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard", "--host", "127.0.0.1"]
WORKER = [sys.executable, "-m", "distributed.cli.dask_worker", "--no-dashboard", "--host", "127.0.0.1"]
# What Dask's processes do while nothing is asked of them: by default that takes a tenth of a processor for three of them.
QUIET = {
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
    "DASK_DISTRIBUTED__WORKER__MEMORY__MONITOR_INTERVAL": "10s",
    "DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL": "1s",
    "DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__INTERVAL": "10s",
}
ONE = ("--nthreads", "1", "--nworkers", "1", "--resources", "perfvcs=1")


class DaskCluster:
    """A scheduler with workers; each can be ended."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.folder, self.words = folder, words
        folder.mkdir(parents=True, exist_ok=True)
        self.file = folder / "scheduler.json"
        self.scheduler = self._start([*SCHEDULER, "--scheduler-file", str(self.file), *words])
        self.workers: list[subprocess.Popen[bytes]] = []
        while not self.file.exists() or not self.file.read_text().endswith("}"):
            assert self.scheduler.poll() is None, (folder / "log").read_text()
            time.sleep(0.05)

    @property
    def address(self) -> str:
        """Where the scheduler listens."""
        import json

        return str(json.loads(self.file.read_text())["address"])

    def add(self, *options: str, nanny: bool = False, env: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
        """Start a worker, by default as the documents say."""
        found = self._start(
            [*WORKER, self.address, *(options or ONE), "--nanny" if nanny else "--no-nanny", "--local-directory", str(self.folder),
             *self.words], env,
        )  # fmt: skip
        self.workers.append(found)
        return found

    @property
    def running(self) -> list[subprocess.Popen[bytes]]:
        """The workers that nobody has ended."""
        return [worker for worker in self.workers if worker.poll() is None]

    def fill(self, workers: int) -> None:
        """Start as many workers as are missing, and wait for all."""
        for _ in range(len(self.running), workers):
            self.add()
        self.wait()

    def wait(self) -> None:
        """Until all workers that run are connected."""
        from distributed import Client

        with Client(self.address, set_as_default=False) as client:
            client.wait_for_workers(len(self.running), timeout=300)

    def _start(self, command: Sequence[str], env: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
        with open(self.folder / "log", "ab") as log:
            return subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, **QUIET, **(env or {})}, cwd=self.folder)

    def close(self) -> None:
        """End everything."""
        for process in (*self.workers, self.scheduler):
            end(process)


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that this one has started, and those that it has."""
    below = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
    process.kill()
    process.wait()
    psutil.wait_procs(below, timeout=20)  # a measurer ends by itself when its worker is gone
    for left in below:
        if left.is_running():
            left.send_signal(signal.SIGKILL)


@contextmanager
def cluster(folder: Path, workers: int, *words: str) -> Iterator[DaskCluster]:
    """A scheduler with so many workers as they must be."""
    found = DaskCluster(folder, *words)
    try:
        if workers:
            found.fill(workers)
        yield found
    finally:
        found.close()
