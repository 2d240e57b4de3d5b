import os
import pty
import subprocess
import sys
from collections.abc import Callable

import pytest
from conftest import Project, Said

from perfvcs.measure.progress import Lines

Perf = Callable[..., Said]


def test_without_a_terminal_every_tenth_of_the_way_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    lines = Lines()
    lines.begin(40)
    for number in range(40):
        lines.step(f"step {number}")
    lines.begin(3)
    lines.step("of a short way")
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 10
    assert told[0] == " 10 %  step 3"
    assert told[-1] == "100 %  step 39"


def test_on_a_terminal_there_is_a_bar_and_at_the_end_only_lines(project: Project) -> None:
    project.configure('cmd = "sleep 0.3"')
    project.commit("one")
    project.commit("two", other="x")
    ours, theirs = pty.openpty()
    command = [sys.executable, "-P", "-m", "perfvcs", "collect", "HEAD~1", "HEAD"]
    environ = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    environ.pop("NO_COLOR", None)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, env=environ, text=True) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                shown += os.read(ours, 4096)
            except OSError:
                break
        out, _ = process.communicate()
    os.close(ours)
    assert process.returncode == 0
    assert "stored 2 profiles" in out
    assert b"preparing" in shown
    assert b"4/4" in shown or b"3/4" in shown


def test_quiet_prints_nothing_but_errors(project: Project, perf: Perf) -> None:
    project.configure('cmd = "true"')
    project.commit()
    said = perf("collect", "--quiet")
    assert (said.out, said.err) == ("", "")
