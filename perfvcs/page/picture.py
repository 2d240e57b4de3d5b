"""Pictures of a page: PNG as a browser shows it, SVG of its figures."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from typing import Any

from perfvcs.drawing.canvas import INK
from perfvcs.errors import UsageError
from perfvcs.page import render
from perfvcs.page.chromium import BrowserFailed, Chromium
from perfvcs.page.packing import Backend
from perfvcs.subject import Subject

PICTURE_WIDTH: Mapping[Backend, int] = {"canvas": 1200, "svg": 760}  # CSS pixels: figures side by side, and below one another
FIRST_HEIGHT = 1000  # pixels of height in which the page is laid out
PIXEL_RATIO = 2  # pixels of a picture for one of CSS, where it does not become too high
PICTURE_HEIGHT = 16_000  # pixels of a picture: more no browser draws
HEADING_HEIGHT = 34  # pixels of a figure's heading
SVG_SIZE = re.compile(r'<svg[^>]*?\swidth="([\d.]+)"[^>]*?\sheight="([\d.]+)"')


def png(subject: Subject, view: str | None = None, options: Mapping[str, str] | None = None) -> bytes:
    """The page as it opens, in its light scheme; with a view named its figures alone. Raises NoBrowser and BrowserFailed."""
    with Chromium.started() as browser:
        height = _opened(browser, subject, view, options, "canvas")
        _resize(browser, min(height, PICTURE_HEIGHT), "canvas", PIXEL_RATIO if PIXEL_RATIO * height <= PICTURE_HEIGHT else 1)
        browser.run("picture.ready()")
        shot = browser.call("Page.captureScreenshot", format="png")
    return b64decode(shot["data"])


def svg(subject: Subject, view: str | None = None, options: Mapping[str, str] | None = None) -> bytes:
    """The figures that are open in the page, below one another.

    Raises UsageError if there is none, NoBrowser and BrowserFailed.
    """
    with Chromium.started() as browser:
        _opened(browser, subject, view, options, "svg")
        browser.run("picture.measureLegends()")
        browser.run("picture.ready()")
        figures = browser.run("picture.vectors()")
    if not figures:
        raise UsageError("there is no figure here to write as SVG: write the numbers, -o FILE.txt or FILE.csv")
    return _composed(figures).encode()


def _opened(browser: Chromium, subject: Subject, view: str | None, options: Mapping[str, str] | None, backend: Backend) -> int:
    """Show the page, all of its open figures drawn, without their tools; its height in pixels."""
    html = render(subject, view, options, backend=backend)
    light = [{"name": "prefers-color-scheme", "value": "light"}]
    browser.call("Emulation.setEmulatedMedia", features=light)
    _resize(browser, FIRST_HEIGHT, backend)
    frame = browser.call("Page.getFrameTree")["frameTree"]["frame"]["id"]
    browser.call("Page.setDocumentContent", frameId=frame, html=html)
    browser.run(files("perfvcs.page").joinpath("picture.js").read_text(encoding="utf-8"))
    if view is not None:
        browser.run("picture.figuresAlone()")
    _resize(browser, min(int(browser.run("picture.height()")), PICTURE_HEIGHT), backend)
    for step in ("ready", "withoutTools", "ready"):
        browser.run(f"picture.{step}()")
    return int(browser.run("picture.height()"))


def _resize(browser: Chromium, height: int, backend: Backend, fine: int = PIXEL_RATIO) -> None:
    size = {"width": PICTURE_WIDTH[backend], "height": height, "deviceScaleFactor": fine, "mobile": False}
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
        heading = " · ".join(filter(None, now if now[0] != before[0] else now[1:])) if now != before else ""
        if heading:
            top += HEADING_HEIGHT
            parts.append(
                f'<text x="8" y="{top - 10:g}" font-family="sans-serif" font-size="15" fill="{INK}">{escape(heading)}</text>'
            )
        before = now
        parts.append(f'<g transform="translate(0 {top:g})">{figure["svg"]}</g>')
        top += float(size[2])
        wide = max(wide, float(size[1]))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="{wide:g}" height="{top:g}" '
        f'viewBox="0 0 {wide:g} {top:g}"><rect width="100%" height="100%" fill="#ffffff"/>{"".join(parts)}</svg>\n'
    )
