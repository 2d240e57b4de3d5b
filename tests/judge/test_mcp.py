"""`perf mcp` with the SDK's own client: what an agent does, and what may go wrong."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from conftest import Project, Said
from judged import BENCH, SETTINGS, WORK, work
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from waiting import happens

from perfvcs.errors import UsageError
from perfvcs.system import interruption

FAST = """\
def total(count):
    weeks, days = divmod(count, 7)
    return 21 * weeks + days * (days - 1) // 2
"""
MOST_BYTES = 2000
PIPE = 65_536  # bytes of standard output that wait for a client
UNREAD = """\
from perfvcs.agents import relay
from perfvcs.entry import main

relay.GRACE = 1.0
main()
"""


@pytest.fixture
def worked(project: Project) -> Project:
    return work(project)


def started(folder: Path, *options: str) -> StdioServerParameters:
    return StdioServerParameters(
        command=sys.executable,
        args=["-P", "-m", "perfvcs", "mcp", *options],
        cwd=str(folder),
        env=dict(os.environ),
    )


def served(
    folder: Path, ask: Callable[[Client], Awaitable[Any]], *options: str, seconds: float = 120
) -> Any:
    """What a client got that asked a server of its own."""

    async def session() -> Any:
        async with Client(started(folder, *options)) as client:
            return await asyncio.wait_for(ask(client), seconds)

    return asyncio.run(session())


async def called(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """The answer of a tool, which is small."""
    answer = await client.call_tool(tool, arguments)
    text = answer.content[0].text
    assert not answer.is_error, text
    assert len(text.encode()) <= MOST_BYTES
    document: dict[str, Any] = json.loads(text)
    return document


def test_an_agent_finds_what_is_slow_changes_it_and_has_it_judged(worked: Project) -> None:
    async def ask(client: Client) -> tuple[dict[str, Any], dict[str, Any], set[str]]:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        before = await called(client, "benchmarks")
        worked.write("work.py", FAST)
        return before, await called(client, "judge", budget_seconds=60), tools

    before, ruling, tools = served(worked.root, ask)
    assert tools == {
        "judge",
        "measure",
        "compare",
        "hotspots",
        "why",
        "history",
        "plan",
        "benchmarks",
    }
    assert before["commit"] == worked.git("rev-parse", "HEAD")
    assert ruling["verdict"] == "proved"
    assert ruling["decided_by"]["benchmark"] == "total"
    assert ruling["next"]


def test_progress_is_reported(worked: Project) -> None:
    worked.write("work.py", FAST)
    said: list[str] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:  # noqa: ARG001
        said.append(message or "")

    async def ask(client: Client) -> Any:
        return await client.call_tool("judge", {"budget_seconds": 60}, progress_callback=note)

    served(worked.root, ask)
    assert any("running both sides" in line for line in said)


def test_two_revisions_are_measured_and_compared(worked: Project) -> None:
    worked.commit("Fast", **{"work.py": FAST})

    async def ask(client: Client) -> list[dict[str, Any]]:
        measured = await called(client, "measure")
        rest = [await called(client, tool) for tool in ("compare", "history", "plan")]
        return [measured, *rest]

    measured, compared, *_ = served(worked.root, ask)
    assert measured["sentence"].startswith("total became faster")
    assert compared["counts"] == measured["counts"]


def test_an_agent_finds_a_hotspot_changes_it_and_has_it_judged(
    project: Project, perf: Callable[..., Said]
) -> None:
    """The session of docs/agents.md: every next call is the one that the answer before names."""
    slow = (
        "def rest(count):\n    return sum(number % 3 for number in range(count // 20))\n\n\n"
        + WORK.replace("total", "planted")
        + "\n\ndef total(count):\n    return planted(count) + rest(count)\n"
    )
    bench = BENCH.replace("print", "for _ in range(6):\n    print")
    counting = SETTINGS + 'collectors = ["time", "samples"]\nexecutions = 3\nwarmup = 0\n'
    project.commit("Work", **{"work.py": slow, "bench_total.py": bench, "perf.toml": counting})
    perf("collect", "--quiet")

    async def ask(client: Client) -> list[dict[str, Any]]:
        known = await called(client, "benchmarks")
        assert known["next"].startswith("hotspots")
        found = await called(client, "hotspots")
        assert found["next"] == "change one, then call judge"
        function, *_ = found["functions"]
        name = function["function"].split()[0]
        # what an agent would write, by the name that it got
        text = (project.root / "work.py").read_text()
        begin = text.index(f"def {name}(")
        body = text[begin : text.index("\n\n\n", begin)]
        project.write("work.py", text.replace(body, FAST.replace("total", name).rstrip()))
        ruling = await called(client, "judge", budget_seconds=90)
        return [known, found, ruling]

    _, found, ruling = served(project.root, ask, seconds=200)
    assert found["functions"][0]["function"].startswith("planted ")
    assert found["functions"][0]["own"] > 0.5
    assert ruling["verdict"] == "proved", ruling
    assert ruling["next"] == "commit it, then hotspots"


def test_two_servers_of_one_repository_wait_for_each_other(worked: Project) -> None:
    worked.write("work.py", FAST)

    async def session() -> list[dict[str, Any]]:
        async with Client(started(worked.root)) as one, Client(started(worked.root)) as other:
            calls = [called(client, "judge", budget_seconds=40) for client in (one, other)]
            return await asyncio.wait_for(asyncio.gather(*calls), 200)

    rulings = asyncio.run(session())
    assert [ruling["verdict"] for ruling in rulings] == ["proved", "proved"]


def refused(worked: Project, tool: str, *options: str, **arguments: Any) -> str:
    async def ask(client: Client) -> Any:
        return await client.call_tool(tool, arguments)

    answer = served(worked.root, ask, *options)
    assert answer.is_error
    return str(answer.content[0].text)


def test_the_stacks_that_are_stored_say_where_the_time_goes(worked: Project, perf: Any) -> None:
    slow = BENCH.replace("print", "for _ in range(8):\n    print")
    settings = SETTINGS + 'collectors = ["samples"]\nexecutions = 3\nwarmup = 0\n'
    worked.commit("Sample", **{"bench_total.py": slow, "perf.toml": settings})
    perf("collect", "--quiet")

    async def ask(client: Client) -> dict[str, Any]:
        return await called(client, "hotspots")

    first, *_ = served(worked.root, ask)["functions"]
    assert first["function"].startswith("total ") and first["own"] > 0.5


@pytest.mark.needs("valgrind")
def test_why_names_the_function_and_its_proof(worked: Project) -> None:
    worked.commit("Slow", **{"work.py": WORK.replace("range(count)", "range(2 * count)")})

    async def ask(client: Client) -> dict[str, Any]:
        return await called(client, "why")

    answer = served(worked.root, ask, seconds=400)
    assert answer["suspects"][0] == {"name": "total", "path": "work.py"}
    assert answer["trials"][0]["word"] == "proved"


class TestBadInput:
    def test_other_settings_are_not_obeyed(self, worked: Project) -> None:
        async def ask(client: Client) -> Any:
            worked.write("perf.toml", SETTINGS.replace("bench_total.py", "-c 'print(1)'"))
            return await client.call_tool("judge", {"budget_seconds": 5})

        answer = served(worked.root, ask)
        assert answer.is_error
        assert "--trust-config" in answer.content[0].text

    def test_settings_that_were_committed_meanwhile_are_not_obeyed(self, worked: Project) -> None:
        async def ask(client: Client) -> Any:
            worked.commit("Other", **{"perf.toml": SETTINGS.replace("total", "other")})
            return await client.call_tool("measure", {})

        assert "--trust-config" in served(worked.root, ask).content[0].text

    def test_a_base_with_other_settings_is_not_obeyed(self, worked: Project) -> None:
        worked.git("checkout", "--quiet", "-b", "other")
        worked.commit("Other", **{"perf.toml": SETTINGS.replace("-S bench_total.py", "-c pass")})
        worked.git("checkout", "--quiet", "main")
        assert "--trust-config" in refused(worked, "judge", base="other")

    def test_options_are_no_revisions(self, worked: Project) -> None:
        assert "is not a revision" in refused(worked, "judge", base="--patch=/etc/passwd")

    def test_a_wrong_expectation_is_explained(self, worked: Project) -> None:
        worked.write("work.py", FAST)
        assert "give faster" in refused(worked, "judge", expect="fast")

    @pytest.mark.parametrize("arguments", [{"budget_seconds": 0}, {"base": "x" * 10_000}])
    def test_arguments_out_of_range(self, worked: Project, arguments: dict[str, Any]) -> None:
        assert refused(worked, "judge", **arguments)

    def test_nothing_that_shows_where_the_time_goes(self, worked: Project) -> None:
        assert "\n" not in refused(worked, "hotspots").strip()

    def test_a_call_that_is_given_up_leaves_nothing_behind(
        self, worked: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        worked.write("bench_total.py", "import time\n\ntime.sleep(1000)\n")
        worked.commit("Sleep")
        worked.write("work.py", FAST)

        async def ask(client: Client) -> None:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(client.call_tool("judge", {"budget_seconds": 600}), 8)

        temporary = worked.root.parent / "temporary"
        temporary.mkdir()
        monkeypatch.setenv("TMPDIR", str(temporary))
        served(worked.root, ask)
        assert happens(lambda: not running(worked.root))
        assert not [*temporary.iterdir()]
        assert not [*(worked.root / ".perf/tmp").iterdir()]
        assert not [*(worked.root / ".perf/measuring").iterdir()]

    def test_a_call_that_is_given_up_in_the_middle_of_a_block(
        self, worked: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Another call measures at once, and what it says is whole."""
        worked.write("work.py", FAST)
        temporary = worked.root.parent / "temporary"
        temporary.mkdir()
        monkeypatch.setenv("TMPDIR", str(temporary))

        async def ask(client: Client) -> dict[str, Any]:
            begun = asyncio.Event()

            async def note(progress: float, total: float | None, message: str | None) -> None:  # noqa: ARG001
                if "this takes" in (message or "") or "running both" in (message or ""):
                    begun.set()

            first = asyncio.create_task(
                client.call_tool("judge", {"budget_seconds": 60}, progress_callback=note)
            )
            await asyncio.wait_for(begun.wait(), 60)
            await asyncio.sleep(1.0)
            first.cancel()
            return await called(client, "judge", budget_seconds=60)

        assert served(worked.root, ask)["verdict"] == "proved"
        assert happens(lambda: not running(worked.root))
        assert not [*temporary.iterdir()]

    def test_a_client_that_asks_for_more_than_there_is(self, worked: Project) -> None:
        names = {f"bench{number}": WORK for number in range(200)}
        jobs = "".join(SETTINGS.replace("total", name, 1) for name in names)
        worked.commit("Many", **{"perf.toml": jobs})

        async def ask(client: Client) -> dict[str, Any]:
            return await called(client, "benchmarks", lines=10_000)

        known = served(worked.root, ask)
        assert known["left_out"] + len(known["jobs"]) >= 200

    def test_errors_are_short(self, worked: Project) -> None:
        assert len(refused(worked, "judge", base="x" * 300).encode()) <= MOST_BYTES

    def test_a_client_that_dies(self, worked: Project) -> None:
        garbage = b'garbage\n{"jsonrpc": "2.0", "id": 1}\n\xff\xfe\n'
        done = subprocess.run(
            [sys.executable, "-P", "-m", "perfvcs", "mcp"],
            cwd=worked.root,
            input=garbage,
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done

    @pytest.mark.parametrize("killed", [False, True])
    def test_a_client_that_dies_while_it_waits(self, worked: Project, *, killed: bool) -> None:
        """Its server ends what it began; what one that is killed began ends by itself, and what
        that leaves is locked by nobody.
        """
        worked.commit("Sleep", **{"bench_total.py": "import time\n\ntime.sleep(30)\n"})
        worked.write("work.py", FAST)
        with waiting(worked.root) as server:
            assert server.stdin is not None
            assert server.stdout is not None
            if killed:
                server.kill()
            server.stdin.close()
            server.stdout.close()
            server.wait(60)
        assert happens(lambda: not running(worked.root))
        assert killed or not [*(worked.root / ".perf/measuring").iterdir()]
        worked.write("bench_total.py", BENCH)
        worked.commit("Work")
        worked.write("work.py", WORK + "\n")
        said = served(worked.root, lambda client: called(client, "judge", budget_seconds=5))
        assert said["verdict"] in ("refuted", "not decided")

    @pytest.mark.slow
    @pytest.mark.parametrize("number", interruption.SIGNALS)
    @pytest.mark.parametrize("begun", [False, True])
    def test_a_signal_while_the_client_stays(
        self, worked: Project, monkeypatch: pytest.MonkeyPatch, number: int, *, begun: bool
    ) -> None:
        """It ends what it began before it ends itself."""
        worked.commit("Sleep", **{"bench_total.py": "import time\n\ntime.sleep(30)\n"})
        worked.write("work.py", FAST)
        temporary = worked.root.parent / "temporary"
        temporary.mkdir()
        monkeypatch.setenv("TMPDIR", str(temporary))
        with waiting(worked.root, begun=begun) as server:
            server.send_signal(number)
            assert server.wait(60) == 128 + number
            assert not running(worked.root)
            assert server.stderr is not None
            assert server.stderr.read() == f"perf: {interruption.SIGNAL_WORDS[number]}\n"
        assert not [*temporary.iterdir()]
        assert not [*worked.root.glob(".perf/tmp/*")]
        assert not [*worked.root.glob(".perf/measuring/*")]
        assert not [*worked.root.glob(".perf/worktrees/*")]

    @pytest.mark.slow
    def test_a_signal_while_the_client_reads_nothing(self, worked: Project) -> None:
        """What is left waits for the client, and for so long only."""
        listing = json.dumps({"jsonrpc": "2.0", "id": 3, "method": "tools/list"}) + "\n"
        with waiting(worked.root, "-c", UNREAD, begun=False) as server:
            assert server.stdin is not None
            for _ in range(50):  # answers of 5 kB each, more than a pipe holds
                server.stdin.write(listing)
            server.stdin.flush()
            assert happens(lambda: psutil.Process(server.pid).io_counters().write_chars > PIPE // 2)
            server.terminate()
            assert server.wait(60) == 128 + signal.SIGTERM

    def test_without_the_sdk(self, worked: Project) -> None:
        hidden = worked.root.parent / "hidden"
        (hidden / "mcp").mkdir(parents=True)
        (hidden / "mcp/__init__.py").write_text("raise ImportError(name='mcp')\n")
        done = subprocess.run(
            [sys.executable, "-P", "-m", "perfvcs", "mcp"],
            cwd=worked.root,
            env={**os.environ, "PYTHONPATH": str(hidden)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 2
        assert "pip install mcp" in done.stderr


@contextmanager
def waiting(folder: Path, *start: str, begun: bool = True) -> Iterator[subprocess.Popen[str]]:
    """A server whose client keeps standard input open, and, where a judgement has ``begun``, waits
    for that.
    """
    about = {"protocolVersion": "2025-06-18", "capabilities": {}}
    about["clientInfo"] = {"name": "waiting", "version": "1"}
    call = {"name": "judge", "arguments": {"budget_seconds": 300}, "_meta": {"progressToken": 1}}
    messages = [
        {"id": 1, "method": "initialize", "params": about},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": call},
    ]
    with subprocess.Popen(
        [sys.executable, "-P", *(start or ("-m", "perfvcs")), "mcp"],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        for message in messages if begun else messages[:2]:
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        server.stdin.flush()
        for line in server.stdout:
            assert '"id":2' not in line.replace(" ", ""), "it answered without running anything"
            if not begun or "running both" in line:
                break
        try:
            yield server
        finally:
            server.kill()


def running(folder: Path) -> list[int]:
    """The processes that run below a folder."""
    return [
        process.pid
        for process in psutil.process_iter(["pid", "cwd"])
        if str(process.info["cwd"] or "").startswith(str(folder)) and process.pid != os.getpid()
    ]


@pytest.mark.slow
def test_what_is_too_long_is_cut(perf: Callable[..., Said]) -> None:  # noqa: ARG001
    from perfvcs.agents.answers import bounded, hotspots

    rows = [{"benchmark": f"name {number}", "effect": 0.123456} for number in range(1000)]
    answer = json.loads(bounded({"changes": rows}))
    assert answer["left_out"] == 1000 - len(answer["changes"])
    assert len(answer["changes"]) > 10
    stacks = hotspots({"samples": "main;parse;read 30\nmain;parse 10\nnonsense\nmain x\n"})
    assert stacks["functions"][0] == {"function": "read", "own": 0.75, "inclusive": 0.75}
    assert stacks["functions"][1] == {"function": "parse", "own": 0.25, "inclusive": 1.0}


def test_shares_are_those_of_one_profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from perfvcs.agents import answers, tools

    (tmp_path / "0123456789-instructions--1.folded").write_text("main;count 3000000\n")
    (tmp_path / "0123456789-samples--2.folded").write_text("main;sleep 3\nmain 1\n")
    rows = answers.hotspots(tools._read(tmp_path))["functions"]
    found = [(row["profile"], row["function"], row["own"]) for row in rows]
    assert found == [
        ("instructions--1", "count", 1.0),
        ("samples--2", "sleep", 0.75),
        ("samples--2", "main", 0.25),
    ]
    monkeypatch.setattr(tools, "MOST_OUTPUT", 20)
    with pytest.raises(UsageError, match="over 20 bytes of stacks: ask for one benchmark"):
        tools._read(tmp_path)
