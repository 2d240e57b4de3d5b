"""The head of a page: its answer, and the facts about its figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from perfvcs.check.brief import BriefLine, brief
from perfvcs.check.subject import Subject
from perfvcs.pictures.canvas import SEEN
from perfvcs.profile import Environment, Profile
from perfvcs.text.characters import shorten
from perfvcs.text.words import counted


@dataclass(frozen=True)
class AnswerLine:
    """A job or a change: its word with its sign, its name, its numbers, and what is known of it."""

    word: str
    sign: str
    name: str
    numbers: str
    details: list[str]


@dataclass(frozen=True)
class Answer:
    """A sentence for the whole, a line per job, the changes that matter most, and in sentences
    everything else and what to do next.

    ``hidden`` jobs and ``left_out`` changes are in the tables only.
    """

    sentence: str
    jobs: list[AnswerLine]
    hidden: int
    changes: list[AnswerLine]
    left_out: int
    rest: list[str]


def answer(subject: Subject) -> Answer | None:
    """The report on two revisions; None if nothing was compared."""
    if subject.report is None or not subject.report.changes:
        return None
    report_brief = brief(subject.report, subject.causes)
    first = ". ".join(filter(None, [report_brief.sentence, report_brief.criteria]))
    return Answer(
        first,
        [_line(line) for line in report_brief.jobs],
        report_brief.hidden,
        [_line(line) for line in report_brief.changes],
        report_brief.left_out,
        [*report_brief.rest, *subject.report.notes, *subject.following],
    )


def _line(line: BriefLine) -> AnswerLine:
    sign = SEEN[line.word].sign if line.word in SEEN else ""
    return AnswerLine(
        line.word,
        sign,
        line.name,
        line.numbers.replace("->", "→"),
        [*(text.replace("->", "→") for text in line.details), *_accepting(line.accept)],
    )


def _accepting(ids: str) -> list[str]:
    """The command that accepts a change by its ids, to be copied; empty without any."""
    listed = ids.removeprefix("accept: ").split(", ") if ids else []
    if not listed:
        return []
    names = " ".join(name.partition(" ")[0] for name in listed)
    return [f"if it is wanted: `perf accept {names} --reason TEXT`"]


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
    listed = []
    for name, side in (
        ("baseline", subject.baseline),
        ("target" if subject.baseline else "commit", subject.target),
    ):
        commits = dict.fromkeys(_commit(profile) for profile in side)
        if commits:
            listed.append(Fact(name, _some(commits)))
    if not profiles and subject.report is not None:
        listed = [
            Fact("baseline", [subject.report.baseline]),
            Fact("target", [subject.report.target]),
        ]
    if subject.history:
        measured = {point.commit for series in subject.history for point in series.points}
        places = dict.fromkeys(series.environment for series in subject.history)
        listed += [Fact("commits", [f"{len(measured):,}"]), Fact("environments", _some(places))]
    environments = {profile.environment.fingerprint: profile.environment for profile in profiles}
    if environments:
        listed += [
            Fact("environment", _some(map(_environment, environments.values()))),
            Fact("design", _some(dict.fromkeys(map(_design, profiles)))),
            Fact("collected", _some(dict.fromkeys(map(_collected, profiles)))),
        ]
    return listed


def warnings(subject: Subject) -> list[str]:
    """The disturbances of the measurements, each once, with the number of profiles that saw it."""
    profiles = [*subject.baseline, *subject.target]
    seen = Counter(
        warning for profile in profiles for warning in dict.fromkeys(profile.environment.warnings)
    )
    return _some(
        f"{warning} ({count} profiles)" if count > 1 else warning for warning, count in seen.items()
    )


def _some(values: Iterable[str], most: int = 6) -> list[str]:
    """The first few of many, and how many more there are."""
    listed = [shorten(value, 400) for value in values]
    return listed[:most] + ([f"and {len(listed) - most:,} more"] if len(listed) > most else [])


def _environment(environment: Environment) -> str:
    """The machine, its system, the toolchain, and how it was set; what is not known by name stands
    as it was recorded.
    """
    left = dict(environment.fields)

    def phrase(form: str, *names: str) -> str:
        taken = [left.pop(name, "") for name in names]
        return " ".join(form.format(*taken).split()) if any(taken) else ""

    processors = phrase(
        "{} processor" if left.get("processors") == "1" else "{} processors", "processors"
    )
    groups = [
        [phrase("{}", "cpu"), processors, phrase("quota {}", "quota")],
        [phrase("{} {} {}", "system", "kernel", "machine"), phrase("{}", "libc")],
        [phrase("{}", "python"), phrase("{}", "compiler")],
        [phrase(f"{name} {{}}", name) for name in ("pin", "aslr", "padding")],
    ]
    groups += [[f"{name} {value}" for name, value in left.items()], [environment.fingerprint]]
    return (
        " · ".join(filter(None, (", ".join(filter(None, group)) for group in groups)))
        or "not recorded"
    )


def _design(profile: Profile) -> str:
    design = profile.design
    text = counted(design.executions, "execution")
    text += f" of {design.binaries} builds" if design.binaries > 1 else ""
    text += f", {design.warmup} to warm up" if design.warmup else ""
    if design.order == "sequential":
        return f"{text}, not interleaved"
    others = max(1, len(design.versions) - 1)
    return (
        f"{text}, interleaved with {counted(others, 'other version')} in random order, seed"
        f" {design.seed}"
    )


def _collected(profile: Profile) -> str:
    when = profile.collected
    return (
        f"{when.started[:19].replace('T', ' ')} to {when.ended[11:19]} UTC, session {when.session},"
        f" {when.tool}"
    )
