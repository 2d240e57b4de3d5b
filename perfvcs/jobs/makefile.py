"""A Makefile as far as `perf init` reads it: its targets, what each needs and runs, and which of
them are programs.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from perfvcs.jobs.ownfiles import file_text

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
