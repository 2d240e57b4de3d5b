"""What of a figure travels with its page, and what of it is printed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pictures
from browsing import BROWSER, Opened, documents

from perfvcs.pictures.canvas import canvas
from perfvcs.reports import page
from perfvcs.reports.packing import FigureArchive

TOOLBARS = """
const shadows = [...document.querySelectorAll("*")], seen = [];
for (const one of shadows) if (one.shadowRoot) shadows.push(...one.shadowRoot.querySelectorAll("*"));
return shadows.filter(one => one.classList.contains("bk-Toolbar")).map(one => getComputedStyle(one).display);
"""


def test_the_labels_of_an_axis_and_the_ids_of_commits_travel_once() -> None:
    html = page.render(pictures.history(200, labels=["a"]))
    (figure, *_) = documents(html)
    labels = axis_labels(figure)
    assert labels[:2] == [[0, "00000000"], [1, "00000001"]] and len(labels) == 200


def test_an_axis_without_labels_of_its_own_travels() -> None:
    plot = canvas("none", "", "")
    plot.xaxis.major_label_overrides = {}
    assert FigureArchive().add(plot, "f1") == 1


def axis_labels(document: object) -> list[list[object]]:
    """The pairs of places and labels of the first axis that has some."""
    waiting = [document]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict) and "major_label_overrides" in one:
            return list(one["major_label_overrides"]["entries"])
        waiting += one.values() if isinstance(one, dict) else one if isinstance(one, list) else []
    return []


@BROWSER
def test_no_toolbar_is_printed(browser: Any, tmp_path: Path) -> None:
    opened = Opened(browser, tmp_path, pictures.one())
    assert set(opened.browser.execute_script(TOOLBARS)) != {"none"}
    opened.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        shown = opened.browser.execute_script(TOOLBARS)
    finally:
        opened.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert shown and set(shown) == {"none"}
