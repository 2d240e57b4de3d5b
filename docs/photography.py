"""Pictures of pages in a headless Chromium, as PNG files of few colours."""

from __future__ import annotations

import io
from base64 import b64decode
from pathlib import Path
from typing import Any

# of a picture, as many as its size allows: it looks the same, and the file has a third of the size
COLOURS = (256, 128, 64, 32, 16)
LARGEST = 80_000  # bytes
SIGHT = """
const seen = [...document.querySelectorAll(".figure")].filter(one => one.getBoundingClientRect().top < innerHeight);
return seen.length && seen.every(one => one.classList.contains("drawn"));
"""
DRAWN = """
const one = document.querySelector(arguments[0]);
one.scrollIntoView({behavior: "instant"});
return !one.matches(".figure") || one.classList.contains("drawn");
"""
FIGURE = """
const box = document.querySelector(arguments[0]).getBoundingClientRect();
return {x: box.x + scrollX + 1, y: box.y + scrollY, width: box.width - 1, height: box.height};
"""
QUIET = """
const models = (window.Bokeh?.documents ?? []).flatMap(one => one.roots()).flatMap(root => [...root.references()]);
for (const model of models) if (model.toolbar) model.toolbar.visible = false;
"""
SETTLED = "return new Promise(done => requestAnimationFrame(() => setTimeout(done, 300)));"


def browser(folder: Path) -> Any:
    """A headless Chromium with a profile folder of its own."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    flags = [
        "headless",
        "no-sandbox",
        "disable-gpu",
        "disable-dev-shm-usage",
        "disable-background-networking",
        "hide-scrollbars",
    ]
    for flag in [*flags, f"user-data-dir={folder / 'chromium'}"]:
        options.add_argument(f"--{flag}")
    return webdriver.Chrome(
        options=options, service=webdriver.ChromeService("/usr/bin/chromedriver")
    )


def photograph(
    driver: Any,
    page: Path,
    width: int,
    height: int,
    part: str = "",
    sight: str = SIGHT,
    anchor: str = "",
) -> bytes:
    """The top of a page in a window of so many pixels, or what is in sight at an ``anchor``, or
    only the ``part`` that a selector finds, twice as fine; a PNG of few colours.

    ``sight``: a script that says when all is there.
    """
    from selenium.webdriver.support.ui import WebDriverWait

    metrics = {
        "width": width,
        "height": height,
        "deviceScaleFactor": 2 if part else 1,
        "mobile": False,
    }
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    light = {"features": [{"name": "prefers-color-scheme", "value": "light"}]}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", light)
    driver.get(f"{page.as_uri()}#{anchor}" if anchor else page.as_uri())
    WebDriverWait(driver, 60).until(
        lambda page: page.execute_script(DRAWN if part else sight, part)
    )
    box = {"x": 0, "y": 0, "width": width, "height": height}
    if part:
        driver.execute_script(QUIET)
        driver.execute_script(SETTLED)
        box = driver.execute_script(FIGURE, part)
    driver.execute_script(SETTLED)
    if anchor:
        box["y"] = driver.execute_script("return scrollY;")
    shot = driver.execute_cdp_cmd(
        "Page.captureScreenshot", {"clip": box | {"scale": 1}, "captureBeyondViewport": True}
    )
    return compact(b64decode(shot["data"]))


def compact(picture: bytes, width: int | None = None) -> bytes:
    """A PNG with as many colours as `LARGEST` bytes allow, at most ``width`` pixels wide."""
    from PIL import Image

    whole = Image.open(io.BytesIO(picture)).convert("RGB")
    if width is not None and whole.width > width:
        whole = whole.resize(
            (width, round(whole.height * width / whole.width)), Image.Resampling.LANCZOS
        )
    for colours in COLOURS:
        small = io.BytesIO()
        whole.quantize(colours, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(
            small, "PNG", optimize=True
        )
        if small.tell() <= LARGEST:
            break
    return small.getvalue()
