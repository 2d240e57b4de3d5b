"""The attacks of benchmarks/attacks in short, and what they have found."""

import fcntl
import json
import os
import resource
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT, Project

from perfvcs import hooks
from perfvcs.git.project import Project as Checkout
from perfvcs.index.verdicts import LastVerdicts
from perfvcs.profile import Collected, Job, Metric, Profile, Resources
from perfvcs.repository import Repository
from perfvcs.store import Store
from perfvcs.system import disk

PERF = (sys.executable, "-P", "-m", "perfvcs")
REPORT = b'{"changes": []}'


@pytest.fixture(autouse=True)
def uncovered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Coverage fails loudly on a full disk, and leaves half a file where it is killed."""
    monkeypatch.delenv("COVERAGE_PROCESS_START", raising=False)


def attacked(folder: Path, name: str, *words: str) -> list[dict[str, object]]:
    """The rows of an attack, which must find nothing."""
    command = [sys.executable, "-m", "benchmarks", name, *words, "--json", str(folder / "found")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (found,) = json.loads((folder / "found").read_text())
    return found["rows"]


def limited(blocks: int, *words: str) -> subprocess.CompletedProcess[str]:
    """A command of perfvcs that may not write a file of more than so many blocks of 512 bytes."""
    limit = ["sh", "-c", f'ulimit -f {blocks}; exec "$@"', "sh"]
    # Python would keep what it could write of a compiled module, and fail on it from then on
    env = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [*limit, *PERF, *words], env=env, capture_output=True, text=True, check=False
    )


def profile(commit: str) -> Profile:
    """A profile whose document is longer than a block."""
    rows = Resources(
        names=["x"],
        uid=[0] * 500,
        execution=list(range(500)),
        metrics={"wall": [1.0 + row / 7 for row in range(500)]},
    )
    when = Collected("session", "2026-11-20T09:30:00Z", "2026-11-20T09:30:02Z", "perfvcs")
    return Profile(
        commit=commit,
        job=Job(name="x", collector="time", cmd="./x"),
        collected=when,
        metrics={"wall": Metric("s")},
        resources=rows,
    )


@pytest.mark.slow
def test_commits_measured_by_the_hook_lose_nothing(tmp_path: Path) -> None:
    counts = attacked(tmp_path, "attack_soak", "--count", "8", "--seed", "3")[0]
    assert 0 < counts["profiles reported"] <= counts["profiles there"]


def test_perf_toml_is_written_whole_or_not_at_all(project: Project) -> None:
    project.write("Makefile", "all:\n\ttrue\n")
    project.commit()
    Repository.find(create=True)
    said = limited(1, "init")
    assert (said.returncode, said.stderr.count("\n")) == (1, 1)
    assert "ulimit -f" in said.stderr
    assert not (project.root / "perf.toml").exists()


def test_lines_of_the_users_own_stay_in_the_file_of_exclusions(project: Project) -> None:
    exclude = project.root / ".git/info/exclude"
    mine = b"*.caf\xe9\n" + b"# mine\n" * 2000
    exclude.write_bytes(mine)
    assert limited(8, "init").returncode == 1
    assert exclude.read_bytes() == mine
    assert subprocess.run([*PERF, "init"], capture_output=True, check=False).returncode == 0
    assert exclude.read_bytes() == mine + b"/.perf\n"


def test_a_hook_of_the_users_own_is_called_at_every_moment_of_an_install(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.commit()
    hook = project.write(".git/hooks/post-commit", "#!/bin/sh\n", executable=True)
    seen = []

    def stop(path: Path, content: bytes, mode: int | None = None) -> None:  # noqa: ARG001
        seen.append(hook.read_text())
        raise KeyboardInterrupt

    with monkeypatch.context() as killed, pytest.raises(KeyboardInterrupt):
        killed.setattr(disk, "write", stop)
        hooks.install(Checkout.find(), ["post-commit"])
    assert seen == ["#!/bin/sh\n"]
    assert hook.read_text() == "#!/bin/sh\n"
    (installed,) = hooks.install(Checkout.find(), ["post-commit"])
    assert installed.state == "installed"
    assert installed.kept is not None
    assert installed.kept.read_text() == "#!/bin/sh\n"


@pytest.mark.parametrize("blocks", [0, 2])
def test_a_limit_on_files_is_named_when_git_dies_of_it(project: Project, blocks: int) -> None:
    commit = project.commit()
    store = Repository.find(create=True).store
    (project.root / "one.json").write_bytes(profile(commit).encode())
    said = limited(blocks, "import", "one.json")
    assert said.returncode == 1
    assert "ulimit -f" in said.stderr or "File too large" in said.stderr
    assert store.paths() == []
    assert store.fsck() == []


def test_what_a_killed_gc_has_locked_is_packed_all_the_same(project: Project) -> None:
    commit = project.commit()
    store = Repository.find(create=True).store
    store.add([profile(commit)], "One")
    (store.path / "gc.pid.lock").touch()
    lock = store.path / "packed-refs.lock"
    lock.touch()
    os.utime(lock, (0, 0))
    store.gc()
    assert not lock.exists()
    assert len(store.paths()) == 1


def test_objects_are_not_checked_while_they_are_packed(project: Project) -> None:
    commit = project.commit()
    store = Repository.find(create=True).store
    store.add([profile(commit)], "One")
    found: list[object] = []
    checking = threading.Thread(target=lambda: found.append(store.fsck()))
    with (store.path / "perfvcs-gc.lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # as gc has it
        checking.start()
        checking.join(0.5)
        assert found == []
    checking.join()
    assert found == [[]]


def test_a_full_disk_hides_no_verdicts(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.db"
    verdicts = LastVerdicts(path)
    verdicts.remember("a", "b", REPORT)
    verdicts.close()
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    again = LastVerdicts(path)
    resource.setrlimit(
        resource.RLIMIT_FSIZE, (1 << 14, usual[1])
    )  # there is no room for the two files that SQLite makes beside it
    try:
        found = again.recall("a", "b")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
    again.close()
    assert found is not None
    assert found.report == REPORT


def test_a_full_disk_is_not_a_git_folder_that_is_not_ours(project: Project) -> None:
    before = sorted((project.root / ".git").iterdir())
    done = subprocess.run(
        ["sh", "-c", f"trap '' XFSZ; ulimit -f 0; exec '{sys.executable}' -m perfvcs init"],
        cwd=project.root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "raise the limit" in done.stderr
    assert sorted((project.root / ".git").iterdir()) == before


WRITER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from samples import sample_profile
from perfvcs.store import Store
store = Store(Path(sys.argv[2]), "Ada <ada@example.org>")
for number in range(10):
    store.add([sample_profile(commit=f"{sys.argv[3]}{number:039x}")], "One")
"""


@pytest.mark.slow
def test_an_outside_gc_beside_writers_takes_nothing(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "store", "Ada <ada@example.org>")
    words = [sys.executable, "-c", WRITER, str(ROOT / "tests"), str(store.path)]
    writers = [subprocess.Popen([*words, name]) for name in "abc"]
    gc = ["git", f"--git-dir={store.path}", "gc", "--quiet", "--prune=now"]
    while any(writer.poll() is None for writer in writers):
        subprocess.run(gc, capture_output=True, check=False)
    assert [writer.returncode for writer in writers] == [0, 0, 0]
    assert len(store.paths()) == 30
    refused = []

    def two() -> Iterator[Profile]:
        yield profile("d" * 40)
        refused.append(subprocess.run(gc, capture_output=True, check=False).returncode)
        yield profile("e" * 40)

    store.add(two(), "Two")
    assert refused != [0]
    assert store.fsck() == []
    assert not (store.path / "gc.pid").exists()


def test_a_writer_waits_for_an_outside_gc(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "store", "Ada <ada@example.org>")
    # as git writes it; this process lives
    (store.path / "gc.pid").write_text(f"{os.getpid()} {os.uname().nodename}")
    writing = threading.Thread(target=lambda: store.add([profile("0" * 40)], "One"))
    writing.start()
    writing.join(0.3)
    assert store.paths() == []
    (store.path / "gc.pid").unlink()
    writing.join()
    assert len(store.paths()) == 1


def test_what_a_dead_process_left_keeps_nobody_waiting(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "store", "Ada <ada@example.org>")
    dead = subprocess.Popen(["true"])
    dead.wait()
    for mark in ("", " perfvcs"):
        (store.path / "gc.pid").write_text(f"{dead.pid} {os.uname().nodename}{mark}")
        store.add([profile(f"{len(mark):040x}")], "One")
        assert not (store.path / "gc.pid").exists()
    for content, number in (f"{'9' * 5000}", "1"), ("0", "2"):
        (store.path / "gc.pid").write_text(f"{content} {os.uname().nodename}")
        store.add([profile(number * 40)], "One")
    (store.path / "gc.pid.lock").touch()
    os.utime(store.path / "gc.pid.lock", (0, 0))
    store.add([profile("2" * 40)], "One")
    assert len(store.paths()) == 4


def test_a_push_on_a_full_disk_is_one_line_and_goes_through_later(project: Project) -> None:
    commit = project.commit()
    Repository.find(create=True).store.add([profile(commit)], "One")
    project.git("init", "--quiet", "--bare", "../remote.git")
    for blocks in (0, 1):
        done = limited(blocks, "push", "../remote.git")
        assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    # where git has no room for its own reference
    (project.root / ".perf/remotes/known/refs").chmod(0o500)
    done = subprocess.run(
        [*PERF, "push", "../remote.git"], capture_output=True, text=True, check=False
    )
    (project.root / ".perf/remotes/known/refs").chmod(0o700)
    assert "Traceback" not in done.stderr
    assert limited(100_000, "push", "../remote.git").returncode == 0
