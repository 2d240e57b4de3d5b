"""Calls of Python functions are recorded with exact sizes, and what is wrong is told."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest
import recorders
from recorders import CORPUS, OTHERS, Recorder

from perfvcs import launcher
from perfvcs.collectors._shared import extension
from perfvcs.collectors.complexity import Complexity, python
from perfvcs.collectors.complexity.calls import TracedFunction, one_sample, read
from perfvcs.collectors.complexity.python import notes
from perfvcs.errors import UsageError
from perfvcs.plugins.collector import CollectError

recorder, compiled = recorders.recorder, recorders.compiled


# sizes


def test_sizes_are_exact(recorder):
    code = "".join(f"{case.definition}\n" for case in CORPUS.values()) + "".join(
        f"{case.calls}\n" for case in CORPUS.values()
    )
    found = recorder(code, *(case.entry for case in CORPUS.values()))
    assert found == {case.entry.partition("=")[0]: case.sizes for case in CORPUS.values()}


@pytest.mark.parametrize("interpreter", OTHERS, ids=lambda path: Path(path).parts[-3])
def test_sizes_are_exact_in_other_interpreters(compiled, interpreter):
    code = "".join(f"{case.definition}\n" for case in CORPUS.values()) + "".join(
        f"{case.calls}\n" for case in CORPUS.values()
    )
    compiled.write("corpus.py", code)
    found = compiled.collect(
        [interpreter, "corpus.py"], [f"corpus:{case.entry}" for case in CORPUS.values()]
    )
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
        "def f(n):\n    if n: raise ValueError\nfor n in (1, 0):\n    try: f(n)\n    except"
        " ValueError: pass\nf(0)",
        "f",
    )
    assert found == {"f": [1, 0, 0]}


def test_all_calls_of_a_recursion_are_recorded_on_demand(recorder):
    found = recorder("def f(n): return 1 if n < 2 else n * f(n - 1)\nf(4)", "f", recursion="all")
    assert sorted(found["f"]) == [1, 2, 3, 4]


def test_mutual_recursion_records_the_outermost_call_of_each(recorder):
    found = recorder(
        "def even(n): return n == 0 or odd(n - 1)\ndef odd(n): return n != 0 and even(n -"
        " 1)\neven(6)",
        "even",
        "odd",
    )
    assert found == {"even": [6], "odd": [5]}


def test_a_generator_is_measured_while_it_runs_only(recorder):
    code = """
        import time
        def f(items):
            for item in items:
                time.sleep(0.005)
                yield item
        began, waited = time.perf_counter(), 0.0
        for item in f([1, 2]):
            before = time.perf_counter()
            time.sleep(0.2)
            waited += time.perf_counter() - before
        ran = time.perf_counter() - began - waited
        with open("ran", "w") as file:
            file.write(repr(ran))
    """
    assert recorder(code, "f") == {"f": [2]}
    assert 0.010 <= durations(recorder, "f")[0] <= float((recorder.folder / "ran").read_text())


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
    found = recorder(
        "def f(n):\n    for i in range(n): yield i\nnext(f(5)); kept = f(6); next(kept);"
        " list(f(2))",
        "f",
    )
    assert found == {"f": [2]}
    assert any(
        line.startswith("2 of the calls of program:f did not end")
        for line in recorder.seen.warnings
    )


def test_recursive_generators_record_the_outermost(recorder):
    code = (
        "def walk(tree):\n    for part in tree:\n        yield from walk(part) if part else"
        " [1]\nlist(walk([[[], []], []]))"
    )
    assert recorder(code, "walk") == {"walk": [2]}


@pytest.mark.slow
def test_coroutines_are_measured_while_they_run_only(recorder):
    code = """
        import asyncio, time
        async def f(n):
            for _ in range(n):
                time.sleep(0.01)
                await asyncio.sleep(0.3)
            return n
        async def main(): return await asyncio.gather(f(1), f(2), f(3))
        assert asyncio.run(main()) == [1, 2, 3]
    """
    assert recorder(code, "f") == {"f": [1, 2, 3]}
    for count, value in enumerate(durations(recorder, "f"), 1):
        assert 0.01 * count <= value < 0.3 * count


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


def test_a_terminated_pool_has_recorded_its_calls(compiled):
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


def test_each_call_has_the_pace_that_the_machine_had_then(recorder):
    recorder("def f(n): return sum(range(n))\nfor i in range(2000): f(20_000 + i)", "f=n")
    assert ("pace" in recorder.seen.values) == (launcher.engine() != "wait4/1")
    pace = recorder.seen.values.get("pace", [1e-6])
    assert all(2e-7 < one < 1e-3 for one in pace)


def test_many_calls_become_a_sample_that_knows_its_rate(recorder):
    recorder("def f(n): return n\nfor i in range(30_000): f(16 + i % 2)\nf(4)", "f=n", keep=50)
    rate = recorder.seen.values["rate"]
    assert len(rate) == 51
    assert rate.count(600.0) == 50
    assert len(set(recorder.seen.iteration)) == 51
    assert sorted(set(recorder.seen.size)) == [4, 16, 17]


def test_processes_make_one_sample(recorder):
    """A parent with many calls and a child with few of the same sizes: the child's rows do not
    count as many calls as the parent's.
    """
    code = """
        import os
        def f(n): return n
        child = os.fork()
        for i in range(300 if not child else 20_000): f(16 + i % 2)
        if child: os.waitpid(child, 0)
        else: os._exit(0)
    """
    recorder(code, "f=n", keep=50)
    rate = recorder.seen.values["rate"]
    assert len(set(rate)) == 1
    assert len(rate) <= 50
    assert sum(rate) == pytest.approx(20_300)


def test_the_files_of_several_processes_make_one_sample(tmp_path):
    from perfvcs.collectors.complexity.calls import FIELDS

    def write(name: str, rows: list[tuple[float, ...]]) -> None:
        made = np.array(
            [
                (0, 0, number, size, 10.0 * rate, 0.0, rate)
                for number, (size, rate) in enumerate(rows)
            ],
            FIELDS,
        )
        (tmp_path / f"calls-{name}.bin").write_bytes(b"PVCSCALL\1\0\0\0\1\0\0\0" + made.tobytes())

    write("1-1", [(16.0, 1000.0)] * 200 + [(5.0, 2.0)] * 3)
    write("2-1", [(17.0, 10.0)] * 200 + [(np.nan, 3.0)] * 2)
    found = read(tmp_path, 1, 200)
    large, small, none = found.size >= 16, found.size == 5, np.isnan(found.size)
    assert large.sum() == 200
    assert found.rate[large] == pytest.approx(202_000 / 200)
    assert found.duration[large].mean() == pytest.approx(1e-5, rel=0.1), (
        "as the mean of the calls, which is 9,901 ns"
    )
    assert (found.rate[small].tolist(), found.rate[none].tolist()) == ([2.0] * 3, [3.0] * 2)
    again = read(tmp_path, 1, 200)
    assert again.size.tobytes() == found.size.tobytes()
    assert (np.diff(found.number) > 0).all()


def test_the_sample_of_samples_is_uniform():
    """20,000 rows of each of two rates, one tenth of the other, in one group; other groups do not
    matter.
    """
    rate = np.tile([1.0, 10.0, 1.5], 20_000)
    group = np.tile([7, 7, -3], 20_000)
    kept, new = one_sample(group, rate, 30_000)
    assert kept[1::3].all(), "those of the thinnest sample stay where there is room"
    assert abs(kept[::3].sum() - 2000) < 5 * np.sqrt(1800)
    assert (kept[2::3].sum(), set(new[2::3])) == (20_000, {1.5})
    assert new[kept & (group == 7)].sum() == pytest.approx(220_000)
    assert len(set(new[group == 7])) == 1
    kept, new = one_sample(group, rate, 1000)
    assert (kept[group == 7].sum(), kept[group == -3].sum()) == (1000, 1000)
    assert new[kept].sum() == pytest.approx(rate.sum())
    assert abs(np.flatnonzero(kept).mean() - 30_000) < 5 * 60_000 / np.sqrt(12 * 2000)


def test_the_sample_is_uniform(recorder):
    """Of 20,000 calls 1,000 are kept: of each tenth about 100 (standard deviation 9.5)."""
    recorder("def f(n): return n\nfor i in range(20_000): f(1 + i / 1e7)", "f=n", keep=1000)
    tenths = [0] * 10
    for size in recorder.seen.size:
        tenths[int((size - 1) * 1e7 // 2000)] += 1
    assert sum(tenths) == 1000
    assert all(abs(count - 100) < 48 for count in tenths), tenths


# doubtful sizes


def test_an_expression_that_raises_is_reported_once_with_its_error(recorder):
    found = recorder("def f(n): return n\nfor n in (0, 1, 2): f(n)", "f=6 / n")
    assert found == {"f": [None, 6, 3]}
    assert recorder.seen.warnings == [
        "program:f: its size 6 / n failed in 1 of 3 calls: ZeroDivisionError: division by zero"
    ]


@pytest.mark.parametrize(
    "value", ["'text'", "1j", "float('inf')", "float('nan')", "10 ** 400", "None", "[1]"]
)
def test_an_expression_that_is_no_number_gives_no_size(recorder, value):
    for entry in ("f=x", "f=max(x, x)" if value != "1j" else "f=id(x) * 1j"):
        assert recorder(f"def f(x): return x\nf({value})", entry) == {"f": [None]}
        (warning,) = recorder.seen.warnings
        assert value != "'text'" or re.search("TypeError: .*number", warning)


def test_a_function_without_a_size_is_reported(recorder):
    assert recorder("def f(x): return x\ndef g(): return 1\nf(1.5); g()", "f", "g") == {
        "f": [None],
        "g": [None],
    }
    assert recorder.seen.warnings == [
        f"program:{name}: no argument looks like a size: give one, as in program:{name}=len(items)"
        for name in "fg"
    ]


def test_an_ambiguous_guess_is_reported(recorder):
    assert recorder("def f(a, b): return a\nf([1], [1, 2])", "f") == {"f": [1]}
    assert recorder.seen.warnings == [
        "program:f: its size was guessed as len(a), and could be another: write program:f=len(a) to"
        " fix it"
    ]


def test_a_guess_follows_the_type_of_the_argument(recorder):
    assert recorder("def f(n): return n\nf([1]); f(5); f((1, 2)); f(None); f([])", "f") == {
        "f": [1, 5, 2, None, 0]
    }
    assert "guessed as len(n) and n" in recorder.seen.warnings[0]


def test_what_takes_the_rest_is_guessed_in_order(recorder):
    code = (
        "def f(*args, **kw): return args\ndef g(*args, items): return args\nf(1, 2, a=1); g(1,"
        " items=[1, 2, 3])"
    )
    assert recorder(code, "f", "g") == {"f": [2], "g": [3]}
    assert "its size was guessed as len(args)" in recorder.seen.warnings[0]


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
            (
                "there is no function JSONDecoder.decod in .*decoder.py; did you mean"
                " `JSONDecoder.decode`"
            ),
        ),
    ],
)
def test_a_function_that_does_not_exist_is_reported_with_the_nearest(compiled, entry, said):
    compiled.write(
        "program.py",
        "import json\ndef insert(n): return n\nclass C:\n    def insert(self): return 1\ninsert(2)",
    )
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
def test_a_function_that_cannot_be_rewritten_is_reported(compiled, module, said):
    compiled.write("program.py", f"import {module}")
    with pytest.raises(CollectError, match=said):
        compiled.collect([sys.executable, "program.py"], [f"{module}:f"])


def test_a_function_named_twice_is_reported(compiled):
    with pytest.raises(CollectError, match="is the same function as program:f: name it once"):
        compiled.write("program.py", "def f(n): return n\nf(1)")
        compiled.collect([sys.executable, "program.py"], ["program:f", "__main__:f"])
    with pytest.raises(
        CollectError, match="program:f@1 is the same function as program:f: name it once"
    ):
        compiled.collect([sys.executable, "program.py"], ["program:f", "program:f@1"])


@pytest.mark.parametrize("again", ["w:f", "w:f=len(items)"])
def test_a_function_named_twice_is_refused_before_anything_runs(again):
    with pytest.raises(UsageError, match="functions has w:f twice: name it once"):
        Complexity(("w:f=n", again))
    Complexity(("w:f@3", "w:f@7", "w:f"))


def test_a_name_without_its_module_is_reported(compiled):
    compiled.write("w.py", "def f(n): return n\nf(1)")
    for name, said in (("f=n", "w:f"), ("w.f", "w:f"), ("C.f", "w:C.f")):
        with pytest.raises(CollectError, match=rf"write \S+ as module:function, such as {said}$"):
            Complexity((name,)).collect(compiled.run(sys.executable, "w.py"))
    with pytest.raises(UsageError, match="write f as module:function, such as module:f"):
        Complexity(("f",), language="python")
    with pytest.raises(UsageError, match=r"write it as the C source does, such as f$"):
        Complexity(("w:f",), language="native")
    assert Complexity(("f",)).flags(sys.executable) == ()
    # functions of a library that Python loads
    with pytest.raises(CollectError, match=r"-mfentry|x86-64|C compiler"):
        Complexity(("f",), language="native").collect(compiled.run(sys.executable, "w.py"))


def test_functions_of_one_name_are_distinguished_by_their_line(compiled):
    code = (
        "class C:\n    @property\n    def x(self): return 1\n    @x.setter\n    def x(self, n):"
        " pass\nc = C(); c.x; c.x = 5; c.x = 6"
    )
    assert compiled(code, "C.x") == {"C.x": [None, 5, 6]}
    assert "defined in lines 3, 5, recorded as one" in compiled.seen.warnings[0]
    assert compiled(code, "C.x@5") == {"C.x@5": [5, 6]}
    assert compiled(code, "C.x@4") == {"C.x@4": [5, 6]}


def test_a_function_that_was_not_called_is_reported(recorder):
    assert recorder("def f(n): return n\ndef g(n): return n\nf(1)", "f", "g") == {"f": [1]}
    assert recorder.seen.warnings == [
        "program:g was never called: leave it out, or have the command call it"
    ]
    with pytest.raises(CollectError, match="none of the functions was called"):
        recorder("def f(n): return n", "f")


def test_unfinished_calls_are_not_reported_as_missing_calls(recorder):
    with pytest.raises(
        CollectError,
        match=(
            r"all 2 calls of program:f, program:g were left by .* or did not end, so that nothing"
        ),
    ):
        recorder(
            "def f(n):\n    yield n\n    yield n\ndef g(n): yield\nnext(f(1)); next(f(2))", "f", "g"
        )


@pytest.mark.parametrize("entry", ["program:f(x)", "program:f@0", "program:f@x", "a b:f"])
def test_a_malformed_name_is_reported(entry):
    with pytest.raises(UsageError, match="names no Python function"):
        notes.FunctionLocation.of(TracedFunction(entry))


@pytest.mark.parametrize("size", ["len(", "x = 3", "a\x1eb", "'\x1e'", "(" * 10_000, "yield"])
def test_a_malformed_expression_is_reported(size):
    with pytest.raises(UsageError, match="the size of m:f"):
        notes.FunctionLocation.of(TracedFunction("m:f", size))


@pytest.mark.parametrize("option", ["-I", "-E", "-S"])
def test_an_interpreter_without_the_recorder_is_reported(compiled, option):
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


def test_a_killed_program_has_recorded_its_calls(compiled):
    with pytest.raises(CollectError, match="killed by SIGKILL") as caught:
        compiled("import os\ndef f(n): return n\nf(1); f(2)\nos.kill(os.getpid(), 9)", "f")
    assert caught.value.partial is not None
    assert caught.value.partial.size == [1, 2]


@pytest.mark.slow
def test_a_time_out_keeps_what_there_is(recorder):
    recorder.write("program.py", "import time\ndef f(n): time.sleep(0.01)\nwhile True: f(3)")
    collector = Complexity(["program:f"])
    with pytest.raises(CollectError, match="time-out of 2 s") as caught:
        collector.collect(recorder.run(sys.executable, "program.py", timeout=2.0))
    assert caught.value.partial is not None
    assert set(caught.value.partial.size) == {3}


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
    compiled.write(
        "helper.py",
        "def count(table):\n    return sum(table.values()) + sum(i * i for i in range(500))",
    )
    found = compiled.collect([sys.executable, "program.py"], "auto", most=2)
    assert found == {"slow": list(range(1, 30)), "count": list(range(1, 30))}
    assert sorted(re.findall(r'"(\S+)"', compiled.seen.warnings[0])) == [
        "helper:count=len(table)",
        "program:slow=len(items)",
    ]


def test_auto_looks_for_functions_once(compiled, monkeypatch):
    compiled.write("program.py", PROJECT)
    compiled.write("helper.py", "def count(table): return table")
    compiled.collect([sys.executable, "program.py"], "auto", most=1)
    monkeypatch.setattr(python, "_timed", lambda _: pytest.fail("once is enough"))
    assert compiled.collect([sys.executable, "program.py"], "auto", most=1) == {
        "slow": list(range(1, 30))
    }


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("print(1)", "ran no functions of the project"),
        (
            "def f(x): return x\nf(1.5)",
            (
                r"has an argument that looks like a size: name functions with theirs, as in"
                r' functions = \["program:f'
            ),
        ),
        ("1 / 0", "exited with status 1"),
    ],
)
def test_auto_that_finds_nothing_is_an_error(compiled, code, said):
    compiled.write("program.py", code)
    with pytest.raises(CollectError, match=said):
        compiled.collect([sys.executable, "program.py"], "auto")


# the files between the two sides


def test_a_compiler_that_is_missing_is_reported(compiled, monkeypatch):
    monkeypatch.setattr("perfvcs.native.compiled.COMPILERS", ())
    extension._extension.cache_clear()
    compiled.engine = "rewrite/1"
    assert compiled("def f(n): return n\nf(1)", "f") == {"f": [1]}
    assert compiled.seen.warnings[0].startswith(
        "calls are recorded in Python, which takes longer: there is no C compiler"
    )
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
        (
            b"PVCSCALL\1\0\0\0\0\0\0\0" + b"\7\0\0\0" + b"\0" * 36 + b"\0\0\0\0\0\0\xf0\x3f",
            "a function that was not chosen",
        ),
        (
            b"PVCSCALL\1\0\0\0\0\0\0\0"
            + b"\0" * 24
            + b"\0\0\0\0\0\0\xf0\x7f"
            + b"\0" * 8
            + b"\0\0\0\0\0\0\xf0\x3f",
            "impossible values",
        ),
    ],
)
def test_a_file_of_records_that_is_garbage_is_reported(tmp_path, content, said):
    (tmp_path / "calls-1-1.bin").write_bytes(content)
    with pytest.raises(CollectError, match=said):
        read(tmp_path, 1, 200)


def test_a_record_that_is_cut_off_is_left_out(tmp_path):

    from perfvcs.collectors.complexity.calls import FIELDS

    rows = np.array(
        [(0, 0, 5, 2.0, 30.0, 10.0, 1.0), (0, 0, 4, 1.0, 10.0, 30.0, 2.0)], FIELDS
    ).tobytes()
    (tmp_path / "calls-1-1.bin").write_bytes(b"PVCSCALL\1\0\0\0\1\0\0\0" + rows + rows[:20])
    found = read(tmp_path, 1, 200)
    assert found.size.tolist() == [1.0, 2.0]
    assert found.number.tolist() == [0, 2]
    assert found.duration.tolist() == pytest.approx([0, 20e-9])


def test_a_link_in_place_of_a_file_is_not_followed(tmp_path):
    (tmp_path / "calls-1-1.bin").symlink_to("/etc/passwd")
    (tmp_path / "notes-1-1.txt").symlink_to("/etc/passwd")
    with pytest.raises(CollectError, match="cannot be read"):
        read(tmp_path, 1, 200)
    assert notes.read_notes(tmp_path) == notes.RecorderNotes()


def test_nothing_recorded_is_nothing(tmp_path):
    assert len(read(tmp_path, 3, 200).function) == 0


def test_notes_that_are_garbage_are_left_out(tmp_path):
    (tmp_path / "notes-1-1.txt").write_bytes(
        b"defined\x1fx\x1f1\x1e\xff\xfe\x1estarted\x1e\x1f\x1f\x1eerror\x1f0\x1fbad\x07\x1eunfinished"
    )
    found = notes.read_notes(tmp_path)
    assert found.errors == {0: "bad?"}
    assert not found.defined and not found.interpreters
