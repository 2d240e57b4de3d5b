"""The collector ``bytecode``: exact counts of Python programs, the same in C and in Python."""

from __future__ import annotations

import json
import sys

import pytest

from perfvcs.collectors.bytecode import Bytecode, trees
from perfvcs.locate.blame.calltree import CallTree
from perfvcs.measure.blocks import JobRecording
from perfvcs.plugins.collector import CollectError, Run

# instructions: where the counter starts and ends, outside all functions of the program
OUTSIDE = 50
WORK = """
import threading

def inner(count):
    return sum(number * number for number in range(count))

def walk(depth):
    return walk(depth - 1) if depth else sorted([3, 1, 2], key=lambda one: -one)

def main():
    for _ in range(100):
        inner(20)
    walk(30)

main()
"""


@pytest.fixture
def run(tmp_path):
    def make(text, name="work.py", *args):
        (tmp_path / name).write_text(text)
        scratch = tmp_path / f"scratch-{len(list(tmp_path.iterdir()))}"
        scratch.mkdir()
        env = {"PATH": "/usr/bin:/bin", "PYTHONHASHSEED": "0"}
        return Run(
            (sys.executable, str(tmp_path / name), *args),
            tmp_path,
            env,
            scratch,
            "work",
            timeout=300,
        )

    return make


def functions(seen):
    return {
        name: (
            seen.values["calls"][place],
            seen.values["exclusive"][place],
            seen.values["inclusive"][place],
        )
        for place, name in enumerate(seen.uid)
        if seen.values["calls"][place] is not None
    }


def total(seen):
    return seen.values["bytecodes"][0]


@pytest.mark.slow
def test_two_executions_have_the_same_counts(run):
    first, second = (Bytecode().collect(run(WORK)) for _ in range(2))
    assert total(first) == total(second) > 10_000
    assert functions(first) == functions(second)


def test_calls_are_counted_of_python_and_of_c(run):
    found = functions(Bytecode(least=0).collect(run(WORK)))
    assert found["inner (work.py)"][0] == 100
    assert found["inner.<locals>.<genexpr> (work.py)"][0] == 2100  # once more than it yields
    assert found["walk (work.py)"][0] == 31
    assert found["sum (builtins)"][0] == 100
    assert found["walk.<locals>.<lambda> (work.py)"][0] == 3


def test_instructions_of_all_functions_are_those_of_the_program(run):
    seen = Bytecode(least=0).collect(run(WORK))
    assert sum(own for _, own, _ in functions(seen).values()) == pytest.approx(
        total(seen), abs=OUTSIDE
    )


def test_more_work_is_counted_exactly(run):
    def count(times):
        return total(Bytecode().collect(run(WORK.replace("range(100)", f"range({times})"))))

    once, more = count(100), count(101)
    assert count(103) - more == 2 * (more - once) > 0


def test_c_and_python_count_the_same(run, monkeypatch):
    compiled = Bytecode(least=0).collect(run(WORK))
    monkeypatch.setattr(trees, "extension", lambda *_: ([], None))
    slow = Bytecode(least=0).collect(run(WORK))
    own = {name: numbers for name, numbers in functions(compiled).items() if "work.py" in name}
    assert own == {name: numbers for name, numbers in functions(slow).items() if "work.py" in name}


def test_recursion_is_one_node_and_callbacks_keep_their_callers(run):
    recording = JobRecording()
    recording.add(Bytecode(least=0).collect(run(WORK)), 0, 0)
    stacks = recording.stacks()
    paths = [[stacks.frames[place] for place in stack] for stack in stacks.stacks]
    own = [
        [name.partition(" (")[0] for name in path if "work.py" in name or "sorted" in name]
        for path in paths
    ]
    assert ["<module>", "main", "walk", "sorted", "walk.<locals>.<lambda>"] in own
    assert not any(path.count("walk") > 1 for path in own)


def test_a_decorators_wrapper_does_not_merge_what_it_wraps(run):
    text = """
def wrapped(function):
    def wrapper(*args):
        return function(*args)
    return wrapper

@wrapped
def inside():
    return [number for number in range(50)]

@wrapped
def outside():
    return inside()

outside()
"""
    recording = JobRecording()
    recording.add(Bytecode(least=0).collect(run(text)), 0, 0)
    stacks = recording.stacks()
    paths = [
        [
            stacks.frames[place].partition(" (")[0]
            for place in stack
            if "work.py" in stacks.frames[place]
        ]
        for stack in stacks.stacks
    ]
    wrapper = "wrapped.<locals>.wrapper"
    assert ["<module>", wrapper, "outside", wrapper, "inside"] in paths


def test_threads_are_counted(run):
    text = WORK.replace(
        "\nmain()", "\nthread = threading.Thread(target=main)\nthread.start()\nthread.join()"
    )
    assert functions(Bytecode(least=0).collect(run(text)))["inner (work.py)"][0] == 100


def test_forked_processes_are_counted_and_killed_ones_reported(run):
    text = WORK + "\nimport os, sys\nif os.fork() == 0:\n    inner(5)\n    sys.exit()\nos.wait()\n"
    seen = Bytecode(least=0).collect(run(text))
    assert functions(seen)["inner (work.py)"][0] == 101
    assert not seen.warnings
    seen = Bytecode(least=0).collect(run(text.replace("sys.exit()", "os._exit(0)")))
    assert functions(seen)["inner (work.py)"][0] == 100
    assert "1 of 2 processes" in seen.warnings[0]


def test_generators_and_exceptions_keep_the_place(run):
    text = """
def steps():
    try:
        yield 1
        yield 2
    finally:
        last()

def last():
    pass

def fails():
    raise ValueError

for _ in steps():
    try:
        fails()
    except ValueError:
        pass
last()
"""
    found = functions(Bytecode(least=0).collect(run(text)))
    assert (
        found["steps (work.py)"][0],
        found["fails (work.py)"][0],
        found["last (work.py)"][0],
    ) == (3, 2, 2)


def test_processor_time_has_what_functions_of_c_take(run):
    text = (
        "def work():\n    return sum(range(3_000_000))\n\n\ndef rest():\n    return"
        " 1\n\n\nwork()\nrest()\n"
    )
    found = functions(Bytecode(meter="time", least=0).collect(run(text)))
    assert found["sum (builtins)"][1] > 100 * found["rest (work.py)"][1]
    assert found["work (work.py)"][2] > found["sum (builtins)"][1]


def test_a_program_that_is_not_python_is_an_error(run, tmp_path):
    asked = run("")
    with pytest.raises(CollectError, match="started no Python that loads the counter"):
        Bytecode().collect(Run(("/bin/true",), tmp_path, asked.env, asked.scratch, "true"))


def wrote(frames, parents):
    tree = {
        "frames": frames,
        "parents": parents,
        "entered": [1, 1],
        "again": [0, 0],
        "amounts": [1, 1],
    }
    return json.dumps({"frames": [["a", "b"]], "trees": [tree]})


@pytest.mark.parametrize(
    "content", ["{", wrote([0, 7], [-1, 0]), wrote([0, 0], [-1, 1]), wrote([0], [-1, 0])]
)
def test_what_the_program_wrote_over_its_counts_is_refused(run, content):
    text = (
        "import os\nopen(os.environ['PERFVCS_BYTECODE'] + '/process-1-.json',"
        f" 'w').write({content!r})\n"
    )
    with pytest.raises(CollectError, match="is not what perfvcs wrote"):
        Bytecode(warm=False).collect(run(text))


def test_its_profile_makes_a_call_tree(run):
    """As `perf blame` reads it."""
    from perfvcs.profile import Collected, Job, Profile

    seen = Bytecode(least=0).collect(run(WORK))
    recording = JobRecording()
    recording.add(seen, 0, 0)
    profile = Profile(
        commit="0" * 40,
        job=Job("work", "bytecode", "python work.py"),
        collected=Collected("s", "", "", "perfvcs"),
        metrics=seen.metrics,
        resources=recording.resources(),
        stacks=recording.stacks(),
    )
    tree = CallTree.of(profile)
    assert tree is not None
    assert tree.total == pytest.approx(total(seen), abs=OUTSIDE)
    assert tree.calls[tree.names.index("inner (work.py)")] == 100
