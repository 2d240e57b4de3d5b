"""The functions of a compiled program that ran, by the names that they have in it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from perfvcs.collectors._shared import frames
from perfvcs.collectors._shared.functions import PROCESSES, reached
from perfvcs.collectors._shared.interpreter import is_python
from perfvcs.collectors.instructions.functions import UNKNOWN_NAMES
from perfvcs.validity import MAX_NAME

if TYPE_CHECKING:
    from perfvcs.collector import Run
    from perfvcs.collectors.instructions.counts import Counts
    from perfvcs.profile import Reached

SYMBOL = "(compiled):"  # before the name of a function whose file is not known
ENTRY = "main"
LINKED = ".lto_priv"  # in names of programs that were optimised when they were linked


def symbols(run: Run, counts: Counts) -> Reached | None:
    """The functions in the project's own programs and libraries; None where their names do not tell, as in a stripped program.

    A program of others that ran, too, such as a shell, may have run any file of the project.
    """
    if is_python(run.argv[0]):
        return None
    names, others = set[str](), False
    for context in counts.contexts:
        if context.image in UNKNOWN_NAMES or context.name in UNKNOWN_NAMES:
            continue
        if Path(context.image).is_relative_to(run.cwd):
            names.add(context.name)
        elif ".so" not in Path(context.image).name:
            others = True
    if ENTRY not in names or any(LINKED in name for name in names):
        return None
    found = {f"{SYMBOL}{frames.function(name)}"[:MAX_NAME] for name in names if not frames.ADDRESS_NAME.fullmatch(name)}
    return reached({run.uid: found | ({PROCESSES} if others else set())})
