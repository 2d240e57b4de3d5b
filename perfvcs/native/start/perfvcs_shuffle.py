"""Shuffles the free memory of this interpreter before the program is imported, so that each
execution draws anew where its objects lie.

A comment more or a function moved shifts the addresses of all objects that follow, and with these
the collisions in caches: without the shuffle two versions that do the same work differ by some
percent in every execution alike. The file stands alone, for Python 3.7 and newer.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

VARIABLE = "PERFVCS_SHUFFLE"
STEP, LARGEST = 16, 512  # bytes: the classes of pymalloc, and its largest block
HEADER = sys.getsizeof(b"")  # bytes that an object of bytes takes beside its content
CLASS_BYTES = 16 << 10  # about what is allocated of each class: one pool since Python 3.10
ABOVE, MOST_ABOVE = 96, 4096  # blocks for the C library, and the bytes of the largest
LEAST_KEPT, MOST_KEPT = 0.1, 0.5  # shares of the blocks of a class that stay allocated
SMALL_INTEGERS = 1 << 10  # below, some are there already

_kept: tuple[object, ...] = ()  # for as long as the process lives: they hold the holes in place


def shuffle(seed: int) -> None:
    """Allocate blocks of every size, and free most of them in random order: what is allocated next
    fills these holes.
    """
    global _kept  # noqa: PLW0603 - a process has one heap
    from _random import Random  # `random` would import much more, after which nothing is first

    chance = Random(seed).random
    freed: list[object] = []
    kept: list[object] = []
    for size in range(STEP, LARGEST + 1, STEP):
        share = LEAST_KEPT + (MOST_KEPT - LEAST_KEPT) * chance()
        for block in _blocks(size, int(CLASS_BYTES / size * (0.5 + chance()))):
            (kept if chance() < share else freed).append(block)
    for _ in range(ABOVE):
        block = bytes(LARGEST + int(MOST_ABOVE * chance()))
        (kept if chance() < MOST_KEPT else freed).append(block)
    block = None  # which is not to outlive the others
    for place in range(len(freed) - 1, 0, -1):
        other = int(chance() * (place + 1))
        freed[place], freed[other] = freed[other], freed[place]
    freed.clear()
    _kept = tuple(kept)


def _blocks(size: int, count: int) -> list[object]:
    """Objects of which each takes one block of this size, and refers to no other."""
    if size == sys.getsizeof(object()):
        return [object() for _ in range(count)]
    if size < HEADER + 2:  # with less than two bytes they are there already
        return list(range(SMALL_INTEGERS, SMALL_INTEGERS + count))
    return [bytes(size - HEADER) for _ in range(count)]


def begin(environ: Mapping[str, str]) -> None:
    """Shuffle once, if the environment asks for it and the interpreter has such a heap."""
    text = environ.get(VARIABLE, "")
    if text.isascii() and text.isdigit() and not _kept and sys.implementation.name == "cpython":
        shuffle(int(text[:20]))
