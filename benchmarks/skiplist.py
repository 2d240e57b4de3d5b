"""Whether `perf check` names what became of the skip list of examples/skiplist, in every one of
several fresh measurements.

    python benchmarks/skiplist.py [--repetitions 10] [--language python] [--language cpp] [--folder
    DIR]

Each repetition builds the repository anew, measures its seven versions with `perf collect v1 v2 v3
v4 v5 v6 v7`, and checks each version against the one before it, and all sound versions against each
other. Prints, per pair and function, how often each word was said, with the kind of error and the
change of order. Right is: insert is a degradation of the slip's kind and order (an improvement
back), everything else is the same. Exits with 1 unless every repetition was right about insert in
every version with a slip.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from itertools import combinations, pairwise
from pathlib import Path

from needs import need

BUILD = Path(__file__).resolve().parents[1] / "examples/skiplist/build.py"
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


def run(*command: str, folder: Path, fine: tuple[int, ...] = (0,)) -> str:
    """What a command printed; ends the script where it fails."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode not in fine:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def repetition(language: str, folder: Path) -> dict[tuple[str, str, str], Said]:
    """One measurement of the whole history; what was said of each pair and function, with the
    report kept in ``folder``.
    """
    repository, perf = folder / language, str(Path(sys.executable).with_name("perf"))
    if not repository.exists():
        run(sys.executable, str(BUILD), language, str(repository), folder=folder)
        run(perf, "collect", "--quiet", *VERSIONS, folder=repository)
    found = {}
    for before, after in PAIRS:
        text = run(perf, "check", "--json", before, after, folder=repository, fine=(0, 3, 4))
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
    return (
        word if kind in ("none", "no curve") else f"{word} ({kind}{', ' if orders else ''}{orders})"
    )


def main() -> int:
    """Measure, and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repetitions", type=int, default=10)
    parser.add_argument("--language", action="append", choices=("python", "cpp"))
    parser.add_argument(
        "--folder",
        type=Path,
        help="keep repositories and reports there; those that are there are only checked",
    )
    options = parser.parse_args()
    if "cpp" in (options.language or ("cpp",)):
        need("g++", "make")
    every = True
    with tempfile.TemporaryDirectory() as temporary:
        top = (options.folder or Path(temporary)).resolve()
        for language in options.language or ("python", "cpp"):
            known: dict[tuple[str, str, str], list[Said]] = defaultdict(list)
            for number in range(options.repetitions):
                folder = top / f"{number}"
                folder.mkdir(parents=True, exist_ok=True)
                for place, said in repetition(language, folder).items():
                    known[place].append(said)
            print(
                f"\n{language}, {options.repetitions} repetitions\n{'pair':9} {'function':9} right "
                " said"
            )
            for (before, after, function), all_said in known.items():
                good = sum(right(before, after, function, said) for said in all_said)
                every &= good == len(all_said) or function != "insert" or after not in SLIPS
                words = ", ".join(
                    f"{count} {what}"
                    for what, count in Counter(map(in_words, all_said)).most_common()
                )
                print(
                    f"{before}-{after:6} {function:9} {good:2} of {len(all_said):2}  {words}",
                    flush=True,
                )
    return 0 if every else 1


if __name__ == "__main__":
    sys.exit(main())
