"""How long it takes to read who uses whom: ``python benchmarks/uses.py [--files 10000] [--largest
8000]``.

A project is made of the standard library's own sources, those of at most so many bytes, again and
again with a line of their own each until there are enough. Told are the seconds of a cold start and
after commits that change one file.
"""

from __future__ import annotations

import argparse
import itertools
import subprocess
import sysconfig
import tempfile
import time
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage

from perfvcs.git.project import Project
from perfvcs.locate.select.impact import impact
from perfvcs.locate.sources.differences import changes
from perfvcs.locate.sources.uses import Sources


def git(folder: Path, *words: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=x", "-c", "user.email=x@y", *words],
        cwd=folder,
        check=True,
        capture_output=True,
    )


def made(folder: Path, files: int, largest: int) -> int:
    """Write the sources; how many bytes they have."""
    library = sorted(Path(sysconfig.get_paths()["stdlib"]).rglob("*.py"))
    sources = [
        text
        for path in library
        if 200 < path.stat().st_size <= largest and (text := path.read_bytes())
    ]
    total = 0
    for number, source in zip(range(files), itertools.cycle(sources), strict=False):
        path = folder / f"package{number // 100}" / f"module{number}.py"
        path.parent.mkdir(exist_ok=True)
        text = (
            source
            + b"\nfrom package%d import module%d\n\ndef own%d(): return NAME%d\nNAME%d = %d\n"
            % (number // 200, number // 2, number, number, number, number)
        )
        total += path.write_bytes(text)
    return total


def spent() -> float:
    """Seconds of CPU time of this process and of those that it waited for."""
    return sum(
        usage.ru_utime + usage.ru_stime for usage in map(getrusage, (RUSAGE_SELF, RUSAGE_CHILDREN))
    )


def seconds(project: Project, home: Path, old: str, new: str) -> tuple[float, float, int]:
    """Wall and CPU time of deciding what a commit can reach, and how many functions that are."""
    wall, cpu = time.perf_counter(), spent()
    found = impact(changes(project, old, new), Sources(project, home, new))
    return time.perf_counter() - wall, spent() - cpu, len(found.functions)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--largest", type=int, default=8000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="uses-") as scratch:
        root, home = Path(scratch) / "project", Path(scratch) / "home"
        for folder in (root, home):
            folder.mkdir()
        git(root, "init", "--quiet")
        total = made(root, asked.files, asked.largest)
        git(root, "add", "--all")
        git(root, "commit", "--quiet", "-m", "first")
        print(f"{asked.files:,} files, {total / 1e6:.1f} MB")
        for name, text in (
            ("cold", "NAME0 = 1\n"),
            ("after one commit", "NAME0 = 2\n"),
            ("after another", "NAME0 = 3\n"),
        ):
            with (root / "package0" / "module0.py").open("a") as file:
                file.write(text)
            git(root, "commit", "--quiet", "-am", name)
            project = Project.find(root)
            wall, cpu, functions = seconds(
                project, home, project.resolve("HEAD~1"), project.resolve("HEAD")
            )
            print(f"{name}: {wall:.2f} s, CPU time {cpu:.2f} s, {functions} functions reached")
        size = (home / "sources.db").stat().st_size
        print(f"kept: {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
