"""The curves whose shape is a parameter, b0 e^(theta u), by least squares on the original scale."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from perfvcs.statistics.regression.block import RowBlock

MOST_ROUNDS = 60
STEP = 2.0  # at most this change of theta times the range of u in one round
CONVERGED_SHARE = 1e-9  # converged: theta times the range of u moves by less
STARTS = (-4.0, -1.5, -0.5, 0.5, 1.5, 3.0, 6.0, 12.0, 24.0)  # theta times the range of u, if logarithms give no start


class Sums(NamedTuple):
    """What a round needs of the rows, per group: g = e^(theta u), its products with the powers of u and with y."""

    gg: NDArray[np.float64]
    ugg: NDArray[np.float64]
    uugg: NDArray[np.float64]
    gy: NDArray[np.float64]
    ugy: NDArray[np.float64]

    def scale(self) -> NDArray[np.float64]:
        """The best factor of the curve for its shape."""
        return self.gy / self.gg

    def explained(self) -> NDArray[np.float64]:
        """By how much the curve lowers the sum of squares."""
        return self.gy**2 / self.gg


def project(
    block: RowBlock, u: NDArray[np.float64], start: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]
) -> tuple[NDArray[np.float64], ...]:
    """Fit y = b0 e^(theta u) to every group of the block, from the shapes ``start`` (NaN: the best of ``STARTS``).

    Returns b0, theta, the sum of squared residuals, and the sum of weights, mean and centred sum of squares of u under the weights
    w y^2 of the fitted curve: the variance of b0 relative to b0^2 and that of theta follow from them as for a straight line. Not
    converged, not defined or beyond a float is NaN. One-dimensional Gauss-Newton on theta with halved steps, since for a given theta
    the best b0 is known. Sources: Golub, Pereyra 1973; Kaufman 1975.
    """
    import numpy as np

    size = block.least(u), block.most(u)
    middle, width = (size[0] + size[1]) / 2, size[1] - size[0]
    able = np.isfinite(width) & (width > 0) & (high > low)
    middle, width = np.where(able, middle, 0.0), np.where(able, width, 1.0)
    v = (np.where(np.isfinite(u), u, 0.0) - block.spread(middle)) / block.spread(width)  # -1/2 .. 1/2
    theta = np.clip(start * width, -100.0, 100.0)
    blind = able & ~np.isfinite(theta)
    theta = np.where(np.isfinite(theta), theta, 0.0)
    if blind.any():
        theta = _begin(block, v, theta, blind)
    done = ~able
    best = _sums(block, v, theta)
    step = np.zeros(len(theta))
    # Of the groups that still move, whose rows are ``part``: most are there after a few rounds.
    live: NDArray[np.intp] | slice = slice(None)
    part, w, count = block, v, len(theta)
    for round_ in range(MOST_ROUNDS):
        old, moved = Sums(*(column[live] for column in best)), theta[live] + step[live]
        now = old if round_ == 0 else _sums(part, w, moved)
        better = now.explained() >= old.explained() * (1 - 1e-14)
        taken = better & ~done[live]
        if taken.all():
            theta[live], here = moved, now
        else:
            theta[live] = np.where(taken, moved, theta[live])
            here = Sums(*(np.where(taken, new, before) for new, before in zip(now, old, strict=True)))
        for column, values in zip(best, here, strict=True):
            column[live] = values
        spread = here.uugg - here.ugg**2 / here.gg
        scale = here.scale()
        newton = (here.ugy - scale * here.ugg) / (scale * spread)
        new = np.where(better, np.where(np.isnan(newton), 0.0, np.minimum(np.maximum(newton, -STEP), STEP)), step[live] / 2)
        done[live] |= np.abs(new) <= CONVERGED_SHARE
        step[live] = np.where(done[live], 0.0, new)
        left = int(np.count_nonzero(~done))
        if not left:
            break
        if 2 * left <= count:
            live, count = np.flatnonzero(~done), left
            rows = np.repeat(~done, block.lengths)
            part, w = block.only(rows, block.lengths[live]), v[rows]
    peak = np.abs(theta) / 2
    scale = best.scale()
    curve = block.spread(scale) * np.exp(block.spread(theta) * v - block.spread(peak))
    squares = block.squares(block.y - curve, block.y)
    centre = best.ugg / best.gg
    shape = theta / width
    b0 = scale * np.exp(-peak - shape * middle)
    fine = able & done
    spread = scale**2 * (best.uugg - best.ugg * centre) * width**2
    columns = (b0, shape, squares, scale**2 * best.gg, middle + centre * width, spread)
    return tuple(np.where(fine, column, np.nan) for column in columns)


def _begin(block: RowBlock, v: NDArray[np.float64], theta: NDArray[np.float64], blind: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The best shape of a few for the groups that have no start."""
    import numpy as np

    most = np.full(len(theta), -np.inf)
    for guess in STARTS:
        explained = _sums(block, v, np.where(blind, guess, theta)).explained()
        found = blind & (explained > most)
        theta, most = np.where(found, guess, theta), np.where(found, explained, most)
    return theta


def _sums(block: RowBlock, v: NDArray[np.float64], theta: NDArray[np.float64]) -> Sums:
    """With g at most 1: its largest value is at one end."""
    import numpy as np

    g = block.spread(theta) * v
    g -= block.spread(np.abs(theta) / 2)
    np.exp(g, out=g)
    gy = g * block.y
    gg = g * g
    vgg = v * gg
    return Sums(block.total(gg), block.total(vgg), block.total(v * vgg), block.total(gy), block.total(v * gy))
