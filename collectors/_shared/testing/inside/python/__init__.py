"""What runs inside the pytest of a measured project: plain files for any Python from 3.9 on, which
need nothing but pytest 7.

The folder is put on PYTHONPATH, ``perfvcs_pytest`` into PYTEST_PLUGINS;
``perfvcs.collectors._shared.testing.suite`` is the other side.
"""
