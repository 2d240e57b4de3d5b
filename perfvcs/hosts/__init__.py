"""Blocks over many hosts, through Dask (hosts.md); only ``connection``, ``cluster``,
``client`` and ``work`` know Dask, and import it when asked.

The package is also a preload of Dask's schedulers and workers: ``dask worker --preload
perfvcs.hosts``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from distributed import Scheduler, Worker


def dask_setup(server: Scheduler | Worker) -> None:
    """Close the port at which anybody may ask a scheduler or worker by HTTP, without a
    certificate.
    """
    server.http_server.stop()
