"""Has the modules of chosen functions compiled with probes; all others, and the modules' cached code, are left alone."""

from __future__ import annotations

import atexit
import os
import sys
from time import perf_counter_ns

_known = "math" in sys.modules
import math  # noqa: E402

if not _known:  # the program may have one of its own, which is not found yet
    del sys.modules["math"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, FrameType
    from typing import Any

    from perfvcs.native.tracing import perfvcs_rewrite

imports: Any = sys.modules["_frozen_importlib_external"]
SEPARATOR, END = "\x1f", "\x1e"
MAIN = "__main__"
MAINS = (MAIN, "__mp_main__")  # the second is what multiprocessing's children call it
SPAWNED = ("from multiprocessing.spawn ", "from multiprocessing.forkserver ")
START = perf_counter_ns()
nan, inf = float("nan"), float("inf")
BLOCKS, CALLS = 7, 500  # of the calibration
WITH_VALUE = "WX"  # options of the interpreter that take the next argument


class Notes:
    """Lines for the other side, each written as it comes up, so that a process that is killed has told them."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.number = 0

    def path(self, kind: str, ending: str) -> str:
        """A file of this process: a child that is forked writes files of its own, and so does what it becomes by exec."""
        return f"{self.folder}/{kind}-{os.getpid()}-{START}{ending}"

    def tell(self, *fields: object) -> None:
        """Write a line."""
        line = SEPARATOR.join(str(field).replace(SEPARATOR, " ").replace(END, " ") for field in fields) + END
        try:
            descriptor = os.open(self.path("notes", ".txt"), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        except OSError as error:
            if _module("perfvcs_sizes").of_program(error):
                raise
            return  # the folder is gone: this process outlived the measurement
        try:
            os.write(descriptor, line.encode(errors="backslashreplace"))
        finally:
            os.close(descriptor)


class Parts:
    """What the body of one function refers to."""


class Hook:
    """The functions to be recorded, by module, and what records them; made once per interpreter."""

    def __init__(
        self,
        notes: Notes,
        keep: int,
        outermost: bool,
        wanted: dict[str, list[tuple[int, str, int, str]]],
        extensions: dict[str, str],
    ) -> None:
        self.notes = notes
        self.keep = keep
        self.outermost = outermost
        self.wanted = wanted
        self.extensions = extensions
        self.argument, self.main = command_line()
        self.recorder: Any = None
        self.failures: set[int] = set()
        self.before = {name for name in wanted if name in sys.modules and name != MAIN}
        self.met: set[str] = set()

    # finding the functions' modules

    def entries(self, module: str, main: bool) -> dict[str, list[perfvcs_rewrite.Entry]]:
        """The functions asked for in a module, by qualified name."""
        names = dict.fromkeys([module, *([MAIN] if main else [])])
        found: dict[str, list[perfvcs_rewrite.Entry]] = {}
        for name in names:
            for index, function, line, size in self.wanted.get(name, ()):
                found.setdefault(function, []).append(_module("perfvcs_rewrite").Entry(index, function, line, size or None))
        return found

    def install(self) -> None:
        """Stand in for the loaders' get_code, and wait for the main program where no loader is asked for it."""
        loaders = [imports.SourceLoader]
        if "zipimport" in sys.modules:
            loaders.append(sys.modules["zipimport"].zipimporter)
        for loader in loaders:
            loader.get_code = self._get_code(loader.get_code)
        script = self.argument == "script" and self.entries(_stem(self.main), main=True)
        command = self.argument == "command" and (self.main.startswith(SPAWNED) or MAIN in self.wanted)
        if script or command:
            sys.setprofile(self._wait)
        atexit.register(self._tell_others)

    def _tell_others(self) -> None:
        """Tell of modules that are loaded and were not met here."""
        for name in self.wanted:
            module = sys.modules.get(name)
            if module is None or name in self.met or name == MAIN:
                continue
            spec = getattr(module, "__spec__", None)
            loader = getattr(spec, "loader", None)
            kind = getattr(loader, "__name__", type(loader).__name__)
            if kind in ("BuiltinImporter", "ExtensionFileLoader"):
                how = "is compiled, and has no functions in Python"
            elif kind == "FrozenImporter":
                how = "is frozen into the interpreter"
            elif name in self.before:
                how = "was loaded before recording could begin"
            else:
                how = f"was loaded by another import hook ({kind})"
            self.notes.tell("untouched", name, how)

    def _get_code(self, original: Callable[[Any, str], CodeType | None]) -> Callable[[Any, str], CodeType | None]:
        def get_code(self: Any, fullname: str) -> CodeType | None:
            found = hook.module(self, fullname)
            return original(self, fullname) if found is None else found

        hook = self
        # Errors of imported modules are told without the frames of files of this name.
        get_code.__code__ = get_code.__code__.replace(co_filename=original.__code__.co_filename)
        get_code.__doc__ = original.__doc__
        get_code.__qualname__ = original.__qualname__
        get_code.__module__ = original.__module__
        return get_code

    def module(self, loader: Any, name: str) -> CodeType | None:
        """The code of a module with probes; None when it needs none or cannot be compiled, which its own loader then tells."""
        main = name == MAIN or (self.argument == "module" and name in (self.main, f"{self.main}.__main__"))
        if name not in self.wanted and not (main and MAIN in self.wanted):
            return None
        if main:
            sys.setprofile(None)
        own = getattr(type(loader), "source_to_code", None)
        if own not in (None, imports.SourceLoader.source_to_code):
            return None  # an import hook that makes something else of the source
        try:
            path = loader.get_filename(name)
            source = loader.get_data(path) if hasattr(loader, "path_stats") else loader.get_source(name)
            quiet = os.path.exists(imports.cache_from_source(path))  # noqa: PTH110
        except (OSError, ImportError, NotImplementedError):
            return None
        return self._rewritten(name, source, path, self.entries(name, main), quiet)

    def _rewritten(self, module: str, source: Any, path: str, entries: Any, quiet: bool) -> CodeType | None:
        try:
            if self.recorder is None:
                self._start()
            self.met.add(module)
            self.notes.tell("module", module, path)
            return _module("perfvcs_rewrite").rewrite(source, path, entries, self.instrument, quiet)  # type: ignore[no-any-return]
        except SyntaxError:
            return None
        except Exception as error:  # whatever it is, the program has to run
            self.notes.tell("failed", module, _module("perfvcs_sizes").describe(error))
            return None

    def _wait(self, frame: FrameType, event: str, _: object) -> None:
        """Put probes into the main program at its very first step: its functions are constants of its code until it makes them."""
        if event != "call" or frame.f_code.co_name != "<module>" or frame.f_globals.get("__name__") not in MAINS:
            return
        code = frame.f_code
        spawner = self.argument == "command" and self.main.startswith(SPAWNED)
        if spawner and code.co_filename == "<string>":
            return
        sys.setprofile(None)
        entries = self.entries(_stem(code.co_filename), main=True)
        if not entries:
            return
        try:
            source: Any = self.main
            if code.co_filename != "<string>":
                with open(code.co_filename, "rb") as file:
                    source = file.read()
        except OSError:
            return
        new = self._rewritten(MAIN, source, code.co_filename, entries, quiet=True)
        try:
            if new is not None and not transplant(code, new):
                self.notes.tell("failed", MAIN, "the file is not what runs")
        except ImportError:
            self.notes.tell(
                "failed", MAIN, "this Python has no ctypes: have a script of two lines import and call what is to be recorded"
            )

    # recording

    def _start(self) -> None:
        """Make what records, in C where there is a module for this interpreter."""
        folder = self.notes.folder
        tracer = self._extension()
        if tracer is None:
            module = _module("perfvcs_recorder")
            self.recorder = module.Recorder(lambda: self.notes.path("calls", ".bin"), self.keep, self.outermost)
            trial = module.Recorder(lambda: "", 1, self.outermost, inf)  # what taking a row costs is charged when it is taken
            atexit.register(self.recorder.save)
            os.register_at_fork(after_in_child=self.recorder.forget)
            for name in ("_exit", "execv", "execve"):
                setattr(os, name, self._saving(getattr(os, name)))
        else:
            _module("perfvcs_awaits").Iterator = tracer.iterator
            self.recorder = trial = _module("perfvcs_native").Recorder(tracer, folder, str(START), self.keep, self.outermost)
        self.recorder.set_costs(*calibrate(trial))
        self.notes.tell("engine", self.recorder.engine)

    def _extension(self) -> Any:
        """The recorder in C; None when there is none for this interpreter, or it cannot be loaded."""
        import _imp

        name = "perfvcs_tracer"
        path = self.extensions.get(_imp.extension_suffixes()[0])
        if path is None:
            return None
        try:
            loader = imports.ExtensionFileLoader(name, path)
            module = loader.create_module(imports.spec_from_file_location(name, path, loader=loader))
            loader.exec_module(module)
        except (ImportError, OSError) as error:
            self.notes.tell("slow", _module("perfvcs_sizes").describe(error))
            return None
        return module

    def _saving(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """The function, which ends this process without its exit handlers, after the records are written."""

        def ending(*args: Any, **kwargs: Any) -> Any:
            self.recorder.save()
            return original(*args, **kwargs)

        ending.__name__ = ending.__qualname__ = original.__name__
        ending.__doc__ = original.__doc__
        return ending

    def instrument(self, entry: perfvcs_rewrite.Entry, names: list[str], node: Any, enclosing: str) -> Any:
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

        def tell_guess(expression: str, ambiguous: bool) -> None:
            self.notes.tell("guess", entry.index, expression, int(ambiguous))

        parts.failed = failed
        if entry.size:
            parts.size = sizes.measured(entry.size, names, enclosing, tell_error, self.recorder)
        else:
            method = bool(enclosing) and bool(names) and not any(_name(one) == "staticmethod" for one in node.decorator_list)
            vararg = node.args.vararg.arg if node.args.vararg else ""
            parts.size = probe.guessing(sizes.Guess(names, vararg, method, node.name == "__len__", tell_guess))
        self.notes.tell("defined", entry.index, node.lineno)
        return parts


def calibrate(recorder: Any) -> tuple[float, float]:
    """What a probe with a size takes inside the call that it measures (median), and in all (least of some blocks); in ns.

    Other programs can only make a block take longer, and what is subtracted in excess would make durations zero.
    """
    rewrite = _module("perfvcs_rewrite")
    probe = recorder.probe(0, stored=False)
    parts: Any = Parts()
    parts.entering, parts.limited, parts.leaving, parts.failed = probe.entering, probe.limited, probe.leaving, None
    entries = {"f": [rewrite.Entry(0, "f", 0, "len(x)")]}
    space: dict[str, Any] = {}
    exec(rewrite.rewrite("def f(x): pass\ndef g(x): pass\n", "<calibration>", entries, lambda *_: parts, quiet=True), space)
    least, inside, argument = {"f": inf, "g": inf}, [], [1, 2, 3]
    for _ in range(BLOCKS):
        for name in ("f", "g"):
            function, start = space[name], perf_counter_ns()
            for _ in range(CALLS):
                function(argument)
            least[name] = min(least[name], perf_counter_ns() - start)
        for _ in range(BLOCKS):
            space["f"](argument)
            inside.append(recorder.last_duration())
    return float(sorted(inside)[len(inside) // 2]), max(0.0, (least["f"] - least["g"]) / CALLS)


def transplant(old: CodeType, new: CodeType) -> bool:
    """Replace the functions among the constants of code that is about to run; False when it is of another source, or has them elsewhere."""
    if old.co_code != new.co_code or len(old.co_consts) != len(new.co_consts):
        return False
    from _ctypes import Py_INCREF, _SimpleCData, sizeof

    class Pointer(_SimpleCData):  # type: ignore[type-arg]
        _type_ = "P"

    first = id(old.co_consts) + tuple.__basicsize__
    items = [Pointer.from_address(first + index * sizeof(Pointer)) for index in range(len(old.co_consts))]
    if [item.value for item in items] != [id(value) for value in old.co_consts]:
        return False  # an interpreter that keeps them in another way
    for index, value in enumerate(new.co_consts):
        if isinstance(value, type(new)):
            # The tuple gives its reference to the new value away when it dies; that to the old one is lost, once per function.
            Py_INCREF(value)
            items[index].value = id(value)
    return True


def command_line() -> tuple[str, str]:
    """How this interpreter was told what to run: ``script``, ``module`` or ``command``, and that; empty for its standard input.

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


def _stem(path: str) -> str:
    """The name under which one would import a script."""
    return os.path.basename(path).rpartition(".py")[0] or os.path.basename(path)  # noqa: PTH119


def _name(node: Any) -> str:
    return getattr(node, "id", "") or getattr(node, "attr", "")


def _module(name: str) -> Any:
    """A module of this folder, which is not on the path any more; not among the program's modules either."""
    if name not in _modules:
        path = f"{FOLDER}/{name}.py"
        loader = imports.SourceFileLoader(name, path)
        module = type(sys)(name)
        module.__file__ = path
        module.__dict__["_module"] = _module
        before = sys.modules.get("math")
        sys.modules["math"] = math
        try:
            exec(loader.get_code(name), module.__dict__)
        finally:
            del sys.modules["math"]
            if before is not None:
                sys.modules["math"] = before
        _modules[name] = module
    return _modules[name]


_modules: dict[str, Any] = {}
FOLDER = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120


def install(path: str) -> Hook | None:
    """Record what the file ``path`` asks for; nothing when there is none, as in a process that outlives the measurement."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            lines = [line.split(SEPARATOR) for line in file.read().split(END)[:-1]]
    except OSError:
        return None
    notes = Notes(os.path.dirname(path))  # noqa: PTH120
    notes.tell("started", sys.executable, ".".join(map(str, sys.version_info[:3])))
    if lines[0][0] == "discover":
        _module("perfvcs_discovery").start(notes, lines[0][1])
        return None
    keep, outermost, *modules = lines[0]
    extensions = {modules[at]: modules[at + 1] for at in range(0, len(modules), 2)}
    wanted: dict[str, list[tuple[int, str, int, str]]] = {}
    for index, module, name, line, size in lines[1:]:
        wanted.setdefault(module, []).append((int(index), name, int(line), size))
    hook = Hook(notes, int(keep), outermost == "1", wanted, extensions)
    hook.install()
    return hook
