"""What differs between two versions of a project in what measures it: perf.toml and the benchmark's files."""

from __future__ import annotations

import re
import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from pathlib import PurePosixPath
from typing import Any

from perfvcs.git.blobs import ChangedFile
from perfvcs.profile.rules import RULES_FILE
from perfvcs.text.characters import shorten
from perfvcs.text.words import counted

MOST_PARTS = 4  # differences of perf.toml that are named
MOST_TABLES = 1000  # that are compared each with each
PART, VALUE = 44, 16  # characters of one, and of a value in it
LONGEST_COMMAND = 20_000  # characters; splitting takes a time quadratic in its words
DEEPEST_ENTRY = 100  # folders
Table = Mapping[str, Any]

# what is called so measures or tests, whether a command names it or not
FOLDERS = frozenset({"asv_bench", "bench", "benches", "benchmark", "benchmarks", "perf"})
BENCHMARK = re.compile(r"(?:bench.*|.*[-_.]bench(?:marks?)?)\.[^.]+", re.IGNORECASE)
TEST = re.compile(r"test_.*\.py|.*_test\.(?:py|go)|conftest\.py")
TESTING = re.compile(r"\bpytest\b|\bgo test\b")
SERVICE = re.compile(r"\.github/workflows/[^/]+\.ya?ml|\.gitlab-ci\.yml")
NO_LINKS: Mapping[str, str] = {}
KINDS = ("overlay", "workload", "benchmark", "test", "service's job")


def of_settings(old: Table | None, new: Table | None, *, ignored: bool) -> str:
    """What differs between two perf.toml, in brackets behind its name; empty where only its writing does.

    ``ignored``: the newer rules have no effect.
    """
    if old is None or new is None:
        return "" if old == new else f"{RULES_FILE} ({'new' if old is None else 'removed'})"
    keys = sorted({*old, *new} - {"job", "check", "check_rules"})
    # new jobs, and rules without effect, come last, so that they do not hide what became of others
    jobs, came = _jobs(old, new)
    rules = list(_rules(old, new, ignored=ignored))
    parts = [*jobs, *([] if ignored else rules)]
    parts += [key for key in keys if old.get(key) != new.get(key)]
    parts += [*came, *(rules if ignored else [])]
    if not parts:
        return ""
    shown = [shorten(part, PART) for part in parts[:MOST_PARTS]]
    more = [f"{len(parts) - MOST_PARTS:,} more"] if len(parts) > MOST_PARTS else []
    return f"{RULES_FILE} ({'; '.join([*shown, *more])})"


def _rules(old: Table, new: Table, *, ignored: bool) -> Iterator[str]:
    """Of the ``[[check]]`` tables those that came, went or changed."""
    before, after = _tables(old, "check"), _tables(new, "check")
    mark = ", ignored" if ignored else ""
    if before != after and max(len(before), len(after)) > MOST_TABLES:
        yield f"[[check]] tables{mark}"
        return
    gone = [one for one in before if one not in after]
    came = [one for one in after if one not in before]
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
    before, after = _by_name(_tables(old, "job")), _by_name(_tables(new, "job"))
    said = []
    for name, tables in before.items():
        called = f"job {shorten(name, PART // 2)}"
        if name not in after:
            said.append(f"{called} removed")
        elif tables != after[name]:
            pairs = zip(tables, after[name], strict=False)
            keys = [key for pair in pairs for key in _keys(*pair)]
            said.append(f"{called}: {', '.join(keys) or 'others of that name'}")
    return said, [f"new job {shorten(name, PART // 2)}" for name in after if name not in before]


def _by_name(tables: Iterable[Table]) -> dict[str, list[Table]]:
    found: dict[str, list[Table]] = {}
    for table in tables:
        name = next(filter(None, [*_texts(table.get("name")), *_texts(table.get("cmd"))]), "")
        found.setdefault(name, []).append(table)
    return found


def _tables(settings: Table, key: str) -> list[Table]:
    """The tables of a list; what is not one is somebody else's to complain of."""
    found = settings.get(key)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


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
    said = str(value) if isinstance(value, str | int | float) else ""
    return said if len(said) <= VALUE else ""


def of_files(old: Table, new: Table, changed: Sequence[ChangedFile], links: Mapping[str, str] = NO_LINKS) -> list[str]:
    """Of files that differ those that measure, by kind: see ``KINDS``.

    A file that a command names may be the program itself: it is not listed where nothing else
    changed. New tests are not listed. What symbolic ``links`` (path -> path) lead to counts as what
    they are called.
    """
    both = [old, new]
    jobs = [job for table in both for job in _tables(table, "job")]
    overlay = {_path(entry) for table in both for entry in _texts(table.get("overlay"))}
    workloads = {_path(entry) for job in jobs for entry in _texts(job.get("workloads"))}
    named = {path for table in both for path in _named(table)}
    tests = any(map(_runs_tests, both))
    others = {file.path for file in changed} - named - {RULES_FILE}
    kinds: dict[str, list[str]] = defaultdict(list)
    for file in sorted(changed, key=lambda file: file.added):  # a new one says less
        path = file.path
        *folders, name = path.split("/")
        names = [path, *_called(path, links)]
        around = {place for name in names for place in _around(name)}
        if "__pycache__" in folders:
            continue
        if around & overlay:
            kinds["overlay"].append(path)
        elif around & workloads:
            kinds["workload"].append(path)
        elif (not named.isdisjoint(names) and others) or any(map(_is_benchmark, names)):
            kinds["benchmark"].append(path)
        elif tests and TEST.fullmatch(name) and (name == "conftest.py" or not file.added):
            kinds["test"].append(path)
        elif SERVICE.fullmatch(path):
            kinds["service's job"].append(path)
    return [f"the {kind} {_first(kinds[kind])}" for kind in KINDS if kind in kinds]


def measuring(settings: Table) -> set[str]:
    """The paths that perf.toml names."""
    jobs = _tables(settings, "job")
    entries = [*_texts(settings.get("overlay")), *(entry for job in jobs for entry in _texts(job.get("workloads")))]
    return {*map(_path, entries), *_named(settings)}


def _called(path: str, links: Mapping[str, str]) -> Iterator[str]:
    """What a file is called through links."""
    for link, target in links.items():
        if path == target or path.startswith(f"{target}/"):
            yield link + path[len(target) :]


def _around(path: str) -> Iterator[str]:
    """A path and the folders above it."""
    yield path
    yield from accumulate(path.split("/")[:-1][:DEEPEST_ENTRY], "{}/{}".format)


def _is_benchmark(path: str) -> bool:
    *folders, name = path.split("/")
    return bool(FOLDERS.intersection(folders) or BENCHMARK.fullmatch(name))


def _first(paths: Sequence[str]) -> str:
    more = f" and {counted(len(paths) - 1, 'more file')}" if len(paths) > 1 else ""
    return f"{shorten(paths[0], PART)}{more}"


def _named(settings: Table) -> Iterator[str]:
    """The paths that commands may name, those that make workloads too."""
    for command in _texts(settings.get("build")):
        yield from _paths(command)
    for job in _tables(settings, "job"):
        for key in ("cmd", "args"):
            for text in _texts(job.get(key)):
                yield from _paths(text)
        for workload in _tables(job, "workloads"):
            for text in workload.values():
                yield from _paths(text) if isinstance(text, str) else ()


def _paths(command: str) -> Iterator[str]:
    """The words of a command as paths, and the files of a Python module behind ``-m``."""
    try:
        words = shlex.split(command) if len(command) <= LONGEST_COMMAND else command.split()
    except ValueError:  # a quotation mark alone
        words = command.split()
    yield from map(_path, words)
    for option, module in pairwise(words):
        base = module.replace(".", "/")
        if option == "-m":
            yield from (f"{base}.py", f"{base}/__main__.py", f"src/{base}.py", f"src/{base}/__main__.py")


def _path(word: str) -> str:
    return str(PurePosixPath(word))


def _texts(value: object) -> list[str]:
    """The texts of a key that has one, or a list of them."""
    several = value if isinstance(value, list) else [value]
    return [one for one in several if isinstance(one, str)]


def _runs_tests(settings: Table) -> bool:
    jobs = _tables(settings, "job")
    commands = (text for job in jobs for key in ("cmd", "args") for text in _texts(job.get(key)))
    return any(map(TESTING.search, commands)) or any("pytest" in _collectors(job) for job in jobs)


def _collectors(job: Table) -> list[object]:
    options = _tables(job, "collectors")
    return [*_texts(job.get("collectors")), *(table.get("name") for table in options)]
