"""``perf check``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from perfvcs.reports.trial import Trial
    from perfvcs.repository import Repository


@click.command()
@click.argument("revisions", nargs=-1, metavar="[[BASELINE] TARGET]")
@click.option("--measure", is_flag=True, help="Measure what is not decided yet, both revisions in turns.")
@click.option("--gate", is_flag=True, help="Fail only where the whole interval lies beyond delta.")
@click.option("--strict", is_flag=True, help="Exit 4 where a comparison stays inconclusive.")
@click.option("--delta", metavar="PERCENT", type=click.FloatRange(0, 1000), default=1.0, show_default=True,
              help="The smallest change that counts.")  # fmt: skip
@click.option("--method", default="auto", show_default=True, help="How to compare.")
@click.option("-j", "--job", "jobs", multiple=True, metavar="NAME", help="Measure only this job of perf.toml.")
@click.option("-n", "--executions", type=click.IntRange(1), help="With --measure: exactly so many pairs.")
@click.option("--seed", type=int, help="With --measure: fixes the random order.")
@click.option("--wait", is_flag=True, help="With --measure: wait for another measuring run.")
@click.option("-v", "--verbose", is_flag=True, help="List also what stayed the same.")
@click.option("-q", "--quiet", is_flag=True, help="Print one line.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option("--markdown", is_flag=True, help="Print the report as Markdown.")
def command(
    revisions: tuple[str, ...], measure: bool, gate: bool, strict: bool, delta: float, method: str,
    verbose: bool, quiet: bool, as_json: bool, markdown: bool, **asked: object,
) -> None:  # fmt: skip
    """Say whether TARGET (HEAD) is slower than BASELINE (its nearest measured ancestor).

    Exit status 3: a degradation; 4: nothing to compare. The same revision twice is an A/A check of the set-up.
    """
    from perfvcs.reports.trial import judge
    from perfvcs.repository import Repository

    if len(revisions) > 2:
        raise click.UsageError("at most a baseline and a target can be named")
    repository = Repository.find(create=measure)
    if measure:
        trial = _measured(repository, revisions, asked, silent=quiet or as_json or markdown, method=method, delta=delta / 100)
    else:
        trial = judge(repository, revisions, method=method, delta=delta / 100)
    click.echo(trial.render("json" if as_json else "markdown" if markdown else "line" if quiet else "text", verbose=verbose))
    click.get_current_context().exit(trial.status(gate=gate, strict=strict))


def _measured(
    repository: Repository, revisions: tuple[str, ...], asked: dict[str, object], *, silent: bool, method: str, delta: float
) -> Trial:
    """The trial after measuring; what that takes is imported only here."""
    from perfvcs.measure.campaign import Request
    from perfvcs.measure.progress import shown
    from perfvcs.reports.trial import measure

    with shown(quiet=silent) as progress:
        return measure(repository, revisions, Request(**asked), progress, method=method, delta=delta)  # type: ignore[arg-type]
