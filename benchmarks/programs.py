"""Programs that benchmarks run, compile and time."""

from __future__ import annotations

import os
import resource
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from perfvcs import launcher


def run(
    *command: str | Path, cwd: Path | None = None, fine: Sequence[int] = (0,), **env: str
) -> str:
    """What a command prints; raises RuntimeError with its last words where it fails."""
    done = subprocess.run(
        command, cwd=cwd, env=os.environ | env, capture_output=True, text=True, check=False
    )
    if fine and done.returncode not in fine:
        words = " ".join(map(str, command))
        raise RuntimeError(
            f"{words}: exit {done.returncode}\n{(done.stdout + done.stderr)[-2000:]}"
        )
    return done.stdout


class Took(NamedTuple):
    """Seconds of the processors and by the clock."""

    cpu: float
    wall: float


def took(command: Sequence[str | Path], cwd: Path | None = None, **env: str) -> Took:
    """What a command and all that it starts take; raises CalledProcessError where it fails."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, cwd=cwd, env=os.environ | env, capture_output=True, check=True)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return Took(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall)


def least(command: Sequence[str], env: Mapping[str, str], folder: Path, runs: int) -> float:
    """The least CPU time of some runs in seconds; raises RuntimeError where one fails."""
    done = [launcher.launch(command, cwd=folder, env=dict(env), timeout=600) for _ in range(runs)]
    if any(one.status for one in done):
        raise RuntimeError(f"{command} failed: {done[0].stderr}")
    return min(one.cpu for one in done)


def compiled(folder: Path, name: str, text: str, *flags: str) -> Path:
    """A program of C or C++ that is written into a folder."""
    source = folder / name
    source.write_text(text)
    compiler = "gcc" if source.suffix == ".c" else "g++"
    subprocess.run([compiler, *flags, name, "-o", source.stem], cwd=folder, check=True)
    return folder / source.stem
