"""The complete table: what it lists, and that each of its forms says no more and no less, whatever
the names.
"""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pictures
import pytest
from cases import each
from conftest import Perf, Project
from histories import slowed
from samples import sample_profile

from perfvcs.check.subject import Subject
from perfvcs.pictures import writing
from perfvcs.pictures.listing import Column, Listing, TableRow, listing
from perfvcs.profile import Design, Job, Metric
from perfvcs.reports import export, page
from perfvcs.reports.export import document
from perfvcs.repository import Repository
from perfvcs.views.table import Table as View


def complete(subject: Subject) -> Listing:
    found = listing(subject)
    assert found is not None
    return found


def named(name: str) -> Subject:
    """One measurement of a benchmark with this name."""
    return Subject(
        "x",
        [
            sample_profile(
                [0.01], job=Job(name=name, collector="time", cmd="./x", engine="launcher/1")
            )
        ],
    )


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture
def measured(project: Project) -> list[str]:
    """Two commits, the second a fifth slower."""
    return slowed(project)


def test_one_revision_has_a_row_per_benchmark_and_metric_with_its_interval() -> None:
    table = complete(pictures.one())
    assert [column.title for column in table.columns] == [
        "metric",
        "unit",
        "mean",
        "low",
        "high",
        "executions",
        "rows",
    ]
    assert [row.name for row in table.rows] == ["sort --reverse data/10k.txt"] * 3 + ["parse"] * 3
    values = [cell.value for cell in table.rows[0].cells if cell]
    mean, low, high = (float(value) for value in values[2:5] if value is not None)
    assert low < mean < high and values[5:] == [10, 10]


@pytest.mark.parametrize(("count", "few"), [(2, True), (3, False)])
def test_an_interval_of_two_executions_is_called_too_few(count: int, few: bool) -> None:
    values = [0.010, 0.012, 0.011][:count]
    table = complete(Subject("x", [sample_profile(values)]))
    numbers = {
        column.title: cell for column, cell in zip(table.columns, table.rows[0].cells, strict=True)
    }
    said = [cell.said for cell in (numbers["low"], numbers["high"]) if cell]
    assert (said == ["too few"] * 2) is few
    (wall, *_) = rows(writing.separated(table))
    assert (wall["low"] == wall["high"] == "") is few
    assert ("too few" in writing.plain(table, 80)) is few


def test_what_is_judged_stands_before_what_is_only_noted() -> None:
    noted = sample_profile(
        metrics={"steal": Metric("s", better="none")},
        resources=replace(sample_profile().resources, metrics={"steal": [0.0, 0.1, 0.2]}),
    )
    other = sample_profile(job=Job(name="tidy", collector="time", cmd="./tidy"))
    table = complete(Subject("x", [noted, sample_profile(), other]))
    assert [row.cells[0].said for row in table.rows if row.cells[0]] == [
        "wall time",
        "wall time",
        "steal",
    ]


def test_two_revisions_have_a_row_per_change_with_verdict_effect_and_both_values() -> None:
    subject = pictures.two(3)
    assert subject.report is not None
    found = rows(writing.separated(complete(subject)))
    for row, change in zip(found, subject.report.changes, strict=True):
        assert (row["verdict"], row["metric"]) == (
            change.word,
            {"wall": "wall time", "cpu": "CPU time"}.get(change.metric, "peak memory"),
        )
        assert change.effect is not None and change.baseline is not None
        assert float(row["change_percent"]) == pytest.approx(100 * change.effect)
        assert float(row["baseline"]) == pytest.approx(change.baseline)


def test_a_history_has_a_row_per_commit_the_newest_first() -> None:
    found = rows(writing.separated(complete(pictures.history(5, labels=["sort"]))))
    assert [row["commit"] for row in found[:5]] == [f"{number:08x}00" for number in (4, 3, 2, 1, 0)]
    assert {row["metric"] for row in found} == {"wall time", "CPU time", "peak memory"}
    assert found[1]["low"] == "" and found[1]["executions"] == "1"


def test_growth_and_environment_are_reported_only_where_there_are_some() -> None:
    titles = [column.title for column in complete(Subject("x", [pictures.called()])).columns]
    assert "growth" in titles and "environment" not in titles
    several = Subject("x", [pictures.measured(), sample_profile()])
    assert "environment" in [column.title for column in complete(several).columns]


@pytest.mark.parametrize("subject", [Subject("x"), Subject("x", [sample_profile(wall=())])])
def test_nothing_measured_is_nothing_to_list(subject: Subject) -> None:
    assert pictures.refusal(View(), subject) == "it lists what was measured, and there is nothing"


def test_a_changed_report_without_numbers_lists_words_alone() -> None:
    before, after = (
        [pictures.measured("old", commit=pictures.BASELINE)],
        [pictures.measured("young")],
    )
    table = complete(Subject("x", report=pictures.report(before, after)))
    assert {cell.word for row in table.rows for cell in row.cells if cell and cell.word} == {
        "new",
        "missing",
    }
    assert "change" not in [column.title for column in table.columns]


def test_more_rows_than_asked_for_are_counted() -> None:
    subject = pictures.one()
    table = View(rows=4).table(View().cut(subject))
    assert table.notes == ["2 more rows are not listed: write a file with -o FILE.csv."]
    assert len(table.rows) == 4


def test_what_was_left_out_is_said_in_every_form() -> None:
    subject = replace(pictures.history(3), notes=["the newest 3 of 9,000 commits"])
    assert "the newest 3 of 9,000 commits" in page.render(subject)
    assert "the newest 3 of 9,000 commits" in export.text(subject, width=40).splitlines()
    assert json.loads(document(subject))["notes"] == ["the newest 3 of 9,000 commits"]


@pytest.mark.parametrize("width", [40, 80, 200])
def test_the_terminal_has_room_for_every_line_and_names_what_it_left_out(width: int) -> None:
    text = pictures.written(View(), pictures.two(2), width)
    assert max(map(len, text.splitlines())) <= width
    assert ("No room for" in text) == (width < 200)
    assert "degradation" in text and ("+26.6 %" in text)


def test_numbers_stand_below_one_another_and_a_name_above_its_rows() -> None:
    lines = pictures.written(View(), pictures.one(), 80).splitlines()
    assert lines[2] == "sort --reverse data/10k.txt"
    assert (
        len({line.index("ms") + 2 for line in lines if "ms " in line and line.startswith("  wall")})
        == 1
    )
    assert lines[1].index("mean") + 4 == lines[3].index(" ms") + 3


def test_a_page_of_the_table_needs_no_figures_and_stays_small() -> None:
    html = page.render(pictures.two(3), "table")
    assert "data-view" not in html and len(html) < 60_000
    assert html.count("<tr>") == 1 + 9
    assert 'data-order="' in html and 'class="number"' in html


def test_a_layout_of_the_table_is_text() -> None:
    layout: Any = pictures.rendered(View(), named("<img src=x>"))
    assert "&lt;img src=x&gt;" in layout.text and "<img" not in layout.text


@pytest.mark.parametrize("name", ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(1)", "\t=1"])
def test_a_spreadsheet_takes_no_name_for_a_formula(name: str) -> None:
    (row,) = rows(writing.separated(complete(named(name))))
    assert row["benchmark"][0] in ("'", "\u2409")
    assert float(row["mean"]) == pytest.approx(0.01)


def test_negative_numbers_are_numbers_in_every_form() -> None:
    table = complete(pictures.two(4))
    assert any(row["change_percent"].startswith("-") for row in rows(writing.separated(table)))
    assert re.search(r"& \$-\$\d", writing.latex(table))


@each("name", pictures.ATTACKS)
def test_hostile_names_stay_in_their_cells(name: str) -> None:
    table = complete(named(name))
    markdown, latex = writing.markdown(table), writing.latex(table)
    lines = [line for line in markdown.splitlines() if line.startswith("|")]
    assert len(lines) == 3 and {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {6}
    assert not re.search(r"(?<!\\)<img", markdown)
    assert len(rows(writing.separated(table))) == 1
    body = [line for line in latex.splitlines() if line.endswith(r"\\")]
    assert len(body) == 2 and {len(re.findall(r"(?<!\\)&", line)) for line in body} == {4}


def test_latex_sets_every_special_character_as_it_is() -> None:
    table = Listing(
        "h",
        "c",
        [Column("a_b", "a")],
        [TableRow(("j", "", None), "n", r"\{}$&#_%^~<>|`\"--[*]", [None])],
        [],
    )
    line = writing.latex(table).splitlines()[-3]
    assert line.startswith(
        r"\textbackslash{}\{\}\$\&\#\_\%\textasciicircum{}\textasciitilde{}\textless{}\textgreater{}\textbar{}"
    )
    assert line.endswith(r"-{}-{[}{*}{]} &  \\")
    assert (
        "--"
        not in writing.latex(
            Listing("h", "c", [], [TableRow(("j", "", None), "n", "-----", [])], [])
        ).splitlines()[-3]
    )


@pytest.mark.parametrize(
    ("suffix", "start"),
    [(".md", "**Changes**"), (".csv", "benchmark,metric"), (".tex", "% Changes")],
)
@pytest.mark.usefixtures("measured")
def test_a_table_is_written_in_the_form_that_the_ending_names(
    perf: Perf, tmp_path: Path, suffix: str, start: str
) -> None:
    path = tmp_path / f"changes{suffix}"
    said = perf("show", "HEAD~1", "HEAD", "--view", "table", "-o", str(path))
    assert said.out == f"wrote {path}\n"
    assert path.read_text().startswith(start) and "degradation" in path.read_text()


@pytest.mark.usefixtures("measured")
def test_a_file_has_all_rows_whatever_a_page_lists(perf: Perf, tmp_path: Path) -> None:
    perf("show", "HEAD~1", "HEAD", "-o", str(tmp_path / "all.csv"))
    assert len(rows((tmp_path / "all.csv").read_text())) == 2
    said = perf("show", "HEAD~1", "HEAD", "--text", "--view", "table", "--set", "rows=1").out
    assert "1 more rows are not listed" in said


@pytest.mark.usefixtures("measured")
def test_another_view_has_no_table(perf: Perf, tmp_path: Path) -> None:
    said = perf(
        "show", "HEAD~1", "HEAD", "--view", "effects", "-o", str(tmp_path / "x.csv"), code=2
    )
    assert "a .csv file holds a table: use `--view table`" in said.err


def test_nothing_measured_makes_no_table(project: Project, perf: Perf, tmp_path: Path) -> None:
    commit = project.commit()
    Repository.find(create=True).store.add(
        [sample_profile(wall=(), commit=commit, design=Design())], "test"
    )
    assert (
        "view `table` does not fit here" in perf("show", "-o", str(tmp_path / "x.md"), code=2).err
    )


def test_metrics_of_several_collectors_stand_together_and_are_distinguished() -> None:
    twin = pictures.measured(job=Job(name="sort", collector="counters", cmd="./sort"))
    subject = Subject("one", [pictures.measured(), twin, pictures.measured("other")])
    table = listing(subject)
    assert table
    names = [row.cells[0].said for row in table.rows if row.cells[0] and row.name == "sort"]
    assert names[:2] == ["wall time (time)", "wall time (counters)"] and len(names) == 6
    assert [row.name for row in table.rows] == ["sort"] * 6 + ["other"] * 3
    assert [row.cells[0].said for row in table.rows[6:] if row.cells[0]] == [
        "wall time",
        "CPU time",
        "peak memory",
    ]
