"""The page of a bisection: what it says, the probability and the level of every commit drawn, and a
table of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from perfvcs.locate.bisect.bisection import describe_target
from perfvcs.locate.bisect.evidence import effect, own
from perfvcs.locate.bisect.posterior import likeliest
from perfvcs.reports.bisect import effect_text, lines, reasons
from perfvcs.text.characters import escaped, shorten
from perfvcs.text.quantity import micro_sign
from perfvcs.text.words import counted, metric_name

if TYPE_CHECKING:
    from perfvcs.locate.bisect.bisection import Bisection
    from perfvcs.repository import Repository


LARGEST_EVIDENCE = 1e300  # evidence beyond it is infinite, which JSON has no number for
MOST_BARS = 1000  # that can be told apart
MOST_ROWS = 500
SUBJECT = 60  # characters
LEFT, RIGHT, TOP, BOTTOM = 105.0, 990.0, 20.0, 270.0  # of the drawing, in its own units
LOWEST, HIGHEST = -0.25, 1.25  # levels that are drawn


def json(bisection: Bisection) -> str:
    """A bisection as one JSON object."""
    return escaped(msgspec.json.format(msgspec.json.encode(document(bisection))).decode())


def document(bisection: Bisection) -> dict[str, Any]:
    """Its ends, its target, every commit with what is known of it, and what was measured."""
    target = bisection.target
    base = {
        "good": bisection.span.good,
        "bad": bisection.span.bad,
        "ended": bisection.why if bisection.outcome or bisection.report else "",
        "target": target
        and {"benchmark": describe_target(target), **msgspec.structs.asdict(target)},
        "commits": _commits(bisection),
    }
    outcome, begun = bisection.outcome, bisection.begun
    if outcome is None or begun is None:
        return base
    belief, evidence = outcome.decision.belief, outcome.evidence
    named = [
        {
            "commit": bisection.span.commits[place],
            "parent": bisection.span.commits[place - 1],
            "probability": float(belief.change[place - 1]) if belief else None,
            "step": own(bisection, place)._asdict(),
        }
        for place in sorted(outcome.decision.named)
    ]
    return base | {
        "good_value": outcome.values.get(0),
        "effect": effect(evidence.pairs, bisection)._asdict() if evidence.pairs else None,
        "evidence": min(outcome.decision.evidence, LARGEST_EVIDENCE),
        "named": named,
        "blocks": outcome.blocks,
        "executions": outcome.executions,
        "counted": begun.counted,
        "instructions": outcome.guide
        and {
            "effect": outcome.guide.relative(improvement=bisection.improvement),
            "commits": {
                bisection.span.commits[place]: float(outcome.guide.jump[place - 1])
                for place in likeliest(outcome.guide.jump)
            },
        },
        "built": len(begun.built),
        "seconds": begun.seconds,
        "sessions": [one.session for one in begun.sessions],
        "within": bisection.within and document(bisection.within),
    }


def _commits(bisection: Bisection) -> list[dict[str, Any]]:
    share, rows = bisection.shares(), []
    for place, commit in enumerate(bisection.span.commits[1:]):
        row: dict[str, Any] = {
            "commit": commit,
            "merge": commit in bisection.span.merges,
            "prior": share[place],
        }
        if bisection.suspects:
            row |= {
                "suspect": bisection.suspects[place].touches,
                "reasons": bisection.suspects[place].reasons,
            }
        rows.append(row | (_measured(bisection, place + 1) if bisection.outcome else {}))
    return rows


def _measured(bisection: Bisection, number: int) -> dict[str, Any]:
    """What was measured of a commit: its mean value, the share of the difference that it has, and
    its probability.
    """
    assert bisection.outcome is not None and bisection.begun is not None
    belief = bisection.outcome.decision.belief
    return {
        "probability": None if belief is None else float(belief.jump[number - 1]),
        "value": bisection.outcome.values.get(number),
        "level": belief.levels[number][0] if belief and number in belief.levels else None,
        "blocks": len(bisection.outcome.evidence.candidates.get(number, ())),
        "skipped": bisection.begun.skipped.get(bisection.span.commits[number]),
    }


class Bar(NamedTuple):
    """The probability of a commit."""

    x: float
    y: float
    width: float
    height: float
    kind: str
    title: str


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

    about = (
        bisection.target
        and f"{describe_target(bisection.target)}, {metric_name(bisection.target.metric)}"
    )
    title = f"{about or 'bisection'}: {bisection.span.good[:10]} -> {bisection.span.bad[:10]}"
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


def _rows(repository: Repository, bisection: Bisection) -> tuple[list[dict[str, Any]], str]:
    """The rows of the table, newest first, of many the likeliest; and how many others there are."""
    belief = bisection.outcome.decision.belief if bisection.outcome else None
    shares = bisection.shares()
    order = sorted(
        range(1, bisection.span.last + 1),
        key=lambda place: -(shares[place - 1] if belief is None else belief.jump[place - 1]),
    )
    kept = sorted(order[:MOST_ROWS], reverse=True)
    about = repository.project.describe([bisection.span.commits[place] for place in kept])
    rows = [
        _row(bisection, place, about[bisection.span.commits[place]].title, shares[place - 1])
        for place in kept
    ]
    rest = bisection.span.last - len(kept)
    return rows, f"{counted(rest, 'less likely commit')} left out" if rest else ""


def _row(bisection: Bisection, number: int, title: str, share: float) -> dict[str, Any]:
    commit, outcome = bisection.span.commits[number], bisection.outcome
    belief = outcome.decision.belief if outcome else None
    skipped = bisection.begun.skipped.get(commit, "") if bisection.begun else ""
    level = belief.levels.get(number) if belief else None
    return {
        "commit": commit[:10],
        "title": shorten(title, SUBJECT),
        "prior": f"{100 * share:.1f} %",
        "probability": "" if belief is None else f"{100 * float(belief.jump[number - 1]):.1f} %",
        "level": "" if level is None else f"{100 * level[0]:.0f} %",
        "blocks": len(outcome.evidence.candidates.get(number, ())) or "" if outcome else "",
        "step": effect_text(bisection, own(bisection, number))
        if outcome and number in outcome.evidence.steps
        else "",
        "why": f"skipped: {skipped}"
        if skipped
        else reasons(bisection.suspects[number - 1].reasons)
        if bisection.suspects
        else "",
        "named": bool(outcome and number in outcome.decision.named),
    }
