"""``perf fsck``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from perfvcs.commands._options import flag
from perfvcs.commands._output import echo
from perfvcs.text.examples import examples
from perfvcs.text.words import counted

if TYPE_CHECKING:
    from perfvcs.store import Store
    from perfvcs.store.restoration import Restored, WholeState


@examples(("perf fsck", "check everything"), ("perf fsck --restore", "go back to what is whole"))
@click.command()
@flag(
    "--restore",
    "Go back to the last whole state of the store; keep what can be read of later ones.",
)
@flag("--json", "as_json", "Print the problems as JSON.")
def command(*, restore: bool, as_json: bool) -> None:
    """Check the format and the path of every stored profile, and rebuild the index."""
    import json

    from perfvcs.repository import Repository
    from perfvcs.store.removal import Damaged
    from perfvcs.text.characters import shorten

    repository = Repository.find()
    restored = repository.store.restore() if restore else None
    problems = repository.store.fsck()
    try:
        profiles = repository.reindex()
    except Damaged:
        profiles = 0
    if as_json:
        rows = [{"path": problem.path, "reason": problem.reason} for problem in problems]
        echo(json.dumps({"profiles": profiles, "problems": rows}, indent=2))
    else:
        for line in _done(restored) if restored else []:
            echo(line)
        for problem in problems:
            echo(shorten(str(problem), 2000))  # a foreign path may hold any bytes
        whole = f"{counted(profiles, 'profile')} can be read"
        echo(whole if problems else f"{whole}, all intact; the index is rebuilt")
    if problems:
        raise Damaged(
            f"{counted(len(problems), 'problem')} in {repository.store.path}:"
            f" {_cure(repository.store)}"
        )


def _done(restored: Restored) -> list[str]:
    """What a restoration did."""
    if not restored.changed:
        return ["no object of the store is missing: nothing to restore"]
    state = "an empty store: no state was whole"
    if restored.state:
        state = f"the state of {_named(restored.state)}"
    count = counted(restored.kept, "profile")
    lines = [
        f"went back to {state}, and kept {count} of later ones; what it was is DAMAGED_HEAD in the"
        " store"
    ]
    return lines + [
        f"{path} is lost, unless `perf pull` or a backup has it" for path in restored.lost
    ]


def _cure(store: Store) -> str:
    """What helps against the problems of a store."""
    from perfvcs.store.removal import Damaged, Newer

    tip = None
    try:
        tip = store.head()
    except Newer:
        return "update perfvcs"
    except Damaged:
        pass
    state = store.last_whole()
    if state and state.commit == tip:
        return (
            "remove what is named with `perf rm`, and `perf pull` it from a remote or a backup that"
            " has it"
        )
    last = (
        f"its last whole state, {_named(state)}"
        if state
        else "what can be read, since no state is whole"
    )
    return f"`perf fsck --restore` goes back to {last}, and keeps what later ones still have"


def _named(state: WholeState) -> str:
    """A state for people: when it was made, and its commit."""
    from datetime import UTC, datetime

    return f"{datetime.fromtimestamp(state.when, UTC):%Y-%m-%d %H:%M} UTC ({state.commit[:10]})"
