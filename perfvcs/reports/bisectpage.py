"""The page of a bisection: what it says, the probability and the level of every commit drawn, and a
table of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from perfvcs.locate.bisect.evidence import Effect, of_ends, own
from perfvcs.locate.bisect.posterior import likeliest
from perfvcs.locate.bisect.saved import Target
from perfvcs.reports.bisect import effect_text, lines, reasons
from perfvcs.reports.bisectdrawing import drawn, measured
from perfvcs.text.characters import shorten
from perfvcs.text.document import filled, json_text
from perfvcs.text.quantity import micro_sign
from perfvcs.text.words import counted, metric_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from perfvcs.locate.bisect.bisection import Bisection
    from perfvcs.locate.bisect.instructioncounts import Guide
    from perfvcs.repository import Repository


LARGEST_EVIDENCE = 1e300  # evidence beyond it is infinite, which JSON has no number for
MOST_ROWS = 500  # of the table
SUBJECT = 60  # characters


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
    measured, if anything was; ``stored`` of its ``blocks`` were there before.
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
    stored: int | UnsetType = UNSET
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
        target=filled(TargetRow, target, benchmark=target.name) if target else None,
        commits=[
            _commit(bisection, number, prior)
            for number, prior in enumerate(bisection.shares(), start=1)
        ],
    )
    outcome, begun = bisection.outcome, bisection.begun
    if outcome is None or begun is None:
        return base
    return msgspec.structs.replace(
        base,
        good_value=outcome.values.get(0),
        effect=of_ends(bisection),
        evidence=min(outcome.decision.evidence, LARGEST_EVIDENCE),
        named=[_named(bisection, number) for number in sorted(outcome.decision.named)],
        blocks=outcome.blocks,
        stored=bisection.recalled,
        executions=outcome.executions,
        counted=begun.counted,
        instructions=outcome.guide and _instructions(bisection, outcome.guide),
        built=len(begun.built),
        seconds=begun.seconds,
        sessions=[session.session for session in begun.sessions],
        within=bisection.within and document(bisection.within),
    )


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


@micro_sign()
def page(repository: Repository, bisection: Bisection) -> str:
    """The page as one HTML document without scripts; nothing in it comes from another place."""
    from perfvcs.reports.export import render

    subject = (
        bisection.target and f"{bisection.target.name}, {metric_name(bisection.target.metric)}"
    )
    title = f"{subject or 'bisection'}: {bisection.span.good[:10]} -> {bisection.span.bad[:10]}"
    rows, left = _rows(repository, bisection)
    return render(
        "bisect.html",
        title=title,
        said="\n".join(lines(repository, bisection)),
        chart=drawn(bisection),
        rows=rows,
        left=left,
    )


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
    level = measured(bisection).get(number)
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
    if not bisection.suspects:
        return ""
    suspect = bisection.suspects[number - 1]
    named = bisection.outcome is not None and number in bisection.outcome.decision.named
    if named and not suspect.touches:
        return f"measured to change, though it {reasons(suspect.reasons)}"
    return reasons(suspect.reasons)
