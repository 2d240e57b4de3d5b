"""The contract of the methods of comparison, and how one is found by its name.

Each file in ``methods/`` is one, named like it (``log_median.py`` is ``log-median``): a frozen
dataclass derived from ``Method`` or ``PairMethod``, called like its file in capitals
(``LogMedian``).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from perfvcs.errors import UsageError, nearest
from perfvcs.profile.rules import USUAL_DELTA

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfvcs.check.case import Case, Pair
    from perfvcs.check.change import Change


MEMORY = 1e6  # B: by how much the memory of an interpreter or allocator varies anyway
MEMORY_PAGE = 4096  # bytes
WITHOUT_DELTA = {"deterministic", "counters"}
NO_DELTA = "exact metrics and counters have no delta"
FEWEST_EXECUTIONS = 5  # executions a side, or pairs
SINGLE_EXECUTION = "a single {} has no spread: at least 5, better 10"
USUAL = "a single value, usual beside {} earlier commits"
OF_SERIES = "a single value; `perf history` judges the whole series"
TOO_FEW_EXECUTIONS = "only {} {}s a side: at least 5, better 10"
FROM_DIFFERENT_SESSIONS = (
    "the two sides come from different sessions, and how much sessions differ is not known yet"
)
# standard errors of a difference that chance exceeds in 1 of 20 cases
TWENTIETH = 1.96
ONE_ORDER = (
    "the same side was measured first in every pair, or in all but one, so the order may be the"
    " cause"
)
NO_ORDER = (
    "which side was measured first in each pair is not known, and fewer than 8 pairs cannot rule"
    " out that the order is the cause"
)


class Delta(NamedTuple):
    """A share of the baseline, or an ``amount`` in the metric's unit, whichever is more."""

    share: float
    amount: float = 0.0

    def of(self, level: float) -> float:
        """The share that counts at a level of the baseline."""
        return max(self.share, self.amount / abs(level)) if level else self.share


# recorded calls: functions take some percent more or less when the code around them moves
CALLS_DELTA = Delta(0.05)
RESIDENT = Delta(0.02, MEMORY)
FAULTS = Delta(0.02, MEMORY / MEMORY_PAGE)
BY_METRIC = {
    "maxrss": RESIDENT,
    "peak_rss": RESIDENT,
    "rss": RESIDENT,
    "pss": RESIDENT,
    "minor_faults": FAULTS,
    "major_faults": FAULTS,
    "page_faults": FAULTS,
    "faults": FAULTS,
    "voluntary_switches": Delta(0.1, 10),
    "involuntary_switches": Delta(0.1, 10),
}


def chance_needs(theta: float) -> str:
    """What would have to be true of the machine for a difference of log-means between two sessions
    to be chance, at 1 of 20 cases.
    """
    deviation = math.expm1(abs(theta) / (TWENTIETH * math.sqrt(2)))
    return (
        f"chance explains it only if sessions of one commit differ by"
        f" {100 * deviation:.2g} % (standard deviation) or more"
    )


def usual(case: Case) -> Delta:
    """What counts of a sampled metric."""
    return of_metric(case.metric, calls=case.calls)


def of_metric(metric: str, *, calls: bool = False) -> Delta:
    """What counts of a metric by its name; ``calls``: of recorded calls."""
    return CALLS_DELTA if calls else BY_METRIC.get(metric, Delta(USUAL_DELTA))


class CheckRequest(Struct, frozen=True):
    """What the caller asks of a comparison: the method, the smallest relative effect that counts,
    and the bound that settles what delta leaves open; None leaves the word to the rules.

    ``same_machine``: sides that were measured apart are taken to differ by nothing else, as files
    of one CI job may. Raises UsageError for a method that is not there, before anything is measured
    for it.
    """

    method: str = "auto"
    delta: float | None = None
    within: float | None = None
    same_machine: bool = False

    def __post_init__(self) -> None:
        if self.method != "auto":
            load(self.method)


BY_RULES = CheckRequest()


@dataclass(frozen=True)
class Method(ABC):
    """What every method gets: the smallest relative effect that counts, the confidence of
    intervals, the p-value that a change needs. A published method that has a threshold or a level
    of its own keeps to that.

    ``asked`` says that somebody asked for this very ``delta``, so that no method may take another
    one.
    """

    delta: float = USUAL_DELTA
    confidence: float = 0.99
    alpha: float = 0.01
    asked: bool = False

    def least(self, case: Case, level: float) -> float:
        """The smallest effect that counts of a case at a level of its baseline: what was asked for,
        else what is usual for the metric.
        """

        return self.delta if self.asked or self.delta != Method.delta else usual(case).of(level)

    @abstractmethod
    def compare(self, cases: Sequence[Case]) -> list[Change]:
        """At least one change per case that the method can judge; together they are one family of
        comparisons.
        """


@dataclass(frozen=True)
class PairMethod(Method):
    """A method that compares the executions of one size at a time; it has nothing to say of
    profiles of counters.
    """

    def compare(self, cases: Sequence[Case]) -> list[Change]:
        """One change per size."""
        pairs: list[Pair] = []
        decided: list[Change] = []
        for case in cases:
            if not case.counters:
                case_pairs, rest = case.pairs()
                pairs += case_pairs
                decided += rest
        return [*self.judge(pairs), *decided]

    @abstractmethod
    def judge(self, pairs: Sequence[Pair]) -> list[Change]:
        """One change per pair, in their order."""


def names() -> list[str]:
    """The names of all methods, those of other packages under the entry point group
    ``perfvcs.methods`` behind our own.
    """
    from perfvcs.plugins import foreign

    built_in = _own()
    return built_in + sorted(set(foreign("methods")) - set(built_in))


@cache
def _own() -> list[str]:
    return sorted(
        module.name.replace("_", "-")
        for module in iter_modules([str(Path(__file__).parent / "methods")])
    )


def load(name: str) -> type[Method]:
    """The method of that name; raises UsageError with the likely one, and for a foreign one that is
    not a method.
    """
    if name not in _own():
        from perfvcs.plugins import foreign, loaded

        if name not in (others := foreign("methods")):
            raise UsageError(f"there is no method `{name}`{nearest(name, names())}")
        return loaded("methods", others[name])
    module = import_module(f"perfvcs.check.methods.{name.replace('-', '_')}")
    method: type[Method] = getattr(module, name.title().replace("-", ""))
    return method


def prepared(name: str, delta: float | None, confidence: float, alpha: float) -> Method:
    """The method of that name with its parameters, ``delta`` None being the usual one; raises
    UsageError for an unknown name.
    """
    return load(name)(
        Method.delta if delta is None else delta, confidence, alpha, asked=delta is not None
    )
