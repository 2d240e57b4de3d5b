"""The one comment on a pull request: found again by its marker and updated in place, within bounds,
whatever the service does.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from threading import Thread
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

import msgspec

from perfvcs.ci.surroundings import Surroundings
from perfvcs.errors import PerfError, UsageError
from perfvcs.system.foreign import UNDECODABLE
from perfvcs.text.characters import shorten

if TYPE_CHECKING:
    from email.message import Message
    from http.client import HTTPResponse
    from urllib.error import HTTPError


SILENCE = 15.0  # seconds without a byte
LARGEST_RESPONSE = 1 << 24  # bytes of an answer
CHUNK_BYTES = 1 << 16
LONGEST_WAIT = 60.0  # seconds that an answer may ask for
SAID = 120  # characters of what a service says
TRIES = 4
TOTAL_SECONDS = 120.0  # that all of it may take
FIRST_PAUSE = 1.0  # seconds; doubled with each try, and by chance
PROJECT = re.compile(r"(?!\.+/)[\w.-]+/(?!\.+$)[\w.-]+|[0-9]+", re.ASCII)
CURES = {
    401: "the token is not valid there",
    403: "let the job write (`pull-requests: write`); of a fork's pull request see docs/ci.md",
    404: "there is no such pull request, or the token may not see it",
}
TOKENS = {"github": "GITHUB_TOKEN", "gitlab": "GITLAB_TOKEN"}
READABLE = (
    "note: {} is set, and what was measured could read it: give it only to a job that runs `perf ci"
    " --post` (docs/ci.md)"
)
PAGES, PAGE = 20, 100  # pages of comments that are read, and comments on each


class ForgeFailed(PerfError):
    """A request failed for good; ``status`` is that of the answer, 0 without one."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class TryLater(ForgeFailed):
    """A request may succeed ``after`` some seconds, where the service says how many."""

    def __init__(self, message: str, status: int = 0, after: float | None = None) -> None:
        super().__init__(message, status)
        self.after = after


@dataclass(frozen=True)
class ForgeService:
    """A service at an address, with the ``headers`` that let us in; redirections are not followed,
    they may lead to another host.

    ``silence`` is how many seconds may pass without a byte.
    """

    address: str
    headers: Mapping[str, str] = field(repr=False)
    silence: float = SILENCE

    def __post_init__(self) -> None:
        parts = urlsplit(self.address)
        if (
            parts.scheme not in ("http", "https")
            or not parts.hostname
            or parts.username is not None
        ):
            raise UsageError(
                f"{shorten(self.address, 80)} is not the address of a service: see the variables of"
                " the CI service"
            )

    def ask(self, method: str, path: str, data: object = None) -> Any:
        """The JSON answer to a request; raises ForgeFailed, TryLater."""
        from http.client import HTTPException
        from urllib.error import HTTPError, URLError
        from urllib.request import Request

        body = None if data is None else msgspec.json.encode(data)
        request = Request(f"{self.address.rstrip('/')}/{path}", data=body, method=method)
        request.add_header("User-Agent", "perfvcs")
        if body is not None:
            request.add_header("Content-Type", "application/json")
        for name, value in self.headers.items():
            request.add_unredirected_header(name, value)
        try:
            with _opener().open(request, timeout=self.silence) as answer:
                return _decoded(_read(answer))
        except HTTPError as error:
            with error:
                raise _refused(error) from None
        except TimeoutError:
            raise TryLater("it does not answer") from None
        except URLError as error:
            if isinstance(error.reason, TimeoutError):
                raise TryLater("it does not answer") from None
            raise TryLater(f"it cannot be reached ({shorten(str(error.reason), SAID)})") from None
        except (HTTPException, OSError) as error:
            raise TryLater(
                f"the connection broke off ({shorten(str(error) or type(error).__name__, SAID)})"
            ) from None


def _opener() -> Any:
    from urllib.request import HTTPRedirectHandler, build_opener

    class Staying(HTTPRedirectHandler):
        """Follows nothing: a redirection is an answer like any other."""

        def redirect_request(self, *_: object) -> None:
            """None."""

    return build_opener(Staying)


def _read(answer: HTTPResponse) -> bytes:
    """An answer, no more than so many bytes of it."""
    parts: list[bytes] = []
    size = 0
    while part := answer.read(CHUNK_BYTES):
        parts.append(part)
        size += len(part)
        if size > LARGEST_RESPONSE:
            raise ForgeFailed(f"its answer is larger than {LARGEST_RESPONSE >> 20} MiB")
    if answer.length:  # http.client says nothing of it where it reads in parts
        raise TryLater("the connection broke off in its answer")
    return b"".join(parts)


def _decoded(document: bytes) -> Any:
    try:
        return msgspec.json.decode(document)
    except UNDECODABLE:
        raise ForgeFailed("its answer is not JSON") from None


def _refused(error: HTTPError) -> ForgeFailed:
    """The error for an answer other than success."""
    status, after = error.code, _after(error.headers)
    answer = f"{status}{_said(error)}"
    limited = status == 403 and (
        after is not None or error.headers.get("X-RateLimit-Remaining") == "0"
    )
    if status == 429 or status >= 500 or limited:
        return TryLater(f"it answers {answer}", status, after)
    if 300 <= status < 400:
        return ForgeFailed(f"it answers {status}, a redirection, which is not followed", status)
    return ForgeFailed(f"it answers {answer}", status)


def _said(error: HTTPError) -> str:
    """The service's own words."""
    try:
        answer = msgspec.json.decode(error.read(CHUNK_BYTES))
    except (*UNDECODABLE, OSError):
        return ""
    message = answer.get("message") if isinstance(answer, dict) else None
    return f" ({shorten(message, SAID)})" if isinstance(message, str) and message else ""


def _after(headers: Message) -> float | None:
    """The seconds that an answer asks to wait."""
    from email.utils import parsedate_to_datetime

    text = headers.get("Retry-After", "")
    if text.strip().isdecimal() and text.isascii():
        return float(text.strip()[:9])
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None


@dataclass(frozen=True)
class Talk:
    """The comments on one pull request: where they are listed and written, and how one of them is
    changed.
    """

    forge: ForgeService
    comments: str
    one: str
    update: str

    def find(self, marker: str) -> dict[str, Any] | None:
        """The comment that begins with a marker, a program's before a person's; None without
        one.
        """
        ours = [
            comment
            for comment in self._all()
            if str(comment.get("body") or "").lstrip().startswith(marker)
        ]
        return min(ours, key=lambda comment: not _by_program(comment), default=None)

    def _all(self) -> Iterator[dict[str, Any]]:
        for page in range(1, PAGES + 1):
            comments = self.forge.ask("GET", f"{self.comments}?per_page={PAGE}&page={page}")
            if not isinstance(comments, list):
                raise ForgeFailed("its answer is not a list of comments")
            yield from (
                comment
                for comment in comments
                if isinstance(comment, dict) and isinstance(comment.get("id"), int)
            )
            if len(comments) < PAGE:
                return

    def write(self, marker: str, text: str, *, new: bool) -> str:
        """Replace the comment with the marker by the text; without such a comment, add one if it
        may be ``new``.
        """
        comment = self.find(marker)
        if comment is None and not new:
            return "no comment: nothing changed"
        if comment is None:
            self.forge.ask("POST", self.comments, {"body": text})
            return "comment written"
        if comment.get("body") == text:
            return "comment is unchanged"
        self.forge.ask(self.update, self.one.format(comment["id"]), {"body": text})
        return "comment updated"


def publish(
    job: Surroundings,
    marker: str,
    text: str,
    *,
    new: bool,
    seconds: float = TOTAL_SECONDS,
    silence: float | None = None,
    pause: float = FIRST_PAUSE,
) -> str:
    """Writes or updates the comment; returns what came of it, in one sentence.

    Raises nothing, whatever happens, and takes ``seconds`` at most.
    """
    outcome = [f"no comment: the service took longer than {seconds:.0f} s"]

    def work() -> None:
        try:
            outcome[0] = _tried(
                job,
                marker,
                text,
                new=new,
                until=time.monotonic() + seconds,
                silence=silence,
                pause=pause,
            )
        except PerfError as error:
            outcome[0] = f"no comment: {error}"
        except Exception as error:  # a comment never decides how the job ends
            outcome[0] = f"no comment: {type(error).__name__}: {shorten(str(error), 200)}"

    # of its own, since a service that sends a byte now and then keeps a socket busy for ever
    worker = Thread(target=work, daemon=True)
    worker.start()
    worker.join(seconds)
    return outcome[0]


def _tried(
    job: Surroundings,
    marker: str,
    text: str,
    *,
    new: bool,
    until: float,
    silence: float | None,
    pause: float,
) -> str:
    """Tries all of it again where it may succeed later: the next try finds what a broken-off one
    has written.
    """
    if job.platform == "plain":
        return "no comment: there is no service to write it to"
    if not job.token:
        return f"no comment: there is no token, set {TOKENS[job.platform]} for this step"
    forge = _forge(job)
    forge = forge if silence is None else replace(forge, silence=silence)
    for attempt in range(1, TRIES + 1):
        try:
            talk = _talk(job, forge)
            return (
                "no comment: this job has no pull request"
                if talk is None
                else talk.write(marker, text, new=new)
            )
        except TryLater as error:
            wait = (
                error.after
                if error.after is not None
                else pause * 2 ** (attempt - 1) * random.uniform(0.5, 1.5)
            )
            if attempt == TRIES or wait > LONGEST_WAIT or time.monotonic() + wait > until:
                return f"no comment: {forge.address}: {error}, {_times(attempt)}"
            time.sleep(wait)
        except ForgeFailed as error:
            cure = f": {CURES[error.status]}" if error.status in CURES else ""
            return f"no comment: {forge.address}: {error}{cure}"
    raise AssertionError("the last try returns")


def _times(count: int) -> str:
    return "and asks to wait for too long" if count == 1 else f"{count} times"


def _forge(job: Surroundings) -> ForgeService:
    if job.platform == "gitlab":
        return ForgeService(job.api, {"PRIVATE-TOKEN": job.token})
    headers = {
        "Authorization": f"Bearer {job.token}",
        "Accept": "application/vnd.github+json",
        "X-GitHub-Api-Version": "2022-11-28",
    }
    return ForgeService(job.api, headers)


def _talk(job: Surroundings, forge: ForgeService) -> Talk | None:
    """The address of the comments on the job's pull request; None if it has none.

    Raises ForgeFailed.
    """
    if not PROJECT.fullmatch(job.project):
        raise ForgeFailed(
            f"`{shorten(job.project, 60)}` is not a project there: see the variables of the CI"
            " service"
        )
    if job.platform == "gitlab":
        where = f"projects/{quote(job.project, safe='')}/merge_requests/{job.number}/notes"
        return Talk(forge, where, f"{where}/{{}}", "PUT") if job.number else None
    number = job.number or _number(job, forge)
    where = f"repos/{job.project}/issues"
    return (
        Talk(forge, f"{where}/{number}/comments", f"{where}/comments/{{}}", "PATCH")
        if number
        else None
    )


def _number(job: Surroundings, forge: ForgeService) -> int | None:
    """The open pull request whose newest commit is the job's; that of a fork is not named in the
    event of a `workflow_run`.
    """
    if not job.head:
        return None
    requests = forge.ask("GET", f"repos/{job.project}/commits/{job.head}/pulls?per_page={PAGE}")
    for request in requests if isinstance(requests, list) else ():
        if not isinstance(request, dict):
            continue
        head, number = request.get("head"), request.get("number")
        if (
            isinstance(head, dict)
            and head.get("sha") == job.head
            and request.get("state") == "open"
            and isinstance(number, int)
        ):
            return number
    return None


def _by_program(comment: dict[str, Any]) -> bool:
    user = comment.get("user")
    return isinstance(user, dict) and user.get("type") == "Bot"
