"""Pictures of a page: PNG as a browser shows it, SVG of its figures."""

from __future__ import annotations

import fcntl
import json
import os
import re
import select
import shutil
import signal
import tempfile
import time
from base64 import b64decode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from html import escape
from importlib.resources import files
from typing import Any, NamedTuple

from perfvcs.check.subject import Subject
from perfvcs.errors import PerfError, UsageError
from perfvcs.pictures.canvas import INK
from perfvcs.reports.packing import Backend
from perfvcs.reports.page import render
from perfvcs.text.characters import shorten

BROWSER_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
CHROMIUM_FLAGS = (
    "--headless",
    "--remote-debugging-pipe",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
    "--mute-audio",
)
ANSWER_SECONDS = 60.0  # for one answer
END_SECONDS = 5.0  # for its end
READ, WRITE = 3, 4  # the browser's ends of the pipes
CHUNK_BYTES = 1 << 16
# CSS pixels: figures side by side, and below one another
PICTURE_WIDTH: Mapping[Backend, int] = {"canvas": 1200, "svg": 760}
FIRST_HEIGHT = 1000  # pixels of height in which the page is laid out
PIXEL_RATIO = 2  # pixels of a picture for one of CSS, where it does not become too high
PICTURE_HEIGHT = 16_000  # pixels of a picture: more no browser draws
HEADING_HEIGHT = 34  # pixels of a figure's heading
SVG_SIZE = re.compile(r'<svg[^>]*?\swidth="([\d.]+)"[^>]*?\sheight="([\d.]+)"')


class NoBrowser(UsageError):
    """There is no browser that could draw a picture."""


class BrowserFailed(PerfError):
    """The browser ended, refused, or did not answer in time."""


class Chromium:
    """A running browser; ``call`` sends it one command and waits for the answer."""

    def __init__(self, pid: int, commands: int, answers: int) -> None:
        self.pid = pid
        self._commands, self._answers = commands, answers
        self._left = b""
        self._number = 0
        self._session: str | None = None

    @classmethod
    @contextmanager
    def started(cls) -> Iterator[Chromium]:
        """A browser with an empty page and a profile folder of its own, ended with all its
        processes afterwards.

        Raises NoBrowser if none is installed.
        """
        program = next(filter(None, map(shutil.which, BROWSER_NAMES)), None)
        if program is None:
            raise NoBrowser(
                "a picture needs Chromium or Chrome, and there is none on PATH: install one, or"
                " write a page: -o FILE.html"
            )
        with tempfile.TemporaryDirectory(prefix="perfvcs-", ignore_cleanup_errors=True) as folder:
            arguments = [
                program,
                *CHROMIUM_FLAGS,
                f"--user-data-dir={folder}",
                *(["--no-sandbox"] if os.geteuid() == 0 else []),
            ]
            browser = cls(*_spawn(program, arguments))
            try:
                browser._open()
                yield browser
            finally:
                browser._end()

    def _open(self) -> None:
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The result of one command; raises BrowserFailed."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        message |= {"sessionId": self._session} if self._session else {}
        until = time.monotonic() + ANSWER_SECONDS
        self._send(json.dumps(message).encode() + b"\0", until)
        while (answer := json.loads(self._next(until))).get("id") != self._number:
            pass
        if "error" in answer:
            raise BrowserFailed(
                f"the browser refused {method}: {shorten(str(answer['error'].get('message')), 200)}"
            )
        result: dict[str, Any] = answer["result"]
        return result

    def run(self, script: str) -> Any:
        """The value of an expression in the page, awaited; raises BrowserFailed if it throws."""
        result = self.call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in result:
            thrown = result["exceptionDetails"].get("exception", {})
            what = str(thrown.get("description") or thrown.get("value") or "an error").strip()
            raise BrowserFailed(
                f"the page could not be drawn: {shorten(what.splitlines()[0], 200)}"
            )
        return result["result"].get("value")

    def _send(self, message: bytes, until: float) -> None:
        left = memoryview(message)
        while left:
            _, ready, _ = select.select(
                [], [self._commands], [], max(0.0, until - time.monotonic())
            )
            if not ready:
                raise BrowserFailed(
                    f"the browser does not listen for {ANSWER_SECONDS:g} s: the machine may be"
                    " busy, try again"
                )
            try:
                left = left[os.write(self._commands, left[:CHUNK_BYTES]) :]
            except BrokenPipeError:
                raise BrowserFailed(self._gone()) from None

    def _next(self, until: float) -> bytes:
        while b"\0" not in self._left:
            ready, _, _ = select.select([self._answers], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                raise BrowserFailed(
                    f"the browser did not answer within {ANSWER_SECONDS:g} s: the machine may be"
                    " busy, try again"
                )
            chunk = os.read(self._answers, CHUNK_BYTES)
            if not chunk:
                raise BrowserFailed(self._gone())
            self._left += chunk
        message, _, self._left = self._left.partition(b"\0")
        return message

    def _gone(self) -> str:
        return (
            "the browser ended by itself: try `chromium --headless --dump-dom about:blank`, or"
            " write a page: -o FILE.html"
        )

    def _end(self) -> None:
        """Ask it to end, and after a grace end all of its processes."""
        with suppress(BrowserFailed):
            self._session = None
            self._send(b'{"id": 0, "method": "Browser.close"}\0', time.monotonic() + END_SECONDS)
        os.close(self._commands)
        until = time.monotonic() + END_SECONDS
        while not (ended := os.waitpid(self.pid, os.WNOHANG)[0]) and time.monotonic() < until:
            time.sleep(0.01)
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        if not ended:
            os.waitpid(self.pid, 0)
        os.close(self._answers)


class _Spawned(NamedTuple):
    """A process that reads commands from one pipe and writes answers to another: our ends."""

    pid: int
    commands: int
    answers: int


def _spawn(program: str, arguments: list[str]) -> _Spawned:
    """A process in a group of its own, whose ends of the pipes are the descriptors 3 and 4."""
    theirs, commands = os.pipe()
    answers, back = os.pipe()
    # A descriptor that has the wanted number already would stay closed on exec.
    high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (theirs, back)]
    quiet = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1, 2)]
    moved = [
        (os.POSIX_SPAWN_DUP2, end, number) for end, number in zip(high, (READ, WRITE), strict=True)
    ]
    try:
        pid = os.posix_spawn(
            program, arguments, os.environ, file_actions=[*moved, *quiet], setsid=True
        )
    except OSError as error:
        os.close(commands)
        os.close(answers)
        raise BrowserFailed(f"{program} cannot be started: {error.strerror}") from None
    finally:
        for end in (theirs, back, *high):
            os.close(end)
    return _Spawned(pid, commands, answers)


def png(
    subject: Subject, view: str | None = None, options: Mapping[str, str] | None = None
) -> bytes:
    """The page as it opens, in its light scheme; with a view named its figures alone.

    Raises NoBrowser and BrowserFailed.
    """
    with Chromium.started() as browser:
        height = _opened(browser, subject, view, options, "canvas")
        _resize(
            browser,
            min(height, PICTURE_HEIGHT),
            "canvas",
            PIXEL_RATIO if PIXEL_RATIO * height <= PICTURE_HEIGHT else 1,
        )
        browser.run("picture.ready()")
        shot = browser.call("Page.captureScreenshot", format="png")
    return b64decode(shot["data"])


def svg(
    subject: Subject, view: str | None = None, options: Mapping[str, str] | None = None
) -> bytes:
    """The figures that are open in the page, below one another.

    Raises UsageError if there is none, NoBrowser and BrowserFailed.
    """
    with Chromium.started() as browser:
        _opened(browser, subject, view, options, "svg")
        browser.run("picture.measureLegends()")
        browser.run("picture.ready()")
        figures = browser.run("picture.vectors()")
    if not figures:
        raise UsageError(
            "there is no figure here to write as SVG: write the numbers, -o FILE.txt or FILE.csv"
        )
    return _composed(figures).encode()


def _opened(
    browser: Chromium,
    subject: Subject,
    view: str | None,
    options: Mapping[str, str] | None,
    backend: Backend,
) -> int:
    """Show the page, all of its open figures drawn, without their tools; its height in pixels."""
    html = render(subject, view, options, backend=backend)
    light = [{"name": "prefers-color-scheme", "value": "light"}]
    browser.call("Emulation.setEmulatedMedia", features=light)
    _resize(browser, FIRST_HEIGHT, backend)
    frame = browser.call("Page.getFrameTree")["frameTree"]["frame"]["id"]
    browser.call("Page.setDocumentContent", frameId=frame, html=html)
    browser.run(files("perfvcs.reports").joinpath("picture.js").read_text(encoding="utf-8"))
    if view is not None:
        browser.run("picture.figuresAlone()")
    _resize(browser, min(int(browser.run("picture.height()")), PICTURE_HEIGHT), backend)
    for step in ("ready", "withoutTools", "ready"):
        browser.run(f"picture.{step}()")
    return int(browser.run("picture.height()"))


def _resize(browser: Chromium, height: int, backend: Backend, fine: int = PIXEL_RATIO) -> None:
    size = {
        "width": PICTURE_WIDTH[backend],
        "height": height,
        "deviceScaleFactor": fine,
        "mobile": False,
    }
    browser.call("Emulation.setDeviceMetricsOverride", **size)


def _composed(figures: list[dict[str, Any]]) -> str:
    """One drawing out of many, each block below its heading."""
    parts, top, wide = [], 0.0, 1.0
    before: tuple[str, str] = ("", "")
    for figure in figures:
        size = SVG_SIZE.search(figure["svg"])
        if size is None:
            raise BrowserFailed("a figure has no size as SVG: write a PNG, -o FILE.png")
        now = (figure["section"].strip(), figure["heading"].strip())
        fresh = now if now[0] != before[0] else now[1:]
        heading = "" if now == before else " · ".join(filter(None, fresh))
        if heading:
            top += HEADING_HEIGHT
            parts.append(
                f'<text x="8" y="{top - 10:g}" font-family="sans-serif" font-size="15"'
                f' fill="{INK}">{escape(heading)}</text>'
            )
        before = now
        parts.append(f'<g transform="translate(0 {top:g})">{figure["svg"]}</g>')
        top += float(size[2])
        wide = max(wide, float(size[1]))
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
        f' width="{wide:g}" height="{top:g}" viewBox="0 0 {wide:g} {top:g}"><rect width="100%"'
        f' height="100%" fill="#ffffff"/>{"".join(parts)}</svg>\n'
    )
