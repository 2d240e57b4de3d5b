"""Blocks over many hosts, through Dask (hosts.md); only ``cluster``, ``client`` and ``work`` know Dask, and import it when asked."""
