"""Who commits to the store."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

NOBODY = ("perfvcs", "perfvcs@localhost")
LOCAL = ("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_CONFIG", "GIT_INDEX_FILE")


def identity(folder: Path) -> str:
    """The name and mail, ``Name <mail>``, from git's environment, else the settings of the project around ``folder``, else nobody's."""
    found = {key: os.environ.get(f"GIT_COMMITTER_{key}") or os.environ.get(f"GIT_AUTHOR_{key}") for key in ("NAME", "EMAIL")}
    if not all(found.values()):
        command = ["git", "-C", str(folder), "config", "--null", "--get-regexp", r"^user\.(name|email)$"]
        env = {
            name: value for name, value in os.environ.items() if name not in LOCAL
        }  # inside a hook they name another repository
        output = subprocess.run(command, env=env, capture_output=True, check=False).stdout.decode(errors="replace")
        settings = dict(entry.split("\n", 1) for entry in output.split("\0") if "\n" in entry)
        found = {key: value or settings.get(f"user.{key.lower()}") for key, value in found.items()}
    name, mail = (re.sub(r"[<>\n\0]+", "", found[key] or "").strip() for key in ("NAME", "EMAIL"))
    return f"{name or NOBODY[0]} <{mail or NOBODY[1]}>"
