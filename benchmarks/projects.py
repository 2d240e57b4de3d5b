"""Published projects followed with `perf init` unedited: is a planted slip found, its commit named,
and its hunk proved?

Each project of ``clones`` (folders with clones) is cloned again. `perf init --yes` writes
perf.toml; a line of README, a slip of ``slips``, and a remark in the slip's file are committed on
it. Then `perf check --measure`, `perf blame` and `perf bisect` are asked of the first and the last
commit with nothing named, for at most ``limit`` seconds each; only `perf check` with
``only_check``. ``slips`` is a file of TOML, projects.toml without one: by the name of a project its
``language``, the ``file``, a text that stands in it once (``old``), the ``new`` one, and a
``remark``. All that is said is written to NAME.txt in ``folder``.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .figures import Row
from .registry import benchmark
from .repositories import PERF, commit, git, repository, scratch
from .starting import SAID, said_seconds

OWN = Path(__file__).with_suffix(".toml")
FINE, FOUND = 0, 3  # exit codes: fine, and a degradation
ITEM = re.compile(
    r"^.*\b(?:slower|faster|more|less|larger|smaller|worse|better): .*$", re.MULTILINE
)
TINY = {
    "work.py": "def total(n):\n    return sum(range(n))\n",
    "bench_total.py": "import time\nfrom work import total\n\nbegan = time.perf_counter()\n"
    "total(300_000)\nprint('total', time.perf_counter() - began)\n",
}


@dataclass(frozen=True)
class Slip:
    """A slowdown of one function: a text of a file, and what stands there after it."""

    language: str
    file: str
    old: str
    new: str
    remark: str = "# That is all."


class Followed:
    """A project with its slip, on its way; all that commands say goes into a file beside it."""

    def __init__(self, source: Path, folder: Path, slip: Slip, limit: float) -> None:
        self.place, self.slip, self.limit = folder / source.name, slip, limit
        self.log = folder / f"{source.name}.txt"
        git(folder, "clone", "--quiet", str(source), str(self.place))
        git(self.place, "config", "user.name", "Ada")
        git(self.place, "config", "user.email", "ada@example.org")

    def perf(self, *words: str) -> tuple[str, int, float]:
        """What a command prints, its exit status (-1 where it was stopped), and its seconds."""
        began = time.monotonic()
        with subprocess.Popen(
            [*PERF, *words],
            cwd=self.place,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                said, noted = process.communicate(timeout=self.limit)
                status = process.returncode
            except subprocess.TimeoutExpired:
                process.terminate()
                (said, noted), status = process.communicate(), -1
        seconds = time.monotonic() - began
        with self.log.open("a") as log:
            log.write(
                f"$ perf {shlex.join(words)}\n{noted}{said}[exit {status}, {seconds:.0f} s]\n\n"
            )
        return said, status, seconds

    def slowed(self) -> str:
        """The commit that makes the project slower, between two that do not."""
        path = self.place / self.slip.file
        readme = next(self.place.glob("[Rr][Ee][Aa][Dd]*"), self.place / "README")
        commit(self.place, "Measure it")
        readme.write_text(
            (readme.read_text() if readme.exists() else "") + "\nThanks for reading.\n"
        )
        commit(self.place, "Thank the reader")
        text = path.read_text()
        if text.count(self.slip.old) != 1:
            raise RuntimeError(f"{path}: stands {text.count(self.slip.old)} times: {self.slip.old}")
        path.write_text(text.replace(self.slip.old, self.slip.new))
        slow = commit(self.place, "Do it with more care")
        path.write_text(path.read_text() + f"\n{self.slip.remark}\n")
        commit(self.place, "End the file with a remark")
        return slow

    def row(self, *, only_check: bool) -> Row:
        """What came of it."""
        said, _, took = self.perf("init", "--yes")
        written, expected = self.place / "perf.toml", SAID.search(said)
        jobs = tomllib.loads(written.read_text())["job"] if written.exists() else []
        row: Row = {
            "project": self.place.name,
            "language": self.slip.language,
            "measured": " + ".join(str(job["cmd"]) for job in jobs)
            if expected
            else "nothing that runs",
            "init_s": took,
        }
        if not expected:
            return row
        slow = self.slowed()
        row |= {
            "said_s": said_seconds(expected[2]),
            "most_s": said_seconds(expected[3] or expected[2]),
            **self._checked(),
        }
        return row if only_check else row | self._blamed() | self._searched(slow)

    def _checked(self) -> Row:
        said, status, took = self.perf("check", "--measure", "HEAD~3", "HEAD")
        moved = ITEM.search(said)
        return {
            "check_s": took,
            "found": status == FOUND,
            "says": moved[0].strip() if moved else "",
        }

    def _blamed(self) -> Row:
        said, status, took = self.perf("blame", "--json", "HEAD~3", "HEAD")
        answer = json.loads(said) if status == FINE else {}
        proved = [trial for trial in answer.get("trials", []) if trial["word"] == "proved"]
        return {
            "blame_s": took,
            "hunk": answer.get("verdict", f"exit {status}"),
            "in": ", ".join(f"{trial['name']} ({trial['path']})" for trial in proved),
        }

    def _searched(self, slow: str) -> Row:
        said, status, took = self.perf("bisect", "--json", "HEAD~3", "HEAD")
        answer = json.loads(said) if said.startswith("{") else {}
        named = [one["commit"] for one in answer.get("named", [])]
        return {
            "bisect_s": took,
            "commit": named == [slow] if named else answer.get("ended", f"exit {status}"),
        }


def _tiny(folder: Path) -> Iterator[tuple[Path, Slip]]:
    """A project of one function, which the slip calls again."""
    place = repository(folder / "tiny", TINY)
    old, new = "return sum(range(n))", "return max(sum(range(n)), sum(range(n)))"
    yield place, Slip("Python", "work.py", old, new)


def _published(clones: tuple[str, ...], slips: str) -> Iterator[tuple[Path, Slip]]:
    known = tomllib.loads(Path(slips).read_text())
    for clone in clones:
        source = Path(clone).resolve()
        yield source, Slip(**known[source.name])


@benchmark("languages", quick={"only_check": True})
def projects(
    *,
    clones: tuple[str, ...] = (),
    slips: str = str(OWN),
    folder: str = "",
    limit: float = 360.0,
    only_check: bool = False,
) -> Iterator[Row]:
    """Is a slip planted in a published project found, with what `perf init` writes there?"""
    with scratch("projects") as made:
        place = Path(folder).resolve() if folder else made
        place.mkdir(parents=True, exist_ok=True)
        chosen = _published(clones, slips) if clones else _tiny(made / "sources")
        for source, slip in chosen:
            yield Followed(source, place, slip, limit).row(only_check=only_check)
