"""`perf show BENCHMARK`: the series over the commits, from the repository to the figure, the
browser and the terminal.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pictures
import pytest
from bokeh.models import ColumnDataSource, RangeTool, Tabs
from bokeh.plotting import figure
from browsing import BROWSER, Opened
from conftest import Project
from histories import OTHER, grow, measured, stepped, store
from samples import interleaved, noisy, sample_profile
from test_views import columns, figures, words

from perfvcs import plugins
from perfvcs.check import register
from perfvcs.check.acceptance import Acceptance
from perfvcs.check.subject import Level, Series, Subject
from perfvcs.errors import UsageError
from perfvcs.history import profilereader
from perfvcs.history import series as reports
from perfvcs.pictures.chart import environments
from perfvcs.pictures.levels import latest
from perfvcs.pictures.sketch import breaks, outline
from perfvcs.profile import Collected, Job, Resources
from perfvcs.profile.rules import REGISTER_FILE
from perfvcs.reports import page
from perfvcs.reports.show import subject_of
from perfvcs.repository import Repository
from perfvcs.text.characters import columns as width_of
from perfvcs.views.history import History


def shown(repository: Repository, name: str = "sort", **options: Any) -> Series:
    """The first series of a benchmark."""
    return subject_of(repository, [name], **options).history[0]


def drawn(subject: Subject, **options: Any) -> list[figure]:
    """Each large figure, and its overview where it has one."""
    return figures("history", subject, **options)


def texts(view: str, subject: Subject, width: int = 80, **options: Any) -> str:
    from perfvcs import plugins

    text: str = pictures.written(plugins.find("views", view)(**options), subject, width)
    return text


def test_a_series_has_the_steps_of_perf_history_and_the_levels_between_them(
    project: Project,
) -> None:
    commits = grow(project, 60)
    repository = store(*measured(commits, [0.010] * 20 + [0.012] * 20 + [0.011] * 20))
    found = shown(repository)
    assert [(step.word, step.commit) for step in found.steps] == [
        ("degradation", commits[20]),
        ("improvement", commits[40]),
    ]
    assert [(level.first, level.last) for level in found.levels] == [
        (commits[0], commits[19]),
        (commits[20], commits[39]),
        (commits[40], commits[59]),
    ]
    for level, truth in zip(found.levels, (0.010, 0.012, 0.011), strict=True):
        assert (
            level.low is not None
            and level.high is not None
            and level.low < truth < level.high < 1.01 * level.centre
        )
    assert found.steps[0].before == pytest.approx(found.levels[0].centre)
    assert (
        found.steps[0].low is not None
        and 0.18 < found.steps[0].low < 0.2 < (found.steps[0].high or 0) < 0.22
    )


def test_a_short_series_has_neither_levels_nor_steps(project: Project) -> None:
    found = shown(store(*measured(grow(project, 5), stepped(5, 3))))
    assert (found.levels, found.steps) == ((), ())
    assert "lasting" not in words(drawn(Subject("x", history=[found]))[0])


def test_no_level_is_drawn_through_a_few_commits_that_obviously_differ(project: Project) -> None:
    commits = grow(project, 14)
    rising = [0.0154, 0.0154, 0.0158, 0.0161, 0.0161, 0.0164, 0.0164]
    repository = store(
        *measured(commits[:7], rising, spread=0.0001),
        *measured(
            commits[7:], [0.0154] * 7, seed=2, spread=0.0001, job=Job("calm", "time", "./calm")
        ),
    )
    assert shown(repository).levels == []
    assert [(level.first, level.last) for level in shown(repository, "calm").levels] == [
        (commits[7], commits[13])
    ]


def test_an_accepted_step_has_its_reason(project: Project) -> None:
    commits = grow(project, 40)
    repository = store(*measured(commits, stepped(40, 25)))
    accepted = Acceptance(
        id="1234567",
        benchmark="sort",
        uid="sort",
        metric="wall",
        effect=0.11,
        baseline=commits[24],
        target=commits[25],
        reason="it checks its input",
    )
    register.add(project.root / REGISTER_FILE, [accepted])
    found = shown(Repository.find())
    assert [step.accepted for step in found.steps] == ["it checks its input"]
    assert shown(repository).points[25].verdict in ("accepted", "suspected")
    plot, *_ = drawn(Subject("x", history=[found]))
    assert "1 accepted degradation" in words(plot)
    said = [text for column in columns(plot, "text") for text in column]
    assert any(text.endswith("accepted: it checks its input") for text in said)
    assert "✓ accepted degradation" in texts("history", Subject("x", history=[found]))


def test_what_was_merged_is_drawn_aside_and_judged_against_what_it_branched_from(
    project: Project,
) -> None:
    main = grow(project, 4)
    project.git("checkout", "--quiet", "-b", "side", main[1])
    side = project.commit("on the side")
    project.git("checkout", "--quiet", "main")
    project.git("merge", "--quiet", "--no-edit", side)
    commits = [*main, side, project.git("rev-parse", "HEAD")]
    walls = [0.010, 0.010, 0.014, 0.014, 0.010, 0.014]
    profiles = interleaved(commits, [noisy(wall, seed=number) for number, wall in enumerate(walls)])
    found = shown(store(*profiles))
    points = {point.commit: point for point in found.points}
    assert [point.commit for point in found.points if point.aside] == [side]
    assert (points[main[2]].verdict, points[side].verdict) == ("degradation", "same")
    # against the commit before it on its own line, not against the side's
    assert points[commits[-1]].verdict != "degradation"
    plot, *_ = drawn(Subject("x", history=[found]))
    assert "1 on branches that were merged, not joined" in words(plot)
    joined = [
        source.data
        for source in plot.select({"type": ColumnDataSource})
        if set(source.data) == {"x", "y"}
    ]
    assert [len(data["x"]) for data in joined] == [5]


def test_commits_are_in_the_order_of_ancestry_whatever_their_dates(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = []
    for number in range(4):
        monkeypatch.setenv("GIT_COMMITTER_DATE", f"{1_700_000_000 - 1000 * number} +0000")
        commits.append(project.commit(f"{number}"))
    found = shown(store(*measured(commits, [0.01] * 4)))
    assert [point.commit for point in found.points] == commits


def test_a_series_that_begins_anew_says_why(project: Project) -> None:
    commits = grow(project, 10)
    repository = store(
        *measured(commits[:6], [0.010] * 6),
        *measured(commits[6:], [0.011] * 4, seed=2, environment=OTHER),
    )
    subject = subject_of(repository, ["sort"])
    assert [bool(series.begins) for series in subject.history] == [False, True]
    assert "cpu" in subject.history[1].begins
    (plot,) = drawn(subject)
    assert f"begins anew at {commits[6][:8]}: {subject.history[1].begins}" in " ".join(
        words(plot).split()
    )
    (beginning,) = [
        source.data
        for source in plot.select({"type": ColumnDataSource})
        if set(source.data) == {"x", "low", "high", "reason"}
    ]
    assert (beginning["x"], beginning["reason"]) == ([5.5], [subject.history[1].begins])
    assert "begins anew" in " ".join(texts("history", subject).split())


def test_the_projects_rules_judge_the_commits(project: Project) -> None:
    commits = grow(project, 2)
    profiles = interleaved(commits, [noisy(0.010, seed=1), noisy(0.013, seed=2)])
    assert shown(store(*profiles)).points[1].verdict == "degradation"
    project.configure(top='[[check]]\nmethod = "average-amount"\n')
    assert shown(Repository.find()).points[1].verdict == "same"
    assert shown(Repository.find(), delta=0.5).points[1].verdict == "same"


def test_of_a_long_history_the_newest_commits_are_drawn_and_fewer_judged(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reports, "DRAWN_COMMITS", 30)
    monkeypatch.setattr(reports, "JUDGED", 10)
    commits = grow(project, 40)
    subject = subject_of(store(*measured(commits, stepped(40, 25))), ["sort"])
    (found,) = subject.history
    assert [point.commit for point in found.points] == commits[10:]
    assert [bool(point.verdict) for point in found.points] == [False] * 20 + [True] * 10
    assert found.levels[0].first == commits[0] and found.steps[0].commit == commits[25]
    assert (
        subject.notes[0].startswith("The newest 30 of 40 measured commits")
        and "newest 10 commits are judged" in subject.notes[1]
    )
    assert "The newest 30 of 40" in page.render(subject)
    plot, *_ = drawn(subject)
    assert min(min(column) for column in columns(plot, "left")) == -0.5


def test_verdicts_that_need_all_rows_are_made_for_the_newest_commits_only(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profilereader, "OPENED", 3)
    commits, sizes = grow(project, 5), [10.0, 20.0, 40.0, 80.0, 160.0, 320.0]
    profiles = []
    for number, commit in enumerate(commits):
        rows = Resources(
            ["sort"],
            [0] * 30,
            [place // 6 for place in range(30)],
            size=sizes * 5,
            metrics={
                "wall": [size * luck for luck in noisy(0.001, 5, seed=number) for size in sizes]
            },
        )
        profiles.append(sample_profile(commit=commit, resources=rows))
    found = shown(store(*profiles))
    assert [bool(point.verdict) for point in found.points] == [False, False, False, True, True]


def test_what_is_left_out_is_reported(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reports, "MOST_SERIES", 1)
    commits = grow(project, 3)
    profiles = interleaved(commits, [[0.01, 0.01], [0.01, 0.0], [0.01, 0.01]])
    subject = subject_of(store(*profiles), ["sort"])
    assert [series.metric for series in subject.history] == ["wall"]
    assert [point.commit for point in subject.history[0].points] == [commits[0], commits[2]]
    assert subject.notes == [
        "1 of 2 series of this benchmark are drawn; `perf history` covers all of them.",
        "2 values with a zero, negative or infinite measurement left out.",
    ]


def test_a_single_execution_and_one_commit_have_a_point_without_an_interval(
    project: Project,
) -> None:
    commit = project.commit()
    found = shown(store(sample_profile([0.01], commit=commit)))
    (point,) = found.points
    assert (point.low, point.high, point.medians) == (None, None, (0.01,))
    assert point.centre == pytest.approx(0.01)
    (plot,) = drawn(Subject("x", history=[found]))
    assert "one commit: no history yet" in words(plot) and "no interval" in words(plot)


def test_executions_without_spread_and_with_the_largest_one_have_a_point(project: Project) -> None:
    commits = grow(project, 2)
    repository = store(
        sample_profile([0.01, 0.01], commit=commits[0]),
        sample_profile([1e-300, 1e300], commit=commits[1]),
    )
    first, last = shown(repository).points
    assert first.low == pytest.approx(first.high) and (last.low, last.high) == (None, None)


def test_a_commit_of_several_sessions_has_the_interval_of_their_scatter(project: Project) -> None:
    commit = project.commit()
    walls = [0.010, 0.012, 0.011], [0.013, 0.010]
    sessions = [
        Collected(f"2026112{turn}T093000-4f2a91", "2026-11-20T09:30:00Z", "", "") for turn in (0, 1)
    ]
    repository = store(
        *[
            sample_profile(wall, commit=commit, collected=one)
            for wall, one in zip(walls, sessions, strict=True)
        ]
    )
    (point,) = shown(repository).points
    # the larger one of the means' own variance and that of their scatter; R: qt(.995, 3)
    logs = [np.log(wall) for wall in walls]
    own = sum(each.var(ddof=1) / len(each) for each in logs) / 4
    means = np.array([each.mean() for each in logs])
    half = 5.840909310 * np.sqrt(max(own, means.var(ddof=1) / 2))
    assert point.executions == 5 and sorted(point.medians) == sorted([*walls[0], *walls[1]])
    assert (point.centre, point.low, point.high) == pytest.approx(
        tuple(np.exp(means.mean() + half * np.array([0, -1, 1]))), rel=1e-8
    )


def test_a_curve_of_several_sizes_has_a_series_each(project: Project) -> None:
    commit = project.commit()
    rows = Resources(["sort"], [0, 0], [0, 0], size=[10.0, 20.0], metrics={"wall": [0.1, 0.2]})
    subject = subject_of(store(sample_profile(commit=commit, resources=rows)), ["sort"])
    assert [series.size for series in subject.history] == [10.0, 20.0]


def test_levels_steps_and_what_was_accepted_are_drawn_with_words_and_sizes() -> None:
    wall, wide, cpu, _, memory, _ = drawn(pictures.found(pictures.history(80, labels=["sort"])))
    assert (
        "1 lasting degradation" in words(wall)
        and "1 lasting improvement" in words(wall)
        and "level, 99 % interval" in words(wall)
    )
    assert "1 accepted degradation" in words(cpu)
    assert any(
        "accepted: it checks its <b>input</b>" in text for (text, *_) in columns(cpu, "text")
    )
    assert "no lasting change" in words(memory)
    assert sorted("".join(column)[:3] for column in columns(wall, "size")) == ["+12", "-10"]
    changes = sorted(column[0] for column in columns(wall, "text") if "lasting" in column[0])
    assert "; one of 3 commits " in changes[0] and "; one of 11 commits " in changes[1]
    assert "the axis does not begin at 0" in words(wall) and "% apart" in words(wall)
    assert "drag" in words(wide)


def test_a_long_history_has_an_overview_that_chooses_what_is_drawn_large() -> None:
    large, small = drawn(Subject("x", history=pictures.history(60).history[:1]))
    (tool,) = small.select({"type": RangeTool})
    assert tool.x_range is large.x_range and small.x_range is not large.x_range
    (only,) = drawn(Subject("x", history=pictures.history(59).history[:1]))
    assert not only.select({"type": RangeTool})


def test_a_size_at_the_end_of_the_axis_is_beside_its_mark_and_the_title_on_one_line() -> None:
    (plot, _) = drawn(pictures.found(pictures.history(60, labels=["sort"])), points=60)[:2]
    (sizes,) = [
        source.data["align"]
        for source in plot.select({"type": ColumnDataSource})
        if "align" in source.data and max(source.data["x"]) > 54
    ]
    assert list(sizes) == ["right"]
    assert plot.title.text.endswith("1 lasting improvement") and "\n" not in plot.title.text


def test_sizes_are_written_beside_few_steps_only() -> None:
    series, *_ = pictures.found(pictures.history(50, labels=["a"])).history
    for count, named in ((1, True), (13, False)):
        (plot,) = drawn(
            Subject("x", history=[replace(series, steps=list(series.steps[:1]) * count)])
        )
        assert any(type(renderer.glyph).__name__ == "Text" for renderer in plot.renderers) is named


def test_values_far_apart_have_a_logarithmic_axis_too_and_first_above_a_decade() -> None:
    series, *_ = pictures.history(30, labels=["a"]).history

    def growing(factor: float) -> Subject:
        points = [
            replace(point, centre=point.centre * factor**turn)
            for turn, point in enumerate(series.points)
        ]
        return Subject("x", history=[replace(series, points=points)])

    for factor, titles in (
        (1.06, ["linear axes", "logarithmic axes"]),
        (1.2, ["logarithmic axes", "linear axes"]),
    ):
        layout = pictures.rendered(History(), growing(factor))
        assert isinstance(layout, Tabs) and [panel.title for panel in layout.tabs] == titles
    assert len(drawn(growing(1.2), both=False)) == 1
    assert len(drawn(Subject("x", history=[series]))) == 1
    ticks = re.findall(r"^ *([\d.]+) [┤│]", texts("history", growing(1.2)), re.MULTILINE)
    assert len(ticks) >= 2, texts("history", growing(1.2))


def test_no_band_of_two_commits_and_no_line_over_a_gap() -> None:
    assert breaks([0, 1, 2, 3, 40, 41]) == [4] and breaks([]) == breaks([3]) == []
    found = pictures.found(pictures.history(80, labels=["a"])).history[0]
    place = {point.commit: turn for turn, point in enumerate(found.points)}
    level = Level(found.points[0].commit, found.points[1].commit, 1.0, 0.5, 9.0)
    longer = replace(level, last=found.points[2].commit)
    lines = outline(replace(found, levels=[level, longer]), place).levels
    assert [(line.low, line.high) for line in lines] == [(None, None), (0.5, 9.0)]


def test_what_is_beyond_the_axis_has_arrows_that_the_legend_explains() -> None:
    series, *_ = pictures.history(30, labels=["a"]).history
    points = [*series.points]
    points[10] = replace(points[10], centre=5 * points[10].centre, low=None, high=None)
    (plot, *_) = drawn(Subject("x", history=[replace(series, points=points)]))
    assert "↑ beyond the axis" in pictures.labels(plot) and "1 value beyond the axis" in words(plot)


def test_equal_values_and_negative_ones_have_an_axis() -> None:
    series, *_ = pictures.history(10, labels=["a"]).history
    equal = replace(
        series, points=[replace(point, centre=0.01, low=None, high=None) for point in series.points]
    )
    (plot,) = drawn(Subject("x", history=[equal]))
    assert "all values are 10 ms" in words(plot)
    assert plot.y_range.end - plot.y_range.start == pytest.approx(0.2)
    below = replace(
        series,
        points=[
            replace(point, centre=-turn, low=None, high=None)
            for turn, point in enumerate(series.points)
        ],
    )
    (plot,) = drawn(Subject("x", history=[below]))
    assert "values from -9 to 0" in words(plot) and "does not begin" not in words(plot)


def test_the_legend_has_one_entry_for_all_commits_that_look_the_same() -> None:
    from bokeh.models import Legend

    subject = pictures.found(pictures.history(80, labels=["a"]))
    assert {"same", "degradation"} < {point.verdict for point in subject.history[0].points}
    plot, *_ = drawn(subject)
    labels = [item.label.value for legend in plot.select({"type": Legend}) for item in legend.items]
    assert labels.count("a commit") == labels.count("degradation") == 1
    assert not {"same", "inconclusive", "not judged"}.intersection(labels)


def test_environments_are_called_by_what_tells_them_apart() -> None:
    series, *_ = pictures.history(3, labels=["a"]).history

    def named(*places: str) -> list[str]:
        return environments([replace(series, environment=place) for place in places])

    assert named("cpu A, kernel 6.1, ffff", "cpu A, kernel 6.2, eeee") == [
        "kernel 6.1",
        "kernel 6.2",
    ]
    assert named("cpu A, kernel 6.1, ffff", "cpu A, kernel 6.1, eeee") == ["ffff", "eeee"]
    assert named("cpu A, k 1, f", "cpu A, k 2, g", "cpu B, k 1, h") == [
        "cpu A, k 1",
        "cpu A, k 2",
        "cpu B, k 1",
    ]
    assert named("same", "same") == ["unknown environment", "unknown environment (2)"]
    assert named("cpu A, kernel 6.1") == ["cpu A, kernel 6.1"]


def test_the_newest_change_is_the_newer_of_step_and_verdict() -> None:
    found = pictures.found(pictures.history(80, labels=["a"]))
    wall, cpu, memory = found.history
    assert (
        latest(wall) == "lasting improvement at 0000004f"
        and latest(replace(wall, steps=[])) == "last improvement at 0000004b"
    )
    assert (
        latest(replace(cpu, steps=cpu.steps[:1], points=cpu.points[:50]))
        == "accepted degradation at 00000028"
    )
    assert latest(replace(memory, points=memory.points[:30])) == "no lasting change in 30 commits"
    calm = replace(wall, points=wall.points[:30], steps=[], levels=[])
    assert latest(calm) == "no change in 30 commits"
    accepted = replace(calm, points=[replace(point, verdict="accepted") for point in calm.points])
    assert latest(accepted) == "last accepted change at 0000001d"


def test_a_terminal_gets_a_plot_and_the_steps_in_words() -> None:
    lines = texts("history", pictures.found(pictures.history(80, labels=["sort"]))).split("\n")
    assert lines[0] == "sort: wall time"
    assert "wall time (ms)" in lines and any("▲━━━" in line for line in lines)
    assert any(line.startswith("▲ lasting degradation +12") for line in lines)
    assert any(line.startswith("▼ lasting improvement -1") for line in lines)
    assert all(width_of(line) <= 80 for line in lines)


def test_a_terminal_has_a_plot_per_environment_and_whiskers_where_there_is_room() -> None:
    text = texts("history", pictures.history(12, labels=["sort"], environments=2), 100)
    first, second = [part.split("\n")[0] for part in text.split("\n\n")[1:3]]
    assert (first, second) == ("9b1c6d0f42a1", "9b1c6d0f42a0")
    assert "▲" in text and "○" in text and "□" in text
    assert any(
        letter in texts("history", pictures.history(5, labels=["sort"]), 100) for letter in "⡇⢸"
    )


def test_a_terminal_has_one_line_for_what_is_beyond_its_plots() -> None:
    lines = texts("history", pictures.history(20), 80, charts=1).split("\n")
    (line,) = [line for line in lines if line.startswith("parse: peak memory")]
    assert line.endswith("MB") and "█" in line
    assert texts("history", pictures.history(20), 12, charts=0).split("\n")[0] == "12.96 ms"


def test_options_out_of_range_are_refused() -> None:
    for option, least in {"points": 1, "charts": 0}.items():
        with pytest.raises(
            UsageError, match=f"view `history`: {option}: give a whole number of at least {least}"
        ):
            plugins.build("views", "history", {option: least - 1}, "--set")
        plugins.build("views", "history", {option: least}, "--set")


def test_two_thousand_commits_in_three_environments_are_a_small_page() -> None:
    whole = pictures.found(pictures.history(2000, labels=["sort"], environments=3))
    subject = replace(whole, history=whole.history[:3])
    assert len(page.render(subject).encode()) < 3_000_000


@BROWSER
def test_dragging_in_the_overview_chooses_the_commits(browser: Any, tmp_path: Path) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    opened = Opened(
        browser, tmp_path, pictures.found(pictures.history(80, labels=["sort"])), height=1500
    )
    browser.execute_script(
        "const all = view => view.frame ? [view] : (view.child_views ?? []).flatMap(all);"
        "[window.large, window.small] = Bokeh.index.roots.flatMap(all);"
    )
    left, middle, width = opened.run(
        "(() => { const box = small.el.getBoundingClientRect(), {left, top, bottom, width} ="
        " small.frame.bbox; return [box.left + left, box.top + (top + bottom) / 2, width]; })()"
    )
    mouse = ActionChains(browser)
    pointer = mouse.w3c_actions.pointer_action
    pointer.move_to_location(int(left + width - 3), int(middle))
    pointer.pointer_down()
    for share in (0.9, 0.7, 0.5):
        pointer.move_to_location(int(left + share * width), int(middle))
    pointer.pointer_up()
    mouse.perform()
    start, end = opened.run("[large.model.x_range.start, large.model.x_range.end]")
    assert start == pytest.approx(-0.7) and 35 < end < 45
    assert opened.problems() == []
