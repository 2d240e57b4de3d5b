"""Who can use what perf starts, or is told to use: nobody without its certificates, and what is
said of certificates that do not fit.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import clusters
import psutil
import pytest
from clusters import DaskCluster, cluster, in_fork, local_ssh
from conftest import ROOT, Perf, Project, lack
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import (
    SECP256R1,
    EllipticCurvePrivateKey,
    generate_private_key,
)
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from measuring_machines import MeasuringMachine
from waiting import PATIENCE_SECONDS, happens

from perfvcs.repository import Repository

pytestmark = pytest.mark.slow

Session = Callable[..., AbstractContextManager[subprocess.Popen[str]]]
ssh = pytest.fixture(local_ssh)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
WORKER = r"tls://127\.0\.0\.1:\d+"
# of the network that RFC 5737 keeps for examples: nobody is there
ELSEWHERE = "tcp://192.0.2.1:8786"
# As another user: asks whoever listens at each port who they are, and lets them make a file, with
# certificates of one's own and without.
ATTACK = """
import asyncio, os, sys
from distributed import Security
from distributed.core import rpc
from distributed.protocol.pickle import dumps
import logging; logging.getLogger("distributed").setLevel(50)
from perfvcs.hosts.tls import Pair
place, patience, addresses = sys.argv[1], float(sys.argv[2]), sys.argv[3:]
own = Pair.new().security()
os.setgroups([]); os.setgid(65534); os.setuid(65534)
async def attack(address, security, patience):
    async with rpc(address, timeout=patience, connection_args=security.get_connection_args("client")) as them:
        print(address, (await asyncio.wait_for(them.identity(), patience))["type"])
        for run in (them.run, them.run_function):
            function, arguments = dumps(os.mknod), dumps((place + "/" + address.rpartition("/")[2],))
            print(await asyncio.wait_for(run(function=function, args=arguments, wait=True), patience))
async def tried(address, scheme, *way):
    try:
        await attack(f"{scheme}://{address}", *way)
    except Exception as error:
        print(f"{address} {scheme}: {error!r}")
async def all():
    # who speaks TLS to one that does not waits in vain
    ways = (("tcp", Security(), patience), ("tls", own, 3))
    await asyncio.gather(*(tried(address, *way) for address in addresses for way in ways))
asyncio.run(all())
"""
# Waits until it is let go, and notes keys that others could read, and the processes whose words and
# variables it has seen.
BENCH = """
import glob, os, time
found, seen = [], b""
for path in glob.glob("/proc/[0-9]*/cmdline") + glob.glob("/proc/[0-9]*/environ"):
    try:
        content = open(path, "rb").read()
    except OSError:
        continue
    found += [path] if b"PRIVATE " + b"KEY" in content else []
    seen += content
open({place!r} + "/keys", "w").write(repr(found) + chr(10) + str(b"perfvcs" in seen and b"PERFVCS_SEED=" in seen))
open({place!r} + "/running", "w").close()
while not os.path.exists({place!r} + "/go"):
    time.sleep(0.02)
"""


@pytest.fixture
def session(project: Project, tmp_path: Path, ssh: Path) -> Session:
    """A session with a scheduler of perf's own, as a context: its process, while a host
    executes.
    """

    @contextmanager
    def begun(*words: str) -> Iterator[subprocess.Popen[str]]:
        project.configure(
            f'cmd = "{sys.executable} -S -E bench.py"', top='[hosts]\nssh = ["alpha"]'
        )
        project.commit("one", **{"bench.py": BENCH.format(place=str(tmp_path))})
        command = [sys.executable, "-m", "perfvcs", "collect", "--committed", "-n", "1", *words]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as client:
            try:
                assert happens(lambda: (tmp_path / "running").exists() or client.poll() is not None)
                yield client
            finally:
                (tmp_path / "go").touch()
            _, said = client.communicate()
        assert client.returncode == 0, said
        assert ssh.exists() == ("ssh" in words)

    return begun


def listening(process: psutil.Process) -> set[str]:
    """The addresses at which a process and all below it listen."""
    sockets = []
    for each in [process, *process.children(recursive=True)]:
        with suppress(psutil.NoSuchProcess):  # what measures comes and goes
            sockets += each.net_connections("inet")
    heard = [one.laddr for one in sockets if one.status == psutil.CONN_LISTEN]
    return {f"{'127.0.0.1' if one.ip in ('0.0.0.0', '::') else one.ip}:{one.port}" for one in heard}


def attacked(addresses: set[str], place: Path, patience: float = 3) -> tuple[str, set[str]]:
    """What somebody else heard at these addresses in that many seconds, and those that obeyed."""
    if os.getuid():
        lack("the right to become another user")
    place.mkdir()
    place.chmod(0o777)
    for above in place.parents:
        if not (mode := above.stat().st_mode) & 0o001:
            above.chmod(mode | 0o001)
    command = [sys.executable, "-c", ATTACK, str(place), str(patience), *addresses]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout, {path.name for path in place.iterdir()}


def by_http(address: str) -> bytes:
    """How an address answers to HTTP."""
    host, _, port = address.partition(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE_SECONDS) as there:
        there.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        try:
            return there.recv(100)
        except OSError:
            return b""


@pytest.mark.parametrize(("scheduler", "listeners"), [("local:2", 5), ("ssh", 3)])
def test_nobody_else_can_use_what_perf_starts(
    session: Session, tmp_path: Path, scheduler: str, listeners: int
) -> None:
    with session("--scheduler", scheduler) as client:
        addresses = listening(psutil.Process(client.pid))
        assert len(addresses) == listeners, (
            "the scheduler, and a worker and its nanny for each host: nothing for HTTP"
        )
        assert not any(b"HTTP" in by_http(address) for address in addresses)
        keys, seen = (tmp_path / "keys").read_text().splitlines()
        assert (keys, seen) == ("[]", "True"), "no key among the words and variables of any process"
        said, obeyed = attacked(addresses, tmp_path / "made")
        assert not obeyed, said
        assert said.count(" tcp: ") == said.count(" tls: ") == len(addresses), said


def test_whoever_reaches_a_scheduler_without_certificates_can_run_anything(tmp_path: Path) -> None:
    """So what does not happen above is not for want of trying."""
    with cluster(tmp_path / "plain", 1, "--protocol", "tcp") as plain:
        addresses = listening(psutil.Process(plain.scheduler.pid)) | listening(
            psutil.Process(plain.workers[0].pid)
        )
        said, obeyed = attacked(addresses, tmp_path / "made", patience=10)
        assert len(obeyed) == 2, said
        assert "Scheduler" in said and "Worker" in said
        assert any(b"HTTP" in by_http(address) for address in addresses)


def test_nobody_else_puts_modules_where_dask_looks(project: Project, tmp_path: Path) -> None:
    """Dask puts its folder, by default one in /tmp that anybody may have made before, in front of
    all modules.
    """
    project.configure("cmd = 'true'", top="")
    project.commit("one")
    theirs = tmp_path / "tmp" / "dask-scratch-space"
    theirs.mkdir(parents=True)
    # which Dask tries to import late
    for name in ("lz4", "snappy", "zstandard", "rmm", "cupy", "jupyter_server_proxy"):
        (theirs / f"{name}.py").write_text(
            f"open({str(tmp_path / 'obeyed')!r}, 'a').write(__name__)\nraise ImportError\n"
        )
    command = [sys.executable, "-m", "perfvcs", "collect", "-n", "1", "--scheduler", "local:1"]
    subprocess.run(
        command,
        check=True,
        capture_output=True,
        env={**os.environ, "TMPDIR": str(tmp_path / "tmp")},
    )
    assert not (tmp_path / "obeyed").exists()
    assert sorted(path.name for path in (tmp_path / "tmp").iterdir()) == ["dask-scratch-space"]


@pytest.mark.parametrize(
    "words",
    [
        ("collect", "--committed"),
        ("check", "HEAD~1", "HEAD", "--measure"),
        ("check", "--audit"),
        ("bisect", "HEAD~1"),
        ("hosts",),
        ("watch", "--once"),
    ],
    ids=["collect", "check", "audit", "bisect", "hosts", "watch"],
)
def test_every_command_refuses_a_scheduler_without_certificates_elsewhere(
    perf: Perf, tmp_path: Path, words: tuple[str, ...]
) -> None:
    machine = MeasuringMachine(tmp_path, perf)
    machine.push("two")
    Project(machine.clone).git("pull", "--quiet")
    Repository.find(machine.clone, create=True)
    said = machine.run("-C", str(machine.clone), *words, "--scheduler", ELSEWHERE, code=None)
    why = (
        "has no encryption, so whoever reaches it can run programs as you, on the workers and here"
    )
    cure = "start it with certificates and write tls://, or accept that with --insecure"
    assert f"{ELSEWHERE} {why}: {cure}\n" in said.err
    assert said.code == 2 or words[0] == "watch", "which tries again"
    assert len(said.err.splitlines()) == 1
    for option in ("--insecure", "--tls-ca=x"):
        assert (
            "--insecure go with --scheduler"
            in machine.run("-C", str(machine.clone), *words, option, code=2).err
        )


def test_a_scheduler_at_loopback_that_others_reach_elsewhere(
    project: Project, perf: Perf, tmp_path: Path
) -> None:
    project.configure("cmd = 'true'")
    project.commit("one")
    with cluster(tmp_path / "plain", 1, "--protocol", "tcp", "--host", "0.0.0.0") as plain:
        here = f"tcp://127.0.0.1:{plain.address.rpartition(':')[2]}"
        said = in_fork(perf, "collect", "--scheduler", here)
        assert (
            f"the scheduler at {here}, which listens at {plain.address}, has no encryption"
            in said.err
        )
        assert "stored 1 profile" in perf("collect", "--scheduler", here, "--insecure").out


def test_a_scheduler_without_certificates_here_is_used_with_a_note(
    project: Project, perf: Perf, tmp_path: Path
) -> None:
    project.configure("cmd = 'true'")
    project.commit("one")
    with cluster(tmp_path / "plain", 1, "--protocol", "tcp") as plain:
        note = (
            f"note: {plain.address} has no certificates, so other users of this machine can run"
            " programs as you\n"
        )
        assert note in perf("collect", "--scheduler", plain.address).err
        assert "note" not in perf("collect", "--scheduler", plain.address, "--insecure").err
        assert (
            "would not use these certificates: write tls://"
            in in_fork(perf, "collect", "--scheduler", plain.address, "--tls-ca", "x").err
        )


class Authority:
    """Certificates of the hosts of one scheduler, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.key = folder, generate_private_key(SECP256R1())
        folder.mkdir()
        self.name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "authority")])
        self.ca = self._made("ca", self.key, -DAY, 900 * DAY, authority=True)

    def _made(
        self,
        name: str,
        key: EllipticCurvePrivateKey,
        begin: timedelta,
        end: timedelta,
        *,
        authority: bool,
    ) -> Path:
        now = datetime.now(UTC)
        who = (
            self.name
            if authority
            else x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        )
        cert = x509.CertificateBuilder(
            self.name, who, key.public_key(), x509.random_serial_number()
        )
        cert = cert.not_valid_before(now + begin).not_valid_after(now + end)
        cert = cert.add_extension(
            x509.BasicConstraints(ca=authority, path_length=None), critical=True
        )
        (path := self.folder / f"{name}.pem").write_bytes(
            cert.sign(self.key, SHA256()).public_bytes(Encoding.PEM)
        )
        return path

    def dask(
        self, name: str, begin: timedelta = -DAY, end: timedelta = 900 * DAY
    ) -> tuple[str, ...]:
        """The options of Dask with a new certificate, valid from and to so long from now."""
        key = generate_private_key(SECP256R1())
        cert = self._made(name, key, begin, end, authority=False)
        secret = self.folder / f"{name}.key"
        secret.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        return (
            "--protocol",
            "tls",
            "--tls-ca-file",
            str(self.ca),
            "--tls-cert",
            str(cert),
            "--tls-key",
            str(secret),
        )

    def perf(
        self, name: str, begin: timedelta = -DAY, end: timedelta = 900 * DAY
    ) -> tuple[str, ...]:
        """The options of perf with a new certificate."""
        return tuple(word.replace("-ca-file", "-ca") for word in self.dask(name, begin, end)[2:])


@pytest.fixture
def authority(project: Project, tmp_path: Path) -> Authority:
    """An authority beside a project with a job."""
    project.configure("cmd = 'true'")
    project.commit("one")
    return Authority(tmp_path / "certificates")


def refused(perf: Perf, *words: str) -> str:
    """Why nothing is measured, in one line."""
    said = in_fork(perf, "collect", *words)
    assert len(said.err.splitlines()) == 1, said.err
    return said.err


def test_certificates_that_are_not_valid_now(
    perf: Perf, authority: Authority, tmp_path: Path
) -> None:
    nobody = ("--scheduler", "tls://192.0.2.1:8786")  # is not even asked
    assert re.search(
        r"old.pem expired on 20\d\d-.* UTC: make new",
        refused(perf, *nobody, *authority.perf("old", end=-HOUR)),
    )
    early = refused(perf, *nobody, *authority.perf("early", begin=HOUR))
    assert re.search(
        r"early.pem is not valid before .* UTC, and the clock here says .*: set the clocks of all"
        r" machines",
        early,
    )
    keys = authority.perf("good")
    assert "has no certificate in it: correct the path" in refused(
        perf, *nobody, *keys[:3], keys[5], *keys[4:]
    )
    for name, begin, end, reason in (
        ("old", -DAY, -HOUR, "or its authority's, has expired: make new ones, and start it again"),
        ("early", HOUR, DAY, "or its authority's, is not valid yet, and the clock here says 20"),
    ):
        with cluster(tmp_path / name, 0, *authority.dask(name, begin, end)) as theirs:
            assert reason in refused(perf, "--scheduler", theirs.address, *keys)


# Adds the seconds in a file to the clock, for everything in a process.
CLOCK = """
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static long shift(void) {
    long seconds = 0;
    FILE *file = fopen(getenv("CLOCK_SHIFT"), "r");
    if (file) { if (fscanf(file, "%ld", &seconds) != 1) seconds = 0; fclose(file); }
    return seconds;
}
int clock_gettime(clockid_t which, struct timespec *now) {
    int failed = syscall(SYS_clock_gettime, which, now);
    if (!failed && which == CLOCK_REALTIME) now->tv_sec += shift();
    return failed;
}
int gettimeofday(struct timeval *now, void *zone) {
    int failed = syscall(SYS_gettimeofday, now, zone);
    now->tv_sec += shift();
    return failed;
}
time_t time(time_t *now) {
    struct timespec seen;
    clock_gettime(CLOCK_REALTIME, &seen);
    if (now) *now = seen.tv_sec;
    return seen.tv_sec;
}
"""


@pytest.fixture
def clock(tmp_path: Path) -> dict[str, str]:
    """The environment of a process whose clock is ahead by what the file ``CLOCK_SHIFT`` says."""
    (tmp_path / "clock.c").write_text(CLOCK)
    shim = tmp_path / "clock.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", shim, tmp_path / "clock.c"], check=True)
    (tmp_path / "shift").write_text("0")
    return {"LD_PRELOAD": str(shim), "CLOCK_SHIFT": str(tmp_path / "shift")}


def test_a_host_whose_certificate_has_expired_is_not_let_in(
    perf: Perf, authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("perfvcs.hosts.connection.ANSWER", 3.0)
    with cluster(tmp_path / "theirs", 0, *authority.dask("scheduler")) as theirs:
        options = ("--scheduler", theirs.address, *authority.perf("client"))
        theirs.words = authority.dask("old", end=-HOUR)
        theirs.add(env={"XDG_CACHE_HOME": str(tmp_path / "other")})
        assert "has no workers" in (said := refused(perf, *options))
        assert "the log of one that is not let in says why" in said
        theirs.words = authority.dask("good")
        theirs.add()
        assert happens(lambda: "stored 1 profile" in perf("collect", *options, code=None).out)


@pytest.mark.needs("gcc")
def test_a_worker_whose_certificate_expires_is_named(
    perf: Perf, authority: Authority, tmp_path: Path, clock: dict[str, str]
) -> None:
    """While it is connected, as its scheduler sees it."""
    with pytest.MonkeyPatch.context() as there:
        for name, value in {**clock, "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "null"}.items():
            there.setenv(name, value)
        theirs = DaskCluster(tmp_path / "theirs", *authority.dask("scheduler"))
    try:
        theirs.words = authority.dask("brief", end=30 * DAY)
        options = ("--scheduler", theirs.address, *authority.perf("client"))
        theirs.add()
        theirs.wait()  # for it to come; its scheduler has not gone to it yet
        Path(clock["CLOCK_SHIFT"]).write_text(str(60 * 86400))
        expired = (
            f"the worker {WORKER} has a certificate that the scheduler does not accept, or that has"
            " expired: make new ones"
        )
        assert re.search(expired, refused(perf, *options))
        theirs.words = authority.dask("good")
        theirs.add(env={"XDG_CACHE_HOME": str(tmp_path / "other")})
        assert happens(lambda: "stored 1 profile" in perf("collect", *options, code=None).out)
    finally:
        theirs.close()


@pytest.mark.needs("gcc")
@pytest.mark.parametrize("shift", [-3600, 3600], ids=["behind", "ahead"])
def test_clocks_an_hour_apart(
    session: Session, ssh: Path, clock: dict[str, str], shift: int
) -> None:
    """Certificates that perf makes for a command are valid on a host all the same."""
    Path(clock["CLOCK_SHIFT"]).write_text(str(shift))
    variables = "".join(f"export {name}='{value}'\n" for name, value in clock.items())
    (ssh.parent / "alpha").write_text(f"{variables}date +%s >'{ssh.parent}/date'\n")
    with session("--scheduler", "ssh"):
        assert abs(int((ssh.parent / "date").read_text()) - time.time() - shift) < 300


@pytest.mark.needs("openssl")
def test_who_follows_the_page_on_hosts_ends_up_with_certificates(
    project: Project, perf: Perf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its lines as they are, but at a port of this machine."""
    page = (ROOT / "docs" / "hosts.md").read_text().replace("\\\n", "")
    openssl, variable, scheduler, worker = (
        re.findall(rf"^\$ ({begin}.*)$", page, re.M)[0]
        for begin in ("openssl", "export DASK", "dask scheduler", "dask worker")
    )
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    subprocess.run(openssl, shell=True, check=True, capture_output=True)
    assert (tmp_path / "perf.key").stat().st_mode & 0o077 == 0
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    started = [
        f"{scheduler} --host 127.0.0.1 --port {address.rpartition(':')[2]}",
        f"{worker.replace('scheduler:8786', address)} --host 127.0.0.1",
    ]
    with ExitStack() as stack:
        servers = [stack.enter_context(running(f"{variable}; exec {line}")) for line in started]
        certificates = [
            f"--tls-{name}={tmp_path}/perf.{end}"
            for name, end in (("ca", "pem"), ("cert", "pem"), ("key", "key"))
        ]
        project.configure("cmd = 'true'")
        project.commit("one")
        monkeypatch.chdir(project.root)
        words = ("collect", "--scheduler", f"tls://{address}", *certificates)
        assert happens(lambda: "stored 1 profile" in perf(*words, code=None).out)
        addresses = set[str]().union(*map(listening, servers))
        assert len(addresses) == 3, "the scheduler, the worker and its nanny: nothing for HTTP"
        said, obeyed = attacked(addresses, tmp_path / "made")
        assert not obeyed, said
    assert (tmp_path / "home" / ".cache" / "perfvcs" / "dask" / "dask-scratch-space").is_dir()


@contextmanager
def running(line: str) -> Iterator[psutil.Process]:
    """A command line, while it runs."""
    with subprocess.Popen(["sh", "-c", line], stderr=subprocess.DEVNULL) as process:
        try:
            yield psutil.Process(process.pid)
        finally:
            clusters.end(process)
