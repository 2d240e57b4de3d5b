"""What records in this process, and what stands in the bodies of the functions that it records."""

from __future__ import annotations

import atexit
import os
import sys
from time import perf_counter_ns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from perfvcs.collectors.complexity.inside.python.perfvcs_hook import NoteLines, _module
    from perfvcs.collectors.complexity.inside.python.perfvcs_rewrite import RecordedFunction

imports: Any = sys.modules["_frozen_importlib_external"]
nan, inf = float("nan"), float("inf")
CALIBRATION_BLOCKS, CALLS = 7, 500  # of the calibration


class Parts:
    """What the body of one function refers to."""


class Instruments:
    """The recorder, in C where there is a module for this interpreter (``extensions``: by the
    ending of their names).
    """

    def __init__(
        self, notes: NoteLines, keep: int, *, outermost: bool, extensions: dict[str, str]
    ) -> None:
        self.notes = notes
        self.failures: set[int] = set()
        self.recorder: Any
        tracer = self._extension(extensions)
        if tracer is None:
            make = _module("perfvcs_probe").Recording
            self.recorder = make(lambda: notes.path("calls", ".bin"), keep, outermost=outermost)
            # what taking a row costs is charged when it is taken
            trial = make(lambda: "", 1, outermost=outermost, due=inf)
        else:
            _module("perfvcs_awaits").Iterator = tracer.iterator
            self.recorder = trial = _module("perfvcs_native").Recorder(
                tracer, notes.folder, str(notes.start), keep, outermost=outermost
            )
        self.recorder.set_costs(*calibrate(trial))
        notes.tell("engine", self.recorder.engine)
        if tracer is None:  # its rows are in memory
            atexit.register(self.recorder.save)
            os.register_at_fork(after_in_child=self.recorder.forget)
            for name in ("_exit", "execv", "execve"):
                setattr(os, name, self._saving(getattr(os, name)))

    def _extension(self, extensions: dict[str, str]) -> Any:
        """The recorder in C; None when there is none for this interpreter, or it cannot be
        loaded.
        """
        import _imp

        name = "perfvcs_tracer"
        path = extensions.get(_imp.extension_suffixes()[0])
        if path is None:
            return None
        try:
            loader = imports.ExtensionFileLoader(name, path)
            module = loader.create_module(
                imports.spec_from_file_location(name, path, loader=loader)
            )
            loader.exec_module(module)
        except (ImportError, OSError) as error:
            self.notes.tell("slow", _module("perfvcs_sizes").describe(error))
            return None
        return module

    def _saving(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """The function, which ends this process without its exit handlers, after the records are
        written.
        """

        def ending(*args: Any, **kwargs: Any) -> Any:
            self.recorder.save()
            return original(*args, **kwargs)

        ending.__name__ = ending.__qualname__ = original.__name__
        ending.__doc__ = original.__doc__
        return ending

    def instrument(
        self, entry: RecordedFunction, names: list[str], node: Any, enclosing: str
    ) -> Any:
        """What stands in the body of a function."""
        sizes, awaits = _module("perfvcs_sizes"), _module("perfvcs_awaits")
        probe = self.recorder.probe(entry.index)
        parts: Any = Parts()
        for name in ("entering", "limited", "leaving", "begin", "pause", "current"):
            setattr(parts, name, getattr(probe, name))
        for name in ("resume", "awaiting", "delegate", "iterating", "managing"):
            setattr(parts, name, getattr(awaits, name))

        def tell_error(error: BaseException) -> None:
            if entry.index not in self.failures:
                self.failures.add(entry.index)
                self.notes.tell("error", entry.index, sizes.describe(error))

        def failed() -> bool:
            error = sys.exc_info()[1]
            assert error is not None
            if not sizes.of_program(error):
                tell_error(error)
                probe.enter(nan)
                return False
            probe.interrupted(sys._getframe(1))
            return True

        def tell_guess(expression: str, *, ambiguous: bool) -> None:
            self.notes.tell("guess", entry.index, expression, int(ambiguous))

        parts.failed = failed
        if entry.size:
            parts.size = sizes.measured(entry.size, names, enclosing, tell_error, self.recorder)
        else:
            method = (
                bool(enclosing)
                and bool(names)
                and not any(_name(one) == "staticmethod" for one in node.decorator_list)
            )
            last = [one.arg for one in (node.args.vararg, node.args.kwarg) if one is not None]
            parts.size = probe.guessing(
                sizes.Guess(
                    names, last, method=method, len_method=node.name == "__len__", report=tell_guess
                )
            )
        self.notes.tell("defined", entry.index, node.lineno)
        return parts


def calibrate(recorder: Any) -> tuple[float, float]:
    """What a probe with a size takes inside the call that it measures (median), and in all (least
    of some blocks); in ns.

    Other programs can only make a block take longer, and what is subtracted in excess would make
    durations zero.
    """
    rewrite = _module("perfvcs_rewrite")
    probe = recorder.probe(0, stored=False)
    parts: Any = Parts()
    parts.entering, parts.limited, parts.leaving, parts.failed = (
        probe.entering,
        probe.limited,
        probe.leaving,
        None,
    )
    entries = {"f": [rewrite.RecordedFunction(0, "f", 0, "len(x)")]}
    space: dict[str, Any] = {}
    exec(
        rewrite.rewrite(
            "def f(x): pass\ndef g(x): pass\n",
            "<calibration>",
            entries,
            lambda *_: parts,
            quiet=True,
        ),
        space,
    )
    least, inside, argument = {"f": inf, "g": inf}, [], [1, 2, 3]
    for _ in range(CALIBRATION_BLOCKS):
        for name in ("f", "g"):
            function, start = space[name], perf_counter_ns()
            for _ in range(CALLS):
                function(argument)
            least[name] = min(least[name], perf_counter_ns() - start)
        for _ in range(CALIBRATION_BLOCKS):
            space["f"](argument)
            inside.append(recorder.last_duration())
    return float(sorted(inside)[len(inside) // 2]), max(0.0, (least["f"] - least["g"]) / CALLS)


def _name(node: Any) -> str:
    return getattr(node, "id", "") or getattr(node, "attr", "")
