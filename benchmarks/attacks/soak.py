"""A day of commits in a short time: the hook collects each, while the machine does what machines
do.

Each commit is a real one, with the post-commit hook of `perf hook install`. Every other one or so
meets a fault: perf or git is killed, the disk is full, the clock jumps by a year, or the machine
changes its name. What the hook's log reports as stored must be there at the end.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil

from perfvcs.store import Store

from ..figures import Row
from ..repositories import scratch
from . import disk, inspection
from .processes import alive, left
from .project import Project
from .tally import Tally

CONFIGURATION = '[[job]]\nname = "one"\ncmd = "true"\nexecutions = 2\nwarmup = 0\n'
FAULTS = (
    "none",
    "kill perf",
    "kill git",
    "full disk",
    "next year",
    "last year",
    "new name",
    "in a hurry",
)
SIZE = 4 << 30  # bytes of the file system
PATIENCE = 60.0
PARTS = 4  # of the way after which sizes are printed
GROWTH = 1.3  # how many times as large a profile may be at the end as after the first part


class Day:
    """One project whose commits are measured by the hook."""

    def __init__(
        self, project: Project, full: disk.Full, seed: int, tally: Tally, hang: float
    ) -> None:
        self.project, self.full, self.tally, self.hang = project, full, tally, hang
        self.generator = random.Random(seed)
        self.log = project.home / "log" / "post-commit.log"
        self.position, self.inode = 0, 0
        self.reported: Counter[str] = Counter()
        self.bytes: list[tuple[int, float]] = []
        self.faketime = shutil.which("faketime")
        self.unshare = shutil.which("unshare") if os.geteuid() == 0 else None

    def commit(self, number: int) -> None:
        """One commit, its fault, and what the log says of it."""
        fault = self.generator.choices(FAULTS, (8, 2, 2, 1, 1, 1, 1, 2))[0]
        (self.project.root / "file.txt").write_text(f"{number}\n")
        self.project.git("add", "file.txt")
        words = ["git", "commit", "--quiet", "--message", f"change {number}"]
        ballast = self.full.folder / "ballast"
        done = self._run([*self._around(fault), *words])
        if done.returncode and done.stderr.startswith(
            "faketime:"
        ):  # what one of a process with this number has left is in its way
            done = self._run(words)
        if done.returncode:
            self._blame(
                fault, "wrong exits", [f"git commit ended with {done.returncode}: {done.stderr}"]
            )
        if fault == "full disk" and self.full.mounted:
            time.sleep(self.generator.uniform(0, 0.5))
            self.full.fill(ballast, self.generator.choice((0, 1 << 14, 1 << 16)))
        elif fault in ("kill perf", "kill git"):
            time.sleep(self.generator.uniform(0, 0.6))
            self._kill("git" if fault == "kill git" else "perfvcs")
        if fault != "in a hurry":
            self._wait()
        ballast.unlink(missing_ok=True)
        self._read_log(fault)
        self.tally.count(fault, hit=True)

    def _run(self, words: Sequence[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words,
            cwd=self.project.root,
            env=self.project.env,
            capture_output=True,
            text=True,
            check=False,
        )

    def _around(self, fault: str) -> list[str]:
        if fault in ("next year", "last year") and self.faketime:
            return [self.faketime, "-f", "+366d" if fault == "next year" else "-366d"]
        if fault == "new name" and self.unshare:
            name = f"machine{self.generator.randrange(5)}"
            return [
                self.unshare,
                "--uts",
                "sh",
                "-c",
                'echo "$0" > /proc/sys/kernel/hostname; exec "$@"',
                name,
            ]
        return []

    def _kill(self, name: str) -> None:
        victims = []
        for process in alive():
            with contextlib.suppress(psutil.Error):
                if any(name in word for word in process.cmdline()[:4]):
                    victims.append(process)
        for process in victims if self.generator.random() < 0.5 else victims[:1]:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()

    def _wait(self) -> None:
        until = time.monotonic() + PATIENCE
        while alive() and time.monotonic() < until:
            time.sleep(0.05)
        self._blame("all", "processes", left(0))

    def _read_log(self, fault: str) -> None:
        """What has come since the last time; the log is moved away when it is long."""
        about = self.log.stat()
        if about.st_ino != self.inode:
            self._take(self.log.with_name(f"{self.log.name}.1"), fault)
            self.position, self.inode = 0, about.st_ino
        self._take(self.log, fault)

    def _take(self, path: Path, fault: str) -> None:
        if not path.exists() or (
            path != self.log and path.stat().st_ino == self.inode and not self.position
        ):
            return
        with path.open("rb") as file:
            file.seek(self.position)
            text = file.read()
        if path == self.log:  # the last line may still grow
            text = text[: text.rfind(b"\n") + 1]
            self.position += len(text)
        said = text.decode(errors="replace")
        if "Traceback" in said:
            self._blame(fault, "tracebacks", [said[said.index("Traceback") :]])
        block: list[str] = []
        for line in said.splitlines():
            if match := re.match(r"([0-9a-f]{10})[ +] +one\b", line):
                block.append(match[1])
            elif line.startswith("== "):
                block = []
            elif line.startswith("stored "):
                self.reported.update(block)
                block = []

    def measure(self) -> None:
        """How many bytes a profile takes now, after `perf gc`."""
        self._wait()
        profiles = len(self.project.store.paths())
        self.project.must("gc")
        self.bytes.append((profiles, _bytes(self.project.home) / max(profiles, 1)))

    def _is_grown(self) -> bool:
        """Whether a profile takes more than at first; of few profiles the journal of one session
        that was killed is a large share, so that they must have doubled.
        """
        if not self.bytes or self.bytes[-1][0] < 2 * self.bytes[0][0]:
            return False
        return self.bytes[-1][1] > GROWTH * self.bytes[0][1]

    def judge(self) -> Row:
        """At the end: what was reported is there, and nothing else is left."""
        self._wait()
        self._read_log("all")
        following = self.project.perf("status")
        self._blame("all", "tracebacks", inspection.tracebacks(following))
        self._blame("all", "wrong exits", [following.err] if following.code else [])
        store: Store = self.project.store
        there = Counter(path.split("/")[1][:10] for path in store.paths())
        lost = [
            f"{commit}: {count} reported, {there[commit]} there"
            for commit, count in self.reported.items()
            if there[commit] < count
        ]
        self._blame("all", "lost", [*lost, *inspection.unreadable(self.project)])
        indexed = re.search(r"([\d,]+) profiles? can be read", self.project.must("fsck").out)
        if indexed is None or int(indexed[1].replace(",", "")) != sum(there.values()):
            self._blame(
                "all",
                "lost",
                [f"the index has {indexed and indexed[1]} of {sum(there.values())} profiles"],
            )
        self._blame("all", "worktrees", inspection.worktrees(self.project))
        self._blame("all", "files", inspection.files(self.project))
        if self._is_grown():
            self._blame(
                "all",
                "files",
                [
                    f"a profile takes {self.bytes[-1][1]:,.0f} bytes, and took"
                    f" {self.bytes[0][1]:,.0f}"
                ],
            )
        return {
            "profiles reported": self.reported.total(),
            "profiles there": there.total(),
            "bytes of each at first": round(self.bytes[0][1]) if self.bytes else None,
            "at the end": round(self.bytes[-1][1]) if self.bytes else None,
        }

    def _blame(self, fault: str, kind: str, reasons: Sequence[str]) -> None:
        self.tally.blame(fault, kind, reasons, f"commit {sum(self.tally.tries.values()) + 1}")


def _bytes(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir())


def attack(commits: int, seed: int, hang: float) -> Iterator[Row]:
    """So many commits; a row per command."""
    tally = Tally()
    with scratch("attack") as folder, disk.mounted(folder / "disk", size=SIZE) as full:
        project = Project(full.folder / "soak").begin(CONFIGURATION)
        project.must("hook", "install", "post-commit")
        day = Day(project, full, seed, tally, hang)
        for tool, path in (("faketime", day.faketime), ("unshare as root", day.unshare)):
            if not path:
                print(f"without {tool} one kind of fault is left out", file=sys.stderr)
        with contextlib.suppress(KeyboardInterrupt):  # what was done by then is judged
            for number in range(1, commits + 1):
                day.commit(number)
                if number % max(1, commits // PARTS) == 0:
                    day.measure()
                    tally.progress(number, commits)
        found = day.judge()
    yield found
    yield from tally.rows()
