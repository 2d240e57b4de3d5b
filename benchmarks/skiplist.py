"""The skip list of examples/skiplist.

Each repetition builds the repository anew, measures its seven versions with `perf collect v1 ... v7`, and
checks each version against the one before it, and all sound versions against each other. Right is:
insert is a degradation of the slip's kind and order (an improvement back), everything else is the same.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import combinations, pairwise
from pathlib import Path

from .figures import ROOT, Row
from .programs import run
from .registry import Wrong, benchmark
from .repositories import perf, scratch

BUILD = ROOT / "examples/skiplist/build.py"
VERSIONS = ("v1", "v2", "v3", "v4", "v5", "v6", "v7")
SOUND = ("v1", "v3", "v5", "v7")
SLIPS = {
    "v2": ("constant", ""),
    "v4": ("linear", "O(log n) -> O(n)"),
    "v6": ("quadratic", "O(log n) -> O(n^2)"),
}
ORDERS = re.compile(r"O\([^)]*\) -> O\([^)]*\)")
PAIRS = [*pairwise(VERSIONS), *combinations(SOUND, 2)]

Said = tuple[str, str, str]  # word, kind of error, change of order


def repetition(language: str, folder: Path) -> dict[tuple[str, str, str], Said]:
    """One measurement of the whole history; what was said of each pair and function, with the
    report kept in ``folder``.
    """
    repository, found = folder / language, {}
    if not repository.exists():
        run(sys.executable, BUILD, language, repository)
        perf(repository, "collect", "--quiet", *VERSIONS)
    for before, after in PAIRS:
        text = perf(repository, "check", "--json", before, after)
        (folder / f"{language}-{before}-{after}.json").write_text(text)
        for change in json.loads(text)["changes"]:
            if change["metric"] == "duration":
                kind = (change.get("curve") or {"kind": "no curve"})["kind"]
                orders = ORDERS.search(change.get("finding", ""))
                name = change["uid"].replace("::", ".").rpartition(".")[2]
                found[before, after, name] = (change["word"], kind, orders[0] if orders else "")
    return found


def right(before: str, after: str, function: str, said: Said) -> bool:
    """Whether that is what happened."""
    if function != "insert" or not (before in SLIPS or after in SLIPS):
        return said[0] == "same"
    if after in SLIPS:
        return said == ("degradation", *SLIPS[after])
    kind, orders = SLIPS[before]
    return said == ("improvement", kind, " -> ".join(reversed(orders.split(" -> "))))


def in_words(said: Said) -> str:
    """In a few words."""
    word, kind, orders = said
    if kind in ("none", "no curve"):
        return word
    return f"{word} ({kind}, {orders})" if orders else f"{word} ({kind})"


@benchmark(
    "curves", quick="seven versions of two programs take minutes", needs=("g++", "make", "Python.h")
)
def skiplist(
    *, repetitions: int = 10, language: tuple[str, ...] = ("python", "cpp"), folder: str = ""
) -> Iterator[Row]:
    """Does `perf check` name what became of a skip list, in every one of several fresh measurements?

    Repositories and reports that are in ``folder`` are only checked.
    """
    missed = 0
    with scratch("skiplist") as outside:
        top = Path(folder).resolve() if folder else outside
        for name in language:
            known = defaultdict[tuple[str, str, str], list[Said]](list)
            for number in range(repetitions):
                (top / f"{number}").mkdir(parents=True, exist_ok=True)
                for place, said in repetition(name, top / f"{number}").items():
                    known[place].append(said)
            for (before, after, function), all_said in known.items():
                good = sum(right(before, after, function, said) for said in all_said)
                words = Counter(map(in_words, all_said)).most_common()
                if function == "insert" and after in SLIPS:
                    missed += len(all_said) - good
                yield {
                    "language": name,
                    "pair": f"{before}-{after}",
                    "function": function,
                    "right": good,
                    "of": len(all_said),
                    "said": ", ".join(f"{count} {what}" for what, count in words),
                }
    if missed:
        raise Wrong(f"{missed} slips are not named rightly")
