"""The connection to a Dask scheduler; every refusal names the cure."""

from __future__ import annotations

import logging
import re
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from perfvcs.hosts.cluster import ANSWER, POLL, Cluster, dask_of, require_same_dask, start_command
from perfvcs.hosts.started import on_this_machine, through_ssh
from perfvcs.hosts.tls import Tls, Unusable, refused
from perfvcs.jobs.config import HostsTable, seconds
from perfvcs.measure.progress import Progress

if TYPE_CHECKING:
    from distributed import Client, Security

ADDRESS = re.compile(r"(?:tcp|tls)://(?:[^\s/:]+|\[[^\s/\]]+\]):([1-9]\d{0,4})/?")
INSTALL = "pip install 'distributed>=2026.1' 'cryptography>=42' simpleeval"


@contextmanager
def connected(scheduler: str, table: HostsTable, tls: Tls, progress: Progress) -> Iterator[Cluster]:
    """The hosts of a scheduler: ``tcp://...`` or ``tls://...``, ``local:N`` workers here, or
    ``ssh`` to those of perf.toml.

    Raises Unusable where it cannot be used.
    """
    try:
        import cryptography  # noqa: F401
        import distributed  # noqa: F401
    except ImportError as error:
        raise Unusable(f"--scheduler needs {error.name}: {INSTALL}") from None
    # what matters is said here, in one line
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    security: Security | None
    with ExitStack() as stack:
        if local := re.fullmatch(r"local:([1-9]\d{0,2})", scheduler):
            address, security = stack.enter_context(on_this_machine(int(local[1])))
        elif scheduler == "ssh":
            address, security = stack.enter_context(through_ssh(table))
        elif (named := ADDRESS.fullmatch(scheduler)) and int(named[1]) <= 65535:
            address, security = scheduler, _security(scheduler, tls, table)
        else:
            raise Unusable(
                f"`{scheduler}` is not a scheduler: write tls://HOST:8786, tcp://HOST:8786, local:N"
                " or ssh"
            )
        client = _client(address, scheduler, security)
        stack.callback(_close, client)
        patience = seconds(table.patience, "[hosts] patience")
        stalled = seconds(table.stalled, "[hosts] stalled")
        cluster = Cluster(client, scheduler, patience, stalled, tls, progress)
        dask_scheduler: Any = client.scheduler
        require_same_dask(
            f"the scheduler at {scheduler}",
            dask_of(client.sync(dask_scheduler.versions, packages=[])),
        )
        listens = client.sync(dask_scheduler.identity, n_workers=0)["address"]
        tls.require_protected(f"the scheduler at {scheduler}, which listens at {listens},", listens)
        if listens.startswith("tcp://") and not tls.insecure:
            progress.say(
                f"note: {scheduler} has no certificates, so other users of this machine can run"
                " programs as you"
            )
        _wait_for_workers(cluster)
        if not local:
            _warn_of_neighbours(cluster, progress)
        yield cluster


def _security(scheduler: str, tls: Tls, table: HostsTable) -> Security | None:
    """Dask's own options of security for an address; raises Unusable where it is not to be used
    with these.
    """
    if scheduler.startswith("tls://"):
        return tls.filled(table).security()
    if tls.ca or tls.cert or tls.key:
        raise Unusable(f"{scheduler} would not use these certificates: write tls://")
    tls.require_protected(scheduler, scheduler)
    return None


def _client(address: str, scheduler: str, security: Security | None) -> Client:
    """A client of a scheduler; raises Unusable where that does not answer, or not as it should."""
    from distributed.versions import VersionMismatchWarning

    try:
        with warnings.catch_warnings():
            # of ten lines; here it is an error of one
            warnings.simplefilter("ignore", VersionMismatchWarning)
            return _within(address, security)
    except (OSError, ValueError, TimeoutError, RuntimeError) as error:
        causes = _causes(error)
        if security is not None and (reason := refused(scheduler, causes)):
            raise Unusable(reason) from None
        if any("version" in str(cause).lower() for cause in causes):
            raise Unusable(
                f"the scheduler at {scheduler} has another version of Dask: install the same"
                " everywhere"
            ) from None
        if any(isinstance(cause, ConnectionResetError) for cause in causes):
            raise Unusable(
                f"what answers at {scheduler} closes the connection: check the address, and write"
                " tls:// for a scheduler with certificates"
            ) from None
        raise Unusable(
            f"no scheduler answers at {scheduler} within {ANSWER:g} s: check the address, and that"
            " `dask scheduler` runs"
        ) from None


def _within(address: str, security: Security | None) -> Client:
    """A client; raises TimeoutError also where somebody takes the connection and says nothing, for
    which Dask waits forever.
    """
    from distributed import Client

    clients: list[Client] = []
    errors: list[Exception] = []

    def connect() -> None:
        try:
            clients.append(Client(address, timeout=ANSWER, security=security, set_as_default=False))
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=connect, daemon=True, name="connect")
    thread.start()
    thread.join(ANSWER + POLL)
    if errors:
        raise errors[0]
    if not clients:
        raise TimeoutError
    return clients[0]


def _causes(error: BaseException | None) -> list[BaseException]:
    """An exception and all that led to it."""
    causes: list[BaseException] = []
    while error is not None and error not in causes:
        causes.append(error)
        error = error.__cause__ or error.__context__
    return causes


def _close(client: Client) -> None:
    with suppress(Exception):  # the session is over, and its result is what counts
        client.close(timeout=2)


def _wait_for_workers(cluster: Cluster) -> None:
    """Wait for a first worker; raises Unusable where there is none."""
    until = time.monotonic() + min(ANSWER, cluster.patience)
    while not cluster.workers():
        if cluster.silent:
            address = min(cluster.silent)
            raise Unusable(f"the worker {address} {cluster.silent[address]}")
        if time.monotonic() > until:
            start = f"start one on each host: `{start_command(cluster.address)}`"
            raise Unusable(
                f"the scheduler at {cluster.address} has no workers: {start}; the log of one that"
                " is not let in says why"
            )
        time.sleep(POLL / 10)


def _warn_of_neighbours(cluster: Cluster, progress: Progress) -> None:
    """Say where two workers share a host."""
    machines: dict[str, int] = {}
    for host in cluster.workers().values():
        machines[host.partition("/")[0]] = machines.get(host.partition("/")[0], 0) + 1
    for name, count in machines.items():
        if count > 1:
            progress.say(
                f"{count} workers share the host {name} and disturb each other: start one per host"
            )
