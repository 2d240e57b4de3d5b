"""Give mutated documents to all readers of foreign bytes: ``python benchmarks/mutants.py --count
1000000 [--reader csv] [--seed N]``.

Each document is read in a process with 1 GB of address space, within 2 s of processor time. A
reader refuses it with a PerfError or takes it; anything else is a failure, and its document is
written into ``--folder``, where ``--again`` reads it again. A document depends only on the seed,
its reader and its number: runs with other ``--first`` share the work, and one that is interrupted
goes on where it was.
"""

from __future__ import annotations

import argparse
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
from pathlib import Path
from random import Random
from types import FrameType

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")

from mutation import kept
from mutation.changes import mutated
from mutation.readers import Reader, readers

from perfvcs.errors import PerfError

LIMIT = 1 << 30  # bytes of address space
SECONDS = 2.0  # of processor time for a document
PATIENCE = 20.0  # seconds of a process that does not go on, whoever uses the processor
BATCH = 2000  # documents of one process
# where files of readers are, at no cost of a disk
SCRATCH = "/dev/shm" if Path("/dev/shm").is_dir() else None
GROWTH = 1 << 29  # bytes that a document may cost; of more it is as if the limit had been hit
COLUMNS = ("documents", "refused", "accepted", "tracebacks", "slow", "memory")
DOCUMENTS = "documents"


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
    if (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 > GROWTH and found[
        0
    ] in ("refused", "accepted"):
        return "memory", f"{found[0]}, after it took over {GROWTH >> 20} MiB"
    return found


def document_of(name: str, reader: Reader, seed: int, number: int) -> bytes:
    """The mutant with a number."""
    return mutated(reader.seeds, Random(f"{seed}:{name}:{number}"))


def work(
    name: str, reader: Reader, args: argparse.Namespace, numbers: range, at: mmap.mmap, told: int
) -> None:
    """Read documents in this process, which has the limits; a line of JSON for each failure, and
    one with the counts.
    """
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
    signal.signal(signal.SIGPROF, _stop)
    counts: Counter[str] = Counter()
    with (
        tempfile.TemporaryDirectory(prefix="perf-mutants-", dir=SCRATCH) as scratch,
        open(told, "w") as lines,
    ):
        for number in numbers:
            at[:8] = struct.pack("<q", number)
            what, why = outcome(reader, document_of(name, reader, args.seed, number), Path(scratch))
            counts["documents"] += 1
            counts[what] += 1
            if what not in ("refused", "accepted"):
                print(
                    json.dumps({"number": number, "what": what, "why": why}), file=lines, flush=True
                )
        print(json.dumps({"counts": counts}), file=lines, flush=True)


def batch(name: str, reader: Reader, args: argparse.Namespace, numbers: range) -> Counter[str]:
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
                work(name, reader, args, range(start, numbers.stop), at, writing)
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
                _keep(args.folder, name, document_of(name, reader, args.seed, line["number"]), line)
                made[line["what"]] += 0 if made else 1
        if how == "ended":
            return counts + (made if "documents" in made else Counter[str]())
        last = struct.unpack("<q", at[:8])[0]
        failed = Counter(json.loads(line)["what"] for line in lines)
        kind = "slow" if how == "stuck" else "memory" if how == "killed" else "tracebacks"
        _keep(
            args.folder,
            name,
            document_of(name, reader, args.seed, last),
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


def _keep(folder: Path, name: str, document: bytes, line: dict[str, object]) -> None:
    place = folder / name
    place.mkdir(parents=True, exist_ok=True)
    (place / f"{line['number']}-{line['what']}").write_bytes(document)
    with (folder / "failures.txt").open("a") as file:
        print(f"== {name} {line['number']} {line['what']}\n{line['why']}", file=file)


def warm(known: dict[str, Reader]) -> None:
    """Read the documents that nobody changed, so that the processes need to import nothing; each is
    one that its reader takes.
    """
    for reader in known.values():
        for document in reader.seeds:
            with tempfile.TemporaryDirectory(prefix="perf-mutants-", dir=SCRATCH) as scratch:
                reader.read(document, Path(scratch))


def again(folder: Path, wanted: str | None) -> int:
    """Read the kept documents again; how many still fail."""
    known, failed = readers(), 0
    signal.signal(signal.SIGPROF, _stop)
    for path in sorted(folder.glob(f"{wanted or '*'}/*-*")):
        with tempfile.TemporaryDirectory(prefix="perf-mutants-", dir=SCRATCH) as scratch:
            what, why = outcome(known[path.parent.name], path.read_bytes(), Path(scratch))
        if what not in ("refused", "accepted"):
            failed += 1
            print(f"{path}: {what}\n{why}")
    return failed


def run(args: argparse.Namespace) -> dict[str, Counter[str]]:
    """The counts of each reader; they are kept in the folder, so that an interrupted run goes
    on.
    """
    known = {name: reader for name, reader in readers().items() if args.reader in (None, name)}
    warm(known)
    state = args.folder / f"state-{args.seed}-{args.first}.json"
    done = (
        {name: Counter(counts) for name, counts in json.loads(state.read_text()).items()}
        if state.exists()
        else {}
    )
    total = sum(reader.share for reader in known.values())
    wanted = {name: -int(-args.count * reader.share // total) for name, reader in known.items()}
    seconds = time.monotonic()
    while open_ := [
        name for name in known if done.get(name, Counter())["documents"] < wanted[name]
    ]:
        for name in open_:
            counts = done.setdefault(name, Counter())
            start = args.first + counts["documents"]
            stop = min(start + int(BATCH * known[name].share), args.first + wanted[name])
            counts.update(batch(name, known[name], args, range(start, stop)))
            state.write_text(json.dumps(done))
        if args.seconds and time.monotonic() - seconds > args.seconds:
            break
    return done


def main() -> int:
    """Parse, run, print a table; the status says whether anything failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--count", type=int, default=100_000, help="documents of all readers together"
    )
    parser.add_argument(
        "--first", type=int, default=0, help="number of the first document of each reader"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, help="begin no further round after so many")
    parser.add_argument("--reader", choices=sorted(readers()))
    parser.add_argument(
        "--folder",
        type=Path,
        default=Path("build/mutants"),
        help="for failing documents and the state of the run",
    )
    parser.add_argument(
        "--again", action="store_true", help="only read the failing documents again"
    )
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("error")  # what tests take for an error is one here
    try:
        if args.again:
            return min(1, again(args.folder, args.reader))
        done = run(args)
    finally:
        shutil.rmtree(kept.folder(), ignore_errors=True)
    done["all"] = sum(done.values(), Counter())
    print(f"{'reader':20}" + "".join(f"{name:>11}" for name in COLUMNS))
    for name, counts in done.items():
        print(f"{name:20}" + "".join(f"{counts[column]:11,}" for column in COLUMNS))
    return int(any(done["all"][column] for column in COLUMNS[3:]))


if __name__ == "__main__":
    sys.exit(main())
