"""Calls of functions in programs whose flags cannot be changed: uftrace patches them while they run.

It takes sizes from scalar arguments in registers only, and some 100 ns per call, which are not subtracted. Its files: a record of two
words per entry and return (time; type, flag, depth and address), and one more word behind entries that have an argument
(https://github.com/namhyung/uftrace/wiki/Data-Format).
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from perfvcs.collectors._shared.execution import launched, read_at_most
from perfvcs.collectors.complexity.calls import Calls, RecordingRequest
from perfvcs.collectors.complexity.calls.recording import Interrupted, one_sample
from perfvcs.collectors.complexity.native.elf import Unresolved
from perfvcs.launcher.execution import Pace, failure, name_command
from perfvcs.plugins.collector import CollectError, Run

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from perfvcs.collectors.complexity.native.functions import BinaryFunction
    from perfvcs.collectors.complexity.native.program import Steps

ENGINE = "uftrace/1"
LARGEST_RECORDS = 1 << 30  # bytes of one thread's records
LARGEST_MAP = 1 << 24
MAX_FILES = 10_000
ENTRY, EXIT = 0, 1


@dataclass(frozen=True)
class TracedTarget:
    """A function to be traced: its number, its image and address there, and the program of its size: one register, or nothing."""

    uid: str
    symbol: str
    path: Path
    address: int
    steps: Steps


def record(run: Run, request: RecordingRequest) -> Calls:
    """Execute once under uftrace; raises CollectError, with what there is when the program failed half way."""
    program = shutil.which("uftrace", path=run.env.get("PATH"))
    if program is None:
        raise CollectError(
            'tracer = "uftrace" needs uftrace: apt install uftrace (or your system\'s package of that name)', lasting=True
        )
    if not request.functions:
        raise CollectError(
            'complexity: uftrace needs names in functions, not "auto", since it cannot patch short functions', lasting=True
        )
    targets, warnings = _targets(run, request)
    folder = run.scratch / "uftrace"
    argv = [program, "record", "-d", str(folder), "--no-libcall", "--no-event", "--no-pager", "--demangle=no", "--match=regex"]
    for one in targets:
        argv += ["-P", f"^{re.escape(one.symbol)}$"]
        if one.steps:
            argv += ["-A", f"{one.symbol}@{_argument(one.steps)}"]
    execution = launched(run, [*argv, *run.argv], pace=True)
    reason = failure(run.argv, execution, run.timeout)
    calls = _read(folder, targets, request, warnings, run, execution.pace or Pace())
    if reason is not None:
        raise Interrupted(reason, calls, lasting=execution.timed_out)
    return calls


def _targets(run: Run, request: RecordingRequest) -> tuple[list[TracedTarget], list[str]]:
    """The functions by their entries; raises CollectError."""
    from perfvcs.collectors.complexity.native.elf import Elf
    from perfvcs.collectors.complexity.native.functions import BinaryFunctions
    from perfvcs.collectors.complexity.native.names import chosen, uids
    from perfvcs.collectors.complexity.native.selection import named

    everything = [BinaryFunctions.read(Elf.read(path), hooked=False) for path in named(run)]
    if all(one.elf.debug is None for one in everything):
        raise Unresolved(f"complexity: {Path(run.argv[0]).name} has no debug information: compile it with -g")
    found: list[tuple[BinaryFunction, str | None, Steps]] = []
    for entry in request.functions:
        for function in chosen(entry.name, everything):
            if function.symbol is not None:
                found.append((function, *_size(function, entry.size)))
    names = uids([function for function, _, _ in found])
    targets = [
        TracedTarget(uid, function.symbol.name if function.symbol else "", function.elf.path, function.address, steps)
        for uid, (function, _, steps) in zip(names, found, strict=True)
    ]
    shown = [f"{uid}={size}" for uid, (_, size, _) in zip(names, found, strict=True) if size]
    missing = [uid for uid, (_, size, _) in zip(names, found, strict=True) if not size]
    warnings = [f"complexity: sizes are {', '.join(shown)}"] if shown else []
    return targets, warnings + [
        f"complexity: {uid} has no argument that is a size: its calls are recorded without one" for uid in missing
    ]


def _size(function: BinaryFunction, size: str | None) -> tuple[str | None, Steps]:
    from perfvcs.collectors.complexity.native.expression import compile_size
    from perfvcs.collectors.complexity.native.names import guess

    expression = size or guess(function, _scalar)
    if expression is None:
        return None, ()
    steps = compile_size(function, expression)
    if not _scalar(steps):
        raise Unresolved(
            f"complexity: {function.name}={expression}: uftrace can only take arguments in registers: name one, or build with perfvcs' "
            'flags and tracer = "fentry"'
        )
    return expression, steps


def _scalar(steps: Steps) -> bool:
    from perfvcs.collectors.complexity.native.program import Code

    return len(steps) == 2 and steps[0].code in (Code.REGISTER, Code.VECTOR)


def _argument(steps: Steps) -> str:
    """uftrace's words for a register: ``arg2/i32``, ``fparg1/64``."""
    from perfvcs.collectors.complexity.native.program import REAL_FLAG, SIGNED_FLAG

    place, width = steps[0].argument + 1, 8 * (steps[0].width & 0xFF)
    if steps[0].width & REAL_FLAG:
        return f"fparg{place}/{width}"
    return f"arg{place}/{'i' if steps[0].width & SIGNED_FLAG else 'u'}{width}"


def _read(
    folder: Path, targets: list[TracedTarget], request: RecordingRequest, warnings: list[str], run: Run, pace: Pace
) -> Calls:
    import numpy as np

    paths = sorted(folder.glob("*.dat"), key=lambda path: (len(path.name), path.name))
    maps = sorted(folder.glob("sid-*.map"))
    if len(paths) > MAX_FILES or not paths or not maps:
        raise CollectError(
            f"{name_command(run.argv)}: uftrace recorded nothing: the functions were not called, or are too short for it to patch"
        )
    bases = _bases(maps[0], targets)
    addresses = np.array([one.address + bases.get(one.path, 0) for one in targets], np.int64)
    numbers = {uid: number for number, uid in enumerate(dict.fromkeys(one.uid for one in targets))}
    of_target = np.array([numbers[one.uid] for one in targets], np.int64)
    parts = [_thread(path, addresses, of_target, outermost=request.outermost) for path in paths]
    nothing = np.empty(0, np.int64)
    which, target, start, end, word = (
        np.concatenate(column) for column in zip(_ThreadCalls(*[nothing] * 5), *parts, strict=True)
    )
    size = _sizes(target, word.astype(np.uint64), targets)
    order = np.argsort(which, kind="stable")
    which, size, start, duration = which[order], size[order], start[order], (end - start)[order] / 1e9
    number = np.arange(len(which)) - np.searchsorted(which, which)
    kept, rate = _sample(which, size, request.keep)
    return Calls(
        names=list(numbers), function=which[kept], size=size[kept], duration=duration[kept], cost=np.zeros(int(kept.sum())),
        number=number[kept], rate=rate[kept], pace=pace.at(start[kept]), engine=ENGINE,
        warnings=[*warnings, *_silent(list(numbers), which)],
    )  # fmt: skip


def _silent(names: list[str], which: NDArray[np.int64]) -> list[str]:
    """Lines about functions without calls, if others have some."""
    seen = set(which.tolist())
    silent = [name for number, name in enumerate(names) if number not in seen]
    return [f"complexity: {name} was not called, or is too short for uftrace to patch" for name in silent] if seen else []


def _bases(path: Path, targets: list[TracedTarget]) -> dict[Path, int]:
    """Where each file was loaded; 0 for programs that are linked to a fixed place."""
    wanted = {str(one.path): one.path for one in targets}
    found: dict[Path, int] = {}
    for line in read_at_most(path, LARGEST_MAP).decode(errors="replace").splitlines():
        words = line.split(maxsplit=5)
        if len(words) == 6 and (name := re.sub(r" build-id:\w+$", "", words[5])) in wanted and wanted[name] not in found:
            start = re.match(r"[0-9a-f]{1,12}\b", words[0])  # of 48 bits, as in the records
            with wanted[name].open("rb") as file:
                fixed = file.read(18)[16:18] == b"\x02\x00"  # ET_EXEC
            found[wanted[name]] = 0 if fixed or start is None else int(start[0], 16)
    return found


class _ThreadCalls(NamedTuple):
    """The finished calls of one thread in the order of their begin: function, target, times, and the argument's word."""

    function: NDArray[np.int64]
    target: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    word: NDArray[np.int64]


def _thread(path: Path, addresses: NDArray[np.int64], of_target: NDArray[np.int64], *, outermost: bool) -> _ThreadCalls:
    import numpy as np

    content = read_at_most(path, LARGEST_RECORDS)
    if len(content) > LARGEST_RECORDS:
        raise CollectError(
            f"uftrace recorded over {LARGEST_RECORDS >> 30} GiB: record fewer functions, or give the program less to do"
        )
    words = np.frombuffer(content, "<u8", len(content) // 8)
    at = _starts(words)
    head = words[at + 1]
    kind, depth = head & 3, (head >> 6) & 0x3FF
    address = (head >> 16).astype(np.int64)
    # the address is that behind the patched call, a few bytes into the function
    ordered = np.argsort(addresses)
    place = np.clip(np.searchsorted(addresses[ordered], address, side="right") - 1, 0, len(addresses) - 1)
    target = ordered[place]
    ours = (address >= addresses[target]) & (address - addresses[target] <= 16) & (kind <= EXIT)
    rows = np.flatnonzero(ours)
    order = rows[np.lexsort((rows, depth[rows]))]
    first, second = order[:-1], order[1:]
    pairs = (kind[first] == ENTRY) & (kind[second] == EXIT) & (depth[first] == depth[second]) & (target[first] == target[second])
    entry, leave = first[pairs], second[pairs]
    by_time = np.argsort(entry)
    entry, leave = entry[by_time], leave[by_time]
    function = of_target[target[entry]]
    if outermost and len(entry):
        keep = np.zeros(len(entry), bool)
        for one in np.unique(function):
            own = np.flatnonzero(function == one)
            latest = np.maximum.accumulate(leave[own])
            keep[own] = np.concatenate([[True], entry[own][1:] > latest[:-1]])
        entry, leave, function = entry[keep], leave[keep], function[keep]
    has = (head[entry] >> 2 & 1).astype(bool)
    word = np.where(has, words[np.minimum(at[entry] + 2, len(words) - 1)], 0)
    start, end = (words[at[event]].astype(np.int64) for event in (entry, leave))
    return _ThreadCalls(function, target[entry], start, end, word.astype(np.int64))


def _starts(words: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Where records begin: each is two words, or three if its flag is set; found for all at once by doubling steps."""
    import numpy as np

    count = len(words)
    if count < 2:
        return np.empty(0, np.int64)
    position = np.arange(count + 1)
    more = np.zeros(count + 1, np.int64)
    more[: count - 1] = (words[1:] >> np.uint64(2)).astype(np.int64) & 1
    step = np.minimum(position + 2 + more, count)
    step[count - 1 :] = count
    reached = np.zeros(count + 1, bool)
    reached[0] = True
    while not (step == count).all():
        reached[step[reached]] = True
        step = step[step]
    found = np.flatnonzero(reached[: count - 1])
    magic = (words[found + 1] >> np.uint64(3)).astype(np.int64) & 7
    wrong = np.flatnonzero(magic != 5)
    return found[: wrong[0]] if len(wrong) else found


def _sizes(target: NDArray[np.int64], word: NDArray[np.uint64], targets: list[TracedTarget]) -> NDArray[np.float64]:
    import numpy as np

    from perfvcs.collectors.complexity.native.program import REAL_FLAG, SIGNED_FLAG

    size = np.full(len(word), np.nan)
    for number, one in enumerate(targets):
        own = target == number
        if not one.steps or not own.any():
            continue
        width = one.steps[0].width & 0xFF
        code = ("f" if one.steps[0].width & REAL_FLAG else "i" if one.steps[0].width & SIGNED_FLAG else "u") + str(width)
        size[own] = word[own].view(f"<{code}")[:: 8 // width]
    size[~np.isfinite(size)] = np.nan
    return size


def _sample(which: NDArray[np.int64], size: NDArray[np.float64], keep: int) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Which rows stay, at most ``keep`` per function and quarter of a doubling, at random; and for how many calls each stands."""
    import numpy as np

    with np.errstate(divide="ignore", invalid="ignore"):
        bucket = np.nan_to_num(np.sign(size) * (1000 + np.floor(4 * np.log2(np.abs(size)))), nan=1e6, posinf=0, neginf=0)
    return one_sample((which << 32) + bucket.astype(np.int64), np.ones(len(which)), keep)
