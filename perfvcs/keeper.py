"""The keeper: a shell beside perf that ends what perf has started, should perf end before it could do so itself.

Processes are recognised by a variable of their environment, so that daemons and orphans are found too.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from perfvcs import interruption

MARKER = "PERFVCS_LAUNCH"
SHELL = "/bin/sh"
# A line means that perf has ended in good order, the end of the pipe that it has not. What is asked first may still tidy up (git does).
SCRIPT = r"""
read -r word && exit
for signal in TERM KILL KILL KILL KILL KILL; do
    found=$(grep -lz "^$0" /proc/[0-9]*/environ)
    [ -n "$found" ] || exit
    for file in $found; do
        number=${file#/proc/}
        kill -s "$signal" "${number%/environ}"
    done
    sleep 0.2
done
"""


@contextmanager
def keeping() -> Iterator[None]:
    """Everything that is started meanwhile ends with this process, however that ends, and after an interruption with this context.

    Nothing is kept where there is no shell.
    """
    before = os.environ.get(MARKER)
    token = os.urandom(8).hex()
    reading, writing = os.pipe()
    quiet = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_WRONLY, 0) for number in (1, 2)]
    actions = [(os.POSIX_SPAWN_DUP2, reading, 0), *quiet]
    environ = {"PATH": os.environ.get("PATH", "") + os.pathsep + os.defpath, "LC_ALL": "C"}
    keeper = 0
    try:
        with suppress(OSError):
            # in a session of its own, out of reach for Ctrl-C
            keeper = os.posix_spawn(SHELL, ["sh", "-c", SCRIPT, f"{MARKER}={token}"], environ, file_actions=actions, setsid=True)
        os.environ[MARKER] = token
        yield
    finally:
        _restore(before)
        if keeper and not interruption.stopped():
            with suppress(OSError):
                os.write(writing, b"\n")
        os.close(writing)
        os.close(reading)
        if keeper:
            with suppress(ChildProcessError):
                os.waitpid(keeper, 0)


def released(environ: Mapping[str, str]) -> dict[str, str]:
    """An environment for what is to go on without this process."""
    return {name: value for name, value in environ.items() if name != MARKER}


def _restore(before: str | None) -> None:
    if before is None:
        os.environ.pop(MARKER, None)
    else:
        os.environ[MARKER] = before
