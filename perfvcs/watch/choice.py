"""The commit to measure next: the newest ones first, then those that narrow a change most."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise

UNSEEN = 0.05  # weight of a gap in which nothing was found, beside one for each change that may be in it

CommitSpan = tuple[int, int]  # places of the first and the last commit in which a change may be


@dataclass(frozen=True)
class NextCommit:
    """A commit to be measured, and its nearest measured neighbours, which are measured in turns with it."""

    commit: str
    neighbours: tuple[str, ...]


def choose(
    commits: Sequence[str],
    measured: Set[str],
    given_up: Set[str] = frozenset(),
    spans: Callable[[], Iterable[CommitSpan]] = tuple,
) -> NextCommit | None:
    """The commit of a line (oldest first) to be measured next; None if all that can be measured are.

    Commits that are newer than all measured ones come first, the newest before the others. ``spans`` are asked for only after them.
    """
    known = [place for place, commit in enumerate(commits) if commit in measured]
    newest = known[-1] if known else -1
    ahead = (place for place in range(len(commits) - 1, newest, -1) if commits[place] not in given_up)
    place = next(ahead, None)
    if place is None:
        gains = _gains(known, spans())
        open_places = [place for place in gains if commits[place] not in given_up]
        place = max(open_places, key=lambda place: (gains[place], place), default=None)
    if place is None:
        return None
    below = max((one for one in known if one < place), default=None)
    above = min((one for one in known if one > place), default=None)
    return NextCommit(commits[place], tuple(commits[one] for one in (below, above) if one is not None))


def _gains(known: Sequence[int], spans: Iterable[CommitSpan]) -> dict[int, float]:
    """By how many commits each unmeasured place between measured ones is expected to narrow what changes are laid to."""
    found: dict[int, float] = defaultdict(float)
    for below, above in pairwise([-1, *known]):
        for place, narrowed in _narrowed(below, above):
            found[place] += UNSEEN * narrowed
    for first, last in spans:
        for place, narrowed in _narrowed(first - 1, last):
            if place in found:
                found[place] += narrowed
    return found


def _narrowed(before: int, last: int) -> Iterator[tuple[int, float]]:
    """The places between, each with what it takes off: a change is in any of the commits behind ``before`` up to ``last`` alike."""
    count = last - before
    for place in range(before + 1, last):
        left = place - before
        yield place, 2 * left * (count - left) / count
