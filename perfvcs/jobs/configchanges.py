"""What differs between two versions of perf.toml, in words, what matters most first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from perfvcs.text.characters import shorten

MOST_NAMED = 1000  # parts and files that are listed
MOST_TABLES = 1000  # that are compared each with each
PART, VALUE = 200, 16  # characters of one, and of a value in it
JOB_NAME = 22  # characters
FIRST = ("build", "overlay")  # of the keys, what can make a benchmark do less
Table = Mapping[str, Any]


def of_settings(old: Table | None, new: Table | None, *, ignored: bool) -> list[str]:
    """What differs between two perf.toml; empty where only its writing does.

    ``ignored``: the newer rules have no effect.
    """
    if old is None or new is None:
        if old == new:
            return []
        return ["new" if old is None else "removed"]
    keys = sorted(
        {*old, *new} - {"job", "check", "check_rules"}, key=lambda key: (key not in FIRST, key)
    )
    moved = ", ".join(key for key in keys if old.get(key) != new.get(key))
    # nothing that is new, or has no effect, hides what became of the rest
    lost, came = _jobs(old, new)
    rules = [*_rules(old, new, ignored=ignored)]
    parts = [moved] * bool(moved) + lost
    parts += [*came, *rules] if ignored else [*rules, *came]
    return [shorten(part, PART) for part in parts]


def _rules(old: Table, new: Table, *, ignored: bool) -> Iterator[str]:
    """The ``[[check]]`` tables that came, went or changed."""
    before, after = tables(old, "check"), tables(new, "check")
    mark = ", ignored" if ignored else ""
    if before != after and max(len(before), len(after)) > MOST_TABLES:
        yield f"[[check]] tables{mark}"
        return
    gone = [entry for entry in before if entry not in after]
    came = [entry for entry in after if entry not in before]
    moved = before != after or old.get("check_rules") != new.get("check_rules")
    if len(gone) == len(came):
        for first, last in zip(gone, came, strict=True):
            yield f"[[check]] {', '.join(_keys(first, last))}{mark}"
    else:
        yield from (f"new [[check]] {_written(table)}{mark}" for table in came)
        yield from (f"without [[check]] {_written(table)}{mark}" for table in gone)
    if moved and not gone and not came:
        yield f"the order of the [[check]] tables{mark}"


def _jobs(old: Table, new: Table) -> tuple[list[str], list[str]]:
    """The jobs that went or changed, and those that came."""
    before, after = _by_name(tables(old, "job")), _by_name(tables(new, "job"))
    gone = [f"job {shorten(name, JOB_NAME)} removed" for name in before if name not in after]
    changed = []
    for name, jobs in before.items():
        if name in after and jobs != after[name]:
            pairs = zip(jobs, after[name], strict=False)
            keys = [key for pair in pairs for key in _keys(*pair)]
            changed.append(
                f"job {shorten(name, JOB_NAME)}: {', '.join(keys) or 'others of that name'}"
            )
    return [*gone, *changed], [
        f"new job {shorten(name, JOB_NAME)}" for name in after if name not in before
    ]


def _by_name(jobs: Iterable[Table]) -> dict[str, list[Table]]:
    by_name: dict[str, list[Table]] = {}
    for job in jobs:
        name = next(filter(None, [*texts(job.get("name")), *texts(job.get("cmd"))]), "")
        by_name.setdefault(name, []).append(job)
    return by_name


def tables(settings: Table, key: str) -> list[Table]:
    """The tables of a list, without anything in it that is not a table: ``config.read`` complains
    of that.
    """
    entries = settings.get(key)
    if not isinstance(entries, list):
        return []
    return [table for table in entries if isinstance(table, dict)]


def _keys(old: Table, new: Table) -> Iterator[str]:
    """The keys that differ, with both values where these are short."""
    for key in dict.fromkeys([*old, *new]):
        before, after = old.get(key), new.get(key)
        if before == after:
            continue
        if before is None or after is None:
            yield f"{key} {_value(after)}".rstrip() if before is None else f"no {key}"
        else:
            values = _value(before), _value(after)
            yield f"{key} {' -> '.join(values)}" if all(values) else key


def _written(table: Table) -> str:
    return ", ".join(f"{key} {_value(value)}".rstrip() for key, value in table.items())


def _value(value: object) -> str:
    """A short value as it is; empty for others."""
    if isinstance(value, int) and abs(value) >= 10**VALUE:  # Python does not write the longest ones
        return ""
    text = str(value) if isinstance(value, str | int | float) else ""
    return text if len(text) <= VALUE else ""


def texts(value: object) -> list[str]:
    """The texts of a key that has one, or a list of them."""
    if isinstance(value, str):
        return [value]
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []
