"""What virtual environments take.

A Python project with a dependency, measured on so many revisions that each change its code, and on one
more that changes only a document; with pip, whether or not uv is there.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

from .figures import Row
from .registry import benchmark
from .repositories import commit, perf, repository, scratch

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


@benchmark("everyday", quick="needs the package index", needs=("network",))
def environments(*, revisions: int = 5) -> Iterator[Row]:
    """How large are the environments of some revisions, how many are left, and how long do they take?"""
    places = os.environ["PATH"].split(os.pathsep)
    path = os.pathsep.join(place for place in places if not Path(place, "uv").exists())
    with scratch("environments") as project:
        repository(project, FILES)
        for number in range(1, revisions):
            commit(project, f"value {number}", {"tinypkg/__init__.py": f"VALUE = {number}\n"})
        commit(project, "a document", {"README": "a document\n"})
        perf(project, "init")
        names = [f"HEAD~{back}" for back in range(revisions - 1, 0, -1)]
        begin = time.monotonic()
        perf(project, "collect", "--quiet", *names, "HEAD", env=os.environ | {"PATH": path})
        seconds = time.monotonic() - begin
        files = [found for found in (project / ".perf").rglob("*") if not found.is_symlink()]
        yield {
            "revisions": revisions,
            "MB in .perf": sum(found.lstat().st_blocks * 512 for found in files) / 1e6,
            "environments left": len(list((project / ".perf/python").glob("py*/bin"))),
            "s": seconds,
        }
