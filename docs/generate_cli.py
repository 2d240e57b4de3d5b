"""Writes docs/cli.md from the commands' own help: ``python docs/generate_cli.py``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from perfvcs.cli import group

PAGE = Path(__file__).with_name("cli.md")
WIDTH = 100
HEAD = """\
# The command line

<!-- written by `python docs/generate_cli.py`: change the commands' docstrings, not this page -->

`perf` and `perfvcs` are the same program. Called as `perf`, it passes commands that only Linux perf has (`perf stat`, `perf record`, ...)
to Linux perf, the next `perf` on PATH, with their arguments unchanged.

| exit code | meaning |
|---|---|
| 0 | fine |
| 1 | unexpected error |
| 2 | usage, and profiles that are not there to be exported, removed or processed |
| 3 | `perf check` found a degradation; `perf judge`: refuted |
| 4 | nothing to compare, draw or plan from; `perf judge`: not decided; `perf check --gate`: nothing settled; `perf check --strict`: something inconclusive |
| 5 | collecting failed, or a compared command |
| 6 | `perf judge` rejected the change |
| 10 | no git repository, no commit or no `.perf` in it yet, or a `.perf` that is not [trusted](security.md) |
| 11 | locked by another run |
| 12 | damaged |
| 129, 130, 143 | ended by SIGHUP, SIGINT (Ctrl-C) or SIGTERM |
| 141 | the reader of the output has gone (`perf log \\| head`) |

Where `.perf` is there and nothing is measured, `perf log`, `perf history` and `perf status` say so, and exit with 0.
"""


def sections(command: click.Command, context: click.Context, level: int) -> Iterator[str]:
    """The help of a command and of everything below it."""
    yield (
        f"{'#' * level}"
        f" {context.command_path}\n\n```text\n{command.get_help(context).rstrip()}\n```\n"
    )
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            member = command.get_command(context, name)
            if member is not None and not member.hidden:
                yield from sections(member, context_of(member, context, name), min(level + 1, 4))


def context_of(command: click.Command, parent: click.Context | None, name: str) -> click.Context:
    """What a command parses in, at a fixed width whatever the terminal; the names of the help
    option are inherited.
    """
    names = ["-h", "--help"] if parent is None else None
    return click.Context(
        command,
        parent,
        name,
        terminal_width=WIDTH,
        max_content_width=WIDTH,
        help_option_names=names,
    )


def page() -> str:
    """The text of docs/cli.md."""
    return "\n".join([HEAD, *sections(group, context_of(group, None, "perf"), 2)])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
