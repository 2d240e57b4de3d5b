"""Twelve more textbook algorithms, which no rule of the choice was made with: ``python further.py
SEED``.

As in algorithms.py every call is prepared outside the function that is measured. Sizes reach
further: the tables and trees of the largest ones do not fit into the first level of the cache.
"""

from __future__ import annotations

import sys
from collections import deque
from random import Random

from algorithms import call


def queue_turn(queue: deque[int]) -> None:
    """O(1): the first becomes the last."""
    queue.append(queue.popleft())


def dict_lookup(known: dict[int, int], wanted: int) -> int:
    """O(1): ten values of keys that follow each other."""
    total = 0
    for key in range(wanted, wanted + 10):
        total += known[key]
    return total


def fenwick_sum(sums: list[int], place: int) -> int:
    """O(log n): the sum of the first items, by a binary indexed tree."""
    total = 0
    while place:
        total += sums[place]
        place &= place - 1
    return total


def heap_push(heap: list[int], item: int) -> None:
    """O(log n): an item smaller than all rises to the top."""
    place = len(heap)
    heap.append(item)
    while place and heap[(place - 1) // 2] > item:
        heap[place] = heap[(place - 1) // 2]
        place = (place - 1) // 2
    heap[place] = item


def largest_sum(items: list[int]) -> int:
    """O(n): the largest sum of neighbours (Kadane)."""
    best = here = 0
    for item in items:
        here = max(here + item, 0)
        best = max(best, here)
    return best


def counting_sort(items: list[int], keys: int) -> list[int]:
    """O(n + keys), with as many keys as items."""
    counts = [0] * keys
    for item in items:
        counts[item] += 1
    return [key for key, count in enumerate(counts) for _ in range(count)]


def heap_sort(items: list[int]) -> None:
    """O(n log n): a heap from the items, then the largest to the end, one after the other."""
    for start in reversed(range(len(items) // 2)):
        _sink(items, start, len(items))
    for end in reversed(range(1, len(items))):
        items[0], items[end] = items[end], items[0]
        _sink(items, 0, end)


def _sink(items: list[int], place: int, end: int) -> None:
    item = items[place]
    while (child := 2 * place + 1) < end:
        if child + 1 < end and items[child + 1] > items[child]:
            child += 1
        if item >= items[child]:
            break
        items[place] = items[child]
        place = child
    items[place] = item


def quick_sort(items: list[int]) -> list[int]:
    """O(n log n) on average: smaller ones, equal ones, larger ones."""
    if len(items) < 2:
        return items
    pivot = items[len(items) // 2]
    smaller: list[int] = []
    equal: list[int] = []
    larger: list[int] = []
    for item in items:
        (smaller if item < pivot else larger if item > pivot else equal).append(item)
    return quick_sort(smaller) + equal + quick_sort(larger)


def bubble_sort(items: list[int]) -> None:
    """O(n^2): neighbours change places until none has to."""
    for end in range(len(items) - 1, 0, -1):
        for place in range(end):
            if items[place] > items[place + 1]:
                items[place], items[place + 1] = items[place + 1], items[place]


def edit_distance(first: bytes, second: bytes) -> int:
    """O(n^2): how many insertions, removals and replacements lead from one word to another of the
    same length.
    """
    before = list(range(len(second) + 1))
    for row, letter in enumerate(first, 1):
        now = [row]
        for column, other in enumerate(second):
            now.append(
                min(before[column] + (letter != other), before[column + 1] + 1, now[column] + 1)
            )
        before = now
    return before[-1]


def transitive_closure(reach: list[list[bool]]) -> None:
    """O(n^3): which nodes can be reached from which (Warshall), in place."""
    size = len(reach)
    for through in range(size):
        for start in range(size):
            for end in range(size):
                reach[start][end] = reach[start][end] or (
                    reach[start][through] and reach[through][end]
                )


def hanoi(discs: int, source: int, target: int) -> int:
    """O(2^n): the moves of a tower."""
    if not discs:
        return 0
    rest = 6 - source - target
    return hanoi(discs - 1, source, rest) + 1 + hanoi(discs - 1, rest, target)


def tables(random: Random, size: int) -> None:
    """What should not ask for the size."""
    queue = deque(range(size))
    known = {key: key for key in random.sample(range(size), size)}
    for _ in range(30):
        queue_turn(queue)
        dict_lookup(known, random.randrange(size - 10))


def trees(random: Random, size: int) -> None:
    """What goes along one branch."""
    sums = [random.randrange(100) for _ in range(size)]
    heap = sorted(random.sample(range(size), size))
    for number in range(30):
        fenwick_sum(sums, random.randrange(size))
        heap_push(heap, -1 - number)
        heap.pop()
        heap.sort()


def walks(random: Random, size: int) -> None:
    """What goes along all items."""
    items = [random.randrange(-100, 100) for _ in range(size)]
    keys = [random.randrange(size) for _ in range(size)]
    for _ in range(5):
        largest_sum(items)
        counting_sort(keys, size)


def sorts(random: Random, size: int) -> None:
    """What takes a level of halves for all items."""
    mixed = random.sample(range(1 << 30), size)
    for _ in range(3):
        heap_sort(mixed[:])
        quick_sort(mixed)


def squares(random: Random, size: int) -> None:
    """What compares all with all."""
    items = random.sample(range(1 << 30), size)
    words = random.randbytes(size), random.randbytes(size)
    for _ in range(3):
        bubble_sort(items[:])
        edit_distance(*words)


def cubes(random: Random, size: int) -> None:
    """What asks of each pair for each third."""
    reach = [[random.random() < 2 / size for _ in range(size)] for _ in range(size)]
    for _ in range(3):
        transitive_closure([row[:] for row in reach])


def towers(random: Random, size: int) -> None:  # noqa: ARG001
    """What doubles; nothing of it is random."""
    for _ in range(3):
        hanoi(size, 1, 3)


WORK = (
    (tables, [2**power for power in range(4, 15)]),
    (trees, [2**power for power in range(4, 13)]),
    (walks, [*range(20, 1001, 20)]),
    (sorts, [2**power for power in range(4, 11)] + [3 * 2**power for power in range(3, 9)]),
    (squares, [*range(10, 131, 8)]),
    (cubes, [*range(4, 29, 2)]),
    (towers, [*range(3, 14)]),
)


if __name__ == "__main__":
    call(WORK, int(sys.argv[1]) if len(sys.argv) > 1 else 1)
