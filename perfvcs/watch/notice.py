"""New changes in a history, and the notice about them: JSON for programs, lines for people."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from perfvcs import __version__
from perfvcs.check.vocabulary import SURE
from perfvcs.errors import PerfError, UsageError
from perfvcs.text.characters import shorten
from perfvcs.text.words import tallied
from perfvcs.watch.branch import KnownChange, Notice

if TYPE_CHECKING:
    from perfvcs.site.contents import Contents


MOST_CHANGES = 50  # changes in one notice

ChangeNumbers = tuple[int, int]  # of a series, and of the change among its findings
SECRET = "PERFVCS_WEBHOOK_SECRET"
TRIES = 4
FIRST_WAIT = 1.0  # seconds; twice as long after each further try
LONGEST_WAIT = 30.0  # seconds, also where the other side asks for more
TRY_SECONDS = 10.0  # seconds of one try
READ = 1024  # bytes of an answer
PASSING = {408, 425, 429}  # statuses below 500 after which another try may help
WEB_ADDRESS = re.compile(r"[!-~]+")  # characters of an address
MAIL_ADDRESS = re.compile(
    r"[A-Za-z0-9._%+=][A-Za-z0-9._%+=-]*(@[A-Za-z0-9][A-Za-z0-9.-]*)?"
)  # a name alone is one on this machine
SENDMAIL_FOLDERS = "/usr/sbin:/usr/lib:/usr/local/sbin"  # where sendmail is, as a rule not on PATH
SENDING_SECONDS = 60  # seconds


def changes(contents: Contents) -> list[KnownChange]:
    """All changes of a history, in its order."""
    return [_change(contents, pair) for pair in contents.found]


def fresh(contents: Contents, known: Sequence[KnownChange]) -> list[ChangeNumbers]:
    """The changes not reported yet: their commits overlap with no known change of their series in
    the same direction.
    """
    places = contents.places
    ranges: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for reported in known:
        if reported.first in places and reported.last in places:
            ranges.setdefault((reported.series, reported.direction), []).append(
                (places[reported.first], places[reported.last])
            )
    pairs = []
    for pair in contents.having("open", "improvement"):
        change = _change(contents, pair)
        first, last = places[change.first], places[change.last]
        seen = ranges.setdefault((change.series, change.direction), [])
        if not any(begin <= last and first <= end for begin, end in seen):
            pairs.append(pair)
            seen.append((first, last))  # in another environment it is the same change
    return pairs


def _change(contents: Contents, pair: ChangeNumbers) -> KnownChange:
    finding = contents.finding(*pair)
    return KnownChange(contents.urls[pair[0]], finding.direction, finding.first, finding.last)


def document(
    contents: Contents, pairs: Sequence[ChangeNumbers], project: str, branch: str, base_url: str
) -> Notice:
    """The notice of changes."""
    root = f"{base_url.rstrip('/')}/" if base_url else None
    listed = []
    for pair in pairs[:MOST_CHANGES]:
        step, finding = contents.step(*pair), contents.finding(*pair)
        change = msgspec.to_builtins(step)
        change |= {"first": finding.first, "last": finding.last, "url": root and root + step.url}
        change["commit"] |= {"url": root and step.commit.url and root + step.commit.url}
        listed.append(change)
    words = [contents.finding(*pair).word for pair in pairs]
    summary = tallied((word, words.count(word)) for word in SURE if word in words)
    return Notice(
        project=project,
        branch=branch,
        tip=contents.record.commits[-1],
        site=root,
        text=f"{project}: {summary} on {branch}",
        changes=listed,
        more=len(pairs) - len(listed),
    ).identified()


def text(notice: Notice) -> str:
    """The notice for people."""
    lines = []
    for change in notice.changes:
        commit = change["commit"]
        lines.append(
            f"{change['word']}: {change['benchmark']}, {change['metric']}: {change['change']},"
            f" {change['levels']}"
        )
        where = f" (or another of {change['commits']} commits)" if change["commits"] > 1 else ""
        lines.append(f"  {commit['short']} {commit['title']}, {commit['author']}{where}")
        lines += [f"  {change['url']}"] if change["url"] else []
    lines += [f"and {notice.more} more"] if notice.more else []
    return "\n".join([*lines, "", f"`perf history` at {notice.tip[:10]} shows them.", ""])


class NotDelivered(PerfError):
    """A notice was not taken.

    ``final``: no further try would help; ``wait``: the seconds that the other side asks for.
    """

    def __init__(self, message: str, *, final: bool = False, wait: float = 0.0) -> None:
        super().__init__(message)
        self.final, self.wait = final, wait


@dataclass(frozen=True)
class Webhook:
    """An address that takes notices.

    Addresses often hold a password, so that only the host is ever printed.
    """

    address: str = field(repr=False)
    secret: bytes = field(default=b"", repr=False)

    @classmethod
    def of(cls, address: str, secret: str) -> Webhook:
        """The webhook at an address; raises UsageError where that is not one of the web, or has a
        password in it.
        """
        from urllib.parse import urlsplit

        try:
            parts = urlsplit(address)
            sound = (
                parts.scheme in ("http", "https")
                and parts.hostname
                and WEB_ADDRESS.fullmatch(address)
                and (parts.port or 1)
            )
            named = parts.username is not None or parts.password is not None
        except ValueError:  # a port that is not a number, brackets that hold no address
            sound, named = None, False
        if not sound:
            raise UsageError("--webhook is not an address: give one like https://example.org/hook")
        if named:
            raise UsageError(
                f"--webhook has a user's name in it: sign notices with {SECRET} instead"
            )
        return cls(address, secret.encode("utf-8", "surrogateescape"))

    @property
    def host(self) -> str:
        """The printable part of the address."""
        from urllib.parse import urlsplit

        return shorten(urlsplit(self.address).hostname or "", 60)

    def send(self, document: bytes, delivery: str) -> None:
        """Deliver a JSON document under a name that stays the same for all tries; raises
        NotDelivered.
        """
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
        """Tries once; ends in time however slowly the other side writes."""
        from threading import Thread

        failures: list[NotDelivered | None] = []
        thread = Thread(target=lambda: failures.append(self._post(document, delivery)), daemon=True)
        thread.start()
        thread.join(2 * TRY_SECONDS)
        if not failures:
            raise NotDelivered(f"{self.host} does not answer within {2 * TRY_SECONDS:.0f} s")
        if failures[0] is not None:
            raise failures[0]

    def _post(self, document: bytes, delivery: str) -> NotDelivered | None:
        """The error; None if the document was accepted."""
        from http.client import HTTPException
        from urllib.error import HTTPError
        from urllib.request import HTTPRedirectHandler, Request, build_opener

        class OneAddress(HTTPRedirectHandler):
            """A signed document goes to the address that was given, and to no other."""

            def redirect_request(self, *_: object) -> None:
                return None

        headers = {
            "Content-Type": "application/json",
            "User-Agent": f"perfvcs/{__version__}",
            "X-Perf-Delivery": delivery,
        }
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
                    f"{self.host} answers {error.code}",
                    final=final,
                    wait=_asked(error.headers.get("Retry-After")),
                )
        except (OSError, HTTPException, ValueError) as error:
            reason = getattr(error, "reason", None) or error
            return NotDelivered(
                f"{self.host} cannot be reached"
                f" ({shorten(str(reason) or type(reason).__name__, 80)})"
            )
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


@dataclass(frozen=True)
class Mail:
    """Somebody who gets mail, and the program that sends it."""

    address: str
    program: str

    @classmethod
    def to(cls, address: str) -> Mail:
        """Mail to an address, by the sendmail of this machine; raises UsageError."""
        if not MAIL_ADDRESS.fullmatch(address):
            raise UsageError(
                f"--mail {shorten(address, 60)} is not an address: give one like ada@example.org"
            )
        program = shutil.which("sendmail") or shutil.which("sendmail", path=SENDMAIL_FOLDERS)
        if program is None:
            raise UsageError(
                "--mail needs sendmail: install a mail server that has it (apt install msmtp-mta,"
                " or postfix)"
            )
        return cls(address, program)

    def send(self, subject: str, text: str) -> None:
        """Hand a message over; raises NotDelivered."""
        from email.message import EmailMessage
        from email.utils import formatdate

        message = EmailMessage()
        message["To"], message["Subject"], message["Date"] = (
            self.address,
            subject,
            formatdate(localtime=True),
        )
        message["Auto-Submitted"] = "auto-generated"
        message.set_content(text)
        try:
            done = subprocess.run(
                [self.program, "-i", "--", self.address],
                input=bytes(message),
                capture_output=True,
                timeout=SENDING_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise NotDelivered(f"sendmail did not end within {SENDING_SECONDS} s") from None
        except OSError as error:
            raise NotDelivered(f"sendmail cannot be started: {error.strerror}") from None
        if done.returncode:
            reason = shorten(done.stderr.decode(errors="replace").strip().partition("\n")[0], 120)
            raise NotDelivered(f"sendmail failed: {reason or f'exit status {done.returncode}'}")
