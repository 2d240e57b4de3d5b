"""The head of the page of a series: its environments, what it is like now, and the releases along
its axis.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from perfvcs.pictures.present import Present, present
from perfvcs.site.pages import Tag
from perfvcs.system.numeric import Integers
from perfvcs.text.characters import shorten
from perfvcs.text.quantity import percent

if TYPE_CHECKING:
    from perfvcs.site.contents import Contents

TAG = 24  # characters of a release's name


def newest_first(contents: Contents, all_series: Iterable[int]) -> list[int]:
    """Some series in the order of their environments."""
    order = {fingerprint: turn for turn, fingerprint in enumerate(contents.environments)}
    series = contents.record.series
    return sorted(all_series, key=lambda number: order[series[number].line.environment.fingerprint])


def now(contents: Contents, number: int) -> Present | None:
    """A series at its newest commits; None where nothing is measured any more."""
    series, days = contents.record.series[number], contents.columns.days
    if series.line.environment.fingerprint in contents.retired:
        return None
    begin, change = 0, ""
    if series.findings:
        finding = max(series.findings, key=lambda finding: finding.turn)
        begin = int(series.places.searchsorted(finding.turn))
        change = f"{percent(finding.effect)}, {days[series.places[begin]]}"
    return present(
        contents.drawings[number].levels.tolist(),
        days[series.places].tolist(),
        series.line.unit,
        begin=begin,
        change=change,
    )


def tags(contents: Contents, places: Integers) -> list[Tag]:
    """The releases among the commits of a page, oldest first; of one place the newest."""
    names = {
        int(places.searchsorted(place)): shorten(name, TAG)
        for place, name in contents.tags
        if places[0] <= place <= places[-1]
    }
    return [Tag(place, name) for place, name in names.items()]
