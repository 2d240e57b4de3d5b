"""`perf select` in the history of a library of C++.

``clone`` is a clone of fmt. The newest commits that change its headers or sources are each decided as `perf
select` decides them, for eight small programs that use different parts of it, with the functions that each
ran on the commit before, as callgrind lists them. The truth are the instructions of each program, built on
both sides with `g++ -O2`: a miss is a program that was left out and whose count differs by 1 % or more.
What was recorded of each commit is kept in ``records``, so that two states of this code decide the same.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from perfvcs.collectors._shared import frames
from perfvcs.git.project import Project
from perfvcs.locate.select.changereach import ChangeReach
from perfvcs.locate.select.choices import BenchmarkReach, Choice, choose
from perfvcs.locate.select.impact import impact
from perfvcs.locate.select.reached import SYMBOL, BenchmarkUnit, Reach
from perfvcs.locate.select.static import resolved
from perfvcs.locate.sources.differences import changes
from perfvcs.locate.sources.uses import Sources

from .figures import Row
from .registry import benchmark
from .repositories import git, scratch

CHANGE = 0.01
BEGIN = "int main() { std::size_t n = 0; for (int i = 0; i < 2000; ++i) {"
END = "} return n == 0; }"
PROGRAMS = {
    "integers": ("format", 'n += fmt::format("{} {:x} {:>9}", i, i, i).size();'),
    "doubles": ("format", 'n += fmt::format("{} {:.3f} {:e}", i * 0.1, i * 0.7, i * 1e9).size();'),
    "strings": ("format", 'n += fmt::format("{:*^30}{}", "middle", std::string("end")).size();'),
    "ranges": ("ranges", 'n += fmt::format("{}", std::vector<int>{i, 2, 3}).size();'),
    "times": ("chrono", 'n += fmt::format("{}", std::chrono::seconds(i)).size();'),
    "printf": ("printf", 'n += fmt::sprintf("%d %s %5.1f", i, "text", i * 0.5).size();'),
    "compiled": ("compile", 'n += fmt::format(FMT_COMPILE("{} and {}"), i, i * 3).size();'),
    "colours": ("color", 'n += fmt::format(fmt::fg(fmt::color::red), "{}", i).size();'),
}
HEAD = "#include <chrono>\n#include <string>\n#include <vector>\n"
_NAMED = re.compile(r"(c?)(fn|ob)=\((\d+)\)(?: (.*))?")


class Seen(NamedTuple):
    """What a program did on a commit: its functions, as callgrind calls them, and how many
    instructions it took.
    """

    functions: list[str]
    instructions: int


class Library:
    """A clone whose commits are built; what they did is kept in ``records``."""

    def __init__(self, clone: Path, records: Path, scratch: Path) -> None:
        self.root, self.records, self.scratch = scratch / "tree", records, scratch
        words = ("--quiet", "--shared", "--no-checkout", str(clone), str(self.root))
        git(scratch, "clone", *words)

    def seen(self, commit: str) -> dict[str, Seen]:
        """What the programs did on a commit; without those that cannot be built there."""
        kept = self.records / f"{commit}.json"
        if not kept.exists():
            git(self.root, "checkout", "--quiet", "--force", commit)
            library = self._compiled(self.root / "src" / "format.cc")
            found = {name: self._run(name, library) for name in PROGRAMS} if library else {}
            kept.write_text(
                json.dumps({name: seen for name, seen in found.items() if seen is not None})
            )
        return {name: Seen(*values) for name, values in json.loads(kept.read_text()).items()}

    def _compiled(self, source: Path, *more: str) -> Path | None:
        made = self.scratch / f"{source.stem}.o"
        words = ["g++", "-std=c++17", "-O2", "-I", str(self.root / "include"), str(source), *more]
        done = subprocess.run(
            [*words, *(() if more else ("-c",)), "-o", str(made)], capture_output=True, check=False
        )
        return made if not done.returncode else None

    def _run(self, name: str, library: Path) -> Seen | None:
        header, body = PROGRAMS[name]
        source = self.scratch / f"{name}.cc"
        source.write_text(f"{HEAD}#include <fmt/{header}.h>\n{BEGIN}{body}{END}\n")
        program = self._compiled(source, str(library))
        if program is None:
            return None
        output = self.scratch / "callgrind"
        words = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={output}", str(program)]
        subprocess.run(words, capture_output=True, check=True)
        return _read(output.read_text(), str(program))


def _read(text: str, program: str) -> Seen:
    """The functions of one program in what callgrind wrote, and the instructions of all."""
    names: dict[tuple[str, str], str] = {}
    functions: set[str] = set()
    image = ""
    for line in text.splitlines():
        if (match := _NAMED.match(line)) is None:
            continue
        called, kind, number, name = match.groups()
        names.setdefault((kind, number), name or "")
        if kind == "ob" and not called:
            image = names[kind, number]
        elif kind == "fn" and not called and image == program:
            functions.add(names[kind, number])
    total = re.search(r"^(?:summary|totals): (\d+)", text, re.MULTILINE)
    return Seen(sorted(functions), int(total[1]) if total else 0)


@benchmark(
    "selecting", quick="needs a clone of fmt", needs=("clones of projects", "g++", "valgrind")
)
def selection_native(*, clone: Path, commits: int = 50, records: str = "") -> Iterator[Row]:
    """How much does `perf select` leave out in the history of a library of C++, and what does it miss?"""
    done: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    with scratch("selection") as folder:
        kept = Path(records) if records else folder / "records"
        kept.mkdir(exist_ok=True)
        library = Library(clone.resolve(), kept, folder)
        project, home = Project.find(library.root), folder / "home"
        home.mkdir()
        words = ("--first-parent", "--full-history", "-n", str(commits + 1), "HEAD", "--")
        listed = project.git("rev-list", *words, "include", "src").split()
        for new, last in pairwise(listed):
            old = project.git("rev-parse", f"{new}^").strip()
            # the same library as on the commit before
            before, after = library.seen(last), library.seen(new)
            reached = impact(changes(project, old, new), Sources(project, home, new))
            sources = Sources(project, home, old)
            for name in before.keys() & after.keys():
                choice = _choice(name, before[name], sources, old, reached)
                counts = before[name].instructions, after[name].instructions
                differs = abs(counts[1] - counts[0]) >= CHANGE * counts[0]
                missed = differs and not choice.run
                done.update(pairs=1, kept=choice.run, changed=differs, missed=missed)
                if choice.run and reached.everything:
                    reasons[f"everything: {choice.reason}"] += 1
                elif choice.run:
                    reasons[choice.by or "nothing known"] += 1
                if missed:
                    print(f"{new[:10]} {name}: {counts[0]} to {counts[1]}", file=sys.stderr)
    yield {"commits": len(listed) - 1, **done}
    for reason, count in reasons.most_common(12):
        yield {"kept because": reason, "count": count}


def _choice(name: str, seen: Seen, sources: Sources, old: str, reached: ChangeReach) -> Choice:
    """Whether a program is kept, by the functions that it ran."""
    named = [one for one in seen.functions if not frames.ADDRESS_NAME.fullmatch(one)]
    symbols = {frames.function(one) for one in named} - {"[unknown]"}
    found = resolved(sources, Reach(old, frozenset(f"{SYMBOL}{one}" for one in symbols)))
    evidence = BenchmarkReach(None, found) if isinstance(found, str) else BenchmarkReach(found)
    return choose(BenchmarkUnit(name, "instructions"), evidence, reached)
