"""The results of asv that are written: a file per commit and environment, and what asv has to know
of the benchmarks and machines in them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import groupby, product
from statistics import median
from typing import Any, NamedTuple

import msgspec

from perfvcs.formats._metric import benchmarks, written
from perfvcs.formats._readings import ReadingValue
from perfvcs.profile import Environment, Metric, Profile
from perfvcs.profile.validity import Malformed

# by how the names of benchmarks begin; asv takes less for better of all of them
KIND_METRICS = {
    "time": ("wall", Metric("s")),
    "timeraw": ("wall", Metric("s")),
    "mem": ("memory", Metric("B")),
    "peakmem": ("maxrss", Metric("B")),
}
TRACKED = ("value", Metric(""))
VERSION_DIGITS = 8  # of a benchmark's version, and of other names
# in files of version 1 only the first two, by their names
RESULT_COLUMNS = ("result", "params", "version", "started_at", "duration", "samples")
UNIT_PATTERN = re.compile(r"([^@(]+?)(?: @([0-9a-f]{8}))?(?:\((.*)\))?", re.DOTALL)
KIND_WORDS = {metric: word for word, (metric, _) in KIND_METRICS.items() if word != "timeraw"} | {
    TRACKED[0]: "track"
}
KINDS = {
    "time": ("time", "seconds"),
    "mem": ("memory", "bytes"),
    "peakmem": ("peakmemory", "bytes"),
    "track": ("track", "unit"),
}
# asv's fields and ours
MACHINE_NAMES = {
    "machine": "host",
    "os": "os",
    "arch": "machine",
    "cpu": "cpu",
    "num_cpu": "processors",
    "ram": "memory",
}
ASV_NAMES = {ours: theirs for theirs, ours in MACHINE_NAMES.items()}
UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")  # in the name of a folder


class Grid(msgspec.Struct):
    """The samples of a benchmark by its arguments, as one text, and its size; ``word`` is asv's for
    its kind.
    """

    word: str
    version: str | None
    samples: dict[tuple[str | None, ReadingValue], list[float]] = msgspec.field(
        default_factory=dict
    )

    @property
    def axes(self) -> list[list[Any]]:
        """The arguments and the sizes that there are."""
        return [list(dict.fromkeys(key[number] for key in self.samples)) for number in (0, 1)]

    @property
    def params(self) -> list[list[str]]:
        """Those of the arguments and sizes that are parameters, as texts."""
        return [
            [f"{value:g}" if isinstance(value, float) else value for value in axis]
            for axis in self.axes
            if axis != [None]
        ]

    def columns(self, moment: int) -> list[Any]:
        """The columns of a file: a value, and the samples, of each combination."""
        cells = [self.samples.get(key) for key in product(*self.axes)]
        return [
            [median(cell) if cell else None for cell in cells],
            self.params,
            self.version,
            moment,
            None,
            cells,
        ]


class CommitResults(msgspec.Struct):
    """What was measured of a commit in an environment; ``moment`` is when, in ms since 1970."""

    commit: str
    environment: Environment
    moment: int
    grids: dict[str, Grid]

    @classmethod
    def of(cls, profiles: Iterable[Profile]) -> CommitResults:
        """Profiles of a commit in an environment; samples of one benchmark in several of them are
        put together. Raises Malformed.
        """
        first, *more = profiles
        started = first.collected.started
        moment = round(datetime.fromisoformat(started).timestamp() * 1000) if started else 0
        results = cls(first.commit, first.environment, moment, {})
        for profile in (first, *more):
            results._add(profile)
        if not results.grids:
            raise Malformed(
                f"the profile has none of the metrics that asv knows: {', '.join(KIND_WORDS)}"
            )
        return results

    def _add(self, profile: Profile) -> None:
        job = profile.job
        for benchmark in benchmarks(profile):
            if (word := KIND_WORDS.get(benchmark.metric)) is None:
                continue
            # a job's whole program is named as the job is, which others with other arguments may
            # be, too
            if job.collector == "asv":
                uid = benchmark.uid
            elif benchmark.uid == job.name:
                uid = job.label
            else:
                uid = f"{job.label}.{benchmark.uid}"
            name, version, given = _parts(uid, word)
            self.grids.setdefault(name, Grid(word, version)).samples.setdefault(
                (given, benchmark.size), []
            ).extend(benchmark.values)

    @property
    def machine(self) -> str:
        """The name of the machine, fit for a folder."""
        fields = self.environment.notes | self.environment.fields
        return (
            UNSAFE.sub("-", fields.get("host") or fields.get("machine") or "").strip("-.")[:80]
            or "unknown"
        )

    @property
    def env_name(self) -> str:
        """The name of the environment, which others on the same machine do not have."""
        return f"perfvcs-{self.environment.fingerprint[:VERSION_DIGITS]}".rstrip("-")

    def encode(self, *, machine: str = "") -> bytes:
        """The file of version 2, with the name that asv looks for in a folder of a ``machine``."""
        fields = {
            ASV_NAMES.get(name, name): value for name, value in self.environment.fields.items()
        }
        notes = self.environment.notes
        known = {"machine": machine or notes.get("host"), "ram": notes.get("memory")}
        fields |= {name: value for name, value in known.items() if value}
        return written(
            {
                "commit_hash": self.commit,
                "env_name": self.env_name,
                "date": self.moment,
                "params": fields,
                "python": fields.get("python", ""),
                "requirements": {},
                "env_vars": {},
                "result_columns": list(RESULT_COLUMNS),
                "results": {name: grid.columns(self.moment) for name, grid in self.grids.items()},
                "durations": {},
                "version": 2,
            }
        )


class Description(msgspec.Struct):
    """What asv has to know of a benchmark: all its parameters, and the version that was measured
    last.
    """

    newest: int = -1
    word: str = ""
    version: str | None = None
    params: list[list[str]] = []

    def add(self, grid: Grid, moment: int) -> None:
        """Take over what was measured at a moment."""
        if len(grid.params) == len(self.params):
            self.params = [
                list(dict.fromkeys([*earlier, *now]))
                for earlier, now in zip(self.params, grid.params, strict=True)
            ]
        elif moment > self.newest:  # with other parameters it is another benchmark
            self.params = grid.params
        if moment > self.newest:
            self.newest, self.word, self.version = moment, grid.word, grid.version

    def fields(self, name: str) -> dict[str, Any]:
        """The benchmark as benchmarks.json has it."""
        kind, unit = KINDS[self.word]
        names = [f"param{place}" for place in range(1, len(self.params) + 1)]
        return {
            "name": name,
            "type": kind,
            "unit": unit,
            "params": self.params,
            "param_names": names,
            "version": self.version or "perfvcs",
            "code": "",
            "timeout": 60.0,
        }


def files(profiles: Iterable[Profile]) -> Iterator[tuple[str, bytes]]:
    """The files by their paths; in memory are the profiles of one commit at a time.

    Raises Malformed.
    """
    descriptions: dict[str, Description] = {}
    machines: dict[str, dict[str, Any]] = {}
    for _, of_commit in groupby(profiles, key=lambda profile: profile.commit):
        by_environment: dict[str, list[Profile]] = {}
        for profile in of_commit:
            by_environment.setdefault(profile.environment.fingerprint, []).append(profile)
        for together in by_environment.values():
            results = CommitResults.of(together)
            fields = results.environment.notes | results.environment.fields
            machines[results.machine] = {
                **{word: fields.get(ours, "") for word, ours in MACHINE_NAMES.items()},
                "os": f"{fields.get('system', '')} {fields.get('kernel', '')}".strip(),
                "machine": results.machine,
                "version": 1,
            }
            for name, grid in results.grids.items():
                descriptions.setdefault(name, Description()).add(grid, results.moment)
            yield (
                f"{results.machine}/{results.commit[:VERSION_DIGITS]}-{results.env_name}.json",
                results.encode(machine=results.machine),
            )
    for name, description in machines.items():
        yield f"{name}/machine.json", written(description)
    yield (
        "benchmarks.json",
        written(
            {
                **{name: description.fields(name) for name, description in descriptions.items()},
                "version": 2,
            }
        ),
    )


class _AsvUnit(NamedTuple):
    """The parts of a unit's id, as the reader joined them."""

    name: str
    version: str | None = None
    arguments: str | None = None


def _parts(uid: str, word: str) -> _AsvUnit:
    """The parts of an id. A unit that is not asv's gets a name that says its kind."""
    match = UNIT_PATTERN.fullmatch(uid)
    if match and KIND_METRICS.get(
        match[1].rpartition(".")[2].partition("_")[0], TRACKED
    ) == KIND_METRICS.get(word, TRACKED):
        return _AsvUnit(match[1], match[2], match[3])
    before, dot, last = uid.rpartition(".")
    return _AsvUnit(f"{before}{dot}{word}_{last}" if last.isidentifier() else f"{uid}.{word}")
