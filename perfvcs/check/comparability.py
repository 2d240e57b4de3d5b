"""What two profiles of one benchmark must have in common to be compared, and in words what differs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from perfvcs.profile import Environment, Job
    from perfvcs.summary import Header


class Setting(Protocol):
    """How something was measured: a profile's header, or a line of the index."""

    @property
    def job(self) -> Job:
        """What was measured."""

    @property
    def environment(self) -> Environment:
        """Where it was measured."""


class Meaning(Protocol):
    """What the numbers of a metric mean."""

    @property
    def unit(self) -> str:
        """The unit."""

    @property
    def better(self) -> str:
        """Which direction is better."""


class Comparable(NamedTuple):
    """What profiles must have in common to be compared: their series and environment, or their session."""

    series: str
    environment: tuple[tuple[str, str], ...]


def comparable(header: Header) -> Comparable:
    """What a profile has to share with another one."""
    return Comparable(header.job.key, tuple(sorted(header.environment.fields.items())))


def beside(header: Header) -> Comparable:
    """What the profile of a product, which may bring its own interpreter and workload, has to share with another one."""
    return Comparable(header.collected.session, ())


def differences(old: Setting, new: Setting) -> str:
    """In words, what keeps two profiles, or series, of one benchmark from being compared."""
    found: list[str] = []
    if old.job.cmd != new.job.cmd:
        found.append(f"cmd '{old.job.cmd}' -> '{new.job.cmd}'")
    if old.job.engine != new.job.engine:
        found.append(f"engine {old.job.engine or '-'} -> {new.job.engine or '-'}")
    for name in _differing(old.job.options, new.job.options):
        found.append(f"option {name} {old.job.options.get(name, '-')} -> {new.job.options.get(name, '-')}")
    for name in _differing(old.job.source, new.job.source):
        verb = "changed" if name in old.job.source and name in new.job.source else "is only on one side"
        found.append(f"{name} {verb} (add it to overlay)")
    before, after = old.environment.fields, new.environment.fields
    found += [f"{name} {before.get(name) or '-'} -> {after.get(name) or '-'}" for name in _differing(before, after)]
    return "; ".join(found)


def _differing(before: Mapping[str, object], after: Mapping[str, object]) -> list[str]:
    missing = object()
    return [name for name in {**before, **after} if before.get(name, missing) != after.get(name, missing)]


def redefined(old: Meaning, new: Meaning) -> str:
    """In words, how a metric was redefined; a series does not know its kind."""
    before, after = ({name: getattr(meaning, name, "") for name in ("unit", "better", "kind")} for meaning in (old, new))
    return "; ".join(f"{name} {before[name] or '-'} -> {after[name] or '-'}" for name in _differing(before, after))
