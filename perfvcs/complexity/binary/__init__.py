"""What a program's file tells of its functions: where they begin, how they are called, and where their sizes are to be found."""

from __future__ import annotations

from perfvcs.collectors import CollectError

FLAGS = "-g -pg -mfentry"
CURE = (
    f"compile with {FLAGS} (perfvcs gives them to the commands of build through compilers on PATH; a build that names its compiler by "
    'path can write {{cflags}}), or set tracer = "uftrace"'
)


class Unresolved(CollectError):
    """A function or a size cannot be found in a program; the message names the cure."""
