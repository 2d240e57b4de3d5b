"""All views in a real browser: drawn, quiet, narrow and wide, light and dark, by mouse and by
keyboard, whatever the names are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pictures
import pytest
from browsing import BROWSER
from samples import sample_profile

from perfvcs import plugins
from perfvcs.check.subject import Subject
from perfvcs.reports import page

pytestmark = BROWSER
SECONDS = 300
LISTEN = """
window.violations = [];
document.addEventListener("securitypolicyviolation", event => violations.push(event.violatedDirective + " " + event.blockedURI));
"""
HELP = """
window.deep = root => [...root.querySelectorAll("*")].flatMap(one => one.shadowRoot ? [one, ...deep(one.shadowRoot)] : [one]);
window.plots = view => view.frame ? [view] : (view.child_views ?? []).flatMap(plots);
window.plotsIn = place => Bokeh.index.roots.filter(view => place.contains(view.el)).flatMap(plots)
  .filter(view => view.el.getBoundingClientRect().width > 0);
window.first = name => document.querySelector(`.figure[data-view="${name}"]`);
"""
UNDRAWN = """
const waiting = [...document.querySelectorAll(".figure:not(.drawn)")];
if (waiting.length) waiting[0].scrollIntoView({block: "center", behavior: "instant"});
return waiting.length;
"""
EMPTY = """
return [...document.querySelectorAll(".figure")].filter(place => !place.querySelector("table") && !plotsIn(place).some(view =>
  view.frame.bbox.width > 40 && view.frame.bbox.height > 20)).map(place => place.ariaLabel);
"""
# A place on the screen where a glyph of a figure is that has a tooltip; the middle of one that is
# inside the frame.
TARGET = """
const place = first(arguments[0]);
place.scrollIntoView({block: "center", behavior: "instant"});
for (const view of plotsIn(place)) {
  const chosen = view.model.toolbar.tools.filter(tool => tool.type === "HoverTool").flatMap(tool => tool.renderers);
  const box = view.el.getBoundingClientRect(), {left, right, top, bottom} = view.frame.bbox;
  for (const shown of view.renderer_views.values()) {
    if (!chosen.includes(shown.model) || !shown.model.visible) continue;
    for (let number = 0; number < Math.min(200, shown.glyph.data_size); number++) {
      const [x, y] = shown.glyph.scenterxy(number, 0, 0);
      if (x > left + 2 && x < right - 2 && y > top + 2 && y < bottom - 2) return [box.left + x, box.top + y];
    }
  }
}
return null;
"""
TOOLTIP = """
return deep(document).filter(one => one.classList.contains("bk-Tooltip") && one.getBoundingClientRect().width > 0)
  .map(one => one.shadowRoot.textContent).join(" ").trim();
"""
FRAME = """
const view = plotsIn(first(arguments[0]))[0];
const box = view.el.getBoundingClientRect(), frame = view.frame.bbox;
return {left: box.left + frame.left, top: box.top + frame.top, width: frame.width, height: frame.height,
        range: [view.frame.x_scale.source_range.start,
        view.frame.x_scale.source_range.end, view.frame.y_scale.source_range.start, view.frame.y_scale.source_range.end]};
"""
BUTTON = """
const icon = deep(first(arguments[0])).find(one => one.classList.contains("bk-tool-icon-" + arguments[1])
  && one.getBoundingClientRect().width > 0);
if (!icon) return null;  // of a low figure: behind the last button
const box = icon.getBoundingClientRect();
return [box.left + box.width / 2, box.top + box.height / 2];
"""
LEGEND = """
const items = deep(first(arguments[0])).filter(one => one.classList.contains("bk-Legend") && one.classList.contains("bk-interactive"))
  .flatMap(one => [...one.shadowRoot.querySelectorAll(".bk-item")]).filter(one => one.getBoundingClientRect().width > 0);
if (!items.length) return null;
const box = items[0].getBoundingClientRect();
return [box.left + box.width / 2, box.top + box.height / 2];
"""
HIDDEN = """
return plotsIn(first(arguments[0])).flatMap(view => view.model.renderers).filter(one => !one.visible).length;
"""
KINDS = (
    "a[href], summary, button, input, select, .bk-OnOffButton, .bk-ClickButton,"
    ' .bk-item[role="button"]'
)
CONTROLS = f"""
const seen = one => one.getBoundingClientRect().width > 0 && getComputedStyle(one).visibility === "visible";
window.controls = deep(document).filter(one => one.matches('{KINDS}') && seen(one) && !one.disabled);
window.reached = new Set();
return controls.length;
"""
FOCUSED = """
let one = document.activeElement;
while (one.shadowRoot && one.shadowRoot.activeElement) one = one.shadowRoot.activeElement;
const new_one = !reached.has(one);
reached.add(one);
return [new_one, one === document.body || getComputedStyle(one).outlineStyle !== "none"];
"""
MISSED = "return controls.filter(one => !reached.has(one)).map(one => one.outerHTML.slice(0, 200));"
CUT = """
const pen = document.createElement("canvas").getContext("2d");
pen.font = "12px system-ui, sans-serif";
const headings = model => [model.title, ...model.below].flatMap(one => (one?.text ?? "").split("\\n"));
return [...document.querySelectorAll(".figure")].flatMap(plotsIn).flatMap(view => headings(view.model)
  .filter(line => pen.measureText(line).width > view.el.clientWidth - view.frame.bbox.left + 1));
"""
FOREIGN = """
const roots = [document, ...deep(document).filter(one => one.shadowRoot).map(one => one.shadowRoot)];
return roots.flatMap(root => [...root.querySelectorAll("img, b, i, iframe, object, embed, script[src], [onerror], [onmouseover]")])
  .map(one => one.outerHTML.slice(0, 200));
"""


@cache
def html(name: str, view: str | None = None) -> str:
    """The page of a subject, made once."""
    return page.render(SUBJECTS[name](), view)


SUBJECTS: Mapping[str, Callable[[], Subject]] = {
    "one": pictures.all_of_one,
    "two": pictures.all_of_two,
    "history": lambda: pictures.history(30, environments=2, labels=["sort"]),
    "controls": lambda: Subject(
        "controls",
        [pictures.measured(metrics=["wall"], iterations=3), pictures.sampled(pictures.MAIN)],
    ),
    "empty": lambda: Subject("nothing"),
    "single": lambda: Subject("single", [sample_profile([0.01])]),
    "hostile one": pictures.all_hostile,
    "hostile two": pictures.all_hostile_of_two,
    "hostile history": lambda: Subject(
        pictures.ATTACKS[3], history=pictures.hostile_history().history[:6]
    ),
}
OF = {"one": "hostile one", "two": "hostile two", "history": "hostile history"}


class Shown:
    """A page in the browser at a width and in a scheme, with everything unfolded and every figure
    drawn.
    """

    def __init__(self, browser: Any, folder: Path, html: str, width: int, scheme: str) -> None:
        self.browser, self.width = browser, width
        path = folder / "page.html"
        path.write_text(html, encoding="utf-8")
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=4000,
            deviceScaleFactor=1,
            mobile=False,
        )
        self.call(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": scheme}],
        )
        added = self.call("Page.addScriptToEvaluateOnNewDocument", source=LISTEN)
        browser.get_log("browser")
        browser.get(path.as_uri())
        self.call("Page.removeScriptToEvaluateOnNewDocument", identifier=added["identifier"])
        self.run(HELP)
        self.run("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        self.wait("every figure is drawn", lambda: self.run(UNDRAWN) == 0)

    def call(self, command: str, **options: Any) -> Any:
        return self.browser.execute_cdp_cmd(command, options)

    def run(self, script: str, *words: Any) -> Any:
        return self.browser.execute_script(script, *words)

    def wait(self, what: str, holds: Callable[[], object]) -> None:
        """Until something holds, which is told if it never does."""
        from selenium.webdriver.support.ui import WebDriverWait

        WebDriverWait(self.browser, SECONDS, 0.02).until(lambda _: holds(), what)

    def mouse(self, kind: str, x: float, y: float, **options: Any) -> None:
        self.call("Input.dispatchMouseEvent", type=kind, x=round(x), y=round(y), **options)

    def click(self, x: float, y: float) -> None:
        self.mouse("mouseMoved", x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", clickCount=1)

    def press(self, key: str) -> None:
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        codes = {"Tab": 9, "Enter": 13, " ": 32}
        self.call(
            "Input.dispatchKeyEvent",
            type="keyDown",
            key=key,
            windowsVirtualKeyCode=codes[key],
            text=text,
        )
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=codes[key])

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Press at one place, let go at another."""
        self.mouse("mousePressed", *start, button="left", clickCount=1)
        for share in (0.5, 1):
            self.mouse(
                "mouseMoved",
                *(a + share * (b - a) for a, b in zip(start, end, strict=True)),
                button="left",
            )
        self.mouse("mouseReleased", *end, button="left", clickCount=1)

    def views(self) -> list[str]:
        """The views that the page has figures of."""
        found: list[str] = self.run(
            "return [...new Set([...document.querySelectorAll('.figure')].map(one =>"
            " one.dataset.view))]"
        )
        return found

    def assert_sound(self) -> None:
        """Nothing failed, nothing was asked for, nothing is wider than the window, and no figure is
        empty.
        """
        said = [
            entry["message"]
            for entry in self.browser.get_log("browser")
            if entry["level"] in ("SEVERE", "WARNING")
        ]
        assert said == []
        assert self.run("return document.documentElement.dataset.failed ?? null") is None
        assert self.run("return violations") == []
        assert (
            self.run("return performance.getEntriesByType('resource').map(entry => entry.name)")
            == []
        )
        assert self.run(FOREIGN) == []
        assert self.run("return document.documentElement.scrollWidth") <= self.width
        assert self.run(EMPTY) == []


@pytest.fixture
def shown(browser: Any, tmp_path: Path) -> Callable[..., Shown]:
    """Opens a page, once it is checked to be sound."""

    def show(name: str, width: int = 1400, scheme: str = "light", view: str | None = None) -> Shown:
        opened = Shown(browser, tmp_path, html(name, view), width, scheme)
        opened.assert_sound()
        return opened

    return show


def hover(page: Shown, view: str) -> None:
    where = page.run(TARGET, view)
    assert where is not None, f"{view}: nothing to hover over"
    page.mouse("mouseMoved", where[0], where[1] + 1)
    page.mouse("mouseMoved", *where)
    page.wait(f"{view} has a tooltip", lambda: page.run(TOOLTIP))


def zoom(page: Shown, view: str) -> None:
    """By the wheel and by a box, where the figure has these tools; then everything is as it was."""
    frame = page.run(FRAME, view)
    middle = (frame["left"] + frame["width"] / 2, frame["top"] + frame["height"] / 2)
    corner = (frame["left"] + frame["width"] / 4, frame["top"] + frame["height"] / 4)
    before = frame["range"]

    def reset() -> object:
        page.click(*page.run(BUTTON, view, "reset"))
        return page.run(FRAME, view)["range"]

    for icon in ("wheel-zoom", "box-zoom") if page.run(BUTTON, view, "reset") else ():
        if page.run(BUTTON, view, icon) is None:
            continue
        page.click(*page.run(BUTTON, view, icon))
        if icon == "wheel-zoom":
            page.mouse("mouseWheel", *middle, deltaX=0, deltaY=-240)
        else:
            page.drag(corner, middle)
        page.wait(
            f"{view} is zoomed: {icon}",
            lambda: page.run(FRAME, view)["range"] != pytest.approx(before),
        )
        page.wait(f"{view} is reset", lambda: reset() == pytest.approx(before))


def hide(page: Shown, view: str) -> None:
    """A click on a legend hides something, another shows it again."""
    before = page.run(HIDDEN, view)
    page.click(*page.run(LEGEND, view))
    page.wait(f"{view} hides what its legend names", lambda: page.run(HIDDEN, view) != before)
    page.click(*page.run(LEGEND, view))
    page.wait(f"{view} shows it again", lambda: page.run(HIDDEN, view) == before)


def fitting(view: str) -> str:
    """The subject that a view draws."""
    return next(
        name
        for name in OF
        if pictures.refusal(plugins.find("views", view)(), SUBJECTS[name]()) is None
    )


@pytest.mark.parametrize("name", OF)
def test_every_figure_is_drawn_and_answers_to_the_mouse(
    shown: Callable[..., Shown], name: str
) -> None:
    opened = shown(name)
    for view in opened.views():
        hover(opened, view)
        zoom(opened, view)
        if opened.run(LEGEND, view):
            hide(opened, view)
    opened.assert_sound()


@pytest.mark.parametrize("name", OF)
def test_a_telephone_in_the_dark_shows_every_figure(shown: Callable[..., Shown], name: str) -> None:
    opened = shown(name, 400, "dark")
    assert opened.views()
    opened.wait("every title has room", lambda: opened.run(CUT) == [])


@pytest.mark.parametrize("name", ["empty", "single"])
def test_a_page_of_little_or_nothing_is_sound(shown: Callable[..., Shown], name: str) -> None:
    shown(name, 400, "dark")
    shown(name)


@pytest.mark.parametrize("name", OF.values())
def test_hostile_names_are_text_wherever_they_stand(shown: Callable[..., Shown], name: str) -> None:
    shown(name, 400, "light")
    opened = shown(name, 1400, "dark")
    for view in opened.views():
        hover(opened, view)
        assert opened.run(FOREIGN) == []
    assert "onerror=alert(1)" in opened.run("return document.body.textContent")
    opened.assert_sound()


@pytest.mark.parametrize(
    "view", [name for name in plugins.names("views") if plugins.find("views", name).asked]
)
def test_what_is_drawn_only_when_asked_for_is_drawn_as_well(
    shown: Callable[..., Shown], view: str
) -> None:
    shown(fitting(view), 400, "dark", view)
    opened = shown(fitting(view), view=view)
    for found in opened.views():
        hover(opened, found)


def test_every_control_is_reached_by_the_keyboard_and_seen_to_be(
    shown: Callable[..., Shown],
) -> None:
    opened = shown("controls")
    assert opened.run(CONTROLS) > 10
    found = True
    while found:
        opened.press("Tab")
        found, outlined = opened.run(FOCUSED)
        assert outlined
    assert opened.run(MISSED) == []


def test_a_legend_is_worked_with_keys(shown: Callable[..., Shown]) -> None:
    opened = shown("controls")
    opened.run(
        f"deep(first('executions')).find(one => one.matches('{KINDS.rpartition(', ')[2]}')).focus()"
    )
    for key, hidden in (("Enter", 1), (" ", 0)):
        opened.press(key)
        opened.wait(
            f"{key!r} changes what is shown",
            lambda hidden=hidden: opened.run(HIDDEN, "executions") == hidden,
        )
        opened.wait(
            "the entry keeps the focus",
            lambda: opened.run(
                "return deep(first('executions')).some(one => one.matches('.bk-item:focus'))"
            ),
        )
