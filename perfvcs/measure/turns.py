"""The turns of a session, and what its executions draw by lot: all of it follows from the session's seed."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

ORDER_NAME = "balanced/1"  # the name of this plan; a session that began by another one cannot be continued
MAX_SEED = (1 << 31) - 1  # what generators of random numbers take everywhere


class Turn(NamedTuple):
    """One job's part of a block: each version once, in this order."""

    job: int
    versions: list[int]


def turns(seed: int, block: int, versions: Sequence[Sequence[int]]) -> list[Turn]:
    """The turns of one block; ``versions`` are those of each job.

    The jobs come in random order. It is the same whatever ran, failed or was interrupted before: any block can be run by itself.

    >>> turns(7, 0, [[0, 1], [0, 1]]) == turns(7, 0, [[0, 1], [0, 1]])
    True
    """
    jobs = Random(f"{seed} jobs {block}").sample(range(len(versions)), len(versions))
    return [Turn(job, _order(seed, block, job, versions[job])) for job in jobs]


def _order(seed: int, block: int, job: int, versions: Sequence[int]) -> list[int]:
    """The order of a job's versions in a block: a row of a balanced design, which is random among all such designs.

    After any number of blocks, how often two versions had a place differs by at most one, and so does how often they followed
    another one if their number is even; if it is odd, that is so after every second design.
    """
    if not versions:
        return []
    squares = _squares(len(versions))
    design, row = divmod(block, sum(map(len, squares)))
    chance = Random(f"{seed} design {job} {design} {len(versions)}")
    names = chance.sample(versions, len(versions))
    rows = [line for square in squares for line in chance.sample(square, len(square))]
    return [names[number] for number in rows[row]]


def _squares(count: int) -> list[list[list[int]]]:
    """Latin squares in which each number follows each other one equally often over all of them (Williams 1949).

    An even ``count`` takes one square, an odd one also its mirror image.

    >>> _squares(2)
    [[[0, 1], [1, 0]]]
    """
    first = [(place + 1) // 2 if place % 2 else -place // 2 for place in range(count)]
    square = [[(number + shift) % count for number in first] for shift in range(count)]
    return [square, [row[::-1] for row in square]] if count % 2 and count > 1 else [square]


def draw(seed: int, block: int, job: int, attempt: int) -> int:
    """The seed, 1 to ``MAX_SEED``, that all versions of a job share in a block; another ``attempt`` after failures has another one."""
    return Random(f"{seed} draw {block} {job} {attempt}").randint(1, MAX_SEED)
