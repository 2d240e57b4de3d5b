"""What makes a comparison doubtful besides its numbers: other outputs, processes that were left
running, a cache, another build. One place for all that report verdicts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite
from operator import itemgetter
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from perfvcs.check.change import Change, Report, exceeded
from perfvcs.check.comparability import builds_unknown, installed_otherwise
from perfvcs.check.vocabulary import ONE_SIDED, WORDS
from perfvcs.profile import FIRST_OUTPUT, FIRST_WALL, TRACED_WALL
from perfvcs.profile.naming import is_whole
from perfvcs.text.characters import shorten
from perfvcs.text.words import counted, listed

if TYPE_CHECKING:
    from perfvcs.check.case import Case, Chosen
    from perfvcs.profile.summary import Measured

JOB = 40  # characters of a job's name
SENTENCE = 200  # characters of what is said of one
LEFT = " left "  # between a job's name and the processes that it left running
MOST_JOBS = 3  # that a remark names
DIFFERS, VARIES = "differs", "varies"
# a first execution that takes so many times the median of the others is remarked on, if it takes
# that many seconds more: starting a program the first time takes some of it
CACHE_RATIO, CACHE_SECONDS = 2.0, 0.02
FEWEST_LATER = 2  # executions that a first one is compared with
WALL = "wall"


class Doubts(NamedTuple):
    """What is to be said of a report: ``remarks``, a sentence each; the jobs whose ``outputs``
    differ, those among them whose output had to stay the same (``wrong``), and by series which
    processes were left ``running``, by job in ``left``.
    """

    remarks: list[str]
    outputs: list[str]
    wrong: list[str]
    left: list[str]
    running: Mapping[str, str]


def doubts(cases: Sequence[Case]) -> Doubts:
    """The doubts about the sides of some cases; remarks that are about several jobs once."""
    remarks: dict[str, dict[str, None]] = defaultdict(dict)
    outputs: dict[str, bool] = {}
    left: dict[str, str] = {}
    running: dict[str, str] = {}
    seen: set[int] = set()
    for case in cases:
        chosen = case.chosen
        if id(chosen) in seen:
            continue
        seen.add(id(chosen))
        for remark in _remarks(case):
            remarks[remark][case.job] = None
        required = any(
            measured.results is not None and measured.results.same_output
            for side in chosen.sides
            for measured in side
        )
        output = _output(chosen)
        if output == DIFFERS:
            outputs[case.job] = outputs.get(case.job, False) or required
        elif output == VARIES and required:
            remarks[
                "the output varies between executions of one side, so that `same_output` cannot be"
                " checked: take out what varies with `normalise`"
            ][case.job] = None
        if names := _left(chosen):
            running[case.series] = names
            left.setdefault(case.job, f"{case.job}{names}")
    return Doubts(
        [_about(list(names), remark) for remark, names in remarks.items()],
        list(outputs),
        [job for job, required in outputs.items() if required],
        list(left.values()),
        running,
    )


def doubted(changes: Iterable[Change], running: Mapping[str, str]) -> list[Change]:
    """The changes; those of series whose executions left processes ``running`` are inconclusive,
    since their work is in no number.
    """
    return [
        msgspec.structs.replace(
            change,
            word="inconclusive",
            gate=False,
            bound=None,
            reason=f"it{running[change.series]}: wait for what it starts",
        )
        if change.series in running and WORDS[change.word].compared
        else change
        for change in changes
    ]


def first_said(report: Report) -> str:
    """What comes before anything about speed: outputs that differ, processes that were left
    running, and units that vanished; empty where there is none.
    """
    parts = _limits(report)
    if report.outputs:
        names = listed([shorten(job, JOB) for job in report.outputs], MOST_JOBS)
        required = ", and had to stay the same" if report.wrong else ""
        parts.append(f"the output of {names} differs{required}")
    if report.left:
        more = f", and so for {counted(len(report.left) - 1, 'other job')}"
        parts.append(shorten(report.left[0], SENTENCE) + (more if len(report.left) > 1 else ""))
    # of what was not measured at all, nothing vanished
    present = {change.series for change in report.changes if change.word not in ONE_SIDED}
    missing = [one for one in report.changes if one.word == "missing" and one.series in present]
    if gone := list(dict.fromkeys(map(_unit, missing))):
        names = listed([shorten(name, JOB) for name in gone], MOST_JOBS)
        parts.append(
            f"{names} vanished: only the baseline has {'it' if len(gone) == 1 else 'them'}"
        )
    return "; ".join(parts)


def _limits(report: Report) -> list[str]:
    """The first limit that is exceeded, and how many more are."""
    beyond = exceeded(report.limits)
    if not beyond:
        return []
    others = counted(len(beyond) - 1, "more limit exceeded", "more limits exceeded")
    return [beyond[0].said + (f", and {others}" if len(beyond) > 1 else "")]


def _unit(change: Change) -> str:
    return change.job if is_whole(change.job, change.uid) else f"{change.job}: {change.uid}"


def _about(names: Sequence[str], remark: str) -> str:
    more = len(names) - 1
    others = f" and {counted(more, 'other')}" if more else ""
    return f"{shorten(names[0], JOB)}{others}: {remark}"


def _remarks(case: Case) -> Iterator[str]:
    """The remarks on the sides of one benchmark."""
    chosen = case.chosen
    old, new = chosen.baseline[-1].header, chosen.target[-1].header
    yield from builds_unknown(old, new)
    if moved := installed_otherwise(old, new):
        yield moved
    starts = [_starts(case.header.job.name, side) for side in chosen.sides]
    for place, name in enumerate(("baseline", "target")):
        if slow := _slow_start(starts[place], starts[1 - place]):
            yield f"{slow} on the {name}: a cache? `isolate = true` gives each a home of its own"


def _output(chosen: Chosen) -> str:
    """``differs`` where the outputs of both sides differ and each is stable in itself, ``varies``
    where one is not; empty where they are the same, or are not known.
    """
    sides = [_digests(side) for side in chosen.sides]
    if not all(sides):
        return ""
    if all(len(set(side.values())) == 1 for side in sides):
        first, second = (next(iter(side.values())) for side in sides)
        return "" if first == second else DIFFERS
    if chosen.paired and sides[0].keys() & sides[1].keys():
        both = sides[0].keys() & sides[1].keys()
        if all(sides[0][key] == sides[1][key] for key in both):
            return ""
    return VARIES


def _digests(side: Sequence[Measured]) -> dict[tuple[int, int], str]:
    """The digests of the executions of one side, by the place of their profile and their number; of
    one whose output was too much to be read then, that of its warm-up.
    """
    digests: dict[tuple[int, int], str] = {}
    for place, measured in enumerate(side):
        results = measured.results
        read = zip(results.execution, results.output, strict=True) if results else ()
        found = {(place, number): digest for number, digest in read if digest}
        first = measured.header.environment.notes.get(FIRST_OUTPUT, "")
        digests |= found or ({(place, -1): first} if first else {})
    return digests


def _left(chosen: Chosen) -> str:
    """Which processes the executions of the sides left running, in words; empty without any."""
    for name, side in zip(("target", "baseline"), reversed(chosen.sides), strict=True):
        for measured in side:
            names = [left for left in (measured.results.left if measured.results else ()) if left]
            if names:
                return f"{LEFT}{names[0]} running on the {name}"
    return ""


class _Start(NamedTuple):
    """The wall times of a first execution and of the later ones, in s.

    ``traced``: the first one recorded functions, which takes time.
    """

    first: float
    later: list[float]
    traced: bool

    @property
    def usual(self) -> float:
        """What a later execution takes."""
        return median(self.later)


def _starts(unit: str, side: Sequence[Measured]) -> list[_Start]:
    """How the sessions of one side started, as far as it is known."""
    starts = []
    for measured in side:
        walls, notes = _walls(unit, measured), measured.header.environment.notes
        noted = next(
            (_number(notes[key]) for key in (FIRST_WALL, TRACED_WALL) if key in notes), None
        )
        first, later = (noted, walls) if noted is not None else (next(iter(walls), None), walls[1:])
        if first is not None and len(later) >= FEWEST_LATER:
            starts.append(_Start(first, later, TRACED_WALL in notes))
    return starts


def _slow_start(starts: Sequence[_Start], others: Sequence[_Start]) -> str:
    """In words, that the first execution took far longer than the later ones did; empty where it
    did not.

    Where the first one was traced, it is compared with that of the ``others``, the other side.
    """
    comparable = [start for start in others if start.traced and start.usual > 0]
    traced = min((start.first / start.usual for start in comparable), default=None)
    for start in starts:
        extra = traced if start.traced else 1.0
        if extra is None:
            continue
        first = start.first / max(1.0, extra)
        if first <= CACHE_RATIO * max(start.later):
            continue
        usual = start.usual
        if usual > 0 and first - usual > CACHE_SECONDS:
            return f"the first execution took {first / usual:.1f} times as long as later ones"
    return ""


def _walls(unit: str, measured: Measured) -> list[float]:
    """The wall times of the whole process, in s, in the order of the executions."""
    for summary in measured.summaries:
        if summary.uid == unit and summary.metric == WALL:
            ordered = sorted(zip(summary.executions, summary.medians, strict=True))
            return [*filter(isfinite, map(itemgetter(1), ordered))]
    return []


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:  # of a profile that somebody wrote
        return None
    return value if isfinite(value) else None
