"""Put this folder on PYTHONPATH and import ``perfvcs_bench``: it is ``perfvcs.bench`` for interpreters without perfvcs."""
