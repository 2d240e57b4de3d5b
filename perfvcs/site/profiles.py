"""Pages of the newest profiles, as `perf show` draws them; they take long to make, so that only so many are."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from perfvcs.site import names
from perfvcs.site.contents import Contents
from perfvcs.site.output import Output, digest, packed
from perfvcs.subject import Subject

if TYPE_CHECKING:
    from perfvcs.history.record import SeriesRecord
    from perfvcs.repository import Repository
    from perfvcs.site.template import Templates

WITHOUT_PAGES = ("time", "pytest")  # collectors whose profiles hold little more than a series' page shows


def outputs(repository: Repository, contents: Contents, most: int, templates: Templates) -> Iterator[Output]:
    """The pages of at most so many newest profiles, one per job and environment, which the series get links to.

    All of them where these are no more than that, else those of collectors that record more than executions.
    """
    newest: dict[tuple[str, str], list[int]] = {}
    for number, series in enumerate(contents.record.series):
        newest.setdefault(_job(series), []).append(number)
    rich = [job for job, numbers in newest.items() if contents.record.series[numbers[0]].line.job.collector not in WITHOUT_PAGES]
    chosen = sorted(newest) if len(newest) <= most else sorted(rich)[:most]
    if not chosen:
        return
    commits = {job: _newest(contents, newest[job]) for job in chosen}
    headers = repository.index.headers(dict.fromkeys(commits.values()))
    paths = {
        (header.job.key, header.environment.fingerprint, header.commit): header.path for header in headers if header.dirty is None
    }
    for job in chosen:
        path = paths[*job, commits[job]]
        series = contents.record.series[newest[job][0]]
        url = f"profiles/{names.slug(series.line.job.label, series.line.job.collector, of=job)}.html"
        contents.profiles |= dict.fromkeys(newest[job], url)
        title = f"{contents.benchmark(series)} at {contents.short(contents.places[commits[job]])}, {contents.environment(series).name}"
        beside = f"{url.removesuffix('.html')}.json"
        links = {
            templates.title: "../index.html", contents.benchmark(series): f"../{contents.urls[newest[job][0]]}",
            "JSON": beside.rpartition("/")[2],
        }  # fmt: skip
        key = digest(templates.mark.encode(), packed(path, title, links))
        yield Output((url, beside), key, partial(_page, repository, path, title, links))


def _job(series: SeriesRecord) -> tuple[str, str]:
    return series.line.job.key, series.line.environment.fingerprint


def _newest(contents: Contents, numbers: list[int]) -> str:
    """The newest commit that some series have."""
    return contents.record.commits[max(int(contents.record.series[number].places[-1]) for number in numbers)]


def _page(repository: Repository, path: str, title: str, links: dict[str, str]) -> tuple[bytes, bytes]:
    from perfvcs.page import render
    from perfvcs.page.document import document

    subject = Subject(title, [repository.former.profile(repository.store.read(path, at=repository.index.head))])
    return render(subject, links=links).encode(), f"{document(subject)}\n".encode()
