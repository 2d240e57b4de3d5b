"""Interrupts of every command at random moments.

Each trial starts one command in a real repository and sends SIGINT, SIGTERM or SIGHUP after 0 to 500 ms
(in one of four trials up to 3 s); one of four gets a second signal during clean-up, one of ten SIGKILL
instead. Counted are tracebacks, exit statuses that are neither the command's own nor 128 + signal,
interrupted commands that did not print exactly one line about it, processes that are still there 2 s
later, and worktrees and scratch files that are left. A signal that comes before Python has run our
first line meets Python's own handler, which no program can change: such trials are counted apart.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psutil

from .figures import Row
from .registry import Wrong, benchmark
from .repositories import PERF, commit, git, perf, repository, scratch

LINES = {
    signal.SIGINT: "perf: interrupted",
    signal.SIGTERM: "perf: terminated",
    signal.SIGHUP: "perf: hung up",
}
MARK = "PERFVCS_INTERRUPT_TRIAL"  # in the environment of a trial, and of all that it starts
STAY = 2.0  # seconds after which a process counts as left
LIMIT = 60.0  # seconds
CONFIGURATION = """
build = ["sh -c 'sleep 0.1; sleep 0.1'"]
[[job]]
name = "one"
cmd = "sleep 0.01"
executions = 5
[[job]]
name = "two"
cmd = "sh -c 'sleep 0.02 & wait'"
executions = 5
"""
COMMANDS = (
    "status",
    "log",
    "log --json",
    "check HEAD~1 HEAD",
    "check --measure -n 5 HEAD~1 HEAD",
    "check --audit -n 5",
    "check HEAD~3..HEAD",
    "show --no-open",
    "show --text",
    "show one --text",
    "show -o {out}/page.html --no-open HEAD~1 HEAD",
    "history",
    "plan",
    "publish {out}/site",
    "export -f -o {out}/exported",
    "import {out}/kept",
    "fsck",
    "gc",
    "rm -n HEAD",
    "accept --list",
    "init",
    "process HEAD~1 normalizer",
    "hook status",
    "hook install",
    "hook run pre-push",
    "collect HEAD~1 HEAD",
    "collect HEAD~3..HEAD",
    "collect",
    "collect -- sleep 0.05",
    "--help",
    "--version",
)


def prepare(folder: Path) -> None:
    """A repository of five commits, all measured, with some exported profiles beside it."""
    repository(folder, {"perf.toml": CONFIGURATION})
    for number in range(4):
        commit(folder, f"commit {number}", {"file": str(number)})
    perf(folder, "collect", "--quiet", "HEAD~4", "HEAD~3..HEAD")
    perf(folder, "export", "-o", str(folder.parent / "kept"), "HEAD")


def _listen() -> None:
    """Hear the signals, even where this script was started to ignore them (nohup)."""
    for number in LINES:
        signal.signal(number, signal.SIG_DFL)


def is_ours(pid: int) -> bool:
    """Whether the process handles SIGTERM, which is the first thing that perf does."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("SigCgt:"):
                return bool(int(line.split()[1], 16) >> (signal.SIGTERM - 1) & 1)
    return False


def started_by(mark: str) -> list[str]:
    """The processes, not yet ended, that have the mark of a trial or descend from one that has;
    their command lines.
    """
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get(MARK) == mark and process.status() != psutil.STATUS_ZOMBIE:
                found.append(" ".join(process.cmdline())[:200])
    return found


def left_by(mark: str) -> list[str]:
    """Those of a trial's processes that stay."""
    until = time.monotonic() + STAY
    while (found := started_by(mark)) and time.monotonic() < until:
        time.sleep(0.02)
    return found


def trial(
    folder: Path, command: str, generator: random.Random, number: int
) -> tuple[str, list[str]]:
    """One command and its signals: in which way it ended, and what was wrong."""
    words = command.format(out=folder.parent).split()
    mark = f"{os.getpid()}-{number}"
    process = subprocess.Popen(
        [*PERF, *words],
        cwd=folder,
        env={**os.environ, MARK: mark},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=_listen,  # noqa: PLW1509
    )
    sent = signal.SIGKILL if generator.random() < 0.1 else generator.choice(list(LINES))
    time.sleep(generator.uniform(0, 3.0 if generator.random() < 0.25 else 0.5))
    ours = is_ours(process.pid)
    whole_group = generator.random() < 0.5  # as a terminal does it
    (os.killpg if whole_group else os.kill)(process.pid, sent)
    either = {sent}  # Python may see two signals in the other order
    if generator.random() < 0.25 and ours:
        time.sleep(generator.uniform(0, 0.1))
        with contextlib.suppress(ProcessLookupError):
            either.add(more := generator.choice(list(LINES)))
            os.kill(process.pid, more)
    try:
        out, err = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        process.kill()
        return "hung", [f"hangs: {command}"]
    wrong = []
    said = [line for line in err.splitlines() if line in LINES.values()]
    tail = err.strip().splitlines()[-1:]
    if sent == signal.SIGKILL:
        way = "killed" if process.returncode == -signal.SIGKILL else "finished first"
    elif process.returncode - 128 in either and ours:
        way = "interrupted"
        line = LINES[signal.Signals(process.returncode - 128)]
        if said != [line] or err.splitlines()[-1] != line:
            wrong.append(f"line: {command}: {tail}")
    elif process.returncode in (0, 3, 4) and not said:
        way = "finished first"
    elif not ours:
        way = "before our first line"
    else:
        way = "other"
        wrong.append(f"status {process.returncode} after {sent.name}: {command}: {tail}")
    if "Traceback" in out + err or "Exception ignored" in err:
        if not ours:
            way = "before our first line, traceback"
        else:
            wrong.append(f"traceback: {command}: {err[-600:]}")
    wrong += [f"process left by {command} after {sent.name}: {line}" for line in left_by(mark)]
    if sent != signal.SIGKILL:
        wrong += [
            f"left by {command}: {path}"
            for place in ("worktrees", "tmp")
            for path in (folder / ".perf" / place).glob("*")
        ]
    return way, wrong


@benchmark("trust", quick={"trials": 6})
def interrupt(*, trials: int = 400, seed: int = 20261122) -> Iterator[Row]:
    """What is wrong where commands are interrupted at random moments?"""
    generator = random.Random(seed)
    ways: Counter[str] = Counter()
    faults: Counter[str] = Counter()
    with scratch("interrupt") as outside:
        folder = outside / "project"
        prepare(folder)
        for number in range(trials):
            way, wrong = trial(folder, COMMANDS[number % len(COMMANDS)], generator, number)
            ways[way] += 1
            for line in wrong:
                faults[line.partition(":")[0].partition(" ")[0]] += 1
                print(line, file=sys.stderr, flush=True)
            if way == "killed":  # the next command cleans up
                perf(folder, "log")
        faults["worktree"] += git(folder, "worktree", "list").count("\n")
        checked = json.loads(perf(folder, "fsck", "--json"))
        faults["fsck"] += len(checked["problems"])
    for way, count in ways.most_common():
        yield {"ended": way, "trials": count}
    yield {"wrong": faults.total(), **dict(+faults)}
    if faults.total():
        raise Wrong(", ".join(f"{count} x {what}" for what, count in (+faults).items()))
