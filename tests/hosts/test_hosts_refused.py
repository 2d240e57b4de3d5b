"""Schedulers and workers with which nothing is measured: one line each, with the cure."""

from __future__ import annotations

import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import distributed
import pytest
from clusters import DaskCluster, cluster, end, in_fork, local_ssh
from conftest import Perf, Project, need

import perfvcs
from perfvcs.hosts.cluster import HostsLost
from perfvcs.hosts.started import through_ssh
from perfvcs.hosts.tls import Unusable
from perfvcs.hosts.wire import ParcelFile, encode, lay_out, parcel
from perfvcs.jobs.config import HostsTable


def answer_within(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Schedulers and workers have so long to answer."""
    for module in ("connection", "cluster"):
        monkeypatch.setattr(f"perfvcs.hosts.{module}.ANSWER", seconds)


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskCluster]:
    """A scheduler without workers."""
    with cluster(tmp_path_factory.mktemp("empty"), 0) as found:
        yield found


ssh = pytest.fixture(local_ssh)


@pytest.fixture
def job(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project with a job, and no patience."""
    answer_within(monkeypatch, 1.0)
    project.configure("cmd = 'true'")
    project.commit("one")
    return project


def refused(perf: Perf, scheduler: str, *words: str) -> str:
    said = in_fork(perf, "collect", "--committed", "--scheduler", scheduler, *words)
    assert len(said.err.splitlines()) == 1, said.err
    return said.err


@pytest.mark.parametrize(
    "scheduler",
    [
        "here",
        "local:0",
        "local:x",
        "http://localhost:1",
        "tcp://host",
        "tcp://host:port",
        "tcp://host:65536",
        "tcp://:1",
    ],
)
@pytest.mark.usefixtures("job")
def test_what_is_not_a_scheduler(perf: Perf, scheduler: str) -> None:
    assert f"`{scheduler}` is not a scheduler: write tls://HOST:8786" in refused(perf, scheduler)


@pytest.mark.usefixtures("job")
def test_too_many_local_workers(perf: Perf) -> None:
    assert "local:999 would start 999 workers on this machine: at most 64" in refused(
        perf, "local:999"
    )


@pytest.mark.usefixtures("job")
def test_ssh_without_hosts(perf: Perf) -> None:
    assert 'needs hosts in perf.toml: [hosts] ssh = ["name1", "name2"]' in refused(perf, "ssh")


@pytest.mark.parametrize(
    ("host", "reason"),
    [
        ("nowhere", "ssh: Could not resolve hostname nowhere: Name or service not known"),
        ("silent", "no answer within 1 s"),
        ("broken", "sh: 1: exec: /opt/python: not found"),
    ],
    ids=["unknown", "silent", "broken"],
)
def test_a_host_that_ssh_does_not_reach(
    job: Project, perf: Perf, ssh: Path, host: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("perfvcs.hosts.started.STARTED", 1.0 if host == "silent" else 60.0)
    monkeypatch.setattr("perfvcs.hosts.started.ENDED", 0.1)
    job.configure("cmd = 'true'", top=f'[hosts]\npython = "exec /opt/python"\nssh = ["{host}"]')
    works = f"see that `ssh {host} exec /opt/python -m perfvcs --version` works"
    assert refused(perf, "ssh") == f"perf: [hosts] ssh of perf.toml: {reason}: {works}\n"
    assert ssh.read_text() == f"{host} exec /opt/python -m perfvcs.hosts.started\n"


@pytest.mark.usefixtures("job")
def test_ssh_that_is_not_installed(
    job: Project, perf: Perf, monkeypatch: pytest.MonkeyPatch
) -> None:
    job.configure("cmd = 'true'", top='[hosts]\nssh = ["alpha"]')
    monkeypatch.setattr("perfvcs.hosts.started.SSH", ("no-ssh-here", "--"))
    assert "needs the program ssh: install OpenSSH" in refused(perf, "ssh")


@pytest.mark.parametrize("name", ["", "two words", "ada@"])
def test_what_does_not_name_a_host(name: str) -> None:
    with (
        pytest.raises(Unusable, match=f'`{name}` does not name a host: write "beta"'),
        through_ssh(HostsTable(ssh=(name,))),
    ):
        pass


@pytest.mark.usefixtures("job")
def test_a_scheduler_that_does_not_answer(perf: Perf) -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        address = f"tcp://127.0.0.1:{deaf.getsockname()[1]}"
        assert f"no scheduler answers at {address} within 1 s: check the address" in refused(
            perf, address
        )


def test_a_scheduler_and_its_workers_are_as_they_must_be(
    job: Project, perf: Perf, empty: DaskCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All on one scheduler, since starting one takes longest."""
    assert (
        f"has no workers: start one on each host: `dask worker {empty.address} --nthreads 1"
        in refused(perf, *empty.options[1:])
    )
    answer_within(monkeypatch, 60.0)
    for options, reason in (
        (
            ("--nthreads", "2", "--resources", "perfvcs=1"),
            "has 2 threads, so that blocks would disturb each other: start one per host",
        ),
        (
            ("--nthreads", "1"),
            (
                "does not have the resource perfvcs=1, which makes a host exclusive: start one per"
                " host"
            ),
        ),
    ):
        worker = empty.add(*options)
        assert reason in refused(perf, *empty.options[1:])
        end(worker)
    worker = empty.add(env={"XDG_CACHE_HOME": str(tmp_path / "one")})
    job.write("uncommitted", "x")
    said = in_fork(perf, "collect", *empty.options)
    assert (
        "has changes that are not committed, which do not travel to hosts: commit them" in said.err
    )
    there = perfvcs.__version__
    with monkeypatch.context() as other:
        other.setattr(perfvcs, "__version__", "9.9")
        assert f"has perfvcs {there}: install perfvcs 9.9 there" in refused(
            perf, *empty.options[1:]
        )
        other.undo()
        other.setattr("perfvcs.hosts.cluster.version", lambda _: "1.2.3")
        other.setattr(distributed, "__version__", "1.2.3")  # of which Dask warns in ten lines
        assert "and here is 1.2.3: install the same everywhere" in refused(perf, *empty.options[1:])
    with monkeypatch.context() as other:
        answer_within(other, 3.0)
        worker.send_signal(signal.SIGSTOP)
        assert "does not answer within 3 s: start it again" in refused(perf, *empty.options[1:])
        worker.send_signal(signal.SIGCONT)
    # sees nobody else there, so it takes the host's name, too
    twin = empty.add(env={"XDG_CACHE_HOME": str(tmp_path / "two")})
    empty.wait()
    assert (
        f"are both on a host called {socket.gethostname()}: give each host its own name"
        in refused(perf, *empty.options[1:])
    )
    end(twin)
    end(worker)


def test_certificates(
    job: Project, perf: Perf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need("openssl")
    assert "tls:// needs certificates" in refused(perf, "tls://127.0.0.1:1")
    assert "--tls-ca is missing" in refused(
        perf, "tls://127.0.0.1:1", "--tls-cert", "x", "--tls-key", "y"
    )
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
        answer_within(monkeypatch, 5.0)
        wrong = refused(
            perf, secret.address, "--tls-ca", str(tmp_path / "theirs.pem"), *options["theirs"]
        )
        assert "does not accept these certificates" in wrong
        answer_within(monkeypatch, 10.0)
        right = refused(
            perf, secret.address, "--tls-ca", str(tmp_path / "ours.pem"), *options["ours"]
        )
        assert "has no workers" in right
        assert "closes the connection: check the address, and write tls://" in refused(
            perf, secret.address.replace("tls", "tcp")
        )
    assert "--tls-ca: / cannot be read" in refused(
        perf, secret.address, "--tls-ca", "/", *options["ours"]
    )
    assert "--tls-ca: nowhere cannot be read" in refused(
        perf, secret.address, "--tls-ca", "nowhere", *options["ours"]
    )
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
        top=(
            'env = { URL = "https://geheim-geheim@host", KIND = "x" }\n[hosts]\nvariables ='
            ' ["REMOTE", "GITHUB_TOKEN"]'
        ),
    )
    commit = project.commit("one")
    config = load(project.root / "perf.toml")
    found = GitProject.find(project.root)
    sites = Sites(found, project.root / ".perf", config, matrix(config), [Version(commit)], Knobs())
    sent = parcel(sites, Identity.new(1), 60)
    assert b"geheim" not in encode(sent)
    assert sent.environment["CFLAGS"] == "-O2"
    assert dict(sent.config.env) == {"KIND": "x"}


def test_a_lost_scheduler_has_the_exit_code_of_what_was_not_measured() -> None:
    assert HostsLost.exit_code == 5
