"""Counts the bytecode instructions that each function of this interpreter executes from here on,
and its calls, by call path.

Environment: PERFVCS_BYTECODE is the folder for the files, PERFVCS_BYTECODE_METER is
``instructions``, or ``time`` for the processor time of the thread instead. With PERFVCS_UNIT only
the runs of that unit are counted. A tree per thread: nodes
are functions, those of C too; a function that is entered again on its own path goes on in the node
it has there.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import CodeType, FrameType
    from typing import Any

PREFIX = "PERFVCS_BYTECODE"
UNIT, INSIDE = "PERFVCS_UNIT", "PERFVCS_INSIDE"  # as in perfvcs_unit
MOST_NODES = 300_000  # of a thread; beyond, new functions count in their callers
MOST_WRAPPED = 4
NESTED = 0x10  # inspect.CO_NESTED
MONITOR = 3  # the tool's number for sys.monitoring, one of the two that nobody has reserved


class Tree:
    """The calls of one thread.

    The lists have an entry per node: ``entered`` has its calls, ``again`` those inside itself, and
    ``amounts`` what was counted.
    """

    def __init__(self) -> None:
        # codes stay alive with them, so that no other gets their id
        self.keys: list[object] = [None]
        self.names: list[tuple[str, str]] = [("", "")]
        self.parents, self.entered, self.again, self.amounts = [-1], [1], [0], [0]
        self.below: list[dict[object, int]] = [{}]

    def child(self, parent: int, key: object, code: CodeType | None, function: Any) -> int:
        """The node for a function below another one, made where it is new; its own above where it
        is entered again.
        """
        node = self._above(parent, key, wraps=code is None or bool(code.co_flags & NESTED))
        if node <= 0 and len(self.keys) < MOST_NODES:
            node = len(self.keys)
            self.keys.append(key)
            self.names.append(_of_code(code) if code is not None else _of_builtin(function))
            self.parents.append(parent)
            self.below.append({})
            for column in (self.entered, self.again, self.amounts):
                column.append(0)
        elif node <= 0:
            node = parent
        self.below[parent][key] = node
        return node

    def _above(self, parent: int, key: object, *, wraps: bool) -> int:
        """The node in which a function goes on that is entered again on its own path, 0 where it is
        not.

        What wraps others (functions of C that call back, nested functions such as decorators make)
        is on a path for many reasons, and goes on only in itself or when it is there often.
        """
        node, times = parent, 0
        if wraps and self.keys[parent] == key:
            return parent
        while node > 0:
            if self.keys[node] == key:
                times += 1
                if not wraps or times == MOST_WRAPPED:
                    return node
            node = self.parents[node]
        return 0


def _name(node: Any) -> tuple[str, str]:
    """Name and file of a node: of a code object, or what the module has named already; empty for a
    thread's root.
    """
    if node is None:
        return ("", "")
    return node if isinstance(node, tuple) else _of_code(node)


def _of_code(code: CodeType) -> tuple[str, str]:
    return getattr(code, "co_qualname", code.co_name), code.co_filename


def _of_builtin(function: Any) -> tuple[str, str]:
    """Name and module of a function of C; a method has its type's."""
    module = (
        getattr(function, "__module__", None)
        or type(getattr(function, "__self__", None)).__module__
    )
    return str(getattr(function, "__qualname__", function)), f"<{module}>"


def recorder(
    tree: Tree, clock: Callable[[], int], keep: list[CodeType]
) -> Callable[[FrameType, str, Any], None]:
    """What ``sys.setprofile`` takes for one thread; ``clock`` says what was spent so far."""
    entered, again, amounts, below, child = (
        tree.entered,
        tree.again,
        tree.amounts,
        tree.below,
        tree.child,
    )
    stack: list[int] = []
    push, pop = stack.append, stack.pop
    # of asking, which is in every span
    cost = min(-clock() + clock() for _ in range(200)) if clock is time.thread_time_ns else 0
    current, last = 0, clock()

    def profile(frame: FrameType, event: str, arg: Any) -> None:
        nonlocal current, last
        amounts[current] += clock() - last - cost
        if event == "call":
            code = frame.f_code
            key: object = id(code)
            node = below[current].get(key)
            if node is None:
                keep.append(code)
                node = child(current, key, code, None)
        elif event == "c_call":
            key = getattr(arg, "__qualname__", None) or repr(type(arg))
            node = below[current].get(key)
            if node is None:
                node = child(current, key, None, arg)
        else:
            current = pop() if stack else 0
            last = clock()
            return
        push(current)
        if node > current:
            entered[node] += 1
        else:
            again[node] += 1
        current = node
        last = clock()

    return profile


class PythonCounter:
    """Counts in Python; the one in C has the same methods."""

    def __init__(self, *, clock: bool) -> None:
        self.clock = clock
        self.keep: list[CodeType] = []
        self.local = threading.local()
        self.threads: list[Tree] = []

    def begin(self) -> None:
        """Count in this thread from here on."""
        tree = Tree()
        self.threads.append(tree)
        if self.clock:
            sys.setprofile(recorder(tree, time.thread_time_ns, self.keep))
            return
        self.local.executed = 0
        space = self.local.__dict__
        if not hasattr(sys, "monitoring"):
            sys.settrace(self._trace)
        sys.setprofile(recorder(tree, lambda: space["executed"], self.keep))

    def count(self, code: CodeType, offset: int) -> None:  # noqa: ARG002
        """One instruction: for sys.monitoring."""
        try:
            self.local.executed += 1
        except AttributeError:  # a thread that has not begun
            self.local.executed = 1

    def follow(self, frame: FrameType) -> None:
        """Count the instructions of a frame: before Python 3.12."""
        frame.f_trace_opcodes, frame.f_trace_lines, frame.f_trace = True, False, self._opcode

    def _trace(self, frame: FrameType, event: str, arg: Any) -> Any:  # noqa: ARG002
        self.follow(frame)
        return self._opcode

    def _opcode(self, frame: FrameType, event: str, arg: Any) -> Any:  # noqa: ARG002
        if event == "opcode":
            self.local.executed += 1
        return self._opcode

    def forget(self) -> None:
        """Drop all that was counted: a forked process has what its parent has."""
        self.threads = []

    def end(self) -> None:
        """Stop in this thread."""
        sys.setprofile(None)
        if not self.clock and not hasattr(sys, "monitoring"):
            sys.settrace(None)

    def trees(self) -> list[Tree]:
        """A tree per thread."""
        return list(self.threads)


class CCounter:
    """Counts in C, by the module ``perfvcs_counts``."""

    def __init__(self, module: Any, *, clock: bool) -> None:
        self.module, self.clock = module, clock
        self.count, self.forget, self.end = module.count, module.forget, module.end

    def begin(self) -> None:
        """Count in this thread from here on."""
        self.module.begin(int(self.clock), _of_builtin)

    def follow(self, frame: FrameType) -> None:
        """Count the instructions of a frame: before Python 3.12."""
        frame.f_trace_opcodes, frame.f_trace_lines = True, False

    def trees(self) -> list[Tree]:
        """A tree per thread, without what is needed to go on counting."""
        trees = []
        for names, *columns in self.module.trees():
            tree = Tree()
            tree.names = list(map(_name, names))
            tree.parents, tree.entered, tree.again, tree.amounts = columns
            trees.append(tree)
        return trees


class Process:
    """Counts in all threads of this process, and writes what it counted: of a whole process when
    that ends, of a unit (``perfvcs_unit``) after each of its runs.
    """

    def __init__(self, folder: str, counter: PythonCounter | CCounter) -> None:
        self.folder, self.counter = folder, counter
        self.monitoring: Any = None if counter.clock else getattr(sys, "monitoring", None)
        self.counts = False
        self.unit: Any = None  # of perfvcs_unit

    def wait(self) -> None:
        """Be ready to count."""
        atexit.register(self.write)
        os.register_at_fork(after_in_child=self._fork)
        if self.monitoring:
            event = self.monitoring.events.INSTRUCTION
            self.monitoring.use_tool_id(MONITOR, "perfvcs")
            self.monitoring.register_callback(MONITOR, event, self.counter.count)

    def _mark(self) -> None:
        try:
            with open(
                f"{self.folder}/began-{os.getpid()}", "x", encoding="utf-8"
            ):  # a process that is killed writes nothing else
                pass
        except OSError:
            return

    def begin(self) -> None:
        """Count from here on as ``start`` does, the functions that run already, too."""
        if not self.counter.clock and not self.monitoring:
            self._follow(sys._getframe(1))
        self.start()

    def start(self) -> None:
        """Count from here on, in this thread, those that it starts, and forked processes."""
        self._mark()
        self.counts = True
        threading.setprofile(self._thread)
        if self.monitoring:
            self.monitoring.set_events(MONITOR, self.monitoring.events.INSTRUCTION)
        self.counter.begin()

    def end(self, run: int) -> None:
        """Stop after a run of the unit, and write what it took; nothing for run 0."""
        self._stop()
        if run:
            self._write(f"run-{os.getpid()}-{run}")
        self.counter.forget()

    def write(self) -> None:
        """Stop, and write what was counted until now."""
        if self.counts:
            self._stop()
            self._write(f"process-{os.getpid()}-{os.environ.get(INSIDE, '')}")

    def _follow(self, frame: FrameType | None) -> None:
        """Have the instructions of functions counted that run already: before Python 3.12, each
        frame is asked for them.
        """
        while frame is not None:
            self.counter.follow(frame)
            frame = frame.f_back

    def _stop(self) -> None:
        self.counter.end()
        self.counts = False
        threading.setprofile(None)
        if self.monitoring:
            self.monitoring.set_events(MONITOR, 0)

    def _fork(self) -> None:
        self.counter.forget()
        if self.counts:
            self._mark()
            workers = sys.modules.get("multiprocessing.util")
            if workers is not None:
                workers.register_after_fork(self, _write_at_the_end)
            self.counter.begin()

    def _thread(self, frame: FrameType, event: str, arg: Any) -> None:  # noqa: ARG002
        """The first event of another thread."""
        self.counter.begin()

    def _write(self, name: str) -> None:
        document: dict[str, object] = {}
        if self.unit is not None and self.unit.every:
            uid, size = self.unit.running
            document["unit"] = uid, None if size is None else float(size)
            document["inner"] = sorted(self.unit.inner)
        frames: dict[tuple[str, str], int] = {}
        trees = [
            {
                "frames": [frames.setdefault(name, len(frames)) for name in tree.names],
                "parents": tree.parents,
                "entered": tree.entered,
                "again": tree.again,
                "amounts": tree.amounts,
            }
            for tree in self.counter.trees()
        ]
        try:
            with open(
                f"{self.folder}/{name}.json", "w", encoding="utf-8", errors="backslashreplace"
            ) as file:
                json.dump({"frames": list(frames), "trees": trees, **document}, file)
        except OSError:
            return  # the folder is gone: this process outlived the measurement


def _write_at_the_end(process: Process) -> None:
    """Have a worker of multiprocessing write, which ends without ``atexit`` before Python 3.13."""
    sys.modules["multiprocessing.util"].Finalize(process, process.write, exitpriority=0)


def install(environ: Mapping[str, str]) -> None:
    """Start counting, where it was asked for."""
    folder = environ.get(PREFIX, "")
    if not os.access(folder, os.W_OK):
        return
    clock = environ.get(f"{PREFIX}_METER") == "time"
    module = _module(environ.get(f"{PREFIX}_MODULE", ""))
    counter: PythonCounter | CCounter = (
        PythonCounter(clock=clock) if module is None else CCounter(module, clock=clock)
    )
    process = Process(folder, counter)
    process.wait()
    if environ.get(UNIT) and not environ.get(INSIDE):
        import perfvcs_unit  # type: ignore[import-not-found]  # beside perfvcs_bench

        process.unit = perfvcs_unit.unit
        perfvcs_unit.counters.append(process)
    else:
        process.start()


def _module(compiled: str) -> Any:
    """The counter in C; None where this interpreter is not the one that it was compiled for."""
    tag, _, path = compiled.partition(":")
    try:
        from _imp import create_dynamic, exec_dynamic, extension_suffixes
        from importlib.machinery import ExtensionFileLoader, ModuleSpec

        if not path or extension_suffixes()[0] != tag:
            return None
        module = create_dynamic(
            ModuleSpec("perfvcs_counts", ExtensionFileLoader("perfvcs_counts", path), origin=path)
        )
        exec_dynamic(module)
    except ImportError:
        return None
    return module
