"""``perf import``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from perfvcs.commands._options import flag, format_option
from perfvcs.commands._output import echo
from perfvcs.text.examples import examples

if TYPE_CHECKING:
    from perfvcs.repository import Repository

PROGRESS_FILES = 20  # files from which on progress is worth showing


@examples(
    ("perf import results.json", "file it under HEAD"),
    ("perf import results.json --commit v1.0", "file it under v1.0"),
)
@click.command()
@click.argument(
    "files",
    nargs=-1,
    required=True,
    metavar="FILE|FOLDER|-...",
    type=click.Path(path_type=Path, allow_dash=True),
)
@click.option(
    "--commit",
    "revisions",
    multiple=True,
    metavar="REV",
    help="Commit to file the profiles under: once for all files, or once per file.",
)
@click.option(
    "--map",
    "renamed",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File with old and new commit ids, a pair per line, for a rewritten history.",
)
@click.option(
    "--name", default="", help="Name of the benchmark; only profiles of one name are compared."
)
@flag("--in-turns", "The files were measured in turns: compare them run by run.")
@click.option(
    "--format",
    "format_name",
    metavar="NAME",
    help="Format of the files, such as csv or hyperfine; guessed by default.",
)
@format_option
@click.option(
    "--regex",
    metavar="EXPRESSION",
    help="Read lines of text: named groups are the value, and its name, unit, metric and size.",
)
@flag("-q", "--quiet", "Print only errors.")
def command(
    files: tuple[Path, ...],
    revisions: tuple[str, ...],
    renamed: Path | None,
    name: str,
    *,
    in_turns: bool,
    format_name: str | None,
    pairs: tuple[str, ...],
    regex: str | None,
    quiet: bool,
) -> None:
    """Store profiles from files; a broken file is reported, and the others are still stored.

    Reads every file with a known suffix in a folder, and the objects in Perun's .perun folder; -
    reads standard input. Files may be compressed (gzip, zlib). Profiles whose file does not name a
    commit are filed under HEAD.

    The options of csv name the columns (uid=function size=n execution=run metrics=ms,mem) and
    describe the metrics (unit.ms=ms better.rate=higher); see
    docs/exchange/csv.md.
    """
    from perfvcs.exchange import is_bundle, is_folder
    from perfvcs.exchange.intake import Intake, renamings
    from perfvcs.exchange.sources import STDIN
    from perfvcs.formats import parse_options
    from perfvcs.measure.progress import shown
    from perfvcs.repository import Repository
    from perfvcs.text.characters import shorten

    if regex is not None:
        if format_name not in (None, "log"):
            raise click.UsageError("--regex reads lines of text: leave out --format")
        format_name, pairs = "log", (*pairs, f"regex={regex}")
    if pairs and not format_name:
        raise click.UsageError("--option needs --format, which says whose option it is")
    if STDIN in files and not format_name:
        raise click.UsageError("- needs --format: standard input has no name to guess it by")
    repository = Repository.find(create=True)
    bundles = [file for file in files if file != STDIN and is_bundle(file)]
    for bundle in bundles:
        if revisions or name or format_name or in_turns:
            raise click.UsageError(
                f"{bundle} is a bundle, which takes no options: import it without them"
            )
    if bundles:
        _pull(repository, bundles, quiet=quiet)
    files = tuple(file for file in files if file not in bundles)
    if not files:
        return
    options = parse_options(format_name, pairs) if format_name else {}
    commits = [repository.project.resolve(revision) for revision in revisions]
    intake = Intake(
        repository=repository,
        commits=commits,
        format_name=format_name,
        options=options,
        name=name,
        in_turns=in_turns,
        renamed=renamings(renamed) if renamed else {},
    )
    few = len(files) < PROGRESS_FILES and not any(map(is_folder, files))
    with shown(quiet=quiet or few, doing="importing") as progress:
        intake.store(
            files, progress, lambda message: echo(f"perf: {shorten(message, 2000)}", err=True)
        )
    if not quiet:
        echo("\n".join(intake.lines()))
    if intake.defect:
        raise intake.defect
    if intake.first_error:
        click.get_current_context().exit(intake.first_error.exit_code)


def _pull(repository: Repository, bundles: Sequence[Path], *, quiet: bool) -> None:
    """Take what bundles hold, one after the other; raises what one of them refuses."""
    from perfvcs.exchange.sharing import pull_from

    for bundle in bundles:
        pulled = pull_from(repository, str(bundle.absolute()))
        if not quiet:
            echo("\n".join(pulled.lines()))
        pulled.raise_refused()
