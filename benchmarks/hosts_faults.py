"""What sessions over hosts survive: something is killed, halted, full or cut off, with real workers
on this machine.

    python benchmarks/hosts_faults.py kills [--runs 40] [--seed 1]
    python benchmarks/hosts_faults.py stops [--runs 5] [--seconds 20]
    python benchmarks/hosts_faults.py cut [--seconds 60]
    python benchmarks/hosts_faults.py full

``kills`` ends a worker, the scheduler or the client at a random moment of a session, continues it
until it is complete, and counts halves of blocks and reported profiles that are lost. ``stops``
halts a worker. ``cut`` takes down the link of a network namespace: with one of two workers in it,
with the only one, and with the client. ``full`` gives a worker a full disk. ``cut`` and ``full``
need root's rights.
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from needs import need
from workplace import workplace

NAMESPACE, HERE, GATE, THERE = "perfbench", "10.78.0.1", "10.77.0.1", "10.77.0.2"
# a program on a host of this name
NAMED = ["unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"']
INSIDE = ["ip", "netns", "exec", NAMESPACE]


def kills(runs: int, seed: int) -> None:
    """Sessions in which something is killed."""
    chance = random.Random(seed)
    halves = lost = continued = repeated = 0
    ended: Counter[str] = Counter()
    with workplace() as place:
        for number in range(runs):
            place.start(2)
            who = chance.choice(("worker", "scheduler", "client"))
            client = place.client(
                "collect", "HEAD~1", "HEAD", "-n", "6", "--scheduler", place.address, "--insecure"
            )
            _sleep(chance.uniform(0.5, 12), lambda client=client: client.poll() is None)
            victim = {
                "worker": chance.choice(place.workers),
                "scheduler": place.scheduler,
                "client": client,
            }[who]
            was_running = client.poll() is None
            assert victim is not None
            victim.send_signal(signal.SIGKILL)
            said = client.communicate()
            ended[who if was_running else "(over before)"] += 1
            repeated += said[1].count("repeated: block")
            halves += place.halves()
            if client.returncode:
                place.start(2)
                done = place.perf(
                    "collect", "--continue", "--scheduler", place.address, "--insecure"
                )
                nothing = "no session is unfinished" in done.stderr
                continued += not nothing and done.returncode == 0
                if done.returncode and not nothing:
                    print(f"run {number + 1}: {done.stderr.strip()}")
                halves += place.halves()
            reported = sum(
                int(line.split()[1]) for line in said[0].split("\n") if line.startswith("stored ")
            )
            lost += max(0, reported - (place.stored() if said[0] else 0))
            print(
                f"{number + 1} kills {dict(ended)}: {halves} half blocks, {lost} reported profiles"
                f" lost, {repeated} blocks repeated, {continued} sessions continued",
                flush=True,
            )


def stops(runs: int, seconds: float) -> None:
    """Sessions in which a worker with its measurer stands still for a while."""
    with workplace() as place:
        place.start(2)
        for number in range(runs):
            client = place.client(
                "collect", "HEAD~1", "HEAD", "-n", "8", "--scheduler", place.address, "--insecure"
            )
            _sleep(3 + number % 4, lambda client=client: client.poll() is None)
            was_running = client.poll() is None
            place.workers[0].send_signal(signal.SIGSTOP)
            time.sleep(seconds)
            place.workers[0].send_signal(signal.SIGCONT)
            _, said = client.communicate()
            repeated = said.count("repeated: block")
            print(
                f"stopped {'while it ran' if was_running else '(over before)'}: exit"
                f" {client.returncode}, {place.halves()} half blocks, {repeated} blocks repeated",
                flush=True,
            )


def full() -> None:
    """A session with a worker whose cache folder is a full disk of 1 MB; needs the rights to mount
    and to name hosts.
    """
    with workplace() as place:
        disk = place.folder / "disk"
        disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)], check=True)
        try:
            place.start(1)
            place.cache, place.before = disk, [*NAMED, "full"]
            place.start(2)
            (disk / "filler").write_bytes(bytes(1000 << 10))
            done = place.perf(
                "collect", "HEAD~1", "HEAD", "-n", "8", "--scheduler", place.address, "--insecure"
            )
            print(f"exit {done.returncode}, {place.halves()} half blocks\n{done.stderr}")
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


def cut(seconds: float) -> None:
    """Sessions whose network is cut meanwhile: that of a worker beside another one, of the only
    worker, of the client.
    """
    for who in ("one of two workers", "the only worker", "the client"):
        with network(), workplace() as place:
            place.host = place.worker_host = HERE
            place.start(1 if who != "the only worker" else 0)
            if who != "the client":
                place.worker_host, place.cache, place.before = (
                    THERE,
                    place.folder / "far",
                    [*INSIDE, *NAMED, "far"],
                )
                place.start(1 + len(place.workers))
            before = INSIDE if who == "the client" else []
            client = place.client(
                "collect",
                "HEAD~1",
                "HEAD",
                "-n",
                "60",
                "--scheduler",
                place.address,
                "--insecure",
                before=before,
            )
            journals = place.project / ".perf"
            while client.poll() is None and not any(
                path.stat().st_size > 4000 for path in journals.glob("*/*.jsonl")
            ):
                time.sleep(0.1)
            was_running, began = client.poll() is None, time.monotonic()
            _ip("link", "set", NAMESPACE, "down")
            _sleep(seconds, lambda: True)
            _ip("link", "set", NAMESPACE, "up")
            _, said = client.communicate()
            print(
                f"{who} cut off for {seconds:g} s{'' if was_running else ' (over before)'}: exit"
                f" {client.returncode} {time.monotonic() - began:.0f} s after the cut,"
                f" {place.halves()} half blocks, {said.count('repeated: block')} repeated;"
                f" {sum(worker.poll() is None for worker in place.workers)} of {len(place.workers)}"
                " workers run on",
                flush=True,
            )
            told = [
                line
                for line in said.split("\n")
                if line.startswith(("repeated", "failed", "perf", "kept", "to measure"))
            ]
            print("\n".join(f"    {line}" for line in told), flush=True)
            if client.returncode:
                place.start(2 if who == "one of two workers" else 1)
                done = place.perf(
                    "collect", "--continue", "--scheduler", place.address, "--insecure"
                )
                blocks = {number for one in place.profiles() for number in one.blocks}
                print(
                    f"    continued: exit {done.returncode}, {len(blocks)} of 60 blocks,"
                    f" {place.halves()} half",
                    flush=True,
                )


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


def _sleep(seconds: float, goes_on: Callable[[], bool]) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until and goes_on():
        time.sleep(0.02)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    made = {name: commands.add_parser(name) for name in ("kills", "stops", "cut", "full")}
    for name, runs in (("kills", 40), ("stops", 5)):
        made[name].add_argument("--runs", type=int, default=runs)
    for name, seconds in (("stops", 20.0), ("cut", 60.0)):
        made[name].add_argument("--seconds", type=float, default=seconds)
    made["kills"].add_argument("--seed", type=int, default=1)
    given = vars(parser.parse_args())
    need("git")
    {"kills": kills, "stops": stops, "cut": cut, "full": full}[given.pop("command")](**given)


if __name__ == "__main__":
    main()
