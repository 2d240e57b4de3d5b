"""The program that a command names: found as a shell would, but in the measured revision's own folder and environment."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from perfvcs.collector import CollectError
from perfvcs.collectors._shared.interpreter import INTERPRETER_NAME
from perfvcs.text.characters import shorten

HEAD_BYTES = 512  # of a script, which show what runs it


def resolve(word: str, folder: Path, env: Mapping[str, str], root: Path | None = None, python: Path | None = None) -> str:
    """The absolute path of a program; raises CollectError with the cure when there is none.

    ``root`` is the working tree that a checkout in ``folder`` is of. Where the virtual environment ``python`` is active, neither is
    what would run in another Python of PATH.
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
        program = Path(found).absolute()
        if python is not None and not program.is_relative_to(python) and _is_elsewhere(program):
            raise CollectError(
                f"`{word}` is not in the virtual environment, and {program} runs in another Python: "
                "name what brings it in [python] requires, or write its path",
                lasting=True,
            )
        return str(program)
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


def _is_elsewhere(program: Path) -> bool:
    """Whether a program of PATH is a Python, runs in a certain one, or leads to one, as pyenv's do."""
    if INTERPRETER_NAME.fullmatch(program.name):
        return True
    try:
        with program.open("rb") as file:
            head = file.read(HEAD_BYTES).decode(errors="replace")
    except OSError:
        return False
    first = head.partition("\n")[0].removeprefix("#!").split()
    if not head.startswith("#!") or not first:
        return False
    # what asks `env` for its interpreter gets the environment's
    return bool(INTERPRETER_NAME.fullmatch(Path(first[0]).name)) or "pyenv" in head
