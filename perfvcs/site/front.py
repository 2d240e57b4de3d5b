"""The front page: the state in one sentence, what is slower now, and a table of all series."""

from __future__ import annotations

import msgspec

from perfvcs.history.jumps import FIRST_ASK
from perfvcs.history.triage import ChangeState, ranked
from perfvcs.site import model, seriestable
from perfvcs.site.contents import Contents, joined
from perfvcs.site.figures import metric
from perfvcs.site.pages import AboutPage, Front, ListedBenchmark, ListedSeries, OpenChange, OpenList
from perfvcs.site.seriespage import COMMAND, command
from perfvcs.site.template import BENCHMARK_NAME
from perfvcs.text.characters import shorten
from perfvcs.text.words import counted

TILES: dict[str, ChangeState] = {
    "open": "open",
    "accepted": "accepted",
    "over": "over",
    "improvements": "improvement",
}
COMMITS = 10  # with open degradations that are listed, certain ones and others
OPEN_ROWS = 25  # of either list
LINKS_ROOM = 580_000  # characters of the links to series, with which a page has at most 0.6 MB
LINK_MARKUP = 40  # characters of a link but its address and its text
JOB_MARKUP = 210  # characters of a job's row but its names, its command and its links


def page(contents: Contents) -> Front:
    """The front page."""
    record = contents.record
    when = seriestable.times(contents)
    since = seriestable.cuts(contents, when)
    rows = seriestable.rows(contents, since, when)
    newest = contents.commit(record.measured[-1])
    told = [turn for turn in range(len(since)) if any(row.since[turn] for row in rows)]
    return Front(
        sentence=_sentence(contents, contents.count(contents.having("open"))),
        **{name: contents.count(contents.having(state)) for name, state in TILES.items()},
        newest=newest,
        environments=list(contents.environments.values()),
        since=[since[turn].name for turn in told],
        prefix=seriestable.prefix([row.benchmark for row in rows]),
        rows=[
            msgspec.structs.replace(row, since=[row.since[turn] for turn in told]) for row in rows
        ],
        certain=_open_list(contents, rows, certain=True),
        to_check=_open_list(contents, rows, certain=False),
        days=(contents.commit(seriestable.first_place(contents)).when[:10], newest.when[:10]),
        series=len(record.series),
        commits=len(record.measured),
        values=sum(len(series.places) for series in record.series),
        notes=notes(contents),
    )


def _open_list(contents: Contents, rows: list[ListedSeries], *, certain: bool) -> OpenList:
    """The open changes that are certain, or to be checked, each once over environments."""
    by_commit: dict[str, dict[str, list[tuple[int, int]]]] = {}
    for number, turn in contents.having("open"):
        if contents.standing(number, turn).certain == certain:
            of_commit = by_commit.setdefault(contents.finding(number, turn).commit, {})
            of_commit.setdefault(contents.urls[number], []).append((number, turn))
    order = ranked(
        {
            commit: [
                contents.standing(number, turn) for same in found.values() for number, turn in same
            ]
            for commit, found in by_commit.items()
        }
    )
    listed = [
        same
        for commit in order[:COMMITS]
        for same in sorted(
            by_commit[commit].values(),
            key=lambda same: min(contents.finding(*pair).rank for pair in same),
        )
    ]
    count = sum(map(len, by_commit.values()))
    strips = {(row.url, row.environment): row.strip for row in rows}
    asked: dict[str, int] = {}
    changes = [_open_change(contents, same, strips, asked) for same in listed[:OPEN_ROWS]]
    return OpenList(changes, count - len(changes), len(by_commit), list(asked))


def _open_change(
    contents: Contents,
    pairs: list[tuple[int, int]],
    strips: dict[tuple[str, str], str],
    asked: dict[str, int],
) -> OpenChange:
    """One change, where it is largest; what is first asked of many is numbered in ``asked``."""
    (step,) = joined(contents.step(*pair) for pair in pairs)
    standing = contents.standing(*pairs[0])
    questions = [doubt for doubt in standing.doubts if doubt.endswith(FIRST_ASK)]
    return OpenChange(
        step,
        standing.holds,
        standing.newest,
        [doubt for doubt in standing.doubts if doubt not in questions],
        [asked.setdefault(question, len(asked) + 1) for question in questions],
        strips.get((step.url, step.environment), ""),
    )


def _sentence(contents: Contents, count: int) -> str:
    measured = contents.record.measured
    newest = contents.commit(measured[-1])
    where = f"{newest.short} ({newest.when[:10]}), the newest measured commit"
    if not any(series.findings for series in contents.record.series):
        return f"No lasting change was found at {where}."
    if not count:
        return f"No open degradation at {where}."
    commits = len({contents.finding(*pair).turn for pair in contents.having("open")})
    certain = [pair for pair in contents.having("open") if contents.standing(*pair).certain]
    sure = contents.count(certain)
    what = f"{counted(count, 'open degradation')} from {counted(commits, 'commit')}"
    return f"{what}, {_sure(sure, count)} certain; as of {where}."


def _sure(sure: int, count: int) -> str:
    """How many of some open degradations are certain, before that word."""
    if count == 1:
        return "which is" if sure else "which is not"
    if sure == count:
        return "all of them"
    return f"{sure:,} of them" if sure else "none of them"


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
        were = "commit is on a branch that was"
        if record.aside != 1:
            were = "commits are on branches that were"
        sentences.append(f"{record.aside:,} measured {were} merged, and not on this line.")
    return sentences


def about_page(contents: Contents) -> AboutPage:
    """The page about the site."""
    jobs: dict[tuple[str, str], ListedBenchmark] = {}
    more: list[str] = []
    linked = sorted(
        contents.pages,
        key=lambda url: contents.record.series[contents.pages[url][0]].line.job.label,
    )
    left = LINKS_ROOM
    for count, url in enumerate(linked):
        series = contents.record.series[contents.pages[url][-1]]
        link = model.Link(f"{contents.benchmark(series)}, {metric(series)}", url)
        left -= LINK_MARKUP + len(link.name) + len(link.url)
        job = (series.line.job.label, series.line.job.collector)
        row = jobs.get(job)
        if row is None:
            label, collector = (shorten(name, BENCHMARK_NAME) for name in job)
            row = ListedBenchmark(label, collector, shorten(command(series), COMMAND), [])
            left -= JOB_MARKUP + len(label) + 2 * len(collector) + len(row.command)
        if left < 0:
            more = [f"{len(linked) - count:,} more series are not linked here."]
            break
        row.pages.append(link)
        jobs[job] = row
    return AboutPage(
        environments=list(contents.environments.values()),
        benchmarks=[*jobs.values()],
        notes=[*notes(contents), *more],
    )
