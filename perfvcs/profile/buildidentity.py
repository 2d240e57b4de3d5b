"""What a program was built with: the fields by which profiles record it, and what agrees with
what.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath

BUILD, REQUIRES, PYTHON_BUILD = "build", "requires", "python build"
# what compilers and the tools that start them obey
C_FLAGS = ("CFLAGS", "CPPFLAGS", "CXXFLAGS", "LDFLAGS")
OTHER_FLAGS = (
    "CGO_CFLAGS",
    "CGO_CXXFLAGS",
    "CGO_ENABLED",
    "CGO_LDFLAGS",
    "CMAKE_ARGS",
    "CMAKE_BUILD_TYPE",
    "FCFLAGS",
    "FFLAGS",
    "GOAMD64",
    "GOEXPERIMENT",
    "GOFLAGS",
    "NVCC_APPEND_FLAGS",
    "RUSTFLAGS",
)
FLAGS = (*C_FLAGS, *OTHER_FLAGS)
COMPILER_NAME = r"([\w.]+-)*(cc|c\+\+|gcc|g\+\+|clang|clang\+\+)(-\d[\d.]*)?"
# the command that says the version of what a word of a build starts
TOOLCHAINS = {
    "cargo": ("rustc", "--version"),
    "maturin": ("rustc", "--version"),
    "rustc": ("rustc", "--version"),
    "go": ("go", "version"),
    "gradle": ("javac", "-version"),
    "gradlew": ("javac", "-version"),
    "javac": ("javac", "-version"),
    "mvn": ("javac", "-version"),
    "mvnw": ("javac", "-version"),
    "npm": ("node", "--version"),
    "pnpm": ("node", "--version"),
    "tsc": ("node", "--version"),
    "yarn": ("node", "--version"),
}
TOOLS = tuple(dict.fromkeys(program for program, _ in TOOLCHAINS.values()))
OWN_COMPILER = "compiler of build"  # one that a build command names itself
# Fields that profiles did not always have, by the field that says whether they do: where one side
# has it and the other does not, the others are not known there.
LATER = {BUILD: (BUILD, OWN_COMPILER, *TOOLS, *OTHER_FLAGS), PYTHON_BUILD: (PYTHON_BUILD, REQUIRES)}
LONGEST = 200  # characters of a field
DIGITS = 8  # of the digest that ends what is cut
DEPENDENCIES = "dependencies"  # the note that has what is installed beside the project itself
MOST_NAMED = 3  # dependencies that a reason names


def stated(build: Sequence[str], requires: Sequence[str]) -> dict[str, str]:
    """The fields of what perf.toml says itself: the ``build`` commands, and what ``[python]``
    installs.
    """
    texts = {BUILD: "; ".join(build), REQUIRES: shlex.join(requires)}
    return {name: bounded(text) for name, text in texts.items() if text}


def bounded(text: str) -> str:
    """A text as one field; of a long one the beginning, and a digest of all of it."""
    line = " ".join(text.split())
    if len(line) <= LONGEST:
        return line
    mark = hashlib.sha256(line.encode("utf-8", "surrogateescape")).hexdigest()[:DIGITS]
    return f"{line[: LONGEST - DIGITS - 2]} #{mark}"


def versions(build: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The fields of the toolchains that build commands start by name, with the command that says
    the version of each.

    What a Makefile starts is not seen; of C, the compiler in CC is recorded anyway.
    """
    for word in _programs(build):
        program = word.rpartition("=")[2]  # of CC=clang, too
        name = PurePath(program).name
        if (
            re.fullmatch(COMPILER_NAME, name)
            and name != "cc"
            and program.partition("/")[0] in ("", name)
        ):
            yield OWN_COMPILER, (program, "--version")
        elif command := TOOLCHAINS.get(name):
            yield command[0], command


def _programs(build: Sequence[str]) -> Iterator[str]:
    """The words of build commands that may be programs."""
    for command in build:
        words = shlex.split(command)
        for word in words:
            yield word
            if " " in word:  # the text behind `sh -c`
                yield from re.findall(r"[^\s;&|()]+", word)


def agree(before: Mapping[str, str], after: Mapping[str, str]) -> bool:
    """Whether two sets of fields are equal as far as both are known."""
    left_out = {name for marker in unknown(before, after) for name in LATER[marker]}
    return all(
        before.get(name) == after.get(name) for name in {**before, **after} if name not in left_out
    )


def unknown(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """The fields of ``LATER`` that only one side has, so that the other is older than they are."""
    return [marker for marker in LATER if (marker in before) != (marker in after)]


def follows(fields: Mapping[str, str], stated_now: Mapping[str, str]) -> bool:
    """Whether something was built as the fields of ``stated_now`` say, flags included; so far as it
    is known of what was measured before that was recorded.
    """
    if BUILD in stated_now and BUILD not in fields and "compiler" not in fields:
        return False  # it was measured as it is in the repository
    names = [REQUIRES] if PYTHON_BUILD in fields else []
    names += [BUILD, *FLAGS] if BUILD in fields else []
    return all(fields.get(name) == stated_now.get(name) for name in names)


def reworded(before: str, after: str) -> str:
    """The words in which two commands differ.

    >>> reworded("gcc -O0 b.c -o b", "gcc -O2 b.c -o b")
    '-O0 -> -O2'
    """
    from difflib import SequenceMatcher

    old, new = before.split(), after.split()
    blocks = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    moved = [block for block in blocks if block[0] != "equal"]
    gone = [word for _, start, end, _, _ in moved for word in old[start:end]]
    came = [word for _, _, _, start, end in moved for word in new[start:end]]
    return f"{' '.join(gone) or 'without'} -> {' '.join(came) or 'without'}"


def dependencies(notes: Mapping[str, str]) -> dict[str, str] | None:
    """The versions of what is installed beside the project itself, by name; None where the notes of
    an environment do not say.
    """
    if DEPENDENCIES not in notes:
        return None
    pairs = (entry.partition("==") for entry in notes[DEPENDENCIES].split())
    return {name: version for name, _, version in pairs}


def upgrades(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """How what is installed differs between the notes of two environments, such as ``numpy 1.26.4
    -> 2.0.0``; empty where it does not, or is not known.
    """
    old, new = dependencies(before), dependencies(after)
    if old is None or new is None:
        return ""
    parts = [
        f"{name} {old.get(name, 'not there')} -> {new.get(name, 'not there')}"
        for name in sorted({**old, **new})
        if old.get(name) != new.get(name)
    ]
    more = len(parts) - MOST_NAMED
    return ", ".join(parts[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def variables(env: Mapping[str, str]) -> dict[str, str]:
    """The flags in the environment of a build."""
    return {name: bounded(env[name]) for name in FLAGS if env.get(name)}


def search_path(env: Mapping[str, str]) -> str:
    """The folders in which a build finds its programs."""
    return env.get("PATH", os.defpath)
