"""Any two commits of a site compared in the page, and the list of commits in which a reader finds
one.
"""

from __future__ import annotations

import json
import re
import shutil
from math import expm1, hypot, log
from pathlib import Path
from typing import Any

import pytest
from browsing import BROWSER
from test_site import COMMITS, Open, hostile, series, site, tab

pytestmark = BROWSER
__all__ = ["hostile", "site", "tab"]
ROWS = (
    "[...document.querySelectorAll('#all tbody tr')].map(row => [row.querySelector('th').textContent,"
    " ...[...row.querySelectorAll('td')].map(cell => cell.textContent), {...row.querySelector("
    "'.forest').dataset}])"
)
DRAWN = "document.querySelector('#all tbody, #all div > p + div + p') !== null"


def commit(site: Path, title: str) -> dict[str, Any]:
    for path in site.glob("commits/*.json"):
        page: dict[str, Any] = json.loads(path.read_text())["page"]
        if page["commit"]["title"] == title:
            return page["commit"]
    raise AssertionError(title)


def without_page(site: Path) -> list[str]:
    """The short ids of the commits that have no page of their own."""
    columns = json.loads((site / "assets/commits.json").read_text())
    return [one for one, own in zip(columns["ids"], columns["own"], strict=True) if not own]


def levels(site: Path, short: str) -> dict[str, tuple[float, float | None]]:
    """The level of a commit in each environment, with half of its interval, of the first series."""
    page = json.loads(series(site).with_suffix(".json").read_text())["page"]
    text = (site / "assets/commits.js").read_text()
    ids = json.loads(re.search(r'"ids":(\[[^\]]*\])', text)[1])  # type: ignore[index]
    place = page["commits"].index(ids.index(short))
    found = {}
    for track in page["tracks"]:
        if place in track["places"]:
            turn = track["places"].index(place)
            level, high = track["levels"][turn], track["high"][turn]
            reach = None if high is None else log(high / level)
            found[track["environment"]["name"]] = (level, reach)
    return found


def test_any_two_commits_are_compared_by_their_levels(tab: Open, site: Path) -> None:
    old, new = commit(site, "Change 3"), commit(site, "Change 47")
    opened = tab(site / new["url"], f"#with={old['short']}")
    opened.wait(DRAWN)
    opened.run(
        "[...document.querySelectorAll('#all .chip')].find(one => one.textContent.startsWith("
        "'all')).click()"
    )
    opened.settle()
    rows = {
        row[2]: row[-1]
        for row in opened.run(ROWS)
        if row[0] == "sort --fast" and row[1] == "wall time"
    }
    before, after = levels(site, old["short"]), levels(site, new["short"])
    assert rows.keys() == before.keys() & after.keys() and rows
    for environment, row in rows.items():
        (base, low_reach), (level, reach) = before[environment], after[environment]
        assert float(row["effect"]) == pytest.approx(level / base - 1, abs=1e-3)
        if low_reach is None or reach is None:
            assert row["word"] == "inconclusive" and row["low"] == row["high"] == ""
        else:
            half = hypot(low_reach, reach)
            ends = [expm1(log(level / base) - half), expm1(log(level / base) + half)]
            assert [float(row[end]) for end in ("low", "high")] == pytest.approx(ends, abs=5e-3)
    assert f"perf check {old['short']} {new['short']}" in opened.run(
        "document.querySelector('#all').textContent"
    )
    assert opened.problems() == [] and opened.wide() == 0


def test_a_script_that_is_not_there_is_said_and_the_search_still_knows_the_series(
    tab: Open, site: Path, tmp_path: Path
) -> None:
    torn = tmp_path / "torn"
    shutil.copytree(site, torn)
    (torn / "assets/commits.js").unlink()
    opened = tab(torn / commit(site, "Change 47")["url"])
    opened.run("document.querySelector('#all').open = true")
    opened.wait("document.querySelector('#all [role=alert]') !== null")
    said = opened.run("document.querySelector('#all [role=alert]').textContent")
    assert said.startswith("The comparisons cannot be loaded: reload the page")
    opened.run(
        "const field = document.querySelector('#search'); field.focus(); field.value = 'sort';"
        "field.dispatchEvent(new Event('input'))"
    )
    opened.wait("document.querySelector('#suggestions [role=option]') !== null")


def test_neighbours_have_the_verdicts_of_perf_check(tab: Open, site: Path) -> None:
    page = max(
        (json.loads(path.read_text())["page"] for path in site.glob("commits/*.json")),
        key=lambda page: len(page["moved"]),
    )
    opened = tab(site / page["commit"]["url"])
    opened.run("document.querySelector('#all').open = true")
    opened.wait(DRAWN)
    shown = {(row[0], row[1], row[2]): row[-1] for row in opened.run(ROWS)}
    for moved in page["moved"]:
        row = shown[moved["benchmark"], moved["metric"], moved["environment"]]
        assert row["word"] == moved["cell"]["word"]
        assert float(row["effect"]) == pytest.approx(moved["cell"]["effect"], rel=1e-3)
    assert page["moved"] and opened.problems() == []


def test_another_commit_is_chosen_by_its_title_and_stands_in_the_address(
    tab: Open, site: Path
) -> None:
    opened = tab(site / commit(site, "Change 47")["url"], "#all")
    opened.wait(DRAWN)
    wanted = commit(site, "Change 12")
    other = wanted["short"]
    opened.run(
        "(() => { const field = document.querySelector('#all input'); field.value = 'ada change 12"
        f" {other[:6]}'; field.dispatchEvent(new Event('change')); }})()"
    )
    opened.wait(f"location.hash === '#with={other}'")
    assert opened.run("document.querySelector('#all input').value") == other
    assert "Change 12" in opened.run("document.querySelector('#all').textContent")


def test_a_degradation_has_the_command_that_accepts_it(tab: Open, site: Path) -> None:
    pages = [json.loads(path.read_text())["page"] for path in site.glob("commits/*.json")]
    page = next(page for page in pages if any(row["accept"] for row in page["moved"]))
    rows = [row for row in page["moved"] if row["accept"]]
    assert all(row["cell"]["word"] == "degradation" for row in rows)
    opened = tab(site / page["commit"]["url"])
    opened.run("(navigator.clipboard.writeText = async text => { window.copied = text; }) && 0")
    opened.run("document.querySelector('[data-copy] button').click()")
    opened.wait("document.querySelector('[data-copy] button').textContent === 'copied'")
    assert re.fullmatch(r'perf accept [0-9a-f]{7} --reason ""', opened.run("window.copied"))
    assert opened.run("window.copied").split()[2] in {row["accept"] for row in rows}
    assert opened.problems() == []


@pytest.mark.parametrize("width", [400, 1400])
def test_hostile_names_stay_texts_in_comparisons_and_lists(
    tab: Open, hostile: Path, width: int
) -> None:
    listed = hostile / "commits.html"
    (alone, *_) = without_page(hostile)
    commits = [(path, "#all", DRAWN) for path in sorted(hostile.glob("commits/*.html"))[:3]]
    found = "document.querySelector('#commits output').textContent.includes(' of ')"
    for path, anchor, there in [
        *commits,
        (listed, "#q=a", f"document.querySelector('#all').hidden && {found}"),
        (listed, f"#{alone}", DRAWN),
    ]:
        opened = tab(path, anchor, width=width)
        opened.wait(there)
        opened.settle()
        assert opened.run("document.querySelectorAll('main img, main b, main script').length") == 0
        assert opened.problems() == [] and opened.wide() == 0


def test_a_reader_finds_a_commit_by_author_date_and_title(tab: Open, site: Path) -> None:
    opened = tab(site / "commits.html")
    opened.wait("document.querySelector('#commits output').textContent.includes('in all')")
    rows = "[...document.querySelectorAll('#commits tbody tr')].map(row => row.textContent)"
    assert len(opened.run(rows)) == COMMITS
    found = commit(site, "Change 17")
    opened.run("document.querySelector('#commits input').focus()")
    opened.press(f"ada {found['when'][:10]} change 17")
    (only,) = opened.run(rows)
    assert found["short"] in only and "q=ada" in opened.run("location.hash")
    assert opened.problems() == []


def test_a_commit_is_found_by_its_whole_title_and_by_all_of_its_id(tab: Open, site: Path) -> None:
    wanted = commit(site, "Change 4")
    opened = tab(site / "commits.html")
    opened.wait("document.querySelector('#commits output').textContent.includes('in all')")
    listed = "perf.compare.commits('{}', 9).map(one => one.title)"
    first, *others = opened.run(listed.format("change 4"))
    assert first == "Change 4" and others[:2] == ["Change 47", "Change 46"]
    assert opened.run(listed.format(wanted["id"])) == ["Change 4"]
    assert opened.run(listed.format(wanted["short"][:6])) == ["Change 4"]
    inner = f"{wanted['short'][2:9]}"
    assert opened.run(listed.format(inner)) == []


def test_the_search_of_every_page_suggests_commits(tab: Open, site: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    opened = tab(site / "about.html")
    wanted = commit(site, "Change 31")
    opened.press("/", f"ada {wanted['short'][:7]}")
    opened.wait("document.querySelectorAll('#suggestions [role=option]').length === 1")
    opened.press(Keys.ARROW_DOWN, Keys.ENTER)
    opened.wait(f"location.href.endsWith('{wanted['url']}')")


def test_a_suggested_commit_without_a_page_of_its_own_is_compared_on_the_page_of_all(
    tab: Open, hostile: Path
) -> None:
    from selenium.webdriver.common.keys import Keys

    short, *_ = without_page(hostile)
    opened = tab(hostile / "about.html")
    opened.press("/", short)
    opened.wait("document.querySelectorAll('#suggestions [role=option]').length === 1")
    opened.press(Keys.ARROW_DOWN, Keys.ENTER)
    opened.wait(f"location.href.endsWith('commits.html#{short}')")
    opened.wait(DRAWN)
    assert opened.run("document.querySelector('#all').hidden") is False
    assert opened.run(
        "document.querySelector('#all summary').getBoundingClientRect().top >="
        " document.querySelector('.top').getBoundingClientRect().bottom"
    )
    opened.run("(location.hash = '#q=nothing') && 0")
    opened.wait("document.querySelector('#all').hidden")
    assert opened.problems() == []


def test_commits_are_listed_without_a_script(site: Path) -> None:
    text = (site / "commits.html").read_text()
    assert len(re.findall(r'<tr[^>]*><th scope="row">', text)) == COMMITS and "Change 0" in text
