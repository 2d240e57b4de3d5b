"""The option ``--against`` of commands that measure products."""

from __future__ import annotations

import click


def products(ctx: click.Context, parameter: click.Parameter, texts: tuple[str, ...]) -> tuple[str, ...]:  # noqa: ARG001
    """What the products are now, as texts that mean the same wherever the session is continued."""
    if not texts:
        return ()
    from perfvcs.git.project import Project
    from perfvcs.measure.product import read_all

    return tuple(one.spec for one in read_all(texts, Project.find()))


against = click.option(
    "--against", multiple=True, metavar="NAME=PRODUCT", callback=products,
    help="Measure this program, or the project in this folder, in turns with the revision.",
)  # fmt: skip
