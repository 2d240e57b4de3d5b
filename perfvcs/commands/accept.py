"""``perf accept``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from perfvcs.commands._completion import degradations
from perfvcs.commands._options import flag
from perfvcs.commands._output import echo
from perfvcs.text.examples import examples

if TYPE_CHECKING:
    from datetime import datetime

    from perfvcs.repository import Repository


@examples(
    ("perf accept list.sort:wall --reason 'stable now'", "one that was reported"),
    ("perf accept --list", "what is accepted"),
)
@click.command()
@click.argument("changes", nargs=-1, metavar="CHANGE...", shell_complete=degradations)
@click.option("-r", "--reason", metavar="TEXT", help="Reason, for later readers.")
@flag("--blame", "blamed", "Add to the reason the function that `perf blame` named.")
@click.option(
    "--until",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="DATE",
    help="First day (YYYY-MM-DD) on which the acceptance no longer holds.",
)
@flag(
    "--renew",
    "renewing",
    "Renew what was accepted for commits that a squash or a rebase has replaced: CHANGE, or"
    " all of it.",
)
@flag(
    "--ratchet",
    "Lower the limits of perf.toml that have `ratchet = true`, where a better level lasts.",
)
@flag("--list", "listing", "List the acceptances.")
@click.option(
    "--remove",
    "removed",
    multiple=True,
    metavar="ID",
    help="Withdraw an acceptance; may be repeated.",
)
@flag("--json", "as_json", "Print JSON.")
def command(
    changes: tuple[str, ...],
    reason: str | None,
    until: datetime | None,
    *,
    blamed: bool,
    renewing: bool,
    ratchet: bool,
    listing: bool,
    removed: tuple[str, ...],
    as_json: bool,
) -> None:
    """Accept degradations that `perf check` reported, so that they no longer fail the check.

    CHANGE is an id from a report, or BENCHMARK or BENCHMARK:METRIC from the last report.
    Acceptances are kept in perf-accepted.toml: commit that file.
    """
    from datetime import date

    from perfvcs.reports import accepted as report
    from perfvcs.reports.accept import accept
    from perfvcs.repository import Repository
    from perfvcs.text.characters import COLUMNS
    from perfvcs.text.wrapping import wrap

    asked = [bool(changes) and not renewing, bool(removed), listing, renewing, ratchet]
    if sum(asked) > 1 or not (any(asked) or as_json):
        raise click.UsageError(
            "name what to accept, or use one of --list, --remove, --renew and --ratchet"
        )
    accepting = bool(changes) and not renewing
    if accepting and reason is None:
        raise click.UsageError("say why with --reason TEXT")
    if not accepting and (reason is not None or until is not None or blamed):
        raise click.UsageError(
            "--reason, --blame and --until are for what is accepted now: name it"
        )
    repository, levels = Repository.find(), dict[str, str]()
    if ratchet:
        _tighten(repository, as_json=as_json)
        return
    if accepting:
        acceptances = accept(
            repository, changes, reason or "", until.date() if until else None, blamed=blamed
        )
    elif removed:
        acceptances = report.take_back(repository, removed)
    elif renewing:
        renewals = report.renew(repository, changes)
        acceptances = [renewal.acceptance for renewal in renewals]
        levels = {renewal.acceptance.id: renewal.level for renewal in renewals}
    else:
        acceptances = report.accepted(repository)
    if as_json:
        echo(report.json(acceptances, date.today()))
        return
    if not (changes or removed or renewing):
        listed = list(report.lines(acceptances, date.today()))
        echo("\n".join(listed) or "nothing is accepted")
        return
    word = "no longer accepted:" if removed else "accepted"
    for acceptance in acceptances:
        level = levels.get(acceptance.id, "")
        sentence = f"{word} {acceptance.id}  {report.described(acceptance)}{level}"
        echo("\n".join(wrap(sentence, COLUMNS, subsequent_indent="    ")))
    echo("commit perf-accepted.toml, so that it holds for everybody")


def _tighten(repository: Repository, *, as_json: bool) -> None:
    """Lower limits, and print which."""
    from perfvcs.reports.ratchet import said, tighten
    from perfvcs.text.document import json_text

    lowerings = tighten(repository)
    limits = [lowering.limit for lowering in lowerings]
    echo(json_text({"lowered": limits}) if as_json else "\n".join(said(lowerings)))
