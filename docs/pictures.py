"""Makes the pictures of the pages: ``python docs/pictures.py [NAME ...]`` writes them to
docs/images.

The numbers are made up, always the same ones, but for "comparison" (of `make demo`), "slip" (of
`make demo-curves`), and "site" and "front" (of Django: ``djangosite``); what draws them are the
tool's own views. It needs git, Chromium and
chromedriver.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from perfvcs.check.subject import Subject
from perfvcs.reports.page import render

sys.path.append(str(Path(__file__).parent))  # for a test, which loads this file alone
import djangosite
import subjects
from photography import LARGEST, browser, compact, photograph

__all__ = ["LARGEST", "PICTURES", "SITE", "compact"]
IMAGES = Path(__file__).parent / "images"


@dataclass(frozen=True)
class Picture:
    """What is drawn: the first figure that a view makes of a subject, on a page of so many pixels
    ``width``.

    Without a view it is the top of the whole page, ``height`` pixels of it. ``measured``: the
    subject is there after `make demo` only.
    """

    subject: Callable[[Path], Subject]
    view: str | None
    width: int = 760
    height: int = 2000
    measured: bool = False


@dataclass(frozen=True)
class SitePicture:
    """What is in sight of a ``page`` of a site (a pattern) in a window of a ``height``, in pixels,
    with an address that ends with ``part``.
    """

    site: Callable[[Path], Path]
    page: str
    height: int
    part: str = ""


PICTURES = {
    "executions": Picture(subjects.executions, "executions"),
    "drift": Picture(subjects.drift, "runsequence"),
    "apart": Picture(subjects.apart, "comparison", width=520),
    "turns": Picture(subjects.turns, "comparison", width=520),
    "effects": Picture(subjects.effects, "effects"),
    "history": Picture(subjects.history, "history"),
    "dendrogram": Picture(subjects.dendrogram, "dendrogram"),
    "curves": Picture(subjects.curves, "curves"),
    "flame": Picture(subjects.flame, "flamediff"),
    "comparison": Picture(subjects.demo, None, width=1200, height=1180, measured=True),
    "slip": Picture(subjects.slip, "curves", measured=True),
}
SITE = {
    "site": SitePicture(djangosite.django, "index.html", 780, "series"),
    "site-series": SitePicture(subjects.site, "series/sort-*.html", 950),
    "front": SitePicture(
        djangosite.django, "series/*form_validate*4bf9df4356.html", 525, "only=figure"
    ),
}


def shoot(driver: Any, name: str, folder: Path) -> bytes:
    """A picture as PNG; a single figure twice as fine as the page, without its tools."""
    picture = PICTURES[name]
    folder.mkdir()
    page = folder / "page.html"
    page.write_text(render(picture.subject(folder), picture.view), encoding="utf-8")
    return photograph(
        driver, page, picture.width, picture.height, ".figure" if picture.view else ""
    )


def visit(driver: Any, name: str, folder: Path) -> bytes:
    """What is in sight of a page of a site as PNG."""
    folder.mkdir()
    picture = SITE[name]
    return photograph(
        driver,
        next(picture.site(folder).glob(picture.page)),
        1200,
        picture.height,
        sight="return document.readyState === 'complete';",
        anchor=picture.part,
    )


def main() -> None:
    """Draw the named pictures, or all."""
    known = [*PICTURES, *SITE]
    chosen = sys.argv[1:] or known
    if wrong := [name for name in chosen if name not in known]:
        sys.exit(f"there is no picture {', '.join(wrong)}; there are {', '.join(known)}")
    with TemporaryDirectory() as folder:
        driver = browser(Path(folder))
        try:
            for name in chosen:
                found = (visit if name in SITE else shoot)(driver, name, Path(folder) / name)
                if len(found) > LARGEST:
                    sys.exit(f"{name}: {len(found):,} bytes, over {LARGEST:,}: draw less")
                (IMAGES / f"{name}.png").write_bytes(found)
                print(f"{name}: {len(found):,} bytes")
        finally:
            driver.quit()


if __name__ == "__main__":
    main()
