"""What a server may run: the commands of perf.toml as they were when it began."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from typing import TYPE_CHECKING

from perfvcs.errors import PerfError, UsageError
from perfvcs.git.blobs import CommittedFiles
from perfvcs.profile.rules import LARGEST_RULES, RULES_FILE
from perfvcs.system.foreign import content

if TYPE_CHECKING:
    from perfvcs.git.project import Project

CURE = (
    "{file}, which says what commands run, is not what it was when this server began: look at it,"
    " then restart the server, or let it begin with `perf mcp --trust-config`"
)


class TrustedSettings:
    """perf.toml in the working tree and at HEAD, as both were at the beginning.

    ``trusting``: whatever it says later may run, too.
    """

    def __init__(self, project: Project, *, trusting: bool = False) -> None:
        self._project, self._trusting = project, trusting
        self._allowed = {*self._present()}

    def require(self, base: str = "HEAD") -> None:
        """Raises UsageError where another perf.toml would be obeyed, that of ``base`` too."""
        if not self._trusting and not {*self._present(base)} <= self._allowed:
            raise UsageError(CURE.format(file=RULES_FILE))

    def _present(self, base: str = "HEAD") -> list[str]:
        """The digests of the files that would be obeyed now; a file that is missing says nothing,
        nor does a commit that is: the command itself says so.
        """
        texts = [b""]
        with suppress(OSError):
            texts.append(content(self._project.root / RULES_FILE, LARGEST_RULES + 1))
        with suppress(PerfError):
            files, commit = CommittedFiles(self._project), self._project.resolve(base)
            texts.append((files.text(commit, RULES_FILE, LARGEST_RULES) or "").encode())
        return [hashlib.sha256(text.rstrip()).hexdigest() for text in texts]
