"""``perf mutate``."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import click

from perfvcs.commands._completion import words
from perfvcs.commands._options import budget_option, delta_option, flag, measuring, options_as
from perfvcs.commands._output import echo
from perfvcs.commands._wanted import Naming, benchmark_options
from perfvcs.text.examples import examples

if TYPE_CHECKING:
    from perfvcs.profile.benchmarkfilter import FilterWords


class MutateOptions(NamedTuple):
    """What `perf mutate` was asked for."""

    words: tuple[str, ...]
    wanted: FilterWords
    number: int
    metric: str
    delta: float
    budget: float
    seed: int
    wait: bool
    quiet: bool
    as_json: bool


@examples(
    ("perf mutate -n 5", "plant five slowdowns"),
    ("perf mutate --job sort --delta 5", "only those that one job runs"),
)
@click.command(cls=Naming)
@click.argument("words", nargs=-1, metavar="[REVISION] [BENCHMARK]", shell_complete=words)
@benchmark_options("configured", metric=False)
@click.option(
    "-n",
    "--number",
    type=click.IntRange(1),
    default=20,
    show_default=True,
    help="Number of slowdowns to plant.",
)
@click.option(
    "-m",
    "--metric",
    type=click.Choice(["bytecodes", "instructions"]),
    default="bytecodes",
    show_default=True,
    help="What detects them; only instructions see C functions.",
)
@delta_option("Smallest slowdown that counts as detected.", 1.0)
@budget_option("Plant nothing more after this time.", "30min")
@click.option(
    "--seed", type=int, default=0, show_default=True, help="Seed of the choice of slowdowns."
)
@flag("--wait", "Wait for another measuring run instead of failing.")
@flag("-q", "--quiet", "Show no progress.")
@flag("--json", "as_json", "Print the result as JSON.")
@options_as(MutateOptions)
def command(options: MutateOptions) -> None:
    """Plant known slowdowns in Python functions and list those that the benchmarks miss.

    Plants one slowdown at a time, in a checkout beside the working tree, in functions that a
    benchmark runs, costly functions first. With BENCHMARK, only its job is run.
    """
    from perfvcs.locate.blame.guard import GuardRequest, guard
    from perfvcs.reports.select import json, lines
    from perfvcs.repository import Repository
    from perfvcs.repository.arguments import read

    repository = Repository.find(create=True)
    asked = read(lambda: repository, options.words, options.wanted, runs=True)
    request = GuardRequest(
        revision=asked.revision,
        count=options.number,
        delta=options.delta,
        budget=options.budget,
        seed=options.seed,
        jobs=asked.benchmarks.jobs,
        metric=options.metric,
        wait=options.wait,
    )
    with measuring(repository, quiet=options.quiet or options.as_json) as rig:
        missed = guard(rig, request)
    echo(json(missed) if options.as_json else "\n".join(lines(missed)))
