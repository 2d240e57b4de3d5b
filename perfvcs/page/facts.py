"""The facts of a page in words: the origin of its figures, and disturbances of the measurements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from perfvcs.profile import Environment, Profile
from perfvcs.subject import Subject
from perfvcs.text.characters import shorten
from perfvcs.text.words import counted


@dataclass(frozen=True)
class Fact:
    """One line of a page's head: what, and its values."""

    term: str
    values: list[str]


def _commit(profile: Profile) -> str:
    """The commit, and what was measured instead of it."""
    if product := profile.design.product:
        return f"{product.name} ({product.command or product.folder}), beside {profile.commit}"
    return profile.commit + (" with uncommitted changes" if profile.dirty else "")


def facts(subject: Subject) -> list[Fact]:
    """The origin of the figures: commits, benchmarks, environments, design and time."""
    profiles = [*subject.baseline, *subject.target]
    found = []
    for name, side in (("baseline", subject.baseline), ("target" if subject.baseline else "commit", subject.target)):
        commits = dict.fromkeys(_commit(profile) for profile in side)
        if commits:
            found.append(Fact(name, _some(commits)))
    if not profiles and subject.report is not None:
        found = [Fact("baseline", [subject.report.baseline]), Fact("target", [subject.report.target])]
    if subject.history:
        measured = {point.commit for series in subject.history for point in series.points}
        found.append(Fact("commits", [f"{len(measured):,}"]))
        found.append(Fact("environments", _some(dict.fromkeys(series.environment for series in subject.history))))
    environments = {profile.environment.fingerprint: profile.environment for profile in profiles}
    if environments:
        found.append(Fact("environment", _some(_environment(environment) for environment in environments.values())))
        found.append(Fact("design", _some(dict.fromkeys(_design(profile) for profile in profiles))))
        found.append(Fact("collected", _some(dict.fromkeys(_collected(profile) for profile in profiles))))
    return found


def warnings(subject: Subject) -> list[str]:
    """The disturbances of the measurements, each once, with the number of profiles that saw it."""
    profiles = [*subject.baseline, *subject.target]
    seen = Counter(warning for profile in profiles for warning in dict.fromkeys(profile.environment.warnings))
    return _some(f"{warning} ({count} profiles)" if count > 1 else warning for warning, count in seen.items())


def _some(values: Iterable[str], most: int = 6) -> list[str]:
    """The first few of many, and how many more there are."""
    listed = [shorten(value, 400) for value in values]
    return listed[:most] + ([f"and {len(listed) - most:,} more"] if len(listed) > most else [])


def _environment(environment: Environment) -> str:
    """The machine, its system, the toolchain, and how it was set; what is not known by name stands as it was recorded."""
    left = dict(environment.fields)

    def phrase(form: str, *names: str) -> str:
        taken = [left.pop(name, "") for name in names]
        return " ".join(form.format(*taken).split()) if any(taken) else ""

    processors = phrase("{} processor" if left.get("processors") == "1" else "{} processors", "processors")
    groups = [
        [phrase("{}", "cpu"), processors, phrase("quota {}", "quota")],
        [phrase("{} {} {}", "system", "kernel", "machine"), phrase("{}", "libc")],
        [phrase("{}", "python"), phrase("{}", "compiler")],
        [phrase(f"{name} {{}}", name) for name in ("pin", "aslr", "padding")],
    ]
    groups += [[f"{name} {value}" for name, value in left.items()], [environment.fingerprint]]
    return " · ".join(filter(None, (", ".join(filter(None, group)) for group in groups))) or "not recorded"


def _design(profile: Profile) -> str:
    design = profile.design
    text = counted(design.executions, "execution")
    text += f" of {design.binaries} builds" if design.binaries > 1 else ""
    text += f", {design.warmup} to warm up" if design.warmup else ""
    if design.order == "sequential":
        return f"{text}, not interleaved"
    others = max(1, len(design.versions) - 1)
    return f"{text}, interleaved with {counted(others, 'other version')} in random order, seed {design.seed}"


def _collected(profile: Profile) -> str:
    when = profile.collected
    return f"{when.started[:19].replace('T', ' ')} to {when.ended[11:19]} UTC, session {when.session}, {when.tool}"
