"""Notices to an address on the web: JSON, signed, tried again a few times."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field

from perfvcs import __version__
from perfvcs.errors import PerfError, UsageError
from perfvcs.text.characters import shorten

SECRET = "PERFVCS_WEBHOOK_SECRET"
TRIES = 4
FIRST_WAIT = 1.0  # seconds; twice as long after each further try
LONGEST_WAIT = 30.0  # seconds, also where the other side asks for more
TRY_SECONDS = 10.0  # seconds of one try
READ = 1024  # bytes of an answer
PASSING = {408, 425, 429}  # statuses below 500 after which another try may help
ADDRESS = re.compile(r"[!-~]+")  # characters of an address


class NotDelivered(PerfError):
    """A notice was not taken. ``final``: no further try would help; ``wait``: the seconds that the other side asks for."""

    def __init__(self, message: str, *, final: bool = False, wait: float = 0.0) -> None:
        super().__init__(message)
        self.final, self.wait = final, wait


@dataclass(frozen=True)
class Webhook:
    """An address that takes notices. Addresses often hold a password, so that only the host is ever printed."""

    address: str = field(repr=False)
    secret: bytes = field(default=b"", repr=False)

    @classmethod
    def of(cls, address: str, secret: str) -> Webhook:
        """Raises UsageError if the address is not one of the web, or has a password in it."""
        from urllib.parse import urlsplit

        try:
            parts = urlsplit(address)
            sound = parts.scheme in ("http", "https") and parts.hostname and ADDRESS.fullmatch(address) and (parts.port or 1)
            named = parts.username is not None or parts.password is not None
        except ValueError:  # a port that is not a number, brackets that hold no address
            sound, named = None, False
        if not sound:
            raise UsageError("--webhook is not an address: give one like https://example.org/hook")
        if named:
            raise UsageError(f"--webhook has a user's name in it: sign notices with {SECRET} instead")
        return cls(address, secret.encode("utf-8", "surrogateescape"))

    @property
    def host(self) -> str:
        """The printable part of the address."""
        from urllib.parse import urlsplit

        return shorten(urlsplit(self.address).hostname or "", 60)

    def send(self, document: bytes, delivery: str) -> None:
        """Deliver a JSON document under a name that stays the same for all tries; raises NotDelivered."""
        for number in range(1, TRIES + 1):
            try:
                self._try(document, delivery)
            except NotDelivered as error:
                if error.final or number == TRIES:
                    raise
                time.sleep(min(max(error.wait, FIRST_WAIT * 2 ** (number - 1)), LONGEST_WAIT))
            else:
                return

    def _try(self, document: bytes, delivery: str) -> None:
        """One try, which ends in time however slowly the other side writes."""
        from threading import Thread

        found: list[NotDelivered | None] = []
        thread = Thread(target=lambda: found.append(self._post(document, delivery)), daemon=True)
        thread.start()
        thread.join(2 * TRY_SECONDS)
        failure = found[0] if found else NotDelivered(f"{self.host} does not answer within {2 * TRY_SECONDS:.0f} s")
        if failure is not None:
            raise failure

    def _post(self, document: bytes, delivery: str) -> NotDelivered | None:
        """The error; None if the document was accepted."""
        from http.client import HTTPException
        from urllib.error import HTTPError
        from urllib.request import HTTPRedirectHandler, Request, build_opener

        class OneAddress(HTTPRedirectHandler):
            """A signed document goes to the address that was given, and to no other."""

            def redirect_request(self, *_: object) -> None:
                return None

        headers = {"Content-Type": "application/json", "User-Agent": f"perfvcs/{__version__}", "X-Perf-Delivery": delivery}
        if self.secret:
            headers["X-Perf-Signature-256"] = f"sha256={signature(self.secret, document)}"
        request = Request(self.address, document, headers, method="POST")
        try:
            with build_opener(OneAddress).open(request, timeout=TRY_SECONDS) as answer:
                answer.read(READ)
        except HTTPError as error:
            with error:
                final = error.code < 500 and error.code not in PASSING
                return NotDelivered(
                    f"{self.host} answers {error.code}", final=final, wait=_asked(error.headers.get("Retry-After"))
                )
        except (OSError, HTTPException, ValueError) as error:
            reason = getattr(error, "reason", None) or error
            return NotDelivered(f"{self.host} cannot be reached ({shorten(str(reason) or type(reason).__name__, 80)})")
        return None


def signature(secret: bytes, document: bytes) -> str:
    """HMAC-SHA-256 of a document, in hexadecimal.

    >>> signature(b"key", b"The quick brown fox jumps over the lazy dog")[:16]
    'f7bc83f430538424'
    """
    import hmac

    return hmac.new(secret, document, "sha256").hexdigest()


def _asked(header: str | None) -> float:
    """The seconds that a Retry-After asks for; 0 where it names a date, or nothing."""
    return float(header) if header and re.fullmatch(r"\d{1,6}", header) else 0.0
