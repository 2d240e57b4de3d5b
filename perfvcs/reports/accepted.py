"""What a project has accepted: the list of perf-accepted.toml, what is withdrawn of it, and what is
renewed after a squash or a rebase.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from itertools import chain
from typing import NamedTuple

import msgspec

from perfvcs.check import register
from perfvcs.check.acceptance import ID_DIGITS, Acceptance, Move, ruling
from perfvcs.errors import UsageError
from perfvcs.profile.naming import labelled
from perfvcs.reports.accept import (
    LABEL_CHARACTERS,
    AcceptableChange,
    acceptable,
    acceptance_of,
    find,
    register_path,
)
from perfvcs.repository import Repository
from perfvcs.system.lock import hold
from perfvcs.text.characters import COLUMNS, shorten
from perfvcs.text.document import json_text
from perfvcs.text.quantity import percent, quantity
from perfvcs.text.words import metric_name
from perfvcs.text.wrapping import wrap


class Renewal(NamedTuple):
    """An acceptance that was renewed, and what it was: another level is said."""

    acceptance: Acceptance
    left: Acceptance

    @property
    def level(self) -> str:
        """The level that was accepted before; empty where it is the same."""
        if (self.left.effect, self.left.shift) == (self.acceptance.effect, self.acceptance.shift):
            return ""
        return f"; {_amount(self.left)} was accepted before"


def renew(repository: Repository, names: Sequence[str] = ()) -> list[Renewal]:
    """Write the acceptances that a squash or a rebase has left behind for the degradations of the
    last report, or those of some ``names``, and remove the old ones; raises UsageError where there
    is none.

    What was accepted stays the level, unless it does not cover what is measured now.
    """
    from perfvcs.check.renewal import renewable
    from perfvcs.git.ancestry import Ancestry

    path = register_path(repository)
    with hold(repository.home / "accept.lock", wait=True):
        candidates: Iterable[AcceptableChange] = acceptable(repository)
        if names:
            candidates = chain.from_iterable(find(repository, name) for name in names)
        renewals = []
        for candidate in (one for one in candidates if one.committed):
            way = Ancestry(repository.project, candidate.baseline, candidate.target)
            if left := renewable(candidate.change, repository.acceptances, way, date.today()):
                renewals.append(Renewal(_again(repository, candidate, left), left))
        if not renewals:
            raise UsageError("no acceptance needs to be renewed by the last report of `perf check`")
        new = [renewal.acceptance for renewal in renewals]
        register.add(path, new)
        kept = {acceptance.id for acceptance in new}
        old = dict.fromkeys(renewal.left.id for renewal in renewals)
        register.remove(path, [name for name in old if name not in kept])
    return renewals


def _again(repository: Repository, candidate: AcceptableChange, left: Acceptance) -> Acceptance:
    """The acceptance of a change for the reason and at the level of the one left behind."""
    from perfvcs.git.ancestry import Ancestry

    new = acceptance_of(repository, candidate, left.reason, left.until)
    kept = msgspec.structs.replace(new, effect=left.effect, shift=left.shift)
    change, way = candidate.change, Ancestry(repository.project, new.baseline, new.target)
    move = Move(change.better, change.effect, change.low, change.high, change.shift, change.delta)
    return kept if ruling(move, [kept], way).accepted is not None else new


def take_back(repository: Repository, ids: Sequence[str]) -> list[Acceptance]:
    """Remove acceptances by their ids; raises UsageError."""
    with hold(repository.home / "accept.lock", wait=True):
        return register.remove(register_path(repository), ids)


def accepted(repository: Repository) -> list[Acceptance]:
    """All that is accepted; raises UsageError."""
    return register.load(register_path(repository))


def lines(acceptances: Sequence[Acceptance], today: date) -> Iterator[str]:
    """The listing for a terminal of 80 columns."""
    for acceptance in acceptances:
        until = ""
        if acceptance.until:
            when = "ended on" if acceptance.has_ended(today) else "until"
            until = f", {when} {acceptance.until}"
        yield from wrap(
            f"{shorten(acceptance.id, LABEL_CHARACTERS)}  {described(acceptance)}{until}",
            COLUMNS,
            subsequent_indent=" " * (ID_DIGITS + 2),
        )
        day = f"{acceptance.when:%Y-%m-%d}" if acceptance.when else ""
        by = ", ".join(filter(None, (shorten(acceptance.who, LABEL_CHARACTERS), day)))
        text = f"{shorten(acceptance.reason, 400)}{f' ({by})' if by else ''}"
        yield from wrap(
            text,
            COLUMNS,
            initial_indent=" " * (ID_DIGITS + 2),
            subsequent_indent=" " * (ID_DIGITS + 2),
        )


def described(acceptance: Acceptance) -> str:
    """``sort: wall time +10.0 %, 1f0e2a3b4c -> 8c7f6a1d0e``."""
    name = shorten(
        labelled(acceptance.benchmark, acceptance.uid, acceptance.size), LABEL_CHARACTERS
    )
    metric = shorten(metric_name(acceptance.metric), LABEL_CHARACTERS)
    what = f"{name}: {metric} {_amount(acceptance)}"
    return f"{what.rstrip()}, {acceptance.baseline[:10]} -> {acceptance.target[:10]}"


def _amount(acceptance: Acceptance) -> str:
    """How much worse it may become; empty of a finding without a number."""
    if acceptance.effect is not None:
        return percent(acceptance.effect)
    return "" if acceptance.shift is None else f"by {quantity(acceptance.shift, acceptance.unit)}"


def json(acceptances: Sequence[Acceptance], today: date) -> str:
    """The listing as JSON."""
    rows = [
        msgspec.structs.asdict(acceptance) | {"ended": acceptance.has_ended(today)}
        for acceptance in acceptances
    ]
    return json_text(rows)
