"""What collectors have in common that measure programs as they are."""

from __future__ import annotations

import os


class Unmodified:
    """A collector that needs no flags of a compiler, and runs on every Unix."""

    def flags(self, program: str) -> tuple[str, ...]:  # noqa: ARG002
        """None: it measures unmodified programs."""
        return ()

    def available(self) -> str | None:
        """It runs on Linux, macOS and other Unix systems."""
        name = type(self).__name__.lower()
        return None if os.name == "posix" else f"{name} needs Unix: measure on Linux or macOS"
