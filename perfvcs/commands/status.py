"""``perf status``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from perfvcs.commands._completion import words
from perfvcs.commands._options import flag
from perfvcs.commands._output import echo
from perfvcs.commands._wanted import Naming, benchmark_options
from perfvcs.text.examples import examples

if TYPE_CHECKING:
    from perfvcs.profile.benchmarkfilter import FilterWords


@examples(("perf status", "in words"), ("perf status --json", "for programs"))
@click.command(cls=Naming)
@click.argument("names", nargs=-1, metavar="[BENCHMARK]", shell_complete=words)
@benchmark_options()
@flag("--json", "as_json", "Print JSON.")
def command(names: tuple[str, ...], wanted: FilterWords, *, as_json: bool) -> None:
    """Show what is measured at HEAD, what is missing, and the last verdict.

    With BENCHMARK, shows only what is known of that.
    """
    from perfvcs.reports.status import status_of
    from perfvcs.repository import Repository
    from perfvcs.repository.arguments import read

    repository = Repository.find()
    asked = read(lambda: repository, names, wanted, revisions=False)
    state = status_of(repository, asked.benchmarks)
    echo(state.json() if as_json else "\n".join(state.lines()))
