import io
import os
import pty
import subprocess
import sys

import pytest
from conftest import Perf, Project

from perfvcs.measure.progress import PlainLines, Terminal


def test_without_a_terminal_every_tenth_of_the_way_is_a_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # else it says how long the rest takes, should this process have to wait
    monkeypatch.setattr("perfvcs.measure.progress.monotonic", lambda: 0.0)
    lines = PlainLines()
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
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=theirs, env=environ, text=True
    ) as process:
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


def test_quiet_tells_every_failure_once_and_on_one_line(project: Project, perf: Perf) -> None:
    jobs = "".join(
        f'[[job]]\nname = "{name}"\ncmd = "{cmd}"\n'
        for name, cmd in (("one", "false"), ("two", "no-such"), ("three", "true"))
    )
    project.commit(**{"perf.toml": jobs})
    said = perf("collect", "--quiet", "-n", "1", code=5)
    first, second, last = sorted(said.err.splitlines())
    assert first.startswith("failed: one on ")
    assert second.startswith("failed: two on ")
    assert last == "perf: 2 failures (see above); the rest is stored"


def test_a_failure_obeys_no_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    PlainLines().fail("job\x1b[31m on\na commit: why")
    assert capsys.readouterr().err == "failed: job␛[31m on␊a commit: why\n"


def test_on_a_terminal_a_failure_stands_above_the_bar() -> None:
    class OnTerminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    shown = OnTerminal()
    bar = Terminal("measuring", shown)
    bar.begin(3)
    bar.step("sort")
    bar.fail("sort on 1f0e2a3b4c: exited with status 1: [red]markup[/red] stays text")
    bar.step("parse")
    bar.clear()
    lines = [
        line.rpartition("\r")[2].removeprefix("\x1b[K\x1b[?25h")
        for line in shown.getvalue().split("\n")
    ]
    assert lines == [
        "failed: sort on 1f0e2a3b4c: exited with status 1: [red]markup[/red] stays text",
        "",
    ]
    assert "2/3  parse" in shown.getvalue()


def test_without_a_terminal_the_time_that_is_left_is_said(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter([0.0, 0.0, *(30.0 * number for number in range(1, 11))])
    monkeypatch.setattr("perfvcs.measure.progress.monotonic", lambda: next(times))
    lines = PlainLines()
    lines.begin(10)
    for _ in range(10):
        lines.step("sort")
    said = capsys.readouterr().err.splitlines()
    assert said[0] == " 10 %  sort, about 4 min 30 s left"
    assert said[-1] == "100 %  sort"
