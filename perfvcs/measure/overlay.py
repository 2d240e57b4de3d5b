"""The overlay: the newest configuration's own files, laid over every checkout."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

from perfvcs.errors import UsageError, system_reason
from perfvcs.measure.builds import BuildError
from perfvcs.system.disk import remove


def lay(root: Path, folder: Path, entry: str) -> str:
    """Copies an entry of the newest files over a checkout; returns its SHA-256's start."""
    source, place = overlay_source(root, entry)
    target = folder / place
    if not target.parent.resolve().is_relative_to(folder.resolve()):
        raise BuildError(
            f"overlay `{entry}` would leave the checkout through a symbolic link of this revision"
        )
    try:
        remove(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        # a link becomes what it leads to, since the revision may not have that
        if source.is_dir():
            shutil.copytree(
                source, target, symlinks=True, ignore=shutil.ignore_patterns("__pycache__", ".git")
            )
        else:
            shutil.copy2(source, target)
    except (FileExistsError, NotADirectoryError):
        raise BuildError(
            f"overlay `{entry}` has no place in this revision, where a folder above it is a file"
        ) from None
    except shutil.Error as error:
        raise BuildError(
            f"overlay `{entry}` cannot be copied: {system_reason(error)}: take that out of it"
        ) from None
    return _content(source)


def overlay_source(root: Path, entry: str) -> tuple[Path, Path]:
    """What an entry of the overlay means, through links, and its place; raises UsageError."""
    place = Path(os.path.normpath(entry))
    source = (root / place).resolve()
    inside = (
        source.relative_to(root.resolve()).parts if source.is_relative_to(root.resolve()) else ()
    )
    if (
        not inside
        or place.is_absolute()
        or ".." in place.parts
        or {".git", ".perf"}.intersection((inside[0], place.parts[0]))
    ):
        raise UsageError(
            f"perf.toml: overlay `{entry}` is not part of the project: name a file or folder of it"
        )
    if not source.exists():
        raise UsageError(f"perf.toml: overlay `{entry}` does not exist: create it or take it out")
    return source, place


def files_of(path: Path) -> list[Path]:
    """A file, or what is below a folder in order, compiled Python left out."""
    if path.is_file():
        return [path]
    return sorted(file for file in path.rglob("*") if "__pycache__" not in file.parts)


def _content(path: Path) -> str:
    """16 hex digits over names and contents of a file or folder, compiled Python left out."""
    digest = hashlib.sha256()
    for file in files_of(path):
        # a link in a folder stays one, and leads to the revision's own
        if file.is_symlink():
            content = os.fsencode(file.readlink())
        elif file.is_file():
            content = file.read_bytes()
        else:
            continue
        digest.update(
            f"{file.relative_to(path).as_posix()}\0{len(content)}\0".encode(
                "utf-8", "surrogateescape"
            )
        )
        digest.update(content)
    return digest.hexdigest()[:16]
