"""Auxiliary versions: a commit's content with some changes taken back, as a commit that no branch knows."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from perfvcs.git.project import Project
from perfvcs.locate.hunks import ChangedUnit, Hunk, SourceDifference
from perfvcs.locate.outline import MODULE, last_name
from perfvcs.text.lines import source_lines

AUTHOR = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "perfvcs"), ("EMAIL", "perfvcs@localhost"), ("DATE", "2000-01-01T00:00:00Z"))
}
MESSAGE = "perf blame: a version with some changes taken back, which is part of no branch"


def commit(project: Project, scratch: Path, base: str, texts: Mapping[str, str | None]) -> str:
    """The id of a commit that has the content of ``base`` with other texts in some files; None takes a file away.

    Neither the index nor the working tree nor any branch changes; git drops the commit when it collects garbage. ``scratch`` is a folder
    for an index. The same content has the same id.
    """
    extra = {**AUTHOR, "GIT_INDEX_FILE": str(scratch / f"index-{os.getpid()}")}
    try:
        project.git("read-tree", base, extra=extra)
        lines = []
        for path, text in texts.items():
            mode = project.git("ls-files", "--stage", "-z", "--", f":(literal){path}", extra=extra).partition(" ")[0] or "100644"
            name = "" if text is None else project.git("hash-object", "-w", "--stdin", text=text)
            lines.append(f"0 {'0' * 40}\t{path}\0" if text is None else f"{mode} {name}\t{path}\0")
        project.git("update-index", "-z", "--index-info", text="".join(lines), extra=extra)
        tree = project.git("write-tree", extra=extra)
    finally:
        Path(extra["GIT_INDEX_FILE"]).unlink(missing_ok=True)
    return project.git("commit-tree", "-p", base, "-m", MESSAGE, "--no-gpg-sign", tree, extra=extra)


def reverted(difference: SourceDifference, hunks: Mapping[str, Iterable[Hunk]]) -> dict[str, str | None]:
    """The texts of files without some hunks, by file."""
    found: dict[str, str | None] = {}
    for path, own in hunks.items():
        change = difference.files[path]
        text = change.without(own)
        found[path] = None if change.is_new and not text else text
    return found


def attempts(difference: SourceDifference, unit: ChangedUnit) -> list[tuple[str, dict[str, list[Hunk]]]]:
    """What to take back to see what a unit's change costs, the least first, each with its name.

    First the unit alone; then with what it may need: other changes of the same file, outside of functions and of functions that were
    added or lost; then the whole file; then, of other files, the hunks that name it, such as calls with other arguments.
    """
    change = difference.files[unit.path]
    tries = [("", {unit.path: list(unit.hunks)})]
    before, after = change.outlines
    names = [{one.name for one in side.definitions} if side else set() for side in (before, after)]
    needed = [
        hunk
        for other in difference.units.values()
        if other.path == unit.path and (other is unit or other.name == MODULE or other.name not in names[0] & names[1])
        for hunk in other.hunks
    ]
    tries.append(("with the code outside of functions", {unit.path: needed}))
    tries.append(("with the whole file", {unit.path: list(change.hunks)}))
    if uses := _uses(difference, unit):
        tries.append(("with its uses in other files", {unit.path: needed, **uses}))
    seen: list[dict[str, list[Hunk]]] = []
    kept = []
    for name, hunks in tries:
        every = {path: sorted(own) for path, own in hunks.items()}
        if every not in seen:
            seen.append(every)
            kept.append((name, hunks))
    return kept


def _uses(difference: SourceDifference, unit: ChangedUnit) -> dict[str, list[Hunk]]:
    """The hunks of other files in which a function's name is, by file."""
    if unit.name == MODULE:
        return {}
    name = re.compile(rf"\b{re.escape(last_name(unit.name))}\b")
    found: dict[str, list[Hunk]] = {}
    for path, change in difference.files.items():
        if path == unit.path or not name.search(change.old + change.new):
            continue
        sides = [source_lines(text) for text in (change.old, change.new)]
        for hunk in change.hunks:
            lines = [
                line for side, (first, count) in zip(sides, hunk, strict=True) if count for line in side[first - 1 :][:count]
            ]
            if name.search("\n".join(lines)):
                found.setdefault(path, []).append(hunk)
    return found
