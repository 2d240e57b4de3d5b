"""The turns of a session, and the luck of each of its executions: all of it follows from the seed."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

ORDER = "shuffled/1"  # the name of this plan; a session that began by another one cannot be continued


class Turn(NamedTuple):
    """One job's part of a block: each version once, in this order."""

    job: int
    versions: list[int]


def turns(seed: int, block: int, jobs: int, versions: int) -> list[Turn]:
    """The turns of one block, by the numbers of jobs and versions.

    Both orders are random, and the same whatever ran, failed or was interrupted before: any block can be run by itself.

    >>> turns(7, 0, 2, 2) == turns(7, 0, 2, 2)
    True
    """
    chance = Random(f"{seed} turns {block}")
    return [Turn(job, chance.sample(range(versions), versions)) for job in chance.sample(range(jobs), jobs)]


def luck(seed: int, block: int, job: int, version: int, attempt: int) -> Random:
    """What decides the chance in one execution, such as its padding; another ``attempt`` after a failure has another luck."""
    return Random(f"{seed} luck {block} {job} {version} {attempt}")
