"""What a site is made from: every series along the first parents, with intervals, and how each level differs from the one before."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from perfvcs.index.lines import Course, Line
from perfvcs.reports.annals import Finding, steps, successions
from perfvcs.site.verdict import verdicts

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from perfvcs.index.lines import Spreads
    from perfvcs.repository import Repository
    from perfvcs.site.verdict import Verdict
    from perfvcs.vcs import Commit

CONFIDENCE = 0.99
NORMAL = 2.5758  # standard deviations that hold 99 % of a normal distribution
UNUSUAL = 3.5  # robust standard deviations from which on a value is out of line (Iglewicz and Hoaglin 1993)
ROBUST = 1.4826  # standard deviations of a normal distribution in its median absolute deviation
USUAL = 6  # differences of neighbours from which on their scatter is known
BLOCK = 32  # differences; what is usual is known from the two blocks before, so that a new commit changes nothing of the past
LEAST = 0.01  # the smallest change that counts, as in `perf check`
NEW, SAME, CHANGED, UNJUDGED, ACCEPTED = range(5)


@dataclass(frozen=True)
class Trail:
    """One line along the record's commits, one element per measured commit, ascending ``places``.

    ``levels`` are mean logarithms with half the width of their 99 % interval (``reach``, NaN: one execution). ``moves`` are differences
    to the level before with half the width of theirs (``doubt``), ``kinds`` say what that means: NEW (the first), SAME, CHANGED, UNJUDGED,
    ACCEPTED. Where `perf check` has settled two neighbours, they are its own.
    ``began`` says why an earlier line of the same benchmark could not go on.
    """

    line: Line
    places: NDArray[np.int64]
    levels: NDArray[np.float64]
    reach: NDArray[np.float64]
    executions: NDArray[np.int64]
    moves: NDArray[np.float64]
    doubt: NDArray[np.float64]
    kinds: NDArray[np.int8]
    began: str = ""
    findings: list[Finding] = field(default_factory=list)


@dataclass(frozen=True)
class Record:
    """All trails along ``commits`` (the first parents of a revision, oldest first); ``measured`` are the places that any has.

    ``unusable`` counts values without a logarithm, ``aside`` measured commits that are not on this line.
    """

    commits: list[str]
    measured: list[int]
    details: dict[str, Commit]
    trails: list[Trail]
    unusable: int
    aside: int


def read(repository: Repository, revision: str) -> Record:
    """The record up to a revision, from the index alone; raises UnknownRevision."""
    revision = repository.project.fixed(revision)
    walk = repository.project.walk(revision, straight=True)
    import numpy as np  # as long as git walks

    commits = list(walk)[::-1]
    known, spreads = repository.index.consistent(lambda: (repository.index.lines(), repository.index.spreads(commits)))
    flat = combine(spreads)
    numbers, starts = np.unique(flat.line, return_index=True)
    parts = [slice(*ends) for ends in pairwise([*starts.tolist(), len(flat.line)])]
    courses = {
        number: Course(_array("q", flat.place[part]), _array("d", flat.level[part]), 0)
        for number, part in zip(numbers.tolist(), parts, strict=True)
    }
    findings = steps(repository, known, courses, commits)
    began = successions(known, courses)
    judged = judge(flat)
    trails = []
    own = verdicts(repository.index.memory, commits, [known[number] for number in numbers.tolist()])
    for turn, (number, part) in enumerate(zip(numbers.tolist(), parts, strict=True)):
        _settle(own.get(turn, ()), flat.place[part], judged, part)
        columns = [column[part] for column in (flat.place, flat.level, judged.reach, flat.executions, *judged[1:])]
        trails.append(Trail(known[number], *columns, began.get(number, ""), findings.get(number, [])))  # type: ignore[arg-type, call-arg]
    trails.sort(key=_order)
    measured = np.flatnonzero(np.bincount(flat.place)).tolist()
    others = repository.index.commits().difference(commits)
    return Record(
        commits, measured, repository.project.describe(commits[place] for place in measured), trails,
        spreads.unusable, len(others.intersection(repository.project.walk(revision))) if others else 0,
    )  # fmt: skip


def _settle(own: Sequence[Verdict], places: NDArray[np.int64], judged: Judged, part: slice) -> None:
    """Put the verdicts on neighbours of a line in the place of what ``judge`` says of them."""
    import numpy as np

    for verdict in own:
        turn = int(np.searchsorted(places, verdict.after))
        if 0 < turn < len(places) and (places[turn - 1], places[turn]) == (verdict.before, verdict.after):
            judged.moves[part][turn], judged.doubt[part][turn] = verdict.move, verdict.doubt
            judged.kinds[part][turn] = SAME if not verdict.changed else ACCEPTED if verdict.accepted else CHANGED


def _order(trail: Trail) -> tuple[object, ...]:
    """The same order whatever numbers the index has given the lines."""
    line = trail.line
    size = -1.0 if line.size is None else line.size
    what = (line.job.label, line.job.collector, line.uid, size, line.metric, line.unit, line.better)
    return (*what, line.environment.fingerprint, int(trail.places[0]), line.job.key)


@dataclass(frozen=True)
class Flat:
    """One element per line and commit: level, variance of the level, its degrees of freedom, and executions."""

    line: NDArray[np.int64]
    place: NDArray[np.int64]
    level: NDArray[np.float64]
    variance: NDArray[np.float64]
    df: NDArray[np.int64]
    executions: NDArray[np.int64]


def combine(spreads: Spreads) -> Flat:
    """One level per commit: the mean of its profiles', with their own variance or that of their scatter, whichever is larger."""
    import numpy as np

    count = len(spreads.line)
    if not count:
        return Flat(spreads.line, spreads.place, spreads.level, spreads.level, spreads.executions, spreads.executions)
    first = np.flatnonzero(np.r_[True, (np.diff(spreads.line) != 0) | (np.diff(spreads.place) != 0)])
    many = np.diff(np.r_[first, count])

    def total(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.add.reduceat(values, first)

    level = total(spreads.level) / many
    own = total(spreads.deviation**2 / spreads.executions) / many**2
    scatter = total((spreads.level - np.repeat(level, many)) ** 2) / np.maximum(many - 1, 1) / many
    executions = np.add.reduceat(spreads.executions, first)
    return Flat(
        spreads.line[first], spreads.place[first], level, np.fmax(own, np.where(many > 1, scatter, np.nan)), executions - many, executions
    )  # fmt: skip


class Judged(NamedTuple):
    """What a trail has beside its levels, of all lines one after another."""

    reach: NDArray[np.float64]
    moves: NDArray[np.float64]
    doubt: NDArray[np.float64]
    kinds: NDArray[np.int8]


def judge(flat: Flat) -> Judged:
    """The intervals of all levels, and of their differences to the one before.

    A difference counts where its interval, at least as wide as neighbours usually differ here, leaves out 0, where it is out of line with
    the others, and at least 1 %.
    """
    import numpy as np

    from perfvcs.statistics.student import quantile

    usable = (flat.df > 0) & np.isfinite(flat.variance)
    variance = np.where(usable, flat.variance, 0)
    points = quantile((1 + CONFIDENCE) / 2, np.where(usable, flat.df, 1))
    reach = np.where(usable, points * np.sqrt(variance), np.nan)
    first = np.r_[True, np.diff(flat.line) != 0][: len(flat.line)]
    moves = np.where(first, np.nan, np.diff(flat.level, prepend=0.0))
    usual = _scatter(moves, np.flatnonzero(first))
    # With the smaller number of degrees of freedom, which errs on the wide side.
    wider = np.maximum(points, np.roll(points, 1))
    error = np.sqrt(variance + np.roll(variance, 1))
    both = usable & np.roll(usable, 1) & ~first
    doubt = np.fmax(np.where(both, wider * error, np.nan), NORMAL * usual)
    unusual = np.abs(moves) > UNUSUAL * np.nan_to_num(usual)
    changed = (np.abs(moves) > doubt) & unusual & (np.abs(np.expm1(np.clip(moves, -700, 700))) >= LEAST)
    kinds = np.select([first, np.isnan(doubt), changed], [NEW, UNJUDGED, CHANGED], SAME).astype(np.int8)
    return Judged(reach, moves, doubt, kinds)


def _scatter(moves: NDArray[np.float64], starts: NDArray[np.int64]) -> NDArray[np.float64]:
    """How far neighbours usually differ, as a standard deviation, for each difference; NaN where too few tell.

    ``starts`` are the elements that begin a line, whose differences follow. They come in blocks, and each block goes by the two before it.
    """
    import numpy as np

    found = np.full(len(moves), np.nan)
    counts = np.diff(np.r_[starts, len(moves)]) - 1
    for start, count in zip(starts[counts <= BLOCK].tolist(), counts[counts <= BLOCK].tolist(), strict=True):
        if count >= USUAL:
            found[start + 1 : start + 1 + count] = _deviation(moves[None, start + 1 : start + 1 + count])[0]
    starts, counts = starts[counts > BLOCK] + 1, counts[counts > BLOCK]
    blocks = -(-counts // BLOCK)
    turns = np.arange(blocks.sum()) - np.repeat(np.cumsum(blocks) - blocks, blocks)
    begins = np.repeat(starts, blocks)
    # The last block, which may not be full, is no other's past.
    past = [begins[:, None] + BLOCK * np.maximum(turns - back, 0)[:, None] + np.arange(BLOCK) for back in (1, 2)]
    spread = _deviation(moves[np.concatenate(past, axis=1)])
    lengths = np.minimum(BLOCK, np.repeat(counts, blocks) - BLOCK * turns)
    where = np.repeat(begins + BLOCK * turns - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())
    found[where] = np.repeat(spread, lengths)
    return found


def _deviation(moves: NDArray[np.float64]) -> NDArray[np.float64]:
    """The robust standard deviation of each row."""
    import numpy as np

    found: NDArray[np.float64] = ROBUST * _median(np.abs(moves - _median(moves)[:, None]))
    return found


def _median(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """The median of each row: sorting them takes an eighth of the time of ``np.median``."""
    import numpy as np

    ordered = np.sort(rows, axis=1)
    width = rows.shape[1]
    found: NDArray[np.float64] = (ordered[:, (width - 1) // 2] + ordered[:, width // 2]) / 2
    return found


def _array(kind: str, values: NDArray[np.generic]) -> array:  # type: ignore[type-arg]
    found = array(kind)
    found.frombytes(values.tobytes())
    return found
