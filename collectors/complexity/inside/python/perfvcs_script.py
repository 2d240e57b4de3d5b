"""The program that an interpreter was told to run, and how its functions get their probes where no
loader is asked for its code.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FrameType
    from typing import Any

    from perfvcs.collectors.complexity.inside.python.perfvcs_hook import RecordingHook

MAIN = "__main__"
MAINS = (MAIN, "__mp_main__")  # the second is what multiprocessing's children call it
SPAWNED = ("from multiprocessing.spawn ", "from multiprocessing.forkserver ")
WITH_VALUE = "WX"  # options of the interpreter that take the next argument


class Script:
    """What the command line names: ``kind`` is ``script``, ``module``, ``command``, or empty for
    the standard input.
    """

    def __init__(self, hook: RecordingHook) -> None:
        self.hook = hook
        self.kind, self.text = command_line()

    def is_module(self, name: str) -> bool:
        """Whether a module that is about to be loaded is the main program."""
        return name == MAIN or (
            self.kind == "module" and name in (self.text, f"{self.text}.__main__")
        )

    def install(self) -> None:
        """Wait for the main program where it has functions to be recorded."""
        script = self.kind == "script" and self.hook.entries(stem(self.text), main=True)
        command = self.kind == "command" and (
            self.text.startswith(SPAWNED) or MAIN in self.hook.wanted
        )
        if script or command:
            sys.setprofile(self.wait)

    def wait(self, frame: FrameType, event: str, _: object) -> None:
        """Put probes into the main program at its very first step: its functions are constants of
        its code until it makes them.
        """
        if (
            event != "call"
            or frame.f_code.co_name != "<module>"
            or frame.f_globals.get("__name__") not in MAINS
        ):
            return
        code = frame.f_code
        spawner = self.kind == "command" and self.text.startswith(SPAWNED)
        if spawner and code.co_filename == "<string>":
            return
        sys.setprofile(None)
        entries = self.hook.entries(stem(code.co_filename), main=True)
        if not entries:
            return
        try:
            source: Any = self.text
            if code.co_filename != "<string>":
                with open(code.co_filename, "rb") as file:
                    source = file.read()
        except OSError:
            return
        new = self.hook.rewritten(MAIN, source, code.co_filename, entries, quiet=True)
        try:
            if new is not None and not transplant(code, new):
                self.hook.notes.tell("failed", MAIN, "the file is not what runs")
        except ImportError:
            self.hook.notes.tell(
                "failed",
                MAIN,
                "this Python has no ctypes: have a script of two lines import and call what is to"
                " be recorded",
            )


def transplant(old: CodeType, new: CodeType) -> bool:
    """Replace the functions among the constants of code that is about to run; False when it is of
    another source, or has them elsewhere.
    """
    if old.co_code != new.co_code or len(old.co_consts) != len(new.co_consts):
        return False
    from _ctypes import Py_INCREF, _SimpleCData, sizeof

    class Pointer(_SimpleCData):  # type: ignore[type-arg]
        _type_ = "P"

    first = id(old.co_consts) + tuple.__basicsize__
    items = [
        Pointer.from_address(first + index * sizeof(Pointer)) for index in range(len(old.co_consts))
    ]
    if [item.value for item in items] != [id(value) for value in old.co_consts]:
        return False  # an interpreter that keeps them in another way
    for index, value in enumerate(new.co_consts):
        if isinstance(value, type(new)):
            # The tuple gives its reference to the new value away when it dies; that to the old one
            # is lost, once per function.
            Py_INCREF(value)
            items[index].value = id(value)
    return True


def command_line() -> tuple[str, str]:
    """How this interpreter was told what to run: ``script``, ``module`` or ``command``, and that;
    empty for its standard input.

    sys.argv is not set yet when sitecustomize runs.
    """
    arguments = list(getattr(sys, "orig_argv", ()))
    if not arguments:  # Python 3.9
        with open("/proc/self/cmdline", "rb") as file:
            arguments = [os.fsdecode(part) for part in file.read().split(b"\0")[:-1]]
    rest = arguments[1:]
    while rest:
        word = rest.pop(0)
        if word.startswith("--"):
            if word == "--check-hash-based-pycs" and rest:
                rest.pop(0)
            continue
        if not word.startswith("-") or word == "-":
            return ("script", word) if word != "-" else ("", "")
        for position, letter in enumerate(word[1:], 2):
            if letter in "cm":
                value = word[position:] or (rest[0] if rest else "")
                return ("command" if letter == "c" else "module"), value
            if letter in WITH_VALUE:
                if not word[position:] and rest:
                    rest.pop(0)
                break
    return "", ""


def stem(path: str) -> str:
    """The name under which one would import a script."""
    return os.path.basename(path).rpartition(".py")[0] or os.path.basename(path)  # noqa: PTH119
