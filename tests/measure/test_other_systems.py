"""Systems that are not Linux: all commands on an imitation of macOS, whose Python lacks what only
Linux's has, and the launcher in Python that takes over there.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from conftest import ROOT, Project
from waiting import happens

from perfvcs import launcher
from perfvcs.launcher import LaunchError, LaunchOptions, NotStarted, launch

IMITATED = ROOT / "tests/imitated/darwin"
WORK = "print(sum(number * number for number in range({count})))\n"
TEST = "def test_sum():\n    assert sum(range(100_000))\n"
SETTINGS = f"""
[[job]]
name = "work"
cmd = "python work.py"

[[job]]
name = "tests"
cmd = "{sys.executable} -m pytest -q test_sum.py"
collectors = ["pytest"]

[[job]]
name = "other"
cmd = "python work.py"
collectors = ["bytecode", "complexity", "counters", "instructions", "memory", "samples"]
"""
COMMANDS = (
    "collect -n 3 -j work -j tests",
    "check HEAD~1 HEAD",
    "log",
    "status",
    "history",
    "plan work",
    "select HEAD~1 HEAD",
    "show HEAD~1 HEAD --text",
    "show HEAD --no-open --output page.html",
    "export HEAD~1 --format csv --output values.csv",
    "compare true ls --budget 3s",
    "judge HEAD~1 HEAD --budget 5s",
    "publish site",
    "hook install",
    "fsck",
    "gc",
)


@pytest.fixture
def elsewhere(project: Project) -> Project:
    """A project with a slower second commit, on an imitation of macOS."""
    project.write("perf.toml", SETTINGS)
    project.write("test_sum.py", TEST)
    project.commit("one", **{"work.py": WORK.format(count=100_000)})
    project.commit("two", **{"work.py": WORK.format(count=3_000_000)})
    return project


def perf(project: Project, *words: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(IMITATED), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-m", "perfvcs", *words],
        cwd=project.root,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr, (words, done.stderr)
    return done


def test_a_slower_commit_is_found_on_macos(elsewhere: Project) -> None:
    checked = perf(elsewhere, "check", "--measure", "-n", "8", "-j", "work", "HEAD~1", "HEAD")
    assert checked.returncode in (3, 4) and "work" in checked.stdout, checked
    for command in COMMANDS:
        done = perf(elsewhere, *shlex.split(command))
        # a judge may run out of its budget before it is sure
        assert done.returncode in ((0, 3, 4) if "judge" in command else (0, 3)), (command, done)
    shown = perf(elsewhere, "show", "HEAD", "--text").stdout
    assert all(metric in shown for metric in ("wall", "CPU", "memory")), shown
    blamed = perf(elsewhere, "blame", "HEAD~1", "HEAD", "-q", "work")
    assert blamed.returncode in (0, 4), blamed


def test_what_needs_linux_says_so_and_the_rest_is_measured(elsewhere: Project) -> None:
    collected = perf(elsewhere, "collect", "-n", "2", "-j", "other")
    assert collected.returncode == 5 and "the rest is stored" in collected.stderr
    failed = [line for line in collected.stderr.splitlines() if line.startswith("failed: ")]
    assert [line.split("(")[1].split(")")[0] for line in failed] == [
        "complexity",
        "counters",
        "instructions",
        "memory",
        "samples",
    ]
    assert all(line.endswith(": measure on a Linux machine") for line in failed)
    assert "bytecodes" in collected.stdout


WATCHED = """
from perfvcs.hosts.stall import Utilisation, watching
from perfvcs.plugins.collector import Observations
with watching(0.1) as stall:
    use = Utilisation()
    sum(range(3_000_000))
    seen = Observations(uid=["work"])
    use.add_to(seen)
print(stall.said or "none", *seen.values)
"""


def test_a_host_elsewhere_says_how_busy_it_was_and_of_no_stall() -> None:
    path = os.pathsep.join([str(IMITATED), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-c", WATCHED],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("none host.load host.others\n", "")


def test_a_system_without_what_unix_has_is_refused_in_one_line() -> None:
    program = "import os; from perfvcs.entry import main; os.name = 'nt'; main()"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr.count("\n")) == (1, 1) and "WSL" in done.stderr


# -- the launcher ----------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def portable(monkeypatch: pytest.MonkeyPatch) -> None:
    """The launcher of other systems, on this one."""
    script = Path(launcher.__file__).with_name("portable.py")
    monkeypatch.setattr(launcher, "PYTHON_LAUNCHER", [sys.executable, "-I", "-S", str(script)])
    monkeypatch.setattr(launcher, "_prepared", lambda: (None, None))


def started(
    text: str, folder: Path, *, timeout: float = 30, options: LaunchOptions = launcher.PLAIN
) -> launcher.Execution:
    words = ["/bin/sh", "-c", text]
    env = {"PATH": os.defpath, "GIVEN": "a b"}
    return launch(words, cwd=folder, env=env, timeout=timeout, options=options)


def test_what_a_command_took_and_how_it_ended(tmp_path: Path) -> None:
    done = started('test "$GIVEN" = "a b" && sleep 0.2; echo no >&2; exit 7', tmp_path)
    assert (done.status, done.signal, done.stderr.strip()) == (7, None, "no")
    assert done.wall >= 0.2 > done.cpu and not done.timed_out and not done.leftover
    assert done.maxrss is not None and 100_000 < done.maxrss < 100_000_000
    assert started("kill -SEGV $$", tmp_path).signal == signal.SIGSEGV


@pytest.mark.slow
def test_a_command_that_hangs_is_ended_with_its_group(tmp_path: Path) -> None:
    begin = time.monotonic()
    done = started("sleep 77.7 & sleep 77.8", tmp_path, timeout=0.3)
    assert done.timed_out and done.signal == signal.SIGKILL and time.monotonic() - begin < 60
    assert happens(lambda: not running("77.7") and not running("77.8"))
    polite = LaunchOptions(patience=20.0)
    asked = started(
        "trap 'exit 3' TERM; while :; do sleep 0.05; done", tmp_path, timeout=2, options=polite
    )
    assert asked.timed_out and asked.status == 3


@pytest.mark.slow
def test_what_a_command_leaves_is_ended_and_said(tmp_path: Path) -> None:
    done = started("sleep 66.6 > /dev/null 2>&1 & exit 0", tmp_path)
    assert (done.status, done.leftover) == (0, 1)
    assert happens(lambda: not running("66.6"))
    soon = started("sleep 0.1 & exit 0", tmp_path, options=LaunchOptions(grace=5.0))
    assert soon.leftover == 0


def test_a_command_that_cannot_be_started_says_why(tmp_path: Path) -> None:
    with pytest.raises(NotStarted, match="not_there"):
        launch([str(tmp_path / "not_there")], cwd=tmp_path, env={}, timeout=5)
    script = tmp_path / "script"
    script.write_text("no program")
    script.chmod(0o755)
    with pytest.raises(NotStarted):
        launch([str(script)], cwd=tmp_path, env={}, timeout=5)


def test_commands_end_with_a_launcher_that_is_killed(tmp_path: Path) -> None:
    def end(process: int) -> None:
        time.sleep(0.5)
        os.kill(process, signal.SIGKILL)

    with pytest.raises(LaunchError):
        started("sleep 55.5", tmp_path, options=LaunchOptions(started=end))
    assert happens(lambda: not running("55.5"))


def test_commands_end_with_a_perf_that_is_killed(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from perfvcs import launcher\n"
        "launcher._prepared = lambda: (None, None)\n"
        "script = Path(launcher.__file__).with_name('portable.py')\n"
        "launcher.PYTHON_LAUNCHER = [sys.executable, '-I', '-S', str(script)]\n"
        "launcher.launch(['/bin/sleep', '44.4'], cwd=Path('.'), env={}, timeout=60)"
    )
    perf = subprocess.Popen([sys.executable, "-c", program], cwd=tmp_path)
    assert happens(lambda: running("44.4"))
    perf.kill()
    perf.wait()
    assert happens(lambda: not running("44.4"))


def running(word: str) -> bool:
    """Whether a process has a word in its command."""
    for process in psutil.process_iter(["cmdline", "status"]):
        words = process.info["cmdline"] or []
        if word in words and process.info["status"] != psutil.STATUS_ZOMBIE:
            return True
    return False
