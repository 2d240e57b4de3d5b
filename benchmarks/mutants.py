"""Mutated documents for all readers of foreign bytes.

Each document is read in a process with 1 GB of address space, within 2 s of processor time. A reader
refuses it with a PerfError or takes it; anything else is a failure, and its document is written into
``folder``. A document depends only on the seed, its reader and its number: runs with other ``first``
share the work, and one that is interrupted goes on where it was.
"""

from __future__ import annotations

import json
import mmap
import os
import resource
import shutil
import signal
import struct
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import FrameType

import psutil

from perfvcs.errors import PerfError

from .figures import Row
from .mutation import kept
from .mutation.changes import mutated
from .mutation.readers import Reader, readers
from .registry import Wrong, benchmark

LIMIT = 1 << 30  # bytes of address space, beside what the process has
SECONDS = 2.0  # of processor time for a document
PATIENCE = 20.0  # seconds of a process that does not go on, whoever uses the processor
BATCH = 2000  # documents of one process
# where files of readers are, at no cost of a disk
SCRATCH = "/dev/shm" if Path("/dev/shm").is_dir() else None
GROWTH = 1 << 29  # bytes that a document may cost; of more it is as if the limit had been hit
COLUMNS = ("documents", "refused", "accepted", "tracebacks", "slow", "memory")
FAILURES = COLUMNS[3:]
FINE = ("refused", "accepted")


class Slow(BaseException):
    """The time is over."""


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise Slow


def outcome(reader: Reader, document: bytes, folder: Path) -> tuple[str, str]:
    """What a reader makes of a document, as one of the columns, and the traceback or why."""
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        reader.read(document, folder)
        found = "accepted", ""
    except PerfError:
        found = "refused", ""
    except MemoryError:
        found = "memory", traceback.format_exc()
    except Slow:
        found = "slow", traceback.format_exc()
    except Exception:
        found = "tracebacks", traceback.format_exc()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    grown = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    if grown > GROWTH and found[0] in FINE:
        return "memory", f"{found[0]}, after it took over {GROWTH >> 20} MiB"
    return found


@dataclass(frozen=True)
class Mutation:
    """A run: its seed, the number of the first document, and where failing ones are kept."""

    folder: Path
    seed: int = 1
    first: int = 0

    def document(self, name: str, reader: Reader, number: int) -> bytes:
        """The mutant with a number."""
        return mutated(reader.seeds, Random(f"{self.seed}:{name}:{number}"))

    def keep(self, name: str, document: bytes, line: Mapping[str, object]) -> None:
        """Write a document that failed, and why."""
        place = self.folder / name
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{line['number']}-{line['what']}").write_bytes(document)
        with (self.folder / "failures.txt").open("a") as file:
            print(f"== {name} {line['number']} {line['what']}\n{line['why']}", file=file)

    def counts(
        self, known: Mapping[str, Reader], count: int, seconds: float
    ) -> dict[str, Counter[str]]:
        """The counts of each reader; they are kept in the folder, so that an interrupted run goes
        on.
        """
        state = self.folder / f"state-{self.seed}-{self.first}.json"
        before = json.loads(state.read_text()) if state.exists() else {}
        done = {name: Counter(counted) for name, counted in before.items()}
        total = sum(reader.share for reader in known.values())
        wanted = {name: -int(-count * reader.share // total) for name, reader in known.items()}
        began = time.monotonic()
        while open_ := [
            name for name in known if done.get(name, Counter())["documents"] < wanted[name]
        ]:
            for name in open_:
                counted = done.setdefault(name, Counter())
                start = self.first + counted["documents"]
                batch_end = start + max(1, int(BATCH * known[name].share))
                stop = min(batch_end, self.first + wanted[name])
                counted.update(batch(name, known[name], self, range(start, stop)))
                state.write_text(json.dumps(done))
            if seconds and time.monotonic() - began > seconds:
                break
        return done


def work(
    name: str, reader: Reader, run: Mutation, numbers: range, at: mmap.mmap, told: int
) -> None:
    """Read documents in this process, which has the limits; a line of JSON for each failure, and
    one with the counts.
    """
    # threads that this process had before have reserved address space without using it
    most = psutil.Process().memory_info().vms + LIMIT
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    signal.signal(signal.SIGPROF, _stop)
    counts: Counter[str] = Counter()
    with (
        tempfile.TemporaryDirectory(prefix="perf-mutants-", dir=SCRATCH) as scratch,
        open(told, "w") as lines,
    ):
        for number in numbers:
            at[:8] = struct.pack("<q", number)
            what, why = outcome(reader, run.document(name, reader, number), Path(scratch))
            counts["documents"] += 1
            counts[what] += 1
            if what not in FINE:
                print(
                    json.dumps({"number": number, "what": what, "why": why}), file=lines, flush=True
                )
        print(json.dumps({"counts": counts}), file=lines, flush=True)


def batch(name: str, reader: Reader, run: Mutation, numbers: range) -> Counter[str]:
    """The counts of some documents, read in processes of their own; one that dies is a failure of
    its document, the next goes on.
    """
    counts: Counter[str] = Counter()
    start = numbers.start
    while start < numbers.stop:
        at = mmap.mmap(-1, 8)
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            status = 1
            try:
                os.close(reading)
                work(name, reader, run, range(start, numbers.stop), at, writing)
                status = 0
            except BaseException:
                traceback.print_exc()
            os._exit(status)
        os.close(writing)
        lines, how = _followed(child, reading, at)
        made = Counter[str]()
        for line in map(json.loads, lines):
            if "counts" in line:
                made = Counter(line["counts"])
            else:
                run.keep(name, run.document(name, reader, line["number"]), line)
                made[line["what"]] += 0 if made else 1
        if how == "ended":
            return counts + (made if "documents" in made else Counter[str]())
        last = struct.unpack("<q", at[:8])[0]
        failed = Counter(json.loads(line)["what"] for line in lines)
        kind = "slow" if how == "stuck" else "memory" if how == "killed" else "tracebacks"
        run.keep(
            name,
            run.document(name, reader, last),
            {"number": last, "what": kind, "why": f"the process {how}"},
        )
        fine = last - start - failed.total()
        counts += failed + Counter({"documents": last - start + 1, "accepted": fine, kind: 1})
        start = last + 1
    return counts


def _followed(child: int, reading: int, at: mmap.mmap) -> tuple[list[str], str]:
    """What a process wrote until its end, and how that was: ended, killed, crashed or stuck."""
    os.set_blocking(reading, False)
    said, before, since = b"", b"", time.monotonic()
    while True:
        pid, status = os.waitpid(child, os.WNOHANG)
        try:
            while chunk := os.read(reading, 1 << 16):
                said += chunk
        except BlockingIOError:
            pass
        if pid:
            break
        now = at[:8]
        if now != before:
            before, since = now, time.monotonic()
        elif time.monotonic() - since > PATIENCE:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            os.close(reading)
            return said.decode().splitlines(), "stuck"
        time.sleep(0.005)
    os.close(reading)
    code = os.waitstatus_to_exitcode(status)
    return (
        said.decode().splitlines(),
        "ended" if not code else "killed" if code == -signal.SIGKILL else f"crashed ({code})",
    )


def warm(known: Mapping[str, Reader]) -> None:
    """Read the documents that nobody changed, so that the processes need to import nothing; each is
    one that its reader takes.
    """
    for reader in known.values():
        for document in reader.seeds:
            with tempfile.TemporaryDirectory(prefix="perf-mutants-", dir=SCRATCH) as scratch:
                reader.read(document, Path(scratch))


@benchmark("trust", quick={"count": 800, "folder": ""})
def mutants(
    *,
    count: int = 100_000,
    first: int = 0,
    seed: int = 1,
    seconds: float = 0.0,
    reader: tuple[str, ...] = (),
    folder: str = "build/mutants",
) -> Iterator[Row]:
    """What do mutated documents do to the readers of foreign bytes?"""
    warnings.simplefilter("error")  # what tests take for an error is one here
    known = {name: one for name, one in readers().items() if name in reader or not reader}
    with tempfile.TemporaryDirectory(prefix="perf-mutants-") as scratch:
        place = Path(folder or scratch)
        place.mkdir(parents=True, exist_ok=True)
        try:
            warm(known)
            done = Mutation(place, seed, first).counts(known, count, seconds)
        finally:
            shutil.rmtree(kept.folder(), ignore_errors=True)
            warnings.resetwarnings()
    done["all"] = sum(done.values(), Counter())
    for name, counted in done.items():
        yield {"reader": name, **{column: counted[column] for column in COLUMNS}}
    failed = sum(done["all"][column] for column in FAILURES)
    if failed:
        raise Wrong(f"{failed} documents are neither read nor refused: {folder}/failures.txt")


@benchmark("trust", quick="reads documents that failed before")
def mutants_again(*, folder: Path, reader: str = "*") -> Iterator[Row]:
    """Which of the kept documents still fail?"""
    signal.signal(signal.SIGPROF, _stop)
    failed = 0
    for path in sorted(folder.glob(f"{reader}/*-*")):
        with tempfile.TemporaryDirectory(prefix="perf-mutants-", dir=SCRATCH) as scratch:
            what, why = outcome(readers()[path.parent.name], path.read_bytes(), Path(scratch))
        if what not in FINE:
            failed += 1
            print(why, file=sys.stderr)
        yield {"document": str(path), "what": what}
    if failed:
        raise Wrong(f"{failed} documents fail")
