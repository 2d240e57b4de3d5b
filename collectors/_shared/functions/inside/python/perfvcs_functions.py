"""Which functions of the project run: by ``sys.monitoring`` from Python 3.12 on, else by
``sys.setprofile``.
"""

from __future__ import annotations

import os
import sys
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FrameType
    from typing import Any

    # file below the project's root, qualified name, first line
    ProjectFunction = tuple[str, str, int]
    Codes = dict[int, CodeType]  # by identity: equal ones of different files are not the same

SOURCES = ("", "src", "lib")  # where the files of an installed package stand in its project
MODULE = "<module>"
PACKAGES = ("site-packages", "dist-packages")
# events that Python audits
STARTS = "subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system", "os.exec"
STARTING = os.path.join("multiprocessing", "process.py"), "start"  # noqa: PTH118 - Python audits it only where it forks
# stands among the code that ran for a process that was started
STARTED = compile("", "<processes>", "exec")


class RunningCode:
    """Collects the code that runs; ``swap`` begins anew."""

    def __init__(self, root: str) -> None:
        self._root = os.path.realpath(root)
        self._files: dict[str, str | None] = {}
        self._seen: Codes = {}
        self._tool: int | None = None
        self._starts: dict[str, object] = dict.fromkeys(STARTS)

    def install(self) -> str:
        """Begin; returns the engine."""
        # each id() is an event: no Python code may run for it, so the dictionary itself loses the
        # events that occur
        sys.addaudithook(self._starts.pop)
        monitoring: Any = getattr(sys, "monitoring", None)
        free = [
            number
            for number in (4, 3, 5, 2, 1, 0)
            if monitoring and monitoring.get_tool(number) is None
        ]
        if free:
            self._tool = free[0]
            monitoring.use_tool_id(self._tool, "perfvcs")
            monitoring.register_callback(self._tool, monitoring.events.PY_START, self._started)
            monitoring.set_events(self._tool, monitoring.events.PY_START)
            return "monitoring"
        threading.setprofile(self._called)
        sys.setprofile(self._called)
        return "setprofile"

    def remove(self) -> None:
        """End."""
        if self._tool is not None:
            monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
            monitoring.set_events(self._tool, 0)
            monitoring.free_tool_id(self._tool)
            self._tool = None
        else:
            threading.setprofile(None)
            sys.setprofile(None)

    def swap(self, seen: Codes | None = None) -> Codes:
        """Collect into ``seen``, or into something new, from now on; returns what was collected
        until now.
        """
        if len(self._starts) < len(STARTS):
            self._seen[id(STARTED)] = STARTED
            self._starts.update(dict.fromkeys(STARTS))
        before, self._seen = self._seen, {} if seen is None else seen
        if self._tool is not None:
            sys.monitoring.restart_events()  # type: ignore[attr-defined,unused-ignore]
        return before

    def places(self, codes: Codes) -> set[ProjectFunction]:
        """File below the project's root, qualified name and first line of code that is the
        project's.

        Before Python 3.11 only modules have a name, and comprehensions are left out.
        """
        functions = set()
        for code in codes.values():
            path = self._file(code.co_filename)
            name = getattr(code, "co_qualname", code.co_name if code.co_name == MODULE else "")
            if path is not None and (name or not code.co_name.startswith("<")):
                functions.add((path, name, code.co_firstlineno))
        return functions

    def processes(self, codes: Codes) -> bool:
        """Whether processes were started, in which other functions may have run; none that C code
        starts by itself is known.
        """
        file, name = STARTING
        return id(STARTED) in codes or any(
            code.co_name == name and code.co_filename.endswith(file) for code in codes.values()
        )

    def _started(self, code: CodeType, offset: int) -> Any:  # noqa: ARG002
        self._seen[id(code)] = code
        return sys.monitoring.DISABLE  # type: ignore[attr-defined,unused-ignore]

    def _called(self, frame: FrameType, event: str, argument: object) -> None:  # noqa: ARG002
        if event == "call":
            self._seen[id(frame.f_code)] = frame.f_code

    def _file(self, name: str) -> str | None:
        if name not in self._files:
            self._files[name] = self._find(name)
        return self._files[name]

    def _find(self, name: str) -> str | None:
        """The file in the project; that of an installed package is the one which the project has in
        the same place.
        """
        if name.startswith("<"):
            return None
        path = os.path.realpath(name)
        for folder in PACKAGES:
            _, separator, inner = path.rpartition(f"{os.sep}{folder}{os.sep}")
            if separator:
                places = (os.path.join(source, inner) for source in SOURCES)  # noqa: PTH118 - these are strings
                return next(
                    (place for place in places if os.path.isfile(os.path.join(self._root, place))),  # noqa: PTH113, PTH118
                    None,
                )
        return path[len(self._root) + 1 :] if path.startswith(self._root + os.sep) else None
