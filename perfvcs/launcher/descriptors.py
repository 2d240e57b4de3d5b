"""The files and pipes between this process, the launcher and its command."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress

from perfvcs.launcher.execution import STREAM_BYTES

NONE = -1  # in place of a descriptor that was not asked for


class LaunchDescriptors:
    """What the launcher writes to and reads from; to be closed once the command has ended.

    The launcher reports into a file and not a pipe: its first line comes while the command runs,
    and must not wake us up. ``alive`` ends with the launcher. The reading ends are ours, the
    launcher and its command get the writing ends; ``stdout`` and ``readings`` are -1 unless asked
    for.
    """

    def __init__(self, *, with_output: bool, with_pace: bool) -> None:
        self.report = _unnamed("perfvcs-report")
        self.environment = _unnamed("perfvcs-environment")
        self.readings = _unnamed("perfvcs-pace") if with_pace else NONE
        self.alive, self.launcher_alive = os.pipe()
        self.stderr, self.launcher_stderr = os.pipe()
        self.stdout, self.launcher_stdout = _wide_pipe() if with_output else (NONE, NONE)
        self._files = [self.report, self.environment, self.readings]
        self._ours = [self.alive, self.stderr, self.stdout]
        self._launchers = [self.launcher_alive, self.launcher_stderr, self.launcher_stdout]

    def shared(self) -> list[int]:
        """Those that stay open in the launcher beside its standard streams."""
        shared = (self.report, self.environment, self.launcher_alive, self.readings)
        return [descriptor for descriptor in shared if descriptor != NONE]

    def give_away(self) -> None:
        """Close the ends of pipes that the launcher has now."""
        _close(self._launchers)

    def close(self) -> None:
        """Close all that are open."""
        for descriptors in (self._files, self._ours, self._launchers):
            _close(descriptors)


def _close(descriptors: list[int]) -> None:
    """Close these, and forget their numbers, which the system gives away again."""
    while descriptors:
        descriptor = descriptors.pop()
        if descriptor != NONE:
            os.close(descriptor)


def _unnamed(name: str) -> int:
    """A file without a path, in memory where the system has such."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create(name)
    import tempfile

    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def _wide_pipe() -> tuple[int, int]:
    """A pipe whose reading end does not block, as wide as everybody may have it, so that a program
    that writes much waits little.
    """
    ends = os.pipe()
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        with suppress(OSError):  # pipes of this user have all the memory that they may
            fcntl.fcntl(ends[1], fcntl.F_SETPIPE_SZ, STREAM_BYTES)
    os.set_blocking(ends[0], False)
    return ends
