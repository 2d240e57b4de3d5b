"""Modules in C for the interpreter that a command starts, compiled for it."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile

from perfvcs.collectors._shared.commandrun import shebang
from perfvcs.launcher.preparation import CommandFailed, run
from perfvcs.native.compiled import NotCompiled, compiled
from perfvcs.plugins.collector import Run

QUESTION = """
import _imp, sysconfig
free = sysconfig.get_config_var("Py_GIL_DISABLED") or 0
include, here = sysconfig.get_path("include"), sysconfig.get_path("platinclude")
print(_imp.extension_suffixes()[0], free, include, here, sep="\\n")
"""
ANSWER_SECONDS = 20.0  # seconds for an interpreter to answer


def extension(run: Run, source: Path) -> tuple[list[tuple[str, Path]], str | None]:
    """The compiled module with the tag of the interpreters that can load it, in a list that is
    empty where there is none; and why.
    """
    program = interpreter(run.argv, run.env)
    if program is None:
        return [], None
    return _extension(program, run.cwd, tuple(sorted(run.env.items())), source)


def interpreter(argv: tuple[str, ...], env: Mapping[str, str]) -> str | None:
    """The interpreter that a command starts, judged by its first word or that script's first line;
    None for other programs.
    """
    program = argv[0]
    words = shebang(program)
    if words is None:
        return None
    if words and Path(words[0]).name == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
        words[:1] = [shutil.which(words[0], path=env.get("PATH")) or ""] if words else []
    # a shell script that starts Python, such as those of pyenv, is asked itself
    named = words[0] if words and "python" in Path(words[0]).name else program
    return named if "py" in Path(named).name else None


@cache
def _extension(
    program: str, folder: Path, env: tuple[tuple[str, str], ...], source: Path
) -> tuple[list[tuple[str, Path]], str | None]:
    command = [program, "-I", "-c", QUESTION]
    with TemporaryFile() as output:
        try:
            run(command, cwd=folder, env=dict(env), timeout=ANSWER_SECONDS, output=output)
            output.seek(0)
            lines = output.read().decode().splitlines()
        except (CommandFailed, UnicodeDecodeError):
            return [], None
    if len(lines) != 4 or not lines[0].startswith("."):
        return [], None
    tag, free, *includes = lines
    if free == "1":  # loading the module would turn the lock on, and change what the program does
        return [], f"{program} is a Python without a global lock, which the recorder in C needs"
    try:
        module = compiled(
            source, flags=[f"-I{include}" for include in dict.fromkeys(includes)], shared=True
        )
    except NotCompiled as error:
        return [], str(error)
    return [(tag, module)], None
