"""What client, worker and measurer say to each other, as msgpack that is checked when it is read; in pipes, with the length before it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO

import msgspec

from perfvcs.environment.facts import Facts
from perfvcs.measure.journal import Block, Described, Lost

MOST_BYTES = 1 << 31  # of one message
PREFIX = 8  # bytes of a length


class Task(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="task"):
    """A block to be measured: of each cell, by its number, the versions that take a turn. ``delivery``: what the host lacked."""

    parcel: str
    block: int
    cells: dict[int, list[int]]
    delivery: bytes | None = None


class Delivery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A parcel and a git bundle, both encoded; ``form`` is the hash of the repository."""

    parcel: bytes
    bundle: bytes
    form: str


class Lacks(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="lacks"):
    """The host does not have the parcel; its clone has these commits."""

    host: str
    tips: list[str]


class Executing(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="executing"):
    """An execution begins."""

    host: str
    number: int
    position: int


class Failed(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="failed"):
    """The host could not measure, whatever was to be measured."""

    host: str
    reason: str


class Measured(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="measured"):
    """A block as a host measured it: its parts that have every version, and what failed on a version."""

    host: str
    blocks: list[Block]
    lost: list[Lost]
    described: list[Described]
    warnings: list[str]


HostAnswer = Lacks | Failed | Measured
Reply = HostAnswer | Executing
encode = msgspec.msgpack.encode
_task = msgspec.msgpack.Decoder(Task)
_delivery = msgspec.msgpack.Decoder(Delivery)
_answer = msgspec.msgpack.Decoder(HostAnswer)
_reply = msgspec.msgpack.Decoder(Reply)
_facts = msgspec.msgpack.Decoder(Facts)
task, delivery, answer, reply, facts = _task.decode, _delivery.decode, _answer.decode, _reply.decode, _facts.decode


def send(pipe: IO[bytes], content: bytes) -> None:
    """Write one message."""
    pipe.write(len(content).to_bytes(PREFIX, "big") + content)
    pipe.flush()


def receive(pipe: IO[bytes]) -> bytes | None:
    """Read one message; None at the end, also where that comes in the middle of one."""
    head = pipe.read(PREFIX)
    size = int.from_bytes(head, "big")
    if len(head) < PREFIX or size > MOST_BYTES:
        return None
    content = pipe.read(size)
    return content if len(content) == size else None


def names(cells: Mapping[int, list[int]]) -> set[tuple[int, int]]:
    """The pairs of cell and version of a task."""
    return {(number, position) for number, positions in cells.items() for position in positions}
