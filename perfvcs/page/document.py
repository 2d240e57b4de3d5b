"""The content of a page as JSON, for other programs (docs/pages.md)."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from perfvcs.check.document import encode
from perfvcs.page.facts import facts, warnings
from perfvcs.profile import Profile
from perfvcs.subject import Subject
from perfvcs.text.characters import escaped

FORMAT = "perfvcs-subject/1"


def document(subject: Subject) -> str:
    """The profiles as they are stored, the report and the series of a subject; a number that is not finite is null."""
    found = {
        "format": FORMAT,
        "title": subject.title,
        "facts": {fact.term: fact.values for fact in facts(subject)},
        "warnings": warnings(subject),
        "notes": subject.notes,
        "baseline": _profiles(subject.baseline),
        "target": _profiles(subject.target),
        "report": None if subject.report is None else msgspec.Raw(encode(subject.report, indent=0).encode()),
        "history": subject.history,
    }
    return escaped(msgspec.json.encode(found).decode())


def _profiles(profiles: Sequence[Profile]) -> list[msgspec.Raw]:
    return [msgspec.Raw(profile.encode()) for profile in profiles]
