"""Values of each unit on a common scale."""

from __future__ import annotations

from dataclasses import dataclass

from perfvcs.postprocessors._entries import OutcomeColumn, check_word, conclude
from perfvcs.postprocessors._rows import Groups, chosen, fill, group, rows
from perfvcs.profile import Profile
from perfvcs.system.numeric import Floats, np

WAYS = ("max", "minmax", "zscore")


@dataclass(frozen=True)
class Normalizer:
    """Scales the values of each unit, so that units can be compared by shape.

    ``by``: ``max`` divides by the largest magnitude of the unit, as published; ``minmax`` maps the
    smallest value to 0 and the largest to 1; ``zscore`` subtracts the mean and divides by the
    standard deviation. A unit without spread becomes 0 (with ``max``: 1, or 0 if all values are 0).
    ``of`` names the metrics (by default, all that are judged). The result is the column
    ``<metric>.normalized``, null where the value is missing or its execution was repeated. Source:
    the normalizer of Perun.
    """

    by: str = "max"
    of: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_word(self, "by", WAYS)

    def apply(self, profile: Profile) -> Profile:
        """The profile with a column per metric."""
        columns: dict[str, OutcomeColumn] = {}
        for metric in chosen(profile, self.of):
            groups = group(rows(profile, metric, "", outliers=True), "")
            columns[metric] = ("", fill(profile, groups.place, self._scaled(groups)))
        return conclude(profile, self, columns=columns, word="normalized")

    def _scaled(self, groups: Groups) -> Floats:
        last = groups.starts + groups.counts - 1
        low, high = groups.y[groups.starts], groups.y[last]
        if self.by == "max":
            centre, width = np.zeros(len(groups)), np.maximum(np.abs(low), np.abs(high))
        elif self.by == "minmax":
            centre, width = low, high - low
        else:
            centre, width = groups.mean, np.sqrt(groups.squares / groups.counts)
        spread = np.where(width > 0, width, 1.0)
        away = groups.y - centre[groups.number]
        scaled: Floats = np.where(width[groups.number] > 0, away / spread[groups.number], 0.0)
        return scaled
