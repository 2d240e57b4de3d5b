"""What the build.py of every example shares: a git repository that is made whole or not at all, and
is the same on every machine.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

AUTHOR = {"NAME": "perfvcs demo", "EMAIL": "demo@example.org"}


class BuildError(Exception):
    """What went wrong and its cure, in one line."""


def git(folder: Path, *args: str, feed: bytes | None = None, date: str = "") -> str:
    """Run git in ``folder``, deaf to the caller's own repository and settings; a commit gets this
    date and a fixed author.
    """
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    env |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    for role in ("AUTHOR", "COMMITTER"):
        env |= {f"GIT_{role}_{part}": value for part, value in AUTHOR.items()} | {
            f"GIT_{role}_DATE": date
        }
    try:
        done = subprocess.run(
            ["git", *args], cwd=folder, env=env, input=feed, capture_output=True, check=False
        )
    except FileNotFoundError:
        raise BuildError("git is missing: install it (on Debian: apt-get install git)") from None
    if done.returncode:
        raise BuildError(
            f"git {args[0]} failed in {folder}: {done.stderr.decode(errors='replace').strip()}"
        )
    return done.stdout.decode().strip()


@contextmanager
def repository(folder: Path) -> Iterator[Path]:
    """An empty repository that becomes ``folder``, which is missing or empty, once all is done:
    never half of one.
    """
    if folder.exists() and any(folder.iterdir()):
        raise BuildError(f"{folder} is not empty: delete it, or name another folder")
    part = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    git(part, "init", "--quiet", "--initial-branch=main")
    yield part
    part.replace(folder)


def reported(build: Callable[[], str]) -> int:
    """Build, and print what was built; or the error: the exit status."""
    try:
        print(build())
    except BuildError as error:
        print(f"build: {error}", file=sys.stderr)
        return 1
    return 0
