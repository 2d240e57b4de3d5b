"""The front page: the state in one sentence, and the newest versions of every series in one
chart.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from perfvcs.site import model
from perfvcs.site.contents import Contents
from perfvcs.site.figures import metric
from perfvcs.site.folder import digest, packed
from perfvcs.site.pages import AboutPage, Front, ListedBenchmark, RowData
from perfvcs.site.seriespage import COMMAND, command, fields
from perfvcs.site.template import BENCHMARK_NAME
from perfvcs.text.characters import shorten
from perfvcs.text.quantity import UNIT_WIDTH
from perfvcs.text.words import counted, metric_rank

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from perfvcs.history.record import SeriesRecord


TILES: dict[str, model.ChangeState] = {
    "open": "open",
    "accepted": "accepted",
    "over": "over",
    "improvements": "improvement",
}
MOST_CELLS = 6000  # of the chart: with more the page would not stay below 3 MB
TRACE = 32  # commits of a row's line
GROUPS = 8  # commits with open degradations that are listed
GRAVITY: dict[model.ChangeState, int] = {"open": 0, "accepted": 1, "improvement": 2, "over": 3}
MISSING = model.CellData("missing", "N/A", "", "not measured")
PAGES = 4000  # that are linked


def key(contents: Contents, newest: int) -> str:
    """A digest of all that the front page is made from."""
    versions = []
    for places in _versions(contents, newest):
        versions.append(
            [None if place is None else contents.record.commits[place] for place in places]
        )
    parts = [packed(newest, versions)]
    parts += [packed(notes(contents), len(contents.record.measured), _values(contents))]
    for number, series in enumerate(contents.record.series):
        environment = contents.environment(series)
        parts.append(
            packed(contents.urls[number], series.began, environment.name, environment.retired)
        )
        last = slice(-max(newest + 1, TRACE), None)
        parts += [contents.ids[series.places[last]].tobytes()]
        parts += [
            series.levels[last].tobytes(),
            packed([series.verdicts.get(turn) for turn in range(len(series.places))[last]]),
        ]
        statuses = contents.statuses[number]
        changes = zip(series.findings, statuses, strict=True)
        parts.append(
            packed([(*fields(finding), stand.state, stand.reason) for finding, stand in changes])
        )
    return digest(*parts)


def page(contents: Contents, newest: int) -> Front:
    """The front page with the ``newest`` versions."""
    record = contents.record
    states = {state: contents.having(state) for state in GRAVITY}
    environments = list(contents.environments.values())
    chosen, left_out = _chosen(contents, max(1, MOST_CELLS // newest))
    versions = _versions(contents, newest)
    numbers = {fingerprint: turn for turn, fingerprint in enumerate(contents.environments)}
    return Front(
        sentence=_sentence(contents, contents.count(states["open"])),
        **{name: contents.count(states[state]) for name, state in TILES.items()},
        newest=contents.commit(record.measured[-1]),
        shared=all(row == versions[0] for row in versions),
        versions=[
            [None if place is None else contents.commit(place) for place in row] for row in versions
        ],
        environments=environments,
        rows=[_row(contents, number, versions, numbers) for number in chosen],
        left_out=left_out,
        groups=contents.groups(_newest(contents, states["open"])),
        series=len(record.series),
        commits=len(record.measured),
        values=_values(contents),
        notes=notes(contents),
    )


def _newest(contents: Contents, pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The changes of the first GROUPS commits that some changes have."""
    places = list(dict.fromkeys(contents.finding(*pair).turn for pair in pairs))[:GROUPS]
    return [pair for pair in pairs if contents.finding(*pair).turn in places]


def _chosen(contents: Contents, most: int) -> tuple[list[int], int]:
    """The series of the chart in its order, and how many more there are: those with the gravest
    changes and the first metrics stay.
    """
    ordered = sorted(_current(contents), key=lambda number: _order(contents, number))
    all_series = contents.record.series
    grave = sorted(
        ordered,
        key=lambda number: (
            _gravity(contents, number),
            metric_rank(all_series[number].line.metric),
        ),
    )
    chosen = set(grave[:most])
    return [number for number in ordered if number in chosen], max(0, len(ordered) - most)


def _versions(contents: Contents, newest: int) -> list[list[int | None]]:
    """The newest measured places of each environment in their order, newest first, as many in
    each.
    """
    import numpy as np

    by_environment: dict[str, list[NDArray[np.int64]]] = {
        fingerprint: [] for fingerprint in contents.environments
    }
    for series in contents.record.series:
        by_environment[series.line.environment.fingerprint].append(series.places[-newest:])
    newest_places = [
        np.unique(np.concatenate(places))[-newest:][::-1].tolist()
        for places in by_environment.values()
    ]
    longest = max(map(len, newest_places))
    return [[*places, *[None] * (longest - len(places))] for places in newest_places]


def _values(contents: Contents) -> int:
    return sum(len(series.places) for series in contents.record.series)


def _current(contents: Contents) -> list[int]:
    """The series that was measured last, for each page and environment."""
    newest: dict[tuple[str, str], int] = {}
    for number, series in enumerate(contents.record.series):
        place = (contents.urls[number], series.line.environment.fingerprint)
        other = newest.get(place)
        if other is None or contents.record.series[other].places[-1] <= series.places[-1]:
            newest[place] = number
    return list(newest.values())


def _order(contents: Contents, number: int) -> tuple[object, ...]:
    line = contents.record.series[number].line
    size = -1.0 if line.size is None else line.size
    return (
        line.job.label,
        line.uid,
        size,
        metric_rank(line.metric),
        contents.environment(contents.record.series[number]).name,
    )


def _gravity(contents: Contents, number: int) -> int:
    return min(
        (GRAVITY[status.state] for status in contents.statuses[number]), default=len(GRAVITY)
    )


def _row(
    contents: Contents, number: int, versions: list[list[int | None]], environments: dict[str, int]
) -> RowData:
    series = contents.record.series[number]
    # among the newest of its environment are none but its own newest
    newest = series.places[-len(versions[0]) :].tolist()
    turns = {place: len(series.places) - len(newest) + turn for turn, place in enumerate(newest)}
    statuses = [status.state for status in contents.statuses[number]]
    environment = environments[series.line.environment.fingerprint]
    return RowData(
        benchmark=contents.benchmark(series),
        metric=metric(series),
        unit=shorten(series.line.unit, UNIT_WIDTH),
        better=series.line.better,
        environment=environment,
        url=contents.urls[number],
        level=contents.value(series, len(series.places) - 1),
        state=min(statuses, key=lambda state: GRAVITY[state], default=""),
        trace=_trace(series),
        cells=[
            contents.cell(number, turns[place]) if place in turns else MISSING
            for place in versions[environment]
        ],
    )


def _trace(series: SeriesRecord) -> list[float]:
    """The newest levels relative to their mean."""
    import numpy as np

    newest = series.levels[-TRACE:]
    return [
        float(f"{value:.4g}")
        for value in np.exp(np.clip(newest - newest.mean(), -700, 700)).tolist()
    ]


def _sentence(contents: Contents, count: int) -> str:
    measured = contents.record.measured
    newest = contents.commit(measured[-1])
    where = f"at {newest.short} ({newest.when[:10]}), the newest measured commit"
    if not any(series.findings for series in contents.record.series):
        return f"No lasting change was found {where}."
    if not count:
        return f"No open degradation {where}."
    commits = len({contents.finding(*pair).turn for pair in contents.having("open")})
    return f"{counted(count, 'open degradation')} from {counted(commits, 'commit')} {where}."


def notes(contents: Contents) -> list[str]:
    """Notes on series that could not be examined."""
    record, sentences = contents.record, []
    if record.unusable:
        sentences.append(
            f"Left out: {counted(record.unusable, 'value')} with a zero, negative or infinite"
            " measurement."
        )
    if record.unjudged:
        sentences.append(
            f"{record.unjudged:,} older values were not compared with the one before; `perf check`"
            " does that."
        )
    if contents.shallow:
        sentences.append(
            "This was published from a clone without its whole history: older commits are missing."
        )
    if record.aside:
        were = (
            "commits are on branches that were"
            if record.aside != 1
            else "commit is on a branch that was"
        )
        sentences.append(f"{record.aside:,} measured {were} merged, and not on this line.")
    return sentences


def about_page(contents: Contents) -> AboutPage:
    """The page; it is cheap to make, so that it is its own key."""
    pages: dict[tuple[str, str], list[model.Link]] = defaultdict(list)
    commands: dict[tuple[str, str], str] = {}
    linked = sorted(
        contents.pages,
        key=lambda url: contents.record.series[contents.pages[url][0]].line.job.label,
    )
    for url in linked[:PAGES]:
        series = contents.record.series[contents.pages[url][-1]]
        job = (series.line.job.label, series.line.job.collector)
        commands[job] = shorten(command(series), COMMAND)
        pages[job].append(model.Link(f"{contents.benchmark(series)}, {metric(series)}", url))
    lines = notes(contents)
    if len(linked) > PAGES:
        lines.append(f"{len(linked) - PAGES:,} more series are not linked here.")
    return AboutPage(
        environments=list(contents.environments.values()),
        benchmarks=[
            ListedBenchmark(
                shorten(label, BENCHMARK_NAME),
                shorten(collector, BENCHMARK_NAME),
                commands[label, collector],
                links,
            )
            for (label, collector), links in pages.items()
        ],
        notes=lines,
    )


def about_key(page: AboutPage) -> str:
    """A digest of the page."""
    return digest(packed(page))
