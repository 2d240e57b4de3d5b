"""The hosts behind a Dask scheduler: checked, asked and given tasks; every refusal names the
cure.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import perfvcs
from perfvcs.environment.host import Facts
from perfvcs.errors import PerfError
from perfvcs.hosts import wire, work
from perfvcs.hosts.started import RESOURCE
from perfvcs.hosts.tls import Tls, Unusable
from perfvcs.measure.progress import Progress
from perfvcs.text.words import counted

if TYPE_CHECKING:
    from distributed import Client, Future

ANSWER = 10.0  # seconds in which a scheduler, and each worker, has to answer
START = "dask worker {} --nthreads 1 --nworkers 1 --resources perfvcs=1{}"
CERTIFICATES = " --tls-ca-file CA --tls-cert CERT --tls-key KEY"
EXPIRED = (
    "has a certificate that the scheduler does not accept, or that has expired: make new ones, and"
    " start it again"
)
POLL = 0.5  # seconds between two looks at who is still there


class HostsLost(PerfError):
    """The scheduler, or the last host, is gone; complete blocks are stored."""

    exit_code = 5


@dataclass
class Cluster:
    """A connection to a scheduler; ``hosts`` names the host of each worker, by the worker's
    address.

    ``facts`` has what each host is like, ``flying`` which worker has which block, of all sessions
    of this client. ``patience`` and ``stalled`` in seconds. ``silent`` are the workers that do not
    answer, and why.
    """

    client: Client
    address: str
    patience: float
    stalled: float
    tls: Tls = field(default_factory=Tls)
    progress: Progress = field(default_factory=Progress)
    silent: dict[str, str] = field(default_factory=dict)
    hosts: dict[str, str] = field(default_factory=dict)
    facts: dict[str, Facts] = field(default_factory=dict)
    flying: dict[Future[bytes], str] = field(default_factory=dict)
    _last: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def is_there(self) -> bool:
        """Whether the scheduler still answers."""
        return str(self.client.status) == "running"

    def workers(self) -> dict[str, str]:
        """The host of each worker that is there just now, by the worker's address; new ones are
        checked.

        Those that do not answer are left out until they connect again. Raises HostsLost without a
        scheduler, and Unusable where a worker is not as it must be.
        """
        if not self.is_there:
            raise self.lost()
        seen = self._seen()
        self.silent = {address: why for address, why in self.silent.items() if address in seen}
        new = {
            address: identity
            for address, identity in seen.items()
            if address not in self.hosts.keys() | self.silent
        }
        if new:
            self.hosts |= self._checked(new)
            for address in sorted(self.silent.keys() & new.keys() if self.hosts else ()):
                self.progress.say(f"the worker {address} gets no blocks: it {self.silent[address]}")
        return {address: self.hosts[address] for address in seen if address in self.hosts}

    def trusted(self, distrusted: Mapping[str, str]) -> list[str]:
        """The workers that are there just now, on other hosts than those distrusted."""
        return [worker for worker, host in self.workers().items() if host not in distrusted]

    def _seen(self) -> Mapping[str, Mapping[str, Any]]:
        """The workers that the scheduler has just now; those of its last answer where it gives
        none.

        ``Client.scheduler_info`` is not used: its answer is kept where another thread may put one
        without workers before it is read.
        """
        scheduler: Any = self.client.scheduler
        with suppress(OSError):
            if scheduler is not None:
                self._last = self.client.sync(scheduler.identity, n_workers=-1)["workers"]
        return self._last

    def _checked(self, workers: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
        """The hosts of workers that are as they must be."""
        for address, identity in workers.items():
            self.tls.require_protected(f"the worker {address}", address)
            cure = f"start one per host: `{start_command(self.address)}`"
            if identity["nthreads"] != 1:
                threads = counted(identity["nthreads"], "thread")
                raise Unusable(
                    f"the worker {address} has {threads}, so that blocks would disturb each other:"
                    f" {cure}"
                )
            if identity.get("resources", {}).get(RESOURCE) != 1:
                raise Unusable(
                    f"the worker {address} does not have the resource {RESOURCE}=1, which makes a"
                    f" host exclusive: {cure}"
                )
        hosts: dict[str, str] = {}
        for address, (dask, answer) in self.client.sync(self._asked, list(workers)).items():
            if isinstance(answer, TimeoutError):
                self.silent[address] = f"does not answer within {ANSWER:g} s: start it again"
            elif type(answer).__name__ == "FatalCommClosedError":
                self.silent[address] = EXPIRED
            if isinstance(answer, OSError):
                continue  # TimeoutError is one, too; others left just now
            require_same_dask(f"the worker {address}", dask)
            theirs, host, facts = (*answer, b"")[:3] if isinstance(answer, tuple) else ("", "", b"")
            if theirs != perfvcs.__version__:
                has = f"has perfvcs {theirs}" if theirs else "has no perfvcs that can be used"
                cure = f"install perfvcs {perfvcs.__version__} there, as here"
                raise Unusable(f"the worker {address} {has}: {cure}")
            present = [
                other
                for other, name in (self.hosts | hosts).items()
                if name == host and other in self._seen()
            ]
            if present:
                raise Unusable(
                    f"the workers {present[0]} and {address} are both on a host called {host}: give"
                    " each host its own name"
                )
            hosts[address] = host
            self.facts[host] = wire.facts(facts)
        return hosts

    async def _asked(self, workers: Iterable[str]) -> dict[str, tuple[str, Any]]:
        """Each worker's version of Dask and what it says of itself, or the exception in the place
        of that.
        """
        scheduler: Any = self.client.scheduler

        async def ask(worker: str) -> tuple[str, Any]:
            versions = await scheduler.broadcast(
                msg={"op": "versions", "packages": []}, workers=[worker], on_error="ignore"
            )
            answers = await self.client.run(work.about, workers=[worker], on_error="return")
            return dask_of(versions.get(worker)), answers[worker]

        async def ask_in_time(worker: str) -> tuple[str, Any]:
            try:
                return await asyncio.wait_for(ask(worker), ANSWER)
            except TimeoutError as error:
                return "", error

        return dict(zip(workers, await asyncio.gather(*map(ask_in_time, workers)), strict=True))

    def submit(
        self, function: Callable[..., bytes], *arguments: object, worker: str
    ) -> Future[bytes]:
        """Start something on one worker, as soon as nobody else uses that host."""
        future = self.client.submit(
            function,
            *arguments,
            workers=[worker],
            resources={RESOURCE: 1},
            pure=False,
            retries=0,
            allow_other_workers=False,
        )
        self.flying[future] = worker
        return future

    def completed(self, futures: Mapping[Future[bytes], Any]) -> list[Future[bytes]]:
        """The tasks that are done; waits a moment at most for any of this client's."""
        # callbacks would leave a thread behind, beside which nothing forks
        from distributed import wait

        with suppress(TimeoutError, CancelledError), self.client.as_current():
            wait(list(self.flying), timeout=POLL, return_when="FIRST_COMPLETED")
        done = [future for future in futures if future.done()]
        for future in done:
            del self.flying[future]
        return done

    def cancel(self, future: Future[bytes]) -> None:
        """Cancels a task for which nobody waits."""
        self.flying.pop(future, None)
        future.cancel()

    def lost(self) -> HostsLost:
        """The error where the scheduler is gone."""
        return HostsLost(f"the scheduler at {self.address} is gone: start it again, then continue")

    def release(self, parcel: str) -> None:
        """Let the hosts tidy up after a session."""
        if self.is_there and self.hosts:
            # whatever it was, the session is over, and an idle measurer ends by itself
            with suppress(Exception):
                workers = [worker for worker in self._seen() if worker in self.hosts]
                self.client.run(
                    work.release,
                    parcel,
                    workers=workers,
                    on_error="ignore",
                    callback_timeout=ANSWER,
                )


def start_command(scheduler: str) -> str:
    """The command that starts a worker of a scheduler."""
    return START.format(scheduler, CERTIFICATES if scheduler.startswith("tls://") else "")


def dask_of(versions: Any) -> str:
    """The version of Dask in what a scheduler or worker says of its versions; empty where it does
    not say.
    """
    return str((versions or {}).get("packages", {}).get("distributed") or "")


def require_same_dask(who: str, theirs: str) -> None:
    """Raises Unusable where a scheduler or worker has another version of Dask."""
    if theirs and theirs != (ours := version("distributed")):
        raise Unusable(f"{who} has Dask {theirs}, and here is {ours}: install the same everywhere")
