"""What records calls, inside this process."""

from __future__ import annotations

import functools
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from math import nan
from pathlib import Path
from zipimport import zipimporter

import numpy as np
import pytest
import recorders
from cases import each

from perfvcs.collectors.complexity import python
from perfvcs.collectors.complexity.calls import FIELDS, RecordingRequest, parse, read
from perfvcs.collectors.complexity.inside.python import perfvcs_hook as hook
from perfvcs.collectors.complexity.inside.python import perfvcs_script as script
from perfvcs.collectors.complexity.python import notes

compiled = recorders.compiled


@pytest.fixture
def inside(tmp_path, monkeypatch):
    """Installs the recorder here for a request, and takes it out again; gives the hook, and what
    was recorded by then.
    """
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

    def install(
        *functions: str, modules: Sequence[tuple[str, Path]] = (), **options: object
    ) -> hook.RecordingHook:
        places = [notes.FunctionLocation.of(parse(one)) for one in functions]
        python.ask(folder, places, RecordingRequest((), **options), modules)  # type: ignore[arg-type]
        found = hook.install(str(folder / "request"))
        assert found is not None
        return found

    before = set(sys.modules)
    yield install
    sys.setprofile(None)
    for name in set(sys.modules) - before:
        if name in ("corpus_inside", "awaits_inside"):
            del sys.modules[name]


def test_a_handler_of_a_signal_may_raise_while_a_size_is_computed(inside, tmp_path):
    (tmp_path / "corpus_inside.py").write_text(
        "def f(items): return 1\ndef g(items): return 2\ndef h(items): return 3\n"
    )
    installed = inside(
        "corpus_inside:f=len(items)", "corpus_inside:g", "corpus_inside:h=sum(items)"
    )
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
    installed.instruments.recorder.save()
    assert read(tmp_path / "calls", 3, 200).size.tolist() == [1, 1, 1]


def test_functions_are_put_among_the_constants_of_code():
    code = compile("def f(): return 4\nanswer = f()", "x", "exec")
    assert not script.transplant(code, compile("def f(): return 5\nother = f() + f()", "x", "exec"))
    assert script.transplant(code, compile("def f(): return 5\nanswer = f()", "x", "exec"))
    space: dict[str, object] = {}
    exec(code, space)
    assert space["answer"] == 5


def test_the_main_program_gets_its_probes_at_its_first_step(inside, tmp_path):
    path = tmp_path / "main_inside.py"
    path.write_text("def f(n): return n\nf(3)\n")
    installed = inside("main_inside:f")
    sys.setprofile(installed.script.wait)
    exec(compile(path.read_text(), str(path), "exec"), {"__name__": "__main__"})
    assert sys.getprofile() is None
    installed.instruments.recorder.save()
    assert read(tmp_path / "calls", 1, 200).size.tolist() == [3]


def test_a_main_program_that_is_not_its_file_is_left_alone(inside, tmp_path):
    path = tmp_path / "main_inside.py"
    path.write_text("def f(n): return n\nf(3)\nf(4)")
    installed = inside("main_inside:f")
    sys.setprofile(installed.script.wait)
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
    recorder = installed.instruments.recorder
    recorder.keep_house(1.0)
    assert recorder.due > 1.0
    found = read(tmp_path / "calls", 2, 200)
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
    found = read(tmp_path / "calls", 2, 200)
    assert (found.size.tolist(), found.unfinished.tolist()) == ([2], [0, 0])
    (tmp_path / "calls").rename(tmp_path / "moved")
    recorder.save()  # a folder that is gone does not disturb the program


def test_a_lock_that_nobody_gives_back_does_not_keep_a_program_from_ending(
    inside, tmp_path, monkeypatch
):
    (tmp_path / "corpus_inside.py").write_text("def f(n): return n")
    installed = inside("corpus_inside:f=n")
    import_module("corpus_inside").f(3)
    monkeypatch.setattr(hook._module("perfvcs_recorder"), "PATIENCE", 0.01)
    installed.instruments.recorder.lock.acquire()
    installed.instruments.recorder.save()
    assert read(tmp_path / "calls", 1, 200).size.tolist() == [3]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (["python", "x.py", "-c", "y"], ("script", "x.py")),
        (["python", "-u", "-W", "error", "-Xdev", "-X", "utf8", "x.py"], ("script", "x.py")),
        (
            ["python", "--check-hash-based-pycs", "always", "-m", "pkg.mod", "-c"],
            ("module", "pkg.mod"),
        ),
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
    assert script.command_line() == said


def test_a_request_that_is_gone_asks_for_nothing(tmp_path):
    assert hook.install(str(tmp_path / "gone")) is None


@each("size", [1e-9, 0.9, 1.0, 1.18, 1.19, 1.5, 2.0, 3.0, 7.99, 8.0, 1e9, 1e300])
def test_four_buckets_make_a_doubling(size):
    bucket = hook._module("perfvcs_samples").bucket
    assert bucket(2 * size) - bucket(size) in (4, 0 if not 1e-4 < size < 1e18 else 4)
    assert len({bucket(size) for size in (0.0, -1.0, float("nan"), 1.0)}) == 4


def test_rows_are_in_the_buckets_of_the_recorder(tmp_path):
    """With one row kept of each bucket, it stands for all calls of that bucket."""
    random = np.random.default_rng(3)
    sizes = [
        0.0,
        -1.0,
        -7.0,
        nan,
        5e-324,
        1e308,
        2.0**-17,
        *(2.0 ** (np.arange(-80, 280) / 4)),
        *range(1, 100),
        *random.random(200),
    ]
    bucket = hook._module("perfvcs_samples").bucket
    rows = np.array(
        [(0, 0, number, size, 1.0, 0.0, 1.0 + number) for number, size in enumerate(sizes)], FIELDS
    )
    (tmp_path / "calls-1-1.bin").write_bytes(b"PVCSCALL\1\0\0\0\1\0\0\0" + rows.tobytes())
    total: dict[int, float] = {}
    for number, size in enumerate(sizes):
        total[bucket(float(size))] = total.get(bucket(float(size)), 0) + 1.0 + number
    found = read(tmp_path, 1, 1)
    assert {
        bucket(size): rate
        for size, rate in zip(found.size.tolist(), found.rate.tolist(), strict=True)
    } == pytest.approx(total)
