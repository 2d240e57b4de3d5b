"""Programs whose calls of Python functions are recorded, for the tests of that."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from conftest import need

from perfvcs.collectors.complexity import Complexity, python
from perfvcs.collectors.complexity.calls import RecordingRequest, TracedFunction
from perfvcs.collectors.complexity.python import notes
from perfvcs.plugins.collector import Observations, Run

# before the tests get a home of their own
HOME = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser()
OTHERS = sorted(
    str(path)
    for version in ("3.9", "3.10", "3.12", "3.13")
    for path in HOME.glob(f"versions/{version}.*/bin/python")
)

Sizes = dict[str, list[float | None]]


class Recorder:
    """Records programs in a folder: ``recorder("code", "f=n")`` gives the sizes by function, in the
    order of the calls.
    """

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
        return Run(
            argv,
            **(
                {"cwd": self.folder, "env": env, "scratch": scratch, "uid": "all", "timeout": 300.0}
                | overrides
            ),
        )  # type: ignore[arg-type]

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
        return self.collect(
            [sys.executable, "program.py"], [f"program:{one}" for one in functions], **options
        )


@pytest.fixture(
    params=[pytest.param("rewrite-c/1", marks=pytest.mark.needs("cc", "Python.h")), "rewrite/1"]
)
def recorder(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Recorder:
    """With the recorder in C, and with that in Python."""
    if request.param == "rewrite/1":
        monkeypatch.setattr(python, "compiled_recorder", lambda _: ([], None))
    folder = tmp_path / "program"
    folder.mkdir()
    return Recorder(folder, request.param)


@pytest.fixture
def compiled(tmp_path: Path) -> Recorder:
    need("cc", "Python.h")
    folder = tmp_path / "program"
    folder.mkdir()
    return Recorder(folder, "rewrite-c/1")


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
    "integer with a name that says so": Case(
        "def f9(num_rows): return num_rows", "f9", "f9(6)", [6]
    ),
    "container after a scalar": Case(
        "def f10(key, items): return key", "f10", "f10(3, [1, 2])", [2]
    ),
    "container before an integer n": Case("def f11(items, n): return n", "f11", "f11([1], 5)", [1]),
    "container before a text": Case(
        "def f12(mode, items): return mode", "f12", "f12('quick', [1, 2, 3])", [3]
    ),
    "default": Case("def f13(items=(1, 2, 3)): return items", "f13", "f13(); f13([1])", [3, 1]),
    "keyword": Case("def f14(*, items): return items", "f14", "f14(items=[1, 2])", [2]),
    "positional only": Case("def f15(items, /): return items", "f15", "f15([1, 2])", [2]),
    "variable arguments": Case(
        "def f16(*numbers): return numbers", "f16", "f16(1, 2, 3); f16()", [3, 0]
    ),
    "expression": Case("def f17(a, b): return a", "f17=len(a) * b + 1", "f17([1, 2], 10)", [21]),
    "expression with a default": Case(
        "def f18(a, b=5): return a", "f18=b", "f18(1); f18(1, b=2)", [5, 2]
    ),
    "expression with names of the module": Case(
        "K = 3\ndef f19(a): return a", "f19=len(a) * K", "f19([1, 2])", [6]
    ),
    "expression with a function of the module": Case(
        "def area(box): return box[0] * box[1]\ndef f20(box): return box",
        "f20=area(box)",
        "f20((3, 4))",
        [12],
    ),
    "expression with a comprehension": Case(
        "def f21(rows): return rows", "f21=sum(len(row) for row in rows)", "f21([[1], [2, 3]])", [3]
    ),
    "expression with keywords": Case(
        "def f22(**options): return options", "f22=len(options)", "f22(a=1, b=2)", [2]
    ),
    "expression with a name that the body assigns": Case(
        "def f23(items):\n    len = 5\n    return len", "f23=len(items)", "f23([1, 2])", [2]
    ),
    "expression with a name that the body declares": Case(
        "total = 4\ndef f24():\n    global total\n    total += 1",
        "f24=total",
        "f24(); f24()",
        [4, 5],
    ),
    "fraction": Case("def f25(x): return x", "f25=x / 2", "f25(5)", [2.5]),
    "truth": Case("def f26(x): return x", "f26=x > 3", "f26(5); f26(1)", [1, 0]),
    "method": Case(
        "class C1:\n    def m(self, items): return items", "C1.m", "C1().m([1, 2])", [2]
    ),
    "object with a length": Case(
        "class C2:\n    def __len__(self): return 8\n    def m(self, key): return key",
        "C2.m",
        "C2().m(1)",
        [8],
    ),
    "object with a member named size": Case(
        "class C3:\n    def __init__(self): self.size = 5\n    def m(self, key): return key",
        "C3.m",
        "C3().m(1.5)",
        [5],
    ),
    "object with a list": Case(
        "class C4:\n    def __init__(self): self.rows = [1, 2, 3]\n    def m(self): return 1",
        "C4.m",
        "C4().m()",
        [3],
    ),
    "private member": Case(
        "class C5:\n    def __init__(self): self.__items = [1, 2]\n    def m(self): return 1",
        "C5.m=len(self.__items)",
        "C5().m()",
        [2],
    ),
    "private member through a function": Case(
        "class C6:\n    def __init__(self): self.__items = [1, 2]\n    def m(self): return 1",
        "C6.m=max(len(self.__items), 1)",
        "C6().m()",
        [2],
    ),
    "class method": Case(
        "class C7:\n    @classmethod\n    def m(cls, items): return cls(), items",
        "C7.m",
        "C7.m([1])",
        [1],
    ),
    "static method": Case(
        "class C8:\n    @staticmethod\n    def m(items): return items",
        "C8.m",
        "C8.m([1, 2, 3])",
        [3],
    ),
    "property": Case(
        "class C9:\n    def __init__(self): self.items = [1]\n    @property\n    def p(self):"
        " return 1",
        "C9.p=len(self.items)",
        "C9().p",
        [1],
    ),
    "class in a class": Case(
        "class C10:\n    class D:\n        def m(self, n): return n", "C10.D.m", "C10.D().m(4)", [4]
    ),
    "function in a function": Case(
        "def outer1(k):\n    def inner(items): return len(items) + k\n    return inner([1, 2])",
        "outer1.<locals>.inner",
        "outer1(1)",
        [2],
    ),
    "closure": Case(
        "def outer2(k):\n    def add(n): return n + k\n    return add",
        "outer2.<locals>.add",
        "outer2(1)(6)",
        [6],
    ),
    "cached function": Case(
        "import functools\n@functools.lru_cache\ndef f30(n): return n",
        "f30",
        "f30(3); f30(3); f30(4)",
        [3, 4],
    ),
    "wrapped function": Case(
        "def twice(g):\n    return lambda *a: (g(*a), g(*a))\n@twice\ndef f31(items): return items",
        "f31",
        "f31([1])",
        [1, 1],
    ),
    "defined conditionally": Case(
        "if K > 5:\n    def f32(n): return 0\nelse:\n    def f32(n): return n", "f32", "f32(2)", [2]
    ),
    "function with a docstring": Case(
        'def f33(n):\n    "says"', "f33", "assert f33.__doc__ == 'says'; f33(3)", [3]
    ),
    "recursion": Case(
        "def f34(n): return 1 if n < 2 else n * f34(n - 1)", "f34", "f34(5); f34(3)", [5, 3]
    ),
    "generator": Case(
        "def f35(items):\n    for item in items: yield item", "f35", "list(f35([1, 2]))", [2]
    ),
    "numbers of another kind": Case(
        "import fractions\ndef f36(x): return x", "f36=fractions.Fraction(x, 4)", "f36(3)", [0.75]
    ),
}


def both(recorder: Recorder, argv: list[str], function: str = "program:f") -> tuple[object, object]:
    """How a command ends and what it writes, as it is and recorded; the recorded one must have met
    the function.
    """
    run = recorder.run(*argv)
    folder = run.scratch / "calls"
    modules, _ = python.compiled_recorder(run)
    python.ask(
        folder, [notes.FunctionLocation.of(TracedFunction(function))], RecordingRequest(()), modules
    )
    found = []
    for env in (dict(run.env), python.environment(run, folder)):
        done = subprocess.run(
            argv,
            cwd=run.cwd,
            env=env,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=300,
            check=False,
        )
        found.append((done.returncode, done.stdout.decode(), done.stderr.decode()))
    assert 0 in notes.read_notes(folder).defined, found[1]
    return found[0], found[1]
