"""Calls of Python functions are recorded with exact sizes, and the programs do not notice."""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
import textwrap
import zipapp
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES
from math import nan
from pathlib import Path
from typing import NamedTuple
from zipimport import zipimporter

import numpy as np
import pytest

from perfvcs.collectors import CollectError, Observations, Run
from perfvcs.collectors.complexity import Complexity
from perfvcs.complexity import Function, Request, parse, python
from perfvcs.complexity.python import extension, notes, place
from perfvcs.complexity.recording import read
from perfvcs.errors import UsageError
from perfvcs.native.tracing import perfvcs_hook as hook

HOME = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser()  # before the tests get a home of their own
OTHERS = sorted(
    str(path) for version in ("3.9", "3.10", "3.12", "3.13") for path in HOME.glob(f"versions/{version}.*/bin/python")
)

Sizes = dict[str, list[float | None]]


class Recorder:
    """Records programs in a folder: ``recorder("code", "f=n")`` gives the sizes by function, in the order of the calls."""

    def __init__(self, folder: Path, engine: str) -> None:
        self.folder = folder
        self.engine = engine
        self.count = 0
        self.seen = Observations()

    def run(self, *argv: str, **overrides: object) -> Run:
        self.count += 1
        scratch = self.folder.parent / f"scratch-{self.count}"
        scratch.mkdir()
        env = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], "LC_ALL": "C.UTF-8"}
        return Run(argv, **({"cwd": self.folder, "env": env, "scratch": scratch, "uid": "all", "timeout": 60.0} | overrides))  # type: ignore[arg-type]

    def write(self, name: str, code: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(code))
        return path

    def collect(self, argv: Sequence[str], functions: list[str] | str, **options: object) -> Sizes:
        self.seen = Complexity(functions, language="python", **options).collect(self.run(*argv))  # type: ignore[arg-type]
        assert self.seen.engine == self.engine
        found: defaultdict[str, list[float | None]] = defaultdict(list)
        for uid, size in zip(self.seen.uid, self.seen.size, strict=True):
            found[uid.partition(":")[2]].append(size)
        return dict(found)

    def __call__(self, code: str, *functions: str, **options: object) -> Sizes:
        self.write("program.py", code)
        return self.collect([sys.executable, "program.py"], [f"program:{one}" for one in functions], **options)


@pytest.fixture(params=["rewrite-c/1", "rewrite/1"])
def recorder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recorder:
    """With the recorder in C, and with that in Python."""
    if request.param == "rewrite/1":
        monkeypatch.setattr(python, "compiled_recorder", lambda _: ([], None))
    folder = tmp_path / "program"
    folder.mkdir()
    return Recorder(folder, request.param)


@pytest.fixture
def compiled(tmp_path: Path) -> Recorder:
    folder = tmp_path / "program"
    folder.mkdir()
    return Recorder(folder, "rewrite-c/1")


# sizes


class Case(NamedTuple):
    """A definition, the entry that names it, calls of it, and their sizes."""

    definition: str
    entry: str
    calls: str
    sizes: list[float]


CORPUS = {
    "list": Case("def f1(items): return items", "f1", "f1([]); f1([1, 2]); f1([1] * 9)", [0, 2, 9]),
    "dict": Case("def f2(table): return table", "f2", "f2({1: 2}); f2({})", [1, 0]),
    "set": Case("def f3(members): return members", "f3", "f3({1, 2, 3})", [3]),
    "text": Case("def f4(text): return text", "f4", "f4('abc'); f4('')", [3, 0]),
    "bytes": Case("def f5(data): return data", "f5", "f5(b'abcd')", [4]),
    "range": Case("def f6(numbers): return numbers", "f6", "f6(range(12))", [12]),
    "integer n": Case("def f7(n): return n", "f7", "f7(7); f7(0); f7(-3)", [7, 0, -3]),
    "integer count": Case("def f8(what, count): return what", "f8", "f8(1.5, 4)", [4]),
    "integer with a name that says so": Case("def f9(num_rows): return num_rows", "f9", "f9(6)", [6]),
    "container after a scalar": Case("def f10(key, items): return key", "f10", "f10(3, [1, 2])", [2]),
    "container before an integer n": Case("def f11(items, n): return n", "f11", "f11([1], 5)", [1]),
    "container before a text": Case("def f12(mode, items): return mode", "f12", "f12('quick', [1, 2, 3])", [3]),
    "default": Case("def f13(items=(1, 2, 3)): return items", "f13", "f13(); f13([1])", [3, 1]),
    "keyword": Case("def f14(*, items): return items", "f14", "f14(items=[1, 2])", [2]),
    "positional only": Case("def f15(items, /): return items", "f15", "f15([1, 2])", [2]),
    "variable arguments": Case("def f16(*numbers): return numbers", "f16", "f16(1, 2, 3); f16()", [3, 0]),
    "expression": Case("def f17(a, b): return a", "f17=len(a) * b + 1", "f17([1, 2], 10)", [21]),
    "expression with a default": Case("def f18(a, b=5): return a", "f18=b", "f18(1); f18(1, b=2)", [5, 2]),
    "expression with names of the module": Case("K = 3\ndef f19(a): return a", "f19=len(a) * K", "f19([1, 2])", [6]),
    "expression with a function of the module": Case(
        "def area(box): return box[0] * box[1]\ndef f20(box): return box", "f20=area(box)", "f20((3, 4))", [12]
    ),
    "expression with a comprehension": Case("def f21(rows): return rows", "f21=sum(len(row) for row in rows)", "f21([[1], [2, 3]])", [3]),
    "expression with keywords": Case("def f22(**options): return options", "f22=len(options)", "f22(a=1, b=2)", [2]),
    "expression with a name that the body assigns": Case(
        "def f23(items):\n    len = 5\n    return len", "f23=len(items)", "f23([1, 2])", [2]
    ),
    "expression with a name that the body declares": Case(
        "total = 4\ndef f24():\n    global total\n    total += 1", "f24=total", "f24(); f24()", [4, 5]
    ),
    "fraction": Case("def f25(x): return x", "f25=x / 2", "f25(5)", [2.5]),
    "truth": Case("def f26(x): return x", "f26=x > 3", "f26(5); f26(1)", [1, 0]),
    "method": Case("class C1:\n    def m(self, items): return items", "C1.m", "C1().m([1, 2])", [2]),
    "object with a length": Case(
        "class C2:\n    def __len__(self): return 8\n    def m(self, key): return key", "C2.m", "C2().m(1)", [8]
    ),
    "object with a member named size": Case(
        "class C3:\n    def __init__(self): self.size = 5\n    def m(self, key): return key", "C3.m", "C3().m(1.5)", [5]
    ),
    "object with a list": Case(
        "class C4:\n    def __init__(self): self.rows = [1, 2, 3]\n    def m(self): return 1", "C4.m", "C4().m()", [3]
    ),
    "private member": Case(
        "class C5:\n    def __init__(self): self.__items = [1, 2]\n    def m(self): return 1", "C5.m=len(self.__items)", "C5().m()", [2]
    ),
    "private member through a function": Case(
        "class C6:\n    def __init__(self): self.__items = [1, 2]\n    def m(self): return 1",
        "C6.m=max(len(self.__items), 1)", "C6().m()", [2],
    ),
    "class method": Case("class C7:\n    @classmethod\n    def m(cls, items): return cls(), items", "C7.m", "C7.m([1])", [1]),
    "static method": Case("class C8:\n    @staticmethod\n    def m(items): return items", "C8.m", "C8.m([1, 2, 3])", [3]),
    "property": Case(
        "class C9:\n    def __init__(self): self.items = [1]\n    @property\n    def p(self): return 1",
        "C9.p=len(self.items)", "C9().p", [1],
    ),
    "class in a class": Case("class C10:\n    class D:\n        def m(self, n): return n", "C10.D.m", "C10.D().m(4)", [4]),
    "function in a function": Case(
        "def outer1(k):\n    def inner(items): return len(items) + k\n    return inner([1, 2])", "outer1.<locals>.inner", "outer1(1)", [2]
    ),
    "closure": Case("def outer2(k):\n    def add(n): return n + k\n    return add", "outer2.<locals>.add", "outer2(1)(6)", [6]),
    "cached function": Case(
        "import functools\n@functools.lru_cache\ndef f30(n): return n", "f30", "f30(3); f30(3); f30(4)", [3, 4]
    ),
    "wrapped function": Case(
        "def twice(g):\n    return lambda *a: (g(*a), g(*a))\n@twice\ndef f31(items): return items", "f31", "f31([1])", [1, 1]
    ),
    "defined conditionally": Case(
        "if K > 5:\n    def f32(n): return 0\nelse:\n    def f32(n): return n", "f32", "f32(2)", [2]
    ),
    "function with a docstring": Case('def f33(n):\n    "says"', "f33", "assert f33.__doc__ == 'says'; f33(3)", [3]),
    "recursion": Case("def f34(n): return 1 if n < 2 else n * f34(n - 1)", "f34", "f34(5); f34(3)", [5, 3]),
    "generator": Case("def f35(items):\n    for item in items: yield item", "f35", "list(f35([1, 2]))", [2]),
    "numbers of another kind": Case(
        "import fractions\ndef f36(x): return x", "f36=fractions.Fraction(x, 4)", "f36(3)", [0.75]
    ),
}  # fmt: skip


def test_sizes_are_exact(recorder):
    code = "".join(f"{case.definition}\n" for case in CORPUS.values()) + "".join(f"{case.calls}\n" for case in CORPUS.values())
    found = recorder(code, *(case.entry for case in CORPUS.values()))
    assert found == {case.entry.partition("=")[0]: case.sizes for case in CORPUS.values()}


@pytest.mark.parametrize("interpreter", OTHERS, ids=lambda path: Path(path).parts[-3])
def test_sizes_are_exact_in_other_interpreters(compiled, interpreter):
    code = "".join(f"{case.definition}\n" for case in CORPUS.values()) + "".join(f"{case.calls}\n" for case in CORPUS.values())
    compiled.write("corpus.py", code)
    found = compiled.collect([interpreter, "corpus.py"], [f"corpus:{case.entry}" for case in CORPUS.values()])
    assert found == {case.entry.partition("=")[0]: case.sizes for case in CORPUS.values()}


# what is measured


def durations(recorder: Recorder, name: str) -> list[float]:
    values = zip(recorder.seen.uid, recorder.seen.values["duration"], strict=True)
    return [value for uid, value in values if uid.partition(":")[2] == name and value is not None]


def test_a_duration_is_that_of_the_call(recorder):
    recorder("import time\ndef f(n): time.sleep(n / 1000)\nf(1); f(40)", "f")
    short, long = durations(recorder, "f")
    assert 0.001 <= short < long
    assert long >= 0.040


def test_a_call_that_raises_is_recorded(recorder):
    found = recorder(
        "def f(n):\n    if n: raise ValueError\nfor n in (1, 0):\n    try: f(n)\n    except ValueError: pass\nf(0)", "f"
    )
    assert found == {"f": [1, 0, 0]}


def test_all_calls_of_a_recursion_are_recorded_on_demand(recorder):
    found = recorder("def f(n): return 1 if n < 2 else n * f(n - 1)\nf(4)", "f", recursion="all")
    assert sorted(found["f"]) == [1, 2, 3, 4]


def test_mutual_recursion_records_the_outermost_call_of_each(recorder):
    found = recorder(
        "def even(n): return n == 0 or odd(n - 1)\ndef odd(n): return n != 0 and even(n - 1)\neven(6)", "even", "odd"
    )
    assert found == {"even": [6], "odd": [5]}


def test_a_generator_is_measured_while_it_runs_only(recorder):
    code = """
        import time
        def f(items):
            for item in items:
                time.sleep(0.005)
                yield item
        for item in f([1, 2]):
            time.sleep(0.2)
    """
    assert recorder(code, "f") == {"f": [2]}
    assert 0.010 <= durations(recorder, "f")[0] < 0.2


def test_a_generator_gets_what_is_sent_and_thrown(recorder):
    code = """
        def f(n):
            got = []
            while n:
                try: got.append((yield len(got)))
                except KeyError: got.append("thrown")
                n -= 1
            return got
        def g(n): return (yield from f(n))
        made = g(3)
        assert next(made) == 0
        assert made.send("a") == 1
        assert made.throw(KeyError) == 2
        try: made.send("b")
        except StopIteration as end: assert end.value == ["a", "thrown", "b"], end.value
    """
    assert recorder(code, "f", "g") == {"f": [3], "g": [3]}


def test_a_generator_that_is_given_up_is_counted_and_not_recorded(recorder):
    found = recorder("def f(n):\n    for i in range(n): yield i\nnext(f(5)); kept = f(6); next(kept); list(f(2))", "f")
    assert found == {"f": [2]}
    assert any(line.startswith("2 of the calls of program:f did not end") for line in recorder.seen.warnings)


def test_recursive_generators_record_the_outermost(recorder):
    code = "def walk(tree):\n    for part in tree:\n        yield from walk(part) if part else [1]\nlist(walk([[[], []], []]))"
    assert recorder(code, "walk") == {"walk": [2]}


def test_coroutines_are_measured_while_they_run_only(recorder):
    code = """
        import asyncio, time
        async def f(n):
            for _ in range(n):
                time.sleep(0.01)
                await asyncio.sleep(0.15)
            return n
        async def main(): return await asyncio.gather(f(1), f(2), f(3))
        assert asyncio.run(main()) == [1, 2, 3]
    """
    assert recorder(code, "f") == {"f": [1, 2, 3]}
    for count, value in enumerate(durations(recorder, "f"), 1):
        assert 0.01 * count <= value < 0.01 * count + 0.1


def test_what_a_coroutine_awaits_is_its_own_while_that_runs(recorder):
    code = """
        import asyncio, time
        async def inner():
            time.sleep(0.02)
            await asyncio.sleep(0)
            time.sleep(0.02)
        async def f(n): await inner()
        asyncio.run(f(1))
    """
    assert recorder(code, "f") == {"f": [1]}
    assert durations(recorder, "f")[0] >= 0.04


def test_asynchronous_iteration_and_contexts_work(recorder):
    code = """
        import asyncio, contextlib
        async def count(n):
            for i in range(n):
                await asyncio.sleep(0)
                got = yield i
        class Context:
            async def __aenter__(self): await asyncio.sleep(0); return 5
            async def __aexit__(self, *error): await asyncio.sleep(0); return error[0] is KeyError
        class Numbers:
            def __init__(self): self.left = 2
            def __aiter__(self): return self
            async def __anext__(self):
                if not self.left: raise StopAsyncIteration
                self.left -= 1
                return self.left
        async def f(n):
            found = [i async for i in count(n)]
            async with Context() as value: found.append(value); raise KeyError
            async for i in Numbers(): found.append(i)
            found += [await asyncio.sleep(0, j) for j in range(2)]
            lazy = (i async for i in count(2))
            found += [i async for i in lazy]
            try: await 3
            except TypeError as error: assert "int can't be used in 'await'" in str(error), error
            try:
                async with 3: pass
            except (TypeError, AttributeError) as error: pass
            else: raise AssertionError
            try:
                async for _ in 3: pass
            except TypeError as error: assert "async for" in str(error), error
            return found
        assert asyncio.run(f(3)) == [0, 1, 2, 5, 1, 0, 0, 1, 0, 1]
    """
    assert recorder(code, "f", "count") == {"f": [3], "count": [3, 2]}


def test_a_cancelled_coroutine_ends(recorder):
    code = """
        import asyncio
        async def f(n):
            try: await asyncio.sleep(10)
            finally: await asyncio.sleep(0)
        async def main():
            task = asyncio.ensure_future(f(1))
            await asyncio.sleep(0.01)
            task.cancel()
            try: await task
            except asyncio.CancelledError: return True
        assert asyncio.run(main())
    """
    assert recorder(code, "f") == {"f": [1]}


def test_awaitables_of_every_kind_are_waited_for(recorder):
    code = """
        import types
        @types.coroutine
        def old():
            got = yield 1
            return got
        class New:
            def __await__(self): return iter([2])
        async def f(n): return (await old(), await New())
        made = f(1)
        assert made.send(None) == 1
        assert made.send("x") == 2
        try: made.send(None)
        except StopIteration as end: assert end.value == ("x", None)
        made = f(2)
        made.send(None)
        try: made.throw(KeyError("thrown"))
        except KeyError as error: assert error.args == ("thrown",)
        made = f(3); made.send(None); made.send(0)
        try: made.throw(KeyError, KeyError("later")) if __import__("sys").version_info < (3, 12) else made.throw(KeyError("later"))
        except KeyError as error: assert error.args == ("later",)
        made = f(4); made.send(None); made.close()
        made = f(5); made.send(None); made.send(0); made.close()
    """
    assert recorder(code, "f") == {"f": [1, 2, 3]}


def test_threads_are_recorded_each_for_itself(recorder):
    code = """
        import threading
        def f(n): return 1 if n < 2 else f(n - 1)
        def work(k):
            for n in range(1, 51): f(n)
        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
    """
    assert sorted(recorder(code, "f")["f"]) == sorted(4 * list(range(1, 51)))


def test_what_another_thread_spends_on_recording_is_not_subtracted(recorder):
    code = """
        import threading, time
        def hot(n): return n
        def slow(n): time.sleep(n / 1000)
        done = threading.Event()
        def work():
            while not done.is_set():
                for _ in range(1000): hot(1)
        thread = threading.Thread(target=work)
        thread.start()
        slow(50); slow(60)
        done.set()
        thread.join()
        """
    recorder(code, "hot=n", "slow=n")
    slow = [at for at, uid in enumerate(recorder.seen.uid) if uid == "program:slow"]
    assert [recorder.seen.size[at] for at in slow] == [50, 60]
    assert all(recorder.seen.values["duration"][at] > 0.045 for at in slow)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes_of_multiprocessing_are_recorded(recorder, method):
    code = f"""
        import multiprocessing
        def f(n): return n
        if __name__ == "__main__":
            context = multiprocessing.get_context("{method}")
            processes = [context.Process(target=f, args=(n,)) for n in (3, 4)]
            for process in processes: process.start()
            for process in processes: process.join()
            f(2)
    """
    assert sorted(recorder(code, "f")["f"]) == [2, 3, 4]
    assert sorted(recorder.seen.iteration) == [0, 1, 2]


def test_a_pool_that_is_terminated_has_told_its_calls(compiled):
    code = """
        import multiprocessing
        def f(n): return n
        if __name__ == "__main__":
            with multiprocessing.Pool(2) as pool: pool.map(f, range(8))
    """
    assert sorted(compiled(code, "f")["f"]) == list(range(8))


def test_a_forked_child_records_its_own_calls(recorder):
    code = """
        import os
        def f(n):
            if n == 1:
                child = os.fork()
                if not child: g(5); os._exit(0)
                os.waitpid(child, 0)
        def g(n): return n
        g(3); f(1); g(4)
    """
    assert recorder(code, "f", "g") == {"f": [1], "g": [3, 4, 5]}


def test_what_ran_before_exec_is_kept(recorder):
    code = """
        import os, sys
        def f(n): return n
        f(len(sys.argv))
        if len(sys.argv) == 1: os.execv(sys.executable, [sys.executable, "program.py", "x"])
    """
    assert sorted(recorder(code, "f")["f"]) == [1, 2]


def test_many_calls_become_a_sample_that_knows_its_rate(recorder):
    recorder("def f(n): return n\nfor i in range(30_000): f(16 + i % 2)\nf(4)", "f=n", keep=50)
    rate = recorder.seen.values["rate"]
    assert len(rate) == 51
    assert rate.count(600.0) == 50
    assert len(set(recorder.seen.iteration)) == 51
    assert sorted(set(recorder.seen.size)) == [4, 16, 17]


def test_the_sample_is_uniform(recorder):
    """Of 20,000 calls 1,000 are kept: of each tenth about 100 (standard deviation 9.5)."""
    recorder("def f(n): return n\nfor i in range(20_000): f(1 + i / 1e7)", "f=n", keep=1000)
    tenths = [0] * 10
    for size in recorder.seen.size:
        tenths[int((size - 1) * 1e7 // 2000)] += 1
    assert sum(tenths) == 1000
    assert all(abs(count - 100) < 48 for count in tenths), tenths


# doubtful sizes


def test_an_expression_that_raises_is_told_once_with_its_error(recorder):
    found = recorder("def f(n): return n\nfor n in (0, 1, 2): f(n)", "f=6 / n")
    assert found == {"f": [None, 6, 3]}
    assert recorder.seen.warnings == ["program:f: its size 6 / n failed in 1 of 3 calls: ZeroDivisionError: division by zero"]


@pytest.mark.parametrize("value", ["'text'", "1j", "float('inf')", "float('nan')", "10 ** 400", "None", "[1]"])
def test_an_expression_that_is_no_number_gives_no_size(recorder, value):
    for entry in ("f=x", "f=max(x, x)" if value != "1j" else "f=id(x) * 1j"):
        assert recorder(f"def f(x): return x\nf({value})", entry) == {"f": [None]}
        assert len(recorder.seen.warnings) == 1


def test_a_function_without_a_size_is_told(recorder):
    assert recorder("def f(x): return x\ndef g(): return 1\nf(1.5); g()", "f", "g") == {"f": [None], "g": [None]}
    assert recorder.seen.warnings == [
        f"program:{name}: no argument looks like a size: give one, as in program:{name}=len(items)" for name in "fg"
    ]


def test_an_ambiguous_guess_is_told(recorder):
    assert recorder("def f(a, b): return a\nf([1], [1, 2])", "f") == {"f": [1]}
    assert recorder.seen.warnings == [
        "program:f: its size was guessed as len(a), and could be another: write program:f=len(a) to fix it"
    ]


def test_a_guess_follows_the_type_of_the_argument(recorder):
    assert recorder("def f(n): return n\nf([1]); f(5); f((1, 2)); f(None); f([])", "f") == {"f": [1, 5, 2, None, 0]}
    assert "guessed as len(n) and n" in recorder.seen.warnings[0]


def test_a_size_may_use_what_is_recorded_itself(recorder):
    code = """
        class C:
            def __init__(self): self.items = [1, 2]
            def __len__(self): return self.total()
            def total(self): return len(self.items)
        C().total(); len(C())
    """
    found = recorder(code, "C.__len__=len(self.items)", "C.total=max(len(self), 0)")
    assert found["C.total"][0] == 2
    assert 2 in found["C.__len__"]


# functions that there are not


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("program:insrt", r"there is no function insrt in .*program.py; did you mean `insert`\?"),
        ("program:C.insrt", r"there is no function C.insrt in .*; did you mean `C.insert`\?"),
        ("__main__:zzz", r"there is no function zzz in .*; there are: insert, C.insert"),
        ("other:insert", "other:insert: the program did not import other: correct the name"),
        ("program:insert@7", "insert is defined in line 2 of .*: give that line, or none"),
        (
            "json.decoder:JSONDecoder.decod",
            "there is no function JSONDecoder.decod in .*decoder.py; did you mean `JSONDecoder.decode`",
        ),
    ],
)
def test_a_function_that_does_not_exist_is_told_with_the_nearest(compiled, entry, said):
    compiled.write("program.py", "import json\ndef insert(n): return n\nclass C:\n    def insert(self): return 1\ninsert(2)")
    with pytest.raises(CollectError, match=said):
        compiled.collect([sys.executable, "program.py"], [entry])


@pytest.mark.parametrize(
    ("module", "said"),
    [
        ("math", "is compiled"),
        ("os", "is frozen|was loaded before"),
        ("_json", "is compiled"),
        ("io", "is frozen|was loaded before"),
    ],
)
def test_a_function_that_cannot_be_rewritten_is_told(compiled, module, said):
    compiled.write("program.py", f"import {module}")
    with pytest.raises(CollectError, match=said):
        compiled.collect([sys.executable, "program.py"], [f"{module}:f"])


def test_a_function_named_twice_is_told(compiled):
    with pytest.raises(CollectError, match="is the same function as program:f: name it once"):
        compiled.write("program.py", "def f(n): return n\nf(1)")
        compiled.collect([sys.executable, "program.py"], ["program:f", "__main__:f"])


def test_functions_of_one_name_are_told_apart_by_their_line(compiled):
    code = "class C:\n    @property\n    def x(self): return 1\n    @x.setter\n    def x(self, n): pass\nc = C(); c.x; c.x = 5; c.x = 6"
    assert compiled(code, "C.x") == {"C.x": [None, 5, 6]}
    assert "defined in lines 3, 5, recorded as one" in compiled.seen.warnings[0]
    assert compiled(code, "C.x@5") == {"C.x@5": [5, 6]}
    assert compiled(code, "C.x@4") == {"C.x@4": [5, 6]}


def test_a_function_that_was_not_called_is_told(recorder):
    assert recorder("def f(n): return n\ndef g(n): return n\nf(1)", "f", "g") == {"f": [1]}
    assert recorder.seen.warnings == ["program:g was never called: leave it out, or have the command call it"]
    with pytest.raises(CollectError, match="none of the functions was called"):
        recorder("def f(n): return n", "f")


@pytest.mark.parametrize("entry", ["program:f(x)", "program:f@0", "program:f@x", "a b:f"])
def test_what_is_no_name_is_told(entry):
    with pytest.raises(UsageError, match="names no Python function"):
        place.Place.of(Function(entry))


@pytest.mark.parametrize("size", ["len(", "x = 3", "a\x1eb", "'\x1e'", "(" * 10_000, "yield"])
def test_what_is_no_expression_is_told(size):
    with pytest.raises(UsageError, match="the size of m:f"):
        place.Place.of(Function("m:f", size))


@pytest.mark.parametrize("option", ["-I", "-E", "-S"])
def test_an_interpreter_that_ignores_us_is_told(compiled, option):
    compiled.write("program.py", "def f(n): return n\nf(1)")
    with pytest.raises(CollectError, match="leave out the options -I, -E and -S"):
        compiled.collect([sys.executable, option, "program.py"], ["program:f"])


# programs that fail


def test_what_was_recorded_until_a_crash_is_kept_aside(recorder):
    with pytest.raises(CollectError, match=r"exited with status 1: .*ZeroDivisionError") as caught:
        recorder("def f(n): return n\nf(1); f(2)\n1 / 0", "f")
    assert caught.value.partial is not None
    assert caught.value.partial.size == [1, 2]


def test_a_crash_before_any_call_keeps_nothing(recorder):
    with pytest.raises(CollectError, match="exited with status 3") as caught:
        recorder("def f(n): return n\nraise SystemExit(3)", "f")
    assert caught.value.partial is None


def test_a_killed_program_has_told_its_calls(compiled):
    with pytest.raises(CollectError, match="killed by SIGKILL") as caught:
        compiled("import os\ndef f(n): return n\nf(1); f(2)\nos.kill(os.getpid(), 9)", "f")
    assert caught.value.partial is not None
    assert caught.value.partial.size == [1, 2]


def test_a_time_out_keeps_what_there_is(recorder):
    recorder.write("program.py", "import time\ndef f(n): time.sleep(0.01)\nwhile True: f(3)")
    collector = Complexity(["program:f"])
    with pytest.raises(CollectError, match="time-out of 2 s") as caught:
        collector.collect(recorder.run(sys.executable, "program.py", timeout=2.0))
    assert caught.value.partial is not None
    assert set(caught.value.partial.size) == {3}


@pytest.mark.parametrize("argv", [["/nowhere/python", "x.py"], ["python3", "x.py"]])
def test_a_command_that_cannot_start_is_told(compiled, argv):
    with pytest.raises(CollectError, match=r"cannot run|does not begin with an absolute path"):
        compiled.collect(argv, ["x:f"])


# programs that are recorded and do not notice

QUIET = {
    "plain": 'def f(n): return n * 2\nprint(f(3))',
    "arguments": """
        import sys
        def f(n): return n
        print(sys.argv, __name__, __file__, sys.path[0], __spec__, __doc__, __package__, f(1))
    """,
    "modules": """
        import sys
        def f(n): return n
        f(1)
        print(sorted(n for n in sys.modules if 'perfvcs' in n or n == 'sitecustomize'))
        print([str(f).partition(' at ')[0] for f in sys.meta_path])
    """,
    "names": '''
        "A page."
        def f(n):
            "says"
            a = 1
            return sorted(locals())
        print(f(1), f.__doc__, f.__name__, f.__qualname__, f.__module__, sorted(globals()))
    ''',
    "inspection": """
        import inspect
        def f(n, *items, key=None, **more):
            '''Says.'''
            b = n
            return inspect.currentframe().f_lineno, b
        print(inspect.signature(f), inspect.getsource(f), f(1), f.__code__.co_varnames, f.__code__.co_firstlineno, inspect.getdoc(f))
        print(f.__code__.co_flags, f.__code__.co_freevars, f.__code__.co_cellvars, f.__code__.co_argcount, f.__code__.co_filename)
    """,
    "stack": """
        import traceback
        def f(n):
            traceback.print_stack()
            return [frame.name for frame in traceback.extract_stack()]
        print(f(1))
    """,
    "traceback": 'def g(n):\n    return 1 / n\ndef f(n):\n    if n:\n        return f(n - 1)\n    return g(n)\nf(3)',
    "traceback in a generator": 'def f(n):\n    yield 1\n    raise KeyError(n)\nfor x in f(3): print(x)',
    "chained errors": """
        def f(n):
            try:
                1 / n
            except ZeroDivisionError as error:
                raise KeyError(n) from error
        f(0)
    """,
    "errors and finally": """
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
    """,
    "warnings": """
        import warnings
        def f(n): warnings.warn('careful', stacklevel=2)
        def g(): f(1)
        g()
        warnings.warn('here', stacklevel=2)
    """,
    "syntax warning": 'def f(n): return n is 5\nprint(f(1))',
    "recursion error": """
        import sys
        sys.setrecursionlimit(200)
        def f(n): return f(n + 1)
        try: f(0)
        except RecursionError as error: print(error)
    """,
    "status": 'import sys\ndef f(n): sys.exit(n)\nf(7)',
    "status by message": "import sys\ndef f(n): sys.exit('bad')\nf(7)",
    "hard exit": 'import os\ndef f(n): os._exit(n)\nf(5)',
    "signal": 'import os, signal\ndef f(n): os.kill(os.getpid(), signal.SIGTERM)\nf(1)',
    "interrupt": 'import os, signal\ndef f(n): os.kill(os.getpid(), signal.SIGINT); [None for _ in range(10**6)]\nf(1)',
    "dataclass": """
        import dataclasses
        @dataclasses.dataclass
        class P:
            x: int
            def f(self): return self.x
        print(P(3), P(3).f(), P(3) == P(3))
    """,
    "super": """
        class A:
            def f(self): return [__class__.__name__]
        class B(A):
            def f(self): return super().f() + [__class__.__name__]
        print(B().f())
    """,
    "mangling": """
        class A:
            def __init__(self): self.__x = 1
            def f(self): return self.__x
        print(A().f(), vars(A()))
    """,
    "nonlocal": """
        def f(n):
            k = 0
            def up():
                nonlocal k
                k += 1
            up(); up()
            return k
        print(f(1))
    """,
    "global": 'k = 1\ndef f(n):\n    global k\n    k += n\nf(4)\nprint(k)',
    "annotations": """
        from __future__ import annotations
        def f(n: Nowhere) -> int: return n
        print(f(1), f.__annotations__)
    """,
    "pickling": """
        import pickle
        def f(n): return n
        print(pickle.loads(pickle.dumps(f))(2), pickle.loads(pickle.dumps(f)) is f)
    """,
    "doctest": """
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
    """,
    "decorators": """
        import functools, contextlib
        @contextlib.contextmanager
        def f(n):
            yield n
        with f(2) as x: print(x)
        @functools.cache
        def g(n): return n
        print(g(1), g(1), g.cache_info())
    """,
    "random numbers": """
        import random
        random.seed(1)
        def f(n): return random.random()
        print([f(1) for _ in range(3)])
    """,
    "overloads": """
        import typing
        @typing.overload
        def f(n: int) -> int: ...
        @typing.overload
        def f(n: str) -> str: ...
        def f(n): return n
        print(f(1))
    """,
    "asynchronous": """
        import asyncio
        async def f(n):
            await asyncio.sleep(0)
            raise ValueError(n)
        async def main():
            try: await f(1)
            except ValueError as error: print(repr(error))
            await f(2)
        asyncio.run(main())
    """,
    "kinds": """
        import inspect
        async def f(n): pass
        def g(n): yield
        made = f(1)
        print(inspect.iscoroutinefunction(f), inspect.isgeneratorfunction(g), made.cr_code.co_name)
        made.close()
        print(g(1).gi_frame.f_locals, list(g(1)))
    """,
    "import error": 'def f(n):\n    import nowhere_to_be_found\nf(1)',
    "lines": """
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
    """,
    "multiprocessing": """
        import multiprocessing
        def f(n): return n * n
        if __name__ == '__main__':
            with multiprocessing.Pool(2) as pool: print(pool.map(f, range(5)))
    """,
    "subprocess": """
        import subprocess, sys
        command = [sys.executable, '-c', 'import sys; print(sys.argv, len(sys.path))', 'x']
        def f(n): return subprocess.run(command, capture_output=True).stdout
        print(f(1))
    """,
    "standard input": 'import sys\ndef f(n): return sys.stdin.read()\nprint(repr(f(1)))',
    "closed files": """
        import os
        def f(n): return n
        os.closerange(3, 100)
        f(1)
        print(os.open('/dev/null', os.O_RDONLY))
    """,
    "exit handlers": "import atexit\ndef f(n): print('bye', n)\natexit.register(f, 3)\nprint('ran')",
    "garbage at the end": "class A:\n    def __del__(self): print('gone', f(2))\ndef f(n): return n\nkept = A()\nf(1)",
    "a generator left open": """
        def f(n):
            try: yield n
            finally: print('closed')
        kept = f(1)
        next(kept)
        print('end')
    """,
}  # fmt: skip


def both(recorder: Recorder, argv: list[str], function: str = "program:f") -> tuple[object, object]:
    """How a command ends and what it writes, as it is and recorded; the recorded one must have met the function."""
    run = recorder.run(*argv)
    folder = run.scratch / "calls"
    modules, _ = python.compiled_recorder(run)
    python.ask(folder, [place.Place.of(Function(function))], Request(()), modules)
    found = []
    for env in (dict(run.env), python.environment(run, folder)):
        done = subprocess.run(argv, cwd=run.cwd, env=env, capture_output=True, stdin=subprocess.DEVNULL, timeout=60, check=False)
        found.append((done.returncode, done.stdout.decode(), done.stderr.decode()))
    assert 0 in notes.read_notes(folder).defined, found[1]
    return found[0], found[1]


@pytest.mark.parametrize("name", QUIET)
def test_a_program_does_not_notice(recorder, name):
    recorder.write("program.py", QUIET[name])
    function = {"super": "B.f", "mangling": "A.f", "dataclass": "P.f"}.get(name, "f")
    plain, recorded = both(recorder, [sys.executable, "program.py", "one", "two"], f"program:{function}")
    assert recorded == plain


@pytest.mark.parametrize("interpreter", OTHERS, ids=lambda path: Path(path).parts[-3])
def test_programs_do_not_notice_in_other_interpreters(compiled, interpreter):
    for name in ("arguments", "names", "inspection", "traceback", "warnings", "asynchronous", "lines", "pickling", "interrupt"):
        compiled.write("program.py", QUIET[name])
        plain, recorded = both(compiled, [interpreter, "program.py"])
        assert recorded == plain, name


def test_a_module_that_is_imported_does_not_notice(compiled):
    compiled.write("pkg/__init__.py", "")
    compiled.write(
        "pkg/mod.py",
        "def f(n):\n    if n: raise KeyError(n)\n    return __file__, __cached__, __spec__.name, __loader__",
    )
    compiled.write("program.py", "from pkg.mod import f\nprint(f(0))\nf(1)")
    plain, recorded = both(compiled, [sys.executable, "program.py"], "pkg.mod:f")
    assert (recorded[0], recorded[2]) == (plain[0], plain[2])
    assert recorded[1].partition("<")[0] == plain[1].partition("<")[0]


def test_cached_code_is_neither_read_nor_written(compiled):
    compiled.write("mod.py", "def f(n): return n")
    compiled.write("program.py", "import mod, glob\nmod.f(1)\nprint(len(glob.glob('__pycache__/mod*')))")
    assert compiled.collect([sys.executable, "program.py"], ["mod:f"]) == {"f": [1]}
    assert not list(compiled.folder.glob("__pycache__/mod*"))
    subprocess.run([sys.executable, "program.py"], cwd=compiled.folder, check=True, capture_output=True)
    assert list(compiled.folder.glob("__pycache__/mod*"))
    assert compiled.collect([sys.executable, "program.py"], ["mod:f"]) == {"f": [1]}


WAYS = {
    "command": (["{python}", "-c", "def f(n): return n\nf(3)"], "__main__:f"),
    "options before a command": (["{python}", "-W", "error", "-X", "utf8", "-bOuc", "def f(n): return n\nf(3)"], "__main__:f"),
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
        "checks/test_it.py", "import sys\nsys.path.insert(0, '.')\nfrom program import f\ndef test_f(): assert f(3) == 3\n"
    )
    argv, function = WAYS[way]
    argv = [word.format(python=sys.executable, folder=compiled.folder) for word in argv]
    if way == "another process":
        compiled.engine = "rewrite/1"  # nobody knows that interpreter before
    assert list(compiled.collect(argv, [function]).values()) == [[3]]


def test_the_project_s_own_sitecustomize_runs(compiled):
    compiled.write("site/sitecustomize.py", "import sys\nsys.mine = 5\nprint('mine', __file__)")
    compiled.write(
        "program.py", "import sys, sitecustomize\ndef f(n): return n\nf(1)\nprint(sys.mine, sitecustomize.__file__, sys.path)"
    )
    run = compiled.run(sys.executable, "program.py")
    compiled.run = lambda *argv: Run(argv, run.cwd, {**run.env, "PYTHONPATH": str(compiled.folder / "site")}, run.scratch, "all")  # type: ignore[method-assign]
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
        "program.py", f"import subprocess\ndef f(n): return n\nf(1)\nsubprocess.run(['{other}', 'second.py'], check=True)"
    )
    compiled.write("second.py", "from program_ import f\nf(2)")
    compiled.write("program_.py", "def f(n): return n")
    compiled.engine = "rewrite+rewrite-c/1"
    found = compiled.collect([sys.executable, "program.py"], ["program:f", "program_:f"])
    assert sorted(found["f"]) == [1, 2]


def test_a_compiled_recorder_that_cannot_be_loaded_is_told(compiled, monkeypatch, tmp_path):
    broken = tmp_path / "broken.so"
    broken.write_bytes(b"no library")
    tag = next(iter(EXTENSION_SUFFIXES))
    monkeypatch.setattr(python, "compiled_recorder", lambda _: ([(tag, broken)], None))
    compiled.engine = "rewrite/1"
    assert compiled("def f(n): return n\nf(1)", "f") == {"f": [1]}
    assert compiled.seen.warnings[0].startswith("calls are recorded in Python, which takes longer: ImportError")


# discovery


PROJECT = """
    import helper
    def slow(items):
        return sorted(sum(items) for _ in range(50 * len(items)))
    def quick(n): return n
    def sizeless(x): return x
    def main():
        for n in range(1, 30):
            slow([1] * n); quick(n); sizeless(0.5)
            helper.count({i: i for i in range(n)})
    if __name__ == "__main__": main()
"""


def test_auto_records_the_slowest_functions_with_a_size(compiled):
    compiled.write("program.py", PROJECT)
    compiled.write("helper.py", "def count(table):\n    return sum(table.values()) + sum(i * i for i in range(500))")
    found = compiled.collect([sys.executable, "program.py"], "auto", most=2)
    assert found == {"slow": list(range(1, 30)), "count": list(range(1, 30))}
    assert 'functions = ["program:slow=len(items)", "helper:count=len(table)"]' in compiled.seen.warnings[0]


def test_auto_looks_for_functions_once(compiled, monkeypatch):
    compiled.write("program.py", PROJECT)
    compiled.write("helper.py", "def count(table): return table")
    compiled.collect([sys.executable, "program.py"], "auto", most=1)
    monkeypatch.setattr(python, "_timed", lambda _: pytest.fail("once is enough"))
    assert compiled.collect([sys.executable, "program.py"], "auto", most=1) == {"slow": list(range(1, 30))}


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("print(1)", "ran no functions of the project"),
        (
            "def f(x): return x\nf(1.5)",
            r'has an argument that looks like a size: name functions with theirs, as in functions = \["program:f',
        ),
        ("1 / 0", "exited with status 1"),
    ],
)
def test_auto_tells_when_there_is_nothing(compiled, code, said):
    compiled.write("program.py", code)
    with pytest.raises(CollectError, match=said):
        compiled.collect([sys.executable, "program.py"], "auto")


# the files between the two sides


def test_a_compiler_that_is_missing_is_told(compiled, monkeypatch):
    monkeypatch.setattr("perfvcs.native.compiled.COMPILERS", ())
    extension._extension.cache_clear()
    compiled.engine = "rewrite/1"
    assert compiled("def f(n): return n\nf(1)", "f") == {"f": [1]}
    assert compiled.seen.warnings[0].startswith("calls are recorded in Python, which takes longer: there is no C compiler")
    extension._extension.cache_clear()


def test_a_python_without_a_lock_is_recorded_in_python(compiled):
    program = compiled.write(
        "python3t",
        f"""\
        #!/bin/sh
        case "$1" in -I) printf '%s\\n' .cpython-313t.so 1 /include /include ;; *) exec {sys.executable} "$@" ;; esac
        """,
    )
    program.chmod(0o755)
    compiled.write("program.py", "def f(n): return n\nf(1)")
    compiled.engine = "rewrite/1"
    assert compiled.collect([str(program), "program.py"], ["program:f"]) == {"f": [1]}
    assert "is a Python without a global lock" in compiled.seen.warnings[0]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is not a file of records"),
        (b"PVCSCALL\2\0\0\0\0\0\0\0", "has version 2 of the format"),
        (b"PVCSCALL\1\0\0\0\0\0\0\0" + b"\7\0\0\0" + b"\0" * 36 + b"\0\0\0\0\0\0\xf0\x3f", "a function that nobody asked for"),
        (
            b"PVCSCALL\1\0\0\0\0\0\0\0" + b"\0" * 24 + b"\0\0\0\0\0\0\xf0\x7f" + b"\0" * 8 + b"\0\0\0\0\0\0\xf0\x3f",
            "impossible values",
        ),
    ],
)
def test_a_file_of_records_that_is_garbage_is_told(tmp_path, content, said):
    (tmp_path / "calls-1-1.bin").write_bytes(content)
    with pytest.raises(CollectError, match=said):
        read(tmp_path, 1)


def test_a_record_that_is_cut_off_is_left_out(tmp_path):
    import numpy as np

    from perfvcs.complexity.recording import FIELDS

    rows = np.array([(0, 0, 5, 2.0, 30.0, 10.0, 1.0), (0, 0, 4, 1.0, 10.0, 30.0, 2.0)], FIELDS).tobytes()
    (tmp_path / "calls-1-1.bin").write_bytes(b"PVCSCALL\1\0\0\0\1\0\0\0" + rows + rows[:20])
    found = read(tmp_path, 1)
    assert found.size.tolist() == [1.0, 2.0]
    assert found.number.tolist() == [0, 2]
    assert found.duration.tolist() == pytest.approx([0, 20e-9])


def test_a_link_in_place_of_a_file_is_not_followed(tmp_path):
    (tmp_path / "calls-1-1.bin").symlink_to("/etc/passwd")
    (tmp_path / "notes-1-1.txt").symlink_to("/etc/passwd")
    with pytest.raises(CollectError, match="cannot be read"):
        read(tmp_path, 1)
    assert notes.read_notes(tmp_path) == notes.Notes()


def test_nothing_recorded_is_nothing(tmp_path):
    assert len(read(tmp_path, 3).function) == 0


def test_notes_that_are_garbage_are_left_out(tmp_path):
    (tmp_path / "notes-1-1.txt").write_bytes(
        b"defined\x1fx\x1f1\x1e\xff\xfe\x1estarted\x1e\x1f\x1f\x1eerror\x1f0\x1fbad\x07\x1eunfinished"
    )
    found = notes.read_notes(tmp_path)
    assert found.errors == {0: "bad?"}
    assert not found.defined and not found.interpreters


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
    rates = [rate for rate, size in zip(recorder.seen.values["rate"], recorder.seen.size, strict=True) if size == 50]
    assert sum(rates) == pytest.approx(1000)  # no call that was interrupted makes later ones look like recursion
    assert None not in recorder.seen.size


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
    with pytest.raises(CollectError, match=r"hooked:f: its module was loaded by another import hook \(Loader\)"):
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


# the same inside this process


@pytest.fixture
def inside(tmp_path, monkeypatch):
    """Installs the recorder here for a request, and takes it out again; gives the hook, and what was recorded by then."""
    for owner, name in [
        (hook.imports.SourceLoader, "get_code"),
        (zipimporter, "get_code"),
        *((os, f) for f in ("_exit", "execv", "execve")),
    ]:
        monkeypatch.setattr(owner, name, getattr(owner, name))
    monkeypatch.setattr(hook, "_modules", {})
    monkeypatch.setattr(hook.atexit, "register", lambda _: None)
    monkeypatch.setattr(os, "register_at_fork", lambda **_: None)
    monkeypatch.syspath_prepend(str(tmp_path))
    folder = tmp_path / "calls"

    def install(*functions: str, modules: Sequence[tuple[str, Path]] = (), **options: object) -> hook.Hook:
        places = [place.Place.of(parse(one)) for one in functions]
        python.ask(folder, places, Request((), **options), modules)  # type: ignore[arg-type]
        found = hook.install(str(folder / "request"))
        assert found is not None
        return found

    before = set(sys.modules)
    yield install
    sys.setprofile(None)
    for name in set(sys.modules) - before:
        if name in ("corpus_inside", "awaits_inside"):
            del sys.modules[name]


def test_sizes_are_exact_inside_too(inside, tmp_path):
    calls = "".join(f"    {case.calls}\n" for case in CORPUS.values())
    (tmp_path / "corpus_inside.py").write_text(
        "".join(f"{case.definition}\n" for case in CORPUS.values()) + f"def main():\n{calls}"
    )
    installed = inside(*(f"corpus_inside:{case.entry}" for case in CORPUS.values()))
    import_module("corpus_inside").main()
    installed.recorder.save()
    found = read(tmp_path / "calls", len(CORPUS))
    for number, case in enumerate(CORPUS.values()):
        assert found.size[found.function == number].tolist() == case.sizes, case
    assert not found.unfinished.any()


def test_sizes_are_exact_inside_too_with_the_compiled_recorder(inside, compiled, tmp_path):
    (tmp_path / "corpus_inside.py").write_text("def f(items): return items\ndef g(n):\n    for i in range(n): yield i\n")
    installed = inside("corpus_inside:f", "corpus_inside:g=n", modules=python.compiled_recorder(compiled.run(sys.executable))[0])
    module = import_module("corpus_inside")
    for n in range(4):
        module.f([0] * n)
        list(module.g(n))
    assert installed.recorder.engine == "rewrite-c/1"
    assert read(tmp_path / "calls", 2).size.tolist() == [0, 1, 2, 3] * 2


def test_a_handler_of_a_signal_may_raise_while_a_size_is_computed(inside, tmp_path):
    (tmp_path / "corpus_inside.py").write_text("def f(items): return 1\ndef g(items): return 2\ndef h(items): return 3\n")
    installed = inside("corpus_inside:f=len(items)", "corpus_inside:g", "corpus_inside:h=sum(items)")
    module = import_module("corpus_inside")

    class Late(Exception):
        pass

    class Handler:
        def __call__(self, *_: object) -> None:
            raise Late

    class Items(list[int]):
        def __len__(self) -> int:
            signal.raise_signal(signal.SIGUSR1)
            return 5

        def __iter__(self) -> Iterator[int]:
            signal.raise_signal(signal.SIGUSR1)
            return iter([5])

    before = signal.getsignal(signal.SIGUSR1)
    for handler in (Handler(), Handler().__call__, functools.partial(Handler())):
        signal.signal(signal.SIGUSR1, handler)
        try:
            for function in (module.f, module.g, module.h):
                with pytest.raises(Late):
                    function(Items())
        finally:
            signal.signal(signal.SIGUSR1, before)
    assert (module.f([1]), module.g([1]), module.h([1])) == (1, 2, 3)
    installed.recorder.save()
    assert read(tmp_path / "calls", 3).size.tolist() == [1, 1, 1]


def test_sizes_that_fail_are_told_inside_too(inside, tmp_path):
    (tmp_path / "corpus_inside.py").write_text("def f(items): return 1\ndef g(n): return 2\ndef h(n): return 3")
    installed = inside("corpus_inside:f=len(items)", "corpus_inside:g=n", "corpus_inside:h=str(n)")
    module = import_module("corpus_inside")
    for n in (1, "text", float("inf"), None, 10**400):
        assert (module.f(n), module.g(n), module.h(n)) == (1, 2, 3)
    installed.recorder.save()
    found = read(tmp_path / "calls", 3)
    np.testing.assert_equal(found.size, [nan, 4, nan, nan, nan, 1, nan, nan, nan, nan, *[nan] * 5])
    errors = notes.read_notes(tmp_path / "calls").errors
    assert errors == {
        0: "TypeError: object of type 'int' has no len()",
        1: "TypeError: str is not a number",
        2: "TypeError: str is not a number",
    }


def test_modules_that_cannot_be_recorded_are_told_inside_too(inside, tmp_path):
    installed = inside("os:getenv", "math:sqrt", "pytest:fixture", "nowhere:f", "__main__:f")
    installed._tell_others()
    untouched = notes.read_notes(tmp_path / "calls").untouched
    assert list(untouched) == ["os", "math", "pytest"]
    assert untouched["math"].startswith("is compiled")


@pytest.mark.usefixtures("inside")
def test_functions_are_timed_inside_too(tmp_path, monkeypatch):
    stops: list[Callable[[], None]] = []
    monkeypatch.setattr(hook.atexit, "register", stops.append)
    (tmp_path / "corpus_inside.py").write_text("def f(n): return sum(range(n))\n")
    (tmp_path / "calls").mkdir()
    (tmp_path / "calls" / "request").write_text(f"discover\x1f{tmp_path}\x1e")
    hook.install(str(tmp_path / "calls" / "request"))
    import_module("corpus_inside").f(1000)
    for stop in stops:
        stop()
    (timed,) = notes.read_notes(tmp_path / "calls").timed
    assert (Path(timed.path).name, timed.line, timed.module, timed.calls) == ("corpus_inside.py", 1, "corpus_inside", 1)


def test_functions_are_put_among_the_constants_of_code():
    code = compile("def f(): return 4\nanswer = f()", "x", "exec")
    assert not hook.transplant(code, compile("def f(): return 5\nother = f() + f()", "x", "exec"))
    assert hook.transplant(code, compile("def f(): return 5\nanswer = f()", "x", "exec"))
    space: dict[str, object] = {}
    exec(code, space)
    assert space["answer"] == 5


ASYNCHRONOUS = """
    import asyncio, contextlib, types
    async def count(n):
        for i in range(n):
            try:
                await asyncio.sleep(0)
                yield i
            except KeyError:
                yield "thrown"
    class Context:
        async def __aenter__(self): return 5
        async def __aexit__(self, *error): return True
    @types.coroutine
    def old(): return (yield 1)
    class New:
        def __await__(self): return iter([2])
    def generate(n):
        for i in range(n):
            try: yield i
            except KeyError: yield "caught"
        return n
    def delegate(n): return (yield from generate(n))
    async def f(n):
        found = [i async for i in count(n)]
        async with Context(): raise KeyError
        return found + [await asyncio.sleep(0, n)]
    async def waits(n): return (await old(), await New())
    async def wrong(n):
        for thing in (3, None):
            try: await thing
            except TypeError: pass
    async def thrown(n):
        made = count(n)
        await made.__anext__()
        assert await made.athrow(KeyError) == "thrown"
        await made.aclose()
    def main():
        assert asyncio.run(f(2)) == [0, 1, 2]
        asyncio.run(wrong(1))
        asyncio.run(thrown(3))
        made = delegate(2)
        assert next(made) == 0
        assert made.throw(KeyError) == "caught"
        assert list(made) == [1]
        made = delegate(7); next(made); made.close()
        for error in (None, KeyError("later")):
            made = waits(1)
            assert (made.send(None), made.send(0)) == (1, 2)
            try: made.throw(error) if error else made.send(None)
            except (StopIteration, KeyError): pass
        made = waits(1); made.send(None); made.send(0); made.close()
        made = waits(1); made.send(None); made.close()
"""


def test_suspended_calls_are_followed_inside_too(inside, tmp_path):
    (tmp_path / "awaits_inside.py").write_text(textwrap.dedent(ASYNCHRONOUS))
    names = ("f", "count", "waits", "delegate", "generate", "wrong", "thrown")
    installed = inside(*(f"awaits_inside:{name}=n" for name in names))
    import_module("awaits_inside").main()
    installed.recorder.save()
    found = read(tmp_path / "calls", len(names))
    sizes = {name: found.size[found.function == number].tolist() for number, name in enumerate(names)}
    assert sizes == {"f": [2], "count": [2], "waits": [1, 1], "delegate": [2], "generate": [2], "wrong": [1], "thrown": [3]}
    assert found.unfinished.tolist() == [0, 1, 2, 1, 1, 0, 0]


def test_the_main_program_gets_its_probes_at_its_first_step(inside, tmp_path):
    path = tmp_path / "main_inside.py"
    path.write_text("def f(n): return n\nf(3)\n")
    installed = inside("main_inside:f")
    sys.setprofile(installed._wait)
    exec(compile(path.read_text(), str(path), "exec"), {"__name__": "__main__"})
    assert sys.getprofile() is None
    installed.recorder.save()
    assert read(tmp_path / "calls", 1).size.tolist() == [3]


def test_a_main_program_that_is_not_its_file_is_left_alone(inside, tmp_path):
    path = tmp_path / "main_inside.py"
    path.write_text("def f(n): return n\nf(3)\nf(4)")
    installed = inside("main_inside:f")
    sys.setprofile(installed._wait)
    exec(compile("def f(n): return n\nf(5)", str(path), "exec"), {"__name__": "__main__"})
    assert notes.read_notes(tmp_path / "calls").failed == {"__main__": "the file is not what runs"}


def test_rows_are_thinned_written_and_forgotten(inside, tmp_path):
    (tmp_path / "corpus_inside.py").write_text("def f(n): return n\ndef g(n): yield n")
    installed = inside("corpus_inside:f=n", "corpus_inside:g=n", keep=10)
    module = import_module("corpus_inside")
    for _ in range(1000):
        module.f(8)
        list(module.g(8))
    kept = module.g(4)
    next(kept)
    recorder = installed.recorder
    recorder.keep_house(1.0)
    assert recorder.due > 1.0
    found = read(tmp_path / "calls", 2)
    assert found.rate.tolist() == [100.0] * 20
    assert found.unfinished.tolist() == [0, 1]
    recorder.forget()
    kept.close()  # the parent's
    module.f(2)
    (file,) = (tmp_path / "calls").glob("calls-*.bin")
    before = file.read_bytes()
    with recorder.lock:
        recorder.keep_house(5.0)  # another thread is at it
        assert file.read_bytes() == before
    recorder.save()
    found = read(tmp_path / "calls", 2)
    assert (found.size.tolist(), found.unfinished.tolist()) == ([2], [0, 0])
    (tmp_path / "calls").rename(tmp_path / "moved")
    recorder.save()  # a folder that is gone does not disturb the program


def test_a_lock_that_nobody_gives_back_does_not_keep_a_program_from_ending(inside, tmp_path, monkeypatch):
    (tmp_path / "corpus_inside.py").write_text("def f(n): return n")
    installed = inside("corpus_inside:f=n")
    import_module("corpus_inside").f(3)
    monkeypatch.setattr(hook._module("perfvcs_recorder"), "PATIENCE", 0.01)
    installed.recorder.lock.acquire()
    installed.recorder.save()
    assert read(tmp_path / "calls", 1).size.tolist() == [3]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (["python", "x.py", "-c", "y"], ("script", "x.py")),
        (["python", "-u", "-W", "error", "-Xdev", "-X", "utf8", "x.py"], ("script", "x.py")),
        (["python", "--check-hash-based-pycs", "always", "-m", "pkg.mod", "-c"], ("module", "pkg.mod")),
        (["python", "-bOmpkg"], ("module", "pkg")),
        (["python", "-cprint(1)"], ("command", "print(1)")),
        (["python", "-Wd", "-c", "1"], ("command", "1")),
        (["python", "-"], ("", "")),
        (["python", "-i"], ("", "")),
        (["python", "-m"], ("module", "")),
    ],
)
def test_what_an_interpreter_runs_is_read_off_its_arguments(monkeypatch, line, said):
    monkeypatch.setattr(sys, "orig_argv", line)
    assert hook.command_line() == said


def test_a_request_that_is_gone_asks_for_nothing(tmp_path):
    assert hook.install(str(tmp_path / "gone")) is None


@pytest.mark.parametrize("size", [1e-9, 0.9, 1.0, 1.18, 1.19, 1.5, 2.0, 3.0, 7.99, 8.0, 1e9, 1e300])
def test_four_buckets_make_a_doubling(size):
    bucket = hook._module("perfvcs_recorder").bucket
    assert bucket(2 * size) - bucket(size) in (4, 0 if not 1e-4 < size < 1e18 else 4)
    assert len({bucket(size) for size in (0.0, -1.0, float("nan"), 1.0)}) == 4
