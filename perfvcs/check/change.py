"""The shape of a verdict: one change, and the report of all changes between two revisions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from sys import float_info
from typing import Annotated, Literal, NamedTuple

import msgspec

from perfvcs.check.vocabulary import ONE_SIDED, VERDICT_WORDS, WORDS, Word
from perfvcs.errors import PerfError
from perfvcs.profile.naming import labelled
from perfvcs.profile.validity import MAX_INTEGER
from perfvcs.text.characters import shorten
from perfvcs.text.quantity import bounded, quantity
from perfvcs.text.words import metric_name

# What a report may hold, which anybody may have written: checked where it is decoded.
Text = Annotated[str, msgspec.Meta(max_length=1 << 20)]
Finite = Annotated[float, msgspec.Meta(ge=-float_info.max, le=float_info.max)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
NAME = 60  # characters of a benchmark in a sentence
Count = Annotated[int, msgspec.Meta(ge=0, le=MAX_INTEGER)]


class NothingToCompare(PerfError):
    """One of the two revisions has no profile that the other could be compared with."""

    exit_code = 4


class Curve(msgspec.Struct, frozen=True, kw_only=True):
    """How one unit's values grow with its size on both sides, and what kind of difference lies
    between the two curves.

    ``models`` and ``orders`` name the best model of baseline and target ("logarithmic", "O(log
    n)"), ``r2`` its share of the variance. ``kind`` is the model of target minus baseline ("none",
    "constant", "linear", ...), ``coefficient`` its size per unit of the model's function (per
    element where that is linear) in the metric's unit, ``low``..``high`` its interval. ``sizes`` is
    the common range, ``at`` the part of it that the effect and both levels are of.
    """

    models: tuple[Text, Text]
    orders: tuple[Text, Text]
    r2: tuple[Finite, Finite]
    sizes: tuple[Finite, Finite]
    kind: Text = "none"
    coefficient: Finite | None = None
    low: Finite | None = None
    high: Finite | None = None
    at: tuple[Finite, Finite] | None = None


class CounterCluster(msgspec.Struct, frozen=True, kw_only=True):
    """Counters that move together, the one that stands for them, and how badly the old version's
    model predicts it on the new one.

    ``error`` is the mean relative prediction error (0.3 is 30 %), ``threshold`` what it may be.
    """

    counters: list[Text]
    target: Text
    error: Finite | None
    threshold: Finite
    regressed: bool


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One verdict: one unit of one job under one metric, target against baseline.

    ``series`` is the job's key, ``environment`` the fingerprint of what both sides were measured in
    (empty: unknown). ``effect`` is target/baseline - 1 with its ``confidence`` interval
    ``low``..``high``; ``shift`` the same in the metric's unit, also where a share of the baseline
    has no meaning (it is 0, or values are negative), and ``delta`` then refers to the larger side.
    ``bound``: by all that was measured, the effect is at most that large in either direction;
    ``within``: the bound up to which it was to count as the same, if one was set. ``coarse``: the
    clock is too coarse for more executions to settle anything. ``layout``: it moved, but neither
    the sources nor exact counts show other work, so that more executions do not settle it either.
    Centres are geometric means of the
    executions' medians, in the metric's unit (arithmetic means where a value is 0 or below, medians
    for deterministic metrics and where outliers were pulled in). ``delta`` is the smallest effect
    that counts. ``gate``: a degradation whose whole interval lies beyond ``delta``. ``reason`` says
    in words what differs, or what keeps the verdict open. ``permutation_p`` is given if ``p`` is
    small enough for a change. ``builds``: how many builds a side, if builds count instead of
    executions. ``finding`` says in words what a method found beyond the effect ("+0.010 us per
    element (linear), O(log n) -> O(n)"), ``work`` what the job executes beside its time ("executes
    3.2 % more instructions"), ``curve`` and ``clusters`` the same in numbers. ``since`` is the
    commit from which on single values differ, where that is an earlier one than the target, and
    ``preceding`` the one that was measured before it (before the target, if ``since`` is empty). A
    ``since`` that is no later than the baseline is only said, in ``finding``.
    ``accepted`` is the reason for which a known change is accepted; ``renewable`` the id of an
    acceptance of the same whose commit is not in this history any more. What does not apply is
    None; every number is finite.
    """

    word: Word
    job: Text
    uid: Text
    metric: Text
    unit: Text
    better: Text
    series: Text
    environment: Text = ""
    size: Finite | None = None
    effect: Finite | None = None
    low: Finite | None = None
    high: Finite | None = None
    shift: Finite | None = None
    shift_low: Finite | None = None
    shift_high: Finite | None = None
    baseline: Finite | None = None
    target: Finite | None = None
    p: Finite | None = None
    q: Finite | None = None
    permutation_p: Finite | None = None
    delta: Finite | None = None
    bound: Finite | None = None
    within: Finite | None = None
    confidence: Share = 0.99
    executions: tuple[Count, Count] = (0, 0)
    builds: tuple[Count, Count] | None = None
    paired: bool = False
    gate: bool = False
    coarse: bool = False
    layout: bool = False
    method: Text = "log-median"
    reason: Text = ""
    finding: Text = ""
    since: Text = ""
    preceding: Text = ""
    work: Text = ""
    curve: Curve | None = None
    clusters: list[CounterCluster] | None = None
    accepted: Text | None = None
    renewable: Text = ""

    @property
    def settled(self) -> bool:
        """Whether it says what happened, or what may have happened is accepted."""
        return self.accepted is not None or WORDS[self.word].settled


class JobMetric(NamedTuple):
    """What a collector measures of a job under one metric."""

    job: str
    collector: str
    metric: str


class Overall(msgspec.Struct, frozen=True, kw_only=True):
    """What a metric of a job did as a whole: its ``units`` (each at each size) as one, ``combined``
    of them in the effect.

    ``series`` has the keys of the job's cells. ``word``, ``effect`` and the others are as in a
    ``Change``: of what all units take together; None and empty if that is not known. ``at`` are the
    sizes of the levels if all of it is one curve.
    """

    job: Text
    collector: Text
    metric: Text
    unit: Text
    better: Text
    series: list[Text]
    units: Count
    combined: Count = 0
    word: Word | None = None
    effect: Finite | None = None
    low: Finite | None = None
    high: Finite | None = None
    baseline: Finite | None = None
    target: Finite | None = None
    p: Finite | None = None
    bound: Finite | None = None
    confidence: Share = 0.99
    executions: tuple[Count, Count] = (0, 0)
    paired: bool = False
    reason: Text = ""
    at: tuple[Finite, Finite] | None = None

    @property
    def job_metric(self) -> JobMetric:
        """What it is the effect of."""
        return JobMetric(self.job, self.collector, self.metric)


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """Something by which the target changes how it is judged, what matters most first.

    ``what`` names it, ``parts`` say what became of it, ``files`` are its files, and ``more`` is how
    many are not listed.
    """

    what: Text
    parts: list[Text] = []
    files: list[Text] = []
    more: Count = 0


ASSUMED = "assumed: both sides were measured on one machine in one state"


class JudgedBy(msgspec.Struct, frozen=True, kw_only=True):
    """Whose ``[[check]]`` tables judged, and what the target changes about how it is judged.

    ``rules`` is empty where there was no project to ask. ``differences`` names what differs from
    the baseline: perf.toml, perf-accepted.toml, the overlay, the benchmark's own files. ``accepts``
    are the degradations that the target itself accepts. ``remark`` says in a sentence why the
    baseline's tables did not judge, where others did, or what was assumed.
    """

    rules: Literal["", "baseline", "target", "working tree"] = ""
    differences: list[Difference] = []
    accepts: list[Text] = []
    remark: Text = ""

    @property
    def is_plain(self) -> bool:
        """Whether there is nothing to be said: the target is judged as the baseline says."""
        return not (self.differences or self.accepts or self.remark)


class LimitVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """A limit and the target's ``level`` with its interval ``low``..``high`` (None: it has none),
    in the metric's unit without a prefix.

    ``word``: ``degradation`` where the whole interval is beyond the limit, ``suspected`` where the
    limit is inside of it, else ``same``. ``before`` is the word for the baseline; empty: unknown.
    """

    word: Word
    before: Text = ""
    job: Text
    uid: Text
    size: Finite | None = None
    metric: Text
    unit: Text
    better: Text
    statistic: Text = ""
    limit: Finite
    level: Finite
    low: Finite | None = None
    high: Finite | None = None
    executions: Count = 0

    @property
    def measured(self) -> str:
        """``p99 of wall time``: what is limited."""
        return " of ".join(filter(None, [self.statistic, metric_name(self.metric)]))

    @property
    def said(self) -> str:
        """``sort: wall time 231 ms [225, 237] is above its limit of 200 ms``; empty where it
        holds.
        """
        if self.word == "same":
            return ""
        side = "below" if self.better == "higher" else "above"
        verb = "is" if self.word == "degradation" else "may be"
        name = shorten(labelled(self.job, self.uid, self.size), NAME)
        level = quantity(self.level, self.unit)
        if self.low is not None and self.high is not None and self.low != self.high:
            level = bounded(self.level, self.low, self.high, self.unit)
        too = ", as the baseline" if self.before == self.word else ""
        return (
            f"{name}: {self.measured} {level} {verb} {side} its limit"
            f" of {quantity(self.limit, self.unit)}{too}"
        )


def exceeded(verdicts: Iterable[LimitVerdict]) -> list[LimitVerdict]:
    """Those that fail a check."""
    return [verdict for verdict in verdicts if verdict.word == "degradation"]


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """All changes between two revisions, those that matter first; ``foreign`` series were measured
    by other tools and imported.

    ``failures`` says which jobs failed more often on the target, ``renamed`` which look renamed, a
    sentence each; ``overall`` what each job did as a whole. ``untouched`` names the benchmarks that
    were left out since the change cannot touch them: they inherit the verdicts of ``inherits``.
    ``unused`` says which delta was asked for, and has no effect. ``judged_by`` says by whose rules.
    ``remarks`` say what else differs between the sides, or makes a comparison doubtful, a sentence
    each. ``outputs`` are the jobs whose output differs between the sides, ``wrong`` those of them
    whose output had to stay the same, which fails the check. ``limits`` are verdicts on what a
    metric may be, those that fail first. ``left`` says of jobs which processes
    they left running. ``about`` are the arguments of
    commands that leave only what is here; empty: it is the whole.
    """

    baseline: Text
    target: Text
    method: Text
    changes: list[Change]
    foreign: list[Text] = []
    failures: list[Text] = []
    renamed: list[Text] = []
    untouched: list[Text] = []
    inherits: Text = ""
    overall: list[Overall] = []
    unused: list[Text] = []
    remarks: list[Text] = []
    outputs: list[Text] = []
    wrong: list[Text] = []
    left: list[Text] = []
    limits: list[LimitVerdict] = []
    judged_by: JudgedBy = JudgedBy()
    about: Text = ""

    @property
    def notes(self) -> list[str]:
        """What else is to be said of it, a sentence each."""
        beyond = self.limits[:1] and self.limits[0].word == "degradation"
        limits = self.limits[1:] if beyond else self.limits  # the first one is in the sentence
        said = [verdict.said for verdict in limits if verdict.said]
        return [*said, *self.remarks, *self.failures, *self.renamed, *self.unused]

    def having(self, *words: Word) -> list[Change]:
        """The changes with one of these words."""
        return [change for change in self.changes if change.word in words]

    @property
    def comparisons(self) -> list[Change]:
        """The changes that have both sides."""
        return [change for change in self.changes if change.word not in ONE_SIDED]

    @property
    def compared(self) -> list[Change]:
        """The changes that have both sides, and could be compared."""
        return [change for change in self.changes if WORDS[change.word].compared]

    @property
    def counts(self) -> dict[Word, int]:
        """How many changes have each word that occurs, in the order of ``VERDICT_WORDS``."""
        words = Counter(change.word for change in self.changes)
        return {word: words[word] for word in VERDICT_WORDS if word in words}


def rank(change: Change) -> tuple[int, float]:
    """The place of a change in a report: by word in the order of ``VERDICT_WORDS``, then by the
    size of its effect.
    """
    size = float("inf") if change.effect is None else abs(change.effect)
    return VERDICT_WORDS.index(change.word), -size
