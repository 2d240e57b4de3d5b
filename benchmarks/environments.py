"""What virtual environments take: ``python benchmarks/environments.py [--perf COMMAND] [--revisions
5]``.

A Python project with a dependency, measured on so many revisions that each change its code, and on
one more that changes only a document; with pip, whether or not uv is there. Printed are the
megabytes of .perf, how many environments are left, and the seconds that collect took. It needs an
index of packages.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FILES = {
    "pyproject.toml": (
        """\
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"
[project]
name = "tinypkg"
version = "1.0"
dependencies = ["attrs"]
[tool.setuptools]
packages = ["tinypkg"]
"""
    ),
    "perf.toml": (
        """\
[python]
[[job]]
name = "import"
cmd = "python -c 'import tinypkg'"
executions = 2
warmup = 0
"""
    ),
    "tinypkg/__init__.py": "VALUE = 0\n",
}


def commit(project: Path, name: str, text: str) -> None:
    """Write a file and commit everything."""
    (project / name).parent.mkdir(exist_ok=True)
    (project / name).write_text(text)
    identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    for words in (
        ["add", "--all"],
        [*identity, "commit", "--quiet", "--message", f"change {name}"],
    ):
        subprocess.run(["git", *words], cwd=project, check=True)


def main() -> None:
    """Print what one project takes."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--perf", default=f"{sys.executable} -P -m perfvcs")
    parser.add_argument("--revisions", type=int, default=5)
    asked = parser.parse_args()
    perf = asked.perf.split()
    path = os.pathsep.join(
        place for place in os.environ["PATH"].split(os.pathsep) if not Path(place, "uv").exists()
    )
    with tempfile.TemporaryDirectory(prefix="perfvcs-environments-") as folder:
        project = Path(folder)
        subprocess.run(["git", "init", "--quiet", "--initial-branch=main"], cwd=project, check=True)
        for name, text in FILES.items():
            commit(project, name, text)
        for number in range(1, asked.revisions):
            commit(project, "tinypkg/__init__.py", f"VALUE = {number}\n")
        commit(project, "README", "a document\n")
        subprocess.run([*perf, "init"], cwd=project, check=True, capture_output=True)
        revisions = [f"HEAD~{back}" for back in range(asked.revisions + len(FILES) - 2, 0, -1)][
            -asked.revisions + 1 :
        ]
        begin = time.monotonic()
        subprocess.run(
            [*perf, "collect", "--quiet", *revisions, "HEAD"],
            cwd=project,
            check=True,
            env=os.environ | {"PATH": path},
        )
        seconds = time.monotonic() - begin
        files = [path for path in (project / ".perf").rglob("*") if not path.is_symlink()]
        size = sum(path.lstat().st_blocks * 512 for path in files) / 1e6
        left = len(list((project / ".perf/python").glob("py*/bin")))
        print(
            f"{len(revisions) + 1} revisions: {size:.1f} MB in .perf, {left} environments left,"
            f" {seconds:.0f} s"
        )


if __name__ == "__main__":
    main()
