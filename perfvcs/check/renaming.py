"""Jobs that look renamed: one is missing, another is new, and both run the same command."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from perfvcs.text.characters import shorten

if TYPE_CHECKING:
    from perfvcs.summary import Measured

RENAMED_WIDTH = 60

JobCommand = tuple[object, ...]


def renamings(before: Iterable[Measured], after: Iterable[Measured]) -> list[str]:
    """A sentence with the cure for each job that is missing where exactly one new job runs the same, and is new to it alone."""
    old, new = _commands(before), _commands(after)
    missing = {name: what for name, what in old.items() if name not in new}
    added = {name: what for name, what in new.items() if name not in old}
    presents, formers = _partners(missing, added), _partners(added, missing)
    pairs = [(name, *others) for name, others in presents.items() if len(others) == 1]
    return [
        f"`{shorten(former, RENAMED_WIDTH)}` is missing, and `{shorten(present, RENAMED_WIDTH)}` runs the same command: if it was renamed, "
        f"write formerly = [{_quoted(former)}] into that job of perf.toml"
        for former, present in pairs
        if len(formers[present]) == 1
    ]


def _partners(these: dict[str, set[JobCommand]], those: dict[str, set[JobCommand]]) -> dict[str, set[str]]:
    """The jobs of the other side that run the same, at most two for each command: more than one is too many."""
    by_command: dict[JobCommand, list[str]] = defaultdict(list)
    for name, what in those.items():
        for command in what:
            by_command[command].append(name)
    return {name: {other for command in what for other in by_command[command][:2]} for name, what in these.items()}


def _quoted(name: str) -> str:
    return shorten(msgspec.json.encode(name).decode(), RENAMED_WIDTH)


def _commands(side: Iterable[Measured]) -> dict[str, set[JobCommand]]:
    """What the jobs of one side run, by their names."""
    found: dict[str, set[JobCommand]] = defaultdict(set)
    for one in side:
        job = one.header.job
        found[job.name].add((job.collector, job.cmd, job.args, job.workload, repr(sorted(job.params.items()))))
    return found
