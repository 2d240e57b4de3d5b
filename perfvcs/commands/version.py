"""``perf version``."""

from __future__ import annotations

import click

from perfvcs.commands._output import echo
from perfvcs.text.examples import examples


@examples(("perf version", "that of perfvcs"), ("perf -v", "the same"))
@click.command()
def command() -> None:
    """Show the version of perfvcs, and the commit that it was installed from."""
    show()


def show() -> None:
    """Print the version, and the commit where it is known."""
    from perfvcs import __version__
    from perfvcs.repository.origin import commit

    known = commit()
    described = f" ({known[:10]}{known[40:]})" if known else ""
    echo(f"perfvcs {__version__}{described}")
