"""How long the pages of a published site take to open: ``python benchmarks/opening.py SITE``.

The largest page of each kind is opened from the disk several times over in headless Chromium, at
1400 x 1000 pixels. For each: its size, and the medians of the time until it was loaded and drawn,
and of the processor time of the page's own thread, which a busy machine disturbs less. It needs
Chromium, chromedriver and selenium. The site of benchmarks/publish.py is the one that the figures
are about.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "docs"))
from needs import need
from pictures import browser

TIMES = 7
LIMIT = 1.0  # seconds until a page is there
WINDOW = {"width": 1400, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
DRAWN = "requestAnimationFrame(() => requestAnimationFrame(() => arguments[0](performance.now())))"


def pages(site: Path) -> list[Path]:
    """The first page, that of changes, and the largest series and commit."""
    largest = [
        max(site.glob(f"{folder}/*.html"), key=lambda path: path.stat().st_size)
        for folder in ("series", "commits")
    ]
    return [site / "index.html", site / "changes.html", *largest]


def thread(driver: Any) -> float:
    """Seconds of processor time of the page's own thread."""
    found = driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    return next(float(metric["value"]) for metric in found if metric["name"] == "TaskDuration")


def opened(driver: Any, page: Path) -> tuple[float, float]:
    """Seconds until a page is drawn, and of its thread."""
    driver.get("about:blank")
    before = thread(driver)
    driver.get(page.as_uri())
    return driver.execute_async_script(DRAWN) / 1000, thread(driver) - before


def main() -> int:
    """Open, print, and say with the exit code whether all were there in time."""
    parser = argparse.ArgumentParser(
        description="How long the pages of a published site take to open."
    )
    parser.add_argument("site", type=Path)
    site: Path = parser.parse_args().site.resolve()
    need("selenium", "/usr/bin/chromium", "/usr/bin/chromedriver")
    slow = False
    with TemporaryDirectory() as folder:
        driver = browser(Path(folder))
        try:
            driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", WINDOW)
            driver.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
            for page in pages(site):
                opened(driver, page)  # fonts and caches of the browser
                there, busy = (
                    statistics.median(column)
                    for column in zip(*(opened(driver, page) for _ in range(TIMES)), strict=True)
                )
                slow |= there > LIMIT
                name, size = page.relative_to(site), page.stat().st_size
                print(
                    f"{there * 1000:6.0f} ms until drawn, {busy * 1000:5.0f} ms of its thread,"
                    f" {size:9,} bytes  {name}"
                )
        finally:
            driver.quit()
    return int(slow)


if __name__ == "__main__":
    sys.exit(main())
