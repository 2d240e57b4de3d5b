"""The measurer: a process beside a worker that measures blocks with a session of its own, so that
the worker still answers.

``python -m perfvcs.hosts.measurer CACHE HOST PROJECT`` is asked on its standard input and answers
in another pipe.
"""

from __future__ import annotations

import hashlib
import os
import signal
import sys
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from queue import Empty, Queue
from typing import IO

import msgspec
from msgspec import structs

from perfvcs.environment import noise
from perfvcs.errors import CURES, PerfError
from perfvcs.git.bundles import clone, tips, unbundle
from perfvcs.git.project import Project
from perfvcs.git.worktree import remove as remove_worktree
from perfvcs.hosts import wire
from perfvcs.hosts.stall import Utilisation, watching
from perfvcs.hosts.wire import Failed, Lacks, Parcel, Task, encode, lay_out
from perfvcs.jobs import knobs
from perfvcs.measure.executor import LocalExecutor, Wanted
from perfvcs.measure.journal import Described, Lost
from perfvcs.measure.progress import Progress
from perfvcs.measure.session import Session
from perfvcs.measure.sites import Sites
from perfvcs.measure.tally import CellPlace, Tally
from perfvcs.plugins.collector import CollectError, Observations
from perfvcs.profile.summary import SAMPLER, WORKER
from perfvcs.repository.leftovers import drop_abandoned, usual
from perfvcs.system import interruption
from perfvcs.system.children import keeping
from perfvcs.system.disk import entries, make_folder, remove

IDLE = 300.0  # seconds without a task after which it ends


class HostExecutor(LocalExecutor):
    """Runs blocks as anywhere; says which execution begins, watches for one that stalls, and
    records what else the host did.
    """

    def __init__(self, sites: Sites, tally: Tally, measurer: Measurer, stalled: float) -> None:
        super().__init__(sites, tally)
        self.measurer, self.stalled = measurer, stalled

    def _attempt(self, number: int, position: int, binary: int, seed: int) -> Observations:
        self.measurer.say(encode(wire.Executing(self.measurer.host, number, position)))
        used = Utilisation()
        with watching(self.stalled) as stall:
            try:
                seen = super()._attempt(number, position, binary, seed)
            except PerfError as error:
                if stall.said:
                    raise CollectError(
                        f"{self.cells[number].name} {stall.said}", lasting=True
                    ) from error
                raise
        if self.cells[number].collector_name != SAMPLER:  # which shows all that it has
            used.add_to(seen)
        return seen


class Silent(Progress):
    """What a session says on a host: its failures travel with the answer."""

    def fail(self, failure: str) -> None:
        """Ignored."""


class Measurer:
    """One clone and the session that is measured in it."""

    def __init__(self, root: Path, host: str, answers: IO[bytes]) -> None:
        self.root, self.host, self.answers = root, host, answers
        self.name = ""
        self._session: Session | None = None
        self._stack = ExitStack()
        self._described: dict[tuple[int, int], Described] = {}
        self._asked: set[tuple[int, int]] = set()

    def say(self, message: bytes) -> None:
        """Send a message."""
        wire.send(self.answers, message)

    def answer(self, task: Task) -> bytes:
        """Measures a block; a failure of this host is an answer, too."""
        try:
            session = self._prepared(task)
            return encode(session if isinstance(session, Lacks) else self._measure(session, task))
        except PerfError as error:
            return encode(Failed(self.host, str(error)))
        except OSError as error:
            return encode(Failed(self.host, CURES.get(error.errno or 0, str(error))))
        except msgspec.DecodeError as error:
            return encode(
                Failed(
                    self.host,
                    f"what the client sent cannot be read ({error}): install one version of perfvcs"
                    " everywhere",
                )
            )

    def _prepared(self, task: Task) -> Session | Lacks:
        """The session of a task's parcel, prepared and warm; what the host lacks for it."""
        if self._session is not None and self.name == task.parcel:
            return self._session
        self.close()
        home = self.root / ".perf"
        path = home / "parcel"
        if task.delivery is not None:
            sent = wire.delivery(task.delivery)
            project = clone(self.root, sent.form)
            make_folder(home)
            unbundle(project, sent.bundle)
            path.write_bytes(sent.parcel)
        content = path.read_bytes() if path.is_file() else b""
        if hashlib.sha256(content).hexdigest() != task.parcel:
            return Lacks(
                self.host, tips(Project.find(self.root)) if (self.root / ".git").is_dir() else []
            )
        parcel = msgspec.msgpack.decode(content, type=Parcel)
        os.environ.update(parcel.environment)
        project = Project.find(self.root)
        _sweep(project, home)
        lay_out(parcel.files, self.root)
        config = parcel.config
        # the client has chosen this host
        cells = [structs.replace(cell, hosts="") for cell in parcel.chosen()]
        sites = Sites(
            project, home, config, cells, [sent.version for sent in parcel.versions], knobs(config)
        )
        quiet: Progress = Silent()

        def executor(sites: Sites, tally: Tally) -> HostExecutor:
            return HostExecutor(sites, tally, self, parcel.stalled)

        session = self._stack.enter_context(
            Session(sites, quiet, parcel.identity, executor=executor)
        )
        self._session, self.name, self._described, self._asked = session, task.parcel, {}, set()
        session.executor.warm_up(sorted(task.cells))
        return session

    def _measure(self, session: Session, task: Task) -> wire.Measured:
        """Run a block; only the versions that still take part do."""
        wanted = wire.names(task.cells)
        tally = session.tally
        self._asked |= wanted
        gone = wanted - tally.alive
        tally.alive -= {
            pair for pair in tally.alive if pair[0] in task.cells and pair not in wanted
        }
        tally.warnings.clear()
        for _ in session.executor.running([Wanted(task.block, list(task.cells))]):
            pass
        gone |= wanted - tally.alive
        blocks = [
            structs.replace(block, host=self.host)
            for number, positions in task.cells.items()
            for block in session.blocks.of(number, positions[0]) or ()
            if block.block == task.block and block.seen.keys() >= set(positions)
        ]
        places = [
            CellPlace(block.job, position, seen.engine)
            for block in blocks
            for position, seen in block.seen.items()
        ]
        lost = [
            Lost(number, position, self._reason(session, number, position))
            for number, position in sorted(gone)
        ]
        return wire.Measured(
            self.host, blocks, lost, self._describe(session, places), list(tally.warnings)
        )

    def _reason(self, session: Session, number: int, position: int) -> str:
        """Why a job failed on a version."""
        version, name = session.versions[position].name, session.names[number]
        reasons = [
            failure.reason
            for failure in session.failures
            if failure.version == version and (failure.name == name or not failure.label)
        ]
        return reasons[-1] if reasons else "it was not measured"

    def _describe(self, session: Session, places: Sequence[CellPlace]) -> list[Described]:
        """Describes the series that are new or have changed since they were described."""
        descriptions = []
        for place, about in session.executor.describe(places).items():
            environment = structs.replace(
                about.environment, notes=about.environment.notes | {WORKER: self.host}
            )
            description = Described(
                self.host, place.number, place.position, about.job, environment, about.reached
            )
            before = self._described.get(place[:2])
            if before is None or (before.about, before.environment.warnings) != (
                description.about,
                environment.warnings,
            ):
                self._described[place[:2]] = description
            descriptions.append(self._described[place[:2]])
        return descriptions

    def close(self) -> None:
        """End the session, and take its checkouts away."""
        self._session = None
        self._stack.close()


def _sweep(project: Project, home: Path) -> None:
    """Take away what a measurer left that was killed."""
    for name in entries(home / "worktrees"):
        remove_worktree(project, home / "worktrees" / name)
    remove(home / "tmp")
    make_folder(home / "tmp")
    drop_abandoned(usual(os.environ))


def _listen(questions: IO[bytes], waiting: Queue[bytes | None], busy: threading.Event) -> None:
    """Passes tasks on. Where the worker is gone, ends in good order, even in the middle of an
    execution.
    """
    while (message := wire.receive(questions)) is not None:
        waiting.put(message)
    waiting.put(None)
    if busy.is_set():
        os.kill(os.getpid(), signal.SIGTERM)


def main(root: str, host: str, descriptor: str) -> None:
    """Measure what is asked until nobody asks any more."""
    interruption.begin()
    interruption.unwind()
    waiting: Queue[bytes | None] = Queue()
    busy = threading.Event()
    with keeping(), open(int(descriptor), "wb") as answers:
        measurer = Measurer(Path(root), host, answers)
        threading.Thread(
            target=_listen, args=(sys.stdin.buffer, waiting, busy), daemon=True, name="listen"
        ).start()
        try:
            while (message := waiting.get(timeout=IDLE)) is not None:
                busy.set()
                answer = measurer.answer(wire.task(message))
                busy.clear()
                measurer.say(answer)
        except (Empty, BrokenPipeError, interruption.Stopped):
            pass  # nobody asks any more
        finally:
            measurer.close()
    os._exit(0)  # without a last word: nobody reads it


if __name__ == "__main__":
    noise.snapshot()  # its modules are read before anything is measured
    main(*sys.argv[1:])
