"""Standard input on its way to the server, which ends when that ends, and by nothing else."""

from __future__ import annotations

import os
import select
import threading
import time

from perfvcs.agents.running import PATIENCE
from perfvcs.system import interruption

PART = 65_536  # bytes
GRACE = 2 * PATIENCE + 5.0  # seconds in which what is running can be interrupted, and killed


def relay_input() -> None:
    """Pass standard input on through a pipe, whose end is where a signal that ends this process
    comes, too.

    A thread of the server waits for standard input, and no signal wakes it while the client keeps
    that open.
    """
    signals, notice = os.pipe()
    os.set_blocking(notice, False)
    interruption.notify(notice)
    client, (passed, relay) = os.dup(0), os.pipe()
    os.set_blocking(relay, False)
    os.dup2(passed, 0)
    os.close(passed)
    threading.Thread(target=_relay, args=(client, signals, relay), daemon=True).start()


def _relay(client: int, signals: int, relay: int) -> None:
    """Pass on what the client sends until it ends or a signal comes, after which whatever still
    waits (for a client that reads nothing) has its time, and no more.
    """
    part = b""
    while True:
        reading, writing = ([], [relay]) if part else ([client], [])
        ready, _, _ = select.select([signals, *reading], writing, [])
        if signals in ready:
            break
        if part:
            part = part[os.write(relay, part) :]
            continue
        part = os.read(client, PART)
        if not part:
            break
    os.close(relay)
    select.select([signals], [], [])
    time.sleep(GRACE)
    interruption.leave()
