"""Flame graphs: the tree of stacks, what is drawn of it, and the page around them, where it is
searched and zoomed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pictures
import pytest
from bokeh.models import Legend
from bokeh.plotting import figure
from browsing import BROWSER, Opened, views
from hypothesis import given, settings
from hypothesis import strategies as st
from pictures import MAIN, Folded, sampled
from samples import sample_profile

from perfvcs.check.subject import Subject
from perfvcs.errors import UsageError
from perfvcs.pictures import stacks
from perfvcs.pictures.flame import clip
from perfvcs.plugins.view import Unfit
from perfvcs.profile import REPEATED, Job, Metric, Profile, Resources, Stacks
from perfvcs.reports import page
from perfvcs.views.flamegraph import TINTS, Flamegraph, functions, sandwiches


def drawn(subject: Subject, **options: Any) -> list[figure]:
    """The figures of a subject, after bokeh has accepted them."""
    return pictures.figures(Flamegraph(**options), subject)


def boxes(plot: figure) -> dict[str, Any]:
    (found,) = plot.select({"name": "frames"})
    data: dict[str, Any] = found.data_source.data
    return data


def texts_of_boxes(plot: figure) -> list[dict[str, str]]:
    data = boxes(plot)
    columns = ("name", "file", "total", "own", "fill", "label")
    return [
        dict(zip(columns, row, strict=True))
        for row in zip(*(data[column] for column in columns), strict=True)
    ]


# the tree


def test_a_tree_has_totals_and_what_is_the_frames_own() -> None:
    tree = stacks.tree(Subject("x", [sampled(MAIN)]), "samples")
    names = ["all", *(tree.frames[frame] for frame in tree.frame[1:])]
    assert names == ["all", "main (a.py)", "f (a.py)", "h (b.py)", "g (b.py)"]
    assert tree.total[:, 1].tolist() == [100, 100, 35, 60, 25] and tree.own[:, 1].tolist() == [
        0,
        5,
        10,
        60,
        25,
    ]
    assert (
        tree.parent.tolist() == [-1, 0, 1, 1, 2]
        and tree.depth.tolist() == [0, 1, 2, 2, 3]
        and not tree.deeper
    )
    assert (
        tree.counts == (0, 100)
        and tree.shares[:, 1].tolist() == [1, 1, 0.35, 0.6, 0.25]
        and not tree.shares[:, 0].any()
    )


def test_samples_are_time_where_their_rate_is_known() -> None:
    profile = sampled(MAIN)
    plain_boxes = boxes(drawn(Subject("x", [profile]))[0])
    assert plain_boxes["total"][0] == "100 (100.00 %)"
    profile = msgspec.structs.replace(
        profile, metrics={**profile.metrics, "rate": Metric("Hz", "none")}
    )
    rows = len(profile.resources.uid)
    profile.resources.metrics["rate"] = [50.0, *[float("nan")] * (rows - 1)]
    subject = Subject("x", [profile])
    assert boxes(drawn(subject)[0])["total"][0] == "2 s (100.00 %)"
    (table,) = sandwiches(stacks.traces(subject))
    assert table.caption.endswith("shares of 2 s per execution")
    for unusable in (0.0, -50.0):  # other people's profiles have anything
        profile.resources.metrics["rate"][0] = unusable
        assert boxes(drawn(subject)[0])["total"][0] == "100 (100.00 %)"
    profile.resources.metrics["rate"][0] = 50.0
    assert [column.title for column in table.columns][:2] == ["file", "own"]


def test_a_frame_is_located_by_file_and_line() -> None:
    assert stacks.located("f (a.py:12)") == "a.py:12" and stacks.located("g (b.c)") == "b.c"
    assert stacks.located("[interpreter]") == stacks.located("(x)") == ""


def test_executions_are_averaged_and_repeated_ones_left_out() -> None:
    profile = sampled({("f (x)",): 10}, {("f (x)",): 30}, {("f (x)",): 1000})
    profile.resources.mark = [
        REPEATED if execution == 2 else 0 for execution in profile.resources.execution
    ]
    tree = stacks.tree(Subject("x", [profile]), "samples")
    assert tree.total[:, 1].tolist() == [20, 20] and tree.counts == (0, 40)
    twice = stacks.tree(Subject("x", [profile, sampled({("f (x)",): 50})]), "samples")
    assert twice.total[0, 1] == pytest.approx(30)


FOLDED = st.dictionaries(
    st.lists(st.sampled_from(["a (x)", "b (x)", "c (y)"]), min_size=1, max_size=6).map(tuple),
    st.integers(1, 1000),
    min_size=1,
    max_size=20,
)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(FOLDED, FOLDED)
def test_every_frame_is_its_own_and_its_callees(before: Folded, after: Folded) -> None:
    tree = stacks.tree(Subject("x", [sampled(after)], [sampled(before)]), "samples")
    below = np.zeros_like(tree.total)
    np.add.at(below, tree.parent[1:], tree.total[1:])
    np.testing.assert_allclose(tree.total, tree.own + below)
    assert tree.total[0].tolist() == [sum(before.values()), sum(after.values())]
    left, right = stacks.spans(tree, tree.shares[:, 1])
    kept = stacks.widest(tree.shares.max(axis=1), 10**6, 0.0)
    assert len(kept) == len(tree.frame) and left[0] == 0 and right[0] == pytest.approx(1)
    inner = tree.parent[1:]
    assert (left[1:] >= left[inner] - 1e-9).all() and (right[1:] <= right[inner] + 1e-9).all()
    for level in range(1, int(tree.depth.max()) + 1):
        own = np.flatnonzero(tree.depth == level)
        assert (left[own][1:] >= right[own][:-1] - 1e-9).all()
    for folded, side in ((before, 0), (after, 1)):
        for number, frame in enumerate(tree.frame.tolist()):
            path = [frame] if number else []
            parent = int(tree.parent[number])
            while parent > 0:
                path.append(int(tree.frame[parent]))
                parent = int(tree.parent[parent])
            if number:
                named = tuple(tree.frames[one] for one in reversed(path))
                assert tree.own[number, side] == folded.get(named, 0)


@pytest.mark.parametrize(
    ("frame", "parts"),
    [
        ("f (a.py)", ("f", "a.py")),
        ("f (a.c:22)", ("f", "a.c")),
        ("[kernel]", ("[kernel]", "")),
        ("malloc", ("malloc", "")),
        ("(anonymous namespace)::f (a b (1).c)", ("(anonymous namespace)::f (a b", "1).c")),
        (" (x)", (" (x)", "")),
        ("f (C:x)", ("f", "C:x")),
    ],
)
def test_a_frame_is_function_and_file(frame: str, parts: tuple[str, str]) -> None:
    assert stacks.split(frame) == parts


# the figure


def test_one_revision_shows_amounts_and_shares() -> None:
    (plot,) = drawn(Subject("x", [sampled(MAIN)]))
    assert plot.title.text == "work · samples, by perf-dwarf/1\n100 in all executions"
    rows = {row["name"]: row for row in texts_of_boxes(plot)}
    assert (
        rows["f"]["total"] == "35 (35.00 %)"
        and rows["f"]["own"] == "10 (10.00 %)"
        and rows["f"]["file"] == "a.py"
    )
    assert rows["all"]["total"] == "100 (100.00 %)" and rows["all"]["file"] == "–"
    assert (
        rows["f"]["fill"]
        == rows["main"]["fill"]
        != rows["h"]["fill"]
        == rows["g"]["fill"]
        == TINTS[0]
    )
    labels = [item.label.value for legend in plot.select({"type": Legend}) for item in legend.items]
    assert labels == ["b.py", "a.py", "others"]
    assert boxes(plot)["bottom"].tolist() == [1, 2, 3, 3, 4]


def test_several_metrics_of_the_stacks_are_several_figures() -> None:
    profile = sampled(MAIN)
    rows = profile.resources
    values = {
        "share": rows.metrics["share"],
        "site_bytes": rows.metrics["samples"],
        "calls": [None] * len(rows),
    }
    profile = sample_profile(
        stacks=profile.stacks,
        job=profile.job,
        metrics={"share": Metric(""), "site_bytes": Metric("B"), "calls": Metric("")},
        resources=Resources(rows.names, rows.uid, rows.execution, trace=rows.trace, metrics=values),
    )
    (plot,) = drawn(Subject("x", [profile]))
    assert "allocated bytes" in pictures.said(plot) and "100 B per execution" in pictures.said(plot)
    assert not stacks.tree(Subject("x", [profile]), "other").total.any()


def test_a_file_has_one_colour_in_all_figures_of_a_job() -> None:
    profile = pictures.heaped()
    profile.resources.metrics["site_peak"] = [
        None if value is None else 1 / value for value in profile.resources.metrics["site_peak"]
    ]
    first, second = (
        {row["file"]: row["fill"] for row in texts_of_boxes(plot)}
        for plot in drawn(Subject("x", [profile]))
    )
    assert first == second and len(set(first.values())) == 3


def test_files_of_the_project_come_first_where_only_allocators_have_anything() -> None:
    system = [f"/usr/include/c++/12/part{number}.h" for number in range(9)]
    stack = (
        "main (work.cpp)",
        *(f"f{number} ({file}:3)" for number, file in enumerate(system)),
        "malloc",
    )
    (plot,) = drawn(Subject("x", [sampled({stack: 5.0})]))
    assert {row["file"]: row["fill"] for row in texts_of_boxes(plot)}["work.cpp"] == TINTS[0]
    labels = [item.label.value for legend in plot.select({"type": Legend}) for item in legend.items]
    assert labels[0] == "work.cpp" and len(labels) == len(TINTS) and labels[-1] == "others"


def many(count: int, commit: str = pictures.TARGET, seed: int = 3) -> Profile:
    """A profile of so many different stacks of 13 frames."""
    random = np.random.default_rng(seed)
    frames = [f"function{number} (file{number % 50}.c)" for number in range(3000)]
    table = [[0, *row] for row in random.integers(1, 3000, (count, 12)).tolist()]
    rows = Resources(
        ["work"],
        [0] * count,
        [0] * count,
        trace=list(range(count)),
        metrics={"samples": random.pareto(1, count).tolist()},
    )
    return sampled(
        MAIN,
        commit=commit,
        resources=rows,
        metrics={"samples": Metric("", "none")},
        stacks=Stacks(frames, table),
    )


@pytest.mark.slow
def test_a_hundred_thousand_stacks_stay_bounded_and_say_so() -> None:
    profile = many(100_000)
    (plot,) = drawn(Subject("x", [profile]), points=500)
    assert 13 < len(boxes(plot)["left"]) <= 500
    assert (
        " frames drawn, the widest" in pictures.said(plot)
        and "500 of" not in plot.title.text.split("\n")[1]
    )
    assert len(page.render(Subject("x", [profile]), "flamegraph").encode()) < 3_000_000


def test_series_of_different_engines_have_figures_of_their_own() -> None:
    other = sampled(
        MAIN, commit=pictures.BASELINE, job=Job("work", "samples", "./work", engine="py-spy/1")
    )
    titles = [plot.title.text for plot in drawn(Subject("x", [sampled(MAIN)], [other]))]
    assert sorted(title.splitlines()[0] for title in titles) == [
        "work · samples, by perf-dwarf/1",
        "work · samples, by py-spy/1",
    ]
    assert [title.splitlines()[1] for title in sorted(titles)] == [
        "100 in all executions",
        "100 in all executions, of the baseline",
    ]


def test_equal_frames_beyond_the_bound_are_left_out_together() -> None:
    (plot,) = drawn(
        Subject("x", [sampled({("main (a)", f"f{number} (a)"): 1.0 for number in range(100)})]),
        points=50,
    )
    assert [row["name"] for row in texts_of_boxes(plot)] == ["all", "main"]
    folded = {("main (a)", f"f{number} (a)"): 1.0 + number for number in range(100)}
    (plot,) = drawn(Subject("x", [sampled(folded)]), points=50)
    assert len(texts_of_boxes(plot)) == 50


def test_a_deep_recursion_is_cut_and_counted_at_the_cut() -> None:
    deep = ("main (a)", *["f (a)"] * 5000)
    (plot,) = drawn(Subject("x", [sampled({deep: 10.0})]))
    rows = texts_of_boxes(plot)
    assert len(rows) == stacks.LEVELS + 1 and rows[-1]["own"] == "10 (100.00 %)"
    assert "deeper calls are counted in the last frame drawn" in pictures.said(plot)


@pytest.mark.parametrize(
    ("name", "letters", "shown"),
    [
        ("work", 10.0, "work"),
        ("work", 5.0, "work"),
        ("worker", 5.0, "wor…"),
        ("work", 3.9, ""),
        ("w", 0.0, ""),
    ],
)
def test_a_label_is_as_long_as_its_frame_has_room(name: str, letters: float, shown: str) -> None:
    assert clip(name, letters) == shown


@pytest.mark.parametrize(
    "subject",
    [
        Subject("nothing"),
        pictures.one(),
        Subject("without a row", [sampled({})]),
        Subject(
            "zero",
            [
                sampled(
                    {("f (a)",): 0.0, ("g (a)",): 1.0},
                    resources=Resources(
                        ["work"],
                        [0],
                        [0],
                        trace=[-1],
                        metrics={"busy": [1.0], "samples": [1.0], "share": [None]},
                    ),
                )
            ],
        ),
    ],
)
def test_what_has_no_stacks_is_refused(subject: Subject) -> None:
    assert (
        pictures.refusal(Flamegraph(), subject)
        == "it draws call stacks, such as the collector `samples` takes"
    )


# the page


def test_a_page_draws_the_stacks_and_not_each_function_alone() -> None:
    html = page.render(Subject("x", [sampled(MAIN, MAIN, MAIN)]))
    assert views(html).count("flamegraph") == 1 and "busy" in html
    assert "work · f (a.py)" not in html


def test_a_judged_metric_of_a_function_is_still_drawn() -> None:
    profile = sampled(MAIN, MAIN)
    rows = profile.resources
    rows.metrics["busy"] = [1.0] * len(rows)
    assert "work · f (a.py)" in page.render(Subject("x", [profile]))


def test_the_view_alone_can_be_asked_for_and_says_when_it_cannot() -> None:
    assert views(page.render(Subject("x", [sampled(MAIN)]), "flamegraph")) == ["flamegraph"]
    with pytest.raises(
        UsageError, match="view `flamegraph` does not fit here, it draws call stacks"
    ):
        page.render(pictures.one(), "flamegraph")
    with pytest.raises(UsageError, match=r"it draws one revision, not two; these do: .*flamediff"):
        page.render(Subject("x", [sampled(MAIN)], [sampled({("g (b.py)",): 99})]), "flamegraph")


def test_a_name_that_begins_several_views_suggests_all_of_them() -> None:
    with pytest.raises(
        UsageError, match="there is no view `flame`; did you mean `flamediff` or `flamegraph`"
    ):
        page.render(Subject("x", [sampled(MAIN)]), "flame")


def attacked() -> Subject:
    """A revision whose frames are attacks."""
    names = pictures.ATTACKS
    folded = {tuple(names[: number + 1]): 10.0 + number for number in range(len(names))}
    return Subject(names[0], [sampled(folded)])


def test_names_are_never_taken_for_markup_or_formulas() -> None:
    (plot,) = drawn(attacked())
    for row in texts_of_boxes(plot):
        assert len(row["name"]) <= 162 and not any(
            mark in row["name"] for mark in ("\x00", "\n", "\u202e", "$$")
        )


# in a browser

PLOTS = (
    "Bokeh.documents.flatMap(one => one.roots()).flatMap(one => one.name === 'flame' ? [one] :"
    " one.children ?? [])"
)


@BROWSER
def test_a_figure_narrower_than_its_legend_does_not_hang_its_page(
    browser: Any, tmp_path: Path
) -> None:
    opened = Flames(browser, tmp_path, Subject("x", [sampled(CALLS)]), width=64)
    assert opened.run("document.querySelector('.figure').clientWidth") < 60
    assert opened.problems() == []


class Flames(Opened):
    """A page with nothing but flame graphs, and what is asked of the first of them."""

    def __init__(
        self,
        browser: Any,
        folder: Path,
        subject: Subject,
        width: int = 600,
        view: str = "flamegraph",
    ) -> None:
        render = page.render
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("test_pages.page.render", lambda subject: render(subject, view))
            super().__init__(browser, folder, subject, width)

    def column(self, name: str, plot: int = 0) -> Any:
        """A column of the boxes."""
        return self.run(
            f"Array.from({PLOTS}[{plot}].renderers.find(one => one.name ==="
            f" 'frames').data_source.data.{name})"
        )

    def range(self, plot: int = 0) -> tuple[float, float]:
        """What is shown, from 0 to 1."""
        start, end = self.run(f"[{PLOTS}[{plot}].x_range.start, {PLOTS}[{plot}].x_range.end]")
        return pytest.approx(start), pytest.approx(end)  # type: ignore[return-value]

    def choose(self, row: int) -> None:
        """Click on a box."""
        self.run(
            f"{PLOTS}[0].renderers.find(one => one.name === 'frames').data_source.selected.indices"
            f" = [{row}]"
        )

    def type(self, *keys: str, place: str = ".search input") -> None:
        """Press keys in an element."""
        from selenium.webdriver.common.by import By

        self.browser.find_element(By.CSS_SELECTOR, place).send_keys(*keys)

    def press(self, *keys: str) -> None:
        """Press keys on the first graph."""
        from selenium.webdriver.common.action_chains import ActionChains

        self.run("document.querySelector('.figure.drawn [role=application]')?.focus()")
        ActionChains(self.browser).send_keys(*keys).perform()

    @property
    def said(self) -> str:
        """What stands beside the field."""
        found: str = self.run("document.querySelector('.search span').textContent")
        return found.strip()


NARROW = {("main (a)", "narrowest (a)"): 1.0, ("main (a)", "wide (a)"): 99.0}


@BROWSER
@pytest.mark.parametrize("width", [1400, 400])
def test_hostile_frames_are_drawn_quietly_and_fit_the_window(
    browser: Any, tmp_path: Path, width: int
) -> None:
    opened = Flames(browser, tmp_path, attacked(), width)
    assert opened.run("document.documentElement.dataset.failed") is None
    assert opened.problems() == []
    assert opened.run("document.documentElement.scrollWidth") <= width
    assert opened.run("document.querySelectorAll('img, iframe, object').length") == 0


@BROWSER
def test_a_click_zooms_and_words_are_found(browser: Any, tmp_path: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    opened = Flames(browser, tmp_path, Subject("x", [sampled(NARROW)]))
    assert opened.column("label") == ["all  100 (100.00 %)", "main  100.0 %", "", "wide  99.0 %"]
    opened.choose(2)
    assert opened.column("label")[2] == "narrowest  1.0 %" and opened.range() == pytest.approx(
        (0, 0.01), abs=2**-16
    )
    opened.type(" WIDE")
    assert opened.said == "99.0 % with what it calls" and opened.column("alpha") == [
        0.25,
        0.25,
        0.25,
        1,
    ]
    opened.type(Keys.ENTER)
    assert opened.range() == pytest.approx((0.01, 1), abs=2**-16)
    opened.type(Keys.ESCAPE)
    assert opened.range() == (0, 1) and opened.said == "" and opened.column("alpha") == [1, 1, 1, 1]
    assert opened.problems() == []


CALLS: Folded = {
    ("main (a.py:1)", "check (a.py:2)", "parse (b.py:3)"): 10,
    ("main (a.py:1)", "report (a.py:4)", "parse (b.py:3)", "scan (b.py:5)"): 50,
    ("main (a.py:1)", "report (a.py:4)", "parse (b.py:3)", "parse (b.py:3)"): 20,
    ("main (a.py:1)", "report (a.py:4)"): 20,
}


@BROWSER
def test_boxes_stand_by_name_or_the_largest_first(browser: Any, tmp_path: Path) -> None:
    opened = Flames(browser, tmp_path, Subject("x", [sampled(CALLS)]))
    names = opened.column("name")
    check, report = names.index("check"), names.index("report")
    assert opened.column("left")[check] == 0 < opened.column("left")[report]
    assert opened.column("file")[check] == "a.py:2"
    opened.run("document.querySelectorAll('.search button')[0].click()")
    assert opened.column("left")[report] == 0
    assert opened.column("left")[check] == pytest.approx(0.9, abs=2**-15)
    scan, rest = names.index("scan"), opened.column("parent")
    within = opened.column("left")[scan], opened.column("left")[rest[scan]]
    assert within[0] == within[1]
    opened.run("document.querySelectorAll('.search button')[0].click()")
    assert opened.column("left")[check] == 0 and opened.problems() == []


@BROWSER
def test_a_function_has_its_callers_above_and_its_callees_below(
    browser: Any, tmp_path: Path
) -> None:
    opened = Flames(browser, tmp_path, Subject("x", [sampled(CALLS)]))
    around = "document.querySelectorAll('.search button')[1].click()"
    opened.run(around)
    assert opened.said == "choose a function first: click its box"
    opened.choose(opened.column("name").index("parse"))
    opened.run(around)
    columns = [opened.column(name) for name in ("name", "top", "right", "left", "total", "own")]
    boxes = {
        (name, top): (round(right - left, 4), total, own)
        for name, top, right, left, total, own in zip(*columns, strict=True)
    }
    # 80 of 100 samples are in it, however often it calls itself
    assert boxes == {
        ("parse", 2): (1.0, "80.0 % of all", "100.0 % of parse"),
        ("scan", 3): (0.625, "50.0 % of all", "62.5 % of parse"),
        ("parse", 3): (0.25, "20.0 % of all", "25.0 % of parse"),
        ("report", 1): (0.875, "70.0 % of all", "87.5 % of parse"),
        ("check", 1): (0.125, "10.0 % of all", "12.5 % of parse"),
        ("main", 0): (0.875, "70.0 % of all", "87.5 % of parse"),
    }
    assert opened.column("name").count("main") == 2  # above each caller
    assert opened.run(f"{PLOTS}[0].y_range.start") == 4
    opened.run(around)
    assert opened.column("name")[:2] == ["all", "main"] and opened.problems() == []


AROUND = "document.querySelectorAll('.search button')[1]"


@BROWSER
def test_the_keys_go_up_to_callers_and_down_to_callees(browser: Any, tmp_path: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    opened = Flames(browser, tmp_path, Subject("x", [sampled(CALLS)]))
    opened.choose(opened.column("name").index("parse"))
    opened.run(f"{AROUND}.click()")
    told = []
    for key in (Keys.HOME, *[Keys.ARROW_UP] * 3, *[Keys.ARROW_DOWN] * 4):
        opened.press(key)
        told.append(opened.said.split(" · ")[0])
    assert told == ["parse", "report", "main", "main", "report", "parse", "scan", "scan"]
    opened.press(Keys.ARROW_UP)
    assert opened.said.startswith("parse · ") and opened.problems() == []


@BROWSER
def test_the_button_of_callers_and_callees_says_how_to_return_and_serves_every_graph(
    browser: Any, tmp_path: Path
) -> None:
    from selenium.webdriver.common.keys import Keys

    profile = sampled(CALLS)
    profile.metrics["busy"] = Metric("s", "none")
    rows = profile.resources
    rows.metrics["busy"] = [
        value if trace >= 0 else None
        for trace, value in zip(rows.integers("trace"), rows.metrics["samples"], strict=True)
    ]
    opened = Flames(browser, tmp_path, Subject("x", [profile]))
    names = [opened.column("name", plot) for plot in (0, 1)]
    assert names[0] == names[1] and opened.run(f"{AROUND}.textContent") == "callers and callees"
    opened.type("scan")
    opened.choose(names[0].index("parse"))
    opened.run(f"{AROUND}.click()")
    assert [opened.column("name", plot)[0] for plot in (0, 1)] == ["parse", "parse"]
    assert opened.run(f"{AROUND}.textContent") == "all calls"
    # what was searched is still counted and lit, of the function
    assert opened.said.count(" 62.5 % of parse") == 2
    assert opened.said.endswith(" with what it calls")
    lit = zip(opened.column("name"), opened.column("alpha"), strict=True)
    assert {name for name, alpha in lit if alpha == 1} == {"scan"}
    # callers are around what is counted, and can be gone to
    opened.run("document.querySelector('.search input').value = ''")
    opened.type("report")
    assert opened.said.count(" 0.0 % of parse") == 2
    opened.type(Keys.ENTER)
    assert "report · a.py:4" in opened.said
    opened.run(f"{AROUND}.click()")
    assert [opened.column("name", plot) for plot in (0, 1)] == names
    assert opened.run(f"{AROUND}.textContent") == "callers and callees"
    opened.run(f"{AROUND}.click()")  # of the box that was chosen among the callers
    assert [opened.column("name", plot)[0] for plot in (0, 1)] == ["report", "report"]
    opened.type(Keys.ESCAPE)
    assert [opened.column("name", plot) for plot in (0, 1)] == names
    assert opened.run(f"{AROUND}.textContent") == "callers and callees"
    assert opened.problems() == []


@BROWSER
def test_rows_in_which_nothing_can_be_seen_are_drawn_after_zooming(
    browser: Any, tmp_path: Path
) -> None:
    stacks = {("main (a)", "wide (a)"): 9990.0, ("main (a)", *["deep (a)"] * 30): 10.0}
    opened = Flames(browser, tmp_path, Subject("x", [sampled(stacks)]))
    height = opened.run(f"{PLOTS}[0].height")
    assert opened.run(f"{PLOTS}[0].y_range.start") == 3
    opened.choose(opened.column("name").index("deep"))
    assert opened.run(f"{PLOTS}[0].y_range.start") == 32
    assert opened.run(f"{PLOTS}[0].height") == height + 29 * 18 and opened.problems() == []


@BROWSER
def test_a_graph_is_walked_and_zoomed_with_keys(browser: Any, tmp_path: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    opened = Flames(browser, tmp_path, Subject("x", [sampled(NARROW)]))
    opened.press(Keys.ARROW_DOWN)
    assert opened.said.startswith("all · ")
    opened.press(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    assert opened.said == "wide · a · 99 (99.00 %)"
    opened.press(Keys.ARROW_LEFT, Keys.ENTER)
    assert opened.said.startswith("narrowest") and opened.range() == pytest.approx(
        (0, 0.01), abs=2**-16
    )
    opened.press(Keys.ARROW_RIGHT)
    assert opened.said.startswith("wide") and opened.range() == (0, 1)
    opened.press(Keys.ARROW_LEFT, Keys.ENTER, Keys.ESCAPE)
    assert opened.range() == (0, 1) and opened.said == ""
    assert opened.problems() == []


@BROWSER
def test_every_graph_of_a_page_has_a_search_of_its_own(browser: Any, tmp_path: Path) -> None:
    other = sampled(NARROW, job=Job("other", "samples", "./other", engine="py-spy/1"))
    opened = Flames(browser, tmp_path, Subject("x", [sampled(MAIN), other, pictures.heaped()]))
    opened.wait("document.querySelectorAll('.figure.drawn').length === 3")
    boxes = opened.run(
        "[...document.querySelectorAll('.figure')].map(one =>"
        " one.querySelectorAll('.search').length)"
    )
    assert boxes == [1, 1, 1]
    opened.type("wide", place=".section:nth-of-type(2) .search input")
    told = opened.run(
        "[...document.querySelectorAll('.search span')].map(one => one.textContent.trim())"
    )
    assert told == ["", "99.0 % with what it calls", ""]
    opened.type("g", place=".section:nth-of-type(3) .search input")
    told = opened.run(
        "[...document.querySelectorAll('.search span')].map(one => one.textContent.trim())"
    )
    assert told[2] == "allocated bytes 25.0 %, bytes at the peak 25.0 % with what it calls"
    assert opened.problems() == []


# the table of functions


def test_a_function_has_its_own_share_its_callers_and_its_callees() -> None:
    rows = {
        row.function: row
        for row in functions(stacks.tree(Subject("x", [sampled(MAIN)]), "samples"), 1)
    }
    assert [(name, row.own, row.total) for name, row in rows.items()] == [
        ("h", 0.6, 0.6),
        ("g", 0.25, 0.25),
        ("f", 0.1, 0.35),
        ("main", 0.05, 1.0),
    ]
    assert rows["f"].callers == [("main", 0.35)]
    assert rows["f"].callees == [("g", 0.25)]
    assert rows["main"].callees == [("h", 0.6), ("f", 0.35)]
    assert rows["main"].callers == []


def test_a_recursive_function_counts_once_in_each_stack() -> None:
    profile = sampled({("f (x)", "g (x)", "f (x)", "g (x)"): 30, ("f (x)", "h (x)"): 70})
    rows = {
        row.function: row for row in functions(stacks.tree(Subject("x", [profile]), "samples"), 1)
    }
    assert (rows["f"].total, rows["g"].total, rows["g"].own) == pytest.approx((1.0, 0.3, 0.3))


@settings(max_examples=50, deadline=None)
@given(FOLDED)
def test_no_function_has_more_than_all(folded: Folded) -> None:
    rows = functions(stacks.tree(Subject("x", [sampled(folded)]), "samples"), 1)
    assert sum(row.own for row in rows) == pytest.approx(1.0)
    assert all(row.own <= row.total + 1e-9 <= 1 + 1e-6 for row in rows)


def test_a_page_has_the_table_below_the_flame_graph() -> None:
    html = page.render(
        Subject(
            "x",
            [sampled({("main (a.py)", "<b>f</b> (a.py)"): 35, ("main (a.py)", "h (b.py)"): 65})],
        )
    )
    table = html[html.index('<th scope="col">Function</th>') :]
    assert "shares of 100 per execution" in html
    assert "&lt;b&gt;f&lt;/b&gt;" in table
    assert "<span>main 65.0\u00a0%</span>" in table
    assert '65.0 %<span class="detail">65</span>' in table


def test_boxes_say_their_share_where_there_is_room() -> None:
    labels = [box["label"] for box in texts_of_boxes(drawn(Subject("x", [sampled(MAIN)]))[0])]
    assert labels[:2] == ["all  100 in all executions", "main  a.py  100.0 %"]


def test_stacks_of_one_frame_have_no_graph() -> None:
    alone = Subject("x", [sampled({(f"f{number} (a)",): 1.0 + number for number in range(9)})])
    with pytest.raises(Unfit, match="every call stack has one frame"):
        drawn(alone)
