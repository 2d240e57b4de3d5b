"""What `perf bisect` prints: the commit and its evidence, or the commits in question, for a terminal of 80 columns, or as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from perfvcs.locate.bisection import describe_target
from perfvcs.locate.effects import Effect, own, part
from perfvcs.locate.effects import effect as effect_of
from perfvcs.reports.suspects import reasons, title, wrapped
from perfvcs.text.characters import shorten
from perfvcs.text.duration import duration
from perfvcs.text.quantity import change, difference, percent
from perfvcs.text.quantity import step as levels
from perfvcs.text.words import counted, metric_name

if TYPE_CHECKING:
    from perfvcs.check.change import Change
    from perfvcs.git.project import Commit
    from perfvcs.locate.bisection import Bisection
    from perfvcs.repository import Repository

LISTED = 12  # commits of a range, and of those that were skipped
INDENT = 4


def lines(repository: Repository, found: Bisection) -> Iterator[str]:
    """The result of a bisection."""
    about = repository.project.describe(found.span.commits)
    yield from _head(found)
    if found.outcome is None:
        yield from wrapped(_undecided(found))
        return
    named = found.outcome.decision.named
    if named:
        for place in sorted(named):
            yield ""
            yield from _culprit(found, about, place)
    if found.why != "found":
        yield from wrapped(_undecided(found))
        yield from _range(found, about)
    yield ""
    yield from wrapped(f"bisected {_effort(found)}")
    yield from _skipped(found)
    if found.also:
        names = ", ".join(
            dict.fromkeys(f"{change.job} {metric_name(change.metric)} {percent(change.effect or 0.0)}" for change in found.also)
        )
        yield from wrapped(
            f"note: the ends differ elsewhere too: {shorten(names, 300)}; follow one with --job, --unit and --metric"
        )
    if (
        named
        and found.why == "found"
        and found.within is None
        and (merges := [one for one in _commits(found, named) if one in found.span.merges])
    ):
        yield from wrapped(f"note: {merges[0][:10]} is a merge; what it brought is searched with --merged")
    if found.within is not None:
        yield ""
        yield from lines(repository, found.within)


def _head(found: Bisection) -> Iterator[str]:
    if found.target is None:
        return
    name = f"{describe_target(found.target)}, {metric_name(found.target.metric)}"
    evidence = found.outcome.evidence if found.outcome else None
    size = "" if evidence is None or not evidence.pairs else f": {effect_text(found, effect_of(evidence.pairs, found))}"
    yield from wrapped(f"{shorten(name, 60)}{size} from {found.span.good[:10]} to {found.span.bad[:10]}")


def _culprit(found: Bisection, about: dict[str, Commit], number: int) -> Iterator[str]:
    """A commit that is named, and why."""
    assert found.outcome is not None and found.outcome.decision.belief is not None
    commit, step = found.span.commits[number], own(found, number)
    yield title(about[commit])
    against = "against its parent" if number in found.outcome.evidence.steps else "against the good end, its parent"
    yield from wrapped(f"{effect_text(found, step)} {against}, {counted(step.pairs, 'pair')} in turns", indent=INDENT)
    if found.target and (sides := found.outcome.sides.get(number)):
        yield from wrapped(levels(*sides, found.target.unit), indent=INDENT)
    share = part(found, number)
    probability = f"probability {_probability(float(found.outcome.decision.belief.change[number - 1]))}"
    yield from wrapped(
        probability + (f"; {100 * share:.0f} % of the whole difference" if share is not None else ""), indent=INDENT
    )
    if found.suspects is not None and found.suspects[number - 1].touches:
        yield from wrapped(f"changes {reasons(found.suspects[number - 1].reasons)}", indent=INDENT)


def _undecided(found: Bisection) -> str:
    """Why nothing is named."""
    ends = f"{found.span.good[:10]} and {found.span.bad[:10]}"
    why, improvement = found.why, found.improvement
    if found.outcome is None:
        opposite = [change for change in found.judged if change.word == ("degradation" if improvement else "improvement")]
        if opposite:
            size, cure = percent(opposite[0].effect or 0.0), "" if improvement else ": --improvement finds the commit"
            word = "better" if improvement else "worse"
            return f"nothing became {word} between {ends}, but {_other(opposite[0])} changed by {size}{cure}"
    effect = found.outcome and found.outcome.evidence.pairs and effect_of(found.outcome.evidence.pairs, found)
    size = f": {effect_text(found, effect)}" if effect else ""
    sentences = {
        "equal": f"{ends} do not differ{size}: there is nothing to look for",
        "unproved": f"it is not shown that {ends} differ{size}: there may be nothing to look for",
        "range": "no more commits can be measured; it is one of these",
        "worn out": "more measuring does not settle it; what is known so far",
        "budget": "the budget is used up; what is known so far (the same command goes on)",
        "reversed": f"{found.span.bad[:10]} is {'worse' if improvement else 'better'} than {found.span.good[:10]}{size}"
        + ("" if improvement else ": --improvement finds the commit"),
    }
    return sentences[why]


def _other(about: Change) -> str:
    return f"{about.job} {metric_name(about.metric)}"


def _range(found: Bisection, about: dict[str, Commit]) -> Iterator[str]:
    """The commits in question."""
    assert found.outcome is not None
    belief = found.outcome.decision.belief
    if belief is None or not found.outcome.decision.proved:
        return
    held = belief.range()
    likeliest = sorted(held, key=lambda place: -belief.jump[place - 1])[:LISTED]
    for place in sorted(likeliest):
        yield title(about[found.span.commits[place]], f"{100 * float(belief.jump[place - 1]):5.1f} %  ")
    if len(held) > LISTED:
        yield f"and {len(held) - LISTED} more, from {found.span.commits[held[0]][:10]} to {found.span.commits[held[-1]][:10]}"


def _skipped(found: Bisection) -> Iterator[str]:
    skipped = found.begun.skipped if found.begun else {}
    for commit, reason in list(skipped.items())[:LISTED]:
        yield from wrapped(f"skipped {commit[:10]}: {shorten(reason, 200)}")
    if len(skipped) > LISTED:
        yield f"and {len(skipped) - LISTED} more were skipped"


def _effort(found: Bisection) -> str:
    assert found.outcome is not None and found.begun is not None
    outcome, begun = found.outcome, found.begun
    counts = f" and {len(begun.counted)} to count instructions" if begun.counted else ""
    return (
        f"{counted(found.span.last, 'commit')}: {counted(len(begun.built), 'build')}, {counted(outcome.blocks, 'block')}, "
        f"{counted(outcome.executions, 'execution')}{counts}, {duration(begun.seconds)}"
    )


def _commits(found: Bisection, places: tuple[int, ...]) -> list[str]:
    return [found.span.commits[place] for place in places]


def effect_text(found: Bisection, effect: Effect) -> str:
    """A difference with its interval, in percent or in the metric's unit."""
    assert found.outcome is not None and found.target is not None
    exact = effect.low == effect.high
    low, high = (None, None) if exact else (effect.low, effect.high)
    return (
        change(effect.value, low, high) if found.outcome.logarithmic else difference(effect.value, low, high, found.target.unit)
    )


def _probability(value: float) -> str:
    return "above 99.9 %" if value > 0.999 else f"{100 * value:.1f} %"
