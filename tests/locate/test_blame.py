"""`perf blame` on real repositories: the function and the hunk that made a benchmark slower, and
the proof.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from perfvcs.collectors.instructions import valgrind
from perfvcs.locate.blame import comparison, laboratory
from perfvcs.locate.blame.proof import Experiment
from perfvcs.locate.sources import hunks

# the Python of these tests: what `python` is on a machine may import a lot before the program
# begins, and counting makes that slow
CONFIG = f"""
[[job]]
name = "work"
cmd = "{sys.executable} run.py"
collectors = ["time"]
timeout = "60s"
"""
RUN = "import library\nprint(sum(library.total(number) for number in range(300)))\n"
LIBRARY = '''
"""A library."""

SCALE = 3


def total(count):
    """The sum of scaled numbers."""
    found = 0
    for number in numbers(count):
        found += scaled(number)
    return found


def numbers(count):
    return list(range(count % 40))


def scaled(number):
    return number * SCALE


def unused(number):
    return number
'''


@pytest.fixture
def library(project):
    project.write("perf.toml", CONFIG)
    project.commit("first", **{"run.py": RUN, "library.py": LIBRARY})
    return project


def changed(project, *pairs):
    """Commit the library with some of its text replaced."""
    text = LIBRARY
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return project.commit("change", **{"library.py": text})


def unwrapped(out):
    """The lines of a report, whatever the width of the terminal."""
    return out.replace("\n" + 7 * " ", " ").split("\n")[:-1]


def blamed(perf, *args, code=0):
    ask = ("blame", "work", "--metric", "bytecodes", "-q", "--json")
    return perf(*ask, *args, code=code).document


SLOWER = (
    "    return number * SCALE\n",
    "    found = 0\n    for _ in range(SCALE):\n        found += number\n    return found\n",
)


def test_the_function_that_became_dearer_is_named_with_its_hunk_and_proved(library, perf):
    changed(library, SLOWER, ("return number\n", "return number  # as it is\n"))
    said = unwrapped(perf("blame", "work", "--metric", "bytecodes", "-q").out)
    assert "bytecodes" in said[0] and "work: +" in said[0]
    assert said[1].startswith("cause: scaled (library.py): each call costs more, called ")
    assert said[2] == "hunk:  library.py:20-23 (-1 +4)"
    assert said[-1].startswith("proof: proved: ")


def test_a_caller_that_calls_more_often_is_named(library, perf):
    changed(
        library,
        ("found += scaled(number)", "found += max(scaled(number), scaled(number), scaled(number))"),
    )
    found = blamed(perf)
    assert found["verdict"] == "proved"
    assert (found["suspects"][0]["name"], found["suspects"][0]["callee"]) == (
        "total",
        "scaled (library.py)",
    )


def test_data_that_a_changed_function_makes_larger_is_traced_to_it(library, perf):
    changed(library, ("count % 40", "count % 70"))
    found = blamed(perf)
    assert found["verdict"] == "proved"
    assert found["trials"][-1]["name"] == "numbers"


def test_a_constant_outside_of_functions_is_blamed(library, perf):
    text = LIBRARY.replace(SLOWER[0], SLOWER[1])
    library.commit("loop", **{"library.py": text})
    library.commit("more", **{"library.py": text.replace("SCALE = 3", "SCALE = 9")})
    found = blamed(perf)
    assert (found["verdict"], found["trials"][-1]["name"]) == ("proved", "<module>")
    assert unwrapped(perf("blame", "--stored").out)[1].startswith(
        "cause: the code outside of functions of library.py"
    )
    perf("collect", "-q", "-n", "5", "HEAD~1", "HEAD")
    said = perf("check", "HEAD~1", "HEAD", code=None).out
    assert "blamed for work: the code outside of functions (library.py:4), proved" in said


def test_what_a_hunk_needs_is_taken_back_with_it(library, perf):
    """The old function needs what the new version took away."""
    first = (
        LIBRARY.replace("number * SCALE", "_times(number)")
        + "\n\ndef _times(number):\n    return number * SCALE\n"
    )
    library.commit("a helper", **{"library.py": first})
    changed(library, SLOWER)
    found = blamed(perf)
    assert found["verdict"] == "proved"
    assert found["trials"][0]["besides"] == "with what it needs"


def test_what_names_a_function_in_other_files_is_taken_back_with_it(library, perf):
    """The old function does not take what the new version's callers give it."""
    caller = LIBRARY.replace("SCALE = 3", "import scale\n\nSCALE = 3").replace(
        "scaled(number)\n", "scale.scaled(number)\n", 1
    )
    library.commit(
        "a module",
        **{"library.py": caller, "scale.py": "def scaled(number):\n    return 3 * number\n"},
    )
    slower = "def scaled(number, times):\n    return sum([number for _ in range(times)])\n"
    library.commit(
        "times",
        **{
            "library.py": caller.replace("scale.scaled(number)", "scale.scaled(number, 3)"),
            "scale.py": slower,
        },
    )
    found = blamed(perf)
    assert (found["verdict"], found["trials"][0]["name"]) == ("proved", "scaled")
    assert found["trials"][0]["besides"] == "with its uses"
    assert " without it and its uses (0 % from " in "\n".join(
        unwrapped(perf("blame", "--stored").out)
    )


def test_code_whose_names_differ_from_run_to_run_is_traced_to_what_writes_it(library, perf):
    """Its functions are of no file of the project, so that the function that runs it seems to be
    the cause.
    """
    text = LIBRARY.replace(
        "SCALE = 3", "import os\n\nCODE = 'def work_{0}(n): return n * 3'"
    ).replace(
        "    return number * SCALE",
        "    space = {}\n    exec(CODE.format(os.getpid()), space)\n    return"
        " space[f'work_{os.getpid()}'](number)",
    )
    library.commit("written", **{"library.py": text})
    slower = text.replace("n * 3'", "sum([n for _ in range(300)])'").replace("space", "names")
    library.commit("slower", **{"library.py": slower})
    found = blamed(perf)
    assert (found["verdict"], found["trials"][-1]["name"]) == ("proved", "<module>")


def test_versions_that_do_not_differ_have_nothing_to_blame(library, perf):
    changed(library, ("return number * SCALE", "return SCALE * number"))
    said = "\n".join(unwrapped(perf("blame", "work", "--metric", "bytecodes", "-q", code=4).out))
    assert "nothing to blame: the two differ by less than 1.0 %" in said
    assert blamed(perf, code=4)["suspects"] == []


@pytest.mark.parametrize(
    ("character", "cause"),
    [("x", "line 1 of data.txt"), ("\0", "data.txt as a whole")],
    ids=["text", "binary"],
)
def test_comments_and_layout_are_not_blamed(library, perf, character, cause):
    """The benchmark's work is elsewhere: beside a comment, only a data file differs."""
    library.commit(
        "read it",
        **{
            "library.py": (
                LIBRARY.replace("SCALE = 3", "SCALE = 3\nDATA = open('data.txt').read()").replace(
                    "count % 40", "count % len(DATA)"
                )
            )
        },
    )
    library.commit("data", **{"data.txt": character * 40})
    library.commit(
        "more",
        **{
            "data.txt": character * 90,
            "library.py": (library.root / "library.py").read_text() + "# the end\n",
        },
    )
    lines = unwrapped(perf("blame", "work", "--metric", "bytecodes", "-q").out)
    assert lines[1] == f"cause: {cause}: total, which did not change, costs more"
    assert not any(line.startswith("hunk:  library.py") for line in lines)


GENERATOR = """def numbers(count):
    for number in sorted(range(count % 40), key=lambda one: -one):
        yield number"""
ASYNC = """    import asyncio

    async def one(number):
        return scaled(number) + sum(abs(x) for x in range(20))

    loop = asyncio.new_event_loop()
    return sum(loop.run_until_complete(one(number)) for number in numbers(count))"""
LOOP = """    found = 0
    for number in numbers(count):
        found += scaled(number)
    return found"""
DECORATOR = """def doubled(function):
    def wrapper(number):
        return max(function(number), function(number))

    return wrapper


@doubled
def scaled"""


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ("def numbers(count):\n    return list(range(count % 40))", GENERATOR, "numbers"),
        (LOOP, ASYNC, "total"),
    ],
    ids=["generators", "async"],
)
def test_generators_and_async_functions_belong_to_their_functions(library, perf, old, new, name):
    changed(library, (old, new))
    found = blamed(perf)
    assert (found["verdict"], found["trials"][-1]["name"]) == ("proved", name)


def test_a_new_decorator_is_taken_back_with_the_function_that_it_decorates(library, perf):
    changed(library, ("def scaled", DECORATOR))
    found = blamed(perf)
    assert (found["verdict"], found["trials"][-1]["besides"]) == ("proved", "with what it needs")
    assert found["trials"][-1]["name"] in ("scaled", "doubled")


def test_whoever_shows_a_pair_names_its_newest_blame(library, perf):
    library.write(
        "perf.toml", CONFIG.replace('["time"]', '["bytecode"]') + "executions = 1\nwarmup = 0\n"
    )
    changed(library, SLOWER)
    perf("collect", "HEAD~1", "HEAD", "-q")
    assert "blamed for" not in perf("check", "HEAD~1", "HEAD", code=3).out
    assert blamed(perf)["verdict"] == "proved"
    named = "blamed for work: scaled (library.py:20-23), proved"
    assert f"{named}:" in perf("check", "HEAD~1", "HEAD", code=3).out
    assert f"{named}:" in perf("show", "HEAD~1", "HEAD", "--text").out
    perf("show", "HEAD~1", "HEAD", "-o", "page.html", "--no-open")
    assert f"{named}:" in (library.root / "page.html").read_text()


def test_bisect_goes_on_to_the_function_in_the_commit_that_it_names(library, perf):
    library.write("perf.toml", CONFIG.replace('["time"]', '["bytecode"]'))
    first = library.commit("counted", **{"library.py": LIBRARY})
    library.commit("nothing", **{"library.py": LIBRARY + "\n\nX = 1\n"})
    culprit = library.commit("slower", **{"library.py": LIBRARY.replace(*SLOWER) + "\n\nX = 1\n"})
    library.commit("more", **{"library.py": LIBRARY.replace(*SLOWER) + "\n\nX = 2\n"})
    said = "\n".join(unwrapped(perf("bisect", first, "--blame").out))
    assert f"-> {culprit[:10]}" in said
    assert "cause: scaled (library.py): each call costs more" in said


def test_the_size_of_a_file_is_blamed_where_the_program_allocates_nothing(project, perf):
    project.write(
        "perf.toml",
        'build = ["cp table.txt built.bin"]\n[[job]]\nname = "size"\ncmd = "true"\n'
        'collectors = [{ name = "size", files = ["built.bin"] }]\n',
    )
    project.commit("first", **{"table.txt": "1\n" * 50, ".gitignore": "built.bin\n"})
    project.commit("more", **{"table.txt": "1\n" * 90})
    perf("collect", "-n", "1", "-q", "HEAD~1", "HEAD")
    said = perf("blame", "HEAD~1", "HEAD", "-q").out
    assert said.startswith("size: +80.0 % bytes") and "proof: proved" in said, said


def test_what_is_not_proved_is_suspected_and_not_called_the_cause(library, perf):
    changed(library, SLOWER)
    said = unwrapped(perf("blame", "work", "--metric", "bytecodes", "-q", "--no-proof").out)
    assert (
        said[1].startswith("maybe: scaled (library.py): each call costs more, called ")
        and said[-1] == "proof: not tried"
    )


def test_a_page_that_cannot_be_written_is_one_line(library, perf):
    changed(library, SLOWER)
    said = perf(
        "blame",
        "work",
        "--metric",
        "bytecodes",
        "-q",
        "--no-proof",
        "-o",
        "nowhere/page.html",
        code=2,
    )
    assert (
        said.err
        == "perf: cannot write nowhere/page.html: No such file or directory: choose another -o\n"
    )


def test_sarif_points_to_the_lines(library, perf):
    changed(library, SLOWER)
    log = perf("blame", "work", "--metric", "bytecodes", "-q", "--sarif").document
    place = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert place == {
        "artifactLocation": {"uri": "library.py"},
        "region": {"startLine": 20, "endLine": 23},
    }


def test_the_page_has_the_diff_both_flame_graphs_and_nothing_that_is_obeyed(library, perf):
    hostile = (
        SLOWER[1]
        .replace("found = 0", "found = len('</script><script>alert(1)')", 1)
        .replace("return found", "return found - 25 * 0")
    )
    changed(library, (SLOWER[0], hostile))
    perf("blame", "work", "--metric", "bytecodes", "-q", "-o", "page.html")
    text = (library.root / "page.html").read_text()
    assert "<script" not in text and "&lt;/script&gt;" in text
    assert text.count("<svg") == 2
    assert '<span class="old">-    return number * SCALE</span>' in text
    assert "proved" in text and 'stroke="#d55e00"' in text
    widths = [
        float(width) for width in re.findall(r'<b class="\w*" style="width: ([\d.]+)%">', text)
    ]
    old, without, new = widths
    assert old == pytest.approx(without, rel=0.05) and new > 1.1 * old  # its level is that before
    assert re.search(r"called [\d,]+ → [\d,]+ times", text)


def test_the_index_the_branches_and_the_working_tree_stay_as_they_are(library, perf):
    changed(library, SLOWER)
    before = (
        library.git("for-each-ref"),
        library.git("status", "--porcelain"),
        library.git("stash", "list"),
    )
    assert blamed(perf)["verdict"] == "proved"
    assert (
        library.git("for-each-ref"),
        library.git("status", "--porcelain"),
        library.git("stash", "list"),
    ) == before
    assert not list((library.root / ".perf" / "worktrees").glob("*"))


def test_of_very_many_files_those_that_the_benchmark_runs_are_compared(library, perf, monkeypatch):
    monkeypatch.setattr(hunks, "MOST_FILES", 1)
    library.commit("more", **{f"a{number}.py": "x = 1\n" for number in range(3)})
    for number in range(3):
        library.write(f"a{number}.py", "x = 2\n")
    changed(library, SLOWER)
    found = blamed(perf)
    assert (found["verdict"], found["trials"][-1]["name"]) == ("proved", "scaled")
    assert found["notes"] == ["3 changed files are left out"]


def test_binary_and_generated_files_are_changes_as_a_whole(library, perf):
    binary, generated = b"\x00\x01" * 99, "x = 1\n" * 300_000
    (library.root / "blob.py").write_bytes(binary)
    library.write("generated.py", generated)
    changed(library, SLOWER)
    found = blamed(perf)
    assert (found["verdict"], found["changed"]) == ("proved", 3)
    assert [trial["name"] for trial in found["trials"]] == ["scaled"]


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["HEAD", "HEAD"], 4, "HEAD and HEAD are the same commit: name two different ones"),
        (["HEAD~1", "HEAD", "wrok"], 2, "nor is it a benchmark; did you mean `work`?"),
        (["nowhere", "HEAD"], 2, "`nowhere` is not a revision here"),
        (
            ["HEAD~1", "HEAD", "work", "more"],
            2,
            "`more` is not a revision here: see `git log`, `git branch -a`, `git tag`; nor is it a"
            " benchmark; did you mean `work`?",
        ),
        (["HEAD~1"], 4, "HEAD~1 has no parent: name the revision to compare it with"),
        (["--stored"], 2, "nothing is known of "),
        (["--json", "--sarif"], 2, "--json and --sarif exclude each other"),
    ],
)
def test_what_cannot_be_asked_is_one_line(library, perf, args, code, message):
    changed(library, SLOWER)
    perf("init")
    said = perf("blame", *args, code=code)
    assert message in said.err and len(said.err.splitlines()) == 1


def test_a_benchmark_that_only_the_new_version_has_is_named(library, perf):
    library.commit("second", **{"other.py": RUN})
    library.write(
        "perf.toml", CONFIG + CONFIG.replace('"work"', '"other"').replace("run.py", "other.py")
    )
    said = perf("blame", "HEAD~1", "HEAD", "other", "-q", "--metric", "bytecodes", code=5)
    assert "cannot be measured" in said.err and "other.py" in said.err


MAIN = """\
int main(void)
{
    int keys[500], sum = 0;
    for (int i = 0; i < 500; i++) keys[i] = 2 * i;
    for (int i = 0; i < 900; i++) sum += find(keys, 500, i) + weight(i);
    printf("%d\\n", sum);
    return 0;
}
"""
C = (
    """
#include <stdio.h>

static int weight(int key) { return key % 7; }

static int find(const int *keys, int count, int key)
{
    int low = 0, high = count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (keys[middle] < key) low = middle + 1; else high = middle;
    }
    return low;
}

"""
    + MAIN
)
BINARY = C[C.index("    int low = 0") : C.index("    return low;")]
LINEAR = "    int low = 0;\n    while (low < count && keys[low] < key) low++;\n"


@pytest.fixture
def program(project):
    text = """build = ["gcc -g -O1 -fno-inline search.c -o search"]

[[job]]
name = "search"
cmd = "./search"
collectors = ["time"]
"""
    project.write("perf.toml", text)
    project.write(".gitignore", "search\n")
    project.commit("first", **{"search.c": C})
    return project


@pytest.mark.needs("gcc", "valgrind")
def test_a_function_of_c_is_named_and_proved(program, perf):
    program.commit(
        "linear", **{"search.c": C.replace(BINARY, LINEAR).replace("key % 7", "key % 7 + 0")}
    )
    said = unwrapped(perf("blame", "search", "-q").out)
    assert said[0].startswith("search: +") and " instructions (" in said[0]
    assert said[1].startswith("cause: find (search.c): each call costs more, called 900 times")
    assert said[-1].startswith("proof: proved: ")


@pytest.mark.needs("gcc", "valgrind")
def test_a_version_that_does_not_build_without_a_hunk_is_tried_with_more(program, perf):
    changed = C.replace(BINARY, LINEAR).replace(
        "const int *keys, int count, int key)", "int more, const int *keys, int count, int key)"
    )
    program.commit(
        "linear", **{"search.c": changed.replace("find(keys, 500, i)", "find(0, keys, 500, i)")}
    )
    found = perf("blame", "search", "-q", "--json").document
    assert found["verdict"] == "proved"
    assert found["trials"][0]["name"] == "find"


@pytest.mark.needs("gcc", "valgrind", "addr2line")
def test_a_function_that_the_compiler_put_into_its_caller_is_named_before_that(program, perf):
    """The caller, where callgrind counts it, has a harmless change, and so has another function in
    it.
    """
    program.write(
        "perf.toml", (program.root / "perf.toml").read_text().replace("-O1 -fno-inline", "-O2")
    )
    program.commit("optimised", **{"search.c": C})
    harmless = C.replace("key % 7;", "key % 7 + 0;").replace(
        "int keys[500], sum = 0;", "int keys[500], sum = 1 - 1;"
    )
    program.commit("linear", **{"search.c": harmless.replace(BINARY, LINEAR)})
    said = unwrapped(perf("blame", "search", "-q", "-v").out)
    assert said[1].startswith("cause: find (search.c): each call costs more, +")
    assert (
        "proof: proved: " in said[4] + said[3]
        and sum(line.startswith("tried: ") for line in said) == 1
    )


def test_a_line_of_an_input_is_the_cause_of_what_a_function_costs(library, perf):
    library.commit(
        "data",
        **{
            "data.txt": "x" * 40,
            "library.py": LIBRARY.replace("count % 40", "count % len(open('data.txt').read())"),
        },
    )
    library.commit("more", **{"data.txt": "x" * 90})
    said = unwrapped(perf("blame", "work", "--metric", "bytecodes", "-q").out)
    assert said[1] == "cause: line 1 of data.txt: total, which did not change, costs more"


STRIPPED_NOTE = "without valgrind functions of C are known by their time only: apt install valgrind"
BUFFERS = """
#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) char *copied(const char *text)
{
    char *copy = malloc(strlen(text) + 1);
    strcpy(copy, text);
    return copy;
}

__attribute__((noinline)) int length(const char *text)
{
    char *copy = copied(text);
    int found = (int)strlen(copy);
    free(copy);
    return found;
}

int main(void)
{
    int sum = 0;
    for (int i = 0; i < 2000; i++) sum += length("some text");
    return sum == 0;
}
"""


@pytest.fixture
def buffers(program):
    program.commit("buffers", **{"search.c": BUFFERS})
    return program


@pytest.mark.needs("gcc")
def test_bytes_allocated_are_blamed_on_the_function_that_allocates_them(buffers, perf):
    buffers.commit(
        "room", **{"search.c": BUFFERS.replace("strlen(text) + 1)", "2 * strlen(text) + 30)")}
    )
    said = unwrapped(perf("blame", "search", "-q", "--metric", "allocated").out)
    assert " allocated (" in said[0] and said[0].startswith("search: +")
    assert said[1].startswith("cause: copied (search.c)") and said[1].endswith(" % in all")
    assert said[-1].startswith("proof: proved: ")


@pytest.fixture
def no_valgrind(monkeypatch, tmp_path):
    """A path of programs on which there is everything but what counts or samples."""
    valgrind.version.cache_clear()
    folder = tmp_path / "programs"
    folder.mkdir()
    for place in reversed(os.environ["PATH"].split(os.pathsep)):
        for program in Path(place).glob("*") if Path(place).is_dir() else ():
            if "valgrind" not in program.name and program.name not in (
                "callgrind_annotate",
                "perf",
            ):
                (folder / program.name).unlink(missing_ok=True)
                (folder / program.name).symlink_to(program)
    monkeypatch.setenv("PATH", str(folder))
    yield
    valgrind.version.cache_clear()


@pytest.mark.needs("gcc")
@pytest.mark.usefixtures("no_valgrind")
def test_without_valgrind_allocations_name_the_function(buffers, perf):
    """What is measured is the processor's time, so only what is ranked first is certain on any
    machine.
    """
    slower = BUFFERS.replace("malloc(strlen(text) + 1)", "malloc(strlen(text) + 100000)").replace(
        "strcpy(copy, text);", "memset(copy, 0, strlen(text) + 100000);\n    strcpy(copy, text);"
    )
    buffers.commit("room", **{"search.c": slower.replace("int sum = 0", "int sum = 1 - 1")})
    found = perf("blame", "search", "-q", "--json").document
    assert found["metric"] == "cpu" and STRIPPED_NOTE in found["notes"]
    assert found["suspects"][0]["name"] == "copied"


@pytest.mark.needs("gcc", "valgrind")
@pytest.mark.parametrize("flag", ["-s ", ""], ids=["stripped", "without debug information"])
def test_a_program_that_names_no_lines_has_its_changed_function_blamed(program, perf, flag):
    program.write("perf.toml", (program.root / "perf.toml").read_text().replace("-g ", flag))
    program.commit("linear", **{"search.c": C.replace(BINARY, LINEAR)})
    found = perf("blame", "search", "-q", "--json").document
    assert (found["verdict"], found["trials"][-1]["name"]) == ("proved", "find")


@pytest.mark.needs("gcc")
def test_without_a_compiler_the_build_that_failed_is_named(program, perf):
    program.write(
        "perf.toml", (program.root / "perf.toml").read_text().replace("gcc", "no-such-compiler")
    )
    program.commit("linear", **{"search.c": C.replace(BINARY, LINEAR)})
    said = perf("blame", "search", "-q", code=5)
    assert len(said.err.splitlines()) == 1 and "no-such-compiler" in said.err


CPP = """
#include <algorithm>
#include <cstdio>
#include <vector>

template <typename T, int N> class Table {
public:
    __attribute__((noinline)) int find(T key) const
    {
        auto smaller = [this](T one, T other) { return one < other; };
        return std::lower_bound(values.begin(), values.end(), key, smaller) - values.begin();
    }
    std::vector<T> values;
};

int main()
{
    Table<int, 3> table;
    for (int i = 0; i < 400; i++) table.values.push_back(2 * i);
    auto each = [&table](int key) { return table.find(key); };
    long sum = 0;
    for (int i = 0; i < 600; i++) sum += each(i);
    std::printf("%ld\\n", sum);
}
"""
FASTER = "return std::lower_bound(values.begin(), values.end(), key, smaller) - values.begin();"
SLOWER_CPP = (
    "return std::find_if(values.begin(), values.end(), [&](T one) { return !smaller(one, key); }) -"
    " values.begin();"
)


@pytest.mark.needs("g++", "valgrind")
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_templates_and_lambdas_of_cpp_are_named(project, perf, level):
    build = (
        f'build = ["g++ -g {level} table.cpp -o table"]\n\n[[job]]\nname = "table"\ncmd ='
        ' "./table"\ncollectors = ["time"]\n'
    )
    project.write("perf.toml", build)
    project.write(".gitignore", "table\n")
    project.commit("first", **{"table.cpp": CPP})
    project.commit(
        "linear",
        **{
            "table.cpp": CPP.replace(FASTER, SLOWER_CPP).replace("long sum = 0", "long sum = 1 - 1")
        },
    )
    found = perf("blame", "table", "-q", "--json").document
    assert (found["verdict"], found["trials"][-1]["name"]) == ("proved", "Table::find")


INLINED = (
    """
#include <stdio.h>

static int cell(const int *keys, int place) { return keys[place]; }
static int away(int key) { return key % 7; }

__attribute__((noinline)) static int find(const int *keys, int count, int key)
{
    int found = 0;
    for (int place = 0; place < count; place++) found += cell(keys, place) == key;
    return found;
}

__attribute__((noinline)) static int weight(int key) { return away(key); }

"""
    + MAIN
)


@pytest.mark.needs("gcc", "valgrind")
def test_a_function_inside_the_body_of_a_changed_one_is_tried_after_it(program, perf):
    program.write(
        "perf.toml", (program.root / "perf.toml").read_text().replace("-O1 -fno-inline", "-O2")
    )
    program.commit("inlined", **{"search.c": INLINED})
    slower = INLINED.replace(
        "return keys[place]", "return keys[place] / (place % 3 + 1) * (place % 3 + 1)"
    )
    program.commit("slower", **{"search.c": slower.replace("int found = 0;", "int found = 1 - 1;")})
    found = perf("blame", "search", "-q", "--json").document
    assert (found["verdict"], found["trials"][-1]["name"]) == ("proved", "cell")


@pytest.mark.needs("gcc", "valgrind")
def test_a_function_inside_the_body_of_its_caller_is_named_before_others(program, perf):
    program.write(
        "perf.toml", (program.root / "perf.toml").read_text().replace("-O1 -fno-inline", "-O2")
    )
    program.commit("inlined", **{"search.c": INLINED})
    slower = INLINED.replace(
        "return keys[place]", "return keys[place] / (place % 3 + 1) * (place % 3 + 1)"
    )
    program.commit("slower", **{"search.c": slower.replace("key % 7", "key % 7 + 0")})
    found = perf("blame", "search", "-q", "--json").document
    assert (found["verdict"], found["suspects"][0]["name"]) == ("proved", "cell")


def test_a_blame_is_named_by_the_commit_on_the_site_and_by_what_is_accepted(library, perf):
    library.write(
        "perf.toml", CONFIG.replace('["time"]', '["bytecode"]') + "executions = 1\nwarmup = 0\n"
    )
    changed(library, SLOWER)
    perf("collect", "HEAD~1", "HEAD", "-q")
    perf("check", "HEAD~1", "HEAD", code=3)
    said = perf("accept", "work:bytecodes", "--reason", "safer", "--blame", code=2).err
    assert "nothing is blamed for " in said and "(work:bytecodes) yet: run `perf blame " in said
    assert blamed(perf)["verdict"] == "proved"
    perf("publish", "site")
    pages = [page.read_text() for page in (library.root / "site").rglob("*.html")]
    assert (
        sum("blamed for work: scaled (library.py:20-23), proved, since " in page for page in pages)
        == 1
    )
    perf("accept", "work:bytecodes", "--reason", "safer", "--blame")
    assert (
        "safer (blamed for work: scaled (library.py:20-23), proved)"
        in (library.root / "perf-accepted.toml").read_text()
    )


VARYING = """
import os

def work():
    cost = 0
    for number in range({level} + os.urandom(1)[0] // 2):
        cost += number

work()
"""


@pytest.mark.slow
@pytest.mark.parametrize("checked", [True, False])
def test_counts_that_vary_are_averaged_until_the_hunk_is_proved(project, perf, checked):
    """As a verdict's executions show, or where there is none another one of each version."""
    project.configure(f'cmd = "{sys.executable} run.py"\nexact = "always"')
    for level in (9000, 9500):
        project.commit(f"{level}", **{"run.py": VARYING.format(level=level)})
    if checked:
        perf("check", "--measure", "-n", "2", code=None)
    found = perf("blame", "work", "--metric", "bytecodes", "-q", "--json").document
    assert found["verdict"] == "proved"
    (trial,) = found["trials"]
    assert trial["executions"] > 1 and trial["low"] < trial["share"] < trial["high"]
    assert "bytecodes vary between executions, so that they are averaged" in found["notes"]


@pytest.mark.slow
@pytest.mark.parametrize(("seconds", "executions"), [(1000.0, 6), (0.0, 3)])
def test_what_is_noisy_is_executed_more_often_where_that_is_quick(
    project, perf, monkeypatch, seconds, executions
):
    monkeypatch.setattr(laboratory, "TURNS", (2, 3, 6))
    monkeypatch.setattr(laboratory, "USUAL_TURNS", 3)
    monkeypatch.setattr(laboratory, "QUICK_SECONDS", seconds)
    monkeypatch.setattr(comparison, "judge", lambda *_: Experiment("open", 1.0, 0.0, 2.0))
    project.configure(f'cmd = "{sys.executable} run.py"\nexact = "always"')
    for level in (9000, 11_500):
        project.commit(f"{level}", **{"run.py": VARYING.format(level=level)})
    perf("check", "--measure", "-n", "2", code=None)
    found = perf("blame", "work", "--metric", "bytecodes", "-q", "--json").document
    assert [trial["executions"] for trial in found["trials"]] == [executions]


LOOP = "n=0; while [ $n -lt {} ]; do n=$((n + 1)); done\n"


@pytest.mark.needs("valgrind")
def test_what_is_too_long_to_count_is_proved_by_its_time(project, perf):
    """Counting would take the budget, and no sampler sees the functions of a script."""
    project.configure('cmd = "sh run.sh"')
    for often in (60_000, 200_000):
        project.commit(f"{often}", **{"run.sh": LOOP.format(often)})
    found = perf("blame", "work", "-q", "--json", "--budget", "15s").document
    assert (found["verdict"], found["metric"]) == ("proved", "cpu")
    assert not found["counts"] and not found["measure"]
    assert any(
        re.search(r"an execution takes .* \(--metric instructions\)", note)
        for note in found["notes"]
    )
    counted = perf("blame", "work", "-q", "--json", "--metric", "instructions", "--no-proof")
    assert [count["metric"] for count in counted.document["counts"]] == ["instructions"]


@pytest.mark.needs("valgrind")
def test_counting_that_takes_longer_than_was_expected_is_given_up(project, perf, monkeypatch):
    """As of a script that starts hundreds of programs, each of which valgrind has to start."""
    monkeypatch.setattr(comparison, "SLOWER", {"instructions": 1})
    monkeypatch.setattr(comparison, "LEAST_COUNTING", 0.5)
    project.configure('cmd = "sh run.sh"')
    for often in (60_000, 200_000):
        project.commit(f"{often}", **{"run.sh": LOOP.format(often)})
    found = perf("blame", "work", "-q", "--json").document
    assert (found["verdict"], found["metric"]) == ("proved", "cpu")
    assert not found["counts"]
    assert "its instructions are not counted: an execution takes" in found["notes"][0]
