"""The blocks of a session: their turns and draws, and what they record."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import NamedTuple

import msgspec

from perfvcs.measure.journal import Block
from perfvcs.plugins.collector import Observations
from perfvcs.profile import Metric, Reached, Resources, Results, Stacks, Turns

# the name of this plan; a session that began by another one cannot be continued
ORDER_NAME = "balanced/1"
MAX_SEED = (1 << 31) - 1  # what generators of random numbers take everywhere


class Turn(NamedTuple):
    """One job's part of a block: each version once, in this order."""

    job: int
    versions: list[int]


def turns(seed: int, block: int, versions: Sequence[Sequence[int]]) -> list[Turn]:
    """The turns of one block; ``versions`` are those of each job.

    The jobs come in random order. It is the same whatever ran, failed or was interrupted before:
    any block can be run by itself.

    >>> turns(7, 0, [[0, 1], [0, 1]]) == turns(7, 0, [[0, 1], [0, 1]])
    True
    """
    jobs = Random(f"{seed} jobs {block}").sample(range(len(versions)), len(versions))
    return [Turn(job, _order(seed, block, job, versions[job])) for job in jobs]


def _order(seed: int, block: int, job: int, versions: Sequence[int]) -> list[int]:
    """The order of a job's versions in a block: a row of a balanced design, which is random among
    all such designs.

    After any number of blocks, how often two versions had a place differs by at most one, and so
    does how often they followed another one if their number is even; if it is odd, that is so after
    every second design.
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
    """Latin squares in which each number follows each other one equally often over all of them
    (Williams 1949).

    An even ``count`` takes one square, an odd one also its mirror image.

    >>> _squares(2)
    [[[0, 1], [1, 0]]]
    """
    first = [(place + 1) // 2 if place % 2 else -place // 2 for place in range(count)]
    square = [_shifted(first, shift) for shift in range(count)]
    if count % 2 and count > 1:
        return [square, [row[::-1] for row in square]]
    return [square]


def _shifted(row: Sequence[int], shift: int) -> list[int]:
    """The numbers of a row moved on, round from the last to the first."""
    return [(number + shift) % len(row) for number in row]


def draw(seed: int, block: int, job: int, attempt: int) -> int:
    """The seed, 1 to ``MAX_SEED``, of a job's versions in a block; anew at each ``attempt``."""
    return Random(f"{seed} draw {block} {job} {attempt}").randint(1, MAX_SEED)


class JobRecording(msgspec.Struct):
    """The rows of one job on one version while they grow."""

    names: dict[str, int] = msgspec.field(default_factory=dict)
    rows: Resources = msgspec.field(default_factory=Resources)
    sizes: list[float | None] = msgspec.field(default_factory=list)
    metrics: dict[str, Metric] = msgspec.field(default_factory=dict)
    executions: int = 0
    turns: Turns = msgspec.field(default_factory=lambda: Turns([], [], []))
    engine: str = ""
    frames: dict[str, int] = msgspec.field(default_factory=dict)
    traces: dict[tuple[int, ...], int] = msgspec.field(default_factory=dict)
    reached: Reached | None = None
    output: list[str] = msgspec.field(default_factory=list)
    left: list[str] = msgspec.field(default_factory=list)

    def add(
        self, seen: Observations, execution: int, binary: int, position: int = 0, seed: int = 0
    ) -> None:
        """Append what one execution gave; ``position`` is its place in its block, ``seed`` what it
        shared with the others there.
        """
        before, count = len(self.rows), len(seen.uid)
        self.rows.uid += [self.names.setdefault(name, len(self.names)) for name in seen.uid]
        self.rows.execution += [execution] * count
        for column, values in (
            ("binary", [binary] * count),
            ("iteration", seen.iteration),
            ("mark", seen.mark),
        ):
            setattr(self.rows, column, (getattr(self.rows, column) or []) + list(values))
        self.sizes += seen.size
        self._add_traces(seen, before, count)
        self.metrics |= seen.metrics
        self.engine = seen.engine
        self.reached = seen.reached or self.reached
        for name in self.metrics:
            metric_column = self.rows.metrics.setdefault(name, [None] * before)
            metric_column += seen.values.get(name, [None] * count)
        self.executions += 1
        self.output.append(seen.output)
        self.left.append(seen.left)
        self.turns.execution.append(execution)
        self.turns.place.append(position)
        self.turns.seed.append(seed)

    def _add_traces(self, seen: Observations, before: int, count: int) -> None:
        """Append the rows' stacks, each kept once over all executions."""
        if seen.stacks is None:
            if self.rows.trace is not None:
                self.rows.trace += [-1] * count
            return
        frames = [self.frames.setdefault(frame, len(self.frames)) for frame in seen.stacks.frames]
        stacks = (tuple(frames[place] for place in stack) for stack in seen.stacks.stacks)
        numbers = [self.traces.setdefault(stack, len(self.traces)) for stack in stacks]
        if self.rows.trace is None:
            self.rows.trace = [-1] * before
        self.rows.trace += [
            numbers[trace] if trace >= 0 else -1 for trace in seen.trace or [-1] * count
        ]

    def stacks(self) -> Stacks | None:
        """The stacks of all executions; None where no execution had any."""
        if self.rows.trace is None:
            return None
        return Stacks(list(self.frames), [list(stack) for stack in self.traces])

    def results(self, *, same_output: bool) -> Results | None:
        """What the executions gave beside numbers; None where that is nothing."""
        if not any((*self.output, *self.left)):
            return None
        return Results(list(self.turns.execution), self.output, self.left, same_output)

    def resources(self) -> Resources:
        """All rows, the columns that hold nothing left out."""
        size = self.sizes if any(size is not None for size in self.sizes) else None
        return replace(self.rows, names=list(self.names), size=size)


class Blocks:
    """Blocks by the numbers of job and block.

    One more is one assignment, so that no interruption leaves a half.
    """

    def __init__(self) -> None:
        self._done: defaultdict[int, dict[int, Block]] = defaultdict(dict)

    def __len__(self) -> int:
        return sum(map(len, self._done.values()))

    def add(self, block: Block) -> None:
        """One more, or one in the place of an older one."""
        self._done[block.job][block.block] = block

    def missing(self, job: int, numbers: Iterable[int]) -> set[int]:
        """Which of these blocks of a job are not done."""
        return set(numbers).difference(self._done[job])

    def hosts(self, job: int, version: int) -> list[str]:
        """The hosts that measured a job on a version, the one with the first block first."""
        return list(dict.fromkeys(block.host for block in self.of(job, version)))

    def series(self) -> Mapping[tuple[int, int], tuple[str, str]]:
        """The series of every job and version, by their numbers."""
        return {
            (job, version): series
            for job, blocks in self._done.items()
            for block in blocks.values()
            for version, series in block.series.items()
        }

    def of(self, job: int, version: int, host: str | None = None) -> list[Block]:
        """Those in which a version gave something for a job, on any host or one, in order."""
        blocks = self._done[job]
        chosen = [blocks[number] for number in sorted(blocks) if version in blocks[number].seen]
        return chosen if host is None else [block for block in chosen if block.host == host]

    def recording(self, job: int, version: int, host: str = "") -> JobRecording:
        """What a job gave on a version, on one host."""
        recorded = JobRecording()
        for block in self.of(job, version, host):
            recorded.add(
                block.seen[version], block.block, block.binary, block.places[version], block.seed
            )
        return recorded

    def failed(self, job: int, version: int, host: str = "") -> int:
        """How many executions on one host failed and were repeated."""
        return sum(block.failed.get(version, 0) for block in self.of(job, version, host))
