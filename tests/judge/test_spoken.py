"""What the base's benchmarks speak of: what they take as input is the base's, and what decides what
they do proves nothing.
"""

from __future__ import annotations

import random
import re
import time
from pathlib import PurePosixPath
from typing import Any

import pytest
from conftest import Perf, need
from conftest import Project as Repository
from judged import WORK

from perfvcs.git.blobs import changed_files
from perfvcs.git.project import Project
from perfvcs.jobs.shadows import shadows
from perfvcs.jobs.spoken import is_data, mentioned
from perfvcs.judge.candidate import Target, laid_out
from perfvcs.judge.deciding import ChangedPaths, deciding

FAST = "def total(count):\n    weeks, days = divmod(count, 7)\n    return 21 * weeks + sum(range(days))\n"
PYTHON = "python bench.py"
SHELL = "sh bench.sh"


BEGINS = "__attribute__((used, constructor(101)))"


def table(command: str) -> dict[str, Any]:
    return {"job": [{"name": "x", "cmd": command}]}


def shadowing(project: Repository, base: str, target: str, command: str) -> list[str]:
    repository = Project.find(project.root)
    files = changed_files(repository, base, target)
    return sorted(shadows(repository, base, files, table(command)))


def decisive(project: Repository, base: str, target: str, settings: dict[str, Any]) -> list[str]:
    repository = Project.find(project.root)
    files = changed_files(repository, base, target)
    paths = [file.path for file in files]
    return deciding(repository, ChangedPaths(base, target, files, paths, settings))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("bench.py", "import work  # as in fast.rc\n# see data/fast.rc\n"),
        ("bench.sh", "# . fast.rc\n./work\n"),
        ("bench.c", "// fast.rc\n/* data/fast.rc\n   // again */\nint main(void) { return 0; }\n"),
    ],
)
def test_what_a_comment_names_is_not_left_out(project: Repository, path: str, text: str) -> None:
    base = project.commit("Base", **{path: text})
    target = project.commit("Change", **{"fast.rc": "x\n", "data/fast.rc": "x\n"})
    assert shadowing(project, base, target, f"run {path}") == []


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("bench_cases.csv", "# data/fast.rc,1\n"),
        ("bench_cases.json", '["a", // "data/fast.rc"\n]'),
        ("bench", "# data/fast.rc\n"),
        ("bench.py", "read('# data/fast.rc')\n"),
        ("bench.sh", 'read "a # data/fast.rc"\n'),
        ("bench.c", 'glob("cases/*.sql"); read("data/fast.rc"); /* sorted */\n'),
        ("bench.js", 'read("a // data/fast.rc")\n'),
        ("bench.lua", "for n = 1, #cases do read('data/fast.rc') end\n"),
    ],
)
def test_what_looks_like_a_comment_in_data_or_in_quotes_is_none(
    project: Repository, path: str, text: str
) -> None:
    base = project.commit("Base", **{path: text})
    target = project.commit("Change", **{"data/fast.rc": "x\n"})
    assert shadowing(project, base, target, f"run {path}") == ["data/fast.rc"]


def test_files_of_which_texts_speak_are_those_that_a_search_for_each_finds() -> None:
    lot = random.Random(7)

    def drawn(most: int) -> str:
        return "".join(lot.choices("ab.-/é_ \n", k=lot.randint(1, most)))

    def speaks(text: str, path: str) -> bool:
        name = PurePosixPath(path)
        word = name.name if is_data(path) else name.stem
        return re.search(rf"\b{re.escape(word)}\b", text) is not None

    seen = 0
    for _ in range(3_000):
        paths = {
            drawn(5).strip("/.").replace("/", "") + lot.choice(["x", ".py", ".txt", "-", ""])
            for _ in range(5)
        } - {""}
        every = [drawn(30) for _ in range(3)]
        expected = {path for path in paths if any(speaks(text, path) for text in every)}
        assert mentioned(every, paths) == expected, (every, paths)
        seen += len(expected)
    assert seen > 300


def test_what_perfvcs_reads_is_no_input_of_a_benchmark(project: Repository) -> None:
    base = project.commit("Base", **{"bench.sh": "rm -f perf-accepted.toml perf.toml new.txt\n"})
    files = {"perf-accepted.toml": "", "perf.toml": "", "new.txt": ""}
    target = project.commit("Change", **files)
    assert shadowing(project, base, target, SHELL) == ["new.txt"]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("bench.c", "/*" * 300_000),
        ("bench.py", "x" * 600_000),
        ("bench.sh", "./" * 300_000),
        ("bench.py", "PATH=" * 100_000),
        ("bench.py", '"""' * 200_001),
        ("bench.c", "a b(" * 200_000),
        ("bench.c", "a " * 400_000),
        ("bench.py", '\\"' * 300_000),
    ],
)
def test_long_texts_are_searched_at_once(project: Repository, path: str, text: str) -> None:
    base = project.commit("Base", **{path: text})
    target = project.commit("Change", **{"fast.rc": "x\n"})
    began = time.process_time()
    assert shadowing(project, base, target, f"run {path}") == []
    assert time.process_time() - began < 10


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("CMakeLists.txt", "efinitions " * 90_000),
        ("work.c", "a b(" * 200_000),
        ("work.c", "a\n" * 400_000),
        ("work.c", "__attribute__((" * 60_000),
        ("work.c", "[[" * 400_000),
        ("work.c", "const a " * 120_000),
        ("work.c", "a b(c) d\n" * 100_000),
        ("work.c", "enum {" + "a = 1 " * 100_000),
        ("work.c", "enum a " * 100_000),
        ("work.c", "__attribute__((" * 60_000),
        ("Makefile", "-Wl," * 200_000),
    ],
)
def test_long_texts_of_a_change_are_searched_at_once(
    project: Repository, path: str, text: str
) -> None:
    names = "".join(f"#ifdef ROUNDS_{number}\n#endif\nx(a);" for number in range(500))
    base = project.commit("Base", **{"bench.c": names, path: "add(x)\n"})
    target = project.commit("Change", **{path: text})
    began = time.process_time()
    assert decisive(project, base, target, table("./bench")) == []
    assert time.process_time() - began < 10


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (PYTHON, "for name in glob.glob('cases/*'): run(name)\n"),
        (PYTHON, 'os.listdir("cases")\n'),
        (SHELL, "for file in $(ls cases); do ./work $file; done\n"),
        (SHELL, "./work cases/*.sql\n"),
    ],
)
def test_the_files_of_a_folder_of_data_are_the_bases(
    project: Repository, command: str, text: str
) -> None:
    cases = {"cases/1.sql": "1\n", "cases/deep/2.sql": "2\n", "other/3.sql": "3\n"}
    base = project.commit("Base", **{command.split()[1]: text, **cases})
    (project.root / "cases/1.sql").unlink()
    changed = {"cases/deep/2.sql": "\n", "cases/4.sql": "4\n", "other/3.sql": "\n"}
    target = project.commit("Change", **changed)
    expected = ["cases/1.sql", "cases/4.sql", "cases/deep/2.sql"]
    assert shadowing(project, base, target, command) == expected


def test_a_folder_with_sources_is_the_programs(project: Repository) -> None:
    text = "sys.path.insert(0, 'lib')\n"
    base = project.commit("Base", **{"bench.py": text, "lib/work.py": "", "lib/table.bin": "1"})
    target = project.commit("Change", **{"lib/work.py": "1\n", "lib/table.bin": "2"})
    assert shadowing(project, base, target, PYTHON) == []


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("PATH=$PWD/tools/bin:$PATH\nfor n in $(seq 9); do :; done\n", {}),
        ('export PATH="$(dirname "$0")/bin:$PATH"\nseq 9\n', {}),
        ("seq 9\n", {"env": {"PATH": "tools/bin:/usr/bin"}}),
    ],
)
def test_a_program_that_stands_before_one_of_the_benchmark(
    project: Repository, text: str, settings: dict[str, Any]
) -> None:
    base = project.commit("Base", **{"bench.sh": text})
    new = {"tools/bin/seq": "#!/bin/sh\n", "tools/bin/other": "#!/bin/sh\n", "src/seq": "x\n"}
    target = project.commit("Change", **new)
    repository = Project.find(project.root)
    files = changed_files(repository, base, target)
    assert shadows(repository, base, files, table(SHELL) | settings) == ["tools/bin/seq"]


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("Makefile", "CFLAGS = -O1\n", "CFLAGS = -O1 -DROUNDS=2\n"),
        ("work.h", "int work(void);\n", "#define ROUNDS 2\nint work(void);\n"),
        ("CMakeLists.txt", "add(x)\n", "target_compile_definitions(x PRIVATE ROUNDS=2)\n"),
        ("CMakeLists.txt", "add(x)\n", "target_compile_definitions(x\n  PUBLIC A ROUNDS=2)\n"),
        ("CMakeLists.txt", "add(x)\n", "add_definitions(-DROUNDS=2)\n"),
    ],
)
def test_a_definition_that_a_benchmark_asks_for_decides(
    project: Repository, path: str, before: str, after: str
) -> None:
    source = "#ifndef ROUNDS\n#define ROUNDS 100\n#endif\nint main(void) { return ROUNDS; }\n"
    base = project.commit("Base", **{"bench.c": source, path: before})
    target = project.commit("Change", **{path: after})
    assert decisive(project, base, target, table("./bench")) == [path]
    other = project.commit("Other", **{path: after.replace("ROUNDS", "FASTER")})
    assert decisive(project, base, other, table("./bench")) == []


BENCH_C = """\
#include <stdio.h>
#include "work.h"
/* work_slowly(ROUNDS) */
static int begun(void) { return 0; }
int main(int argc, char **argv)
{
    for (int round = atoi(argv[1]); round < LIMIT; round++)
        printf("ROUND %d", work(round) + begun());
}
"""
HEADER = "#define LIMIT 20\nint work(int round);\n#define twice(x) (2 * (x))\n"
SOURCE = "int work(int round)\n{\n    return 2 * round;\n}\n"


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("work.h", "int work", "#define for(...) if (1)\nint work"),
        ("work.h", "int work", "#define printf(...) 0\nint work"),
        ("work.h", "LIMIT 20", "LIMIT 2"),
        ("work.h", "#define LIMIT 20", "static const int LIMIT = 2;"),
        ("work.h", "#define LIMIT 20", "enum amounts {\n    FIRST,\n    LIMIT = 2,\n};"),
        ("work.h", "round);", "round) __attribute__((const));"),
        ("work.h", "int work", "__attribute__((nonnull(1), __pure__)) int work"),
        ("work.h", "int work", "[[gnu::const]]\nint work"),
        ("work.h", "int work", "#define FAST __attribute__((pure))\nFAST int work"),
        ("work.c", "int work", "int atoi(const char *text)\n{\n    return 19;\n}\nint work"),
        ("work.c", "int work", "long strtol(const char *t, char **e, int b) {}\nint work"),
        ("work.c", "int work", 'int ten(const char *) __asm__("atoi");\nint work'),
        ("work.c", "int work", f"{BEGINS} static void begin(int n, char **words);\nint work"),
        ("work.c", "int work", f"#define FIRST {BEGINS}\nint work"),
        (
            "work.c",
            "int work",
            'void (*x)(void) __attribute__((section(".init_array")));\nint work',
        ),
        ("Makefile", "-O1", "-O1 -Dprintf=puts"),
        ("Makefile", "-O1", "-O1 -Wl,-O1,-init,begin"),
        ("Makefile", "-O1", "-O1 -Wl,--entry=begin"),
        ("Makefile", "-O1", "-O1 -nostartfiles"),
        ("Makefile", "-O1", "-O1 -Wl,--wrap=atoi"),
    ],
)
def test_another_meaning_of_what_a_benchmark_in_c_says_decides(
    project: Repository, path: str, before: str, after: str
) -> None:
    files = {"work.h": HEADER, "work.c": SOURCE, "Makefile": "CFLAGS = -O1\n"}
    base = project.commit("Base", **{"bench.c": BENCH_C, **files})
    assert before in files[path]
    target = project.commit("Change", **{path: files[path].replace(before, after)})
    assert decisive(project, base, target, table("./bench 3")) == [path]


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("work.h", "int work(int round);", "#define work(round) (2 * (round))"),
        ("work.h", "(2 * (x))", "((x) + (x))"),
        ("work.h", "int work", "#define ROUNDS 4\nint work"),
        ("work.h", "int work", "int other(const int *round) __attribute__((const));\nint work"),
        ("work.h", "int work", "__attribute__((nonnull)) const int *start(void);\nint work"),
        ("work.c", "int work", "static int begun(int round)\n{\n}\nint work"),
        ("work.c", "int work", "static int atoi(int round)\n{\n}\nint work"),
        ("work.c", "return 2 * round;", "const int LIMIT = 3;\n    return 2 * round;"),
        ("work.c", "return 2 * round;", "// printf LIMIT 2\n    return round + round;"),
        ("work.c", SOURCE, ""),
        ("work.c", "int work", "/* __attribute__((constructor)) */ int constructor;\nint work"),
        ("work.h", "int work", "enum kinds { ROUND, OTHER = 2, LAST };\nint work"),
        ("Makefile", "-O1", "-O3 -DFASTER=1 -flto"),
        ("Makefile", "-O1", "-O1 -Wl,-O1 -Wl,--as-needed -e x"),
        ("README.md", "x", "gcc -Dprintf=puts"),
    ],
)
def test_what_leaves_a_benchmark_in_c_as_it_is_decides_nothing(
    project: Repository, path: str, before: str, after: str
) -> None:
    files = {"work.h": HEADER, "work.c": SOURCE, "Makefile": "CFLAGS = -O1\n", "README.md": "x"}
    base = project.commit("Base", **{"bench.c": BENCH_C, **files})
    assert before in files[path]
    target = project.commit("Change", **{path: files[path].replace(before, after)})
    assert decisive(project, base, target, table("./cases")) == []


def test_a_function_that_moves_is_the_same(project: Repository) -> None:
    bench = "int work(int);\nint main(void) { return work(1); }\n"
    base = project.commit("Base", **{"bench.c": bench, "work.c": SOURCE, "other.c": ""})
    target = project.commit("Moved", **{"work.c": "", "other.c": SOURCE})
    assert decisive(project, base, target, table("./bench")) == []
    lost = project.commit("Lost", **{"other.c": SOURCE.replace("int work", "static int work")})
    assert decisive(project, target, lost, table("./bench")) == ["other.c"]


@pytest.mark.parametrize(
    ("text", "is_decisive"),
    [
        ('SAMPLES = ["a" * 10]\nLIMIT = 9\n', True),
        ('SAMPLES: list[str] = ["a" * 40]\nLIMIT = 9\n', False),
        ('SAMPLES = ["a" * 40]\nLIMIT = 8\nOTHER = 7\n', False),
        ('SAMPLES = ["a" * 40]\nLIMIT = 9\n\n\ndef work(text): return text\n', False),
        ("SAMPLES = made()\nLIMIT = 9\n", True),
        ("SAMPLES = [" + "[" * 5_000 + "\n", True),
    ],
)
def test_a_constant_that_a_benchmark_in_python_takes_decides(
    project: Repository, text: str, is_decisive: bool
) -> None:
    bench = "import work\n\n# LIMIT\nfor text in work.SAMPLES:\n    work.work(text)\n"
    source = 'SAMPLES = ["a" * 40]\nLIMIT = 9\n\n\ndef work(text):\n    return text[:]\n'
    base = project.commit("Base", **{"bench.py": bench, "work.py": source})
    target = project.commit("Change", **{"work.py": text})
    assert decisive(project, base, target, table(PYTHON)) == ["work.py"] * is_decisive


def test_examples_that_become_others_decide_where_they_are_the_tests(project: Repository) -> None:
    source = 'def one():\n    """One.\n\n    >>> one()\n    1\n    """\n    return 1\n'
    base = project.commit("Base", **{"work.py": source, "bench.py": "import work\n"})
    wrong = project.commit("Wrong", **{"work.py": source.replace("1", "2")})
    right = project.commit("Right", **{"work.py": source.replace("return 1", "return 3 - 2")})
    tested = {"job": [{"cmd": PYTHON}, {"cmd": "python -m doctest work.py"}]}
    assert decisive(project, base, wrong, tested) == ["work.py"]
    assert decisive(project, base, right, tested) == []
    assert decisive(project, base, wrong, table(PYTHON)) == []


def test_a_package_that_says_which_tests_there_are_decides(project: Repository) -> None:
    base = project.commit("Base", **{"work/__init__.py": "", "bench.py": "import work\n"})
    target = project.commit("Change", **{"work/__init__.py": "def load_tests(*_): return []\n"})
    assert decisive(project, base, target, table("python -m unittest")) == ["work/__init__.py"]
    assert decisive(project, base, target, table("./work")) == []
    load = "def load_tests(*_):\n    return {}\n\n\ndef work():\n    return {}\n"
    base = project.commit("Loads", **{"work/__init__.py": load.format("ALL", 1)})
    target = project.commit("Fewer", **{"work/__init__.py": load.format("FEW", 1)})
    assert decisive(project, base, target, table("python -m unittest")) == ["work/__init__.py"]
    target = project.commit("Faster", **{"work/__init__.py": load.format("ALL", 2)})
    assert decisive(project, base, target, table("python -m unittest")) == []


def test_a_new_file_that_the_change_itself_needs_stays_and_decides(project: Repository) -> None:
    makefile = "work: work.c\n\tcc -o work work.c\n-include more.mk\n"
    base = project.commit("Base", **{"Makefile": makefile, "work.c": "x\n"})
    more = "more.mk:\n\ttrue\n"
    alone = project.commit("Alone", **{"more.mk": more})
    project.git("checkout", "--quiet", base)
    spoken = project.commit("Spoken", **{"more.mk": more, "work.c": "/* see more.mk */\n"})
    repository = Project.find(project.root)
    for revision, restored, deciding_paths in ((alone, ["more.mk"], []), (spoken, [], ["more.mk"])):
        place = project.root / ".perf" / "candidate"
        with laid_out(repository, base, Target(revision), table("make work"), place) as candidate:
            assert candidate.absent == candidate.restored == restored
            assert candidate.deciding == deciding_paths
            assert (place / "more.mk").exists() == bool(deciding_paths)


@pytest.fixture
def cased(project: Repository) -> Repository:
    bench = (
        "import glob, work\nfor name in glob.glob('cases/*'):\n"
        "    work.total(len(open(name).read()) * 100)\n"
    )
    cases = {f"cases/{number}.txt": "x" * 2_000 for number in range(5)}
    settings = '[[job]]\nname = "x"\ncmd = "python bench.py"\n'
    project.commit("Base", **{"work.py": WORK, "bench.py": bench, "perf.toml": settings, **cases})
    return project


def judged(perf: Perf, *words: str, code: int | None = None) -> dict[str, Any]:
    said = perf("judge", *words, "--budget", "40s", "--json", code=code)
    document: dict[str, Any] = said.document
    return document


def test_cases_that_are_gone_are_no_gain(cased: Repository, perf: Perf) -> None:
    for number in range(4):
        (cased.root / f"cases/{number}.txt").unlink()
    assert judged(perf, code=3)["comparisons"] == []


def test_a_new_case_does_not_hinder_a_gain(cased: Repository, perf: Perf) -> None:
    cased.write("work.py", FAST)
    cased.write("cases/new.txt", "x")
    document = judged(perf)
    assert document["verdict"] in ("proved", "not decided")
    assert document["restored"] == ["cases/new.txt"]
    check = document["guard"]["benchmark_files"]
    assert check["word"] == "warning"
    assert check["said"].startswith("it is measured without cases/new.txt")
    (change,) = (change for change in document["comparisons"] if change["metric"] == "cpu")
    assert change["effect"] < 0


@pytest.mark.parametrize("name", ["seq", "work-version"])
def test_a_program_that_the_build_puts_before_one_of_the_benchmark(
    project: Repository, perf: Perf, name: str
) -> None:
    need("seq")
    bench = "PATH=$PWD/bin:$PATH\nfor n in $(seq 4); do python work.py; done\n"
    settings = 'build = ["sh build.sh"]\n[[job]]\nname = "x"\ncmd = "sh bench.sh"\n'
    work = WORK + "\ntotal(300_000)\n"
    files = {"bench.sh": bench, "work.py": work, "build.sh": "true\n", "perf.toml": settings}
    project.commit("Base", **files)
    made = f"mkdir bin\nprintf '#!/bin/sh\\necho 1\\n' >bin/{name}\nchmod +x bin/{name}\n"
    project.write("build.sh", made)
    project.write("work.py", FAST + "\ntotal(300_000)\n")
    document = judged(perf, "--expect", "not-slower=50%")
    spoilt = document["guard"]["benchmark_files"]
    assert (spoilt["word"] == "rejected") == (name == "seq")
    assert ("bin/seq" in spoilt["said"]) == (name == "seq")
