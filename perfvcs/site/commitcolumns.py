"""The commits of a record by columns, and how many changes are laid to each."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple

from perfvcs.system.numeric import Integers, np
from perfvcs.text.characters import shorten

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from perfvcs.site.contents import Contents

TITLE = 90  # characters of a commit's title


class CommitColumns(NamedTuple):
    """Short id, day, title and author's number of each commit; empty without profiles."""

    ids: NDArray[np.object_]
    days: NDArray[np.object_]
    titles: NDArray[np.object_]
    author: Integers
    authors: list[str]


def columns(contents: Contents) -> CommitColumns:
    """The commits of the record by columns, for pages that have thousands."""
    places = contents.record.measured
    measured = [contents.commit(place) for place in places]
    authors = list(dict.fromkeys(commit.author for commit in measured))
    number = {name: turn for turn, name in enumerate(authors)}
    ids, days, titles = (np.full(len(contents.record.commits), "", dtype=object) for _ in range(3))
    author = np.zeros(len(contents.record.commits), dtype=np.int64)
    ids[places] = [commit.short for commit in measured]
    days[places] = [commit.when[:10] for commit in measured]
    titles[places] = [shorten(commit.title, TITLE) for commit in measured]
    author[places] = [number[commit.author] for commit in measured]
    return CommitColumns(ids, days, titles, author, authors)


def laid(contents: Contents) -> dict[int, Counter[str]]:
    """How many changes are laid to each place of the record, by their directions."""
    counts: dict[int, Counter[str]] = defaultdict(Counter)
    for pair in contents.found:
        finding = contents.finding(*pair)
        counts[finding.turn][finding.direction] += 1
    return counts
