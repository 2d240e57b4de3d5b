"""Collectors: each member is one, named like it; ``perfvcs.collector`` is their contract."""
