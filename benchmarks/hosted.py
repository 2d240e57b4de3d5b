"""How long commands take for the history of a real project: ``python benchmarks/hosted.py RESULTS
FOLDER``.

RESULTS is a folder of asv's results (one JSON file per commit and Python), such as
`results/ubuntu-latest` of github.com/django/django-asv. FOLDER keeps a repository with as many
commits in the order of their dates, and a profile per file and benchmark (``--together``: per file,
with a unit per benchmark, so that its newest profiles have pages): one execution, whose value is
the median that asv gives.

Whole processes are timed, CPU time of git included: `perf history` and `perf publish` from nothing
but the index, from a full cache, and after one more commit; the smallest of ``--runs``.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
from histories import git

from perfvcs.index import Index
from perfvcs.profile import Collected, Design, Environment, Job, Metric, Profile, Resources
from perfvcs.store import Store


def results(folder: Path) -> dict[str, tuple[int, list[dict[str, object]]]]:
    """By commit, its date in ms and what was measured there."""
    found: dict[str, tuple[int, list[dict[str, object]]]] = {}
    for path in sorted(folder.glob("*-*.json")):
        document = json.loads(path.read_text())
        found.setdefault(document["commit_hash"], (document["date"], []))[1].append(document)
    return dict(sorted(found.items(), key=lambda one: one[1][0]))


def profiles(commit: str, documents: list[dict[str, object]]) -> Iterator[Profile]:
    """One profile per benchmark, its parameters and its Python."""
    for document in documents:
        python = str(document["params"]["python"])  # type: ignore[index]
        where = Environment(
            {"machine": "ubuntu-latest", "python": python}, f"{int(float(python) * 1000):012x}"
        )
        collected = Collected(
            f"20261120T093000-{commit[:6]}",
            "2026-11-20T09:30:00.000Z",
            "2026-11-20T09:30:02.000Z",
            "asv",
        )
        for name, row in document["results"].items():  # type: ignore[attr-defined]
            for number, value in enumerate(row[0] or []):
                if value is not None and math.isfinite(value) and value > 0:
                    job = Job(
                        f"{name}-{number}" if len(row[0]) > 1 else name, "time", name, engine="asv"
                    )
                    rows = Resources([job.name], [0], [0], metrics={"wall": [value]})
                    yield Profile(
                        commit=commit,
                        job=job,
                        collected=collected,
                        environment=where,
                        design=Design(1),
                        metrics={"wall": Metric("s")},
                        resources=rows,
                    )


def whole(commit: str, documents: list[dict[str, object]]) -> Iterator[Profile]:
    """One profile per Python, with a unit for each benchmark and its parameters."""
    for document in documents:
        parts = list(profiles(commit, [document]))
        if parts:
            names = [part.resources.names[0] for part in parts]
            values = [part.resources.metrics["wall"][0] for part in parts]
            rows = Resources(
                names, list(range(len(names))), [0] * len(names), metrics={"wall": values}
            )
            yield msgspec.structs.replace(
                parts[0], job=Job("benchmarks", "time", "asv run", engine="asv"), resources=rows
            )


def build(
    source: Path, folder: Path, made: Callable[[str, list[dict[str, object]]], Iterator[Profile]]
) -> None:
    """The project, its history measured, and the index."""
    found = results(source)
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    stream = []
    for number, (date, _) in enumerate(found.values()):
        message = b"Change number %d" % number
        stream.append(
            b"commit refs/heads/main\ncommitter Ada <ada@example.org> %d +0000\ndata %d\n%s\n"
            % (date // 1000, len(message), message)
        )
    git(folder, "fast-import", "--quiet", data=b"".join(stream))
    git(folder, "reset", "--quiet", "--hard", "main")
    commits = git(folder, "rev-list", "--reverse", "main").split()
    subprocess.run([perf(), "init"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    store = Store(folder / ".perf/store")
    rows = zip(commits, found.values(), strict=True)
    store.add(
        (profile for commit, (_, listed) in rows for profile in made(commit, listed)),
        "Results of asv",
    )
    Index(store, folder / ".perf/index.db").refresh()


def perf() -> str:
    return str(Path(sys.executable).with_name("perf"))


def timed(folder: Path, *words: str) -> tuple[float, float, str]:
    """Seconds of computing and by the clock, and the last line that was printed."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run([perf(), *words], cwd=folder, capture_output=True, text=True, check=True)
    took, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    lines = [line for line in done.stdout.splitlines() if "looked at" in line or "wrote" in line]
    return (
        after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        took,
        lines[-1] if lines else "",
    )


def show(name: str, rows: list[tuple[float, float, str]]) -> None:
    computing, took, said = min(rows)
    print(f"{name:42} {computing:6.2f} s computing {took:6.2f} s by the clock   {said}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--together", action="store_true", help="one profile per file")
    options = parser.parse_args()
    made = whole if options.together else profiles
    project, site = options.folder / "project", options.folder / "site"
    if not project.exists():
        build(options.results, project, made)
    timed(project, "log", "-n1")
    known = project / ".perf/steps.db"
    empty = []
    for _ in range(options.runs):
        known.unlink(missing_ok=True)
        empty.append(timed(project, "history"))
    show("history, nothing known but the index", empty)
    show("history, everything known", [timed(project, "history") for _ in range(options.runs)])
    shutil.rmtree(site, ignore_errors=True)
    known.unlink()
    show("publish, nothing known but the index", [timed(project, "publish", str(site.absolute()))])
    show(
        "publish, everything known and nothing new",
        [timed(project, "publish", str(site.absolute())) for _ in range(options.runs)],
    )
    newest = list(results(options.results).values())[-1][1]
    more: dict[str, list[tuple[float, float, str]]] = {"history": [], "publish": []}
    for _ in range(options.runs):
        git(project, "commit", "--quiet", "--allow-empty", "--message", "One more")
        commit = git(project, "rev-parse", "HEAD").strip()
        Store(project / ".perf/store").add(made(commit, newest), "One more")
        timed(project, "log", "-n1")
        more["publish"].append(timed(project, "publish", str(site.absolute())))
        more["history"].append(timed(project, "history"))
    show("publish, one commit more", more["publish"])
    show("history, after that", more["history"])


if __name__ == "__main__":
    main()
