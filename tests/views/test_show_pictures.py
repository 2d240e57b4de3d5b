"""Pictures of pages: a real browser draws them, and what goes wrong with it is told in a line."""

from __future__ import annotations

import io
import os
import shutil
from contextlib import suppress
from pathlib import Path
from xml.etree import ElementTree

import pictures
import psutil
import pytest
from conftest import Perf, Project, ending
from histories import slowed
from PIL import Image

from perfvcs.check.subject import Subject
from perfvcs.errors import UsageError
from perfvcs.reports import screenshot
from perfvcs.reports.screenshot import BrowserFailed, Chromium, NoBrowser

pytestmark = pytest.mark.slow

BROWSER = pytest.mark.needs("chromium")


@pytest.fixture
def measured(project: Project) -> list[str]:
    """Two commits, the second a fifth slower."""
    return slowed(project)


def colours(image: Image.Image) -> set[tuple[int, ...]]:
    found = image.convert("RGB").getcolors(1 << 24)
    assert found is not None
    return {colour for _, colour in found if isinstance(colour, tuple)}


@BROWSER
@pytest.mark.usefixtures("measured")
def test_a_png_is_the_page_and_with_a_view_its_figures_alone(perf: Perf, tmp_path: Path) -> None:
    perf("show", "HEAD~1", "HEAD", "-o", str(tmp_path / "page.png"))
    perf("show", "HEAD~1", "HEAD", "--view", "effects", "-o", str(tmp_path / "effects.png"))
    page, effects = (
        Image.open(io.BytesIO((tmp_path / name).read_bytes()))
        for name in ("page.png", "effects.png")
    )
    assert page.width == effects.width == 2 * screenshot.PICTURE_WIDTH["canvas"]
    assert 400 < effects.height < page.height
    assert (0xD5, 0x5E, 0x00) in colours(effects)
    assert [*tmp_path.glob("perfvcs-*")] == []


@BROWSER
def test_an_svg_holds_the_figures_as_lines_and_text() -> None:
    root = ElementTree.fromstring(screenshot.svg(pictures.two(2), "effects"))
    text = " ".join(found for element in root.iter() if (found := (element.text or "").strip()))
    assert (
        "All changes · wall time" in text
        and "CPU time" in text
        and "benchmark 1 --with data/1k.txt" in text
    )
    assert float(root.get("height", "0")) > 400
    assert {element.tag.rpartition("}")[2] for element in root.iter()} & {
        "script",
        "image",
        "foreignObject",
    } == set()


@BROWSER
def test_hostile_names_are_text_in_an_svg() -> None:
    root = ElementTree.fromstring(screenshot.svg(pictures.hostile(), "comparison"))
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert tags <= {
        "svg",
        "g",
        "defs",
        "clipPath",
        "path",
        "text",
        "rect",
        "tspan",
        "linearGradient",
        "stop",
    }
    assert not [
        name for element in root.iter() for name in element.attrib if name.lower().startswith("on")
    ]
    assert any("<img src=x" in (element.text or "") for element in root.iter())


@BROWSER
def test_the_axes_of_an_svg_have_room() -> None:
    root = ElementTree.fromstring(screenshot.svg(pictures.one(), "executions"))
    figure, *_ = (
        element for element in root.iter() if element.tag.endswith("}svg") and element is not root
    )
    texts = [element for element in figure.iter() if element.tag.endswith("}text")]
    numbers = [element for element in texts if (element.text or "").replace(".", "").isdigit()]
    assert len({round(float(element.get("y", "0"))) for element in numbers}) > 4


@BROWSER
def test_a_table_is_a_picture_but_no_drawing() -> None:
    table = Image.open(io.BytesIO(screenshot.png(pictures.two(3), "table")))
    assert table.height > 2 * 300
    with pytest.raises(UsageError, match="there is no figure here to write as SVG"):
        screenshot.svg(pictures.two(1), "table")


@BROWSER
def test_a_page_without_figures_is_a_picture_too() -> None:
    image = Image.open(io.BytesIO(screenshot.png(Subject("nothing was measured"))))
    assert image.width == 2 * screenshot.PICTURE_WIDTH["canvas"] and image.height < 1000


@BROWSER
def test_nothing_is_left_of_the_browser_even_after_an_error() -> None:
    with (
        pytest.raises(BrowserFailed, match="the page could not be drawn: Error: broken"),
        Chromium.started() as browser,
    ):
        pid = browser.pid
        with pytest.raises(BrowserFailed, match="the page could not be drawn: no reason"):
            browser.run("Promise.reject('no reason')")
        browser.run("new Promise((_, fail) => fail(new Error('broken')))")
    assert [one for one in psutil.process_iter() if group(one) == pid] == []


def group(process: psutil.Process) -> int | None:
    """The group of a process that goes on."""
    with suppress(ProcessLookupError, FileNotFoundError, psutil.NoSuchProcess):
        return None if ending(process.pid) else os.getpgid(process.pid)
    return None


@BROWSER
def test_a_command_that_the_browser_does_not_know_is_named() -> None:
    with (
        pytest.raises(BrowserFailed, match=r"the browser refused Page\.fly"),
        Chromium.started() as browser,
    ):
        browser.call("Page.fly")


def pretend(monkeypatch: pytest.MonkeyPatch, folder: Path, script: str | None) -> None:
    """Let a program be the only browser on PATH, or none."""
    for tool in ("git", "sh", "sleep", "cat"):
        (folder / tool).symlink_to(str(shutil.which(tool)))
    if script is not None:
        (folder / "chromium").write_text(script)
        (folder / "chromium").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


@pytest.mark.usefixtures("measured")
def test_without_a_browser_the_cure_is_named(
    perf: Perf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(monkeypatch, tmp_path, None)
    said = perf("show", "-o", "page.png", code=2)
    assert (
        "needs Chromium or Chrome, and there is none on PATH: install one, or write a page: -o"
        " FILE.html" in said.err
    )
    assert said.err.count("\n") == 1 and not Path("page.png").exists()


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("#!/bin/sh\nexit 1\n", "the browser ended by itself"),
        ("#!/bin/sh\nexec 3<&- 4>&-\nsleep 60\n", "the browser ended by itself"),
        ("#!/bin/sh\nsleep 60\n", "did not answer within 0.3 s"),
        ("#!/no/such/interpreter\n", "cannot be started"),
    ],
)
@pytest.mark.usefixtures("measured")
def test_a_browser_that_does_not_work_is_reported_in_a_line(
    perf: Perf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, words: str
) -> None:
    pretend(monkeypatch, tmp_path, script)
    monkeypatch.setattr(screenshot, "ANSWER_SECONDS", 0.3 if "0.3 s" in words else 60.0)
    monkeypatch.setattr(screenshot, "END_SECONDS", 0.3)
    said = perf("show", "-o", "page.svg", code=1)
    assert words in said.err and said.err.count("\n") == 1


def test_a_browser_that_does_not_listen_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(monkeypatch, tmp_path, "#!/bin/sh\nsleep 60\n")
    monkeypatch.setattr(screenshot, "ANSWER_SECONDS", 0.3)
    monkeypatch.setattr(screenshot, "END_SECONDS", 0.3)
    monkeypatch.setattr(
        Chromium,
        "_open",
        lambda browser: browser.call("Page.setDocumentContent", html="x" * 10_000_000),
    )
    with pytest.raises(BrowserFailed, match="does not listen"), Chromium.started():
        pass


def test_the_programs_that_can_draw_are_known() -> None:
    assert NoBrowser.exit_code == 2 and "google-chrome" in screenshot.BROWSER_NAMES
