"""What two sides must have in common to be compared, and in words what keeps them apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from perfvcs.profile import Metric, buildidentity
from perfvcs.profile.buildidentity import BUILD, PYTHON_BUILD, REQUIRES, reworded, upgrades
from perfvcs.profile.summary import Header, Measured

if TYPE_CHECKING:
    from perfvcs.index.lines import Line

NOT_KNOWN = {
    BUILD: "with which commands the {side} was built is not known: measure both again to be sure",
    PYTHON_BUILD: "how the Python of the {side} was built is not known: measure both again to be"
    " sure",
}
APART = "measure both in turns: perf check --measure"


class Comparable(NamedTuple):
    """What profiles must have in common to be compared: their series and environment, or their
    session.
    """

    series: str
    environment: tuple[tuple[str, str], ...]


def comparable(header: Header) -> Comparable:
    """What a profile has to share with another one."""
    return Comparable(header.job.key, tuple(sorted(header.environment.fields.items())))


def beside(header: Header) -> Comparable:
    """What the profile of a product, which may bring its own interpreter and workload, has to share
    with another one.
    """
    return Comparable(header.collected.session, ())


def differences(old: Header | Line, new: Header | Line) -> str:
    """In words, what keeps two profiles, or series, of one benchmark from being compared."""
    reasons: list[str] = []
    if old.job.cmd != new.job.cmd:
        reasons.append(f"cmd '{old.job.cmd}' -> '{new.job.cmd}'")
    if old.job.engine != new.job.engine:
        reasons.append(f"engine {old.job.engine or '-'} -> {new.job.engine or '-'}")
    for name in _differing(old.job.options, new.job.options):
        reasons.append(
            f"option {name} {old.job.options.get(name, '-')} -> {new.job.options.get(name, '-')}"
        )
    for name in _differing(old.job.source, new.job.source):
        both = name in old.job.source and name in new.job.source
        verb = "changed" if both else "is only on one side"
        reasons.append(f"{name} {verb} (add it to overlay)")
    before, after = old.environment.fields, new.environment.fields
    reasons += [_field(name, before, after) for name in _differing(before, after)]
    return "; ".join(reasons)


def _field(name: str, before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """How a field of two environments differs."""
    if name in (BUILD, REQUIRES) and name in before and name in after:
        return f"{name} differs: {reworded(before[name], after[name])}"
    return f"{name} {before.get(name) or '-'} -> {after.get(name) or '-'}"


def builds_unknown(baseline: Header, target: Header) -> list[str]:
    """What is not known of how one of two sides was built, a sentence each."""
    before, after = baseline.environment.fields, target.environment.fields
    return [
        NOT_KNOWN[marker].format(side="target" if marker in before else "baseline")
        for marker in buildidentity.unknown(before, after)
    ]


def installed_otherwise(baseline: Header, target: Header) -> str:
    """How what is installed beside the project differs; empty where it does not, or is not
    known.
    """
    moved = upgrades(baseline.environment.notes, target.environment.notes)
    return f"installed differs: {moved}" if moved else ""


def of_known_build(
    classes: Mapping[Comparable, tuple[list[Measured], list[Measured]]],
) -> list[tuple[list[Measured], list[Measured]]]:
    """The baselines and targets that are alike as far as it is known how both were built; the
    newest target with the newest such baseline.

    Asked where no class has both sides.
    """

    def newest(key: Comparable, side: int) -> str:
        return max(measured.header.collected.started for measured in classes[key][side])

    sides = [
        sorted(
            (key for key in classes if classes[key][side]),
            key=lambda key: newest(key, side),
            reverse=True,
        )
        for side in (0, 1)
    ]
    return [
        (classes[old][0], classes[new][1])
        for new in sides[1]
        for old in sides[0]
        if old.series == new.series
        and buildidentity.agree(dict(old.environment), dict(new.environment))
    ][:1]


def _differing(before: Mapping[str, object], after: Mapping[str, object]) -> list[str]:
    missing = object()
    return [
        name
        for name in {**before, **after}
        if before.get(name, missing) != after.get(name, missing)
    ]


def redefined(old: Metric | Line, new: Metric | Line) -> str:
    """In words, how a metric was redefined; a series does not know its kind."""

    def properties(meaning: Metric | Line) -> dict[str, str]:
        return {name: getattr(meaning, name, "") for name in ("unit", "better", "kind")}

    before, after = properties(old), properties(new)
    return "; ".join(
        f"{name} {before[name] or '-'} -> {after[name] or '-'}"
        for name in _differing(before, after)
    )
