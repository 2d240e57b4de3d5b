"""``perf export``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from perfvcs.commands._completion import words
from perfvcs.commands._options import FilePath, flag, format_option
from perfvcs.commands._output import echo
from perfvcs.commands._wanted import Naming, benchmark_options
from perfvcs.text.examples import examples
from perfvcs.text.words import counted, listed

if TYPE_CHECKING:
    from perfvcs.profile.benchmarkfilter import FilterWords


MOST_IDS = 6  # of profiles that a message lists


@examples(
    ("perf export HEAD -o profiles/", "a file for each profile"),
    ("perf export --table values.csv", "all values as one table"),
)
@click.command(cls=Naming)
@click.argument(
    "names", nargs=-1, metavar="[REVISION|PROFILE]... [BENCHMARK]", shell_complete=words
)
@click.option(
    "--format",
    "format_name",
    metavar="NAME",
    default="perfvcs",
    show_default=True,
    help="Format of the files, such as csv or speedscope.",
)
@format_option
@benchmark_options()
@click.option(
    "-o",
    "--output",
    type=click.Path(allow_dash=True),
    metavar="FILE|FOLDER|-",
    default="-",
    help="Destination; standard output by default. A folder ends with /, if it is new.",
)
@click.option(
    "--table",
    type=FilePath(path_type=Path),
    metavar="FILE",
    help="Write all values as one table: .csv, .jsonl, .parquet or .arrow.",
)
@click.option(
    "--bundle",
    type=FilePath(path_type=Path),
    metavar="FILE",
    help="Write profiles to FILE for a CI job that may push; `perf import` reads it.",
)
@flag("-f", "--force", "Overwrite existing files.")
def command(
    names: tuple[str, ...],
    wanted: FilterWords,
    format_name: str,
    pairs: tuple[str, ...],
    output: str,
    table: Path | None,
    bundle: Path | None,
    *,
    force: bool,
) -> None:
    """Write profiles to files: all profiles of a revision (HEAD), or single profiles by path or id.

    Several profiles become one file each, in the folder given with -o. --table writes one row per
    value to a single file; it takes all stored profiles unless you name revisions or ranges A..B.
    --bundle takes the profiles not pushed yet, unless you name revisions. With BENCHMARK, only its
    rows are written; --bundle takes the profiles that have them.
    """
    if table is not None or bundle is not None:
        alone = (format_name, pairs, output) == ("perfvcs", (), "-") and (
            table is None or bundle is None
        )
        if not alone:
            raise click.UsageError(
                "--table and --bundle name their own file and format: leave the other, --format,"
                " --option and -o out"
            )
        _one_file(table, bundle, names, wanted, force=force)
        return
    from perfvcs.errors import UsageError
    from perfvcs.exchange import is_folder
    from perfvcs.exchange.delivery import documents, into_file, into_folder
    from perfvcs.formats import parse_options, together
    from perfvcs.repository import Repository
    from perfvcs.repository.arguments import read_profiles
    from perfvcs.repository.lookup import paths_of

    options = parse_options(format_name, pairs)
    repository = Repository.find()
    asked = read_profiles(repository, names, wanted)
    paths = list(
        dict.fromkeys(
            path
            for name in asked.revisions or ("HEAD",)
            for path in paths_of(repository, name, asked.benchmarks)
        )
    )
    files = documents(repository, paths, format_name, options, asked.benchmarks)
    several = len(paths) > 1 and together(format_name) != "file"
    path = Path(output)
    if output.endswith("/") or is_folder(path) or (output != "-" and several):
        written = into_folder(path, files, force=force)
        whole = together(format_name) or written == len(paths)
        those = counted(len(paths) if whole else written, "profile")
        others = "" if whole else f"; {len(paths) - written} have no call stacks"
        echo(f"wrote {those} into {path}{others}")
        return
    if several:
        ids = [path.removesuffix(".json").rpartition("-")[2] for path in paths]
        raise UsageError(
            f"these are {len(paths)} profiles: name a folder (-o FOLDER/), or one of them by its"
            f" id: {listed(ids, MOST_IDS)}"
        )
    _, document = next(files)
    if output == "-":
        _print(document)
        return
    into_file(path, document, force=force)
    echo(f"wrote {path}")


def _one_file(
    table: Path | None,
    bundle: Path | None,
    names: tuple[str, ...],
    wanted: FilterWords,
    *,
    force: bool,
) -> None:
    from perfvcs.exchange.delivery import write_bundle, write_table
    from perfvcs.repository import Repository
    from perfvcs.repository.arguments import read_profiles

    repository = Repository.find()
    asked = read_profiles(repository, names, wanted)
    chosen = repository, asked.revisions, asked.benchmarks
    if table is not None:
        echo(f"wrote {counted(write_table(*chosen, table, force=force), 'value')} to {table}")
    if bundle is not None:
        echo(f"wrote {counted(write_bundle(*chosen, bundle, force=force), 'profile')} to {bundle}")


def _print(document: bytes) -> None:
    """The bytes as they are into a file or pipe; for eyes on a terminal."""
    if sys.stdout.isatty():
        echo(document.decode(errors="replace").rstrip("\n"))
    else:
        click.echo(document, nl=False)  # noqa: TID251
