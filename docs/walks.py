"""Counts the walks of commands through the house as they run: which rooms, and how often up.

    python docs/walks.py [CHECKOUT] [--up]

Makes a repository of five commits, the fourth of which makes its one job four times as slow, and
runs each command there with the code of the checkout and this Python. A walk is all Python calls in
the process from when the function `command` of the command's file begins until it ends; what runs
as a module is imported does not count. A call counts between the nearest functions of the
package on the stack, whatever lies between; each value of a generator is a call, too. A climb is a
call from a room into one on a higher floor (`python docs/rooms.py --floors`). Programs that the
command starts are not counted. Measurements differ, so counts of two runs do, too.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, FrameType

from rooms import HERE, House, floors

JOB = """[[job]]
name = "work"
cmd = "python3 work.py"
collectors = ["time"]
executions = 6
"""
PROGRAM = """def parse(count):
    return sum(number * number for number in range(count))


def main():
    parse({count})


main()
"""
COUNTS = (100_000, 100_001, 100_002, 400_000, 400_001)  # per commit
TIMES = [0.101, 0.102, 0.1, 0.103, 0.099]
SUMMARY = {"mean": 0.101, "stddev": 0.0016, "median": 0.101, "min": 0.099, "max": 0.103}
HYPERFINE = {
    "results": [
        {
            "command": "sort",
            **SUMMARY,
            "user": 0.09,
            "system": 0.01,
            "times": TIMES,
            "exit_codes": [0] * len(TIMES),
        }
    ]
}
AUTHOR = {
    f"GIT_{who}_{what}": word
    for who in ("AUTHOR", "COMMITTER")
    for what, word in (("NAME", "Ada"), ("EMAIL", "ada@example.org"))
}
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("collect", "HEAD~4", "HEAD", "--quiet"),
    ("check", "HEAD~4", "HEAD"),
    ("show", "HEAD~4", "HEAD", "--no-open", "--output", "page.html"),
    ("bisect", "HEAD~4", "HEAD", "--seed", "1", "--quiet"),
    ("blame", "HEAD~2", "HEAD~1", "--metric", "bytecodes", "--no-proof", "--quiet"),
    ("import", "sort.json", "--quiet"),
)
WALKED = "walk "  # before what the process of a command prints about itself
Call = tuple[str, str]  # from a room to another


class Walk:
    """Counts the calls between the rooms of a checkout; ``count`` is for ``sys.setprofile``."""

    def __init__(self, house: House) -> None:
        self.calls: Counter[Call] = Counter()
        self._files = {
            str(path.resolve()): house.room(name) for name, path in house.modules.items()
        }
        self._rooms: dict[CodeType, str] = {}
        self._outermost: FrameType | None = None

    def count(self, frame: FrameType, event: str, _: object) -> None:
        """Counts a call into the package from the nearest of its functions on the stack."""
        if event == "return" and frame is self._outermost:
            self._outermost = None
        if event != "call" or not (to := self._room(frame)):
            return
        if to == "commands" and frame.f_code.co_name == "command" and not self._outermost:
            self._outermost = frame
        caller = frame.f_back
        while caller is not None and not self._room(caller):
            if caller.f_code.co_name == "<module>" and self._file(caller.f_code) in self._files:
                return  # a class, or what else a module makes as it is imported
            caller = caller.f_back
        if caller is not None and self._outermost and frame is not self._outermost:
            self.calls[self._room(caller), to] += 1

    def _room(self, frame: FrameType) -> str:
        """The room of a function; empty where it is not of the package, or runs a module."""
        code = frame.f_code
        room = self._rooms.get(code)
        if room is None:
            room = self._files.get(self._file(code), "")
            room = self._rooms[code] = "" if code.co_name == "<module>" else room
        return room

    @staticmethod
    def _file(code: CodeType) -> str:
        return str(Path(code.co_filename).resolve())


def walk(checkout: Path, words: Sequence[str]) -> None:
    """Runs a command in this process, and prints its calls and its exit code."""
    seen = Walk(House(checkout))
    from perfvcs.entry import main  # of the checkout, which is first on the path

    sys.argv = ["perf", *words]
    threading.setprofile(seen.count)
    sys.setprofile(seen.count)
    code: object = 0
    try:
        main()
    except SystemExit as end:
        code = end.code
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    calls = [[*rooms, count] for rooms, count in seen.calls.items()]
    print(f"\n{WALKED}{json.dumps({'code': code or 0, 'calls': calls})}", flush=True)


def repository(folder: Path) -> None:
    """The history that the commands are about."""

    def git(*words: str) -> None:
        subprocess.run(
            ["git", *words], cwd=folder, check=True, capture_output=True, env=os.environ | AUTHOR
        )

    git("init", "--quiet")
    (folder / "perf.toml").write_text(JOB)
    (folder / "sort.json").write_text(json.dumps(HYPERFINE))
    for count in COUNTS:
        (folder / "work.py").write_text(PROGRAM.format(count=count))
        git("add", ".")
        git("commit", "--quiet", "--message", f"Count to {count}")


def walked(checkout: Path, folder: Path, words: Sequence[str]) -> Counter[Call]:
    """The calls of a command that runs in a process of its own."""
    script = [sys.executable, __file__, str(checkout), "--walk", *words]
    found = os.environ | AUTHOR | {"PYTHONPATH": str(checkout), "XDG_CACHE_HOME": str(folder)}
    done = subprocess.run(
        script, cwd=folder, env=found, capture_output=True, text=True, check=False
    )
    printed = [line for line in done.stdout.splitlines() if line.startswith(WALKED)]
    if not printed:
        raise SystemExit(f"perf {' '.join(words)}: {done.stderr}")
    result = json.loads(printed[-1].removeprefix(WALKED))
    if result["code"] not in (0, 3):  # 3: a degradation
        raise SystemExit(f"perf {' '.join(words)}: exit status {result['code']}: {done.stderr}")
    return Counter({(start, end): count for start, end, count in result["calls"]})


def climbs(house: House, calls: Counter[Call]) -> Counter[Call]:
    """The calls that lead to a higher floor."""
    levels = {room: level for level, rooms in enumerate(floors(house.arrows)) for room in rooms}
    floor = {room: levels[room.partition(".")[0]] for pair in calls for room in pair}
    return Counter(
        {(start, end): count for (start, end), count in calls.items() if floor[end] > floor[start]}
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkout", nargs="?", type=Path, default=HERE, help="where perfvcs/ is")
    parser.add_argument("--up", action="store_true", help="print where each command climbs")
    parser.add_argument("--walk", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    checkout = asked.checkout.resolve()
    if asked.walk:
        walk(checkout, asked.walk)
        return
    house = House(checkout)
    with tempfile.TemporaryDirectory() as folder:
        repository(Path(folder))
        walked(checkout, Path(folder), ("init", "--no-try"))
        for words in COMMANDS:
            calls = walked(checkout, Path(folder), words)
            up = climbs(house, calls)
            rooms = {room for pair in calls for room in pair}
            print(f"perf {words[0]}: rooms {len(rooms)}, climbs {up.total():,}", flush=True)
            for (start, end), count in up.most_common() if asked.up else ():
                print(f"  {count:6,}  {start} -> {end}")


if __name__ == "__main__":
    main()
