"""``perf fsck``."""

from __future__ import annotations

import click

from perfvcs.commands._output import echo
from perfvcs.text.words import counted


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the problems as JSON.")
def command(*, as_json: bool) -> None:
    """Check the format and the path of every stored profile, and rebuild the index."""
    import json

    from perfvcs.repository import Repository
    from perfvcs.store.document import Damaged
    from perfvcs.text.characters import shorten

    repository = Repository.find()
    problems = repository.store.fsck()
    try:
        profiles = repository.reindex()
    except Damaged:
        profiles = 0
    if as_json:
        rows = [{"path": problem.path, "reason": problem.reason} for problem in problems]
        echo(json.dumps({"profiles": profiles, "problems": rows}, indent=2))
    else:
        for problem in problems:
            echo(shorten(str(problem), 2000))  # a foreign path may hold any bytes
        whole = f"{counted(profiles, 'profile')} can be read"
        echo(whole if problems else f"{whole}, all intact; the index is rebuilt")
    if problems:
        count = counted(len(problems), "problem")
        raise Damaged(f"{count} in {repository.store.path}: restore it from a backup, or remove what is named with `perf rm`")
