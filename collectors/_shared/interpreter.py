"""What a command's first word is: a Python interpreter, a script that asks for one, or neither."""

from __future__ import annotations

import re
from pathlib import Path

INTERPRETER_NAME = re.compile(r"(python|pypy)[\d.]*t?(-dbg)?")
SHEBANG_BYTES = 512  # bytes of a script's first line


def is_python(program: str) -> bool:
    """Whether it runs in Python: an interpreter, a ``.py`` file, or a script whose first line names one."""
    if INTERPRETER_NAME.fullmatch(Path(program).name) or program.endswith(".py"):
        return True
    try:
        with open(program, "rb") as file:
            first = file.readline(SHEBANG_BYTES).decode(errors="replace")
    except OSError:
        return False
    return first.startswith("#!") and any(INTERPRETER_NAME.fullmatch(Path(word).name) for word in first[2:].split())
