"""The front page: the state in one sentence, and the newest versions of every series in one
chart.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from perfvcs.check.answer import percent_of
from perfvcs.check.text import is_whole
from perfvcs.site import model
from perfvcs.site.contents import Contents, metric
from perfvcs.site.folder import digest, packed
from perfvcs.site.model import JobTotal
from perfvcs.site.pages import AboutPage, Front, ListedBenchmark, RowData
from perfvcs.site.series import COMMAND, command, fields
from perfvcs.site.template import BENCHMARK_NAME
from perfvcs.text.characters import shorten
from perfvcs.text.quantity import UNIT_WIDTH, change, percent, step
from perfvcs.text.words import counted, metric_name, metric_rank, plural

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from perfvcs.history.record import SeriesRecord
    from perfvcs.history.verdict import Verdict


MOVED_VERDICTS = ("degradation", "improvement")
JOBS = 6  # that are listed
NAME_CHARACTERS = 60
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


class Judged(NamedTuple):
    """A series at a commit: what it is ``called``, in which ``environment``, and its verdict
    against the commit before.
    """

    series: SeriesRecord
    verdict: Verdict
    called: str
    environment: str

    @property
    def word(self) -> str:
        """The verdict's word."""
        return "accepted" if self.verdict.accepted is not None else self.verdict.word

    @property
    def curve(self) -> tuple[object, ...] | None:
        """The curve whose verdict it is, which all sizes of a benchmark share; None for a verdict
        of its own.
        """
        line = self.series.line
        if line.size is None or self.verdict.size is not None:
            return None
        return line.job.key, line.uid, line.metric, line.unit, line.better, self.environment

    @property
    def rank(self) -> tuple[bool, bool, float]:
        """Its place on the page: sure changes first, then times, by effect times the time that is
        spent.
        """
        seconds = self.verdict.baseline or 0.0 if self.verdict.unit == "s" else 0.0
        return (
            self.word not in MOVED_VERDICTS,
            not seconds,
            -abs(self.verdict.effect or 0.0) * (seconds or 1.0),
        )


def sentence(judged: Sequence[Judged]) -> str:
    """The most important change with its effect and interval, in a sentence."""
    if not judged:
        return "Nothing before this commit to compare with."
    moved = sorted((one for one in judged if one.word in MOVED_VERDICTS), key=lambda one: one.rank)
    open_ones = sum(one.word not in (*MOVED_VERDICTS, "same", "accepted") for one in judged)
    if not moved:
        if not open_ones:
            return (
                f"Nothing changed: {counted(len(judged), 'comparison is', 'comparisons are')} the"
                " same."
            )
        few = f"{open_ones:,} of {counted(len(judged), 'comparison')}"
        return f"No change is shown, and {few} {plural(open_ones, 'is', 'are')} open."
    first = moved[0]
    size = change(first.verdict.effect or 0.0, first.verdict.low, first.verdict.high)
    worse, better = (sum(one.word == word for one in moved) for word in MOVED_VERDICTS)
    rest = f"; {worse:,} worse and {better:,} better in all" if len(moved) > 1 else ""
    became = "became worse" if first.word == "degradation" else "became better"
    return (
        f"{shorten(first.called, NAME_CHARACTERS)} {became}: {metric_name(first.verdict.metric)}"
        f" {size}{rest}."
    )


def jobs(judged: Sequence[Judged]) -> list[JobTotal]:
    """The effect of each job on its main metric: that of the whole, else of the total of its
    series. Changed jobs come first.
    """
    groups: dict[tuple[str, str, str], dict[str, list[Judged]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for one in judged:
        line = one.series.line
        if one.verdict.baseline and one.verdict.target and line.better != "none":
            groups[line.job.label, line.job.collector, one.environment][line.metric].append(one)
    found = []
    for (label, _, environment), metrics in groups.items():
        metric = min(metrics, key=metric_rank)
        rows = metrics[metric]
        # a whole contains its units
        parts = [one for one in rows if is_whole(label, one.series.line.uid)] or rows
        before, after = (
            sum(getattr(one.verdict, side) for one in parts) for side in ("baseline", "target")
        )
        counts = [sum(one.word == word for one in rows) for word in MOVED_VERDICTS]
        worse = (after > before) == (rows[0].series.line.better == "lower")
        direction = ("degradation" if worse else "improvement") if any(counts) else ""
        total = JobTotal(
            job=shorten(label, NAME_CHARACTERS),
            environment=environment,
            metric=metric_name(metric),
            series=len(rows),
            worse=counts[0],
            better=counts[1],
            change=percent(after / before - 1),
            levels=step(before, after, rows[0].series.line.unit).replace("->", "→"),
            direction=direction,
        )
        found.append(((not any(counts), -abs(after / before - 1)), total))
    return [total for _, total in sorted(found, key=lambda pair: pair[0])][:JOBS]


def rest(judged: Sequence[Judged], alone: int) -> str:
    """One line for everything else, with the bound that it rules out."""
    same = [one.verdict for one in judged if one.word == "same"]
    bounds = [
        max(abs(one.low), abs(one.high))
        for one in same
        if one.low is not None and one.high is not None
    ]
    open_ones = sum(
        one.word not in (*MOVED_VERDICTS, "same", "accepted", "suspected") for one in judged
    )
    said = []
    if same:
        bound = (
            f", none moved by more than {percent_of(max(bounds))}"
            if len(bounds) == len(same)
            else ""
        )
        said.append(f"{counted(len(same), 'series is', 'series are')} the same{bound}")
    if open_ones:
        said.append(f"{counted(open_ones, 'is', 'are')} open")
    if alone:
        said.append(f"{counted(alone, 'has', 'have')} nothing before to compare with")
    return f"{'; '.join(said)}." if said else ""


def key(contents: Contents, newest: int) -> str:
    """A digest of all that the front page is made from."""
    parts = [
        packed(
            newest,
            [
                [place if place is None else contents.record.commits[place] for place in own]
                for own in _versions(contents, newest)
            ],
        )
    ]
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
        found = zip(series.findings, statuses, strict=True)
        parts.append(packed([(*fields(one), stand.state, stand.reason) for one, stand in found]))
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
        shared=all(own == versions[0] for own in versions),
        versions=[
            [None if place is None else contents.commit(place) for place in own] for own in versions
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
    kept = set(grave[:most])
    return [number for number in ordered if number in kept], max(0, len(ordered) - most)


def _versions(contents: Contents, newest: int) -> list[list[int | None]]:
    """The newest measured places of each environment in their order, newest first, as many in
    each.
    """
    import numpy as np

    own: dict[str, list[NDArray[np.int64]]] = {
        fingerprint: [] for fingerprint in contents.environments
    }
    for series in contents.record.series:
        own[series.line.environment.fingerprint].append(series.places[-newest:])
    found = [np.unique(np.concatenate(places))[-newest:][::-1].tolist() for places in own.values()]
    longest = max(map(len, found))
    return [[*places, *[None] * (longest - len(places))] for places in found]


def _values(contents: Contents) -> int:
    return sum(len(series.places) for series in contents.record.series)


def _current(contents: Contents) -> list[int]:
    """The series that was measured last, for each page and environment."""
    found: dict[tuple[str, str], int] = {}
    for number, series in enumerate(contents.record.series):
        place = (contents.urls[number], series.line.environment.fingerprint)
        other = found.get(place)
        if other is None or contents.record.series[other].places[-1] <= series.places[-1]:
            found[place] = number
    return list(found.values())


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
    return min((GRAVITY[one.state] for one in contents.statuses[number]), default=len(GRAVITY))


def _row(
    contents: Contents, number: int, versions: list[list[int | None]], environments: dict[str, int]
) -> RowData:
    series = contents.record.series[number]
    # among the newest of its environment are none but its own newest
    own = series.places[-len(versions[0]) :].tolist()
    turns = {place: len(series.places) - len(own) + turn for turn, place in enumerate(own)}
    statuses = [one.state for one in contents.statuses[number]]
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
    record, found = contents.record, []
    if record.unusable:
        found.append(
            f"Left out: {counted(record.unusable, 'value')} with a zero, negative or infinite"
            " measurement."
        )
    if record.unjudged:
        found.append(
            f"{record.unjudged:,} older values were not compared with the one before; `perf check`"
            " does that."
        )
    if contents.shallow:
        found.append(
            "This was published from a clone without its whole history: older commits are missing."
        )
    if record.aside:
        were = (
            "commits are on branches that were"
            if record.aside != 1
            else "commit is on a branch that was"
        )
        found.append(f"{record.aside:,} measured {were} merged, and not on this line.")
    return found


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
