"""Which benchmarks a name means: the one resolver of all commands.

A name is accepted as it is printed, whole or short, with its collector, environment or metric
behind it, or as a part of it that nothing else has.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from perfvcs.errors import LONGEST_NAME, UsageError, nearest
from perfvcs.profile.naming import Benchmark, Kind, Spelling, brief, plain, spelling, typed
from perfvcs.text.characters import visible
from perfvcs.text.words import metric_name

ALIKE = 0.7  # how much of the end of a name is as it was written, from which on it is suggested
LAST_PART = re.compile(r"::|[:/.] *")  # what stands before the last part of a name
MOST_MATCHES = 8  # candidates that a message lists
ELLIPSIS = "…"  # what ``shorten`` puts in the middle of a long name
# what stands between a benchmark and its metric: in sentences, `perf accept`, lists and columns
BEFORE_METRIC = (", ", ": ", ":", " ")


class Meaning(NamedTuple):
    """The positions of what a name means, and the metric that stood behind it."""

    places: Sequence[int] = ()
    metric: str = ""


class Ambiguous(UsageError):
    """A name, or a part of one, means several things."""


def meant(
    given: str,
    known: Sequence[Benchmark],
    kind: Kind = "benchmark",
    *,
    several: bool = False,
    whole: bool = False,
) -> Meaning:
    """The positions in ``known`` of what a name means; none where nothing has such a name.

    ``kind`` "job" reads names of jobs only, "unit" those of units first, "metric" those of metrics.

    1. A whole name means all that has it; aliases, such as a unit without its job, come after.
    2. Else a part means the coarsest thing in whose name it is: "asc" means the unit "run: ascii"
       at all of its sizes. Names that begin with it precede those that have it elsewhere, and with
       ``several`` all of these are meant. Case counts only where a name is whole. Where it has to
       be ``whole``, a part means nothing.
    3. Behind the name its collector or environment may stand in brackets, and its metric. What has
       no metric of its own is meant under any.

    Raises Ambiguous with the candidates.

    >>> runs = [Benchmark("run", "run", uid=uid, metric="wall") for uid in ("ascii", "kanji")]
    >>> meant("asc", runs).places, meant("run", runs).places, meant("run: kanji, wall time", runs)
    ([0], [0, 1], Meaning(places=[1], metric='wall'))
    """
    if not plain(given).strip():
        return Meaning()
    spelled = list(map(spelling(kind), known))
    readings = list(_readings(plain(given), known, kind))
    of_metrics = [item.metric for item in known]
    ways = (_whole, partial(_partly, given, kind, several=several))
    for find in ways[: 1 if whole else 2]:
        for reading in readings:
            places = find(reading, spelled)
            if places and (
                not reading.metric or reading.metric in map(of_metrics.__getitem__, places)
            ):
                return Meaning(places, reading.metric)
    return Meaning()


def resolved(
    given: str,
    known: Sequence[Benchmark],
    kind: Kind = "benchmark",
    *,
    several: bool = False,
    whole: bool = False,
) -> Meaning:
    """As ``meant`` has it; raises UsageError with the candidates where nothing has such a name."""
    meaning = meant(given, known, kind, several=several, whole=whole)
    if not meaning.places:  # who wants whole names takes whole jobs
        raise unknown(given, known, "job" if whole else kind)
    return meaning


def unknown(given: str, known: Iterable[Benchmark], kind: Kind = "benchmark") -> UsageError:
    """The error about a name that nothing has."""
    return UsageError(f"no {kind} is called `{brief(given)}`{candidates(given, known, kind)}")


def candidates(given: str, known: Iterable[Benchmark], kind: Kind = "benchmark") -> str:
    """The end of a message about a name that nothing has: what was meant, or all there is, as it
    can be typed.
    """
    spelled = map(spelling(kind), known)
    listed = (item.also if kind == "metric" else item.names for item in spelled)
    names = list(dict.fromkeys(name for several in listed for name in several if name))
    if not names:
        return ": nothing was measured yet"
    from difflib import get_close_matches

    ends = {LAST_PART.split(name)[-1]: name for name in names if len(name) <= LONGEST_NAME}
    for end in get_close_matches(given[:LONGEST_NAME], ends, n=1, cutoff=ALIKE):
        return f"; did you mean `{typed(ends[end])}`?"
    return nearest(given, names, shown=typed)


def require_one_job(given: str, benchmarks: Iterable[Benchmark]) -> None:
    """Refuse a unit that several jobs have where one benchmark is followed; raises Ambiguous."""
    by_job = {benchmark.name: benchmark for benchmark in benchmarks}
    if len(by_job) > 1:
        names = [f"{name}: {benchmark.uid}" for name, benchmark in by_job.items()]
        raise _ambiguous(given, names, "benchmark", "name one of them")


class _Reading(NamedTuple):
    """One way to read a name: what is left without what stands behind it, the positions of what has
    all that, and the metric.
    """

    name: str
    places: Sequence[int]
    metric: str = ""


def _readings(wanted: str, known: Sequence[Benchmark], kind: Kind) -> Iterator[_Reading]:
    """The name as it is, without its metric, without its collector and environment, each in
    brackets, and without all of these.
    """
    heads = [_Reading(wanted, range(len(known)))]
    yield heads[0]
    if kind == "metric":
        return
    for metric in dict.fromkeys(item.metric for item in known if item.metric):
        for word in dict.fromkeys((metric, metric_name(metric))):
            if name := _before(wanted, word):
                having = [place for place, item in enumerate(known) if item.metric in ("", metric)]
                heads.append(_Reading(name, having, metric))
                yield heads[-1]
    for head in heads:
        name, inside = _brackets(head.name)
        if inside and head.places:
            begins, _ = _patterns(inside.casefold())
            labels = {item.label for item in known if begins(item.environment.casefold())}
            behind = [
                place
                for place in head.places
                if known[place].collector == inside or known[place].label in labels
            ]
            heads.append(_Reading(name, behind, head.metric))
            yield heads[-1]


def _brackets(name: str) -> tuple[str, str]:
    """A name without the brackets at its end, and what is in them: ``sort (time)``, ``sort (in
    3.12)``; empty without any.
    """
    depth, name = 0, name.rstrip()
    if not name.endswith(")"):
        return name, ""
    for place in range(len(name) - 1, -1, -1):
        depth += (name[place] == ")") - (name[place] == "(")
        if not depth:
            return name[:place].rstrip(), name[place + 1 : -1].removeprefix("in ")
    return name, ""


def _before(wanted: str, metric: str) -> str:
    """What stands before a metric's name; empty where a name does not end with it."""
    if wanted.endswith(metric):
        head = wanted.removesuffix(metric)
        for between in BEFORE_METRIC:
            if head.endswith(between):
                return head.removesuffix(between).rstrip()
    return ""


def _whole(reading: _Reading, spelled: Sequence[Spelling]) -> list[int]:
    """The positions of what is called exactly so: by a name, else an alias; as it is, else as it
    was printed, on however many lines, else by the only name that was shortened so.
    """
    name, places, _ = reading
    if not name:  # a collector alone stands for all that it measures
        return list(places)
    for written, wanted in ((str, name), (_as_printed, _as_printed("".join(name.split())))):
        for of in (0, 1):
            if found := [place for place in places if wanted in map(written, spelled[place][of])]:
                return found
    if ELLIPSIS not in name:
        return []
    begins, _ = _patterns(name.casefold())
    by_name = _named(places, spelled, begins, aliases=True)
    return next(iter(by_name.values())) if len(by_name) == 1 else []


def _named(
    places: Iterable[int],
    spelled: Sequence[Spelling],
    test: Callable[[str], bool],
    *,
    aliases: bool = False,
) -> dict[str, list[int]]:
    """Some positions by the coarsest name that passes a test; of those that have one."""
    by_name: dict[str, list[int]] = {}
    for place in places:
        names, also = spelled[place]
        for name in (*names, *(also if aliases else ())):
            if test(plain(visible(name)).casefold()):
                by_name.setdefault(name, []).append(place)
                break
    return by_name


def _partly(
    given: str, kind: Kind, reading: _Reading, spelled: Sequence[Spelling], *, several: bool
) -> list[int]:
    """The positions of what has the words in its name; raises Ambiguous."""
    if not reading.name.strip():
        return []
    begins, contains = _patterns(reading.name.casefold())
    for test in (begins, contains):
        by_name = _named(reading.places, spelled, test, aliases=ELLIPSIS in reading.name)
        if len(by_name) == 1 or (several and test is begins and by_name):
            return [place for places in by_name.values() for place in places]
        if by_name:
            raise _ambiguous(given, list(by_name), kind, "write more of the name")
    return []


def _as_printed(name: str) -> str:
    """A name as a terminal shows it, without the spaces at which its lines are broken."""
    return "".join(plain(visible(name)).split())


def _patterns(wanted: str) -> tuple[Callable[[str], bool], Callable[[str], bool]]:
    """Whether a name begins with the words, and whether it contains them; where a shortened one has
    an ellipsis anything may be.
    """
    parts = wanted.split(ELLIPSIS)

    def contains(name: str, start: int = 0) -> bool:
        for part in parts:
            index = name.find(part, start)
            if index < 0:
                return False
            start = index + len(part)
        return True

    def begins(name: str) -> bool:
        return (
            name.startswith(parts[0])
            and contains(name)
            and (len(parts) == 1 or name.endswith(parts[-1]))
        )

    return begins, contains


def _ambiguous(given: str, names: Sequence[str], kind: Kind, cure: str) -> Ambiguous:
    """The candidates as they can be typed, those that look alike by what tells them apart."""
    listed = ", ".join(map(typed, names[:MOST_MATCHES]))
    more = f" and {len(names) - MOST_MATCHES:,} more" if len(names) > MOST_MATCHES else ""
    return Ambiguous(f"`{brief(given)}` matches {len(names):,} {kind}s: {listed}{more}: {cure}")
