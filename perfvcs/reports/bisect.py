"""What `perf bisect` prints: the commit and its evidence, or the commits in question, for a
terminal of 80 columns, or as JSON.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from math import inf, isfinite
from typing import TYPE_CHECKING

from perfvcs.check.bounds import within
from perfvcs.check.movement import NAMED
from perfvcs.check.text import benchmark, stepped
from perfvcs.locate.bisect.evidence import Effect, of_ends, own, part, sides_of, unexplained
from perfvcs.reports.nextsteps import of_commit
from perfvcs.text.characters import COLUMNS, shorten
from perfvcs.text.quantity import change, difference, duration, percent, quantity
from perfvcs.text.quantity import step as levels
from perfvcs.text.words import counted, metric_name
from perfvcs.text.wrapping import wrap

if TYPE_CHECKING:
    from perfvcs.check.change import Change
    from perfvcs.git.project import Commit
    from perfvcs.locate.bisect.bisection import Bisection
    from perfvcs.repository import Repository


MOST_SUSPECTS = 10  # suspects
REASONS = 3  # of each
MOST_OTHERS = 4  # other benchmarks that differ
MOST_LISTED = 12  # commits of a range, and of those that were skipped
BOUNDS = 2  # comparisons whose bound is printed
INDENT = 4
LARGEST_REST = 0.2  # of the difference: more that is not explained is noted


def suspected(repository: Repository, bisection: Bisection) -> Iterator[str]:
    """The commits of a span by what they change, the likeliest first; of equally likely ones the
    newest.
    """
    if bisection.target is not None:
        yield f"{bisection.target.name}, {metric_name(bisection.target.metric)}"
    if bisection.suspects is None:
        yield (
            f"{bisection.span.last:,} commits are too many to be read: name ends closer to each"
            " other"
        )
        return
    share = bisection.shares()
    touching = [place for place, row in enumerate(bisection.suspects) if row.touches]
    listed = sorted(touching, key=lambda place: (-share[place], -place))[:MOST_SUSPECTS]
    details = repository.project.describe([bisection.suspects[place].commit for place in listed])
    for place in listed:
        suspect = bisection.suspects[place]
        yield title(details[suspect.commit], f"{100 * share[place]:5.1f} %  ")
        yield from wrapped(reasons(suspect.reasons), indent=9)
    rest = bisection.span.last - len(touching)
    parts = [counted(len(touching), "suspect")]
    if rest:
        what = "nothing that it is known to run" if bisection.target else "nothing that runs"
        parts.append(f"{counted(rest, 'commit')} change{'s' if rest == 1 else ''} {what}")
    yield ", ".join(parts)


def reasons(every: tuple[str, ...]) -> str:
    """The first of the reasons that make a commit a suspect."""
    more = f" and {len(every) - REASONS} more" if len(every) > REASONS else ""
    return ", ".join(every[:REASONS]) + more


def title(commit: Commit, before: str = "") -> str:
    """The line about a commit."""
    head = f"{before}{commit.id[:10]}  {commit.when[:10]}  {shorten(commit.author, 16)}  "
    return head + shorten(commit.title, max(10, COLUMNS - len(head)))


def wrapped(text: str, indent: int = 0) -> list[str]:
    """A sentence, wrapped."""
    margin = " " * indent
    return wrap(
        text,
        COLUMNS,
        initial_indent=margin,
        subsequent_indent=margin or "  ",
        break_long_words=False,
    )


def lines(repository: Repository, bisection: Bisection) -> Iterator[str]:
    """The result of a bisection."""
    details = repository.project.describe(bisection.span.commits)
    yield from _head(bisection)
    if bisection.outcome is None:
        yield from wrapped(_undecided(bisection))
        return
    named = bisection.outcome.decision.named
    if named:
        for place in sorted(named):
            yield ""
            yield from _culprit(repository, bisection, details, place)
    if bisection.why != "found":
        yield from wrapped(_undecided(bisection))
        yield from _range(bisection, details)
        yield from _by_counts(bisection, details)
    yield ""
    yield from wrapped(_effort(bisection))
    yield from _skipped(bisection)
    if bisection.also:
        elsewhere = f"the ends differ elsewhere too: {'; '.join(_others(bisection))}"
        ends = f"{bisection.span.good[:10]} {bisection.span.bad[:10]}"
        naming = NAMED.format(f"perf bisect{' --improvement' * bisection.improvement} {ends}")
        note = "; ".join(filter(None, [bisection.choice, elsewhere, naming]))
        yield from stepped(f"note: {note}", COLUMNS)
    if named and bisection.why == "found" and (rest := unexplained(bisection)) >= LARGEST_REST:
        yield from wrapped(
            f"note: {100 * rest:.0f} % of the difference between the ends is not explained by what"
            " is named: smaller changes are not searched for"
        )
    if named and bisection.why == "found":
        yield from _of_a_merge(repository, bisection, named)
        yield from _functions(repository, bisection, named)


def _functions(
    repository: Repository, bisection: Bisection, named: tuple[int, ...]
) -> Iterator[str]:
    """How to find the function in each commit that is named, but for merges."""
    for parent, commit in (bisection.span.commits[place - 1 : place + 1] for place in named):
        if bisection.target is not None and commit not in bisection.span.merges:
            step = of_commit(repository, bisection.target, parent, commit)
            yield from stepped(step, COLUMNS)


def _of_a_merge(
    repository: Repository, bisection: Bisection, named: tuple[int, ...]
) -> Iterator[str]:
    """What a merge that is named brought, or how that is searched."""
    commits = (bisection.span.commits[place] for place in named)
    merges = [commit[:10] for commit in commits if commit in bisection.span.merges]
    within = bisection.within
    if merges and within is None:
        how = (
            "cannot be searched: it has no good end that can be measured"
            if bisection.merged
            else "is searched with --merged"
        )
        yield from wrapped(f"note: {merges[0]} is a merge; what it brought {how}")
    if within is not None:
        yield ""
        yield from lines(repository, within)
        if within.why in ("equal", "reversed"):
            yield from wrapped(f"note: {merges[0]} itself made the difference, not what it brought")


def _head(bisection: Bisection) -> Iterator[str]:
    if bisection.target is None:
        return
    name = f"{bisection.target.name}, {metric_name(bisection.target.metric)}"
    effect = of_ends(bisection) if bisection.outcome else None
    size = f": {effect_text(bisection, effect)}" if effect else ""
    yield from wrapped(
        f"{shorten(name, 60)}{size} from {bisection.span.good[:10]} to {bisection.span.bad[:10]}"
    )


def _culprit(
    repository: Repository, bisection: Bisection, details: dict[str, Commit], number: int
) -> Iterator[str]:
    """A commit that is named, and why."""
    assert bisection.outcome is not None and bisection.outcome.decision.belief is not None
    commit, step = bisection.span.commits[number], own(bisection, number)
    yield title(details[commit])
    against = f"against {bisection.parent(number)}"
    yield from wrapped(
        f"{effect_text(bisection, step)} {against}, {counted(step.pairs, 'pair')} in turns",
        indent=INDENT,
    )
    if bisection.target and (sides := sides_of(bisection, number)):
        yield from wrapped(levels(*sides, bisection.target.unit), indent=INDENT)
    share = part(bisection, number)
    probability = (
        f"probability {_probability(float(bisection.outcome.decision.belief.change[number - 1]))}"
    )
    whole = "" if share is None else f"; {100 * share:.0f} % of the difference between the ends"
    yield from wrapped(f"{probability}{whole}", indent=INDENT)
    if bisection.suspects is not None and bisection.suspects[number - 1].touches:
        yield from wrapped(
            f"changes {reasons(bisection.suspects[number - 1].reasons)}", indent=INDENT
        )
    before = bisection.span.commits[number - 1]
    yield from wrapped(repository.judge_changes(before, commit), indent=INDENT)


def _undecided(bisection: Bisection) -> str:
    """Why nothing is named."""
    if bisection.outcome is None:
        return _unfollowed(bisection)
    why, improvement = bisection.why, bisection.improvement
    if why == "range":
        return f"no more commits can be measured{_untried(bisection)}; it is one of these"
    effect = of_ends(bisection)
    size = f": {effect_text(bisection, effect)}" if effect else ""
    good, bad = bisection.span.good[:10], bisection.span.bad[:10]
    opposite = "worse" if improvement else "better"
    cure = "" if improvement else ": --improvement finds the commit"
    sentences = {
        "equal": f"{_less(bisection, effect)}: there is no commit to look for",
        "unproved": f"no difference is shown: {_less(bisection, effect)}",
        "worn out": "more measuring does not settle it; what is known so far",
        "budget": "the budget is used up; what is known so far (the same command goes on)",
        "reversed": f"{bad} is {opposite} than {good}{size}{cure}",
    }
    return sentences[why]


def _unfollowed(bisection: Bisection) -> str:
    """Why nothing is searched for, by the verdicts on the ends."""
    ends = f"{bisection.span.good[:10]} and {bisection.span.bad[:10]}"
    improvement = bisection.improvement
    opposite = [
        change
        for change in bisection.judged
        if change.word == ("degradation" if improvement else "improvement")
    ]
    if opposite:
        size = _effect(opposite[0])
        cure = "" if improvement else ": --improvement finds the commit"
        word = "better" if improvement else "worse"
        return (
            f"nothing became {word} between {ends}, but {_series(opposite[0])} changed by"
            f" {size}{cure}"
        )
    bounded = [(change.bound, change) for change in bisection.judged if change.bound is not None]
    bounded.sort(key=lambda pair: pair[0])
    parts = [
        f"by less than {_at_most(bound)} in {_series(change)}" for bound, change in bounded[:BOUNDS]
    ]
    unknown = [
        f"nothing is known of {_series(change)}{f': {change.reason}' if change.reason else ''}"
        for change in bisection.judged
        if change.bound is None
    ][:BOUNDS]
    if not bisection.judged:
        return f"nothing that can be compared was measured on {ends}"
    more = len(bisection.judged) - len(parts) - len(unknown)
    rest = f"; {counted(more, 'other comparison')} showed none either" if more else ""
    known = [f"{ends} differ {'; '.join(parts)}"] if parts else []
    between = "" if parts else f" between {ends}"
    return f"no difference is shown{between}: {'; '.join(known + unknown)}{rest}"


def _effect(change: Change) -> str:
    """An effect in percent, or where there is none, in the metric's unit."""
    if change.effect is None and change.shift is not None:
        return difference(change.shift, None, None, change.unit)
    return percent(change.effect or 0.0)


def _at_most(bound: float) -> str:
    """A bound in percent, rounded up."""
    return within(bound).removeprefix("within ±")


def _less(bisection: Bisection, effect: Effect | None) -> str:
    """How much the ends differ at most: ``1f0e.. and 8c7f.. differ by less than 1.8 %``."""
    assert bisection.outcome is not None and bisection.target is not None
    ends = f"{bisection.span.good[:10]} and {bisection.span.bad[:10]}"
    most = inf if effect is None else max(abs(effect.low), abs(effect.high))
    if not most:
        return f"{ends} do not differ"
    if not isfinite(most):
        return f"{ends} may differ by any amount"
    logarithmic = bisection.outcome.logarithmic
    bound = _at_most(most) if logarithmic else quantity(most, bisection.target.unit)
    return f"{ends} differ by less than {bound}"


def _untried(bisection: Bisection) -> str:
    """How many commits of the range were not tried, since those around them do not run."""
    assert bisection.outcome is not None
    evidence, belief = bisection.outcome.evidence, bisection.outcome.decision.belief
    chances = evidence.chances()
    held = belief.range() if belief else []
    untried = sum(not chances[place] and place not in evidence.skipped for place in held)
    return f" ({untried:,} between those that do not run were not tried)" if untried else ""


def _series(change: Change) -> str:
    """Benchmark and metric, as other reports call them."""
    return f"{benchmark(change)}, {metric_name(change.metric)}"


def _others(bisection: Bisection) -> list[str]:
    """The benchmarks that differ beside the one that is followed, with their metrics, and how many
    more do.
    """
    metrics: dict[str, dict[str, None]] = defaultdict(dict)
    for other in bisection.also:
        moved = f"{metric_name(other.metric)} {percent(other.effect or 0.0)}"
        metrics[shorten(benchmark(other))][moved] = None
    named = [f"{name}, {', '.join(moved)}" for name, moved in metrics.items()]
    more = len(named) - MOST_OTHERS
    return [*named[:MOST_OTHERS], *([f"{more:,} more"] if more > 0 else [])]


def _range(bisection: Bisection, details: dict[str, Commit]) -> Iterator[str]:
    """The commits in question."""
    assert bisection.outcome is not None
    belief = bisection.outcome.decision.belief
    if belief is None or not bisection.outcome.decision.proved:
        return
    held = belief.range()
    likeliest = sorted(held, key=lambda place: -belief.jump[place - 1])[:MOST_LISTED]
    for place in sorted(likeliest):
        yield title(
            details[bisection.span.commits[place]],
            f"{100 * float(belief.jump[place - 1]):5.1f} %  ",
        )
    if len(held) > MOST_LISTED:
        yield (
            f"and {len(held) - MOST_LISTED} more, from {bisection.span.commits[held[0]][:10]} to"
            f" {bisection.span.commits[held[-1]][:10]}"
        )


def _by_counts(bisection: Bisection, details: dict[str, Commit]) -> Iterator[str]:
    """Where instructions changed, if times do not show that the ends differ."""
    from perfvcs.locate.bisect.posterior import likeliest

    guide = bisection.outcome.guide if bisection.outcome else None
    if guide is None or bisection.why != "unproved":
        return
    size = percent(guide.relative(improvement=bisection.improvement))
    yield from wrapped(f"instructions, whose counts repeat, do differ: {size}, made by")
    for place in likeliest(guide.jump)[:MOST_LISTED]:
        yield title(
            details[bisection.span.commits[place]], f"{100 * float(guide.jump[place - 1]):5.1f} %  "
        )


def _skipped(bisection: Bisection) -> Iterator[str]:
    skipped = bisection.begun.skipped if bisection.begun else {}
    for commit, reason in list(skipped.items())[:MOST_LISTED]:
        yield from wrapped(f"skipped {commit[:10]}: {shorten(reason, 200)}")
    if len(skipped) > MOST_LISTED:
        yield f"and {len(skipped) - MOST_LISTED} more were skipped"


def _effort(bisection: Bisection) -> str:
    """What the answer took, and how much of that was stored before."""
    assert bisection.outcome is not None and bisection.begun is not None
    outcome, begun = bisection.outcome, bisection.begun
    commits, recalled = counted(bisection.span.last, "commit"), bisection.recalled
    parts = [
        counted(len(begun.built), "build"),
        counted(outcome.blocks, "block"),
        counted(outcome.executions, "execution"),
    ]
    if begun.counted:
        parts[2] += f" and {len(begun.counted)} to count instructions"
    if recalled == outcome.blocks:
        return f"nothing was measured: what is stored answers for {commits} ({', '.join(parts)})"
    if recalled:
        parts[1] += f" ({recalled:,} of them stored before)"
    return f"bisected {commits}: {', '.join(parts)}, {duration(begun.seconds)}"


def _commits(bisection: Bisection, places: tuple[int, ...]) -> list[str]:
    return [bisection.span.commits[place] for place in places]


def effect_text(bisection: Bisection, effect: Effect) -> str:
    """A difference with its interval, in percent or in the metric's unit."""
    assert bisection.outcome is not None and bisection.target is not None
    exact = effect.low == effect.high
    low, high = (None, None) if exact else (effect.low, effect.high)
    return (
        change(effect.value, low, high)
        if bisection.outcome.logarithmic
        else difference(effect.value, low, high, bisection.target.unit)
    )


def _probability(value: float) -> str:
    return "above 99.9 %" if value > 0.999 else f"{100 * value:.1f} %"
