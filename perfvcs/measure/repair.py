"""Why a proposed command does not run, the command without what kept it from running, and of a
suite of tests those that tell most for their time.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from perfvcs.jobs.ownfiles import file_text, own_files
from perfvcs.jobs.pythonneeds import asked_for, normalized, once_each
from perfvcs.jobs.pythonoffers import PROPOSED_REPEATS
from perfvcs.launcher.execution import says_why
from perfvcs.plan.expected import USUAL_PAIRS
from perfvcs.profile.naming import ONCE
from perfvcs.text.characters import shorten
from perfvcs.text.words import counted

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from perfvcs.git.project import Project
    from perfvcs.jobs.starter import Proposal
    from perfvcs.plugins.collector import Observations


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


MOST_IGNORED = 30  # test files that are left out
MOST_NAMED = 100  # that are named where the others cannot be left out
LONGEST_NAMES = 120  # characters of their names
RUNS_PYTEST = "python -m pytest"
RUNS_PROVE = "prove"
MOST_CHANGED = 4  # files of tests, where all take too long
# what runs the tests of the files that it names
RUNNERS = {RUNS_PYTEST: re.compile(r"test_.*\.py|.*_test\.py"), RUNS_PROVE: re.compile(r".*\.t")}


class Repair(NamedTuple):
    """The proposal that is tried next, and in what it differs."""

    proposal: Proposal
    why: str


def repair(project: Project, proposal: Proposal, reason: Reason) -> Repair | None:
    """What to try in the place of a proposal that failed; None where nothing is known.

    A missing package is installed only if a file of the project asks for it, or it is a harness:
    the name of another module says nothing about whose package it is.
    """
    runner = _runner(proposal)
    if reason.too_long and runner:
        return _fewer(project, proposal, runner)
    if runner == RUNS_PROVE:
        return _without(project, proposal, reason)
    module = reason.module
    nobody = f"nothing in the project asks for `{module}`" if module else ""
    if module and proposal.python is not None and (asked := asked_for(project.root, module)):
        if normalized(asked.requirement) not in map(normalized, proposal.requires):
            requires = once_each((*proposal.requires, asked.requirement))
            why = f"adding {asked.requirement}, since {asked.file} asks for {module}"
            return Repair(replace(proposal, requires=requires), why)
        nobody = ""
    ignored = [word for word in shlex.split(proposal.cmd) if word.startswith("--ignore=")]
    new = [name for name in reason.files if f"--ignore={name}" not in ignored]
    if not new or RUNS_PYTEST not in proposal.cmd or len(ignored) + len(new) > MOST_IGNORED:
        return None
    cmd = shlex.join([*shlex.split(proposal.cmd), *(f"--ignore={name}" for name in new)])
    named = shorten(", ".join(new), LONGEST_NAMES)
    why = f"leaving out {named}{f': {nobody}' if nobody else ''}"
    return Repair(replace(proposal, cmd=cmd), why)


def quicker(project: Project, proposal: Proposal) -> Repair | None:
    """What to try of tests of Perl on which a verdict takes long; those of pytest are cut by what
    each takes.
    """
    return _fewer(project, proposal, RUNS_PROVE) if _runner(proposal) == RUNS_PROVE else None


def _runner(proposal: Proposal) -> str:
    """What runs its tests; empty where they are not named by their files."""
    return next((name for name in RUNNERS if proposal.cmd.startswith(f"{name} ")), "")


def _fewer(project: Project, proposal: Proposal, runner: str) -> Repair | None:
    """The files of tests that changed most often, where all take too long; then half as many."""
    present, options = _test_files(project, proposal, runner)
    most = min(MOST_CHANGED, len(present) // 2)
    if not most:
        return None
    changes = changes_by_file(project)
    chosen = sorted(present, key=lambda name: -changes[name])[:most]
    cmd = shlex.join([*runner.split(), *options, *chosen])
    named = counted(len(chosen), "file")
    found = f"{proposal.found.partition(':')[0]}: those in the {named} that changed most often"
    why = f"trying the {named} of tests that changed most often"
    return Repair(replace(proposal, cmd=cmd, found=found), why)


def _without(project: Project, proposal: Proposal, reason: Reason) -> Repair | None:
    """The tests for prove without those that load a missing module of Perl, or else died."""
    present, options = _test_files(project, proposal, RUNS_PROVE)
    module, died = reason.perl_module, reason.perl_tests
    uses = re.compile(rf"\b(?:use|require)\s+['\"]?{re.escape(module)}(?![\w:])")
    left_out = [name for name in present if not module and name in died]
    if module:
        left_out = [name for name in present if uses.search(file_text(project.root / name))]
    chosen = [name for name in present if name not in left_out]
    if not chosen or not left_out or len(chosen) > MOST_NAMED:
        return None
    cmd = shlex.join([RUNS_PROVE, *options, *chosen])
    named = shorten(", ".join(left_out), LONGEST_NAMES)
    why = f"leaving out {named}{f': no {module} here' if module else ''}"
    return Repair(replace(proposal, cmd=cmd), why)


def _test_files(project: Project, proposal: Proposal, runner: str) -> tuple[list[str], list[str]]:
    """The own test files that a command runs, and its options."""
    words = shlex.split(proposal.cmd)[len(runner.split()) :]
    places = [word for word in words if not word.startswith("-")]
    present = [
        name
        for name in own_files(project.root)
        if RUNNERS[runner].fullmatch(name.rpartition("/")[2])
        and any(place in (name, ".") or name.startswith(f"{place}/") for place in places)
    ]
    return present, [word for word in words if word.startswith("--")]


VERDICT_SECONDS = 120.0  # seconds in which a verdict on the proposed tests is expected
EXECUTION_SECONDS = VERDICT_SECONDS / (2 * (USUAL_PAIRS + 1))  # of one execution, to keep that
MOST_NAMES = 20  # files, or tests, in a command
MOST_COMMITS = 500  # of the history, in which changes of files are counted
# of a benchmark of asv, see perfvcs_asv.py: its samples, what one takes at least and all at most
SAMPLES, SAMPLE_SECONDS, SAMPLED_SECONDS = 5, 0.005, 0.2
START_SECONDS = 0.5  # of Python, and of the modules of a suite
IMPORTS = re.compile(
    r"^[ \t]{0,40}(?:from[ \t]{1,9}([\w.]{1,200})[ \t]{1,9}import[ \t]{1,9}([^#\n]{1,500})"
    r"|import[ \t]{1,9}([\w.]{1,200}))",
    re.MULTILINE,
)
REPEATED_SECONDS = 0.1  # seconds for which the collector repeats a test, see its `budget`


def changes_by_file(project: Project) -> Counter[str]:
    """How many of the last commits changed each file."""
    listed = project.git(
        "log", f"-n{MOST_COMMITS}", "--format=", "--name-only", "--no-renames", "-z", "HEAD"
    )
    return Counter(name.strip("\n") for name in listed.split("\0") if name.strip("\n"))


def changes_of_code(project: Project, tests: Collection[str]) -> dict[str, int]:
    """How often, in commits, the files that each file of tests imports changed, and one more."""
    changes, files = changes_by_file(project), own_files(project.root)
    sources = [name for name in files if name.endswith(".py") and name not in tests]
    by_module: dict[str, list[str]] = defaultdict(list)
    for name in sources:
        path = name.removeprefix("src/").removesuffix(".py")
        by_module[path.replace("/", ".")].append(name)
        by_module[path.rpartition("/")[0].replace("/", ".")].append(name)  # of the whole package
    counts = {}
    for test in tests:
        text = file_text(project.root / test)
        imported = {
            source
            for match in IMPORTS.finditer(text)
            for module in _modules(match[1] or match[3], match[2] or "")
            for source in by_module.get(module, ())
        }
        counts[test] = 1 + sum(changes[name] for name in imported)
    return counts


def _modules(module: str, names: str) -> list[str]:
    """The modules that an import may mean: the one it names, and those in it."""
    listed = [
        f"{module}.{name.split()[0]}" for name in names.strip("() \\").split(",") if name.split()
    ]
    return [module, *listed]


def telling(
    proposal: Proposal, seen: Observations, once: float, changes: Mapping[str, int]
) -> tuple[Proposal, float]:
    """A proposal of tests, cut to the most telling ones where all of them take too long for a
    verdict; with the seconds of one execution.

    ``once`` is what it took to run each test once; the collector repeats them. What a test tells is
    its time x the ``changes`` of the code that its file imports.
    """
    spent: dict[str, float] = defaultdict(float)
    full: dict[str, float] = defaultdict(float)  # with the repetitions
    for unit, value in zip(seen.uid, seen.values["wall"], strict=True):
        test = unit.removesuffix(ONCE).partition("[")[0]
        seconds = value or 0.0
        spent[test] += seconds
        full[test] += seconds + min(PROPOSED_REPEATS * seconds, seconds + REPEATED_SECONDS)
    start = max(0.0, once - sum(spent.values()))  # of what is not a test
    seconds = start + sum(full.values())
    room = max(EXECUTION_SECONDS - start, start)  # where starting takes long, cutting saves little
    if sum(full.values()) <= room:
        return proposal, seconds
    worth = {test: value * changes.get(test.partition("::")[0], 1) for test, value in spent.items()}
    chosen = _dearest(_by_file(full), _by_file(worth), room) or _dearest(full, worth, room)
    if not chosen:
        return proposal, seconds
    known = _by_file(spent) | spent
    share = sum(known[name] for name in chosen) / max(sum(spent.values()), 1e-9)
    reason = (
        f"{proposal.found}: those that take time and whose code changes most,"
        f" {100 * share:.0f} % of the time of all {len(spent)}"
    )
    options = [word for word in shlex.split(proposal.cmd) if word.startswith("--")]
    cmd = shlex.join(["python", "-m", "pytest", *options, *chosen])
    whole = _by_file(full) | full
    return replace(proposal, found=reason, cmd=cmd), start + sum(whole[name] for name in chosen)


def telling_suite(proposal: Proposal, seen: Observations, once: float) -> tuple[Proposal, float]:
    """A proposal of a suite of asv, cut to its dearest classes, or benchmarks, where all of them
    take too long for a verdict; with the seconds of one execution, ``once`` for all.
    """
    spent: dict[str, float] = defaultdict(float)
    for unit, value in zip(seen.uid, seen.values.get("wall", ()), strict=False):
        sample = max(value or 0.0, SAMPLE_SECONDS)
        spent[unit.partition(" ")[0]] += max(sample, min(SAMPLED_SECONDS, SAMPLES * sample))
    room = once - START_SECONDS
    if once <= EXECUTION_SECONDS or not spent or room <= 0:
        return proposal, once
    rate = room / sum(spent.values())  # with what sets them up
    seconds = {name: rate * value for name, value in spent.items()}
    classes: dict[str, float] = defaultdict(float)
    for name, value in seconds.items():
        classes[name.rpartition(".")[0]] += value
    left = EXECUTION_SECONDS - START_SECONDS
    chosen = _dearest(classes, classes, left) or _dearest(seconds, seconds, left)
    if not chosen:
        return proposal, once
    takes = sum((classes | seconds)[name] for name in chosen)
    found = (
        f"{proposal.found}: {100 * takes / room:.0f} % of the time of all {len(spent)} benchmarks"
    )
    cmd = shlex.join([*shlex.split(proposal.cmd)[:4], *chosen])
    return replace(proposal, found=found, cmd=cmd), START_SECONDS + takes


def _by_file(values: Mapping[str, float]) -> dict[str, float]:
    files: dict[str, float] = defaultdict(float)
    for test, value in values.items():
        files[test.partition("::")[0]] += value
    return dict(files)


def _dearest(seconds: Mapping[str, float], worth: Mapping[str, float], left: float) -> list[str]:
    """The files, or tests, that are worth most and together take no longer than ``left``."""
    names: list[str] = []
    for name in sorted(worth, key=lambda name: -worth[name]):
        if seconds[name] <= left and len(names) < MOST_NAMES:
            left -= seconds[name]
            names.append(name)
    return names
