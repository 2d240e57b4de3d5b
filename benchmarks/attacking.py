"""Attacks on what perfvcs keeps.

A row per command with its tries and faults: a traceback, a wrong exit status, something lost or half,
or a process, a worktree or a file that the next command leaves behind. Each fault is printed on
standard error when it is found, with what repeats it.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator

from .attacks import commands, disk, interruptions, processes, soak, writers
from .figures import Row
from .registry import benchmark
from .repositories import PERF

SEED = 20261120
HANG = 2.0  # seconds


def _prepare() -> None:
    """Adopt what is left behind, and answer to signals whatever a shell or nohup has set."""
    processes.adopt_orphans()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # through all that unmounts and deletes


@benchmark("trust", quick={"count": 4, "only": ("collect A B", "import")})
def attack_kills(
    *, count: int = 1000, seed: int = SEED, only: tuple[str, ...] = (), hang: float = HANG
) -> Iterator[Row]:
    """What is lost where commands that write are killed at random moments?"""
    _prepare()
    killed = (signal.SIGKILL,)
    yield from interruptions.attack(commands.chosen(only), count, seed, hang, killed)


@benchmark("trust", quick={"count": 2, "only": ("import",)})
def attack_signals(
    *, count: int = 300, seed: int = SEED, only: tuple[str, ...] = (), hang: float = HANG
) -> Iterator[Row]:
    """The same where any command is asked to end, some twice; the library does not answer to signals."""
    _prepare()
    known = commands.chosen(only, reading=True)
    chosen = [command for command in known if command.program is PERF]
    yield from interruptions.attack(chosen, count, seed, hang, interruptions.SOFT)


@benchmark("trust", quick={"count": 2, "only": ("import", "gc"), "on": "ulimit"})
def attack_disk(
    *, count: int = disk.LEVELS, only: tuple[str, ...] = (), hang: float = HANG, on: str = "tmpfs"
) -> Iterator[Row]:
    """What is lost on a full disk (tmpfs or ext4, as root) or where files may not be long (ulimit)?"""
    _prepare()
    yield from disk.attack(commands.chosen(only), count, hang, on)


@benchmark("trust", quick={"count": 4, "profiles": 2})
def attack_writers(
    *, count: int = 16, profiles: int = 100, seed: int = SEED, hang: float = HANG
) -> Iterator[Row]:
    """What is lost where many write at once, beside everything else that uses a repository?"""
    _prepare()
    yield from writers.attack(count, profiles, seed, hang)


@benchmark("trust", quick={"count": 2, "seed": 3})
def attack_soak(*, count: int = 2000, seed: int = SEED, hang: float = HANG) -> Iterator[Row]:
    """What is lost in a day of commits that the hook measures, while machines do what they do?"""
    _prepare()
    yield from soak.attack(count, seed, hang)
