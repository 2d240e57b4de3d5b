"""The picture of curves: which subjects have one, what it shows of two revisions, and how the page
finds room for it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pictures
import pytest
from bokeh.models import ColumnDataSource, Span, TabPanel, Tabs
from bokeh.plotting import figure
from browsing import documents
from numpy.typing import NDArray
from pictures import labels
from samples import sample_profile

from perfvcs.check import compare
from perfvcs.check.subject import Subject
from perfvcs.errors import UsageError
from perfvcs.pictures.canvas import LINE
from perfvcs.pictures.curvesides import equation
from perfvcs.pictures.pageparts import DrawnUnit
from perfvcs.pictures.sample import DrawnSample, samples
from perfvcs.profile import Collected, Design, Job, Metric, Profile, Resources
from perfvcs.reports.page import render
from perfvcs.statistics.regression.callcurves import course
from perfvcs.store import Store
from perfvcs.text.characters import wrapped
from perfvcs.views.curves import Curves

Array = NDArray[np.float64]
COMMITS = (pictures.BASELINE, pictures.TARGET)
LOG: Callable[[Array], Array] = lambda n: 6e-8 + 2.5e-8 * np.log(np.maximum(n, 1))  # noqa: E731


def recorded(
    curves: dict[str, Callable[[Array], Array]],
    sizes: Array,
    version: int = 1,
    executions: int = 5,
    seed: int = 1,
    **overrides: Any,
) -> Profile:
    """A profile of the complexity collector: each function is called once at each of ``sizes`` in
    every execution.
    """
    random = np.random.default_rng([seed, version])
    shape = (len(curves), executions, len(sizes))
    values = np.stack(
        [np.broadcast_to(curve(sizes), shape[1:]) for curve in curves.values()]
    ) * np.exp(random.normal(0, 0.01, shape))
    uid, execution, number = (axis.ravel() for axis in np.indices(shape))
    rows = Resources(
        list(curves),
        uid.tolist(),
        execution.tolist(),
        iteration=number.tolist(),
        size=np.broadcast_to(sizes, shape).ravel().tolist(),
        metrics={"duration": values.ravel().tolist(), "cost": [2e-8] * values.size},
    )
    fields: dict[str, Any] = {
        "commit": COMMITS[version],
        "job": Job("skiplist", "complexity", "./skiplist", engine="fentry"),
        "resources": rows,
        "metrics": {"duration": Metric("s"), "cost": Metric("s", "none")},
        "design": Design(
            executions=executions, order="interleaved", version=version, versions=list(COMMITS)
        ),
    }
    return sample_profile(**(fields | overrides))


SIZES = np.arange(1.0, 301)


def two(
    error: Callable[[Array], Array], sizes: Array = SIZES, names: Sequence[str] = ("insert",)
) -> Subject:
    sides = [
        [
            recorded(
                {name: (lambda n, v=version: LOG(n) + v * error(n)) for name in names},
                sizes,
                version,
            )
        ]
        for version in (0, 1)
    ]
    return Subject("two", sides[1], sides[0], compare(*sides))


def drawn(subject: Subject) -> list[figure]:
    """The figures of all tabs, in their order."""
    assert pictures.refusal(Curves(), subject) is None
    layout = pictures.rendered(Curves(), subject)
    panels = [
        panel
        for tabs in ([layout] if isinstance(layout, Tabs) else layout.children)
        for panel in tabs.tabs
    ]
    return [
        plot
        for panel in panels
        for plot in ([panel.child] if isinstance(panel.child, figure) else panel.child.children)
    ]


def panels(layout: Any) -> list[str]:
    return [panel.title for panel in layout.select({"type": TabPanel})]


def durations(profile: Profile) -> DrawnSample:
    (found,) = [one for one in samples([profile], whole=True) if one.metric == "duration"]
    return found


def judged(subject: Subject) -> Subject:
    """As the page narrows it to one benchmark."""
    assert subject.report is not None
    return Subject(
        subject.title, subject.target, subject.baseline, verdict=subject.report.changes[0]
    )


def test_both_curves_stand_above_what_lies_between_them() -> None:
    above, below, *_ = drawn(judged(two(lambda n: 1e-9 * n)))
    assert above.title.text.startswith("▲ degradation +") and above.title.text.endswith(
        "\nbaseline O(log n), target O(n)"
    )
    assert below.title.text == "+1.001 ns per element (linear)"
    assert below.xaxis[0].axis_label == "size; effect at sizes 273 to 300"
    said = labels(above)
    assert said[:2] == ["baseline: means, quartiles", "target: means, quartiles"]
    assert said[2].startswith("baseline ") and said[2].endswith(" ns ln n, r² 0.998")
    assert labels(below) == ["difference of the means", "linear, 99 % interval"]
    (told,) = (one for one in below.select({"type": ColumnDataSource}) if "high" in one.data)
    high, low, y = (np.asarray(told.data[name]) for name in ("high", "low", "y"))
    assert (low <= y).all() and (y <= high).all()
    assert below.x_range is above.x_range and below.select({"type": Span})


def test_bars_that_are_ten_times_as_long_leave_the_axis_to_the_curves() -> None:
    subject = two(lambda n: 1e-9 * n)
    rows = subject.target[0].resources
    duration, size = np.asarray(rows.metrics["duration"]), np.asarray(rows.size)
    there = np.flatnonzero(size == np.unique(size)[len(np.unique(size)) // 2])
    duration[there[::2]] = 1e-4  # a heap that grows at this size, for half of its calls
    resources = replace(rows, metrics={**rows.metrics, "duration": duration.tolist()})
    target = msgspec.structs.replace(subject.target[0], resources=resources)
    above, *_ = drawn(Subject("two", [target], subject.baseline))
    assert labels(above)[:2] == [
        "baseline: means, quartiles",
        "target: means, quartiles, 1 cut off",
    ]
    seen = [value for one in above.y_range.renderers for value in one.data_source.data["y"]]
    assert max(seen) < 60_000 / 2 and len(above.y_range.renderers) == 5  # ns: bars have no say


def test_the_difference_is_the_injected_one() -> None:
    _, below, *_ = drawn(two(lambda n: 5e-8 + 0 * n))
    (data,) = (
        one.data
        for one in below.select({"type": ColumnDataSource})
        if "size" in one.data and "median" not in one.data
    )
    assert np.mean(data["y"]) == pytest.approx(50, rel=0.05)  # ns
    assert below.yaxis[0].axis_label == "target - baseline (ns)"


def test_what_did_not_change_has_points_and_no_kind() -> None:
    above, below, *_ = drawn(judged(two(lambda n: 0 * n)))
    assert above.title.text.startswith("● same")
    assert labels(below) == ["difference of the means"]


@pytest.mark.parametrize(
    "error",
    [
        lambda n: 0 * n,
        lambda n: 1e-11 * n**2,
        lambda n: 2.34567e-10 * n * np.log(n),
        lambda n: 2e-14 * n**3,
    ],
)
def test_titles_have_two_lines_and_the_legend_has_whole_formulas(
    error: Callable[[Array], Array],
) -> None:
    subject = two(error)
    for plot in (
        *drawn(judged(subject)),
        *drawn(Subject("without a verdict", subject.target, subject.baseline)),
    ):
        # the page breaks them to its width, which is LINE on a telephone
        assert len(wrapped(plot.title.text.split("\n"), LINE)) <= 2
        assert not [label for label in labels(plot) if "…" in label]


@pytest.mark.slow
def test_only_the_first_functions_of_a_page_are_drawn_on_both_kinds_of_axes() -> None:
    subject = two(lambda n: 1e-9 * n)
    assert (
        len(panels(pictures.rendered(Curves(), subject))),
        len(panels(pictures.rendered(Curves(both=False), subject))),
    ) == (2, 1)
    many = two(lambda n: 1e-9 * n, SIZES[:60], names=[f"f{number}" for number in range(8)])
    kinds = [
        json.dumps(one).count('"name": "TabPanel"') for one in documents(render(many, "curves"))
    ]
    assert kinds == [2] * 5 + [1] * 3


def test_sides_without_a_common_size_say_so() -> None:
    sides = [
        [recorded({"f": LOG}, sizes, version)]
        for version, sizes in enumerate((np.arange(1.0, 50), np.arange(100.0, 150)))
    ]
    _, below, *_ = drawn(Subject("apart", sides[1], sides[0]))
    assert below.title.text == "the two sides have no size in common"


def test_one_revision_and_what_has_no_sizes_are_refused_with_the_views_that_fit() -> None:
    one = Subject("one", [recorded({"f": LOG}, SIZES)])
    with pytest.raises(
        UsageError,
        match="view `curves` does not fit here, it draws two revisions; these do: scatter",
    ):
        render(one, "curves")
    for side in (sample_profile(), recorded({"f": LOG}, np.array([1.0, 2, 4, 8]))):
        assert (
            pictures.refusal(Curves(), Subject("x", [side], [side]))
            == "it draws values against at least five sizes on both sides"
        )


@pytest.mark.slow
def test_a_page_of_functions_has_their_curves_and_nothing_that_mixes_sizes() -> None:
    page = render(two(lambda n: 1e-9 * n, names=("insert", "search")))
    assert page.count('data-view="curves"') == 2 and page.count('data-view="effects"') == 1
    assert 'data-view="comparison"' not in page and 'data-view="executions"' not in page
    assert page.index("skiplist · insert") < page.index('data-view="curves"')
    named = render(two(lambda n: 1e-9 * n), "comparison")
    assert 'data-view="comparison"' in named and 'data-view="curves"' not in named


def test_hostile_names_are_only_text() -> None:
    page = render(two(lambda n: 1e-9 * n, names=pictures.ATTACKS[:2]))
    assert "<img src=x" not in page and "<b>bold</b>" not in page


def test_show_draws_the_curves_of_a_stored_revision_and_its_history(
    project, perf, tmp_path
) -> None:  # type: ignore[no-untyped-def]
    commits = [project.commit(f"change {number}") for number in range(3)]
    perf("init")
    names = [f"f{number}" for number in range(4)]
    profiles = [
        recorded(
            dict.fromkeys(names, LOG),
            np.arange(1.0, 31),
            seed=number,
            commit=commit,
            collected=Collected(
                f"s{number}",
                f"2026-11-2{number}T09:30:00Z",
                f"2026-11-2{number}T09:31:00Z",
                "perfvcs",
            ),
            design=Design(executions=5),
        )
        for number, commit in enumerate(commits)
    ]
    Store(project.root / ".perf/store").add(profiles, "three revisions")
    page = tmp_path / "page.html"
    perf("show", "HEAD", "--no-open", "-o", str(page))
    assert (
        page.read_text().count('data-view="scatter"') == 4
        and page.read_text().count('data-view="bars"') == 1
    )
    perf("show", "HEAD~1", "HEAD", "--view", "curves", "--no-open", "-o", str(page))
    assert page.read_text().count('data-view="curves"') == 4
    perf("show", "skiplist", "--no-open", "-o", str(page))
    # a series per function, not one per size
    assert page.read_text().count('data-view="history"') == 4
    assert "skiplist" in perf("status").out


def test_a_subject_keeps_its_order_when_a_verdict_is_there() -> None:
    subject = two(lambda n: 1e-9 * n)
    assert subject.report is not None
    slower = msgspec.structs.replace(subject.report.changes[0], curve=None, finding="", effect=None)
    above, below, *_ = drawn(Subject("x", subject.target, subject.baseline, verdict=slower))
    assert above.title.text.startswith("▲ degradation\n") and labels(below) == [
        "difference of the means"
    ]


def test_an_equation_has_the_sign_of_its_slope() -> None:
    sample = durations(recorded({"f": lambda n: 1e-6 - 2e-9 * n}, np.arange(1.0, 201)))
    found = course(sample.size, sample.values, sample.execution)
    assert equation(found, "linear", "s").startswith("1") and " - 2" in equation(
        found, "linear", "s"
    )
    assert equation(found, "constant", "s").endswith(" ns")


@pytest.mark.parametrize(
    ("job", "uid", "size", "title"),
    [
        ("sort 200", "sort", 200.0, "sort 200"),
        ("sort 1000000", "sort", 1e6, "sort 1000000"),
        ("sort 200", "sort", 20.0, "sort 200 · size 20"),
        ("sort", "insert", 1234567.0, "sort · insert · size 1,234,567"),
        ("sort", "sort", None, "sort"),
    ],
)
def test_a_size_at_the_end_of_the_label_is_not_repeated(
    job: str, uid: str, size: float | None, title: str
) -> None:
    assert DrawnUnit(job, "time", uid, size).title == title
