"""The interface of the service that the job belongs to: one request at a time, to one host, within bounds."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from perfvcs.errors import PerfError, UsageError
from perfvcs.foreign import UNDECODABLE
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
    """A service at an address, with the ``headers`` that let us in; redirections are not followed, they may lead to another host.

    ``silence`` is how many seconds may pass without a byte.
    """

    address: str
    headers: Mapping[str, str] = field(repr=False)
    silence: float = SILENCE

    def __post_init__(self) -> None:
        parts = urlsplit(self.address)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
            raise UsageError(f"{shorten(self.address, 80)} is not the address of a service: see the variables of the CI service")

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
            raise TryLater(f"the connection broke off ({shorten(str(error) or type(error).__name__, SAID)})") from None


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
    said = f"{status}{_said(error)}"
    limited = status == 403 and (after is not None or error.headers.get("X-RateLimit-Remaining") == "0")
    if status == 429 or status >= 500 or limited:
        return TryLater(f"it answers {said}", status, after)
    if 300 <= status < 400:
        return ForgeFailed(f"it answers {status}, a redirection, which is not followed", status)
    return ForgeFailed(f"it answers {said}", status)


def _said(error: HTTPError) -> str:
    """The service's own words."""
    try:
        found = msgspec.json.decode(error.read(CHUNK_BYTES))
    except (*UNDECODABLE, OSError):
        return ""
    message = found.get("message") if isinstance(found, dict) else None
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
