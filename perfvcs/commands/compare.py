"""``perf compare``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from perfvcs.commands._options import FilePath, budget_option, flag, options_as
from perfvcs.commands._output import echo
from perfvcs.text.examples import examples

if TYPE_CHECKING:
    from perfvcs.measure.commandturns import Comparison
    from perfvcs.measure.typedcommand import TypedCommand

ARGVS = "perfvcs.argvs"  # commands behind `--`, as words
METRICS = ("wall", "cpu", "maxrss", "instructions")
BY_SUFFIX = {
    "": "hyperfine",
    ".json": "hyperfine",
    ".csv": "csv",
    ".tsv": "csv",
    ".prom": "openmetrics",
}


class Typing(click.Command):
    """Commands as texts, and behind each ``--`` one as words."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does, up to the first ``--``."""
        before, *behind = _parted(args)
        if any(not words for words in behind):
            raise click.UsageError("behind -- stands a command", ctx)
        ctx.meta[ARGVS] = [tuple(words) for words in behind]
        return super().parse_args(ctx, before)


def _parted(args: list[str]) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for word in args:
        if word == "--":
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def _metrics(ctx: click.Context, parameter: click.Parameter, text: str) -> tuple[str, ...]:
    """The metrics of a list; refuses unknown ones."""
    from perfvcs.errors import nearest

    names = tuple(dict.fromkeys(filter(None, text.split(","))))
    for name in names:
        if name not in METRICS:
            raise click.BadParameter(
                f"there is no metric `{name[:60]}`{nearest(name, METRICS)}", ctx, parameter
            )
    return names or ("wall",)


class CompareOptions(NamedTuple):
    """What `perf compare` was asked for."""

    texts: tuple[str, ...]
    prepare: tuple[str, ...]
    setup: tuple[str, ...]
    cleanup: tuple[str, ...]
    warmup: int
    stdin: str | None
    scans: tuple[str, ...]
    lists: tuple[tuple[str, str], ...]
    ignore_failure: bool
    metrics: tuple[str, ...]
    budget: float
    export: Path | None
    format_name: str
    force: bool
    as_json: bool


@examples(
    ("perf compare 'python3 -c 1' 'python3 -S -c 1'", "which is quicker?"),
    ("perf compare -P n=1..3 'seq {n}00000'", "one with each value of n"),
)
@click.command(cls=Typing)
@click.argument("texts", nargs=-1, metavar="[COMMAND]... [-- WORD...]...")
@click.option(
    "--prepare",
    multiple=True,
    metavar="COMMAND",
    help="Run this before every run, untimed; once for all commands, or once for each.",
)
@click.option("--setup", multiple=True, metavar="COMMAND", help="The same, once before all runs.")
@click.option("--cleanup", multiple=True, metavar="COMMAND", help="The same, once after all runs.")
@click.option(
    "-w",
    "--warmup",
    type=click.IntRange(0, 1000),
    default=1,
    show_default=True,
    metavar="N",
    help="Runs of each command that do not count.",
)
@click.option(
    "--stdin",
    type=FilePath(exists=True, readable=True),
    metavar="FILE",
    help="What all commands read; without it their input is empty.",
)
@click.option(
    "-P",
    "--parameter-scan",
    "scans",
    multiple=True,
    metavar="NAME=A..B[..STEP]",
    help="Run commands with {NAME} once for each number.",
)
@click.option(
    "-L",
    "--parameter-list",
    "lists",
    multiple=True,
    type=(str, str),
    metavar="NAME A,B,...",
    help="Run commands with {NAME} once for each value.",
)
@flag("-i", "--ignore-failure", "Measure commands that exit with another status.")
@click.option(
    "-m",
    "--metric",
    "metrics",
    default="wall",
    show_default=True,
    metavar="NAME,...",
    callback=_metrics,
    help=f"What is compared: {', '.join(METRICS)}.",
)
@budget_option("Decide within this time, or say that it is not decided.", "120s")
@click.option(
    "-o",
    "--export",
    type=FilePath(path_type=Path),
    metavar="FILE",
    help="Write all executions to FILE.",
)
@click.option(
    "--format",
    "format_name",
    default="",
    metavar="NAME",
    show_default="hyperfine, or by the suffix",
    help="Format of that file, as `perf export` has them.",
)
@flag("-f", "--force", "Overwrite an existing file.")
@flag("--json", "as_json", "Print JSON.")
@options_as(CompareOptions)
def command(options: CompareOptions) -> None:
    """Say which COMMAND is quicker: each is compared with the first one.

    Works anywhere, and stores nothing. The commands run in turns until it is decided. A text runs
    in /bin/sh where it needs a shell, else by itself; behind -- stand the words of a command. The
    time of the shell or of the launcher is taken out. One command alone is measured.

    Exits with 5 if a command fails.
    """
    from perfvcs.measure.commandturns import ComparisonPlan, compare_commands
    from perfvcs.measure.progress import shown
    from perfvcs.reports.compare import json, lines

    commands = _commands(options)
    name = _format(options)
    plan = ComparisonPlan(
        options.metrics,
        options.warmup,
        options.budget,
        Path(options.stdin).absolute() if options.stdin else None,
        options.ignore_failure,
    )
    with shown(quiet=options.as_json, doing="comparing") as progress:
        comparison = compare_commands(commands, plan, progress)
    echo(json(comparison) if options.as_json else "\n".join(lines(comparison, options.metrics)))
    if options.export is not None:
        _write(comparison, options.export, name, force=options.force)


def _commands(options: CompareOptions) -> list[TypedCommand]:
    from perfvcs.measure.typedcommand import Around, expanded, scanned, values

    typed = [*options.texts, *click.get_current_context().meta[ARGVS]]
    if not typed:
        raise click.UsageError("name a command, or several: perf compare 'CMD A' 'CMD B'")
    parameters = [*map(scanned, options.scans), *(values(*given) for given in options.lists)]
    around = Around(options.prepare, options.setup, options.cleanup)
    return expanded(typed, parameters, around)


def _format(options: CompareOptions) -> str:
    """The format of the file; all that would keep it from being written is said before anything
    runs.
    """
    from perfvcs.errors import UsageError
    from perfvcs.formats import members, together

    path = options.export
    if path is None:
        if options.format_name:
            raise click.UsageError("--format is that of a file: name it with --export FILE")
        return ""
    name = options.format_name or BY_SUFFIX.get(path.suffix, "")
    if not name:
        raise UsageError(
            f"{path.name[:60]} does not end like a format: take .json (hyperfine's) or .csv, or"
            " name one with --format"
        )
    if name not in members("encode") or together(name) == "folder":
        raise UsageError(f"the format `{name[:60]}` cannot be written as a file: see --help")
    if path.exists() and not options.force:
        raise UsageError(f"{path} already exists: --force overwrites it")
    if not path.parent.is_dir():
        raise UsageError(f"{path.parent} is not a folder: make it, or choose another --export")
    return name


def _write(comparison: Comparison, path: Path, name: str, *, force: bool) -> None:
    from perfvcs.exchange.delivery import into_file
    from perfvcs.formats import encode

    into_file(path, encode(comparison.profile, name), force=force)
    echo(f"wrote {path}", err=True)
