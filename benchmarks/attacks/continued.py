"""Sessions that are interrupted by a random signal, again and again, and continued each time.

They must end with the profiles of a whole session: no block twice, none missing, and none measured
again that was complete.
"""

from __future__ import annotations

import random
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from perfvcs.store import Store

from ..figures import Row
from ..repositories import PERF, commit, git, perf, repository, scratch

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


def interrupt_collecting(folder: Path, rounds: int, generator: random.Random) -> dict[str, int]:
    """So many sessions, each interrupted up to three times by a random signal and continued; what
    happened, counted.
    """
    work = f"sleep 0.03; echo $1 >> {folder}/done\n"
    repository(folder, {"perf.toml": STEADY, "work.sh": work, ".gitignore": "done\n"})
    commit(folder, "two")
    length = time.monotonic()
    perf(folder, "collect", "--quiet", "HEAD~1", "HEAD")
    length = time.monotonic() - length
    found = dict.fromkeys(
        [*(number.name for number in SIGNALS), "continued", "kept", "remained"], 0
    )
    store = Store(folder / ".perf" / "store")
    for number in range(rounds):
        before = set(store.paths())
        _interrupt_one(folder, length, generator, found)
        _check_one(folder, store, before, f"round {number}")
    assert store.fsck() == []
    return found


def _interrupt_one(
    folder: Path, length: float, generator: random.Random, found: dict[str, int]
) -> None:
    """One session: interrupted, and in the end finished, unless it had not measured anything."""
    command, kept = [*PERF, "collect", "HEAD~1", "HEAD"], 0
    for _ in range(generator.randint(1, TIMES)):
        measured = _executions(folder)
        process = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
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
    perf(folder, *command[len(PERF) :])
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
        assert profile.resources.execution == list(range(WHOLE[profile.job.name])), (
            f"{place}: {profile.resources.execution}"
        )
    perf(folder, "log", "-n1")
    listed = git(folder, "worktree", "list")
    assert "\n" not in listed, f"{place}: a worktree is left: {listed}"
    assert not list((folder / ".perf" / "sessions").glob("*")), f"{place}: a journal is left"
    alive = [
        process.pid
        for process in psutil.process_iter(["cwd"])
        if (process.info["cwd"] or "").startswith(str(folder))
    ]
    assert not alive, f"{place}: processes are left: {alive}"


def attack(count: int, seed: int) -> Iterator[Row]:
    """So many sessions; raises AssertionError where a block is lost, there twice or measured again,
    or something is left.
    """
    with scratch("attack") as folder:
        found = interrupt_collecting(folder, count, random.Random(seed))
    yield {"what": "sessions", "count": count}
    for number in SIGNALS:
        yield {"what": f"interrupted by {number.name}", "count": found[number.name]}
    yield {"what": "continued", "count": found["continued"]}
    yield {"what": "turns kept for certain", "count": found["kept"]}
    yield {"what": "executions that remained", "count": found["remained"]}
