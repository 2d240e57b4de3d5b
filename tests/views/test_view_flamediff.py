"""Flame graphs of two revisions: widths of the target, colours by change, what chance is, and what
is gone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pictures
import pytest
from bokeh.plotting import figure
from browsing import BROWSER, views
from pictures import BASELINE, MAIN, Folded, sampled
from test_view_flamegraph import Flames, many

from perfvcs.check.subject import Subject
from perfvcs.errors import UsageError
from perfvcs.profile import REPEATED, Job, Metric, Profile
from perfvcs.reports import page
from perfvcs.reports.export import text as characters
from perfvcs.views.flamediff import Flamediff


def pair(before: Folded, after: Folded, executions: int = 1, **options: Any) -> Subject:
    """Two revisions, each with so many equal executions."""
    sides = [
        sampled(*[folded] * executions, commit=commit, **options)
        for folded, commit in ((before, BASELINE), (after, pictures.TARGET))
    ]
    return Subject("x", sides[1:], sides[:1])


def drawn(subject: Subject, **options: Any) -> list[figure]:
    """The figures of a subject, after bokeh has accepted them."""
    return pictures.figures(Flamediff(**options), subject)


def boxes(plot: figure) -> dict[str, dict[str, Any]]:
    """What is told of each box, by its name without the sign."""
    (found,) = plot.select({"name": "frames"})
    data = found.data_source.data
    rows = [dict(zip(data, row, strict=True)) for row in zip(*data.values(), strict=True)]
    return {row["name"].lstrip("▲▼ "): row for row in rows}


def redness(row: dict[str, Any]) -> int:
    """How much redder than blue a colour is."""
    return int(row["fill"][1:3], 16) - int(row["fill"][5:], 16)


BEFORE: Folded = {
    ("main (a)",): 1000.0,
    ("main (a)", "f (a)"): 4000.0,
    ("main (a)", "gone (a)", "deep (a)"): 2000.0,
    ("main (a)", "same (a)"): 3000.0,
}
AFTER: Folded = {
    ("main (a)",): 1010.0,
    ("main (a)", "f (a)"): 6000.0,
    ("main (a)", "new (a)"): 40.0,
    ("main (a)", "same (a)"): 2950.0,
}
EVEN = "#d3d7dd"
UNCHANGED = "no function changed by more than chance"


def test_samples_are_coloured_by_their_share_and_chance_is_grey() -> None:
    (plot,) = drawn(pair(BEFORE, AFTER))
    rows = boxes(plot)
    assert rows["f"]["name"] == "▲ f" and rows["f"]["total"] == "4 k (40.00 %) → 6 k (60.00 %)"
    assert rows["f"]["change"].startswith("+20.00 points [+18.18, +21.82]") and rows["new"][
        "change"
    ].startswith("+0.40 points")
    assert rows["same"]["change"].startswith("-0.50 points [") and rows["same"]["change"].endswith(
        "], no more than chance"
    )
    assert (
        redness(rows["f"]) > 0 > redness(rows["gone"])
        and rows["same"]["fill"] == rows["main"]["fill"] == EVEN
    )
    for words in (
        "10 k → 10 k in all executions",
        "▲ orange: a larger share in the target",
        "no more than chance",
    ):
        assert words in pictures.said(plot)


def test_boxes_are_as_wide_as_in_the_target_and_the_baseline_stands_by() -> None:
    (plot,) = drawn(pair(BEFORE, AFTER))
    rows = boxes(plot)
    assert rows["f"]["right"] - rows["f"]["left"] == pytest.approx(
        0.6, abs=2**-15
    ) and "widths: the target's" in pictures.said(plot)
    assert rows["f"]["other_right"] - rows["f"]["other_left"] == pytest.approx(0.4, abs=2**-15)
    assert (
        rows["gone"]["left"] == rows["gone"]["right"]
        and rows["new"]["other_left"] == rows["new"]["other_right"]
    )
    assert plot.tags == ["samples", "target", "baseline"]


def test_what_is_gone_is_reported_with_its_outermost_function() -> None:
    (plot,) = drawn(pair(BEFORE, AFTER))
    assert pictures.said(plot).endswith(" · gone: gone (20.00 %)")
    many = {
        ("main (a.py)", f"old{number} (a.py)"): 100.0 * (number + 1) for number in range(6)
    } | MAIN
    (plot,) = drawn(pair(many, MAIN, metric="self"))
    assert pictures.said(plot).endswith(
        " · gone: old5 (600) · gone: old4 (500) · gone: old3 (400) · gone: 3 more"
    )


def test_counts_are_coloured_by_their_amount() -> None:
    after, before = (
        {("f (a)",): 3000.0, ("g (a)",): 1000.0},
        {("f (a)",): 1000.0, ("g (a)",): 1000.0},
    )
    (plot,) = drawn(pair(before, after, metric="self"))
    rows = boxes(plot)
    # though its share was halved
    assert rows["g"]["name"] == "g" and rows["g"]["fill"] == EVEN and rows["g"]["change"] == "none"
    assert (
        rows["f"]["change"] == "+2 k (+200 %), +50.00 % of all" and rows["all"]["name"] == "▲ all"
    )
    assert "full colour: 2 k, the largest change" in pictures.said(
        plot
    ) and "chance" not in pictures.said(plot)


def test_one_execution_of_what_varies_says_that_chance_is_not_known() -> None:
    varies = {"metrics": {"busy": Metric("s", "none")}, "metric": "busy"}
    (plot,) = drawn(pair(MAIN, BEFORE, **varies))
    assert "one execution: what is chance is not known" in pictures.said(plot)
    (plot,) = drawn(pair(MAIN, BEFORE, executions=2, **varies))
    assert "chance" not in pictures.said(plot)


def test_what_counts_gained_and_lost_has_words() -> None:
    (plot,) = drawn(pair(BEFORE, AFTER, metric="self"))
    rows = boxes(plot)
    assert (
        rows["new"]["change"] == "+40 (new), +0.40 % of all"
        and rows["gone"]["change"] == "-2 k (gone), -20.00 % of all"
    )
    assert rows["same"]["name"] == "▼ same" and redness(rows["same"]) < 0


@pytest.mark.slow
def test_what_chance_is_follows_the_test_of_two_proportions() -> None:
    from statsmodels.stats.proportion import proportions_ztest

    for count in range(400, 480, 10):
        subject = pair(
            {("f (a)",): 400.0, ("g (a)",): 600.0},
            {("f (a)",): float(count), ("g (a)",): 1000.0 - count},
        )
        z, _ = proportions_ztest([count, 400], [1000, 1000])
        if abs(z) > 3:
            assert boxes(drawn(subject)[0])["f"]["name"] == "▲ f"
        else:
            assert pictures.refusal(Flamediff(), subject) == UNCHANGED


def varied(shares: list[float], commit: str, metric: str = "samples") -> Profile:
    """Executions of 10,000 samples, of which ``f`` has these shares."""
    return sampled(
        *({("f (a)",): 1e4 * share, ("g (a)",): 1e4 * (1 - share)} for share in shares),
        commit=commit,
        metric=metric,
    )


@pytest.mark.parametrize("metric", ["samples", "self"])
def test_a_change_must_be_large_against_what_executions_differ_by(metric: str) -> None:
    from scipy.stats import ttest_ind

    seen = set()
    for shift in (0.0, 0.1, 0.2, 0.3):
        before, after = (
            [0.3, 0.4, 0.5, 0.42],
            [0.31 + shift, 0.4 + shift, 0.47 + shift, 0.45 + shift],
        )
        subject = Subject(
            "x", [varied(after, pictures.TARGET, metric)], [varied(before, BASELINE, metric)]
        )
        sure = ttest_ind(before, after, equal_var=False).pvalue < 0.0027
        if sure:
            changed = boxes(drawn(subject)[0])["f"]
            assert changed["name"].startswith("▲")
            assert not changed["change"].endswith("no more than chance")
        else:
            assert pictures.refusal(Flamediff(), subject) == UNCHANGED
        seen.add(sure)
    assert seen == {True, False}


def test_the_interval_of_a_change_is_welchs() -> None:
    from scipy.stats import ttest_ind

    before, after = [0.3, 0.4, 0.5, 0.42], [0.7, 0.8, 0.75, 0.9]
    (plot,) = drawn(Subject("x", [varied(after, pictures.TARGET)], [varied(before, BASELINE)]))
    ends = ttest_ind(after, before, equal_var=False).confidence_interval(0.99)
    assert f"[{100 * ends.low:+.2f}, {100 * ends.high:+.2f}]" in boxes(plot)["f"]["change"]


def test_very_many_executions_are_put_together() -> None:
    random = np.random.default_rng(1)
    sides = [
        varied((0.3 + shift + 0.01 * random.standard_normal(450)).tolist(), commit)
        for shift, commit in ((0.0, BASELINE), (0.05, pictures.TARGET))
    ]
    (plot,) = drawn(Subject("x", sides[1:], sides[:1]))
    assert boxes(plot)["f"]["name"] == "▲ f" and boxes(plot)["f"]["change"].startswith("+5.0")


def test_executions_of_several_profiles_count_together() -> None:
    sides = [
        [varied([0.3 + shift, 0.31 + shift], commit), varied([0.29 + shift], commit)]
        for shift, commit in ((0.0, BASELINE), (0.2, pictures.TARGET))
    ]
    (plot,) = drawn(Subject("x", sides[1], sides[0]))
    assert boxes(plot)["f"]["change"].startswith("+20.00 points [+")


def test_a_side_without_anything_is_reported() -> None:
    nothing = sampled({("f (a)",): 1.0}, metric="self", commit=BASELINE)
    nothing.resources.metrics["self"] = [0.0] * len(nothing.resources)
    (plot,) = drawn(Subject("x", [sampled(MAIN, metric="self")], [nothing]))
    assert boxes(plot)["g"]["change"] == "+25 (new), +25.00 % of all" and plot.tags == [
        "self",
        "target",
    ]
    (plot,) = drawn(Subject("x", [nothing], [sampled(MAIN, metric="self")]))
    assert "widths: the baseline's, the target has nothing" in pictures.said(plot) and boxes(plot)[
        "g"
    ]["change"].startswith("-25 (gone)")
    never = sampled(MAIN, commit=BASELINE)
    never.resources.metrics["samples"] = [0.0] * len(never.resources)
    assert pictures.refusal(Flamediff(), Subject("x", [sampled(MAIN)], [never])) == UNCHANGED


@pytest.mark.parametrize("metric", ["samples", "self"])
def test_repeated_executions_alone_have_no_picture(metric: str) -> None:
    sides = [sampled(MAIN, commit=BASELINE, metric=metric), sampled(MAIN, metric=metric)]
    for side in sides:
        side.resources.mark = [REPEATED] * len(side.resources)
    assert pictures.refusal(Flamediff(), Subject("x", sides[1:], sides[:1])) == UNCHANGED


def test_other_engines_cannot_be_compared() -> None:
    other = sampled(MAIN, commit=BASELINE, job=Job("work", "samples", "./work", engine="py-spy/1"))
    subject = Subject("x", [sampled(MAIN)], [other])
    assert (
        pictures.refusal(Flamediff(), subject)
        == "it draws call stacks of two revisions that were taken by the same engine"
    )
    assert views(page.render(subject)).count("flamegraph") == 2
    with pytest.raises(
        UsageError, match="view `flamediff` does not fit here, it draws call stacks, such as"
    ):
        page.render(pictures.one(), "flamediff")


def test_a_page_of_two_revisions_has_the_difference() -> None:
    assert views(page.render(pair(BEFORE, AFTER))).count("flamediff") == 1
    assert "flamediff" not in views(page.render(pair(MAIN, MAIN)))


def test_very_many_stacks_stay_bounded() -> None:
    subject = Subject("x", [many(20_000, seed=4)], [many(20_000, BASELINE)])
    (plot,) = drawn(subject, points=500)
    assert 13 < len(boxes(plot)) <= 500 and " frames drawn, the widest" in pictures.said(plot)
    assert len(page.render(subject, "flamediff").encode()) < 3_000_000


@BROWSER
def test_widths_turn_to_the_baseline_and_back(browser: Any, tmp_path: Path) -> None:
    opened = Flames(browser, tmp_path, pair(BEFORE, AFTER), view="flamediff")
    opened.type("gone")
    assert opened.said == "20.0 % → 0.0 % with what it calls"
    button = "document.querySelector('.search button:nth-of-type(2)')"
    assert opened.run(f"{button}.textContent") == "widths of the baseline"
    opened.run(f"{button}.click()")
    assert (
        opened.run(f"{button}.textContent") == "widths of the target"
        and opened.said == "20.0 % → 0.0 % with what it calls"
    )
    names, left, right = (opened.column(name) for name in ("name", "left", "right"))
    wide = {
        name: round(end - start, 6) for name, start, end in zip(names, left, right, strict=True)
    }
    assert wide["▼ gone"] == pytest.approx(0.2, abs=2**-15) and wide["▲ new"] == 0
    assert opened.run(
        'Bokeh.documents[0].roots()[0].below.some(one => one.text?.startsWith("widths: the'
        " baseline's\"))"
    )
    opened.run(f"{button}.click()")
    assert (
        opened.column("left")[2] == 0
        and opened.run(f"{button}.textContent") == "widths of the baseline"
    )
    assert opened.problems() == []


@BROWSER
def test_hostile_frames_are_drawn_quietly(browser: Any, tmp_path: Path) -> None:
    names = pictures.ATTACKS
    folded = {tuple(names[: number + 1]): 10.0 + number for number in range(len(names))}
    opened = Flames(
        browser,
        tmp_path,
        pair(folded, {stack[:3]: value for stack, value in folded.items()}),
        400,
        "flamediff",
    )
    assert opened.run("document.documentElement.dataset.failed") is None
    assert opened.problems() == []
    assert opened.run("document.documentElement.scrollWidth") <= 400
    assert opened.run("document.querySelectorAll('img, iframe, object').length") == 0


def test_the_paths_that_changed_are_a_tree_with_bars() -> None:
    lines = characters(pair(BEFORE, AFTER), "flamediff", width=80).splitlines()
    rows = {line[11:].split()[0]: line for line in lines if line[:1] in "■□" and line[:1]}
    assert set(rows) == {"f", "gone", "deep", "new"}
    assert rows["f"].startswith("■" * 10) and "+20.00 points" in rows["f"]
    assert rows["gone"].startswith("□" * 10) and rows["deep"][11:13] == "  "
    assert max(map(len, lines)) <= 80


def test_equal_stacks_have_no_tree() -> None:
    with pytest.raises(UsageError, match=UNCHANGED):
        characters(pair(MAIN, MAIN), "flamediff", width=80)


def test_a_tree_of_many_paths_names_the_largest() -> None:
    wide = {("main (a)", f"f{number} (a)"): 1000.0 + 40.0 * number for number in range(60)}
    moved = {
        stack: value * (3 if number % 2 else 1)
        for number, (stack, value) in enumerate(wide.items())
    }
    lines = characters(pair(wide, moved), "flamediff", width=80).splitlines()
    assert sum(line[:1] in ("■", "□") for line in lines) == 20
    assert lines[-1].strip().startswith("and ") and lines[-1].endswith("smaller changes")
