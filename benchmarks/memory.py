"""How exact counted allocations are, and what counting costs: ``python benchmarks/memory.py``.

Exactness: programs in C and C++ that tell what they allocate (``tests/native/memory``), and
functions in Python whose objects' sizes are known; counts, bytes, peak and what is left, against
what the collector says. Cost: the least CPU time of some runs of a program that allocates a million
small blocks, of one in C++ and of one in Python, under each recorder, over that without; for Python
what an empty program takes is subtracted from both. Size: the profile of the million allocations,
as it is stored.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import heaps
from needs import need
from samples import sample_profile

from perfvcs import launcher
from perfvcs.collectors.memory import python, shim
from perfvcs.collectors.memory.heap import AllocationRequest
from perfvcs.plugins.collector import Observations
from perfvcs.profile import Resources

C = """
#include <stdlib.h>
#include <string.h>
static volatile void *seen;
int main(void)
{
    static void *kept[100000];
    for (int i = 0; i < 900000; i++) { char *p = strdup("a string of exactly 29 bytes."); seen = p; free(p); }
    for (int i = 0; i < 100000; i++) kept[i] = malloc(32);
    char *big = malloc(8 << 20);
    memset(big, 1, 8 << 20);
    for (int i = 0; i < 100000; i++) free(kept[i]);
    return big[7] - 1;
}
"""
CPP = """
#include <map>
#include <string>
#include <vector>
int main()
{
    std::map<int, std::string> names;
    for (int i = 0; i < 50000; i++) names[i] = "a string that is longer than what fits " + std::to_string(i);
    std::vector<std::string> all;
    for (auto &one : names) all.push_back(one.second);
    return all.size() != 50000;
}
"""
PYTHON = {
    "objects.py": (
        """
for _ in range(200_000):
    block = bytearray(2000)
large = bytearray(16 << 20)
objects = [object() for _ in range(300_000)]
"""
    ),
    "calls.py": (
        """
class Point:
    def __init__(self, x):
        self.x = x
points = [Point(number) for number in range(300_000)]
"""
    ),
}
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
"""
EXPECTED = {
    "churn": 200 * (25_001 + 56),
    "keep": 200 * (100_001 + 56) + 56 + 1600,
    "repeat": 1_000_049,
}


def exactness(folder: Path) -> None:
    """A line per program: what differs, if anything."""
    wrong = 0
    for known in heaps.programs():
        found = heaps.measured((str(known.build(folder)),), folder)
        counted = heaps.of_functions(found, known.functions)
        wrong += counted != known.totals
        told = "  ".join(f"{name} {value:,.0f}" for name, value in known.totals.items())
        print(
            f"  {known.source.name:14}"
            f" {'exact' if counted == known.totals else f'WRONG: {counted}':6} {told}"
        )
    print(f"  {len(heaps.programs())} programs, {wrong} of them not exact")
    (folder / "known.py").write_text(KNOWN)
    found = heaps.measured((sys.executable, str(folder / "known.py")), folder, exact=True)
    for function, expected in EXPECTED.items():
        counted = heaps.of_functions(found, (function,))["bytes"]
        print(
            f"  Python, {function:6} {expected:,} bytes, counted {counted:,.0f}:"
            f" {counted / expected - 1:+.4%}"
        )


def best(command: Sequence[str], env: Mapping[str, str], folder: Path, runs: int) -> float:
    """The least CPU time of some runs, in seconds."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), **env}
    took = [launcher.launch(command, cwd=folder, env=environment, timeout=600) for _ in range(runs)]
    if any(one.status for one in took):
        raise SystemExit(f"{command} failed: {took[0].stderr}")
    return min(one.cpu for one in took)


def native_costs(folder: Path, runs: int) -> None:
    """CPU time of both native programs under each recorder."""
    (folder / "left").mkdir()
    preload = {
        "LD_PRELOAD": str(shim.preloaded()),
        "PERFVCS_MEMORY": str(folder / "left"),
        "PERFVCS_MEMORY_DEPTH": "64",
    }
    (folder / "empty.c").write_text("")
    for name in ("libunwind.so.8", "libunwind.so"):
        subprocess.run(["gcc", "-shared", "-o", folder / name, folder / "empty.c"], check=True)
    for name, source in (("million.c", C), ("map.cpp", CPP)):
        (folder / name).write_text(source)
        program = str(heaps.compile_(folder / name, folder / name.partition(".")[0], "-O2"))
        plain = best([program], {}, folder, runs)
        print(f"  {name}: {plain * 1000:.1f} ms")
        ways: list[tuple[str, list[str], Mapping[str, str]]] = [
            ("ours", [program], preload),
            ("ours without libunwind", [program], preload | {"LD_LIBRARY_PATH": str(folder)}),
        ]
        if tool := shutil.which("heaptrack"):
            ways.append(("heaptrack", [tool, "-o", str(folder / "track"), program], {}))
        if tool := shutil.which("valgrind"):
            ways.append(
                ("DHAT", [tool, "--tool=dhat", f"--dhat-out-file={folder}/dhat", program], {})
            )
        for way, command, env in ways:
            took = best(command, env, folder, runs if way == "ours" else min(runs, 3))
            print(f"    {way:24} {took * 1000:8.1f} ms  x{took / plain:.1f}")


def python_costs(folder: Path, runs: int) -> None:
    """CPU time of the Python programs under each recorder, net of what an empty one takes under
    it.
    """
    for name, source in {**PYTHON, "nothing.py": ""}.items():
        (folder / name).write_text(source)
    run = heaps.run_of((sys.executable, "any.py"), folder)
    ways: tuple[tuple[str, python.Recorder | None, bool], ...] = (
        ("nothing", None, False),
        ("memray", "memray", False),
        ("memray, exact", "memray", True),
        ("tracemalloc", "tracemalloc", False),
    )
    plain: dict[str, float] = {}
    for way, recorder, exact in ways:
        env: dict[str, str] = {"PYTHONHASHSEED": "0"}
        if recorder:
            env = python._environment(
                run, AllocationRequest(exact=exact), recorder, Path(tempfile.mkdtemp(dir=folder))
            )
        start = best([sys.executable, str(folder / "nothing.py")], env, folder, runs)
        told = [f"{start * 1000:.0f} ms to start"]
        for name in PYTHON:
            net = best([sys.executable, str(folder / name)], env, folder, runs) - start
            told.append(f"{name} {net * 1000:.0f} ms (x{net / plain.setdefault(name, net):.2f})")
        print(f"    {way:16} {', '.join(told)}")


def stored(found: Observations) -> bytes:
    """One execution's rows as the document of a profile."""
    names = list(dict.fromkeys(found.uid))
    rows = Resources(
        names=names,
        uid=[names.index(uid) for uid in found.uid],
        execution=[0] * len(found.uid),
        iteration=found.iteration,
        mark=found.mark,
        trace=found.trace,
        metrics=found.values,
    )
    return sample_profile(metrics=found.metrics, resources=rows, stacks=found.stacks).encode()


def sizes(folder: Path) -> None:
    """Bytes of the profiles of all programs above."""
    for name in ("million", "map", "objects.py"):
        argv = (
            (sys.executable, str(folder / name)) if name.endswith("py") else (str(folder / name),)
        )
        found = heaps.measured(argv, folder)
        document = stored(found)
        count, compressed = heaps.whole(found)["count"], len(zlib.compress(document))
        print(
            f"  {name:10} {count:,.0f} allocations, {len(document):,} bytes, {compressed:,}"
            " compressed"
        )


def main() -> None:
    """Print all."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--runs", type=int, default=15, help="runs of each program under the quick recorders"
    )
    arguments = parser.parse_args()
    need("gcc", "g++", "memray")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for title, part in (
            ("exactness", lambda: exactness(folder)),
            ("cost, native", lambda: native_costs(folder, arguments.runs)),
            ("cost, Python", lambda: python_costs(folder, arguments.runs)),
            ("size of a profile", lambda: sizes(folder)),
        ):
            print(title)
            part()


if __name__ == "__main__":
    main()
