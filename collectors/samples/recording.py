"""One execution of a program with a sampler beside it."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from perfvcs import launcher
from perfvcs.collector import CollectError, Run
from perfvcs.collectors._shared.recording import read_at_most
from perfvcs.collectors.samples import attach
from perfvcs.collectors.samples.sampler import Folded, Sampler, last
from perfvcs.launcher.execution import Execution, LaunchError, check_start, failure, name_command, not_started

END_SECONDS = (attach.LINGER + attach.REPORT_PATIENCE) / 1000 + 1.5  # seconds in which the sampler finishes
LOG = 1 << 16  # bytes of its messages
SAFE_NUMBER = re.compile(r"[0-9]{1,6}")


def record(run: Run, sampler: Sampler) -> tuple[Execution, Folded]:
    """Execute once; raises CollectError where the program fails, or the sampler does."""
    if reason := sampler.missing() or _setuid(run):
        raise CollectError(reason, lasting=True)
    report, log = run.scratch / "attach.txt", run.scratch / "sampler.log"
    cpus = ",".join(map(str, sorted(os.sched_getaffinity(0))))
    command = list(sampler.command(run.scratch))
    argv = [sys.executable, "-I", "-S", attach.__file__, str(report), str(log), cpus, str(len(command)), *command, *run.argv]
    try:
        check_start(run.argv, run.cwd)
        execution = launcher.launch(
            argv, cwd=run.cwd, env=run.env, timeout=run.timeout, cpus=run.cpus, aslr=run.aslr, grace=END_SECONDS
        )
        word = _refused(report)
        if SAFE_NUMBER.fullmatch(word):
            raise not_started(run.argv, int(word))
    except LaunchError as error:
        raise CollectError(str(error), lasting=error.lasting) from None
    said = _said(log)
    if word:
        raise CollectError(f"{name_command(run.argv)}: {' '.join(command[:2])} did not start: {last(said)}")
    if reason := failure(run.argv, execution, run.timeout):
        raise CollectError(reason, lasting=execution.timed_out)
    return execution, sampler.read(run, run.scratch, said)


def _setuid(run: Run) -> str | None:
    """The kernel lets nobody look into a program that runs with another's rights."""
    try:
        about = Path(run.argv[0]).stat()
    except OSError:
        return None  # said when it is started
    if not about.st_mode & 0o4000 or os.geteuid() in (0, about.st_uid):
        return None
    return f"{name_command(run.argv)} is setuid, so that only root may sample it: run perf as root, or take a copy"


def _refused(report: Path) -> str:
    """Why nothing was started: the system's error number, or words; empty where it was. The program may have written there, too."""
    return read_at_most(report, LOG).decode(errors="replace") if report.exists() else ""


def _said(log: Path) -> str:
    if not log.exists():
        return ""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - LOG))
        return file.read().decode(errors="replace")
