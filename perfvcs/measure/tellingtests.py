"""Of a suite of tests those that tell most for their time: the expensive ones whose code changes
often.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from msgspec.structs import replace

from perfvcs.jobs.ownfiles import file_text, own_files
from perfvcs.jobs.pythonoffers import PROPOSED_REPEATS
from perfvcs.profile.naming import ONCE

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from perfvcs.git.project import Project
    from perfvcs.jobs.starter import Proposal
    from perfvcs.plugins.collector import Observations

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
RUNS_PROVE = "prove"
# what `prove --timer` prints of a file: [12:00:00] t/parse.t .. ok      31 ms ( 0.01 usr ...
TIMED_FILE = (
    r"{ regex = '^\[[\d:]{8}\] (?P<name>\S{1,200}) \.{1,200} ok"
    r" {1,9}(?P<value>\d{1,9}) (?P<unit>ms)' }"
)


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
    proposal: Proposal, seen: Observations, once: float, changes: Mapping[str, int], longest: float
) -> tuple[Proposal, float]:
    """A proposal of tests, cut to the most telling ones where an execution of all of them takes
    longer than ``longest`` (s); with the seconds of one execution.

    ``once`` is what it took to run each test once; the collector repeats them. What a test tells is
    its time x the ``changes`` of the code that its file imports.
    """
    spent: dict[str, float] = defaultdict(float)
    full: dict[str, float] = defaultdict(float)  # with the repetitions
    for unit, value in zip(seen.uid, seen.values["wall"], strict=True):
        test, seconds = unit.removesuffix(ONCE).partition("[")[0], value or 0.0
        spent[test] += seconds
        full[test] += seconds + min(PROPOSED_REPEATS * seconds, seconds + REPEATED_SECONDS)
    start = max(0.0, once - sum(spent.values()))  # of what is not a test
    seconds = start + sum(full.values())
    room = max(longest - start, longest / 2)  # starting may take long
    if sum(full.values()) <= room:
        return proposal, seconds
    worth = {test: value * changes.get(test.partition("::")[0], 1) for test, value in spent.items()}
    chosen = _dearest(_by_file(full), _by_file(worth), room) or _dearest(full, worth, room)
    if not chosen:
        return proposal, seconds
    known = _by_file(spent) | spent
    share = sum(known[name] for name in chosen) / max(sum(spent.values()), 1e-9)
    number = sum(not {test, test.partition("::")[0]}.isdisjoint(chosen) for test in spent)
    reason = (
        f"{proposal.found}: the {number} that take time and whose code changes most,"
        f" {100 * share:.0f} % of the time of all {len(spent)}"
    )
    options = [word for word in shlex.split(proposal.cmd) if word.startswith("--")]
    cmd = shlex.join(["python", "-m", "pytest", *options, *chosen])
    whole = _by_file(full) | full
    return replace(proposal, found=reason, cmd=cmd), start + sum(whole[name] for name in chosen)


def timed_files(proposal: Proposal) -> Proposal | None:
    """A proposal of tests of Perl that reports what each of their files takes; None of others."""
    runner, _, rest = proposal.cmd.partition(" ")
    if runner != RUNS_PROVE:
        return None
    return replace(proposal, cmd=f"{RUNS_PROVE} --timer {rest}", reads=TIMED_FILE)


def telling_files(
    proposal: Proposal, seen: Observations, once: float, changes: Mapping[str, int], longest: float
) -> tuple[Proposal, float]:
    """A proposal of tests of Perl, cut to the most telling files where an execution of all of them
    takes longer than ``longest`` (s); with the seconds of one execution, ``once`` for all.

    What a file tells is its time x its ``changes``, and one more.
    """
    spent = {name: value or 0.0 for name, value in zip(seen.uid, seen.values["wall"], strict=True)}
    spent.pop(proposal.name, None)
    worth = {name: value * (1 + changes.get(name, 0)) for name, value in spent.items()}
    start = max(0.0, once - sum(spent.values()))
    chosen = _dearest(spent, worth, longest - start)
    if once <= longest or not chosen:
        return proposal, once
    takes = sum(spent[name] for name in chosen)
    found = (
        f"{proposal.found}: those that take time and change most,"
        f" {100 * takes / sum(spent.values()):.0f} % of the time of all {len(spent)} files"
    )
    options = [word for word in shlex.split(proposal.cmd)[1:] if word.startswith("-")]
    cmd = shlex.join([RUNS_PROVE, *options, *chosen])
    return replace(proposal, found=found, cmd=cmd), start + takes


def telling_suite(
    proposal: Proposal, seen: Observations, once: float, longest: float
) -> tuple[Proposal, float]:
    """A proposal of a suite of asv, cut to its dearest classes, or benchmarks, where an execution
    of all of them takes longer than ``longest`` (s); with the seconds of one, ``once`` for all.
    """
    spent: dict[str, float] = defaultdict(float)
    for unit, value in zip(seen.uid, seen.values.get("wall", ()), strict=False):
        sample = max(value or 0.0, SAMPLE_SECONDS)
        spent[unit.partition(" ")[0]] += max(sample, min(SAMPLED_SECONDS, SAMPLES * sample))
    room = once - START_SECONDS
    if once <= longest or not spent or room <= 0:
        return proposal, once
    rate = room / sum(spent.values())  # with what sets them up
    seconds = {name: rate * value for name, value in spent.items()}
    classes: dict[str, float] = defaultdict(float)
    for name, value in seconds.items():
        classes[name.rpartition(".")[0]] += value
    left = longest - START_SECONDS
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
