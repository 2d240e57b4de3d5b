"""``perf check``."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import click
from click.core import ParameterSource

from perfvcs.commands._completion import words_or_files
from perfvcs.commands._options import Percent, against, host_options, measuring, options_as, share
from perfvcs.commands._output import Bisecting, echo
from perfvcs.commands._wanted import benchmark_options
from perfvcs.text.examples import examples

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfvcs.check.method import CheckRequest
    from perfvcs.hosts.tls import Scheduler
    from perfvcs.measure.request import Request
    from perfvcs.profile.benchmarkfilter import FilterWords
    from perfvcs.reports.check import Check, Form
    from perfvcs.reports.neighbours import Neighbours
    from perfvcs.repository import Repository
    from perfvcs.repository.arguments import Arguments

MEASURING_OPTIONS = {  # that only say how to measure, by their parameters
    "executions": "-n",
    "seed": "--seed",
    "wait": "--wait",
    "scheduler": "--scheduler",
    "tls_ca": "--tls-ca",
    "tls_cert": "--tls-cert",
    "tls_key": "--tls-key",
    "insecure": "--insecure",
}


class CheckOptions(NamedTuple):
    """What `perf check` was asked for."""

    words: tuple[str, ...]
    wanted: FilterWords
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

    def check_request(self) -> CheckRequest:
        """What is asked of the comparison."""
        from perfvcs.check.method import CheckRequest

        return CheckRequest(self.method, share(self.delta), share(self.within))

    def request(self, jobs: tuple[str, ...]) -> Request:
        """What is asked of the measurement of some jobs; none: of all."""
        from perfvcs.measure.request import Request

        return Request(
            jobs=jobs,
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
    "words",
    nargs=-1,
    metavar="[[BASELINE] TARGET | A..B | FILE FILE] [BENCHMARK]",
    shell_complete=words_or_files,
)
@benchmark_options("measured")
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
    named twice is measured against itself (A/A), as with --audit. With BENCHMARK, measures only its
    job, and reports only the benchmark.

    Exits with 3 on a degradation that was not accepted, and with 4 if there is nothing to compare
    (with --gate: if nothing was settled).
    """
    from perfvcs.reports.check import judge
    from perfvcs.repository import Repository
    from perfvcs.repository.arguments import read

    runs = options.measures or options.audit
    find = cache(lambda: Repository.find(create=runs))
    asked = read(find, options.words, options.wanted, files=True, runs=runs)
    if asked.files:
        _check_files(asked, options)
        return
    span = next((revision for revision in asked.revisions if ".." in revision), None)
    _require_sides(options, asked.revisions, span)
    if options.select and not options.measures:
        raise click.UsageError(
            "--select goes with --measure; `perf select` lists what it would leave out"
        )
    if options.audit:
        _audit(find(), asked, options)
        return
    _require_measuring(options)
    repository, question = find(), options.check_request()
    judged: Check | Neighbours
    if span:
        from perfvcs.reports.neighbours import neighbours

        judged = neighbours(repository, span, question)
    elif options.measures:
        judged = _measured(repository, asked, options)
    else:
        judged = judge(repository, asked.revisions, question)
    judged = judged.of(asked.benchmarks)
    if options.gate:
        _require_trust(repository, judged.checks, question)
    echo(judged.render(options.form, verbose=options.verbose))
    click.get_current_context().exit(judged.status(gate=options.gate, strict=options.requires_all))


def _require_sides(options: CheckOptions, revisions: Sequence[str], span: str | None) -> None:
    """Refuse more sides than are compared."""
    if len(revisions) > (2 if span is None else 1):
        raise click.UsageError("at most a baseline and a target can be named, or one range A..B")
    if span and options.measures:
        raise click.UsageError(
            f"--measure takes two revisions; measure the range with `perf collect {span}`, then"
            " check it"
        )
    products = options.against
    if products and (len(products) > 1 or len(revisions) > 1):
        raise click.UsageError(
            "--against compares one revision with one product; measure several with `perf collect"
            " --against`"
        )


def _require_measuring(options: CheckOptions) -> None:
    """Refuse what only says how to measure where nothing is measured."""
    given = _given()
    needless = next((option for name, option in MEASURING_OPTIONS.items() if name in given), None)
    if needless and not options.measures:
        raise click.UsageError(
            f"{needless} goes with --measure or --audit: what is stored is compared here"
        )
    if not options.select and "sample" in given:
        raise click.UsageError(
            "--sample goes with --select: it is one in so many of what that leaves out"
        )


def _given() -> set[str]:
    """The parameters that the command line has."""
    context = click.get_current_context()
    return {
        name
        for name in context.params
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    }


def _check_files(asked: Arguments, options: CheckOptions) -> None:
    """Compare two files; options that measure do not go with them."""
    from perfvcs.reports.files import check

    others = (options.measures, options.audit, options.select)
    if any(others) or _given() & MEASURING_OPTIONS.keys():
        raise click.UsageError(
            "two files are compared without measuring: leave out --measure, --audit, -n and other"
            " options that measure"
        )
    judged = check(asked.files, options.check_request(), asked.wanted)
    echo(judged.render(options.form, verbose=options.verbose))
    click.get_current_context().exit(judged.status(gate=options.gate, strict=options.requires_all))


def _measured(repository: Repository, asked: Arguments, options: CheckOptions) -> Check:
    """The check after measuring; what that takes is imported only here."""
    from perfvcs.reports.check import measure

    with measuring(repository, scheduler=options.scheduler, quiet=options.form != "text") as rig:
        return measure(
            rig,
            asked.revisions,
            options.request(asked.benchmarks.jobs),
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

    revisions = asked.revisions
    if len(revisions) > 1 or any(".." in revision for revision in revisions):
        raise click.UsageError("--audit takes one revision, which is measured against itself")
    if options.measures or options.gate or options.markdown or options.quiet:
        raise click.UsageError(
            "--audit cannot be combined with --measure, --gate, --markdown or --quiet"
        )
    question = options.check_request()
    # hosts whose audits failed are measured, too: how else could they be trusted again
    with measuring(
        repository, scheduler=options.scheduler, quiet=options.as_json, trusting=True
    ) as rig:
        outcome = measure(rig, asked.revision, options.request(asked.benchmarks.jobs), question)
    figures = audit(repository, asked.revision, question)
    echo(figures.json() if options.as_json else "\n".join(figures.lines()))
    outcome.raise_failures()
