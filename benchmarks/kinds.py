"""The kinds of change that `perf blame` names, beside those that somebody has read.

The changes are those of blaming/kinds.toml: functions that commits of twelve ordinary projects changed.
Their repositories are cloned into ``folder``.
"""

from __future__ import annotations

import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from perfvcs.git.project import Project
from perfvcs.locate.blame.kinds import kinds
from perfvcs.locate.sources.hunks import difference

from .figures import Row
from .registry import benchmark
from .repositories import git

LABELS = Path(__file__).parent / "blaming" / "kinds.toml"


@benchmark("blame", quick="needs clones of twelve projects", needs=("network",))
def blame_kinds(*, folder: Path) -> Iterator[Row]:
    """What are precision and recall of the kinds of change, per class?"""
    right, named, read = Counter[str](), Counter[str](), Counter[str]()
    exact = hunks = 0
    for repository, table in tomllib.loads(LABELS.read_text()).items():
        project = _cloned(folder, repository)
        for commit, path, name, labels in table["hunks"]:
            found = _named(project, commit, path, name)
            wanted = set(labels.split(", "))
            right.update(found & wanted)
            named.update(found)
            read.update(wanted)
            hunks, exact = hunks + 1, exact + (found == wanted)
            if found != wanted:
                where = f"{repository} {commit} {path}:{name}"
                print(f"{where}: {', '.join(sorted(found))}; read: {labels}", file=sys.stderr)
    for one in sorted(read | named, key=lambda one: -read[one]):
        yield {
            "kind": one,
            "read": read[one],
            "named": named[one],
            "precision": f"{right[one] / named[one]:.2f}" if named[one] else "",
            "recall": f"{right[one] / read[one]:.2f}" if read[one] else "",
        }
    yield {"changes": hunks, "with exactly the kinds that were read": exact}


def _cloned(folder: Path, repository: str) -> Project:
    """The clone of a repository of GitHub."""
    place = folder / repository.replace("/", "-")
    if not place.exists():
        place.mkdir(parents=True)
        git(place, "clone", "-q", "--bare", f"https://github.com/{repository}", ".git")
        git(place, "config", "core.bare", "false")
    return Project.find(place)


def _named(project: Project, commit: str, path: str, name: str) -> set[str]:
    """The kinds that a commit's change of a function is given."""
    old, new = project.resolve(f"{commit}^"), project.resolve(commit)
    changed = difference(project, old, new, skip=lambda other: other != path)
    unit = changed.units[f"{path}:{name}"]
    return {kind.name for kind in kinds(changed.files[path], name, unit.hunks)}
