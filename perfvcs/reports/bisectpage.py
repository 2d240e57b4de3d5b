"""The page of a bisection: what it says, the probability and the level of every commit drawn, and a
table of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from perfvcs.locate.bisect.bisection import describe_target
from perfvcs.locate.bisect.evidence import effect, own
from perfvcs.locate.bisect.posterior import likeliest
from perfvcs.locate.bisect.saved import Target
from perfvcs.reports.bisect import effect_text, lines, reasons
from perfvcs.text.characters import shorten
from perfvcs.text.document import filled, json_text
from perfvcs.text.quantity import micro_sign
from perfvcs.text.words import counted, metric_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from perfvcs.locate.bisect.bisection import Bisection
    from perfvcs.locate.bisect.evidence import Effect
    from perfvcs.locate.bisect.guide import Guide
    from perfvcs.repository import Repository


LARGEST_EVIDENCE = 1e300  # evidence beyond it is infinite, which JSON has no number for
MOST_BARS = 1000  # that can be told apart
MOST_ROWS = 500  # of the table
SUBJECT = 60  # characters
LEFT, RIGHT, TOP, BOTTOM = 105.0, 990.0, 20.0, 270.0  # of the drawing, in its own units
LOWEST, HIGHEST = -0.25, 1.25  # levels that are drawn


class TargetRow(Target, frozen=True, kw_only=True):
    """What is followed, and what its benchmark is called."""

    benchmark: str


class BisectedCommit(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a commit: its share of the ``prior``, by what it changes whether it is
    ``suspect``, and what was measured of it.

    ``value`` is its mean, ``level`` the share of the difference that it has.
    """

    commit: str
    merge: bool
    prior: float
    suspect: bool | UnsetType = UNSET
    reasons: Sequence[str] | UnsetType = UNSET
    probability: float | UnsetType | None = UNSET
    value: float | UnsetType | None = UNSET
    level: float | UnsetType | None = UNSET
    blocks: int | UnsetType = UNSET
    skipped: str | UnsetType | None = UNSET


class NamedCommit(msgspec.Struct, frozen=True):
    """A commit that is named, with what it changed against its parent."""

    commit: str
    parent: str
    probability: float | None
    step: Effect


class CountedInstructions(msgspec.Struct, frozen=True):
    """What counts of instructions say: the effect, and the probability of the likeliest commits."""

    effect: float
    commits: dict[str, float]


class BisectionDocument(msgspec.Struct, frozen=True, kw_only=True):
    """What `perf bisect --json` prints: the ends, the target, and every commit; then what was
    measured, if anything was.
    """

    good: str
    bad: str
    ended: str
    target: TargetRow | None
    commits: list[BisectedCommit]
    good_value: float | UnsetType | None = UNSET
    effect: Effect | UnsetType | None = UNSET
    evidence: float | UnsetType = UNSET
    named: list[NamedCommit] | UnsetType = UNSET
    blocks: int | UnsetType = UNSET
    executions: int | UnsetType = UNSET
    counted: Mapping[str, float] | UnsetType = UNSET
    instructions: CountedInstructions | UnsetType | None = UNSET
    built: int | UnsetType = UNSET
    seconds: float | UnsetType = UNSET
    sessions: list[str] | UnsetType = UNSET
    within: BisectionDocument | UnsetType | None = UNSET


def json(bisection: Bisection) -> str:
    """A bisection as one JSON object."""
    return json_text(document(bisection))


def document(bisection: Bisection) -> BisectionDocument:
    """Its ends, its target, every commit with what is known of it, and what was measured."""
    target = bisection.target
    base = BisectionDocument(
        good=bisection.span.good,
        bad=bisection.span.bad,
        ended=bisection.why if bisection.outcome or bisection.report else "",
        target=_target(target) if target else None,
        commits=[
            _commit(bisection, number, prior)
            for number, prior in enumerate(bisection.shares(), start=1)
        ],
    )
    outcome, begun = bisection.outcome, bisection.begun
    if outcome is None or begun is None:
        return base
    evidence = outcome.evidence
    return msgspec.structs.replace(
        base,
        good_value=outcome.values.get(0),
        effect=effect(evidence.pairs, bisection) if evidence.pairs else None,
        evidence=min(outcome.decision.evidence, LARGEST_EVIDENCE),
        named=[_named(bisection, number) for number in sorted(outcome.decision.named)],
        blocks=outcome.blocks,
        executions=outcome.executions,
        counted=begun.counted,
        instructions=outcome.guide and _instructions(bisection, outcome.guide),
        built=len(begun.built),
        seconds=begun.seconds,
        sessions=[session.session for session in begun.sessions],
        within=bisection.within and document(bisection.within),
    )


def _target(target: Target) -> TargetRow:
    return filled(TargetRow, target, benchmark=describe_target(target))


def _named(bisection: Bisection, number: int) -> NamedCommit:
    assert bisection.outcome is not None
    belief, commits = bisection.outcome.decision.belief, bisection.span.commits
    chance = float(belief.change[number - 1]) if belief else None
    return NamedCommit(commits[number], commits[number - 1], chance, own(bisection, number))


def _instructions(bisection: Bisection, guide: Guide) -> CountedInstructions:
    commits = {
        bisection.span.commits[place]: float(guide.jump[place - 1])
        for place in likeliest(guide.jump)
    }
    return CountedInstructions(guide.relative(improvement=bisection.improvement), commits)


def _commit(bisection: Bisection, number: int, prior: float) -> BisectedCommit:
    """What is known of a commit of the span."""
    commit = bisection.span.commits[number]
    row = BisectedCommit(commit=commit, merge=commit in bisection.span.merges, prior=prior)
    if bisection.suspects:
        suspect = bisection.suspects[number - 1]
        row = msgspec.structs.replace(row, suspect=suspect.touches, reasons=suspect.reasons)
    outcome, begun = bisection.outcome, bisection.begun
    if outcome is None or begun is None:
        return row
    belief = outcome.decision.belief
    return msgspec.structs.replace(
        row,
        probability=None if belief is None else float(belief.jump[number - 1]),
        value=outcome.values.get(number),
        level=belief.levels[number][0] if belief and number in belief.levels else None,
        blocks=len(outcome.evidence.candidates.get(number, ())),
        skipped=begun.skipped.get(commit),
    )


class Bar(NamedTuple):
    """The probability of a commit."""

    x: float
    y: float
    width: float
    height: float
    kind: str
    title: str


class CommitRow(NamedTuple):
    """A row of the table, in words."""

    commit: str
    title: str
    prior: str
    probability: str
    level: str
    blocks: str
    step: str
    why: str
    named: bool


class CommitLevel(NamedTuple):
    """The measured level of a commit with its interval."""

    x: float
    y: float
    low: float
    high: float
    title: str


@micro_sign()
def page(repository: Repository, bisection: Bisection) -> str:
    """The page as one HTML document without scripts; nothing in it comes from another place."""
    from perfvcs.pictures.export import render

    subject = (
        bisection.target
        and f"{describe_target(bisection.target)}, {metric_name(bisection.target.metric)}"
    )
    title = f"{subject or 'bisection'}: {bisection.span.good[:10]} -> {bisection.span.bad[:10]}"
    rows, left = _rows(repository, bisection)
    scale = [(f"{100 * share:.0f} %", round(_height(share), 1)) for share in (0.0, 0.5, 1.0)]
    return render(
        "bisect.html",
        title=title,
        said="\n".join(lines(repository, bisection)),
        bars=_bars(bisection),
        points=_points(bisection),
        scale=scale,
        left_edge=LEFT,
        right_edge=RIGHT,
        rows=rows,
        left=left,
    )


def _place(bisection: Bisection, number: int) -> float:
    return LEFT + (RIGHT - LEFT) * (number + 0.5) / (bisection.span.last + 1)


def _height(level: float) -> float:
    share = (min(max(level, LOWEST), HIGHEST) - LOWEST) / (HIGHEST - LOWEST)
    return BOTTOM - (BOTTOM - TOP) * share


def _bars(bisection: Bisection) -> list[Bar]:
    """A bar for each commit, of many those that have any height."""
    belief = bisection.outcome.decision.belief if bisection.outcome else None
    if bisection.outcome is None or belief is None:
        return []
    width = max(1.0, 0.8 * (RIGHT - LEFT) / (bisection.span.last + 1))
    places = sorted(
        sorted(range(1, bisection.span.last + 1), key=lambda place: -belief.jump[place - 1])[
            :MOST_BARS
        ]
    )
    bars = []
    for place in places:
        chance = float(belief.jump[place - 1])
        top = _height(chance)
        kind = "certain" if place in bisection.outcome.decision.named else "likely"
        title = f"{bisection.span.commits[place][:10]}: {100 * chance:.1f} %"
        x = _place(bisection, place) - width / 2
        bars.append(
            Bar(
                round(x, 2),
                round(top, 2),
                round(width, 2),
                round(_height(0.0) - top, 2),
                kind,
                title,
            )
        )
    return bars


def _points(bisection: Bisection) -> list[CommitLevel]:
    """A point for each end and each commit that was measured between."""
    belief = bisection.outcome.decision.belief if bisection.outcome else None
    if belief is None:
        return []
    levels = {0: (0.0, 0.0), **belief.levels, bisection.span.last: (1.0, 0.0)}
    return [
        CommitLevel(
            round(_place(bisection, place), 2),
            round(_height(level), 2),
            round(_height(level - 2 * error), 2),
            round(_height(level + 2 * error), 2),
            f"{bisection.span.commits[place][:10]}: {100 * level:.0f} %",
        )
        for place, (level, error) in sorted(levels.items())
    ]


def _rows(repository: Repository, bisection: Bisection) -> tuple[list[CommitRow], str]:
    """The rows of the table, newest first, of many the likeliest; and how many others there are."""
    belief = bisection.outcome.decision.belief if bisection.outcome else None
    shares = bisection.shares()
    likely = shares if belief is None else belief.jump
    order = sorted(range(1, bisection.span.last + 1), key=lambda place: -likely[place - 1])
    listed = sorted(order[:MOST_ROWS], reverse=True)
    details = repository.project.describe([bisection.span.commits[place] for place in listed])
    rows = [
        _row(bisection, place, details[bisection.span.commits[place]].title, shares[place - 1])
        for place in listed
    ]
    rest = bisection.span.last - len(listed)
    return rows, f"{counted(rest, 'less likely commit')} left out" if rest else ""


def _row(bisection: Bisection, number: int, title: str, share: float) -> CommitRow:
    commit, outcome = bisection.span.commits[number], bisection.outcome
    belief = outcome.decision.belief if outcome else None
    level = belief.levels.get(number) if belief else None
    blocks = len(outcome.evidence.candidates.get(number, ())) if outcome else 0
    step = ""
    if outcome and number in outcome.evidence.steps:
        step = effect_text(bisection, own(bisection, number))
    return CommitRow(
        commit=commit[:10],
        title=shorten(title, SUBJECT),
        prior=f"{100 * share:.1f} %",
        probability="" if belief is None else f"{100 * float(belief.jump[number - 1]):.1f} %",
        level="" if level is None else f"{100 * level[0]:.0f} %",
        blocks=str(blocks or ""),
        step=step,
        why=_why(bisection, number),
        named=bool(outcome and number in outcome.decision.named),
    )


def _why(bisection: Bisection, number: int) -> str:
    """Why a commit was skipped, else what it changes, as far as that is known."""
    commit = bisection.span.commits[number]
    skipped = bisection.begun.skipped.get(commit, "") if bisection.begun else ""
    if skipped:
        return f"skipped: {skipped}"
    return reasons(bisection.suspects[number - 1].reasons) if bisection.suspects else ""
