"""Which method judges what: the ``[[check]]`` tables of perf.toml."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import Literal

import msgspec

from perfvcs.errors import UsageError
from perfvcs.profile import Job

COUNTERS = ("auto", "counters")  # methods that know profiles of counters
RULES_FILE = "perf.toml"
REGISTER_FILE = "perf-accepted.toml"  # what is accepted
LARGEST_RULES = 1 << 20  # bytes of it
USUAL_DELTA = 0.01  # the smallest change that matters where nothing else is said, as a share
PERCENT = r"\s*(\d+(?:\.\d*)?)\s*%\s*"


class Rule(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One ``[[check]]``: the method for what all patterns match; a pattern may have ``*``, ``?``
    and ``[...]``.

    ``job`` is matched with the job's name and with the benchmark's whole label, ``unit`` with what
    was measured inside. ``delta`` and ``within`` are written like ``"2%"``; those of the command
    line override them. ``limit`` is what the metric may be at most (where more is better, at
    least), ``statistic`` the percentile of the samples that is judged, such as ``p99``. With a
    ``ratchet``, perf-accepted.toml may have a stricter limit for each benchmark.
    """

    method: str = "auto"
    job: str = "*"
    collector: str = "*"
    metric: str = "*"
    unit: str = "*"
    delta: str | None = None
    within: str | None = None
    limit: str | int | float | None = None
    statistic: str | None = None
    ratchet: bool = False

    def __str__(self) -> str:
        given = (
            (name, value)
            for name, value in msgspec.structs.asdict(self).items()
            if value not in ("*", "auto", None) and value is not False
        )
        return f"[[check]] {', '.join(f'{name} {value}' for name, value in given)}"

    def fits(self, job: Job, uid: str, metric: str, *, counters: bool) -> bool:
        """Whether the rule is for that unit and metric of a job, or for its profiles of counters.

        Those have no single metric and unit to match, and most methods have nothing to say of them:
        such rules are passed over, so that no profile goes without a verdict.
        """
        inner = (
            self.method in COUNTERS
            if counters
            else fnmatchcase(metric, self.metric) and fnmatchcase(uid, self.unit)
        )
        return (
            inner
            and fnmatchcase(job.collector, self.collector)
            and any(fnmatchcase(name, self.job) for name in (job.name, job.label))
        )

    @property
    def judges(self) -> bool:
        """Whether it says how comparisons are judged; a limit alone does not."""
        others = (self.delta, self.within, self.method != "auto" or None)
        return self.limit is None or any(other is not None for other in others)

    def share(self) -> float | None:
        """``delta`` as a share: 0.02 for 2 %; raises UsageError."""
        return _share("delta", self.delta)

    def bound(self) -> float | None:
        """``within`` as a share; raises UsageError."""
        return _share("within", self.within)


class LoweredLimit(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The stricter limit of one benchmark (its label, its unit ``uid`` and ``size``), as
    perf-accepted.toml has it; ``statistic`` is empty for the level itself.
    """

    id: str
    benchmark: str
    uid: str = ""
    size: float | None = None
    metric: str
    statistic: str = ""
    limit: str

    @property
    def subject(self) -> tuple[str, str, float | None, str, str]:
        """What is limited."""
        return self.benchmark, self.uid, self.size, self.metric, self.statistic


class Rules(msgspec.Struct, frozen=True):
    """The rules in their order, and which of those that fit judge: the first, or all; and the
    limits that were ``lowered``, for rules with a ratchet.
    """

    rules: tuple[Rule, ...] = ()
    take: Literal["first", "all"] = "first"
    lowered: tuple[LoweredLimit, ...] = ()

    def by_default(self) -> Rules:
        """The rules with every case judged by ``auto``, the one that may look again and again while
        measuring goes on; without limits and percentiles, which take all rows.
        """
        rules = (rule for rule in self.rules if rule.judges)
        return msgspec.structs.replace(
            self,
            rules=tuple(
                msgspec.structs.replace(
                    rule, method="auto", limit=None, statistic=None, ratchet=False
                )
                for rule in rules
            ),
        )


def _share(key: str, percent: str | None) -> float | None:
    if percent is None:
        return None
    number = re.fullmatch(PERCENT, percent)
    if not number or float(number[1]) > 1000:
        raise UsageError(f'{key} = "{percent[:40]}" is not a percentage: write it like "2%"')
    return float(number[1]) / 100
