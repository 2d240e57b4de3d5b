"""What to do next about what is open: how many pairs settle it, or what else does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Sequence
from math import ceil, sqrt
from typing import TYPE_CHECKING

from perfvcs.check.bounds import percent_of
from perfvcs.check.text import revision
from perfvcs.check.vocabulary import ONE_SIDED
from perfvcs.statistics.multiplicity import PAIRS
from perfvcs.text.words import counted

if TYPE_CHECKING:
    from perfvcs.check.change import Change, Report

IMPORT_ADVICE = (
    "To settle what was imported: measure both in turns, store with `perf import --in-turns`, or"
    " import ten earlier commits, too"
)
# times the pairs with which half an interval would be as long as it may be: the next effect will
# differ from this one, in four of five cases by less than 1.3 standard errors
SPARE = 2.2
MOST_PAIRS = 3000  # more are not proposed
FEWEST_PAIRS = 10  # below which an interval says too little of how many are needed
LARGEST_WITHIN = 0.5  # bound up to which it is worth to count as the same
INPUTS_VARY = 0.1  # deviation of one pair, as a share, from which an input of its own is likely
DELTA = 0.01  # where a change has none
QUANTILE = 2.8  # standard errors of half an interval of 99 %


def settling(
    report: Report,
    pairs: int = 0,
    noise: Callable[[str], str] = lambda _: "",
    scheduler: str = "",
    products: Sequence[str] = (),
    seeded: Container[str] = (),
) -> str:
    """The next step, a sentence; empty where nothing is open.

    ``pairs`` is how many were just measured in turns, on the hosts of a ``scheduler`` if there is
    one; ``noise`` says of a job's label what disturbed its measurement, with the cure. ``products``
    are the names of the sides that are no revisions; ``seeded`` are the labels of the jobs whose
    command gets the seed.
    """
    undecided = [
        change for change in report.changes if change.word not in ONE_SIDED and not change.settled
    ]
    ours = [change for change in undecided if change.series not in report.foreign]
    if not ours:
        return IMPORT_ADVICE if undecided else ""
    if products:
        against = " ".join(f"--against {name}=..." for name in products)
        command = f"perf collect {against}" if len(products) > 1 else f"perf check {against}"
        return f"To settle it: {command}{on_hosts(scheduler)}"
    named, hosts = _named(report), on_hosts(scheduler)
    pairs = pairs or _pairs(ours)
    if not pairs:
        return f"To settle it: perf check --measure{named}"
    fine = [change for change in ours if not change.coarse]
    wanted = _wanted(fine, pairs) if pairs >= FEWEST_PAIRS else PAIRS
    sentences = [f"Open after {counted(pairs, 'pair')}"]
    if not fine:
        sentences[0] += "; more cannot settle it: the clock is too coarse"
    elif wanted is None:
        sentences[0] += f"; not even {MOST_PAIRS:,} would settle it"
    elif wanted <= PAIRS:
        sentences[0] += f": perf check --measure{named}{hosts}"
    else:
        sentences[0] += (
            f"; {wanted:,} should settle it: perf check --measure{named} -n {wanted}{hosts}"
        )
    if bound := _within(ours):
        sentences.append(f"as it is: perf check{named} --within {bound}")
    job, _ = Counter(change.job for change in ours).most_common(1)[0]
    fact, _, cure = noise(job).partition(": ")
    if cure or fact:
        sentences.append(f"first {cure or fact}")
    elif job not in seeded and _deviation(ours, pairs) > INPUTS_VARY:
        sentences.append("if its input varies, give it {seed}")
    return "; ".join([*sentences, "perf plan says more"])


def on_hosts(scheduler: str) -> str:
    """The option with which a command measures on the same hosts; empty without a scheduler."""
    return f" --scheduler {scheduler}" if scheduler else ""


def _named(report: Report) -> str:
    """Both sides and the benchmark as a command takes them; uncommitted changes have no name, the
    plain command measures them.
    """
    old, new = revision(report.baseline), revision(report.target)
    if new.endswith("+"):
        return f"{' HEAD HEAD' * (old == new)}{report.about}"
    return f" {old.rstrip('+')} {new}{report.about}"


def _pairs(undecided: Sequence[Change]) -> int:
    """How many pairs the open comparisons have; 0 where one of them was not measured in turns."""
    if not all(change.paired for change in undecided):
        return 0
    return min(min(change.executions) for change in undecided)


def _wanted(undecided: Sequence[Change], pairs: int) -> int | None:
    """How many pairs narrow every interval until it excludes no change, or all that is not within
    delta; None where that is too many.

    Half an interval shrinks with the root of the pairs. It has to be shorter than the effect, or
    than what is left of delta beside it.
    """
    most = 4.0 * pairs if not any(map(_half, undecided)) else 0.0
    for change in undecided:
        half = _half(change)
        if half:
            delta, effect = change.delta or DELTA, abs(change.effect or 0.0)
            room = max(effect if effect >= delta else 0.0, delta - effect)
            most = max(most, SPARE * pairs * (half / room) ** 2 if room else MOST_PAIRS + 1.0)
    return None if most > MOST_PAIRS else _rounded(max(most, pairs + 1))


def _half(change: Change) -> float:
    """Half the length of its interval; 0 where it has none."""
    if change.low is None or change.high is None:
        return 0.0
    return (change.high - change.low) / 2


def _rounded(count: float) -> int:
    """A number of pairs with two digits, rounded up."""
    step: int = 10 ** max(0, len(str(ceil(count))) - 2)
    return ceil(count / step) * step


def _within(undecided: Sequence[Change]) -> str:
    """The percent that would settle all of it as it is; empty where there is no such bound."""
    known = [change.bound for change in undecided if change.bound is not None]
    if len(known) < len(undecided) or max(known) > LARGEST_WITHIN:
        return ""
    return percent_of(max(known)).removesuffix(" %")


def _deviation(undecided: Sequence[Change], pairs: int) -> float:
    """How much one pair differs from another, as a share, by the widest interval."""
    return max(map(_half, undecided)) * sqrt(pairs) / QUANTILE
