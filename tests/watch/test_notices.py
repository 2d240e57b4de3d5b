"""`perf watch` says what is new: by a webhook on a server that fails in every way, and by mail."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import stat
import threading
import time
from collections.abc import Callable, Iterator
from email import message_from_bytes
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from conftest import Said
from histories import grow, measured, stepped
from measuring_machines import MeasuringMachine
from waiting import happens

from perfvcs.repository import Repository
from perfvcs.watch import cycle, notice
from perfvcs.watch.branch import recalled

pytestmark = pytest.mark.slow

Perf = Callable[..., Said]
SECRET = "a key of the two sides"


class Server:
    """A server on this machine that answers each request with the next of its answers, and the last
    one from then on.
    """

    def __init__(self) -> None:
        self.answers: list[Any] = [200]
        self.got: list[tuple[dict[str, str], bytes]] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                server.got.append(
                    ({key.lower(): value for key, value in self.headers.items()}, body)
                )
                answer = server.answers.pop(0) if len(server.answers) > 1 else server.answers[0]
                if answer == "cut":
                    self.connection.close()
                    return
                if answer == "drip":
                    self.wfile.write(b"HTTP/1.1 200")
                    while not server.over.wait(0.05):
                        self.wfile.write(b" ")
                    return
                code, headers = answer if isinstance(answer, tuple) else (answer, {})
                self.send_response(code)
                for name, value in {**headers, "Content-Length": "0"}.items():
                    self.send_header(name, value)
                self.end_headers()

            def log_message(self, *_: object) -> None: ...

        self.over = threading.Event()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.handle_error = lambda *_: None  # type: ignore[method-assign]
        self._thread = threading.Thread(target=self._http.serve_forever)
        self._thread.start()
        self.address = (
            f"http://127.0.0.1:{self._http.server_address[1]}/services/T000/token-in-the-path"
        )

    def close(self) -> None:
        self.over.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    for name in (
        "http_proxy",
        "https_proxy",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "all_proxy",
        "ALL_PROXY",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(notice, "FIRST_WAIT", 0.01)
    made = Server()
    yield made
    made.close()


@pytest.fixture
def machine(tmp_path: Path, perf: Perf, monkeypatch: pytest.MonkeyPatch) -> MeasuringMachine:
    """It has looked once, and then another machine has pushed profiles that show a step."""
    monkeypatch.chdir(tmp_path)
    found = MeasuringMachine(tmp_path, perf)
    commits = grow(found.developer, 30)
    found.developer.git("push", "--quiet", "origin", "main")
    profiles = measured(commits, stepped(30, 20, 0.010, 0.013))
    store = Repository.find(found.developer.root, create=True).store
    store.add(profiles[:15], "before")
    perf("-C", str(found.developer.root), "push")
    found.watch("--last", "1")
    store.add(profiles[15:], "after")
    perf("-C", str(found.developer.root), "push")
    return found


def received(server: Server) -> dict[str, Any]:
    """The one notice that came, however often."""
    (body,) = {body for _, body in server.got}
    found: dict[str, Any] = json.loads(body)
    return found


def test_a_new_change_is_posted_once_and_signed(
    machine: MeasuringMachine, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERFVCS_WEBHOOK_SECRET", SECRET)
    words = ("--last", "1", "--webhook", server.address, "--base-url", "https://example.org/perf/")
    assert ", 1 new change" in machine.watch(*words).out
    ((headers, body),) = server.got
    expected = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    assert headers["x-perf-signature-256"] == f"sha256={expected}"
    assert headers["content-type"] == "application/json"
    found = json.loads(body)
    assert headers["x-perf-delivery"] == found["id"]
    assert found["format"] == "perfvcs-watch/1"
    assert found["branch"] == "main"
    assert found["text"] == "machine: 1 degradation on main"
    (change,) = found["changes"]
    assert change["state"] == "open"
    assert change["effect"] == pytest.approx(0.3, abs=0.03)
    assert change["commit"]["title"] == "Change 20"
    assert change["url"].startswith("https://example.org/perf/series/")
    machine.watch(*words)
    assert len(server.got) == 1, "what was announced is not new"


def test_without_a_secret_nothing_is_signed(machine: MeasuringMachine, server: Server) -> None:
    machine.watch("--last", "1", "--webhook", server.address)
    ((headers, _),) = server.got
    assert "x-perf-signature-256" not in headers


def test_what_was_there_before_the_first_look_is_not_announced(
    machine: MeasuringMachine, server: Server, tmp_path: Path
) -> None:
    machine.developer.git("clone", "--quiet", str(machine.forge), str(tmp_path / "another"))
    machine.run(
        "-C",
        str(tmp_path / "another"),
        "watch",
        "--once",
        "--last",
        "1",
        "--webhook",
        server.address,
    )
    assert server.got == []


@pytest.mark.parametrize(
    "answers",
    [
        [500, 200],
        [503, 502, 200],
        [(429, {"Retry-After": "0"}), 200],
        ["cut", 200],
        [408, 200],
        [(503, {"Retry-After": "Fri, 31"}), 200],
    ],
)
def test_what_passes_is_tried_again_with_the_same_document(
    server: Server, answers: list[Any]
) -> None:
    server.answers = list(answers)
    notice.Webhook.of(server.address, SECRET).send(b'{"a": 1}', "one")
    assert len(server.got) == len(answers)
    assert received(server) == {"a": 1}
    assert {headers["x-perf-delivery"] for headers, _ in server.got} == {"one"}


@pytest.mark.parametrize(
    "answer",
    [
        403,
        404,
        422,
        410,
        (302, {"Location": "http://127.0.0.1:9/"}),
        (301, {"Location": "file:///etc/passwd"}),
    ],
)
def test_what_no_try_would_help_is_tried_once(server: Server, answer: Any) -> None:
    server.answers = [answer]
    code = answer[0] if isinstance(answer, tuple) else answer
    with pytest.raises(notice.NotDelivered, match=f"127.0.0.1 answers {code}$") as raised:
        notice.Webhook.of(server.address, "").send(b"{}", "one")
    assert raised.value.final
    assert len(server.got) == 1


def test_a_notice_that_is_refused_is_given_up_and_is_no_error(
    machine: MeasuringMachine, server: Server
) -> None:
    server.answers = [403]
    said = machine.watch("--last", "1", "--webhook", server.address)
    assert said.err.endswith(" by webhook is given up: 127.0.0.1 answers 403\n")
    assert "token" not in said.err, "the address may hold a password"
    assert recalled(machine.memory()).waiting == []


def test_what_fails_waits_for_the_next_cycle(machine: MeasuringMachine, server: Server) -> None:
    server.answers = [500]
    words = ("--last", "1", "--webhook", server.address)
    assert machine.watch(*words).err.endswith(" by webhook waits: 127.0.0.1 answers 500\n")
    assert len(server.got) == notice.TRIES
    (waiting,) = recalled(machine.memory()).waiting
    assert waiting.to == ["webhook"]
    server.answers = [200]
    assert machine.watch(*words).err == ""
    assert recalled(machine.memory()).waiting == []
    assert len(server.got) == notice.TRIES + 1
    received(server)


def test_a_notice_that_always_fails_is_given_up(
    machine: MeasuringMachine, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cycle, "MOST_FAILURES", 2)
    server.answers = ["cut"]
    words = ("--last", "1", "--webhook", server.address)
    assert " waits: 127.0.0.1 cannot be reached" in machine.watch(*words).err
    assert " is given up: 127.0.0.1 cannot be reached" in machine.watch(*words).err
    assert machine.watch(*words).err == ""


def test_a_server_that_drips_does_not_hold_the_watch(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notice, "TRY_SECONDS", 0.5)
    server.answers = ["drip"]
    with pytest.raises(notice.NotDelivered, match=r"127\.0\.0\.1 does not answer within 1 s"):
        notice.Webhook.of(server.address, "").send(b"{}", "one")
    assert happens(lambda: len(server.got) == notice.TRIES)


def test_nobody_there_is_no_error(machine: MeasuringMachine, server: Server) -> None:
    server.close()
    said = machine.watch("--last", "1", "--webhook", server.address)
    assert " waits: 127.0.0.1 cannot be reached ([Errno 111] Connection refused)" in said.err
    assert "pulled 15 profiles" in said.out


def test_waiting_is_bounded_whatever_the_other_side_asks_for(
    monkeypatch: pytest.MonkeyPatch, server: Server
) -> None:
    waited: list[float] = []
    monkeypatch.setattr(time, "sleep", waited.append)
    monkeypatch.setattr(notice, "FIRST_WAIT", 1.0)
    server.answers = [(429, {"Retry-After": "86400"}), (429, {"Retry-After": "5"}), 500]
    with pytest.raises(notice.NotDelivered):
        notice.Webhook.of(server.address, "").send(b"{}", "one")
    assert waited == [30.0, 5.0, 4.0]


# -- mail ------------------------------------------------------------------------------------------


def sendmail(folder: Path, ending: str = "") -> Path:
    """A sendmail that keeps what it gets."""
    program = folder / "bin/sendmail"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f'#!/bin/sh\necho "$@" > {folder}/words\ncat > {folder}/mail\n{ending}\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program.parent


def test_a_new_change_is_mailed(
    machine: MeasuringMachine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{sendmail(tmp_path)}:{os.environ['PATH']}")
    said = machine.watch(
        "--last", "1", "--mail", "team@example.org", "--base-url", "https://example.org/perf/"
    )
    assert said.err == ""
    assert (tmp_path / "words").read_text() == "-i -- team@example.org\n"
    mail = message_from_bytes((tmp_path / "mail").read_bytes())
    assert mail["Subject"] == "[perf] machine: 1 degradation on main"
    assert mail["To"] == "team@example.org"
    body = mail.get_payload(decode=True)
    assert isinstance(body, bytes)
    assert body.decode().startswith("degradation: sort, wall time: +")
    assert " Change 20, Ada" in body.decode()
    assert "https://example.org/perf/series/" in body.decode()


def test_a_title_with_line_ends_is_no_header(
    machine: MeasuringMachine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{sendmail(tmp_path)}:{os.environ['PATH']}")
    machine.clone = machine.clone.rename(tmp_path / "machine\nBcc: eve@example.org")
    machine.watch("--last", "1", "--mail", "team@example.org")
    assert message_from_bytes((tmp_path / "mail").read_bytes())["Bcc"] is None


def test_failed_mail_waits_and_a_webhook_is_not_called_twice(
    machine: MeasuringMachine, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(
        "PATH", f"{sendmail(tmp_path, 'echo no route >&2; exit 75')}:{os.environ['PATH']}"
    )
    words = ("--last", "1", "--webhook", server.address, "--mail", "ada")
    assert " by mail waits: sendmail failed: no route\n" in machine.watch(*words).err
    sendmail(tmp_path)
    assert machine.watch(*words).err == ""
    assert len(server.got) == 1


def test_mail_without_sendmail_is_one_line(
    machine: MeasuringMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda *_, **__: None)
    assert machine.watch("--mail", "ada", code=2).err.startswith("perf: --mail needs sendmail: ")
