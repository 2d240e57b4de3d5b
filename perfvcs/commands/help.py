"""``perf help``."""

from __future__ import annotations

import click

from perfvcs.commands._output import echo
from perfvcs.text.examples import examples


@examples(
    ("perf help check", "the help of a command"), ("perf help hook install", "of one below it")
)
@click.command()
@click.argument("words", nargs=-1, metavar="[COMMAND]...")
@click.pass_context
def command(context: click.Context, words: tuple[str, ...]) -> None:
    """Show the help of a command, or list all commands."""
    shown = context.find_root()
    for word in words:
        group = shown.command
        if not isinstance(group, click.Group):
            raise click.UsageError(f"`{shown.command_path}` has no commands of its own", shown)
        member = group.get_command(shown, word) or group.resolve_command(shown, [word])[1]
        assert member  # or else it has raised what names the closest one
        shown = click.Context(member, shown, word)
    echo(shown.get_help())
