"""Let a skip list wander between random lengths, and look all keys up in it after every step: the
work that perf measures.

    python work.py [KEYS] [STEPS]

Prints how often a key was found.
"""

import gc
import sys
from random import Random

from skiplist import SkipList

FEWEST = 10  # keys, but at the start
# how often all keys are looked up after every step: so little is left in the caches of what insert
# did
ROUNDS = 2


class Version:
    """A version such as 3.11.7, in the order of the numbers."""

    __slots__ = ("parts",)

    def __init__(self, *parts: int) -> None:
        self.parts = parts

    def __lt__(self, other: "Version") -> bool:
        return self.parts < other.parts


def work(keys: int, steps: int) -> int:
    """So many steps with at most so many keys, the same ones each time; returns how often a key was
    found.

    Three of four steps lead towards the next length, one away from it: so calls of all functions
    mix at every length.
    """
    random = Random(1)
    numbers = random.sample(range(keys), keys)
    order = [
        Version(number // 100, number // 10 % 10, number % 10) for number in numbers
    ]  # the first len(skiplist) are in the list
    skiplist = SkipList()
    length = found = 0
    for _ in range(steps):
        place = len(skiplist)
        if place == length:
            # short ones as often as long ones
            length = round(FEWEST * (keys / FEWEST) ** random.random())
        if place < FEWEST or (place < keys and (place < length) == (random.random() < 0.75)):
            other = random.randrange(place, keys)
            order[place], order[other] = order[other], order[place]
            skiplist.insert(order[place])
        else:
            other = random.randrange(place)
            order[place - 1], order[other] = order[other], order[place - 1]
            found += skiplist.remove(order[place - 1])
        for key in order * ROUNDS:
            lower = skiplist.lower(key)
            if lower is not None and lower < key:
                raise RuntimeError(f"{lower.parts} is below {key.parts}")
        found += skiplist.search(random.choice(order))
    return found


if __name__ == "__main__":
    gc.disable()  # a collection of garbage would be told of the call into which it falls
    print(work(*map(int, sys.argv[1:])) if len(sys.argv) > 1 else work(100, 2_000))
