"""The tools that a client calls: each runs one command of perfvcs.

Imported only by a server, since the SDK of the protocol (https://modelcontextprotocol.io) takes a
second to import.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from functools import wraps
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, ParamSpec

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from perfvcs import __version__
from perfvcs.agents.answers import BRIEFS, bounded, hotspots
from perfvcs.agents.running import MOST_OUTPUT, Answer, run
from perfvcs.agents.trusted import TrustedSettings
from perfvcs.errors import PerfError, UsageError
from perfvcs.text.characters import shorten

INSTRUCTIONS = """\
perfvcs measures this repository's benchmarks. Ask `benchmarks` what there is and `hotspots` where
the time goes; change the code; then ask `judge`, which measures the working tree against HEAD in
turns. Never quote a number that `judge` did not give. `not decided` is not a gain: give it a larger
budget, or ask `plan` what can be detected. Revert a change that is not proved after two attempts.
Leave benchmarks, tests and perf.toml as they are: they are those of the base in any case.
"""
LONGEST_ERROR = 500  # characters, of at most four bytes
FINE = (0, 3, 4, 6)  # statuses of commands that answered
Named = Annotated[str, Field(max_length=300)]
Seconds = Annotated[int, Field(ge=1, le=3600)]
P = ParamSpec("P")


def _told(tool: Callable[P, Awaitable[str]]) -> Callable[P, Awaitable[str]]:
    """A tool whose errors reach the client: the SDK keeps others for itself."""

    @wraps(tool)
    async def telling(*args: P.args, **named: P.kwargs) -> str:
        try:
            return await tool(*args, **named)
        except PerfError as error:
            raise ToolError(shorten(str(error), LONGEST_ERROR)) from None

    return telling


def server(folder: Path, settings: TrustedSettings) -> MCPServer:
    """The server of the repository in a folder."""
    serving = MCPServer("perfvcs", version=__version__, instructions=INSTRUCTIONS)

    async def answer(context: Context[Any], command: str, *words: str, runs: bool = False) -> str:
        """What a command says, in brief; measuring ones wait for each other."""
        if runs:
            settings.require()
        done = await asked(context, command, "--json", *words)
        return bounded(BRIEFS[command](json.loads(done.out)))

    async def asked(context: Context[Any], *words: str) -> Answer:
        lines = 0

        async def said(line: str) -> None:
            nonlocal lines
            lines += 1
            await context.report_progress(lines, message=line)

        done = await run(words, folder, said)
        if done.status not in FINE or not done.out.strip():
            raise UsageError(done.error or f"perf {words[0]} ended with status {done.status}")
        return done

    @serving.tool()
    @_told
    async def judge(
        context: Context[Any],
        expect: Named = "faster",
        base: Named = "HEAD",
        target: Named = "",
        benchmark: Named = "",
        budget_seconds: Seconds = 60,
    ) -> str:
        """Is the working tree (or TARGET) really faster than BASE, and still right? Measures both
        in turns, now. `expect`: faster, faster=5%, not-slower, smaller:METRIC.
        """
        subject = _subject(benchmark, base, target)
        settings.require(base)
        options = ("--expect", expect, "--budget", f"{budget_seconds}s", "--wait")
        return await answer(context, "judge", *options, *subject, runs=True)

    @serving.tool()
    @_told
    async def measure(
        context: Context[Any],
        baseline: Named = "HEAD~1",
        target: Named = "HEAD",
        benchmark: Named = "",
    ) -> str:
        """Measure two revisions in turns until it is decided, store that, and compare them."""
        subject = _subject(benchmark, baseline, target)
        return await answer(context, "check", "--measure", "--wait", *subject, runs=True)

    @serving.tool()
    @_told
    async def compare(
        context: Context[Any],
        baseline: Named = "HEAD~1",
        target: Named = "HEAD",
        benchmark: Named = "",
    ) -> str:
        """Compare two revisions by what is stored; measures nothing."""
        return await answer(context, "check", *_subject(benchmark, baseline, target))

    @serving.tool(name="hotspots")
    @_told
    async def hottest(
        context: Context[Any], revision: Named = "HEAD", benchmark: Named = ""
    ) -> str:
        """The functions with the largest own share of the stored call stacks, as shares of 1 of
        each profile.
        """
        with TemporaryDirectory(prefix="perfvcs-mcp-") as place:
            words = ("export", "--format", "folded", "-o", f"{place}/")
            await asked(context, *words, *_subject(benchmark, revision))
            profiles = _read(Path(place))
        return bounded(hotspots(profiles))

    @serving.tool()
    @_told
    async def why(
        context: Context[Any],
        baseline: Named = "HEAD~1",
        target: Named = "HEAD",
        benchmark: Named = "",
    ) -> str:
        """Which function and which lines made the difference, proved by taking them back."""
        subject = _subject(benchmark, baseline, target)
        return await answer(context, "blame", "--wait", "--quiet", *subject, runs=True)

    @serving.tool()
    @_told
    async def history(context: Context[Any], benchmark: Named = "") -> str:
        """The lasting changes that are known, by commit."""
        return await answer(context, "history", *_subject(benchmark))

    @serving.tool()
    @_told
    async def plan(context: Context[Any], benchmark: Named = "") -> str:
        """The smallest change that can be detected, and what measuring costs."""
        return await answer(context, "plan", *_subject(benchmark))

    @serving.tool()
    @_told
    async def benchmarks(context: Context[Any]) -> str:
        """What is measured here, and the newest verdict."""
        return await answer(context, "status")

    return serving


def _read(folder: Path) -> dict[str, str]:
    """The files that were exported into a folder, by their names without the commit; raises
    UsageError where they are too large.
    """
    files = sorted(folder.iterdir())
    if sum(file.stat().st_size for file in files) > MOST_OUTPUT:
        raise UsageError(f"there are over {MOST_OUTPUT:,} bytes of stacks: ask for one benchmark")
    return {file.stem.partition("-")[2]: file.read_text("utf-8", "replace") for file in files}


def _subject(benchmark: str, *revisions: str) -> tuple[str, ...]:
    """The words of a command line that say what it is about: those of the revisions that are given,
    none of which may be an option, and a benchmark, if one is given.
    """
    for revision in revisions:
        if revision.startswith("-"):
            raise UsageError(f"`{revision}` is not a revision")
    behind = ("--", benchmark) if benchmark else ()
    return (*filter(None, revisions), *behind)
