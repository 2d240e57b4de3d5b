"""The examples with which the help of every command ends; a test runs them all."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from click import Command

NOT_WRAPPED = "\b"  # click leaves the paragraph that begins with it as it is
C = TypeVar("C", bound="Command")


def examples(*rows: tuple[str, str]) -> Callable[[C], C]:
    """End a command's help with calls and what they do, one a line."""
    width = max(len(call) for call, _ in rows)
    lines = [f"  {call:{width}}  {what}" for call, what in rows]

    def decorate(command: C) -> C:
        command.epilog = "\n".join([NOT_WRAPPED, "Examples:", *lines])
        return command

    return decorate
