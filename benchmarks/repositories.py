"""Small git repositories, and perf in them."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

PERF = (sys.executable, "-P", "-m", "perfvcs")
IDENTITY = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
ANSWERS = (0, 3, 4)  # exit codes of a command that has answered
Files = Mapping[str, str]


@contextmanager
def scratch(name: str) -> Iterator[Path]:
    """A folder that is removed at the end, but for what a process that is killed still writes."""
    made = tempfile.TemporaryDirectory(prefix=f"perfvcs-{name}-", ignore_cleanup_errors=True)
    with made as folder:
        yield Path(folder)


def git(folder: Path, *words: str, data: bytes | str | None = None, check: bool = True) -> str:
    """What git says in a folder; raises RuntimeError with its words where it fails."""
    given = data.encode() if isinstance(data, str) else data
    command = ["git", "-C", str(folder), *IDENTITY, *words]
    done = subprocess.run(command, input=given, capture_output=True, check=False)
    if check and done.returncode:
        raise RuntimeError(f"git {' '.join(words)}: {done.stderr.decode(errors='replace')}")
    return done.stdout.decode(errors="replace").strip()


def repository(folder: Path, files: Files, message: str = "first") -> Path:
    """A new repository with these files in its first commit; whoever commits in it is Ada."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "config", "user.name", "Ada")
    git(folder, "config", "user.email", "ada@example.org")
    commit(folder, message, files)
    return folder


def commit(folder: Path, message: str, files: Files | None = None) -> str:
    """Write files and commit everything; the new commit's id."""
    for name, text in (files or {}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", message)
    return git(folder, "rev-parse", "HEAD")


def perf(folder: Path, *words: str, env: Mapping[str, str] | None = None) -> str:
    """What a command prints; raises RuntimeError with its last words where it does not answer."""
    done = subprocess.run(
        [*PERF, *words], cwd=folder, env=env, capture_output=True, text=True, check=False
    )
    if done.returncode not in ANSWERS:
        raise RuntimeError(f"perf {' '.join(words)}: exit {done.returncode}: {done.stderr[-2000:]}")
    return done.stdout


def line_of_commits(folder: Path, count: int, start: int = 1_500_000_000) -> list[str]:
    """A project of so many commits in a straight line, ten minutes from each other, each of which
    changes a file; their ids.
    """
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    stream = []
    for number in range(count):
        message, text = f"Change number {number}", f"{number}\n"
        stream += [
            f"commit refs/heads/main\ncommitter Ada <ada@example.org> {start + 600 * number} +0000"
        ]
        stream += [f"data {len(message)}\n{message}"]
        stream += [f"M 100644 inline src/file{number % 90}.c\ndata {len(text)}\n{text}"]
    git(folder, "fast-import", "--quiet", data="\n".join([*stream, ""]))
    git(folder, "reset", "--quiet", "--hard", "main")
    with (folder / ".git/info/exclude").open("a") as exclude:
        exclude.write(".perf/\n")
    return git(folder, "rev-list", "--reverse", "main").split()
