"""Counting under valgrind: callgrind, which knows who called whom, and cachegrind, which is
lighter.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
import shutil
import signal
import stat
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Literal

from perfvcs.collectors._shared import symbols
from perfvcs.collectors._shared.commandrun import launched, mentions
from perfvcs.collectors._shared.testing.oneunit import Undivided, UnitAmount, UnitRun
from perfvcs.collectors.instructions import inside
from perfvcs.collectors.instructions.countfiles import CountedProgram, read, read_each
from perfvcs.collectors.instructions.counts import Counts
from perfvcs.environment import PADDING
from perfvcs.launcher import LaunchOptions
from perfvcs.launcher.execution import failure, name_command, not_started
from perfvcs.native.compiled import NotCompiled, compiled, preloadable
from perfvcs.plugins.collector import CollectError, Run
from perfvcs.system.foreign import printable

SHEBANG_BYTES = 512  # bytes in which a script names its interpreter
# the first is random on purpose, the second would change what is counted
DROPPED = (PADDING, "VALGRIND_OPTS")
FIXED = {
    "PYTHONHASHSEED": "0",
    "PERL_HASH_SEED": "0",
    "PERL_PERTURB_KEYS": "0",
    # who waits for whom is chance: in the harness of cargo, and between goroutines
    "RUST_TEST_THREADS": "1",
    "GOMAXPROCS": "1",
}
# Go's runtime interrupts its threads by signals, on which callgrind 3.19 stops with an assertion
UNSIGNALLED = "asyncpreemptoff=1"
PAGE_BYTES = 4096  # bytes
NO_RANDOMISATION = 0x0040000  # ADDR_NO_RANDOMIZE in linux/personality.h
UNCHANGED = 0xFFFFFFFF  # asks personality() for the present value
ValgrindTool = Literal["callgrind", "cachegrind"]
MISSING = (
    "instructions needs valgrind: apt install valgrind (or your system's package of that name)"
)
COMMON = (
    "--command-line-only=yes",
    "--quiet",
    "--trace-children=yes",
    "--child-silent-after-fork=yes",
    "--vgdb=no",
    "--cache-sim=no",
    "--branch-sim=no",
)
OF_CALLGRIND = (
    "--compress-strings=yes",
    "--compress-pos=yes",
    "--separate-recs=2",
    "--collect-jumps=no",
)
TIMING = (b"perfvcs_timer_end",)  # what a program with perfvcs.h has in it
LOG_BYTES = 4096  # bytes of a file of messages
MESSAGE_CHARACTERS = 300  # characters of what valgrind says
_REMARK = re.compile(r"--\d+--")


def check_program(argv: Sequence[str]) -> None:
    """Raises CollectError, in the launcher's own words, if the system would not start ``argv``."""
    program = Path(argv[0])
    if not program.exists():
        raise CollectError(str(not_started(argv, errno.ENOENT)), lasting=True)
    if program.is_dir() or not os.access(program, os.X_OK):
        raise CollectError(str(not_started(argv, errno.EACCES)), lasting=True)
    try:
        with program.open("rb") as file:
            first = file.readline(SHEBANG_BYTES)
    except OSError:  # one that may be executed but not read
        return
    named = first[2:].split(maxsplit=1)
    if first[:2] == b"#!" and named and not os.path.exists(named[0]):  # noqa: PTH110
        raise CollectError(str(not_started(argv, errno.ENOENT)), lasting=True)
    if first[:2] != b"#!" and first[:4] != b"\x7fELF":  # a tool would give it to a shell
        raise CollectError(str(not_started(argv, errno.ENOEXEC)), lasting=True)


def environment(given: Mapping[str, str], preload: Path | None = None) -> dict[str, str]:
    """The environment of a counted process: nothing random, hashes fixed where the job does not set
    them, ``preload`` in front.

    It fills whole pages. The stack begins below it, and string functions of the C library take
    other paths for other alignments, so that the length of a checkout's path would change what is
    counted.
    """
    variables = FIXED | {name: value for name, value in given.items() if name not in DROPPED}
    variables["GODEBUG"] = ",".join(filter(None, (given.get("GODEBUG"), UNSIGNALLED)))
    variables["PERL5OPT"] = " ".join(filter(None, (_option_of_perl(), given.get("PERL5OPT"))))
    if preload is not None:
        variables["LD_PRELOAD"] = (
            f"{preload}:{given['LD_PRELOAD']}" if given.get("LD_PRELOAD") else str(preload)
        )
    return variables | {PADDING: "x" * (-size(variables | {PADDING: ""}) % PAGE_BYTES)}


def size(variables: Mapping[str, str]) -> int:
    """The bytes of an environment where a process begins: NAME=VALUE and a zero byte each."""
    return sum(
        len(os.fsencode(name)) + len(os.fsencode(value)) + 2 for name, value in variables.items()
    )


@cache
def addresses_can_be_fixed() -> bool:
    """Whether address space randomisation can be switched off for a process; containers often
    forbid it.
    """
    personality = ctypes.CDLL(None).personality
    before = personality(UNCHANGED)
    done: bool = personality(before | NO_RANDOMISATION) != -1
    personality(before)
    return done


@cache
def version() -> str:
    """The version of valgrind, such as ``3.19.0``; empty where there is none that works."""
    program = shutil.which("valgrind")
    if program is None:
        return ""
    try:
        printed = subprocess.run(
            [program, "--version"], capture_output=True, check=True, timeout=30, text=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return ""
    match = re.search(r"(?<![\d.])\d++(?:\.\d+)+", printed)
    return match[0] if match else ""


def unavailable() -> str | None:
    """Why valgrind cannot be used here, with the cure; None when it can."""
    if version():
        return None
    program = shutil.which("valgrind")
    return MISSING if program is None else f"{program} does not start: reinstall valgrind"


def record(
    run: Run, tool: ValgrindTool, folder: Path, *, inlined: bool = False, only: str = ""
) -> Counts:
    """Execute once under a tool, whose files go into the empty ``folder``; raises CollectError, and
    Undivided where the run's unit, for which the tool has to be callgrind, cannot be counted alone.

    ``inlined``: callgrind tells functions apart that the compiler put into others. ``only``: it
    counts while a function runs whose name fits.
    """
    switch = _switch() if tool == "callgrind" else None
    unit = UnitRun.of(run) if run.unit else None
    if unit is not None and switch is None:
        raise Undivided("callgrind can be switched only with a C compiler and valgrind's headers")
    options = [f"--toggle-collect={only}"] if only else []
    if tool == "callgrind":
        options.append(positions(inlined=inlined))
    counted = execute(run if unit is None else unit.run, tool, folder, options, switch)
    resolve = symbols.resolve if inlined and tool == "callgrind" else None
    return read(folder, counted, resolve, unit)


def record_each(run: Run, folder: Path) -> list[UnitAmount]:
    """Execute once, and count in each unit that perfvcs.h times; raises CollectError, and Undivided
    where it times none.
    """
    switch, unit = _switch(), UnitRun.of(run)
    if switch is None or not mentions(run.argv[0], TIMING):
        raise Undivided(f"nothing in {name_command(run.argv)} says when its units begin and end")
    execute(unit.run, "callgrind", folder, [], switch)
    return unit.each(read_each(folder, unit))


def command(tool: ValgrindTool, folder: Path, options: Sequence[str]) -> list[str]:
    """The words before those of the counted command, whose files go into ``folder``; raises
    CollectError.
    """
    program = shutil.which("valgrind")
    if program is None:
        raise CollectError(MISSING, lasting=True)
    out = str(folder).replace("%", "%%")
    return [
        program,
        f"--tool={tool}",
        f"--{tool}-out-file={out}/counts.%p",
        f"--log-file={out}/log.%p",
        *COMMON,
        *(OF_CALLGRIND if tool == "callgrind" else ()),
        *options,
        "--",
    ]


def positions(*, inlined: bool) -> str:
    """The option by which callgrind writes what is needed to tell inlined functions apart."""
    return f"--dump-instr={'yes' if inlined else 'no'}"


def execute(
    run: Run, tool: ValgrindTool, folder: Path, options: Sequence[str], switch: Path | None = None
) -> CountedProgram:
    """Execute once; raises CollectError where that fails."""
    _check(run.argv)
    off = ["--instr-atstart=no"] if run.unit else []
    started: list[int] = []
    execution = launched(
        run,
        [*command(tool, folder, [*options, *off]), *run.argv],
        env=environment(run.env, switch),
        options=LaunchOptions(
            run.cpus, run.aslr and not addresses_can_be_fixed(), started=started.append
        ),
    )
    if reason := failure(run.argv, execution, run.timeout):
        unknown = ""
        if execution.signal == signal.SIGILL:
            unknown = (
                "; valgrind does not know the newest processors' instructions: compile without"
                " -march=native"
            )
        raise CollectError(
            reason + ("" if execution.stderr.strip() else _complaint(folder)) + unknown,
            lasting=execution.timed_out,
        )
    return CountedProgram(run.argv, next(iter(started), None), switch, execution.leftover)


def _option_of_perl() -> str:
    """What has Perl know its interpreter, in each program that the counted one starts."""
    module = inside.INSTRUCTIONS_INSIDE / "perfvcs_interpreter.pm"
    return f"-I{preloadable(module).parent} -M{module.stem}"


def _check(argv: Sequence[str]) -> None:
    check_program(argv)
    program = Path(argv[0])
    if program.stat().st_mode & (stat.S_ISUID | stat.S_ISGID):
        raise CollectError(
            f"cannot count in {name_command(argv)}: it runs as another user (setuid), which"
            " valgrind may not: chmod ug-s a copy",
            lasting=True,
        )
    if not os.access(program, os.R_OK):
        raise CollectError(
            f"cannot count in {name_command(argv)}: valgrind has to read it: chmod +r {program}",
            lasting=True,
        )


@cache
def _switch() -> Path | None:
    """What makes forked children begin at zero, and switches callgrind; None without a compiler or
    valgrind's headers.
    """
    try:
        return preloadable(compiled(inside.INSTRUCTIONS_INSIDE / "switch.c", shared=True))
    except NotCompiled:
        return None


def _complaint(folder: Path) -> str:
    """Valgrind's own message in one line; empty if there is none."""
    messages: list[str] = []
    for log in sorted(folder.glob("log.*"))[:10]:
        with log.open("rb") as opened:
            lines = opened.read(LOG_BYTES).decode(errors="replace").splitlines()
        messages += [
            words
            for line in lines
            if (words := re.sub(r"^==\d+== ?", "", line).strip()) and not _REMARK.match(words)
        ]
    text = printable(" | ".join(messages), MESSAGE_CHARACTERS)
    return f"; valgrind said: {text}" if text else ""
