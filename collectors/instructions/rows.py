"""What a profile holds of one execution's counts: the whole, its functions, and the paths to them."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from perfvcs.collector import CollectError, Observations, Run
from perfvcs.collectors._shared.frames import inlined
from perfvcs.collectors.instructions.functions import FunctionCounts, functions
from perfvcs.collectors.instructions.paths import REST_OF_PATHS, paths
from perfvcs.errors import nearest
from perfvcs.profile import Metric, Stacks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from perfvcs.collectors.instructions.counts import Counts

REST_FRAME = "[rest]"  # the last frame of a path that stands for several

Row = dict[str, float | None]


def observations(
    run: Run, counts: Counts, metrics: Mapping[str, Metric], chosen: Sequence[str], least: float, repeatability: float | None
) -> Observations:
    """The rows under ``metrics``: those of the engine, which may know less than callgrind does.

    ``chosen`` are patterns of functions' names; raises CollectError for one that no function has. ``least`` is the share of all
    instructions below which functions and paths are left out.
    """
    found = Observations(metrics=dict(metrics), values={name: [] for name in metrics}, warnings=list(counts.warnings))
    found.add(run.uid, {"instructions": counts.total, "repeatability": repeatability}, size=run.size)
    if "exclusive" not in metrics:
        return found
    table = functions(counts, run.cwd, run.uid)
    judged = _chosen(table, chosen)
    column = "inclusive" if "inclusive" in metrics else "exclusive"
    weight = getattr(table, column)
    for place in (-weight).argsort(kind="stable").tolist():
        if weight[place] < least * counts.total and place not in judged:
            continue
        row: Row = {name: _known(getattr(table, name)[place]) for name in ("exclusive", "inclusive", "calls") if name in metrics}
        found.add(table.uid[place], row | ({"instructions": row[column]} if place in judged else {}), size=run.size)
    if "self" in metrics:
        _append_paths(found, run, counts, table, least)
    return found


def _known(value: float) -> float | None:
    from math import isnan

    return None if isnan(value) else float(value)


def _append_paths(observations: Observations, run: Run, counts: Counts, table: FunctionCounts, least: float) -> None:
    """A row for each path, under its last function's name; paths that differ in their contexts only are one."""
    count = len(table.uid)
    uids, names = [*table.uid, *table.uid, REST_FRAME], [*table.frame, *map(inlined, table.frame), REST_FRAME]
    of = [place + count * bool(context.within) for place, context in zip(table.of.tolist(), counts.contexts, strict=True)]
    of.append(2 * count)
    amounts: dict[tuple[int, ...], float] = {}
    for path, amount in paths(counts, least * counts.total):
        stack = tuple(of[context if context != REST_OF_PATHS else len(of) - 1] for context in path)
        amounts[stack] = amounts.get(stack, 0.0) + amount
    frames: dict[int, int] = {}
    observations.stacks = Stacks([], [])
    for stack, amount in sorted(amounts.items(), key=lambda one: (-one[1], one[0])):
        if round(amount):
            observations.add(
                uids[stack[-1]], {"self": float(round(amount))}, size=run.size, trace=len(observations.stacks.stacks)
            )
            observations.stacks.stacks.append([frames.setdefault(frame, len(frames)) for frame in stack])
    observations.stacks.frames.extend(names[frame] for frame in frames)


def _chosen(table: FunctionCounts, patterns: Sequence[str]) -> set[int]:
    """The places of the functions that the patterns are for."""
    found: set[int] = set()
    for pattern in patterns:
        fitting = {
            place
            for place, (uid, name) in enumerate(zip(table.uid, table.name, strict=True))
            if pattern in (uid, name, name.partition("(")[0]) or fnmatchcase(name, pattern)
        }
        if not fitting:
            raise CollectError(f"instructions: no function `{pattern}` ran{nearest(pattern, dict.fromkeys(table.name))}")
        found |= fitting
    return found
