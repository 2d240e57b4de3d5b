"""Measuring over many hosts, with real workers on this machine in the place of hosts: a commit that
changes nothing, and sessions in which something is killed.
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from .figures import Row
from .registry import Wrong, benchmark
from .workplace import Workplace, workplace


@benchmark("hosts", quick={"runs": 1, "blocks": 5}, needs=("distributed",))
def hosts_same(*, runs: int = 20, blocks: int = 10) -> Iterator[Row]:
    """What is said of a commit that changes nothing, over two workers?"""
    words: Counter[str] = Counter()
    with workplace() as place:
        place.start(2)
        for _ in range(runs):
            words.update(change["word"] for change in _checked(place, blocks))
    for word, count in words.most_common():
        yield {"word": word, "comparisons": count}


def _checked(place: Workplace, blocks: int) -> list[dict[str, Any]]:
    """What a check of the two newest commits over all workers says."""
    words = ("--measure", "-n", str(blocks), *place.over, "--json")
    done = place.perf("check", "HEAD~1", "HEAD", *words)
    if not done.stdout:
        raise RuntimeError(done.stderr)
    found: list[dict[str, Any]] = json.loads(done.stdout)["changes"]
    return found


@benchmark("hosts", quick={"runs": 1, "least": 5.0}, needs=("distributed",))
def hosts_kills(*, runs: int = 40, seed: int = 1, least: float = 0.5) -> Iterator[Row]:
    """What is half or lost where a worker, the scheduler or the client is killed, after at least so
    many seconds, and the session continued?
    """
    chance = random.Random(seed)
    counts: Counter[str] = Counter()
    with workplace() as place:
        for _ in range(runs):
            counts += _killed(place, chance, least)
    names = ("worker", "scheduler", "client", "over before")
    yield {"sessions": runs, **{f"killed: {name}": counts[name] for name in names}}
    names = ("half blocks", "reported profiles lost", "blocks repeated", "continued")
    yield {name: counts[name] for name in names}
    if counts["half blocks"] or counts["reported profiles lost"]:
        raise Wrong("blocks are half, or profiles lost")


def _killed(place: Workplace, chance: random.Random, least: float) -> Counter[str]:
    """One session in which something is killed."""
    place.start(2)
    who = chance.choice(("worker", "scheduler", "client"))
    client = place.client("collect", "HEAD~1", "HEAD", "-n", "6", *place.over)
    _wait(client, chance.uniform(least, 12))
    victims = {
        "worker": chance.choice(place.workers),
        "scheduler": place.scheduler,
        "client": client,
    }
    victim, was_running = victims[who], client.poll() is None
    assert victim is not None
    victim.send_signal(signal.SIGKILL)
    out, err = client.communicate()
    counts = Counter({who if was_running else "over before": 1})
    counts["blocks repeated"] += err.count("repeated: block")
    counts["half blocks"] += place.halves()
    if client.returncode:
        place.start(2)
        done = place.perf("collect", "--continue", *place.over)
        nothing = "no session is unfinished" in done.stderr
        counts["continued"] += not nothing and done.returncode == 0
        if done.returncode and not nothing:
            print(done.stderr.strip(), file=sys.stderr)
        counts["half blocks"] += place.halves()
    lines = [line for line in out.split("\n") if line.startswith("stored ")]
    reported = sum(int(line.split()[1]) for line in lines)
    counts["reported profiles lost"] += max(0, reported - (place.stored() if out else 0))
    return counts


def _wait(client: subprocess.Popen[str], seconds: float) -> None:
    """Wait for so long, or until the client ends."""
    with suppress(subprocess.TimeoutExpired):
        client.wait(seconds)
