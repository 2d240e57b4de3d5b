"""A report as a JSON document, to be read by other programs and to be kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec

from perfvcs.check.acceptance import identity, is_open
from perfvcs.check.brief import unit_counts
from perfvcs.check.change import Report
from perfvcs.check.sentence import headline
from perfvcs.check.text import tally
from perfvcs.foreign import UNDECODABLE
from perfvcs.text.characters import escaped
from perfvcs.validity import Malformed, require

FORMAT = "perfvcs-report/1"
MOST_NAMED = 10_000_000  # changes that the effects on whole jobs are of, each as often as it is named


def encode(report: Report | Sequence[Report], *, indent: int = 2, **known: Any) -> str:
    """The JSON document of a report, or the list of those of several; ``indent`` 0 gives one line.

    ``known`` is what else is known of a single report, such as the next step.
    """
    found = _document(report) | known if isinstance(report, Report) else [_document(one) for one in report]
    document = msgspec.json.encode(found)
    return escaped((msgspec.json.format(document, indent=indent) if indent else document).decode())


def _document(report: Report) -> dict[str, Any]:
    changes = [
        msgspec.structs.asdict(change) | {"id": identity(report, change)} if is_open(change) else change
        for change in report.changes
    ]
    counts = unit_counts(report)
    overall = [msgspec.structs.asdict(job) | {"counts": counts[job.job_metric]} for job in report.overall]
    return {
        "format": FORMAT,
        "baseline": report.baseline,
        "target": report.target,
        "sentence": headline(report),
        "judged_by": report.judged_by,
        "method": report.method,
        "foreign": report.foreign,
        "failures": report.failures,
        "untouched": report.untouched,
        "inherits": report.inherits,
        "renamed": report.renamed,
        "counts": tally(report.changes),
        "comparisons": len(report.comparisons),
        "settled": sum(change.settled for change in report.comparisons),
        "overall": overall,
        "changes": changes,
    }


def decode(document: str | bytes) -> Report:
    """The report in a JSON document; raises Malformed with the place of the first thing wrong."""
    try:
        return consistent(msgspec.json.decode(document, type=Report))
    except UNDECODABLE as error:
        raise Malformed(f"the report is damaged: {error}") from None


def consistent(report: Report) -> Report:
    """The report itself; raises Malformed where the effects on whole jobs are not of its changes, or of all of them again and again."""
    known = Counter(change.series for change in report.changes)
    named = 0
    for place, whole in enumerate(report.overall):
        require(known.keys() >= set(whole.series), f"$.overall[{place}].series is of nothing in $.changes")
        require(whole.series or not whole.units, f"$.overall[{place}] has units, but no series")
        named += sum(known[series] for series in whole.series)
        require(named <= MOST_NAMED, f"$.overall names over {MOST_NAMED:,} changes")
    return report
