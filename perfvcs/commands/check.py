"""``perf check``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

import click
from click.core import ParameterSource

from perfvcs.commands._completion import sides
from perfvcs.commands._options import (
    Percent,
    against,
    host_options,
    job_option,
    measuring,
    options_as,
    share,
)
from perfvcs.commands._output import Bisecting, echo
from perfvcs.text.examples import examples

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from perfvcs.check.method import CheckRequest
    from perfvcs.hosts.tls import Scheduler
    from perfvcs.measure.request import Request
    from perfvcs.reports.check import Check, Form
    from perfvcs.reports.neighbours import Neighbours
    from perfvcs.repository import Repository


class CheckOptions(NamedTuple):
    """What `perf check` was asked for."""

    revisions: tuple[str, ...]
    measure: bool
    against: tuple[str, ...]
    gate: bool
    audit: bool
    strict: bool
    delta: float | None
    within: float | None
    method: str
    select: bool
    sample: int
    jobs: tuple[str, ...]
    bisect_codes: bool
    executions: int | None
    seed: int | None
    scheduler: Scheduler
    wait: bool
    verbose: bool
    quiet: bool
    as_json: bool
    markdown: bool

    @property
    def measures(self) -> bool:
        """Whether two sides are measured in turns."""
        return self.measure or bool(self.against)

    @property
    def form(self) -> Form:
        """The form of the report."""
        if self.as_json:
            return "json"
        if self.markdown:
            return "markdown"
        return "line" if self.quiet else "text"

    @property
    def requires_all(self) -> bool:
        """Whether everything has to be settled."""
        return self.strict or self.bisect_codes

    @property
    def measuring_options(self) -> dict[str, bool]:
        """Which of the options were given that only say how to measure."""
        return {
            "-j": bool(self.jobs),
            "-n": self.executions is not None,
            "--seed": self.seed is not None,
            "--wait": self.wait,
            "--scheduler": bool(self.scheduler),
        }

    def check_request(self) -> CheckRequest:
        """What is asked of the comparison."""
        from perfvcs.check.method import CheckRequest

        return CheckRequest(self.method, share(self.delta), share(self.within))

    def request(self) -> Request:
        """What is asked of the measurement."""
        from perfvcs.measure.request import Request

        return Request(
            jobs=self.jobs,
            executions=self.executions,
            seed=self.seed,
            wait=self.wait,
            against=self.against,
            scheduler=self.scheduler.address,
        )


@examples(
    ("perf check HEAD~1 HEAD", "compare what is stored"),
    ("perf check --measure HEAD~1 HEAD", "measure both in turns first"),
)
@click.command(cls=Bisecting)
@click.argument(
    "revisions", nargs=-1, metavar="[[BASELINE] TARGET | A..B | FILE FILE]", shell_complete=sides
)
@click.option(
    "--measure", is_flag=True, help="Measure undecided benchmarks, both revisions in turns."
)
@against
@click.option("--gate", is_flag=True, help="Fail only if the whole interval lies beyond delta.")
@click.option(
    "--audit",
    is_flag=True,
    help="Measure TARGET against itself and report how often that raises a false alarm.",
)
@click.option("--strict", is_flag=True, help="Exit with 4 if a comparison is inconclusive.")
@click.option(
    "--delta",
    metavar="PERCENT",
    type=Percent(),
    show_default="by metric, mostly 1",
    help="Smallest change that counts; exact metrics have none.",
)
@click.option(
    "--within",
    metavar="PERCENT",
    type=Percent(),
    help="Count a comparison as settled if its interval lies within ±PERCENT.",
)
@click.option(
    "--method", metavar="NAME", default="auto", show_default=True, help="Method of comparison."
)
@click.option(
    "--select", is_flag=True, help="With --measure: leave out what the change cannot touch."
)
@click.option(
    "--sample",
    metavar="N",
    type=click.IntRange(0),
    default=20,
    show_default=True,
    help="With --select: measure one in N of those anyway.",
)
@job_option(
    "measured",
    help="With --measure or --audit: measure only this job of perf.toml; may be repeated.",
)
@click.option(
    "--bisect-codes",
    is_flag=True,
    help="Exit as `git bisect run` expects: 0 good, 1 bad, 125 not settled.",
)
@click.option(
    "-n",
    "--executions",
    type=click.IntRange(1),
    help="With --measure or --audit: exact number of pairs.",
)
@click.option(
    "--seed",
    type=int,
    help="With --measure or --audit: seed of the random order and of the blocks.",
)
@host_options
@click.option(
    "--wait", is_flag=True, help="With --measure or --audit: wait until another measuring run ends."
)
@click.option("-v", "--verbose", is_flag=True, help="List every comparison.")
@click.option("-q", "--quiet", is_flag=True, help="Print one line.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option("--markdown", is_flag=True, help="Print the report as Markdown.")
@options_as(CheckOptions)
def command(options: CheckOptions) -> None:
    """Say whether TARGET (HEAD) is slower than BASELINE (its nearest measured ancestor).

    A..B compares every measured commit from A to B with the one before it. Two files, in any format
    that `perf import` reads, are compared without a repository. With --measure, a revision that is
    named twice is measured against itself (A/A), as with --audit.

    Exits with 3 on a degradation that was not accepted, and with 4 if there is nothing to compare
    (with --gate: if nothing was settled).
    """
    revisions = options.revisions
    if files := _files(revisions):
        _check_files(files, options)
        return
    from perfvcs.reports.check import judge
    from perfvcs.repository import Repository

    span = next((revision for revision in revisions if ".." in revision), None)
    _require_sides(options, span)
    if options.select and not options.measures:
        raise click.UsageError(
            "--select goes with --measure; `perf select` lists what it would leave out"
        )
    if options.audit:
        _audit(options)
        return
    _require_measuring(options)
    repository, asked = Repository.find(create=options.measures), options.check_request()
    judged: Check | Neighbours
    if span:
        from perfvcs.reports.neighbours import neighbours

        judged = neighbours(repository, span, asked)
    elif options.measures:
        judged = _measured(repository, options)
    else:
        judged = judge(repository, revisions, asked)
    if options.gate:
        _require_trust(repository, judged.checks, asked)
    echo(judged.render(options.form, verbose=options.verbose))
    click.get_current_context().exit(judged.status(gate=options.gate, strict=options.requires_all))


def _require_sides(options: CheckOptions, span: str | None) -> None:
    """Refuse more sides than are compared."""
    if len(options.revisions) > (2 if span is None else 1):
        raise click.UsageError("at most a baseline and a target can be named, or one range A..B")
    if span and options.measures:
        raise click.UsageError(
            f"--measure takes two revisions; measure the range with `perf collect {span}`, then"
            " check it"
        )
    products = options.against
    if products and (len(products) > 1 or len(options.revisions) > 1):
        raise click.UsageError(
            "--against compares one revision with one product; measure several with `perf collect"
            " --against`"
        )


def _require_measuring(options: CheckOptions) -> None:
    """Refuse what only says how to measure where nothing is measured."""
    for option, given in options.measuring_options.items():
        if given and not options.measures:
            raise click.UsageError(
                f"{option} goes with --measure or --audit: what is stored is compared here"
            )
    source = click.get_current_context().get_parameter_source("sample")
    if not options.select and source is ParameterSource.COMMANDLINE:
        raise click.UsageError(
            "--sample goes with --select: it is one in so many of what that leaves out"
        )


def _files(names: tuple[str, ...]) -> list[Path]:
    """The files that are named; what finds them is imported only where there are some."""
    if not any(map(os.path.isfile, names)):
        return []
    from perfvcs.reports.files import named_files

    return named_files(names)


def _check_files(files: list[Path], options: CheckOptions) -> None:
    """Compare two files; options that measure do not go with them."""
    from perfvcs.reports.files import check

    others = (options.measures, options.audit, options.select)
    if any(others) or any(options.measuring_options.values()):
        raise click.UsageError(
            "two files are compared without measuring: leave out --measure, --audit, -n and other"
            " options that measure"
        )
    judged = check(files, options.check_request())
    echo(judged.render(options.form, verbose=options.verbose))
    click.get_current_context().exit(judged.status(gate=options.gate, strict=options.requires_all))


def _measured(repository: Repository, options: CheckOptions) -> Check:
    """The check after measuring; what that takes is imported only here."""
    from perfvcs.reports.check import measure

    with measuring(repository, scheduler=options.scheduler, quiet=options.form != "text") as rig:
        return measure(
            rig,
            options.revisions,
            options.request(),
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


def _audit(options: CheckOptions) -> None:
    """Measure one revision against itself, and print what all such measurements show."""
    from perfvcs.reports.audit import audit, measure
    from perfvcs.repository import Repository

    revisions = options.revisions
    if len(revisions) > 1 or any(".." in revision for revision in revisions):
        raise click.UsageError("--audit takes one revision, which is measured against itself")
    if options.measures or options.gate or options.markdown or options.quiet:
        raise click.UsageError(
            "--audit cannot be combined with --measure, --gate, --markdown or --quiet"
        )
    revision = revisions[0] if revisions else "HEAD"
    repository, asked = Repository.find(create=True), options.check_request()
    # hosts whose audits failed are measured, too: how else could they be trusted again
    with measuring(
        repository, scheduler=options.scheduler, quiet=options.as_json, trusting=True
    ) as rig:
        outcome = measure(rig, revision, options.request(), asked)
    figures = audit(repository, revision, asked)
    echo(figures.json() if options.as_json else "\n".join(figures.lines()))
    outcome.raise_failures()
