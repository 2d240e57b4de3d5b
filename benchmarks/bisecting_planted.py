"""`perf bisect` on real projects: 64 real commits of each, into one of which a slowdown was planted, beside `git bisect run`.

    python benchmarks/bisecting_planted.py CLONES FOLDER [--only NAME ...] [--seed 1]

CLONES holds a clone of each project of ``PROJECTS``: a folder named like it, or bare and ending in `+NAME/repo`. In FOLDER a
repository is made of each project's newest 64 commits along the first parents; from one of them on, chosen by chance, a function that
the benchmark calls runs a loop first, which costs 3 to 20 % of the benchmark's CPU time, calibrated here. A line per project: what was
planted, what was named, builds, executions and minutes; and the same of a `git bisect run` that compares the median of five executions
with the middle between the medians of both ends.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

COMMITS = 64
EXECUTIONS = 5  # of git bisect run


@dataclass(frozen=True)
class Planted:
    """A project, the file and function into which the loop goes, the benchmark, its build, and the size of the slowdown."""

    name: str
    file: str
    function: str
    work: str
    size: float
    build: str = ""

    @property
    def is_c(self) -> bool:
        return self.file.endswith((".c", ".h"))


JSON_C = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
{include}
int main(void)
{{
    size_t length = 0, room = 60000;
    char *text = malloc(room);
    text[length++] = '[';
    for (int i = 0; i < 800; i++)
        length += (size_t)snprintf(
            text + length, room - length, "%s{{\\"id\\": %d, \\"name\\": \\"item %d\\", \\"ok\\": true}}", i ? ", " : "", i, i);
    text[length++] = ']';
    text[length] = 0;
    long total = 0;
    for (int round = 0; round < {rounds}; round++) {{
        {body}
    }}
    printf("%ld\\n", total);
    return 0;
}}
"""
INI_C = r"""
#include <stdio.h>
#include <string.h>
#include "../ini.h"
static int handle(void *user, const char *section, const char *name, const char *value)
{
    *(long *)user += (long)(strlen(section) + strlen(name) + strlen(value));
    return 1;
}
int main(void)
{
    long total = 0;
    for (int round = 0; round < 1500; round++) {
        FILE *file = fopen("bench/data.ini", "r");
        if (!file || ini_parse_file(file, handle, &total) < 0)
            return 1;
        fclose(file);
    }
    printf("%ld\n", total);
    return 0;
}
"""
PROJECTS = (
    Planted("sqlparse", "sqlparse/__init__.py", "parse", """
import sqlparse
for number in range(25):
    sqlparse.parse(
        f"select a, b, count(*) from t{number} join u on t.id = u.id where a in (1, 2, 3) and b like 'x%' group by a, b order by 1"
    )
""", 0.10),
    Planted("toolz", "toolz/itertoolz.py", "groupby", """
from toolz import groupby, merge_with, pipe, sliding_window
for number in range(40):
    groups = groupby(lambda value: value % 17, range(3000))
    merge_with(sum, *({key: len(values)} for key, values in groups.items()))
""", 0.08),
    Planted("tinydb", "tinydb/queries.py", "__call__", """
from tinydb import Query, TinyDB
from tinydb.storages import MemoryStorage
db = TinyDB(storage=MemoryStorage)
db.insert_multiple({"id": number, "name": f"n{number % 50}"} for number in range(600))
for number in range(50):
    db.search((Query().name == f"n{number}") & (Query().id > 100))
""", 0.15),
    Planted("mistune", "src/mistune/block_parser.py", "parse", """
import mistune
text = "# Title\\n\\nSome *text* with `code` and [a link](http://example.org).\\n\\n- one\\n- two\\n\\n> quoted\\n\\n" * 12
markdown = mistune.create_markdown()
for number in range(12):
    markdown(text)
""", 0.12),
    Planted("boltons", "boltons/iterutils.py", "chunked_iter", """
from boltons.iterutils import chunked, remap, windowed
for number in range(120):
    chunked(list(range(3000)), 7)
    list(windowed(range(1000), 3))
""", 0.06),
    Planted("inflection", "inflection/__init__.py", "pluralize", """
from inflection import camelize, pluralize, underscore
words = ["category", "person", "octopus", "index", "datum", "analysis", "quiz", "house", "wolf", "tomato"]
for number in range(250):
    for word in words:
        pluralize(word)
        underscore(camelize(word))
""", 0.20),
    Planted("tomli", "src/tomli/_parser.py", "loads", """
import tomli
part = "name = 'value'\\nlist = [1, 2, 3]\\ndate = 1979-05-27T07:32:00Z\\nnested = {a = 1, b = {c = 2.5}}\\n"
text = "".join(f"[table{number}]\\n{part}" for number in range(60))
for number in range(14):
    tomli.loads(text)
""", 0.05),
    Planted("cJSON", "cJSON.c", "parse_value", JSON_C.format(
        include='#include "../cJSON.h"', rounds=400, body="cJSON *item = cJSON_Parse(text); total += cJSON_GetArraySize(item); "
            "cJSON_Delete(item);",
    ), 0.10, "cc -O2 -o bench/task bench/task.c cJSON.c -lm"),
    Planted("inih", "ini.c", "ini_parse_stream", INI_C, 0.07, "cc -O2 -o bench/task bench/task.c ini.c"),
    Planted("jsmn", "jsmn.h", "jsmn_parse", JSON_C.format(
        include='#include "../jsmn.h"', rounds=700,
        body="jsmn_parser parser; static jsmntok_t tokens[10000]; jsmn_init(&parser); "
            "total += jsmn_parse(&parser, text, length, tokens, 10000);",
    ), 0.03, "cc -O2 -o bench/task bench/task.c"),
)  # fmt: skip


def git(folder: Path, *args: str, text: str | None = None, **environment: str) -> str:
    found = subprocess.run(
        ["git", *args],
        cwd=folder,
        input=text,
        text=True,
        capture_output=True,
        check=True,
        env=os.environ | environment,
        errors="surrogateescape",
    )
    return found.stdout.rstrip("\n")


def with_loop(source: str, project: Planted, turns: int) -> str:
    """A source whose function runs a loop first; raises ValueError where it has no such function."""
    if project.is_c:
        pattern = re.compile(rf"^[\w \t*()]*\b{project.function}\s*\([^;{{}}]*\)\s*\{{", re.MULTILINE)
        loop = f" for (volatile int perf_turn = 0; perf_turn < {turns}; perf_turn++) {{ }}"
        found = pattern.search(source)
        if not found:
            raise ValueError(project.function)
        return source[: found.end()] + loop + source[found.end() :]
    found = re.search(rf"^([ \t]*)def {project.function}\((?:[^()]|\([^()]*\))*\)[^:\n]*:[ \t]*\n", source, re.MULTILINE)
    if not found:
        raise ValueError(project.function)
    return source[: found.end()] + f"{found[1]}    for _ in range({turns}):\n{found[1]}        pass\n" + source[found.end() :]


def make(project: Planted, clone: Path, folder: Path, culprit: int, turns: int) -> list[str]:
    """The repository of 64 commits; their ids, oldest first."""
    git(folder.parent, "init", "--quiet", "--initial-branch=main", str(folder))
    objects = git(clone, "rev-parse", "--path-format=absolute", "--git-path", "objects")
    (folder / ".git" / "objects" / "info" / "alternates").write_text(f"{objects}\n")
    tip = git(clone, "rev-list", "--max-count=1", "--all", "--first-parent", "HEAD")
    originals = git(clone, "rev-list", "--first-parent", f"--max-count={COMMITS}", tip).split()[::-1]
    (folder / "bench").mkdir()
    (folder / "bench" / ("task.c" if project.is_c else "task.py")).write_text(project.work)
    (folder / "bench" / "data.ini").write_text("".join(f"[part {n}]\nname = value {n}\nother: {n} ; note\n" for n in range(20)))
    command = "bench/task" if project.is_c else f"{sys.executable} -S bench/task.py"
    build = f'build = ["{project.build}"]\n' if project.build else ""
    path = 'env = { PYTHONPATH = "src:." }\n' if not project.is_c else ""
    (folder / "perf.toml").write_text(
        f'{build}{path}overlay = ["bench"]\n\n[[job]]\nname = "task"\ncmd = "{command}"\nwarmup = 0\n'
    )
    identity = {
        "GIT_AUTHOR_NAME": "Ada",
        "GIT_AUTHOR_EMAIL": "ada@example.org",
        "GIT_COMMITTER_NAME": "Ada",
        "GIT_COMMITTER_EMAIL": "ada@example.org",
    }
    made: list[str] = []
    for number, original in enumerate(originals):
        git(folder, "read-tree", original)
        if number >= culprit:
            source = git(folder, "cat-file", "blob", f"{original}:{project.file}") + "\n"
            blob = git(folder, "hash-object", "-w", "--stdin", text=with_loop(source, project, turns))
            git(folder, "update-index", "--cacheinfo", f"100644,{blob},{project.file}")
        git(folder, "add", "--force", "bench", "perf.toml")
        tree = git(folder, "write-tree")
        title = git(folder, "log", "-1", "--format=%s", original)
        parents = ["-p", made[-1]] if made else []
        made.append(git(folder, "commit-tree", tree, *parents, "-m", title or "change", **identity))
    git(folder, "update-ref", "refs/heads/main", made[-1])
    git(folder, "reset", "--quiet", "--hard")
    return made


def prepare(project: Planted, folder: Path) -> None:
    if project.build:
        subprocess.run(project.build, shell=True, cwd=folder, check=True, stderr=subprocess.DEVNULL)


def cpu(project: Planted, folder: Path) -> float:
    """CPU seconds of one execution."""
    command = ["bench/task"] if project.is_c else [sys.executable, "-S", "bench/task.py"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, env=os.environ | {"PYTHONPATH": "src:."})
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    if status:
        raise RuntimeError(f"{project.name}: the benchmark failed with {status}")
    return usage.ru_utime + usage.ru_stime


def calibrated(project: Planted, clone: Path, folder: Path) -> int:
    """How many turns of the loop slow the benchmark down as asked for: by the least CPU time with and without, on the newest commit."""
    times = []
    trial = 2000 if project.is_c else 1000
    for turns in (0, trial):
        place = folder.with_name(f"{folder.name}-{turns}")
        make(project, clone, place, COMMITS - 1, turns)
        prepare(project, place)
        times.append(min(cpu(project, place) for _ in range(7)))
        subprocess.run(["rm", "-rf", str(place)], check=True)
    return max(1, round(project.size * times[0] * trial / (times[1] - times[0])))


def naive(project: Planted, folder: Path, commits: list[str]) -> tuple[int, int, float]:
    """`git bisect run` with a threshold: the commit that it names, its builds, and its minutes."""
    begin, builds = time.monotonic(), 0

    def level(number: int) -> float:
        nonlocal builds
        builds += 1
        git(folder, "checkout", "--quiet", "--force", commits[number])
        prepare(project, folder)
        return median(cpu(project, folder) for _ in range(EXECUTIONS))

    good, bad = level(0), level(COMMITS - 1)
    low, high = 0, COMMITS - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if (level(middle) > (good + bad) / 2) == (bad > good) else (middle, high)
    git(folder, "checkout", "--quiet", "--force", "main")
    return high, builds, (time.monotonic() - begin) / 60


def clone_of(clones: Path, name: str) -> Path:
    for place in (clones / name, *clones.glob(f"*+{name}/repo")):
        if place.exists():
            return place
    raise SystemExit(f"there is no clone of {name} in {clones}: git clone it there")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clones", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    for place, project in enumerate(PROJECTS):
        culprit = random.Random(f"{asked.seed} {place}").randrange(2, COMMITS - 1)
        if asked.only and project.name not in asked.only:
            continue
        clone, folder = clone_of(asked.clones.resolve(), project.name), asked.folder.resolve() / project.name
        turns = calibrated(project, clone, folder)
        commits = make(project, clone, folder, culprit, turns)
        command = [sys.executable, "-m", "perfvcs", "bisect", commits[0], "--metric", "cpu", "--unit", "task", "--json"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        try:
            found = json.loads(done.stdout)
        except ValueError:
            print(f"{project.name:11} failed: {done.stderr.strip().splitlines()[-1:]}", flush=True)
            continue
        named = [commits.index(one["commit"]) for one in found.get("named", [])]
        likely = max(found["commits"], key=lambda row: row.get("probability") or 0)
        guess, builds, minutes = naive(project, folder, commits)
        effect = 100 * (found.get("effect") or {}).get("value", float("nan"))
        print(
            f"{project.name:11} {project.size:+5.0%} at {culprit:2}: {found['ended']} {named}, "
            f"likeliest {commits.index(likely['commit'])}, "
            f"ends {effect:+.1f} %, {found.get('built', 0)} builds, {found.get('executions', 0)} executions, "
            f"{found.get('seconds', 0) / 60:.1f} min; git bisect run: {guess}, {builds} builds, {minutes:.1f} min",
            flush=True,
        )


if __name__ == "__main__":
    main()
