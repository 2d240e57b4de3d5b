"""Schedulers that last as long as a command: workers on this machine, or on the hosts of perf.toml
through SSH.

They have certificates of their own, answer nobody without these, and nobody by HTTP. ``python -m
perfvcs.hosts.started`` is what runs on a host: a scheduler or a worker, as its standard input says,
until that ends.
"""

from __future__ import annotations

import asyncio
import logging
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from select import select
from typing import TYPE_CHECKING, Any

import msgspec

from perfvcs.hosts.tls import Pair, Unusable

if TYPE_CHECKING:
    from distributed import Security

    from perfvcs.jobs.config import HostsTable

RESOURCE = "perfvcs"
MOST_LOCAL = 64
CONNECTED = 10  # seconds in which SSH has to be connected to a host
STARTED = 60.0  # seconds in which a scheduler or worker has to listen there
ENDED = 10.0  # seconds in which it has to end
SSH = ("ssh", "-T", "-o", "BatchMode=yes", "-o", f"ConnectTimeout={CONNECTED}", "--")


class Start(msgspec.Struct):
    """What a host is told, on a pipe that nobody else reads: a worker of this scheduler, or the
    scheduler itself.
    """

    pair: Pair
    scheduler: str = ""


@contextmanager
def on_this_machine(count: int) -> Iterator[tuple[str, Security]]:
    """The address of a scheduler with workers on this machine, and its certificates: for trying
    out, since they share it.
    """
    from distributed import LocalCluster

    if count > MOST_LOCAL:
        raise Unusable(
            f"local:{count} would start {count} workers on this machine: at most {MOST_LOCAL}"
        )
    security = Pair.new().security()
    with (
        _private(),
        LocalCluster(
            n_workers=count,
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",  # on any free port, which the preload closes at once
            scheduler_kwargs={"dashboard": False},
            resources={RESOURCE: 1},
            silence_logs=logging.CRITICAL,
            security=security,
        ) as cluster,
    ):
        yield cluster.scheduler_address, security


@contextmanager
def through_ssh(table: HostsTable) -> Iterator[tuple[str, Security]]:
    """The address of a scheduler on the first host of perf.toml with a worker on each, started
    through SSH, and its certificates.
    """
    if not table.ssh:
        raise Unusable('--scheduler ssh needs hosts in perf.toml: [hosts] ssh = ["name1", "name2"]')
    for name in table.ssh:
        if not re.fullmatch(r"([^\s@]+@)?[^\s@]+", name):
            raise Unusable(
                f'[hosts] ssh of perf.toml: `{name}` does not name a host: write "beta" or'
                ' "user@beta"'
            )
    pair, python = Pair.new(), table.python or sys.executable
    with _ended_together() as hosts, _ended_together() as workers:
        scheduler = _Host(table.ssh[0], python, Start(pair))
        hosts.append(scheduler)
        address = scheduler.address()
        workers.extend(_Host(name, python, Start(pair, address)) for name in table.ssh)
        for worker in workers:
            worker.address()
        yield address, pair.security()


class _Host:
    """A scheduler or a worker on a host, held by a process of SSH."""

    def __init__(self, name: str, python: str, start: Start) -> None:
        self.name, self.python = name, python
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115
        command = [*SSH, name, f"{python} -m perfvcs.hosts.started"]
        try:
            self.process = subprocess.Popen(
                command,
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self.errors,
            )
        except FileNotFoundError:
            raise Unusable("--scheduler ssh needs the program ssh: install OpenSSH") from None
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):  # what it said instead comes with its address
            self.process.stdin.write(msgspec.json.encode(start) + b"\n")

    def address(self) -> str:
        """Where it listens, which it says when it does; raises Unusable."""
        assert self.process.stdout is not None
        until = time.monotonic() + STARTED
        while select([self.process.stdout], [], [], max(0, until - time.monotonic()))[0]:
            line = self.process.stdout.readline()
            if line.startswith(b"tls://"):
                return line.decode().strip()
            if not line:
                break
        self.errors.seek(0)
        errors = self.errors.read().decode(errors="replace").split("\n")
        reason = next(
            (line.strip() for line in reversed(errors) if line.strip()),
            f"no answer within {STARTED:g} s",
        )
        raise Unusable(
            f"[hosts] ssh of perf.toml: {reason}: see that `ssh {self.name} {self.python} -m"
            " perfvcs --version` works"
        )

    def end(self) -> None:
        """Tell it to end."""
        assert self.process.stdin is not None
        with suppress(OSError):
            self.process.stdin.close()

    def wait(self) -> None:
        """Until it has ended, or for long enough: without its standard input it ends by itself."""
        try:
            self.process.wait(ENDED)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.errors.close()


@contextmanager
def _ended_together() -> Iterator[list[_Host]]:
    """Those that are put into this list end at the same time."""
    hosts: list[_Host] = []
    try:
        yield hosts
    finally:
        for host in hosts:
            host.end()
        for host in hosts:
            host.wait()


@contextmanager
def _private() -> Iterator[None]:
    """Settings of Dask: no HTTP, and files in a folder where nobody else may put modules, since
    Dask imports what is in it.
    """
    import dask

    from perfvcs.hosts.work import cache

    folder = cache() / "dask"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise Unusable(
            f"{folder} cannot be made ({error.strerror}): let XDG_CACHE_HOME name another folder"
        ) from None
    preload = {f"distributed.{who}.preload": ["perfvcs.hosts"] for who in ("scheduler", "worker")}
    with dask.config.set({"temporary-directory": str(folder), **preload}):
        yield


async def _serve(start: Start) -> None:
    """Be a scheduler or a worker, say where, and end with the standard input."""
    from distributed import Nanny, Scheduler

    security = start.pair.security()
    server: Any
    ended, loop = asyncio.Event(), asyncio.get_running_loop()
    if start.scheduler:
        server = Nanny(start.scheduler, nthreads=1, resources={RESOURCE: 1}, security=security)
    else:
        server = Scheduler(
            protocol="tls",
            port=0,
            dashboard=False,
            dashboard_address="127.0.0.1:0",
            security=security,
        )
    async with server:
        print(server.address, flush=True)
        # nothing more is sent: it can be read when it ends
        loop.add_reader(sys.stdin.fileno(), ended.set)
        waiting = [asyncio.ensure_future(ended.wait()), asyncio.ensure_future(server.finished())]
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        loop.remove_reader(sys.stdin.fileno())


def main() -> None:
    """What SSH starts on a host."""
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    start = msgspec.json.decode(sys.stdin.buffer.readline(), type=Start)
    with _private():
        asyncio.run(_serve(start))


if __name__ == "__main__":
    main()
