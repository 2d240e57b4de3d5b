"""The files that callgrind and cachegrind write: https://valgrind.org/docs/manual/cl-format.html.

A line is a count at a place in the source, or says what the next ones are about: ``fn=`` the
function that counts belong to, ``cfn=`` and ``calls=`` the one that it calls, whose count is on the
line after. Names are written once, ``fn=(12) main``, then as ``fn=(12)``. The first event called
``Ir`` counts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from perfvcs.collectors._shared.commandrun import read_at_most
from perfvcs.collectors.instructions.counts import (
    CallEdges,
    Context,
    Counts,
    InlinedContexts,
    Resolve,
    joined,
    sums,
)
from perfvcs.collectors.instructions.textlines import TextLines
from perfvcs.plugins.collector import CollectError
from perfvcs.system.numeric import Integers, np

LARGEST_FILE = 1 << 28  # bytes of one file
MAX_LINE = 1 << 16
MAX_NUMBER = 10_000_000  # of a name
HEADS = b"# callgrind format", b"desc: "  # what callgrind's and cachegrind's files begin with
LONGEST_END = 1000  # bytes in which they end
ENDING = re.compile(rb"^(totals|summary): [0-9 ]+\n", re.MULTILINE)
IR_EVENT = b"Ir"  # instructions read
_RECURSION = re.compile(r"(.+)'(\d{1,9})", re.DOTALL)
_COMPRESSED = re.compile(rb"(\(\d{1,9}\))(?: (.*))?", re.DOTALL)


class MalformedCallgrind(CollectError):
    """A file is not as valgrind writes it; the message names the file and line."""


class TruncatedCounts(MalformedCallgrind):
    """A file has no end, as its process was killed or the disk is full."""


class NothingCounted(MalformedCallgrind):
    """A file has no function at all."""


@dataclass
class _Reading:
    """The lines that have to be read one by one: the head, the images, and names where they are
    written out.

    A number stands for the same function of the same image in the whole file, so that a line with a
    number alone needs no reading. ``contexts`` has all functions with their numbers here,
    ``numbered`` those by callgrind's number, ``named`` those by their line.
    """

    contexts: dict[Context, int] = field(default_factory=dict)
    numbered: dict[int, int] = field(default_factory=dict)
    named: dict[int, int] = field(default_factory=dict)
    images: dict[bytes, bytes] = field(default_factory=dict)
    image: bytes = b""
    called_image: tuple[int, bytes] = -1, b""  # and the line that named it, for the next call alone
    positions: int = 1
    event: int | None = None
    complete: bool = False

    def take(self, line: int, key: bytes, value: bytes, before: int) -> None:
        """One line ``key=value``, the last ``cfn=`` being on the line ``before``.

        Raises ValueError or KeyError where it makes no sense.
        """
        if key == b"cob":
            self.called_image = line, self._image(value)
        elif key == b"ob":
            self.image = self._image(value)
        elif key == b"fn":
            self._function(line, self.image, value)
        elif key == b"cfn":
            self._function(
                line, self.called_image[1] if self.called_image[0] > before else self.image, value
            )

    def tell(self, key: bytes, value: bytes) -> None:
        """One line ``key: value`` of the head or the end."""
        if key == b"positions":
            self.positions = len(value.split())
            if not self.positions:
                raise ValueError
        elif key == b"events":
            index = value.split().index(IR_EVENT)
            if self.event not in (None, index):
                raise ValueError
            self.event = index
        elif key == b"totals" or (
            key == b"summary" and self.contexts
        ):  # callgrind has a summary in its head, too
            self.complete = True

    def _image(self, value: bytes) -> bytes:
        image = self.images.get(value)
        if image is not None:
            return image
        match = _COMPRESSED.fullmatch(value)
        if match is None:
            return value
        if match[2] is not None:
            self.images[match[1]] = match[2]
        return self.images[match[1]]

    def _function(self, line: int, image: bytes, value: bytes) -> None:
        match = _COMPRESSED.fullmatch(value)
        name = value if match is None or match[2] is None else match[2]
        text, level = name.decode(errors="replace"), 1
        if recursion := _RECURSION.fullmatch(text):
            text, level = recursion[1], min(2, int(recursion[2]))
        context = Context(text, image.decode(errors="replace"), level)
        self.named[line] = number = self.contexts.setdefault(context, len(self.contexts))
        if match is not None:
            written_number = int(match[1][1:-1])
            if written_number >= MAX_NUMBER:
                raise ValueError
            self.numbered.setdefault(written_number, number)


def read(path: Path, resolve: Resolve | None = None) -> Counts:
    """The counts in one file, of one process; raises Malformed.

    With ``resolve``, what stands at an address, functions inside others are told apart, for which
    the file must have addresses.
    """
    content = read_at_most(path, LARGEST_FILE)
    if len(content) > LARGEST_FILE:
        raise MalformedCallgrind(
            f"{path.name} has over {LARGEST_FILE >> 20} MiB: give the program less to do, or"
            " measure a part of it"
        )
    return parse(content, path.name, resolve)


def parse(content: bytes, name: str, resolve: Resolve | None = None) -> Counts:
    """The counts in a file's content; its name is for messages. Raises Malformed."""
    has_end = ENDING.search(content, max(0, len(content) - LONGEST_END))
    if not content or (content.startswith(HEADS) and not has_end):
        raise TruncatedCounts(f"{name} ends too early: was the process killed, or the disk full?")
    lines = TextLines.of(content)
    reading = _read(content, lines, name)
    if not reading.complete:
        raise TruncatedCounts(f"{name} ends too early: was the process killed, or the disk full?")
    counts = _counts(reading, lines, name, resolve)
    if not counts.contexts:
        raise NothingCounted(
            f"{name} has counts outside of functions: the program must leave the file alone"
        )
    return counts


def _read(content: bytes, lines: TextLines, name: str) -> _Reading:
    reading, words = _Reading(), lines.words
    before = np.append(lines.callees, -1)[lines.position(words - 1, lines.callees)]
    columns = (words, lines.starts[words], lines.ends[words], before)
    for line, start, end, callee in zip(*(column.tolist() for column in columns), strict=True):
        if end - start > MAX_LINE:
            raise MalformedCallgrind(
                f"{name}, line {line + 1} is too long: the program must leave the file alone"
            )
        key, equal, value = content[start:end].partition(b"=")
        try:
            if equal and b":" not in key:
                reading.take(line, key, value, callee)
            else:
                key, _, value = content[start:end].partition(b":")
                reading.tell(key, value)
        except (ValueError, KeyError):
            raise _nonsense(name, line) from None
    if reading.event is None:
        raise MalformedCallgrind(f"{name} counts no instructions: was it written by another tool?")
    return reading


def _nonsense(name: str, line: int) -> MalformedCallgrind:
    return MalformedCallgrind(
        f"{name}, line {line + 1} makes no sense: the program must leave the file alone"
    )


def _contexts(reading: _Reading, lines: TextLines, which: Integers, name: str) -> Integers:
    """The context that each of these lines ``fn=`` or ``cfn=`` is about."""
    numbers = lines.references(which)
    most = max(reading.numbered, default=0)
    table = np.full(most + 1, -1, np.int64)
    table[list(reading.numbered)] = list(reading.numbered.values())
    listed = numbers <= most
    contexts = np.where(listed, table[np.where(listed, numbers, 0).astype(np.int64)], -1)
    written = np.isnan(numbers)
    contexts[written] = [reading.named[line] for line in which[written].tolist()]
    if (contexts < 0).any():
        raise _nonsense(name, int(which[contexts < 0][0]))
    return contexts


def _counts(reading: _Reading, lines: TextLines, name: str, resolve: Resolve | None) -> Counts:
    functions, callees = (
        _contexts(reading, lines, which, name) for which in (lines.functions, lines.callees)
    )
    values, often = lines.counts(reading.positions + (reading.event or 0)), lines.called()
    for wrong in (lines.counted[np.isnan(values)], lines.calls[np.isnan(often)]):
        if len(wrong):
            raise MalformedCallgrind(
                f"{name}, line {wrong[0] + 1}: there is no count: the program must leave the file"
                " alone"
            )
    caller, callee = (
        lines.position(lines.calls, which) for which in (lines.functions, lines.callees)
    )
    if (lost := np.minimum(caller, callee) < 0).any():
        raise _nonsense(name, int(lines.calls[lost][0]))
    of_call, of_jump = lines.follows(lines.calls), lines.follows(lines.jumps)
    if int(of_call.sum()) != len(lines.calls):
        raise MalformedCallgrind(
            f"{name}: a call has no count: the program must leave the file alone"
        )
    exclusive_rows = ~of_call & ~of_jump
    at = lines.position(lines.counted[exclusive_rows], lines.functions)
    if (at < 0).any():
        raise MalformedCallgrind(
            f"{name}, line {lines.counted[exclusive_rows][0] + 1}: a count without a function: the"
            " program must leave the file alone"
        )
    inside = InlinedContexts(list(reading.contexts))
    owners, callers = functions[at], functions[caller]
    if resolve is not None:
        addresses = lines.addresses()
        if (lost := np.isnan(addresses)).any():
            wrong = lines.counted[lost][0]
            raise MalformedCallgrind(
                f"{name}, line {wrong + 1}: there is no address: the program must leave the file"
                " alone"
            )
        owners, callers = (
            inside.place(which, addresses[place], resolve)
            for which, place in ((owners, exclusive_rows), (callers, of_call))
        )
    count = len(inside.contexts)
    exclusive = sums(owners, values[exclusive_rows], count)
    edges = joined(CallEdges(callers, callees[callee], often, values[of_call]), count)
    return Counts(inside.contexts, exclusive, *inside.edges(exclusive, edges))
