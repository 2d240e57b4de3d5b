"""The settings of a judgement: those of the base, which the change cannot edit."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from msgspec import structs

from perfvcs.errors import UsageError
from perfvcs.git.blobs import CommittedFiles, Unreadable
from perfvcs.jobs.config import BadConfig, Config
from perfvcs.jobs.config import read as read_config
from perfvcs.profile.rules import LARGEST_RULES, RULES_FILE
from perfvcs.system.foreign import content, toml

if TYPE_CHECKING:
    from perfvcs.git.project import Project
    from perfvcs.jobs.configchanges import Table


class Settings(NamedTuple):
    """perf.toml, as its tables and as what it means; ``committed``: it is the base's."""

    table: Table
    config: Config
    committed: bool


def of_base(project: Project, base: str) -> Settings:
    """The base's perf.toml; the working tree's where the base has none.

    Files of the overlay that the base has are its own on both sides; every execution has a home of
    its own. Raises UsageError.
    """
    files = CommittedFiles(project)
    try:
        text = files.text(base, RULES_FILE, LARGEST_RULES)
    except Unreadable as error:
        raise BadConfig(f"{RULES_FILE} of {base[:10]} cannot be read: {error}") from None
    committed = text is not None
    if text is None:
        text = _here(project)
    table = toml(text, lambda why: BadConfig(f"{RULES_FILE} of {base[:10]} is not TOML: {why}"))
    config = read_config(table)
    entries = [os.path.normpath(entry) for entry in config.overlay]
    files.ask([base], *entries)
    loose = tuple(entry for entry in entries if not _has(files, base, entry))
    # what an execution leaves in a home makes no later one faster
    jobs = tuple(structs.replace(job, isolate=True) for job in config.job)
    return Settings(table, structs.replace(config, overlay=loose, job=jobs), committed)


def _has(files: CommittedFiles, base: str, entry: str) -> bool:
    known = files.of(base, entry)
    return bool(known.blob or known.why)  # a folder has no blob, but is there


def _here(project: Project) -> str:
    try:
        return content(project.root / RULES_FILE, LARGEST_RULES).decode("utf-8")
    except FileNotFoundError:
        raise UsageError(
            f"there is no {RULES_FILE}: make one with `perf init`, or compare two commands with"
            " `perf check --against`"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadConfig(f"{RULES_FILE} cannot be read: {error}") from None
