"""What `perf check` says of two commits, kept by what it was computed from, so that pages and
listings say the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import NamedTuple

import msgspec
from msgspec.structs import astuple, replace

from perfvcs import __version__
from perfvcs.check import compare, earlier_sessions
from perfvcs.check.change import Change
from perfvcs.check.pastsessions import Centres, EarlierSessions, Unit
from perfvcs.check.samples.newestsession import Compared, newest_sessions
from perfvcs.check.vocabulary import ACCEPTABLE, WORDS
from perfvcs.history.finding import relative
from perfvcs.history.profilereader import NotOpened, ProfileReader, Read, unopened
from perfvcs.index.lines import Course, Line
from perfvcs.index.seriesresults import keyed
from perfvcs.profile.rules import Rules
from perfvcs.profile.summary import Measured
from perfvcs.repository import NEAREST_ANCESTORS, Repository
from perfvcs.repository.state import State
from perfvcs.system.children import shared
from perfvcs.text.quantity import at_sizes

VERSION = 11  # of what is kept
PAIRS_TOGETHER = 3  # pairs judged side by side: with more, forks would share too few parts
PAIRS_AT_ONCE = 144  # pairs whose profiles are in memory at once
ComparedSeries = tuple[object, ...]


class CommitPair(NamedTuple):
    """Two commits, the older one first, and the fingerprint of their environment."""

    before: str
    after: str
    environment: str


class Verdict(msgspec.Struct, frozen=True, array_like=True):
    """A row of a report of `perf check`; see ``Change``.

    ``size`` is None for a curve, too, whose numbers are those ``at`` some sizes.
    """

    series: str
    uid: str
    size: float | None
    metric: str
    unit: str
    better: str
    word: str
    effect: float | None
    low: float | None
    high: float | None
    p: float | None
    baseline: float | None
    target: float | None
    delta: float | None
    paired: bool
    gate: bool
    reason: str
    job: str
    accepted: str | None = None
    at: tuple[float, float] | None = None
    work: str = ""
    finding: str = ""
    since: str = ""
    preceding: str = ""

    @classmethod
    def of(cls, change: Change) -> Verdict:
        """The part of a change that is kept."""
        at = change.curve.at if change.curve else None
        return cls(
            **{name: getattr(change, name) for name in cls.__struct_fields__ if name != "at"}, at=at
        )

    def change(self, environment: str = "") -> Change:
        """As a row of a report, for whoever says it."""
        known = {name: getattr(self, name) for name in self.__struct_fields__ if name != "at"}
        return Change(**known, environment=environment)

    @property
    def shift(self) -> None:
        """The difference in the metric's unit, which is not kept."""

    @property
    def settled(self) -> bool:
        """Whether it was measured in turns, and is known to have changed or to be the same."""
        return self.paired and WORDS[self.word].settled

    @property
    def changed(self) -> bool:
        """Whether it is known to have changed."""
        return WORDS[self.word].sure


PairVerdicts = dict[ComparedSeries, Verdict]


def of_line(rows: PairVerdicts, line: Line, moved: float) -> Verdict | None:
    """The verdict on a line among those of a pair; ``moved`` is the difference of its own levels,
    as logarithms.

    The numbers of a curve's verdict are those of some sizes. Others have changed with the curve
    only where their own levels did.
    """
    measured = (line.metric, line.unit, line.better)
    of_size = rows.get((line.job.key, line.uid, line.size, *measured))
    if of_size or line.size is None:
        curve = None
    else:
        curve = rows.get((line.job.key, line.uid, None, *measured))
    if (
        curve is None
        or curve.at is None
        or line.size is None
        or not curve.changed
        or curve.at[0] <= line.size <= curve.at[1]
    ):
        return of_size or curve
    own_effect, curve_effect = relative(moved) or 0.0, curve.effect or 0.0
    unknown = replace(curve, effect=None, low=None, high=None, baseline=None, target=None, at=None)
    if own_effect * curve_effect > 0 and abs(own_effect) >= (curve.delta or 0.0):
        return replace(unknown, effect=own_effect)
    return replace(
        unknown,
        word="inconclusive",
        p=None,
        reason=f"the curve {'fell' if curve_effect < 0 else 'rose'} {at_sizes(curve.at)}",
    )


class Verdicts:
    """The verdicts on pairs of commits, each as `perf check BEFORE AFTER` gives it from what is
    stored, by the rules of the earlier one.

    At most so many that are not known yet are computed at once (None: all of them); of more, none
    is, and ``left_out`` counts them. ``along``: all ancestors with profiles of any commit asked
    about are among these commits, oldest first, which saves looking.
    """

    def __init__(
        self,
        repository: Repository,
        along: Sequence[str] = (),
        *,
        delta: float | None = None,
        most: int | None = None,
    ) -> None:
        self._repository = repository
        self._along = along
        self._delta = delta
        self._most = most
        self.left_out = 0
        self._marks: dict[str, int] = {}
        self._places = {commit: place for place, commit in enumerate(along)}
        self._windows: dict[str, list[str]] = {}
        self._found: dict[CommitPair, PairVerdicts] = {}

    def of(self, pairs: Iterable[CommitPair]) -> dict[CommitPair, PairVerdicts]:
        """The verdicts by what they are about; pairs with too many profiles to open are missing."""
        wanted = dict.fromkeys(pairs)
        asked = [pair for pair in wanted if pair not in self._found]
        if asked:
            self._found |= self._asked(asked)
        return {pair: self._found[pair] for pair in wanted if pair in self._found}

    def along(
        self,
        lines: Mapping[int, Line],
        courses: Mapping[int, Course],
        commits: Sequence[str],
        compared: Mapping[int, Iterable[tuple[int, int]]],
    ) -> dict[int, dict[int, Verdict]]:
        """The verdicts on two elements each of courses along ``commits``, the older one first, by
        line and the newer element.
        """
        asked: dict[tuple[int, CommitPair], list[tuple[int, int, int]]] = defaultdict(list)
        for number, elements in compared.items():
            places, environment = courses[number].places, lines[number].environment.fingerprint
            for old, new in elements:
                pair = CommitPair(commits[places[old]], commits[places[new]], environment)
                asked[places[new], pair].append((number, old, new))
        newest = sorted(asked, reverse=True)  # first: not all profiles may be opened
        reports = self.of(pair for _, pair in newest)
        by_line: dict[int, dict[int, Verdict]] = defaultdict(dict)
        for place, pair in newest:
            for number, old, new in asked[place, pair]:
                levels = courses[number].levels
                moved = levels[new] - levels[old]
                if verdict := of_line(reports.get(pair, {}), lines[number], moved):
                    by_line[number][new] = verdict
        return by_line

    def _asked(self, asked: Sequence[CommitPair]) -> dict[CommitPair, PairVerdicts]:
        self._marks = self._repository.index.marks()
        self._repository.criteria_reader.ask(
            commit for pair in asked for commit in (pair.before, pair.after)
        )
        key_of = keyed(
            f"verdicts {VERSION} {__version__} {self._repository.former!r} {self._delta!r}"
        )
        keys = {pair: key_of(*self._basis(pair)) for pair in asked}
        remembered = self._repository.index.findings
        verdicts_by_key = remembered.recall(list(keys.values()), list[Verdict])
        new = [pair for pair in asked if keys[pair] not in verdicts_by_key]
        if self._most is not None and len(new) > self._most:
            self.left_out, new = self.left_out + len(new), []
        reader = ProfileReader(self._repository)
        # neighbours one after another, which have nearly all earlier profiles in common; then, in
        # the order in which they were asked for, those whose profiles have to be opened
        near = sorted(new, key=lambda pair: (pair.environment, self._places.get(pair.after, 0)))
        for order, read in ((near, None), (new, reader.read)):
            left = [pair for pair in order if keys[pair] not in verdicts_by_key]
            for start in range(0, len(left), PAIRS_AT_ONCE):
                verdicts = self._computed(left[start : start + PAIRS_AT_ONCE], read)
                computed = {keys[pair]: rows for pair, rows in verdicts.items()}
                remembered.keep(computed)
                verdicts_by_key |= computed
                if reader.left < 0:
                    break
        return {
            pair: self._rows(pair, verdicts_by_key[key])
            for pair, key in keys.items()
            if key in verdicts_by_key
        }

    def _rows(self, pair: CommitPair, verdicts: Sequence[Verdict]) -> PairVerdicts:
        """The verdicts by their first fields, which say what each is about, with what the project
        has accepted on the way.
        """
        if self._repository.acceptances and any(row.word in ACCEPTABLE for row in verdicts):
            verdicts = self._repository.accepted(verdicts, State(pair.before), State(pair.after))
        return {astuple(verdict)[:6]: verdict for verdict in verdicts}

    def _basis(self, pair: CommitPair) -> tuple[bytes, ...]:
        """The input of the verdicts on a pair: rules, profiles, and how far sessions differ."""
        marks = [self._marks.get(commit, 0) for commit in (pair.before, *self._window(pair.after))]
        texts = *pair, repr(self._rules(pair))
        return (
            *(text.encode() for text in texts),
            b"".join(mark.to_bytes(8, "little") for mark in marks),
        )

    def _rules(self, pair: CommitPair) -> Rules:
        return self._repository.criteria_reader.rules(pair.before, pair.after).rules

    def _window(self, commit: str) -> list[str]:
        """Commits whose sessions show how a benchmark moves, as in ``Repository.history``."""
        if not self._windows and self._along:
            line = [
                measured_commit for measured_commit in self._along if measured_commit in self._marks
            ]
            self._windows = {
                measured_commit: line[max(0, turn - NEAREST_ANCESTORS) : turn + 1]
                for turn, measured_commit in enumerate(line)
            }
        if commit not in self._windows:
            measured = islice(self._repository.measured_ancestors(commit), NEAREST_ANCESTORS)
            self._windows[commit] = [*reversed(list(measured)), commit]
        return self._windows[commit]

    def _computed(
        self, pairs: Sequence[CommitPair], read: Read | None
    ) -> dict[CommitPair, list[Verdict]]:
        """The verdicts on pairs but for those whose profiles ``read`` does not open; without it
        none is opened, and forks share the work.
        """
        by_commit: dict[tuple[str, str], list[Measured]] = defaultdict(list)
        for environment in {pair.environment for pair in pairs}:
            needed = dict.fromkeys(
                commit
                for pair in pairs
                if pair.environment == environment
                for commit in (pair.before, *self._window(pair.after))
            )
            for measured in self._repository.index.measured(needed, environment):
                by_commit[measured.header.commit, environment].append(measured)
        centres: dict[int, Centres] = {}
        pasts: dict[tuple[str, str], dict[Unit, EarlierSessions]] = {}

        def committed(commit: str, pair: CommitPair) -> list[Measured]:
            return [
                measured
                for measured in by_commit[commit, pair.environment]
                if measured.header.dirty is None
            ]

        def compared(pair: CommitPair) -> list[Verdict] | None:
            """The verdicts on one pair; None where the profiles needed are not opened."""
            sides = [committed(commit, pair) for commit in (pair.before, pair.after)]
            try:
                report = compare(
                    *sides,
                    rules=self._rules(pair),
                    delta=self._delta,
                    history=pasts[pair.after, pair.environment],
                    read=read or unopened,
                )
            except NotOpened:
                return None
            return [Verdict.of(change) for change in report.changes]

        def together(some: Sequence[CommitPair]) -> list[list[Verdict] | None]:
            """The verdicts on some pairs, whose newest values are judged side by side."""
            asked: list[tuple[dict[Unit, EarlierSessions], Unit, Compared]] = []
            for pair in some:
                here = (pair.after, pair.environment)
                if here not in pasts:
                    window = [by_commit[commit, here[1]] for commit in self._window(pair.after)]
                    pasts[here] = earlier_sessions(chain.from_iterable(window), centres)
                past = pasts[here]
                asked += [
                    (past, unit, Compared(past[unit], pair.before, pair.after))
                    for unit in _of_one_execution(committed(pair.after, pair))
                    if unit in past
                ]
            made = newest_sessions([one for *_, one in asked])
            for (past, unit, one), session in zip(asked, made, strict=True):
                past[unit] = replace(past[unit], newest={one.baseline: session})
            verdicts = [compared(pair) for pair in some]
            pasts.clear()
            return verdicts

        parts = [
            pairs[start : start + PAIRS_TOGETHER] for start in range(0, len(pairs), PAIRS_TOGETHER)
        ]
        found = map(together, parts) if read else shared(together, parts)
        return {
            pair: verdicts
            for pair, verdicts in zip(pairs, chain.from_iterable(found), strict=True)
            if verdicts is not None
        }


def _of_one_execution(side: Iterable[Measured]) -> Iterator[Unit]:
    """The units that were executed once, which their history judges."""
    for header, summaries in ((measured.header, measured.summaries) for measured in side):
        of_job = (header.job.key, header.environment.fingerprint)
        for summary in summaries:
            if len(summary.executions) == 1:
                yield Unit(*of_job, summary.uid, summary.size, summary.metric)
