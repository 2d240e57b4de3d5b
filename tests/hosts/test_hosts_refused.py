"""Schedulers and workers with which nothing is measured: one line each, with the cure."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from pathlib import Path

import pytest
from clusters import DaskCluster, cluster, end
from conftest import Project, Said, need

import perfvcs
from perfvcs.hosts import cluster as connection
from perfvcs.hosts.cluster import HostsLost
from perfvcs.hosts.parcel import ParcelFile, lay_out, parcel

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


@pytest.mark.parametrize("scheduler", ["here", "local:0", "local:x", "http://localhost:1"])
@pytest.mark.usefixtures("job")
def test_what_is_not_a_scheduler(perf: Perf, scheduler: str) -> None:
    assert f"`{scheduler}` is not a scheduler: write tcp://HOST:8786" in refused(perf, scheduler)


@pytest.mark.usefixtures("job")
def test_too_many_local_workers(perf: Perf) -> None:
    assert "local:999 would start 999 workers on this machine: at most 64" in refused(perf, "local:999")


@pytest.mark.usefixtures("job")
def test_ssh_without_hosts(perf: Perf) -> None:
    assert 'needs hosts in perf.toml: [hosts] ssh = ["name1", "name2"]' in refused(perf, "ssh")


@pytest.mark.usefixtures("job")
def test_a_scheduler_that_does_not_answer(perf: Perf) -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        address = f"tcp://127.0.0.1:{deaf.getsockname()[1]}"
        assert f"no scheduler answers at {address} within 1 s: check the address" in refused(perf, address)


def test_a_scheduler_and_its_workers_are_as_they_must_be(
    job: Project, perf: Perf, empty: DaskCluster, monkeypatch: pytest.MonkeyPatch
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
    worker = empty.add()
    job.write("uncommitted", "x")
    said = in_fork(perf, "collect", "--scheduler", empty.address)
    assert "has changes that are not committed, which do not travel to hosts: commit them" in said.err
    with monkeypatch.context() as other:
        other.setattr(perfvcs, "__version__", "9.9")
        here = perfvcs.__version__
        assert "has perfvcs 0.2.0: install perfvcs 9.9 there" in refused(perf, empty.address), here
        other.undo()
        other.setattr(connection, "version", lambda _: "1.2.3")
        assert "and here is 1.2.3: install the same everywhere" in refused(perf, empty.address)


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
