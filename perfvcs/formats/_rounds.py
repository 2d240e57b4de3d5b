"""What a profile has of each unit and size, for formats whose files are lists of benchmarks."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from perfvcs.profile import REPEATED, Metric, Profile
from perfvcs.units import base
from perfvcs.validity import Malformed


class RoundValues(NamedTuple):
    """The values of one metric of a unit at a size, in the order of the rows, in the unit without a prefix."""

    uid: str
    size: float | None
    metric: str
    about: Metric
    values: list[float]

    @property
    def mean(self) -> float:
        """Their mean."""
        return sum(self.values) / len(self.values)

    @property
    def name(self) -> str:
        """The unit and its size, ``sort/100``."""
        return self.uid if self.size is None else f"{self.uid}/{self.size:g}"


def benchmarks(profile: Profile) -> list[RoundValues]:
    """Every unit, size and metric that has values, without repeated rows and those of call stacks; raises Malformed where none is left."""
    rows, found = profile.resources, dict[tuple[int, float | None, str], list[float]]()
    sizes = rows.size if rows.size is not None else [None] * len(rows)
    marks, traces = rows.integers("mark"), rows.integers("trace")
    bases = {name: base(about.unit) for name, about in profile.metrics.items()}
    for name, column in rows.metrics.items():
        for uid, size, mark, trace, value in zip(rows.uid, sizes, marks, traces, column, strict=True):
            if value is not None and mark != REPEATED and trace < 0:
                found.setdefault((uid, size, name), []).append(value * bases[name].times / bases[name].over)
    if not found:
        raise Malformed("the profile has no values outside its call stacks and repeated executions")
    return [
        RoundValues(rows.names[uid], size, name,
                  Metric(bases[name].unit, profile.metrics[name].better, profile.metrics[name].kind), values)
        for (uid, size, name), values in found.items()
    ]  # fmt: skip


def written(document: object) -> bytes:
    """JSON; raises Malformed for names that it cannot hold."""
    try:
        return msgspec.json.encode(document)
    except UnicodeEncodeError:
        raise Malformed("a name has bytes that are not UTF-8, which JSON cannot hold") from None


def judged(profile: Profile) -> list[RoundValues]:
    """Those whose direction is known; raises Malformed where there are none."""
    found = [one for one in benchmarks(profile) if one.about.better != "none"]
    if not found:
        raise Malformed("the profile has no metric of which less or more is better")
    return found
