"""Bisecting where branches meet.

Each history is drawn by lot, in one git repository: branches, merges of two to four parents (some
with `-s ours`, some that take a change back or make one of their own, some of which the branch is
the first parent), criss-cross merges and several roots. One commit in eight makes the program
slower, or faster again. GOOD is a fast ancestor of BAD, which is slow; in most histories GOOD is
not on the line of first parents. Measuring gives each commit's level exactly; the span, the
decisions and what follows from them are those that are shipped.

A history is right where every commit that is named is slow, and the parent that it is compared
with, one that git knows as such, is fast; and where what a named merge brought leads on to a
commit, or to a merge, that made the change itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from random import Random

from perfvcs.git.project import Project
from perfvcs.locate.bisect.decision import decide
from perfvcs.locate.bisect.posterior import Prior
from perfvcs.locate.bisect.saved import Begun, Target
from perfvcs.locate.bisect.seen import Seen, SeenBlock
from perfvcs.locate.bisect.span import Span, brought, span

from .figures import Row
from .registry import benchmark
from .repositories import git, scratch

FAST, SLOW = 1_000_000.0, 1_200_000.0  # instructions, say
LEAST, MOST = 12, 60  # commits
TARGET = Target("work", "instructions", "work", None, "instructions", "", "lower")


@dataclass
class History:
    """Commits by number: their parents, whether each is slow, its level, and all its ancestors."""

    random: Random
    parents: list[tuple[int, ...]] = field(default_factory=list)
    slow: list[bool] = field(default_factory=list)
    levels: list[float] = field(default_factory=list)
    above: list[set[int]] = field(default_factory=list)
    drawn: Counter[str] = field(default_factory=Counter)

    def add(self, parents: tuple[int, ...], *, slow: bool) -> int:
        """One commit more; its number."""
        self.parents.append(parents)
        self.slow.append(slow)
        # as with real commits, no two are quite alike
        self.levels.append((SLOW if slow else FAST) * self.random.uniform(1, 1.0005))
        self.above.append(set().union(parents, *(self.above[parent] for parent in parents)))
        return len(self.parents) - 1

    def merged(self, parents: tuple[int, ...]) -> bool:
        """What git makes of the parents' levels: what one changed since their lines parted."""
        sides = {self.slow[parent] for parent in parents}
        if len(sides) == 1:
            return sides.pop()
        common = set.intersection(*(self.above[parent] | {parent} for parent in parents))
        return not self.slow[max(common)] if common else self.slow[parents[0]]

    def grow(self, count: int) -> None:
        """So many commits, with a culprit among them."""
        heads = [self.add((), slow=self.random.random() < 0.3)]
        while len(self.parents) < count:
            number = self._next(heads)
            heads.append(number)
            if len(heads) > 5:
                heads.pop(self.random.randrange(len(heads)))

    def _next(self, heads: list[int]) -> int:
        """One more commit, after one or several of the heads; these are no longer heads."""
        kinds = {"plain": 40, "branch": 20, "merge": 25, "cross": 10, "root": 5}
        (kind,) = self.random.choices(list(kinds), list(kinds.values()))
        if kind == "root":
            self.drawn["roots"] += 1
            return self.add((), slow=self.random.random() < 0.3)
        if kind in ("merge", "cross") and len(heads) > 1:
            return self._merge(heads, cross=kind == "cross")
        place = self.random.randrange(len(heads))
        parent = heads[place] if kind == "branch" else heads.pop(place)
        turned = self.random.random() < 0.12
        return self.add((parent,), slow=self.slow[parent] ^ turned)

    def _merge(self, heads: list[int], *, cross: bool) -> int:
        """A merge of some heads, or two of the same two in either order."""
        many = 2 if cross else self.random.choices((2, 3, 4), (80, 12, 8))[0]
        chosen = self.random.sample(heads, min(many, len(heads)))
        within = set().union(*(self.above[one] for one in chosen))
        parents = tuple(one for one in chosen if one not in within)
        for one in () if cross else parents:
            heads.remove(one)
        self.drawn["octopus merges" if len(parents) > 2 else "merges"] += 1
        way = self.random.choices(("", "ours", "own"), (75, 15, 10))[0]
        slow = self.slow[parents[0]] if way == "ours" else self.merged(parents) ^ (way == "own")
        self.drawn["merges with a change of their own"] += slow != self.merged(parents)
        if cross and len(parents) > 1:
            self.drawn["criss-cross merges"] += 1
            heads.append(self.add(parents[::-1], slow=self.merged(parents)))
        return self.add(parents, slow=slow)

    def first_parents(self, commit: int) -> set[int]:
        """The commits of a line of first parents."""
        found = {commit}
        while self.parents[commit]:
            commit = self.parents[commit][0]
            found.add(commit)
        return found


def drawn(seed: int) -> tuple[History, int, int]:
    """A history with its ends; in three of four the good one is not among the bad one's first
    parents.
    """
    random = Random(seed)
    while True:
        history = History(random)
        history.grow(random.randint(LEAST, MOST))
        numbers = range(len(history.parents))
        slow = [bad for bad in numbers if history.slow[bad]]
        pairs = [
            (good, bad) for bad in slow for good in history.above[bad] if not history.slow[good]
        ]
        aside = [(good, bad) for good, bad in pairs if good not in history.first_parents(bad)]
        if pairs:
            return history, *random.choice(aside if aside and random.random() < 0.75 else pairs)


@dataclass(frozen=True)
class Drawn:
    """A history with its ends, and the ids of its commits in a repository."""

    history: History
    good: int
    bad: int
    ids: list[str] = field(default_factory=list)


def repository(folder: Path, seeds: range) -> list[Drawn]:
    """A git repository with a history for each seed."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    found, stream, before = [Drawn(*drawn(seed)) for seed in seeds], [], 1
    for place, one in enumerate(found):
        for number, parents in enumerate(one.history.parents):
            stream += [f"commit refs/heads/h{place}c{number}", f"mark :{before + number}"]
            stream += [f"committer Ada <ada@example.org> {1_700_000_000 + number} +0000", "data 0"]
            for turn, parent in enumerate(parents):
                stream.append(f"{'merge' if turn else 'from'} :{before + parent}")
            text = str(one.history.levels[number])
            stream += [f"M 100644 inline level\ndata {len(text)}", text, ""]
        before += len(one.history.parents)
    marks = folder / ".git" / "marks"
    git(folder, "fast-import", "--quiet", f"--export-marks={marks}", data="\n".join(stream))
    ids = dict(line.split() for line in marks.read_text().splitlines())
    every = iter(ids[f":{number}"] for number in range(1, before))
    for one in found:
        one.ids.extend(islice(every, len(one.history.parents)))
    return found


@dataclass(frozen=True)
class Named:
    """What a search named, as numbers in its span, and how it ended."""

    between: Span
    commits: tuple[int, ...]
    why: str
    builds: int


def searched(between: Span, level: Callable[[str], float]) -> Named:
    """The bisection of a span by exact levels."""
    seen = Seen(between, Begun(between.good, between.bad, TARGET), exact=True)
    while (decision := decide(seen.evidence(), Prior(between.last).weights)).step.what != "ended":
        step = decision.step
        numbers = seen.commits(step.what, step.commit)
        measured = tuple(level(between.commits[number]) for number in numbers)
        seen.blocks.append(SeenBlock(step.what, step.commit, measured))
    return Named(between, decision.named, decision.step.why, len(seen.values()))


def followed(project: Project, named: Named, level: Callable[[str], float]) -> Named:
    """What is named in the end, where what a merge brought is searched, too."""
    if len(named.commits) == 1:
        for good, bad in brought(project, named.between, named.commits[0], everything=True):
            inner = searched(span(project, good, bad), level)
            if inner.why == "found":
                return followed(project, inner, level)
    return named


def faults(project: Project, one: Drawn) -> list[str]:
    """What is wrong with what is named in a history."""
    history, ids = one.history, one.ids
    numbers = {commit: number for number, commit in enumerate(ids)}

    def level(commit: str) -> float:
        return history.levels[numbers[commit]]

    outer = searched(span(project, ids[one.good], ids[one.bad]), level)
    inner = followed(project, outer, level)
    found = [] if outer.commits and outer.why == "found" else [f"nothing is named: {outer.why}"]
    for named in (outer, inner):
        wrong = _wrong(history, numbers, named)
        found += [f"{pair} is not a commit that is slow after its fast parent" for pair in wrong]
    if len(inner.commits) == 1:
        place = inner.commits[0]
        before, commit = (numbers[one] for one in inner.between.commits[place - 1 : place + 1])
        if len(history.parents[commit]) > 1 and not _is_own(history, commit, before):
            found.append(f"merge {commit} only brought the change")
    history.drawn["GOOD aside"] += one.good not in history.first_parents(one.bad)
    history.drawn["a merge is named first"] += outer is not inner
    history.drawn["builds"] += outer.builds
    return found


def _wrong(history: History, numbers: dict[str, int], named: Named) -> list[tuple[int, int]]:
    """The pairs of a commit that is named and its parent that are not what is claimed of them."""
    commits = [numbers[commit] for commit in named.between.commits]
    pairs = [(commits[place], commits[place - 1]) for place in named.commits]
    return [
        (commit, parent)
        for commit, parent in pairs
        if parent not in history.parents[commit] or not history.slow[commit] or history.slow[parent]
    ]


def _is_own(history: History, merge: int, before: int) -> bool:
    """Whether a merge is to blame itself: no other parent became slow after its line left
    ``before``.
    """
    known = history.above[before] | {before}
    others = [one for one in history.parents[merge] if one not in known and history.slow[one]]
    common = [history.above[one] & known for one in others]
    return all(history.slow[max(shared)] for shared in common if shared)


@benchmark("bisecting", quick={"histories": 10})
def bisecting_merges(*, histories: int = 300, seed: int = 1) -> Iterator[Row]:
    """Does `perf bisect` name the culprit, or the merge that brought it, where branches meet?"""
    counts: Counter[str] = Counter()
    right = 0
    with scratch("merges") as folder:
        every = repository(folder, range(seed * 1000, seed * 1000 + histories))
        project = Project.find(folder)
        for place, one in enumerate(every):
            wrong = faults(project, one)
            counts += one.history.drawn
            right += not wrong
            for fault in wrong:
                yield {"history": place, "fault": fault}
    yield {"what": "histories", "count": histories}
    yield {"what": "the culprit or its merge is named", "count": right}
    for what, count in sorted(counts.items()):
        yield {"what": what, "count": count}
