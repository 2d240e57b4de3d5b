"""The page of all changes by commit: open, accepted and past."""

from __future__ import annotations

from perfvcs.site.contents import Contents
from perfvcs.site.output import digest, packed
from perfvcs.site.pages import ChangesData
from perfvcs.site.series import fields

MOST_CHANGES = 1200  # changes: with more the page would not stay below 3 MB


def key(contents: Contents) -> str:
    """A digest of all changes with their status."""
    found = []
    for number, turn in contents.found:
        status = contents.statuses[number][turn]
        series = contents.record.series[number]
        about = [contents.urls[number], contents.environment(series).name, status.state, status.reason]
        found.append([*about, *fields(series.findings[turn])])
    return digest(packed(found))


def page(contents: Contents) -> ChangesData:
    """The page of all changes, the newest commits first."""
    found = {
        "open": contents.having("open"),
        "accepted": contents.having("accepted"),
        "past": contents.having("over", "improvement"),
    }
    room, left_out = MOST_CHANGES, 0
    for name, pairs in found.items():
        found[name] = pairs[:room]
        left_out += len(pairs) - len(found[name])
        room -= len(found[name])
    return ChangesData(**{name: contents.groups(pairs) for name, pairs in found.items()}, left_out=left_out)
