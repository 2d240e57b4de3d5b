"""The shape of a verdict: eight words, one change, and the report of all changes between two revisions."""

from __future__ import annotations

from collections import Counter
from typing import Literal, NamedTuple

import msgspec

from perfvcs.errors import PerfError

Word = Literal["degradation", "improvement", "same", "inconclusive", "suspected", "not comparable", "new", "missing"]
SETTLED: tuple[Word, ...] = ("degradation", "improvement", "same")
ONE_SIDED: tuple[Word, ...] = ("new", "missing")
VERDICT_WORDS: tuple[Word, ...] = (
    "degradation",
    "improvement",
    "suspected",
    "not comparable",
    "inconclusive",
    "new",
    "missing",
    "same",
)


class NothingToCompare(PerfError):
    """One of the two revisions has no profile that the other could be compared with."""

    exit_code = 4


class Curve(msgspec.Struct, frozen=True, kw_only=True):
    """How one unit's values grow with its size on both sides, and what kind of difference lies between the two curves.

    ``models`` and ``orders`` name the best model of baseline and target ("logarithmic", "O(log n)"), ``r2`` its share of the variance.
    ``kind`` is the model of target minus baseline ("none", "constant", "linear", ...), ``coefficient`` its size per unit of the model's
    function (per element where that is linear) in the metric's unit, ``low``..``high`` its interval. ``sizes`` is the common range,
    ``at`` the part of it that the effect and both levels are of.
    """

    models: tuple[str, str]
    orders: tuple[str, str]
    r2: tuple[float, float]
    sizes: tuple[float, float]
    kind: str = "none"
    coefficient: float | None = None
    low: float | None = None
    high: float | None = None
    at: tuple[float, float] | None = None


class CounterCluster(msgspec.Struct, frozen=True, kw_only=True):
    """Counters that move together, the one that stands for them, and how badly the old version's model predicts it on the new one.

    ``error`` is the mean relative prediction error (0.3 is 30 %), ``threshold`` what it may be.
    """

    counters: list[str]
    target: str
    error: float | None
    threshold: float
    regressed: bool


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One verdict: one unit of one job under one metric, target against baseline.

    ``series`` is the job's key, ``environment`` the fingerprint of what both sides were measured in (empty: unknown).
    ``effect`` is target/baseline - 1 with its ``confidence`` interval ``low``..``high``; ``shift`` the same in the metric's unit, also
    where a share of the baseline has no meaning (it is 0, or values are negative), and ``delta`` then refers to the larger side.
    ``bound``: by all that was measured, the effect is at most that large in either direction; ``within``: the bound up to which it was to
    count as the same, if one was set. ``coarse``: the clock is too coarse for more
    executions to settle anything.
    Centres are geometric means of the executions' medians, in the metric's unit (arithmetic means where a value is 0 or below,
    medians for deterministic metrics and where outliers were
    pulled in). ``delta`` is the smallest effect that counts. ``gate``: a degradation whose whole interval
    lies beyond ``delta``. ``reason`` says in words what differs, or what keeps the verdict open. ``permutation_p`` is given if
    ``p`` is small enough for a change. ``builds``: how many builds a side, if builds count instead of executions. ``finding`` says in
    words what a method found beyond the effect ("+0.010 us per element (linear), O(log n) -> O(n)"), ``curve`` and ``clusters`` the
    same in numbers. ``accepted`` is the reason for which a known change is accepted. What does not apply is None; every number is
    finite.
    """

    word: Word
    job: str
    uid: str
    metric: str
    unit: str
    better: str
    series: str
    environment: str = ""
    size: float | None = None
    effect: float | None = None
    low: float | None = None
    high: float | None = None
    shift: float | None = None
    shift_low: float | None = None
    shift_high: float | None = None
    baseline: float | None = None
    target: float | None = None
    p: float | None = None
    q: float | None = None
    permutation_p: float | None = None
    delta: float | None = None
    bound: float | None = None
    within: float | None = None
    confidence: float = 0.99
    executions: tuple[int, int] = (0, 0)
    builds: tuple[int, int] | None = None
    paired: bool = False
    gate: bool = False
    coarse: bool = False
    method: str = "log-median"
    reason: str = ""
    finding: str = ""
    curve: Curve | None = None
    clusters: list[CounterCluster] | None = None
    accepted: str | None = None

    @property
    def settled(self) -> bool:
        """Whether it says what happened, or what may have happened is accepted."""
        return self.word in SETTLED or self.accepted is not None


class JobMetric(NamedTuple):
    """What a collector measures of a job under one metric."""

    job: str
    collector: str
    metric: str


class Overall(msgspec.Struct, frozen=True, kw_only=True):
    """What a metric of a job did as a whole: its ``units`` (each at each size) as one, ``combined`` of them in the effect.

    ``series`` has the keys of the job's cells. ``word``, ``effect`` and the others are as in a ``Change``: of what all units take
    together; None and empty if that is not known. ``at`` are the sizes of the levels if all of it is one curve.
    """

    job: str
    collector: str
    metric: str
    unit: str
    better: str
    series: list[str]
    units: int
    combined: int = 0
    word: Word | None = None
    effect: float | None = None
    low: float | None = None
    high: float | None = None
    baseline: float | None = None
    target: float | None = None
    p: float | None = None
    bound: float | None = None
    confidence: float = 0.99
    executions: tuple[int, int] = (0, 0)
    paired: bool = False
    reason: str = ""
    at: tuple[float, float] | None = None

    @property
    def job_metric(self) -> JobMetric:
        """What it is the effect of."""
        return JobMetric(self.job, self.collector, self.metric)


class JudgedBy(msgspec.Struct, frozen=True, kw_only=True):
    """Whose ``[[check]]`` tables judged, and what the target changes about how it is judged.

    ``rules`` is empty where there was no project to ask. ``differences`` names in a few words each what differs from the baseline:
    perf.toml, perf-accepted.toml, the overlay, the benchmark's own files. ``accepts`` are the degradations that the target itself
    accepts. ``remark`` says in a sentence why the baseline's tables did not judge, where others did.
    """

    rules: Literal["", "baseline", "target", "working tree"] = ""
    differences: list[str] = []
    accepts: list[str] = []
    remark: str = ""

    @property
    def is_plain(self) -> bool:
        """Whether there is nothing to be said: the target is judged as the baseline says."""
        return not (self.differences or self.accepts or self.remark)


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """All changes between two revisions, those that matter first; ``foreign`` series were measured by other tools and imported.

    ``failures`` says which jobs failed more often on the target, ``renamed`` which look renamed, a sentence each; ``overall`` what each
    job did as a whole. ``untouched`` names the benchmarks that were left out since the change cannot touch them: they inherit the
    verdicts of ``inherits``. ``judged_by`` says by whose rules.
    """

    baseline: str
    target: str
    method: str
    changes: list[Change]
    foreign: list[str] = []
    failures: list[str] = []
    renamed: list[str] = []
    untouched: list[str] = []
    inherits: str = ""
    overall: list[Overall] = []
    judged_by: JudgedBy = JudgedBy()

    def having(self, *words: Word) -> list[Change]:
        """The changes with one of these words."""
        return [change for change in self.changes if change.word in words]

    @property
    def comparisons(self) -> list[Change]:
        """The changes that have both sides."""
        return [change for change in self.changes if change.word not in ONE_SIDED]

    @property
    def counts(self) -> dict[Word, int]:
        """How many changes have each word that occurs, in the order of ``VERDICT_WORDS``."""
        found = Counter(change.word for change in self.changes)
        return {word: found[word] for word in VERDICT_WORDS if word in found}


def rank(change: Change) -> tuple[int, float]:
    """The place of a change in a report: by word in the order of ``VERDICT_WORDS``, then by the size of its effect."""
    size = float("inf") if change.effect is None else abs(change.effect)
    return VERDICT_WORDS.index(change.word), -size
