"""`perf blame` of a job that starts a service: the function of the service is named and proved by
its processor time.
"""

from __future__ import annotations

import pytest
from conftest import Perf, Project

SERVER = """import socket
import sys


def answer():
    total = 0
    for number in range({steps}):
        total += number
    return b"%d" % total


with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as listening:
    while True:
        asking, _ = listening.accept()
        with asking:
            asking.sendall(answer())
"""
LOAD = """import socket
import sys

for _ in range(40):
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as asked:
        asked.recv(100)
"""
CONFIGURATION = """[[job]]
name = "web"
cmd = "python3 -S load.py {port}"
executions = 2
warmup = 0
[[job.collectors]]
name = "counters"
service = { cmd = "python3 -S server.py {port}", port = 0 }
"""


@pytest.fixture
def slower(project: Project) -> None:
    """A service whose answer takes five times as long on the second commit."""
    files = {"server.py": SERVER.format(steps=20_000), "load.py": LOAD, "perf.toml": CONFIGURATION}
    project.commit("serve", **files)
    project.commit("slower", **{"server.py": SERVER.format(steps=100_000)})


@pytest.mark.usefixtures("slower")
def test_the_function_of_a_service_is_blamed_and_proved(perf: Perf) -> None:
    out = perf("blame", "HEAD~1", "HEAD").out
    assert "cause: answer (server.py)" in out
    assert "hunk:  server.py:7" in out
    assert "proof: proved" in out
    said = " ".join(out.split())
    assert "of a service the processor time is taken, its functions are not counted" in said
    assert "valgrind" not in out


@pytest.mark.usefixtures("slower")
@pytest.mark.parametrize("metric", ["instructions", "allocated"])
def test_what_would_count_the_load_alone_is_refused(perf: Perf, metric: str) -> None:
    said = perf("blame", "HEAD~1", "HEAD", "-m", metric, code=2)
    assert "its functions are not counted: leave out --metric" in said.err
