"""A Makefile as far as `perf init` reads it: its targets, what each needs and runs, which of them
are programs, and what it offers: programs that are benchmarks, and targets that run one.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from perfvcs.jobs.ownfiles import file_text
from perfvcs.jobs.starter import Proposal
from perfvcs.text.words import listed

NAMES = ("GNUmakefile", "makefile", "Makefile")  # in the order in which make looks for them
MOST_INCLUDED = 50  # files that a Makefile includes
SOURCES = (".c", ".cc", ".cpp", ".cxx", ".o")
MOST_RULES = 100_000  # targets that are read
MOST_REACHED = 200  # targets that one needs, and what these need
LONGEST_LINE = 10_000  # characters of a line that is read
DEEPEST = 5  # variables that name variables
MOST_EXPANDED = 4_000_000  # characters of values that stand for variables, in all
UNSET = {"CC": "cc", "CXX": "c++", "MAKE": "make"}  # what make itself says where nobody does
RULE = re.compile(r"([^\s:#=][^:#=]*):(?![:=])([^=]*)$")
VARIABLE = re.compile(r"\s*(?:export\s+)?([\w.-]+)\s*[:?+]*=\s*(.*)")
INCLUDED = re.compile(r"[-s]?include\s+(.+)")
USED = re.compile(r"\$[({]([\w.-]+)[)}]")
# a recipe that is one command, which make only passes on
PLAIN = re.compile(r"(?:\./)?[\w./-]+(?: +[\w./=:,+-]+)*")
OWN = re.compile(r"\$\(?([@<^])\)?")  # what a recipe calls its target and what that needs
OUTPUT = re.compile(r"\s-o\s{0,99}(\S{1,500})(?=\s|$)")  # what a compiler writes
SILENT = "@-+ \t"  # before a command of a recipe


class RecipeLine(NamedTuple):
    """A command of a recipe, and the file and line in which it stands."""

    path: str
    number: int
    text: str


@dataclass
class MakeRule:
    """What a target needs, and the commands that make it."""

    needs: list[str] = field(default_factory=list)
    recipe: list[RecipeLine] = field(default_factory=list)


class Makefile:
    """The rules of a folder's Makefile, or of the file ``name``, and of what they include; there
    are none where it has no such file.
    """

    def __init__(self, root: Path, name: str = "") -> None:
        self.root = root
        self.rules: dict[str, MakeRule] = {}
        self.phony: set[str] = set()
        self.first = ""  # the target that make makes unasked
        self._variables: dict[str, str] = {}
        self._left = MOST_EXPANDED
        self._read_files: set[str] = set()
        for path in (name,) if name else NAMES:
            if text := file_text(root / path):
                self._read(path, text)
                break

    def _read(self, path: str, text: str) -> None:
        self._read_files.add(path)
        rules: list[MakeRule] = []
        for number, line in _joined(text):
            if line.startswith("\t"):
                command = line.strip().lstrip(SILENT)
                for rule in rules if command else ():
                    rule.recipe.append(RecipeLine(path, number, command))
                continue
            said = line.partition("#")[0].rstrip()
            if match := VARIABLE.fullmatch(said):
                self._variables.setdefault(match[1], match[2])
            elif (match := RULE.match(said)) and len(self.rules) < MOST_RULES:
                rules = self._begun(match[1], match[2])
                if command := match[2].partition(";")[2].strip():
                    for rule in rules:
                        rule.recipe.append(RecipeLine(path, number, command.lstrip(SILENT)))
            elif match := INCLUDED.fullmatch(said.lstrip()):
                self._include(match[1])
            elif said:
                rules = []

    def _include(self, names: str) -> None:
        """Reads what a line includes, seen from the folder in which make runs."""
        for name in self.expanded(names).split():
            folder, _, last = name.rpartition("/")
            if not name.isprintable() or name.startswith("/"):
                continue
            paths = [name]
            if "*" in last:
                # Python would go down all folders for two of them, or refuse them
                beside = (self.root / folder).glob(re.sub(r"\*+", "*", last))
                paths = sorted(str(path.relative_to(self.root)) for path in beside)
            for path in paths:
                if path not in self._read_files and len(self._read_files) <= MOST_INCLUDED:
                    self._read(path, file_text(self.root / path))

    def _begun(self, targets: str, needs: str) -> list[MakeRule]:
        """The rules that a line begins or adds to."""
        needed = self.expanded(needs.partition(";")[0]).replace("|", " ").split()
        names = self.expanded(targets).split()
        if ".PHONY" in names:
            self.phony.update(needed)
            return []
        rules = [self.rules.setdefault(name, MakeRule()) for name in names if "%" not in name]
        for rule in rules:
            rule.needs += needed
        self.first = self.first or next((name for name in names if name[0] != "."), "")
        return rules

    def compiles_and_runs(self, target: str) -> tuple[str, str] | None:
        """The command that compiles a program, and the one that runs it, of a target that does both
        and nothing else; None for any other.
        """
        rule = self.rules.get(target)
        if rule is None or len(rule.recipe) != 2:
            return None
        own = {"@": target, "<": " ".join(rule.needs[:1]), "^": " ".join(rule.needs)}
        compiled, run = (
            self.expanded(self._substituted(OWN, own, line.text)) for line in rule.recipe
        )
        if not PLAIN.fullmatch(compiled) or not PLAIN.fullmatch(run):
            return None
        program = shlex.split(run)[0].removeprefix("./")
        if [name.removeprefix("./") for name in OUTPUT.findall(compiled)] != [program]:
            return None
        return " ".join(compiled.split()), f"./{run.removeprefix('./')}"

    def expanded(self, text: str) -> str:
        """A text with the values of the variables that it uses."""
        for _ in range(DEEPEST):
            if "$" not in text or len(text) > LONGEST_LINE:
                break
            text = self._substituted(USED, self._variables, text)
        return text

    def _substituted(self, used: re.Pattern[str], values: Mapping[str, str], text: str) -> str:
        """A text with the values of what it uses; as it is where these would be too long."""

        def value(match: re.Match[str]) -> str:
            return values.get(match[1], UNSET.get(match[1], ""))

        longer = sum(len(value(match)) for match in used.finditer(text))
        if longer > self._left:
            return text
        self._left -= longer
        return used.sub(value, text)

    def makes(self, target: str) -> bool:
        """Whether a target is a program that is made, not a word for something to do."""
        rule = self.rules.get(target)
        if rule is None or target in self.phony or not re.fullmatch(r"[\w./+-]+", target):
            return False
        if rule.recipe:
            recipe = (self.expanded(line.text) for line in rule.recipe)
            outputs = {name for text in recipe for name in OUTPUT.findall(text)}
            return not outputs.isdisjoint({"$@", "$(@)", target, f"./{target}"})
        return any((self.root / f"{target}{suffix}").is_file() for suffix in SOURCES)

    def reached(self, target: str) -> Iterator[tuple[str, MakeRule]]:
        """The rule of a target, and those of all that it needs."""
        ahead, seen = [target], {target}
        while ahead and len(seen) <= MOST_REACHED:
            name = ahead.pop()
            rule = self.rules.get(name)
            if rule is None:
                continue
            yield name, rule
            new = [needed for needed in dict.fromkeys(rule.needs) if needed not in seen]
            ahead += new
            seen.update(new)

    def programs(self, target: str) -> list[str]:
        """The programs among a target and all that it needs."""
        return [name for name, _ in self.reached(target) if self.makes(name)]

    def runs(self, target: str) -> tuple[str, str] | None:
        """A program that is made here, and the whole command with which the target runs it; None if
        it does anything else.
        """
        rule = self.rules.get(target)
        if rule is None or len(rule.recipe) != 1:
            return None
        command = self.expanded(rule.recipe[0].text)
        if not PLAIN.fullmatch(command):
            return None
        program = shlex.split(command)[0].removeprefix("./")
        if not self.makes(program):
            return None
        return program, f"./{command.removeprefix('./')}"


def _joined(text: str) -> Iterator[tuple[int, str]]:
    """The lines with their numbers, those that a backslash continues as one; too long ones are
    cut.
    """
    start, parts = 0, list[str]()
    for number, line in enumerate(text.split("\n"), 1):
        start = start if parts else number
        if line.endswith("\\"):
            parts.append(line[:-1])
            continue
        yield start, "".join([*parts, line])[:LONGEST_LINE]
        parts = []
    if parts:
        yield start, "".join(parts)[:LONGEST_LINE]


BENCHMARKS = ("bench", "benchmark", "benchmarks", "perf")
TESTS = ("check", "test", "tests", "run_tests", "runtests")
FOLDERS = ("bench", "benchmark", "benchmarks", "perf", "test", "tests", "src")  # with a Makefile
WHOLE = ("make -j2",)
MOST_PROGRAMS = 5
IS_BENCHMARK = re.compile(r"(?:.*[-_./])?(?:bench|perf|speed)[\w.-]*|[\w./-]*[-_]bench\w*")
IS_TEST = re.compile(r"(?:.*[-_./])?tests?(?:[-_.].*)?|.*[-_]tests?")


def offers(root: Path) -> Iterator[Proposal]:
    """Benchmarks, then tests: of each a program that the Makefile makes, then a target that it
    runs; first those of the Makefile at the top, then those of the ones in folders.
    """
    makefiles = {folder: Makefile(root / folder) for folder in ("", *FOLDERS)}
    for targets, called in ((BENCHMARKS, IS_BENCHMARK), (TESTS, IS_TEST)):
        for folder, makefile in makefiles.items():
            for offer in _offers(makefile, targets, called) if makefile.rules else ():
                yield offer.within(folder) if folder else offer


def _offers(
    makefile: Makefile, targets: tuple[str, ...], called: re.Pattern[str]
) -> Iterator[Proposal]:
    kind = "benchmarks" if targets is BENCHMARKS else "tests"
    there = [target for target in targets if target in makefile.rules]
    for target in there:
        yield from _of_target(makefile, target)
    by_default = makefile.programs(makefile.first)
    others = [name for name in makefile.rules if name not in by_default and makefile.makes(name)]
    # the shortest name is that of all of them: rax-test, not rax-oom-test
    named = sorted(
        (name for name in [*by_default, *others] if called.fullmatch(name)),
        key=lambda name: (name not in by_default, len(name)),
    )
    for name in [name for name in named if name not in there][:MOST_PROGRAMS]:
        program = "the default target" if name in by_default else "a target"
        yield Proposal(
            f"a Makefile, of which {program} makes the program {name} of {kind}",
            f"./{name}",
            name.rpartition("/")[2],
            (shlex.join(["make", name]),),
        )
    if targets is TESTS:
        others = [name for name in makefile.rules if name not in there]
        run = [name for name in others if _runs_itself(makefile, name)][:MOST_PROGRAMS]
        yield from _compiled(makefile, run, listed(run))


def _runs_itself(makefile: Makefile, target: str) -> bool:
    return not IS_BENCHMARK.fullmatch(target) and makefile.compiles_and_runs(target) is not None


def _of_target(makefile: Makefile, target: str) -> Iterator[Proposal]:
    """The program that a target is, or runs; else what make does for it, after the whole build and
    without one.
    """
    rule = makefile.rules[target]
    parts = [target] if rule.recipe else list(dict.fromkeys(rule.needs))[:MOST_PROGRAMS]
    yield from _compiled(makefile, parts, target)
    make = f"make {target}"
    if makefile.makes(target):  # to make it again does nothing
        yield Proposal(
            f"a project with a Makefile: the program {target}", f"./{target}", target, (make,)
        )
        return
    if found := makefile.runs(target):
        program, command = found
        yield Proposal(
            f"a project with a Makefile: what {make} runs",
            command,
            target,
            (shlex.join(["make", program]),),
            copied=((rule.recipe[0].path, command),),
        )
    # as the last part of `all`
    runs_it = target != makefile.first and target in dict(makefile.reached(makefile.first))
    for build in ((),) if runs_it else (WHOLE, ()):
        yield Proposal(f"a project with a Makefile: {make}", make, target, build)


def _compiled(makefile: Makefile, parts: list[str], called: str) -> Iterator[Proposal]:
    """The programs that each of some targets compiles and runs: compiled once for each revision,
    and not in each execution. None where one does anything else.
    """
    found = {name: makefile.compiles_and_runs(name) for name in parts}
    both = {name: pair for name, pair in found.items() if pair is not None}
    if not both or len(both) < len(parts):
        return
    (name, (_, cmd)), *others = both.items()
    paths = {name: makefile.rules[name].recipe[0].path for name in both}
    yield Proposal(
        f"a project with a Makefile: what make {called} compiles and runs",
        cmd,
        name,
        tuple(compiled for compiled, _ in both.values()),
        beside=tuple((other, run) for other, (_, run) in others),
        copied=tuple((paths[name], text) for name, pair in both.items() for text in pair),
    )
