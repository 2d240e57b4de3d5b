"""Counters without information of their own: those that never change, and those that the others predict."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

REDUNDANT_R2 = 0.9  # r2 above which a counter is redundant; the paper names none, this is that of the analysis that it cites
EQUAL_SHARES = 1e-8  # shares of unexplained variance that differ by less are equal
SOUND = 1e4  # largest variance inflation from which the inverse is brought forward instead of computed again


def varying(values: ArrayLike) -> NDArray[np.bool_]:
    """Which counters change at all, for values of shape (times, counters); beyond rounding, and False where one is not finite."""
    import numpy as np

    x = np.asarray(values, dtype=np.float64)
    if not len(x):
        return np.zeros(x.shape[1], dtype=bool)
    known = np.isfinite(x).all(axis=0)
    scaled = _scaled(np.where(known, x, 0.0))
    found: NDArray[np.bool_] = known & (scaled.max(axis=0) - scaled.min(axis=0) > 8 * np.finfo(np.float64).eps)
    return found


def standardised(values: ArrayLike) -> NDArray[np.float64]:
    """Values (times, counters), all finite, with mean 0 and unit length per counter, so that products are correlations; constants are 0."""
    import numpy as np

    x = np.asarray(values, dtype=np.float64)
    if not len(x):
        return x
    scaled = _scaled(x)
    centred = scaled - scaled.mean(axis=0)
    length = np.sqrt((centred**2).sum(axis=0))
    found: NDArray[np.float64] = np.where(varying(x), centred / np.where(length > 0, length, 1.0), 0.0)
    return found


def redundant(values: ArrayLike, threshold: float = REDUNDANT_R2) -> list[int]:
    """Columns of values (times, counters) that the others predict with an r2 above the threshold, in the order in which they go.

    Each counter is regressed on all others; the one with the highest r2 goes first, and so on until none is above the threshold. Of
    equals the last goes. With more counters than observations all are predicted perfectly: the last ones go until the rest is
    independent. Constants are the caller's to leave out: they are never redundant. ``ValueError`` for a value that is not finite.
    Sources: Shang et al. 2015, 4.1; Harrell 2001 (redun).
    """
    import numpy as np

    x = np.asarray(values, dtype=np.float64)
    if not np.isfinite(x).all():
        raise ValueError("redundancy needs finite values")
    unit = standardised(x)
    places = np.flatnonzero(varying(x))
    if threshold >= 1 - EQUAL_SHARES:
        return []
    independent = _independent(unit[:, places])
    gone: list[int] = places[~independent][::-1].tolist()
    places = places[independent]
    correlation = unit.T @ unit
    inverse = np.linalg.inv(correlation[np.ix_(places, places)])
    while len(places) > 1:
        inflation = np.diag(inverse)
        unexplained = 1 / np.maximum(inflation, 1.0)
        worst = int(np.flatnonzero(unexplained <= unexplained.min() + EQUAL_SHARES)[-1])
        if 1 - unexplained[worst] <= threshold:
            break
        gone.append(int(places[worst]))
        rest = np.arange(len(places)) != worst
        places = places[rest]
        if inflation.max() > SOUND:
            inverse = np.linalg.inv(correlation[np.ix_(places, places)])
        else:
            inverse = inverse[np.ix_(rest, rest)] - np.outer(inverse[rest, worst], inverse[worst, rest]) / inflation[worst]
    return gone


def _independent(unit: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which columns the ones before them do not predict perfectly."""
    import numpy as np

    basis = np.empty((len(unit), 0))
    found = np.zeros(unit.shape[1], dtype=bool)
    for place in range(unit.shape[1]):
        if basis.shape[1] >= len(unit) - 1:
            break
        rest = unit[:, place] - basis @ (basis.T @ unit[:, place])
        rest -= basis @ (basis.T @ rest)  # once more: the first pass leaves rounding
        if rest @ rest > EQUAL_SHARES:
            found[place] = True
            basis = np.column_stack([basis, rest / np.sqrt(rest @ rest)])
    return found


def _scaled(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each column divided by its largest magnitude, so that squares neither overflow nor vanish."""
    import numpy as np

    largest = np.abs(values).max(axis=0, initial=0.0)
    found: NDArray[np.float64] = values / np.where(largest > 0, largest, 1.0)
    return found
