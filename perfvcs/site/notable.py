"""Which commits have a page of their own: those of which more is known than that they were
measured. All others stand in the list of commits only.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from perfvcs.repository.criteria import JUDGES

if TYPE_CHECKING:
    from perfvcs.history.finding import Finding
    from perfvcs.site.contents import Contents

# commits that a change may be: one that may be any of more says nothing of each, and moves with
# every new commit
MOST_COMMITS = 20


def candidates(contents: Contents, finding: Finding) -> list[int]:
    """The measured places that a change may be, if they are few."""
    if finding.commits > MOST_COMMITS:
        return []
    measured = contents.record.measured
    first = bisect_left(measured, contents.places[finding.first])
    return measured[first : bisect_right(measured, contents.places[finding.last])]


def _judging(contents: Contents) -> list[str]:
    """The measured commits that themselves change perf.toml or perf-accepted.toml."""
    record = contents.record
    moved = contents.criteria.moves([record.commits[place] for place in record.measured])
    contents.diffs.fetch(moved)
    return [
        commit
        for commit in moved
        if any(file.path in JUDGES for file in contents.diffs.of(commit).files)
    ]


def of_note(contents: Contents) -> set[int]:
    """The places with a page of their own: something was compared with the commit before, changed
    there or may have, or was blamed on it, or it changes what commits are judged by.
    """
    record = contents.record
    named = [*contents.blamed, *_judging(contents)]
    places = {contents.places[commit] for commit in named if commit in contents.places}
    for series in record.series:
        places.update(series.places[list(series.verdicts)].tolist())
        for finding in series.findings:
            places.add(finding.turn)
            places.update(candidates(contents, finding))
    return places.intersection(record.measured)
