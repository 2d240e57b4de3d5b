"""What Python programs allocate: recorded by their own interpreters, with memray or with
tracemalloc.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from heaps import measured, of_functions, run_of, stacks_of, whole

from perfvcs.collectors.memory import Memory, captures, inside, python, reading
from perfvcs.collectors.memory.heap import RecordingInterpreter
from perfvcs.plugins.collector import CollectError

pytestmark = pytest.mark.slow

Write = Callable[..., tuple[str, ...]]
FOLDER = inside.MEMORY_INSIDE / "python"


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """The command that runs a source text."""

    def make(source: str, *options: str, interpreter: str = sys.executable) -> tuple[str, ...]:
        path = tmp_path / "program.py"
        path.write_text(source)
        return (interpreter, *options, str(path))

    return make


# What each function allocates is known by sys.getsizeof; the numbers up to 256 are there already.
KNOWN = """
def churn(n, size):
    for _ in range(n):
        block = bytearray(size)

def keep(n, size):
    kept = [None] * n
    for number in range(n):
        kept[number] = bytearray(size)
    return kept

def repeat(n):
    return "0123456789" * n

churn(200, 25_000)
kept = keep(200, 100_000)
text = repeat(100_000)
del kept
"""
HEADER = sys.getsizeof(bytearray())
LIST = sys.getsizeof([])


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        ("churn", 200 * (25_001 + HEADER)),
        ("keep", 200 * (100_001 + HEADER) + LIST + 200 * 8),
        ("repeat", sys.getsizeof("") + 1_000_000),
    ],
)
def test_the_bytes_of_a_function_are_exact_to_a_thousandth(
    write: Write, tmp_path: Path, function: str, expected: float
) -> None:
    found = measured(write(KNOWN), tmp_path, exact=True)
    assert found.engine == "memray+exact/1" and not found.warnings
    assert of_functions(found, (function,))["bytes"] == pytest.approx(expected, rel=0.001)


def test_calls_and_the_peak_are_exact_to_a_thousandth(write: Write, tmp_path: Path) -> None:
    found = measured(write(KNOWN), tmp_path, exact=True)
    assert (
        of_functions(found, ("keep",))["count"] == 404
    )  # an object and its block each, the list's two, a range and its iterator
    peak = 200 * (100_001 + HEADER) + LIST + 200 * 8 + 1_000_000
    # and what the interpreter itself has
    assert whole(found)["peak"] == pytest.approx(peak, rel=0.01)
    assert of_functions(found, ("keep",))["peak"] == pytest.approx(
        200 * (100_001 + HEADER) + LIST + 1600, rel=0.001
    )


def test_exact_counts_are_repeatable(write: Write, tmp_path: Path) -> None:
    command = write(KNOWN)
    first, second = (whole(measured(command, tmp_path, exact=True)) for _ in range(2))
    for name in ("peak", "bytes", "count"):
        assert first[name] == pytest.approx(second[name], rel=0.001)


def test_by_default_large_blocks_are_exact_and_objects_count_by_their_arenas(
    write: Write, tmp_path: Path
) -> None:
    found = measured(write(KNOWN), tmp_path)
    assert found.engine == "memray/1" and not found.warnings
    assert of_functions(found, ("churn",))["bytes"] == 200 * 25_001
    assert of_functions(found, ("churn",))["count"] == 200
    stacks = stacks_of(found, "keep")
    assert ["malloc", "keep (program.py:9)", "<module> (program.py:16)"] in [
        stack[:3] for stack in stacks
    ]


def test_the_course_of_the_process_is_kept(write: Write, tmp_path: Path) -> None:
    found = measured(write("import time\nkept = bytearray(5_000_000)\ntime.sleep(0.3)\n"), tmp_path)
    rows = [row for row, iteration in enumerate(found.iteration) if iteration]
    assert 1 < len(rows) <= 32 and {found.uid[row] for row in rows} == {"whole"}
    assert max(found.values["live"][row] or 0 for row in rows) > 5_000_000


def test_processes_that_python_starts_and_forks_are_recorded(write: Write, tmp_path: Path) -> None:
    source = """
import os, subprocess, sys
def child():
    block = bytearray(7_000_000)
subprocess.run([sys.executable, "-c", "def other():\\n    b = bytearray(9_000_000)\\nother()"], check=True)
pid = os.fork()
if not pid:
    child()
    os._exit(0)
os.waitpid(pid, 0)
"""
    found = measured(write(source), tmp_path)
    assert of_functions(found, ("child",))["bytes"] == 7_000_001
    assert of_functions(found, ("other",))["bytes"] == 9_000_001
    assert 9_000_001 <= (whole(found)["peak"] or 0) < 12_000_000


def test_tracemalloc_tells_peaks_and_what_is_left(write: Write, tmp_path: Path) -> None:
    found = measured(write(KNOWN), tmp_path, recorder="tracemalloc")
    totals = whole(found)
    assert found.engine == "tracemalloc/1" and not found.warnings
    assert totals["peak"] == pytest.approx(200 * 100_057 + 1_000_000, rel=0.01)
    assert totals["count"] is totals["bytes"] is totals["mapped"] is None
    assert of_functions(found, ("program.py:13",))["leaked"] == pytest.approx(1_000_049, rel=0.001)


def test_it_is_the_fallback_and_says_how_to_get_more(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(python, "_own_memray", lambda: "")
    command = write(KNOWN, interpreter=_bare(tmp_path))
    found = measured(command, tmp_path)
    assert found.engine == "tracemalloc/1" and (whole(found)["peak"] or 0) > 20_000_000
    assert len(found.warnings) == 1 and "pip install 'memray>=1.10'" in found.warnings[0]
    with pytest.raises(CollectError, match=r"has no memray: pip install 'memray>=1.10'"):
        measured(command, tmp_path, recorder="memray")


def _bare(folder: Path) -> str:
    """An environment of this version with nothing installed."""
    path = folder / "bare"
    if not path.exists():
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", path], check=True)
    return str(path / "bin" / "python")


def test_an_interpreter_without_memray_borrows_ours_and_sees_nothing_of_it(
    write: Write, tmp_path: Path
) -> None:
    source = """
import sys
try:
    import rich
except ImportError:
    print("none", file=sys.stderr)
print([entry for entry in sys.path if "memory" in entry or "site-packages" in entry and "bare" not in entry], file=sys.stderr)
print(sorted(name for name in sys.modules if name.startswith(("perfvcs", "rich", "typing_ext", "jinja"))), file=sys.stderr)
block = bytearray(3_000_000)
sys.exit(4)
"""
    # of interpreters that are linked statically, as Debian's is
    linked = r"(Memray WARNING: [^|]* \| )*"
    with pytest.raises(CollectError, match=rf"status 4: {linked}none \| \[\] \| \[\]$"):
        measured(write(source, interpreter=_bare(tmp_path)), tmp_path)
    found = measured(
        write(source.replace("sys.exit(4)", ""), interpreter=_bare(tmp_path)), tmp_path
    )
    assert found.engine == "memray/1" and of_functions(found, ("<module>",))["bytes"] >= 3_000_001


def test_an_interpreter_that_has_our_memray_keeps_its_own_packages(
    write: Write, tmp_path: Path
) -> None:
    found = measured(write("import rich\nblock = bytearray(3_000_000)"), tmp_path)
    assert found.engine == "memray/1" and of_functions(found, ("<module>",))["bytes"] >= 3_000_001


def test_the_programs_own_sitecustomize_runs(write: Write, tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text("import sys\nsys.said = 5\n")
    command = write(
        "import sys, sitecustomize\nsys.exit(sys.said + ('site' not in sitecustomize.__file__))"
    )
    with pytest.raises(CollectError, match="status 5"):
        measured(command, tmp_path, env={"PYTHONPATH": str(tmp_path / "site")})


@pytest.mark.parametrize("option", ["-I", "-E", "-S"])
def test_an_interpreter_that_loads_no_recorder_is_reported(
    write: Write, tmp_path: Path, option: str
) -> None:
    with pytest.raises(CollectError, match="leave out the options -I, -E and -S"):
        measured(write("print(1)", option), tmp_path)


def test_a_hard_exit_leaves_what_memray_wrote_and_nothing_of_tracemalloc(
    write: Write, tmp_path: Path
) -> None:
    command = write("import os\ndef f():\n    b = bytearray(4_000_000)\nf()\nos._exit(0)")
    assert of_functions(measured(command, tmp_path), ("f",))["bytes"] == 4_000_001
    with pytest.raises(CollectError, match=r"os\._exit"):
        measured(command, tmp_path, recorder="tracemalloc")


CLOSING = """
import os, sys
def allocate():
    for number in range(200_000):
        bytearray(1000 + number % 7)
"""


def test_a_program_that_closes_its_descriptors_by_closerange_leaves_those_of_memray_open(
    write: Write, tmp_path: Path
) -> None:
    source = f"""{CLOSING}
own = os.open("/dev/null", os.O_RDONLY)
child = os.fork()
os.closerange(9, 2)
os.closerange(3, 4096)
allocate()
if not child:
    os._exit(0)
assert os.wait()[1] == 0
assert not os.path.exists(f"/proc/self/fd/{{own}}")
"""
    found = measured(write(source), tmp_path)
    assert not found.warnings and of_functions(found, ("allocate",))["count"] == 400_000


@pytest.mark.parametrize(
    ("end", "reason"),
    [("time.sleep(60)", "SIGABRT: .*: memray lost its file"), ("", "memray lost its file")],
    ids=["memray ends it", "it ends before"],
)
def test_a_program_that_closes_them_one_by_one_gets_the_cure(
    write: Write, tmp_path: Path, end: str, reason: str
) -> None:
    source = f"""{CLOSING}
import time
for name in os.listdir("/proc/self/fd"):
    if int(name) > 2 and os.path.exists(f"/proc/self/fd/{{name}}"):
        os.close(int(name))
{"allocate()" if end else ""}
{end}
"""
    cure = r'close descriptors by os\.closerange.* or set recorder = "tracemalloc"$'
    with pytest.raises(CollectError, match=f"{reason}: {cure}"):
        measured(write(source), tmp_path)


def test_processes_of_which_tracemalloc_tells_nothing_are_counted(
    write: Write, tmp_path: Path
) -> None:
    source = """
import multiprocessing, os, subprocess, sys
def work(number):
    return len(bytearray(number))
if __name__ == "__main__":
    fork = multiprocessing.get_context("fork")
    with fork.Pool(2, initializer=fork.Barrier(2).wait) as pool:  # ended only when both have begun
        pool.map(work, range(10))
    subprocess.run([sys.executable, "-c", "import os; os._exit(0)"], check=True)
    subprocess.run([sys.executable, "-c", "b = bytearray(1000)"], check=True)
    if not os.fork():
        sys.exit()
    os.wait()
"""
    found = measured(write(source), tmp_path, recorder="tracemalloc")
    assert len(found.warnings) == 1 and found.warnings[0].startswith(
        "memory: 3 processes did not end Python normally"
    )


def test_a_script_is_known_by_its_first_line(tmp_path: Path) -> None:
    script = tmp_path / "work"
    script.write_text(f"#!{sys.executable}\nb = bytearray(2_000_000)\n")
    script.chmod(0o755)
    assert measured((str(script),), tmp_path).engine == "memray/1"


def test_the_seed_of_hashes_is_fixed_unless_the_program_has_one(
    write: Write, tmp_path: Path
) -> None:
    command = write("import os, sys\nsys.exit(f'seed {os.environ[\"PYTHONHASHSEED\"]}')")
    with pytest.raises(CollectError, match="seed 0"):
        measured(command, tmp_path)
    with pytest.raises(CollectError, match="seed 12"):
        measured(command, tmp_path, env={"PYTHONHASHSEED": "12"})


# what is read


def test_a_capture_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    reader = RecordingInterpreter(sys.executable, str(python._own_memray()))
    run = run_of((sys.executable, "x"), tmp_path)
    broken = tmp_path / "memray-1.bin"
    broken.write_bytes(b"nothing of memray's")
    with pytest.raises(CollectError, match="memray's file cannot be read: OSError") as caught:
        captures.captured_heap([broken], reader, run, Memory())
    assert "\n" not in str(caught.value)
    for interpreter in ("/bin/false", "/no/python"):
        with pytest.raises(CollectError, match="what memray recorded cannot be read"):
            captures.captured_heap([broken], RecordingInterpreter(interpreter, ""), run, Memory())


def test_cut_off_captures_of_processes_are_left_out_and_reported(
    write: Write, tmp_path: Path
) -> None:
    run = run_of(write(KNOWN), tmp_path)
    heap = python.record(run, Memory())
    assert not heap.warnings
    (good,) = (run.scratch / "heap").glob("memray-*.bin")
    (run.scratch / "heap" / "memray-0.bin").write_bytes(b"")
    reader = RecordingInterpreter(sys.executable, str(python._own_memray()))
    again = captures.captured_heap(
        [run.scratch / "heap" / "memray-0.bin", good], reader, run, Memory()
    )
    assert again.peak == heap.peak and again.warnings == [
        "memory: memray's files of 1 processes cannot be read and are left out"
    ]


def test_what_the_program_changed_is_one_line(tmp_path: Path) -> None:
    run = run_of((sys.executable, "x"), tmp_path)
    path = tmp_path / "tracemalloc-1.json"
    for content in (b"", b"[]", b'{"peak": "much"}', b"\xff"):
        path.write_bytes(content)
        with pytest.raises(CollectError, match="changed what tracemalloc recorded"):
            captures.traced_heap([path], run, Memory(), [])
        with pytest.raises(CollectError, match="is not what perfvcs wrote"):
            python._interpreter(path)


# the recorder itself, in an interpreter of its own


def test_the_reader_answers_one_line_of_json_per_file(write: Write, tmp_path: Path) -> None:
    run = run_of(write(KNOWN), tmp_path)
    python.record(run, Memory())
    (good,) = (run.scratch / "heap").glob("memray-*.bin")
    command = [sys.executable, "-I", reading.__file__, "", "5", "3", good, tmp_path / "none"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    found, none = map(json.loads, said)
    assert (
        found["peak"] > 20_000_000
        and len(found["at_peak"]) <= 5
        and all(len(stack[2]) <= 3 for stack in found["at_peak"])
    )
    assert none.keys() == {"error"}


def test_without_a_folder_nothing_is_recorded(write: Write, tmp_path: Path) -> None:
    command = write(
        "import sys, tracemalloc\nprint(tracemalloc.is_tracing(), 'memray' in sys.modules)"
    )
    environment = {
        "PYTHONPATH": str(FOLDER),
        "PATH": os.environ["PATH"],
        "PERFVCS_HEAP": str(tmp_path / "none"),
    }
    assert (
        subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
        == "False False\n"
    )
