"""``perf blame``."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import click

from perfvcs.commands._completion import words
from perfvcs.commands._options import (
    FilePath,
    budget_option,
    delta_option,
    flag,
    measuring,
    options_as,
)
from perfvcs.commands._output import echo
from perfvcs.commands._wanted import Naming, benchmark_options
from perfvcs.text.examples import examples

if TYPE_CHECKING:
    from perfvcs.check import Report
    from perfvcs.locate.blame.blames import BlameWords
    from perfvcs.locate.blame.cause import Blame
    from perfvcs.locate.blame.gauge import BlameMetric, Question
    from perfvcs.measure.rig import Rig
    from perfvcs.profile.benchmarkfilter import FilterWords
    from perfvcs.repository import Repository


class BlameOptions(NamedTuple):
    """What `perf blame` was asked for."""

    names: tuple[str, ...]
    wanted: FilterWords
    metric: BlameMetric
    delta: float | None
    budget: float
    no_proof: bool
    stored: bool
    wait: bool
    verbose: bool
    quiet: bool
    output: str | None
    as_json: bool
    as_sarif: bool


@examples(
    ("perf blame HEAD~1 HEAD", "count, suspect and prove"),
    ("perf blame HEAD~1 HEAD --no-proof", "only count and suspect"),
)
@click.command(cls=Naming)
@click.argument("names", nargs=-1, metavar="[A] [B] [BENCHMARK]", shell_complete=words)
@benchmark_options("configured", metric=False)
@click.option(
    "-m",
    "--metric",
    type=click.Choice(["auto", "instructions", "bytecodes", "allocated", "cpu"]),
    default="auto",
    show_default=True,
    help="Metric that shows and proves the difference.",
)
@delta_option(
    "Smallest difference that counts; a proof must come this close.",
    shown="1, and any of an exact metric",
)
@budget_option("Try no further suspects after this time.", "30min")
@flag("--no-proof", "Only rank the suspects.")
@flag("--stored", "Show the newest result for this pair, without measuring.")
@flag("--wait", "Wait for another measuring run instead of failing.")
@flag("-v", "--verbose", "Show the hunks, the other suspects and all trials.")
@flag("-q", "--quiet", "Show no progress.")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=FilePath(),
    help="Also write a page with the diff and both flame graphs.",
)
@flag("--json", "as_json", "Print the result as JSON.")
@flag("--sarif", "as_sarif", "Print it as SARIF.")
@options_as(BlameOptions)
def command(options: BlameOptions) -> None:
    """Name the function and the hunk that made a benchmark slower or faster from A to B, and prove
    it.

    By default, B is HEAD, A is its parent, and BENCHMARK is what the newest verdict on both calls
    changed and what matters most of that; without a verdict, both are measured first. Counts both
    versions function by function, inside the benchmark, reverts the change of the most suspect
    function, and measures that version too.

    Exits with 4 if there is nothing to blame.
    """
    from perfvcs.locate.blame.blames import asked, load, store
    from perfvcs.locate.blame.gauge import NothingToBlame
    from perfvcs.reports.blame import json, lines
    from perfvcs.reports.blamesarif import sarif
    from perfvcs.repository import Repository

    if options.as_json and options.as_sarif:
        raise click.UsageError("--json and --sarif exclude each other")
    repository = Repository.find(create=not options.stored)
    named = asked(repository, options.names, options.wanted, runs=not options.stored)
    if options.stored:
        blame = load(repository, *named)
    else:
        blame = _measured(repository, named, options)
        store(repository, blame)
    if options.output:
        _write(blame, options.output)
    if options.as_json:
        echo(json(blame))
    elif options.as_sarif:
        echo(sarif(blame))
    else:
        echo("\n".join(lines(blame, verbose=options.verbose)))
    if blame.verdict == "no difference":
        click.get_current_context().exit(NothingToBlame.exit_code)


def _measured(repository: Repository, named: BlameWords, options: BlameOptions) -> Blame:
    """The result of measuring."""
    from perfvcs.locate.blame.search import BlameRequest, blame

    quiet = options.quiet or options.as_json or options.as_sarif
    with measuring(repository, quiet=quiet) as rig:
        request = BlameRequest(
            named.before,
            named.after,
            _question(rig, named, wait=options.wait),
            options.metric,
            options.delta,
            options.budget,
            prove=not options.no_proof,
            wait=options.wait,
        )
        return blame(rig, request)


def _question(rig: Rig, words: BlameWords, *, wait: bool) -> Question:
    """What to blame: the benchmark named, or what the verdict on both revisions calls changed,
    which is measured where nothing is stored; raises UsageError where nothing says what.
    """
    from perfvcs.jobs import matrix
    from perfvcs.locate.blame.gauge import moved, question, unchosen, without_verdict

    cells, wanted = matrix(rig.config), words.benchmarks
    stored = _stored(rig.repository, words)
    chosen = moved(stored, wanted, cells) if stored else None
    simple = without_verdict(rig.repository, cells, wanted)
    if chosen is None and (not wanted or simple is None):
        stored = _checked(rig, words, wait=wait)
        chosen = moved(stored, wanted, cells)
    if chosen is not None:
        return question(chosen, cells, words)
    if simple is None:
        raise unchosen(stored, words)
    return simple


def _stored(repository: Repository, words: BlameWords) -> Report | None:
    """The newest verdict on both revisions that is stored."""
    from perfvcs.repository.lastreport import last_report
    from perfvcs.repository.state import State

    states = [repository.state(name) for name in (words.before, words.after)]
    # uncommitted changes are not blamed
    a, b = (state if state.below or not state.dirty else State(state.commit) for state in states)
    return last_report(repository, a, b, words.benchmarks)


def _checked(rig: Rig, words: BlameWords, *, wait: bool) -> Report:
    """The verdict on both revisions, measured in turns now."""
    from perfvcs.check.method import BY_RULES
    from perfvcs.measure.request import Request
    from perfvcs.reports.inturns import measure

    pair = words.before, words.after
    short = " ".join(rig.repository.project.resolve(name)[:10] for name in pair)
    rig.progress.say(
        f"no stored verdict says what changed: measuring first (perf check --measure {short})"
    )
    wanted = words.benchmarks
    request = Request(jobs=wanted.jobs, alone=wanted.alone, wait=wait, committed=True)
    return measure(rig, pair, request, BY_RULES).report


def _write(blame: Blame, output: str) -> None:
    """Write the page."""
    from pathlib import Path

    from perfvcs.exchange.delivery import into_file
    from perfvcs.reports.blamepage import page

    into_file(Path(output), page(blame).encode("utf-8", "replace"), force=True)
