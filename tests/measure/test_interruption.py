"""Signals at every stage: the program's start, a checkout, a build, a workload, warm-up, blocks,
storing, cleaning up.
"""

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from conftest import HIDDEN_DAEMON, Project, processes_in
from waiting import happens

from perfvcs.repository import Repository

CONFIGURATION = """
build = ["sh stage.sh build"]
[python]
install = []
[[job]]
name = "work"
cmd = "sh stage.sh work"
workloads = [{ command = "sh stage.sh workload" }]
executions = 3
warmup = 1
"""
# every stage tells that it began, and takes a while; the one that is held, as "work 5", an hour
STAGE = """\
echo "$1" >> "$STAGES"
[ "$1 $(grep -cx "$1" "$STAGES")" != "$HELD" ] || exec sleep 3600
sleep 0.2
exec sleep 0.2
"""


@pytest.fixture
def staged(project: Project) -> Project:
    """A project of two commits whose every stage takes 0.4 s and is written down."""
    project.write("perf.toml", CONFIGURATION)
    project.commit("one", **{"stage.sh": STAGE})
    project.commit("two", other="x")
    return project


@pytest.mark.parametrize(
    ("stage", "count"),
    [("", 0), ("build", 1), ("build", 2), ("workload", 1), ("work", 1), ("work", 5), ("work", 8)],
)
def test_an_interrupt_leaves_nothing_behind(
    staged: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str, count: int
) -> None:
    stages = tmp_path / "stages"
    stages.touch()
    monkeypatch.setenv("STAGES", str(stages))
    monkeypatch.setenv("HELD", f"{stage} {count}")
    command = [sys.executable, "-P", "-m", "perfvcs", "collect", "HEAD~1", "HEAD"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    worktrees = staged.root / ".perf" / "worktrees"
    assert happens(
        lambda: (
            (stages.read_text().split().count(stage) >= count if stage else worktrees.is_dir())
            or process.poll() is not None
        )
    )
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, (out, err)
    assert err.splitlines()[-1] == "perf: interrupted"
    assert "Traceback" not in err
    assert processes_in(staged.root) == []
    assert len(staged.git("worktree", "list").splitlines()) == 1
    assert list((staged.root / ".perf" / "worktrees").glob("*")) == []
    assert list((staged.root / ".perf" / "tmp").glob("*")) == []
    repository = Repository.find()
    assert repository.store.fsck() == []
    complete = stage == "work" and count > 4  # two warm-up executions, and a block of two versions
    assert len(repository.store.paths()) == (2 if complete else 0)


COMMAND = [sys.executable, "-P", "-m", "perfvcs"]
LINES = {
    signal.SIGINT: "perf: interrupted",
    signal.SIGTERM: "perf: terminated",
    signal.SIGHUP: "perf: hung up",
}


def test_signals_that_are_ignored_disturb_no_execution(project: Project) -> None:
    """Below nohup: they go to the whole group, in which a launcher is for a moment, too."""
    project.configure('cmd = "sleep 0.01"\nexecutions = 20')
    project.commit()
    begun = project.root / ".git/begun"
    mute = f"trap '' HUP; touch .git/begun; exec {shlex.join(COMMAND)} collect HEAD"
    process = subprocess.Popen(
        ["sh", "-c", mute], stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert happens(begun.exists)
    while process.poll() is None:
        os.killpg(process.pid, signal.SIGHUP)
        time.sleep(0.0002)
    said = process.communicate()[1]
    assert process.returncode == 0
    assert "the launcher got" not in said


def running(word: str) -> list[int]:
    """The processes with a word in their command."""
    found = psutil.process_iter(["cmdline", "status"])
    return [
        one.pid
        for one in found
        if word in (one.info["cmdline"] or ()) and one.info["status"] != psutil.STATUS_ZOMBIE
    ]


def seconds() -> str:
    """So long as nothing else on this machine sleeps: other workers run such tests, too."""
    return f"3600.{os.getpid()}{time.monotonic_ns()}"


def left(project: Project) -> list[str]:
    """Worktrees and scratch files."""
    folders = [
        path.name
        for place in ("worktrees", "tmp")
        for path in (project.root / ".perf" / place).glob("*")
    ]
    return folders + project.git("worktree", "list").splitlines()[1:]


@pytest.mark.parametrize("number", LINES)
def test_a_signal_during_the_start_ends_the_program_with_one_line(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    project.commit()
    slow = tmp_path / "slow"
    slow.mkdir()
    (slow / "click.py").write_text("import time\nprint('importing', flush=True)\ntime.sleep(60)\n")
    monkeypatch.setenv("PYTHONPATH", str(slow))
    process = subprocess.Popen(
        [*COMMAND, "status"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(number)
    assert process.communicate(timeout=60)[1] == f"{LINES[number]}\n"
    assert process.returncode == 128 + number


@pytest.mark.parametrize("number", LINES)
def test_a_signal_during_a_measurement_ends_it_with_one_line(
    staged: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    stages = tmp_path / "stages"
    stages.touch()
    monkeypatch.setenv("STAGES", str(stages))
    process = subprocess.Popen(
        [*COMMAND, "collect", "--quiet", "HEAD~1", "HEAD"], stderr=subprocess.PIPE, text=True
    )
    assert happens(lambda: "work" in stages.read_text() or process.poll() is not None)
    process.send_signal(number)
    assert process.communicate(timeout=60)[1] == f"{LINES[number]}\n"
    assert process.returncode == 128 + number
    assert left(staged) == []


def test_more_signals_do_not_interrupt_cleaning_up(project: Project) -> None:
    project.configure('cmd = "true"', top='build = ["sh slow.sh"]')
    project.commit(
        "one",
        **{
            "slow.sh": (
                "trap 'touch ../../asked; sleep 0.5' TERM\ntouch ../../begun\nwhile :; do sleep"
                " 0.1; done\n"
            )
        },
    )
    process = subprocess.Popen(
        [*COMMAND, "collect", "--committed", "HEAD"], stderr=subprocess.PIPE, text=True
    )
    assert happens((project.root / ".perf" / "begun").exists)
    process.send_signal(signal.SIGINT)
    assert happens((project.root / ".perf" / "asked").exists)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        process.send_signal(number)
        time.sleep(0.05)
    assert process.communicate(timeout=60)[1].splitlines()[-1] == "perf: interrupted"
    assert process.returncode == 130
    assert left(project) == []


@pytest.mark.parametrize(
    "where",
    ["try: os.kill(os.getpid(), signal.SIGINT)\n    except BaseException: pass", "Dying()"],
    ids=["everything is caught", "in a destructor"],
)
def test_an_interruption_that_was_swallowed_comes_again(where: str) -> None:
    script = f"""
import os, signal, time
from perfvcs.system import interruption
class Dying:
    def __del__(self): os.kill(os.getpid(), signal.SIGINT)
interruption.begin()
interruption.unwind()
try:
    {where}
    time.sleep(60)
finally:
    interruption.end()
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (130, "perf: interrupted\n")


def test_what_is_ignored_stays_ignored(project: Project) -> None:
    project.configure('cmd = "sh slow.sh"')
    project.commit("one", **{"slow.sh": "touch begun\nsleep 0.3\n"})
    command = ["sh", "-c", 'trap "" HUP; exec "$@"', "sh", *COMMAND, "collect", "--quiet"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert happens(lambda: any(project.root.glob(".perf/worktrees/*/begun")))
    process.send_signal(signal.SIGHUP)
    assert (process.communicate(timeout=60)[1], process.returncode) == ("", 0)


def test_a_build_ends_when_perf_is_killed(project: Project) -> None:
    project.configure('cmd = "true"', top='build = ["sh slow.sh"]')
    word = seconds()
    project.commit("one", **{"slow.sh": f"sleep {word} & sleep {word}\n"})
    process = subprocess.Popen(
        [*COMMAND, "collect", "--committed", "--quiet", "HEAD"], stderr=subprocess.DEVNULL
    )
    assert happens(lambda: len(running(word)) == 2)
    process.kill()
    process.wait()
    assert happens(lambda: not running(word))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_hidden_daemon_of_a_build_ends_with_perf(
    project: Project, tmp_path: Path, number: signal.Signals
) -> None:
    pid, word = tmp_path / "number", seconds()
    project.configure('cmd = "true"', top='build = ["sh build.sh"]')
    project.commit(
        "one",
        **{
            "daemon.py": HIDDEN_DAEMON,
            "build.sh": f"{sys.executable} -S daemon.py {pid}\nsleep {word}\n",
        },
    )
    process = subprocess.Popen(
        [*COMMAND, "collect", "--committed", "--quiet", "HEAD"], stderr=subprocess.DEVNULL
    )
    assert happens(lambda: running(word))
    daemon = int(pid.read_text())
    assert psutil.pid_exists(daemon)
    process.send_signal(number)
    process.wait()
    assert happens(lambda: not psutil.pid_exists(daemon))


@pytest.mark.parametrize("number", [*LINES, signal.SIGKILL])
def test_git_ends_with_perf(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    project.commit()
    Repository.find(create=True)
    slow, word = tmp_path / "slow", seconds()
    slow.mkdir()
    (slow / "git").write_text(f"#!/bin/sh\nsleep {word}\n")
    (slow / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{slow}{os.pathsep}{os.environ['PATH']}")
    process = subprocess.Popen([*COMMAND, "status"], stderr=subprocess.DEVNULL)
    assert happens(lambda: running(word))
    process.send_signal(number)
    assert process.wait(60) == (-number if number == signal.SIGKILL else 128 + number)
    assert happens(lambda: not running(word))


def test_what_a_command_leaves_running_on_purpose_stays() -> None:
    from perfvcs.system.children import keeping, released

    with keeping():
        kept = subprocess.Popen(["sleep", "60.0721"], env=released(os.environ))
    assert kept.poll() is None
    kept.kill()
    kept.wait()


def test_a_signal_after_the_work_is_done_changes_nothing() -> None:
    script = """
import atexit, os, signal, threading
from perfvcs.system import interruption
interruption.begin()
threading.Thread(target=threading.Event().wait, daemon=True).start()  # a signal may be delivered to any thread
interruption.unwind()
atexit.register(lambda: [os.kill(os.getpid(), number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)])
interruption.end()
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
