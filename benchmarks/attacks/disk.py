"""Fills the disk up to a level, runs a command that writes, frees the disk, and runs it again.

The project is on a file system of its own (``--on tmpfs``, or ext4 in a file; both need root).
Elsewhere no file may become longer than the level, which is what a limit of the shell does:
``ulimit -f``.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from ..figures import Row
from ..repositories import PERF, scratch
from . import inspection
from .commands import Command
from .processes import Said, left, start, wait
from .project import PATIENCE, Project
from .tally import Tally
from .wholeness import Try

SIZE = 48 << 20  # bytes of the file system
LEVELS = 20  # by default; the first leaves nothing, the last LARGEST
LARGEST = 4 << 20
PAGE = 4096
CAUSES = (
    "disk is full",
    "larger than is allowed",
    "No space left",
    "File too large",
    "free some",
    "no space",
    "Disk quota",
)


class Full:
    """A file system that can be filled up to some bytes; None limits the length of files
    instead.
    """

    def __init__(self, folder: Path, *, mounted: bool) -> None:
        self.folder, self.mounted = folder, mounted

    def run(self, project: Project, words: Sequence[str], free: int) -> Said:
        """Run a command with ``free`` bytes left."""
        if not self.mounted:
            limited = ["sh", "-c", f'ulimit -f {free // 512}; exec "$@"', "sh"]
            return wait(start([*limited, *words], str(project.root), project.env), PATIENCE)
        ballast = self.folder / "ballast"
        try:
            self.fill(ballast, free)
            return project.run(words)
        finally:
            ballast.unlink(missing_ok=True)

    def fill(self, ballast: Path, free: int) -> None:
        """Leave ``free`` bytes."""
        about = os.statvfs(self.folder)
        with ballast.open("wb") as file, suppress(OSError):
            os.posix_fallocate(file.fileno(), 0, max(PAGE, about.f_bavail * about.f_frsize - free))
        if free == 0:  # to the last block
            with ballast.open("ab", buffering=0) as file, suppress(OSError):
                while file.write(bytes(PAGE)):
                    pass


@contextmanager
def mounted(folder: Path, kind: str = "tmpfs", size: int = SIZE) -> Iterator[Full]:
    """A small file system at ``folder``: tmpfs or ext4.

    For ``ulimit``, and where none may be mounted, a limit on files.
    """
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "attack", str(folder)]
    if kind == "ext4":
        if not shutil.which("mkfs.ext4"):
            raise SystemExit(
                "attacks: mkfs.ext4 is missing: install it (on Debian: apt-get install e2fsprogs)"
            )
        image = folder.with_name("image")
        with image.open("wb") as file:
            file.truncate(size)
        subprocess.run(["mkfs.ext4", "-q", "-m", "0", str(image)], check=True)
        command = ["mount", "-o", "loop", str(image), str(folder)]
    done = (
        None
        if kind == "ulimit"
        else subprocess.run(command, capture_output=True, text=True, check=False)
    )
    if done is None or done.returncode:
        if done:
            print(
                f"no file system of its own ({done.stderr.strip()}): limiting the length of files"
                " instead",
                file=sys.stderr,
            )
        yield Full(folder, mounted=False)
        return
    try:
        yield Full(folder, mounted=True)
    finally:
        # whoever was stopped may still be in there
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def levels(count: int) -> list[int]:
    """So many numbers of free bytes, whole pages, more and more."""
    steps = [LARGEST ** (number / (count - 1)) for number in range(1, count)] if count > 1 else []
    return [0, *(PAGE * max(number, int(step // PAGE)) for number, step in enumerate(steps, 1))]


def attack(commands: Sequence[Command], count: int, hang: float, kind: str) -> Iterator[Row]:
    """Every command at ``count`` levels; a row per command."""
    tally = Tally()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with scratch("attack") as folder:
        template = Project(folder / "template").build()
        with mounted(folder / "disk", kind) as disk:
            for command in commands:
                for number, free in enumerate(levels(count), 1):
                    project = template.copy(disk.folder / "copy")
                    _try(disk, project, command, number, free, tally, hang)
                    shutil.rmtree(project.folder)
                tally.progress(sum(tally.tries.values()), count * len(commands))
    yield from tally.rows()


def _try(
    disk: Full,
    project: Project,
    command: Command,
    number: int,
    free: int,
    tally: Tally,
    hang: float,
) -> None:
    where = f"{free} bytes free"

    def blame(fault: str, reasons: Iterable[str]) -> None:
        tally.blame(command.name, fault, reasons, where)

    words = [*command.program, *command.words(project, number)]
    before = frozenset(project.store.paths())
    said = disk.run(project, words, free)
    refused = said.code not in command.codes
    tally.count(command.name, hit=refused)
    blame("tracebacks", inspection.tracebacks(said))
    if refused:
        blame("wrong exits", _complaints(said))
    blame("processes", left(hang))
    after = frozenset(project.store.paths())
    blame(
        "lost",
        [*command.lost(project, Try(number, before, after, said)), *inspection.unreadable(project)],
    )
    for words, codes in (
        ([*PERF, "log"], (0,)),
        ([*command.program, *command.words(project, number + 1000)], command.codes),
    ):
        again = project.run(words)
        blame("tracebacks", inspection.tracebacks(again))
        if again.code not in codes:
            what = f"{' '.join(words[1:])[:60]} ended with {again.code} when there was space again"
            blame("wrong exits", [f"{what}: {again.err or again.out}"])
    blame("worktrees", inspection.worktrees(project))
    blame("files", inspection.files(project))


def _complaints(said: Said) -> Iterator[str]:
    """What is wrong with how a command ended that had no space."""
    if said.code not in (1, 5):
        yield f"ended with {said.code}: {said.err or said.out}"
    ours = [line for line in said.err.splitlines() if line.startswith("perf: ")]
    if len(ours) != 1 and said.code != 5:
        yield f"{len(ours)} lines of errors: {said.err}"
    if not any(cause in said.err for cause in CAUSES):
        yield f"the message does not name the cause: {said.err}"
