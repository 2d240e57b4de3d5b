"""Call stacks of running programs, taken at a fixed rate: one engine per tool, and stacks that two revisions have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from perfvcs.collector import CollectError, Run

MOST_STACKS = 200_000  # distinct stacks of one execution; of more, those seen once or twice say nothing
TRUNCATED = "[truncated]"  # the root of stacks whose callers are not known
MOST_FRAMES = 400  # frames that are kept of a stack: as many from the root as from the leaf,
LEFT_OUT_FRAMES = "[left out]"  # and this between them
LARGEST_REPORT = 1 << 30  # bytes of a tool's text


@dataclass
class Folded:
    """How often each stack was seen: tuples of frames, root first, each ``function (file)``; ``lost`` samples were not written down."""

    stacks: dict[tuple[str, ...], int] = field(default_factory=dict)
    lost: int = 0
    warnings: list[str] = field(default_factory=list)

    def add(self, stack: tuple[str, ...], count: int) -> None:
        """Count a stack, the middle of a very deep one left out; raises CollectError where there are too many different ones."""
        if len(stack) > MOST_FRAMES:
            stack = (*stack[: MOST_FRAMES // 2], LEFT_OUT_FRAMES, *stack[-MOST_FRAMES // 2 :])
        if stack not in self.stacks and len(self.stacks) >= MOST_STACKS:
            raise CollectError(f"samples: over {MOST_STACKS:,} different stacks: lower rate, or give the program less to do")
        self.stacks[stack] = self.stacks.get(stack, 0) + count

    @property
    def total(self) -> int:
        """All samples that were written down."""
        return sum(self.stacks.values())


class Sampler(Protocol):
    """What every engine offers."""

    @property
    def engine(self) -> str:
        """The tool and the way it unwinds, such as ``perf-dwarf/1``."""
        ...

    @property
    def rate(self) -> int:
        """Samples per second of one running thread."""
        ...

    def missing(self) -> str | None:
        """Why it cannot run here, with the cure; None when it can."""
        ...

    def command(self, scratch: Path) -> Sequence[str]:
        """The tool's command; ``{pid}``, ``{control}`` and ``{ack}`` stand for what ``attach`` knows."""
        ...

    def read(self, run: Run, scratch: Path, said: str) -> Folded:
        """The samples in ``scratch``; ``said`` are the tool's messages. No samples if the program was too short; raises CollectError."""
        ...


def last(said: str) -> str:
    """The end of a tool's messages, on one line."""
    text = " ".join(said.split())[-200:]
    return "".join(character if character.isprintable() else "?" for character in text) or "it said nothing"
