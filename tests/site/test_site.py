"""A published site in a real browser: quiet, narrow and wide, light and dark, by mouse and by
keyboard, whatever the names are.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir, contextmanager
from itertools import chain, pairwise
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote, unquote, urldefrag, urljoin

import msgspec
import pytest
from browsing import BROWSER, LIMIT
from click.testing import CliRunner
from conftest import ROOT, Once, Project
from histories import grow, measured, stepped
from pictures import ATTACKS
from samples import sample_profile

from perfvcs.check.subject import Step
from perfvcs.cli import group
from perfvcs.history.triage import ChangeState
from perfvcs.pictures import sketch
from perfvcs.pictures.frame import FramedCommit, FramedLine, HistoryFrame, frame
from perfvcs.profile import Collected, Environment, Job, Metric, Profile, Resources
from perfvcs.repository import Repository
from perfvcs.site.pages import Mark
from perfvcs.text import quantity

pytestmark = BROWSER
COMMITS = 48
OPEN, ACCEPTED, BETTER = 40, 28, 14  # places of the steps
PLACES = [
    Environment({"cpu": "AMD EPYC 7B13", "kernel": "6.1.0"}, "0123456789ab"),
    Environment({"cpu": "Arm Neoverse"}, "ba9876543210"),
]
REASON = "it checks its input now"
WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", event => violations.push(event.violatedDirective + " " + event.blockedURI));
window.alert = words => violations.push("alert " + words);
"""
CONTRAST = """
const parts = colour => colour.match(/[\\d.]+/g).map(Number);
const light = colour => parts(colour).slice(0, 3).map(c => c / 255).map(c => c <= .03928 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4)
  .reduce((sum, c, turn) => sum + c * [.2126, .7152, .0722][turn], 0);
const contrast = (one, other) => {
  const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
  return (high + .05) / (low + .05);
};
"""
# Text whose contrast with what is painted behind it is too low: WCAG 2.1, AA.
PALE = f"""{CONTRAST}
const behind = one => {{
  for (; one; one = one.parentElement) {{
    const colour = getComputedStyle(one).backgroundColor;
    if (parts(colour)[3] !== 0) return colour;
  }}
  return "rgb(255, 255, 255)";
}};
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), found = new Set();
while (walker.nextNode()) {{
  const one = walker.currentNode.parentElement, style = getComputedStyle(one), box = one.getBoundingClientRect();
  const seen = walker.currentNode.textContent.trim() && box.width && box.height && style.visibility === "visible";
  if (!seen || one.closest(":disabled")) continue;
  const ratio = contrast(one instanceof SVGElement ? style.fill : style.color, behind(one));
  if (ratio < 4.5) found.add(`${{one.tagName}}.${{one.getAttribute("class")}} ${{ratio.toFixed(2)}}`);
}}
return [...found];
"""
# Marks of figures that hardly differ from the paper.
FAINT = f"""{CONTRAST}
const paper = getComputedStyle(document.body).backgroundColor;
return [...document.querySelectorAll(".dot, .mark, .level, .mean, .bold")].filter(one => {{
  const {{fill, stroke}} = getComputedStyle(one);
  return ![fill, stroke].some(colour => colour !== "none" && contrast(colour, paper) >= 3);
}}).map(one => one.getAttribute("class"));
"""
VISIBLE = "[...document.querySelectorAll('tr[data-item]')].filter(row => row.offsetParent)"
SIGHT = (
    "document.querySelector('#history .reach').textContent.match(/(\\d+) of \\d+ commits in"
    " sight/)?.[1]"
)


def grown(project: Project, titles: Sequence[str], author: str = "Ada Lovelace") -> list[str]:
    """A commit for each title, each with a file of its own."""
    stream = b""
    for number, title in enumerate(titles):
        name = title.replace("\x00", "") or "blank"
        data, path = (
            name.encode(),
            json.dumps(
                f"src/{number} {name}"[:180].replace("\n", " "), ensure_ascii=False
            ).encode(),
        )
        person = f"{author} <ada@example.org> {1_790_000_000 + 86_400 * number} +0000".encode()
        stream += b"commit refs/heads/main\nauthor %b\ncommitter %b\ndata %d\n%b\n" % (
            person,
            person,
            len(data),
            data,
        )
        stream += b"M 100644 inline %b\ndata 1\nx\n" % path
    subprocess.run(["git", "fast-import", "--quiet"], cwd=project.root, input=stream, check=True)
    project.git("reset", "--quiet", "--hard", "main")
    return project.git("rev-list", "--reverse", "HEAD").split()


def profiles(
    commits: Sequence[str],
    job: Job,
    names: Sequence[str],
    seed: int,
    units: Sequence[str] = ("s", "B"),
) -> Iterator[Profile]:
    """On every commit, in both environments, ten executions of some units under two metrics; the
    first job's time has three steps.
    """
    random = Random(seed)
    for number, commit in enumerate(commits):
        for turn, environment in enumerate(PLACES):
            collected = Collected(
                f"20261120T093000-{seed:02}{turn}{number:03}",
                "2026-11-20T09:30:00Z",
                "2026-11-20T09:30:02Z",
                "perfvcs 0.1.0",
            )
            runs = 1 if number % 7 == 3 else 10
            level = (
                0.0131
                * (1 + 0.3 * turn)
                * (1.12 if number >= ACCEPTED else 1)
                * (0.93 if number >= BETTER else 1)
                * (1.09 if number >= OPEN else 1)
            )
            wall: list[float | None] = []
            memory: list[float | None] = []
            for unit in range(len(names)):
                here = (level if seed == 0 else 0.02 * (unit + 1)) * random.lognormvariate(0, 0.003)
                wall += [here * random.lognormvariate(0, 0.002) for _ in range(runs)]
                memory += [20.5e6 * random.lognormvariate(0, 0.001) for _ in range(runs)]
            yield sample_profile(
                commit=commit,
                job=job,
                environment=environment,
                collected=collected,
                metrics={"wall": Metric(units[0]), "maxrss": Metric(units[1])},
                resources=Resources(
                    list(names),
                    [unit for unit in range(len(names)) for _ in range(runs)],
                    list(range(runs)) * len(names),
                    metrics={"wall": wall, "maxrss": memory},
                ),
            )


def published(project: Project, *found: Profile, profiles: int = 0) -> Path:
    """The site of these profiles, with pages of so many newest profiles, which cost most."""
    with chdir(project.root):
        Repository.find(create=True).store.add(found, "test")
        title = f"{project.root.name} {ATTACKS[0]}"
        words = ["publish", "../site", "--title", title, "--profiles", str(profiles)]
        said = CliRunner().invoke(group, words, catch_exceptions=False)
    assert said.exit_code == 0, said.output
    return project.root.parent / "site"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site of three benchmarks in two environments with an open, an accepted and a past change,
    and a better level.
    """
    project = Project(tmp_path_factory.mktemp("site") / "sorter")
    commits = grown(project, [f"Change {number}" for number in range(COMMITS)])
    jobs = {
        name: Job(name, "time", f"./{name}", args="--fast", engine="launcher/1")
        for name in ("sort", "parse", "render")
    }
    accepted = {
        "benchmark": "sort --fast",
        "uid": "sort",
        "metric": "wall",
        "effect": 0.12,
        "unit": "s",
        "baseline": commits[ACCEPTED - 1],
        "target": commits[ACCEPTED],
        "reason": REASON,
    }
    lines = "".join(f"3f9c2a1.{name} = {json.dumps(value)}\n" for name, value in accepted.items())
    project.write("perf-accepted.toml", lines)
    found = [
        one
        for seed, (name, job) in enumerate(jobs.items())
        for one in profiles(commits, job, [name], seed)
    ]
    return published(project, *found, profiles=len(jobs) * len(PLACES))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site whose every name is an attack."""
    project = Project(tmp_path_factory.mktemp("hostile") / "attacks")
    commits = grown(project, [*ATTACKS, *ATTACKS], author="' onmouseover='alert(3)")
    PLACES[1].fields[ATTACKS[0]] = ATTACKS[1]
    try:
        job = Job(
            ATTACKS[0],
            "time",
            ATTACKS[1],
            args=ATTACKS[3],
            workload=ATTACKS[2],
            engine="launcher/1",
        )
        return published(project, *profiles(commits, job, ATTACKS, 0, (ATTACKS[0], ATTACKS[6])))
    finally:
        del PLACES[1].fields[ATTACKS[0]]


@pytest.fixture(scope="module")
def aged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site whose front page compares with a release, 90 days and a year ago, in two
    environments.
    """
    project = Project(tmp_path_factory.mktemp("aged") / "sorter")
    with chdir(project.root):
        commits = grow(project, 40, days=20)
    project.git("tag", "v1.0", commits[30])
    found = [
        one
        for turn, environment in enumerate(PLACES)
        for name in ("sort.merge", "sort.quick_with_a_long_name.of_benchmark")
        for one in measured(
            commits,
            stepped(40, 33, high=0.012),
            seed=turn,
            spread=0.001,
            environment=environment,
            job=Job(name, "time", "./sort", engine="launcher/1"),
        )
    ]
    return published(project, *found)


class Tab:
    """A page of a site in the browser."""

    def __init__(
        self,
        driver: Any,
        path: Path,
        anchor: str = "",
        *,
        width: int = 1400,
        scheme: str = "light",
        height: int = 1000,
    ) -> None:
        self.driver = driver
        self.width = width
        driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
        )
        driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia",
            {"media": "", "features": [{"name": "prefers-color-scheme", "value": scheme}]},
        )
        watch = driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
        driver.get_log("browser")
        driver.get("about:blank")
        driver.get(path.as_uri() + anchor)
        driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", watch)
        self.settle()

    def run(self, script: str) -> Any:
        return self.driver.execute_script(
            script if script.lstrip().startswith(("const ", "return ")) else f"return {script}"
        )

    def settle(self) -> None:
        self.driver.execute_async_script(
            "requestAnimationFrame(() => requestAnimationFrame(arguments[0]))"
        )

    def press(self, *keys: str) -> None:
        from selenium.webdriver.common.action_chains import ActionChains

        ActionChains(self.driver, duration=0).send_keys(*keys).perform()
        self.settle()

    def point(self, *places: tuple[float, float], down: bool = False, clicks: int = 0) -> None:
        """Moves the pointer over these places of the window, with its button down from the first
        on, or clicks at the last.
        """
        from selenium.webdriver.common.action_chains import ActionChains

        actions = ActionChains(self.driver, duration=20)
        for number, (x, y) in enumerate(places):
            actions.w3c_actions.pointer_action.move_to_location(round(x), round(y))
            if down and number == 0:
                actions.w3c_actions.pointer_action.pointer_down()
        if down:
            actions.w3c_actions.pointer_action.pointer_up()
        for _ in range(clicks):
            actions.w3c_actions.pointer_action.click()
        actions.perform()
        self.settle()

    def box(self, selector: str) -> dict[str, float]:
        script = f"""const one = document.querySelector({json.dumps(selector)});
        const {{top, bottom}} = one.getBoundingClientRect();
        if (bottom > innerHeight || top < 60) one.scrollIntoView({{block: "center"}});
        return one.getBoundingClientRect().toJSON();"""
        found: dict[str, float] = self.run(script)
        return found

    def click(self, selector: str) -> None:
        box = self.box(selector)
        self.point((box["x"] + box["width"] / 2, box["y"] + box["height"] / 2), clicks=1)

    def wait(self, condition: str) -> None:
        from selenium.webdriver.support.ui import WebDriverWait

        WebDriverWait(self.driver, 300).until(
            lambda driver: driver.execute_script(f"return {condition}")
        )

    def problems(self) -> list[str]:
        """What the console says, what the policy refused, and what was asked of anybody but the
        site's own folder.
        """
        said = [entry["message"] for entry in self.driver.get_log("browser")]
        asked = self.run(
            "performance.getEntriesByType('resource').map(entry => entry.name).filter(name =>"
            " !/^file:.*\\/assets\\//.test(name))"
        )
        refused: list[str] = self.run("window.violations ?? []")
        return said + refused + asked

    def wide(self) -> int:
        """Pixels by which the page is wider than the window."""
        return max(0, int(self.run("document.documentElement.scrollWidth")) - self.width)


Open = Callable[..., Tab]


@pytest.fixture
def tab(browser: Any) -> Open:
    """Opens a page; ``tab(path, anchor, width=400, scheme="dark")``."""
    return lambda path, anchor="", **options: Tab(browser, path, anchor, **options)


def pages(site: Path) -> list[Path]:
    """One page of each kind, those with most to show."""
    largest = [
        max(site.glob(f"{folder}/*.html"), key=lambda path: (path.stat().st_size, path))
        for folder in ("series", "commits")
    ]
    names = ["index.html", "changes.html", "commits.html", "about.html"]
    return [*(site / name for name in names), *largest]


def series(site: Path, benchmark: str = "sort", metric: str = "wall time") -> Path:
    for path in site.glob("series/*.html"):
        if f'<bdi>{benchmark} --fast</bdi> <span class="quiet">{metric}</span>' in path.read_text():
            return path
    raise AssertionError(benchmark)


@pytest.mark.parametrize("width", [1400, 400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("which", ["site", "hostile"])
def test_every_kind_of_page_is_quiet_fits_the_window_and_can_be_read(
    request: pytest.FixtureRequest, tab: Open, which: str, scheme: str, width: int
) -> None:
    for path in pages(request.getfixturevalue(which)):
        opened = tab(path, width=width, scheme=scheme)
        assert (path.name, opened.problems()) == (path.name, [])
        assert (path.name, opened.wide()) == (path.name, 0)
        assert (path.name, opened.run(PALE), opened.run(FAINT)) == (path.name, [], [])
        assert opened.run("document.querySelectorAll('h1').length") == 1
        assert (
            opened.run(
                "document.querySelectorAll('main img:not(.badge), main b:not(.chip), main iframe,"
                " main style, main script').length"
            )
            == 0
        )
        assert path.stat().st_size < LIMIT


@pytest.mark.parametrize("which", ["site", "hostile"])
def test_every_link_leads_to_a_page_of_the_site(request: pytest.FixtureRequest, which: str) -> None:
    site: Path = request.getfixturevalue(which)
    ids = {
        path: set(re.findall(r' id="([^"]+)"', path.read_text())) for path in site.rglob("*.html")
    }
    found = 0
    for path in ids:
        if path.parent.name == "profiles":  # a page of `perf show`
            continue
        for link in re.findall(r'(?:href|src)="([^"]+)"', path.read_text()):
            address, anchor = urldefrag(urljoin(path.as_uri(), link.replace("&amp;", "&")))
            there = Path(unquote(address.removeprefix("file://")))
            assert there.is_file() and there.is_relative_to(site), (path, link)
            if anchor and "=" not in anchor:
                assert anchor in ids[there], (path, link)
            found += 1
    assert found > 100


def test_the_front_page_says_how_things_stand(tab: Open, site: Path) -> None:
    opened = tab(site / "index.html")
    assert "1 open degradation from 1 commit" in opened.run(
        "document.querySelector('h1').textContent"
    )
    said = opened.run("document.querySelector('#open table.triage').textContent")
    assert said.count("wall time") == 1 and all(
        place in said for place in ("+9", "AMD EPYC 7B13", "Arm Neoverse", "5 of 5 hold it")
    )
    assert opened.run("document.querySelectorAll('.triage .strip path').length") == 2
    assert opened.run("document.querySelectorAll('.triage td.forest svg').length") == 1
    rows = "[...document.querySelectorAll('#live tbody tr')]"
    assert opened.run(f"{rows}.length") == 12
    assert opened.run("document.querySelectorAll('.scroll').length") == 0, (
        "nothing scrolls in a box"
    )
    heads = opened.run("[...document.querySelectorAll('#live thead th')].map(one => one.innerText)")
    assert heads == ["Benchmark", "Metric", "Environment", "Now", "Scatter", "Course"]
    worse = opened.run(
        f"{rows}.filter(row => row.dataset.state === 'open').map(row => row.innerText)"
    )
    assert len(worse) == 2 and all("sort" in text and "wall time" in text for text in worse)
    opened.run("document.getElementById('series').scrollIntoView()")
    opened.wait(f"{rows}.every(row => row.querySelector('.strip path'))")
    links = opened.run(f"{rows}.map(row => row.querySelector('a').getAttribute('href'))")
    assert all(re.fullmatch(r"series/[\w.-]+\.html", link) for link in links)


def test_a_search_begins_with_a_slash_and_stands_in_the_address(tab: Open, site: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    opened = tab(site / "index.html")
    everything = opened.run(f"{VISIBLE}.length")
    opened.press("/", "Par")
    assert opened.run("document.activeElement.id") == "search"
    assert (
        opened.run(f"{VISIBLE}.map(row => row.querySelector('th').textContent.includes('parse'))")
        == [True] * 4
    )
    assert opened.run("location.hash") == "#q=Par"
    again = tab(site / "index.html", "#q=Par")
    assert (
        again.run(f"{VISIBLE}.length") == 4
        and again.run("document.querySelector('output').textContent") == f"4 of {everything}"
    )
    again.press("/", Keys.ESCAPE)
    assert again.run(f"{VISIBLE}.length") == everything and again.run("location.hash") == ""
    assert again.problems() == []


def test_filters_narrow_the_chart_and_clear_takes_them_back(tab: Open, site: Path) -> None:
    opened = tab(site / "index.html", "#metric=wall+time&state=open")
    assert opened.run(f"{VISIBLE}.length") == 2
    assert opened.run("[...document.querySelectorAll('select')].map(one => one.value)") == [
        "wall time",
        "",
        "open",
    ]
    nothing = tab(site / "index.html", "#metric=peak+memory&state=open")
    assert nothing.run(f"{VISIBLE}.length") == 0
    assert nothing.run("document.querySelector('[data-list] > p:last-child').offsetHeight") > 0
    assert (
        nothing.run(
            "[...document.querySelectorAll('[data-list] tbody')].filter(one => one.offsetHeight).length"
        )
        == 0
    )
    nothing.click(".filters .chip")
    assert nothing.run(f"{VISIBLE}.length") == 12
    assert tab(site / "index.html", "#metric=nonsense").run(f"{VISIBLE}.length") == 12


def test_a_choice_made_by_hand_stands_in_the_address(tab: Open, site: Path) -> None:
    opened = tab(site / "changes.html")
    assert opened.run(f"{VISIBLE}.length") == 3
    opened.run("document.querySelector('select[name=change]').focus()")
    opened.press("improvement")
    assert opened.run("location.hash") == "#change=improvement"
    assert opened.run(f"{VISIBLE}.length") == 1
    assert (
        opened.run(
            "[...document.querySelectorAll('.group')].filter(one => one.offsetHeight).length"
        )
        == 1
    )


def test_a_table_of_series_sorts_by_each_column(tab: Open, site: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    opened = tab(site / "index.html")
    column = "[...document.querySelectorAll('#live tbody tr')].map(row => {})"
    level = column.format("Number(row.cells[3].dataset.v)")
    opened.click("#live th:nth-child(4) .sort")
    falling = opened.run(level)
    assert falling == sorted(falling, reverse=True) and len(set(falling)) > 2
    assert opened.run("document.querySelector('#live th[aria-sort]').ariaSort") == "descending"
    opened.press(Keys.ENTER)
    assert opened.run(level) == falling[::-1]
    assert opened.run("document.querySelectorAll('#live th[aria-sort]').length") == 1
    opened.click("#live th:nth-child(1) .sort")
    names = opened.run(column.format("row.cells[0].textContent.trim().toLowerCase()"))
    assert names == sorted(names) and opened.problems() == []


def test_enter_goes_to_what_a_search_has_left(tab: Open, site: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    opened = tab(site / "index.html", height=300)
    opened.press("/", "par", Keys.ENTER)
    assert opened.run(f"{VISIBLE}.length") == 4
    assert opened.run("document.getElementById('series').getBoundingClientRect().top") < 100
    place = json.loads((site / "index.json").read_text())["page"]["rows"][0]["environment"]
    alone = tab(site / "index.html", f"#metric=wall+time&environment={quote(place)}")
    alone.press("/", "par", Keys.ENTER)
    alone.wait("location.pathname.includes('/series/')")
    assert alone.run("location.pathname").rpartition("/")[2] == series(site, "parse").name


def test_a_change_opens_its_series_with_the_numbers_of_its_commit(tab: Open, site: Path) -> None:
    opened = tab(site / "index.html")
    opened.click(".triage tbody th a")
    assert opened.run("document.querySelector('.tip.pinned strong').textContent").endswith(
        f"Change {OPEN}"
    )
    assert "lasting degradation +9" in opened.run(
        "document.querySelector('.tip.pinned').textContent"
    )
    opened.click(".tip.pinned a")
    assert "/commits/" in opened.run("location.pathname")
    assert opened.run("document.querySelector('h1').textContent") == f"Change {OPEN}"
    assert opened.problems() == []


def test_the_history_has_levels_steps_intervals_and_words_for_the_axis(
    tab: Open, site: Path
) -> None:
    opened = tab(series(site))
    assert opened.run("document.querySelectorAll('#history .main .level').length") == 2
    assert opened.run(
        "[...document.querySelectorAll('#history .effect')].map(one => one.textContent)"
    )[1].startswith("✓ +1")
    assert opened.run("document.querySelectorAll('#history .main .step').length") == 3
    assert (
        opened.run(
            "[...document.querySelectorAll('#history .step title')].map(one =>"
            " one.textContent).join()"
        ).count(REASON)
        == 2
    )
    words = opened.run("document.querySelector('#history .reach').textContent")
    assert re.fullmatch(
        r"Values from \S+ to \S+ ms, up to \S+ % apart in one environment;"
        r" the axis does not begin at 0; commits with fewer than three executions have no interval\."
        r" 48 commits in sight\.",
        words,
    )
    axis = opened.run("document.querySelector('#history .axis').textContent")
    assert axis == "wall time (ms)"
    assert opened.run("document.querySelectorAll('.chips a[href^=\"../profiles/\"]').length") == 2
    assert "lasting degradation" in opened.run(
        "document.querySelector('svg.main').getAttribute('aria-label')"
    )


def test_hovering_a_commit_tells_its_numbers(tab: Open, site: Path) -> None:
    opened = tab(series(site))
    box = opened.box("#history svg.main")
    right = opened.run("document.querySelector('.overview .window').getBoundingClientRect().right")
    opened.point((box["x"] + 300, box["y"] + 100), (right - 4, box["y"] + 150))
    text = opened.run("document.querySelector('.tip').textContent")
    assert re.search(r"Change 47.*Ada Lovelace.*\d ms \[.* ms, .* ms\].*10 executions", text)
    opened.point((box["x"] + 20, box["y"] - 40))
    assert opened.run("document.querySelector('.tip').hidden")


def test_dragging_zooms_and_a_double_click_shows_all_again(tab: Open, site: Path) -> None:
    opened = tab(series(site))
    box = opened.box("#history svg.main")
    middle = (box["x"] + box["width"] / 2, box["y"] + 150)
    opened.point((middle[0] - 180, middle[1]), middle, (middle[0] + 180, middle[1]), down=True)
    assert 8 <= int(opened.run(SIGHT)) <= 16
    width = float(opened.run("document.querySelector('.overview .window').getAttribute('width')"))
    assert width < box["width"] / 2
    opened.point(middle, clicks=2)
    assert opened.run(SIGHT) is None
    opened.run("document.querySelector('svg.main').focus()")
    opened.driver.execute_cdp_cmd(
        "Input.dispatchMouseEvent",
        {"type": "mouseWheel", "x": middle[0], "y": middle[1], "deltaX": 0, "deltaY": -100},
    )
    opened.settle()
    assert int(opened.run(SIGHT)) < COMMITS
    opened.click("#history .all")
    assert opened.run(SIGHT) is None and opened.problems() == []


def test_the_overview_moves_and_widens_what_is_in_sight(tab: Open, site: Path) -> None:
    opened = tab(series(site))
    box = opened.box("svg.overview")
    y, right = (
        box["y"] + box["height"] / 2,
        opened.run("document.querySelector('.overview .window').getBoundingClientRect().right"),
    )
    opened.point((right, y), (right - 300, y), (right - 600, y), down=True)
    first = int(opened.run(SIGHT))
    assert first < COMMITS
    start = float(opened.run("document.querySelector('.overview .window').getAttribute('x')"))
    opened.point((box["x"] + 200, y), (box["x"] + 300, y), (box["x"] + 400, y), down=True)
    assert (
        float(opened.run("document.querySelector('.overview .window').getAttribute('x')"))
        > start + 100
    )
    opened.point((right - 5, y), clicks=1)
    assert (
        float(opened.run("document.querySelector('.overview .window').getAttribute('x')"))
        > start + 400
    )
    edge = opened.run(
        "document.querySelector('.overview .handle').getBoundingClientRect().toJSON()"
    )
    opened.point((edge["x"] + 3, y), (edge["x"] - 100, y), (edge["x"] - 200, y), down=True)
    assert int(opened.run(SIGHT)) > first


def test_the_history_can_be_read_with_the_keyboard_alone(tab: Open, site: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    opened = tab(series(site))
    opened.run("document.querySelector('svg.main').focus()")
    said = "document.querySelector('#history [aria-live]').textContent"
    opened.press(Keys.ARROW_RIGHT)
    assert "Change 47" in opened.run(said)
    opened.press(Keys.ARROW_LEFT, Keys.PAGE_UP)
    assert "Change 36" in opened.run(said)
    opened.press(Keys.ARROW_DOWN)
    assert "Arm Neoverse" in opened.run(said)
    opened.press(Keys.HOME)
    assert "Change 0" in opened.run(said)
    opened.press("++")
    assert int(opened.run(SIGHT)) < 20
    opened.press(Keys.END, "-")
    assert "Change 47" in opened.run(said)
    opened.press("0")
    assert opened.run(SIGHT) is None
    opened.press(Keys.ENTER)
    assert opened.run("document.activeElement.textContent") == "what changed in this commit"
    opened.press(Keys.ESCAPE)
    assert opened.run("document.querySelector('.tip').hidden")
    assert (
        opened.run("document.activeElement.classList.contains('main')") and opened.problems() == []
    )


def test_the_legend_hides_environments_intervals_levels_and_changes(tab: Open, site: Path) -> None:
    opened = tab(series(site))
    labels = opened.run(
        "[...document.querySelectorAll('#history .bar button')].map(one => one.textContent)"
    )
    assert len(labels) == 9 and labels[2:] == [
        "99 % intervals",
        "levels",
        "changes",
        "log axis",
        "by time",
        "from zero",
        "show all",
    ]
    for number, (shown, left) in enumerate(
        [
            (".main g.track1", 0),
            (".main g.track0", 0),
            (".main .whisker, .main .band", 0),
            (".main .level", 0),
            (".main .step", 0),
        ]
    ):
        count = f"document.querySelectorAll('#history {shown}').length".replace(
            ", .main", ", #history .main"
        )
        opened.run("document.querySelectorAll('#history .bar button')[0].ariaPressed")
        before = opened.run(count)
        opened.click(f"#history .bar button:nth-child({number + 1})")
        assert (labels[number], opened.run(count)) == (labels[number], left) and before > 0
        opened.click(f"#history .bar button:nth-child({number + 1})")
        assert opened.run(count) == before
    ticks = (
        "[...document.querySelectorAll('#history text.tick[text-anchor=end]')].map(one =>"
        " one.textContent)"
    )
    before = opened.run(ticks)
    opened.click("#history .bar button:nth-child(8)")
    assert opened.run(ticks)[0] == "0" and before[0] != "0"
    assert "begin at 0" not in opened.run("document.querySelector('#history .reach').textContent")
    opened.click("#history .bar button:nth-child(8)")
    opened.click("#history .bar button:nth-child(6)")
    assert opened.run("document.querySelectorAll('#history .bar button')[7].disabled")
    assert (
        opened.run(
            "document.querySelectorAll('#history .bar button')[5].getAttribute('aria-pressed')"
        )
        == "true"
    )
    assert len(opened.run(ticks)) >= 2
    opened.click("#history .bar button:nth-child(1)")
    # nothing is in sight, on a logarithmic axis
    opened.run(
        "document.querySelector('#history .bar button').dispatchEvent(new MouseEvent('click',"
        " {ctrlKey: true}))"
    )
    assert (
        opened.run("document.querySelectorAll('#history .main .level').length") == 0
        and opened.problems() == []
    )


def test_the_detailed_chart_joins_versions_that_differ_by_a_bold_line(
    tab: Open, site: Path
) -> None:
    opened = tab(series(site))
    assert opened.run("document.querySelectorAll('#detail .version').length") == COMMITS
    assert opened.run("document.querySelectorAll('#detail line.bold').length") == 3
    assert "is slower since" in opened.run("document.body.innerText")
    assert opened.run("document.querySelectorAll('#detail line.bold.accepted').length") == 1
    assert opened.run("document.querySelectorAll('#detail .mean.alone').length") == 7
    assert "differ from the one before" in opened.run(
        "document.querySelector('svg.detail').getAttribute('aria-label')"
    )
    opened.run("document.querySelector('#detail select').focus()")
    opened.press("Arm")
    assert opened.run("document.querySelector('#detail select').value") == "1"
    narrow = tab(series(site), width=400)
    assert narrow.run(
        "const one = document.querySelector('#detail .scroll'); return one.scrollWidth >"
        " one.clientWidth && one.scrollLeft > 0;"
    )
    assert narrow.wide() == 0


def test_a_commit_shows_its_effects_with_intervals_and_its_files(tab: Open, site: Path) -> None:
    opened = tab(series(site))
    opened.click("table.effects tbody a")
    # the series with the lasting change stands there once, with the figures of that change
    assert (
        opened.run("document.querySelectorAll('td.forest').length")
        == opened.run("document.querySelectorAll('td.forest svg .mark').length")
        == opened.run("document.querySelectorAll('td.forest svg .reach').length")
        == 1
    )
    assert "No other change is shown." in opened.run("document.querySelector('main').textContent")
    assert re.fullmatch(
        r"−\d+\.\d %0\+\d+\.\d %", opened.run("document.querySelector('th.forest').textContent")
    )
    opened.click("details.files summary")
    assert f"src/{OPEN} Change {OPEN}" in opened.run(
        "document.querySelector('details.files').textContent"
    )
    opened.click("a[rel=prev]")
    assert (
        opened.run("document.querySelector('h1').textContent") == f"Change {OPEN - 1}"
        and opened.problems() == []
    )


def test_beside_the_label_of_a_narrow_cell_stands_all_that_is_in_it(tab: Open, site: Path) -> None:
    opened = tab(series(site), width=400)
    below = (
        "[...document.querySelectorAll('.stack:not(.dense) td[data-label] > *')].filter(one =>"
        " [...one.getClientRects()].some(box =>"
        " box.left < one.parentElement.getBoundingClientRect().left + 90)).map(one => one.outerHTML)"
    )
    effects = "document.querySelectorAll('td[data-label=Effect] > *').length"
    assert opened.run(effects) > 1 and opened.run(below) == []
    opened.click("table.effects tbody a")
    assert opened.run(effects) > 1 and opened.run(below) == []
    between = "getComputedStyle(document.querySelector('td[data-label=Effect]')).whiteSpace"
    assert tab(series(site)).run(between) == "normal", "a line may break before an interval"


def test_what_a_series_shows_stands_in_its_address(tab: Open, site: Path) -> None:
    state = (
        "[...document.querySelectorAll('#history .bar button')].map(one =>"
        " one.getAttribute('aria-pressed'))"
    )
    opened = tab(series(site))
    opened.click("#history .bar button:nth-child(1)")
    for name in ("levels", "from zero", "log axis", "by time"):
        opened.run(
            "[...document.querySelectorAll('#history .bar button')].find(one => one.textContent"
            f" === '{name}').click()"
        )
    opened.run("document.querySelector('svg.main').focus()")
    opened.press("+")
    opened.wait("location.hash.includes('from=')")
    hash_, pressed, sight = opened.run("location.hash"), opened.run(state), opened.run(SIGHT)
    assert (
        all(
            part in hash_
            for part in ("environment=", "off=means", "axis=logarithmic", "axis=zero", "axis=time")
        )
        and int(sight) < COMMITS
    )
    again = tab(series(site), hash_)
    assert (again.run(state), again.run(SIGHT), again.run("location.hash")) == (
        pressed,
        sight,
        hash_,
    )
    assert again.problems() == []
    again.run("document.querySelector('#history .bar .all').click()")
    again.wait("!location.hash.includes('from=')")


@pytest.mark.parametrize("width", [400, 1400])
def test_every_change_has_a_label_and_no_two_overlap(tab: Open, site: Path, width: int) -> None:
    opened = tab(site / "about.html", width=width)
    at = [3, 4, 5, 9, 11, 30, 31, 58]
    steps = [
        {
            "place": one,
            "first": one,
            "last": one,
            "effect": 0.1 + number / 100,
            "before": 1,
            "after": 1.1,
        }
        for number, one in enumerate(at)
    ]
    drawn(opened, track("a", [1.0] * 60, *steps))
    boxes = opened.run(
        "[...document.querySelectorAll('#history .effect')].map(one =>"
        " one.getBoundingClientRect().toJSON())"
    )
    assert len(boxes) == len(at)
    axis = opened.box("#history text.axis")
    for turn, one in enumerate([*boxes, axis]):
        for other in boxes[:turn]:
            apart = one["left"] >= other["right"] or other["left"] >= one["right"]
            assert apart or one["top"] >= other["bottom"] - 3 or other["top"] >= one["bottom"] - 3
    marks = opened.run(
        "[...document.querySelectorAll('#history .step .mark')].map(one =>"
        " one.getBoundingClientRect().top)"
    )
    assert max(box["bottom"] for box in boxes) <= min(marks) + 3, "no label lies on a mark"


@pytest.mark.parametrize("width", [400, 1400])
def test_effects_between_versions_do_not_overlap(tab: Open, site: Path, width: int) -> None:
    opened = tab(site / "about.html", width=width)
    levels = [1.0] * COMMITS
    levels[10], levels[20:22], levels[30] = 1.12, [1.12, 1.12], 1.09
    effects = [None, *(after / before - 1 for before, after in pairwise(levels))]
    compared = [
        (row, "degradation" if effect else "same", effect) for row, effect in enumerate(effects)
    ]
    drawn(opened, track("a", levels) | {"compared": compared})
    boxes = opened.run(
        "[...document.querySelectorAll('#detail .effect')].map(one =>"
        " one.getBoundingClientRect().toJSON())"
    )
    assert len(boxes) > 3
    for turn, one in enumerate(boxes):
        for other in boxes[:turn]:
            apart = one["left"] >= other["right"] or other["left"] >= one["right"]
            assert apart or one["top"] >= other["bottom"] - 3 or other["top"] >= one["bottom"] - 3


@pytest.mark.parametrize("width", [400, 800, 1100, 1300, 2560])
@pytest.mark.parametrize("which", ["site", "hostile", "aged"])
def test_no_cell_of_the_front_page_reaches_into_another(
    request: pytest.FixtureRequest, tab: Open, which: str, width: int
) -> None:
    opened = tab(request.getfixturevalue(which) / "index.html", width=width)
    wide = opened.run(
        "[...document.querySelectorAll('.series :is(td, th), .triage tbody :is(td, th)')].filter(one =>"
        " one.scrollWidth > one.clientWidth + 1).map(one => one.outerHTML)"
    )
    assert wide == [] and opened.wide() == 0
    names = opened.run(
        "[...document.querySelectorAll('.triage tbody th, .series tbody th')].map(one =>"
        " one.clientWidth)"
    )
    assert min(names) >= 120
    rows = opened.run(
        "[...document.querySelectorAll('.series tbody tr')].map(row => row.innerText)"
    )
    assert rows and all(re.search("EPYC|Neoverse", row) for row in rows)
    if which == "aged":
        assert "Since a year ago" in opened.run("document.body.innerText")
        assert ", all of them certain; " in opened.run("document.querySelector('h1').innerText")
        heights = opened.run(
            "[...document.querySelectorAll('.series tbody td.degradation')].filter(one =>"
            " one.offsetParent).map(one => {const range = document.createRange();"
            " range.selectNodeContents(one); return range.getBoundingClientRect().height})"
        )
        assert heights and max(heights) < 24, "an effect is on one line"
    else:
        assert all(re.search("wall time|peak memory", row) for row in rows)


def test_a_search_suggests_series_which_the_keyboard_opens(tab: Open, site: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    opened = tab(site / "about.html")
    opened.press("/", "par", " wall")
    opened.wait("document.querySelectorAll('#suggestions [role=option]').length === 1")
    assert opened.run("document.getElementById('search').getAttribute('aria-expanded')") == "true"
    opened.press(Keys.ARROW_DOWN)
    assert opened.run("document.querySelector('[aria-selected=true]').id") == opened.run(
        "document.getElementById('search').getAttribute('aria-activedescendant')"
    )
    opened.press(Keys.ENTER)
    opened.wait("location.pathname.includes('/series/')")
    assert opened.run("location.pathname").rpartition("/")[2] == series(site, "parse").name


def test_a_group_of_changes_opens_where_an_address_leads_to_it(tab: Open, site: Path) -> None:
    page = json.loads((site / "changes.json").read_text())["page"]
    short = page["past"][-1]["commit"]["short"]
    opened = tab(site / "changes.html", f"#c{short}")
    assert opened.run(f"document.getElementById('c{short}').open") and opened.problems() == []


def test_a_telephone_shows_the_name_of_the_project(tab: Open, site: Path) -> None:
    opened = tab(site / "index.html", width=420)
    assert (
        opened.run("(one => one.clientWidth > 200)(document.querySelector('.top .home'))")
        and opened.wide() == 0
    )


def test_a_scheme_that_was_chosen_holds_on_the_next_page(tab: Open, site: Path) -> None:
    opened = tab(site / "index.html", scheme="light")
    paper = "getComputedStyle(document.body).backgroundColor"
    assert opened.run(paper) == "rgb(255, 255, 255)"
    try:
        opened.click("#scheme")
        dark = opened.run(paper)
        assert (
            dark != "rgb(255, 255, 255)"
            and opened.run("document.getElementById('scheme').ariaPressed") == "true"
        )
        assert tab(site / "about.html", scheme="light").run(paper) == dark
    finally:
        opened.run("localStorage.clear()")


def test_a_search_on_another_page_goes_to_the_front_page(tab: Open, site: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    opened = tab(series(site))
    opened.press("/", "render", Keys.ENTER)
    opened.settle()
    assert (
        opened.run("location.pathname").endswith("/index.html")
        and opened.run(f"{VISIBLE}.length") == 4
    )


@contextmanager
def scriptless(driver: Any) -> Iterator[None]:
    driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        yield
    finally:
        driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_without_scripts_tables_and_links_are_there(browser: Any, site: Path) -> None:
    with scriptless(browser):
        browser.get((site / "index.html").as_uri())
        rows = browser.find_elements("css selector", "#live tbody tr")
        assert (
            all(row.is_displayed() and re.search(r"\d [mkM][sB]", row.text) for row in rows)
            and len(rows) == 12
        )
        cells = browser.find_elements("css selector", ".triage tbody th a")
        assert cells[0].is_displayed() and not browser.find_element("id", "search").is_displayed()
        browser.get(cells[0].get_attribute("href"))
        assert browser.find_element("css selector", "noscript p").is_displayed()
        assert not browser.find_element("id", "detail").is_displayed()
        assert browser.find_element("css selector", "table.effects tbody a").is_displayed()


def test_a_printed_page_has_all_of_the_chart_and_no_controls(tab: Open, site: Path) -> None:
    opened = tab(site / "index.html", scheme="dark", width=1000)
    opened.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert opened.run("document.getElementById('search').offsetHeight") == 0
    assert opened.run("document.querySelectorAll('#live tbody tr').length") == 12
    assert opened.run("getComputedStyle(document.querySelector('#live th')).position") == "static"
    assert opened.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert opened.run(PALE) == []


def test_the_tab_key_reaches_every_control(tab: Open, site: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    opened = tab(series(site))
    kinds = "a:not([tabindex='-1']), button:not(:disabled), input, select, summary, svg.main"
    wanted = (
        f'[...document.querySelectorAll("{kinds}")].filter(one => one.getBoundingClientRect().width'
        " > 0)"
    )
    count = opened.run(f"(window.wanted = {wanted}).length")
    opened.run(
        "addEventListener('focusin', event => (window.reached ??= new Set()).add(event.target))"
    )
    opened.press(*[Keys.TAB] * (count + 20))
    assert opened.run("wanted.filter(one => !reached.has(one)).map(one => one.outerHTML)") == []


def test_hostile_names_are_text_in_tooltips_and_lists(tab: Open, hostile: Path) -> None:
    path = max(hostile.glob("series/*.html"), key=lambda path: path.stat().st_size)
    opened = tab(path)
    box = opened.box("#history svg.main")
    for number in range(12):
        opened.point((box["x"] + 70 + number * (box["width"] - 100) / 12, box["y"] + 150))
    axis = opened.run(
        "document.querySelector('.overview .window').getBoundingClientRect().toJSON()"
    )
    opened.point((axis["x"] + axis["width"] * 12.5 / 24, box["y"] + 150), clicks=1)
    assert "<img src=x onerror=alert(1)>" in opened.run(
        "document.querySelector('.tip.pinned').textContent"
    )
    assert opened.run("document.querySelectorAll('.tip img, .tip b').length") == 0
    front = tab(hostile / "index.html")
    front.press("/", "<img")
    assert front.run(f"{VISIBLE}.length") > 0
    assert opened.problems() == []


def test_a_history_of_one_commit_says_so(tab: Open, tmp_path: Path) -> None:
    project = Project(tmp_path / "young")
    job = Job("sort", "time", "./sort", engine="launcher/1")
    site = published(project, next(profiles(grown(project, ["Begin"]), job, ["sort"], 0)))
    opened = tab(next(site.glob("series/*.html")))
    assert "One measured commit: there is nothing to compare it with yet." in opened.run(
        "document.querySelector('#detail').textContent"
    )
    assert "1 commit in sight" in opened.run("document.querySelector('#history').textContent")
    assert opened.run("document.querySelector('.overview')") is None and opened.problems() == []
    for name in ("index.html", "changes.html"):
        assert tab(site / name).problems() == []


def track(
    name: str, levels: Sequence[float], *steps: dict[str, Any], began: str = ""
) -> dict[str, Any]:
    """A track as the data of a page has it."""
    count = len(levels)
    marks = [marked(**one) for one in steps]
    return {
        "environment": {"name": name, "fingerprint": name},
        "places": list(range(count)),
        "levels": list(levels),
        "low": [None] * count,
        "high": [None] * count,
        "executions": [],
        "compared": [(row, "same", None) for row in range(count)],
        "began": began,
        "steps": msgspec.to_builtins(marks),
        "lines": msgspec.to_builtins(sketch.between(marks, 0, count - 1)),
        "breaks": sketch.breaks(range(count)),
    }


def marked(
    place: int,
    first: int,
    last: int,
    *,
    effect: float,
    before: float,
    after: float,
    word: str = "degradation",
    state: ChangeState = "open",
    reason: str = "",
) -> Mark:
    """A change as the data of a page has it."""
    step = Step(
        commit=f"c{place}",
        word=word,
        direction=word,
        first=f"c{first}",
        last=f"c{last}",
        commits=last - first + 1,
        before=before,
        after=after,
        effect=effect,
        low=None,
        high=None,
        p=None,
        detectors=(),
    )
    figure = sketch.drawn(
        step, "s", place, among=(first, last), status=f"{state}: {reason}" if reason else ""
    )
    return Mark(
        place=place,
        word=word,
        state=state,
        reason=reason,
        effect=effect,
        low=None,
        high=None,
        **figure,
    )


def framed(*tracks: dict[str, Any]) -> HistoryFrame:
    """The axes and words of a figure of these tracks."""
    count = max(len(one["places"]) for one in tracks)
    return frame(
        "wall",
        "s",
        [FramedLine(one["levels"], one["low"], one["high"]) for one in tracks],
        [FramedCommit(f"c{number}", "") for number in range(count)],
        every=count,
        days=["2026-01-01"],
    )


def drawn(opened: Tab, *tracks: dict[str, Any]) -> None:
    """Draws a history of these tracks on a page that has none."""
    count = max(len(one["places"]) for one in tracks)
    page = {
        "benchmark": "b",
        "metric": "wall time",
        "tags": [],
        "frame": msgspec.to_builtins(framed(*tracks)),
        "unit": "s",
        "better": "lower",
        "commits": [*range(count)],
        "tracks": tracks,
    }
    commits = {
        "authors": ["Ada"],
        "author": [0] * count,
        "days": ["2026-01-01"] * count,
        "ids": [f"c{number}" for number in range(count)],
        "titles": [""] * count,
        "own": [1] * count,
        "changes": {},
        "tags": {},
    }
    opened.run(f"""const place = document.createElement("div");
    place.id = "history";
    document.querySelector("main").prepend(place);
    perf.commits = {json.dumps(commits)};
    const read = perf.series.read({json.dumps(page)}, "../"), detail = document.createElement("div");
    new perf.History(place, read);
    detail.id = "detail";
    place.after(detail);
    perf.intervals.draw(detail, read, read.tracks[0]);""")
    opened.settle()


def test_of_many_environments_the_longest_and_those_with_open_changes_are_drawn_at_first(
    tab: Open, site: Path
) -> None:
    opened = tab(site / "about.html")
    step = {"place": 5, "first": 5, "last": 5, "effect": 0.1, "before": 1, "after": 1.1}
    drawn(
        opened,
        track("a", [1] * 9),
        track("b", [1] * 20),
        track("c", [1] * 5 + [1.1] * 4, step),
        track("d", [1, 2]),
        track("e", []),
    )
    assert opened.run(
        "[...document.querySelectorAll('#history .main [class^=track]')].map(one =>"
        " one.getAttribute('class'))"
    ) == ["track1", "track2"]
    assert "2 of 5 environments" in opened.run(
        "document.querySelector('#history .reach').textContent"
    )
    opened.click("#history .bar button:nth-child(4)")
    assert (
        opened.run("document.querySelectorAll('#history .main .track3').length") == 1
        and opened.problems() == []
    )


def test_what_is_in_doubt_is_shaded_and_a_new_beginning_is_named(tab: Open, site: Path) -> None:
    opened = tab(site / "about.html")
    undone = {
        "place": 8,
        "first": 4,
        "last": 8,
        "effect": 0.2,
        "before": 1,
        "after": 1.2,
        "state": "over",
        "reason": "undone",
    }
    sudden = {
        "place": 14,
        "first": 12,
        "last": 14,
        "effect": -0.1,
        "before": 1.2,
        "after": 1.08,
        "word": "improvement",
    }
    levels = [1.0] * 4 + [1, 1.05, 1.1, 1.15, 1.2] + [1.2] * 5 + [1.08] * 6
    drawn(opened, track("a", levels, undone, sudden, began="cpu differs"))
    path = opened.run("document.querySelector('#history .main .level').getAttribute('d')")
    upright = [start == end for start, end in re.findall(r"M([\d.]+),[\d.]+L([\d.]+),", path)]
    assert upright == [True, True]
    assert opened.run("document.querySelectorAll('#history .main .doubt').length") == 2
    titles = opened.run(
        "[...document.querySelectorAll('#history title')].map(one => one.textContent).join(' ')"
    )
    assert (
        "lasting degradation +20.0 %: 1.000 → 1.200 s; one of 5 commits c4..c8; over: undone"
        in titles
        and "one of 3 commits c12..c14" in titles
    )
    assert "begins anew: cpu differs" in titles and opened.problems() == []


def test_enormous_intervals_are_cut_off_and_reported(tab: Open, site: Path) -> None:
    opened = tab(site / "about.html")
    wild = track("a", [1.0, 1.1, 1.05, 1.02]) | {
        "low": [0.5, None, 1.0, 1.0],
        "high": [9.0, None, 1.1, 1.1],
    }
    drawn(opened, wild)
    words = (
        "Values from 1.0 to 1.1 s, 10.0 % apart; the axis does not begin at 0; commits with fewer than"
        " three executions have no interval; 1 interval reaches beyond the axis. 4 commits in sight."
    )
    assert opened.run("document.querySelector('#history .reach').textContent") == words
    assert [
        float(one)
        for one in opened.run(
            "[...document.querySelectorAll('#history text.tick[text-anchor=end]')].map(one =>"
            " one.textContent)"
        )
    ][-1] < 1.3
    opened.run(
        f"const frame = {json.dumps(msgspec.to_builtins(framed(wild)))};"
        "perf.intervals.draw(document.querySelector('#history'), {unit: 's', frame, tracks: [0]}, {name:"
        " 'a', points: [1, 2].map(turn => ({x: turn, turn, level: 1, low: .5, high: turn * 9,"
        " executions: 2, effect: null, word: 'same', track: {marks: []},commit: {short: 'c', title:"
        " '', author: '', day: '', url: 'x.html'}}))})"
    )
    assert "2 intervals reach beyond the axis" in opened.run(
        "document.querySelector('#history').textContent"
    )
    assert opened.run(
        "[...document.querySelectorAll('.span')].every(one => Number(one.getAttribute('height')) <="
        " 216)"
    )
    assert opened.problems() == []


def test_values_of_zero_and_below_have_no_logarithmic_axis(tab: Open, site: Path) -> None:
    opened = tab(site / "about.html")
    drawn(opened, track("a", [0, -1, 2, 3, 0]))
    assert "log axis" not in opened.run("document.querySelector('#history .bar').textContent")
    assert "Values from -1 to 3 s; commits" in opened.run(
        "document.querySelector('#history .reach').textContent"
    )
    equal = tab(site / "about.html")
    drawn(equal, track("a", [5.0] * 3))
    assert (
        "All values are 5 s; the axis does not begin at 0"
        in equal.run("document.querySelector('#history .reach').textContent")
        and equal.problems() == []
    )


UNITS = [
    "s",
    "ms",
    "us",
    "ns",
    "B",
    "bit",
    "",
    "1",
    "count",
    "op/s",
    "B/s",
    "s/op",
    "Hz",
    "cycles",
    "ms/op",
    "a unit that goes on and on",
]


def numbers() -> Iterator[float]:
    """Numbers of all sizes: with few digits and with all, at the edges of prefixes and of digits,
    and halfway between two texts.
    """
    random = Random(1)
    for power in range(-18, 18):
        yield from (
            sign * digits * 10.0**power
            for sign in (1, -1)
            for digits in (1, 9.995, 9.9995, 9.99951, 99.96, 2.5)
        )
        yield from (random.uniform(-10, 10) * 10.0**power for _ in range(6))
    yield from (turn / 16 for turn in range(-64, 200, 3))
    yield from (turn + 0.5 for turn in range(990, 1010))
    yield 0.0


def test_numbers_read_as_everywhere_else(tab: Open, site: Path) -> None:
    values = list(numbers())
    opened = tab(site / "about.html")
    texts = opened.run(
        f"(() => {{const values = {json.dumps(values)};const quantities ="
        f" {json.dumps(UNITS)}.map(unit => values.map(one => perf.number.quantity(one,"
        " unit)));return [quantities, values.map(perf.number.percent)]})()"
    )
    asked = [*((one, unit) for unit in UNITS for one in values), *((one, "%") for one in values)]
    with quantity.micro_sign():
        expected = [
            quantity.percent(one) if unit == "%" else quantity.quantity(one, unit)
            for one, unit in asked
        ]
    found = zip(asked, chain(*texts[0], texts[1]), expected, strict=True)
    assert [row for row in found if row[1] != row[2]] == []
    assert len(asked) > 9_000


@pytest.mark.parametrize(
    "levels",
    [
        [1.0, 1.1, 1.05, 1.02],
        [5.0] * 3,
        [0, -1, 2, 3],
        [1e-9, 1e9, 7.0],
        [3.0],
        [1.0, 1.001],
        [1.0, 1.02, 40.0, 1.01, 0.99, 1.0, 1.03],
    ],
)
def test_the_axis_in_sight_ends_where_the_page_says(
    tab: Open, site: Path, levels: list[float]
) -> None:
    """perf.plot.ends and the rule of perfvcs/pictures/frame.py, linear and logarithmic."""
    line = track("a", levels)
    line["low"] = [None, *(level - 0.4 for level in levels[1:])]
    line["high"] = [None, *(level + 90.0 for level in levels[1:])]
    values = framed(line).values
    points = [
        {"level": level, "low": low, "high": high}
        for level, low, high in zip(levels, line["low"], line["high"], strict=True)
    ]
    rule = json.dumps(msgspec.to_builtins(values.rule))
    opened = tab(site / "about.html")
    ends = opened.run(f"perf.plot.ends({json.dumps(points)}, {rule})")
    assert ends == pytest.approx([values.low, values.high], rel=1e-12)
    if values.log:
        options = "{logarithmic: true}"
        ends = opened.run(f"perf.plot.ends({json.dumps(points)}, {rule}, {options})")
        assert ends == pytest.approx(values.log, rel=1e-12)


def test_ticks_are_round_and_within_their_range(tab: Open, site: Path) -> None:
    opened = tab(site / "about.html")
    ticks: Callable[..., list[float]] = lambda *args: opened.run(  # noqa: E731
        f"perf.number.ticks(...{json.dumps(args)})"
    )
    assert ticks(12.9, 15.1, 5) == [13, 13.5, 14, 14.5, 15]
    assert ticks(0, 1, 4) == [0, 0.5, 1] or len(ticks(0, 1, 4)) >= 3
    assert ticks(0.001, 1000, 5, True)[0] == 0.001 and ticks(3, 3, 5) == [3]
    assert ticks(1.0, 20.0, 6, True) == [1, 2, 5, 10, 20]
    assert len(ticks(0, 1, 4, True)) >= 3


@pytest.fixture(scope="module")
def slips(once: Once) -> Path:
    """The site of the demo's skip list, measured in short: recorded calls of three functions in
    four versions.
    """
    return once("slips", _slips) / "site"


def _slips(folder: Path) -> None:
    project = folder / "skiplist"
    build = ROOT / "examples/skiplist/build.py"
    perf = [sys.executable, "-m", "perfvcs"]

    def run(*command: str, place: Path = project) -> None:
        done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    run(sys.executable, str(build), "python", str(project), place=folder)
    settings = (project / "perf.toml").read_text()
    (project / "perf.toml").write_text(
        settings.replace('"python work.py"', '"python work.py 40 150"')
    )
    run(*perf, "collect", "--quiet", "--executions", "3", "v1", "v2", "v3", "v4")
    run(*perf, "publish", str(folder / "site"))


@pytest.mark.parametrize("width", [1400, 400])
def test_every_page_of_a_measured_project_is_quiet(slips: Path, tab: Open, width: int) -> None:
    found = sorted(slips.rglob("*.html"))
    assert {path.parent.name for path in found} == {"site", "series", "commits", "profiles"}
    for path in found:
        opened = tab(path, width=width)
        said = [
            one
            for one in opened.problems()
            if "[bokeh" not in one or "setting log level" not in one
        ]
        assert (path.name, said) == (path.name, [])
        assert (path.name, opened.wide()) == (path.name, 0)
        assert path.with_suffix(".json").is_file() and path.stat().st_size < LIMIT
