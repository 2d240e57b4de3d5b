"""What is called often starts fast: it imports none of the heavy packages."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

HEAVY = {"numpy", "scipy", "statsmodels", "bokeh", "git", "jinja2", "pandas"}
# `--help` needs these no more than those
LIST_OF_COMMANDS = {"rich", "msgspec", "sqlite3", "psutil", "subprocess", "asyncio"}


def imports(*args: str) -> set[str]:
    """The top-level packages that a call of the command line imports, as Python itself reports
    them.
    """
    # coverage imports sqlite3
    env = {name: value for name, value in os.environ.items() if name != "COVERAGE_PROCESS_START"}
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "perfvcs", *args],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 4), done.stderr[-2000:]
    return {
        name.split(".")[0]
        for name in re.findall(r"^import time:.*\| +(\S+)$", done.stderr, re.MULTILINE)
    }


@pytest.fixture
def initialised(project):
    project.commit("first", **{"work.py": "print(sum(range(1000)))\n"})
    subprocess.run([sys.executable, "-m", "perfvcs", "init"], check=True, capture_output=True)
    return project


def test_help_imports_click_and_little_else():
    found = imports("--help")
    assert "click" in found
    assert not found & (HEAVY | LIST_OF_COMMANDS)


def test_help_imports_no_command():
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "perfvcs", "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "perfvcs.cli" in done.stderr
    assert "perfvcs.commands" not in done.stderr


@pytest.mark.usefixtures("initialised")
@pytest.mark.parametrize("command", ["log -n1", "status", "check --help", "hook status"])
def test_a_frequent_command_imports_nothing_heavy(command):
    assert not imports(*command.split()) & HEAVY


@pytest.mark.usefixtures("initialised")
@pytest.mark.parametrize("chosen", ["", "3"])
def test_that_numpy_loads_without_threads_is_not_seen_by_measured_programs(
    project, tmp_path, monkeypatch, chosen
):
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    if chosen:
        monkeypatch.setenv("OPENBLAS_NUM_THREADS", chosen)
    seen = tmp_path / "seen"
    command = ["collect", "-n", "1", "--", "sh", "-c", f'echo "[$OPENBLAS_NUM_THREADS]" >>{seen}']
    subprocess.run(
        [sys.executable, "-m", "perfvcs", *command],
        cwd=project.root,
        check=True,
        capture_output=True,
    )
    assert set(seen.read_text().split()) == {f"[{chosen}]"}
