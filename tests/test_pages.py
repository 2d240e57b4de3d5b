"""Pages as text, and in a real browser: drawn, quiet, narrow, and deaf to hostile names."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pictures
import pytest
from samples import sample_profile

from perfvcs import page
from perfvcs.check import Report
from perfvcs.errors import UsageError
from perfvcs.profile import Design
from perfvcs.views import Series, Subject

BROWSER = pytest.mark.needs("chromium", "chromedriver")
LIMIT = 3_000_000


def documents(html: str) -> list[dict[str, Any]]:
    """The bokeh documents of a page."""
    packed = re.findall(r'<script type="application/gzip">([^<]*)</script>', html)
    return [json.loads(gzip.decompress(base64.b64decode(text))) for text in packed]


def views(html: str) -> list[str]:
    return re.findall(r'data-view="(\w+)"', html)


def test_a_page_of_one_revision_has_facts_table_and_all_that_fits() -> None:
    html = page.render(pictures.one(iterations=5))
    assert set(views(html)) == {"executions", "distribution", "runsequence"}
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


def test_a_page_of_two_revisions_has_the_verdicts_with_cpu_beside_wall_time() -> None:
    html = page.render(pictures.two(3))
    assert set(views(html)) == {"effects", "comparison"}
    row = re.search(r"<tr>.*?</tr>", html.split("<tbody>")[1], re.S)
    assert row is not None
    assert re.findall(r'data-label="([^"]*)"', row[0]) == ["wall time", "CPU time", "peak memory"]
    assert "degradation</strong> +" in html and "interleaved with 1 other version in" in html


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
    with pytest.raises(UsageError, match="draws the comparison of two revisions; these do: executions, distribution"):
        page.render(pictures.one(), "effects")
    with pytest.raises(UsageError, match="no other does: collect something first"):
        page.render(Subject("nothing"), "history")


@pytest.mark.parametrize(
    ("subject", "words"),
    [
        (Subject("nothing"), "there is no profile. `perf collect` makes one"),
        (Subject("empty", [sample_profile(wall=())]), "the profiles have no measurements"),
        (
            Subject("none", history=[Series("a", "a", None, "wall", "s", "lower", "e", [])]),
            "no commit of this series was measured",
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
    before, after = [pictures.measured("old", commit=pictures.BASELINE)], [pictures.measured("young")]
    html = page.render(Subject("x", report=pictures.report(before, after)))
    assert "no comparison has an effect" in html and "new</strong>" in html and "missing</strong>" in html


def test_one_execution_is_a_page_with_words() -> None:
    html = page.render(Subject("one", [sample_profile([0.01], design=Design(executions=1))]))
    assert "no interval, 1 execution<" in html and "1 execution, not interleaved" in html


def test_other_metrics_are_folded_away_and_their_changes_listed() -> None:
    html = page.render(pictures.one(metrics=list(pictures.METRICS)))
    assert html.count('<details class="rest">') == 2 and "2 more metrics" in html
    metrics = ["wall", "cpu", "maxrss", "throughput"]
    before = [pictures.measured(metrics=metrics, commit=pictures.BASELINE)]
    after = [pictures.measured(metrics=metrics, factor=1.5, seed=2)]
    html = page.render(Subject("x", after, before, pictures.report(before, after)))
    assert "changes in other metrics" in html and "throughput: improvement" in html


def test_a_hundred_benchmarks_stay_below_the_limit_and_say_what_is_not_drawn() -> None:
    html = page.render(pictures.two(100))
    assert len(html.encode()) < LIMIT
    assert re.search(r"\d+ more pairs of benchmark and metric are not drawn", html)
    assert all(f"benchmark {number} --with" in html for number in range(100))


def test_a_million_rows_are_drawn_with_a_note_below_the_limit() -> None:
    profile = pictures.measured(executions=100, iterations=10_000, metrics=["wall"])
    html = page.render(Subject("large", [profile]))
    assert len(html.encode()) < LIMIT
    assert "of 1,000,000 rows drawn" in json.dumps(documents(html))


def test_more_benchmarks_than_rows_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perfvcs.page.table.ROWS", 3)
    assert "2 more benchmarks are not listed" in page.render(replace(pictures.two(5), target=(), baseline=()))


def test_several_environments_and_builds_are_told_apart() -> None:
    first = pictures.measured()
    design = Design(binaries=2, executions=10)
    second = pictures.measured(environment=sample_profile().environment, design=design, dirty="a" * 64)
    html = page.render(Subject("x", [first, second]))
    assert html.count(">sort in 0123456789ab<") == 1 and html.count(">sort in 9b1c6d0f42aa<") == 1
    assert "of 2 builds" in html and "with uncommitted changes" in html


def test_names_are_escaped_everywhere() -> None:
    for subject in (pictures.hostile(), pictures.hostile_history()):
        html = page.render(subject)
        body = html[: html.index("<script>")]
        assert "<img" not in body and "<b>" not in body and "\u202e" not in body and "\x00" not in body
        assert "&lt;/script&gt;&lt;img" in body
        html.encode()


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
    with pytest.raises(AssertionError, match="cannot stand in a page"):
        page._verbatim("a</SCRIPT>")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A headless Chromium with a profile folder of its own."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    flags = "headless no-sandbox disable-gpu disable-quic no-first-run disable-background-networking disable-component-update"
    for flag in [*flags.split(), "disable-sync", "disable-dev-shm-usage", f"user-data-dir={tmp_path_factory.mktemp('chromium')}"]:
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService("/usr/bin/chromedriver"))
    driver.set_script_timeout(60)
    yield driver
    driver.quit()


class Opened:
    """A page in the browser, opened at a width, with every figure that is in sight drawn."""

    def __init__(self, browser: Any, folder: Path, subject: Subject, width: int = 1400, height: int = 4000) -> None:
        self.browser = browser
        path = folder / "page.html"
        path.write_text(page.render(subject), encoding="utf-8")
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        browser.get_log("browser")
        browser.get(path.as_uri())
        self.run("document.querySelector('.figure')?.scrollIntoView({block: 'center'})")
        self.wait("!document.querySelector('.figure') || Number(document.documentElement.dataset.drawn) > 0")

    def run(self, script: str) -> Any:
        return self.browser.execute_script(f"return {script}")

    def wait(self, condition: str) -> None:
        from selenium.webdriver.support.ui import WebDriverWait

        WebDriverWait(self.browser, 60).until(lambda driver: driver.execute_script(f"return {condition}"))

    def problems(self) -> list[str]:
        """What the console says above chatter, and what was drawn or loaded that should not."""
        found = [entry["message"] for entry in self.browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]
        return found + self.run("performance.getEntriesByType('resource').map(entry => entry.name)")


PAGES = {
    "one": lambda: pictures.one(iterations=5), "two": lambda: pictures.two(3), "history": lambda: pictures.history(30, environments=2),
    "hostile": pictures.hostile, "hostile history": pictures.hostile_history, "empty": lambda: Subject("nothing"),
    "single": lambda: Subject("single", [sample_profile([0.01])]),
}  # fmt: skip


@BROWSER
@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("width", [1400, 400])
def test_a_page_opens_quietly_and_fits_the_window(browser: Any, tmp_path: Path, name: str, width: int) -> None:
    opened = Opened(browser, tmp_path, PAGES[name](), width)
    assert opened.run("document.documentElement.dataset.failed") is None
    assert opened.problems() == []
    assert opened.run("document.documentElement.scrollWidth") <= width
    assert opened.run("document.querySelectorAll('img, iframe, object').length") == 0


@BROWSER
def test_a_closed_section_is_drawn_when_its_link_is_followed(browser: Any, tmp_path: Path) -> None:
    opened = Opened(browser, tmp_path, pictures.two(5), height=1000)
    last = opened.run("[...document.querySelectorAll('details.section')].at(-1).id")
    assert not opened.run(f"document.getElementById('{last}').open")
    opened.run(f"document.querySelector('nav a[href=\"#{last}\"]').click()")
    opened.wait(f"document.querySelector('#{last} .figure.drawn') != null")
    assert opened.problems() == []


@BROWSER
def test_hovering_shows_a_tooltip_with_the_hostile_text_as_text(browser: Any, tmp_path: Path) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    opened = Opened(browser, tmp_path, pictures.hostile_history(), height=900)
    where = opened.run(
        """(() => {
          const place = document.querySelector('.figure.drawn');
          const view = Object.values(Bokeh.index.roots ?? Bokeh.index).find(view => place.contains(view.el));
          const dot = [...view.model.references()].find(model => model.type == 'GlyphRenderer' && model.glyph.type == 'Scatter');
          const frame = view.frame, box = view.el.getBoundingClientRect();
          const x = frame.x_scale.compute(dot.data_source.get('x')[0]), y = frame.y_scale.compute(dot.data_source.get('y')[0]);
          return [box.left + x, box.top + y];
        })()"""
    )
    actions = ActionChains(browser)
    actions.w3c_actions.pointer_action.move_to_location(round(where[0]) - 3, round(where[1]))
    actions.w3c_actions.pointer_action.move_to_location(round(where[0]), round(where[1]))
    actions.perform()
    inside = """(() => {
      const all = root => [...root.querySelectorAll('*')].flatMap(e => e.shadowRoot ? [e.shadowRoot, ...all(e.shadowRoot)] : []);
      return all(document);
    })()"""
    text = f"{inside}.map(root => root.textContent).join(' ')"
    opened.wait(f"{text}.includes('verdict') && {text}.includes('onerror=alert(1)')")
    assert opened.run(f"{inside}.flatMap(root => [...root.querySelectorAll('img, b, i')]).length") == 0
    assert opened.problems() == []


@BROWSER
def test_a_click_on_the_legend_hides_what_it_names(browser: Any, tmp_path: Path) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    opened = Opened(browser, tmp_path, pictures.history(30, labels=["sort"]), height=900)
    first = "Object.values(Bokeh.index.roots ?? Bokeh.index)[0]"
    hidden = f"[...{first}.model.references()].filter(model => model.type == 'GlyphRenderer' && !model.visible).length"
    assert opened.run(hidden) == 0
    x, y = opened.run(
        f"""(() => {{
          const views = root => [...root.querySelectorAll('*')].flatMap(e => e.shadowRoot ? [e, ...views(e.shadowRoot)] : [e]);
          const item = views({first}.el.getRootNode()).concat(views({first}.shadow_el)).find(e => e.classList.contains('bk-item'));
          const box = item.getBoundingClientRect();
          return [box.left + box.width / 2, box.top + box.height / 2];
        }})()"""
    )
    actions = ActionChains(browser)
    actions.w3c_actions.pointer_action.move_to_location(round(x), round(y)).click()
    actions.perform()
    opened.wait(f"{hidden} > 0")
