"""Runs a command of perfvcs for a client: with its progress, and to its end if it is given up."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import anyio

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from pathlib import Path

MOST_OUTPUT = 32_000_000  # bytes of one answer that are read
LONGEST_LINE = 65_536  # bytes of a line of progress
HEARTBEAT = 5.0  # seconds
PATIENCE = 20.0  # seconds in which a command that is given up can end what it started


class Answer(NamedTuple):
    """What a command printed, its last line of errors, and its exit status."""

    out: bytes
    error: str
    status: int


async def run(words: Sequence[str], folder: Path, said: Callable[[str], Awaitable[None]]) -> Answer:
    """Run ``perf`` with these words in a folder; each line of progress is ``said``.

    If the caller is cancelled, the command is interrupted as Ctrl-C does it, so that it leaves
    nothing behind, and killed if it does not end.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        "-m",
        "perfvcs",
        *words,
        cwd=folder,
        env={**os.environ, "COLUMNS": "200"},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=LONGEST_LINE,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    progress = asyncio.create_task(_progress(process.stderr, said))
    waiting = asyncio.create_task(_waiting(said))
    try:
        out = await _bounded(process.stdout)
        status = await process.wait()
        return Answer(out, await progress, status)
    finally:
        progress.cancel()
        waiting.cancel()
        if process.returncode is None:
            # the SDK's task groups cancel again and again until a task has ended
            with anyio.CancelScope(shield=True):
                await _end(process)


async def _waiting(said: Callable[[str], Awaitable[None]]) -> None:
    """Say now and then that the command still runs: some say nothing for minutes."""
    for turn in itertools.count(1):
        await asyncio.sleep(HEARTBEAT)
        await said(f"running for {turn * HEARTBEAT:.0f} s")


async def _bounded(stream: asyncio.StreamReader) -> bytes:
    """The beginning of a stream, which is read to its end."""
    parts, left = list[bytes](), MOST_OUTPUT
    while part := await stream.read(LONGEST_LINE):
        parts.append(part[:left])
        left = max(0, left - len(part))
    return b"".join(parts)


async def _progress(stream: asyncio.StreamReader, said: Callable[[str], Awaitable[None]]) -> str:
    """Say each line; returns the last one."""
    last = ""
    while True:
        try:
            line = await stream.readline()
        except ValueError:  # a line that is too long
            continue
        if not line:
            return last
        text = line.decode("utf-8", "replace").strip()
        if text:
            last = text
            await said(text)


async def _end(process: asyncio.subprocess.Process) -> None:
    for number in (signal.SIGINT, signal.SIGKILL):
        with suppress(ProcessLookupError):
            process.send_signal(number)
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), PATIENCE)
            return
