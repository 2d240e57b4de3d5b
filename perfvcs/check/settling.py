"""How to settle what is open in a report: by measuring, longer where that was just done, or on a calmer machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from perfvcs.check.text import revision
from perfvcs.text.words import counted

if TYPE_CHECKING:
    from perfvcs.check.change import Report

OPEN_VERDICTS = ("inconclusive", "suspected", "not comparable")
IMPORT_ADVICE = (
    "To settle what was imported: measure both in turns, store with `perf import --in-turns`, or import ten earlier commits, too"
)


def settling(
    report: Report, pairs: int = 0, noise: Callable[[str], str] = lambda _: "", scheduler: str = "", products: Sequence[str] = ()
) -> str:
    """The next step, a sentence; empty where nothing is open.

    ``pairs`` is how many were just measured in turns, on the hosts of a ``scheduler`` if there is one; ``noise`` says of
    a job's label what disturbed its measurement, with the cure. ``products`` are the names of the sides that are no revisions.
    """
    old, new = revision(report.baseline), revision(report.target)
    undecided = [change for change in report.changes if change.word in OPEN_VERDICTS and change.accepted is None]
    ours = Counter(change.job for change in undecided if change.series not in report.foreign)
    if not ours:
        return IMPORT_ADVICE if undecided else ""
    if products:
        against = " ".join(f"--against {name}=..." for name in products)
        command = f"perf collect {against}" if len(products) > 1 else f"perf check {against}"
        return f"To settle it: {command}{on_hosts(scheduler)}"
    # uncommitted changes have no name to ask for; the plain command measures them.
    named = (" HEAD HEAD" if old == new else "") if new.endswith("+") else f" {old.rstrip('+')} {new}"
    if not pairs:
        return f"To settle it: perf check --measure{named}"
    command = f"perf check --measure{named} -n {4 * pairs}{on_hosts(scheduler)}"
    job, _ = ours.most_common(1)[0]
    if disturbed := noise(job):
        fact, _, cure = disturbed.partition(": ")
        return f"Open after {counted(pairs, 'pair')}: {command}; first {cure or fact}"
    return f"Open after {counted(pairs, 'pair')}; four times as many halve an interval: {command}"


def on_hosts(scheduler: str) -> str:
    """The option with which a command measures on the same hosts; empty without a scheduler."""
    return f" --scheduler {scheduler}" if scheduler else ""
