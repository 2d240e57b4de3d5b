"""The program that a command names: found as a shell would, but in the measured revision's own folder and environment."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from perfvcs.collector import CollectError
from perfvcs.text.characters import shorten


def resolve(word: str, folder: Path, env: Mapping[str, str], root: Path | None = None) -> str:
    """The absolute path of a program; raises CollectError with the cure when there is none.

    ``root`` is the working tree that a checkout in ``folder`` is of.
    """
    if "/" in word:
        path = folder / word
        if path.is_file() and os.access(path, os.X_OK):
            return str(path)
        if path.is_dir():
            raise CollectError(f"`{word}` is a folder, not a program", lasting=True)
        if path.exists():
            raise CollectError(f"`{word}` is not executable: chmod +x it, or name its interpreter in `cmd`", lasting=True)
        if missing := only_here([word], folder, root or folder):
            raise CollectError(missing, lasting=True)
        raise CollectError(f"`{word}` does not exist in this revision: check `cmd`, or add a `build` that makes it", lasting=True)
    if found := shutil.which(word, path=env.get("PATH", os.defpath)):
        return str(Path(found).absolute())
    hint = f": did you mean `./{word}`?" if (folder / word).exists() else ": install it, or write its path"
    raise CollectError(f"`{word}` is not on PATH{hint}", lasting=True)


def only_here(words: Sequence[str], folder: Path, root: Path) -> str:
    """The first of some words that is a file or folder of the working tree at ``root``, but not of a checkout of it; with the cure."""
    for word in words:
        inside = word and not Path(word).is_absolute() and ".." not in Path(word).parts
        if inside and os.path.lexists(root / word) and not os.path.lexists(folder / word):
            name = shorten(word)
            return f"`{name}` is in the working tree, but not in a checkout: let `build` make it, name it in `overlay`, or `git add` it"
    return ""
