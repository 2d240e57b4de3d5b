"""The pair that a check compares where nobody names both sides, and why, in words; docs/verdict.md
has a table of all cases.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec.structs import replace

from perfvcs.check.change import NothingToCompare, Report
from perfvcs.locate.select.misses import LEFT_OUT_FILE, LeftOutSampler
from perfvcs.profile.naming import labelled
from perfvcs.profile.rules import RULES_FILE
from perfvcs.repository.lookup import elsewhere
from perfvcs.repository.state import State
from perfvcs.text.words import counted, listed

if TYPE_CHECKING:
    from perfvcs.jobs.config import Config
    from perfvcs.measure.progress import Progress
    from perfvcs.measure.request import Request
    from perfvcs.measure.rig import Rig
    from perfvcs.repository import Repository


def inheriting(repository: Repository, report: Report, target: State) -> Report:
    """The report in which what was left out at the target inherits; what was measured all the same
    is counted.
    """
    if not _has_left_out(repository):
        return report
    sampler = LeftOutSampler(repository.home)
    inherited = sampler.inheriting(target.key)
    if not inherited.units:
        return report
    sampler.judge(inherited.baseline, target.key, report.changes)
    gone = [
        change
        for change in report.changes
        if change.word == "missing" and inherited.has(change.job, change.uid)
    ]
    names = [labelled(change.job, change.uid, change.size) for change in gone]
    present = {(change.job, uid) for change in report.changes for uid in ("", change.uid)}
    names += [
        labelled(job, uid, None)
        for job, uid in sorted(inherited.units)
        if (job, uid) not in present
    ]
    present_changes = [change for change in report.changes if change not in gone]
    return msgspec.structs.replace(
        report,
        changes=present_changes,
        untouched=list(dict.fromkeys(names)),
        inherits=inherited.baseline[:10],
    )


def noted(repository: Repository, target: State) -> list[tuple[str, str]]:
    """What was left out at a target, for whoever remembers a report on it."""
    if not _has_left_out(repository):
        return []
    return sorted(LeftOutSampler(repository.home).inheriting(target.key).units)


def _has_left_out(repository: Repository) -> bool:
    """Whether anything was ever left out here."""
    return (repository.home / LEFT_OUT_FILE).is_file()


def steps(
    repository: Repository, states: Sequence[State], progress: Progress
) -> list[tuple[State, State]]:
    """The steps by which states follow each other; the first from the last measured commit before
    them, where it is not measured itself.

    None at all where there is no such commit.
    """
    first, pairs = states[0], list(pairwise(states))
    below = State(first.commit)
    if pairs and repository.measured(first):
        return pairs
    if first.dirty and repository.measured(below):
        return [(below, first), *pairs]
    before = next(repository.measured_ancestors(first.commit), None)
    if before is None:
        progress.say("nothing is left out: no commit before this one was measured")
        return []
    return [(State(before), first), *pairs]


def selected(
    rig: Rig, request: Request, pairs: Sequence[tuple[State, State]], one_in: int
) -> Request:
    """The request without what none of some steps can touch; of that, one in so many is measured
    all the same (0: none).
    """
    from perfvcs.jobs import matrix
    from perfvcs.locate.select.selection import LeftOut, select

    if not pairs:
        return request
    repository, config = rig.repository, rig.config
    cells = matrix(config, request.jobs)
    selections = [select(repository, config, cells, old, new) for old, new in pairs]
    units = set.intersection(*(set(selection.left_out(one_in).units) for selection in selections))
    tests, jobs = (
        sum(bool(left_unit.uid) for left_unit in units),
        sum(not left_unit.uid for left_unit in units),
    )
    for selection in selections:
        left = selection.left_out(one_in)
        whole = LeftOut(
            frozenset(cell for cell in left.jobs if (*cell, "") in units),
            {
                cell: frozenset(uid for uid in names if (*cell, uid) in units)
                for cell, names in left.tests.items()
            },
            left.sampled,
        )
        LeftOutSampler(repository.home).note(selection.baseline.key, selection.target.key, whole)
    again = len({unit for selection in selections for unit in selection.left_out(one_in).sampled})
    counts = [counted(count, noun) for count, noun in ((jobs, "job"), (tests, "test")) if count]
    what = " and ".join(counts) or "nothing"
    are = "is" if again == 1 else "are"
    more = f"; {counted(again, 'other')} that it cannot touch {are} measured anyway"
    more = more if again else ""
    rig.progress.say(f"left out, since the change cannot touch it: {what}{more}")
    return replace(request, left_out=tuple(sorted(units)))


class ComparedPair(NamedTuple):
    """Two states, and ``why`` these, in words; ``usual``: HEAD and its parent, and no revision was
    named: nothing more is to be said.
    """

    baseline: State
    target: State
    why: str = ""
    usual: bool = False


def stored(repository: Repository, revisions: Sequence[str]) -> ComparedPair:
    """What is compared from what is stored: the last revision, else HEAD, with the first of two,
    else the nearest measured ancestor.

    Raises NothingToCompare.
    """
    target = repository.state(revisions[-1] if revisions else "HEAD")
    if len(revisions) == 2:
        return ComparedPair(repository.state(revisions[0]), target)
    below = State(target.commit)
    if _is_on_top(repository, target) and repository.measured(below) and _is_unnoticed(repository):
        target = below
    baseline = repository.baseline(target)
    if baseline is None:
        cure = (
            "fetch the rest of a shallow clone (`git fetch --unshallow`)"
            if repository.project.shallow
            else "name a baseline"
        )
        named = " ".join(revisions)
        # `perf collect` measures HEAD, which is no ancestor of it
        command = f"perf check --measure{named and f' {named}'}"
        if not (repository.project.root / RULES_FILE).is_file():
            command = f"perf collect {target.commit[:10]}~1 {named or 'HEAD'} -- CMD"
        measuring = f"measure both in turns with `{command}`"
        if target.commit != repository.project.head:
            cure += f" (against HEAD it would be `perf check {named} HEAD`)"
        raise NothingToCompare(
            f"no ancestor of {target.name} has profiles: {cure}, or {measuring}"
            f"{elsewhere(repository)}"
        )
    return _explained(repository, baseline, target, revisions, measures=False)


def measured(repository: Repository, revisions: Sequence[str], *, committed: bool) -> ComparedPair:
    """What is measured in turns: HEAD is the working tree as it is now, unless it is to be measured
    as ``committed``.

    The baseline of changes on top of HEAD is HEAD. Where no job can notice them, HEAD itself is the
    target. Its baseline is the nearest ancestor with comparable profiles, unless that was only
    merged; else the first parent. Raises NothingToCompare.
    """
    names = [*revisions] or ["HEAD"]
    states = [
        State(repository.project.resolve(name)) if committed else repository.current(name)
        for name in names
    ]
    target = states[-1]
    if len(states) == 2:
        on_top = (
            any(state.dirty for state in states)
            and f"HEAD with its changes in {listed(repository.changes.files())}"
        )
        return ComparedPair(states[0], target, on_top or "")
    if target.dirty and not _is_unnoticed(repository):
        return _explained(repository, State(target.commit), target, revisions, measures=True)
    target = State(target.commit)
    baseline = repository.baseline(target)
    if baseline is None or not _is_straight(repository, baseline.filed, target.commit):
        parent = next(repository.project.ancestors(target.commit), None)
        if parent is None:
            shallow = repository.project.shallow
            cure = (
                "fetch the rest of a shallow clone (`git fetch --unshallow`)"
                if shallow
                else "name a baseline"
            )
            raise NothingToCompare(f"{target.name} has no ancestor to be compared with: {cure}")
        baseline = State(parent)
    return _explained(repository, baseline, target, revisions, measures=True, committed=committed)


def _is_on_top(repository: Repository, state: State) -> bool:
    """Whether a state is HEAD with the changes that the working tree has."""
    if not state.dirty or state.below or state.product or state.commit != repository.project.head:
        return False
    return state == repository.current(state.commit)


def _is_unnoticed(repository: Repository) -> bool:
    from perfvcs.locate.select.selection import unnoticed

    return unnoticed(repository, _config(repository))


def _overlaid(repository: Repository, names: Sequence[str]) -> list[str]:
    """Those of some files that are laid over every revision."""
    from perfvcs.locate.sources import is_within

    return [name for name in names if is_within(name, _config(repository).overlay)]


def _config(repository: Repository) -> Config:
    """The settings of the working tree; empty where they cannot be read."""
    from perfvcs.jobs.config import BadConfig, Config, load

    try:
        return load(repository.project.root / RULES_FILE)
    except BadConfig:  # whoever needs it says so
        return Config()


def _is_straight(repository: Repository, ancestor: str, commit: str) -> bool:
    """Whether a commit is reached by first parents alone; another branch's, that was merged, lacks
    what this one did meanwhile.
    """
    project = repository.project
    return ancestor in project.git("rev-list", "--first-parent", commit, f"^{ancestor}^@").split()


def _explained(
    repository: Repository,
    baseline: State,
    target: State,
    revisions: Sequence[str],
    *,
    measures: bool,
    committed: bool = False,
) -> ComparedPair:
    """The pair with its reason; ``measures``: the two are to be measured now. Whoever named one
    revision is told what it is compared with, in any case.
    """
    if target.product:
        return ComparedPair(baseline, target)
    project = repository.project
    here = target.commit == project.head and not project.bare
    named = "".join(revisions)
    name = target.name if target.commit.startswith(named) else named
    name = "HEAD" if here else name
    changed = (
        repository.changes.files() if here and not committed and repository.changes.exist() else []
    )
    on_top = bool(target.dirty and not target.below)
    present = on_top and _is_on_top(repository, target)
    changes = (
        f"its changes in {listed(changed)}" if present else "changes that it does not have now"
    )
    if on_top and baseline == State(target.commit):
        sentences = [f"{name} and {changes}"]
    elif on_top:
        sentences = [f"{name} with {changes} and {_distance(repository, baseline, target)}"]
    else:
        sentences = [f"{name} and {_distance(repository, baseline, target)}"]
    if changed and not present and measures:
        overlay = _overlaid(repository, changed)
        unseen = [name for name in changed if name not in overlay]
        sentences += [f"both with the changes in {listed(overlay)}"] if overlay else []
        sentences += [f"no job sees the changes in {listed(unseen)}"] if unseen else []
    elif changed and not present and _is_noticeable(repository, changed):
        sentences.append(f"not measured: the changes in {listed(changed)}")
    if here and (artefacts := repository.changes.left_out()):
        sentences.append(f"not counted, since measuring makes it: {listed(artefacts)}")
    if here and (inside := repository.changes.repositories()):
        sentences.append(f"not counted, since it is a repository of its own: {listed(inside)}")
    if here and project.underway:
        sentences.append(f"in the middle of {project.underway}")
    return ComparedPair(
        baseline,
        target,
        "; ".join(sentences),
        usual=not revisions and sentences == [f"{name} and its parent"],
    )


def _is_noticeable(repository: Repository, names: Sequence[str]) -> bool:
    """Whether a job may notice what is changed: by the names of the files alone, or what names
    them.
    """
    from perfvcs.locate.sources.imports import why

    return any(name != RULES_FILE and why(name) for name in names) or not _is_unnoticed(repository)


def _distance(repository: Repository, baseline: State, target: State) -> str:
    """``its parent``, or ``the nearest measured commit, 3 commits apart``."""
    project = repository.project
    parents = project.describe([target.commit])[target.commit].parents
    if baseline.commit in parents[:1]:
        return "its first parent" if len(parents) > 1 else "its parent"
    if baseline.commit in parents:
        return "what it merged"
    count = int(project.git("rev-list", "--count", f"{baseline.commit}..{target.commit}"))
    return f"the nearest measured commit, {counted(count, 'commit')} apart"
