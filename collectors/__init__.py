"""Collectors: each member is one, named like it; ``perfvcs.plugins.collector`` is their
contract.
"""
