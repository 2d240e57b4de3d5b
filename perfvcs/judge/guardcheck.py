"""A check of the guard: its word, and what was seen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec

from perfvcs.errors import PerfError

Word = Literal["passed", "warning", "doubted", "rejected", "not tried"]


class GuardCheck(msgspec.Struct, frozen=True):
    """One check of the guard: its word, and what was seen, in a sentence; empty where it passed and
    there is nothing to tell.
    """

    word: Word = "passed"
    said: str = ""


PASSED = GuardCheck()


def worst(checks: Iterable[GuardCheck]) -> GuardCheck:
    """The check that says most of several."""
    order: Sequence[Word] = ("rejected", "doubted", "warning", "not tried", "passed")
    every = list(checks)
    if not every:
        return GuardCheck("not tried", "no job ran on both sides")
    return min(every, key=lambda check: order.index(check.word))


def said_by(checks: Mapping[str, GuardCheck], word: Word) -> list[str]:
    """What the checks with a word say."""
    return [check.said for check in checks.values() if check.word == word]


class Rejected(PerfError):
    """What was tried of a target rejects it, whatever would be measured: ``checks`` say why."""

    exit_code = 6

    def __init__(self, checks: Mapping[str, GuardCheck]) -> None:
        super().__init__("; ".join(said_by(checks, "rejected")))
        self.checks = checks
