"""What goes wrong when functions and sizes are looked up in a program's files, each with its cure."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from perfvcs.collector import CollectError

COMPILER_FLAGS = ("-g", "-pg", "-mfentry")
RECORDING_CURE = (
    "perfvcs gives these flags to the commands of build through compilers on PATH; where a build names its compiler by its path, write "
    '{cflags} behind it, or set tracer = "uftrace"'
)


class Unresolved(CollectError):
    """A function or a size cannot be found in a program; the message names the cure."""

    def __init__(self, message: str) -> None:
        super().__init__(message, lasting=True)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turns what the parser makes of damaged files into Unresolved."""
    import struct

    from elftools.common.exceptions import DWARFError, ELFError
    from elftools.construct import ConstructError

    damage = (ELFError, DWARFError, ConstructError, struct.error, LookupError, ValueError, TypeError, AttributeError)
    try:
        yield
    except (*damage, AssertionError, RecursionError, OverflowError, MemoryError, OSError) as error:
        said = "".join(character if character.isprintable() else "?" for character in f"{type(error).__name__}: {error}")[:200]
        raise Unresolved(f"complexity: the debug information of {path} cannot be read ({said}): build it again") from error
