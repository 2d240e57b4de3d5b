"""The figure of a series on its page: gaps, both kinds of axes, what it says of now, and what can be
saved of it.
"""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import msgspec
from browsing import BROWSER
from test_site import COMMITS, SIGHT, Open, drawn, series, site, tab, track

from perfvcs.pictures import sketch
from perfvcs.text import quantity

pytestmark = BROWSER
__all__ = ["site", "tab"]


def test_lines_and_levels_end_at_a_gap(tab: Open, site: Path) -> None:
    opened = tab(site / "about.html")
    broken = track("a", [1.0] * 8 + [1.2] * 8, {
        "place": 108, "first": 108, "last": 108, "effect": 0.2, "before": 1, "after": 1.2,
    })  # fmt: skip
    places = [*range(8), *range(108, 116)]
    lines = sketch.parted(
        [sketch.LevelLine(-0.5, 107.5, 1.0), sketch.LevelLine(107.5, 115.5, 1.2)], places
    )
    assert [(line.left, line.right) for line in lines] == [(-0.5, 7.5), (107.5, 115.5)]
    drawn(
        opened,
        track("whole", [1.1] * 116),
        broken
        | {"places": places, "breaks": sketch.breaks(places), "lines": msgspec.to_builtins(lines)},
    )
    path = opened.run("document.querySelector('#history .main g.track1 .line').getAttribute('d')")
    assert path.count("M") == 2 and path.count("L") == 14
    level = opened.run("document.querySelector('#history .main g.track1 .level').getAttribute('d')")
    assert level.count("H") == 2 and opened.problems() == []


def test_a_few_enormous_effects_do_not_flatten_the_others(tab: Open, site: Path) -> None:
    opened = tab(site / "about.html")
    effects = [0.2, -0.3, 0.4, 0.5, 0.3, 0.2, 0.4, 150, -0.999]
    opened.run(
        "const table = document.createElement('table'), row = document.createElement('tr');"
        f"for (const effect of {effects}) {{const cell = document.createElement('td');"
        " Object.assign(cell, {className: 'forest'}).dataset.effect = effect;"
        " cell.dataset.word = effect > 0 ? 'degradation' : 'improvement'; row.append(cell)}"
        "table.append(row); document.querySelector('main').append(table); perf.effects.draw(table);"
    )
    drawn = [
        opened.run(
            f"(cell => [Boolean(cell.querySelector('.far')), cell.querySelector('.mark').getBBox().x -"
            f" cell.querySelector('.zero').getBBox().x])(document.querySelectorAll('td.forest')[{number}])"
        )
        for number in range(len(effects))
    ]
    assert [effects[number] for number, (far, _) in enumerate(drawn) if far] == [150, -0.999]
    places = [place for _, place in drawn]
    assert sorted(places) == [places[effects.index(one)] for one in sorted(effects)]
    assert places[2] > 30, "of 96 pixels"


def test_values_a_decade_apart_begin_on_a_logarithmic_axis_which_has_no_zero(
    tab: Open, site: Path
) -> None:
    opened = tab(site / "about.html")
    drawn(opened, track("a", [1.0, 11.0, 2.0, 90.0]))
    chip = "[...document.querySelectorAll('#history .bar button')].find(one => one.textContent === '{}')"
    assert opened.run(f"{chip.format('log axis')}.ariaPressed") == "true"
    assert opened.run(f"{chip.format('from zero')}.disabled")
    opened.run(f"{chip.format('log axis')}.click()")
    assert not opened.run(f"{chip.format('from zero')}.disabled")
    assert opened.problems() == []


def test_values_of_many_decades_have_room_and_their_size_in_every_figure(
    tab: Open, site: Path
) -> None:
    opened = tab(site / "about.html")
    drawn(opened, track("a", [10.0**power for power in range(-9, 13, 2)]))
    ticks = "[...document.querySelectorAll('#history .tick, #detail .sides > svg .tick')]"
    texts = opened.run(f"{ticks}.filter(one => /^[-\\d.e]+$/.test(one.textContent)).length")
    assert texts > 8
    left = f"{ticks}.map(one => one.getBBox().x)"
    assert min(opened.run(left)) >= 0
    heights = [
        opened.run("document.querySelector('#history .overview .line').getAttribute('d')"),
        opened.run(
            "'M' + [...document.querySelectorAll('#detail .version .mean')].map(one =>"
            " `0,${one.getAttribute('y1')}`).join('L')"
        ),
    ]
    for path in heights:
        places = [float(point.partition(",")[2]) for point in path.removeprefix("M").split("L")]
        gaps = [a - b for a, b in pairwise(places[:-1])]
        assert len(gaps) == 9 and max(gaps) < 1.3 * min(gaps), path


def test_an_axis_by_time_has_round_days_and_the_same_commits_in_sight(
    tab: Open, site: Path
) -> None:
    opened = tab(site / "about.html")
    days = ["2024-01-01", "2024-01-01", "2024-01-02", "2024-01-03", "2025-12-31", "2025-12-30"]
    bent = opened.run(
        "(() => { const bend = perf.axes.byTime("
        f"{json.dumps([{'day': day} for day in days])}); return [-1, 0, 1, 2, 2.5, 3.1, 3.9, 4, 5, 6]"
        ".map(bend); })()"
    )
    assert bent == sorted(bent) and bent[1] == 0 and bent[-2] == 5
    assert 0 < bent[2] < bent[3] < 0.01 and bent[6] - bent[5] > 4.5
    assert (
        opened.run("perf.axes.byTime([{day: '2024-01-01'}, {day: '2024-01-01'}])") is None
        and opened.run("perf.axes.byTime([{day: ''}])") is None
    )
    day = 19_723  # 2024-01-01
    assert opened.run(f"perf.axes.dates({day}, {day + 400}, 6)") == [
        [day + at, label]
        for at, label in [
            (0, "2024-01"), (91, "2024-04"), (182, "2024-07"), (274, "2024-10"), (366, "2025-01")
        ]
    ]  # fmt: skip
    shown = tab(series(site))
    shown.run("document.querySelector('svg.main').focus()")
    shown.press("++")
    before = shown.run(SIGHT)
    shown.run(
        "[...document.querySelectorAll('#history .bar button')].find(one => one.textContent ==="
        " 'by time').click()"
    )
    assert shown.run(SIGHT) == before and shown.problems() == []


def test_a_figure_is_saved_as_svg_and_its_values_as_csv(
    browser: Any, tab: Open, site: Path
) -> None:
    kept = (
        "(() => { const blobs = []; URL.createObjectURL = blob => { blobs.push(blob); return"
        " '#'; }; [...document.querySelectorAll('.tools button')].filter(one => one.textContent"
        " !== 'PNG').forEach(one => one.click()); window.blobs = blobs; return blobs.length; })()"
    )
    opened = tab(series(site))
    opened.run("document.querySelector('.bar button').click()")
    assert opened.run(kept) == 2
    svg, csv = browser.execute_async_script(
        "Promise.all(window.blobs.map(blob => blob.text())).then(arguments[0])"
    )
    rows = csv.splitlines()
    assert rows[0].startswith("environment,commit,day,author,title,value [s],low,high")
    assert 1 < len(rows) <= COMMITS + 1 and all("AMD EPYC" in row for row in rows[1:])
    assert svg.startswith("<svg") and "class=" not in svg and "rgb(" in svg
    assert opened.problems() == []


def test_a_figure_alone_hides_everything_else(tab: Open, site: Path) -> None:
    opened = tab(series(site), "#only=figure")
    seen = (
        "[...document.querySelectorAll('header, footer, h1, h2, table')].filter(one =>"
        " one.checkVisibility()).length"
    )
    assert opened.run(seen) == 0 and opened.run(
        "document.querySelector('svg.main').checkVisibility()"
    )
    assert opened.problems() == []


def test_a_series_says_what_it_is_like_now(site: Path) -> None:
    page = json.loads(series(site).with_suffix(".json").read_text())["page"]
    for one in page["tracks"]:
        last = max((step["place"] for step in one["steps"]), default=0)
        levels = [
            level
            for place, level in zip(one["places"], one["levels"], strict=True)
            if place >= last
        ]
        with quantity.micro_sign():
            assert one["now"]["level"] == quantity.quantity(median(levels[-9:]), "s")
    assert page["tracks"][0]["now"]["change"] and "Level now" in series(site).read_text()


def test_a_value_beyond_the_axis_has_an_arrow_that_the_key_explains(tab: Open, site: Path) -> None:
    opened = tab(site / "about.html")
    last = "document.querySelector('#history .key').lastChild"
    drawn(opened, track("a", [1.0] * 8 + [5.0] + [1.0] * 8))
    assert opened.run(f"{last}.textContent") == "a value beyond the axis"
    assert opened.run(f"{last}.checkVisibility()")
    arrow = opened.run("document.querySelector('#history .main .far').getAttribute('d')")
    assert "z" not in arrow and arrow.count("M") == 2  # no triangle, which means a degradation
    drawn(opened, track("a", [1.0] * 17))
    assert not opened.run(f"{last}.checkVisibility()")
    assert opened.problems() == []
