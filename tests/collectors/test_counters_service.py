"""The ``counters`` collector with a service: started, ready, sampled under load, stopped, and every
way in which that goes wrong.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from cases import each
from conftest import ROOT, processes_in
from sampling import Sampling
from test_counters import samples, total

from perfvcs import launcher, plugins
from perfvcs.collectors.counters import Counters
from perfvcs.collectors.counters.service import Service, is_open
from perfvcs.errors import UsageError
from perfvcs.plugins.collector import CollectError, Observations, Run

pytestmark = pytest.mark.needs("cc")

# An echo on a port: `server.py PORT [HOW]`
SERVER = """
import os, signal, socket, subprocess, sys, time
how = sys.argv[2] if len(sys.argv) > 2 else ""
if how == "stubborn": signal.signal(signal.SIGTERM, signal.SIG_IGN)
else: signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
if how == "daemons": subprocess.Popen(["setsid", "sleep", "951.5"])
if how == "late": time.sleep(0.5)
if how == "breaks": sys.exit("no database")
if how == "background" and os.fork(): os._exit(0)
if how == "silent": time.sleep(951.5)
memory = bytearray(b"x" * (48 << 20))
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("starting ...", flush=True)
print("ready to serve", file=sys.stderr, flush=True)
while True:
    connection = server.accept()[0]
    said = connection.recv(100)
    if said == b"die": os.kill(os.getpid(), signal.SIGSEGV)
    if said == b"work": sum(range(3_000_000))
    connection.sendall(said)
    connection.close()
"""
# Asks some times: `load.py PORT TIMES WORD [sampled|hang]`; waits until it is sampled, or for long
LOAD = """
import socket, sys, time
for _ in range(int(sys.argv[2])):
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as connection:
        connection.sendall(sys.argv[3].encode())
        connection.recv(100)
    time.sleep(0.02)
if "sampled" in sys.argv: sampled(2)
if "hang" in sys.argv: time.sleep(952.5)
"""


@pytest.fixture
def sampling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sampling:
    return Sampling(tmp_path, monkeypatch)


@pytest.fixture
def run(tmp_path: Path, sampling: Sampling) -> Callable[..., Run]:
    """A prepared load on the server, which is in the folder."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    (tmp_path / "server.py").write_text(SERVER)
    (tmp_path / "load.py").write_text(sampling.waits + LOAD)

    def prepare(*words: str, **fields: object) -> Run:
        argv = (sys.executable, "-S", "load.py", "{port}", *(words or ("10", "hello")))
        env = {
            "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        return replace(Run(argv, tmp_path, env, scratch, "whole", timeout=300.0), **fields)  # type: ignore[arg-type]

    return prepare


@pytest.fixture(autouse=True)
def nothing_left(tmp_path: Path) -> Iterator[None]:
    """Whatever happens, no process and no thread of ours stays."""
    yield
    assert not processes_in(tmp_path)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("perfvcs")]


def counting(how: str = "", **fields: object) -> Counters:
    options: dict[str, object] = {"port": 0, "within": 60.0} | fields
    return Counters(
        interval=0.05,
        events=True,
        service=Service(cmd=f"python -S server.py {{port}} {how}".strip(), **options),
    )  # type: ignore[arg-type]


def doubts(found: Observations) -> list[str]:
    """The warnings, without those of few samples: a busy machine gives a sampler few turns."""
    return [
        warning
        for warning in found.warnings
        if not re.match(
            r"it ended after \d+ samples?: |it has too many processes to be sa", warning
        )
    ]


@pytest.mark.slow
def test_the_service_is_sampled_while_the_load_asks_it(
    run: Callable[..., Run], sampling: Sampling
) -> None:
    found = counting().collect(run("15", "work", "sampled"))
    assert doubts(found) == []
    assert found.metrics.keys() == counting().metrics.keys() >= {"startup"}
    assert set(samples(found, "processes")) == {1.0}, (
        "neither the load nor its launcher belongs to the service"
    )
    assert min(samples(found, "rss_anon")) > 48 << 20, (
        "the server was ready before the first sample"
    )
    assert 0.3 < total(found, "wall") < 300
    assert (
        total(found, "cpu") > 0.1
        and total(found, "startup") > 0
        and total(found, "maxrss") > 48 << 20
    )
    assert sampling.used(samples(found, "cpu_use")) == pytest.approx(total(found, "cpu"), rel=0.2)


@pytest.mark.slow
def test_the_cpu_time_is_that_of_the_load_and_not_of_the_start(
    run: Callable[..., Run], tmp_path: Path
) -> None:
    (tmp_path / "server.py").write_text(f"sum(range(100_000_000))\n{SERVER}")
    found = counting().collect(run("5", "hello"))
    assert total(found, "startup") > 0.3 > total(found, "cpu")


def test_what_is_not_sampled_counts_all_the_same(run: Callable[..., Run]) -> None:
    found = replace(counting(), skip=20.0).collect(run("10", "work"))
    assert total(found, "cpu") > 0.1 and not samples(found, "rss")


@pytest.mark.slow
@pytest.mark.parametrize("how", ["", "late"])
@pytest.mark.parametrize(
    "ready",
    [
        {"port": 0},
        {"port": 0, "line": "ready to"},
        {
            "port": 0,
            "ready": (
                "python -S -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}))'"
            ),
        },
    ],
    ids=["port", "line", "command"],
)
def test_it_is_ready_by_port_line_or_command(
    run: Callable[..., Run], ready: dict[str, object], how: str
) -> None:
    assert total(counting(how, **ready).collect(run()), "startup") > (0.5 if how else 0.0)


@pytest.mark.slow
def test_without_a_port_nothing_is_filled_in(
    run: Callable[..., Run], tmp_path: Path, sampling: Sampling
) -> None:
    (tmp_path / "server.py").write_text(
        "import signal\nprint('up {port}', flush=True)\nsignal.pause()\n"
    )
    service = Service(cmd="python -S server.py", line="up {port}", stop="INT", patience=60.0)
    load = "assert '{port}' == '{' 'port}'\nsampled(2)"
    found = Counters(interval=0.05, service=service).collect(
        run(argv=(sys.executable, "-S", "-c", sampling.waits + load))
    )
    assert samples(found, "rss") and doubts(found) == []


def test_a_long_line_without_an_end_is_searched_too(
    run: Callable[..., Run], tmp_path: Path
) -> None:
    parts = (
        "for part in ('x' * 200_000, 're', 'ady'):\n    print(part, end='', flush=True);"
        " time.sleep(0.1)"
    )
    (tmp_path / "server.py").write_text(f"import signal, time\n{parts}\nsignal.pause()\n")
    service = Service(cmd="python -S server.py", line="ready")
    assert (
        Counters(interval=0.05, service=service).collect(run(argv=("/bin/sleep", "0.2"))).uid[0]
        == "whole"
    )


# What goes wrong with the service


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        (
            "breaks",
            (
                r"the service ended before it was ready: .*server\.py \d+ breaks exited with status"
                r" 1: no database"
            ),
        ),
        (
            "background",
            (
                r"ended before it was ready: .* exited with status 0: keep it in the foreground"
                r" \(no daemon"
            ),
        ),
    ],
)
def test_a_service_that_does_not_start_is_named_with_what_it_said(
    run: Callable[..., Run], how: str, reason: str
) -> None:
    with pytest.raises(CollectError, match=reason) as caught:
        counting(how).collect(run())
    assert "\n" not in str(caught.value) and caught.value.exit_code == 5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        (
            {},
            (
                r"nothing listens on port \d+: give it more time \(`within`\), or correct what"
                r" shows that it is ready: it wrote nothing"
            ),
        ),
        ({"port": None, "line": "hello"}, "no line of its output has 'hello'"),
        (
            {"port": None, "ready": "sh -c 'echo not yet >&2; exit 1'", "within": 5},
            "exited with status 1: not yet",
        ),
    ],
)
def test_a_service_that_is_never_ready_is_stopped(
    run: Callable[..., Run], fields: dict[str, object], reason: str
) -> None:
    service = Service(cmd="python -S server.py 0 silent", **({"port": 0, "within": 2} | fields))  # type: ignore[arg-type]
    with pytest.raises(CollectError, match=rf"was not ready within [25] s: .*{reason}"):
        Counters(service=service).collect(run())


def test_a_service_that_dies_under_load_stops_the_load(run: Callable[..., Run]) -> None:
    with pytest.raises(
        CollectError,
        match=(
            r"the service ended before it was stopped: .* was killed by SIGSEGV: .*ready to serve"
        ),
    ) as caught:
        counting().collect(run("1", "die", "hang"))
    of_the_load = str(caught.value.__context__)
    assert "hang" in of_the_load and "time-out" not in of_the_load


def test_a_service_that_ignores_its_signal_is_killed_and_that_is_reported(
    run: Callable[..., Run],
) -> None:
    found = counting("stubborn", patience=0.3).collect(run())
    (warning,) = [text for text in found.warnings if "signal" in text]
    assert re.search(
        r"did not end within 0\.3 s of SIGTERM and was killed: give it more time \(`patience`\), or"
        r" another",
        warning,
    )
    assert total(found, "wall") > 0


def test_daemons_that_a_service_leaves_are_stopped_and_reported(run: Callable[..., Run]) -> None:
    found = counting("daemons").collect(run("10", "hello", "sampled"))
    assert any(
        "the service left 1 process(es) running, which perf stopped: have it wait" in text
        for text in found.warnings
    )
    assert max(samples(found, "processes")) == 2


def test_a_port_that_somebody_has_is_an_error_before_anything_starts(
    run: Callable[..., Run],
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(
            CollectError,
            match=(
                f"port {port} is already in use, .*: stop the program that listens there, or give"
                " port = 0"
            ),
        ):
            counting(port=port).collect(run())


@pytest.mark.parametrize(
    ("cmd", "reason"),
    [
        ("no-such-program --x", "`no-such-program` is not on PATH: install it"),
        ("./missing", "there is no file .*missing: build it first"),
    ],
)
def test_a_service_that_cannot_be_started_is_named(
    run: Callable[..., Run], cmd: str, reason: str
) -> None:
    with pytest.raises(CollectError, match=reason):
        Counters(service=Service(cmd=cmd, port=0)).collect(run())


# What goes wrong with the load


def test_a_load_that_fails_is_named_and_the_service_stopped(run: Callable[..., Run]) -> None:
    with pytest.raises(CollectError, match=r"exited with status 7: no customers"):
        counting().collect(run(argv=("/bin/sh", "-c", "echo no customers >&2; exit 7")))


@pytest.mark.slow
def test_a_load_that_hangs_is_stopped_with_the_service(run: Callable[..., Run]) -> None:
    with pytest.raises(
        CollectError, match=r"load\.py \d+ 1 hello hang was stopped after its time-out of 0\.8 s"
    ):
        counting().collect(run("1", "hello", "hang", timeout=0.8))


@pytest.mark.slow
def test_ctrl_c_stops_both_at_once(run: Callable[..., Run]) -> None:
    timer = threading.Timer(1.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        counting("stubborn", patience=600.0).collect(run("1", "hello", "hang"))
    assert time.monotonic() - began < 300, "it did not wait for the service's patience"
    timer.join()


def test_ctrl_c_before_it_is_ready_stops_it_too(run: Callable[..., Run]) -> None:
    timer = threading.Timer(0.6, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        counting("silent").collect(run())
    timer.join()


def test_without_a_compiler_it_works_too(
    run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared = run("1", "die", "hang")
    monkeypatch.setattr(
        launcher, "_prepared", lambda: (None, "times are taken from Python: there is no C compiler")
    )
    sampled = counting().collect(run("10", "hello", "sampled"))
    assert min(samples(sampled, "rss")) > 48 << 20
    with pytest.raises(
        CollectError, match=r"the service ended before it was stopped: .* was killed by SIGSEGV"
    ):
        counting().collect(prepared)


# Its table in perf.toml


@each(
    "fields message",
    [
        ({"cmd": ""}, "cmd names no program: write"),
        (
            {"cmd": "'", "port": 0},
            'cmd = "\'" cannot be split into words (no closing quotation): check its quotes',
        ),
        ({"ready": "'"}, 'ready = "\'" cannot be split'),
        ({}, "nothing says when it is ready: give `port`, `line` or `ready`"),
        ({"port": 65536}, "port is 65536: give 1 to 65535, or 0"),
        ({"port": -1}, "port is -1"),
        ({"cmd": "serve {port}", "line": "up"}, "{port} has no value: add `port = 0`"),
        ({"port": 0, "within": 0.0}, "within is 0.0: give a number of seconds above 0"),
        ({"port": 0, "patience": float("nan")}, "patience is nan: give"),
    ],
)
def test_a_service_that_cannot_be_is_refused(fields: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(f"service: {message}")):
        Service(**({"cmd": "serve"} | fields))  # type: ignore[arg-type]


def test_a_signal_that_services_are_not_stopped_by_is_refused() -> None:
    service = {"cmd": "serve", "port": 0, "stop": "KILL"}
    with pytest.raises(UsageError, match=r"service\.stop is 'KILL': give TERM, INT, HUP"):
        plugins.build("collectors", "counters", {"service": service}, "here")


def test_a_table_of_perf_toml_is_a_service(project, perf) -> None:  # type: ignore[no-untyped-def]
    project.write("server.py", SERVER)
    project.write("load.py", LOAD)
    table = (
        'collectors = [{ name = "counters", interval = 0.05, service = { cmd = "python3 server.py'
        ' {port}", port = 0 } }]'
    )
    project.configure(f'cmd = "python3 load.py {{port}} 15 work"\n{table}')
    project.commit()
    perf("init")
    assert "startup" in perf("collect").out
    assert "counters" in perf("check", "HEAD", "HEAD", code=None).out + perf("status").out
    project.configure(
        'cmd = "true"\ncollectors = [{ name = "counters", service = { cmd = "x", prot = 0 } }]'
    )
    assert "service has no key `prot`; did you mean `port`?" in perf("collect", code=2).err


def test_a_listening_port_is_seen_without_connecting() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert is_open(port)
    assert not is_open(port)


@pytest.mark.slow
def test_the_example_of_three_tiers_is_built_and_serves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, perf
) -> None:  # type: ignore[no-untyped-def]
    script = ROOT / "examples" / "tiers" / "build.py"
    shop = tmp_path / "shop"
    said = subprocess.run(
        [sys.executable, script, shop], capture_output=True, text=True, check=True
    ).stdout
    assert re.search(
        r"good \([0-9a-f]{12}\), same-1 to same-5, and memory, cpu, index, text, io", said
    )
    assert (
        subprocess.run(
            [sys.executable, script, shop], capture_output=True, text=True, check=False
        ).returncode
        == 1
    )
    monkeypatch.chdir(shop)
    config = (
        (shop / "perf.toml")
        .read_text()
        .replace("{port} 11", "{port} 1")
        .replace("skip = 1.0", "skip = 0.1")
    )
    (shop / "perf.toml").write_text(config.replace("interval = 0.5", "interval = 0.1"))
    perf("init")
    assert "startup" in perf("collect", "--executions", "1").out
