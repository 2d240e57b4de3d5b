"""Which cases each method judges, by the rules of perf.toml."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from perfvcs.check.bounds import ComparedKey, key
from perfvcs.check.case import Case
from perfvcs.check.limits import verify_limit
from perfvcs.check.method import Method, load, prepared
from perfvcs.check.percentiles import of_percentiles
from perfvcs.profile.rules import Rule, Rules


class Assigned(NamedTuple):
    """A method with the cases that it judges.

    Of those that have a rule for that: ``within`` which share what it leaves open is settled, and
    who asked for ``delta``.
    """

    method: Method
    cases: list[Case]
    within: dict[ComparedKey, float]
    asked: dict[ComparedKey, str]


def verify(rule: Rule) -> None:
    """Raise UsageError where the rule cannot be followed."""
    load(rule.method)
    rule.share()
    rule.bound()
    verify_limit(rule)


def assign(
    cases: Sequence[Case], rules: Rules, delta: float | None, confidence: float, alpha: float
) -> list[Assigned]:
    """The methods with the cases that each judges; what no rule fits is judged by ``auto``.

    Raises UsageError for a wrong rule.

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
        fit = (
            rule.judges and rule.fits(job, case.uid, case.metric, counters=case.counters)
            for rule in rules.rules
        )
        fitting = [number for number, fits in enumerate(fit) if fits] or [len(rules.rules)]
        for number in fitting if rules.take == "all" else fitting[:1]:
            statistic = "" if case.counters else every[number].statistic
            assigned[number].append(of_percentiles(case, statistic) if statistic else case)
    # the same method with the same parameters judges one family, however many rules lead there
    families: dict[Method, Assigned] = {}
    for number, fitting_cases in sorted(assigned.items()):
        family = families.setdefault(methods[number], Assigned(methods[number], [], {}, {}))
        new = fitting_cases
        if rules.take == "all":
            new = [case for case in new if all(case is not other for other in family.cases)]
        family.cases.extend(new)
        if (share := bounds[number]) is not None:
            family.within.update((key(case), share) for case in new)
        if delta is None and shares[number] is not None:
            family.asked.update((key(case), str(every[number])) for case in new)
    return list(families.values())
