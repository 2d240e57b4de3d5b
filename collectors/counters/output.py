"""The output of a service: read continuously so that it never waits, and searched for the text that shows that it is ready."""

from __future__ import annotations

import os
import threading

from perfvcs.launcher.execution import STDERR_SHOWN, STDERR_TAIL

MOST_LINE = 1 << 16  # bytes without a line end in which the text is still found


class ServiceOutput:
    """What a service writes: read to the end so that it never waits, searched for a text, its end kept."""

    def __init__(self, line: str) -> None:
        self.wanted = line.encode()
        self.found = threading.Event()
        self.kept = b""
        self._finished = False
        self._thread = threading.Thread(target=self._read, name="perfvcs-output", daemon=True)

    def start(self) -> None:
        """Open the pipe; ``writing`` is the end for the service."""
        self.reading, self.writing = os.pipe()
        self._thread.start()

    def _read(self) -> None:
        before = b""
        while chunk := os.read(self.reading, 1 << 16):
            self.kept = (self.kept + chunk)[-STDERR_TAIL:]
            if self.wanted and not self.found.is_set():
                text = before + chunk
                if self.wanted in text:
                    self.found.set()
                before = text.rpartition(b"\n")[2][-MOST_LINE:]

    def finish(self) -> None:
        """Close our own end for writing: reading ends when the last process has closed its."""
        os.close(self.writing)
        self._finished = True

    def close(self) -> None:
        """Wait for the rest; what a process that nobody could stop still writes is lost."""
        self._thread.join(1.0)
        if not self._thread.is_alive():
            os.close(self.reading)

    def text(self) -> str:
        """The end of what was written: all of it once the service has ended."""
        if self._finished:
            self._thread.join(1.0)
        return self.kept.decode(errors="replace")

    def end(self) -> str:
        """The last lines of it, printable and as one."""
        said = " | ".join(line.strip() for line in self.text().splitlines() if line.strip())
        return "".join(character if character.isprintable() else "?" for character in said)[-STDERR_SHOWN:]
