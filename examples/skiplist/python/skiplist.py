"""An ordered set as a skip list: sorted nodes, each with links on a random number of levels (Pugh
1990).
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

LEVELS = 24


class Node:
    """A key and the node that follows it on each of its levels."""

    __slots__ = ("after", "key")

    def __init__(self, key: Any, levels: int) -> None:
        self.key = key
        self.after: list[Node | None] = [None] * levels


class SkipList:
    """Keys in order of their <, each once; insert, search and remove take O(log n) on average."""

    def __init__(self, seed: int = 1) -> None:
        self._random = Random(seed)
        self._head = Node(None, LEVELS)
        self._levels = 1
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Any]:
        node = self._head.after[0]
        while node is not None:
            yield node.key
            node = node.after[0]

    def insert(self, key: Any) -> bool:
        """Add a key; whether it was new."""
        before = self._before(key)
        following = before[0].after[0]
        if following is not None and following.key == key:
            return False
        node = Node(key, self._height())
        while self._levels < len(node.after):
            before.append(self._head)
            self._levels += 1
        for level in range(len(node.after)):
            node.after[level] = before[level].after[level]
            before[level].after[level] = node
        self._count += 1
        return True

    def search(self, key: Any) -> bool:
        """Whether the key is there."""
        following = self._before(key)[0].after[0]
        return following is not None and following.key == key

    def remove(self, key: Any) -> bool:
        """Take a key out; whether it was there."""
        before = self._before(key)
        node = before[0].after[0]
        if node is None or node.key != key:
            return False
        for level, following in enumerate(node.after):
            before[level].after[level] = following
        self._count -= 1
        while self._levels > 1 and self._head.after[self._levels - 1] is None:
            self._levels -= 1
        return True

    def lower(self, key: Any) -> Any:
        """The first key that is not below; None is none."""
        following = self._before(key)[0].after[0]
        return None if following is None else following.key

    def _before(self, key: Any) -> list[Node]:
        """The last node below the key on each level, the lowest level first."""
        found = []
        node = self._head
        for level in range(self._levels - 1, -1, -1):
            while (following := node.after[level]) is not None and following.key < key:
                node = following
            found.append(node)
        found.reverse()
        return found

    def _height(self) -> int:
        """A number of levels: half of the nodes have one, a quarter two, and so on."""
        height = 1
        while height < LEVELS and self._random.random() < 0.5:
            height += 1
        return height
