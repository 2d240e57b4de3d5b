"""Every kind of page of a site by the rules of axe, and whether anything moves while it loads."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from browsing import BROWSER
from test_site import Open, hostile, pages, series, site, tab

pytestmark = BROWSER
__all__ = ["hostile", "site", "tab"]
MOVED = 0.05  # of the window, by the browser's own measure
LARGEST = 600_000  # bytes of a page
SHIFTS = """new Promise(done => {
  const names = [];
  let moved = 0;
  new PerformanceObserver(list => list.getEntries().forEach(entry => {
    moved += entry.value;
    names.push(`${entry.value.toFixed(3)} ${entry.sources.map(one => one.node?.outerHTML?.slice(0, 90)).join(' & ')}`);
  }))
    .observe({type: "layout-shift", buffered: true});
  setTimeout(() => done([moved, names]), 500);
})"""


@pytest.mark.parametrize("width", [400, 1400, 2560])
@pytest.mark.parametrize("which", ["site", "hostile"])
def test_no_page_breaks_a_rule_of_axe_or_moves_while_it_loads(
    request: pytest.FixtureRequest, browser: Any, tab: Open, which: str, width: int
) -> None:
    axe = files("axe_core_python").joinpath("axe.min.js").read_text(encoding="utf-8")
    broken, moved = {}, {}
    for path in pages(request.getfixturevalue(which)):
        opened = tab(path, width=width)
        moved[path.name] = opened.run(SHIFTS)
        browser.execute_script(axe)
        broken[path.name] = browser.execute_async_script(
            "axe.run({resultTypes: ['violations']}).then(found => arguments[0](found.violations"
            ".map(one => [one.id, one.impact, one.nodes.length, one.nodes[0].html])))"
        )
    assert {name: rules for name, rules in broken.items() if rules} == {}
    assert {name: share for name, share in moved.items() if share[0] >= MOVED} == {}


def test_the_figure_of_a_series_has_its_height_before_it_is_painted(tab: Open, site: Path) -> None:
    assert tab(series(site)).run(SHIFTS) == [0, []]


@pytest.mark.parametrize("name", ["index.html", ""])
def test_a_page_is_as_wide_while_it_is_read(tab: Open, site: Path, name: str) -> None:
    """What its head says counts, neither what it contains nor how long it is."""
    opened = tab(site / name if name else series(site), width=2560)
    place = "document.querySelector('main').getBoundingClientRect().toJSON().x"
    before = opened.run(place)
    opened.run("document.querySelector('main').replaceChildren()")
    assert opened.run(place) == before


def test_no_page_is_large(site: Path) -> None:
    assert {path for path in site.rglob("*.html") if path.stat().st_size > LARGEST} == set()
