"""The sandbox in which both sides of a judgement run."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from perfvcs.errors import UsageError
from perfvcs.launcher.namespaces import around, lacking
from perfvcs.native.compiled import cache_folder

if TYPE_CHECKING:
    from pathlib import Path

    from perfvcs.measure.sites import Sites


class Sandbox(NamedTuple):
    """The rest of the disk is read-only for an execution, and there is no network."""

    kept: tuple[Path, ...]

    @classmethod
    def of(cls, sites: Sites) -> Sandbox:
        """The sandbox of a project; raises UsageError where the system allows none."""
        if reason := lacking():
            raise UsageError(f"--sandbox needs namespaces of Linux, and {reason}: leave it out")
        return cls((sites.project.root, sites.home, cache_folder()))

    def around(
        self, scratch: Path, *writable: Path, layered: Path | None = None
    ) -> tuple[str, ...]:
        """The words that start an execution in it; ``layered`` as in ``namespaces.around``."""
        kept = [*self.kept, *writable]
        return around(scratch, kept, writable, network=False, layered=layered)
