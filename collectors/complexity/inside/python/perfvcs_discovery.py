"""Times all functions of a project in one execution, so that those worth recording are found; the
main thread's only.
"""

from __future__ import annotations

import atexit
import os
import sys
from _lsprof import Profiler

TYPE_CHECKING = False
if TYPE_CHECKING:
    from perfvcs.collectors.complexity.inside.python.perfvcs_hook import NoteLines

MOST_FUNCTIONS = 200  # functions that are listed
ELSEWHERE = ("site-packages", "dist-packages")


def start(notes: NoteLines, root: str) -> None:
    """Time functions of files below ``root`` until the interpreter exits, then tell the slowest:
    file, line, module, calls, ns.
    """
    profiler = Profiler()
    root = os.path.realpath(root) + os.sep
    library = os.path.realpath(os.path.dirname(os.__file__)) + os.sep  # noqa: PTH120

    def stop() -> None:
        profiler.disable()
        modules = {
            getattr(module, "__file__", None): name for name, module in list(sys.modules.items())
        }
        timed = []
        for entry in profiler.getstats():
            if isinstance(entry.code, str):  # of C
                continue
            path = entry.code.co_filename
            real = os.path.realpath(path)
            if (
                not real.startswith(root)
                or real.startswith(library)
                or any(name in real for name in ELSEWHERE)
            ):
                continue
            if entry.code.co_name != "<module>":
                name = modules.get(path, modules.get(real, ""))
                timed.append(
                    (entry.totaltime, real, entry.code.co_firstlineno, name, entry.callcount)
                )
        for seconds, path, line, name, calls in sorted(timed, reverse=True)[:MOST_FUNCTIONS]:
            notes.tell("timed", path, line, name, calls, round(seconds * 1e9))

    atexit.register(stop)
    profiler.enable()
