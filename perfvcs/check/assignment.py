"""Which method judges what: the ``[[check]]`` tables of perf.toml, and the cases of each method."""

from __future__ import annotations

import re
from collections import defaultdict
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from perfvcs.check.answer import ComparedKey, key
from perfvcs.check.method import load, prepared
from perfvcs.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfvcs.check.case import Case
    from perfvcs.check.method import Method
    from perfvcs.profile import Job


COUNTERS = ("auto", "counters")  # methods that know profiles of counters
RULES_FILE = "perf.toml"
LARGEST_RULES = 1 << 20  # bytes of it
PERCENT = re.compile(r"\s*(\d+(?:\.\d*)?)\s*%\s*")


class Rule(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One ``[[check]]``: the method for what all patterns match; a pattern may have ``*``, ``?`` and ``[...]``.

    ``job`` is matched with the job's name and with the benchmark's whole label, ``unit`` with what was measured inside. ``delta`` and
    ``within`` are written like ``"2%"``; those of the command line override them.
    """

    method: str = "auto"
    job: str = "*"
    collector: str = "*"
    metric: str = "*"
    unit: str = "*"
    delta: str | None = None
    within: str | None = None

    def fits(self, job: Job, uid: str, metric: str, *, counters: bool) -> bool:
        """Whether the rule is for that unit and metric of a job, or for its profiles of counters.

        Those have no single metric and unit to match, and most methods have nothing to say of them: such rules are passed over, so that no
        profile goes without a verdict.
        """
        inner = self.method in COUNTERS if counters else fnmatchcase(metric, self.metric) and fnmatchcase(uid, self.unit)
        return (
            inner
            and fnmatchcase(job.collector, self.collector)
            and any(fnmatchcase(name, self.job) for name in (job.name, job.label))
        )

    def share(self) -> float | None:
        """``delta`` as a share: 0.02 for 2 %; raises UsageError."""
        return _share("delta", self.delta)

    def bound(self) -> float | None:
        """``within`` as a share; raises UsageError."""
        return _share("within", self.within)


class Rules(msgspec.Struct, frozen=True):
    """The rules in their order, and which of those that fit judge: the first, or all."""

    rules: tuple[Rule, ...] = ()
    take: Literal["first", "all"] = "first"

    def by_default(self) -> Rules:
        """The same with every case judged by ``auto``, the one that may look again and again while measuring goes on."""
        return msgspec.structs.replace(self, rules=tuple(msgspec.structs.replace(rule, method="auto") for rule in self.rules))


def _share(key: str, percent: str | None) -> float | None:
    if percent is None:
        return None
    found = PERCENT.fullmatch(percent)
    if not found or float(found[1]) > 1000:
        raise UsageError(f'{key} = "{percent[:40]}" is not a percentage: write it like "2%"')
    return float(found[1]) / 100


class Assigned(NamedTuple):
    """A method with the cases that it judges, and within which share what it leaves open is settled, of those that have a rule for that."""

    method: Method
    cases: list[Case]
    within: dict[ComparedKey, float]


def verify(rule: Rule) -> None:
    """Raise UsageError where the rule cannot be followed."""
    load(rule.method)
    rule.share()
    rule.bound()


def assign(cases: Sequence[Case], rules: Rules, delta: float | None, confidence: float, alpha: float) -> list[Assigned]:
    """The methods with the cases that each judges; what no rule fits is judged by ``auto``. Raises UsageError for a wrong rule.

    A ``delta`` that somebody asked for holds for all rules.
    """
    every = [*rules.rules, Rule()]
    shares, bounds = [rule.share() for rule in every], [rule.bound() for rule in every]
    methods = [
        prepared(rule.method, share if delta is None else delta, confidence, alpha)
        for rule, share in zip(every, shares, strict=True)
    ]
    assigned: dict[int, list[Case]] = defaultdict(list)
    for case in cases:
        job = case.header.job
        fit = (rule.fits(job, case.uid, case.metric, counters=case.counters) for rule in rules.rules)
        fitting = [number for number, fits in enumerate(fit) if fits] or [len(rules.rules)]
        for number in fitting if rules.take == "all" else fitting[:1]:
            assigned[number].append(case)
    # the same method with the same parameters judges one family, however many rules lead there
    families: dict[Method, Assigned] = {}
    for number, found in sorted(assigned.items()):
        family = families.setdefault(methods[number], Assigned(methods[number], [], {}))
        new = [case for case in found if all(case is not other for other in family.cases)] if rules.take == "all" else found
        family.cases.extend(new)
        if (share := bounds[number]) is not None:
            family.within.update((key(case), share) for case in new)
    return list(families.values())
