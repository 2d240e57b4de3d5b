"""The option ``-j`` of all commands that take some jobs only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import click

from perfvcs.commands._completion import jobs, stored_jobs

OF = {
    "configured": ("Only this job of perf.toml; may be repeated.", jobs),
    "measured": ("Measure only this job of perf.toml; may be repeated.", jobs),
    "stored": ("Only profiles of this job; may be repeated.", stored_jobs),
}


def arguments(kind: Literal["configured", "measured", "stored"], help: str = "") -> dict[str, Any]:
    """What click needs to know of the option, for jobs of perf.toml or of stored profiles."""
    text, complete = OF[kind]
    return {"multiple": True, "metavar": "NAME", "help": help or text, "shell_complete": complete}


def job_option(kind: Literal["configured", "measured", "stored"], name: str = "jobs", help: str = "") -> Callable[[Any], Any]:
    """The option as a decorator."""
    return click.option("-j", "--job", name, **arguments(kind, help))
