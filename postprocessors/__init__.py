"""Postprocessors: each member is one, named like it; ``perfvcs.plugins.postprocessor`` is their
contract.

``_entries.py`` puts results into a profile, ``_rows.py`` takes rows out.
"""
