"""What to do next about what is open: how many pairs settle it, how surely, or what else does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Sequence
from math import ceil, hypot, sqrt
from statistics import NormalDist

from perfvcs.check.change import ASSUMED, Change, Report
from perfvcs.check.method import FROM_DIFFERENT_SESSIONS, OF_SERIES, USUAL
from perfvcs.check.text import revision
from perfvcs.check.vocabulary import ONE_SIDED
from perfvcs.profile.rules import USUAL_DELTA
from perfvcs.statistics.multiplicity import PAIRS
from perfvcs.text.words import counted

MOST_PAIRS = 3000  # more are not proposed
FEWEST_PAIRS = 10  # below which an interval says too little of how many are needed
EVEN, LIKELY = 0.5, 0.8  # chances that so many pairs settle all
INPUTS_VARY = 0.1  # deviation of one pair, as a share, from which an input of its own is likely
LARGEST_WITHIN = 0.2  # a share: that so large an effect counts as none is not proposed
QUANTILE = 2.8  # standard errors of half an interval of 99 %


def settling(
    report: Report,
    pairs: int = 0,
    noise: Callable[[str], str] = lambda _: "",
    scheduler: str = "",
    products: Sequence[str] = (),
    seeded: Container[str] = (),
    typed: str | None = None,
) -> list[str]:
    """The next steps, a line each; none where nothing is open.

    ``pairs`` is how many were just measured in turns, on the hosts of a ``scheduler`` if there is
    one; ``noise`` says of a job's label what disturbed its measurement, with the cure. ``products``
    are the names of the sides that are no revisions; ``seeded`` are the labels of the jobs whose
    command gets the seed. ``typed`` is the command, as a shell takes it, that no perf.toml has;
    empty where nobody can type it again.
    """
    undecided = [
        change for change in report.changes if change.word not in ONE_SIDED and not change.settled
    ]
    ours = [change for change in undecided if change.series not in report.foreign]
    if not ours:
        return list(filter(None, [of_imports(report)]))
    ours = [change for change in ours if not change.layout]
    if not ours:
        return []
    if products:
        against = " ".join(f"--against {name}=..." for name in products)
        command = f"perf collect {against}" if len(products) > 1 else f"perf check {against}"
        return [f"To settle it: {command}{on_hosts(scheduler)}"]
    measuring, hosts = f"perf check --measure{_named(report)}", on_hosts(scheduler)
    if typed is not None:
        sides = _collected(report)
        if not (typed and sides):
            return ["To settle it, make its command a job: perf init"]
        measuring, hosts = f"perf collect {sides}", f"{hosts} -- {typed}"
    pairs = pairs or _pairs(ours)
    if not pairs:
        return [f"To settle it: {measuring}{hosts}"]
    steps = [_more(ours, pairs, measuring, hosts)]
    jobs = Counter(change.job for change in ours if not change.coarse)
    for job, _ in jobs.most_common(1):  # neither an idle machine nor a seed makes a clock finer
        fact, _, cure = noise(job).partition(": ")
        if cure or fact:
            steps.append(f"Before that: {cure or fact}")
        elif job not in seeded and _deviation(ours, pairs) > INPUTS_VARY:
            steps.append("If its input varies, give it {seed}.")
    return [*steps, "What else could settle it: perf plan"]


def of_imports(report: Report) -> str:
    """How to settle what was imported, by what keeps it open; empty where no import would.

    1. A single execution has no spread: only a job, or a history, says what it varies by.
    2. Of two sessions, turns rule the machine out; so does a history, or who knows the machine.
    3. What is in turns, or taken for one session, is short of executions.
    """
    undecided = [
        change
        for change in report.compared
        if not change.settled and change.series in report.foreign
    ]
    if not undecided:
        return ""
    assumed = report.judged_by.remark == ASSUMED
    single = [change for change in undecided if min(change.executions) < 2]
    several = [change for change in undecided if min(change.executions) > 1]
    apart = [change for change in several if not change.paired and not assumed]
    of_history = OF_SERIES, USUAL.partition("{")[0]
    new = [change for change in single if not change.reason.startswith(of_history)]
    unknown = [*new, *(change for change in apart if change.reason == FROM_DIFFERENT_SESSIONS)]
    ways = [
        "measure in turns (`perf import --in-turns`)" if apart else "",
        "import more executions of each side" if len(several) > len(apart) else "",
        "let a job measure it (`reads` in perf.toml)" if single else "",
        "import ten earlier commits" if unknown else "",
    ]
    before = list(filter(None, ways))
    last = ", for files of one CI job, --assume-same-machine" if apart else f" {before.pop()}"
    more = f" {', '.join(before)}, or" if before else ""
    return f"To settle what was imported:{more}{last}"


def _more(undecided: Sequence[Change], pairs: int, measuring: str, hosts: str) -> str:
    """How many more pairs may settle all of it, and the command that measures them."""
    fine = [change for change in undecided if not change.coarse]
    after = f"Open after {counted(pairs, 'pair')}"
    if not fine:
        return f"{after}; more cannot settle it: the clock is too coarse"
    if pairs < FEWEST_PAIRS or not any(map(_half, fine)):
        return f"{after}; measure more: {measuring}{hosts}"
    even, likely = (_wanted(fine, pairs, chance) for chance in (EVEN, LIKELY))
    if even is None:
        return f"{after}; {MOST_PAIRS:,} would hardly settle it{_counted_as_same(fine)}"
    if likely is None:
        chance = f"{even:,} settle it with even odds, and even {MOST_PAIRS:,} may not"
        return f"{after}; {chance}: {measuring} -n {even}{hosts}{_counted_as_same(fine)}"
    if likely <= PAIRS:
        return f"{after}; measure more: {measuring}{hosts}"
    chance = f"{even:,} settle it with even odds, {likely:,} in four of five cases"
    return f"{after}; {chance}: {measuring} -n {likely}{hosts}"


def _counted_as_same(undecided: Sequence[Change]) -> str:
    """The option by which all of it counts as the same; empty where that would hide too much."""
    bounds = [change.bound for change in undecided if change.bound is not None]
    if len(bounds) < len(undecided) or max(bounds) > LARGEST_WITHIN:
        return ""
    return f", or let it count as the same: --within {ceil(100 * max(bounds))}"


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


def _collected(report: Report) -> str:
    """Both sides as `perf collect` takes them; empty for HEAD with and without changes on top, of
    which it measures one.
    """
    old, new = revision(report.baseline).rstrip("+"), revision(report.target)
    if old == new.rstrip("+"):
        return ""
    return f"{old} HEAD" if new.endswith("+") else f"{old} {new}"


def _pairs(undecided: Sequence[Change]) -> int:
    """How many pairs the open comparisons have; 0 where one of them was not measured in turns."""
    if not all(change.paired for change in undecided):
        return 0
    return min(min(change.executions) for change in undecided)


def _wanted(undecided: Sequence[Change], pairs: int, chance: float) -> int | None:
    """How many pairs settle all of it with such a ``chance``; None if more than can be proposed."""
    if not _settles(undecided, MOST_PAIRS / pairs, chance):
        return None
    low, high = pairs, MOST_PAIRS
    while high - low > 1:
        middle = (low + high) // 2
        if _settles(undecided, middle / pairs, chance):
            high = middle
        else:
            low = middle
    return _rounded(high)


def _settles(undecided: Sequence[Change], times: float, least: float) -> bool:
    """Whether ``times`` as many pairs settle all of it with a chance of ``least``.

    1. Half an interval shrinks with the root of the pairs.
    2. A change is settled where its interval excludes no change and the effect is not below delta,
       or where all of it lies within delta.
    3. As far as chance alone explains the effect (its p), nothing changed, and the next effect
       varies about 0; else it varies about this one, by the errors of both.
    """
    chance = 1.0
    for change in undecided:
        if chance < least:  # each can only make it smaller
            return False
        half, effect, delta = _half(change), abs(change.effect or 0.0), change.delta or USUAL_DELTA
        if not half:
            continue
        after = half / sqrt(times)
        by_chance = 2 * NormalDist(0, half / QUANTILE).cdf(-effect)
        unchanged = NormalDist(0, after / QUANTILE)
        changed = NormalDist(effect, hypot(half, after) / QUANTILE)
        chance *= by_chance * _decided(unchanged, after, delta) + (1 - by_chance) * _decided(
            changed, after, delta
        )
    return chance >= least


def _decided(effect: NormalDist, half: float, delta: float) -> float:
    """The chance that an effect with such an interval is a change, or is within delta."""
    moved, same = max(delta, half), max(0.0, delta - half)
    rise, fall = 1 - effect.cdf(moved), effect.cdf(-moved)
    return rise + fall + effect.cdf(same) - effect.cdf(-same)


def _half(change: Change) -> float:
    """Half the length of its interval; 0 where it has none."""
    if change.low is None or change.high is None:
        return 0.0
    return (change.high - change.low) / 2


def _rounded(count: float) -> int:
    """A number of pairs with two digits, rounded up."""
    step: int = 10 ** max(0, len(str(ceil(count))) - 2)
    return ceil(count / step) * step


def _deviation(undecided: Sequence[Change], pairs: int) -> float:
    """How much one pair differs from another, as a share, by the widest interval."""
    return max(map(_half, undecided)) * sqrt(pairs) / QUANTILE
