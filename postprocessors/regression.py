"""Models of metrics over sizes: which function of n the values of each unit follow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from perfvcs.errors import UsageError, nearest
from perfvcs.postprocessors._curve import first_calls, means, without_undefined
from perfvcs.postprocessors._entries import check_number, check_word, conclude, entries, scaled
from perfvcs.postprocessors._rows import chosen, named, rows
from perfvcs.profile import Profile
from perfvcs.profile.fittedmodels import RegressionEntry
from perfvcs.profile.validity import MAX_INTEGER
from perfvcs.statistics.regression.models import FITTED_MODELS, FULL_QUADRATIC, MODELS
from perfvcs.statistics.regression.strategies import FittedPieces, ModelPoints, Strategy, run
from perfvcs.system.numeric import Floats, Indices, np

Model = Literal[
    "constant",
    "logarithmic",
    "linear",
    "linearithmic",
    "quadratic",
    "cubic",
    "power",
    "exponential",
    "full-quadratic",
]
MOST_ENTRIES = 27_500  # all of them have their place in a profile's header
# up to this share of a unit's rows at size 0 is left out for the models that begin above 0
ZEROS = 0.05


@dataclass(frozen=True)
class Regression:
    """Fits models to values over sizes, for each unit and metric.

    ``models``: the models to fit, or "all"; power and exponential are fitted on the metric's own
    scale and on logarithms; full-quadratic is never the best. ``undefined``: where a model is not
    defined for some rows (sizes or values of 0 and below), omit the model, or drop these rows from
    it. ``fit``: to the mean at each size, with outliers pulled in, as `perf check` does, or to the
    single values (calls). ``strategy``: which rows are fitted together; ``steps``: in how many
    parts; ``seed``: which rows are drawn. ``of``: metrics (by default, all that are judged);
    ``by``: the column of x, ``size`` or a metric; ``weights``: a column that weights squared
    residuals. ``choice``: the rule that picks the best model. ``keep``: whether the other models
    are recorded, too.
    """

    models: Literal["all"] | tuple[Model, ...] = "all"
    undefined: Literal["omit", "drop"] = "omit"
    fit: Literal["means", "calls"] = "means"
    strategy: Strategy = "full"
    steps: int = 5
    seed: int = 1
    of: tuple[str, ...] = ()
    by: str = "size"
    weights: str = ""
    choice: Literal["aicc", "r2"] = "aicc"
    keep: Literal["all", "best"] = "all"

    def __post_init__(self) -> None:
        if self.models != "all" and not self.models:
            raise UsageError('regression: models is empty: name some, or give "all"')
        named = (self.models,) if isinstance(self.models, str) else self.models
        for model in named if self.models != "all" else ():
            if model not in (*MODELS, FULL_QUADRATIC):
                raise UsageError(
                    "regression: there is no model"
                    f" `{model}`{nearest(model, (*MODELS, FULL_QUADRATIC))}"
                )
        if not {*self.fitted} - {FULL_QUADRATIC}:
            raise UsageError(
                f"regression: {FULL_QUADRATIC} is never the best model: name others beside it, such"
                f" as linear,quadratic,{FULL_QUADRATIC}"
            )
        check_word(self, "undefined", ("omit", "drop"))
        check_word(self, "fit", ("means", "calls"))
        check_number(self, "steps", 1, 1000, "5", whole=True)
        check_number(self, "seed", 0, MAX_INTEGER, "1", whole=True)

    @property
    def fitted(self) -> tuple[str, ...]:
        """The models that are fitted, in order of growth, the linearised forms at the end."""
        if self.models == "all":
            return FITTED_MODELS
        wanted = (self.models,) if isinstance(self.models, str) else self.models
        return tuple(name for name in FITTED_MODELS if name.removeprefix("linearised ") in wanted)

    def apply(self, profile: Profile) -> Profile:
        """The profile with an entry of ``models`` per unit, metric and model, as docs/format.md has
        them.

        Rows whose execution was repeated and rows marked as outliers are left out. Raises
        UsageError without sizes.
        """
        metrics = chosen(profile, self.of, self.by)
        return conclude(
            profile, self, [entry for metric in metrics for entry in self._entries(profile, metric)]
        )

    def _entries(self, profile: Profile, metric: str) -> Iterator[RegressionEntry]:

        points, zeros = self._points(profile, metric)
        points, scale = scaled(points)
        far, single = [0] * points.groups, [self.fit == "calls"] * points.groups
        if self.fit == "means":
            points, weight, many = means(points)
            single = (~many).tolist()
        described = self.fit == "means" and self.strategy == "full" and self.choice == "aicc"
        if described:
            pieces, far = self._described(points, weight)
        else:
            pieces = run(self.strategy, points, self.fitted, self.choice, self.steps, self.seed)
        lost: dict[str, Indices] = {}
        if self.undefined == "drop":
            pieces, lost = without_undefined(pieces)
        count = len(pieces.owner) * (1 if self.keep == "best" else len(self.fitted))
        if count > MOST_ENTRIES:
            raise UsageError(
                f"regression: {count:,} models are more than a profile holds ({MOST_ENTRIES:,}):"
                " name fewer with models, or give keep=best"
            )
        guessed = self.strategy == "initial-guess"
        for unit, entry in entries(
            pieces, scale, zeros, far, lost, guessed=guessed, shares=described
        ):
            if self.keep == "all" or entry["best"] or entry["model"] is None:
                yield RegressionEntry(
                    profile.resources.names[unit],
                    metric,
                    self.by,
                    strategy=self.strategy,
                    fit="calls" if single[unit] else "means",
                    **entry,
                )

    def _described(self, points: ModelPoints, weight: Floats) -> tuple[FittedPieces, list[int]]:
        """All models fitted to the means but those far off, and how many of a group these are."""
        from perfvcs.statistics.regression.robust import described

        choice, far = described(
            points.x, points.y, weight, points.group, groups=points.groups, models=self.fitted
        )
        fitted = FittedPieces(choice.fits, choice, np.arange(points.groups), points.of(~far))
        return fitted, np.bincount(points.group[far], minlength=points.groups).tolist()

    def _points(self, profile: Profile, metric: str) -> tuple[ModelPoints, list[int]]:
        """The rows to fit, and the number of rows at size 0 left out of each group."""
        seen = rows(profile, metric, self.by)
        keep = np.isfinite(seen.x)
        if self.fit == "means":
            keep &= ~first_calls(profile)[seen.place]
        weights = None
        if self.weights:
            weights = named(profile, self.weights, "weights")[seen.place]
            keep &= np.isfinite(weights) & (weights > 0)
        total = len(profile.resources.names)
        zeros = np.zeros(total, dtype=np.intp)
        if self.undefined == "omit" and {"logarithmic", "power"} & set(self.fitted):
            count, at_zero = np.bincount(seen.unit[keep], minlength=total), keep & (seen.x == 0)
            zeros = np.bincount(seen.unit[at_zero], minlength=total)
            zeros[zeros > ZEROS * count] = 0
            keep &= ~(at_zero & (zeros > 0)[seen.unit])
        points = ModelPoints(seen.x, seen.y, seen.unit, total, weights).of(keep)
        return points, zeros.tolist()
