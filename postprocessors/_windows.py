"""Running averages of all units at once, and the window that predicts best."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfvcs.postprocessors._rows import begins, thin
from perfvcs.system.numeric import Flags, Floats, Indices, np

if TYPE_CHECKING:
    from perfvcs.postprocessors._rows import GroupBlocks, Groups

NARROWEST_WINDOW = 3  # rows of the narrowest window that is tried
GROWTH = 1.6  # of each window that is tried over the one before
TRIED = 2_000  # sizes of a unit at which windows are compared
# exponential averages that are tried: alpha = 2 / (1 + span)
SPANS = (1, 2, 3, 5, 8, 13, 21, 34, 55, 89)
LOST = 1e-18  # a weight that changes nothing
CHUNK_ROWS = 4_000_000  # rows of windows held at once


def reach(groups: Groups, blocks: GroupBlocks, window: Indices) -> tuple[Indices, Indices]:
    """First row and end of the window about each of the blocks, ``window`` (groups,) rows wide, all
    rows of its sizes included.
    """
    every = groups.blocks
    block = groups.block
    half = np.maximum(window[blocks.group] - blocks.counts + 1, 0) // 2
    begin = groups.starts[blocks.group]
    end = begin + groups.counts[blocks.group]
    first = np.maximum(blocks.starts - half, begin)
    last = np.minimum(blocks.starts + blocks.counts + half, end) - 1
    return every.starts[block[first]], every.starts[block[last]] + every.counts[block[last]]


def _sums(groups: Groups) -> Floats:
    """Running sums of the values less the mean of their group, beginning with 0."""
    return np.concatenate([[0.0], np.cumsum(groups.y - groups.mean[groups.number])])


def mean(groups: Groups, window: Indices, shown: Flags) -> Floats:
    """The mean of the window about each block that is ``kept``."""
    blocks = groups.blocks.take(shown)
    first, end = reach(groups, blocks, window)
    sums = _sums(groups)
    means: Floats = (sums[end] - sums[first]) / (end - first) + groups.mean[blocks.group]
    return means


def median(groups: Groups, window: Indices, shown: Flags) -> Floats:
    """The median of the window about each block that is ``kept``."""
    first, end = reach(groups, groups.blocks.take(shown), window)
    length, medians = end - first, np.empty(len(first))
    for size in np.unique(length).tolist():  # windows of one length are one table
        places = np.flatnonzero(length == size)
        for part in np.array_split(places, max(1, len(places) * size // CHUNK_ROWS)):
            medians[part] = np.median(groups.y[first[part][:, None] + np.arange(size)], axis=1)
    return medians


def choose(groups: Groups) -> Indices:
    """The window (groups,) whose mean has the least squared error at the rows that are left out one
    by one; the widest of equals.

    Windows from three rows on are tried, each 1.6 times the one before, and the whole unit, at no
    more than 2,000 sizes of each unit.
    """
    blocks = groups.blocks.take(thin(groups.blocks.group, len(groups), TRIED))
    sums = _sums(groups)
    best, windows = np.full(len(groups), np.inf), np.minimum(NARROWEST_WINDOW, groups.counts)
    floor = 1e-12 * groups.squares  # windows that differ by rounding alone are equal
    width = float(NARROWEST_WINDOW)
    while len(groups):
        window = np.minimum(round(width), groups.counts)
        first, end = reach(groups, blocks, window)
        n = (end - first).astype(np.float64)
        error = (sums[end] - sums[first]) / n - blocks.mean
        squares = (blocks.within + blocks.counts * error**2) * (n / np.maximum(n - 1, 1)) ** 2
        total = np.bincount(blocks.group, squares, len(groups))
        better = total <= best + floor
        best, windows = np.where(better, total, best), np.where(better, window, windows)
        if width >= groups.counts.max():
            break
        width *= GROWTH
    return windows.astype(np.intp)


def exponential(groups: Groups, alpha: Floats) -> Floats:
    """At each block the mean of it and those before, weighted by their rows and (1 - alpha)^(blocks
    between); less the group's mean.
    """
    blocks = groups.blocks
    first = begins(blocks.group)
    factor = np.where(first, 0.0, 1 - alpha[blocks.group])
    weight = blocks.counts.astype(np.float64)
    total = weight * blocks.mean
    step = 1
    # doubling the distance that each sum reaches, until what is further away weighs nothing
    while step < len(factor) and factor.max() > LOST:
        for column in (total, weight):
            column[step:] = column[step:] + factor[step:] * column[:-step]
        factor = np.concatenate([np.zeros(step), factor[step:] * factor[:-step]])
        step *= 2
    means: Floats = total / weight
    return means


def choose_alpha(groups: Groups) -> Floats:
    """The alpha (groups,) that predicts each size best from those before, in squared error over its
    rows; the smallest of equals.
    """
    blocks = groups.blocks
    later = np.flatnonzero(np.diff(blocks.group) == 0) + 1
    best, alphas = np.full(len(groups), np.inf), np.ones(len(groups))
    floor = 1e-12 * groups.squares
    for span in SPANS:
        alpha = 2 / (1 + span)
        before = exponential(groups, np.full(len(groups), alpha))[later - 1]
        squares = blocks.counts[later] * (blocks.mean[later] - before) ** 2
        total = np.bincount(blocks.group[later], squares, len(groups))
        better = total <= best + floor
        best, alphas = np.where(better, total, best), np.where(better, alpha, alphas)
    return alphas
