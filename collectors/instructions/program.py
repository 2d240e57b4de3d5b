"""Checks of the program before a tool starts it, since a tool reports less clearly what the system would refuse."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path

from perfvcs.collector import CollectError
from perfvcs.launcher.execution import not_started

SHEBANG_BYTES = 512  # bytes in which a script names its interpreter


def check_program(argv: Sequence[str]) -> None:
    """Raises CollectError, in the launcher's own words, if the system would not start ``argv``."""
    program = Path(argv[0])
    if not program.exists():
        raise CollectError(str(not_started(argv, errno.ENOENT)), lasting=True)
    if program.is_dir() or not os.access(program, os.X_OK):
        raise CollectError(str(not_started(argv, errno.EACCES)), lasting=True)
    try:
        with program.open("rb") as file:
            first = file.readline(SHEBANG_BYTES)
    except OSError:  # one that may be executed but not read
        return
    named = first[2:].split(maxsplit=1)
    if first[:2] == b"#!" and named and not os.path.exists(named[0]):  # noqa: PTH110
        raise CollectError(str(not_started(argv, errno.ENOENT)), lasting=True)
    if first[:2] != b"#!" and first[:4] != b"\x7fELF":  # a tool would give it to a shell
        raise CollectError(str(not_started(argv, errno.ENOEXEC)), lasting=True)
