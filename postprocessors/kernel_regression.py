"""A smooth curve by a kernel that weighs what is near."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from perfvcs.errors import UsageError
from perfvcs.postprocessors import _kernel
from perfvcs.postprocessors._curve import entries, most_points
from perfvcs.postprocessors._entries import check_number, check_word, conclude
from perfvcs.postprocessors._rows import chosen, group, rows
from perfvcs.profile import Profile
from perfvcs.profile.fittedmodels import KernelEntry
from perfvcs.system.numeric import Floats, np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from perfvcs.postprocessors._rows import Groups

MODES = ("estimator", "method", "user")


@dataclass(frozen=True)
class KernelRegression:
    """Fits a smooth curve over the sizes of each unit, with a normal kernel.

    ``estimate``: ``ll`` fits a line around each size (local linear), ``lc`` takes the weighted mean
    (local constant, Nadaraya-Watson). ``mode`` chooses the source of the bandwidth: ``method``, a
    rule of thumb (``rule`` is scott or silverman, from the number of rows and the spread of their
    sizes, as in scipy); ``estimator``, the one with the least ``criterion``, cross-validation
    (cv_ls) or aic, on at most 100 rows of a unit (30 if there are very many units), since its time
    grows with their square; ``user``, the given ``bandwidth`` in the unit of x. The entry records
    the source (``bandwidth_by``): units with fewer than five rows or sizes, with equal values, or
    for which the search fails use the rule. Units with more than 400 sizes are first binned into
    400 equal cells. ``of`` names the metrics (by default, all that are judged); ``by`` names the
    column of x. Sources: Nadaraya, Watson 1964; Fan 1992; Hurvich, Simonoff, Tsai 1998 for aic; the
    kernel regression of Perun.
    """

    mode: str = "method"
    estimate: str = "ll"
    rule: str = "scott"
    criterion: str = "cv_ls"
    bandwidth: float | None = None
    of: tuple[str, ...] = ()
    by: str = "size"

    def __post_init__(self) -> None:
        for option, words in (
            ("mode", MODES),
            ("estimate", _kernel.ESTIMATORS),
            ("rule", _kernel.BANDWIDTH_RULES),
            ("criterion", _kernel.CRITERIA),
        ):
            check_word(self, option, words)
        check_number(self, "bandwidth", 0, 1e300, "50", above=True)
        if self.mode == "user" and self.bandwidth is None:
            raise UsageError(
                'kernel-regression: mode = "user" needs a bandwidth: give one in the unit of x,'
                " such as 50"
            )
        if self.mode != "user" and self.bandwidth is not None:
            raise UsageError(
                'kernel-regression: a bandwidth that is given needs mode = "user": give both, or'
                " neither"
            )

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

    def _of(self, profile: Profile, metric: str) -> list[KernelEntry]:
        groups = group(rows(profile, metric, self.by), self.by)
        width, by = self._bandwidths(groups)
        curve = _kernel.smooth(groups, width, self.estimate, most_points(len(groups)))
        with np.errstate(over="ignore"):
            bandwidth = np.minimum(width * groups.x_scale, np.finfo(np.float64).max)
        options = {
            "estimate": np.full(len(groups), self.estimate),
            "bandwidth": bandwidth,
            "bandwidth_by": by,
        }
        return entries(KernelEntry, profile, metric, self.by, groups, curve, options)

    def _bandwidths(self, groups: Groups) -> tuple[Floats, NDArray[Any]]:
        """Bandwidths on the scale of ``groups``, and what they are by."""
        if self.bandwidth is not None:
            with np.errstate(over="ignore"):
                return self.bandwidth / groups.x_scale, np.full(len(groups), "user")
        width = _kernel.by_rule(groups, self.rule)
        if self.mode == "method":
            return width, np.full(len(groups), self.rule)
        searched = _kernel.search(groups, self.estimate, self.criterion, width)
        return np.where(searched > 0, searched, width), np.where(
            searched > 0, self.criterion, self.rule
        )
