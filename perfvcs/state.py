"""State: a commit, a commit with uncommitted changes, or a product that was measured instead of one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from perfvcs.summary import Measured


@dataclass(frozen=True)
class State:
    """What a verdict is about: a commit, or a commit with uncommitted changes (their hash) on top.

    ``below`` is the parent of a commit whose changes were measured before they were committed: its profiles are filed there.
    ``product`` is the name of what was measured instead of the commit; ``dirty`` is its hash then.
    """

    commit: str
    dirty: str | None = None
    below: str | None = None
    product: str | None = field(default=None, compare=False)

    @property
    def name(self) -> str:
        """For people: the product, or the short commit id, with a + for changes on top."""
        return self.product or self.commit[:10] + ("+" if self.dirty and not self.below else "")

    @property
    def key(self) -> str:
        """What names it and nothing else: the commit, and the hash of the changes on top."""
        return self.commit + (f"+{self.dirty}" if self.dirty else "")

    @property
    def filed(self) -> str:
        """The commit under which its profiles are stored."""
        return self.below or self.commit

    def has(self, measured: Measured) -> bool:
        """Whether a profile is one of its own."""
        return measured.header.commit == self.filed and measured.header.dirty == self.dirty
