"""Ten small projects with stored profiles whose benchmarks have names of every kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from conftest import Project
from samples import interleaved, noisy, sample_profile

from perfvcs.profile import Environment, Job, Metric, Profile, Resources
from perfvcs.repository import Repository

COMMITS = 3
PAIRS = 8
PROGRAM = "measured.sh"  # each commit changes it, so that it can have changed the benchmarks
LONG = "tests/test_tokenizer.py::test_" + "a_long_story_" * 20
Unit = tuple[str, float | None]


@dataclass(frozen=True)
class NamedJob:
    """One job with its units, each at a size, and metrics; ``newest`` are units of the last commit
    only.
    """

    job: Job
    units: Sequence[Unit]
    metrics: Sequence[str] = ("wall", "cpu")
    newest: Sequence[Unit] = ()
    environments: Sequence[str] = ("",)


@dataclass(frozen=True)
class NamedProject:
    """A project's jobs, and what there is beside them in git and on disk."""

    jobs: Sequence[NamedJob]
    tags: Sequence[str] = ()
    files: dict[str, str] = field(default_factory=dict)

    def store(self, project: Project) -> list[str]:
        """Make the commits and store what was measured on them; the ids, oldest first."""
        tables = dict.fromkeys(table(named.job) for named in self.jobs)
        project.write("perf.toml", "".join(tables))
        commits = [
            project.commit(f"change {number}", **self.files, **{PROGRAM: f"exit {number}\n"})
            for number in range(COMMITS)
        ]
        for tag in self.tags:
            project.git("update-ref", f"refs/tags/{tag}", commits[0])
        profiles = [profile for named in self.jobs for profile in profiles_of(named, commits)]
        Repository.find(create=True).store.add(profiles, "test")
        return commits


def table(job: Job) -> str:
    """The job in perf.toml."""
    return f'[[job]]\nname = "{job.name}"\ncmd = "sh {PROGRAM}"\ncollectors = ["{job.collector}"]\n'


def unit_of(metric: str) -> Metric:
    """Unit and direction of a metric."""
    own = {"throughput": Metric("1/s", "higher"), "bytes_out": Metric("B")}
    return own.get(metric, Metric("s"))


def profiles_of(named: NamedJob, commits: Sequence[str]) -> Iterator[Profile]:
    """The profiles of a job: each pair of neighbours in turns, the newer one slower by a third."""
    for number, pair in enumerate(pairwise(commits)):
        session = f"2026112{number}T093000-4f2a91"
        walls = [noisy(0.01 * 1.3 ** (number + side), PAIRS, seed=side) for side in (0, 1)]
        for mark in named.environments:
            place = Environment({"cpu": "x", "python": mark}, (mark or "0") * 4)
            for side, profile in enumerate(
                interleaved(pair, walls, session, job=named.job, environment=place)
            ):
                newest = number + side == len(commits) - 1
                units = [*named.units, *(named.newest if newest else ())]
                yield with_rows(profile, units, named.metrics, walls[side])


def with_rows(
    profile: Profile, units: Sequence[Unit], metrics: Sequence[str], walls: Sequence[float]
) -> Profile:
    """A profile with these units, each with the same values."""
    names = list(dict.fromkeys(uid for uid, _ in units))
    values: list[float | None] = [
        wall * (1 + (size or 0) / 1000) for _, size in units for wall in walls
    ]
    sizes = [size for _, size in units for _ in walls]
    rows = Resources(
        names=names,
        uid=[names.index(uid) for uid, _ in units for _ in walls],
        execution=[run for _ in units for run in range(len(walls))],
        size=sizes if any(size is not None for size in sizes) else None,
        metrics=dict.fromkeys(metrics, values),
    )
    fields: dict[str, Any] = {
        name: getattr(profile, name)
        for name in ("commit", "job", "collected", "environment", "design")
    }
    return sample_profile(
        (), metrics={metric: unit_of(metric) for metric in metrics}, resources=rows, **fields
    )


def plain(*uids: str) -> list[Unit]:
    """Units without a size."""
    return [(uid, None) for uid in uids]


def job(name: str, collector: str = "time", **more: Any) -> Job:
    """A job that runs a program of its name."""
    return Job(name, collector, f"./{name}", engine="launcher/1", **more)


TESTS = ("tests/test_core.py::test_count", "tests/test_core.py::test_parse[a-b]")
PROJECTS = {
    "pytest": NamedProject([NamedJob(job("tests", "pytest"), plain(*TESTS))]),
    "signs": NamedProject(
        [
            NamedJob(
                job("run"),
                plain(
                    "a:b",
                    "x [c]",
                    "dir/file.py",
                    "two words",
                    "user@host",
                    "@",
                    "-n",
                    "f(int, char)",
                    "it's",
                    "a|b `c` *d*",
                    "α → β",
                    "שלום",
                ),
            )
        ]
    ),
    "long": NamedProject([NamedJob(job("tests", "pytest"), plain(f"{LONG}[a]", f"{LONG}[b]"))]),
    "two jobs": NamedProject(
        [
            NamedJob(job("old tests", "pytest"), plain("test_a", "test_b")),
            NamedJob(job("new tests", "pytest"), plain("test_a", "test_c")),
        ]
    ),
    "revisions": NamedProject(
        [NamedJob(job("tests"), plain("main", "v1.0", "HEAD", "other"))], tags=["v1.0"]
    ),
    "files": NamedProject(
        [NamedJob(job("old.json"), plain("old.json", "perf.toml", "table.csv"))],
        files={"old.json": "{}", "table.csv": "uid,wall\n"},
    ),
    "matrix": NamedProject(
        [
            NamedJob(job("sort", args=args, workload=load, params=params), plain("sort", "insert"))
            for args, load, params in (
                ("", "1k.txt", {}),
                ("--fast", "1k.txt", {}),
                ("", "n=10", {"n": 10, "python": "3.12"}),
            )
        ]
    ),
    "own metrics": NamedProject(
        [NamedJob(job("serve"), plain("serve", "get"), ("throughput", "bytes_out"))]
    ),
    "curves": NamedProject(
        [
            NamedJob(
                job("insert"),
                [
                    *(("insert", 10.0 * size) for size in range(1, 41)),
                    *(("find", 10.0**power) for power in range(3)),
                ],
            )
        ]
    ),
    "collectors": NamedProject(
        [
            NamedJob(job("work"), plain("work"), environments=("3.12", "3.13")),
            NamedJob(job("work", "memory"), plain("work", "load"), ("bytes_out",)),
            NamedJob(job("sided"), plain("both"), newest=plain("only new")),
        ]
    ),
}
