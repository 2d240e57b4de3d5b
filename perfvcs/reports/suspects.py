"""What `perf bisect --dry-run` prints: the commits by what they change."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap
from typing import TYPE_CHECKING

from perfvcs.locate.bisection import describe_target
from perfvcs.text.characters import shorten
from perfvcs.text.columns import COLUMNS
from perfvcs.text.words import counted, metric_name

if TYPE_CHECKING:
    from perfvcs.git.project import Commit
    from perfvcs.locate.bisection import Bisection
    from perfvcs.repository import Repository

MOST_LISTED = 10  # suspects
REASONS = 3  # of each


def suspected(repository: Repository, bisection: Bisection) -> Iterator[str]:
    """The commits of a span by what they change, the likeliest first, the newest of equals."""
    if bisection.target is not None:
        yield f"{describe_target(bisection.target)}, {metric_name(bisection.target.metric)}"
    if bisection.suspects is None:
        yield f"{bisection.span.last:,} commits are too many to be read: name ends closer to each other"
        return
    share, touching = bisection.shares(), [place for place, one in enumerate(bisection.suspects) if one.touches]
    listed = sorted(touching, key=lambda place: (-share[place], -place))[:MOST_LISTED]
    about = repository.project.describe([bisection.suspects[place].commit for place in listed])
    for place in listed:
        suspect = bisection.suspects[place]
        yield title(about[suspect.commit], f"{100 * share[place]:5.1f} %  ")
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


def title(about: Commit, before: str = "") -> str:
    """The line of a commit."""
    head = f"{before}{about.id[:10]}  {about.when[:10]}  {shorten(about.author, 16)}  "
    return head + shorten(about.title, max(10, COLUMNS - len(head)))


def wrapped(text: str, indent: int = 0) -> list[str]:
    """A sentence on as many lines as it takes."""
    margin = " " * indent
    return wrap(text, COLUMNS, initial_indent=margin, subsequent_indent=margin or "  ", break_long_words=False)
