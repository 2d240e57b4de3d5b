"""The service of a project, such as GitHub: requests to it within bounds, and again where they may
succeed later.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Iterator, Mapping
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
PAGES, PAGE = 20, 100  # pages of a list that are read, and entries on each


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
        return _decoded(self.tell(method, path, data))

    def tell(self, method: str, path: str, data: object = None) -> bytes:
        """The answer to a request, whatever it is; raises ForgeFailed, TryLater."""
        from http.client import HTTPException
        from urllib.error import HTTPError, URLError
        from urllib.request import Request

        body = None if data is None else msgspec.json.encode(data)
        address = f"{self.address.rstrip('/')}/{path}" if path else self.address
        request = Request(address, data=body, method=method)
        request.add_header("User-Agent", "perfvcs")
        if body is not None:
            request.add_header("Content-Type", "application/json")
        for name, value in self.headers.items():
            request.add_unredirected_header(name, value)
        try:
            with _opener().open(request, timeout=self.silence) as answer:
                return _read(answer)
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

    def listed(self, path: str) -> Iterator[dict[str, Any]]:
        """The entries of a list that have a number, page by page; raises as ``ask`` does."""
        mark = "&" if "?" in path else "?"
        for page in range(1, PAGES + 1):
            entries = self.ask("GET", f"{path}{mark}per_page={PAGE}&page={page}")
            if not isinstance(entries, list):
                raise ForgeFailed("its answer is not a list")
            yield from (
                entry
                for entry in entries
                if isinstance(entry, dict) and isinstance(entry.get("id"), int)
            )
            if len(entries) < PAGE:
                return


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
class Insistence:
    """How long the service may take, in all and without a byte, and the first pause between two
    tries, in seconds.
    """

    seconds: float = TOTAL_SECONDS
    silence: float = SILENCE
    pause: float = FIRST_PAUSE


USUAL = Insistence()


def insist(
    job: Surroundings,
    work: Callable[[ForgeService], str],
    nothing: str,
    cures: Mapping[int, str] = CURES,
    limits: Insistence = USUAL,
) -> str:
    """What came of the ``work`` at the job's service, in one sentence, which begins with
    ``nothing`` where it failed; ``cures`` belong to the statuses of answers.

    Raises nothing, whatever happens.
    """
    outcome = [f"{nothing}: the service took longer than {limits.seconds:.0f} s"]

    def tries() -> None:
        try:
            outcome[0] = _tried(job, work, nothing, cures, limits)
        except PerfError as error:
            outcome[0] = f"{nothing}: {error}"
        except Exception as error:  # what is said there never decides how the job ends
            outcome[0] = f"{nothing}: {type(error).__name__}: {shorten(str(error), 200)}"

    # of its own, since a service that sends a byte now and then keeps a socket busy for ever
    worker = Thread(target=tries, daemon=True)
    worker.start()
    worker.join(limits.seconds)
    return outcome[0]


def _tried(
    job: Surroundings,
    work: Callable[[ForgeService], str],
    nothing: str,
    cures: Mapping[int, str],
    limits: Insistence,
) -> str:
    """Tries all of it again where it may succeed later: the next try finds what a broken-off one
    has written.
    """
    if job.platform == "plain":
        return f"{nothing}: there is no service to write it to"
    if not job.token:
        return f"{nothing}: there is no token, set {TOKENS[job.platform]} for this step"
    until = time.monotonic() + limits.seconds
    forge = replace(_forge(job), silence=limits.silence)
    for attempt in range(1, TRIES + 1):
        try:
            return work(forge)
        except TryLater as error:
            pause = limits.pause * 2 ** (attempt - 1) * random.uniform(0.5, 1.5)
            wait = pause if error.after is None else error.after
            if attempt == TRIES or wait > LONGEST_WAIT or time.monotonic() + wait > until:
                return f"{nothing}: {forge.address}: {error}, {_times(attempt)}"
            time.sleep(wait)
        except ForgeFailed as error:
            cure = f": {cures[error.status]}" if error.status in cures else ""
            return f"{nothing}: {forge.address}: {error}{cure}"
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


def project_path(job: Surroundings) -> str:
    """Where the job's project is at its service; raises ForgeFailed."""
    if not PROJECT.fullmatch(job.project):
        raise ForgeFailed(
            f"`{shorten(job.project, 60)}` is not a project there: see the variables of the CI"
            " service"
        )
    if job.platform == "gitlab":
        return f"projects/{quote(job.project, safe='')}"
    return f"repos/{job.project}"
