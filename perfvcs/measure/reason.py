"""Why a proposed command does not run: the line that says so, out of all that was printed."""

from __future__ import annotations

import re
from typing import NamedTuple

from perfvcs.launcher.execution import says_why
from perfvcs.text.characters import shorten

LONGEST = 200  # characters of a reason
MISSING_MODULE = re.compile(r"No module named '?([A-Za-z_][\w.]{0,99})")
MISSING_IN_PERL = re.compile(r"Can't locate ([\w/]{1,200})\.pm in @INC")
DIED_IN_PERL = re.compile(r"\bat (\S{1,300}\.t) line \d")
NO_PYTHON = re.compile(
    r"there is no Python [\d.]+ here|requires a different Python|does not satisfy Python"
)
NO_NETWORK = re.compile(
    r"[Cc]ould not resolve host|[Nn]ame or service not known|name resolution|EAI_AGAIN|ENOTFOUND"
    r"|[Nn]etwork is unreachable|no such host|[Uu]nknown ?[Hh]ost"
)
MISSING_CRATE = re.compile(r"failed to get `([\w-]{1,64})` as a dependency")
LOG = re.compile(r" \(log: [^)]{1,500}\)$")  # where all of it is
# what the checkout lacks, behind what was printed
LACKING = re.compile(r" \((?:submodule|git ignores) [^|]{1,2000}\)$")
TAKES_LONG = "it takes more than"
NAMED_FILE = re.compile(r"(?:^|; )([^\s:;]{1,300}\.py): ")


class Reason(NamedTuple):
    """Why a proposal does not run, in all the words that there are."""

    text: str

    def __str__(self) -> str:
        """The line that says why, without the way to it."""
        text = LOG.sub("", self.text)
        lacking = found[0] if (found := LACKING.search(text)) else ""
        text = text.removesuffix(lacking)
        lines = [line.strip() for line in text.split(" | ")]
        telling = [line for line in lines if says_why(line)]
        if network := next(filter(NO_NETWORK.search, lines), ""):  # the cause of the others
            crate = MISSING_CRATE.search(self.text)
            telling.append(f"{crate[1]} is missing: {network}" if crate else network)
        line = telling[-1] if telling and len(lines) > 1 else self.text.removesuffix(lacking)
        return shorten(line, LONGEST) + shorten(lacking, LONGEST)

    @property
    def module(self) -> str:
        """The module that is missing; empty if that is not the reason."""
        match = MISSING_MODULE.search(self.text)
        return match[1].partition(".")[0] if match else ""

    @property
    def perl_module(self) -> str:
        """The module of Perl that is missing; empty if that is not the reason."""
        match = MISSING_IN_PERL.search(self.text)
        return match[1].replace("/", "::") if match else ""

    @property
    def perl_tests(self) -> list[str]:
        """The test files of Perl that died, as far as they are named."""
        return list(dict.fromkeys(DIED_IN_PERL.findall(self.text)))

    @property
    def files(self) -> list[str]:
        """The test files that pytest cannot collect, as far as they are named."""
        _, _, problems = self.text.partition("could not collect its tests: ")
        return list(dict.fromkeys(NAMED_FILE.findall(problems)))

    @property
    def too_long(self) -> bool:
        """Whether it was stopped since it takes too long."""
        return self.text.startswith(TAKES_LONG) or "was stopped after its time-out" in self.text

    @property
    def of_the_build(self) -> bool:
        """Whether the build failed, so that no other command after it runs either."""
        return "the build failed" in self.text

    @property
    def of_the_environment(self) -> bool:
        """Whether what the project is installed into could not be made."""
        return self._no_python or "the virtual environment for Python" in self.text

    @property
    def of_the_machine(self) -> bool:
        """Whether there is no network, or no Python of the version that the project requires."""
        return self._no_python or NO_NETWORK.search(self.text) is not None

    @property
    def _no_python(self) -> bool:
        return NO_PYTHON.search(self.text) is not None
