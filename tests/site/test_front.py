"""The table of all series on a site's front page."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from conftest import Perf, Project
from histories import OTHER, PARSE, grow, measured, stepped, store
from samples import sample_profile

from perfvcs.profile import Job
from perfvcs.site import pages
from perfvcs.site.pages import name_parts
from perfvcs.site.seriestable import PARTS, prefix

QUICK = ("--profiles", "0")


def front(perf: Perf) -> dict[str, Any]:
    """What the front page says, by its JSON."""
    perf("publish", "site", *QUICK)
    page: dict[str, Any] = json.loads(Path("site/index.json").read_text())["page"]
    return page


class Cells(HTMLParser):
    """The texts of all headings and cells of a page, and what it was made of."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.elements: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, _: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        if tag in ("td", "th"):
            self.texts.append("")

    def handle_data(self, data: str) -> None:
        if self.texts:
            self.texts[-1] += data.strip()


def test_changes_are_since_the_newest_release_90_days_and_a_year(
    project: Project, perf: Perf
) -> None:
    commits = grow(project, 40, days=20)
    project.git("tag", "v1.0", commits[20])
    project.git("tag", "v1.1", commits[30])
    project.git("tag", "nightly", commits[35])
    store(
        *measured(commits, stepped(40, 33, high=0.012), spread=0.001),
        *measured(commits, stepped(40, 25, low=0.03, high=0.02), seed=2, spread=0.001, job=PARSE),
    )
    page = front(perf)
    assert page["since"] == ["v1.1", "90 days", "a year"]
    assert page["sentence"].startswith("1 open degradation from 1 commit, which is certain; as of ")
    rows = {row["benchmark"]: row for row in page["rows"]}
    sort, parse = rows["sort"], rows["parse --fast: sort"]
    levels = [row["level"].partition(" ") for row in (sort, parse)]
    assert [float(level) for level, _, _ in levels] == pytest.approx([12, 20], rel=0.01)
    assert [unit for _, _, unit in levels] == ["ms", "ms"]
    texts = [change["text"] for change in sort["since"]]
    assert [float(text.removesuffix(" %")) for text in texts] == pytest.approx([20, 0, 20], abs=0.5)
    assert [change["word"] for change in sort["since"]] == ["degradation", "", "degradation"]
    assert [change["word"] for change in parse["since"]] == ["", "", "improvement"]
    assert parse["since"][2]["effect"] == pytest.approx(-1 / 3, abs=0.01)
    assert sort["scatter"] is None and 0 < parse["scatter"] < 0.01
    cells = Cells(Path("site/index.html").read_text()).texts
    assert "?" not in cells and "N/A" not in cells
    assert [text for text in cells if text.startswith("▲")] == [f"▲ {texts[0]}", f"▲ {texts[2]}"]


def test_a_series_that_ended_is_folded_below_the_others(project: Project, perf: Perf) -> None:
    commits = grow(project, 60, days=5)
    store(
        *measured(commits[:12], [0.01] * 12),
        *measured(commits, [0.02] * 60, seed=2, job=PARSE),
        *measured(commits[:12], [0.01] * 12, seed=3, environment=OTHER),
    )
    page = front(perf)
    ended = [bool(row["ended"]) for row in page["rows"]]
    assert ended == [False, True, True]
    text = Path("site/index.html").read_text()
    live, folded = re.split(r'<details class="retired"', text)
    day = project.git("log", "-1", "--format=%as", commits[11]).strip()
    assert f"2 series are not measured any more; last measured {day}</summary>" in folded
    assert [half.count("<tr data-item") for half in (live, folded)] == [1, 2]


def test_the_days_on_which_series_ended_are_from_the_first_to_the_last(
    project: Project, perf: Perf
) -> None:
    commits = grow(project, 60, days=5)
    store(*measured(commits[:12], [0.01] * 12), *measured(commits, [0.02] * 60, job=PARSE))
    front(perf)
    days = [project.git("log", "-1", "--format=%as", commits[turn]).strip() for turn in (11, 15)]
    said = f"1 series is not measured any more; last measured {days[0]}</summary>"
    assert said in Path("site/index.html").read_text()
    store(*measured(commits[:16], [0.01] * 16, environment=OTHER))
    front(perf)
    said = f"2 series are not measured any more; last measured {days[0]} to {days[1]}</summary>"
    assert said in Path("site/index.html").read_text()


def test_dates_that_are_equal_or_reversed_give_a_course_by_order(
    project: Project, perf: Perf
) -> None:
    commits = grow(project, 4)
    store(
        *(
            sample_profile([10.0**power], commit=commit)
            for power, commit in zip((-9, -3, 4, 12), commits, strict=True)
        )
    )
    page = front(perf)
    (row,) = page["rows"]
    letters = [letter for letter in row["strip"] if letter != "."]
    assert (len(row["strip"]), letters[0], letters[-1], len(letters)) == (PARTS, "0", "z", 4)
    assert letters == sorted(letters)
    assert page["since"] == [] and row["scatter"] is None
    backwards = grow(project, 4, "Later", days=-3)
    store(*(sample_profile([0.5], commit=commit) for commit in backwards))
    assert set(front(perf)["rows"][0]["strip"]) >= {"0", "z"}


def test_one_commit_has_a_row_without_what_nothing_is_known_of(
    project: Project, perf: Perf
) -> None:
    store(sample_profile([0.0123], commit=project.commit()))
    (row,) = front(perf)["rows"]
    assert (row["level"], row["since"], row["scatter"], row["ended"]) == ("12.3 ms", [], None, "")
    heads = Cells(Path("site/index.html").read_text()).texts[:4]
    assert heads[:3] == ["Benchmark", "Now", "Course"]


@pytest.mark.parametrize("name", ["x" * 10_000, "🦀" * 400, "\u202eevil\u2066", "<script>alert(1)"])
def test_any_name_is_text_of_bounded_length(project: Project, perf: Perf, name: str) -> None:
    job = Job(name, "time", "./x", engine="launcher/1")
    store(sample_profile([0.01], commit=project.commit(), job=job))
    (row,) = front(perf)["rows"]
    assert len(row["benchmark"]) <= 200
    text = Path("site/index.html").read_text()
    assert "<script>alert" not in text and "\u202e" not in text
    assert Path("site/index.html").stat().st_size < 20_000


def test_rows_of_many_series_are_in_a_script(
    project: Project, perf: Perf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "LISTED", 3)
    commit = project.commit()
    jobs = [Job(f"<b>job{number}", "time", "./x", engine="launcher/1") for number in range(5)]
    store(*(sample_profile([0.01], commit=commit, job=job) for job in jobs))
    assert len(front(perf)["rows"]) == 5
    assert Path("site/index.html").read_text().count("<tr data-item") == 3
    script = Path("site/assets/rows.js").read_text()
    live, ended = json.loads(script.removeprefix("perf.table.rows = ").removesuffix(";\n"))
    assert live.count("<tr data-item") == 2 and ended.strip() == ""
    assert {"tr", "th", "td"} <= Cells(live).elements and "b" not in Cells(live).elements


def test_what_all_names_begin_with_ends_where_a_part_does() -> None:
    assert prefix(["bench.sort.merge", "bench.sort.quick", "bench.sorted"]) == "bench."
    assert prefix(["asv: a.b", "asv: a.c"]) == "asv: a."
    assert prefix(["alone.in.the.world"]) == "" and prefix(["sort", "sorted"]) == ""
    assert prefix(["words 1000", "words 20000"]) == "", "a number alone is no name"


def test_a_name_ends_with_what_tells_it_apart() -> None:
    assert name_parts("db: query.filter.Benchmark.time_filter", "db: ") == (
        "query.filter.Benchmark.",
        "time_filter",
    )
    assert name_parts("tests: tests/test_a.py::test_x[1-2]", "") == (
        "tests: tests/test_a.py::",
        "test_x[1-2]",
    )
    isolated = "\u2068n: \u0645\u0642\u064a\u0627\u0633\u2069"
    assert name_parts(isolated, "") == ("", isolated) == name_parts(isolated, "\u2068n: ")
    assert name_parts("sort", "") == ("", "sort") and name_parts("a.b", "") == ("", "a.b")
