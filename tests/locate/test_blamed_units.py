"""Which benchmark `perf blame` takes, and that it looks at what moved: one test of a suite."""

from __future__ import annotations

import sys

import pytest
from cases import each
from samples import WALL, noisy, sample_profile
from test_blame import unwrapped

from perfvcs.collectors.instructions import valgrind
from perfvcs.git.project import Project
from perfvcs.jobs import matrix
from perfvcs.jobs.config import load
from perfvcs.jobs.harness import fits_to_clock
from perfvcs.locate.blame.blames import asked
from perfvcs.locate.blame.gauge import without_verdict
from perfvcs.plugins.collector import Reads
from perfvcs.profile import Collected, Design, Job, Metric, Resources
from perfvcs.repository import Repository

CONFIG = f"""
[[job]]
name = "tests"
cmd = "{sys.executable} -m pytest -q tests"
collectors = [{{ name = "pytest", repeat = 2 }}]
timeout = "60s"
"""
CORE = """
def words(text):
    return [word.strip(".,").lower() for word in text.split()]


def count(text):
    found = {}
    for word in words(text):
        found[word] = found.get(word, 0) + 1
    return found


def never(text):
    return text
"""
TESTS = """
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))

from core import count, words

TEXT = "The quick brown fox jumps over the lazy dog. " * 40


def test_words():
    assert len(words(TEXT)) == 360


def test_count():
    assert count(TEXT)["fox"] == 40
"""
COUNT, WORDS = "tests/test_core.py::test_count", "tests/test_core.py::test_words"
SLOWER = CORE.replace(
    "+ 1\n", "+ 1\n        if word.isupper():\n            found[word.lower()] = 0\n"
).replace("return text", "return text + text")


@pytest.fixture
def suite(project):
    """Two tests, of which one became slower in the last commit; and a function that nobody
    calls.
    """
    project.write("perf.toml", CONFIG)
    project.commit("first", **{"core.py": CORE, "tests/test_core.py": TESTS})
    project.commit("slower", **{"core.py": SLOWER})
    return project


@pytest.fixture
def no_valgrind(monkeypatch):
    """A valgrind that does not start; counting a whole pytest under it would take half a
    minute.
    """
    monkeypatch.setattr(valgrind, "version", lambda: "")


def stored(project, units, job="tests", metric="wall"):
    """Profiles of HEAD~1 and HEAD as `check --measure` stores them, and the verdict on both."""
    repository = Repository.of(Project.find(project.root), create=True)
    commits = [repository.project.resolve(name) for name in ("HEAD~1", "HEAD")]
    profiles = []
    for side, commit in enumerate(commits):
        values = [noisy(levels[side], seed=side) for levels in units.values()]
        rows = Resources(
            names=list(units),
            uid=[number for number in range(len(units)) for _ in range(10)],
            execution=[*range(10)] * len(units),
            metrics={metric: [value for level in values for value in level]},
        )
        profiles.append(
            sample_profile(
                commit=commit,
                job=Job(name=job, collector="pytest", cmd="pytest"),
                collected=Collected("20261120T093000-4f2a91", "a", "b", "perfvcs 0.1.0"),
                design=Design(
                    executions=10, order="interleaved", version=side, versions=commits, seed=5
                ),
                metrics={metric: WALL if metric in ("wall", "cpu") else Metric("B")},
                resources=rows,
            )
        )
    repository.store.add(profiles, "measured")


def blamed(perf, *args, code=0):
    return perf("blame", *args, "-q", "--json", code=code).document


@pytest.mark.usefixtures("no_valgrind")
def test_the_test_that_moved_is_blamed_and_not_the_process_around_it(suite, perf):
    """The function is 2 % of the whole process: counted there, nothing would differ."""
    stored(suite, {WORDS: (0.010, 0.010), COUNT: (0.0030, 0.0034)})
    assert COUNT in perf("check", "HEAD~1", "HEAD", code=3).out
    found = blamed(perf)
    assert (found["job"], found["unit"]) == ("tests", COUNT)
    assert (found["verdict"], found["trials"][-1]["name"]) == ("proved", "count")
    assert found["checked"]["word"] == "degradation"
    assert found["effect"] > 0.05
    said = unwrapped(perf("blame", "--stored").out)
    assert said[0].startswith(f"tests: {COUNT}: +")
    assert "check: wall time +13" in said[1]

    def known():
        return perf("check", "HEAD~1", "HEAD", code=3).flat

    cause = f"blamed for tests: {COUNT}: count (core.py:10-11), proved"
    assert cause in known()
    blamed(perf, "-u", WORDS, "--no-proof", "--metric", "bytecodes", code=4)
    assert cause in known(), "a later question that names nothing does not hide it"


@pytest.mark.usefixtures("no_valgrind")
def test_a_function_that_is_not_seen_to_run_is_no_suspect(suite, perf):
    suite.commit("never", **{"core.py": SLOWER.replace("text + text", "text * 2")})
    stored(suite, {COUNT: (0.0030, 0.0034)})
    perf("check", "HEAD~1", "HEAD", code=3)
    found = blamed(perf)
    assert (found["verdict"], found["trials"]) == ("same counts", [])
    assert [suspect["reached"] for suspect in found["suspects"]] == [False]
    said = "\n".join(unwrapped(perf("blame", "--stored").out))
    assert "+13" in said.splitlines()[0] and "wall time" in said.splitlines()[0]
    assert "count: bytecodes 0 % (" in said and ", the same in each of " in said
    assert "same counts: every Python function does as much as before, so what is" in said
    assert "nothing to blame" not in said


@pytest.mark.usefixtures("suite")
@each("name", [f"tests: {COUNT}", COUNT, "test_count"])
def test_a_benchmark_is_named_as_reports_print_it(project, name):
    stored(project, {WORDS: (0.010, 0.010), COUNT: (0.0030, 0.0034)})
    repository = Repository.of(Project.find(project.root))
    cells = matrix(load(project.root / "perf.toml"))
    words = asked(repository, ["HEAD~1", "HEAD", name])
    question = without_verdict(repository, cells, words.benchmarks)
    assert (question.unit, question.metric, question.benchmark) == (
        COUNT,
        "wall",
        f"tests: {COUNT}",
    )
    whole = asked(repository, ["HEAD~1", "HEAD", "tests"]).benchmarks
    assert without_verdict(repository, cells, whole) is None


@pytest.mark.usefixtures("suite")
def test_a_unit_that_nobody_measured_yet_is_blamed_where_it_is_named_as_one(perf):
    found = blamed(perf, "-u", WORDS, "--no-proof", "--metric", "bytecodes", code=4)
    assert (found["unit"], found["verdict"]) == (WORDS, "no difference")


JOB = f"""
[[job]]
name = "NAME"
cmd = "{sys.executable} NAME.py"
collectors = ["bytecode"]
"""
RUN = "import core\n\ncore.count('a b c ' * 50)\n"


@pytest.fixture
def jobs(project):
    """Two jobs, whose bytecode is counted exactly."""
    project.write("perf.toml", JOB.replace("NAME", "counting") + JOB.replace("NAME", "empty"))
    project.commit("first", **{"core.py": CORE, "counting.py": RUN, "empty.py": "pass\n"})
    return project


@pytest.mark.usefixtures("no_valgrind")
def test_without_a_verdict_both_versions_are_measured_first(jobs, perf):
    jobs.commit("slower", **{"core.py": SLOWER})
    said = perf("blame")
    pair = " ".join(commit[:10] for commit in jobs.git("rev-list", "--reverse", "HEAD").split())
    assert (
        "no stored verdict says what changed: measuring first (perf check --measure"
        f" {pair})" in said.err
    )
    assert said.out.startswith("counting: +") and "\ncause: count (core.py)" in said.out
    assert "measuring first" not in perf("blame", "--no-proof").err


def test_where_nothing_changed_the_verdict_says_so(jobs, perf):
    jobs.commit("same", **{"core.py": CORE + "# the end\n"})
    said = perf("blame", "-q", code=4)
    assert "nothing to blame: the verdict on " in said.err
    assert " calls none of 2 benchmarks changed; name one to blame it anyway" in said.err
    # a benchmark may be called like a revision or a file
    assert "HEAD -- counting`" in said.err
    assert (
        "nothing to blame" in perf("blame", "counting", "-q", "--metric", "bytecodes", code=4).out
    )


WORK = """#include <stdio.h>
__attribute__((noinline)) static unsigned mix(unsigned x) { return x * 31 + 7; }
__attribute__((noinline)) static unsigned fold(unsigned x) { return x ^ x >> 5; }
int main(void)
{
    unsigned sum = 0;
    for (int i = 0; i < 100000; i++) sum += mix(fold(i));
    return sum == 1;
}
"""


@pytest.mark.needs("gcc", "valgrind")
def test_a_function_that_its_job_counts_is_not_said_to_be_counted_in_the_whole(project, perf):
    project.write(
        "perf.toml",
        'build = ["gcc -g -O1 work.c -o work"]\n[[job]]\nname = "work"\ncmd = "./work"\n'
        'collectors = [{ name = "instructions", functions = ["mix", "fold"] }]\n',
    )
    project.write(".gitignore", "work\n")
    project.commit("first", **{"work.c": WORK})
    project.commit("slower", **{"work.c": WORK.replace("x * 31 + 7", "x * 31 % 1013 + 7")})
    perf("check", "--measure", code=3)
    said = unwrapped(perf("blame", "work: mix", "-q").out)
    assert said[0].startswith("work: mix: +") and " instructions (" in said[0]
    assert said[1].startswith("cause: mix (work.c): each call costs more")
    assert "proof: proved: " in said[-1], said


def test_a_harness_that_fits_what_it_runs_to_the_clock_is_not_counted(project, perf):
    """As libtest does; how often it runs a benchmark under a counter says nothing of that."""
    project.write("perf.toml", '[[job]]\nname = "bench"\ncmd = "sh bench.sh"\nreads = "libtest"\n')
    line = "echo 'test sort ... bench:       1,000 ns/iter (+/- 10)'\n"
    project.commit("first", **{"bench.sh": line})
    project.commit("second", **{"bench.sh": line + "# the end\n"})
    for metric in ("instructions", "allocated"):
        said = perf("blame", "-u", "sort", "--metric", metric, "-q", code=2).err
        assert said == (
            "perf: its harness runs sort as often as the clock allows, so that its work cannot be"
            " counted: leave out --metric\n"
        )
    assert fits_to_clock(Reads("libtest"))
    assert not any(fits_to_clock(Reads(name)) for name in ("catch2", "google-benchmark", "log"))


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("0", "400", "+400 ns wall time (0 -> 400 ns)"),
        ("-5", "-7", "-40.0 % wall time (-5.000 -> -7.000 ns)"),
    ],
)
def test_a_level_of_nothing_or_below_is_blamed(project, perf, before, after, said) -> None:
    """Under a name that no terminal has room for."""
    name = f"Benchmark{'Sort' * 999}"
    project.write(
        "perf.toml", '[[job]]\nname = "bench"\ncmd = "sh bench.sh"\nreads = "go"\nwarmup = 0\n'
    )
    for level in (before, after):
        project.commit(level, **{"bench.sh": f"echo '{name} 10 {level} ns/op'\n"})
    perf("check", "--measure", "-n", "5", code=None)
    out = perf("blame", "-q").out
    assert said in unwrapped(out)[0]
    assert max(map(len, out.partition("cause:")[0].splitlines())) <= 80
    assert any(line.startswith("proof: proved: ") for line in unwrapped(out))
