"""From two sides of measured profiles to verdicts: ``compare``, and the shapes that it returns."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from perfvcs.check.change import (
    ASSUMED,
    Change,
    CounterCluster,
    Curve,
    JudgedBy,
    NothingToCompare,
    Overall,
    Report,
    rank,
)
from perfvcs.check.pastsessions import EarlierSessions, Unit, earlier_sessions
from perfvcs.check.vocabulary import VERDICT_WORDS, Word
from perfvcs.errors import UsageError
from perfvcs.profile import Profile
from perfvcs.profile.summary import Header, Measured

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from perfvcs.check.assignment import Assigned
    from perfvcs.check.case import Case
    from perfvcs.check.doubts import Doubts
    from perfvcs.check.method import Method
    from perfvcs.profile.rules import Rules

__all__ = [
    "VERDICT_WORDS",
    "Change",
    "CounterCluster",
    "Curve",
    "EarlierSessions",
    "NothingToCompare",
    "Report",
    "Unit",
    "Word",
    "compare",
    "earlier_sessions",
]


def compare(
    baseline: Measured | Profile | Sequence[Measured | Profile],
    target: Measured | Profile | Sequence[Measured | Profile],
    *,
    method: str = "auto",
    rules: Rules | None = None,
    delta: float | None = None,
    within: float | None = None,
    history: Mapping[Unit, EarlierSessions] | None = None,
    confidence: float = 0.99,
    alpha: float | None = None,
    read: Callable[[Sequence[Header]], Sequence[Profile]] | None = None,
    overall: bool = False,
    same_machine: bool = False,
) -> Report:
    """The verdict on every unit and metric of two sides, each a profile or all profiles of one
    revision.

    For an A/A measurement pass the profiles of both of its versions on both sides, or each version
    on its own side. ``rules`` say which method judges what where ``method`` is ``auto``. ``delta``
    is the smallest relative effect that counts, by default 1 %, and under ``auto`` 5 % for recorded
    calls; ``within`` the bound that settles what delta leaves open, by default that of its rule;
    ``history`` what earlier sessions show, see ``earlier_sessions``; ``alpha`` the p-value that a
    change needs (by default what ``confidence`` leaves; an interim analysis asks for less).
    ``read`` opens the profiles of headers for the methods that need the rows; ``overall`` adds what
    each job did as a whole; ``same_machine`` takes sides that were measured apart as measured in
    one session. Raises UsageError for an unknown method or a number out of range.
    """
    from perfvcs.check.assignment import Assigned, assign
    from perfvcs.check.doubts import doubts
    from perfvcs.check.limits import limits
    from perfvcs.check.matching import match, renamings
    from perfvcs.check.method import prepared
    from perfvcs.check.overall import unreliable
    from perfvcs.check.rows import ProfileRows
    from perfvcs.profile.rules import Rules

    alpha = 1 - confidence if alpha is None else alpha
    _require_possible(delta, within, confidence, alpha)
    rule = prepared(method, delta, confidence, alpha)
    given: dict[int, Profile] = {}
    sides = [_side(side, given) for side in (baseline, target)]
    rows = ProfileRows(given, read)
    cases, unjudged = match(sides[0], sides[1], history or {}, rows, same_machine=same_machine)
    by_rule = method == "auto" and rules is not None and rules.rules
    judges = (
        assign(cases, rules or Rules(), delta, confidence, alpha)
        if by_rule
        else [Assigned(rule, cases, {}, {})]
    )
    doubt = doubts(cases)
    changes, methods = _judged(judges, within, delta, doubt)
    headers = [measured.header for side in sides for measured in side]
    divided = _divided(headers)
    changes = _beside_work(unjudged + changes, headers, divided)
    revisions = [side[0].header.commit if side else "" for side in sides]
    return Report(
        baseline=revisions[0],
        target=revisions[1],
        method=method,
        changes=sorted(changes, key=rank),
        foreign=_foreign(headers),
        failures=unreliable(*sides),
        renamed=renamings(*sides),
        overall=_overall(cases, judges, changes, divided, doubt) if overall else [],
        remarks=doubt.remarks,
        outputs=doubt.outputs,
        wrong=doubt.wrong,
        left=doubt.left,
        limits=limits(sides[0], sides[1], rules, rows) if rules is not None else [],
        judged_by=JudgedBy(remark=ASSUMED if same_machine else ""),
        unused=_unused(methods),
    )


def _require_possible(
    delta: float | None, within: float | None, confidence: float, alpha: float
) -> None:
    _require(
        delta is None or (math.isfinite(delta) and delta >= 0),
        f"delta is {delta}: give a share such as 0.01 for 1 %",
    )
    _require(
        within is None or within >= 0, f"within is {within}: give a share such as 0.03 for 3 %"
    )
    _require(
        0 < confidence < 1,
        f"confidence is {confidence}: give a share between 0 and 1, such as 0.99",
    )
    _require(0 < alpha < 1, f"alpha is {alpha}: give a probability between 0 and 1, such as 0.01")


def _require(holds: object, message: str) -> None:
    if not holds:
        raise UsageError(message)


def _judged(
    judges: Sequence[Assigned], within: float | None, delta: float | None, doubt: Doubts
) -> tuple[list[Change], dict[str, set[str]]]:
    """The verdicts of all methods, and which methods were asked for a delta, by what asked."""
    from perfvcs.check.bounds import key, settle
    from perfvcs.check.doubts import doubted

    option = "" if delta is None else f"--delta {100 * delta:g}"
    changes: list[Change] = []
    unjudged: set[Change] = set()
    methods: dict[str, set[str]] = {}
    for judge, members, bounds, asked in judges:
        settled = doubted(settle(_compared(judge, members), within, bounds), doubt.running)
        # what needed no judging, such as a size that is new, comes from every method that was asked
        changes += [change for change in settled if change.method or change not in unjudged]
        unjudged.update(change for change in settled if not change.method)
        for change in settled:
            if change.method:
                methods.setdefault(asked.get(key(change), option), set()).add(change.method)
    return changes, methods


def _compared(judge: Method, cases: Sequence[Case]) -> list[Change]:
    """What a method says; it may be somebody's plugin."""
    judged = judge.compare(cases)
    if wrong := [str(change.word) for change in judged if change.word not in VERDICT_WORDS]:
        raise UsageError(
            f"{type(judge).__name__} gives the verdict `{wrong[0]:.80}`, not one of"
            f" {', '.join(VERDICT_WORDS)}"
        )
    return judged


def _unused(methods: Mapping[str, set[str]]) -> list[str]:
    """Which wish for a delta meets only methods that have none."""
    from perfvcs.check.method import NO_DELTA, WITHOUT_DELTA

    return [
        f"{who} changes nothing: {NO_DELTA}"
        for who, used in methods.items()
        if who and used <= WITHOUT_DELTA
    ]


def _beside_work(
    changes: Sequence[Change], headers: Sequence[Header], divided: set[str]
) -> list[Change]:
    """Verdicts on times, judged beside what was executed."""
    from perfvcs.check.executedwork import beside

    drawn = _jobs(headers, "layouts", "drawn") | _jobs(headers, "heap", "shuffled")
    return beside(changes, drawn, _jobs(headers, "python"), divided)


def _overall(
    cases: Sequence[Case],
    judges: Sequence[Assigned],
    changes: Sequence[Change],
    divided: set[str],
    doubt: Doubts,
) -> list[Overall]:
    """What each job did as a whole, but for jobs whose sides did not run the same."""
    from perfvcs.check.overall import overalls
    from perfvcs.check.percentiles import is_of_percentiles

    percentiles = [case for judge in judges for case in judge.cases if is_of_percentiles(case)]
    summed = [case for case in (*cases, *percentiles) if case.series not in divided]
    wholes = overalls(summed, changes)
    return [whole for whole in wholes if not doubt.running.keys() & {*whole.series}]


def _divided(headers: Sequence[Header]) -> set[str]:
    """The keys of jobs whose engine divides what it counts among units."""
    from perfvcs.plugins.collector import DIVIDED

    return {header.job.key for header in headers if header.job.engine.endswith(DIVIDED)}


def _foreign(headers: Sequence[Header]) -> list[str]:
    """The keys of jobs that another tool measured."""
    return sorted({header.job.key for header in headers if header.collected.is_foreign})


def _side(
    side: Measured | Profile | Sequence[Measured | Profile], given: dict[int, Profile]
) -> list[Measured]:
    """Headers and summaries of all profiles of a side."""
    several = [side] if isinstance(side, Measured | Profile) else side
    return [_measured(profile, given) for profile in several]


def _measured(side: Measured | Profile, given: dict[int, Profile]) -> Measured:
    """Header and summaries; a profile is kept, so that its rows need not be read again."""
    if isinstance(side, Measured):
        return side
    measured = Measured.of(side)
    given[id(measured)] = side
    return measured


def _jobs(headers: Sequence[Header], field: str, value: str = "") -> set[str]:
    """The jobs, by label, whose environment has a field, with this value if one is given."""
    return {
        header.job.label
        for header in headers
        if (found := header.environment.fields.get(field)) and value in ("", found)
    }
