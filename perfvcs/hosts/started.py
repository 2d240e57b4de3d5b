"""Schedulers that last as long as a command: workers on this machine, or on the hosts of perf.toml through SSH."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from perfvcs.errors import UsageError

if TYPE_CHECKING:
    from perfvcs.jobs.config import HostsTable

RESOURCE = "perfvcs"
MOST_LOCAL = 64
CONNECTED = 10.0  # seconds in which SSH has to be connected to a host


class Unusable(UsageError):
    """A scheduler, or a worker, with which nothing is measured."""


@contextmanager
def on_this_machine(count: int) -> Iterator[Any]:
    """A scheduler with workers on this machine: for trying out, since they share it."""
    from distributed import LocalCluster

    if count > MOST_LOCAL:
        raise Unusable(f"local:{count} would start {count} workers on this machine: at most {MOST_LOCAL}")
    with LocalCluster(
        n_workers=count,
        threads_per_worker=1,
        processes=True,
        dashboard_address="127.0.0.1:0",  # of its status, even without a dashboard: on any free port
        scheduler_kwargs={"dashboard": False},
        resources={RESOURCE: 1},
        silence_logs=logging.CRITICAL,
    ) as found:
        yield found


@contextmanager
def through_ssh(table: HostsTable) -> Iterator[Any]:
    """A scheduler on the first host of perf.toml, and a worker on each, started through SSH."""
    if not table.ssh:
        raise Unusable('--scheduler ssh needs hosts in perf.toml: [hosts] ssh = ["name1", "name2"]')
    try:
        import asyncssh  # noqa: F401
    except ImportError:
        raise Unusable("--scheduler ssh needs asyncssh: pip install asyncssh") from None
    from distributed import SSHCluster

    python = table.python or sys.executable
    users, names = zip(*map(_login, (table.ssh[0], *table.ssh)), strict=True)
    with ExitStack() as stack:
        try:
            found = stack.enter_context(
                SSHCluster(
                    list(names), [{"connect_timeout": CONNECTED} | user for user in users],
                    worker_options={"nthreads": 1, "n_workers": 1, "resources": {RESOURCE: 1}},
                    scheduler_options={"port": 0, "dashboard": False}, remote_python=python,
                )
            )  # fmt: skip
        except Exception as error:  # asyncssh and Dask have exceptions of their own
            cause = error.__cause__ or error
            slow = f"no answer within {CONNECTED:g} s" if isinstance(cause, TimeoutError) else ""
            reason = slow or str(cause).partition("\n")[0] or type(cause).__name__
            raise Unusable(
                f"[hosts] ssh of perf.toml: {reason}: see that `ssh NAME {python} -m perfvcs --version` works for "
                f"{', '.join(dict.fromkeys(table.ssh))}"
            ) from None
        yield found


def _login(name: str) -> tuple[dict[str, str], str]:
    """How asyncssh logs in to one of [hosts] ssh: ``host`` or ``user@host``; raises Unusable."""
    found = re.fullmatch(r"(?:([^\s@]+)@)?([^\s@]+)", name)
    if found is None:
        raise Unusable(f'[hosts] ssh of perf.toml: `{name}` does not name a host: write "beta" or "user@beta"')
    return ({"username": found[1]} if found[1] else {}), found[2]
