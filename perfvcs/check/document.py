"""A report as a JSON document, to be read by other programs and to be kept."""

from __future__ import annotations

import msgspec

from perfvcs.check.change import Report
from perfvcs.profile import Malformed
from perfvcs.quantity import escaped

FORMAT = "perfvcs-report/1"


def encode(report: Report, *, indent: int = 2) -> str:
    """The JSON document of a report; ``indent`` 0 gives one line."""
    fields = {
        "format": FORMAT,
        "baseline": report.baseline,
        "target": report.target,
        "method": report.method,
        "counts": report.counts,
    }
    document = msgspec.json.encode(fields | {"changes": report.changes})
    return escaped((msgspec.json.format(document, indent=indent) if indent else document).decode())


def decode(document: str | bytes) -> Report:
    """The report in a JSON document; raises Malformed with the place of the first thing wrong."""
    try:
        return msgspec.json.decode(document, type=Report)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Malformed(f"the report is damaged: {error}") from None
