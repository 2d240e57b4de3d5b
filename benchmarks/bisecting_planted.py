"""`perf bisect` on real projects: 64 real commits of each, into one of which a slowdown was planted, beside `git bisect run`.

    python benchmarks/bisecting_planted.py CLONES FOLDER [--only NAME ...] [--seed 1] [--asv ASV [--made]]

CLONES holds a clone of each project of ``PROJECTS``: a folder named like it, or bare and ending in `+NAME/repo`. In FOLDER a
repository is made of 64 commits of each project along the first parents: the newest ones among which the benchmark's instructions, in a
sample of them, differ by less than half of what is planted (larger real changes would be as right an answer, or make both ends equal
again). From one commit on, chosen by chance, a function that the benchmark calls runs a loop first, which costs 3 to 20 % of the
benchmark's CPU time, calibrated here. A line per project: what was planted, what was named, builds, executions, commits whose
instructions were counted, and minutes; and the same of a `git bisect run` that compares the median of five executions with the middle
between the medians of both ends. It is right where the planted commit is among those that are named. With the program ASV, `asv find`
searches the projects in Python, too, by the CPU time of what the benchmark does after its imports; with --made it does that only, in the
repositories that an earlier call has made.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median

COMMITS = 64
EXECUTIONS = 5  # of git bisect run
EARLIER = 16  # commits: how much farther back the next range is looked for
LOOKS = 12  # ranges
PROBED = 8  # commits: every so many are looked at, the same ones for all ranges
REPEATED = 20  # executions of which the least CPU time counts


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
        return self.file.endswith((".c", ".cpp", ".h"))


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
ZLIB = "adler32.c compress.c crc32.c deflate.c infback.c inffast.c inflate.c inftrees.c trees.c uncompr.c zutil.c"
ZLIB_C = r"""
#include <stdio.h>
#include <stdlib.h>
#include "../zlib.h"
int main(void)
{
    static unsigned char text[300000], packed[400000], again[300000];
    unsigned long size, total = 0;
    for (unsigned place = 0; place < sizeof text; place++)
        text[place] = (unsigned char)("abcdefgh"[place * place % 7] + place / 1000 % 5);
    for (int round = 0; round < 400; round++) {
        size = sizeof packed;
        if (round % 10 == 0 && compress2(packed, &size, text, sizeof text, 6) != Z_OK)
            return 1;
        size = sizeof again;
        if (uncompress(again, &size, packed, sizeof packed) != Z_OK)
            return 1;
        total += adler32(1, again, (unsigned)size);
    }
    printf("%lu\n", total);
    return 0;
}
"""
TINYEXPR_C = r"""
#include <stdio.h>
#include "../tinyexpr.h"
int main(void)
{
    double total = 0;
    int error = 0;
    for (int round = 0; round < 60000; round++)
        total += te_interp("sqrt(5^2+7^2+11^2+(8-2)^2) + 3*(4-2)/7 + sin(1.5)", &error);
    printf("%g %d\n", total, error);
    return error;
}
"""
TINYXML_C = r"""
#include <cstdio>
#include <string>
#include "../tinyxml2.h"
int main()
{
    std::string text = "<list>";
    for (int i = 0; i < 600; i++)
        text += "<item id='" + std::to_string(i) + "' name='an item'><part>some text &amp; more</part></item>";
    text += "</list>";
    long total = 0;
    for (int round = 0; round < 400; round++) {
        tinyxml2::XMLDocument document;
        total += document.Parse(text.c_str());
    }
    std::printf("%ld\n", total);
    return total != 0;
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
for number in range(600):
    groups = groupby(lambda value: value % 17, range(3000))
    merge_with(sum, *({key: len(values)} for key, values in groups.items()))
""", 0.20),
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
""", 0.20),
    Planted("boltons", "boltons/iterutils.py", "chunked_iter", """
from boltons.iterutils import chunked, remap, windowed
for number in range(400):
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
for number in range(60):
    tomli.loads(text)
""", 0.15),
    Planted("cJSON", "cJSON.c", "parse_value", JSON_C.format(
        include='#include "../cJSON.h"', rounds=400, body="cJSON *item = cJSON_Parse(text); total += cJSON_GetArraySize(item); "
            "cJSON_Delete(item);",
    ), 0.10, "cc -O2 -o bench/task bench/task.c cJSON.c -lm"),
    Planted("inih", "ini.c", "ini_parse_stream", INI_C, 0.07, "cc -O2 -o bench/task bench/task.c ini.c"),
    Planted("zlib", "inflate.c", "inflate", ZLIB_C, 0.08, f"cc -O2 -o bench/task bench/task.c {ZLIB}"),
    Planted("tinyexpr", "tinyexpr.c", "te_compile", TINYEXPR_C, 0.10, "cc -O2 -o bench/task bench/task.c tinyexpr.c -lm"),
    Planted("tinyxml2", "tinyxml2.cpp", "XMLDocument::Parse", TINYXML_C, 0.12,
            "c++ -O1 -o bench/task -x c++ bench/task.c tinyxml2.cpp"),
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
        # not a mention in a comment; types of parameters may follow their list
        pattern = re.compile(rf"^\w[\w \t*()]*\b{project.function}\s*\([^;{{}}]*\)\s*(?:[\w\s*,]+;\s*)*\{{", re.MULTILINE)
        loop = f" for (volatile int perf_turn = 0; perf_turn < {turns}; perf_turn++) {{ }}"
        found = pattern.search(source)
        if not found:
            raise ValueError(project.function)
        return source[: found.end()] + loop + source[found.end() :]
    found = re.search(rf"^([ \t]*)def {project.function}\((?:[^()]|\([^()]*\))*\)[^:\n]*:[ \t]*\n", source, re.MULTILINE)
    if not found:
        raise ValueError(project.function)
    return source[: found.end()] + f"{found[1]}    for _ in range({turns}):\n{found[1]}        pass\n" + source[found.end() :]


def first_parents(clone: Path) -> list[str]:
    """The commits of a clone along the first parents, newest first."""
    tip = git(clone, "rev-list", "--max-count=1", "--all", "--first-parent", "HEAD")
    return git(clone, "rev-list", "--first-parent", f"--max-count={COMMITS + EARLIER * LOOKS}", tip).split()


def add_benchmark(project: Planted, folder: Path) -> None:
    """The benchmark's own files and perf.toml."""
    (folder / "bench").mkdir(exist_ok=True)
    (folder / "bench" / ("task.c" if project.is_c else "task.py")).write_text(project.work)
    (folder / "bench" / "data.ini").write_text("".join(f"[part {n}]\nname = value {n}\nother: {n} ; note\n" for n in range(20)))
    command = "bench/task" if project.is_c else f"{sys.executable} -S bench/task.py"
    build = f'build = ["{project.build}"]\n' if project.build else ""
    path = 'env = { PYTHONPATH = "src:." }\n' if not project.is_c else ""
    (folder / "perf.toml").write_text(
        f'{build}{path}overlay = ["bench"]\n\n[[job]]\nname = "task"\ncmd = "{command}"\nwarmup = 0\n'
    )


def make(project: Planted, clone: Path, originals: list[str], folder: Path, culprit: int, turns: int) -> list[str]:
    """The repository of some commits, oldest first; their ids."""
    git(folder.parent, "init", "--quiet", "--initial-branch=main", str(folder))
    objects = git(clone, "rev-parse", "--path-format=absolute", "--git-path", "objects")
    (folder / ".git" / "objects" / "info" / "alternates").write_text(f"{objects}\n")
    add_benchmark(project, folder)
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


def command_of(project: Planted) -> list[str]:
    return ["bench/task"] if project.is_c else [sys.executable, "-S", "bench/task.py"]


def cpu(project: Planted, folder: Path) -> float:
    """CPU seconds of one execution."""
    process = subprocess.Popen(
        command_of(project), cwd=folder, stdout=subprocess.DEVNULL, env=os.environ | {"PYTHONPATH": "src:."}
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    if status:
        raise RuntimeError(f"{project.name}: the benchmark failed with {status}")
    return usage.ru_utime + usage.ru_stime


def placed(project: Planted, clone: Path, scratch: Path, states: list[tuple[str, int]]) -> list[Path]:
    """Commits with so many turns of the loop, each in a folder of its own, built."""
    places = []
    for number, (commit, turns) in enumerate(states):
        place = scratch / str(number)
        place.mkdir(parents=True)
        archive = subprocess.run(["git", "archive", commit], cwd=clone, capture_output=True, check=True).stdout
        subprocess.run(["tar", "x"], cwd=place, input=archive, check=True)
        add_benchmark(project, place)
        if turns:
            (place / project.file).write_text(with_loop((place / project.file).read_text(), project, turns))
        prepare(project, place)
        places.append(place)
    return places


def least(project: Planted, clone: Path, scratch: Path, states: list[tuple[str, int]]) -> list[float]:
    """The least CPU time of commits with so many turns of the loop, measured in turns."""
    places = placed(project, clone, scratch, states)
    rows = [[cpu(project, place) for place in places] for _ in range(REPEATED)]
    subprocess.run(["rm", "-rf", str(scratch)], check=True)
    return [min(column) for column in zip(*rows, strict=True)]


def instructions(project: Planted, place: Path) -> float:
    """The instructions of one execution."""
    counting = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    done = subprocess.run(
        [*counting, *command_of(project)], cwd=place, capture_output=True, text=True, check=False,
        env=os.environ | {"PYTHONPATH": "src:.", "PYTHONHASHSEED": "0"},
    )  # fmt: skip
    found = re.search(r"I\s+refs:\s+([\d,]+)", done.stderr)
    if done.returncode or not found:
        raise RuntimeError(f"{project.name}: the benchmark failed with {done.returncode}")
    return float(found[1].replace(",", ""))


def steady(project: Planted, clone: Path, scratch: Path, culprit: int) -> list[str]:
    """The newest range, oldest first, in which levels differ by less than half of what is planted; raises SystemExit where none does."""
    every = first_parents(clone)

    @cache
    def level(commit: str) -> float:
        """The instructions on a commit; NaN where it does not run."""
        try:
            return instructions(project, placed(project, clone, scratch, [(commit, 0)])[0])
        except (RuntimeError, subprocess.CalledProcessError):
            return math.nan
        finally:
            subprocess.run(["rm", "-rf", str(scratch)], check=True)

    for begin in range(0, max(1, len(every) - COMMITS + 1), EARLIER):
        newest_first = every[begin : begin + COMMITS]
        probed = [every[place] for place in range(begin, begin + COMMITS, PROBED)] + newest_first[-1:]
        if has(clone, newest_first[-1 - culprit], project.file) and all(level(one) > 0 for one in probed):
            levels = [level(one) for one in probed]
            if max(levels) / min(levels) - 1 < project.size / 2:
                return newest_first[::-1]
    raise SystemExit(f"{project.name}: no range of {COMMITS} commits is without larger changes")


def has(clone: Path, commit: str, file: str) -> bool:
    return bool(git(clone, "ls-tree", "--name-only", commit, file))


def calibrated(project: Planted, clone: Path, scratch: Path, commit: str) -> int:
    """How many turns of the loop slow the benchmark down as asked for: by the least CPU time with and without.

    A loop that takes as long as all the rest is timed, since the noise of a busy machine is as large as what is planted.
    """
    trial = 2000 if project.is_c else 1000
    while True:
        without, planted = least(project, clone, scratch, [(commit, 0), (commit, trial)])
        if planted > 2 * without:
            return max(1, round(project.size * without * trial / (planted - without)))
        if trial > 10**7:
            raise SystemExit(f"{project.name}: the benchmark does not run {project.function}")
        trial *= 4


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


ASV_INSTALL = """
import sys, sysconfig
with open(sysconfig.get_path("purelib") + "/task.pth", "w") as file:
    file.write(f"{sys.argv[1]}/src\\n{sys.argv[1]}\\n")
"""
ASV_TASK = """
import time
imports = compile({imports!r}, "imports", "exec")
work = compile({work!r}, "work", "exec")
space = {{}}


class Task:
    timer = time.process_time

    def setup(self):
        exec(imports, space)

    def time_task(self):
        exec(work, space)
"""


def asv_find(asv: str, project: Planted, folder: Path, commits: list[str]) -> tuple[int, int, float]:
    """`asv find`: the commit that it names (-1: none), its builds, and its minutes."""
    place = folder.with_name(f"{folder.name}-asv").resolve()
    (place / "benchmarks").mkdir(parents=True, exist_ok=True)
    (place / "benchmarks" / "__init__.py").write_text("")
    lines = project.work.strip().split("\n")
    imports = [line for line in lines if re.match(r"(from|import)\b", line)]
    work = [line for line in lines if line not in imports]
    task = ASV_TASK.format(imports="\n".join(imports), work="\n".join(work))
    (place / "benchmarks" / "task.py").write_text(task)
    (place / "install.py").write_text(ASV_INSTALL)
    about = {
        "version": 1, "project": project.name, "repo": str(folder), "branches": ["main"], "environment_type": "virtualenv",
        "pythons": [f"{sys.version_info[0]}.{sys.version_info[1]}"], "build_command": [], "uninstall_command": [],
        "install_command": [f"python {place}/install.py {{build_dir}}"],
    }  # fmt: skip
    (place / "asv.conf.json").write_text(json.dumps(about))
    subprocess.run([asv, "machine", "--yes"], cwd=place, check=True, capture_output=True)
    begin = time.monotonic()
    words = [asv, "find", "--verbose", f"{commits[0]}..{commits[-1]}", "Task.time_task"]
    said = subprocess.run(words, cwd=place, capture_output=True, text=True, check=False)
    (place / "log").write_text(said.stdout + said.stderr)
    found = re.search(r"Greatest regression found: ([0-9a-f]+)", said.stdout)
    number = next((number for number, one in enumerate(commits) if found and one.startswith(found[1])), -1)
    return number, len(re.findall(r"Installing [0-9a-f]+", said.stdout)), (time.monotonic() - begin) / 60


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
    parser.add_argument("--asv", default="", metavar="ASV", help="the program asv, whose find is to be run as well")
    parser.add_argument("--made", action="store_true", help="run only asv, in repositories that are there")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    for place, project in enumerate(PROJECTS):
        culprit = random.Random(f"{asked.seed} {place}").randrange(2, COMMITS - 1)
        if asked.only and project.name not in asked.only:
            continue
        if asked.made:
            folder = asked.folder.resolve() / project.name
            if folder.exists() and not project.is_c:
                say_asv(asked.asv, project, folder, git(folder, "rev-list", "--reverse", "--first-parent", "main").split())
            continue
        clone, folder = clone_of(asked.clones.resolve(), project.name), asked.folder.resolve() / project.name
        scratch = folder.with_name(f"{folder.name}-scratch")
        originals = steady(project, clone, scratch, culprit)
        turns = calibrated(project, clone, scratch, originals[-1])
        commits = make(project, clone, originals, folder, culprit, turns)
        command = [sys.executable, "-m", "perfvcs", "bisect", commits[0], "--metric", "cpu", "--unit", "task", "--json"]
        with folder.with_name(f"{folder.name}.log").open("w") as log:
            done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=log, text=True, check=False)
        try:
            found = json.loads(done.stdout)
        except ValueError:
            print(f"{project.name:11} failed: see {folder}.log", flush=True)
            continue
        named = [commits.index(one["commit"]) for one in found.get("named", [])]
        likely = max(found["commits"], key=lambda row: row.get("probability") or 0)
        verdict = "right" if culprit in named else "wrong" if named else "not named"
        guess, builds, minutes = naive(project, folder, commits)
        effect = 100 * (found.get("effect") or {}).get("value", float("nan"))
        print(
            f"{project.name:11} {project.size:+5.0%} at {culprit:2}: {verdict}: {found['ended']} {named}, "
            f"likeliest {commits.index(likely['commit'])}, "
            f"ends {effect:+.1f} %, {found.get('built', 0)} builds, {found.get('executions', 0)} executions, "
            f"{len(found.get('counted', ()))} counted, {found.get('seconds', 0) / 60:.1f} min; "
            f"git bisect run: {guess}, {builds} builds, {minutes:.1f} min",
            flush=True,
        )
        if asked.asv and not project.is_c:
            say_asv(asked.asv, project, folder, commits)


def say_asv(asv: str, project: Planted, folder: Path, commits: list[str]) -> None:
    number, builds, minutes = asv_find(asv, project, folder, commits)
    print(f"{project.name:11} asv find: {number}, {builds} builds, {minutes:.1f} min", flush=True)


if __name__ == "__main__":
    main()
