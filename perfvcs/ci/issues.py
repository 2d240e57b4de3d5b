"""One issue for each commit with degradations that are still open: opened, updated and closed as
the history says, and never twice.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from perfvcs.ci.forgeservice import (
    USUAL,
    ForgeFailed,
    ForgeService,
    Insistence,
    insist,
    project_path,
)
from perfvcs.ci.surroundings import Surroundings
from perfvcs.errors import UsageError
from perfvcs.text.characters import shorten
from perfvcs.text.quantity import interval, percent
from perfvcs.text.words import counted, metric_name

if TYPE_CHECKING:
    from perfvcs.git.project import Project
    from perfvcs.history.finding import Finding
    from perfvcs.history.overview import Overview

LABEL = "performance"
MARKER = "<!-- perfvcs-degradation {} -->"
MARKED = re.compile(r"\A\s{0,9}<!-- perfvcs-degradation ([0-9a-f]{40}(?:[0-9a-f]{24})?) -->")
CLOSED = "<!-- closed by perfvcs -->"  # in the text of an issue that no person has closed
MOST_BENCHMARKS = 20  # that an issue lists
MOST_ISSUES = 10  # that one run opens: more is a wall, and most likely the machine
MOST_COMMITS = 500  # of a finding that are looked up
TITLE_CHARACTERS = 120
TOLD = ("opened", "closed")  # how the lines begin that a chat is told
CARDS = re.compile(r"(?:\.logic\.azure\.com|\.powerplatform\.com|\.webhook\.office\.com)\Z")
CURES = {
    401: "the token is not valid there",
    403: "let the job write (`issues: write`)",
    404: "there is no such project, or the token may not see it",
    410: "the project has no issues",
}

State = Literal["open", "closed"]


@dataclass(frozen=True)
class Degradation:
    """A commit since which benchmarks are slower, and still are; ``findings`` has the most
    important first. ``span`` are the commits that it may be, one of which an earlier run may have
    named.
    """

    commit: str
    author: str
    subject: str
    findings: Sequence[Finding]
    span: frozenset[str]

    @property
    def title(self) -> str:
        """``sort: wall time +12 % since 0123456789``."""
        first = self.findings[0]
        more = f" and {len(self.findings) - 1} more" if len(self.findings) > 1 else ""
        return shorten(
            f"{_name(first)}: {metric_name(first.line.metric)} {percent(first.effect)}{more}"
            f" since {self.commit[:10]}",
            TITLE_CHARACTERS,
        )

    @property
    def text(self) -> str:
        """The issue in Markdown."""
        first = self.findings[0]
        which = "It is the commit"
        if first.commits > 1:
            which = (
                f"It is one of {first.commits:,} commits, {first.first[:10]} to"
                f" {first.last[:10]}, most likely"
            )
        rows = [
            f"| `{_cell(_name(each))}` | {metric_name(each.line.metric)} | {percent(each.effect)}"
            f" {interval(each.low, each.high)} | {each.levels} |"
            for each in self.findings[:MOST_BENCHMARKS]
        ]
        left = len(self.findings) - MOST_BENCHMARKS
        more = [f"\nand {counted(left, 'more benchmark')}"] if left > 0 else []
        preceding = first.preceding or f"{self.commit}~1"
        return "\n".join(
            [
                MARKER.format(self.commit),
                f"{which} {self.commit[:10]} of {_plain(self.author)}: {_plain(self.subject)}",
                "",
                "| benchmark | metric | change | level |",
                "|---|---|---|---|",
                *rows,
                *more,
                "",
                "Why: `perf blame " + f"{preceding[:10]} {first.last[:10]}`."
                " If it is wanted: `perf accept`, and this issue is closed by the next run.",
            ]
        )


def degradations(overview: Overview, project: Project) -> list[Degradation]:
    """What became certainly slower and still is, by commit, the costliest first."""
    from perfvcs.history.triage import ranked

    by_commit: defaultdict[str, list[Finding]] = defaultdict(list)
    for finding in overview.findings:
        if overview.standing(finding).certain:
            by_commit[finding.commit].append(finding)
    standings = {
        commit: [overview.standing(finding) for finding in findings]
        for commit, findings in by_commit.items()
    }
    found = []
    for commit in ranked(standings):
        details = overview.details.get(commit)
        findings = by_commit[commit]
        author, title = (details.author, details.title) if details else ("?", "")
        span = frozenset().union(*(_span(project, finding) for finding in findings))
        found.append(Degradation(commit, author, title, findings, span | {commit}))
    return found


def _span(project: Project, finding: Finding) -> set[str]:
    """The commits that a finding may be, as far as they are few."""
    ends = {finding.first, finding.last}
    if not finding.preceding or not 2 < finding.commits <= MOST_COMMITS:
        return ends
    return ends | set(project.range(f"{finding.preceding}..{finding.last}"))


@dataclass
class Tracker:
    """The issues of a project at its service: where they are, and what they are called there."""

    forge: ForgeService
    where: str
    gitlab: bool
    done: list[str] = field(default_factory=list)

    def settle(self, found: Sequence[Degradation]) -> list[str]:
        """Open, update and close what has to be; what was done, a sentence each."""
        ours = self._ours()
        kept = set()
        opened = 0
        for degradation in found:
            issue = next((ours[commit] for commit in degradation.span if commit in ours), None)
            if issue is not None:
                kept.add(issue["number"])
                self._update(issue, degradation)
            elif opened < MOST_ISSUES:
                opened += 1
                self._open(degradation)
        left = sum(not each.span & ours.keys() for each in found) - opened
        if left > 0:
            more = counted(left, "more degradation")
            self.done.append(f"{more} would be too many issues at once")
        for commit, issue in ours.items():
            if issue["number"] not in kept and issue["open"]:
                self._close(commit, issue)
        return self.done

    def _ours(self) -> Mapping[str, dict[str, Any]]:
        """The issues that perfvcs has opened, by the commit in their text."""
        issues: dict[str, dict[str, Any]] = {}
        for entry in self.forge.listed(f"{self.where}?labels={LABEL}&state=all"):
            text = entry.get("description" if self.gitlab else "body") or ""
            number = entry.get("iid" if self.gitlab else "number")
            match = MARKED.match(text) if isinstance(text, str) else None
            if match and isinstance(number, int) and "pull_request" not in entry:
                is_open = entry.get("state") in ("open", "opened")
                issues.setdefault(
                    match[1], {"number": number, "text": text, "open": is_open, **_titled(entry)}
                )
        return issues

    def _open(self, degradation: Degradation) -> None:
        text = "description" if self.gitlab else "body"
        labels = LABEL if self.gitlab else [LABEL]
        given = {"title": degradation.title, text: degradation.text, "labels": labels}
        self.forge.ask("POST", self.where, given)
        self.done.append(f"opened: {degradation.title}")

    def _update(self, issue: Mapping[str, Any], degradation: Degradation) -> None:
        """Bring an issue up to date; one that a person has closed stays as it is."""
        commit = MARKED.match(issue["text"])
        assert commit is not None
        text = MARKER.format(commit[1]) + degradation.text[len(MARKER.format(commit[1])) :]
        if not issue["open"]:
            if CLOSED not in issue["text"]:
                return
            self._change(issue, text, "open")
            self.done.append(f"opened again: {degradation.title}")
        elif issue["text"].strip() != text.strip():
            self._change(issue, text)
            self.done.append(f"updated: {degradation.title}")

    def _close(self, commit: str, issue: Mapping[str, Any]) -> None:
        words = f"\n\nNo longer: undone, accepted, or not measured any more.\n{CLOSED}"
        self._change(issue, issue["text"].rstrip() + words, "closed")
        self.done.append(f"closed: {issue['title'] or commit[:10]}")

    def _change(self, issue: Mapping[str, Any], text: str, state: State | None = None) -> None:
        path = f"{self.where}/{issue['number']}"
        if self.gitlab:
            events = {"open": "reopen", "closed": "close"}
            event = {"state_event": events[state]} if state else {}
            self.forge.ask("PUT", path, {"description": text, **event})
        else:
            self.forge.ask("PATCH", path, {"body": text, **({"state": state} if state else {})})


def settle(
    job: Surroundings, found: Sequence[Degradation], limits: Insistence = USUAL
) -> Iterator[str]:
    """What was done about the issues of the job's project, a sentence each; raises nothing."""
    done: list[str] = []

    def work(forge: ForgeService) -> str:
        tracker = Tracker(forge, f"{project_path(job)}/issues", job.platform == "gitlab", done)
        tracker.settle(found)
        return "" if done else "no issue has changed"

    if last := insist(job, work, "no issues", CURES, limits):
        done.append(last)
    yield from done


def tell_chat(address: str, found: Sequence[Degradation], done: Sequence[str]) -> str:
    """Post what was opened and closed to a chat's webhook; what came of it, empty where there is
    nothing to tell. Never repeats the address, which is a secret.
    """
    told = [line for line in done if line.startswith(TOLD)]
    if not told:
        return ""
    text = "\n".join([*told, f"{counted(len(found), 'open degradation')} in all"])
    try:
        ForgeService(address, {}).tell("POST", "", _payload(address, text))
    except (ForgeFailed, UsageError) as error:
        reason = str(error).replace(address, "the address")
        return f"the chat was not told: {shorten(reason, 200)}"
    return "the chat was told"


def _payload(address: str, text: str) -> object:
    """What a webhook takes: Slack, Mattermost and others a text, workflows of Teams a card."""
    if not CARDS.search(urlsplit(address).hostname or ""):
        return {"text": text}
    blocks = [{"type": "TextBlock", "text": line, "wrap": True} for line in text.splitlines()]
    card = {"type": "AdaptiveCard", "version": "1.4", "body": blocks}
    kind = "application/vnd.microsoft.card.adaptive"
    return {"type": "message", "attachments": [{"contentType": kind, "content": card}]}


def _titled(entry: Mapping[str, Any]) -> dict[str, str]:
    title = entry.get("title")
    return {"title": shorten(title, TITLE_CHARACTERS) if isinstance(title, str) else ""}


def _name(finding: Finding) -> str:
    from perfvcs.history.finding import title

    return title(finding.line)


def _cell(text: str) -> str:
    """A text in backticks in a cell of a table."""
    return shorten(text, 80).replace("`", "'").replace("|", "¦")


def _plain(text: str) -> str:
    """A text of people without what Markdown or the service would read in it: no mention, no
    link.
    """
    escaped = re.sub(r"([\\`*_{}\[\]<>()#!|~])", r"\\\1", shorten(text, 120))
    return escaped.replace("@", "@\u2060").replace("\\#", "\\#\u2060")
