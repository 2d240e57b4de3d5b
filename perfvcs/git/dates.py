"""When commits were made, of many commits one after the other, through one git process."""

from __future__ import annotations

import re
import subprocess
from datetime import UTC, datetime
from pathlib import Path

from perfvcs.git.command import start

OBJECT_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
AUTHOR = re.compile(rb"^author [^\n]*> (-?\d{1,10}) [+-]\d{4}$", re.MULTILINE)


class CommitDates:
    """Asks git as it is asked, and remembers the answers; ``close`` ends it."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._process: subprocess.Popen[bytes] | None = None
        self.known: dict[str, str | None] = {}

    def of(self, commit: str) -> str | None:
        """The author's date in UTC, ISO 8601; None if the commit is not in the repository."""
        if commit not in self.known:
            self.known[commit] = self._asked(commit) if OBJECT_ID.fullmatch(commit) else None
        return self.known[commit]

    def close(self) -> None:
        """End git."""
        if self._process is not None:
            with self._process:
                assert self._process.stdin is not None
                self._process.stdin.close()
            self._process = None

    def _asked(self, commit: str) -> str | None:
        if self._process is None:
            # what is not there is not fetched either
            self._process = start(
                "cat-file", "--batch", hardened=False, folder=self._root, extra={"GIT_NO_LAZY_FETCH": "1"},
                stdin=subprocess.PIPE, stderr=subprocess.DEVNULL,
            )  # fmt: skip
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        stdin.write(f"{commit}\n".encode())
        stdin.flush()
        words = stdout.readline().split()
        if len(words) != 3:  # missing
            return None
        content = stdout.read(int(words[2]) + 1)
        found = AUTHOR.search(content.partition(b"\n\n")[0]) if words[1] == b"commit" else None
        return f"{datetime.fromtimestamp(int(found[1]), UTC):%Y-%m-%dT%H:%M:%SZ}" if found else None
