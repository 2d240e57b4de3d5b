"""The host of a measurement: its facts, its configuration, and what its environments are called."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from perfvcs.environment import memory, processor
from perfvcs.environment.noise import read
from perfvcs.profile.buildidentity import upgrades
from perfvcs.system.children import processors
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
FILE_SYSTEM = Path("/")
# what tells environments apart at a glance
FIRST_PARTS = ("cpu", "machine", "kernel", "python", "compiler", "libc")
NAME_CHARACTERS = 40  # of the name that tells an environment from others
FINGERPRINT_DIGITS = 10  # of a fingerprint


def host_of(environment: Environment) -> str:
    """The name of the host that was measured on, or of one of several workers there; ``unknown`` in
    profiles of other tools.
    """
    return (
        environment.notes.get("worker")
        or environment.notes.get("host")
        or environment.fields.get("host")
        or UNKNOWN
    )


def configuration(environment: Environment) -> dict[str, str]:
    """What is known of the host, by part; notes are more exact than the fields of the same name."""
    values = {**environment.fields, **environment.notes}
    return {part: values[part] for part in CONFIGURATION_PARTS if values.get(part)}


def changes(before: Environment, after: Environment) -> list[str]:
    """What differs, such as ``kernel 6.1.1 -> 6.1.2``; the host first, and nothing that only one of
    the two says.
    """
    old, new = configuration(before), configuration(after)
    parts = [
        ("host", host_of(before), host_of(after)),
        *(
            (part, old[part], new[part])
            for part in CONFIGURATION_PARTS
            if part in old and part in new
        ),
    ]
    differing = [
        (part, was, now) for part, was, now in parts if was != now and UNKNOWN not in (was, now)
    ]
    moved = upgrades(before.notes, after.notes)
    return [
        *(f"{part} {shorten(was, VALUE)} -> {shorten(now, VALUE)}" for part, was, now in differing),
        *([f"installed {moved}"] if moved else []),
    ]


class Facts(msgspec.Struct, frozen=True):
    """What is known of a host.

    ``memory`` is in bytes, ``flags`` are those of /proc/cpuinfo, such as ``avx2``, ``load`` is the
    average of a minute.
    """

    host: str
    cores: int
    memory: int
    cpu: str
    machine: str
    kernel: str
    system: str
    flags: frozenset[str]
    load: float

    @property
    def named(self) -> dict[str, str | int]:
        """The facts that stay, and have a name of their own."""
        return {
            name: getattr(self, name)
            for name in self.__struct_fields__
            if name not in ("flags", "load")
        }


def facts(root: Path = FILE_SYSTEM) -> Facts:
    """The facts of this host."""
    flags = re.search(r"^(?:flags|Features)\s*:\s*(.+)$", read(root / "proc/cpuinfo") or "", re.M)
    names = os.uname()
    return Facts(
        host=names.nodename,
        cores=len(processors()),
        memory=memory(root),
        cpu=processor(root),
        machine=names.machine,
        kernel=names.release,
        system=names.sysname,
        flags=frozenset(flags[1].split() if flags else ()),
        load=os.getloadavg()[0],
    )


def _telling(several: Sequence[Mapping[str, str]]) -> list[str]:
    """The fields in which environments differ, those that people know first; of a single
    environment its processor, where that is known.
    """
    if len(several) == 1:
        return [name for name in FIRST_PARTS[:1] if name in several[0]]
    others = set().union(*several) - {*FIRST_PARTS}
    order = [*FIRST_PARTS, *sorted(others)]
    return [name for name in order if len({fields.get(name) for fields in several}) > 1]


def names(several: Iterable[Environment]) -> dict[str, str]:
    """A name for each fingerprint that no other has: the values of at most two fields in which they
    differ, else with the fingerprint.
    """
    fields_by_fingerprint = {environment.fingerprint: environment.fields for environment in several}
    telling = _telling(list(fields_by_fingerprint.values()))[:2]
    short_names: dict[str, str] = {}
    for mark, fields in fields_by_fingerprint.items():
        values = ", ".join(fields.get(name, f"no {name}") for name in telling)
        short_names[mark] = shorten(values, NAME_CHARACTERS) or mark[:FINGERPRINT_DIGITS] or UNKNOWN
    counts = Counter(short_names.values())
    return {
        mark: name if counts[name] == 1 else f"{name} {mark[:6]}".strip()
        for mark, name in short_names.items()
    }
