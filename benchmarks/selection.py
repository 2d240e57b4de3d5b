"""How much `perf select` leaves out in real histories, and what it misses.

    python benchmarks/selection.py [--commits 200] [--share 0.2] [--seconds S] [--python PYTHON]
    REPOSITORY...

Each repository (a folder with a clone) is followed along the first parents of its newest commits.
On the oldest one all tests run, and the functions of each are recorded. Then every commit is
decided as `perf select` decides it; the tests that it keeps run, and a random share of those that
it leaves out. The truth are the bytecode instructions that Python executes in a test's own call,
counted by a trace function in C (Python 3.11): a miss is a test that was left out and whose count
changed by 5 % or more since it ran last; it is counted again on both sides before it is believed.
Tests whose count differs between two runs of the same commit are not compared. PYTHON has pytest
and what the projects need. With --once every commit is decided by what was recorded on the newest
one, and nothing is compared.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from perfvcs.collectors._shared.functions import PROCESSES, PYTHON_PATHS
from perfvcs.collectors.pytest.notes import read_notes
from perfvcs.collectors.pytest.suite import qualified
from perfvcs.git.project import Project
from perfvcs.locate.select.impact import impact
from perfvcs.locate.select.reached import BenchmarkUnit, Reach
from perfvcs.locate.select.selection import BenchmarkReach, choose
from perfvcs.locate.sources.differences import changes
from perfvcs.locate.sources.uses import Sources

CHANGE = 0.05
INSIDE = Path(__file__).resolve().parents[1] / "collectors" / "pytest" / "inside" / "python"
COUNTER = r"""
static long long counted;
long long *counter(void) { return &counted; }
int trace(void *self, void *frame, int what, void *argument)
{
    if (what == 0) { ((char *) frame)[44] = 0; ((char *) frame)[45] = 1; } /* no lines, but instructions, of Python 3.11 */
    else if (what == 7) counted++;
    return 0;
}
"""
PLUGIN = """
import ctypes, json, os, sys
import pytest
from perfvcs_functions import RunningCode
from perfvcs_reports import NoteFile
from perfvcs_study import Study

asked = json.load(open(os.environ["SELECTION_REQUEST"]))
library = ctypes.CDLL(asked["library"])
library.counter.restype = ctypes.POINTER(ctypes.c_longlong)
counter = library.counter()
set_trace = ctypes.pythonapi.PyEval_SetTrace
set_trace.argtypes = [ctypes.c_void_p, ctypes.py_object]
left_out, only, counts = frozenset(asked["left_out"]), asked["only"], {}


def pytest_configure(config):
    notes = NoteFile(asked["folder"])
    notes.add("started", version=pytest.__version__, python="3")
    config.pluginmanager.register(Study(notes, RunningCode(asked["root"])), "selection-study")


def pytest_collection_modifyitems(items):
    items[:] = [item for item in items if item.nodeid not in left_out and (not only or item.nodeid == only)]


@pytest.hookimpl(hookwrapper=True, trylast=True)
def pytest_pyfunc_call(pyfuncitem):
    before = counter[0]
    set_trace(ctypes.cast(library.trace, ctypes.c_void_p), None)
    yield
    set_trace(None, None)
    counts[pyfuncitem.nodeid] = counter[0] - before


def pytest_sessionfinish():
    json.dump(counts, open(asked["counts"], "w"))
"""


class Tests:
    """The tests of one clone, run on any commit."""

    def __init__(self, source: Path, python: str, scratch: Path) -> None:
        self.root, self.python, self.scratch = scratch / "tree", python, scratch
        self.git(
            scratch, "clone", "--quiet", "--shared", "--no-checkout", str(source), str(self.root)
        )
        code = scratch / "counter.c"
        code.write_text(COUNTER)
        self.library = scratch / "counter.so"
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", self.library, code], check=True)
        (scratch / "plugin").mkdir()
        (scratch / "plugin" / "selection_plugin.py").write_text(PLUGIN)

    @staticmethod
    def git(folder: Path, *words: str) -> str:
        return subprocess.run(
            ["git", *words], cwd=folder, check=True, capture_output=True, text=True
        ).stdout.strip()

    def run(
        self, commit: str, left_out: set[str], only: str = ""
    ) -> tuple[dict[str, Reach], dict[str, int]]:
        """The functions of each test that ran and passed, and the instructions of its call;
        ``only`` one test where it is named.
        """
        self.git(self.root, "checkout", "--quiet", "--force", commit)
        self.git(self.root, "clean", "--quiet", "-fdx")
        folder = Path(tempfile.mkdtemp(dir=self.scratch))
        request = {
            "root": str(self.root),
            "folder": str(folder),
            "left_out": sorted(left_out),
            "only": only,
            "library": str(self.library),
            "counts": str(folder / "counts.json"),
        }
        (folder / "request").write_text(json.dumps(request))
        path = os.pathsep.join(
            map(str, (self.scratch / "plugin", INSIDE, PYTHON_PATHS, self.root, self.root / "src"))
        )
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "PYTHONPATH": path,
            "PYTHONHASHSEED": "0",
            "LC_ALL": "C.UTF-8",
            "PYTHONDONTWRITEBYTECODE": "1",
            "SELECTION_REQUEST": str(folder / "request"),
            "TZ": "UTC",
        }
        command = [
            self.python,
            "-m",
            "pytest",
            "-q",
            "-p",
            "selection_plugin",
            "-o",
            "addopts=",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:cov",
            "--continue-on-collection-errors",
            "--disable-warnings",
            "-W",
            "ignore",
            "--tb=no",
        ]
        try:
            subprocess.run(
                command,
                cwd=self.root,
                env=environment,
                capture_output=True,
                timeout=900,
                check=False,
            )
            counts = json.loads((folder / "counts.json").read_text())
            notes = read_notes(folder)
        except (subprocess.TimeoutExpired, FileNotFoundError):
            return {}, {}
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        passed = {test.id for test in notes.tests if test.outcome == "passed"}
        sets = {name: qualified(functions, self.root) for name, functions in notes.reached.items()}
        outside = frozenset(sets.get("", set()) - {PROCESSES})
        found = {
            name: Reach(commit, frozenset(functions), outside, name in notes.processes)
            for name, functions in sets.items()
            if name in passed
        }
        return found, {name: count for name, count in counts.items() if name in passed}


@dataclass
class Followed:
    """What one history showed."""

    kept: list[float] = field(default_factory=list)
    # of the commits without a file that everything may notice
    by_code: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    # seconds of commits that change nothing but documents
    documents: list[float] = field(default_factory=list)
    causes: Counter[str] = field(default_factory=Counter)
    # tests that are kept, of all commits, by the kind of the reason
    reasons: Counter[str] = field(default_factory=Counter)
    runs: int = 0
    compared: int = 0
    left_out: int = 0
    changed: int = 0
    missed: list[str] = field(default_factory=list)

    def report(self, name: str, tests: int, unstable: int) -> dict[str, object]:
        """All figures."""
        share = [
            round(100 * value, 1)
            for value in (statistics.mean(self.kept), statistics.median(self.kept))
        ]
        return {
            "history": name,
            "commits": len(self.kept),
            "tests": tests,
            "kept nothing": sum(not value for value in self.kept),
            "documents only": len(self.documents),
            "kept mean, median %": share,
            "commits without files that everything notices": len(self.by_code),
            "kept of these, mean %": (
                round(100 * statistics.mean(self.by_code), 1) if self.by_code else None
            ),
            "everything kept because": dict(self.causes.most_common(4)),
            "of all that is kept, %": {
                reason: round(100 * count / self.reasons.total(), 1)
                for reason, count in self.reasons.most_common(6)
            },
            "seconds per commit, median and most": [
                round(statistics.median(self.seconds), 2),
                round(max(self.seconds), 2),
            ],
            "seconds of documents, most": round(max(self.documents), 2) if self.documents else None,
            "commits run": self.runs,
            "pairs of counts": self.compared,
            "of tests left out": self.left_out,
            "changes of 5 %": self.changed,
            "misses": len(self.missed),
            "missed": self.missed,
            "unstable tests": unstable,
        }


def follow(source: Path, asked: argparse.Namespace) -> dict[str, object]:
    """One history."""
    chance, until, found = random.Random(asked.seed), time.monotonic() + asked.seconds, Followed()
    with tempfile.TemporaryDirectory(prefix="selection-") as scratch:
        tests = Tests(source, asked.python, Path(scratch))
        project, home = Project.find(tests.root), Path(scratch) / "home"
        home.mkdir()
        chain = tests.git(
            tests.root, "rev-list", "--first-parent", "-n", str(asked.commits + 1), "HEAD"
        ).split()[::-1]
        if asked.once:
            known, _ = tests.run(chain[-1], set())
            for old, new in pairwise(chain):
                decide(project, home, old, new, known, found)
            return found.report(source.name, len(known), 0)
        known, counts = tests.run(chain[0], set())
        _, again = tests.run(chain[0], set())
        unstable = {
            name for name in counts if abs(counts[name] - again.get(name, 0)) > 0.01 * counts[name]
        }
        for old, new in pairwise(chain):
            if time.monotonic() > until:
                break
            run, matters = decide(project, home, old, new, known, found)
            if not matters:
                continue
            drawn = {name for name in sorted(known.keys() - run) if chance.random() < asked.share}
            now_known, now = tests.run(new, known.keys() - run - drawn)
            found.runs += 1
            for name in now.keys() & counts.keys() & known.keys() - unstable:
                found.compared += 1
                found.left_out += name in drawn
                differs = abs(now[name] - counts[name]) >= CHANGE * counts[name]
                if differs and name in drawn:
                    # alone, since tests that a commit adds would take what is done once in a
                    # process
                    before, after = (
                        tests.run(one, set(), only=name)[1].get(name, 0) for one in (old, new)
                    )
                    differs = abs(after - before) >= CHANGE * before
                    found.missed += [f"{new[:10]} {name}: {before} to {after}"] if differs else []
                found.changed += differs
            gone = {name for name in run | drawn if name not in now_known}
            known = {name: reach for name, reach in known.items() if name not in gone} | now_known
            counts = {name: count for name, count in counts.items() if name not in gone} | now
            if len(found.kept) % 20 == 0:
                print(
                    f"{source.name}:"
                    f" {json.dumps(found.report(source.name, len(known), len(unstable)))}",
                    file=sys.stderr,
                    flush=True,
                )
        return found.report(source.name, len(known), len(unstable))


def decide(
    project: Project, home: Path, old: str, new: str, known: dict[str, Reach], found: Followed
) -> tuple[set[str], bool]:
    """The tests that a commit keeps, and whether it changes anything but documents."""
    began = time.perf_counter()
    made = changes(project, old, new)
    outside = frozenset().union(*(reach.outside for reach in known.values()))
    reached = impact(made, Sources(project, home, new), outside)
    choices = [
        choose(BenchmarkUnit("tests", "pytest", name), BenchmarkReach(reach), reached)
        for name, reach in sorted(known.items())
    ]
    run = {choice.unit.uid for choice in choices if choice.run}
    found.seconds.append(time.perf_counter() - began)
    found.kept.append(len(run) / max(1, len(known)))
    if reached.everything:
        cause = next(iter(reached.everything.values()))
        found.causes[cause] += 1
        found.reasons[cause] += len(run)
    else:
        found.by_code.append(found.kept[-1])
        found.reasons.update(kind(choice.reason) for choice in choices if choice.run)
    if made.nothing:
        found.documents.append(found.seconds[-1])
    return run, not made.nothing


def kind(reason: str) -> str:
    """What the reasons of a kind have in common: what comes before the names in them, and whether
    the function itself changed.
    """
    found = next(
        word
        for word in (
            "it starts processes",
            "its process loads",
            "looks names up",
            "loads",
            "runs",
            "",
        )
        if reason.startswith(word)
    )
    return (
        f"{found} a function that changed"
        if found == "runs" and reason.endswith(" changed")
        else found
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("repositories", nargs="+", type=Path, metavar="REPOSITORY")
    parser.add_argument("--commits", type=int, default=200)
    parser.add_argument(
        "--once",
        action="store_true",
        help="decide all by the record of the newest commit, and run nothing else",
    )
    parser.add_argument("--share", type=float, default=0.2)
    parser.add_argument(
        "--seconds",
        type=float,
        default=1e9,
        help="no further commit of a history is begun after so many",
    )
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    for repository in asked.repositories:
        print(json.dumps(follow(repository.resolve(), asked), indent=1), flush=True)


if __name__ == "__main__":
    main()
