"""Which commit of perfvcs this is."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path

from perfvcs.errors import PerfError

CHECKOUT = Path(__file__).resolve().parents[2]
OWN_CODE = ("perfvcs", "collectors", "postprocessors", "views")


def commit() -> str:
    """The full id, with a ``+`` behind it where files of the code were changed or added; empty
    where it is not known.

    A package names the commit that it was built from (setup.py), a checkout that is run from where
    it stands its own.
    """
    try:
        return str(import_module("perfvcs._built").COMMIT)
    except ImportError:
        return _checked_out(CHECKOUT)


@cache
def _checked_out(checkout: Path) -> str:
    from perfvcs.git.command import git

    if not (checkout / ".git").exists():
        return ""
    try:
        status = git(checkout, "status", "--porcelain=v2", "--branch", "--", *OWN_CODE)
    except PerfError:  # git is missing, or the checkout is another user's
        return ""
    lines = status.splitlines()
    (name,) = (line.split()[2] for line in lines if line.startswith("# branch.oid "))
    changed = any(not line.startswith("# ") for line in lines)
    return f"{name}+" if changed else name
