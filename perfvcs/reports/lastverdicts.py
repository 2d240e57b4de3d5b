"""The last verdicts of commits, as far as they are on some benchmarks."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from perfvcs.profile.validity import Malformed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfvcs.index.verdicts import LastVerdict
    from perfvcs.profile.benchmarkfilter import BenchmarkFilter
    from perfvcs.repository import Repository


def last_verdicts(
    repository: Repository, keys: Sequence[str], benchmarks: BenchmarkFilter
) -> dict[str, LastVerdict]:
    """The last verdict of each target (``State.verdict_key``) that has one, with the words for some
    benchmarks; none where it has no word for them.
    """
    found = repository.index.verdicts(keys)
    if not benchmarks:
        return found
    from perfvcs.check.markdown import decode
    from perfvcs.check.narrowing import narrowed
    from perfvcs.check.vocabulary import tally

    narrow = {}
    for key, verdict in found.items():
        remembered = repository.index.memory.recall(verdict.baseline, verdict.target)
        if remembered is None:
            continue
        with suppress(Malformed):  # a changed byte
            report = narrowed(decode(remembered.report), benchmarks)
            if words := tally(report.changes):
                narrow[key] = msgspec.structs.replace(verdict, words=words)
    return narrow
