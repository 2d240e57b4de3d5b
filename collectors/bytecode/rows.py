"""What a profile holds of one execution's counts: the whole, its functions, and the paths to them."""

from __future__ import annotations

from collections.abc import Mapping

from perfvcs.collector import Observations, Run
from perfvcs.collectors.bytecode.trees import Counted
from perfvcs.profile import Metric, Stacks

SECOND = 1e9  # nanoseconds


def observations(run: Run, counted: Counted, metrics: Mapping[str, Metric], least: float) -> Observations:
    """The rows; ``least`` is the share of all instructions and calls below which functions and paths are left out."""
    found = Observations(metrics=dict(metrics), values={name: [] for name in metrics}, warnings=list(counted.warnings))
    scale = 1.0 if "bytecodes" in metrics else 1 / SECOND
    own = [amount * scale for amount in counted.amounts]
    whole, below = _with_below(own, counted.parents), _with_below([float(one) for one in counted.entered], counted.parents)
    if "bytecodes" in metrics:
        found.add(run.uid, {"bytecodes": whole[0]}, size=run.size)
    kept = [cost >= least * whole[0] or calls >= least * below[0] for cost, calls in zip(whole, below, strict=True)]
    _append_functions(found, run, counted, own, whole, kept)
    found.stacks = Stacks([], [])
    frames: dict[str, int] = {}
    paths: list[list[int]] = [[]]
    for node in range(1, len(own)):
        parent = counted.parents[node]
        paths.append([*paths[parent], frames.setdefault(counted.names[node], len(frames))] if kept[node] else [])
        if kept[node]:  # a node below one that is left out is left out too: it has less
            row = {"self": own[node], "entered": float(counted.entered[node])}
            found.add(counted.names[node], row, size=run.size, trace=len(found.stacks.stacks))
            found.stacks.stacks.append(paths[node])
    found.stacks.frames.extend(frames)
    return found


def _with_below(own: list[float], parents: list[int]) -> list[float]:
    found = list(own)
    for node in range(len(found) - 1, 0, -1):
        found[parents[node]] += found[node]
    return found


def _append_functions(
    observations: Observations, run: Run, counted: Counted, own: list[float], whole: list[float], kept: list[bool]
) -> None:
    """A row per function, which counts once what happened while it was active."""
    exclusive: dict[str, float] = {}
    inclusive: dict[str, float] = {}
    calls: dict[str, float] = {}
    chosen: set[str] = set()
    for node in range(1, len(own)):
        name = counted.names[node]
        exclusive[name] = exclusive.get(name, 0.0) + own[node]
        inclusive[name] = inclusive.get(name, 0.0) + (0.0 if _has_above(counted, node) else whole[node])
        calls[name] = calls.get(name, 0.0) + counted.entered[node] + counted.again[node]
        if kept[node]:
            chosen.add(name)
    for name in sorted(chosen, key=lambda name: (-inclusive[name], name)):
        row = {"exclusive": exclusive[name], "inclusive": inclusive[name], "calls": calls[name]}
        observations.add(name, row, size=run.size)


def _has_above(counted: Counted, node: int) -> bool:
    """Whether a node's function is on the path to it, too."""
    name, above = counted.names[node], counted.parents[node]
    while above > 0:
        if counted.names[above] == name:
            return True
        above = counted.parents[above]
    return False
