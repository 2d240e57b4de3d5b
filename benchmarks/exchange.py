"""What reading, writing and importing foreign files takes.

    python benchmarks/exchange.py [--rows 1000000] [--files 5000]

Tables (wide and long) and profiles of Perun (rows and columns) with that many values are made in a
temporary folder; each is read and written in a process of its own, which says its time and its
largest memory beyond what it had before. Then files of 20 rows are imported into a new repository
in one call of `perf import`, and a tenth of them, so that the memory of both can be compared.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

UNITS = 1000
SAMPLES = 20

ONE = """
import sys, time
from pathlib import Path
from perfvcs import formats

def peak():  # getrusage would count what the parent had
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) / 1024

formats.read(sys.argv[2])
before = peak()
start = time.perf_counter()
profile = formats.read(sys.argv[1])
read = time.perf_counter() - start
memory = peak() - before
start = time.perf_counter()
document = formats.encode(profile, sys.argv[3])
wrote = time.perf_counter() - start
name, rows = Path(sys.argv[1]).name, len(profile.resources)
print(f"{name:14} {rows:9,} rows  read {read:5.2f} s, {memory:5.0f} MB  written {wrote:5.2f} s")
"""

CALL = """
import sys
from pathlib import Path
from perfvcs.cli import group
try:
    group()
finally:
    peak = int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) / 1024
    print(f"{peak:.0f} MB", file=sys.stderr)
"""


def wide(count: int) -> Iterator[str]:
    """A table with a row per measurement."""
    yield "uid,size,execution,wall [s]\n"
    for row in range(count):
        yield f"f{row % UNITS},{row % 77},{row // 77_000},{random.random()}\n"


def long(count: int) -> Iterator[str]:
    """A table with a row per value, two of each measurement."""
    yield "uid,size,execution,metric,value\n"
    for row in range(count):
        yield (
            f"f{row // 2 % UNITS},{row // 2 % 77},{row // 154_000},{('wall', 'cpu')[row % 2]},{random.random()}\n"
        )


def rows(count: int) -> Iterator[str]:
    """A profile of Perun in rows."""
    resources = [
        {
            "amount": random.random(),
            "structure-unit-size": row,
            "uid": f"f{row % UNITS}",
            "type": "mixed",
            "subtype": "time delta",
        }
        for row in range(count)
    ]
    yield json.dumps({"header": {"type": "mixed"}, "global": {"resources": resources}})


def columns(count: int) -> Iterator[str]:
    """A profile of Perun in columns."""
    each = count // UNITS
    resources = {
        f"f{unit}#0": {
            "amount": [random.random() for _ in range(each)],
            "structure-unit-size": list(range(each)),
        }
        for unit in range(UNITS)
    }
    types = {
        name: {"uid": name.partition("#")[0], "type": "mixed", "subtype": "time delta"}
        for name in resources
    }
    yield json.dumps(
        {"header": {"type": "mixed"}, "resources": resources, "resource_type_map": types}
    )


def imported(folder: Path, count: int) -> str:
    """What one import of so many files says, its time and memory."""
    files = folder / f"files-{count}"
    files.mkdir()
    for number in range(count):
        lines = [f"f,{run},{random.random()}\n" for run in range(SAMPLES)]
        (files / f"{number}.csv").write_text("".join(["uid,run,wall [s]\n", *lines]))
    project = folder / f"project-{count}"
    environment = os.environ | {
        f"GIT_{who}_{what}": "x@example.org"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    for args in (
        ["init", "--quiet", str(project)],
        ["-C", str(project), "commit", "--quiet", "--allow-empty", "--message", "one"],
    ):
        subprocess.run(["git", *args], check=True, env=environment)
    script = folder / "call.py"
    script.write_text(CALL)
    start = os.times().elapsed
    done = subprocess.run(
        [sys.executable, str(script), "import", str(files)],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    took = os.times().elapsed - start
    return f"{done.stdout.splitlines()[0]}: {took:.1f} s, {done.stderr.splitlines()[-1]}"


def main() -> None:
    """Make the files and print what each takes."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--files", type=int, default=5000)
    given = parser.parse_args()
    random.seed(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for kind, suffix, form in (
            (wide, "csv", "csv"),
            (long, "csv", "csv"),
            (rows, "perf", "perun"),
            (columns, "perf", "perun"),
        ):
            paths = []
            for count in (given.rows, UNITS):
                paths.append(
                    folder / f"{kind.__name__}{'' if count == given.rows else '-small'}.{suffix}"
                )
                with paths[-1].open("w") as file:
                    file.writelines(kind(count))
            subprocess.run([sys.executable, "-c", ONE, *map(str, paths), form], check=True)
        for count in (given.files // 10, given.files):
            print(imported(folder, count))


if __name__ == "__main__":
    main()
