"""Twelve textbook algorithms, each called at sizes of its own: ``python algorithms.py SEED``.

Every call is prepared outside the function that is measured, so that the function does nothing but
its algorithm.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from heapq import heapify, heappush
from random import Random

Work = Iterable[tuple[Callable[[Random, int], None], list[int]]]


class Table:
    """A hash table with open addresses, two per key that is expected."""

    def __init__(self, keys: list[int]) -> None:
        self.slots: list[int | None] = [None] * (2 * len(keys))
        self.count = len(keys)
        for key in keys:
            self.slots[self.place(key)] = key

    def place(self, key: int) -> int:
        """Where the key is, or belongs."""
        place = (key * 2654435761 >> 7) % len(self.slots)
        while self.slots[place] is not None and self.slots[place] != key:
            place = (place + 1) % len(self.slots)
        return place

    def insert(self, key: int) -> None:
        """O(1): add a key that is not there."""
        slots = self.slots
        place = (key * 2654435761 >> 7) % len(slots)
        while slots[place] is not None:
            place = (place + 1) % len(slots)
        slots[place] = key
        self.count += 1

    def remove(self, key: int) -> None:
        """Take the key out that came last."""
        self.slots[self.place(key)] = None
        self.count -= 1


class Tree:
    """A perfectly balanced search tree over sorted keys."""

    __slots__ = ("key", "left", "right")

    def __init__(self, keys: range) -> None:
        middle = len(keys) // 2
        self.key = keys[middle]
        self.left = Tree(keys[:middle]) if middle else None
        self.right = Tree(keys[middle + 1 :]) if len(keys) > middle + 1 else None


def binary_search(items: list[int], wanted: int) -> int:
    """O(log n): the place of an item, halving what is left."""
    low, high = 0, len(items)
    while low < high:
        middle = (low + high) // 2
        if items[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


def tree_lookup(tree: Tree, wanted: int, size: int) -> bool:  # noqa: ARG001
    """O(log n): whether a key is in a balanced tree."""
    node: Tree | None = tree
    while node is not None and node.key != wanted:
        node = node.left if wanted < node.key else node.right
    return node is not None


def heap_pop(heap: list[int]) -> int:
    """O(log n): the smallest item; the last one takes its place and sinks."""
    smallest, item = heap[0], heap.pop()
    place, child = 0, 1
    while child < len(heap):
        if child + 1 < len(heap) and heap[child + 1] < heap[child]:
            child += 1
        if item <= heap[child]:
            break
        heap[place] = heap[child]
        place, child = child, 2 * child + 1
    heap[place] = item
    return smallest


def linear_search(items: list[int], wanted: int) -> bool:
    """O(n): whether an item is there, looking at one after the other."""
    for item in items:  # noqa: SIM110
        if item == wanted:
            return True
    return False


def memoised_fibonacci(n: int, known: dict[int, int]) -> int:
    """O(n): each number once."""
    if n < 2:
        return n
    if n not in known:
        known[n] = (
            memoised_fibonacci(n - 1, known) + memoised_fibonacci(n - 2, known)
        ) % 1_000_000_007
    return known[n]


def merge_sort(items: list[int]) -> list[int]:
    """O(n log n): sort both halves, then merge them."""
    if len(items) < 2:
        return items
    middle = len(items) // 2
    left, right = merge_sort(items[:middle]), merge_sort(items[middle:])
    merged = []
    one = other = 0
    while one < len(left) and other < len(right):
        if left[one] <= right[other]:
            merged.append(left[one])
            one += 1
        else:
            merged.append(right[other])
            other += 1
    return merged + left[one:] + right[other:]


def insertion_sort(items: list[int]) -> None:
    """O(n^2): each item moves down to its place."""
    for end in range(1, len(items)):
        item, place = items[end], end
        while place and items[place - 1] > item:
            items[place] = items[place - 1]
            place -= 1
        items[place] = item


def selection_sort(items: list[int]) -> None:
    """O(n^2): the smallest of what is left comes next."""
    for start in range(len(items)):
        smallest = start
        for place in range(start + 1, len(items)):
            if items[place] < items[smallest]:
                smallest = place
        items[start], items[smallest] = items[smallest], items[start]


def matrix_product(first: list[list[float]], second: list[list[float]]) -> list[list[float]]:
    """O(n^3): the product of two square matrices."""
    size = len(first)
    product = [[0.0] * size for _ in range(size)]
    for row in range(size):
        for column in range(size):
            total = 0.0
            for place in range(size):
                total += first[row][place] * second[place][column]
            product[row][column] = total
    return product


def floyd_warshall(distances: list[list[float]]) -> None:
    """O(n^3): the shortest ways between all pairs, in place."""
    size = len(distances)
    for through in range(size):
        for start in range(size):
            for end in range(size):
                way = distances[start][through] + distances[through][end]
                distances[start][end] = min(distances[start][end], way)


def naive_fibonacci(n: int) -> int:
    """O(b^n) with b = 1.618: all is computed again and again."""
    return n if n < 2 else naive_fibonacci(n - 1) + naive_fibonacci(n - 2)


def hashing(random: Random, size: int) -> None:
    """A table of that size takes one more key, many times."""
    keys = random.sample(range(1 << 30), size + 30)
    table = Table(keys[:size])
    for key in keys[size:]:
        table.insert(key)
        table.remove(key)


def halving(random: Random, size: int) -> None:
    """What halves the rest in each step; no key that is looked up is in the tree."""
    items, tree = list(range(size)), Tree(range(0, 2 * size, 2))
    heap = random.sample(items, size)
    heapify(heap)
    for _ in range(30):
        binary_search(items, random.randrange(size))
        tree_lookup(tree, 2 * random.randrange(size) + 1, size)
        heap_pop(heap)
        heappush(heap, random.randrange(size))


def passing(random: Random, size: int) -> None:
    """What goes through all items once, or log n times."""
    items = [0] * size
    mixed = random.sample(range(1 << 30), size)
    for _ in range(5):
        linear_search(items, -1)
        merge_sort(mixed)


def remembering(_: Random, size: int) -> None:
    """What asks its memory first."""
    for _ in range(3):
        memoised_fibonacci(size, {})


def pairing(random: Random, size: int) -> None:
    """What compares each item with each other one: the worst case of the one, any of the other."""
    items = sorted(random.sample(range(1 << 30), size))
    for _ in range(3):
        insertion_sort(items[::-1])
        selection_sort(items[:])


def tripling(random: Random, size: int) -> None:
    """What has three loops, one in another."""
    first, second = (
        [[1 + random.random() for _ in range(size)] for _ in range(size)] for _ in range(2)
    )
    for _ in range(3):
        matrix_product(first, second)
        floyd_warshall(first)


def branching(_: Random, size: int) -> None:
    """What calls itself twice."""
    for _ in range(3):
        naive_fibonacci(size)


WORK: Work = (
    (hashing, [2**power for power in range(3, 10)]),
    (halving, [size * 2**power for power in range(2, 7) for size in (2, 3)]),
    (passing, [*range(25, 501, 25)]),
    (remembering, [*range(10, 111, 5)]),
    (pairing, [*range(20, 161, 10)]),
    (tripling, [*range(2, 21, 2)]),
    (branching, [*range(4, 16)]),
)


def call(work: Work, seed: int, rounds: int = 4) -> None:
    """Call every algorithm at all its sizes in random order, in several rounds: a slow moment of
    the machine hits few of them.
    """
    random = Random(seed)
    calls = [(one, size) for one, sizes in work for size in sizes]
    for _ in range(rounds):
        for one, size in random.sample(calls, len(calls)):
            one(random, size)


if __name__ == "__main__":
    sys.setrecursionlimit(10_000)
    call(WORK, int(sys.argv[1]) if len(sys.argv) > 1 else 1)
