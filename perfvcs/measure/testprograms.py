"""The programs that ctest and meson start as tests: without what starts them a change in one
weighs more, since ctest and meson execute many times as much as a small test.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import DecodeError, Struct, ValidationError, json
from msgspec.structs import replace

from perfvcs.collectors._shared.commandrun import shebang
from perfvcs.measure.repair import Repair
from perfvcs.measure.tellingtests import MOST_NAMES
from perfvcs.text.words import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from perfvcs.jobs.starter import Proposal

# by the words with which a proposal begins: what lists the tests as JSON, in the same build
LISTING = {
    ("ctest", "--test-dir"): ("ctest", "--show-only=json-v1", "--test-dir"),
    ("meson", "test", "-C"): ("meson", "introspect"),
}
LONGEST_LISTING = 60.0  # seconds
NAME = re.compile(r"[^\w.-]+")  # what stands between the words of a job's name


class _Property(Struct):
    """Of a test of ctest."""

    name: str
    value: object = None


class _Test(Struct):
    """A test as ctest or meson lists it."""

    name: str
    command: list[str] = []
    cmd: list[str] = []
    properties: list[_Property] = []
    workdir: str | None = None
    env: dict[str, str] = {}

    @property
    def words(self) -> list[str]:
        """The program and its words; none where it is not built."""
        return self.command or self.cmd

    def given(self, name: str) -> object:
        """A property of a test of ctest; None where it has none of that name."""
        return next((one.value for one in self.properties if one.name == name), None)

    @property
    def has_to_pass(self) -> bool:
        """Whether it is run, and its exit status alone says whether all is well."""
        return not any(map(self.given, ("DISABLED", "WILL_FAIL", "PASS_REGULAR_EXPRESSION")))

    @property
    def folder(self) -> str:
        """The absolute folder in which it runs; empty for that of the build."""
        return str(self.given("WORKING_DIRECTORY") or self.workdir or "")

    @property
    def variables(self) -> list[str]:
        """What the environment gets, as ``NAME=VALUE``."""
        listed = self.given("ENVIRONMENT")
        given = [str(pair) for pair in listed] if isinstance(listed, list) else []
        return given + [f"{name}={value}" for name, value in self.env.items()]


class _Tests(Struct):
    """What ctest lists."""

    tests: list[_Test]


def without_starter(proposal: Proposal, place: Path, env: Mapping[str, str]) -> Repair | None:
    """The programs that a proposal's ctest or meson starts as tests, a job each, in a checkout at
    ``place`` that is built; None where nothing else starts them.
    """
    tests = [test for test in _listed(proposal, place, env) if test.has_to_pass]
    if len(tests) > MOST_NAMES:
        tests = [*_wholes(tests)]
    if not tests or len(tests) > MOST_NAMES:
        return None
    commands = dict(_commands(tests, place, _build(proposal, place)))
    starter = shlex.split(proposal.cmd)[0]
    (name, cmd), *beside = commands.items()
    return Repair(
        replace(
            proposal,
            found=f"{proposal.found}: {counted(len(commands), 'program')} without {starter}",
            name=name,
            cmd=cmd,
            beside=tuple(beside),
        ),
        f"trying {counted(len(commands), 'program')} that {starter} starts without it",
    )


def _build(proposal: Proposal, place: Path) -> str:
    """The absolute folder of the build that a command of ctest or meson names."""
    words = shlex.split(proposal.cmd)
    return str(place / words[2 if words[0] == "ctest" else 3])


def _listed(proposal: Proposal, place: Path, env: Mapping[str, str]) -> list[_Test]:
    """The tests that a proposal runs; none where it runs something else, or they are not known."""
    words = tuple(shlex.split(proposal.cmd))
    lister = next((LISTING[start] for start in LISTING if words[: len(start)] == start), ())
    if not lister:
        return []
    folder = _build(proposal, place)
    kind = "--benchmarks" if "--benchmark" in words else "--tests"
    asked = [*lister, folder] if lister[0] == "ctest" else [*lister, kind, folder]
    try:
        said = subprocess.run(
            asked, cwd=place, env=env, capture_output=True, check=True, timeout=LONGEST_LISTING
        ).stdout
        if lister[0] == "ctest":
            return [test for test in json.decode(said, type=_Tests).tests if test.words]
        return [test for test in json.decode(said, type=list[_Test]) if test.words]
    except (OSError, subprocess.SubprocessError, DecodeError, ValidationError):
        return []  # then what starts them is measured


def _wholes(tests: Iterable[_Test]) -> Iterator[_Test]:
    """The programs, without words, of many tests that are parts of few programs."""
    first: dict[str, _Test] = {}
    for test in tests:
        first.setdefault(test.words[0], test)
    for program, test in first.items():
        yield _Test(
            Path(program).name,
            command=[program],
            properties=test.properties,
            workdir=test.workdir,
            env=test.env,
        )


def _commands(tests: Iterable[_Test], place: Path, build: str) -> Iterator[tuple[str, str]]:
    """The names and commands of jobs, from the top of the checkout, in which nothing is absolute
    that lies inside it.
    """
    names: set[str] = set()
    for test in tests:
        folder = _moved(test.folder or build, place, ".")
        program, *others = [_moved(word, place, folder) for word in test.words]
        if "/" not in program and program != test.words[0]:
            program = f"./{program}"
        variables = [_moved(word, place, folder) for word in test.variables]
        name = NAME.sub("-", test.name).strip("-")
        while name in names:
            name = f"{name}-2"
        names.add(name)
        if shebang(test.words[0]) and others != test.words[1:]:
            others = [_whole(word, place, folder) for word in test.words[1:]]
            before = shlex.join([*(["env", *variables] if variables else ()), program])
            script = f"cd {shlex.quote(folder)} && exec {before} {' '.join(others)}"
            yield name, shlex.join(["sh", "-c", script])
        else:
            yield name, shlex.join(["env", "-C", folder, *variables, program, *others])


def _whole(word: str, place: Path, folder: str) -> str:
    """A word for the shell with absolute paths in the checkout, wherever that is: a script may
    change its folder before it takes them.
    """
    here = f'"$PWD"/{os.path.relpath(".", folder)}/'
    for top in (str(place), os.path.realpath(place)):
        if f"{top}/" in word:
            return here.join(shlex.quote(part) if part else "" for part in word.split(f"{top}/"))
    return shlex.quote(word)


def _moved(word: str, place: Path, folder: str) -> str:
    """A word of a command with the paths that lie in the checkout at ``place``, which may be said
    without links, as they are in a ``folder`` of that.
    """
    for top in (str(place), os.path.realpath(place)):
        if os.path.normpath(word) == top or word.startswith(f"{top}/"):
            return os.path.relpath(os.path.relpath(word, top), folder)
        word = word.replace(f"{top}/", f"{os.path.relpath('.', folder)}/")
    return word
