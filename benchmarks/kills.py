"""Kill writers at random moments and hold the store against what they reported: ``python benchmarks/kills.py [--kills 100] [--seed N]``.
``--only continued`` is the third part alone.

Every profile that a writer printed as stored must be there, a batch must be there whole or not at all, and fsck must find nothing. In one
case of three git's own processes are killed at the same moment, so that half-written packs and stale locks are left behind.

Sessions that are interrupted by a random signal, again and again, and continued each time, must end with the profiles of a whole session:
no block twice, none missing, and none measured again that was complete.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from perfvcs.index import Index
from perfvcs.profile import Collected, Job, Metric, Profile, Resources
from perfvcs.store import Store

PER_STORE = 10  # kills before a new store is begun, so that fsck stays quick
BATCHES = (1, 50, 5000)  # loose objects; one pack each; one long stream


def profile(number: int) -> Profile:
    """A small profile that no other number has."""
    rows = Resources(names=["x"], uid=[0, 0], execution=[0, 1], metrics={"wall": [1.0 + number, 2.0]})
    return Profile(
        commit=f"{number % 97:040x}",
        job=Job(name="sort", collector="time", cmd="./sort"),
        collected=Collected("session", "2026-11-20T09:30:00Z", "2026-11-20T09:30:02Z", "perfvcs"),
        metrics={"wall": Metric("s")},
        resources=rows,
    )


def write(path: Path, start: int, batch: int) -> None:
    """Store batches until killed, reporting each as one line; this runs in the process that is killed."""
    store = Store(path)
    print("ready", flush=True)
    while True:
        print(*store.add((profile(number) for number in range(start, start + batch)), "Batch"), flush=True)
        start += batch


def kill_one_writer(store: Store, generator: random.Random, start: int) -> tuple[list[str], int]:
    """The paths that a writer reported before it was killed, and the size of its batches."""
    batch = generator.choice(BATCHES)
    command = [sys.executable, __file__, "--write", str(store.path), str(start), str(batch)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    deadline = time.monotonic() + generator.uniform(0.0, 0.6)
    reported: list[str] = []
    reader = subprocess.Popen(["cat"], stdin=process.stdout, stdout=subprocess.PIPE, text=True)  # so that the pipe never fills up
    time.sleep(max(0.0, deadline - time.monotonic()))
    writer = psutil.Process(process.pid)
    gits = writer.children(recursive=True)
    for victim in [writer, *(gits if generator.random() < 1 / 3 else [])]:
        with contextlib.suppress(psutil.NoSuchProcess):
            victim.kill()
    process.wait()
    psutil.wait_procs(gits)  # one that had the whole stream may still commit it
    output = reader.communicate()[0]
    for line in output.split("\n")[:-1]:  # what has no line end was not reported
        reported += line.split()
    process.stdout.close()
    return reported, batch


def kill_bulk_adds(folder: Path, kills: int, generator: random.Random) -> int:
    """Kill so many writers; returns how many profiles they had reported. Raises AssertionError when one is lost."""
    total, paths = 0, set[str]()
    store = Store(folder / "none")
    for kill in range(kills):
        if kill % PER_STORE == 0:
            store, paths = Store.create(folder / f"{kill}" / "store"), set()
        before = len(store.paths())
        reported, batch = kill_one_writer(store, generator, start=1_000_000 * kill)
        total += len(reported)
        paths.update(reported)
        present = store.paths()
        assert paths <= set(present), f"kill {kill}: {len(paths - set(present))} reported profiles are lost"
        assert (len(present) - before) % batch == 0, f"kill {kill}: half a batch is there"
        assert store.fsck() == [], f"kill {kill}: {store.fsck()[:3]}"
        (one,) = store.add([profile(1_000_000 * kill + 999_999)], "After the kill")
        paths.add(one)
        index = Index(store, store.path.with_name("index.db"))
        assert index.total() == len(present) + 1, f"kill {kill}: the index has {index.total()}"
        index.close()
    return total


CONFIGURATION = """
build = ["sh -c 'sleep 0.05'"]
[[job]]
name = "one"
cmd = "sleep 0.01"
executions = 5
[[job]]
name = "two"
cmd = "sh -c 'sleep 0.01 & wait'"
executions = 5
"""


def kill_collecting(folder: Path, kills: int, generator: random.Random) -> tuple[int, int]:
    """Kill so many `perf collect HEAD~1 HEAD`; how many had reported their profiles, and how many profiles there are at the end."""
    commands = ("init -q -b main .", "add --all", "commit -q -m one", "commit -q -m two --allow-empty")
    (folder / "perf.toml").write_text(CONFIGURATION)
    for words in commands:
        subprocess.run(["git", "-c", "user.name=A", "-c", "user.email=a@example.org", *words.split()], cwd=folder, check=True)
    perf = [sys.executable, "-P", "-m", "perfvcs"]
    length = time.monotonic()
    subprocess.run([*perf, "collect", "--quiet", "HEAD~1", "HEAD"], cwd=folder, check=True)
    length = time.monotonic() - length
    reported: set[str] = set()
    whole = 0
    for kill in range(kills):
        process = subprocess.Popen([*perf, "collect", "--json", "HEAD~1", "HEAD"], cwd=folder, stdout=subprocess.PIPE, text=True)
        time.sleep(generator.uniform(0, 1.3 * length))
        process.kill()
        output = process.communicate()[0]
        with contextlib.suppress(ValueError):
            found = json.loads(output)["stored"]
            reported.update(row["path"] for row in found)
            whole += 1
        subprocess.run([*perf, "log"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        listed = subprocess.run(["git", "worktree", "list"], cwd=folder, check=True, capture_output=True, text=True).stdout
        assert listed.count("\n") == 1, f"kill {kill}: a worktree is left: {listed}"
        assert list((folder / ".perf" / "worktrees").glob("*")) == [], f"kill {kill}: a folder of a worktree is left"
        store = Store(folder / ".perf" / "store")
        present = store.paths()
        assert reported <= set(present), f"kill {kill}: {len(reported - set(present))} reported profiles are lost"
        assert len(present) % 4 == 0, f"kill {kill}: half a session is there"
        assert store.fsck() == [], f"kill {kill}: {store.fsck()[:3]}"
    return whole, len(present)


STEADY = """
[[job]]
name = "one"
cmd = "sh work.sh one"
executions = 12
[[job]]
name = "two"
cmd = "sh work.sh two"
executions = 10
"""
WARM_UP, WHOLE = 4, {"one": 12, "two": 10}
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)
TIMES = 3  # interruptions of one session at most


PERF = (sys.executable, "-P", "-m", "perfvcs")


def interrupt_collecting(folder: Path, rounds: int, generator: random.Random) -> dict[str, int]:
    """So many sessions, each interrupted up to three times by a random signal and continued; what happened, counted."""
    (folder / "perf.toml").write_text(STEADY)
    (folder / "work.sh").write_text(f"sleep 0.03; echo $1 >> {folder}/done\n")
    (folder / ".gitignore").write_text("done\n")
    for words in ("init -q -b main .", "add --all", "commit -q -m one", "commit -q -m two --allow-empty"):
        subprocess.run(["git", "-c", "user.name=A", "-c", "user.email=a@example.org", *words.split()], cwd=folder, check=True)
    length = time.monotonic()
    subprocess.run([*PERF, "collect", "--quiet", "HEAD~1", "HEAD"], cwd=folder, check=True)
    length = time.monotonic() - length
    found = dict.fromkeys([*(number.name for number in SIGNALS), "continued", "kept", "remained"], 0)
    store = Store(folder / ".perf" / "store")
    for number in range(rounds):
        before = set(store.paths())
        _interrupt_one(folder, length, generator, found)
        _check_one(folder, store, before, f"round {number}")
    assert store.fsck() == []
    return found


def _interrupt_one(folder: Path, length: float, generator: random.Random, found: dict[str, int]) -> None:
    """One session: interrupted, and in the end finished, unless it had not measured anything."""
    command, kept = [*PERF, "collect", "HEAD~1", "HEAD"], 0
    for _ in range(generator.randint(1, TIMES)):
        measured = _executions(folder)
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        begun = process.stderr.readline()  # it prepares the first checkout
        time.sleep(generator.uniform(0, 0.9 * length))
        chosen = generator.choice(SIGNALS)
        process.send_signal(chosen)
        told = begun + process.communicate()[1]
        found[chosen.name] += 1
        assert "Traceback" not in told, told
        # of the last turn it is not known whether it was over
        kept += max(0, (_executions(folder) - measured - WARM_UP - 1) // 2)
        if not list((folder / ".perf" / "sessions").glob("*")):
            return
        command = [*PERF, "collect", "--continue"]
        found["continued"] += 1
    measured = _executions(folder)
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    remained = _executions(folder) - measured
    most = WARM_UP + 2 * (sum(WHOLE.values()) - kept)
    assert remained <= most, f"{remained} executions remained, but {kept} turns were complete"
    found["kept"] += kept
    found["remained"] += remained


def _executions(folder: Path) -> int:
    done = folder / "done"
    return len(done.read_text().splitlines()) if done.exists() else 0


def _check_one(folder: Path, store: Store, before: set[str], place: str) -> None:
    """The profiles of one whole session have come, or none; nothing else is left."""
    profiles = [profile for _, profile in store.read_many(sorted(set(store.paths()) - before))]
    assert len(profiles) in (0, 4), f"{place}: {len(profiles)} profiles"
    assert len({profile.collected.session for profile in profiles}) <= 1, f"{place}: two sessions"
    for profile in profiles:
        assert profile.resources.execution == list(range(WHOLE[profile.job.name])), f"{place}: {profile.resources.execution}"
    subprocess.run([*PERF, "log", "-n1"], cwd=folder, check=True, capture_output=True)
    listed = subprocess.run(["git", "worktree", "list"], cwd=folder, check=True, capture_output=True, text=True).stdout
    assert listed.count("\n") == 1, f"{place}: a worktree is left: {listed}"
    assert not list((folder / ".perf" / "sessions").glob("*")), f"{place}: a journal is left"
    alive = [process.pid for process in psutil.process_iter(["cwd"]) if (process.info["cwd"] or "").startswith(str(folder))]
    assert not alive, f"{place}: processes are left: {alive}"


def kill_writers(kills: int, seed: int) -> None:
    """The first two parts: of bulk adds, and of sessions that are not continued."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        total = kill_bulk_adds(Path(folder), kills, random.Random(seed))
    took = time.monotonic() - started
    print(f"{kills} kills of a bulk add: {total:,} profiles were reported, none is lost; {took:.0f} s", flush=True)
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        whole, profiles = kill_collecting(Path(folder), kills, random.Random(seed))
    took = time.monotonic() - started
    print(f"{kills} kills of `perf collect`: {whole} had reported, none is lost, {profiles} profiles; {took:.0f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=20261120)
    parser.add_argument("--only", choices=("continued",))
    parser.add_argument("--write", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.write:
        write(Path(options.write[0]), int(options.write[1]), int(options.write[2]))
    if options.only is None:
        kill_writers(options.kills, options.seed)
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        found = interrupt_collecting(Path(folder), options.kills, random.Random(options.seed))
    took = time.monotonic() - started
    signals = ", ".join(f"{found[number.name]} {number.name}" for number in SIGNALS)
    print(
        f"{options.kills} sessions interrupted by {signals} and continued {found['continued']} times: none lost a block or has one twice, "
        f"nothing is left; {found['kept']} turns were kept for certain, {found['remained']} executions remained; {took:.0f} s"
    )


if __name__ == "__main__":
    main()
