"""The data.js of github-action-benchmark
(https://github.com/benchmark-action/github-action-benchmark), see
docs/exchange/github-action-benchmark.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import itemgetter
from typing import Any, ClassVar, Literal

import msgspec

from perfvcs.formats._foreign import NoResults, bounded
from perfvcs.formats._metric import direction, judged, quantity, written
from perfvcs.formats._readings import COMMIT_ID, Reading, ReadingValue, profile_of, tells, typed
from perfvcs.profile import Metric, Profile
from perfvcs.profile.validity import Malformed

BEFORE = re.compile(rb"\s*window\.BENCHMARK_DATA\s*=\s*")
# tools whose values are rates, as the action takes them
HIGHER = ("benchmarkjs", "pytest", "customBiggerIsBetter")
LATEST_MILLISECOND = 253402300799000  # ms: the end of the year 9999


class _Commit(msgspec.Struct):
    id: str
    timestamp: str = ""


class _Bench(msgspec.Struct):
    """``range`` is a text such as "± 3", which is left out."""

    name: str
    value: ReadingValue = None
    unit: str = ""


class _Entry(msgspec.Struct):
    commit: _Commit
    benches: list[_Bench]
    tool: str = ""
    date: int | None = None


class _Data(msgspec.Struct):
    entries: dict[str, list[_Entry]]


@dataclass(frozen=True)
class GithubActionBenchmark:
    """The history of many commits: an entry is one profile, of one execution with one value for
    each benchmark.
    """

    suffixes: ClassVar[tuple[str, ...]] = (".data.js",)
    file: ClassVar[str] = "data.js"

    def recognises(self, name: str, head: bytes) -> bool:  # noqa: ARG002 - any name will do
        """By the name of the variable, or by the fields of the data alone."""
        return BEFORE.match(head) is not None or tells(head, "lastUpdate", "entries")

    def encode(self, profile: Profile) -> bytes:
        """One entry, or two where more is better of some metrics: the means of all that is judged.

        Raises Malformed without any.
        """
        return self.encode_all([profile])

    def encode_all(self, profiles: Iterable[Profile]) -> bytes:
        """The history of several profiles, the entries of each suite in the order of time; else as
        ``encode``.
        """
        suites: dict[str, list[dict[str, Any]]] = {}
        for profile in profiles:
            for suite, entry in _entries(profile):
                suites.setdefault(suite, []).append(entry)
        for entries in suites.values():
            entries.sort(key=itemgetter("date"))
        newest = max((entries[-1]["date"] for entries in suites.values()), default=0)
        return b"window.BENCHMARK_DATA = " + written(
            {"lastUpdate": newest, "repoUrl": "", "entries": suites}
        )

    def decode(self, document: bytes, stem: str = "") -> Profile:
        """The profile of a file with one entry; raises NoResults, and Malformed with the place,
        also for several.
        """
        profile, *more = self.decode_all(document, stem)
        if more:
            raise Malformed(f"it has {len(more) + 1:,} entries, each a profile of its own")
        return profile

    def decode_all(self, document: bytes, stem: str = "") -> Iterator[Profile]:  # noqa: ARG002 - suites have names
        """The profile of each entry; raises NoResults, and Malformed with the place."""
        text = bounded(document)
        before = BEFORE.match(text)
        data = text[before.end() if before else 0 :].rstrip().removesuffix(b";")
        entries = [
            (suite, entry)
            for suite, of_suite in typed(data, _Data).entries.items()
            for entry in of_suite
        ]
        if not any(bench.value is not None for _, entry in entries for bench in entry.benches):
            raise NoResults("it has no results: no entry has a value")
        for suite, entry in entries:
            if not COMMIT_ID.fullmatch(entry.commit.id):
                raise Malformed(f"$.entries: {entry.commit.id[:80]!r} is not a full commit id")
            if any(bench.value is not None for bench in entry.benches):
                yield _profile(suite, entry)


def _entries(profile: Profile) -> Iterator[tuple[str, dict[str, Any]]]:
    """The entries of a profile with their suites: the means of all that is judged."""
    results = judged(profile)
    several = len({benchmark.metric for benchmark in results}) > 1
    when = profile.collected.started
    moment = round(datetime.fromisoformat(when).timestamp() * 1000) if when else 0
    for better, tool in (("lower", "customSmallerIsBetter"), ("higher", "customBiggerIsBetter")):
        benches = [
            {
                "name": f"{benchmark.name} {benchmark.metric}" if several else benchmark.name,
                "value": benchmark.mean,
                "unit": benchmark.definition.unit,
            }
            for benchmark in results
            if benchmark.definition.better == better
        ]
        if benches:
            suite = profile.job.label + (" (more is better)" if better == "higher" else "")
            yield (
                suite,
                {
                    "commit": {"id": profile.commit, "timestamp": when},
                    "date": moment,
                    "tool": tool,
                    "benches": benches,
                },
            )


def _better(tool: str, unit: str) -> Literal["lower", "higher", "none"]:
    """Which direction is better: what somebody chose, else what the unit says, else what the tool's
    values are.

    Go writes MB/s beside its times, JMH rates as well as times, and a variant of the action no
    tool.
    """
    said = direction(unit)
    if tool.startswith("custom") or (tool and said == "none"):
        return "higher" if tool in HIGHER else "lower"
    return said


def _profile(suite: str, entry: _Entry) -> Profile:
    metrics: dict[str, Metric] = {}
    readings = []
    for bench in entry.benches:
        measured = quantity(bench.unit, _better(entry.tool, bench.unit))
        metrics.setdefault(measured.metric, measured.definition)
        readings.append(Reading(bench.name, {measured.metric: [measured.moved(bench.value)]}))
    when = entry.date if entry.date is not None and 0 < entry.date < LATEST_MILLISECOND else None
    started = (
        datetime.fromtimestamp(when / 1000, UTC).isoformat() if when else entry.commit.timestamp
    )
    # the entry alone names the session, so that a file that has grown brings the same profiles
    # again
    return profile_of(
        msgspec.json.encode([suite, entry]),
        "github-action-benchmark",
        readings,
        metrics,
        commit=entry.commit.id,
        name=suite,
        started=started,
    )
