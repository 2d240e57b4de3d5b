"""TCP ports of this machine: free ones, and those where somebody listens."""

from __future__ import annotations

import socket
from contextlib import suppress

LISTENING = "0A"  # the state in /proc/net/tcp


def free_port() -> int:
    """A TCP port that nobody has now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def is_open(port: int) -> bool:
    """Whether some process listens on a TCP port: asked of the kernel, so that the service sees no connection that nobody measures."""
    wanted = f":{port:04X}"
    for name in ("tcp", "tcp6"):
        with suppress(OSError), open(f"/proc/net/{name}") as file:
            for line in file:
                fields = line.split()
                if fields[3:4] == [LISTENING] and fields[1].endswith(wanted):
                    return True
    return False
