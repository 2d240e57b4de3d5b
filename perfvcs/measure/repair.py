"""A proposed command without what kept it from running: what it lacks is added where the project
asks for it, what cannot be collected is left out.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from perfvcs.jobs.ownfiles import file_text, own_files
from perfvcs.jobs.pythonneeds import asked_for, normalized, once_each
from perfvcs.measure.tellingtests import RUNS_PROVE, changes_by_file
from perfvcs.text.characters import shorten
from perfvcs.text.words import counted

if TYPE_CHECKING:
    from perfvcs.git.project import Project
    from perfvcs.jobs.starter import Proposal
    from perfvcs.measure.reason import Reason

MOST_IGNORED = 30  # test files that are left out
MOST_NAMED = 100  # that are named where the others cannot be left out
LONGEST_NAMES = 120  # characters of their names
RUNS_PYTEST = "python -m pytest"
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
