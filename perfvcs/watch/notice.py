"""New changes in a history, and the notice about them: JSON for programs, lines for people."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from perfvcs.text.words import tallied
from perfvcs.watch.memory import KnownChange

if TYPE_CHECKING:
    from perfvcs.site.contents import Contents

FORMAT = "perfvcs-watch/1"
MOST_CHANGES = 50  # changes in one notice

ChangeNumbers = tuple[int, int]  # of a series, and of the change among its findings


def changes(contents: Contents) -> list[KnownChange]:
    """All changes of a history, in its order."""
    return [_change(contents, pair) for pair in contents.found]


def fresh(contents: Contents, known: Sequence[KnownChange]) -> list[ChangeNumbers]:
    """The changes not reported yet: their commits overlap with no known change of their series in the same direction."""
    places = contents.places
    ranges: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for one in known:
        if one.first in places and one.last in places:
            ranges.setdefault((one.series, one.direction), []).append((places[one.first], places[one.last]))
    found = []
    for pair in contents.having("open", "improvement"):
        change = _change(contents, pair)
        first, last = places[change.first], places[change.last]
        seen = ranges.setdefault((change.series, change.direction), [])
        if not any(begin <= last and first <= end for begin, end in seen):
            found.append(pair)
            seen.append((first, last))  # in another environment it is the same change
    return found


def _change(contents: Contents, pair: ChangeNumbers) -> KnownChange:
    finding = contents.finding(*pair)
    return KnownChange(contents.urls[pair[0]], finding.direction, finding.first, finding.last)


def document(contents: Contents, pairs: Sequence[ChangeNumbers], project: str, branch: str, base_url: str) -> dict[str, Any]:
    """The notice of changes: the tip of the branch, and each change as the site's JSON has it, with addresses below ``base_url``."""
    root = f"{base_url.rstrip('/')}/" if base_url else None
    tip = contents.record.commits[-1]
    listed = []
    for pair in pairs[:MOST_CHANGES]:
        step, finding = contents.step(*pair), contents.finding(*pair)
        one = msgspec.to_builtins(step)
        one |= {"first": finding.first, "last": finding.last, "url": root and root + step.url}
        one["commit"] |= {"url": root and step.commit.url and root + step.commit.url}
        listed.append(one)
    words = [contents.finding(*pair).word for pair in pairs]
    summary = tallied((word, words.count(word)) for word in ("degradation", "improvement", "drift") if word in words)
    found: dict[str, Any] = {
        "format": FORMAT, "project": project, "branch": branch, "tip": tip, "site": root,
        "text": f"{project}: {summary} on {branch}", "changes": listed, "more": len(pairs) - len(listed),
    }  # fmt: skip
    return {"id": hashlib.sha256(msgspec.json.encode(found, order="deterministic")).hexdigest()[:32], **found}


def text(notice: dict[str, Any]) -> str:
    """The notice for people."""
    lines = []
    for one in notice["changes"]:
        commit = one["commit"]
        lines.append(f"{one['word']}: {one['benchmark']}, {one['metric']}: {one['change']}, {one['levels']}")
        where = f" (or another of {one['commits']} commits)" if one["commits"] > 1 else ""
        lines.append(f"  {commit['short']} {commit['title']}, {commit['author']}{where}")
        lines += [f"  {one['url']}"] if one["url"] else []
    lines += [f"and {notice['more']} more"] if notice["more"] else []
    return "\n".join([*lines, "", f"`perf history` at {notice['tip'][:10]} shows them.", ""])
