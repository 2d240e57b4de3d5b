"""What kind of change a function went through, by the syntax trees of both sides: an explanation,
never a filter.

The classes are those that Reichelt and Kühne (PeASS, 2018) found by hand (functionality, condition
checks, optimisation, test, exception handling, synchronisation, library), divided further where a
syntax tree tells more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from perfvcs.locate.blame.cause import ChangeKind
from perfvcs.locate.blame.features import Features, python
from perfvcs.locate.sources.hunks import DifferingFile, Hunk
from perfvcs.locate.sources.parts import MODULE
from perfvcs.text.words import wordset

COPIES = wordset("copy deepcopy list tuple dict set memcpy memmove strcpy strncpy strdup strndup")
OTHER = "other statements"  # what is said of a change of none of these kinds
ALGORITHMS = wordset(
    "sorted sort bisect bisect_left bisect_right insort heappush heappop heapify nsmallest"
    " nlargest min max index count search match compile findall finditer join any all sum"
    " qsort bsearch strlen strcmp binary_search lower_bound upper_bound find find_if"
    " stable_sort accumulate transform"
)
SORTS = frozenset({"sorted", "sort", "qsort", "stable_sort", "partial_sort", "argsort"})
# a name and a short value, in Python or C
CONSTANT = re.compile(
    r"\s*(?:#\s*define\s+(?=\w+\s)|(?:[\w*]+\s+)*(?=\w+\s*[:=]))"
    r"(\w+)(?:\s*:(?:\s*[^=\s][^=]*(?==))?)?(?:\s*=)?\s*([-+.\w\"']{1,20});?\s*"
)
TEST = re.compile(
    r"(?:^|/)(?:tests?|testing)/|(?:^|/)test_[^/]*$|(?:^|/)\w*tests?\.\w+$|(?:^|/)conftest\.py$"
)


def kinds(change: DifferingFile, name: str, hunks: Sequence[Hunk]) -> list[ChangeKind]:
    """The kinds of change of a function (or of ``<module>``), what is most telling first; empty
    where nothing here can read it.
    """
    if TEST.search(change.path):
        return [ChangeKind("test", [hunk.lines[0] for hunk in hunks], "a test changed")]
    sides = [_features(change, name, new=new) for new in (False, True)]
    old, new = (side or Features() for side in sides)
    touched = {line for hunk in hunks for line in range(hunk.lines[0], hunk.lines[1] + 1)}
    if changes := list(_compared(old, new, touched)):
        return changes
    for hunk in hunks:
        if says := _constant(change, hunk):
            return [ChangeKind("functionality", [hunk.lines[0]], says)]
    return [_other(old, new, touched)] if sides != [None, None] else []


def _constant(change: DifferingFile, hunk: Hunk) -> str:
    """What a constant is and was, where lines of a hunk give a name another value; else empty."""
    old, new = (
        [CONSTANT.fullmatch(line) for line in side[first - 1 : first - 1 + count] if count]
        for side, (first, count) in zip(change.sides, hunk, strict=True)
    )
    for before, after in zip(old, new, strict=False):
        if before and after and before[1] == after[1] and before[2] != after[2]:
            return f"{after[1]} is {after[2]}, was {before[2]}"
    return ""


def _other(a: Features, b: Features, touched: set[int]) -> ChangeKind:
    """What changed where nothing more telling did: what is called, a decorator, or other
    statements.
    """
    gone, come = ([call for call in x.calls if call not in y.calls] for x, y in ((a, b), (b, a)))
    if come:
        return ChangeKind("functionality", [b.calls[come[0]][0][1]], f"calls {come[0]} in addition")
    wrapped = [name for name in b.decorators if name not in a.decorators]
    says = f"no longer calls {gone[0]}" if gone else OTHER
    says = f"{wrapped[0]} decorates it" if wrapped else says
    return ChangeKind("functionality", sorted(touched)[:1], says)


def _compared(a: Features, b: Features, touched: set[int]) -> Iterable[ChangeKind]:
    """The differences of both sides, one after the other."""
    yield from _kept(a, b)
    yield from _looped(a, b, touched)
    yield from _moved(a, b)
    yield from _replaced(a, b, touched)
    locks = [[line for _, line in side.locks] for side in (a, b)]
    sorts = [_lines_of(side, SORTS) for side in (a, b)]
    exits = [side.exits if len(_loops(a)) == len(_loops(b)) else [] for side in (a, b)]
    counts: tuple[tuple[str, str, list[int], list[int]], ...] = (
        ("sort", "a sort", sorts[0], sorts[1]),
        ("early exit", "an early exit from a loop", exits[0], exits[1]),
        ("synchronisation", "a lock", locks[0], locks[1]),
        ("exception handling", "handling of exceptions", a.exceptions, b.exceptions),
        ("condition", "a condition", a.conditions, b.conditions),
    )
    for kind, noun, old, new in counts:
        if len(new) > len(old):
            yield ChangeKind(f"{kind} added", _near(new, touched), f"{noun} was added")
        elif len(new) < len(old):
            yield ChangeKind(f"{kind} removed", [], f"{noun} was removed")
    if set(a.imports) != set(b.imports):
        imported = [name for name in b.imports if name not in a.imports]
        yield ChangeKind(
            "library",
            [b.imports[name] for name in imported],
            f"imports {imported[0]}" if imported else "an import was removed",
        )
    added = [call for call in b.calls if call not in a.calls and call not in COPIES | ALGORITHMS]
    if added:
        yield ChangeKind(
            "functionality", [b.calls[added[0]][0][1]], f"calls {added[0]} in addition"
        )


def _kept(a: Features, b: Features) -> Iterable[ChangeKind]:
    """Caches that came, went, or keep another number of results."""
    lines = [memo.line for memo in b.caches]
    before, after = (sorted(memo.entries for memo in side.caches) for side in (a, b))
    if len(after) != len(before):
        what = "dropped" if len(after) < len(before) else "added"
        yield ChangeKind(f"cache {what}", lines, f"a cache was {what}")
    elif after != before:
        old, new = next(pair for pair in zip(before, after, strict=True) if pair[0] != pair[1])
        what = "smaller" if new < old else "larger"
        yield ChangeKind(f"cache {what}", lines, f"a cache became {what}")


def _looped(a: Features, b: Features, touched: set[int]) -> Iterable[ChangeKind]:
    """Loops that were added, removed, or put inside of others."""
    deepest_before, deepest = max(a.loops, default=0), max(b.loops, default=0)
    before, after = _loops(a), _loops(b)
    if deepest > deepest_before > 0:
        yield ChangeKind("deeper loop", b.loops[deepest], "a loop inside a loop")
    elif deepest_before > deepest > 0 and len(after) >= len(before):
        yield ChangeKind(
            "shallower loop", _near(after, touched), "a loop is no longer inside a loop"
        )
    elif len(after) > len(before):
        yield ChangeKind("loop added", _near(after, touched), "a loop was added")
    elif len(after) < len(before):
        yield ChangeKind("loop removed", [], "a loop was removed")


def _moved(a: Features, b: Features) -> Iterable[ChangeKind]:
    """Calls on both sides that moved into loops, or out of them."""
    before = {call: [depth for depth, _ in places] for call, places in a.calls.items() if places}
    common = {call: places for call, places in b.calls.items() if call in before}
    inward = [
        (call, line)
        for call, places in common.items()
        for depth, line in places
        if depth > max(before[call])
    ]
    if inward:
        yield ChangeKind(
            "call moved into a loop",
            [line for _, line in inward],
            f"{inward[0][0]} is called inside a loop now",
        )
    outward = [call for call, places in common.items() if max(places)[0] < min(before[call])]
    if outward:
        yield ChangeKind(
            "call moved out of a loop",
            [common[outward[0]][0][1]],
            f"{outward[0]} is called outside of the loop now",
        )
    depths = [max((depth for depth, _ in side.locks), default=0) for side in (a, b)]
    if a.locks and b.locks and depths[0] != depths[1]:
        what = "moved into a loop" if depths[1] > depths[0] else "moved out of a loop"
        yield ChangeKind(f"lock {what}", [max(b.locks)[1]], f"a lock {what}")


def _replaced(a: Features, b: Features, touched: set[int]) -> Iterable[ChangeKind]:
    """Containers, copies and algorithms."""
    lost = [
        name for name in a.containers if len(b.containers.get(name, ())) < len(a.containers[name])
    ]
    gained = [
        name for name in b.containers if len(a.containers.get(name, ())) < len(b.containers[name])
    ]
    if lost and gained:
        yield ChangeKind(
            "container replaced",
            _near(b.containers[gained[0]], touched),
            f"{gained[0]} for {lost[0]}",
        )
    copies = [
        sorted([*_lines_of(side, COPIES), *side.slices, *_by_value(side, other)])
        for side, other in ((a, b), (b, a))
    ]
    if len(copies[1]) > len(copies[0]) and not lost:
        yield ChangeKind("copy added", _near(copies[1], touched), "a copy was added")
    elif len(copies[1]) < len(copies[0]) and not gained:
        yield ChangeKind("copy removed", [], "a copy was removed")
    gone = [call for call in a.calls if call in ALGORITHMS and call not in b.calls]
    come = [call for call in b.calls if call in ALGORITHMS and call not in a.calls]
    if gone and come:
        yield ChangeKind("algorithm replaced", [b.calls[come[0]][0][1]], f"{come[0]} for {gone[0]}")


def _by_value(side: Features, other: Features) -> list[int]:
    """The lines of parameters and variables of loops that are references on the other side only."""
    return [
        line
        for name, (is_reference, line) in side.references.items()
        if not is_reference and other.references.get(name, (False, 0))[0]
    ]


def _lines_of(side: Features, names: frozenset[str]) -> list[int]:
    """The lines of all calls of some functions."""
    return [line for name, places in side.calls.items() if name in names for _, line in places]


def _loops(side: Features) -> list[int]:
    """The lines of all loops."""
    return [line for lines in side.loops.values() for line in lines]


def _near(lines: Sequence[int], touched: set[int]) -> list[int]:
    """Those of some lines that changed; all where none did."""
    return sorted(line for line in lines if line in touched) or sorted(lines)[:1]


def _features(change: DifferingFile, name: str, *, new: bool) -> Features | None:
    """The features of one side; None where it does not have the function, or nothing here can read
    it.
    """
    outline, text = change.outlines[new], change.new if new else change.old
    if outline is None:
        return None
    if outline.language == "python":
        return python(text, name)
    from perfvcs.locate.blame import syntaxtrees

    if not syntaxtrees.available(change.path):
        return None
    definitions = outline.definitions if name == MODULE else outline.named(name)
    lines = {line for part in definitions for line in range(part.first, part.last + 1)}
    if name == MODULE:
        lines = set(range(1, text.count("\n") + 2)) - lines
    return syntaxtrees.features(change.path, text, lines) if lines else None
