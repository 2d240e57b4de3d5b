"""Has the modules of chosen functions compiled with probes; all others, and the modules' cached
code, are left alone.
"""

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
    from types import CodeType
    from typing import Any

    from perfvcs.collectors.complexity.inside.python import perfvcs_rewrite

imports: Any = sys.modules["_frozen_importlib_external"]
SEPARATOR, END = "\x1f", "\x1e"
MAIN = "__main__"


class NoteLines:
    """Lines for the other side, each written as it comes up, so that a process that is killed has
    written them.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.start = perf_counter_ns()

    def path(self, kind: str, ending: str) -> str:
        """A file of this process: a child that is forked writes files of its own, and so does what
        it becomes by exec.
        """
        return f"{self.folder}/{kind}-{os.getpid()}-{self.start}{ending}"

    def tell(self, *fields: object) -> None:
        """Write a line."""
        line = (
            SEPARATOR.join(str(field).replace(SEPARATOR, " ").replace(END, " ") for field in fields)
            + END
        )
        try:
            descriptor = os.open(
                self.path("notes", ".txt"), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600
            )
        except OSError as error:
            if _module("perfvcs_sizes").of_program(error):
                raise
            return  # the folder is gone: this process outlived the measurement
        try:
            os.write(descriptor, line.encode(errors="backslashreplace"))
        finally:
            os.close(descriptor)


class RecordingHook:
    """The functions to be recorded, by module, and what records them; made once per interpreter."""

    def __init__(
        self,
        notes: NoteLines,
        keep: int,
        *,
        outermost: bool,
        wanted: dict[str, list[tuple[int, str, int, str]]],
        extensions: dict[str, str],
    ) -> None:
        self.notes = notes
        self.keep = keep
        self.outermost = outermost
        self.wanted = wanted
        self.extensions = extensions
        self.script = _module("perfvcs_script").Script(self)
        self.instruments: Any = None
        self.before = {name for name in wanted if name in sys.modules and name != MAIN}
        self.met: set[str] = set()

    def entries(
        self, module: str, *, main: bool
    ) -> dict[str, list[perfvcs_rewrite.RecordedFunction]]:
        """The functions asked for in a module, by qualified name."""
        names = dict.fromkeys([module, *([MAIN] if main else [])])
        by_name: dict[str, list[perfvcs_rewrite.RecordedFunction]] = {}
        for name in names:
            for index, function, line, size in self.wanted.get(name, ()):
                by_name.setdefault(function, []).append(
                    _module("perfvcs_rewrite").RecordedFunction(index, function, line, size or None)
                )
        return by_name

    def install(self) -> None:
        """Stand in for the loaders' get_code, and wait for the main program where no loader is
        asked for it.
        """
        loaders = [imports.SourceLoader]
        if "zipimport" in sys.modules:
            loaders.append(sys.modules["zipimport"].zipimporter)
        for loader in loaders:
            loader.get_code = self._get_code(loader.get_code)
        self.script.install()
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

    def _get_code(
        self, original: Callable[[Any, str], CodeType | None]
    ) -> Callable[[Any, str], CodeType | None]:
        def get_code(self: Any, fullname: str) -> CodeType | None:
            rewritten = hook.module(self, fullname)
            return original(self, fullname) if rewritten is None else rewritten

        hook = self
        # Errors of imported modules are described without the frames of files of this name.
        get_code.__code__ = get_code.__code__.replace(co_filename=original.__code__.co_filename)
        get_code.__doc__ = original.__doc__
        get_code.__qualname__ = original.__qualname__
        get_code.__module__ = original.__module__
        return get_code

    def module(self, loader: Any, name: str) -> CodeType | None:
        """The code of a module with probes; None when it needs none or cannot be compiled, which
        its own loader then tells.
        """
        main = self.script.is_module(name)
        if name not in self.wanted and not (main and MAIN in self.wanted):
            return None
        if main:
            sys.setprofile(None)
        compile_source = getattr(type(loader), "source_to_code", None)
        if compile_source not in (None, imports.SourceLoader.source_to_code):
            return None  # an import hook that makes something else of the source
        try:
            path = loader.get_filename(name)
            source = (
                loader.get_data(path) if hasattr(loader, "path_stats") else loader.get_source(name)
            )
            quiet = os.path.exists(imports.cache_from_source(path))  # noqa: PTH110
        except (OSError, ImportError, NotImplementedError):
            return None
        return self.rewritten(name, source, path, self.entries(name, main=main), quiet=quiet)

    def rewritten(
        self, module: str, source: Any, path: str, entries: Any, *, quiet: bool
    ) -> CodeType | None:
        """The code of a source with probes in these functions; None when it cannot be had, which is
        noted.
        """
        try:
            if self.instruments is None:
                make = _module("perfvcs_instruments").Instruments
                self.instruments = make(
                    self.notes, self.keep, outermost=self.outermost, extensions=self.extensions
                )
            rewrite = _module("perfvcs_rewrite").rewrite
            self.met.add(module)
            self.notes.tell("module", module, path)
            return rewrite(source, path, entries, self.instruments.instrument, quiet=quiet)  # type: ignore[no-any-return]
        except SyntaxError:
            return None
        except Exception as error:  # whatever it is, the program has to run
            self.notes.tell("failed", module, _module("perfvcs_sizes").describe(error))
            return None


def _module(name: str) -> Any:
    """A module of this folder, which is not on the path any more; not among the program's modules
    either.
    """
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


def install(path: str) -> RecordingHook | None:
    """Record what the file ``path`` asks for; nothing when there is none, as in a process that
    outlives the measurement.
    """
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            lines = [line.split(SEPARATOR) for line in file.read().split(END)[:-1]]
    except OSError:
        return None
    notes = NoteLines(os.path.dirname(path))  # noqa: PTH120
    notes.tell("started", sys.executable, ".".join(map(str, sys.version_info[:3])))
    if lines[0][0] == "discover":
        _module("perfvcs_discovery").start(notes, lines[0][1])
        return None
    keep, outermost, *modules = lines[0]
    extensions = {modules[at]: modules[at + 1] for at in range(0, len(modules), 2)}
    wanted: dict[str, list[tuple[int, str, int, str]]] = {}
    for index, module, name, line, size in lines[1:]:
        wanted.setdefault(module, []).append((int(index), name, int(line), size))
    hook = RecordingHook(
        notes, int(keep), outermost=outermost == "1", wanted=wanted, extensions=extensions
    )
    hook.install()
    return hook
