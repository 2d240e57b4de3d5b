"""Models of the rows for which they are defined, where some rows are not: sizes or values of 0 and below."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from perfvcs.statistics.regression.strategies import FittedPieces, ModelPoints


def without_undefined(pieces: FittedPieces) -> tuple[FittedPieces, dict[str, NDArray[np.intp]]]:
    """The fits, with those that were not known because of some rows made from the others, and by model how many rows of each piece
    it lost; shape (pieces,).

    The choice stays: what was fitted to other rows cannot be compared.
    """
    import numpy as np

    from perfvcs.statistics.regression.fitting import fit

    points, fits, lost = pieces.points, dict(pieces.fits), {}
    for model, whole in pieces.fits.items():
        defined = _defined(model, points)
        wanted = ~whole.known & (np.bincount(points.group, ~defined, points.groups) > 0)
        if not wanted.any():
            continue
        rest = points.of(defined & wanted[points.group])
        part = fit(rest.x, rest.y, rest.group, rest.weights, groups=rest.groups, models=[model])[model]
        made = part.known
        columns = {field.name: (getattr(part, field.name), getattr(whole, field.name)) for field in fields(part)[1:]}
        joined = {name: np.where(made if new.ndim == 1 else made[:, None], new, old) for name, (new, old) in columns.items()}
        fits[model] = replace(part, **joined)
        lost[model] = np.where(made, np.bincount(points.group, ~defined, points.groups), 0).astype(np.intp)
    return replace(pieces, fits=fits), lost


def _defined(model: str, points: ModelPoints) -> NDArray[np.bool_]:
    """The rows at which a model, or the logarithm of their values, is defined; shape (rows,)."""
    import numpy as np

    from perfvcs.statistics.regression.models import FULL_QUADRATIC, LINEARISED, transform

    found = np.isfinite(transform("linear" if model == FULL_QUADRATIC else model, points.x))
    return np.asarray(found & (points.y > 0) if model in LINEARISED else found)
