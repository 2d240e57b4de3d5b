"""All series judged along a history: by what was measured in turns first, and by the series
themselves.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import date
from math import isfinite, log1p
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from perfvcs.check.acceptance import Acceptance, Move, ruling
from perfvcs.check.vocabulary import direction
from perfvcs.history.finding import CurveLevels, Finding, Newest, described, level, moved
from perfvcs.history.precedence import with_ranks
from perfvcs.history.verdict import Verdict, Verdicts
from perfvcs.index.lines import Course, Line
from perfvcs.index.seriesresults import Found, Given
from perfvcs.repository import Repository
from perfvcs.statistics.changepoints.horvath import FEWEST_VALUES
from perfvcs.statistics.changepoints.steps import BY_HORVATH, BY_SERIES, TURNS, Detector
from perfvcs.text.quantity import change

SHORTEST_SERIES = 6  # commits: with fewer no place of a series has three on both sides
SHORTEST_BY: dict[Detector, int] = {BY_SERIES: SHORTEST_SERIES, BY_HORVATH: FEWEST_VALUES}
FEWEST_A_SIDE = 3
DISCOVERIES = 0.05  # as in a report, and here of all that was measured in turns along the history


def successions(lines: Mapping[int, Line], courses: Mapping[int, Course]) -> dict[int, str]:
    """The lines that begin where another has ended, and what keeps the two from being one: nothing
    else of their benchmark was measured between.
    """

    def fingerprint(number: int) -> str:
        return lines[number].environment.fingerprint

    same: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for number, course in courses.items():
        line = lines[number]
        if len(course.places):
            same[line.job.label, line.job.collector, line.uid, line.size, line.metric].append(
                number
            )
    reasons = {}
    for numbers in same.values():
        if len(numbers) == 1:
            continue
        places = sorted(set[int]().union(*(courses[number].places for number in numbers)))
        ends = {courses[old].places[-1]: old for old in sorted(numbers, key=fingerprint)}
        for new in numbers:
            before = bisect_left(places, courses[new].places[0]) - 1
            if before >= 0 and (old := ends.get(places[before])) is not None:
                reasons[new] = difference(lines[old], lines[new])
    return reasons


def difference(old: Line, new: Line) -> str:
    """In words, what keeps two lines from being one."""
    from perfvcs.check.comparability import differences, redefined

    reasons = "; ".join(filter(None, (differences(old, new), redefined(old, new))))
    return reasons or "the job was redefined"


class Allowance:
    """The acceptances of a project, for findings along ``commits``, oldest first."""

    def __init__(self, repository: Repository, commits: Sequence[str]) -> None:
        self._project = repository.project
        self._commits = commits
        self._places = {commit: place for place, commit in enumerate(commits)}
        self._known: dict[tuple[str, str, float | None, str], list[Acceptance]] = defaultdict(list)
        for acceptance in repository.acceptances:
            self._known[
                acceptance.benchmark, acceptance.uid, acceptance.size, acceptance.metric
            ].append(acceptance)

    def reason(self, finding: Finding) -> str | None:
        """Why a finding is accepted; None where it is not.

        The span covers both the finding's commits and those of each acceptance that overlap with
        them: two versions may have been compared that are further apart, and the commits between
        them were measured later.
        """
        from perfvcs.git.ancestry import Ancestry

        line = finding.line
        acceptances = self._known.get((line.job.label, line.uid, line.size, line.metric), [])
        if not acceptances:
            return None
        start, end = self._places[finding.first] - 1, self._places[finding.last]
        for acceptance in acceptances:
            low, high = self._places.get(acceptance.baseline), self._places.get(acceptance.target)
            if low is not None and high is not None and low <= end and high > start:
                start, end = min(start, low), max(end, high)
        way = Ancestry(self._project, self._commits[max(0, start)], self._commits[end])
        today = date.today()
        valid = [
            acceptance
            for acceptance in acceptances
            if line.job.key.startswith(acceptance.series)
            and not acceptance.has_ended(today)
            and acceptance.covers(way)
        ]
        if not valid or finding.direction != "degradation":
            return None
        move = Move(line.better, finding.effect, finding.low, finding.high)
        return ruling(move, valid, way).accepted


def meanwhile(repository: Repository, findings: Sequence[Finding]) -> Mapping[int, list[str]]:
    """What changed on a finding's host between the last commit before it and its own, such as
    ``kernel 6.1.1 -> 6.1.2``, by the ``id`` of the finding.

    Findings without any such change are left out. A change that makes measurements incomparable
    begins a new series instead.
    """
    from perfvcs.environment.host import changes

    asked = [
        (commit, finding.line.job.key, finding.line.environment.fingerprint)
        for finding in findings
        for commit in (finding.preceding, finding.commit)
    ]
    environments = repository.index.environments(asked) if asked else {}
    changes_by_finding = {}
    for number, finding in enumerate(findings):
        before, after = environments.get(2 * number), environments.get(2 * number + 1)
        if before and after and (what := changes(before, after)):
            changes_by_finding[id(finding)] = what
    return changes_by_finding


class JudgedLine(Struct, frozen=True):
    """A line along a history: ``findings`` are steps, oldest first.

    ``found`` is the same for statistics; None where the line is too short, and has no evidence.
    ``verdicts`` are those measured in turns, by the element of the course that was compared with
    the one before it. ``began`` says why an earlier line of the same benchmark could not go on.
    """

    line: Line
    course: Course
    began: str = ""
    found: Found | None = None
    findings: list[Finding] = []
    verdicts: Mapping[int, Verdict] = {}
    newest: Newest | None = None

    @property
    def places(self) -> array[int]:
        """The places of its course."""
        return self.course.places

    @property
    def levels(self) -> array[float]:
        """The levels of its course."""
        return self.course.levels


def judged(
    repository: Repository,
    lines: Mapping[int, Line],
    courses: Mapping[int, Course],
    commits: Sequence[str],
    verdicts: Verdicts,
    detector: Detector = BY_SERIES,
) -> dict[int, JudgedLine]:
    """Each line that has values along ``commits``, judged if it is long enough or has evidence."""
    there = {number: course for number, course in courses.items() if course.places}
    began = successions(lines, there)
    turns = {
        number: [(element - 1, element) for element in course.turns]
        for number, course in there.items()
    }
    in_turns = {
        number: {element: verdict for element, verdict in by_element.items() if verdict.settled}
        for number, by_element in verdicts.along(lines, there, commits, turns).items()
    }
    settled = _settled(in_turns)
    newest = _newest_places(lines, there)
    long = {
        number: Given(course.levels, course.variances, settled.get(number, ()))
        for number, course in there.items()
        if number in settled or len(course.levels) >= SHORTEST_BY[detector]
    }
    judgements = repository.index.findings.judged(list(long.values()), detector=detector)
    judged_lines = {
        number: JudgedLine(lines[number], course, began.get(number, ""))
        for number, course in there.items()
    }
    for number, judgement in zip(long, judgements, strict=True):
        judged_lines[number] = _described(
            judged_lines[number],
            judgement,
            commits,
            in_turns.get(number, {}),
            is_newest=there[number].places[-1] == newest[lines[number].environment.fingerprint],
        )
    return with_ranks(judged_lines)


def _newest_places(lines: Mapping[int, Line], courses: Mapping[int, Course]) -> dict[str, int]:
    """The newest place of each environment with values before: what ended earlier is not news."""
    newest: dict[str, int] = {}
    for number, course in courses.items():
        if len(course.places) > 1:
            fingerprint = lines[number].environment.fingerprint
            newest[fingerprint] = max(newest.get(fingerprint, 0), course.places[-1])
    return newest


def _settled(in_turns: Mapping[int, Mapping[int, Verdict]]) -> dict[int, tuple[int, ...]]:
    """The elements at which a verdict is a step of the history, by line.

    Benjamini and Hochberg's step-up rule over all pairs that the history looks at: of a thousand
    pairs of equal commits, each report is allowed its own false alarms. Verdicts without a chance,
    on exact metrics, always count.
    """
    chances = sorted(
        verdict.p
        for verdicts in in_turns.values()
        for verdict in verdicts.values()
        if verdict.p is not None
    )
    limit = max(
        (p for turn, p in enumerate(chances, 1) if p <= DISCOVERIES * turn / len(chances)),
        default=-1.0,
    )
    steps = {
        number: tuple(
            element
            for element, verdict in sorted(verdicts.items())
            if verdict.changed and (verdict.p is None or verdict.p <= limit)
        )
        for number, verdicts in in_turns.items()
    }
    return {number: elements for number, elements in steps.items() if elements}


def _described(
    series: JudgedLine,
    judged: Found,
    commits: Sequence[str],
    in_turns: Mapping[int, Verdict],
    *,
    is_newest: bool,
) -> JudgedLine:
    line, course = series.line, series.course
    findings = []
    for step, low, high in judged.steps:
        finding = described(line, course, step, low, high, commits)
        verdict = in_turns.get(step.place)
        if TURNS in step.detectors and verdict:
            sides = min(step.place, len(course.levels) - step.place)
            finding = _by_turns(
                finding, verdict, contradicted=sides >= FEWEST_A_SIDE and _apart(verdict, low, high)
            )
        else:
            finding = replace(
                finding, contradiction=_denied(in_turns, range(step.first, step.last + 1))
            )
        findings.append(finding)
    newest = None
    if is_newest and len(course.levels) - 1 not in in_turns:
        newest = _newest(line, course, judged, commits)
    return replace(series, found=judged, findings=findings, verdicts=in_turns, newest=newest)


def _by_turns(finding: Finding, verdict: Verdict, *, contradicted: bool) -> Finding:
    """A step with the numbers of the verdict that settled it."""
    series = change(finding.effect, finding.low, finding.high)
    before = finding.before if verdict.baseline is None else verdict.baseline
    after = finding.after if verdict.target is None else verdict.target
    levels: dict[str, Any] = {"before": before, "after": after}
    if verdict.at is not None:
        levels = {"curve": CurveLevels(verdict.at, before, after)}
    effect = finding.effect if verdict.effect is None else verdict.effect
    contradiction = ""
    if contradicted:
        contradiction = f"measured in turns it changed; the series as a whole says {series}"
    return replace(
        finding,
        effect=effect,
        low=verdict.low,
        high=verdict.high,
        p=verdict.p,
        **levels,
        contradiction=contradiction,
    )


def _apart(verdict: Verdict, low: float, high: float) -> bool:
    """Whether the series shows no change or the opposite one of the verdict."""
    ends = (verdict.effect, verdict.low, verdict.high)
    if any(end is None or end <= -1 for end in ends) or not (isfinite(low) and isfinite(high)):
        return False
    effect, least, most = (log1p(end) for end in ends if end is not None)
    opposite = low <= 0 if effect > 0 else high >= 0
    return opposite and (high < least or low > most)


def _denied(in_turns: Mapping[int, Verdict], places: Sequence[int]) -> str:
    """In words, that measured in turns every commit that a step may be is the same as the one
    before; empty where that is not known.
    """
    verdicts = [in_turns.get(place) for place in places]
    if not verdicts or any(verdict is None or verdict.word != "same" for verdict in verdicts):
        return ""
    first = next(verdict for verdict in verdicts if verdict)
    size = "" if first.effect is None else f", {change(first.effect, first.low, first.high)}"
    return (
        "the series steps here, but measured in turns the commits are the"
        f" same{size if len(verdicts) == 1 else ''}"
    )


def _newest(line: Line, course: Course, judged: Found, commits: Sequence[str]) -> Newest | None:
    """The newest value, if it is unusual."""
    new, places = judged.judgement.newest, course.places
    if new is None or not new.reported:
        return None
    effect = moved(new.effect)
    turn = places[new.place]
    since = commits[places[new.since]]
    return Newest(
        line=line,
        turn=turn,
        commit=commits[turn],
        since=since,
        word=direction(line, effect) if new.word == "changed" else "suspected",
        effect=effect,
        value=level(new.value),
        expected=level(new.expected),
        low=level(new.low),
        high=level(new.high),
        chance=new.chance,
        support=new.support,
    )
