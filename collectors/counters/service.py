"""A service: started, waited for until it is ready, and stopped with all that it started, whatever
happens meanwhile.
"""

from __future__ import annotations

import math
import os
import shlex
import shutil
import signal
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Literal

import msgspec
from msgspec.structs import replace

from perfvcs import launcher
from perfvcs.collectors.counters.events import Events
from perfvcs.collectors.counters.treesampler import leader
from perfvcs.errors import UsageError
from perfvcs.launcher.execution import STDERR_SHOWN, STDERR_TAIL, Execution, failure, name_command
from perfvcs.launcher.preparation import CommandFailed
from perfvcs.launcher.preparation import run as run_command
from perfvcs.plugins.collector import CollectError, Run
from perfvcs.system.foreign import printable

MOST_LINE = 1 << 16  # bytes without a line end in which the text is still found
LISTENING = "0A"  # the state in /proc/net/tcp
Signal = Literal["TERM", "INT", "HUP", "QUIT", "USR1", "USR2"]
POLL_SECONDS = 0.02  # seconds between two looks whether it is ready
AFTERWARDS = 30.0  # seconds beyond all limits after which the launcher ends a service by itself
PORT_PLACEHOLDER = "{port}"


class ServiceOutput:
    """What a service writes: read to the end so that it never waits, searched for a text, its end
    kept.
    """

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
        printed = " | ".join(line.strip() for line in self.text().splitlines() if line.strip())
        return printable(printed[-STDERR_SHOWN:])


def free_port() -> int:
    """A TCP port that nobody has now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def is_open(port: int) -> bool:
    """Whether some process listens on a TCP port: asked of the kernel, so that the service sees no
    connection that nobody measures.
    """
    wanted = f":{port:04X}"
    for name in ("tcp", "tcp6"):
        with suppress(OSError), open(f"/proc/net/{name}") as file:
            for line in file:
                fields = line.split()
                if fields[3:4] == [LISTENING] and fields[1].endswith(wanted):
                    return True
    return False


class Service(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a service is started, recognised as ready and stopped.

    ``cmd``: its command, without a shell, in the foreground. ``port``: the TCP port where it
    listens once it is ready; 0 is a free one. ``{port}`` stands for it in ``cmd``, in ``ready`` and
    in the command of the job. ``line``: a text that one of its lines of output has when it is
    ready. ``ready``: a command that succeeds when it is ready. If several are given, all must hold.
    ``within``: seconds until then. ``stop``: the signal that ends it; ``patience``: seconds that it
    has to do so.
    """

    cmd: str
    port: int | None = None
    line: str = ""
    ready: str = ""
    within: float = 30.0
    stop: Signal = "TERM"
    patience: float = 10.0

    def __post_init__(self) -> None:
        for key, value in (("cmd", self.cmd), ("ready", self.ready)):
            try:
                words = shlex.split(value)
            except ValueError as error:
                raise UsageError(
                    f"service: {key} = {value!r} cannot be split into words ({str(error).lower()}):"
                    " check its quotes"
                ) from None
            if key == "cmd" and not any(words[:1]):
                raise UsageError(
                    "service: cmd names no program: write the command that starts the service"
                )
        if self.port is None and not self.line and not self.ready:
            raise UsageError(
                "service: nothing says when it is ready: give `port`, `line` or `ready`"
            )
        if self.port is not None and not 0 <= self.port < 1 << 16:
            raise UsageError(f"service: port is {self.port}: give 1 to 65535, or 0 for a free one")
        if self.port is None and PORT_PLACEHOLDER in f"{self.cmd} {self.ready}":
            raise UsageError("service: {port} has no value: add `port = 0` for a free one")
        for key, seconds in (("within", self.within), ("patience", self.patience)):
            if not 0 < seconds < math.inf:
                raise UsageError(f"service: {key} is {seconds!r}: give a number of seconds above 0")


class Running:
    """A service while it runs, as a context manager that starts it, waits until it is ready, and
    stops it.

    ``startup`` are the seconds from its start until it was ready. After the context ``execution``
    says what it took, and ``warnings`` how it did not end as it should.
    """

    def __init__(self, service: Service, run: Run) -> None:
        self.service, self.run = service, run
        self.port = service.port or (free_port() if service.port == 0 else None)
        self.argv = self._words(service.cmd)
        self.startup = 0.0
        self.execution: Execution | None = None
        self.warnings: list[str] = []
        self.root = 0
        self.events: Events | None = None
        self._on_end: Callable[[], None] | None = None
        self._error: Exception | None = None
        self._started, self._ended = threading.Event(), threading.Event()
        self._output = ServiceOutput(service.line)
        self._thread = threading.Thread(target=self._serve, name="perfvcs-service", daemon=True)

    def __enter__(self) -> Running:
        if self.port is not None and is_open(self.port):
            raise CollectError(
                f"port {self.port} is already in use, so it would be unclear who answers: stop the"
                " program that listens there, or give port = 0"
            )
        self._output.start()
        self._thread.start()
        begin = time.monotonic()
        try:
            self._wait(begin + self.service.within)
        except BaseException:
            self._end(signal.SIGKILL)
            raise
        self.startup = time.monotonic() - begin
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None and not issubclass(kind, Exception):
            self._end(signal.SIGKILL)
            return
        died = self._command() is None
        self._end(getattr(signal, f"SIG{self.service.stop}"))
        if died:
            raise CollectError(
                f"the service ended before it was stopped: {self._reason()}"
            ) from None
        if kind is None:
            self._judge()

    def when_over(self, then: Callable[[], None]) -> None:
        """Call ``then``, from another thread, as soon as the service has ended, be it asked to or
        not.
        """
        self._on_end = then
        if self._ended.is_set():
            then()

    def filled(self, words: Sequence[str]) -> tuple[str, ...]:
        """The words with the port in its place."""
        return (
            tuple(words)
            if self.port is None
            else tuple(word.replace(PORT_PLACEHOLDER, str(self.port)) for word in words)
        )

    def _words(self, command: str) -> tuple[str, ...]:
        program, *words = self.filled(shlex.split(command))
        if "/" in program:
            return str(self.run.cwd / program), *words
        path = shutil.which(program, path=self.run.env.get("PATH", os.defpath))
        if path is None:
            raise CollectError(
                f"the service's command `{program}` is not on PATH: install it, or write its path",
                lasting=True,
            )
        return str(Path(path).absolute()), *words

    def _serve(self) -> None:
        """In a thread of its own: have the launcher run it to its end."""
        limit = self.service.within + self.run.timeout + self.service.patience + AFTERWARDS
        try:
            self.events = Events()
            self.execution = launcher.launch(
                self.argv,
                cwd=self.run.cwd,
                env=self.run.env,
                timeout=limit,
                options=launcher.LaunchOptions(
                    cpus=self.run.cpus,
                    aslr=self.run.aslr,
                    output=self._output.writing,
                    started=self._begun,
                ),
            )
        except Exception as error:  # reported by the thread that waits
            self._error = error
        finally:
            self._output.finish()
            self._ended.set()
            self._started.set()
            if self._on_end is not None:
                self._on_end()

    def _begun(self, root: int) -> None:
        self.root = root
        self._started.set()

    def _wait(self, until: float) -> None:
        """Return when it is ready; raises CollectError when it ended, or is not ready in time."""
        self._started.wait()
        missing = self._missing(until)
        while missing and time.monotonic() < until and not self._ended.wait(POLL_SECONDS):
            missing = self._missing(until)
        # it left something that listens, which is about to be stopped
        if not missing and self._command() is None:
            self._ended.wait()
        if self._ended.is_set():
            raise CollectError(f"the service ended before it was ready: {self._reason()}")
        if missing:
            printed = self._output.end()
            raise CollectError(
                f"the service {name_command(self.argv)} was not ready within"
                f" {self.service.within:g} s: {missing}: give it more time (`within`), or correct"
                f" what shows that it is ready: {printed or 'it wrote nothing'}"
            )

    def _missing(self, until: float) -> str:
        """What is missing until it is ready; empty if nothing is."""
        if self.port is not None and not is_open(self.port):
            return f"nothing listens on port {self.port}"
        if self.service.line and not self._output.found.is_set():
            return f"no line of its output has {self.service.line!r}"
        if self.service.ready:
            try:
                run_command(
                    self._words(self.service.ready),
                    cwd=self.run.cwd,
                    env=self.run.env,
                    timeout=max(0.1, until - time.monotonic()),
                )
            except CommandFailed as error:
                return str(error)
        return ""

    def _end(self, number: signal.Signals) -> None:
        """Send the signal, and after its patience SIGKILL; the launcher stops what is left."""
        self._started.wait()
        command = self._command()
        # the launcher is about to start it, or to end
        while command is None and not self._ended.wait(POLL_SECONDS):
            command = self._command()
        if command is not None:
            with suppress(ProcessLookupError):
                os.kill(command, number)
            if not self._ended.wait(self.service.patience) and self._command() is not None:
                self._outlived(command)
        self._thread.join()
        self._output.close()
        if self.events is not None:
            self.events.close()

    def _command(self) -> int | None:
        """The process of the service's command; None when it does not run."""
        if self._ended.is_set():
            return None
        return leader(self.root)

    def _outlived(self, command: int) -> None:
        self.warnings.append(
            f"the service did not end within {self.service.patience:g} s of SIG{self.service.stop}"
            " and was killed: give it more time (`patience`), or another signal (`stop`)"
        )
        with suppress(ProcessLookupError):
            os.kill(command, signal.SIGKILL)

    def _judge(self) -> None:
        """Remember what was not as it should be at the end; raises CollectError where the launcher
        failed.
        """
        if self.execution is None:
            raise CollectError(str(self._error))
        if self.execution.leftover:
            self.warnings.append(
                f"the service left {self.execution.leftover} process(es) running, which perf"
                " stopped: have it wait for what it starts"
            )

    def _reason(self) -> str:
        """How it ended by itself, in one line."""
        if self.execution is None:
            return str(self._error)
        failed = failure(
            self.argv, replace(self.execution, stderr=self._output.text()), self.service.within
        )
        name = name_command(self.argv)
        foreground = "keep it in the foreground (no daemon, no `&`)"
        return failed or f"{name} exited with status 0: {foreground}"
