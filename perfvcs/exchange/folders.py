"""Folders of the store that go to a remote whole, as the trees that they are here, in place of file by file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import closing

from perfvcs.exchange.difference import PLAIN_MODE
from perfvcs.git.bare import Bare
from perfvcs.store import EMPTY_TREE

TREE_MODE = "040000"
WORTHWHILE_FILES = 10_000  # git fast-import searches one of 4,451 lists of names for each file: below, that takes no time


def whole(git: Bare, tip: str | None, head: str, changes: Mapping[str, str | bytes | None]) -> dict[str, str]:
    """The ids of trees of ``head``, by path, that say the same as ``changes`` say file by file, in folders that ``tip`` does not have.

    None of them is within another one. Raises GitFailed.
    """
    found: dict[str, str] = {}
    torn: set[str] = set()
    others = dict(changes)
    with closing(git.fields("diff-tree", "-r", "-t", "-z", "--no-renames", tip or EMPTY_TREE, head, "--")) as fields:
        for properties in fields:
            old_mode, mode, _, new, _ = properties.decode().removeprefix(":").split(" ")
            path = os.fsdecode(next(fields))
            if mode == TREE_MODE:
                if not old_mode.strip("0"):
                    found[path] = new
            elif mode == PLAIN_MODE and others.get(path) == new:
                del others[path]
            else:
                torn.update(above(path))
    for path in others:  # what is not in head, or differs there
        torn.update(above(path))
    entire = {path: tree for path, tree in found.items() if path not in torn}
    return {path: tree for path, tree in entire.items() if entire.keys().isdisjoint(above(path))}


def above(path: str) -> Iterator[str]:
    """The folders that a path is in, the nearest first."""
    while path := path.rpartition("/")[0]:
        yield path
