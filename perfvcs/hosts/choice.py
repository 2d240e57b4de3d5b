"""What runs the blocks of a command: this machine, or the hosts of a scheduler."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from perfvcs.hosts.tls import Tls
from perfvcs.jobs.config import Config
from perfvcs.measure.executor import LocalExecutor, Make
from perfvcs.measure.progress import Progress


@contextmanager
def chosen(
    scheduler: str,
    config: Config,
    progress: Progress,
    tls: Tls,
    distrusted: Callable[[], Mapping[str, str]] = dict,
) -> Iterator[Make]:
    """The executor that a scheduler's address means, this machine where it is empty; raises
    Unusable.

    ``distrusted`` finds the hosts that get no blocks, with the reason.
    """
    if not scheduler:
        yield LocalExecutor
        return
    from perfvcs.hosts.client import OnHosts
    from perfvcs.hosts.cluster import connected

    with connected(scheduler, config.hosts, tls, progress) as cluster:
        yield OnHosts(cluster, distrusted())
