"""Programs whose calls are recorded do not notice, however they are started."""

from __future__ import annotations

import subprocess
import sys
import zipapp
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest
import recorders
from recorders import OTHERS, both

from perfvcs.collectors.complexity import python
from perfvcs.plugins.collector import CollectError, Run

recorder, compiled = recorders.recorder, recorders.compiled


QUIET = {
    "plain": "def f(n): return n * 2\nprint(f(3))",
    "arguments": (
        """
        import sys
        def f(n): return n
        print(sys.argv, __name__, __file__, sys.path[0], __spec__, __doc__, __package__, f(1))
    """
    ),
    "modules": (
        """
        import sys
        def f(n): return n
        f(1)
        print(sorted(n for n in sys.modules if 'perfvcs' in n or n == 'sitecustomize'))
        print([str(f).partition(' at ')[0] for f in sys.meta_path])
    """
    ),
    "names": (
        """
        "A page."
        def f(n):
            "says"
            a = 1
            return sorted(locals())
        print(f(1), f.__doc__, f.__name__, f.__qualname__, f.__module__, sorted(globals()))
    """
    ),
    "inspection": (
        """
        import inspect
        def f(n, *items, key=None, **more):
            '''Says.'''
            b = n
            return inspect.currentframe().f_lineno, b
        print(inspect.signature(f), inspect.getsource(f), f(1), f.__code__.co_varnames, f.__code__.co_firstlineno, inspect.getdoc(f))
        print(f.__code__.co_flags, f.__code__.co_freevars, f.__code__.co_cellvars, f.__code__.co_argcount, f.__code__.co_filename)
    """
    ),
    "stack": (
        """
        import traceback
        def f(n):
            traceback.print_stack()
            return [frame.name for frame in traceback.extract_stack()]
        print(f(1))
    """
    ),
    "traceback": (
        "def g(n):\n    return 1 / n\ndef f(n):\n    if n:\n        return f(n - 1)\n    return"
        " g(n)\nf(3)"
    ),
    "traceback in a generator": (
        "def f(n):\n    yield 1\n    raise KeyError(n)\nfor x in f(3): print(x)"
    ),
    "chained errors": (
        """
        def f(n):
            try:
                1 / n
            except ZeroDivisionError as error:
                raise KeyError(n) from error
        f(0)
    """
    ),
    "errors and finally": (
        """
        import sys
        def f(n):
            try:
                return n / 0
            except ZeroDivisionError:
                print(sys.exc_info()[0])
                return 1
            finally:
                print('finally', sys.exc_info()[0])
        print(f(1), sys.exc_info())
    """
    ),
    "warnings": (
        """
        import warnings
        def f(n): warnings.warn('careful', stacklevel=2)
        def g(): f(1)
        g()
        warnings.warn('here', stacklevel=2)
    """
    ),
    "syntax warning": "def f(n): return n is 5\nprint(f(1))",
    "recursion error": (
        """
        import sys
        sys.setrecursionlimit(200)
        def f(n): return f(n + 1)
        try: f(0)
        except RecursionError as error: print(error)
    """
    ),
    "status": "import sys\ndef f(n): sys.exit(n)\nf(7)",
    "status by message": "import sys\ndef f(n): sys.exit('bad')\nf(7)",
    "hard exit": "import os\ndef f(n): os._exit(n)\nf(5)",
    "signal": "import os, signal\ndef f(n): os.kill(os.getpid(), signal.SIGTERM)\nf(1)",
    "interrupt": (
        "import os, signal\ndef f(n): os.kill(os.getpid(), signal.SIGINT); [None for _ in"
        " range(10**6)]\nf(1)"
    ),
    "dataclass": (
        """
        import dataclasses
        @dataclasses.dataclass
        class P:
            x: int
            def f(self): return self.x
        print(P(3), P(3).f(), P(3) == P(3))
    """
    ),
    "super": (
        """
        class A:
            def f(self): return [__class__.__name__]
        class B(A):
            def f(self): return super().f() + [__class__.__name__]
        print(B().f())
    """
    ),
    "mangling": (
        """
        class A:
            def __init__(self): self.__x = 1
            def f(self): return self.__x
        print(A().f(), vars(A()))
    """
    ),
    "nonlocal": (
        """
        def f(n):
            k = 0
            def up():
                nonlocal k
                k += 1
            up(); up()
            return k
        print(f(1))
    """
    ),
    "global": "k = 1\ndef f(n):\n    global k\n    k += n\nf(4)\nprint(k)",
    "annotations": (
        """
        from __future__ import annotations
        def f(n: Nowhere) -> int: return n
        print(f(1), f.__annotations__)
    """
    ),
    "pickling": (
        """
        import pickle
        def f(n): return n
        print(pickle.loads(pickle.dumps(f))(2), pickle.loads(pickle.dumps(f)) is f)
    """
    ),
    "doctest": (
        """
        import doctest
        def f(n):
            '''Twice.

            >>> f(2)
            4
            >>> f(3)
            5
            '''
            return 2 * n
        print(doctest.testmod())
    """
    ),
    "decorators": (
        """
        import functools, contextlib
        @contextlib.contextmanager
        def f(n):
            yield n
        with f(2) as x: print(x)
        @functools.cache
        def g(n): return n
        print(g(1), g(1), g.cache_info())
    """
    ),
    "random numbers": (
        """
        import random
        random.seed(1)
        def f(n): return random.random()
        print([f(1) for _ in range(3)])
    """
    ),
    "overloads": (
        """
        import typing
        @typing.overload
        def f(n: int) -> int: ...
        @typing.overload
        def f(n: str) -> str: ...
        def f(n): return n
        print(f(1))
    """
    ),
    "asynchronous": (
        """
        import asyncio
        async def f(n):
            await asyncio.sleep(0)
            raise ValueError(n)
        async def main():
            try: await f(1)
            except ValueError as error: print(repr(error))
            await f(2)
        asyncio.run(main())
    """
    ),
    "kinds": (
        """
        import inspect
        async def f(n): pass
        def g(n): yield
        made = f(1)
        print(inspect.iscoroutinefunction(f), inspect.isgeneratorfunction(g), made.cr_code.co_name)
        made.close()
        print(g(1).gi_frame.f_locals, list(g(1)))
    """
    ),
    "import error": "def f(n):\n    import nowhere_to_be_found\nf(1)",
    "lines": (
        """
        import sys
        seen = []
        def trace(frame, event, arg):
            if frame.f_code.co_name == 'f': seen.append((event, frame.f_lineno))
            return trace
        def f(n):
            a = n
            return a
        sys.settrace(trace)
        f(1)
        sys.settrace(None)
        print(sorted(set(seen)))
    """
    ),
    "multiprocessing": (
        """
        import multiprocessing
        def f(n): return n * n
        if __name__ == '__main__':
            with multiprocessing.Pool(2) as pool: print(pool.map(f, range(5)))
    """
    ),
    "subprocess": (
        """
        import subprocess, sys
        command = [sys.executable, '-c', 'import sys; print(sys.argv, len(sys.path))', 'x']
        def f(n): return subprocess.run(command, capture_output=True).stdout
        print(f(1))
    """
    ),
    "standard input": "import sys\ndef f(n): return sys.stdin.read()\nprint(repr(f(1)))",
    "closed files": (
        """
        import os
        def f(n): return n
        os.closerange(3, 100)
        f(1)
        print(os.open('/dev/null', os.O_RDONLY))
    """
    ),
    "exit handlers": (
        "import atexit\ndef f(n): print('bye', n)\natexit.register(f, 3)\nprint('ran')"
    ),
    "garbage at the end": (
        "class A:\n    def __del__(self): print('gone', f(2))\ndef f(n): return n\nkept = A()\nf(1)"
    ),
    "a generator left open": (
        """
        def f(n):
            try: yield n
            finally: print('closed')
        kept = f(1)
        next(kept)
        print('end')
    """
    ),
}


@pytest.mark.parametrize("name", QUIET)
def test_a_program_does_not_notice(recorder, name):
    recorder.write("program.py", QUIET[name])
    function = {"super": "B.f", "mangling": "A.f", "dataclass": "P.f"}.get(name, "f")
    plain, recorded = both(
        recorder, [sys.executable, "program.py", "one", "two"], f"program:{function}"
    )
    assert recorded == plain


@pytest.mark.slow
@pytest.mark.parametrize("interpreter", OTHERS, ids=lambda path: Path(path).parts[-3])
def test_programs_do_not_notice_in_other_interpreters(compiled, interpreter):
    for name in (
        "arguments",
        "names",
        "inspection",
        "traceback",
        "warnings",
        "asynchronous",
        "lines",
        "pickling",
        "interrupt",
    ):
        compiled.write("program.py", QUIET[name])
        plain, recorded = both(compiled, [interpreter, "program.py"])
        assert recorded == plain, name


def test_a_module_that_is_imported_does_not_notice(compiled):
    compiled.write("pkg/__init__.py", "")
    compiled.write(
        "pkg/mod.py",
        "def f(n):\n    if n: raise KeyError(n)\n    return __file__, __cached__, __spec__.name,"
        " __loader__",
    )
    compiled.write("program.py", "from pkg.mod import f\nprint(f(0))\nf(1)")
    plain, recorded = both(compiled, [sys.executable, "program.py"], "pkg.mod:f")
    assert (recorded[0], recorded[2]) == (plain[0], plain[2])
    assert recorded[1].partition("<")[0] == plain[1].partition("<")[0]


def test_cached_code_is_neither_read_nor_written(compiled):
    compiled.write("mod.py", "def f(n): return n")
    compiled.write(
        "program.py", "import mod, glob\nmod.f(1)\nprint(len(glob.glob('__pycache__/mod*')))"
    )
    assert compiled.collect([sys.executable, "program.py"], ["mod:f"]) == {"f": [1]}
    assert not list(compiled.folder.glob("__pycache__/mod*"))
    subprocess.run(
        [sys.executable, "program.py"], cwd=compiled.folder, check=True, capture_output=True
    )
    assert list(compiled.folder.glob("__pycache__/mod*"))
    assert compiled.collect([sys.executable, "program.py"], ["mod:f"]) == {"f": [1]}


WAYS = {
    "command": (["{python}", "-c", "def f(n): return n\nf(3)"], "__main__:f"),
    "options before a command": (
        ["{python}", "-W", "error", "-X", "utf8", "-bOuc", "def f(n): return n\nf(3)"],
        "__main__:f",
    ),
    "module": (["{python}", "-m", "program"], "program:f"),
    "module as the main one": (["{python}", "-um", "program"], "__main__:f"),
    "package": (["{python}", "-m", "pkg"], "__main__:f"),
    "package by name": (["{python}", "-m", "pkg"], "pkg.__main__:f"),
    "module in a package": (["{python}", "-m", "pkg.inner"], "pkg.inner:f"),
    "folder": (["{python}", "pkg"], "__main__:f"),
    "archive": (["{python}", "app.pyz"], "__main__:f"),
    "module in an archive": (["{python}", "app.pyz"], "helper:g"),
    "script with a first line": (["{folder}/script"], "script:f"),
    "optimised": (["{python}", "-OO", "program.py"], "program:f"),
    "safe path": (["{python}", "-P", "program.py"], "program:f"),
    "without cached code": (["{python}", "-B", "program.py"], "program:f"),
    "another process": (["/bin/sh", "-c", "cd / && {python} {folder}/program.py"], "program:f"),
    "pytest": (["{python}", "-m", "pytest", "-q", "-p", "no:cacheprovider", "checks"], "program:f"),
}


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_start_a_program_is_recorded(compiled, way):
    program = "def f(n): return n\nif __name__ == '__main__': f(3)\n"
    compiled.write("program.py", program)
    for name in ("__init__", "__main__", "inner"):
        compiled.write(f"pkg/{name}.py", program)
    compiled.write("app/__main__.py", f"import helper\nhelper.g(3)\n{program}")
    compiled.write("app/helper.py", "def g(n): return n")
    zipapp.create_archive(compiled.folder / "app", compiled.folder / "app.pyz")
    compiled.write("script", f"#!{sys.executable}\n{program}").chmod(0o755)
    compiled.write(
        "checks/test_it.py",
        "import sys\nsys.path.insert(0, '.')\nfrom program import f\ndef test_f(): assert f(3)"
        " == 3\n",
    )
    argv, function = WAYS[way]
    argv = [word.format(python=sys.executable, folder=compiled.folder) for word in argv]
    if way == "another process":
        compiled.engine = "rewrite/1"  # nobody knows that interpreter before
    assert list(compiled.collect(argv, [function]).values()) == [[3]]


def test_the_project_s_own_sitecustomize_runs(compiled):
    compiled.write("site/sitecustomize.py", "import sys\nsys.mine = 5\nprint('mine', __file__)")
    compiled.write(
        "program.py",
        "import sys, sitecustomize\ndef f(n): return n\nf(1)\nprint(sys.mine,"
        " sitecustomize.__file__, sys.path)",
    )
    run = compiled.run(sys.executable, "program.py")
    compiled.run = lambda *argv: Run(
        argv, run.cwd, {**run.env, "PYTHONPATH": str(compiled.folder / "site")}, run.scratch, "all"
    )  # type: ignore[method-assign]
    plain, recorded = both(compiled, [sys.executable, "program.py"])
    assert recorded == plain


def test_a_module_with_an_error_says_what_it_always_does(compiled):
    compiled.write("mod.py", "def f(n):\n    return n n\n")
    compiled.write("program.py", "def f(n): return n\nf(1)\nimport mod")
    run = compiled.run(sys.executable, "program.py")
    plain, recorded = both(compiled, [sys.executable, "program.py"])
    assert recorded == plain
    with pytest.raises(CollectError, match="SyntaxError"):
        compiled.collect(run.argv, ["program:f", "mod:f"])


def test_interpreters_that_record_in_two_ways_make_an_engine_of_their_own(compiled):
    other = next((path for path in OTHERS), None)
    if other is None:
        pytest.skip("needs a second interpreter below ~/.pyenv")
    compiled.write(
        "program.py",
        f"import subprocess\ndef f(n): return n\nf(1)\nsubprocess.run(['{other}', 'second.py'],"
        " check=True)",
    )
    compiled.write("second.py", "from program_ import f\nf(2)")
    compiled.write("program_.py", "def f(n): return n")
    compiled.engine = "rewrite+rewrite-c/1"
    found = compiled.collect([sys.executable, "program.py"], ["program:f", "program_:f"])
    assert sorted(found["f"]) == [1, 2]


def test_a_compiled_recorder_that_cannot_be_loaded_is_reported(compiled, monkeypatch, tmp_path):
    broken = tmp_path / "broken.so"
    broken.write_bytes(b"no library")
    tag = next(iter(EXTENSION_SUFFIXES))
    monkeypatch.setattr(python, "compiled_recorder", lambda _: ([(tag, broken)], None))
    compiled.engine = "rewrite/1"
    assert compiled("def f(n): return n\nf(1)", "f") == {"f": [1]}
    assert compiled.seen.warnings[0].startswith(
        "calls are recorded in Python, which takes longer: ImportError"
    )


SIGNALS = """
    import signal
    raised = caught = 0
    def handler(*_):
        global raised
        raised += 1
        raise TimeoutError("late")
    def f(items): return items
    signal.signal(signal.SIGALRM, handler)
    while caught < 60:
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.001)
            for _ in range(3_000_000): f([1, 2, 3])
            raise SystemExit("a time-out was lost")
        except TimeoutError: caught += 1
    for _ in range(1000): f([1] * 50)
    print(raised, caught)
    """


@pytest.mark.parametrize("entry", ["f=len(items)", "f"])
def test_what_handlers_of_signals_raise_is_the_program_s(recorder, entry):
    recorder(SIGNALS, entry)
    rates = [
        rate
        for rate, size in zip(recorder.seen.values["rate"], recorder.seen.size, strict=True)
        if size == 50
    ]
    # no call that was interrupted makes later ones look like recursion
    assert sum(rates) == pytest.approx(1000)
    assert None not in recorder.seen.size


@pytest.mark.slow
def test_what_handlers_of_signals_raise_is_the_program_s_in_other_interpreters(compiled):
    compiled.write("program.py", SIGNALS)
    for interpreter in OTHERS:
        sizes = compiled.collect([interpreter, "program.py"], ["program:f=len(items)"])
        assert sizes["f"].count(50) == 200, interpreter


def test_modules_of_the_program_may_be_called_as_the_recorder_s_own_are(recorder):
    for name in ("ast", "ctypes", "struct", "random", "math", "warnings", "types", "enum", "re"):
        recorder.write(f"{name}.py", f"own = {name!r}")
    code = """
        def f(n): return n
        f(3)
        import ast, ctypes, math, random, struct
        print(*(getattr(one, "own", None) for one in (ast, ctypes, math, random, struct)))
        """
    recorder.write("program.py", code)
    plain, recorded = both(recorder, [sys.executable, "program.py"])
    assert recorded == plain
    assert recorder.collect([sys.executable, "program.py"], ["program:f=n"]) == {"f": [3]}


def test_what_another_import_hook_makes_of_a_module_stays_so(compiled):
    compiled.write("hooked.py", "def f(n): return 'as written'")
    code = """
        import importlib.machinery as machinery, sys
        class Loader(machinery.SourceFileLoader):
            def source_to_code(self, data, path): return compile(data.replace(b"as written", b"changed"), path, "exec")
        sys.path_hooks.insert(0, machinery.FileFinder.path_hook((Loader, [".py"])))
        sys.path_importer_cache.clear()
        from hooked import f
        print(f(3), file=open("out", "w"))
        """
    compiled.write("program.py", code)
    with pytest.raises(
        CollectError, match=r"hooked:f: its module was loaded by another import hook \(Loader\)"
    ):
        compiled.collect([sys.executable, "program.py"], ["hooked:f=n"])
    assert (compiled.folder / "out").read_text() == "changed\n"


def test_a_generator_that_was_begun_before_a_fork_is_the_parent_s(recorder):
    code = """
        import os
        def g(n):
            for i in range(n): yield i
        begun = g(3)
        next(begun)
        child = os.fork()
        list(begun)
        list(g(5))
        if child: os.waitpid(child, 0)
        """
    assert sorted(recorder(code, "g=n")["g"]) == [3, 5, 5]


def test_the_limit_of_recursion_is_where_it_was(compiled):
    code = """
        import sys, traceback
        sys.setrecursionlimit(150)
        def f(n):
            global deepest
            deepest = n
            return f(n + 1)
        try: f(0)
        except RecursionError: traceback.print_exc(limit=-3)
        print(deepest)
        """
    compiled.write("program.py", code)
    for interpreter in (sys.executable, *OTHERS):
        plain, recorded = both(compiled, [interpreter, "program.py"])
        assert recorded == plain, interpreter
