"""Every help ends with two examples, and all of them run in a project that has been measured."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from cases import each
from click.testing import CliRunner
from conftest import ROOT, Project

from perfvcs.cli import group

SORT = """import bench
for size in (500, 1000, 2000, 4000, 8000):
    numbers = [(7919 * place) % 10007 for place in range({times} * size)]
    with bench.measure("list.sort", size=size):
        numbers.sort()
"""
CONFIGURATION = """[[job]]
name = "sort"
cmd = "python3 sort.py"
executions = 6
warmup = 1
"""
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "a client", "version": "1"},
    },
}
FINE = {0, 3, 4}  # what a check or a search found is not an error
ENDING = re.compile(r"\n\n  Examples:\n((?:    perf \S.*  \S.*\n){2})\Z")


def helps(command: click.Command, context: click.Context) -> Iterator[tuple[str, str]]:
    """The paths and helps of a command and of all below it."""
    yield context.command_path, f"{command.get_help(context)}\n"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            member = command.get_command(context, name)
            if member is not None:
                yield from helps(member, click.Context(member, context, name))


# click keeps the option of help that a command has shown first: with the names that all of them have
HELP = ["-h", "--help"]
HELPS = dict(
    helps(group, click.Context(group, info_name="perf", terminal_width=80, help_option_names=HELP))
)
EXAMPLES = [
    line.strip().split("  ")[0]
    for text in HELPS.values()
    if (ending := ENDING.search(text))
    for line in ending[1].splitlines()
]


@pytest.fixture
def measured(project, perf) -> Project:
    """Three commits, the last of them slower; the first and the last are measured in turns,
    compared, pushed to a remote, and written to a file.
    """

    def make() -> None:
        project.git("init", "--quiet", "--bare", ".git/remote")
        project.git("remote", "add", "origin", ".git/remote")
        project.write("bench.py", (ROOT / "perfvcs" / "bench.py").read_text())
        project.commit("Sort", **{"sort.py": SORT.format(times=1), "perf.toml": CONFIGURATION})
        project.git("tag", "v1.0")
        project.commit("Say what it is", **{"README": "sorts\n"})
        project.commit("Sort more", **{"sort.py": SORT.format(times=20)})
        project.git("push", "--quiet", "--set-upstream", "origin", "main")
        perf("collect", "-q", "v1.0", "HEAD")
        perf("push", "-q")
        perf("check", "v1.0", "HEAD", code=3)
        Path(".git/info/exclude").write_text("/.perf/\n/results.json\n")
        perf("export", "HEAD", "-o", "results.json")

    project.begin("examples", make)
    return project


def faster(project: Project) -> None:
    """A branch that is faster than main, and a change of it that is not committed."""
    project.git("switch", "--quiet", "--create", "faster")
    project.commit("Sort less", **{"sort.py": SORT.format(times=10)})
    project.write("sort.py", SORT.format(times=1))


@each("path", list(HELPS))
def test_every_help_ends_with_two_examples_of_its_command(path):
    ending = ENDING.search(HELPS[path])
    assert ending, HELPS[path]
    words = re.sub(r" REVISION\|\S+( |$)", " HEAD ", path).strip()
    for line in ending[1].splitlines():
        assert len(line) <= 80
        called = line.strip().split("  ")[0]
        assert f"{called} ".startswith((f"{words} ", "perf -v "))


@pytest.mark.parametrize("example", list(dict.fromkeys(EXAMPLES)))
def test_every_example_runs(example, measured):
    words = shlex.split(example)[1:]
    if words[0] == "judge":
        faster(measured)
    said = f"{json.dumps(HELLO)}\n" if words[0] == "mcp" else ""  # it only answers
    done = CliRunner().invoke(group, words, prog_name="perf", input=said)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code in FINE, done.output
    assert done.output or words[:2] == ["hook", "run"]  # quiet where nothing is pushed
