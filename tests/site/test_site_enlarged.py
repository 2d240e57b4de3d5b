"""The pages of a site enlarged four times, and on paper."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import BROWSER, COVERED, ENLARGED, PAPER
from test_site import Open, hostile, pages, site, tab

pytestmark = BROWSER
__all__ = ["hostile", "site", "tab"]


@pytest.mark.parametrize("which", ["site", "hostile"])
def test_an_enlarged_page_is_no_wider_than_the_window_and_covers_no_control(
    request: pytest.FixtureRequest, tab: Open, which: str
) -> None:
    for path in pages(request.getfixturevalue(which)):
        opened = tab(path, **ENLARGED)
        assert (path.name, opened.wide()) == (path.name, 0)
        assert (path.name, opened.run(COVERED)) == (path.name, [])


@pytest.fixture
def printed(browser: Any) -> Iterator[None]:
    yield
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


@pytest.mark.usefixtures("printed")
def test_a_printed_page_fits_the_paper_and_keeps_no_room_for_what_is_not_on_it(
    tab: Open, site: Path
) -> None:
    for path in pages(site):
        opened = tab(path, **PAPER)
        opened.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        opened.settle()
        assert (path.name, opened.wide()) == (path.name, 0)
        controls = "select, input, .tools"
        there = f"[...document.querySelectorAll('{controls}')].filter(one => one.checkVisibility())"
        assert (path.name, opened.run(f"{there}.map(one => one.outerHTML)")) == (path.name, [])
        reserved = "[...document.querySelectorAll('#history, #detail, [data-filters]')]"
        assert opened.run(
            f"{reserved}.every(one => one.offsetHeight <= 1 + [...one.children].reduce((sum, child)"
            " => sum + child.offsetHeight + 12, 0))"
        )


def test_no_cell_of_a_wide_table_reaches_into_the_next(tab: Open, site: Path) -> None:
    over = (
        "[...document.querySelectorAll('table.series td.number, .triage tr > *, .group tr > *')]"
        ".filter(one => one.scrollWidth > one.clientWidth).map(one => one.outerHTML)"
    )
    opened = tab(site / "index.html", width=1400)
    long = "document.querySelectorAll('table.series td.number').forEach(one => {one.textContent = '{}'})"
    opened.run(long.replace("{}", "▲ +12,345,678 %"))
    effect = "[...document.querySelectorAll('.triage strong > .number')]"
    assert opened.run(f"{effect}.length") == 2
    for number, text in enumerate(("+123,456 %", "[+110,000, +130,000]")):
        opened.run(f"{effect}[{number}].textContent = '{text}'")
    assert opened.run(over) == []
    opened = tab(site / "changes.html", width=1400)
    opened.run("document.querySelectorAll('details').forEach(one => {one.open = true})")
    assert opened.run(over) == []


def test_names_break_after_their_parts(tab: Open, site: Path) -> None:
    opened = tab(site / "index.html")
    parts = opened.run("perf.compare.parted('a.b_c: d::e').map(one => one.outerHTML ?? one)")
    assert parts == ["a.", "<wbr>", "b_", "<wbr>", "c:", "<wbr>", " d::", "<wbr>", "e"]
