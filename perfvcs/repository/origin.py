"""Which commit of perfvcs this is."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from perfvcs.errors import PerfError

CHECKOUT = Path(__file__).resolve().parents[2]


def commit() -> str:
    """The full id, with a ``+`` behind it where the files were changed; empty where it is not
    known.

    A package names the commit that it was built from (setup.py), a checkout that is run from where
    it stands its own.
    """
    try:
        return str(import_module("perfvcs._built").COMMIT)
    except ImportError:
        from perfvcs.git.command import git

        if not (CHECKOUT / ".git").exists():
            return ""
        try:
            return git(CHECKOUT, "rev-parse", "HEAD") + (
                "+" if git(CHECKOUT, "status", "--porcelain", "-uno") else ""
            )
        except PerfError:  # git is missing, or the checkout is another user's
            return ""
