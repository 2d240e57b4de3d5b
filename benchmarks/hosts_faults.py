"""Sessions over hosts in which something is killed, halted, full or cut off, with real workers on this
machine.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .figures import Row
from .programs import run
from .registry import Wrong, benchmark
from .workplace import Workplace, workplace

NAMESPACE, HERE, GATE, THERE = "perfbench", "10.78.0.1", "10.77.0.1", "10.77.0.2"
# a program on a host of this name
NAMED = ["unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"']
INSIDE = ["ip", "netns", "exec", NAMESPACE]


COLLECT = ("collect", "HEAD~1", "HEAD", "-n")


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
    client = place.client(*COLLECT, "6", *place.over)
    _sleep(chance.uniform(least, 12), lambda: client.poll() is None)
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


@benchmark("hosts", quick="a worker stands still for 20 s", needs=("distributed",))
def hosts_stops(*, runs: int = 5, seconds: float = 20.0) -> Iterator[Row]:
    """What becomes of sessions in which a worker with its measurer stands still for a while?"""
    with workplace() as place:
        place.start(2)
        for number in range(runs):
            client = place.client(*COLLECT, "8", *place.over)
            _sleep(3 + number % 4, lambda client=client: client.poll() is None)  # type: ignore[misc]
            was_running = client.poll() is None
            place.workers[0].send_signal(signal.SIGSTOP)
            time.sleep(seconds)
            place.workers[0].send_signal(signal.SIGCONT)
            _, said = client.communicate()
            yield {
                "stopped while it ran": was_running,
                "exit": client.returncode,
                "half blocks": place.halves(),
                "blocks repeated": said.count("repeated: block"),
            }


@benchmark("hosts", quick="needs root", needs=("distributed", "root"))
def hosts_full() -> Iterator[Row]:
    """What becomes of a session with a worker whose cache folder is a full disk of 1 MB?"""
    with workplace() as place:
        disk = place.folder / "disk"
        disk.mkdir()
        run("mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk)
        try:
            place.start(1)
            place.cache, place.before = disk, [*NAMED, "full"]
            place.start(2)
            (disk / "filler").write_bytes(bytes(1000 << 10))
            done = place.perf(*COLLECT, "8", *place.over)
            print(done.stderr, file=sys.stderr)
            yield {"exit": done.returncode, "half blocks": place.halves()}
        finally:
            place.stop()
            subprocess.run(["umount", "-l", str(disk)], check=False)


@contextmanager
def network() -> Iterator[None]:
    """A network namespace with one link to this machine, whose address HERE stays when the link is
    down.
    """
    _ip("netns", "add", NAMESPACE)
    _ip("addr", "add", f"{HERE}/32", "dev", "lo")
    try:
        _ip("link", "add", NAMESPACE, "type", "veth", "peer", "name", "there", "netns", NAMESPACE)
        _ip("addr", "add", f"{GATE}/24", "dev", NAMESPACE)
        _ip("link", "set", NAMESPACE, "up")
        for words in (
            f"addr add {THERE}/24 dev there",
            "link set there up",
            "link set lo up",
            f"route add default via {GATE}",
        ):
            subprocess.run([*INSIDE, "ip", *words.split()], check=True)
        yield
    finally:
        subprocess.run(["ip", "link", "del", NAMESPACE], check=False)
        _ip("addr", "del", f"{HERE}/32", "dev", "lo")
        _ip("netns", "del", NAMESPACE)


@benchmark("hosts", quick="needs root and network namespaces", needs=("distributed", "root"))
def hosts_cut(*, seconds: float = 60.0) -> Iterator[Row]:
    """What becomes of sessions whose network is cut: that of one of two workers, of the only one, of
    the client?
    """
    for who in ("one of two workers", "the only worker", "the client"):
        with network(), workplace() as place:
            yield {"cut off": who, **_cut(place, who, seconds)}


def _cut(place: Workplace, who: str, seconds: float) -> Row:
    """One session."""
    place.host = place.worker_host = HERE
    place.start(1 if who != "the only worker" else 0)
    if who != "the client":
        place.worker_host, place.cache = THERE, place.folder / "far"
        place.before = [*INSIDE, *NAMED, "far"]
        place.start(1 + len(place.workers))
    before = INSIDE if who == "the client" else []
    client = place.client(*COLLECT, "60", *place.over, before=before)
    while client.poll() is None and not _has_begun(place):
        time.sleep(0.1)
    was_running, began = client.poll() is None, time.monotonic()
    _ip("link", "set", NAMESPACE, "down")
    _sleep(seconds, lambda: True)
    _ip("link", "set", NAMESPACE, "up")
    _, said = client.communicate()
    row: Row = {
        "while it ran": was_running,
        "exit": client.returncode,
        "s after the cut": time.monotonic() - began,
        "half blocks": place.halves(),
        "repeated": said.count("repeated: block"),
        "workers that run on": sum(worker.poll() is None for worker in place.workers),
    }
    if client.returncode:
        place.start(2 if who == "one of two workers" else 1)
        row["continued: exit"] = place.perf("collect", "--continue", *place.over).returncode
    blocks = {number for one in place.profiles() for number in one.blocks}
    return row | {"blocks of 60": len(blocks), "half in the end": place.halves()}


def _has_begun(place: Workplace) -> bool:
    """Whether a journal has some blocks."""
    journals = (place.project / ".perf").glob("*/*.jsonl")
    return any(path.stat().st_size > 4000 for path in journals)


def _ip(*words: str) -> None:
    run("ip", *words)


def _sleep(seconds: float, goes_on: Callable[[], bool]) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until and goes_on():
        time.sleep(0.02)
