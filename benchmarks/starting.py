"""Whether `perf init && perf collect` runs on projects of others without editing: ``python
benchmarks/starting.py``.

Three projects each of Python (source distributions, by pip), Node (packages, by npm), C, C++, Rust
and Go (clones) are committed to a fresh repository, and both commands run there. Printed is what
was proposed, how long both took, and how many stored a profile. A language whose tools are missing
is left out and named. ``--repositories`` is where clones come from: a prefix of OWNER/NAME.

The code of these projects is run: use a machine that may be thrown away.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

PERF = Path(sys.executable).with_name("perf")
PYTHON = ("mistune==3.0.2", "tomli==2.0.1", "sqlparse==0.5.0")
C, CXX = (
    ("madler/zlib", "DaveGamble/cJSON", "akheron/jansson"),
    ("fmtlib/fmt", "leethomason/tinyxml2", "zeux/pugixml"),
)
RUST = ("servo/rust-fnv", "bluss/scopeguard", "dtolnay/itoa")
NODE = ("semver@7.6.0", "yaml@2.4.0", "nanoid@5.0.0")
GO = ("google/uuid", "cespare/xxhash", "hashicorp/golang-lru")
REPOSITORIES = "https://github.com"


def run(words: list[str], folder: Path, **options: object) -> str:
    """A command's output; raises where it fails."""
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr[-500:]}")
    return str(done.stdout)


def unpacked(archive: Path, folder: Path) -> Path:
    """The one folder in an archive."""
    run(["tar", "-xf", archive.name], folder)
    return next(path for path in folder.iterdir() if path.is_dir())


def from_pip(name: str, folder: Path) -> Path:
    """A source distribution."""
    run(
        [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--no-binary",
            ":all:",
            name,
        ],
        folder,
    )
    return unpacked(next(folder.glob("*.tar.gz")), folder)


def from_npm(name: str, folder: Path) -> Path:
    """A published package."""
    run(["npm", "pack", "--silent", name], folder)
    return unpacked(next(folder.glob("*.tgz")), folder)


def from_git(name: str, folder: Path) -> Path:
    """The newest state of a repository."""
    run(
        [
            "git",
            "clone",
            "--quiet",
            "--depth",
            "1",
            f"{os.environ['REPOSITORIES']}/{name}",
            "clone",
        ],
        folder,
    )
    return folder / "clone"


SOURCES: tuple[tuple[str, tuple[str, ...], Callable[[str, Path], Path], tuple[str, ...]], ...] = (
    ("Python", ("python3",), from_pip, PYTHON),
    ("C", ("cc", "make"), from_git, C),
    ("C++", ("c++", "cmake"), from_git, CXX),
    ("Rust", ("cargo",), from_git, RUST),
    ("Node", ("npm",), from_npm, NODE),
    ("Go", ("go",), from_git, GO),
)


def commands(project: Path, limit: float) -> Iterator[str]:
    """What both commands said, in a line each; the last one is whether it ran."""
    shutil.rmtree(project / ".git", ignore_errors=True)
    identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    for words in (
        ["init", "--quiet"],
        ["add", "--all", "--force"],
        [*identity, "commit", "--quiet", "--message", "as published"],
    ):
        run(["git", *words], project)
    begin = time.monotonic()
    for words in (["init"], ["collect"]):
        try:
            done = subprocess.run(
                [PERF, *words],
                cwd=project,
                capture_output=True,
                text=True,
                check=False,
                timeout=limit,
            )
        except subprocess.TimeoutExpired:
            yield f"perf {words[0]} took more than {limit:.0f} s"
            yield "no"
            return
        if done.returncode:
            yield f"perf {words[0]}: {' / '.join(done.stderr.strip().splitlines()[-2:])[:400]}"
            yield "no"
            return
        if words == ["init"]:
            yield from (
                line for line in done.stdout.splitlines() if line.startswith(("wrote", "`"))
            )
    yield f"both took {time.monotonic() - begin:.0f} s"
    stored = json.loads(run([str(PERF), "status", "--json"], project))["profiles"]
    yield "yes" if stored else "no"


def main() -> None:
    """Print what ran."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", action="append", metavar="LANGUAGE")
    parser.add_argument(
        "--project",
        action="append",
        metavar="NAME",
        help="as it is listed here, such as fmtlib/fmt or tomli==2.0.1",
    )
    parser.add_argument("--limit", type=float, default=900, help="seconds of each command")
    parser.add_argument("--repositories", default=REPOSITORIES, metavar="URL")
    asked = parser.parse_args()
    os.environ["REPOSITORIES"] = asked.repositories
    total = ran = 0
    with tempfile.TemporaryDirectory(prefix="perfvcs-starting-") as scratch:
        for language, tools, fetch, names in SOURCES:
            if asked.only and language not in asked.only:
                continue
            if missing := [tool for tool in tools if not shutil.which(tool)]:
                print(f"{language}: {missing[0]} is missing, left out")
                continue
            for number, name in enumerate(
                name for name in names if not asked.project or name in asked.project
            ):
                folder = Path(scratch) / f"{language}{number}"
                folder.mkdir()
                total += 1
                try:
                    *said, verdict = commands(fetch(name, folder), asked.limit)
                except (RuntimeError, StopIteration, OSError) as error:
                    said, verdict = [f"not fetched: {error}"], "no"
                ran += verdict == "yes"
                print(
                    f"{language:7} {name:42} {'runs' if verdict == 'yes' else 'DOES NOT RUN'}",
                    *said,
                    sep="\n    ",
                    flush=True,
                )
    print(f"{ran} of {total} run")


if __name__ == "__main__":
    main()
