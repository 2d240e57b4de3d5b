"""Scripts of package.json as the command that npm runs in the end: npm itself, linters and coverage
take longer than many tests.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Container, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from perfvcs.git.command import GitError, git

LINTERS = frozenset(
    {
        *("eslint", "standard", "semistandard", "xo", "jshint", "jscs", "tslint", "biome"),
        *("prettier", "tsd", "tsd-lite", "attw", "publint", "depcheck", "dtslint"),
    }
)
COVERAGE = frozenset({"nyc", "c8", "istanbul"})
RUNNERS = frozenset(
    {
        *("node", "mocha", "_mocha", "tape", "tap", "jest", "ava", "vitest", "uvu", "jasmine"),
        *("qunit", "lab", "borp", "zora"),
    }
)
QUOTED = re.compile(r"'[^']{0,1000}'|\"[^\"]{0,1000}\"")
NEEDS_SHELL = re.compile(r"[;|&<>$`*?\[{~\\]")  # outside quotation marks
SCRIPT = re.compile(r"(?:npm|yarn|pnpm)(?: run(?:-script)?)?(?: -s| --silent)? ([\w:.-]{1,100})")
ASSIGNED = re.compile(r"\w+=.*")
ENDS = ("", ".js", ".cjs", "/index.js", "/package.json")  # with which node looks for a script
DEEPEST = 3  # scripts that run scripts
MOST_PARTS = 50  # commands of a script and of those that it runs
LONGEST_PART = 1_000  # characters; shlex takes a time quadratic in the words


def direct(scripts: Mapping[str, str], name: str, needed: Container[str]) -> str:
    """The one command that a script runs beside linters, without what measures its coverage;
    ``needed`` are the packages. Empty where npm has to run it.
    """
    parts = _parts(scripts, name)
    if parts is None or len(parts) != 1:
        return ""
    words = _uncovered(parts[0])
    assigned = [word for word in words[:5] if ASSIGNED.fullmatch(word)]
    program, *given = words[len(assigned) :] or [""]
    if program != "node":
        if program not in RUNNERS and program not in needed:
            return ""
        program = f"node_modules/.bin/{program}"
    return shlex.join([*(["env"] if assigned else []), *assigned, program, *given])


def is_there(root: Path, cmd: str) -> bool:
    """Whether the script that a command runs by node exists, or may be built: git ignores what is
    built. True of any other command.
    """
    program, _, given = cmd.partition(" ")
    name = next(iter(shlex.split(given)), "")
    if program != "node" or not name or name.startswith("-"):
        return True
    if "\0" in name:
        return False
    place, top = os.path.realpath(root / name), os.path.realpath(root)
    if os.path.commonpath([place, top]) != top:
        return False
    with suppress(OSError):  # a name that is too long
        if any(Path(f"{place}{end}").is_file() for end in ENDS):
            return True
    with suppress(GitError):
        git(root, "check-ignore", "--quiet", "--", name)
        return True
    return False


def _parts(scripts: Mapping[str, str], name: str) -> list[list[str]] | None:
    """The words of each command of a script, and of those before and after it, without linters;
    None where a shell is needed, too much leads to others, or there are too many.
    """
    found: list[list[str]] = []
    ahead = _commands(scripts, name, DEEPEST)
    for _ in range(MOST_PARTS):
        if not ahead:
            return found
        text, depth = ahead.pop(0)
        if match := SCRIPT.fullmatch(text):
            if not depth:
                return None
            ahead[:0] = _commands(scripts, match[1], depth - 1)
            continue
        words = _words(text)
        if not words:
            return None
        if not _checks_only(words):
            found.append(words)
    return None if ahead else found


def _commands(scripts: Mapping[str, str], name: str, depth: int) -> list[tuple[str, int]]:
    """The commands of a script, and of those before and after it, each with how many scripts may
    still run each other.
    """
    texts = [scripts.get(script, "") for script in (f"pre{name}", name, f"post{name}")]
    parts = [part.strip() for text in texts for part in text.split("&&", MOST_PARTS)]
    return [(part, depth) for part in parts if part]


def _checks_only(words: Sequence[str]) -> bool:
    """Whether a command makes nothing that a later one may run; tsc compiles unless told not to."""
    if words[0] == "tsc":
        return "--noEmit" in words
    return words[0] in LINTERS


def _words(text: str) -> list[str]:
    """The words of a command; none where only a shell understands it."""
    if len(text) > LONGEST_PART or "\0" in text or NEEDS_SHELL.search(QUOTED.sub("", text)):
        return []
    with suppress(ValueError):
        return shlex.split(text)
    return []


def _uncovered(words: list[str]) -> list[str]:
    """A command without the coverage around it."""
    if words[0] not in COVERAGE:
        return words
    places = [place for place, word in enumerate(words) if word in RUNNERS]
    return words[places[0] :] if places else words
