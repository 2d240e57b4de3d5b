"""The configuration of a host: what it says of itself with each measurement, and what changed between two of these."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfvcs.text.characters import shorten

if TYPE_CHECKING:
    from perfvcs.profile import Environment

UNKNOWN = "unknown"
CONFIGURATION_PARTS = (
    "cpu",
    "processors",
    "memory",
    "virtual",
    "os",
    "kernel",
    "libc",
    "compiler",
    "hugepages",
    "git",
    "perfvcs python",
)
VALUE = 60  # characters of a value


def host_of(environment: Environment) -> str:
    """The name of the host that was measured on, or of one of several workers there; ``unknown`` in profiles of other tools."""
    return environment.notes.get("worker") or environment.notes.get("host") or environment.fields.get("host") or UNKNOWN


def configuration(environment: Environment) -> dict[str, str]:
    """What is known of the host, by part; notes are more exact than the fields of the same name."""
    known = {**environment.fields, **environment.notes}
    return {part: known[part] for part in CONFIGURATION_PARTS if known.get(part)}


def changes(before: Environment, after: Environment) -> list[str]:
    """What differs, such as ``kernel 6.1.1 -> 6.1.2``; the host first, and nothing that only one of the two says."""
    old, new = configuration(before), configuration(after)
    parts = [
        ("host", host_of(before), host_of(after)),
        *((part, old[part], new[part]) for part in CONFIGURATION_PARTS if part in old and part in new),
    ]
    differing = [(part, was, now) for part, was, now in parts if was != now and UNKNOWN not in (was, now)]
    return [f"{part} {shorten(was, VALUE)} -> {shorten(now, VALUE)}" for part, was, now in differing]
