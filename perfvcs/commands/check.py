"""``perf check``."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import click

from perfvcs.commands._checkoptions import CheckOptions, Road
from perfvcs.commands._completion import words_or_files
from perfvcs.commands._options import (
    against,
    budget_option,
    delta_option,
    flag,
    host_options,
    measuring,
    options_as,
    sample_option,
    within,
)
from perfvcs.commands._output import Bisecting, echo
from perfvcs.commands._wanted import benchmark_options
from perfvcs.text.examples import examples

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfvcs.check.method import CheckRequest
    from perfvcs.reports.check import Check
    from perfvcs.reports.files import FileCheck
    from perfvcs.reports.neighbours import Neighbours
    from perfvcs.repository import Repository
    from perfvcs.repository.arguments import Arguments


@examples(
    ("perf check HEAD~1 HEAD", "compare what is stored"),
    ("perf check --measure HEAD~1 HEAD", "measure both in turns first"),
)
@click.command(cls=Bisecting)
@click.argument(
    "words",
    nargs=-1,
    metavar="[[BASELINE] TARGET | A..B | FILE FILE] [BENCHMARK]",
    shell_complete=words_or_files,
)
@benchmark_options()
@flag("--measure", "Measure undecided benchmarks, both revisions in turns.")
@against
@flag("--gate", "Fail only if the whole interval lies beyond delta.")
@flag("--audit", "Measure TARGET against itself and report how often that raises a false alarm.")
@flag("--strict", "Exit with 4 if a comparison is not settled.")
@delta_option("Smallest change that counts; exact metrics have none.")
@within
@click.option(
    "--method", metavar="NAME", default="auto", show_default=True, help="Method of comparison."
)
@flag(
    "--assume-same-machine",
    "Judge what was measured apart as if in one session, such as files of one CI job.",
)
@flag("--select", "With --measure: leave out what the change cannot touch.")
@sample_option("With --select: measure one in N of those anyway.", 20)
@flag("--bisect-codes", "Exit as `git bisect run` expects: 0 good, 1 bad, 125 not settled.")
@click.option(
    "-n",
    "--executions",
    type=click.IntRange(1),
    help="With --measure or --audit: exact number of pairs.",
)
@budget_option("With --measure: measure for at most this long, such as 10min.")
@click.option(
    "--exact/--no-exact",
    default=True,
    help="With --measure: count work beside time where that is cheap.",
)
@click.option(
    "--seed",
    type=int,
    help="With --measure or --audit: seed of the random order and of the blocks.",
)
@host_options
@flag("--wait", "With --measure or --audit: wait until another measuring run ends.")
@flag("-v", "--verbose", "List every comparison.")
@flag("-q", "--quiet", "Print one line.")
@flag("--json", "as_json", "Print the report as JSON.")
@flag("--markdown", "Print the report as Markdown.")
@options_as(CheckOptions)
def command(options: CheckOptions) -> None:
    """Say whether TARGET (HEAD) is slower than BASELINE (its nearest measured ancestor).

    A..B compares every measured commit from A to B with the one before it. Two files, in any format
    that `perf import` reads, are compared without a repository. With --measure, a revision that is
    named twice is measured against itself (A/A), as with --audit. With BENCHMARK, measures only its
    job, and reports only the benchmark.

    Exits with 3 on a degradation that was not accepted, and with 4 if there is nothing to compare
    (with --gate: if nothing was settled).
    """
    from perfvcs.repository import Repository
    from perfvcs.repository.arguments import read

    runs = options.measures or options.audit
    find = cache(lambda: Repository.find(create=runs))
    asked = read(find, options.words, options.wanted, files=True, runs=runs)
    road = options.road(asked)
    if road == "audit":
        _audit(find(), asked, options)
        return
    judged = _of_files(asked, options) if road == "files" else _judged(road, find(), asked, options)
    echo(judged.render(options.form, verbose=options.verbose))
    click.get_current_context().exit(judged.status(gate=options.gate, strict=options.requires_all))


def _of_files(asked: Arguments, options: CheckOptions) -> FileCheck:
    """The check of two files."""
    from perfvcs.reports.files import check

    return check(asked.files, options.check_request(), asked.wanted)


def _judged(
    road: Road, repository: Repository, asked: Arguments, options: CheckOptions
) -> Check | Neighbours:
    """The check of a repository's revisions; what only one road takes is imported there."""
    question = options.check_request()
    judged: Check | Neighbours
    if road == "range":
        from perfvcs.reports.neighbours import neighbours

        judged = neighbours(repository, asked.span, question)
    elif road == "measured":
        judged = _measured(repository, asked, options)
    else:
        from perfvcs.reports.check import judge

        judged = judge(repository, asked.revisions, question)
    judged = judged.of(asked.benchmarks)
    if options.gate:
        _require_trust(repository, judged.checks, question)
    return judged


def _measured(repository: Repository, asked: Arguments, options: CheckOptions) -> Check:
    """The check after measuring; what that takes is imported only here."""
    from perfvcs.reports.inturns import measure

    with measuring(repository, scheduler=options.scheduler, quiet=options.form != "text") as rig:
        return measure(
            rig,
            asked.revisions,
            options.request(asked.benchmarks),
            options.check_request(),
            select=options.sample if options.select else None,
        )


def _require_trust(repository: Repository, checks: Sequence[Check], asked: CheckRequest) -> None:
    """Refuse a gate whose stored audits show too many false alarms."""
    from perfvcs.reports.audit import require

    if checks:
        changes, last = [change for check in checks for change in check.report.changes], checks[-1]
        rules = repository.criteria_reader.rules(last.baseline.commit, last.target.commit).rules
        require(repository, last.target, changes, asked, rules)


def _audit(repository: Repository, asked: Arguments, options: CheckOptions) -> None:
    """Measure one revision against itself, and print what all such measurements show."""
    from perfvcs.reports.audit import audit, measure

    question = options.check_request()
    # hosts whose audits failed are measured, too: how else could they be trusted again
    with measuring(
        repository, scheduler=options.scheduler, quiet=options.as_json, trusting=True
    ) as rig:
        outcome = measure(rig, asked.revision, options.request(asked.benchmarks), question)
    figures = audit(repository, asked.revision, question)
    echo(figures.json() if options.as_json else "\n".join(figures.lines()))
    outcome.raise_failures()
