"""The staging area, which git calls its index: the paths in it, as far as its bytes show them without starting a process."""

from __future__ import annotations

from pathlib import Path

VERBATIM = (2, 3)  # versions of the index that have every path in full; the fourth leaves out what the path before it has, too


def lacks(git_dir: Path, name: str) -> bool:
    """Whether nothing in the index of a working tree has such a name (ASCII, in any case); False if only git can tell."""
    try:
        # with core.splitIndex most entries are in a second file
        if not (git_dir / "HEAD").is_file() or any(git_dir.glob("sharedindex.*")):
            return False
        index = (git_dir / "index").read_bytes()
    except FileNotFoundError:  # nothing was added yet
        return True
    except OSError:
        return False
    whole = index[:4] == b"DIRC" and int.from_bytes(index[4:8], "big") in VERBATIM
    return whole and name.lower().encode() not in index.lower()
