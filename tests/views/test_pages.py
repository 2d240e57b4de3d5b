"""Pages as text, and in a real browser: drawn, quiet, narrow, and deaf to hostile names."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
import pictures
import pytest
from browsing import BROWSER, LIMIT, Opened, documents, drawn, unpacked, views
from samples import sample_profile

from perfvcs.check import Report
from perfvcs.check.brief import brief
from perfvcs.check.subject import Series, Subject
from perfvcs.errors import UsageError
from perfvcs.pictures import canvas
from perfvcs.profile import Design, Job, Metric, Resources
from perfvcs.reports import page
from perfvcs.reports.packing import FigureArchive
from perfvcs.reports.pieces import choose
from perfvcs.views import effects
from perfvcs.views.comparison import Comparison


def test_a_page_of_one_revision_has_facts_table_and_all_that_fits() -> None:
    html = page.render(pictures.one(iterations=5))
    assert set(views(html)) == {"executions"}, (
        "diagnostics have nothing to say of measurements that are all alike"
    )
    for text in (
        "8c7f8c7f",
        "AMD EPYC 7B13",
        "10 executions, 1 to warm up",
        "seed 20261120",
        "stop other programs (2 profiles)",
        "CPU time",
    ):
        assert text in html
    assert html.index("wall time") < html.index("CPU time") < html.index("peak memory")


@pytest.mark.slow
def test_a_page_of_two_revisions_has_the_verdicts_with_cpu_beside_wall_time() -> None:
    html = page.render(pictures.two(3))
    assert set(views(html)) == {"effects", "comparison"}
    row = re.search(r"<tr>.*?</tr>", html.split("<tbody>")[1], re.S)
    assert row is not None
    assert re.findall(r'data-label="([^"]*)"', row[0]) == ["wall time", "CPU time", "peak memory"]
    assert "degradation</strong></span> +" in html and "interleaved with 1 other version in" in html


def test_a_page_of_a_history_has_the_newest_values() -> None:
    html = page.render(pictures.history(40))
    assert set(views(html)) == {"history"} and len(views(html)) == 6
    assert "last improvement at 00000023" in html and "▇" in html


def test_only_the_view_that_is_asked_for_is_drawn() -> None:
    assert set(views(page.render(pictures.one(), "executions"))) == {"executions"}


def test_an_unknown_view_is_refused_with_a_suggestion() -> None:
    with pytest.raises(UsageError, match="there is no view `efects`; did you mean `effects`"):
        page.render(pictures.one(), "efects")
    with pytest.raises(UsageError, match="there is no view `_canvas`"):
        page.render(pictures.one(), "_canvas")


def test_a_view_that_does_not_fit_names_those_that_do() -> None:
    with pytest.raises(
        UsageError,
        match=r"draws the comparison of two revisions; these do: executions, .*distribution",
    ):
        page.render(pictures.one(), "effects")
    with pytest.raises(UsageError, match="no other does: collect something first"):
        page.render(Subject("nothing"), "history")


@pytest.mark.parametrize(
    ("subject", "words"),
    [
        (Subject("nothing"), "there is no profile. <code>perf collect</code> makes one"),
        (Subject("empty", [sample_profile(wall=())]), "the profiles have no measurements"),
        (
            Subject("none", history=[Series("a", "a", None, "wall", "s", "lower", "e", [])]),
            "no commit of this series has a value above 0",
        ),
        (
            Subject("new", report=Report(baseline="a", target="b", method="auto", changes=[])),
            "there is no profile",
        ),
    ],
)
def test_a_page_without_figures_says_why(subject: Subject, words: str) -> None:
    assert words in page.render(subject).replace("&#39;", "'")


def test_verdicts_without_an_effect_stand_in_the_table() -> None:
    before, after = (
        [pictures.measured("old", commit=pictures.BASELINE)],
        [pictures.measured("young")],
    )
    html = page.render(Subject("x", report=pictures.report(before, after)))
    assert (
        "no comparison has an effect" in html
        and "new</strong>" in html
        and "missing</strong>" in html
    )


def test_one_execution_is_a_page_with_words() -> None:
    html = page.render(Subject("one", [sample_profile([0.01], design=Design(executions=1))]))
    assert "no interval, 1 execution<" in html and "1 execution, not interleaved" in html


@pytest.mark.slow
def test_other_metrics_are_folded_away_and_their_changes_listed() -> None:
    html = page.render(pictures.one(metrics=list(pictures.METRICS)))
    assert html.count('<details class="rest">') == 2 and "2 more metrics" in html
    metrics = ["wall", "cpu", "maxrss", "throughput"]
    before = [pictures.measured(metrics=metrics, commit=pictures.BASELINE)]
    after = [pictures.measured(metrics=metrics, factor=1.5, seed=2)]
    html = page.render(Subject("x", after, before, pictures.report(before, after)))
    assert "changes in other metrics" in html and "throughput: improvement" in html


def test_what_one_revision_has_under_other_metrics_are_no_changes() -> None:
    metrics = ["wall", "cpu", "maxrss", "throughput"]
    others = sample_profile(
        job=Job("parse", "memory", "./parse", engine="launcher/1"),
        metrics={"traffic": Metric("B")},
        resources=Resources(["parse"], [0] * 3, [0, 1, 2], metrics={"traffic": [5e6, 5e6, 6e6]}),
    )
    html = page.render(Subject("x", [pictures.measured(metrics=metrics), others]))
    assert ">other metrics<" in html and "changes in other metrics" not in html


@pytest.mark.slow
def test_a_hundred_benchmarks_stay_below_the_limit_and_say_what_is_not_drawn() -> None:
    html = page.render(pictures.two(100))
    assert len(html.encode()) < LIMIT
    assert re.search(r"\d+ more pairs of benchmark and metric are drawn on demand", html)
    rows = re.search(r'class="folded">([^<]*)<', html)
    assert rows is not None
    assert all(f"benchmark {number} --with" in html + unpacked(rows[1]) for number in range(100))
    assert html.count('<th scope="row"') == 20 and unpacked(rows[1]).count('<th scope="row"') == 80


@pytest.mark.slow
def test_a_million_rows_are_drawn_with_a_note_below_the_limit() -> None:
    profile = pictures.measured(executions=100, iterations=10_000, metrics=["wall"])
    html = page.render(Subject("large", [profile]))
    assert len(html.encode()) < LIMIT
    assert "of 1,000,000 rows drawn" in json.dumps(documents(html))


def test_more_benchmarks_than_rows_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perfvcs.reports.pagetable.MOST_TABLE_ROWS", 3)
    assert "2 more benchmarks are not listed" in page.render(
        replace(pictures.two(5), target=(), baseline=())
    )


def test_several_environments_and_builds_are_distinguished() -> None:
    first = pictures.measured()
    design = Design(binaries=2, executions=10)
    second = pictures.measured(
        environment=sample_profile().environment, design=design, dirty="a" * 64
    )
    html = page.render(Subject("x", [first, second]))
    assert html.count(">sort in 0123456789ab<") == 1 and html.count(">sort in 9b1c6d0f42aa<") == 1
    assert "of 2 builds" in html and "with uncommitted changes" in html


@pytest.mark.slow
def test_names_are_escaped_everywhere() -> None:
    for subject in (pictures.hostile(), pictures.hostile_history()):
        html = page.render(subject)
        body = html[: html.index("<script>")]
        assert (
            "<img" not in body and "<b>" not in body and "\u202e" not in body and "\x00" not in body
        )
        assert "&lt;/script&gt;&lt;img" in body
        html.encode()


@pytest.mark.slow
def test_no_formula_and_no_placeholder_reaches_the_figures() -> None:
    for document in documents(page.render(pictures.hostile())):
        text = json.dumps(document, ensure_ascii=False)
        assert "MathText" not in text and "TeX" not in text
        for tooltip in re.findall(r'"tooltips":(\[\[.*?\]\])', text):
            assert "$x" not in tooltip and "<" not in tooltip


def test_the_policy_allows_the_pages_own_scripts_and_nothing_else() -> None:
    html = page.render(pictures.one())
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)
    assert policy is not None
    assert "default-src &#39;none&#39;" in policy[1] and "unsafe-eval" not in policy[1]
    assert not re.search(r"(?:src|href)=[\"']?(?:https?:)?//", html[: html.index("<script>")])


def test_a_script_that_ends_itself_is_refused() -> None:
    with pytest.raises(AssertionError, match="cannot be in a page"):
        page._verbatim("a</SCRIPT>")


@BROWSER
def test_a_closed_section_is_drawn_when_its_link_is_followed(browser: Any, tmp_path: Path) -> None:
    opened = Opened(browser, tmp_path, pictures.two(5), height=1000)
    last = opened.run("[...document.querySelectorAll('details.section')].at(-1).id")
    assert not opened.run(f"document.getElementById('{last}').open")
    opened.run(f"document.querySelector('nav a[href=\"#{last}\"]').click()")
    opened.wait(f"document.querySelector('#{last} .figure.drawn') != null")
    assert opened.problems() == []


def luminance(colour: str) -> float:
    """Relative luminance of #rrggbb, by WCAG 2.2."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def schemes(html: str) -> list[dict[str, str]]:
    """The colours of the light scheme and of the dark one, as the page's style names them."""
    light, dark = re.findall(r":root \{([^}]*--ink[^}]*--paper[^}]*--new[^}]*)\}", html)
    return [dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", text, re.I)) for text in (light, dark)]


def swaps(html: str) -> list[dict[str, str]]:
    """What the page's script puts in the place of the figures' colours, in the light scheme and in
    the dark one.
    """
    lists = re.search(r"new Map\(dark\s*\? (\[\[.*?\]\])\s*: (\[\[.*?\]\])\)", html, re.S)
    assert lists is not None
    return [dict(json.loads(lists[place])) for place in (2, 1)]


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_text_and_signs_have_the_contrast_of_level_aa(scheme: int) -> None:
    colours = schemes(page.render(pictures.one()))[scheme]
    for name in set(colours) - {"line", "paper", "card"}:
        least = min(contrast(colours[name], colours[ground]) for ground in ("paper", "card"))
        assert least >= 4.5, f"{name}: {least:.2f}"


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_marks_and_words_of_figures_stand_out_from_the_page(scheme: int) -> None:
    html = page.render(pictures.one())
    paper, swap = schemes(html)[scheme]["paper"], swaps(html)[scheme]
    for colour in {*canvas.CYCLE, *(look.colour for look in canvas.SEEN.values())}:
        assert contrast(swap.get(colour, colour), paper) >= 3, colour
    for colour in (canvas.INK, canvas.MUTED):
        assert contrast(swap.get(colour, colour), paper) >= 4.5, colour


def labels(html: str) -> list[str]:
    return re.findall(r'role="figure" aria-label="([^"]*)" data-view', html)


@pytest.mark.slow
def test_every_figure_says_in_words_whose_it_is_what_its_numbers_are_and_how_to_read_it() -> None:
    html = page.render(pictures.two(2))
    assert len(labels(html)) == len(views(html))
    assert labels(html)[0] == "All changes, wall time: 1 degradation, 1 inconclusive. " + " ".join(
        str(effects.__doc__).split()
    )
    assert labels(html)[2].startswith(
        "benchmark 1 --with data/1k.txt, wall time: degradation +26.6\u00a0% [+22.5,\u00a0+30.8], 13.27"
        " → 16.80 ms. "
    )
    history, *_ = labels(page.render(pictures.history(9)))
    assert (
        history.startswith("sort, wall time: 12.92 ms, last improvement at 00000004. ")
        and "▁" not in history
    )


def test_a_page_without_figures_carries_no_drawing_script() -> None:
    assert len(page.render(Subject("nothing"))) < 40_000


@pytest.mark.slow
def test_what_is_packed_is_what_bokeh_itself_would_write() -> None:
    from bokeh.document import Document

    subject = pictures.two(1, iterations=3)
    for name, view, data in choose(subject):
        layout = view.render(data)
        document = Document()
        archive = FigureArchive()
        archive.add(layout, "f1")
        (packed,) = drawn(archive.text())
        document.add_root(layout)
        assert packed["doc"]["roots"] == _numbered(
            json.loads(json.dumps(document.to_json(deferred=False)))["roots"], layout.id
        ), name
        assert packed["root_id"] == packed["target_id"] == "f1"


def _numbered(document: Any, root: str) -> Any:
    """A document of bokeh's with the root's number f1, and those of all other models counted from 1
    where they are met.
    """
    numbers = {root: "f1"}

    def of(value: Any) -> Any:
        if isinstance(value, dict):
            return {
                key: numbers.setdefault(one, str(len(numbers))) if key == "id" else of(one)
                for key, one in value.items()
            }
        return [of(one) for one in value] if isinstance(value, list) else value

    return of(document)


def test_a_view_cuts_the_subject_once_and_each_piece_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Subject] = []
    cut = Comparison.cut
    monkeypatch.setattr(
        Comparison, "cut", lambda view, subject: asked.append(subject) or cut(view, subject)
    )
    assert views(page.render(pictures.two(3, metrics=["wall", "cpu"]))).count("comparison") == 6
    assert len({id(subject) for subject in asked}) == len(asked)
    # the whole, all changes of wall time, which CPU time moved with, and each benchmark's
    assert [len(subject.target) for subject in asked] == [3, 0, 1, 1, 1, 1, 1, 1]


def test_pieces_without_data_are_not_drawn_and_leave_room_for_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("perfvcs.reports.sections.FIGURES", 2)
    empty = [pictures.measured(f"empty{number}", metrics=["wall"]) for number in range(4)]
    for profile in empty:
        profile.resources.metrics["wall"] = [None] * len(profile.resources)
    html = page.render(
        Subject("x", [*empty, pictures.measured("sort", metrics=["wall"])]), "executions"
    )
    assert (
        views(html) == ["executions"]
        and "no row has a value" not in html
        and "not drawn" not in html
    )


def test_of_metrics_that_are_folded_one_view_is_drawn() -> None:
    html = page.render(pictures.one(metrics=["wall", "cpu", "maxrss", "faults"], iterations=3))
    rest = html[
        html.index('<details class="rest">') : html.index(
            "</details>", html.index('<details class="rest">')
        )
    ]
    assert views(rest) == ["executions"]


@BROWSER
@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("about", [pictures.one, pictures.two, lambda: pictures.history(40)])
def test_no_page_breaks_a_rule_of_axe(
    browser: Any, tmp_path: Path, about: Callable[[], Subject], width: int
) -> None:
    Opened(browser, tmp_path, about(), width=width)
    browser.execute_script(files("axe_core_python").joinpath("axe.min.js").read_text())
    broken = browser.execute_async_script(
        "axe.run({resultTypes: ['violations']}).then(found => arguments[0](found.violations"
        ".map(one => [one.id, one.nodes.length, one.nodes[0].html])))"
    )
    assert broken == []


def keys(browser: Any, *pressed: str) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    ActionChains(browser).send_keys(*pressed).perform()


ROWS = "[...document.querySelectorAll('tbody tr')].filter(row => !row.hidden)"
ORDER = f"{ROWS}.map(row => Number(row.cells[0].textContent.match(/\\d+/)[0]))"


@BROWSER
def test_the_table_is_sorted_and_searched_by_keyboard(browser: Any, tmp_path: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    opened = Opened(browser, tmp_path, pictures.two(6), height=900)
    listed = opened.run(ORDER)
    opened.run("document.body.focus()")
    keys(browser, Keys.TAB)
    assert opened.run("document.activeElement.className") == "skip"
    keys(browser, Keys.ENTER, Keys.TAB)
    assert opened.run("document.activeElement.type") == "search"
    keys(browser, "1K.txt DEGRADATION")
    assert (
        opened.run(ORDER) == [1]
        and opened.run("document.querySelector('output').textContent") == "1 of 6 rows"
    )
    keys(browser, Keys.BACKSPACE * 20, Keys.TAB)
    assert opened.run("document.activeElement.textContent") == "Benchmark"
    keys(browser, Keys.ENTER)
    assert (
        opened.run(ORDER) == [0, 1, 2, 3, 4, 5]
        and opened.run("document.activeElement.closest('th').ariaSort") == "ascending"
    )
    keys(browser, Keys.ENTER)
    assert opened.run(ORDER) == [5, 4, 3, 2, 1, 0]
    keys(browser, Keys.TAB, Keys.SPACE)
    effects = (
        "[...document.querySelectorAll('tbody tr')].map(row => Number(row.cells[1].dataset.order))"
    )
    assert (
        opened.run(effects) == sorted(opened.run(effects), reverse=True)
        and opened.run(ORDER) != listed
    )
    assert opened.run("document.querySelectorAll('th[aria-sort]').length") == 1
    assert opened.problems() == []


@BROWSER
def test_on_a_telephone_the_table_is_sorted_by_a_list(browser: Any, tmp_path: Path) -> None:
    opened = Opened(browser, tmp_path, pictures.two(6), width=400, height=900)
    assert opened.run("document.querySelector('.tools select').checkVisibility()")
    listed = opened.run(ORDER)
    for value, order in (("0,true", [5, 4, 3, 2, 1, 0]), ("-1,false", listed)):
        browser.execute_script(
            "const list = document.querySelector('.tools select'); list.value = arguments[0];"
            " list.dispatchEvent(new Event('change'));",
            value,
        )
        assert opened.run(ORDER) == order
    opened.run("document.querySelector('.tools input').focus()")
    keys(browser, "degradation")
    assert (
        opened.run(
            "[...document.querySelectorAll('tbody tr')].filter(row => row.checkVisibility()).length"
        )
        == len(opened.run(ORDER))
        < 6
    )


@BROWSER
def test_in_the_complete_table_what_is_missing_comes_last_whichever_way_it_is_sorted(
    browser: Any, tmp_path: Path
) -> None:
    path = tmp_path / "table.html"
    path.write_text(page.render(pictures.history(8, labels=["sort"]), "table"))
    browser.get(path.as_uri())
    low = (
        "[...document.querySelectorAll('tbody tr')].map(row => row.cells[5].dataset.order ?? null)"
    )
    for _ in range(2):
        browser.execute_script("document.querySelectorAll('thead button')[5].click()")
        found = browser.execute_script(f"return {low}")
        assert found[-3:] == [None] * 3 and None not in found[:-3]


@BROWSER
def test_a_printed_page_has_tables_and_figures_and_no_controls(
    browser: Any, tmp_path: Path
) -> None:
    opened = Opened(browser, tmp_path, pictures.two(6), height=900)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        visible = (
            "[...document.querySelectorAll('.tools, .skip, nav')].filter(one =>"
            " one.checkVisibility()).length"
        )
        assert opened.run(visible) == 0
        assert opened.run("document.querySelector('table.listing').checkVisibility()")
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


@pytest.mark.parametrize("backend", ["canvas", "svg"])
def test_a_bokeh_that_is_not_known_packs_the_same_document(monkeypatch, backend):
    from bokeh.plotting import figure

    from perfvcs.reports import packing

    def document(*, known: bool) -> dict[str, object]:
        plot = figure(width=200, height=100, title="one")
        plot.scatter([1, 2], [3, 4])
        monkeypatch.setattr(packing, "NEWEST_KNOWN", (99, 0) if known else (0, 0))
        archive = packing.FigureArchive(backend)
        assert archive.add(plot, "here") == 1
        root = drawn(archive.text())[0]["doc"]["roots"][0]
        return {
            name: value
            for name, value in root["attributes"].items()
            if not isinstance(value, dict | list)
        }

    sparse, whole = document(known=True), document(known=False)
    assert sparse == whole
    assert whole.get("output_backend", "canvas") == backend


@BROWSER
def test_what_is_out_of_sight_is_drawn_before_a_page_is_printed(
    browser: Any, tmp_path: Path
) -> None:
    opened = Opened(browser, tmp_path, pictures.two(4), height=300)
    opened.wait("!document.querySelector('details[open] .figure:not(.drawn)')")
    count = opened.run("document.querySelectorAll('details[open] .figure').length")
    lowest = opened.run(
        "Math.max(...[...document.querySelectorAll('details[open] .figure')].map(one =>"
        " one.getBoundingClientRect().top))"
    )
    assert count > 3 and lowest > 300 + 600  # beyond what is drawn since it is near
    assert (
        opened.run(
            "document.querySelectorAll('details[open] .figure > p:not([hidden])')"
            ".values().filter(one => one.offsetParent).toArray().length"
        )
        == 0
    )


def test_what_fails_can_be_accepted_by_a_command_that_stands_there() -> None:
    about = pictures.two(3)
    assert about.report is not None
    lines = [line for line in brief(about.report).changes if line.accept]
    assert lines
    html = page.render(about)
    for line in lines:
        first = line.accept.removeprefix("accept: ").partition(" ")[0].rstrip(",")
        assert re.search(rf"<code>perf accept [^<]*{first}[^<]* --reason TEXT</code>", html)


def test_cpu_time_that_is_wall_time_is_not_drawn_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = labels(page.render(pictures.one(executions=10)))
    assert any("CPU time" in label for label in drawn)
    monkeypatch.setitem(pictures.CENTRES, "cpu", pictures.CENTRES["wall"])
    html = page.render(pictures.one(executions=10))
    assert not any("CPU time" in label for label in labels(html))
    assert html.count("CPU time is the same, within the intervals or 1 %") == 2
    assert any("CPU time" in label for label in labels(page.render(pictures.one(), "executions")))


def test_cpu_time_that_was_not_measured_has_not_moved_as_much() -> None:
    about = pictures.two(2)
    assert about.report is not None
    walls = [change for change in about.report.changes if change.metric == "wall"]
    alone = replace(about, report=msgspec.structs.replace(about.report, changes=walls))
    assert "CPU time moved as much" not in page.render(alone)
