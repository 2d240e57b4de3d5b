"""Time ``perf status`` beside large untracked files: ``python benchmarks/untracked.py FOLDER``.

Makes a repository in FOLDER and puts untracked files into it: none; 0.4 GB of random bytes; 10 GB
that are allocated but not written (``--written``: 10 GB of random bytes too, which need the room);
100,000 files of 100 bytes; 20,000 of 0.9 MB, allocated. HEAD is measured with these changes on top,
so that ``status`` needs their hash. Whole processes are timed in turns: the ``perf`` of this
Python, those of ``--against``, and ``git status``; the medians of wall and CPU time count.
Everything is deleted afterwards.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

MEGABYTE = 1_000_000


def written(folder: Path, count: int, size: int) -> None:
    """Files of random bytes; a file repeats its first megabyte with a counter, so that no two of
    its parts are equal.
    """
    noise = os.urandom(MEGABYTE - 8)
    for number in range(count):
        with (folder / f"data{number}.bin").open("wb") as file:
            for part in range(size // MEGABYTE):
                file.write((number << 32 | part).to_bytes(8, "big") + noise)


def allocated(folder: Path, count: int, size: int) -> None:
    """Files that take their room on the disk and read as zeros."""
    for number in range(count):
        place = folder / str(number // 1000)
        place.mkdir(exist_ok=True)
        with (place / f"data{number}.bin").open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, size)


def small(folder: Path, count: int, size: int) -> None:
    """Many small files in folders of 1,000."""
    for number in range(count):
        place = folder / str(number // 1000)
        place.mkdir(exist_ok=True)
        (place / f"{number}.txt").write_text(f"{number:0{size}}")


CASES: dict[str, tuple[Callable[[Path, int, int], None], int, int]] = {
    "nothing": (small, 0, 0),
    "0.4 GB, written": (written, 4, 100 * MEGABYTE),
    "10 GB, allocated": (allocated, 10, 1000 * MEGABYTE),
    "10 GB, written": (written, 10, 1000 * MEGABYTE),
    "100,000 files of 100 B": (small, 100_000, 100),
    "20,000 files of 0.9 MB, allocated": (allocated, 20_000, 900_000),
}


def timed(command: list[str], folder: Path) -> tuple[float, float]:
    """Milliseconds of one process: on the clock, and on processors, with its children."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    env["PYTHONPYCACHEPREFIX"] = str(folder.parent / "bytecode")
    start = time.perf_counter()
    process = subprocess.Popen(command, cwd=folder, env=env, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, command
    return 1000 * (time.perf_counter() - start), 1000 * (usage.ru_utime + usage.ru_stime)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=int, default=11)
    parser.add_argument("--written", action="store_true", help="also 10 GB that are really written")
    parser.add_argument("--case", action="append", choices=CASES, help="only these")
    parser.add_argument(
        "--against",
        action="append",
        default=[],
        metavar="PERF",
        help="another perf to be timed in turns with this one",
    )
    options = parser.parse_args()
    project = options.folder.absolute() / "untracked"
    project.mkdir(parents=True)
    perf = str(Path(sys.executable).with_name("perf"))
    git = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    try:
        for arguments in (
            ["init", "--quiet"],
            ["commit", "--quiet", "--allow-empty", "--message", "First"],
        ):
            subprocess.run([*git, *arguments], cwd=project, check=True)
        subprocess.run([perf, "init"], cwd=project, check=True, capture_output=True)
        (project / "perf.toml").write_text('[[job]]\nname = "true"\ncmd = "true"\nexecutions = 1\n')
        for arguments in (["add", "perf.toml"], ["commit", "--quiet", "--message", "Jobs"]):
            subprocess.run([*git, *arguments], cwd=project, check=True)
        print(f"{'untracked':36} {'command':40} {'ms':>8} {'CPU ms':>8}")
        for name in options.case or [
            name for name in CASES if options.written or name != "10 GB, written"
        ]:
            make, count, size = CASES[name]
            data = project / "data"
            data.mkdir()
            make(data, count, size)
            took, computing = timed([perf, "collect", "--quiet"], project)
            print(
                f"{name:36} {'perf collect, one execution':40} {took:>8.0f} {computing:>8.0f}",
                flush=True,
            )
            commands = [[path, "status"] for path in (perf, *options.against)] + [
                ["git", "status", "--porcelain", "--untracked-files=all"]
            ]
            times: dict[int, list[tuple[float, float]]] = {}
            for run in range(options.runs + 1):
                for number, command in enumerate(commands):
                    found = timed(command, project)
                    if run:  # the first one compiles and fills caches
                        times.setdefault(number, []).append(found)
            for number, command in enumerate(commands):
                took, computing = (
                    statistics.median(column) for column in zip(*times[number], strict=True)
                )
                print(
                    f"{name:36} {' '.join(command)[-40:]:40} {took:>8.0f} {computing:>8.0f}",
                    flush=True,
                )
            shutil.rmtree(data)
    finally:
        shutil.rmtree(project)


if __name__ == "__main__":
    main()
