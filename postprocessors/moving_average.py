"""A running average over the sizes."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log
from typing import TYPE_CHECKING

from perfvcs.errors import UsageError
from perfvcs.postprocessors import _windows
from perfvcs.postprocessors._curve import CurvePoints, entries, most_points
from perfvcs.postprocessors._entries import check_number, check_word, conclude
from perfvcs.postprocessors._rows import chosen, group, rows, thin
from perfvcs.profile import Profile
from perfvcs.profile.fittedmodels import MovingAverageEntry
from perfvcs.system.numeric import Floats, np

if TYPE_CHECKING:
    from perfvcs.postprocessors._rows import Groups

WINDOW_KINDS = ("mean", "median", "exponential")
DECAYS = ("alpha", "com", "span", "halflife")


@dataclass(frozen=True)
class MovingAverage:
    """Computes a running mean, median or exponential average over the sizes of each unit.

    ``kind``: ``mean`` and ``median`` use a window around each size; ``exponential`` is a mean of
    the sizes up to each one, whose weights fall with the number of sizes in between. ``window`` is
    a number of rows: at each size the window holds all rows of that size, and on either side half
    of the rest; rows of one size are never separated, and the window is cut off at the ends. By
    default each unit gets the window that best predicts rows left out one by one (with the mean).
    The decay of ``exponential`` is given by one of ``alpha`` (the weight of the newest size),
    ``com`` (alpha = 1 / (1 + com)), ``span`` (2 / (1 + span)) or ``halflife`` (1 - 2^(-1 /
    halflife)); by default each unit gets the decay that best predicts each size from those before
    it. Sizes are weighted by their number of rows. ``of`` names the metrics (by default, all that
    are judged); ``by`` names the column of x. Sources: the moving average of Perun; leave-one-out:
    Stone 1974.
    """

    kind: str = "mean"
    window: int | None = None
    alpha: float | None = None
    com: float | None = None
    span: float | None = None
    halflife: float | None = None
    of: tuple[str, ...] = ()
    by: str = "size"

    def __post_init__(self) -> None:
        check_word(self, "kind", WINDOW_KINDS)
        check_number(self, "window", 1, 1e9, "20", whole=True)
        check_number(self, "alpha", 0, 1, "0.3", above=True)
        check_number(self, "com", 0, 1e9, "3")
        check_number(self, "span", 1, 1e9, "10")
        check_number(self, "halflife", 0, 1e9, "5", above=True)
        given = [name for name in DECAYS if getattr(self, name) is not None]
        if len(given) > 1:
            raise UsageError(
                f"moving-average: {given[0]} and {given[1]} say the same in two ways: give one of"
                f" {', '.join(DECAYS)}"
            )
        if given and self.kind != "exponential":
            raise UsageError(
                f'moving-average: {given[0]} belongs to kind = "exponential": give a window, or'
                " that kind"
            )
        if self.window is not None and self.kind == "exponential":
            raise UsageError(
                "moving-average: an exponential average has no window: give a span, or another kind"
            )

    @property
    def decay(self) -> float | None:
        """The weight of the newest size, from whichever option says it; None where none does."""
        if self.com is not None:
            return 1 / (1 + self.com)
        if self.span is not None:
            return 2 / (1 + self.span)
        return self.alpha if self.halflife is None else 1 - exp(-log(2) / self.halflife)

    def apply(self, profile: Profile) -> Profile:
        """The profile with a model per unit and metric."""
        return conclude(
            profile,
            self,
            [
                entry
                for metric in chosen(profile, self.of, self.by)
                for entry in self._of(profile, metric)
            ],
        )

    def _of(self, profile: Profile, metric: str) -> list[MovingAverageEntry]:
        groups = group(rows(profile, metric, self.by), self.by)
        shown = thin(groups.blocks.group, len(groups), most_points(len(groups)))
        if self.kind == "exponential":
            alpha, smooth = self._exponential(groups)
            options, values = {"alpha": alpha}, smooth[shown]
        else:
            given = self.window
            window = _windows.choose(groups) if given is None else np.minimum(given, groups.counts)
            options = {"window": np.asarray(window)}
            average = _windows.mean if self.kind == "mean" else _windows.median
            values = average(groups, window, shown)
        curve = CurvePoints(groups.blocks.group[shown], groups.blocks.x[shown], values)
        options = {"kind": np.full(len(groups), self.kind), **options}
        return entries(MovingAverageEntry, profile, metric, self.by, groups, curve, options)

    def _exponential(self, groups: Groups) -> tuple[Floats, Floats]:
        decay = self.decay
        alpha = _windows.choose_alpha(groups) if decay is None else np.full(len(groups), decay)
        return alpha, _windows.exponential(groups, alpha) + groups.mean[groups.blocks.group]
