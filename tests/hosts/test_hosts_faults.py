"""What hosts do not survive: the session does, and never stores half a block."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from clusters import DaskCluster, cluster, end, profiles
from conftest import Perf, Project

from perfvcs.hosts.client import Flying, HostsExecutor, Suspicion
from perfvcs.hosts.cluster import Cluster, HostsLost
from perfvcs.hosts.stall import watching
from perfvcs.measure.executor import Wanted
from perfvcs.measure.journal import SESSIONS_FOLDER
from perfvcs.measure.progress import Progress
from perfvcs.measure.site import Version
from perfvcs.measure.tally import Tally
from perfvcs.system.children import MARKER

pytestmark = pytest.mark.slow

CONFIGURATION = """
overlay = ["bench.py"]
[hosts]
patience = "20s"
[[job]]
name = "work"
cmd = "python3 -S -E bench.py"
executions = 4
warmup = 0
retries = 0
"""
# ends processes by what a file says, once per file; `worker` is the one that this process descends
# from
BENCH = """
import os, signal, time
def parent(pid):
    return int(open(f"/proc/{{pid}}/stat").read().rpartition(")")[2].split()[1])
def worker():
    pid = os.getpid()
    while b"dask_worker" not in open(f"/proc/{{pid}}/cmdline", "rb").read():
        pid = parent(pid)
    return pid
place = {place!r}
with open(place + "/log", "a") as log:
    log.write(open("version").read())
while os.path.exists(place + "/gate") and os.path.getsize(place + "/log") >= 5:  # until somebody is to be killed
    if os.path.exists(place + "/kill") or os.path.exists(place + "/killed"):
        break
    time.sleep(0.02)
if os.path.exists("killer"):
    os.kill(worker(), signal.SIGKILL)
try:
    os.rename(place + "/kill", place + "/killed")
except OSError:
    pass
else:
    who = open(place + "/killed").read()
    os.kill(worker() if who == "worker" else int(who), signal.SIGKILL)
"""


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskCluster]:
    """A scheduler; tests end some of its workers."""
    with cluster(tmp_path_factory.mktemp("faults"), 0) as found:
        yield found


@pytest.fixture
def hosts(scheduler: DaskCluster) -> DaskCluster:
    """A scheduler with three workers, whichever tests ran before."""
    scheduler.fill(3)
    return scheduler


@pytest.fixture
def versions(project: Project, tmp_path: Path) -> list[str]:
    """Two commits; each execution notes the version that it ran."""
    project.write("perf.toml", CONFIGURATION)
    project.write("bench.py", BENCH.format(place=str(tmp_path)))
    return [project.commit("first", version="1"), project.commit("second", version="2")]


def kill(place: Path, who: str) -> None:
    """Let the next execution kill a process; the file is there at once with all it says."""
    (place / "part").write_text(who)
    (place / "part").rename(place / "kill")


def blocks(project: Project) -> Counter[tuple[str, int]]:
    """How often each block of each commit is stored."""
    return Counter(
        (one.commit, block) for one in profiles(project) for block in set(one.resources.execution)
    )


def test_the_block_of_a_lost_worker_is_repeated_elsewhere(
    project: Project, perf: Perf, hosts: DaskCluster, versions: list[str], tmp_path: Path
) -> None:
    kill(tmp_path, "worker")
    assert "repeated: block" in perf("collect", *versions, *hosts.options).err
    assert len(hosts.running) == 2
    assert blocks(project) == Counter(
        (version, block) for version in versions for block in range(4)
    )


def test_the_block_of_a_worker_that_dies_with_its_answer_is_repeated_elsewhere(
    project: Project,
    perf: Perf,
    hosts: DaskCluster,
    versions: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Dask would wait until the same worker is back."""
    completed, killed = Cluster.completed, []

    def die(self: Cluster, futures: Mapping[Any, Any]) -> list[Any]:
        workers = dict(self.flying)
        done = completed(self, futures)
        if done and not killed:
            killed.extend(self.client.run(os.getpid, workers=[workers[done[0]]]).values())
            os.kill(killed[0], signal.SIGKILL)
        return done

    monkeypatch.setattr(Cluster, "completed", die)
    monkeypatch.setattr("perfvcs.hosts.client.HANDOVER", 5.0)
    assert "was lost with the worker" in perf("collect", *versions, *hosts.options).err
    assert len(hosts.running) == 2
    assert blocks(project) == Counter(
        (version, block) for version in versions for block in range(4)
    )


def test_a_version_that_loses_workers_twice_is_given_up_by_name(
    project: Project, hosts: DaskCluster, versions: list[str]
) -> None:
    killer = project.commit("third", killer="x", version="3")
    command = [sys.executable, "-m", "perfvcs", "collect", versions[0], killer, *hosts.options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as client:
        while client.poll() is None:
            if not hosts.running:
                hosts.add()  # as somebody does who starts workers again
            time.sleep(0.05)
        _, said = client.communicate()
    assert client.returncode == 5
    assert re.search(
        f"failed: work on {killer[:10]}: [2-6] workers were lost while it ran \\(on ", said
    ), said
    assert blocks(project) == Counter((versions[0], block) for block in range(4))


def test_no_worker_is_lost_because_dask_notes_an_answer_without_workers(
    hosts: DaskCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its client asks for one every two seconds, and may note it between another question and its
    answer.
    """
    with hosts.client() as client:
        monkeypatch.setattr(client, "scheduler_info", lambda **_: {"workers": {}})
        assert len(Cluster(client, hosts.address, 1.0, 1.0).workers()) == 3


def test_workers_that_are_lost_at_once_are_lost_one_time() -> None:
    """A cut network takes them all; which version ran in most of them says nothing."""
    suspicion = Suspicion()
    for turn, given, times in ((1, 3, 1), (3, 3, 1), (2, 4, 1), (4, 4, 2)):
        suspicion.add(Flying(Wanted(0, [0]), "tcp://a:1", "a", turn), given)
        assert suspicion.times == times, turn


def test_a_block_is_not_blamed_for_workers_that_a_version_ended() -> None:
    """What a worker began is not always heard of before it is lost, so that a block may be lost
    thrice before the version is known.
    """
    cell, versions = (
        SimpleNamespace(label="work", collector_name="time"),
        [Version("a" * 40), Version("b" * 40)],
    )
    tally = Tally([cell], versions, Progress(), None)  # type: ignore[list-item]
    tally.alive = {(0, 0), (0, 1)}
    hosts = HostsExecutor(SimpleNamespace(is_there=True), SimpleNamespace(cells=[cell]), tally)  # type: ignore[arg-type]
    waiting: deque[Wanted] = deque()
    for turn, heard in ((1, False), (2, True), (5, True), (8, False)):
        if heard:
            hosts._last["tcp://a:1"] = (0, 1)
        hosts._given = turn
        hosts._lost(Flying(Wanted(2, [0]), "tcp://a:1", "a", turn), waiting)
    assert tally.alive == {(0, 0)} and [failure.reason for failure in tally.failures] == [
        "2 workers were lost while it ran (on a)"
    ]
    with pytest.raises(HostsLost, match="the last of 3 tries"):
        hosts._lost(Flying(Wanted(2, [0]), "tcp://a:1", "a", 10), waiting)


def test_a_host_without_room_gets_no_more_blocks(
    project: Project, perf: Perf, hosts: DaskCluster, versions: list[str], tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    bad = hosts.add(env={"XDG_CACHE_HOME": str(tmp_path / "file")})
    hosts.wait()
    try:
        said = perf("collect", *versions, "-n", "8", *hosts.options)
    finally:
        bad.kill()
        bad.wait()
    assert "gets no more blocks: NotADirectoryError" in said.err
    assert blocks(project) == Counter(
        (version, block) for version in versions for block in range(8)
    )


# a clock that is a day ahead, for all of Python on a host
AHEAD = """
import datetime, time
real, day = time.time, datetime.timedelta(days=1)
time.time = lambda: real() + 86400
class Ahead(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return super().now(tz) + day
datetime.datetime = Ahead
"""
# what it reports follows from the seed of its block
COST = """
import os
drawn = int(os.environ["PERFVCS_SEED"]) * 16807 % 2147483647 / 2147483647
with open(os.environ["PERFVCS_SAMPLES"], "a") as file:
    file.write('{"metric": "cost", "unit": "B", "better": "lower"}\\n{"uid": "task", "cost": %r}\\n' % (LEVEL + drawn / 10))
"""


def test_a_clock_that_is_a_day_ahead_changes_neither_order_nor_verdict(
    project: Project, perf: Perf, hosts: DaskCluster, tmp_path: Path
) -> None:
    project.configure(f'cmd = "{sys.executable} -S -E cost.py"')
    versions = [
        project.commit(level, **{"cost.py": COST.replace("LEVEL", level)})
        for level in ("1.0", "1.1")
    ]
    (tmp_path / "sitecustomize.py").write_text(AHEAD)
    ahead = hosts.add(env={"PYTHONPATH": str(tmp_path)})
    hosts.wait()
    began = datetime.now(UTC)
    try:
        with hosts.client() as client:
            late = [clock - time.time() > 80_000 for clock in client.run(time.time).values()]
        said = perf(
            "check",
            *versions,
            "--measure",
            "-n",
            "8",
            "--seed",
            "7",
            *hosts.options,
            "--json",
            code=3,
        )
    finally:
        end(ahead)
    assert sorted(late) == [False, False, False, True]
    found = profiles(project)
    assert len({one.environment.notes["worker"] for one in found}) == 4, "that host measured, too"
    for one in found:
        moments = [
            datetime.fromisoformat(moment)
            for moment in (one.collected.started, one.collected.ended)
        ]
        assert began - timedelta(seconds=1) < moments[0] <= moments[1] < datetime.now(UTC)
    (cost,) = [change for change in said.document["changes"] if change["metric"] == "cost"]
    assert (cost["word"], cost["executions"]) == ("degradation", [8, 8])
    assert 0.1 / 1.1 - 1e-9 < cost["effect"] < 0.1, (
        "each block has 0.1 more, whichever host measured it"
    )


def test_a_session_goes_on_after_its_client_was_killed(
    project: Project, perf: Perf, hosts: DaskCluster, versions: list[str], tmp_path: Path
) -> None:
    (tmp_path / "log").touch()
    (tmp_path / "gate").touch()
    command = [sys.executable, "-m", "perfvcs", "collect", *versions, *hosts.options]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as client:
        # four executions on three workers: a block is over
        while not any(project.root.glob(f".perf/{SESSIONS_FOLDER}/*.jsonl")):
            assert client.poll() is None
        kill(tmp_path, str(client.pid))
        client.communicate()
    assert client.returncode == -signal.SIGKILL
    perf("collect", "--continue", *hosts.options)
    assert blocks(project) == Counter(
        (version, block) for version in versions for block in range(4)
    )


def test_a_session_goes_on_after_its_scheduler_was_lost(
    project: Project, perf: Perf, hosts: DaskCluster, versions: list[str], tmp_path: Path
) -> None:
    with cluster(tmp_path / "short", 1) as short:
        (tmp_path / "log").touch()
        (tmp_path / "gate").touch()
        command = [sys.executable, "-m", "perfvcs", "collect", *versions, *short.options]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as client:
            while (tmp_path / "log").stat().st_size < 5:  # the third block has begun
                assert client.poll() is None
            kill(tmp_path, str(short.scheduler.pid))
            _, said = client.communicate()
    assert client.returncode == 5
    assert f"the scheduler at {short.address} is gone" in said
    assert "to measure the rest: perf collect --continue" in said
    before = blocks(project)
    assert 2 <= len(before) < 8
    assert all(before[versions[0], block] == before[versions[1], block] for block in range(4)), (
        "no half"
    )
    perf("collect", "--continue", *hosts.options)
    assert blocks(project) == Counter(
        (version, block) for version in versions for block in range(4)
    )


def test_a_program_that_waits_for_itself_is_ended_and_named() -> None:
    dead = "import threading; lock = threading.Lock(); lock.acquire(); lock.acquire()"
    with watching(0.3) as stall:
        done = subprocess.run(
            [sys.executable, "-S", "-c", dead], env={**os.environ, MARKER: "x"}, check=False
        )
    assert done.returncode == -signal.SIGKILL
    assert stall.said.startswith("stalled for 0.3 s, ended: ")
    assert "waits in futex" in stall.said


@pytest.mark.parametrize(
    "code",
    [
        "import time; time.sleep(1)",
        "import threading; threading.Event().wait(1)",
        "import os; os.read(0, 1)",
    ],
    ids=["a timer", "a lock with a time-out", "input"],
)
def test_a_program_that_waits_for_something_else_is_left_alone(code: str) -> None:
    with watching(0.2) as stall:
        done = subprocess.run(
            ["sh", "-c", 'sleep 1 | "$0" -S -c "$1"', sys.executable, code],
            env={**os.environ, MARKER: "x"},
            check=False,
        )
    assert (done.returncode, stall.said) == (0, "")


def test_two_clients_take_turns_on_a_host(tmp_path: Path) -> None:
    """Executions of two projects never overlap: the resource decides whose block is next."""
    with cluster(tmp_path / "one", 1) as one:
        clients = []
        for name in ("left", "right"):
            project = Project(tmp_path / name)
            project.write(
                "perf.toml",
                CONFIGURATION.replace("python3 -S -E bench.py", "sh bench.sh").replace(
                    "bench.py", "bench.sh"
                ),
            )
            project.write(
                "bench.sh",
                f"echo begin >> {tmp_path}/turns\nsleep 0.05\necho end >> {tmp_path}/turns\n",
            )
            version = project.commit(name)
            command = [
                sys.executable,
                "-m",
                "perfvcs",
                "collect",
                version,
                "-n",
                "2",
                "--json",
                *one.options,
            ]
            clients.append(subprocess.Popen(command, cwd=project.root, stdout=subprocess.PIPE))
        answers = [json.loads(client.communicate()[0]) for client in clients]
    assert [answer["stored"][0]["executions"] for answer in answers] == [2, 2]
    assert (tmp_path / "turns").read_text() == "begin\nend\n" * 4
