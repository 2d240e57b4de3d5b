"""Postprocessors: each file is one, named like it; this page is their contract.

A postprocessor is a frozen dataclass; its fields are its options in perf.toml.
"""

from __future__ import annotations

from typing import Protocol

from perfvcs.profile import Profile


class Postprocessor(Protocol):
    """What every member of the family offers."""

    def apply(self, profile: Profile) -> Profile:
        """A new profile with what was computed added; the rows of the old one stay."""
        ...
