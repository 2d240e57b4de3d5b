"""The numbers of figures as they travel: without digits that nobody can see, exact where somebody
can.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pictures
import pytest
from bokeh.models import ColumnDataSource
from browsing import BROWSER, Opened, documents
from numpy.typing import NDArray

from perfvcs.pictures.canvas import PLACE_BITS, canvas, source
from perfvcs.reports import page
from perfvcs.reports.packing import FigureArchive

TOOLBARS = """
const shadows = [...document.querySelectorAll("*")], seen = [];
for (const one of shadows) if (one.shadowRoot) shadows.push(...one.shadowRoot.querySelectorAll("*"));
return shadows.filter(one => one.classList.contains("bk-Toolbar")).map(one => getComputedStyle(one).display);
"""


def column(values: object) -> NDArray[np.float64]:
    data: ColumnDataSource = source(x=np.asarray(values, dtype=np.float64))
    return np.asarray(data.data["x"], dtype=np.float64)


def test_a_column_is_true_to_a_fraction_of_its_span_and_of_each_value() -> None:
    random = np.random.default_rng(3)
    near = 1e3 + random.normal(0, 1e-2, 500)
    assert np.abs(column(near) - near).max() <= np.ptp(near) / 2**PLACE_BITS + 1e-4
    wide = np.exp(random.uniform(-20, 20, 500))  # as on a logarithmic axis
    assert np.abs(column(wide) / wide - 1).max() <= 2.0**-PLACE_BITS
    sizes = np.array([1.0, 999_999.0, np.nan, 3.0])
    assert np.array_equal(column(sizes), sizes, equal_nan=True)
    assert column([0.1, 0.1]) == pytest.approx([0.1, 0.1], rel=1e-7)
    assert np.isnan(column([np.nan])).all() and len(column([])) == 0


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
