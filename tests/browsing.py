"""Pages that are read as text, and opened in a real browser."""

from __future__ import annotations

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from perfvcs.check.subject import Subject
from perfvcs.reports import page

# a page of 1,280 x 1,024 pixels that is enlarged four times
ENLARGED = {"width": 320, "height": 256}
# A4 across, without its margins
PAPER = {"width": 1032, "height": 703}
# the controls that a reader comes to with the keyboard and cannot see, as something covers them
COVERED = """
const covered = [];
for (const one of document.querySelectorAll("a[href], button, select, input, summary, [tabindex='0']")) {
  if (!one.checkVisibility({visibilityProperty: true}) || one.matches(".skip")) continue;
  one.focus({preventScroll: true});
  one.scrollIntoView({behavior: "instant", block: "nearest"});
  const box = [...one.getClientRects()].find(box => box.width > 0 && box.height > 0);
  if (!box) continue;
  const middle = (from, to, end) => (Math.max(from, 0) + Math.min(to, end)) / 2;
  const top = document.elementFromPoint(middle(box.left, box.right, innerWidth), middle(box.top, box.bottom, innerHeight));
  if (!top || !one.contains(top) && !top.contains(one)) covered.push(one.outerHTML.slice(0, 200));
}
return covered;
"""
BROWSER = pytest.mark.needs("chromium", "chromedriver")
LIMIT = 650_000


def documents(html: str) -> list[dict[str, Any]]:
    """The bokeh documents of a page."""
    found = re.search(r'<script type="application/gzip" id="figures">([^<]*)</script>', html)
    return [] if found is None else drawn(found[1])


def drawn(archive: str) -> list[dict[str, Any]]:
    """The documents of an archive of figures, with the columns that they refer to."""
    columns: list[Any] = []
    documents = []

    def column(found: dict[str, Any]) -> Any:
        if found.keys() == {"#"}:
            return [*map(list, enumerate(columns[found["#"]]))]
        return columns[found["$"]] if found.keys() == {"$"} else found

    lines = unpacked(archive).splitlines()
    for own, document in zip(lines[::2], lines[1::2], strict=True):
        columns += json.loads(own)
        documents.append(json.loads(document, object_hook=column))
    return documents


def unpacked(text: str) -> str:
    """What is compressed in a page: the first letter says how many bytes were added to fill the
    last five letters.
    """
    content = base64.b85decode(text[1:].replace(",", "<"))
    return gzip.decompress(content[: len(content) - int(text[0])]).decode()


def views(html: str) -> list[str]:
    return re.findall(r'data-view="(\w+)"', html)


class Opened:
    """A page in the browser, ready or of a subject, opened at a width, with every figure that is in
    sight drawn.
    """

    def __init__(
        self,
        browser: Any,
        folder: Path,
        about: Subject | str,
        width: int = 1400,
        height: int = 4000,
    ) -> None:
        self.browser = browser
        path = folder / "page.html"
        path.write_text(about if isinstance(about, str) else page.render(about), encoding="utf-8")
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        browser.get_log("browser")
        browser.get(path.as_uri())
        self.run("document.querySelector('.figure')?.scrollIntoView({block: 'center'})")
        self.wait(
            "!document.querySelector('.figure') ||"
            " Number(document.documentElement.dataset.drawn) > 0"
        )

    def run(self, script: str) -> Any:
        return self.browser.execute_script(f"return {script}")

    def wait(self, condition: str) -> None:
        from selenium.webdriver.support.ui import WebDriverWait

        WebDriverWait(self.browser, 300).until(
            lambda driver: driver.execute_script(f"return {condition}")
        )

    def problems(self) -> list[str]:
        """What the console says above chatter, and what was drawn or loaded that should not."""
        found = [
            entry["message"]
            for entry in self.browser.get_log("browser")
            if entry["level"] in ("SEVERE", "WARNING")
        ]
        return found + self.run("performance.getEntriesByType('resource').map(entry => entry.name)")
