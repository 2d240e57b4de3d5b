"""What pages of two revisions say first, and the figures that the reader asks for."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pictures
import pytest
from browsing import BROWSER, COVERED, ENLARGED, LIMIT, Opened, unpacked

from perfvcs.check.brief import brief
from perfvcs.check.subject import Subject
from perfvcs.reports import page

HUNDRED = pictures.two(100)


@cache
def hundred() -> str:
    """The page of a hundred benchmarks, most pairs of which it draws on demand."""
    return page.render(HUNDRED)


def numbers(html: str) -> list[dict[str, Any]]:
    """What further figures of a page are drawn from."""
    found = re.search(r'<script type="application/gzip" id="further">([^<]*)</script>', html)
    return [] if found is None else json.loads(unpacked(found[1]))


@pytest.mark.slow
def test_a_page_says_what_perf_check_says_in_its_order_before_anything_else() -> None:
    ten = pictures.two(10)
    said = brief(ten.report)  # type: ignore[arg-type]
    unit = said.changes[0].name
    job = unit.partition(":")[0]
    known = {(job, job): ["work in work.py: +3 calls"]}
    html = page.render(
        Subject(
            "a → b", ten.target, ten.baseline, ten.report, causes=known, following=["Next: do this"]
        )
    )
    parts = [f'class="sentence">{said.sentence}.<', unit, said.rest[0][:30], "Next: do this"]
    top = [html.index(part) for part in parts]
    assert top == sorted(top) and top[-1] < html.index('<dl class="facts">') < html.index("<h2")


@pytest.mark.slow
def test_pairs_without_a_figure_travel_as_the_medians_of_their_executions() -> None:
    html = hundred()
    found = numbers(html)
    counted = re.search(r"(\d+) more pairs of benchmark and metric are drawn on demand", html)
    assert counted is not None and int(counted[1]) == len(found) > 200
    assert len(html.encode()) < LIMIT and "are not drawn" not in html
    one = found[-1]
    profile = next(
        one_profile for one_profile in HUNDRED.target if one_profile.job.label == one["name"]
    )
    assert [len(side) for side in one["sides"]] == [profile.design.executions] * 2
    assert "%" in one["said"] and "→" in one["said"]


@pytest.mark.slow
def test_what_has_no_room_at_all_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perfvcs.reports.sections.ROOM", 2_000)
    html = page.render(pictures.two(40))
    missing = re.search(
        r"(\d+) more pairs of benchmark and metric are not drawn, to keep this page small", html
    )
    assert missing is not None and int(missing[1]) > 50
    assert 0 < len(numbers(html)) < 100


def test_a_page_that_draws_everything_asks_for_nothing() -> None:
    html = page.render(pictures.two(1))
    assert "on demand" not in html and numbers(html) == []


@BROWSER
def test_an_enlarged_page_is_no_wider_than_the_window_and_covers_no_control(
    browser: Any, tmp_path: Path
) -> None:
    opened = Opened(browser, tmp_path, hundred(), **ENLARGED)
    assert opened.run("document.documentElement.scrollWidth") <= ENLARGED["width"]
    assert browser.execute_script(COVERED) == []


@BROWSER
def test_on_paper_nothing_is_to_be_chosen(browser: Any, tmp_path: Path) -> None:
    opened = Opened(browser, tmp_path, hundred())
    choice = "document.querySelector('.further select').checkVisibility()"
    assert opened.run(choice)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        assert not opened.run(choice)
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


@BROWSER
def test_the_reader_chooses_a_pair_and_sees_its_executions(browser: Any, tmp_path: Path) -> None:
    opened = Opened(browser, tmp_path, hundred(), width=400)
    opened.wait("document.querySelectorAll('.further option').length > 1")
    browser.execute_script(
        "const s = document.querySelector('.further select'); s.value = 5; s.dispatchEvent(new"
        " Event('change'))"
    )
    opened.wait("document.querySelector('.further svg')")
    dots = opened.run(
        "['circle', 'rect'].map(name => document.querySelectorAll('.further svg ' + name).length)"
    )
    chosen = numbers((tmp_path / "page.html").read_text(encoding="utf-8"))[5]
    assert dots == [len(side) for side in chosen["sides"]]
    assert (
        opened.run("document.querySelector('.further h3').textContent")
        == f"{chosen['name']}: {chosen['metric']}"
    )
    assert opened.run("document.documentElement.scrollWidth") <= 400
    assert opened.problems() == []
