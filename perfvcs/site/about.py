"""The page about a site: where its figures come from."""

from __future__ import annotations

from collections import defaultdict

from perfvcs.site import model
from perfvcs.site.contents import Contents, metric
from perfvcs.site.front import notes
from perfvcs.site.names import BENCHMARK_NAME
from perfvcs.site.output import digest, packed
from perfvcs.site.pages import AboutPage, ListedBenchmark
from perfvcs.site.series import COMMAND, command
from perfvcs.text.characters import shorten

PAGES = 4000  # that are linked


def page(contents: Contents) -> AboutPage:
    """The page; it is cheap to make, so that it is its own key."""
    pages: dict[tuple[str, str], list[model.Link]] = defaultdict(list)
    commands: dict[tuple[str, str], str] = {}
    linked = sorted(contents.pages, key=lambda url: contents.record.series[contents.pages[url][0]].line.job.label)
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
            ListedBenchmark(shorten(label, BENCHMARK_NAME), shorten(collector, BENCHMARK_NAME), commands[label, collector], links)
            for (label, collector), links in pages.items()
        ],
        notes=lines,
    )  # fmt: skip


def key(page: AboutPage) -> str:
    """A digest of the page."""
    return digest(packed(page))
