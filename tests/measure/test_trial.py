"""`perf init` proposes what runs: each proposal is built and run once, until one does."""

from __future__ import annotations

import sys

import pytest
from conftest import Perf, Project

from perfvcs.jobs import matrix
from perfvcs.jobs.config import load
from perfvcs.jobs.harnessoffers import GO_OPTIONS, shorter
from perfvcs.jobs.proposals import proposals
from perfvcs.jobs.pythonoffers import PYTEST
from perfvcs.jobs.starter import Proposal
from perfvcs.measure import trial
from perfvcs.measure.trial import Trial

MAKEFILE = "all:\n\t@true\nbench:\n\tfalse\ncheck:\n\t@sleep 0.1\n"


def worktrees(project: Project) -> int:
    return len(project.git("worktree", "list").splitlines())


@pytest.mark.needs("make")
def test_what_does_not_run_is_passed_over_and_what_does_is_collected_without_editing(
    project: Project, perf: Perf
) -> None:
    project.commit(Makefile=MAKEFILE)
    said = perf("init", "--yes")
    assert "trying `make bench` after make -j2" in said.err
    assert "it does not run: bench on" in said.err
    assert "wrote perf.toml: a project with a Makefile: make check" in said.out
    assert "`make check` runs in " in said.out
    assert "; perf collect will take about " in said.out
    assert "stored 1 profile" in perf("collect").out
    assert worktrees(project) == 1
    assert project.git("status", "--porcelain") == "?? perf.toml"


@pytest.mark.needs("make")
def test_a_build_that_failed_is_not_tried_again(project: Project, perf: Perf) -> None:
    project.commit(**{"configure": "#!/bin/sh\nexit 3\n"})
    said = perf("init", "--yes")
    assert said.err.count("trying ") == 1
    assert "wrote perf.toml: a project with configure: make bench (it did not run here)" in said.out
    assert "next: look at perf.toml, correct what it runs, commit it" in said.out


def test_what_prepares_a_proposal_is_the_same_in_every_folder() -> None:
    inside = Proposal("", "env -C tests ./t", "t", ("env -C 'a b' make t",))
    assert trial._tool(inside) == trial._tool(Proposal("", "make check", "check")) == "make"


@pytest.mark.parametrize("part", ["sh -c no-such-tool", f"{sys.executable} -m no_such_module"])
def test_a_benchmark_whose_parts_fail_unnoticed_is_none(
    project: Project, perf: Perf, part: str
) -> None:
    text = f"for n in 1 2; do {part}; done; exit 0\n"
    project.commit(**{"bench/run.sh": text, "test.sh": "exit 0\n", "tool.sh": "echo\n"})
    said = perf("init", "--yes")
    assert "it does not run: run: it ended well, but a part of it failed: " in said.err
    assert "trying `sh test.sh`" in said.err
    job = '[[job]]\nname = "run"\ncmd = "sh bench/run.sh"\nexecutions = 2\n'
    project.commit(**{"perf.toml": job})
    assert "run: it ended well, but a part of it failed: " in perf("collect").out


def test_what_a_program_itself_does_not_find_is_no_missing_part(
    project: Project, perf: Perf
) -> None:
    project.commit(**{"bench/run.sh": "for n in 1 2; do echo key: not found >&2; done\n"})
    said = perf("init", "--yes")
    assert "does not run" not in said.err and "`sh bench/run.sh` runs in" in said.out


def test_what_fails_the_second_time_is_not_proposed(project: Project, perf: Perf) -> None:
    project.commit(
        **{
            "bench/first.sh": "for n in 1; do mkdir made; done\n",
            "bench/run.sh": "for n in 1; do sleep 0.1; done\n",
        }
    )
    assert "it does not run: first on " in perf("init", "--yes").err
    assert [cell.name for cell in matrix(load(project.root / "perf.toml"))] == ["run"]
    project.commit(**{"bench/run.sh": "for n in 1; do mkdir built; done\n"})
    (project.root / "perf.toml").unlink()
    assert "(it did not run here)" in perf("init", "--yes").out


@pytest.mark.needs("make")
def test_all_trials_together_have_a_bound(
    project: Project, perf: Perf, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.commit(Makefile=MAKEFILE)
    monkeypatch.setattr(trial, "ALL_TRIALS_SECONDS", 0.0)
    said = perf("init", "--yes")
    assert "trying `" not in said.err and "no other command is tried: the trials took" in said.err
    assert (
        "wrote perf.toml: a project with a Makefile: make bench (it did not run here)" in said.out
    )


@pytest.mark.needs("make")
@pytest.mark.parametrize("how", ["--no-try", "no commit", "kept"])
def test_nothing_is_run_unless_it_is_asked_for_and_possible(
    project: Project, perf: Perf, how: str
) -> None:
    project.write("Makefile", "all:\nbench:\n\ttouch ../ran\n")
    if how != "no commit":
        project.commit()
    if how == "kept":
        project.write("perf.toml", "")
    said = perf("init", *(["--no-try"] if how == "--no-try" else ["--yes"]))
    assert "trying" not in said.err
    assert ("(not tried)" in said.out) == (how != "kept")
    assert not list(project.root.parent.rglob("ran"))


@pytest.mark.needs("make")
def test_another_run_is_not_disturbed(project: Project, perf: Perf) -> None:
    from perfvcs.repository import Repository
    from perfvcs.system.lock import hold

    project.commit(Makefile=MAKEFILE)
    repository = Repository.find(project.root, create=True)
    with hold(repository.home / "lock"):
        said = perf("init", "--yes", code=11)
    assert said.err.count("\n") == 1
    assert not (project.root / "perf.toml").exists()


def test_what_takes_too_long_is_not_proposed(
    project: Project, perf: Perf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial, "LONGEST_EXECUTION", 0.5)
    project.write("bench/run.sh", "for round in 1 2 3; do sleep 20; done\n")
    project.commit()
    assert "(it did not run here)" in perf("init", "--yes").out
    assert matrix(load(project.root / "perf.toml"))[0].cmd == "sh bench/run.sh"


@pytest.mark.needs("make")
def test_what_ran_slowly_is_not_tried_after_another_preparation(
    project: Project, perf: Perf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial, "LONGEST_CHECK", 0.0)
    project.commit(Makefile="all:\n\t@true\ncheck:\n\t@sleep 0.1\n")
    said = perf("init", "--yes")
    assert "looking for something quicker" in said.err
    assert said.err.count("trying `make check`") == 1
    assert "wrote perf.toml: a project with a Makefile: make check" in said.out


@pytest.mark.needs("prove")
def test_of_tests_of_perl_with_a_slow_verdict_those_are_written_that_it_has_time_for(
    project: Project, perf: Perf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The longest that fit, by how often they change; ``slow.t`` alone takes too long."""
    monkeypatch.setattr(trial, "longest_execution", lambda _: 3.5)
    passes = r"print qq(1..1\nok 1\n);"
    project.write("t/brief.t", passes)
    project.write("t/medium.t", f"select undef, undef, undef, .5; {passes}")
    project.write("t/slow.t", f"select undef, undef, undef, 4; {passes}")
    project.commit()
    said = perf("init", "--yes")
    assert "of the time of all 3 files" in said.out
    written = matrix(load(project.root / "perf.toml"))[0]
    # for the brief one there is time where the machine is not busy
    assert written.cmd in ("prove --lib t/medium.t t/brief.t", "prove --lib t/medium.t")
    assert written.reads is None


def test_long_executions_are_proposed_less_often_and_get_time() -> None:
    one = Proposal("x", "make bench", "bench")
    assert "executions = 10 " in one.toml(0.1)
    assert 'timeout = "60s"' in one.toml(0.1)
    assert "executions = 5 " in one.toml(30)
    assert 'timeout = "180s"' in one.toml(30)


def test_tests_of_pytest_benchmark_are_proposed_by_their_own_files(project: Project) -> None:
    project.write("pyproject.toml", "[project]\nname = 'demo'\n")
    project.write(
        "tests/test_speed.py",
        "def test_sort(tmp_path, benchmark):\n    benchmark(sorted, [2, 1])\n",
    )
    project.write(
        "tests/test_plain.py", "def test_names():\n    benchmark = 1\n    assert benchmark\n"
    )
    first, second, third = proposals(project.root)[:3]
    assert first.cmd == "python -m pytest --benchmark-disable tests/test_speed.py"
    assert first.collector == PYTEST
    assert first.requires == ("pytest", "pytest-benchmark")
    assert second.cmd == "python -m pytest tests/test_speed.py"  # where the first one does not run
    assert third.cmd == "python -m pytest tests"


@pytest.mark.parametrize(
    ("include", "reads", "options"),
    [
        ("#include <benchmark/benchmark.h>", '"google-benchmark"', " --benchmark_format=json"),
        ("# include <catch2/catch_test_macros.hpp>", '"catch2"', " --reporter xml"),
        ("#include <nanobench.h>", '"nanobench"', ""),
        ("// as benchmark/benchmark.h does", "", ""),
    ],
)
def test_a_program_with_a_known_harness_is_proposed_with_what_that_reports(
    project: Project, include: str, reads: str, options: str
) -> None:
    project.write("bench/CMakeLists.txt", "add_executable(bench_sort main.cpp\n  sort.cpp)")
    project.write("CMakeLists.txt", "add_subdirectory(bench)")
    project.write("bench/sort.cpp", f"{include}\n")
    first, *others = proposals(project.root)
    plain = "build/bench/bench_sort"
    assert (plain, "") in [(one.cmd, one.reads) for one in (first, *others)]
    assert first.cmd.startswith(plain + options)
    assert first.reads == reads
    assert f"reads = {reads}\n" in first.toml() or not reads


def test_hidden_benchmarks_of_catch2_are_named(project: Project) -> None:
    project.write("CMakeLists.txt", "add_executable(bench_sort main.cpp)")
    text = '#include <catch2/catch.hpp>\nTEST_CASE("sort", "[!benchmark]") {}\n'
    project.write("main.cpp", text)
    assert proposals(project.root)[0].cmd.endswith(" [!benchmark]")


@pytest.mark.parametrize(
    ("files", "cmd", "reads"),
    [
        (
            {"benches/a.rs": "", "Cargo.toml": '[package]\n[dev-dependencies]\ncriterion = "1"\n'},
            "cargo bench --quiet --bench a -- --noplot",
            "target/criterion",
        ),
        (
            {
                "benches/a.rs": "",
                "Cargo.toml": '[package]\n[dev-dependencies]\ncriterion = { version = "0.3.6" }\n',
            },
            "cargo bench --quiet --bench a -- --noplot --warm-up-time 1 --measurement-time 1",
            "target/criterion",
        ),
        (
            {
                "benches/a.rs": "",
                "Cargo.toml": "[package]\n[dev-dependencies.criterion]\n"
                'default-features = false\nversion = "0.3"\n',
            },
            "cargo bench --quiet --bench a -- --noplot --warm-up-time 1 --measurement-time 1",
            "target/criterion",
        ),
        (
            {
                "benches/a.rs": "",
                "Cargo.toml": '[package]\n[dev-dependencies]\ncriterion = "0.5.1"\nnum = "0.3"\n',
            },
            "cargo bench --quiet --bench a -- --noplot --warm-up-time 0.1",
            "target/criterion",
        ),
        (
            {"Cargo.toml": '[package]\n[[bench]]\nname = "b"\nharness = false\n'},
            "cargo bench --quiet --bench b",
            "regex",
        ),
        (
            {"benches/a.rs": "#[bench]", "Cargo.toml": "[package]\n"},
            "cargo bench --quiet --bench a",
            "libtest",
        ),
        (
            {"package.json": '{"devDependencies": {"vitest": "1"}}', "sort.bench.js": ""},
            "npx vitest bench --run --outputJson=vitest.json",
            "vitest.json",
        ),
        (
            {"package.json": '{"scripts": {"bench": "x"}, "devDependencies": {"mitata": "1"}}'},
            "npm run --silent bench",
            "mitata",
        ),
        (
            {"pom.xml": "<artifactId>jmh-core</artifactId>"},
            "java -jar target/benchmarks.jar",
            "jmh",
        ),
        ({"build.gradle": "id 'me.champeau.jmh'"}, "java -cp 'build/libs/*'", "jmh"),
        (
            {"go.mod": "", "a/b_test.go": "func BenchmarkA(b *testing.B) {\n" * 40},
            "env -C a ./bench.test -test.run ^$ -test.bench . -test.benchtime 20ms",
            "go",
        ),
    ],
)
def test_each_harness_is_proposed_with_its_format(
    project: Project, files: dict[str, str], cmd: str, reads: str
) -> None:
    for name, text in files.items():
        project.write(name, text)
    first = proposals(project.root)[0]
    assert first.cmd.startswith(cmd)
    assert reads in first.reads


def test_tests_without_packaging_are_proposed_with_the_python_that_is_there(
    project: Project,
) -> None:
    project.write("tests/test_names.py", "def test_names():\n    assert True\n")
    only = proposals(project.root)
    assert [(one.cmd, one.python, one.collector) for one in only] == [
        ("python -m pytest tests", None, PYTEST)
    ]


def test_a_module_that_benchmarks_share_is_not_taken_for_one(project: Project) -> None:
    project.write("benchmarks/_harness.py", "")
    project.write("benchmarks/bench_parse.py", "import timeit\n\nprint(timeit.timeit())\n")
    assert proposals(project.root)[0].cmd == "python benchmarks/bench_parse.py"


@pytest.mark.needs("go")
def test_each_part_of_a_benchmark_of_go_gets_its_share_of_an_execution(
    project: Project, perf: Perf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sources name one benchmark, and running it shows that it has six parts."""
    monkeypatch.setattr(trial, "longest_execution", lambda _: 60.0)
    project.commit(
        **{
            "go.mod": "module mark\n\ngo 1.18\n",
            "mark_test.go": 'package mark\n\nimport (\n\t"fmt"\n\t"testing"\n)\n\n'
            "func BenchmarkMark(b *testing.B) {\n"
            "\tfor n := 0; n < 6; n++ {\n"
            "\t\tb.Run(fmt.Sprint(n), func(b *testing.B) {\n"
            "\t\t\tfor i := 0; i < b.N; i++ {\n\t\t\t\tfmt.Sprint(i)\n\t\t\t}\n"
            "\t\t})\n\t}\n}\n",
        }
    )
    assert "200ms` after go test" in perf("init", "--yes").err
    assert "-test.benchtime 160ms" in (project.root / "perf.toml").read_text()


def test_only_what_has_more_parts_than_benchmarks_becomes_shorter() -> None:
    offer = Proposal("Go", f"env -C a ./bench.test {GO_OPTIONS} 200ms", "bench")
    assert shorter(offer, 4, 2.0, 2.2) == (offer, 2.0)
    cut, seconds = shorter(offer, 1000, 2.0, 2.2)
    assert cut.cmd == f"env -C a ./bench.test {GO_OPTIONS} 20ms" and seconds == 0.2
    offer = Proposal("Node", "env PERFVCS_BENCHMARK_SECONDS=0.5 node a.js", "bench")
    cut, seconds = shorter(offer, 8, 4.0, 4.0)
    assert cut.cmd == "env PERFVCS_BENCHMARK_SECONDS=0.2 node a.js" and seconds == 1.6
    assert shorter(offer, 4, 2.0, 2.2) == (offer, 2.0)
    cut, seconds = shorter(offer, 4, 2.0, 1.2)
    assert cut.cmd == "env PERFVCS_BENCHMARK_SECONDS=0.3 node a.js" and seconds == 1.2
    other = Proposal("shell", "sh bench.sh 200ms", "bench")
    assert shorter(other, 1000, 2.0, 2.2) == (other, 2.0)


def test_benchmarks_of_go_that_take_too_long_for_a_verdict_become_shorter() -> None:
    offer = Proposal("Go", f"./bench.test {GO_OPTIONS} 200ms", "bench")
    cut, seconds = shorter(offer, 4, 4.0, 2.2)
    assert cut.cmd == f"./bench.test {GO_OPTIONS} 110ms" and seconds == pytest.approx(2.2)
    cut, _ = shorter(offer, 4, 400.0, 2.2)
    assert cut.cmd == f"./bench.test {GO_OPTIONS} 20ms"


CMAKE_TESTS = """\
cmake_minimum_required(VERSION 3.10)
project(demo C)
enable_testing()
add_executable(sorts sorts.c)
add_test(NAME sorts COMMAND sorts)
add_test(NAME finds-some COMMAND sorts ${CMAKE_SOURCE_DIR}/words.txt)
set_tests_properties(finds-some PROPERTIES WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}/data
    ENVIRONMENT "HOME=here")
add_test(NAME fails COMMAND sorts ${CMAKE_SOURCE_DIR}/none.txt)
set_tests_properties(fails PROPERTIES WILL_FAIL TRUE)
"""
MESON_TESTS = """\
project('demo', 'c')
sorts = executable('sorts', 'sorts.c')
test('sorts', sorts)
test('finds some', sorts, args: files('words.txt'), workdir: meson.current_source_dir() / 'data',
  env: ['HOME=here'])
"""
READS_A_FILE = """\
#include <stdio.h>
int main(int count, char **words) { return count > 1 && !fopen(words[1], "r"); }
"""


@pytest.mark.parametrize(
    ("tool", "file", "text"),
    [
        pytest.param("ctest", "CMakeLists.txt", CMAKE_TESTS, marks=pytest.mark.needs("cmake")),
        pytest.param("meson", "meson.build", MESON_TESTS, marks=pytest.mark.needs("meson")),
    ],
)
def test_the_programs_that_a_runner_of_tests_starts_are_measured_without_it(
    project: Project, perf: Perf, tool: str, file: str, text: str
) -> None:
    """One that has to fail says nothing of its time."""
    project.commit(**{file: text, "sorts.c": READS_A_FILE, "words.txt": "", "data/a": ""})
    said = perf("init", "--yes")
    assert f"programs that {tool} starts without it" in said.err
    assert f"a {'CMake' if tool == 'ctest' else 'Meson'} project with tests: " in said.out
    commands = {cell.name: cell.cmd for cell in matrix(load(project.root / "perf.toml"))}
    assert commands == {
        "sorts": "env -C build ./sorts",
        "finds-some": "env -C data HOME=here ../build/sorts ../words.txt",
    }


@pytest.mark.needs("cmake")
def test_a_script_that_changes_its_folder_is_given_whole_paths(
    project: Project, perf: Perf
) -> None:
    top, _, _ = CMAKE_TESTS.partition("add_test")
    added = (
        "add_test(NAME reads COMMAND ${CMAKE_SOURCE_DIR}/test.sh $<TARGET_FILE:sorts>"
        " --from=${CMAKE_SOURCE_DIR}/a\\ b.txt)\n"
    )
    script = '#!/bin/sh\ncd / && "$1" "${2#--from=}"\n'
    files = {"CMakeLists.txt": top + added, "sorts.c": READS_A_FILE, "a b.txt": ""}
    project.write("test.sh", script).chmod(0o755)
    project.commit(**files)
    assert "1 program without ctest" in perf("init", "--yes").out
    (cell,) = matrix(load(project.root / "perf.toml"))
    assert cell.cmd.startswith('sh -c \'cd build && exec ../test.sh "$PWD"/../build/sorts ')


@pytest.mark.needs("cmake")
def test_many_tests_of_few_programs_are_measured_as_the_programs(
    project: Project, perf: Perf
) -> None:
    parts = "".join(
        f"add_test(NAME part{number} COMMAND sorts -{number})\n" for number in range(30)
    )
    source = "#include <stdio.h>\nint main(void) { return 0; }\n"
    top, _, _ = CMAKE_TESTS.partition("add_test")
    project.commit(**{"CMakeLists.txt": top + parts, "sorts.c": source})
    said = perf("init", "--yes")
    assert "a CMake project with tests: 1 program without ctest" in said.out
    (cell,) = matrix(load(project.root / "perf.toml"))
    assert (cell.name, cell.cmd) == ("sorts", "env -C build ./sorts")


@pytest.mark.needs("valgrind")
@pytest.mark.parametrize(
    ("cmd", "seconds", "counting"),
    [
        ("./bench", 0.1, 4 * (0.5 + 30 * 0.1)),  # two executions of both sides
        ("./bench", 2.0, 0.0),  # too dear
        ("node bench.js", 0.1, 0.0),
    ],
)
def test_what_a_check_takes_includes_what_is_counted(
    cmd: str, seconds: float, counting: float
) -> None:
    proposal = Proposal("", cmd, "bench")
    assert trial._counting(proposal, seconds, [], 1.0) == pytest.approx(counting)
    timed, counted = (
        Trial(proposal, seconds, 0.0, of_counting).check for of_counting in (0.0, counting)
    )
    assert counted.expected - timed.expected == pytest.approx(counting)
    assert counted.most - timed.most == pytest.approx(counting)
