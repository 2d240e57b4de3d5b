"""The program that a command names: found as a shell would, but in the measured revision's own folder and environment."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from perfvcs.collector import CollectError


def resolve(word: str, folder: Path, env: Mapping[str, str]) -> str:
    """The absolute path of a program; raises CollectError with the cure when there is none."""
    if "/" in word:
        path = folder / word
        if path.is_file() and os.access(path, os.X_OK):
            return str(path)
        if path.is_dir():
            raise CollectError(f"`{word}` is a folder, not a program", lasting=True)
        if path.exists():
            raise CollectError(f"`{word}` is not executable: chmod +x it, or name its interpreter in `cmd`", lasting=True)
        raise CollectError(f"`{word}` does not exist in this revision: check `cmd`, or add a `build` that makes it", lasting=True)
    if found := shutil.which(word, path=env.get("PATH", os.defpath)):
        return str(Path(found).absolute())
    hint = f": did you mean `./{word}`?" if (folder / word).exists() else ": install it, or write its path"
    raise CollectError(f"`{word}` is not on PATH{hint}", lasting=True)
