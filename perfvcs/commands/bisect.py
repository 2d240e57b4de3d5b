"""``perf bisect``."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import click

from perfvcs.commands._completion import words
from perfvcs.commands._options import (
    FilePath,
    budget_option,
    delta_option,
    flag,
    host_options,
    measuring,
    options_as,
)
from perfvcs.commands._output import echo
from perfvcs.commands._wanted import Naming, benchmark_options
from perfvcs.text.examples import examples

if TYPE_CHECKING:
    from perfvcs.hosts.tls import Scheduler
    from perfvcs.locate.bisect.bisection import Bisection
    from perfvcs.profile.benchmarkfilter import FilterWords
    from perfvcs.repository import Repository


class BisectOptions(NamedTuple):
    """What `perf bisect` was asked for."""

    words: tuple[str, ...]
    wanted: FilterWords
    improvement: bool
    delta: float | None
    budget: float | None
    merged: bool
    blames: bool
    dry_run: bool
    fresh: bool
    seed: int | None
    scheduler: Scheduler
    wait: bool
    quiet: bool
    output: str | None
    as_json: bool

    @property
    def silent(self) -> bool:
        """Whether no progress is shown."""
        return self.quiet or self.as_json


@examples(
    ("perf bisect v1.0 HEAD", "what became slower since v1.0"),
    ("perf bisect v1.0 HEAD --dry-run", "the suspects, without measuring"),
)
@click.command(cls=Naming)
@click.argument("words", nargs=-1, metavar="[GOOD] [BAD] [BENCHMARK]", shell_complete=words)
@benchmark_options("configured")
@flag("--improvement", "Find the commit that made it faster.")
@delta_option(
    "Smallest difference between the ends that counts.", shown="1, and any of an exact metric"
)
@budget_option("Stop after this time, such as 30min, and report what is known.")
@flag("--merged", "If a merge is the cause, search the merged commits.")
@flag("--blame", "blames", "Then name the function in the commit found, as perf blame does.")
@flag("--dry-run", "Measure nothing: list the commits by what they change.")
@flag("--fresh", "Start over, ignoring earlier measurements of the same ends.")
@click.option("--seed", type=int, help="Seed of the random order and of the blocks.")
@host_options
@flag("--wait", "Wait for another measuring run instead of failing.")
@flag("-q", "--quiet", "Print only the commits found.")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=FilePath(),
    help="Also write a page that draws every commit.",
)
@flag("--json", "as_json", "Print JSON.")
@options_as(BisectOptions)
def command(options: BisectOptions) -> None:
    """Find the commit after GOOD that made BAD (HEAD) slower.

    Measures GOOD, a commit between them and BAD in turns, until one commit explains the difference.
    Without GOOD, searches the newest step of `perf history`, or else from the newest ancestor that
    is known to be faster. Without BENCHMARK, follows the most important degradation, as the first
    sentence of `perf check` has it. An interrupted search continues.

    Exits with 4 if the ends do not differ or several commits remain possible.
    """
    from perfvcs.jobs.config import load
    from perfvcs.locate.bisect.bisection import Asked, bisect, listed
    from perfvcs.locate.bisect.span import TargetFilter
    from perfvcs.measure.request import Request
    from perfvcs.profile.rules import RULES_FILE
    from perfvcs.reports.bisect import lines, suspected
    from perfvcs.reports.bisectpage import json
    from perfvcs.repository import Repository
    from perfvcs.repository.arguments import read

    repository, silent = Repository.find(create=True), options.silent
    config = load(repository.project.root / RULES_FILE)
    named = read(lambda: repository, options.words, options.wanted, way="one", runs=True)
    good, bad = (*named.at_most(2), "", "")[:2]
    asked = Asked(
        good=good,
        bad=bad,
        wanted=TargetFilter(named.benchmarks, options.improvement),
        budget=options.budget,
        delta=options.delta,
        afresh=options.fresh,
        merged=options.merged,
    )
    if options.dry_run:
        with measuring(repository, config, quiet=silent, doing="reading") as rig:
            listing = listed(rig, asked)
        _write(repository, listing, options.output)
        echo(json(listing) if options.as_json else "\n".join(suspected(repository, listing)))
        return
    scheduler = options.scheduler
    request = Request(
        jobs=named.benchmarks.jobs,
        alone=named.benchmarks.alone,
        seed=options.seed,
        wait=options.wait,
        scheduler=scheduler.address,
        exact=True,
    )
    with measuring(repository, config, scheduler, quiet=silent, doing="bisecting") as rig:
        search = bisect(rig, asked, request)
    _write(repository, search, options.output)
    if options.as_json:
        echo(json(search))
    elif options.quiet:
        inner = search.innermost
        for place in sorted(inner.outcome.decision.named if inner.outcome else ()):
            echo(inner.span.commits[place])
    else:
        echo("\n".join(lines(repository, search)))
    if options.blames:
        _blame(repository, search.innermost, wait=options.wait, silent=silent)
    click.get_current_context().exit(search.status)


def _blame(repository: Repository, bisection: Bisection, *, wait: bool, silent: bool) -> None:
    """Name the function in the only commit that is named; the result is kept, and printed unless
    ``silent``.
    """
    named = bisection.outcome.decision.named if bisection.outcome else ()
    if len(named) != 1 or bisection.target is None:
        return
    from perfvcs.jobs import matrix
    from perfvcs.locate.blame.blames import store
    from perfvcs.locate.blame.gauge import of_metric
    from perfvcs.locate.blame.search import BlameRequest, blame
    from perfvcs.reports.blame import lines

    a, b = bisection.span.commits[named[0] - 1], bisection.span.commits[named[0]]
    with measuring(repository, quiet=silent, doing="blaming") as rig:
        cells, target = matrix(rig.config), bisection.target
        question = of_metric(cells, target.job, target.uid, target.size, target.metric, target.unit)
        blamed = blame(rig, BlameRequest(a, b, question, wait=wait))
    store(repository, blamed)
    if not silent:
        echo("\n".join(lines(blamed)))


def _write(repository: Repository, bisection: Bisection, output: str | None) -> None:
    """Write the page where one is asked for."""
    if output is None:
        return
    from pathlib import Path

    from perfvcs.exchange.delivery import into_file
    from perfvcs.reports.bisectpage import page

    into_file(Path(output), page(repository, bisection).encode("utf-8", "replace"), force=True)
