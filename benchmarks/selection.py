"""`perf select` in real histories.

Each repository (a folder with a clone) is followed along the first parents of its newest commits. On the
oldest one all tests run, and the functions of each are recorded. Then every commit is decided as `perf
select` decides it; the tests that it keeps run, and a random share of those that it leaves out. The truth
are the bytecode instructions that Python executes in a test's own call, counted by a trace function in C
(Python 3.11): a miss is a test that was left out and whose count changed by 5 % or more since it ran last;
it is counted again on both sides before it is believed. Tests whose count differs between two runs of the
same commit are not compared. ``python`` has pytest and what the projects need. With ``once`` every commit
is decided by what was recorded on the newest one, and nothing is compared.
"""

from __future__ import annotations

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
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from perfvcs.collectors._shared.functions import PROCESSES, PYTHON_PATHS
from perfvcs.collectors._shared.testing.pluginnotes import read_notes
from perfvcs.collectors._shared.testing.suite import qualified
from perfvcs.git.project import Project
from perfvcs.locate.select.choices import BenchmarkReach, choose
from perfvcs.locate.select.impact import impact
from perfvcs.locate.select.reached import BenchmarkUnit, Reach
from perfvcs.locate.sources.differences import changes
from perfvcs.locate.sources.uses import Sources

from .figures import Row
from .registry import benchmark
from .repositories import git, scratch

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
from perfvcs_reports import NoteFile, Study

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
        words = ("--quiet", "--shared", "--no-checkout", str(source), str(self.root))
        git(scratch, "clone", *words)
        code = scratch / "counter.c"
        code.write_text(COUNTER)
        self.library = scratch / "counter.so"
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", self.library, code], check=True)
        (scratch / "plugin").mkdir()
        (scratch / "plugin" / "selection_plugin.py").write_text(PLUGIN)

    def run(
        self, commit: str, left_out: set[str], only: str = ""
    ) -> tuple[dict[str, Reach], dict[str, int]]:
        """The functions of each test that ran and passed, and the instructions of its call;
        ``only`` one test where it is named.
        """
        git(self.root, "checkout", "--quiet", "--force", commit)
        git(self.root, "clean", "--quiet", "-fdx")
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

    def row(self, name: str, tests: int, unstable: int) -> Row:
        """All figures."""
        causes = self.causes.most_common(4)
        reasons = self.reasons.most_common(6)
        every = self.reasons.total()
        return {
            "history": name,
            "commits": len(self.kept),
            "tests": tests,
            "kept nothing": self.kept.count(0.0),
            "documents only": len(self.documents),
            "kept, mean %": 100 * statistics.mean(self.kept),
            "kept, median %": 100 * statistics.median(self.kept),
            "commits of code alone": len(self.by_code),
            "kept of these, mean %": 100 * statistics.mean(self.by_code) if self.by_code else None,
            "everything kept because": "; ".join(f"{cause}: {count}" for cause, count in causes),
            "of all that is kept, %": "; ".join(
                f"{reason}: {100 * count / every:.1f}" for reason, count in reasons
            ),
            "s a commit, median": statistics.median(self.seconds),
            "most": max(self.seconds),
            "s of documents, most": max(self.documents, default=None),
            "commits run": self.runs,
            "pairs of counts": self.compared,
            "of tests left out": self.left_out,
            "changes of 5 %": self.changed,
            "misses": len(self.missed),
            "unstable tests": unstable,
        }


@benchmark("selecting", quick="needs clones of projects", needs=("clones of projects", "cc"))
def selection(
    *,
    repositories: tuple[str, ...],
    commits: int = 200,
    once: bool = False,
    share: float = 0.2,
    seconds: float = 1e9,
    python: str = sys.executable,
    seed: int = 1,
) -> Iterator[Row]:
    """How much does `perf select` leave out in real histories, and what does it miss?"""
    for repository in repositories:
        source, chance = Path(repository).resolve(), random.Random(seed)
        with scratch("selection") as folder:
            history = History(Tests(source, python, folder), folder, commits)
            if once:
                yield history.once().row(source.name, len(history.known), 0)
            else:
                found = history.followed(chance, share, time.monotonic() + seconds)
                yield found.row(source.name, len(history.known), len(history.unstable))
        for miss in history.found.missed:
            print(miss, file=sys.stderr)


class History:
    """The newest commits of a clone, oldest first, and what is known of its tests."""

    def __init__(self, tests: Tests, folder: Path, commits: int) -> None:
        self.tests, self.project, self.home = tests, Project.find(tests.root), folder / "home"
        self.home.mkdir()
        words = ("--first-parent", "-n", str(commits + 1), "HEAD")
        self.chain = git(tests.root, "rev-list", *words).split()[::-1]
        self.found = Followed()
        self.known: dict[str, Reach] = {}
        self.counts: dict[str, int] = {}
        self.unstable: set[str] = set()

    def once(self) -> Followed:
        """Decide all commits by the record of the newest."""
        self.known, _ = self.tests.run(self.chain[-1], set())
        for old, new in pairwise(self.chain):
            decide(self.project, self.home, old, new, self.known, self.found)
        return self.found

    def followed(self, chance: random.Random, share: float, until: float) -> Followed:
        """Decide and compare commit by commit."""
        self.known, self.counts = self.tests.run(self.chain[0], set())
        _, again = self.tests.run(self.chain[0], set())
        self.unstable = {
            name
            for name, count in self.counts.items()
            if abs(count - again.get(name, 0)) > 0.01 * count
        }
        for old, new in pairwise(self.chain):
            if time.monotonic() > until:
                break
            run, matters = decide(self.project, self.home, old, new, self.known, self.found)
            if matters:
                left_out = sorted(self.known.keys() - run)
                self._compare(old, new, run, {name for name in left_out if chance.random() < share})
        return self.found

    def _compare(self, old: str, new: str, run: set[str], drawn: set[str]) -> None:
        """Run the tests that a commit keeps, and those that are drawn of the others."""
        found = self.found
        now_known, now = self.tests.run(new, self.known.keys() - run - drawn)
        found.runs += 1
        for name in now.keys() & self.counts.keys() & self.known.keys() - self.unstable:
            found.compared += 1
            found.left_out += name in drawn
            differs = abs(now[name] - self.counts[name]) >= CHANGE * self.counts[name]
            if differs and name in drawn:
                # alone, since tests that a commit adds would take what is done once in a process
                before, after = (
                    self.tests.run(one, set(), only=name)[1].get(name, 0) for one in (old, new)
                )
                differs = abs(after - before) >= CHANGE * before
                if differs:
                    found.missed.append(f"{new[:10]} {name}: {before} to {after}")
            found.changed += differs
        gone = {name for name in run | drawn if name not in now_known}
        self.known = {
            name: reach for name, reach in self.known.items() if name not in gone
        } | now_known
        self.counts = {name: one for name, one in self.counts.items() if name not in gone} | now


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
    matters = any(file.matters for file in made.files)
    if not matters:
        found.documents.append(found.seconds[-1])
    return run, matters


def kind(reason: str) -> str:
    """What the reasons of a kind have in common: what comes before the names in them, and whether
    the function itself changed.
    """
    if reason.startswith("runs") and reason.endswith(" changed"):
        return "runs a function that changed"
    words = ("it starts processes", "its process loads", "looks names up", "loads", "runs", "")
    return next(word for word in words if reason.startswith(word))
