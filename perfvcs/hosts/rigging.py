"""The rig with what runs the blocks of a command: this machine, or the hosts of a scheduler."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from perfvcs.hosts.tls import Scheduler
from perfvcs.measure.rig import Rig


@contextmanager
def equipped(
    rig: Rig, scheduler: Scheduler, distrusted: Callable[[], Mapping[str, str]] = dict
) -> Iterator[Rig]:
    """The rig with the hosts of a scheduler; as it is where that is empty. Raises Unusable.

    ``distrusted`` finds the hosts that get no blocks, with the reason.
    """
    if not scheduler.address:
        yield rig
        return
    from perfvcs.hosts.client import OnHosts
    from perfvcs.hosts.cluster import connected

    address, table = scheduler.address, rig.config.hosts
    with connected(address, table, scheduler.tls, rig.progress) as cluster:
        yield replace(rig, executor=OnHosts(cluster, distrusted()))
