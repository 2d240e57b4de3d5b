"""Who commits to the store."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

from perfvcs.git.command import GitError, git

NOBODY = ("perfvcs", "perfvcs@localhost")


def identity(folder: Path) -> str:
    """The name and mail, ``Name <mail>``, from git's environment, else the settings of the project around ``folder``, else nobody's."""
    found = {key: os.environ.get(f"GIT_COMMITTER_{key}") or os.environ.get(f"GIT_AUTHOR_{key}") for key in ("NAME", "EMAIL")}
    if not all(found.values()):
        given = {
            name: value for name, value in os.environ.items() if name.startswith("GIT_CONFIG_")
        }  # by `git -c`, around a hook
        settings: dict[str, str] = {}
        with suppress(GitError):
            listed = git(folder, "config", "--null", "--get-regexp", r"^user\.(name|email)$", extra=given)
            settings = dict(entry.split("\n", 1) for entry in listed.split("\0") if "\n" in entry)
        found = {key: value or settings.get(f"user.{key.lower()}") for key, value in found.items()}
    name, mail = (re.sub(r"[<>\n\0]+", "", found[key] or "").strip() for key in ("NAME", "EMAIL"))
    return f"{name or NOBODY[0]} <{mail or NOBODY[1]}>"
