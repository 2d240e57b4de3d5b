"""What environments are called beside each other: by the values in which they differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from perfvcs.text.characters import shorten

if TYPE_CHECKING:
    from perfvcs.profile import Environment

FIRST_PARTS = ("cpu", "machine", "kernel", "python", "compiler", "libc")  # what tells environments apart at a glance
NAME_CHARACTERS = 40
FINGERPRINT_DIGITS = 10  # of a fingerprint


def names(several: Iterable[Environment]) -> dict[str, str]:
    """By fingerprint a name that no other has: the values of at most two fields in which they differ, else with the fingerprint."""
    known = {one.fingerprint: one for one in several}
    order = [*FIRST_PARTS, *sorted({name for one in known.values() for name in one.fields} - {*FIRST_PARTS})]
    telling = [name for name in order if len({one.fields.get(name) for one in known.values()}) > 1]
    if len(known) == 1:
        telling = [name for name in FIRST_PARTS[:1] if all(name in one.fields for one in known.values())]
    found = {
        mark: shorten(", ".join(one.fields.get(name, f"no {name}") for name in telling[:2]), NAME_CHARACTERS)
        or mark[:FINGERPRINT_DIGITS]
        or "unknown"
        for mark, one in known.items()
    }
    counts = Counter(found.values())
    return {mark: name if counts[name] == 1 else f"{name} {mark[:6]}".strip() for mark, name in found.items()}
