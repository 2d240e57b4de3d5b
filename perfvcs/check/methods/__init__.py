"""Methods of comparison: each file is one, named like it (``log_median.py`` is ``log-median``); this page is their contract.

A method is a frozen dataclass derived from ``Method``, called like its file in capitals (``LogMedian``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from perfvcs.check.past import Past
from perfvcs.errors import UsageError, nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfvcs.check.change import Change
    from perfvcs.profile import Metric

Sessions = tuple[tuple[float, ...], ...]  # per session one value per execution, in the metric's unit, all finite, none empty
Builds = tuple[tuple[int, ...], ...]  # of the same shape: the build of each execution


@dataclass(frozen=True)
class Pair:
    """One unit and metric of two comparable sides.

    When ``paired``, both sides have the same sessions and, in each, values which belong together block by block. ``builds`` is None
    where every session has one build a side.
    """

    job: str
    uid: str
    size: float | None
    metric: str
    about: Metric
    series: str
    baseline: Sessions
    target: Sessions
    paired: bool
    past: Past
    builds: tuple[Builds, Builds] | None = None


@dataclass(frozen=True)
class Method(ABC):
    """What every method gets: the smallest relative effect that counts, the confidence of intervals, the p-value that a change
    needs.
    """

    delta: float = 0.01
    confidence: float = 0.99
    alpha: float = 0.01

    @abstractmethod
    def compare(self, pairs: Sequence[Pair]) -> list[Change]:
        """One change per pair, in their order; together they are one family of comparisons."""


def names() -> list[str]:
    """The names of all methods."""
    return sorted(module.name.replace("_", "-") for module in iter_modules(__path__))


def load(name: str) -> type[Method]:
    """The method of that name; raises UsageError with the likely one."""
    if name not in names():
        raise UsageError(f"there is no method `{name}`{nearest(name, names())}")
    module = import_module(f"{__name__}.{name.replace('-', '_')}")
    found: type[Method] = getattr(module, name.title().replace("-", ""))
    return found
