"""Schedulers and workers of Dask as processes of their own on this machine, in the place of
hosts.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

import psutil
import pytest
from conftest import Project, Said
from distributed import Client

from perfvcs.hosts.tls import Pair, Tls
from perfvcs.profile import Profile
from perfvcs.repository import Repository

SCHEDULER = [
    sys.executable,
    "-m",
    "distributed.cli.dask_scheduler",
    "--port",
    "0",
    "--no-dashboard",
    "--host",
    "127.0.0.1",
]
WORKER = [
    sys.executable,
    "-m",
    "distributed.cli.dask_worker",
    "--no-dashboard",
    "--host",
    "127.0.0.1",
]
# What Dask's processes do while nothing is asked of them: by default that takes a tenth of a
# processor for three of them.
QUIET = {
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
    "DASK_DISTRIBUTED__WORKER__MEMORY__MONITOR_INTERVAL": "10s",
    "DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL": "1s",
    "DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__INTERVAL": "10s",
}
ONE = ("--nthreads", "1", "--nworkers", "1", "--resources", "perfvcs=1")


class DaskCluster:
    """A scheduler with workers; each can be ended.

    All have one certificate, unless the ``words`` say otherwise.
    """

    def __init__(self, folder: Path, *words: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.words = folder, words or encrypted(folder)
        self.file = folder / "scheduler.json"
        self.scheduler = self._start([*SCHEDULER, "--scheduler-file", str(self.file), *self.words])
        self.workers: list[subprocess.Popen[bytes]] = []
        while not self.file.exists() or not self.file.read_text().endswith("}"):
            assert self.scheduler.poll() is None, (folder / "log").read_text()
            time.sleep(0.05)

    @property
    def address(self) -> str:
        """Where the scheduler listens."""
        import json

        return str(json.loads(self.file.read_text())["address"])

    @property
    def tls(self) -> Tls:
        """The certificates with which its words let it start."""
        given = dict(zip(self.words[::2], self.words[1::2], strict=True))
        return Tls(*(given.get(name, "") for name in ("--tls-ca-file", "--tls-cert", "--tls-key")))

    @property
    def options(self) -> tuple[str, ...]:
        """Options with which perf uses it."""
        tls = self.tls
        certificates = ("--tls-ca", tls.ca, "--tls-cert", tls.cert, "--tls-key", tls.key)
        return "--scheduler", self.address, *(certificates if tls else ())

    def client(self) -> Client:
        """A client of Dask; a context."""
        security = self.tls.security() if self.tls else None
        return Client(self.address, security=security, set_as_default=False)

    def add(
        self, *options: str, nanny: bool = False, env: dict[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        """Start a worker, by default as the documents say."""
        found = self._start(
            [
                *WORKER,
                self.address,
                *(options or ONE),
                "--nanny" if nanny else "--no-nanny",
                "--local-directory",
                str(self.folder),
                *self.words,
            ],
            env,
        )
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
        with self.client() as client:
            client.wait_for_workers(len(self.running), timeout=300)

    def _start(
        self, command: Sequence[str], env: dict[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        with open(self.folder / "log", "ab") as log:
            return subprocess.Popen(
                command,
                stdout=log,
                stderr=log,
                env={**os.environ, **QUIET, **(env or {})},
                cwd=self.folder,
            )

    def close(self) -> None:
        """End everything."""
        for process in (*self.workers, self.scheduler):
            end(process)


def encrypted(folder: Path) -> tuple[str, ...]:
    """The options with which Dask's commands use a new certificate."""
    pair, cert, key = Pair.new(), folder / "cert.pem", folder / "key.pem"
    cert.write_text(pair.cert)
    key.write_text(pair.key)
    return (
        "--protocol",
        "tls",
        "--tls-ca-file",
        str(cert),
        "--tls-cert",
        str(cert),
        "--tls-key",
        str(key),
    )


# in the place of ssh: notes what is to be run on which host, and runs it here; as if clocks went
# wrong, where a host has a shift
SSH = """#!/bin/sh
while [ "$1" != -- ]; do shift; done
shift; host=$1; shift
echo "$host $*" >>'{folder}/log'
case $host in
nowhere) echo "ssh: Could not resolve hostname nowhere: Name or service not known" >&2; exit 255 ;;
silent) exec sleep 60 ;;
esac
test ! -e '{folder}/'"$host" || . '{folder}/'"$host"
exec sh -c "$*"
"""


def local_ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a stand-in for ssh on PATH, which sources a file beside it with the name of the host; the
    file in which it notes.
    """
    folder = tmp_path / "ssh"
    folder.mkdir()
    (folder / "ssh").write_text(SSH.format(folder=folder))
    (folder / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return folder / "log"


def in_fork(perf: Callable[..., Said], *words: str) -> Said:
    """A command in a process of its own: what does not connect leaves threads of Dask behind,
    beside which nothing can fork.
    """
    here, there = get_context("fork").Pipe()
    process = get_context("fork").Process(target=lambda: there.send(perf(*words, code=None)))
    process.start()
    there.close()
    said: Said = here.recv()  # EOFError where it ended in a traceback
    process.join()
    assert said.code == 2, said
    return said


def profiles(project: Project) -> list[Profile]:
    """All that is stored."""
    repository = Repository.find(project.root)
    return repository.profiles(repository.index.headers())


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
