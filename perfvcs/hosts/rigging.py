"""The rig with what runs the blocks of a command: this machine, or the hosts of a scheduler."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from perfvcs.hosts.tls import Scheduler
from perfvcs.measure.rig import Rig

if TYPE_CHECKING:
    from perfvcs.hosts.client import HostsExecutor
    from perfvcs.hosts.cluster import Cluster
    from perfvcs.measure.sites import Sites
    from perfvcs.measure.tally import Tally


class OnHosts(Struct, frozen=True):
    """Makes executors for the hosts of a cluster; those that are ``distrusted``, for a reason, get
    no blocks.
    """

    cluster: Cluster
    distrusted: Mapping[str, str]

    @property
    def width(self) -> int:
        """How many blocks run at a time."""
        return max(1, len(self.cluster.trusted(self.distrusted)))

    def __call__(self, sites: Sites, tally: Tally) -> HostsExecutor:
        """The executor of a session."""
        from perfvcs.hosts.client import HostsExecutor

        return HostsExecutor(self.cluster, sites, tally, self.distrusted)


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
    from perfvcs.hosts.connection import connected

    address, table = scheduler.address, rig.config.hosts
    with connected(address, table, scheduler.tls, rig.progress) as cluster:
        yield replace(rig, executor=OnHosts(cluster, distrusted()))
