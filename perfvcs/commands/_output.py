"""What commands print: nothing foreign in it reaches the terminal unseen."""

from __future__ import annotations

import click

from perfvcs.text.characters import printable


def echo(text: str, *, err: bool = False) -> None:
    """Print lines, with a visible character for each that a terminal would obey or hide."""
    click.echo(printable(text), err=err)  # noqa: TID251
