"""The page of a series: its history in every environment, its changes, and its newest values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from perfvcs.check.subject import Subject
from perfvcs.git.forge import Forge
from perfvcs.history.finding import Finding, remarks_of
from perfvcs.history.judging import SHORTEST_SERIES
from perfvcs.history.record import SeriesRecord
from perfvcs.history.series import step_of
from perfvcs.pictures.frame import FramedCommit, FramedLine, HistoryFrame, frame
from perfvcs.pictures.sketch import between, breaks, drawn, parted
from perfvcs.reports.sourcelinks import source_links
from perfvcs.repository import Repository
from perfvcs.site import model, template
from perfvcs.site.contents import Contents
from perfvcs.site.figures import effect, figures, level, metric, texts
from perfvcs.site.folder import Output, digest, packed
from perfvcs.site.model import SeriesDrawing, known
from perfvcs.site.pages import ComparedRow, Mark, NewestLevel, Remark, SeriesData, Track
from perfvcs.site.seriesnow import newest_first, now, tags
from perfvcs.site.template import Templates
from perfvcs.system.numeric import Floats, Integers, np
from perfvcs.text.characters import shorten
from perfvcs.text.quantity import UNIT_WIDTH, interval, quantities
from perfvcs.text.words import counted

# collectors whose profiles hold little more than a series' page shows
WITHOUT_PAGES = ("time", "pytest")
NEWEST_VALUES = 25  # commits in the table of values
COMMAND = 300  # characters
TRACKS, COMMITS, POINTS = 60, 6000, 18_000  # of a page: with more it would not stay below 3 MB


def outputs(
    repository: Repository, contents: Contents, most: int, templates: Templates
) -> Iterator[Output]:
    """The pages of at most so many newest profiles, one per job and environment, which the series
    get links to.

    All of them where these are no more than that, else those of collectors that record more than
    executions.
    """
    newest: dict[tuple[str, str], list[int]] = {}
    for number, series in enumerate(contents.record.series):
        newest.setdefault(_job(series), []).append(number)
    rich = [
        job
        for job, numbers in newest.items()
        if contents.record.series[numbers[0]].line.job.collector not in WITHOUT_PAGES
    ]
    chosen = sorted(newest) if len(newest) <= most else sorted(rich)[:most]
    if not chosen:
        return
    commits = {job: _newest(contents, newest[job]) for job in chosen}
    headers = repository.index.headers(dict.fromkeys(commits.values()))
    paths = {
        (header.job.key, header.environment.fingerprint, header.commit): header.path
        for header in headers
        if header.dirty is None
    }
    for job in chosen:
        path = paths[*job, commits[job]]
        series = contents.record.series[newest[job][0]]
        name = template.slug(series.line.job.label, series.line.job.collector, of=job)
        url = f"profiles/{name}.html"
        contents.profiles |= dict.fromkeys(newest[job], url)
        title = (
            f"{_called(contents, newest[job])} at {contents.short(contents.places[commits[job]])},"
            f" {contents.environment(series).name}"
        )
        beside = f"{url.removesuffix('.html')}.json"
        links = {
            templates.title: "../index.html",
            contents.benchmark(series): f"../{contents.urls[newest[job][0]]}",
            "JSON": beside.rpartition("/")[2],
        }
        forge = templates.forge
        key = digest(templates.mark.encode(), packed(path, title, links, forge.source))
        yield Output((url, beside), key, partial(_page, repository, path, title, links, forge))


def _called(contents: Contents, numbers: Sequence[int]) -> str:
    """What the page of a job's profile is about: its only unit, or the job with all of them."""
    lines = [contents.record.series[number].line for number in numbers]
    if len({line.uid for line in lines}) == 1:
        return contents.benchmark(contents.record.series[numbers[0]], sized=False)
    return shorten(f"{lines[0].job.label} ({lines[0].job.collector})", template.BENCHMARK_NAME)


def _job(series: SeriesRecord) -> tuple[str, str]:
    return series.line.job.key, series.line.environment.fingerprint


def _newest(contents: Contents, numbers: list[int]) -> str:
    return contents.record.commits[
        max(int(contents.record.series[number].places[-1]) for number in numbers)
    ]


def _page(
    repository: Repository, path: str, title: str, links: dict[str, str], forge: Forge
) -> tuple[bytes, bytes]:
    from perfvcs.reports.export import document
    from perfvcs.reports.page import render

    stored = repository.store.read(path, at=repository.index.head)
    profiles = [repository.former.profile(stored)]
    sources = source_links(repository.project, profiles, forge)
    subject = Subject(title, profiles, sources=sources)
    return render(subject, links=links, sketched=True).encode(), f"{document(subject)}\n".encode()


def key(contents: Contents, url: str) -> str:
    """A digest of all that the page at ``url`` is made from."""
    all_series = [contents.record.series[number] for number in contents.pages[url]]
    environments = [contents.environment(series) for series in all_series]
    parts = [
        packed(
            [(environment.name, environment.retired) for environment in environments],
            [link.url for link in siblings(contents, url)],
            contents.tags,
        )
    ]
    for number, series in zip(contents.pages[url], all_series, strict=True):
        parts += [
            packed(series.line, series.began, contents.profiles.get(number)),
            contents.ids[series.places].tobytes(),
            contents.record.turns(series.places).tobytes(),
            packed([int(place) in contents.of_note for place in series.places[-NEWEST_VALUES:]]),
        ]
        parts += [column.tobytes() for column in (series.levels, series.reach, series.executions)]
        parts.append(packed(sorted(series.verdicts.items()), remarks_of(series)))
        statuses = [
            (status.state, status.reason, status.doubts) for status in contents.statuses[number]
        ]
        parts.append(packed([fields(finding) for finding in series.findings], statuses))
    return digest(*parts)


def fields(finding: Finding) -> tuple[Any, ...]:
    """The fields that identify a change, for a digest."""
    where = (finding.commit, finding.first, finding.last, finding.commits, finding.detectors)
    return (*where, finding.contradiction, *figures(finding), *texts(finding))


def siblings(contents: Contents, url: str) -> list[model.Link]:
    """The other metrics and sizes of the same benchmark."""
    line = contents.record.series[contents.pages[url][0]].line
    pages = contents.related[line.job.label, line.uid]
    links = [
        model.Link(f"{contents.benchmark(series)}, {metric(series)}", other)
        for other, series in pages
        if other != url
    ]
    return links[:40]


def page(contents: Contents, url: str) -> SeriesData:
    """The page at ``url``."""
    numbers, notes = _drawn(contents, newest_first(contents, contents.pages[url]))
    all_series = [contents.record.series[number] for number in numbers]
    line = all_series[0].line
    there = np.zeros(len(contents.record.commits), dtype=bool)
    for series in all_series:
        there[series.places] = True
    whole = np.flatnonzero(there)
    places = whole[whole >= _start(all_series, whole)]
    if len(places) < len(whole):
        notes.append(f"The figures show the newest {len(places):,} of {len(whole):,} commits.")
    tracks = [_track(contents, number, places) for number in numbers]
    steps = contents.ordered(contents.pages[url])
    return SeriesData(
        benchmark=contents.benchmark(all_series[0]),
        metric=metric(all_series[0]),
        unit=shorten(line.unit, UNIT_WIDTH),
        better=line.better,
        frame=_frame(contents, all_series, tracks, places, whole),
        commits=contents.record.turns(places).tolist(),
        tracks=tracks,
        tags=tags(contents, places),
        steps=[contents.step(*pair) for pair in steps[:300]],
        remarks=[
            Remark(contents.environment(series).name, shorten(remark, COMMAND))
            for series in all_series
            for remark in remarks_of(series)
        ],
        newest=_newest_levels(contents, numbers),
        siblings=siblings(contents, url),
        notes=[*notes, *_notes(all_series)],
    )


def _drawn(contents: Contents, numbers: list[int]) -> tuple[list[int], list[str]]:
    """The series that a page has room for, those measured last, and a note on the others."""
    if len(numbers) <= TRACKS:
        return numbers, []
    newest = sorted(numbers, key=lambda number: -int(contents.record.series[number].places[-1]))[
        :TRACKS
    ]
    return [number for number in numbers if number in newest], [
        f"Of {len(numbers):,} environments, the {TRACKS} measured last are shown."
    ]


def _start(all_series: list[SeriesRecord], places: Integers) -> int:
    """The first place that a page has room for."""
    if sum(len(series.places) for series in all_series) <= POINTS and len(places) <= COMMITS:
        return 0
    points = np.sort(np.concatenate([series.places for series in all_series]))
    return int(max(points[max(0, len(points) - POINTS)], places[max(0, len(places) - COMMITS)]))


def _track(contents: Contents, number: int, places: Integers) -> Track:
    series, drawing = contents.record.series[number], contents.drawings[number]
    start = int(np.searchsorted(series.places, places[0]))
    positions = np.searchsorted(places, series.places[start:]).tolist()
    executions = series.executions[start:]
    turns = [turn for turn, finding in enumerate(series.findings) if finding.turn >= places[0]]
    steps = sorted(
        (_mark(contents, number, turn, places) for turn in turns), key=lambda mark: mark.place
    )
    return Track(
        environment=contents.environment(series),
        command=shorten(command(series), COMMAND),
        places=positions,
        levels=drawing.levels[start:].tolist(),
        low=_some(drawing.low[start:]),
        high=_some(drawing.high[start:]),
        executions=[] if (executions == 1).all() else executions.tolist(),
        compared=_compared(drawing, start),
        steps=steps,
        lines=parted(between(steps, positions[0], positions[-1]), positions) if positions else [],
        breaks=breaks(positions),
        now=now(contents, number),
        began=shorten(series.began, COMMAND),
        profile=contents.profiles.get(number),
    )


def _compared(drawing: SeriesDrawing, start: int) -> list[ComparedRow]:
    """The rows from a turn on that have a verdict."""
    return [
        ComparedRow(row, word, effect)
        for row, (word, effect) in enumerate(
            zip(drawing.words[start:], known(drawing.effects[start:]), strict=True)
        )
        if word or effect is not None
    ]


def _some(column: Floats) -> list[float | None]:
    """The numbers of a column; empty where there is none at all, so that nobody loads that."""
    return [] if np.isnan(column).all() else known(column)


def _mark(contents: Contents, number: int, turn: int, places: Integers) -> Mark:
    """A change with places among those of the page, or of the next measured commit."""
    finding, status = contents.finding(number, turn), contents.statuses[number][turn]
    series, numbers = contents.record.series[number], figures(finding)
    accepted = status.reason if status.state == "accepted" else None
    step = replace(
        step_of(finding, accepted, status),
        before=numbers.before,
        after=numbers.after,
        levels=texts(finding)[-1],
    )
    ends = [finding.turn, contents.places[finding.first], contents.places[finding.last]]
    place, first, last = np.searchsorted(places, ends).tolist()
    return Mark(
        place=place,
        word=finding.direction,
        state=status.state,
        reason=status.reason,
        effect=numbers.effect,
        low=numbers.low,
        high=numbers.high,
        **drawn(step, series.line.unit, place, among=(first, last), status=status.text),
    )


def command(series: SeriesRecord) -> str:
    """The job's command."""
    job = series.line.job
    return " ".join(filter(None, (job.cmd, job.args, job.workload)))


def _frame(
    contents: Contents,
    all_series: Sequence[SeriesRecord],
    tracks: Sequence[Track],
    places: Integers,
    whole: Integers,
) -> HistoryFrame:
    """The axes of the figure of commits at ``places`` of the ``whole`` history, and its words."""

    columns, line = contents.columns, all_series[0].line
    names = zip(columns.ids[places].tolist(), columns.titles[places].tolist(), strict=True)
    examined = any(
        series.findings or len(series.places) >= SHORTEST_SERIES for series in all_series
    )
    return frame(
        line.metric,
        line.unit,
        [FramedLine(track.levels, track.low, track.high) for track in tracks],
        [FramedCommit(commit, title) for commit, title in names],
        every=len(whole),
        days=columns.days[whole].tolist(),
        changes=[mark.name for track in tracks for mark in track.steps] if examined else None,
    )


def _newest_levels(contents: Contents, numbers: list[int]) -> list[NewestLevel]:
    """The newest commits of all environments, newest first."""
    turns = [
        (int(series.places[turn]), number, turn)
        for number in numbers
        for series in [contents.record.series[number]]
        for turn in range(max(0, len(series.places) - NEWEST_VALUES), len(series.places))
    ]
    turns.sort(key=lambda value: (-value[0], value[1]))
    newest = turns[:NEWEST_VALUES]
    all_series = contents.record.series
    texts = quantities(
        [level(all_series[number], turn) for _, number, turn in newest],
        all_series[numbers[0]].line.unit,
    )
    return [
        _value(contents, number, turn, text)
        for (_, number, turn), text in zip(newest, texts, strict=True)
    ]


def _value(contents: Contents, number: int, turn: int, text: str) -> NewestLevel:
    series = contents.record.series[number]
    reach = float(series.reach[turn])
    low, high = effect(-reach), effect(reach)
    return NewestLevel(
        contents.commit(int(series.places[turn])),
        contents.environment(series).name,
        text,
        interval(low, high),
        int(series.executions[turn]),
        contents.cell(number, turn),
    )


def _notes(all_series: list[SeriesRecord]) -> list[str]:
    """Notes on why a figure or a verdict says no more."""

    notes = []
    longest = max(len(series.places) for series in all_series)
    if 1 < longest < SHORTEST_SERIES and not any(series.findings for series in all_series):
        notes.append(
            f"Fewer than {SHORTEST_SERIES} measured commits: too few to look for lasting changes."
        )
    unjudged = sum(len(series.places) - 1 - len(series.verdicts) for series in all_series)
    if unjudged:
        notes.append(
            f"{counted(unjudged, 'older value')} were not compared with the one before; `perf"
            " check` does that."
        )
    return notes
