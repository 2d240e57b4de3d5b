"""What commands print: nothing foreign in it reaches the terminal unseen."""

from __future__ import annotations

from typing import Any

import click

from perfvcs.commands._wanted import Naming
from perfvcs.errors import PerfError
from perfvcs.text.characters import printable

ABORT = 255  # ends the bisection; any lower number would make the commit a bad one
UNDECIDED_CODES = (4, 5)  # nothing to compare, and what could not be built or measured
GOOD, BAD, UNKNOWN = 0, 1, 125


def echo(text: str, *, err: bool = False) -> None:
    """Print lines, with a visible character for each that a terminal would obey or hide."""
    click.echo(printable(text), err=err)  # noqa: TID251


class Bisecting(Naming):
    """A command with a flag ``--bisect-codes``, under which it ends so."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Wrong words end the bisection, too."""
        wanted = "--bisect-codes" in args
        try:
            return super().parse_args(ctx, args)
        except click.ClickException as error:
            if not wanted:
                raise
            error.show()
            raise click.exceptions.Exit(ABORT) from None

    def invoke(self, ctx: click.Context) -> Any:
        """Run it; errors end with 125 where they are the commit's."""
        if not ctx.params["bisect_codes"]:
            return super().invoke(ctx)
        from perfvcs.jobs.config import BadConfig

        try:
            return super().invoke(ctx)
        except click.exceptions.Exit as ended:
            raise click.exceptions.Exit({0: GOOD, 3: BAD}.get(ended.exit_code, UNKNOWN)) from None
        except PerfError as error:
            error.exit_code = (
                UNKNOWN
                if error.exit_code in UNDECIDED_CODES or isinstance(error, BadConfig)
                else ABORT
            )
            raise
        except click.ClickException as error:
            error.show()
            raise click.exceptions.Exit(ABORT) from None
        except Exception:
            import traceback

            traceback.print_exc()
            raise click.exceptions.Exit(ABORT) from None
