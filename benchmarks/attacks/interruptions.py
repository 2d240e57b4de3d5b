"""Stops commands at random moments: killed, or asked to end; then the next commands must find
everything in order.

Where there is strace, every other kill comes as the command enters one of the system calls that
change files: a window between two of them is far too short for chance.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from ..figures import Row
from ..repositories import scratch
from . import inspection
from .commands import Command
from .processes import Said, left, start, wait
from .project import PATIENCE, Project
from .tally import Tally
from .wholeness import Try

PER_PROJECT = 15  # tries before a fresh copy, so that fsck stays quick
AGAIN = 5  # after so many tries the same command must work
OLD = 7200  # seconds
CHANGING = "rename,renameat,renameat2,link,linkat,symlink,unlink,unlinkat,mkdir,mkdirat,rmdir,ftruncate,chmod,fchmod,write,pwrite64"
LINES = {
    signal.SIGINT: "perf: interrupted",
    signal.SIGTERM: "perf: terminated",
    signal.SIGHUP: "perf: hung up",
}
SOFT = tuple(LINES)


@dataclass
class Attack:
    """Tries of one command on copies of ``template``."""

    template: Project
    command: Command
    generator: random.Random
    tally: Tally
    hang: float
    signals: Sequence[signal.Signals]
    where: str

    def run(self, count: int, folder: Path) -> None:
        """So many tries."""
        project = self.template.copy(folder / "copy-0")
        usual, calls = self._usual(project), self._calls(project)
        for number in range(1, count + 1):
            if number % PER_PROJECT == 0:
                self._sweep(project)
                shutil.rmtree(project.folder)
                project = self.template.copy(folder / f"copy-{number}")
            self._try(project, number, usual, calls if number % 2 else 0)
        self._sweep(project)
        shutil.rmtree(project.folder)

    def _usual(self, project: Project) -> float:
        """How long the command takes undisturbed; it must work."""
        words = self.command.words(project, 0)
        started = time.monotonic()
        said = project.run([*self.command.program, *words])
        if said.code not in self.command.codes:
            raise AssertionError(
                f"{' '.join(words)} ended with {said.code}: {said.err or said.out}"
            )
        return time.monotonic() - started

    def _calls(self, project: Project) -> int:
        """How many system calls of the command change files; 0 where strace cannot say, or is not
        needed.
        """
        if self.signals != (signal.SIGKILL,) or not shutil.which("strace"):
            return 0
        log = project.folder / "calls"
        words = [
            "strace",
            "-qq",
            "-o",
            str(log),
            "-e",
            f"trace={CHANGING}",
            *self.command.program,
            *self.command.words(project, -1000),
        ]
        wait(start(words, str(project.root), project.env), PATIENCE)
        return log.read_bytes().count(b"\n") if log.exists() else 0

    def _try(self, project: Project, number: int, usual: float, calls: int) -> None:
        words = self.command.words(project, number)
        before = frozenset(project.store.paths())
        which, more = self.generator.choice(self.signals), None
        if calls:
            when = self.generator.randint(1, calls)
            fault = f"inject={CHANGING}:signal=KILL:when={when}"
            process = start(
                ["strace", "-qq", "-o", os.devnull, "-e", fault, *self.command.program, *words],
                str(project.root),
                project.env,
            )
            said = wait(process, PATIENCE)
            hit, early, slow = said.code == -which, False, 0.0
        else:
            process = start([*self.command.program, *words], str(project.root), project.env)
            time.sleep(self.generator.uniform(0, 1.05 * usual))
            hit = process.poll() is None
            early = hit and not _handled(process.pid)
            self._stop(process, which)
            sent, more = time.monotonic(), self._stop_again(process, early=early)
            said = wait(process, PATIENCE)
            slow = time.monotonic() - sent
        self.tally.count(self.command.name, hit=hit)
        self._judge_end(said, which, more, slow, early=early)
        self._judge_state(project, number, before, said)
        if number % AGAIN == 0:
            self._repeat(project, -number)

    def _stop(self, process: subprocess.Popen[str], which: signal.Signals) -> None:
        """Send the signal; one time in three git's and other processes get it too, as from a
        terminal or the kernel's OOM killer.
        """
        with contextlib.suppress(psutil.NoSuchProcess):
            victim = psutil.Process(process.pid)
            children = victim.children(recursive=True) if self.generator.random() < 1 / 3 else []
            if which is not signal.SIGKILL:
                children = [child for child in children if _group(child.pid) == process.pid]
            for one in [victim, *children]:
                with contextlib.suppress(psutil.NoSuchProcess, ProcessLookupError):
                    one.send_signal(which)

    def _stop_again(self, process: subprocess.Popen[str], *, early: bool) -> signal.Signals | None:
        """Send one process of four that was asked to end another signal while it cleans up."""
        if signal.SIGKILL in self.signals or early or self.generator.random() > 1 / 4:
            return None
        time.sleep(self.generator.uniform(0, 0.1))
        more = self.generator.choice(SOFT)
        process.send_signal(more)
        return more

    def _blame(self, fault: str, reasons: Sequence[str]) -> None:
        self.tally.blame(self.command.name, fault, reasons, self.where)

    def _judge_end(
        self,
        said: Said,
        which: signal.Signals,
        more: signal.Signals | None,
        slow: float,
        *,
        early: bool,
    ) -> None:
        """How the attacked process ended: interrupted, with one line about it.

        Before our handlers stand, nobody but the system and Python can answer to a signal. Of two
        signals, Python may see either first.
        """
        either = [one for one in (which, more) if one is not None]
        if slow > self.hang:
            self._blame("hangs", [f"ended {slow:.1f} s after {which.name}"])
        if which is signal.SIGKILL:
            right = (-which, *self.command.codes)
        else:
            interrupted = tuple(128 + one for one in either)
            right = (*interrupted, *self.command.codes, *((-which, 1) if early else ()))
            if said.code in interrupted and not early:
                self._blame(
                    "wrong lines", _wrong_lines(said, LINES[signal.Signals(said.code - 128)])
                )
        if said.code not in right:
            self._blame("wrong exits", [f"{said.code} after {which.name}: {said.err[-300:]}"])
        if not early or "perfvcs/" in said.err:
            self._blame("tracebacks", inspection.tracebacks(said))

    def _judge_state(
        self, project: Project, number: int, before: frozenset[str], said: Said
    ) -> None:
        """The next command sweeps; then nothing may be left, and all must be there."""
        following = project.perf("log")
        self._blame("tracebacks", inspection.tracebacks(following))
        if following.code != 0:
            self._blame(
                "wrong exits",
                [
                    f"the next `perf log` ended with {following.code}:"
                    f" {following.err or following.out}"
                ],
            )
        self._blame("processes", left(self.hang))
        self._blame("worktrees", inspection.worktrees(project))
        self._blame("files", self._files(project))
        attempt = Try(number, before, frozenset(project.store.paths()), said)
        reasons = list(self.command.lost(project, attempt))
        if self.command.partial and said.code in {128 + one for one in SOFT}:
            reasons = [reason for reason in reasons if "came, instead of" not in reason]
        self._blame("lost", [*reasons, *inspection.unreadable(project)])

    def _files(self, project: Project, *, repeated: bool = False) -> list[str]:
        """Scratch files, each blamed once: those in a published site may stay until it is published
        again (``repeated``).
        """
        found = [
            name
            for name in inspection.files(project)
            if repeated or not Path(name).is_relative_to(project.out)
        ]
        for name in found:
            path = Path(name)
            (
                shutil.rmtree(path, ignore_errors=True)
                if path.is_dir()
                else path.unlink(missing_ok=True)
            )
        return [re.sub(r".*/copy-\d+/", "", name) for name in found]

    def _repeat(self, project: Project, number: int) -> None:
        """The same command, undisturbed."""
        said = project.run([*self.command.program, *self.command.words(project, number)])
        self._blame("tracebacks", inspection.tracebacks(said))
        if said.code not in self.command.codes:
            self._blame(
                "wrong exits",
                [f"the same command ended with {said.code} afterwards: {said.err or said.out}"],
            )
        self._blame("files", self._files(project, repeated=True))

    def _sweep(self, project: Project) -> None:
        """`perf gc` deletes what git's killed processes have left, when it is old."""
        for path in inspection.litter(project):
            os.utime(path, (time.time() - OLD,) * 2)
        project.must("gc")
        self._blame(
            "files", [f"still there after `perf gc`: {path}" for path in inspection.litter(project)]
        )


def _wrong_lines(said: Said, line: str) -> list[str]:
    """What an interrupted command said instead of one line about it, in the end."""
    lines = said.err.splitlines()
    fine = lines[-1:] == [line] and sum(one in LINES.values() for one in lines) == 1
    return [] if fine else [f"not only `{line}`, but: {said.err[-300:]}"]


def _group(pid: int) -> int | None:
    """The process group of a process; None where it has ended."""
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return None


def _handled(pid: int) -> bool:
    """Whether a process has its own answer to SIGTERM by now."""
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return True
    match = re.search(r"^SigCgt:\s*([0-9a-f]+)$", text, re.MULTILINE)
    return match is not None and bool(int(match[1], 16) >> (signal.SIGTERM - 1) & 1)


def attack(
    commands: Sequence[Command],
    count: int,
    seed: int,
    hang: float,
    signals: Sequence[signal.Signals],
) -> Iterator[Row]:
    """``count`` tries over all commands; a row per command."""
    tally = Tally()
    with scratch("attack") as folder:
        template = Project(folder / "template").build()
        each, more = divmod(count, len(commands))
        for position, command in enumerate(commands):
            tries = each + (position < more)
            generator = random.Random(f"{seed} {command.name}")
            where = f"--seed {seed} --only {command.name!r}"
            Attack(template, command, generator, tally, hang, signals, where).run(tries, folder)
            tally.progress(sum(tally.tries.values()), count)
    yield from tally.rows()
