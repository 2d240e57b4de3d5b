"""Many writers at once, half of them `perf import` and half the library, beside everything else
that uses a repository.

Meanwhile loops collect, pack, publish, list, judge and show, one stores a benchmark that nobody has
measured yet and removes it again, and one deletes the index again and again. All profiles of all
writers must be there.
"""

from __future__ import annotations

import random
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence

from ..figures import ROOT, Row
from ..repositories import ANSWERS, PERF, scratch
from . import inspection
from .processes import Said, alive, left, start, wait
from .profiles import timed
from .project import Project
from .tally import Tally

PATIENCE = 300.0  # seconds of a command among twenty others
TOGETHER = 5  # files of one import
PAUSE = 0.3  # seconds between two deletions of the index, on average
BUSY = 11  # exit status of a command that is told to come back later
LIBRARY = """\
import sys
from pathlib import Path
from perfvcs.profile.decoding import decode
from perfvcs.repository import Repository
for file in sorted(Path(sys.argv[1]).iterdir()):
    repository = Repository.find()
    print(*repository.store.add([decode(file.read_bytes())], "One"), flush=True)
    repository.index.total()
"""
CHURN = """\
from benchmarks.attacks.profiles import timed
from perfvcs.repository import Repository
repository = Repository.find()
number = repository.index.total()
commits = repository.project.walk("HEAD")
stored = repository.store.add([timed(one, f"new{number}", number) for one in commits], "New")
repository.refresh()
repository.store.remove(stored, "Old")
"""
LOOPS = {
    "collect": ("collect", "--quiet", "HEAD~1", "HEAD"),
    "gc": ("gc",),
    "publish": ("publish", "../out/site"),
    "log": ("log",),
    "status": ("status",),
    "check": ("check", "HEAD~1", "HEAD"),
    "show": ("show", "--no-open", "-o", "../out/page.html"),
    "history": ("history",),
    "fsck": ("fsck",),
}


class Crowd:
    """The writers and the loops around them; each runs in a thread of its own."""

    def __init__(self, project: Project, tally: Tally, seed: int) -> None:
        self.project, self.tally, self.seed = project, tally, seed
        self.lock = threading.Lock()
        self.done = threading.Event()
        self.written: set[str] = set()

    def write(self, writer: int, count: int) -> None:
        """Store the profiles of one writer."""
        folder = self.project.out / f"writer-{writer}"
        batches = [
            list(range(first, min(first + TOGETHER, count))) for first in range(0, count, TOGETHER)
        ]
        for batch in batches:
            part = folder / str(batch[0])
            part.mkdir(parents=True)
            for number in batch:
                profile = timed(self.project.commits[number % 3], f"writer{writer}", number)
                (part / f"{number:04}.json").write_bytes(profile.encode())
            if writer % 2:
                self._run("import", [*PERF, "import", "--quiet", str(part)])
            else:
                said = self._run("the library", [sys.executable, "-P", "-c", LIBRARY, str(part)])
                with self.lock:
                    self.written.update(said.out.split())

    def repeat(self, name: str, words: Sequence[str]) -> None:
        """Run one command again and again."""
        while not self.done.is_set():
            self._run(name, words, codes=(*ANSWERS, BUSY))

    def forget(self) -> None:
        """Delete the index, its parts in any order."""
        generator = random.Random(self.seed)
        while not self.done.wait(generator.uniform(0, 2 * PAUSE)):
            paths = list(
                self.project.home.glob(
                    generator.choice(("index.db*", "*.db*", "index.db", "index.db-wal"))
                )
            )
            generator.shuffle(paths)
            for path in paths:
                path.unlink(missing_ok=True)

    def _run(self, name: str, words: Sequence[str], *, codes: Sequence[int] = (0,)) -> Said:
        env = self.project.env | {"PYTHONPATH": str(ROOT)}
        said = wait(start(words, str(self.project.root), env), PATIENCE)
        with self.lock:
            self.tally.count(name, hit=True)
            where = f"--seed {self.seed}"
            self.tally.blame(name, "tracebacks", inspection.tracebacks(said), where)
            if said.code is None:
                self.tally.blame(name, "hangs", [f"not ended after {PATIENCE:.0f} s"], where)
            elif said.code not in codes:
                self.tally.blame(
                    name, "wrong exits", [f"{said.code}: {said.err} {said.out}"], where
                )
        return said


def attack(count: int, profiles: int, seed: int, hang: float) -> Iterator[Row]:
    """So many writers with so many profiles each; a row per command."""
    tally = Tally()
    with scratch("attack") as folder:
        project = Project(folder / "crowd").build()
        before = set(project.store.paths())
        crowd = Crowd(project, tally, seed)
        loops: dict[str, Sequence[str]] = {name: [*PERF, *LOOPS[name]] for name in LOOPS}
        loops["store and remove"] = [sys.executable, "-P", "-c", CHURN]
        around = [threading.Thread(target=crowd.repeat, args=loop) for loop in loops.items()]
        around.append(threading.Thread(target=crowd.forget))
        writers = [
            threading.Thread(target=crowd.write, args=(writer, profiles)) for writer in range(count)
        ]
        for thread in (*around, *writers):
            thread.start()
        _wait(
            writers,
            lambda: tally.progress(
                sum(tally.tries[one] for one in ("import", "the library") if one in tally.tries), 0
            ),
        )
        crowd.done.set()
        _wait(around, lambda: None)
        there = _judge(crowd, before, count * profiles, hang)
    yield {"profiles written": count * profiles, "profiles there": there}
    yield from tally.rows()


def _wait(threads: Sequence[threading.Thread], progress: Callable[[], None]) -> None:
    for thread in threads:
        while thread.is_alive():
            thread.join(20)
            if thread.is_alive():
                progress()


def _judge(crowd: Crowd, before: set[str], expected: int, hang: float) -> int:
    """All that was written is there, in the store and in the index, and nothing else is left; how
    many profiles of the writers there are.
    """
    project, tally = crowd.project, crowd.tally
    until = time.monotonic() + hang
    while alive() and time.monotonic() < until:
        time.sleep(0.05)
    tally.blame("all", "processes", left(hang), "the end")
    following = project.perf("log")
    tally.blame("all", "wrong exits", [following.err] if following.code else [], "the end")
    there = set(project.store.paths())
    ours = [
        path for path in there - before if project.store.read(path).job.name.startswith("writer")
    ]
    gone = sorted(before - there) + sorted(crowd.written - there)
    tally.blame("all", "lost", [*gone, *inspection.unreadable(project)], "the end")
    if len(ours) != expected:
        tally.blame("all", "lost", [f"{len(ours)} of {expected} profiles are there"], "the end")
    from perfvcs.index import Index

    index = Index(project.store, project.home / "index.db")
    if index.total() != len(there):
        tally.blame(
            "all", "lost", [f"the index has {index.total()} of {len(there)} profiles"], "the end"
        )
    index.close()
    tally.blame("all", "worktrees", inspection.worktrees(project), "the end")
    tally.blame("all", "files", inspection.files(project), "the end")
    return len(ours)
