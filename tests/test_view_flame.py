"""Flame graphs: the tree of stacks, what is drawn of it, the difference of two revisions, and the page around them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pictures
import pytest
from bokeh.document import Document
from bokeh.models import Legend
from bokeh.plotting import figure
from hypothesis import given
from hypothesis import strategies as st
from pictures import MAIN, Folded, sampled
from samples import sample_profile
from test_pages import BROWSER, Opened, browser, views  # noqa: F401  # a fixture

from perfvcs import page
from perfvcs.errors import UsageError
from perfvcs.profile import REPEATED, Job, Metric, Resources, Stacks
from perfvcs.views import Subject
from perfvcs.views import _stacks as stacks
from perfvcs.views.flame import TINTS, Flame, clip


def drawn(subject: Subject, **options: Any) -> list[figure]:
    """The figures of a subject, after bokeh has accepted them."""
    view = Flame(**options)
    assert view.fits(subject) is None
    layout = view.render(subject)
    document = Document()
    document.add_root(layout)
    document.to_json()
    return list(layout.select({"type": figure}))


def boxes(plot: figure) -> dict[str, Any]:
    (found,) = plot.select({"name": "frames"})
    data: dict[str, Any] = found.data_source.data
    return data


def told(plot: figure) -> list[dict[str, str]]:
    data = boxes(plot)
    columns = ("name", "file", "total", "own", "change", "fill", "label")
    return [dict(zip(columns, row, strict=True)) for row in zip(*(data[column] for column in columns), strict=True)]


# the tree


def test_a_tree_has_totals_and_what_is_the_frames_own() -> None:
    tree = stacks.tree(Subject("x", [sampled(MAIN)]), "samples")
    names = ["all", *(tree.frames[frame] for frame in tree.frame[1:])]
    assert names == ["all", "main (a.py)", "f (a.py)", "h (b.py)", "g (b.py)"]
    assert tree.total[:, 1].tolist() == [100, 100, 35, 60, 25] and tree.own[:, 1].tolist() == [0, 5, 10, 60, 25]
    assert tree.parent.tolist() == [-1, 0, 1, 1, 2] and tree.depth.tolist() == [0, 1, 2, 2, 3] and not tree.deeper
    assert tree.counts == (0, 100) and tree.shares[:, 1].tolist() == [1, 1, 0.35, 0.6, 0.25] and not tree.shares[:, 0].any()


def test_executions_are_averaged_and_repeated_ones_left_out() -> None:
    profile = sampled({("f (x)",): 10}, {("f (x)",): 30}, {("f (x)",): 1000})
    profile.resources.mark = [REPEATED if execution == 2 else 0 for execution in profile.resources.execution]
    tree = stacks.tree(Subject("x", [profile]), "samples")
    assert tree.total[:, 1].tolist() == [20, 20] and tree.counts == (0, 40)
    twice = stacks.tree(Subject("x", [profile, sampled({("f (x)",): 50})]), "samples")
    assert twice.total[0, 1] == pytest.approx(30)


FOLDED = st.dictionaries(
    st.lists(st.sampled_from(["a (x)", "b (x)", "c (y)"]), min_size=1, max_size=6).map(tuple), st.integers(1, 1000), min_size=1, max_size=20
)  # fmt: skip


@given(FOLDED, FOLDED)
def test_every_frame_is_its_own_and_its_callees(before: Folded, after: Folded) -> None:
    tree = stacks.tree(Subject("x", [sampled(after)], [sampled(before)]), "samples")
    below = np.zeros_like(tree.total)
    np.add.at(below, tree.parent[1:], tree.total[1:])
    np.testing.assert_allclose(tree.total, tree.own + below)
    assert tree.total[0].tolist() == [sum(before.values()), sum(after.values())]
    kept, left, right = stacks.layout(tree, 10**6, 0.0)
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
        ("f (a.py)", ("f", "a.py")), ("f (a.c:22)", ("f", "a.c")), ("[kernel]", ("[kernel]", "")), ("malloc", ("malloc", "")),
        ("(anonymous namespace)::f (a b (1).c)", ("(anonymous namespace)::f (a b", "1).c")), (" (x)", (" (x)", "")),
        ("f (C:x)", ("f", "C:x")),
    ],
)  # fmt: skip
def test_a_frame_is_function_and_file(frame: str, parts: tuple[str, str]) -> None:
    assert stacks.split(frame) == parts


# the figure


def test_one_revision_shows_amounts_and_shares() -> None:
    (plot,) = drawn(Subject("x", [sampled(MAIN)]))
    assert plot.title.text == "work · samples, by perf-dwarf/1\n100 in all executions"
    rows = {row["name"]: row for row in told(plot)}
    assert rows["f"]["total"] == "35 (35.00 %)" and rows["f"]["own"] == "10 (10.00 %)" and rows["f"]["file"] == "a.py"
    assert rows["all"]["total"] == "100 (100.00 %)" and rows["all"]["file"] == "–"
    assert rows["f"]["fill"] == rows["main"]["fill"] != rows["h"]["fill"] == rows["g"]["fill"] == TINTS[0]
    labels = [item.label.value for legend in plot.select({"type": Legend}) for item in legend.items]
    assert labels == ["b.py", "a.py"]
    assert boxes(plot)["bottom"].tolist() == [1, 2, 3, 3, 4]


def test_two_revisions_show_what_has_a_larger_and_a_smaller_share() -> None:
    before = {
        ("main (a)",): 1000.0,
        ("main (a)", "f (a)"): 4000.0,
        ("main (a)", "gone (a)"): 2000.0,
        ("main (a)", "same (a)"): 3000.0,
    }
    after = {
        ("main (a)",): 1010.0,
        ("main (a)", "f (a)"): 6000.0,
        ("main (a)", "new (a)"): 40.0,
        ("main (a)", "same (a)"): 2950.0,
    }
    (plot,) = drawn(Subject("x", [sampled(after)], [sampled(before, commit=pictures.BASELINE)]))
    rows = {row["name"]: row for row in told(plot)}
    assert rows["▲ f"]["total"] == "4 k (40.00 %) → 6 k (60.00 %)" and rows["▲ f"]["change"] == "+20.00 points"
    assert rows["▼ gone"]["total"].endswith("→ 0 (0.00 %)") and rows["same"]["change"] == "-0.50 points, no more than chance"
    assert rows["▲ new"]["change"] == "+0.40 points"
    red, blue = (int(rows["▲ f"]["fill"][1:3], 16), int(rows["▼ gone"]["fill"][5:], 16))
    assert red > int(rows["▲ f"]["fill"][5:], 16) and blue > int(rows["▼ gone"]["fill"][1:3], 16)
    assert rows["same"]["fill"] == rows["main"]["fill"] == "#d3d7dd"
    for words in ("10 k in all executions of the baseline", "▲ orange: a larger share", "no more than chance"):
        assert words in plot.title.text


def test_what_chance_is_follows_the_test_of_two_proportions() -> None:
    from statsmodels.stats.proportion import proportions_ztest

    for count in range(400, 480, 4):
        after = {("f (a)",): float(count), ("g (a)",): 1000.0 - count}
        (plot,) = drawn(Subject("x", [sampled(after)], [sampled({("f (a)",): 400.0, ("g (a)",): 600.0})]))
        z, _ = proportions_ztest([count, 400], [1000, 1000])
        assert any(row["name"].startswith("▲") for row in told(plot)) == (abs(z) > 3)


def test_counted_instructions_have_no_chance() -> None:
    after, before = {("f (a)",): 1001.0, ("g (a)",): 999.0}, {("f (a)",): 1000.0, ("g (a)",): 1000.0}
    (plot,) = drawn(Subject("x", [sampled(after, metric="self")], [sampled(before, metric="self")]))
    assert [row["name"] for row in told(plot)] == ["all", "▲ f", "▼ g"]
    assert {row["change"] for row in told(plot)} == {"+0.00 points", "+0.05 points", "-0.05 points"}
    assert "chance" not in plot.title.text


def test_series_of_different_engines_have_figures_of_their_own() -> None:
    other = sampled(MAIN, commit=pictures.BASELINE, job=Job("work", "samples", "./work", engine="py-spy/1"))
    titles = [plot.title.text for plot in drawn(Subject("x", [sampled(MAIN)], [other]))]
    assert sorted(title.splitlines()[0] for title in titles) == ["work · samples, by perf-dwarf/1", "work · samples, by py-spy/1"]
    assert not any("baseline" in title for title in titles)


def test_several_metrics_of_the_stacks_are_several_figures() -> None:
    profile = sampled(MAIN)
    rows = profile.resources
    values = {"share": rows.metrics["share"], "site_bytes": rows.metrics["samples"], "calls": [None] * len(rows)}
    profile = sample_profile(
        stacks=profile.stacks, job=profile.job, metrics={"share": Metric(""), "site_bytes": Metric("B"), "calls": Metric("")},
        resources=Resources(rows.names, rows.uid, rows.execution, trace=rows.trace, metrics=values),
    )  # fmt: skip
    (plot,) = drawn(Subject("x", [profile]))
    assert "site_bytes" in plot.title.text and "100 B in all" in plot.title.text
    assert not stacks.tree(Subject("x", [profile]), "other").total.any()


def test_a_hundred_thousand_stacks_stay_bounded_and_say_so() -> None:
    random = np.random.default_rng(3)
    count = 100_000
    frames = [f"function{number} (file{number % 50}.c)" for number in range(3000)]
    table = [[0, *random.integers(1, 3000, 12).tolist()] for _ in range(count)]
    rows = Resources(
        ["work"], [0] * count, [0] * count, trace=list(range(count)), metrics={"samples": random.pareto(1, count).tolist()}
    )
    profile = sampled(MAIN, resources=rows, metrics={"samples": Metric("", "none")}, stacks=Stacks(frames, table))
    (plot,) = drawn(Subject("x", [profile]), points=500)
    assert 13 < len(boxes(plot)["left"]) <= 500
    assert " frames drawn, the widest" in plot.title.text and "500 of" not in plot.title.text.split("\n")[1]
    html = page.render(Subject("x", [profile]), "flame")
    assert len(html.encode()) < 3_000_000


def test_equal_frames_beyond_the_bound_are_left_out_together() -> None:
    (plot,) = drawn(Subject("x", [sampled({(f"f{number} (a)",): 1.0 for number in range(100)})]), points=50)
    assert [row["name"] for row in told(plot)] == ["all"]
    (plot,) = drawn(Subject("x", [sampled({(f"f{number} (a)",): 1.0 + number for number in range(100)})]), points=50)
    assert len(told(plot)) == 50


def test_a_deep_recursion_is_cut_and_counted_at_the_cut() -> None:
    deep = ("main (a)", *["f (a)"] * 5000)
    (plot,) = drawn(Subject("x", [sampled({deep: 10.0})]))
    rows = told(plot)
    assert len(rows) == stacks.LEVELS + 1 and rows[-1]["own"] == "10 (100.00 %)"
    assert "deeper calls count for the last frame that is drawn" in plot.title.text


@pytest.mark.parametrize(
    ("name", "letters", "shown"),
    [("work", 10.0, "work"), ("work", 5.0, "work"), ("worker", 5.0, "wor…"), ("work", 3.9, ""), ("w", 0.0, "")],
)
def test_a_label_is_as_long_as_its_frame_has_room(name: str, letters: float, shown: str) -> None:
    assert clip(name, letters) == shown


@pytest.mark.parametrize(
    "subject",
    [
        Subject("nothing"), pictures.one(), Subject("without a row", [sampled({})]),
        Subject("zero", [sampled({("f (a)",): 0.0, ("g (a)",): 1.0}, resources=Resources(["work"], [0], [0], trace=[-1], metrics={
            "busy": [1.0], "samples": [1.0], "share": [None]}))]),
    ],
)  # fmt: skip
def test_what_has_no_stacks_is_refused(subject: Subject) -> None:
    assert Flame().fits(subject) == "it draws call stacks, such as the collector `samples` takes"


# the page


def test_a_page_draws_the_stacks_and_not_each_function_alone() -> None:
    html = page.render(Subject("x", [sampled(MAIN, MAIN, MAIN)]))
    assert views(html).count("flame") == 1 and "busy" in html
    assert "work · f (a.py)" not in html


def test_a_judged_metric_of_a_function_is_still_drawn() -> None:
    profile = sampled(MAIN, MAIN)
    rows = profile.resources
    rows.metrics["busy"] = [1.0] * len(rows)
    assert "work · f (a.py)" in page.render(Subject("x", [profile]))


def test_the_view_alone_can_be_asked_for_and_says_when_it_cannot() -> None:
    assert views(page.render(Subject("x", [sampled(MAIN)], [sampled(MAIN)]), "flame")) == ["flame"]
    with pytest.raises(UsageError, match="view `flame` does not fit here, it draws call stacks"):
        page.render(pictures.one(), "flame")


def attacked(names: Sequence[str] = pictures.ATTACKS) -> Subject:
    """Two revisions whose frames are attacks."""
    folded = {tuple(names[: number + 1]): 10.0 + number for number in range(len(names))}
    return Subject(names[0], [sampled(folded)], [sampled(folded, commit=pictures.BASELINE)])


def test_names_are_never_taken_for_markup_or_formulas() -> None:
    (plot,) = drawn(attacked())
    for row in told(plot):
        assert len(row["name"]) <= 162 and not any(mark in row["name"] for mark in ("\x00", "\n", "\u202e", "$$"))


@BROWSER
@pytest.mark.parametrize("width", [1400, 400])
@pytest.mark.parametrize("subject", [Subject("x", [sampled(MAIN)]), attacked()], ids=["one", "hostile"])
def test_the_view_is_drawn_quietly_and_fits_the_window(
    browser: Any,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    subject: Subject,
    width: int,
) -> None:
    render = page.render
    monkeypatch.setattr("test_pages.page.render", lambda subject: render(subject, "flame"))
    opened = Opened(browser, tmp_path, subject, width)
    assert opened.run("document.documentElement.dataset.failed") is None
    assert opened.problems() == []
    assert opened.run("document.documentElement.scrollWidth") <= width
    assert opened.run("document.querySelectorAll('img, iframe, object').length") == 0


LABELS = "Bokeh.documents[0].roots()[0].renderers.find(one => one.name === 'frames').data_source"


@BROWSER
def test_a_click_zooms_and_words_are_found(
    browser: Any,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    render = page.render
    monkeypatch.setattr("test_pages.page.render", lambda subject: render(subject, "flame"))
    narrow = {("main (a)", "narrowest (a)"): 1.0, ("main (a)", "wide (a)"): 99.0}
    opened = Opened(browser, tmp_path, Subject("x", [sampled(narrow)]), 600)
    assert opened.run(f"Array.from({LABELS}.data.label)") == ["all", "main", "", "wide"]
    opened.run(f"{LABELS}.selected.indices = [2]")
    assert opened.run(f"Array.from({LABELS}.data.label)")[2] == "narrowest"
    assert opened.run("Bokeh.documents[0].roots()[0].x_range.end") == pytest.approx(0.01)
    search = "const box = document.querySelector('.search input'); box.value = ' WIDE'; box.dispatchEvent(new Event('input'));"
    opened.run(f"(() => {{ {search} }})()")
    assert opened.run("document.querySelector('.search span').textContent") == " 99.0 % with what it calls"
    assert opened.run(f"Array.from({LABELS}.data.alpha)") == [0.25, 0.25, 0.25, 1]
    assert opened.problems() == []
