"""Which benchmarks a change can touch: the decision for each, with its reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from perfvcs.locate.impact import ChangeReach
from perfvcs.locate.reached import MODULE, BenchmarkUnit, Reach, outer


class Choice(NamedTuple):
    """Whether a benchmark is to run, and why; ``by`` is what it was decided by, empty where nothing is known of the benchmark."""

    unit: BenchmarkUnit
    run: bool
    reason: str
    by: str = ""
    reach: Reach | None = None


@dataclass(frozen=True)
class BenchmarkReach:
    """What is known of one benchmark: its reach, and the impacts of what changed since (``stale``: before the change itself)."""

    reach: Reach | None
    unknown: str = "nothing is recorded of it"
    stale: ChangeReach | None = None


def choose(unit: BenchmarkUnit, evidence: BenchmarkReach, change: ChangeReach) -> Choice:
    """Whether a change can touch a benchmark."""
    reach = evidence.reach
    if change.empty:
        return Choice(unit, False, "no source, build or data file changed", "files", reach)
    if change.everything:
        path, why = next(iter(change.everything.items()))
        more = f" (and {len(change.everything) - 1} more such)" if len(change.everything) > 1 else ""
        return Choice(unit, True, f"{path} changed: {why}{more}", "files", reach)
    if reach is None:
        return Choice(unit, True, evidence.unknown)
    by = "recorded" if reach.recorded else "static"
    if reason := touches(reach, change):
        return Choice(unit, True, reason, by, reach)
    if evidence.stale is not None and (reason := stale(reach, evidence.stale)):
        return Choice(unit, True, f"what it runs changed since it was recorded on {reach.commit[:10]}: {reason}", by, reach)
    count = len(change.functions)
    functions = "the function" if count == 1 else f"any of the {count:,} functions" if count else "any function"
    return Choice(unit, False, f"does not run {functions} that the change can touch", by, reach)


def touches(reach: Reach, change: ChangeReach) -> str:
    """How a change can touch what a benchmark runs, in one sentence; empty where it cannot."""
    if reach.processes:
        return "it starts processes whose functions are not known"
    own = {outer(function) for function in reach.functions}
    if reason := _among(own, change):
        return f"runs {reason}"
    if reason := _loads(reach, change):
        return reason
    if change.computed is not None and not own.isdisjoint(change.computing) and (reason := _among(own, change.computed)):
        return f"looks names up, and runs {reason}"
    return ""


def stale(reach: Reach, change: ChangeReach) -> str:
    """How something that changed after a benchmark was recorded can touch it, in one sentence; empty where it cannot."""
    if change.everything:
        path, why = next(iter(change.everything.items()))
        return f"{path} changed: {why}"
    return touches(reach, change)


def _among(functions: Iterable[str], change: ChangeReach) -> str:
    for function in sorted(functions):
        if reason := change.functions.get(function, ""):
            return f"{function}: {reason}"
    if change.classes:
        beginnings = tuple(change.classes)
        for function in sorted(functions):
            if function.startswith(beginnings):
                beginning = next(one for one in beginnings if function.startswith(one))
                return f"{function}: {change.classes[beginning]}"
    return ""


def _loads(reach: Reach, change: ChangeReach) -> str:
    """What the benchmark's process loads differs, where that is measured or may change anything."""
    for path, reason in change.loading.items():
        if f"{path}:{MODULE}" in reach.functions or f"{path}:{MODULE}" in reach.outside:
            return f"its process loads {path}: {reason}"
    for several in (change.loaded, change.programs):
        for path, reason in several.items():
            if f"{path}:{MODULE}" in reach.functions:
                return f"loads {path}: {reason}"
    return ""


def sampled(choices: Sequence[Choice], seed: str, one_in: int) -> list[BenchmarkUnit]:
    """One in so many of the benchmarks that are left out, chosen by chance that follows from a ``seed``."""
    import hashlib

    def drawn(unit: BenchmarkUnit) -> int:
        text = "\0".join((seed, unit.job, unit.collector, unit.uid))
        return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")

    return [choice.unit for choice in choices if not choice.run and one_in and drawn(choice.unit) % one_in == 0]


def kept(choices: Iterable[Choice]) -> Mapping[tuple[str, str], list[Choice]]:
    """The choices by job and collector."""
    found: dict[tuple[str, str], list[Choice]] = {}
    for choice in choices:
        found.setdefault((choice.unit.job, choice.unit.collector), []).append(choice)
    return found
