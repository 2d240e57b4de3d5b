"""The curves whose shape is a parameter, b0 e^(theta u), by least squares on the original scale."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from perfvcs.system.numeric import Flags, Floats, Indices, np

BLOCK_ROWS = 1 << 15
ROUNDING = 16 * 2.0**-52  # residuals below this share of their values are those of a perfect fit
# of the largest square, below which squares of sizes about their straight line are rounding: there
# are two sizes
FLAT = 1e-12
MOST_ROUNDS = 60
STEP = 2.0  # at most this change of theta times the range of u in one round
CONVERGED_SHARE = 1e-9  # converged: theta times the range of u moves by less
# theta times the range of u, if logarithms give no start
STARTS = (-4.0, -1.5, -0.5, 0.5, 1.5, 3.0, 6.0, 12.0, 24.0)


@dataclass(frozen=True)
class RowBlock:
    """Rows of some groups, one group after the other; ``w`` is None for weights of 1."""

    x: Floats
    y: Floats
    w: Floats | None
    starts: Indices
    lengths: Indices

    def total(self, rows: Floats) -> Floats:
        """The weighted sum per group."""
        sums: Floats = np.add.reduceat(rows if self.w is None else rows * self.w, self.starts)
        return sums

    def spread(self, groups: Floats) -> Floats:
        """Each group's number at each of its rows."""
        return np.repeat(groups, self.lengths)

    def only(self, rows: Flags, lengths: Indices) -> RowBlock:
        """The rows of some of the groups, which are so long."""
        w = None if self.w is None else self.w[rows]
        return RowBlock(self.x[rows], self.y[rows], w, np.cumsum(lengths) - lengths, lengths)

    def least(self, rows: Floats) -> Floats:
        """The smallest value per group."""
        smallest: Floats = np.minimum.reduceat(rows, self.starts)
        return smallest

    def most(self, rows: Floats) -> Floats:
        """The largest value per group."""
        largest: Floats = np.maximum.reduceat(rows, self.starts)
        return largest

    def squares(self, residuals: Floats, values: Floats) -> Floats:
        """The weighted sum of squared residuals, 0 where they are but rounding of the values."""
        sums = self.total(residuals * residuals)
        exact = self._exact if values is self.y else self.total((ROUNDING * values) ** 2)
        return np.where(sums <= exact, 0.0, sums)

    @cached_property
    def _exact(self) -> Floats:
        return self.total((ROUNDING * self.y) ** 2)


def blocks(
    x: Floats, y: Floats, w: Floats | None, counts: Indices
) -> Iterator[tuple[RowBlock, Indices]]:
    """Blocks of whole groups, with the groups' numbers; groups without rows are in none."""
    present = np.flatnonzero(counts)
    ends = np.cumsum(counts[present])
    first = 0
    while first < len(present):
        begin = ends[first] - counts[present[first]]
        last = max(first + 1, int(np.searchsorted(ends, begin + BLOCK_ROWS, side="right")))
        rows = slice(begin, ends[last - 1])
        lengths = counts[present[first:last]]
        starts = np.cumsum(lengths) - lengths
        yield (
            RowBlock(x[rows], y[rows], None if w is None else w[rows], starts, lengths),
            present[first:last],
        )
        first = last


class Parabola(NamedTuple):
    """A parabola per group: ``coefficients`` (groups, 3) are NaN below three sizes, ``factors``
    (groups, 3) are what their variances are in units of that of the residuals, ``squares``
    (groups,) the sum of squared residuals.
    """

    coefficients: Floats
    factors: Floats
    squares: Floats


def parabola(block: RowBlock) -> Parabola:
    """Fit each group by polynomials that are orthogonal on its own sizes, which lose nothing to
    large sizes far from 0.

    Source: Forsythe 1957, Generation and use of orthogonal polynomials for data-fitting.
    """
    weight = block.total(np.ones(len(block.x)))
    centre, mean = block.total(block.x) / weight, block.total(block.y) / weight
    u, rest = block.x - block.spread(centre), block.y - block.spread(mean)
    # the rounding of the first mean, which is that of the sizes, not of their distances
    left = block.total(u) / weight
    u -= block.spread(left)
    centre = centre + left
    spread = block.total(u * u)
    slope = block.total(u * rest) / spread
    rest -= block.spread(slope) * u
    level, lean = spread / weight, block.total(u * u * u) / spread
    v = u * u - block.spread(level) - block.spread(lean) * u
    width, largest = block.total(v * v), block.most(np.abs(u)) ** 2
    # the mean of equal sizes need not be exactly that size
    several = block.most(block.x) > -block.most(-block.x)
    bend = np.where(
        several & (width > weight * (FLAT * largest) ** 2), block.total(v * rest) / width, np.nan
    )
    rest -= block.spread(bend) * v
    # v is x^2 - tilt x + lift
    tilt, lift = lean + 2 * centre, centre * centre + lean * centre - level
    coefficients = [mean - slope * centre + bend * lift, slope - bend * tilt, bend]
    factors = [
        1 / weight + centre**2 / spread + lift**2 / width,
        1 / spread + tilt**2 / width,
        1 / width,
    ]
    return Parabola(
        np.stack(coefficients, axis=1), np.stack(factors, axis=1), block.squares(rest, block.y)
    )


class Sums(NamedTuple):
    """What a round needs, per group: g = e^(theta u), its products with powers of u and y."""

    gg: Floats
    ugg: Floats
    uugg: Floats
    gy: Floats
    ugy: Floats

    def scale(self) -> Floats:
        """The best factor of the curve for its shape."""
        return self.gy / self.gg

    def explained(self) -> Floats:
        """By how much the curve lowers the sum of squares."""
        return self.gy**2 / self.gg


def project(
    block: RowBlock, u: Floats, start: Floats, low: Floats, high: Floats
) -> tuple[Floats, ...]:
    """Fit y = b0 e^(theta u) to every group of the block, from the shapes ``start`` (NaN: the best
    of ``STARTS``).

    Returns b0, theta, the sum of squared residuals, and the sum of weights, mean and centred sum of
    squares of u under the weights w y^2 of the fitted curve: the variance of b0 relative to b0^2
    and that of theta follow from them as for a straight line. Not converged, not defined or beyond
    a float is NaN. One-dimensional Gauss-Newton on theta with halved steps, since for a given theta
    the best b0 is known. Sources: Golub, Pereyra 1973; Kaufman 1975.
    """
    size = block.least(u), block.most(u)
    middle, width = (size[0] + size[1]) / 2, size[1] - size[0]
    able = np.isfinite(width) & (width > 0) & (high > low)
    middle, width = np.where(able, middle, 0.0), np.where(able, width, 1.0)
    # -1/2 .. 1/2
    v = (np.where(np.isfinite(u), u, 0.0) - block.spread(middle)) / block.spread(width)
    theta = np.clip(start * width, -100.0, 100.0)
    blind = able & ~np.isfinite(theta)
    theta = np.where(np.isfinite(theta), theta, 0.0)
    if blind.any():
        theta = _begin(block, v, theta, blind)
    theta, done, best = _converged(block, v, theta, able)
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


class _Converged(NamedTuple):
    """Shapes of groups, where they were found (or are undefined), and the sums of these."""

    theta: Floats
    done: Flags
    sums: Sums


def _converged(block: RowBlock, v: Floats, start: Floats, able: Flags) -> _Converged:
    """The best shapes from those at the ``start``."""
    theta, fine = start.copy(), ~able
    best = _sums(block, v, start)
    sums = Sums(*(column.copy() for column in best))
    # Of the groups that still move, whose rows are ``part``: most are there after a few rounds.
    live, part, w = np.arange(len(start)), block, v
    here, done, step = start, ~able, np.zeros(len(start))
    for round_ in range(MOST_ROUNDS):
        now = best if round_ == 0 else _sums(part, w, here + step)
        better = now.explained() >= best.explained() * (1 - 1e-14)
        taken = better & ~done
        if taken.all():
            here, best = here + step, now
        elif taken.any():
            here = np.where(taken, here + step, here)
            best = Sums(*(np.where(taken, new, old) for new, old in zip(now, best, strict=True)))
        spread = best.uugg - best.ugg**2 / best.gg
        scale = best.scale()
        newton = (best.ugy - scale * best.ugg) / (scale * spread)
        step = np.where(
            better,
            np.where(np.isnan(newton), 0.0, np.minimum(np.maximum(newton, -STEP), STEP)),
            step / 2,
        )
        done |= np.abs(step) <= CONVERGED_SHARE
        step = np.where(done, 0.0, step)
        left = int(np.count_nonzero(~done))
        if left and 2 * left > len(live) and round_ < MOST_ROUNDS - 1:
            continue
        theta[live], fine[live] = here, done
        for column, values in zip(sums, best, strict=True):
            column[live] = values
        if not left:
            break
        moving = ~done
        rows = np.repeat(moving, part.lengths)
        live, w, part = live[moving], w[rows], part.only(rows, part.lengths[moving])
        here = here[moving]
        step = step[moving]
        best = Sums(*(column[moving] for column in best))
        done = done[moving]
    return _Converged(theta, fine, sums)


def _begin(block: RowBlock, v: Floats, theta: Floats, blind: Flags) -> Floats:
    """The best shape of a few for the groups that have no start."""
    most = np.full(len(theta), -np.inf)
    for guess in STARTS:
        explained = _sums(block, v, np.where(blind, guess, theta)).explained()
        better = blind & (explained > most)
        theta, most = np.where(better, guess, theta), np.where(better, explained, most)
    return theta


def _sums(block: RowBlock, v: Floats, theta: Floats) -> Sums:
    """With g at most 1: its largest value is at one end."""
    g = block.spread(theta) * v
    g -= block.spread(np.abs(theta) / 2)
    np.exp(g, out=g)
    gy = g * block.y
    gg = g * g
    vgg = v * gg
    return Sums(
        block.total(gg),
        block.total(vgg),
        block.total(v * vgg),
        block.total(gy),
        block.total(v * gy),
    )
