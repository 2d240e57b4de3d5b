"""`perf publish` of a real history.

Results of asv are imported into a repository that is made of the dates of their commits, and published:
with nothing known but the profiles, into an empty folder with everything known, with the newest commit
added, and with nothing new. Each is a whole process; what counts is its CPU time with that of git and of
its forks, and the most memory that any of them had.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .figures import Row
from .registry import benchmark
from .repositories import git, perf, scratch
from .stores import Used, used


def history(results: Path, folder: Path) -> tuple[Path, Path, Path]:
    """A repository with a commit for each of the results, and folders with these: all but those of
    the newest commit, and the newest.
    """
    documents: dict[str, dict[str, Any]] = {
        path.name: json.loads(path.read_text()) for path in results.glob("*-*.json")
    }
    dates = {one["commit_hash"]: one["date"] // 1000 for one in documents.values()}
    order = sorted(dates, key=lambda commit: (dates[commit], commit))
    project, *parts = (folder / name for name in ("project", "older", "newest"))
    project.mkdir(parents=True)
    git(project, "init", "--quiet", "--initial-branch=main")
    stream = []
    for number, commit in enumerate(order):
        message = f"Change number {number}"
        stream += [
            f"commit refs/heads/main\ncommitter Ada <ada@example.org> {dates[commit]} +0000",
            f"data {len(message)}\n{message}",
            f"M 100644 inline src/file{number % 90}.c\ndata 2\n{number % 10}",
        ]
    git(project, "fast-import", "--quiet", data="\n".join([*stream, ""]))
    git(project, "reset", "--quiet", "--hard", "main")
    with (project / ".git/info/exclude").open("a") as exclude:
        exclude.write(".perf/\n")
    made = dict(zip(order, git(project, "rev-list", "--reverse", "main").split(), strict=True))
    for part in parts:
        (part / results.name).mkdir(parents=True)
        shutil.copy(results / "machine.json", part / results.name)
        shutil.copy(results.parent / "benchmarks.json", part)
    for name, document in documents.items():
        part = parts[document["commit_hash"] == order[-1]]
        commit = document["commit_hash"] = made[document["commit_hash"]]
        path = part / results.name / f"{commit[:8]}-{name.partition('-')[2]}"
        path.write_text(json.dumps(document))
    return project, parts[0], parts[1]


@benchmark("publishing", quick="needs results of asv", needs=("results of asv",))
def publishing(*, results: Path, before: str = "") -> Iterator[Row]:
    """What does publishing a real history cost?

    ``before`` is a folder with the sources of an earlier version, which is measured before this one.
    """
    if before and not Path(before, "perfvcs").is_dir():
        raise SystemExit(f"{before} has no folder perfvcs: give the sources of an earlier version")
    with scratch("publishing") as folder:
        project, older, newest = history(results, folder)
        perf(project, "import", "--quiet", str(older))
        for version in dict.fromkeys((before, "")):
            place = folder / (Path(version).name or "this")
            shutil.copytree(project, place, symlinks=True)
            for what, run in _runs(place, newest, version):
                site = place.with_suffix(".site")
                files = [path for path in site.rglob("*") if path.is_file()]
                yield {
                    "version": Path(version).name or "this",
                    "published": what,
                    "CPU s": run.seconds,
                    "memory MB": run.memory,
                    "pages": sum(path.suffix == ".html" for path in files),
                    "site MB": sum(path.stat().st_size for path in files) / 1e6,
                }


def _runs(place: Path, newest: Path, version: str) -> Iterator[tuple[str, Used]]:
    """One publication after another, by the sources in a folder, or by this version."""
    path = {"PYTHONPATH": version} if version else {}
    command = [sys.executable, "-m", "perfvcs"]
    site = place.with_suffix(".site").absolute()
    publish = [*command, "publish", str(site)]
    yield "from nothing", used(place, publish, **path)
    shutil.rmtree(site)
    yield "everything known", used(place, publish, **path)
    used(place, [*command, "import", "--quiet", str(newest)], **path)
    yield "one commit more", used(place, publish, **path)
    yield "nothing new", used(place, publish, **path)
