"""``perf check``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from perfvcs.commands._completion import sides
from perfvcs.commands._options import against, executing, host_options, job_option
from perfvcs.commands._output import Bisecting, echo

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from perfvcs.hosts.tls import Tls
    from perfvcs.reports.check import Check, Form
    from perfvcs.reports.neighbours import Neighbours
    from perfvcs.repository import Repository

MEASURING_OPTIONS = {
    "jobs": "-j",
    "executions": "-n",
    "seed": "--seed",
    "wait": "--wait",
    "scheduler": "--scheduler",
}


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
    type=click.FloatRange(0, 1000),
    show_default="by metric, mostly 1",
    help="Smallest change that counts; exact metrics have none.",
)
@click.option(
    "--within",
    metavar="PERCENT",
    type=click.FloatRange(0, 1000),
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
def command(
    revisions: tuple[str, ...],
    *,
    measure: bool,
    gate: bool,
    audit: bool,
    strict: bool,
    delta: float | None,
    within: float | None,
    method: str,
    verbose: bool,
    quiet: bool,
    as_json: bool,
    markdown: bool,
    select: bool,
    sample: int,
    bisect_codes: bool,
    tls: Tls,
    **asked: object,
) -> None:
    """Say whether TARGET (HEAD) is slower than BASELINE (its nearest measured ancestor).

    A..B compares every measured commit from A to B with the one before it. Two files, in any format
    that `perf import` reads, are compared without a repository. With --measure, a revision that is
    named twice is measured against itself (A/A), as with --audit.

    Exits with 3 on a degradation that was not accepted, and with 4 if there is nothing to compare
    (with --gate: if nothing was settled).
    """
    share, bound = (None if value is None else value / 100 for value in (delta, within))
    products = asked["against"]
    measure = measure or bool(products)
    form: Form = "json" if as_json else "markdown" if markdown else "line" if quiet else "text"
    if files := _files(revisions):
        others = (measure, audit, select, *asked.values())
        _check_files(
            files,
            form,
            gate=gate,
            strict=strict or bisect_codes,
            verbose=verbose,
            other=any(others),
            method=method,
            delta=share,
            within=bound,
        )
        return
    from perfvcs.reports.check import judge
    from perfvcs.repository import Repository

    span = next((revision for revision in revisions if ".." in revision), None)
    if len(revisions) > (2 if span is None else 1):
        raise click.UsageError("at most a baseline and a target can be named, or one range A..B")
    if span and measure:
        raise click.UsageError(
            f"--measure takes two revisions; measure the range with `perf collect {span}`, then"
            " check it"
        )
    if isinstance(products, tuple) and products and (len(products) > 1 or len(revisions) > 1):
        raise click.UsageError(
            "--against compares one revision with one product; measure several with `perf collect"
            " --against`"
        )
    if select and not measure:
        raise click.UsageError(
            "--select goes with --measure; `perf select` lists what it would leave out"
        )
    if audit:
        _audit(
            revisions,
            asked,
            as_json=as_json,
            delta=share,
            method=method,
            tls=tls,
            other=measure or gate or markdown or quiet,
        )
        return
    _check_measuring(
        asked | {"scheduler": bool(asked["scheduler"] or tls)}, measure=measure, select=select
    )
    repository = Repository.find(create=measure)
    judged: Check | Neighbours
    if span:
        from perfvcs.reports.neighbours import neighbours

        judged = neighbours(repository, span, method=method, delta=share, within=bound)
    elif measure:
        judged = _measured(
            repository,
            revisions,
            asked,
            silent=form != "text",
            method=method,
            delta=share,
            within=bound,
            select=sample if select else None,
            tls=tls,
        )
    else:
        judged = judge(repository, revisions, method=method, delta=share, within=bound)
    if gate:
        _require_trust(repository, judged.checks, delta=share, method=method)
    echo(judged.render(form, verbose=verbose))
    click.get_current_context().exit(judged.status(gate=gate, strict=strict or bisect_codes))


def _check_measuring(asked: dict[str, object], *, measure: bool, select: bool) -> None:
    """Refuse what only says how to measure where nothing is measured."""
    for name, option in MEASURING_OPTIONS.items():
        value = asked[name]
        if not measure and value is not None and value is not False and value not in ("", ()):
            raise click.UsageError(
                f"{option} goes with --measure or --audit: what is stored is compared here"
            )
    source = click.get_current_context().get_parameter_source("sample")
    if not select and source is ParameterSource.COMMANDLINE:
        raise click.UsageError(
            "--sample goes with --select: it is one in so many of what that leaves out"
        )


def _files(names: tuple[str, ...]) -> list[Path]:
    """The files that are named; what finds them is imported only where there are some."""
    if not any(map(os.path.isfile, names)):
        return []
    from perfvcs.reports.files import named_files

    return named_files(names)


def _check_files(
    files: list[Path],
    form: Form,
    *,
    gate: bool,
    strict: bool,
    verbose: bool,
    other: bool,
    method: str,
    delta: float | None,
    within: float | None,
) -> None:
    """Compare two files; options that measure do not go with them."""
    from perfvcs.reports.files import check

    if other:
        raise click.UsageError(
            "two files are compared without measuring: leave out --measure, --audit, -n and other"
            " options that measure"
        )
    judged = check(files, method=method, delta=delta, within=within)
    echo(judged.render(form, verbose=verbose))
    click.get_current_context().exit(judged.status(gate=gate, strict=strict))


def _measured(
    repository: Repository,
    revisions: tuple[str, ...],
    asked: dict[str, object],
    *,
    silent: bool,
    method: str,
    delta: float | None,
    within: float | None,
    select: int | None,
    tls: Tls,
) -> Check:
    """The check after measuring; what that takes is imported only here."""
    from perfvcs.jobs.config import load
    from perfvcs.measure.progress import shown
    from perfvcs.measure.request import Request
    from perfvcs.profile.rules import RULES_FILE
    from perfvcs.reports.check import measure

    request = Request(**asked)  # type: ignore[arg-type]
    config = load(repository.project.root / RULES_FILE)
    with (
        shown(quiet=silent) as progress,
        executing(request.scheduler, config, progress, tls, repository) as executor,
    ):
        return measure(
            repository,
            revisions,
            request,
            progress,
            method=method,
            delta=delta,
            within=within,
            select=select,
            executor=executor,
        )


def _require_trust(
    repository: Repository, checks: Sequence[Check], *, delta: float | None, method: str
) -> None:
    """Refuse a gate whose stored audits show too many false alarms."""
    from perfvcs.reports.audit import require

    if checks:
        changes, last = [change for check in checks for change in check.report.changes], checks[-1]
        rules = repository.criteria_reader.rules(last.baseline.commit, last.target.commit).rules
        require(repository, last.target, changes, delta=delta, method=method, rules=rules)


def _audit(
    revisions: tuple[str, ...],
    asked: dict[str, object],
    *,
    as_json: bool,
    delta: float | None,
    method: str,
    tls: Tls,
    other: bool,
) -> None:
    """Measure one revision against itself, and print what all such measurements show."""
    from perfvcs.jobs.config import load
    from perfvcs.measure.progress import shown
    from perfvcs.measure.request import Request
    from perfvcs.profile.rules import RULES_FILE
    from perfvcs.reports.audit import audit, measure
    from perfvcs.repository import Repository

    if len(revisions) > 1 or any(".." in revision for revision in revisions):
        raise click.UsageError("--audit takes one revision, which is measured against itself")
    if other:
        raise click.UsageError(
            "--audit cannot be combined with --measure, --gate, --markdown or --quiet"
        )
    revision = revisions[0] if revisions else "HEAD"
    repository = Repository.find(create=True)
    request, config = Request(**asked), load(repository.project.root / RULES_FILE)  # type: ignore[arg-type]
    # hosts whose audits failed are measured, too: how else could they be trusted again
    with (
        shown(quiet=as_json) as progress,
        executing(request.scheduler, config, progress, tls, None) as executor,
    ):
        outcome = measure(repository, revision, request, progress, delta, executor)
    found = audit(repository, revision, delta=delta, method=method)
    echo(found.json() if as_json else "\n".join(found.lines()))
    outcome.raise_failures()
