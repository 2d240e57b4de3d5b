"""A verdict as GitHub's workflow commands, which become annotations at lines; and how the runner is kept from obeying anything else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from secrets import token_hex
from typing import TYPE_CHECKING

from perfvcs.text.characters import shorten

if TYPE_CHECKING:
    from collections.abc import Callable

    from perfvcs.ci.verdict import CiVerdict

OF_A_KIND, IN_ALL = 10, 50  # annotations of a kind and step, and of a job
MESSAGE_CHARACTERS = 1000


def workflow_commands(verdict: CiVerdict) -> list[str]:
    """At most ten errors (of what fails the job), ten warnings (of what may), and a notice with the error receipt.

    It is one of the warnings where nothing was settled, or the change touches its own judge.
    """
    certain = [alarm for alarm in verdict.alarms if alarm.certain]
    others = [alarm for alarm in verdict.alarms if not alarm.certain]
    found = [_command("error", alarm.text, alarm.place.path, alarm.place.line, alarm.place.end) for alarm in certain[:OF_A_KIND]]
    warns = verdict.word in ("unsettled", "failed") or not verdict.report.judged_by.is_plain
    room = OF_A_KIND - warns
    found += [_command("warning", alarm.text, alarm.place.path, alarm.place.line, alarm.place.end) for alarm in others[:room]]
    said = " ".join([f"{verdict.headline()}.", *verdict.receipt.lines()])
    found.append(_command("warning" if warns else "notice", said))
    return found[:IN_ALL]


@contextmanager
def obeying_nothing(say: Callable[[str], None]) -> Iterator[None]:
    """Keep the runner from taking lines of the output for commands: names of benchmarks and what programs print are foreign."""
    token = token_hex(16)
    say(f"::stop-commands::{token}")
    try:
        yield
    finally:
        say(f"::{token}::")


def _command(kind: str, text: str, path: str = "", line: int = 1, end: int = 1) -> str:
    where = {"file": path, "line": str(line), "endLine": str(max(line, end))} if path else {}
    properties = ",".join(f"{name}={_property(value)}" for name, value in (where | {"title": "perf ci"}).items())
    return f"::{kind} {properties}::{_data(shorten(text, MESSAGE_CHARACTERS))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
