"""What the pictures of the pages show: profiles with numbers that are made up, always the same
ones, or that a demo measured.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from shutil import copytree

import numpy as np
from numpy.typing import NDArray

from perfvcs.check import compare
from perfvcs.check.subject import Subject
from perfvcs.git.command import git
from perfvcs.profile import Collected, Design, Environment, Job, Metric, Profile, Resources, Stacks
from perfvcs.reports.show import subject_of
from perfvcs.repository import Repository
from perfvcs.site.publication import publish
from perfvcs.store import Store

Array = NDArray[np.float64]

BASELINE, TARGET = (
    "1f0e2a3b4c5d6e7f8091a2b3c4d5e6f708192a3b",
    "8c7f6a1d0e5b4c3f2a1908172635445362718090",
)
SECONDS = {"wall": Metric("s")}
ENVIRONMENT = Environment({"cpu": "AMD EPYC 7B13", "kernel": "6.1.0"}, "9b1c6d0f42aa")


def profile(
    name: str,
    values: Array,
    *,
    commit: str = TARGET,
    session: str = "20261120T093000-4f2a91",
    turns: bool = True,
    version: int = 1,
    versions: Sequence[str] = (BASELINE, TARGET),
) -> Profile:
    """The profile of one benchmark on one commit; seconds of shape (executions, measurements)."""
    executions, inner = values.shape
    seconds: list[float | None] = [*values.ravel().tolist()]
    rows = Resources(
        [name],
        [0] * values.size,
        np.repeat(np.arange(executions), inner).tolist(),
        iteration=np.tile(np.arange(inner), executions).tolist() if inner > 1 else None,
        metrics={"wall": seconds},
    )
    when = f"{session[:4]}-{session[4:6]}-{session[6:11]}:{session[11:13]}:{session[13:15]}Z"
    design = Design(
        executions,
        order="interleaved" if turns else "sequential",
        version=version,
        versions=list(versions),
        seed=7,
    )
    return Profile(
        commit=commit,
        job=Job(name, "time", f"./{name}", engine="launcher/1"),
        environment=ENVIRONMENT,
        metrics=SECONDS,
        resources=rows,
        collected=Collected(session, when, when, "perfvcs"),
        design=design,
    )


def executions(_: Path) -> Subject:
    """Measurements that agree inside an execution, and executions that do not."""
    rng = np.random.default_rng(11)
    found = 0.0131 * np.exp(
        0.035 * rng.standard_normal((10, 1)) + 0.008 * rng.standard_normal((10, 20))
    )
    return Subject("one revision", [profile("sort", found)])


def drift(_: Path) -> Subject:
    """Twenty executions of one program on a machine that gets slower."""
    rng = np.random.default_rng(6)
    found = warm(np.arange(20.0), rng) * np.exp(0.004 * rng.standard_normal((20, 10)))
    return Subject("one revision", [profile("sort", found)])


def warm(slots: Array, rng: np.random.Generator) -> Array:
    """What the same program takes, one execution in each slot of time, on a machine that gets
    slower by a tenth.
    """
    found: Array = 0.0131 * np.exp(
        0.1 * slots[:, None] / 20 + 0.003 * rng.standard_normal((len(slots), 1))
    )
    return found


def apart(_: Path) -> Subject:
    """Equal programs, all executions of the one before those of the other, while the machine gets
    slower.
    """
    rng, slots = np.random.default_rng(5), np.arange(10.0)
    before = [
        profile(
            "sort",
            warm(slots, rng),
            commit=BASELINE,
            session="20261120T093000-000001",
            turns=False,
            version=0,
        )
    ]
    after = [
        profile(
            "sort", warm(slots + 10, rng), session="20261120T094000-000002", turns=False, version=0
        )
    ]
    return Subject("one after the other", after, before)


def turns(_: Path) -> Subject:
    """The same in turns."""
    rng, first = np.random.default_rng(5), np.random.default_rng(8).integers(0, 2, 10)
    slots = 2 * np.arange(10.0)
    before = [profile("sort", warm(slots + first, rng), commit=BASELINE, version=0)]
    return Subject("in turns", [profile("sort", warm(slots + 1 - first, rng))], before)


def effects(_: Path) -> Subject:
    """A degradation, one that stayed the same, one that is open, and an improvement, side by
    side.
    """
    rng = np.random.default_rng(3)
    sides: tuple[list[Profile], list[Profile]] = ([], [])
    for name, centre, effect, noise in (
        ("sort", 0.0131, 0.085, 0.007),
        ("parse", 0.0308, -0.042, 0.006),
        ("render", 0.0094, 0.0, 0.03),
        ("merge", 0.022, 0.0, 0.004),
    ):
        for number, commit in enumerate((BASELINE, TARGET)):
            found = centre * (1 + number * effect) * np.exp(noise * rng.standard_normal((10, 1)))
            sides[number].append(profile(name, found, commit=commit, version=number))
    return Subject("two revisions", sides[1], sides[0], compare(*sides))


def history(folder: Path) -> Subject:
    """Forty commits, each measured in turns with the one before it, with one that is slower for
    good.
    """
    commits = grown(folder)
    rng = np.random.default_rng(14)
    repository = Repository.find(folder, create=True)
    Store.create(folder / ".perf/store").add(list(sessions(commits, rng)), "A history")
    repository.refresh()
    return subject_of(repository, ["sort"])


def grown(folder: Path) -> list[str]:
    """A repository of forty commits, oldest first."""
    git(folder, "init", "--quiet", "--initial-branch=main")
    for number in range(40):
        when = f"2026-{1 + number // 20:02}-{1 + number % 20:02}T10:00:00Z"
        person = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
        dates = {"GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when}
        git(
            folder,
            *person,
            "commit",
            "--quiet",
            "--allow-empty",
            "-m",
            f"Change {number}",
            extra=dates,
        )
    return git(folder, "rev-list", "--reverse", "HEAD").split()


def site(folder: Path) -> Path:
    """A site of six benchmarks over forty commits; one became slower, one faster, and one slower
    and faster again.
    """
    rng, commits = np.random.default_rng(4), grown(folder)
    factors = {
        "sort": {32: 1.07},
        "parse": {14: 0.94},
        "render": {},
        "merge": {10: 1.05, 26: 1 / 1.05},
        "search": {},
        "load": {},
    }
    made = []
    for name, steps in factors.items():
        levels = (
            0.0131
            * rng.uniform(0.5, 3)
            * np.cumprod([steps.get(number, 1.0) for number in range(len(commits))])
        )
        for number, (commit, level) in enumerate(zip(commits, levels, strict=True)):
            found = level * np.exp(
                0.004 * rng.standard_normal() + 0.006 * rng.standard_normal((10, 1))
            )
            session = f"20260{1 + number // 20}{1 + number % 20:02}T100000-{number:06x}"
            made.append(profile(name, found, commit=commit, session=session))
    repository = Repository.find(folder, create=True)
    Store.create(folder / ".perf/store").add(made, "A history")
    repository.refresh()
    publish(repository, folder / "site", title="sorter")
    return folder / "site"


def sessions(commits: Sequence[str], rng: np.random.Generator) -> Iterator[Profile]:
    """Each commit with its parent, in eight blocks."""
    for number in range(1, len(commits)):
        between, blocks = 0.004 * rng.standard_normal(), 0.003 * rng.standard_normal((8, 1))
        pair = commits[number - 1 : number + 1]
        for version, commit in enumerate(pair):
            level = 0.0131 * (1.07 if number - 1 + version >= 27 else 1.0)
            found = level * np.exp(between + blocks + 0.003 * rng.standard_normal((8, 1)))
            name = f"2026{1 + number // 20:02}{1 + number % 20:02}T100000-{number:06x}"
            yield profile(
                "sort", found, commit=commit, session=name, version=version, versions=pair
            )


def dendrogram(_: Path) -> Subject:
    """A shop whose new version reads more from the disk for each request than the old one did."""
    rng = np.random.default_rng(4)
    return Subject("a shop", [shop(rng, 1, 1.5, TARGET)], [shop(rng, 5, 1.0, BASELINE)])


def shop(rng: np.random.Generator, runs: int, reads: float, commit: str) -> Profile:
    """Counters of a shop, every second for a minute, in so many runs."""
    count = 60 * runs
    load, orders, memory = (
        centre + rng.normal(0, spread, count) for centre, spread in ((100, 15), (20, 4), (300, 60))
    )
    columns = {
        "requests": load,
        "web CPU": 0.4 * load,
        "sent bytes": 9 * load,
        "latency": 4 + 0.1 * load,
        "db reads": reads * 0.5 * orders,
        "db writes": 0.8 * orders,
        "db CPU": 0.3 * orders,
        "web memory": memory,
        "web heap": 0.7 * memory,
        "threads": np.full(count, 8.0),
    }
    noise = {
        name: 0.07 * rng.standard_normal(count) * (column.std() > 0)
        for name, column in columns.items()
    }
    values: dict[str, list[float | None]] = {
        name: (column * np.exp(noise[name])).tolist() for name, column in columns.items()
    }
    rows = Resources(
        ["shop"],
        [0] * count,
        np.repeat(np.arange(runs), 60).tolist(),
        iteration=np.tile(np.arange(60), runs).tolist(),
        metrics=values,
    )
    when = "2026-11-20T09:30:00Z"
    return Profile(
        commit=commit,
        job=Job("shop", "counters", "./shop"),
        environment=ENVIRONMENT,
        resources=rows,
        design=Design(runs),
        metrics={name: Metric("", "none") for name in values},
        collected=Collected(f"of {commit[:4]}", when, when, "perfvcs"),
    )


def curves(_: Path) -> Subject:
    """A skip list whose insertion looks at every element in the new version, while its search stays
    what it was.
    """
    rng = np.random.default_rng(8)
    sides = [[skiplist(rng, version)] for version in (0, 1)]
    return Subject("a skip list", sides[1], sides[0], compare(*sides))


def skiplist(rng: np.random.Generator, version: int) -> Profile:
    """Ten executions that fill a list: 2,000 calls of two functions, some of them interrupted."""
    sizes = np.sort(rng.integers(1, 5_001, (2, 10, 2_000)), axis=-1)
    seconds = np.array([[[9e-8]], [[6e-8]]]) + np.array([[[3e-8]], [[2.4e-8]]]) * np.log(sizes)
    seconds[0] += version * 9.9e-11 * sizes[0]
    seconds *= np.exp(
        0.02 * rng.standard_normal((2, 10, 1)) + 0.12 * np.abs(rng.standard_normal(sizes.shape))
    )
    seconds += (rng.random(sizes.shape) < 0.003) * rng.uniform(2e-6, 1e-4, sizes.shape)
    _, execution, number = (axis.ravel().tolist() for axis in np.indices(sizes.shape))
    values: list[float | None] = [*seconds.round(9).ravel().tolist()]
    rows = Resources(
        ["SkipList.insert", "SkipList.search"],
        np.repeat([0, 1], 20_000).tolist(),
        execution,
        iteration=number,
        size=[*map(float, sizes.ravel().tolist())],
        metrics={"duration": values},
    )
    when = "2026-11-20T09:30:00Z"
    return Profile(
        commit=(BASELINE, TARGET)[version],
        job=Job("skiplist", "complexity", "./skiplist", engine="fentry"),
        environment=ENVIRONMENT,
        metrics={"duration": Metric("s")},
        resources=rows,
        collected=Collected("20261120T093000-4f2a91", when, when, "perfvcs"),
        design=Design(
            executions=10, order="interleaved", version=version, versions=[BASELINE, TARGET], seed=7
        ),
    )


def flame(_: Path) -> Subject:
    """A program that parses more carefully in the new version."""
    sides = []
    for version, counts in enumerate(
        ((300, 2100, 1400, 900, 800, 1500, 200), (300, 2000, 3600, 1700, 800, 1450, 200))
    ):
        main = ("main (work.py)",)
        load, parse, report = (
            (*main, "load (io.py)"),
            (*main, "parse (parser.py)"),
            (*main, "report (work.py)"),
        )
        stacks = [
            main,
            (*load, "read (io.py)"),
            parse,
            (*parse, "number (parser.py)"),
            (*parse, "text (parser.py)"),
            (*report, "dumps (json/__init__.py)", "encode (json/encoder.py)"),
            report,
        ]
        frames = list(dict.fromkeys(frame for stack in stacks for frame in stack))
        rows = Resources(
            ["work"],
            [0] * len(stacks),
            [0] * len(stacks),
            trace=list(range(len(stacks))),
            metrics={"samples": [*map(float, counts)]},
        )
        when = "2026-11-20T09:30:00Z"
        made = Profile(
            commit=(BASELINE, TARGET)[version],
            job=Job("work", "samples", "python work.py", engine="py-spy/1"),
            environment=ENVIRONMENT,
            metrics={"samples": Metric("", "none")},
            resources=rows,
            collected=Collected("20261120T093000-4f2a91", when, when, "perfvcs"),
            stacks=Stacks(frames, [[frames.index(frame) for frame in stack] for stack in stacks]),
        )
        sides.append([made])
    return Subject("a parser", sides[1], sides[0])


def demo(folder: Path) -> Subject:
    """Two releases of the demo's package, as `make demo` measured them."""
    return measured(folder, "sqlparse", "0.4.4", "0.5.0")


def slip(folder: Path) -> Subject:
    """The C++ skip list before and with its linear error, as `make demo-curves` measured them."""
    return measured(folder, "skiplist/cpp", "v3", "v4")


def measured(folder: Path, name: str, *revisions: str) -> Subject:
    """Two revisions of a repository that `make demo` or `make demo-curves` measured."""
    there = Path(__file__).parents[1] / "demo" / name
    if not (there / ".perf").exists():
        sys.exit(f"{name}: run `make demo` and `make demo-curves` first")
    repository = Repository.find(Path(copytree(there, folder / "demo")))
    repository.refresh()
    return subject_of(repository, revisions)
