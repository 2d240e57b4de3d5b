"""Ctrl-C at every stage of a measurement: the checkout, the build, the installation, the workload, warm-up, blocks, storing."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import Project

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
# every stage tells that it began, and takes a while
STAGE = 'echo "$1" >> "$STAGES"; sleep 0.2; exec sleep 0.2{marker}\n'


@pytest.fixture
def staged(project: Project) -> Project:
    """A project of two commits whose every stage takes 0.4 s and is written down."""
    project.write("perf.toml", CONFIGURATION)
    project.commit("one", **{"stage.sh": STAGE.format(marker="0719")})
    project.commit("two", other="x")
    return project


@pytest.mark.parametrize(
    ("stage", "count"), [("", 0), ("build", 1), ("build", 2), ("workload", 1), ("work", 1), ("work", 5), ("work", 8)]
)
def test_an_interrupt_leaves_nothing_behind(
    staged: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str, count: int
) -> None:
    stages = tmp_path / "stages"
    stages.touch()
    monkeypatch.setenv("STAGES", str(stages))
    command = [sys.executable, "-P", "-m", "perfvcs", "collect", "HEAD~1", "HEAD"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for _ in range(600):
        reached = (
            (staged.root / ".perf" / "worktrees").is_dir() if not stage else stages.read_text().split().count(stage) >= count
        )
        if reached or process.poll() is not None:
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, (out, err)
    assert err.splitlines()[-1] == "perf: interrupted"
    assert "Traceback" not in err
    assert subprocess.run(["pgrep", "-f", "0.20719"], capture_output=True, check=False).stdout == b""
    assert len(staged.git("worktree", "list").splitlines()) == 1
    assert list((staged.root / ".perf" / "worktrees").glob("*")) == []
    assert list((staged.root / ".perf" / "tmp").glob("*")) == []
    repository = Repository.find()
    assert repository.store.fsck() == []
    assert repository.store.paths() == []
