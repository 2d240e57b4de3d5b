"""Schedulers and workers with which nothing is measured: one line each, with the cure."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from pathlib import Path

import distributed
import pytest
from clusters import DaskCluster, cluster, end
from conftest import Project, Said, need

import perfvcs
from perfvcs.hosts import cluster as connection
from perfvcs.hosts.cluster import HostsLost
from perfvcs.hosts.parcel import ParcelFile, lay_out, parcel
from perfvcs.hosts.started import Unusable, through_ssh
from perfvcs.jobs.config import HostsTable

Perf = Callable[..., Said]


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskCluster]:
    """A scheduler without workers."""
    with cluster(tmp_path_factory.mktemp("empty"), 0) as found:
        yield found


@pytest.fixture
def job(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project with a job, and no patience."""
    monkeypatch.setattr(connection, "ANSWER", 1.0)
    project.configure("cmd = 'true'")
    project.commit("one")
    return project


def in_fork(perf: Perf, *words: str) -> Said:
    """A command in a process of its own: what does not connect leaves threads of Dask behind, beside which nothing can fork."""
    here, there = get_context("fork").Pipe()
    process = get_context("fork").Process(target=lambda: there.send(perf(*words, code=None)))
    process.start()
    there.close()
    said: Said = here.recv()  # EOFError where it ended in a traceback
    process.join()
    assert said.code == 2, said
    return said


def refused(perf: Perf, scheduler: str, *words: str) -> str:
    said = in_fork(perf, "collect", "--committed", "--scheduler", scheduler, *words)
    assert len(said.err.splitlines()) == 1, said.err
    return said.err


@pytest.mark.parametrize(
    "scheduler",
    ["here", "local:0", "local:x", "http://localhost:1", "tcp://host", "tcp://host:port", "tcp://host:65536", "tcp://:1"],
)
@pytest.mark.usefixtures("job")
def test_what_is_not_a_scheduler(perf: Perf, scheduler: str) -> None:
    assert f"`{scheduler}` is not a scheduler: write tcp://HOST:8786" in refused(perf, scheduler)


@pytest.mark.usefixtures("job")
def test_too_many_local_workers(perf: Perf) -> None:
    assert "local:999 would start 999 workers on this machine: at most 64" in refused(perf, "local:999")


@pytest.mark.usefixtures("job")
def test_ssh_without_hosts(perf: Perf) -> None:
    assert 'needs hosts in perf.toml: [hosts] ssh = ["name1", "name2"]' in refused(perf, "ssh")


# in the place of asyncssh: notes what is asked of which host, and starts nothing
SSH = """
import asyncio, types
folder = {folder!r}
class Error(Exception):
    pass
class Connection:
    def __init__(self, host):
        self.host = host
    async def run(self, command):
        return types.SimpleNamespace(exit_status=0)
    async def create_process(self, command):
        with open(folder + "/log", "a") as log:
            log.write(self.host + " " + command + chr(10))
        stderr = asyncio.StreamReader()
        said = "worker at: here"
        if "Nanny" not in command:
            said = "" if self.host == "broken" else "Scheduler at: " + open(folder + "/scheduler").read()
        async def readline():
            return said
        return types.SimpleNamespace(stderr=types.SimpleNamespace(readline=readline), kill=lambda: None)
    def close(self):
        pass
async def connect(host, *, connect_timeout, username=""):
    if host == "nowhere":
        raise OSError("[Errno -2] Name or service not known")
    if host == "locked":
        raise Error("Permission denied for user " + username)
    if host == "silent":
        raise asyncio.TimeoutError
    return Connection(host)
"""


@pytest.fixture
def asyncssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a stand-in for the module; ``log`` in it has what was asked, ``scheduler`` where one is."""
    (tmp_path / "asyncssh.py").write_text(SSH.format(folder=str(tmp_path)))
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("host", "reason"),
    [
        ("nowhere", "[Errno -2] Name or service not known"),
        ("silent", "no answer within 10 s"),
        ("broken", "Worker failed to start"),
    ],
    ids=["unknown", "silent", "broken"],
)
@pytest.mark.usefixtures("asyncssh")
def test_a_host_that_ssh_does_not_reach(job: Project, perf: Perf, host: str, reason: str) -> None:
    job.configure("cmd = 'true'", top=f'[hosts]\npython = "/opt/python"\nssh = ["{host}"]')
    works = f"see that `ssh NAME /opt/python -m perfvcs --version` works for {host}"
    assert refused(perf, "ssh") == f"perf: [hosts] ssh of perf.toml: {reason}: {works}\n"


def test_ssh_starts_a_scheduler_on_the_first_host_and_a_worker_on_each(job: Project, perf: Perf, asyncssh: Path) -> None:
    with cluster(asyncssh / "ssh", 0) as other:
        (asyncssh / "scheduler").write_text(address := other.address)
        job.configure("cmd = 'true'", top='[hosts]\nssh = ["alpha", "ada@locked"]')
        assert "ssh of perf.toml: Permission denied for user ada: see that" in refused(perf, "ssh")
    scheduler, worker = (asyncssh / "log").read_text().splitlines()
    assert scheduler.startswith("alpha env ") and '"cls": "distributed.Scheduler"' in scheduler
    assert worker.startswith("alpha env ")
    assert f" {sys.executable} -m distributed.cli.dask_spec {address} --spec " in worker
    spec = json.loads(worker.partition("--spec ")[2].strip("'"))
    assert spec["0"]["opts"] == {"nthreads": 1, "resources": {"perfvcs": 1}}


@pytest.mark.parametrize("name", ["", "two words", "ada@"])
@pytest.mark.usefixtures("asyncssh")
def test_what_does_not_name_a_host(name: str) -> None:
    with pytest.raises(Unusable, match=f'`{name}` does not name a host: write "beta"'), through_ssh(HostsTable(ssh=(name,))):
        pass


@pytest.mark.usefixtures("job")
def test_a_scheduler_that_does_not_answer(perf: Perf) -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        address = f"tcp://127.0.0.1:{deaf.getsockname()[1]}"
        assert f"no scheduler answers at {address} within 1 s: check the address" in refused(perf, address)


def test_a_scheduler_and_its_workers_are_as_they_must_be(
    job: Project, perf: Perf, empty: DaskCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All on one scheduler, since starting one takes longest."""
    assert f"has no workers: start one on each host: `dask worker {empty.address} --nthreads 1" in refused(perf, empty.address)
    monkeypatch.setattr(connection, "ANSWER", 60.0)
    for options, reason in (
        (
            ("--nthreads", "2", "--resources", "perfvcs=1"),
            "has 2 threads, so that blocks would disturb each other: start one per host",
        ),
        (("--nthreads", "1"), "does not have the resource perfvcs=1, which makes a host exclusive: start one per host"),
    ):
        worker = empty.add(*options)
        assert reason in refused(perf, empty.address)
        end(worker)
    worker = empty.add(env={"XDG_CACHE_HOME": str(tmp_path / "one")})
    job.write("uncommitted", "x")
    said = in_fork(perf, "collect", "--scheduler", empty.address)
    assert "has changes that are not committed, which do not travel to hosts: commit them" in said.err
    with monkeypatch.context() as other:
        other.setattr(perfvcs, "__version__", "9.9")
        here = perfvcs.__version__
        assert "has perfvcs 0.2.0: install perfvcs 9.9 there" in refused(perf, empty.address), here
        other.undo()
        other.setattr(connection, "version", lambda _: "1.2.3")
        other.setattr(distributed, "__version__", "1.2.3")  # of which Dask warns in ten lines
        assert "and here is 1.2.3: install the same everywhere" in refused(perf, empty.address)
    with monkeypatch.context() as other:
        other.setattr(connection, "ANSWER", 3.0)
        worker.send_signal(signal.SIGSTOP)
        assert "does not answer within 3 s: start it again" in refused(perf, empty.address)
        worker.send_signal(signal.SIGCONT)
    twin = empty.add(env={"XDG_CACHE_HOME": str(tmp_path / "two")})  # sees nobody else there, so it takes the host's name, too
    empty.wait()
    assert f"are both on a host called {socket.gethostname()}: give each host its own name" in refused(perf, empty.address)
    end(twin)
    end(worker)


def test_certificates(job: Project, perf: Perf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need("openssl")
    assert "tls:// needs certificates" in refused(perf, "tls://127.0.0.1:1")
    assert "--tls-ca is missing" in refused(perf, "tls://127.0.0.1:1", "--tls-cert", "x", "--tls-key", "y")
    options = {}
    for name in ("ours", "theirs"):
        key, cert = tmp_path / f"{name}.key", tmp_path / f"{name}.pem"
        made = [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-subj",
            "/CN=x",
        ]
        subprocess.run([*made, "-keyout", key, "-out", cert], check=True, capture_output=True)
        options[name] = ["--tls-cert", str(cert), "--tls-key", str(key)]
    ca = ["--tls-ca-file", str(tmp_path / "ours.pem"), *options["ours"], "--protocol", "tls"]
    with cluster(tmp_path / "secret", 0, *ca) as secret:
        monkeypatch.setattr(connection, "ANSWER", 5.0)
        wrong = refused(perf, secret.address, "--tls-ca", str(tmp_path / "theirs.pem"), *options["theirs"])
        assert "does not accept these certificates" in wrong
        monkeypatch.setattr(connection, "ANSWER", 10.0)
        right = refused(perf, secret.address, "--tls-ca", str(tmp_path / "ours.pem"), *options["ours"])
        assert "has no workers" in right
        assert "closes the connection: check the address, and write tls://" in refused(perf, secret.address.replace("tls", "tcp"))
    assert "--tls-ca: / cannot be read" in refused(perf, secret.address, "--tls-ca", "/", *options["ours"])
    assert "--tls-ca: nowhere cannot be read" in refused(perf, secret.address, "--tls-ca", "nowhere", *options["ours"])
    assert "go with --scheduler" in perf("collect", "--tls-ca", "x", code=2).err
    assert job.root.is_dir()


@pytest.mark.parametrize("path", ["/etc/passwd", "../outside", ".git/config", ".perf/store"])
def test_an_overlay_stays_in_the_clone(tmp_path: Path, path: str) -> None:
    with pytest.raises(perfvcs.errors.UsageError, match="is not below the project's root"):
        lay_out([ParcelFile(path, 0o644, b"x")], tmp_path)


def test_tokens_do_not_travel(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    from perfvcs.environment import Knobs
    from perfvcs.git.project import Project as GitProject
    from perfvcs.jobs import matrix
    from perfvcs.jobs.config import load
    from perfvcs.measure.journal import Identity
    from perfvcs.measure.site import Version
    from perfvcs.measure.sites import Sites

    monkeypatch.setenv("GITHUB_TOKEN", "geheim-geheim")
    monkeypatch.setenv("CFLAGS", "-O2")
    monkeypatch.setenv("REMOTE", "https://geheim-geheim@host")
    project.configure(
        "cmd = 'true'",
        top='env = { URL = "https://geheim-geheim@host", KIND = "x" }\n[hosts]\nvariables = ["REMOTE", "GITHUB_TOKEN"]',
    )
    commit = project.commit("one")
    config = load(project.root / "perf.toml")
    found = GitProject.find(project.root)
    sites = Sites(found, project.root / ".perf", config, matrix(config), [Version(commit)], Knobs())
    sent = parcel(sites, Identity.new(1), 60)
    assert b"geheim" not in sent.encode()
    assert sent.environment["CFLAGS"] == "-O2"
    assert dict(sent.config.env) == {"KIND": "x"}


def test_a_lost_scheduler_has_the_exit_code_of_what_was_not_measured() -> None:
    assert HostsLost.exit_code == 5
