"""``perf show``."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from perfvcs.commands._completion import words_or_files
from perfvcs.commands._options import FilePath, delta_option, flag
from perfvcs.commands._output import echo
from perfvcs.commands._wanted import Naming, benchmark_options
from perfvcs.text.examples import examples

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from perfvcs.check.subject import Subject
    from perfvcs.profile.benchmarkfilter import FilterWords

# without one of these a browser would have no window, or take the terminal
DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
NARROWEST, WIDEST = 40, 400  # columns


@examples(
    ("perf show HEAD~1 HEAD -o page.html", "two revisions side by side"),
    ("perf show sort --text", "a history in the terminal"),
)
@click.command(cls=Naming)
@click.argument(
    "names",
    nargs=-1,
    metavar="[REVISION [REVISION] | FILE [FILE]] [BENCHMARK]",
    shell_complete=words_or_files,
)
@benchmark_options()
@click.option(
    "-o",
    "--output",
    type=FilePath(path_type=Path, dir_okay=True),
    metavar="FILE",
    help="File to write: .html, .png, .svg, .json, .txt; a table as .md, .csv, .tex.",
)
@click.option("--view", metavar="NAME", help="Draw only this view.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="FIELD=VALUE",
    help="Set a field of the views; may be repeated.",
)
@flag("--text", "as_text", "Draw with characters in the terminal.")
@delta_option("Smallest change that counts.")
@flag("--no-open", "Do not open the page in a browser.")
def command(
    names: tuple[str, ...],
    wanted: FilterWords,
    output: Path | None,
    view: str | None,
    settings: tuple[str, ...],
    *,
    as_text: bool,
    delta: float | None,
    no_open: bool,
) -> None:
    """Draw a revision (HEAD), two revisions side by side, the history of a benchmark, or one or two
    files of profiles. A benchmark beside revisions or files leaves only that.

    The page is one HTML file that works offline. It is written to .perf/pages, or to the cache
    folder if you name files, unless -o names another file. Pictures (.png, .svg) need Chromium.
    """
    from perfvcs.exchange.delivery import into_file
    from perfvcs.reports.export import PAGE_SUFFIX, TEXT, ending, export
    from perfvcs.reports.show import page_of
    from perfvcs.system.disk import is_stream

    kind = TEXT if as_text else PAGE_SUFFIX
    if output is not None:
        kind = ending(output)
    if as_text and kind != TEXT:
        raise click.UsageError(f"--text writes {TEXT} files: leave it out, or name one with -o")
    options = _options(settings)
    subject, place = page_of(names, wanted, delta=delta)
    if as_text and output is None:
        _tell(subject, view, options)
        return
    path = place() if output is None else output.absolute()
    into_file(path, export(subject, kind, view, options), force=True)
    echo(f"wrote {path}", err=is_stream(path))  # a pipe holds the page and nothing else
    if kind == PAGE_SUFFIX and not no_open and sys.stdout.isatty():
        _open(path)


def _options(settings: Iterable[str]) -> dict[str, str]:
    """``FIELD=VALUE`` as pairs; the last of several for a field counts."""
    values = {}
    for setting in settings:
        name, sign, value = setting.partition("=")
        if not sign or not name.strip():
            raise click.UsageError(
                f"--set {setting[:80]!r} has no value: write FIELD=VALUE, such as --set points=500"
            )
        values[name.strip().replace("-", "_")] = value.strip()
    return values


def _tell(subject: Subject, view: str | None, options: Mapping[str, str]) -> None:
    """Print the drawing, as wide as the terminal; in ASCII where that has no other characters."""
    from shutil import get_terminal_size

    from perfvcs.reports.export import text
    from perfvcs.text.characters import COLUMNS, ascii_only, fits

    drawn = text(
        subject,
        view,
        options,
        max(NARROWEST, min(get_terminal_size((COLUMNS, 24)).columns, WIDEST)),
    )
    echo(drawn if fits(sys.stdout.encoding) else ascii_only(drawn))


def _open(path: Path) -> None:
    """Open a page in the browser, where there is a display for one."""
    from perfvcs.system.children import MARKER

    os.environ.pop(MARKER, None)  # the browser stays when we have gone
    missing = sys.platform == "linux" and not any(os.environ.get(name) for name in DISPLAYS)
    if missing or click.launch(str(path)):
        why = "there is no display" if missing else "no browser could be started"
        echo(f"{why}: open the page elsewhere, or draw on the terminal with --text", err=True)
