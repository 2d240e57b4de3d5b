"""``perf judge``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from perfvcs.commands._completion import words as complete_words
from perfvcs.commands._options import budget_option, flag, measuring, options_as
from perfvcs.commands._output import echo
from perfvcs.commands._wanted import Naming, benchmark_options
from perfvcs.text.examples import examples

if TYPE_CHECKING:
    from perfvcs.judge.candidate import Target
    from perfvcs.profile.benchmarkfilter import FilterWords
    from perfvcs.repository import Repository


class JudgeOptions(NamedTuple):
    """What `perf judge` was asked for."""

    names: tuple[str, ...]
    wanted: FilterWords
    expect: str
    patch: str | None
    tournament: bool
    base: str
    budget: float
    correct: tuple[str, ...]
    hidden: tuple[str, ...]
    same_output: bool
    sandbox: bool
    wait: bool
    as_json: bool


@examples(
    ("perf judge", "is what is not committed faster?"),
    ("perf judge main HEAD --expect not-slower", "does the branch cost anything?"),
)
@click.command(cls=Naming)
@click.argument(
    "names", nargs=-1, metavar="[BASE] [TARGET] [BENCHMARK]", shell_complete=complete_words
)
@benchmark_options("configured")
@click.option(
    "--expect",
    default="faster",
    show_default=True,
    metavar="WHAT",
    help="faster[=5%], not-slower[=2%] or smaller:METRIC[=5%].",
)
@click.option(
    "--patch",
    metavar="FILE",
    type=click.Path(dir_okay=False, exists=True),
    help="Judge BASE with this patch, instead of a TARGET.",
)
@flag("--tournament", "Rank several TARGETs, revisions or files of patches, in one session.")
@click.option(
    "--base", metavar="REVISION", default="HEAD", show_default=True, help="BASE of a tournament."
)
@budget_option("Decide within this time, or say that it is not decided.", "120s")
@click.option(
    "--correct",
    multiple=True,
    metavar="COMMAND",
    show_default="[judge] correct of perf.toml",
    help="The target has to pass this command; may be repeated.",
)
@click.option(
    "--hidden",
    multiple=True,
    metavar="FILE",
    type=click.Path(dir_okay=False, exists=True),
    help="Lay this file over both sides, at its place in the project or, from elsewhere, at the top"
    " by its name: an input that the change's author does not know, and that a job reads there.",
)
@flag("--same-output", "Reject a change that makes a job print something else.")
@flag("--sandbox", "Run both sides without network, and with the rest of the disk read-only.")
@flag("--wait", "Wait for another measuring run instead of failing.")
@flag("--json", "as_json", "Print JSON.")
@options_as(JudgeOptions)
def command(options: JudgeOptions) -> None:
    """Say whether TARGET (the working tree) does what is expected of it against BASE (HEAD), and
    whether the gain is a fair one.

    Measures both sides in turns, now, with the benchmarks and rules of BASE; nothing that was
    stored before counts. With one revision, BASE is compared with the working tree.

    Exits with 0 if the expectation is proved, 3 if it is refuted, 4 if it is not decided, 5 if it
    could not be measured, and 6 if the change is rejected.
    """
    from perfvcs.judge.candidate import Target
    from perfvcs.judge.expectation import read as read_expectation
    from perfvcs.judge.judgerequest import JudgeRequest, of_base
    from perfvcs.judge.ruling import judge
    from perfvcs.judge.tournament import compete
    from perfvcs.reports.judge import json, lines, standing_lines
    from perfvcs.repository import Repository
    from perfvcs.repository.arguments import read

    expectation = read_expectation(options.expect)
    repository = Repository.find(create=True)
    patches = [name for name in options.names if options.tournament and Path(name).is_file()]
    names = tuple(name for name in options.names if name not in patches)
    asked = read(lambda: repository, names, options.wanted)
    if options.tournament:
        revisions = (options.base, *asked.revisions)
    else:
        revisions = asked.at_most(2) or ("HEAD",)
    base = repository.project.resolve(revisions[0])
    settings = of_base(repository.project, base)
    request = JudgeRequest(
        base=base,
        target=Target()
        if options.tournament
        else _target(repository, revisions[1:], options.patch),
        expectation=expectation,
        table=settings.table,
        budget=options.budget,
        correct=options.correct or settings.config.judge.correct,
        hidden=tuple(Path(file).resolve() for file in options.hidden),
        benchmarks=asked.benchmarks,
        wait=options.wait,
        same_output=options.same_output,
        sandbox=options.sandbox,
    )
    with measuring(repository, settings.config, doing="judging") as rig:
        if options.tournament:
            standings = compete(rig, request, _candidates(repository, revisions[1:], patches))
            echo(json(standings) if options.as_json else "\n".join(standing_lines(standings)))
            click.get_current_context().exit(standings.status)
        ruling = judge(rig, request)
    echo(json(ruling) if options.as_json else "\n".join(lines(ruling)))
    click.get_current_context().exit(ruling.status)


def _candidates(
    repository: Repository, revisions: tuple[str, ...], patches: list[str]
) -> list[Target]:
    """What takes part in a tournament."""
    from perfvcs.judge.candidate import Target

    named = [Target(repository.project.resolve(name), name) for name in revisions]
    return named + [Target(patch=Path(name)) for name in patches]


def _target(repository: Repository, revisions: tuple[str, ...], patch: str | None) -> Target:
    """What is judged; raises UsageError for both a revision and a patch."""
    from perfvcs.judge.candidate import Target

    if patch is not None and revisions:
        raise click.UsageError("--patch is applied to BASE: leave TARGET out")
    if patch is not None:
        return Target(patch=Path(patch))
    if revisions:
        return Target(repository.project.resolve(revisions[0]), revisions[0])
    if repository.project.bare:
        raise click.UsageError("a bare repository has no working tree: name a TARGET or a --patch")
    return Target(changes=repository.changes)
