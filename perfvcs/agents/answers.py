"""Answers of at most 2 kB: what an agent needs of a document, and the next call to make."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from perfvcs.text.characters import shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

MOST_BYTES = 2000  # of an answer
LONGEST_TEXT = 300  # characters of a text in it
MOST_ROWS = 10
Row = dict[str, Any]
AFTER_JUDGE = {  # the next call, by the verdict
    "proved": "commit it, then hotspots",
    "refuted": "take the change back, then hotspots",
    "rejected": "mend what `why` says, or take the change back, then judge",
    "not decided": "judge with a larger budget_seconds, once; else take the change back",
    "failed": "mend what `why` says, then judge",
}


def of_judge(document: Mapping[str, Any]) -> Row:
    """A ruling: the word, why, what decides, and the checks that have something to tell."""
    guard = {name: check["said"] for name, check in document["guard"].items() if check["said"]}
    keys = ("verdict", "why", "expectation", "base", "target", "decided_by", "trust", "cost")
    following = AFTER_JUDGE[document["verdict"]]
    return {key: document[key] for key in keys} | {"guard": guard, "next": following}


def of_check(document: Mapping[str, Any]) -> Row:
    """A comparison: the sentence, and the changes that moved."""
    keys = ("benchmark", "metric", "word", "effect", "low", "high", "executions", "id")
    moved = [
        {key: change[key] for key in keys if change.get(key) not in (None, "")}
        for change in document["changes"]
        if change["word"] not in ("same", "inconclusive")
    ]
    return {
        "sentence": document["sentence"],
        "counts": document["counts"],
        "changes": moved,
        "next": "why, with the same revisions" if moved else "hotspots, change one, then judge",
    }


def of_blame(document: Mapping[str, Any]) -> Row:
    """What differs, the functions that are suspected, and what taking each back showed."""
    keys = ("benchmark", "baseline", "target", "verdict", "metric", "effect", "others", "notes")
    suspects = [{key: row[key] for key in ("name", "path")} for row in document["suspects"]]
    tried = ("name", "path", "word", "share", "reason")
    trials = [{key: row[key] for key in tried} for row in document["trials"]]
    found = {"suspects": suspects, "trials": trials}
    following = "change what is suspected, then judge" if suspects else "history"
    return {key: document[key] for key in keys} | found | {"next": following}


def of_history(document: Mapping[str, Any]) -> Row:
    """The newest lasting changes."""
    keys = ("benchmark", "metric", "word", "commit", "effect", "low", "high", "title")
    rows = document["findings"]
    findings = [{key: row[key] for key in keys if key in row} for row in rows]
    following = "why, with a commit and its parent" if findings else "hotspots"
    return {"findings": findings, "next": following}


def of_plan(document: Mapping[str, Any]) -> Row:
    """What each job can detect, and what it costs."""
    jobs = [
        {
            "job": job["job"],
            "seconds": job["cost"]["execution"],
            "units": [
                {key: unit[key] for key in ("uid", "metric", "finds")}
                for unit in job["units"][:MOST_ROWS]
            ],
        }
        for job in document["jobs"]
    ]
    return {"jobs": jobs, "next": "hotspots, change one, then judge"}


def of_status(document: Mapping[str, Any]) -> Row:
    """Which benchmarks there are."""
    keys = ("commit", "dirty", "jobs", "verdict")
    return {key: document[key] for key in keys} | {"next": "hotspots, or plan"}


def hotspots(profiles: Mapping[str, str]) -> Row:
    """The functions with the largest own share of each profile's stacks, which are in Brendan
    Gregg's folded format; of several, each row has the profile's name.

    Shares are those of one profile: what one counts (samples) cannot be added to what another one
    does (instructions).
    """
    ranked = [
        (place, row if len(profiles) == 1 else {"profile": name} | row)
        for name, folded in profiles.items()
        for place, row in enumerate(_hottest(folded))
    ]
    functions = [row for _, row in sorted(ranked, key=lambda pair: pair[0])]
    return {"functions": functions, "next": "change one, then call judge"}


def _hottest(folded: str) -> list[Row]:
    own, inclusive = Counter[str](), Counter[str]()
    for line in folded.splitlines():
        stack, _, count = line.rpartition(" ")
        if not count.isdecimal() or not stack:
            continue
        frames = stack.split(";")
        own[frames[-1]] += int(count)
        inclusive.update(dict.fromkeys(frames, int(count)))
    total = sum(own.values()) or 1
    return [
        {
            "function": name,
            "own": round(count / total, 4),
            "inclusive": round(inclusive[name] / total, 4),
        }
        for name, count in own.most_common(MOST_ROWS)
    ]


BRIEFS: Mapping[str, Callable[[Mapping[str, Any]], Row]] = {
    "judge": of_judge,
    "check": of_check,
    "blame": of_blame,
    "history": of_history,
    "plan": of_plan,
    "status": of_status,
}


def bounded(row: Row) -> str:
    """An answer as JSON of at most ``MOST_BYTES``: lists lose their last rows, and say so."""
    row = _shortened(row)
    while len(text := json.dumps(row, ensure_ascii=False).encode()) > MOST_BYTES:
        longest = max(_lists(row), key=len, default=[])
        if not longest:
            return json.dumps({"error": "the answer is too long: ask for one benchmark"})
        longest.pop()
        row["left_out"] = row.get("left_out", 0) + 1
    return text.decode()


def _shortened(value: Any) -> Any:
    if isinstance(value, str):
        return shorten(value, LONGEST_TEXT)
    if isinstance(value, dict):
        return {key: _shortened(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_shortened(part) for part in value]
    if isinstance(value, float):
        return float(f"{value:.4g}")
    return value


def _lists(value: Any) -> Sequence[list[Any]]:
    """All lists in a document that are not empty."""
    found: list[list[Any]] = [value] if isinstance(value, list) and value else []
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for part in parts:
        found += _lists(part)
    return found
