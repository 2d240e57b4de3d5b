"""Makes the pictures of the pages: ``python docs/pictures.py [NAME ...]`` writes them to docs/images.

The numbers are made up, always the same ones, but for "comparison" (of `make demo`) and "slip" (of `make demo-curves`); what draws them
are the tool's own views. It needs git, Chromium and chromedriver.
"""

from __future__ import annotations

import io
import sys
from base64 import b64decode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import copytree
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perfvcs.check import compare
from perfvcs.git.command import git
from perfvcs.page import render
from perfvcs.profile import Collected, Design, Environment, Job, Metric, Profile, Resources, Stacks
from perfvcs.reports.show import subject_of
from perfvcs.repository import Repository
from perfvcs.site.publication import publish
from perfvcs.store import Store
from perfvcs.subject import Subject

Array = NDArray[np.float64]

IMAGES = Path(__file__).parent / "images"
BASELINE, TARGET = "1f0e2a3b4c5d6e7f8091a2b3c4d5e6f708192a3b", "8c7f6a1d0e5b4c3f2a1908172635445362718090"
SECONDS = {"wall": Metric("s")}
ENVIRONMENT = Environment({"cpu": "AMD EPYC 7B13", "kernel": "6.1.0"}, "9b1c6d0f42aa")
COLOURS = (128, 64, 32, 16)  # of a picture, as many as its size allows: it looks the same, and the file has a third of the size
LARGEST = 80_000  # bytes


@dataclass(frozen=True)
class Picture:
    """What is drawn: the first figure that a view makes of a subject, on a page of so many pixels ``width``.

    Without a view it is the top of the whole page, ``height`` pixels of it. ``measured``: the subject is there after `make demo` only.
    """

    subject: Callable[[Path], Subject]
    view: str | None
    width: int = 760
    height: int = 2000
    measured: bool = False


def profile(
    name: str, values: Array, *, commit: str = TARGET, session: str = "20261120T093000-4f2a91", turns: bool = True, version: int = 1,
    versions: Sequence[str] = (BASELINE, TARGET),
) -> Profile:  # fmt: skip
    """The profile of one benchmark on one commit; seconds of shape (executions, measurements)."""
    executions, inner = values.shape
    seconds: list[float | None] = [*values.ravel().tolist()]
    rows = Resources(
        [name], [0] * values.size, np.repeat(np.arange(executions), inner).tolist(),
        iteration=np.tile(np.arange(inner), executions).tolist() if inner > 1 else None, metrics={"wall": seconds},
    )  # fmt: skip
    when = f"{session[:4]}-{session[4:6]}-{session[6:11]}:{session[11:13]}:{session[13:15]}Z"
    design = Design(executions, order="interleaved" if turns else "sequential", version=version, versions=list(versions), seed=7)
    return Profile(
        commit=commit, job=Job(name, "time", f"./{name}", engine="launcher/1"), environment=ENVIRONMENT, metrics=SECONDS, resources=rows,
        collected=Collected(session, when, when, "perfvcs"), design=design,
    )  # fmt: skip


def executions(_: Path) -> Subject:
    """Measurements that agree inside an execution, and executions that do not."""
    rng = np.random.default_rng(11)
    found = 0.0131 * np.exp(0.035 * rng.standard_normal((10, 1)) + 0.008 * rng.standard_normal((10, 20)))
    return Subject("one revision", [profile("sort", found)])


def drift(_: Path) -> Subject:
    """Twenty executions of one program on a machine that gets slower."""
    rng = np.random.default_rng(6)
    found = warm(np.arange(20.0), rng) * np.exp(0.004 * rng.standard_normal((20, 10)))
    return Subject("one revision", [profile("sort", found)])


def warm(slots: Array, rng: np.random.Generator) -> Array:
    """What the same program takes, one execution in each slot of time, on a machine that gets slower by a tenth."""
    found: Array = 0.0131 * np.exp(0.1 * slots[:, None] / 20 + 0.003 * rng.standard_normal((len(slots), 1)))
    return found


def apart(_: Path) -> Subject:
    """Equal programs, all executions of the one before those of the other, while the machine gets slower."""
    rng, slots = np.random.default_rng(5), np.arange(10.0)
    before = [profile("sort", warm(slots, rng), commit=BASELINE, session="20261120T093000-000001", turns=False, version=0)]
    after = [profile("sort", warm(slots + 10, rng), session="20261120T094000-000002", turns=False, version=0)]
    return Subject("one after the other", after, before)


def turns(_: Path) -> Subject:
    """The same in turns."""
    rng, first = np.random.default_rng(5), np.random.default_rng(8).integers(0, 2, 10)
    slots = 2 * np.arange(10.0)
    before = [profile("sort", warm(slots + first, rng), commit=BASELINE, version=0)]
    return Subject("in turns", [profile("sort", warm(slots + 1 - first, rng))], before)


def effects(_: Path) -> Subject:
    """A degradation, one that stayed the same, one that is open, and an improvement, side by side."""
    rng = np.random.default_rng(3)
    sides: tuple[list[Profile], list[Profile]] = ([], [])
    for name, centre, effect, noise in (
        ("sort", 0.0131, 0.085, 0.007), ("parse", 0.0308, -0.042, 0.006), ("render", 0.0094, 0.0, 0.03), ("merge", 0.022, 0.0, 0.004),
    ):  # fmt: skip
        for number, commit in enumerate((BASELINE, TARGET)):
            found = centre * (1 + number * effect) * np.exp(noise * rng.standard_normal((10, 1)))
            sides[number].append(profile(name, found, commit=commit, version=number))
    return Subject("two revisions", sides[1], sides[0], compare(*sides))


def history(folder: Path) -> Subject:
    """Forty commits, each measured in turns with the one before it, with one that is slower for good."""
    commits = grown(folder)
    rng = np.random.default_rng(14)
    repository = Repository.find(folder, create=True)
    Store.create(folder / ".perf/store").add(list(sessions(commits, rng)), "A history")
    repository.refresh()
    return subject_of(repository, ["sort"])


def grown(folder: Path) -> list[str]:
    """A repository of forty commits, oldest first."""
    git(folder, "init", "--quiet", "--initial-branch=main")
    for number in range(40):
        when = f"2026-{1 + number // 20:02}-{1 + number % 20:02}T10:00:00Z"
        person = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
        dates = {"GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when}
        git(folder, *person, "commit", "--quiet", "--allow-empty", "-m", f"Change {number}", extra=dates)
    return git(folder, "rev-list", "--reverse", "HEAD").split()


def site(folder: Path) -> Path:
    """A site of six benchmarks over forty commits; one became slower, one faster, and one slower and faster again."""
    rng, commits = np.random.default_rng(4), grown(folder)
    factors = {"sort": {32: 1.07}, "parse": {14: 0.94}, "render": {}, "merge": {10: 1.05, 26: 1 / 1.05}, "search": {}, "load": {}}
    made = []
    for name, steps in factors.items():
        levels = 0.0131 * rng.uniform(0.5, 3) * np.cumprod([steps.get(number, 1.0) for number in range(len(commits))])
        for number, (commit, level) in enumerate(zip(commits, levels, strict=True)):
            found = level * np.exp(0.004 * rng.standard_normal() + 0.006 * rng.standard_normal((10, 1)))
            session = f"20260{1 + number // 20}{1 + number % 20:02}T100000-{number:06x}"
            made.append(profile(name, found, commit=commit, session=session))
    repository = Repository.find(folder, create=True)
    Store.create(folder / ".perf/store").add(made, "A history")
    repository.refresh()
    publish(repository, folder / "site", title="sorter")
    return folder / "site"


def sessions(commits: Sequence[str], rng: np.random.Generator) -> Iterator[Profile]:
    """Each commit with its parent, in eight blocks."""
    for number in range(1, len(commits)):
        between, blocks = 0.004 * rng.standard_normal(), 0.003 * rng.standard_normal((8, 1))
        pair = commits[number - 1 : number + 1]
        for version, commit in enumerate(pair):
            level = 0.0131 * (1.07 if number - 1 + version >= 27 else 1.0)
            found = level * np.exp(between + blocks + 0.003 * rng.standard_normal((8, 1)))
            name = f"2026{1 + number // 20:02}{1 + number % 20:02}T100000-{number:06x}"
            yield profile("sort", found, commit=commit, session=name, version=version, versions=pair)


def dendrogram(_: Path) -> Subject:
    """A shop whose new version reads more from the disk for each request than the old one did."""
    rng = np.random.default_rng(4)
    return Subject("a shop", [shop(rng, 1, 1.5, TARGET)], [shop(rng, 5, 1.0, BASELINE)])


def shop(rng: np.random.Generator, runs: int, reads: float, commit: str) -> Profile:
    """Counters of a shop, every second for a minute, in so many runs."""
    count = 60 * runs
    load, orders, memory = (centre + rng.normal(0, spread, count) for centre, spread in ((100, 15), (20, 4), (300, 60)))
    columns = {
        "requests": load, "web CPU": 0.4 * load, "sent bytes": 9 * load, "latency": 4 + 0.1 * load, "db reads": reads * 0.5 * orders,
        "db writes": 0.8 * orders, "db CPU": 0.3 * orders, "web memory": memory, "web heap": 0.7 * memory, "threads": np.full(count, 8.0),
    }  # fmt: skip
    noise = {name: 0.07 * rng.standard_normal(count) * (column.std() > 0) for name, column in columns.items()}
    values: dict[str, list[float | None]] = {name: (column * np.exp(noise[name])).tolist() for name, column in columns.items()}
    rows = Resources(
        ["shop"], [0] * count, np.repeat(np.arange(runs), 60).tolist(), iteration=np.tile(np.arange(60), runs).tolist(),
        metrics=values,
    )  # fmt: skip
    when = "2026-11-20T09:30:00Z"
    return Profile(
        commit=commit, job=Job("shop", "counters", "./shop"), environment=ENVIRONMENT, resources=rows, design=Design(runs),
        metrics={name: Metric("", "none") for name in values}, collected=Collected(f"of {commit[:4]}", when, when, "perfvcs"),
    )  # fmt: skip


def curves(_: Path) -> Subject:
    """A skip list whose insertion looks at every element in the new version, while its search stays what it was."""
    rng = np.random.default_rng(8)
    sides = [[skiplist(rng, version)] for version in (0, 1)]
    return Subject("a skip list", sides[1], sides[0], compare(*sides))


def skiplist(rng: np.random.Generator, version: int) -> Profile:
    """Ten executions that fill a list: 2,000 calls of two functions, some of them interrupted."""
    sizes = np.sort(rng.integers(1, 5_001, (2, 10, 2_000)), axis=-1)
    seconds = np.array([[[9e-8]], [[6e-8]]]) + np.array([[[3e-8]], [[2.4e-8]]]) * np.log(sizes)
    seconds[0] += version * 9.9e-11 * sizes[0]
    seconds *= np.exp(0.02 * rng.standard_normal((2, 10, 1)) + 0.12 * np.abs(rng.standard_normal(sizes.shape)))
    seconds += (rng.random(sizes.shape) < 0.003) * rng.uniform(2e-6, 1e-4, sizes.shape)
    _, execution, number = (axis.ravel().tolist() for axis in np.indices(sizes.shape))
    values: list[float | None] = [*seconds.round(9).ravel().tolist()]
    rows = Resources(
        ["SkipList.insert", "SkipList.search"], np.repeat([0, 1], 20_000).tolist(), execution, iteration=number,
        size=[*map(float, sizes.ravel().tolist())], metrics={"duration": values},
    )  # fmt: skip
    when = "2026-11-20T09:30:00Z"
    return Profile(
        commit=(BASELINE, TARGET)[version], job=Job("skiplist", "complexity", "./skiplist", engine="fentry"), environment=ENVIRONMENT,
        metrics={"duration": Metric("s")}, resources=rows, collected=Collected("20261120T093000-4f2a91", when, when, "perfvcs"),
        design=Design(executions=10, order="interleaved", version=version, versions=[BASELINE, TARGET], seed=7),
    )  # fmt: skip


def flame(_: Path) -> Subject:
    """A program that parses more carefully in the new version."""
    sides = []
    for version, counts in enumerate(((300, 2100, 1400, 900, 800, 1500, 200), (300, 2000, 3600, 1700, 800, 1450, 200))):
        main = ("main (work.py)",)
        load, parse, report = (*main, "load (io.py)"), (*main, "parse (parser.py)"), (*main, "report (work.py)")
        stacks = [
            main, (*load, "read (io.py)"), parse, (*parse, "number (parser.py)"), (*parse, "text (parser.py)"),
            (*report, "dumps (json/__init__.py)", "encode (json/encoder.py)"), report,
        ]  # fmt: skip
        frames = list(dict.fromkeys(frame for stack in stacks for frame in stack))
        rows = Resources(
            ["work"], [0] * len(stacks), [0] * len(stacks), trace=list(range(len(stacks))),
            metrics={"samples": [*map(float, counts)]},
        )  # fmt: skip
        when = "2026-11-20T09:30:00Z"
        made = Profile(
            commit=(BASELINE, TARGET)[version], job=Job("work", "samples", "python work.py", engine="py-spy/1"), environment=ENVIRONMENT,
            metrics={"samples": Metric("", "none")}, resources=rows, collected=Collected("20261120T093000-4f2a91", when, when, "perfvcs"),
            stacks=Stacks(frames, [[frames.index(frame) for frame in stack] for stack in stacks]),
        )  # fmt: skip
        sides.append([made])
    return Subject("a parser", sides[1], sides[0])


def demo(folder: Path) -> Subject:
    """Two releases of the demo's package, as `make demo` measured them."""
    return measured(folder, "sqlparse", "0.4.4", "0.5.0")


def slip(folder: Path) -> Subject:
    """The C++ skip list before and with its linear error, as `make demo-curves` measured them."""
    return measured(folder, "skiplist/cpp", "v3", "v4")


def measured(folder: Path, name: str, *revisions: str) -> Subject:
    """Two revisions of a repository that `make demo` or `make demo-curves` measured."""
    there = Path(__file__).parents[1] / "demo" / name
    if not (there / ".perf").exists():
        sys.exit(f"{name}: run `make demo` and `make demo-curves` first")
    repository = Repository.find(Path(copytree(there, folder / "demo")))
    repository.refresh()
    return subject_of(repository, revisions)


PICTURES = {
    "executions": Picture(executions, "executions"),
    "drift": Picture(drift, "runsequence"),
    "apart": Picture(apart, "comparison", width=520),
    "turns": Picture(turns, "comparison", width=520),
    "effects": Picture(effects, "effects"),
    "history": Picture(history, "history"),
    "dendrogram": Picture(dendrogram, "dendrogram"),
    "curves": Picture(curves, "curves"),
    "flame": Picture(flame, "flamediff"),
    "comparison": Picture(demo, None, width=1200, height=1180, measured=True),
    "slip": Picture(slip, "curves", measured=True),
}
SITE = {"site": ("index.html", 780), "site-series": ("series/sort-*.html", 950)}  # pages and their heights
SIGHT = """
const seen = [...document.querySelectorAll(".figure")].filter(one => one.getBoundingClientRect().top < innerHeight);
return seen.length && seen.every(one => one.classList.contains("drawn"));
"""
DRAWN = """
const one = document.querySelector(arguments[0]);
one.scrollIntoView({behavior: "instant"});
return !one.matches(".figure") || one.classList.contains("drawn");
"""
FIGURE = """
const box = document.querySelector(arguments[0]).getBoundingClientRect();
return {x: box.x + scrollX + 1, y: box.y + scrollY, width: box.width - 1, height: box.height};
"""
QUIET = """
const models = (window.Bokeh?.documents ?? []).flatMap(one => one.roots()).flatMap(root => [...root.references()]);
for (const model of models) if (model.toolbar) model.toolbar.visible = false;
"""
SETTLED = "return new Promise(done => requestAnimationFrame(() => setTimeout(done, 300)));"


def browser(folder: Path) -> Any:
    """A headless Chromium with a profile folder of its own."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    flags = ["headless", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "disable-background-networking", "hide-scrollbars"]
    for flag in [*flags, f"user-data-dir={folder / 'chromium'}"]:
        options.add_argument(f"--{flag}")
    return webdriver.Chrome(options=options, service=webdriver.ChromeService("/usr/bin/chromedriver"))


def shoot(driver: Any, name: str, folder: Path) -> bytes:
    """A picture as PNG; a single figure twice as fine as the page, without its tools."""
    picture = PICTURES[name]
    folder.mkdir()
    page = folder / "page.html"
    page.write_text(render(picture.subject(folder), picture.view), encoding="utf-8")
    return photograph(driver, page, picture.width, picture.height, ".figure" if picture.view else "")


def visit(driver: Any, name: str, folder: Path) -> bytes:
    """The top of a page of the site as PNG."""
    folder.mkdir()
    page, height = SITE[name]
    return photograph(driver, next(site(folder).glob(page)), 1200, height, sight="return document.readyState === 'complete';")


def photograph(driver: Any, page: Path, width: int, height: int, part: str = "", sight: str = SIGHT) -> bytes:
    """The top of a page in a window of so many pixels, or only the ``part`` that a selector finds, twice as fine; a PNG of few colours.

    ``sight``: a script that says when all is there at the top.
    """
    from selenium.webdriver.support.ui import WebDriverWait

    metrics = {"width": width, "height": height, "deviceScaleFactor": 2 if part else 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    light = {"features": [{"name": "prefers-color-scheme", "value": "light"}]}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", light)
    driver.get(page.as_uri())
    WebDriverWait(driver, 60).until(lambda page: page.execute_script(DRAWN if part else sight, part))
    box = {"x": 0, "y": 0, "width": width, "height": height}
    if part:
        driver.execute_script(QUIET)
        driver.execute_script(SETTLED)
        box = driver.execute_script(FIGURE, part)
    driver.execute_script(SETTLED)
    shot = driver.execute_cdp_cmd("Page.captureScreenshot", {"clip": box | {"scale": 1}, "captureBeyondViewport": True})
    return compact(b64decode(shot["data"]))


def compact(picture: bytes, width: int | None = None) -> bytes:
    """A PNG with as many colours as `LARGEST` bytes allow, at most ``width`` pixels wide."""
    from PIL import Image

    whole = Image.open(io.BytesIO(picture)).convert("RGB")
    if width is not None and whole.width > width:
        whole = whole.resize((width, round(whole.height * width / whole.width)), Image.Resampling.LANCZOS)
    for colours in COLOURS:
        small = io.BytesIO()
        whole.quantize(colours, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(small, "PNG", optimize=True)
        if small.tell() <= LARGEST:
            break
    return small.getvalue()


def main() -> None:
    """Draw the named pictures, or all."""
    known = [*PICTURES, *SITE]
    chosen = sys.argv[1:] or known
    if wrong := [name for name in chosen if name not in known]:
        sys.exit(f"there is no picture {', '.join(wrong)}; there are {', '.join(known)}")
    with TemporaryDirectory() as folder:
        driver = browser(Path(folder))
        try:
            for name in chosen:
                found = (visit if name in SITE else shoot)(driver, name, Path(folder) / name)
                if len(found) > LARGEST:
                    sys.exit(f"{name}: {len(found):,} bytes, over {LARGEST:,}: draw less")
                (IMAGES / f"{name}.png").write_bytes(found)
                print(f"{name}: {len(found):,} bytes")
        finally:
            driver.quit()


if __name__ == "__main__":
    main()
