"""Makes the gallery of views.md: ``python docs/gallery.py [--folder FOLDER] [NAME ...]`` draws the
named pictures, or all.

Every view, and the published site, of real projects: releases of packages, fetched from the package
index by pip, and an example of this repository. Each project is measured before its first picture;
what is in FOLDER (demo/gallery) is used again. The few executions are enough for a picture, not for
a verdict. It needs git, a network, Chromium and chromedriver, and in its environment pytest, py-spy
and memray.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import copytree
from tempfile import TemporaryDirectory

TOP = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TOP / "examples"))
from building import git, repository  # noqa: E402

IMAGES = Path(__file__).parent / "images" / "views"
READY = "return document.readyState === 'complete';"
SQL = """overlay = ["bench/"]

[[job]]
name = "sql"
cmd = "python bench/sql.py"
executions = 6
warmup = 0

[[job]]
name = "stacks"
cmd = "python bench/sql.py"
executions = 6
warmup = 0
collectors = [{ name = "samples", rate = 250 }]
"""
CALLS = """[[job]]
name = "skiplist"
cmd = "python work.py"
executions = 8
warmup = 1

[[job.collectors]]
name = "complexity"
functions = ["skiplist:SkipList.insert=len(self)", "skiplist:SkipList.search=len(self)"]
keep = 500
"""
TESTS = """[[job]]
name = "tests"
cmd = "python -m pytest -q -p no:cacheprovider --rootdir=toolz/tests toolz/tests/test_itertoolz.py"
executions = 6
warmup = 0
collectors = ["pytest"]
"""
COURSE = """[[job]]
name = "tests"
cmd = "python -m pytest -q -p no:cacheprovider tests"
executions = 4
warmup = 0
collectors = [{ name = "counters", interval = 0.05 }, "memory"]
"""


@dataclass(frozen=True)
class Project:
    """What is made of a folder, how it is measured, and by which commands of perf."""

    make: Callable[[Path, Path], None]
    config: str
    commands: Sequence[str]


@dataclass(frozen=True)
class Picture:
    """What is typed in which project, and how many pixels of its page are seen.

    ``part``: a selector of what is seen of the page, all of it without one. ``page``: which page of
    a published site.
    """

    project: str
    command: str
    width: int = 760
    height: int = 1400
    part: str = ".figure"
    page: str = ""


def sqlparse(folder: Path, downloads: Path) -> None:
    """Eight releases of a parser of SQL, with the benchmark of `make demo`."""
    run([sys.executable, TOP / "examples/demo/build.py", folder, "--downloads", downloads])


def skiplist(folder: Path, _: Path) -> None:
    """The skip list of examples/ that becomes slower three times."""
    run([sys.executable, TOP / "examples/skiplist/build.py", "python", folder])


def released(package: str, *versions: str) -> Callable[[Path, Path], None]:
    """Releases of a package with its tests, one commit each, tagged with the version."""

    def make(folder: Path, downloads: Path) -> None:
        with repository(folder) as part:
            for number, version in enumerate(versions):
                for path in part.iterdir():
                    if path.name != ".git":
                        run(["rm", "-r", path])
                copytree(source(package, version, downloads), part, dirs_exist_ok=True)
                git(part, "add", "--all", "--force")
                git(
                    part,
                    "commit",
                    "--quiet",
                    "--message",
                    f"{package} {version}",
                    date=f"2026-01-{5 + number:02}T12:00:00+00:00",
                )
                git(part, "tag", version)

    return make


def source(package: str, version: str, downloads: Path) -> Path:
    """The folder of a release's sources, as they were published."""
    there = downloads / f"{package}-{version}"
    if not there.exists():
        downloads.mkdir(parents=True, exist_ok=True)
        words = [
            "download",
            "--quiet",
            "--no-deps",
            "--no-binary",
            ":all:",
            "--dest",
            downloads,
            f"{package}=={version}",
        ]
        run([sys.executable, "-m", "pip", *words])
        run(["tar", "-xzf", *downloads.glob(f"{package}-{version}.tar.gz"), "-C", downloads])
    return there


PROJECTS = {
    "sqlparse": Project(
        sqlparse,
        SQL,
        (
            "collect --quiet --job sql 0.3.0..0.5.0 0.3.0",
            "collect --quiet --job stacks 0.3.0 0.5.0",
        ),
    ),
    "skiplist": Project(skiplist, CALLS, ("collect --quiet v3 v4",)),
    "toolz": Project(released("toolz", "1.0.0", "1.2.0"), TESTS, ("collect --quiet 1.0.0 1.2.0",)),
    "boltons": Project(released("boltons", "26.2.0"), COURSE, ("collect --quiet 26.2.0",)),
}
CPU, MEMORY = (
    '.figure[aria-label*=", CPU time"]',
    '.figure[aria-label*=", peak memory"]',
)  # which others on the machine spoil least
PICTURES = {
    "executions": Picture("sqlparse", "show 0.5.0 --view executions", part=CPU),
    "distribution": Picture("sqlparse", "show 0.5.0 --view distribution", part=CPU),
    "runsequence": Picture("sqlparse", "show 0.5.0 --view runsequence", part=CPU),
    "lag": Picture("sqlparse", "show 0.5.0 --view lag", part=CPU),
    "effects": Picture("toolz", "show 1.0.0 1.2.0 --view effects --set rows=16", part=CPU),
    "comparison": Picture("sqlparse", "show 0.4.4 0.5.0 --view comparison", part=MEMORY),
    "table": Picture("sqlparse", "show 0.4.4 0.5.0 --view table", 1200, 900, ""),
    "history": Picture("sqlparse", "show sql --view history", part=MEMORY),
    "intervals": Picture("sqlparse", "show sql --view intervals", part=MEMORY),
    "scatter": Picture("skiplist", "show v3 --view scatter --set points=400"),
    "curves": Picture("skiplist", "show v3 v4 --view curves"),
    "bars": Picture("toolz", "show 1.0.0 1.2.0 --view bars --set top=10", part=CPU),
    "flamegraph": Picture("sqlparse", "show 0.5.0 --view flamegraph --set points=300", width=900),
    "flamediff": Picture(
        "sqlparse", "show 0.3.0 0.5.0 --view flamediff --set points=300", width=900
    ),
    "flow": Picture("boltons", "show 26.2.0 --view flow", width=900),
    "heatmap": Picture("boltons", "show 26.2.0 --view heatmap --set columns=60", width=900),
    "dendrogram": Picture("boltons", "show 26.2.0 --view dendrogram"),
    "site": Picture("sqlparse", "publish ../site", 1200, 900, "", "index.html"),
    "series": Picture("sqlparse", "publish ../site", 1200, 1100, "", "series/sql-maxrss-*.html"),
    "telephone": Picture("sqlparse", "publish ../site", 400, 800, "", "index.html"),
}


def run(words: Sequence[str | Path], cwd: Path = TOP) -> None:
    """A command, with this Python before all others; the script ends with what it said when it
    fails.
    """
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(words, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}: {done.stdout[-2000:]}{done.stderr[-2000:]}")


def perf(command: str, project: Path) -> None:
    """A command of perf in a project."""
    run([sys.executable, "-m", "perfvcs", *shlex.split(command)], project)


def measured(name: str, folder: Path) -> Path:
    """A project's folder, made and measured unless it is there."""
    there, ready = folder / name, folder / f"{name}.measured"
    project = PROJECTS[name]
    if not there.exists():
        project.make(there, folder / "downloads")
    if not ready.exists():
        (there / "perf.toml").write_text(project.config)
        git(there, "add", "--force", "perf.toml")
        git(there, "commit", "--quiet", "--message", "Measure it", date="2026-02-01T12:00:00+00:00")
        for command in project.commands:
            print(f"{name}: perf {command}", flush=True)
            perf(command, there)
        ready.touch()
    return there


def draw(picture: Picture, driver: object, folder: Path) -> bytes:
    """One picture as PNG."""
    from photography import photograph

    project = measured(picture.project, folder)
    page = folder / "page.html"
    if picture.page:
        perf(picture.command, project)
        page = sorted((folder / "site").glob(picture.page))[0]
    else:
        perf(f"{picture.command} --no-open -o {shlex.quote(str(page))}", project)
    return photograph(driver, page, picture.width, picture.height, picture.part, READY)


def main() -> None:
    """Draw the named pictures, or all."""
    from photography import LARGEST, browser

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *PICTURES], metavar="NAME")
    parser.add_argument(
        "--folder",
        type=Path,
        default=TOP / "demo" / "gallery",
        help="where projects are kept (%(default)s)",
    )
    chosen = parser.parse_args()
    folder = chosen.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    IMAGES.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as scratch:
        driver = browser(Path(scratch))
        try:
            for name in chosen.names or PICTURES:
                found = draw(PICTURES[name], driver, folder)
                if len(found) > LARGEST:
                    sys.exit(f"{name}: {len(found):,} bytes, over {LARGEST:,}: draw less")
                (IMAGES / f"{name}.png").write_bytes(found)
                print(f"{name}: {len(found):,} bytes", flush=True)
        finally:
            driver.quit()


if __name__ == "__main__":
    main()
