"""The comment on a pull request, written to a server that plays GitHub's and GitLab's interface
with its failures.
"""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from dataclasses import replace
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest
from forges import Answer, Service, serving

from perfvcs.ci import forgeservice as forge
from perfvcs.ci.forgeservice import Insistence
from perfvcs.ci.posting import publish
from perfvcs.ci.surroundings import Surroundings
from perfvcs.errors import UsageError

MARKER = "<!-- perfvcs-ci main -->"
TEXT = f"{MARKER}\nslower"
TOKEN = "ghs_0123456789abcdef"


@pytest.fixture
def job(service: Service) -> Surroundings:
    return Surroundings("github", number=7, api=service.address, project="ada/project", token=TOKEN)


def write(job: Surroundings, text: str = TEXT, *, new: bool = True, **limits: float) -> str:
    return publish(
        job,
        MARKER,
        text,
        new=new,
        limits=Insistence(**({"pause": 0.001, "seconds": 60.0} | limits)),
    )


def failing(status: int, said: str = "", **headers: str) -> Answer:
    return (
        status,
        {name.replace("_", "-"): value for name, value in headers.items()},
        json.dumps({"message": said}).encode(),
    )


def cut(handler: BaseHTTPRequestHandler) -> None:
    """The connection ends in the middle of the answer."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b"[")
    handler.wfile.flush()
    handler.connection.shutdown(socket.SHUT_RDWR)
    handler.close_connection = True


def test_a_comment_is_written_once_and_then_updated_in_place(
    service: Service, job: Surroundings
) -> None:
    service.comments.append({"id": 1, "body": "looks good", "user": {"type": "User"}})
    assert write(job) == "comment written"
    assert write(job, f"{MARKER}\nfine again", new=False) == "comment updated"
    assert write(job, f"{MARKER}\nfine again") == "comment is unchanged"
    assert service.bodies == ["looks good", f"{MARKER}\nfine again"]


def test_nothing_is_written_where_nothing_changed(service: Service, job: Surroundings) -> None:
    assert write(job, new=False) == "no comment: nothing changed"
    assert service.methods == ["GET"]


def test_it_is_found_behind_hundreds_of_others(service: Service, job: Surroundings) -> None:
    service.comments += [{"id": number, "body": f"comment {number}"} for number in range(250)]
    service.comments.append({"id": 999, "body": f"{MARKER}\nold"})
    assert write(job) == "comment updated"
    assert service.comments[-1]["body"] == TEXT and len(service.comments) == 251


def test_other_jobs_and_people_who_quote_it_keep_their_comments(
    service: Service, job: Surroundings
) -> None:
    others = ["<!-- perfvcs-ci nightly -->\nother", f"> {MARKER}\nquoted", None]
    service.comments += [{"id": number, "body": body} for number, body in enumerate(others)]
    assert write(job) == "comment written"
    assert service.bodies == [*others, TEXT]


def test_a_program_wrote_it_before_a_person_did(service: Service, job: Surroundings) -> None:
    service.comments += [
        {"id": 1, "body": MARKER, "user": {"type": "User"}},
        {"id": 2, "body": MARKER, "user": {"type": "Bot"}},
    ]
    write(job)
    assert service.bodies == [MARKER, TEXT]


def test_gitlab_has_notes_on_merge_requests(service: Service) -> None:
    job = Surroundings("gitlab", number=7, api=service.address, project="12", token=TOKEN)
    assert write(job) == "comment written"
    assert write(job, f"{MARKER}\nother") == "comment updated"
    assert service.bodies == [f"{MARKER}\nother"]
    assert all(headers["Private-Token"] == TOKEN for *_, headers in service.asked)


def test_a_pull_request_of_a_fork_is_found_by_its_newest_commit(
    service: Service, job: Surroundings
) -> None:
    head = "5" * 40
    service.pulls = [
        {"number": 3, "state": "closed", "head": {"sha": head}},
        {"number": 4, "state": "open", "head": {"sha": "6" * 40}},
        {"number": 7, "state": "open", "head": {"sha": head}},
    ]
    assert write(replace(job, number=None, head=head)) == "comment written"
    service.pulls = [{"number": "7/../8", "state": "open", "head": {"sha": head}}, 5]
    assert write(replace(job, number=None, head=head)) == "no comment: this job has no pull request"


@pytest.mark.parametrize(
    ("status", "said", "cure"),
    [
        (401, "Bad credentials", "the token is not valid there"),
        (
            403,
            "Resource not accessible by integration",
            "let the job write (`pull-requests: write`); of a fork's pull request see docs/ci.md",
        ),
        (404, "Not Found", "there is no such pull request, or the token may not see it"),
        (422, "Validation Failed", ""),
    ],
)
def test_what_cannot_succeed_is_said_once(
    service: Service, job: Surroundings, status: int, said: str, cure: str
) -> None:
    service.faults.append(failing(status, said))
    assert (
        write(job) == f"no comment: {service.address}: it answers {status}"
        f" ({said}){f': {cure}' if cure else ''}"
    )
    assert len(service.asked) == 1


@pytest.mark.parametrize(
    "fault",
    [
        failing(429, Retry_After="0"),
        failing(429, Retry_After=formatdate(usegmt=True)),
        failing(429, Retry_After="soon"),
        failing(500),
        failing(502),
        failing(503, Retry_After="0"),
        failing(403, "secondary rate limit", Retry_After="0"),
        failing(403, X_RateLimit_Remaining="0"),
        cut,
    ],
)
@pytest.mark.parametrize("at", [0, 1])
def test_what_may_succeed_later_is_tried_again_and_never_written_twice(
    service: Service, job: Surroundings, fault: Any, at: int
) -> None:
    def unharmed(handler: BaseHTTPRequestHandler) -> None:
        handler._answer(200, {}, b"[]")  # type: ignore[attr-defined]

    service.faults += [*[unharmed] * at, fault]
    assert write(job) == "comment written"
    assert service.bodies == [TEXT]


def test_a_comment_whose_answer_was_lost_is_not_written_again(
    service: Service, job: Surroundings
) -> None:
    def written_and_cut(handler: BaseHTTPRequestHandler) -> None:
        service.comments.append({"id": 5, "body": TEXT, "user": {"type": "Bot"}})
        cut(handler)

    def empty(handler: BaseHTTPRequestHandler) -> None:
        handler._answer(200, {}, b"[]")  # type: ignore[attr-defined]

    service.faults += [empty, written_and_cut]
    assert write(job) == "comment is unchanged"
    assert service.bodies == [TEXT]
    assert service.methods == ["GET", "POST", "GET"]


def test_it_gives_up_after_some_tries(service: Service, job: Surroundings) -> None:
    service.faults += [failing(503, "down")] * 10
    assert write(job) == f"no comment: {service.address}: it answers 503 (down), 4 times"
    assert len(service.asked) == 4


@pytest.mark.parametrize("after", ["3600", "99999999999999999999", "a date"])
def test_it_does_not_wait_for_an_hour(service: Service, job: Surroundings, after: str) -> None:
    soon = formatdate(time.time() + 7200, usegmt=True)
    service.faults.append(
        failing(429, "slow down", Retry_After=soon if after == "a date" else after)
    )
    assert (
        write(job)
        == f"no comment: {service.address}: it answers 429 (slow down), and asks to wait for too"
        " long"
    )
    assert len(service.asked) == 1


def test_a_service_that_says_nothing_is_left(service: Service, job: Surroundings) -> None:
    ended = threading.Event()
    service.faults += [lambda _: ended.wait(60) and None] * 4  # type: ignore[list-item,func-returns-value]
    try:
        assert (
            write(job, silence=0.05)
            == f"no comment: {service.address}: it does not answer, 4 times"
        )
    finally:
        ended.set()


@pytest.mark.slow
def test_a_service_that_sends_a_byte_now_and_then_is_left(
    service: Service, job: Surroundings
) -> None:
    ended = threading.Event()

    def drip(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        while not ended.wait(0.05):
            handler.wfile.write(b" ")
            handler.wfile.flush()

    service.faults.append(drip)
    try:
        assert write(job, seconds=1.0) == "no comment: the service took longer than 1 s"
    finally:
        ended.set()


def test_nobody_is_there(job: Surroundings) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
        said = write(replace(job, api=address))  # while nobody else can get the port
    assert said.startswith(f"no comment: {address}: it cannot be reached (") and said.endswith(
        "4 times"
    )


def test_the_token_goes_to_the_host_that_the_job_names_and_to_no_other(
    service: Service, job: Surroundings
) -> None:
    with serving() as elsewhere:
        service.faults.append(
            failing(307, Location=f"{elsewhere.address}/repos/ada/project/issues/7/comments")
        )
        said = write(job)
    assert (
        said
        == f"no comment: {service.address}: it answers 307, a redirection, which is not followed"
    )
    assert elsewhere.asked == []
    assert service.asked[0][2]["Authorization"] == f"Bearer {TOKEN}"


def test_nothing_that_is_said_has_the_token(job: Surroundings) -> None:
    assert TOKEN not in repr(job)
    assert TOKEN not in repr(forge._forge(job))


@pytest.mark.parametrize("body", [b"", b"<html>", b"{}", b"7", b"[" * 100_000, b'["\xff"]'])
def test_an_answer_that_is_not_one_is_said(
    service: Service, job: Surroundings, body: bytes
) -> None:
    service.faults.append((200, {}, body))
    assert re.fullmatch(
        rf"no comment: {service.address}: its answer is not (JSON|a list)", write(job)
    )


def test_an_endless_answer_is_not_read_to_its_end(
    service: Service, job: Surroundings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forge, "LARGEST_RESPONSE", 1 << 20)
    service.faults.append((200, {}, b"[" + b" " * (2 << 20)))
    assert write(job) == f"no comment: {service.address}: its answer is larger than 1 MiB"


@pytest.mark.parametrize(
    "items", [[None], [{}], [{"id": "x"}], [{"id": 3}], [{"id": 3, "body": 5, "user": 7}]]
)
def test_comments_of_another_shape_are_not_ours(
    service: Service, job: Surroundings, items: list[Any]
) -> None:
    service.faults.append((200, {}, json.dumps(items).encode()))
    assert write(job) == "comment written"


def test_without_a_token_nothing_is_asked(service: Service, job: Surroundings) -> None:
    assert (
        write(replace(job, token=""))
        == "no comment: there is no token, set GITHUB_TOKEN for this step"
    )
    assert write(Surroundings("plain")) == "no comment: there is no service to write it to"
    assert service.asked == []


@pytest.mark.parametrize(
    "address",
    ["", "ftp://example.org", "file:///etc/passwd", "https://", "https://ada:secret@example.org"],
)
def test_an_address_that_is_not_a_service_s_is_refused(job: Surroundings, address: str) -> None:
    assert write(replace(job, api=address)).endswith(
        "is not the address of a service: see the variables of the CI service"
    )
    with pytest.raises(UsageError):
        forge.ForgeService(address, {})


@pytest.mark.parametrize(
    "project", ["", "../..", "ada/project/../../x", "ada project", "ada/project?x"]
)
def test_a_project_that_is_not_one_is_refused(
    service: Service, job: Surroundings, project: str
) -> None:
    assert "is not a project there" in write(replace(job, project=project))
    assert service.asked == []
