"""Which benchmarks a command is about: what the names and options of a command line leave."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from msgspec import Struct

from perfvcs.profile.naming import Benchmark, plain
from perfvcs.text.words import metric_name

Way = Literal["usual", "several", "one", "whole"]


class FilterWords(NamedTuple):
    """What somebody wrote: a benchmark's ``name``, ``jobs`` (-j), a ``unit`` (-u) and a ``metric``
    (-m), whole or in part; what is empty leaves everything. ``behind``: the name, or none,
    stood behind ``--``, and no other word is one.
    """

    name: str = ""
    jobs: tuple[str, ...] = ()
    unit: str = ""
    metric: str = ""
    behind: bool = False

    @property
    def text(self) -> str:
        """The words in one line, for messages."""
        return ", ".join(filter(None, (self.name, *self.jobs, self.unit, self.metric)))


NO_WORDS = FilterWords()


class UnitAtSize(NamedTuple):
    """A unit of a job (its label), at a size; None: at all of its sizes."""

    job: str
    uid: str
    size: float | None


class BenchmarkFilter(Struct, frozen=True):
    """Which benchmarks are meant; what is empty holds for all.

    ``cells`` are labels of jobs with their collectors, ``units`` some of theirs (of a label that
    has none here, all). ``uid`` is a unit of which nothing is stored yet. ``others`` are the series
    of collectors that are not meant. ``words`` are what somebody wrote.
    """

    cells: frozenset[tuple[str, str]] = frozenset()
    units: frozenset[UnitAtSize] = frozenset()
    metric: str = ""
    uid: str = ""
    others: frozenset[str] = frozenset()
    words: FilterWords = NO_WORDS

    @property
    def text(self) -> str:
        """What somebody wrote, for messages."""
        return self.words.text

    @property
    def arguments(self) -> str:
        """The words as they are typed behind a command, with a space before each.

        >>> words = FilterWords("run: a b", ("old",), metric="wall")
        >>> BenchmarkFilter(words=words).arguments
        " -j old -m wall 'run: a b'"
        """
        words = self.words
        options = [("-j ", job) for job in words.jobs]
        options += [("-u ", words.unit), ("-m ", words.metric)]
        explicit = "--unit=" if self.units else "--job="
        named = explicit if words.behind or words.name.startswith("-") else ""
        options.append((named, words.name))
        return "".join(f" {option}{shlex.quote(value)}" for option, value in options if value)

    def __bool__(self) -> bool:
        return bool(self.cells or self.units or self.metric or self.uid)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the jobs that are meant; none: all jobs."""
        return tuple(sorted({label for label, _ in self.cells}))

    @property
    def jobs(self) -> tuple[str, ...]:
        """The jobs that are meant, as their names are read: each with its collector."""
        return tuple(sorted(f"{label} ({collector})" for label, collector in self.cells))

    @property
    def alone(self) -> tuple[tuple[str, str, str], ...]:
        """Of each job of which one unit alone is meant: its label, its collector and the unit."""
        uids: dict[str, set[str]] = {}
        for unit in self.units:
            uids.setdefault(unit.job, set()).add(unit.uid)
        single = {label: min(of_job) for label, of_job in uids.items() if len(of_job) == 1}
        return tuple(
            (label, collector, single[label])
            for label, collector in sorted(self.cells)
            if label in single
        )

    def has_job(self, label: str, collector: str = "") -> bool:
        """Whether a job is meant, or a unit of it; empty: under any collector."""
        if not self.cells:
            return True
        return (label, collector) in self.cells if collector else label in self.labels

    def has(
        self, job: str, uid: str, size: float | None = None, metric: str = "", series: str = ""
    ) -> bool:
        """Whether a unit at a size is meant, under a metric and in a series where these are
        given.
        """
        if metric and self.metric and metric != self.metric:
            return False
        if not self.has_job(job) or series in self.others:
            return False
        if self.uid and uid != self.uid:
            return False
        if not any(unit.job == job for unit in self.units):
            return True
        at_sizes = {UnitAtSize(job, uid, None), UnitAtSize(job, uid, size)}
        return not self.units.isdisjoint(at_sizes)


EVERYTHING = BenchmarkFilter()


def variants(benchmark: Benchmark) -> Iterator[Benchmark]:
    """What a benchmark is a part of, the coarsest first: its job, its unit at all sizes; last
    itself.
    """
    job = benchmark._replace(uid="", size=None, metric="", environment="")
    yield job
    if benchmark.uid:
        yield job._replace(uid=benchmark.uid)
    yield benchmark


def catalogue(benchmarks: Iterable[Benchmark]) -> list[Benchmark]:
    """All that names can mean, each once."""
    return list(dict.fromkeys(part for item in benchmarks for part in variants(item)))


def chosen(known: Sequence[Benchmark], words: FilterWords, way: Way = "usual") -> BenchmarkFilter:
    """The filter that words mean among what a ``catalogue`` has, read in a ``way``.

    ``several``: all whose names begin with the benchmark's are meant. ``one``: what is named is
    followed alone, so a unit of several jobs is refused. ``whole``: jobs and benchmarks are named
    in full. Raises UsageError with the candidates.
    """
    if not words.text:
        return EVERYTHING
    from perfvcs.profile.resolver import require_one_job, resolved

    left, metric = list(known), ""
    if words.jobs:
        places = {
            place
            for job in words.jobs
            for place in resolved(job, left, "job", whole=way == "whole").places
        }
        left = [left[place] for place in sorted(places)]
    if words.name:
        meaning = resolved(words.name, left, several=way == "several", whole=way == "whole")
        left, metric = [left[place] for place in meaning.places], meaning.metric
        if way == "one":
            require_one_job(words.name, left)
    uid = words.unit
    units = [item for item in left if item.uid]
    if uid and units:
        meaning = resolved(uid, units, "unit")
        left, uid, metric = [units[place] for place in meaning.places], "", meaning.metric or metric
    if words.metric:
        metric = _metric(words.metric, left)
    if not (words.name or words.jobs or words.unit):
        return BenchmarkFilter(metric=metric, words=words)
    cells = frozenset((item.label, item.collector) for item in left)
    narrow = words.name or words.unit
    return BenchmarkFilter(cells, _units(left) if narrow else frozenset(), metric, uid, words=words)


def _metric(given: str, known: Sequence[Benchmark]) -> str:
    """The metric of that name, or with that word in what it is called (``CPU``); as it is written
    where nothing is stored.
    """
    measured = [item for item in known if item.metric]
    if not measured:
        return given
    from perfvcs.profile.resolver import resolved, unknown

    metric = measured[resolved(given, measured, "metric").places[0]].metric
    called = metric_name(metric).casefold()
    if plain(given).casefold() not in (metric.casefold(), called, *called.split()):
        raise unknown(given, measured, "metric")  # a part of a word may be a slip
    return metric


def _units(chosen: Sequence[Benchmark]) -> frozenset[UnitAtSize]:
    """The units that are chosen of jobs that are not chosen as a whole."""
    whole = {item.label for item in chosen if not item.uid}
    return frozenset(
        UnitAtSize(item.label, item.uid, item.size) for item in chosen if item.label not in whole
    )
