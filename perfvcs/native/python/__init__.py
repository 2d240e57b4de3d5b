"""On PYTHONPATH while perfvcs measures: ``perfvcs_bench`` is ``perfvcs.bench``, and ``perfvcs_asv``
runs suites of asv.
"""
