"""Which functions of a project a Python program runs: recorded in its interpreter, and read
here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from perfvcs.collectors._shared.commandrun import python_path, read_at_most
from perfvcs.collectors._shared.functions.inside import FUNCTIONS_INSIDE
from perfvcs.plugins.collector import CollectError, Run
from perfvcs.profile import Reached
from perfvcs.profile.validity import MAX_NAME

NAMELESS_CODE = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>", "<lambda>")
MODULE = "<module>"
# among the functions of a unit that started processes, whose own functions nobody saw
PROCESSES = "(processes)"
# what goes on PYTHONPATH
PYTHON_PATHS, START = FUNCTIONS_INSIDE / "python", FUNCTIONS_INSIDE / "start"
LARGEST_FUNCTION_LIST = 1 << 26  # bytes of what an interpreter wrote


def recording(run: Run, path: Path) -> dict[str, str]:
    """The environment in which a Python program leaves the functions that it runs in the file
    ``path``.
    """
    before = run.env.get("PYTHONPATH")
    asked = [str(run.cwd), str(path), *([] if before is None else [before])]
    added = python_path(run.env, START, PYTHON_PATHS)
    return {**run.env, "PYTHONPATH": added, "PERFVCS_FUNCTIONS": "\n".join(asked)}


def recorded(path: Path, uid: str) -> Reached | None:
    """What a program left, of a single unit; None where it left nothing that makes sense."""
    try:
        content = read_at_most(path, LARGEST_FUNCTION_LIST)
    except CollectError:
        return None
    first, *lines = content.decode(errors="replace").split("\n")
    if (
        len(content) > LARGEST_FUNCTION_LIST
        or first not in ("", "processes")
        or not lines
        or lines[-1]
    ):
        return None
    rows = [line.partition("\t") for line in lines[:-1]]
    if not all(file and name and name.isprintable() and _is_inside(file) for file, _, name in rows):
        return None
    names = {f"{file}:{trimmed(name)}"[:MAX_NAME] for file, _, name in rows} | (
        {PROCESSES} if first else set()
    )
    return reached({uid: names})


def reached(sets: Mapping[str, Iterable[str]]) -> Reached:
    """The functions of units, by their names."""
    functions = sorted(set().union(*sets.values()))
    number = {name: place for place, name in enumerate(functions)}
    return Reached(
        functions, {uid: sorted(number[name] for name in names) for uid, names in sets.items()}
    )


def trimmed(name: str) -> str:
    """The qualified name of what encloses a comprehension, which ran with it."""
    parts = name.split(".")
    while parts and parts[-1] in (*NAMELESS_CODE, "<locals>"):
        parts.pop()
    return ".".join(parts) or MODULE


def _is_inside(file: str) -> bool:
    return file.isprintable() and not file.startswith("/") and ".." not in PurePosixPath(file).parts
