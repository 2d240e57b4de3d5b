"""Notices by mail, through the machine's own sendmail."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass

from perfvcs.errors import UsageError
from perfvcs.text.characters import shorten
from perfvcs.watch.webhook import NotDelivered

ADDRESS = re.compile(r"[A-Za-z0-9._%+=][A-Za-z0-9._%+=-]*(@[A-Za-z0-9][A-Za-z0-9.-]*)?")  # a name alone is one on this machine
SENDMAIL_FOLDERS = "/usr/sbin:/usr/lib:/usr/local/sbin"  # where sendmail is, as a rule not on PATH
SENDING_SECONDS = 60  # seconds


@dataclass(frozen=True)
class Mail:
    """Somebody who gets mail, and the program that sends it."""

    address: str
    program: str

    @classmethod
    def to(cls, address: str) -> Mail:
        """By the sendmail of this machine; raises UsageError."""
        if not ADDRESS.fullmatch(address):
            raise UsageError(f"--mail {shorten(address, 60)} is not an address: give one like ada@example.org")
        program = shutil.which("sendmail") or shutil.which("sendmail", path=SENDMAIL_FOLDERS)
        if program is None:
            raise UsageError("--mail needs sendmail: install a mail server that has it (apt install msmtp-mta, or postfix)")
        return cls(address, program)

    def send(self, subject: str, text: str) -> None:
        """Hand a message over; raises NotDelivered."""
        from email.message import EmailMessage
        from email.utils import formatdate

        message = EmailMessage()
        message["To"], message["Subject"], message["Date"] = self.address, subject, formatdate(localtime=True)
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
            said = shorten(done.stderr.decode(errors="replace").strip().partition("\n")[0], 120)
            raise NotDelivered(f"sendmail failed: {said or f'exit status {done.returncode}'}")
