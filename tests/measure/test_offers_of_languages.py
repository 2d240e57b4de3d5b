"""What `perf init` proposes in projects of Java, shell, Lua, Ruby, Rust and Perl, by their files."""

from __future__ import annotations

import csv
import json
import os
import shlex
import subprocess
import time
import tracemalloc
from pathlib import Path
from pwd import getpwuid

import pytest
from conftest import Perf, Project

from perfvcs.git.project import Project as Checkout
from perfvcs.jobs.harness import chosen
from perfvcs.jobs.npmscripts import direct
from perfvcs.jobs.proposals import proposals
from perfvcs.jobs.starter import Proposal
from perfvcs.measure.reason import Reason
from perfvcs.measure.repair import repair
from perfvcs.plugins.collector import Reads

MAIN = "public class Bench {\n    public static void main(String[] words) {}\n}\n"
COUNT = "package letters;\n\npublic class Count {}\n"


def commands(project: Project) -> list[str]:
    return [cmd for offer in proposals(project.root) for cmd in offer.commands.values()]


def run(project: Project, cmd: str) -> subprocess.CompletedProcess[str]:
    toolchains = Path(getpwuid(os.getuid()).pw_dir) / ".rustup"  # HOME is another one in tests
    env = {"RUSTUP_HOME": str(toolchains), **os.environ}
    return subprocess.run(
        shlex.split(cmd), cwd=project.root, check=False, capture_output=True, text=True, env=env
    )


def test_a_class_of_java_with_a_main_is_compiled_with_the_sources_that_it_imports(
    project: Project,
) -> None:
    project.write("src/main/java/letters/Count.java", COUNT)
    project.write("examples/shown/Shown.java", "package shown;\n\npublic class Shown {}\n")
    project.write("bench/Bench.java", f"import letters.Count;\nimport java.util.List;\n\n{MAIN}")
    project.write("bench/Other.java", f"import com.google.caliper.Param;\n\n{MAIN}")
    first = proposals(project.root)[0]
    assert first.cmd == "java -cp build/perf-classes Bench"
    assert first.build == (
        "javac -d build/perf-classes -sourcepath bench:src/main/java bench/Bench.java",
    )
    assert first.overlay == "bench/"
    assert not any("Other" in cmd for cmd in commands(project))


def test_a_benchmark_inside_a_package_of_java_is_run_by_its_whole_name(project: Project) -> None:
    text = f"package a.tools;\nimport a.Sort;\n{MAIN.replace('Bench', 'SortBenchmark')}"
    project.write("src/main/java/a/Sort.java", "package a;\n\npublic class Sort {}\n")
    project.write("src/main/java/a/tools/SortBenchmark.java", text)
    assert commands(project) == ["java -cp build/perf-classes a.tools.SortBenchmark"]


def test_a_class_of_java_that_may_only_say_how_to_use_it_is_not_proposed(project: Project) -> None:
    project.write("Bench.java", MAIN.replace("{}", "{ for (String one : args) one.trim(); }"))
    project.write("BenchFile.java", MAIN.replace("{}", "{ if (args.length == 0) return; }"))
    assert commands(project) == []


@pytest.mark.parametrize(
    ("files", "tool"),
    [
        (["pom.xml"], "mvn --batch-mode --quiet test"),
        (["build.gradle"], "gradle --no-daemon --quiet cleanTest test"),
        (["build.gradle", "gradlew"], "./gradlew --no-daemon --quiet cleanTest test"),
    ],
)
def test_tests_of_java_are_run_by_the_tool_that_builds_it(
    project: Project, files: list[str], tool: str
) -> None:
    for name in files:
        project.write(name, "\n")
    project.write("src/test/java/SortTest.java", "public class SortTest {}\n")
    assert commands(project) == [tool]


@pytest.mark.parametrize(
    ("names", "cmds"),
    [
        (["all-tests.sh", "test/parse-test.sh"], ["sh all-tests.sh", "sh test/parse-test.sh"]),
        (["test/run.sh"], ["sh test/run.sh"]),
        (["parse_test.sh", "print_test.sh"], ["sh parse_test.sh", "sh print_test.sh"]),
        (["contest.sh", "latest.sh", "test/data.sh"], []),
    ],
)
def test_tests_of_shell_are_those_that_run_all_or_one_by_one(
    project: Project, names: list[str], cmds: list[str]
) -> None:
    project.write("parse.sh", "parse() {\n    true\n}\n")
    for name in names:
        project.write(name, "#!/bin/sh\nparse\n")
    assert commands(project) == cmds


def test_a_folder_of_performance_holds_benchmarks_where_one_of_them_is_in_it(
    project: Project,
) -> None:
    project.write("middle.lua", "return {}\n")
    project.write("performance/time.lua", "return os.clock\n")
    assert proposals(project.root) == []
    project.write("performance/run.lua", 'local middle = require "middle"\n')
    (only,) = proposals(project.root)
    assert (only.cmd, only.overlay) == ("lua performance/run.lua", "performance/")


def test_a_script_that_measures_other_versions_is_no_benchmark_of_this_one(
    project: Project,
) -> None:
    project.write("lib/mark.rb", "module Mark\nend\n")
    project.write("benchmark/benchmark.rb", "require 'benchmark'\nrequire 'mark'\n")
    loop = "for version in $(rvm list); do\n    rvm $version\n    time ruby bin/mark\ndone\n"
    project.write("benchmark/timing.sh", loop)
    project.write("benchmark/old.sh", "git checkout $1\ntime ruby bin/mark\n")
    assert commands(project) == ["ruby -Ilib benchmark/benchmark.rb"]


def test_what_make_runs_by_default_is_not_built_by_running_it(project: Project) -> None:
    project.write("Makefile", "all: gen perf\ngen:\n\ttl gen\nperf:\n\tlua perf.lua | cat\n")
    project.write("inspect.lua", "return {}\n")
    project.write("perf.lua", 'require "inspect"\nprint(os.clock())\n')
    assert [(offer.cmd, offer.build) for offer in proposals(project.root)] == [
        ("lua perf.lua", ()),
        ("make perf", ()),
    ]


def test_tests_of_rust_run_without_those_that_rustdoc_compiles_each_time(project: Project) -> None:
    project.write("Cargo.toml", '[package]\nname = "fast"\n')
    project.write("tests/all.rs", "#[test]\nfn one() {}\n")
    project.write("src/lib.rs", "\n")
    build = ("cargo test --release --quiet --tests --no-run",)
    alone, tests, *_ = proposals(project.root)
    assert alone.cmd.startswith("sh -c 'for test in target/release/deps/*; do")
    assert tests.cmd == "cargo test --release --quiet --tests"
    assert alone.build == tests.build == build
    for text in ('[[bin]]\nname = "run"\n', 'bin = [{ name = "run", path = "a.rs" }]\n'):
        project.write("Cargo.toml", f'{text}[package]\nname = "fast"\n')
        assert proposals(project.root)[0].cmd == tests.cmd
    project.write("Cargo.toml", '[workspace]\nmembers = ["fast"]\n')
    assert proposals(project.root)[0].cmd == "cargo test --release --quiet --tests"


@pytest.mark.parametrize("path", ["src/main.rs", "src/bin/run.rs"])
def test_a_program_that_cargo_builds_beside_the_tests_is_not_run_with_them(
    project: Project, path: str
) -> None:
    project.write("Cargo.toml", '[package]\nname = "fast"\n')
    project.write("tests/all.rs", "#[test]\nfn one() {}\n")
    project.write(path, "fn main() {}\n")
    assert commands(project)[0] == "cargo test --release --quiet --tests"


@pytest.mark.needs("cargo")
def test_tests_of_rust_run_without_cargo_and_fail_where_one_fails(project: Project) -> None:
    project.write("Cargo.toml", '[package]\nname = "fast"\nedition = "2021"\n')
    project.write("src/lib.rs", "#[test]\nfn inside() {\n    assert_eq!(1 + 1, 2);\n}\n")
    project.write("tests/all.rs", "#[test]\nfn beside() {\n    assert_eq!(1 + 1, 3);\n}\n")
    first = proposals(project.root)[0]
    assert run(project, first.build[0]).returncode == 0
    assert run(project, first.cmd).returncode == 1
    project.write("tests/all.rs", "#[test]\nfn beside() {}\n")
    assert run(project, first.build[0]).returncode == 0
    said = run(project, first.cmd)
    assert (said.returncode, said.stdout.count("running 1 test")) == (0, 2)


@pytest.mark.parametrize(
    ("source", "tested"),
    [
        ("pub fn fast() {}\n", False),
        ('#[cfg(feature = "test")]\npub fn fast() {}\n', False),
        ("#[tokio::test]\nasync fn fast() {}\n", True),
        ("/// ```\n/// fast();\n/// ```\npub fn fast() {}\n", True),
    ],
)
def test_a_rust_project_without_tests_has_none_to_run(
    project: Project, source: str, tested: bool
) -> None:
    project.write("Cargo.toml", '[package]\nname = "fast"\n')
    project.write("src/lib.rs", source)
    assert ("cargo test --release --quiet" in commands(project)) is tested


def test_a_go_project_with_benchmarks_alone_has_no_tests(project: Project) -> None:
    project.write("go.mod", "module fast\n")
    project.write("fast_test.go", "func BenchmarkFast(b *testing.B) {\n")
    assert "go test -count=1 ./..." not in commands(project)
    project.write("slow_test.go", "func TestSlow(t *testing.T) {\n")
    assert "go test -count=1 ./..." in commands(project)


def test_a_project_in_a_folder_is_found_where_none_is_at_the_top(project: Project) -> None:
    """Without what says careful: the folder's scripts are not searched from the top."""
    tests = "package m\n\nfunc BenchmarkA(b *testing.B) {\n}\n"
    package = {"scripts": {"test": "rm -rf ~ && node test.js"}}
    project.write("go/x/go.mod", "module m\n")
    project.write("go/x/m_test.go", tests)
    project.write("web/js/package.json", json.dumps(package))
    project.write("web/js/test.js", "1\n")
    project.commit("first", **{"README.md": "A project.\n"})
    first, *others = proposals(project.root)
    assert first.found == "a Go project with 1 benchmark, in go/x/"
    assert first.cmd.startswith("env -C go/x ./bench.test -test.run ^$ -test.bench . ")
    assert first.build == ("env -C go/x go test -c -o ./bench.test .",)
    assert others and not any("npm test" in offer.cmd or "test.js" in offer.cmd for offer in others)
    words = first.cmd.split()[:3]
    assert chosen(words, Reads("go"), "m.A") == [*words, "-test.bench", "^BenchmarkA$"]
    assert "--" in chosen(["env", "-C", "rs", "cargo", "bench"], Reads("criterion"), "a")


def test_tests_of_perl_that_need_a_missing_module_are_left_out(project: Project) -> None:
    project.write("t/a.t", "use Test::More;\n")
    project.write("t/b.t", "use Test::Needs 'URI';\n")
    project.write("t/c.t", "use Test::NeedsNothing;\n")
    proposal = Proposal("tests", "prove --lib t", "tests")
    reason = Reason("Can't locate Test/Needs.pm in @INC (you may need to install it)")
    repaired = repair(Checkout.find(project.root), proposal, reason)
    assert repaired is not None
    assert repaired.proposal.cmd == "prove --lib t/a.t t/c.t"
    assert repaired.why == "leaving out t/b.t: no Test::Needs here"
    project.write("t/d.t", "use Test::Needs::More;\n")
    repaired = repair(Checkout.find(project.root), proposal, reason)
    assert repaired is not None
    assert repaired.proposal.cmd == "prove --lib t/a.t t/c.t t/d.t"
    died = repair(
        Checkout.find(project.root),
        repaired.proposal,
        Reason('Can\'t locate object method "type" via package "Foreign" at t/c.t line 13.'),
    )
    assert died is not None
    assert died.proposal.cmd == "prove --lib t/a.t t/d.t"
    assert repair(Checkout.find(project.root), died.proposal, Reason("exited with 1")) is None


def test_of_what_a_build_says_the_missing_network_is_the_reason() -> None:
    text = (
        "the build failed | [ERROR] Could not transfer artifact: Unknown host repo.example.org |"
        " [ERROR] [Help 2] http://example.org/PluginManagerException"
    )
    reason = Reason(text)
    assert reason.of_the_machine
    assert str(reason) == "[ERROR] Could not transfer artifact: Unknown host repo.example.org"
    reason = Reason(
        "the build failed: error: failed to get `tally` as a dependency of package `mark v1.0.0` |"
        " Caused by: | download failed | [6] Could not resolve hostname"
    )
    assert reason.of_the_machine
    assert str(reason) == "tally is missing: [6] Could not resolve hostname"


def test_of_tests_of_perl_that_take_too_long_those_that_changed_most_are_tried(
    project: Project,
) -> None:
    for name in "abcd":
        project.write(f"t/{name}.t", "1;\n")
    project.commit()
    project.commit(**{"t/c.t": "2;\n"})
    proposal = Proposal("tests", "prove --lib t", "tests")
    repaired = repair(Checkout.find(project.root), proposal, Reason("it takes more than 120 s"))
    assert repaired is not None
    assert repaired.proposal.cmd == "prove --lib t/c.t t/a.t"


@pytest.mark.parametrize(
    ("scripts", "cmd"),
    [
        ({"test": "node tests/tests.js"}, "node tests/tests.js"),
        ({"test": "mocha --reporter spec"}, "node_modules/.bin/mocha --reporter spec"),
        ({"test": "mocha 'test/**/*.js'"}, "node_modules/.bin/mocha 'test/**/*.js'"),
        (
            {"test": "NODE_ENV=test tape test.js"},
            "env NODE_ENV=test node_modules/.bin/tape test.js",
        ),
        (
            {
                "test": "npm run lint && npm run unit",
                "lint": "eslint .",
                "unit": "nyc -b 100 tape a",
            },
            "node_modules/.bin/tape a",
        ),
        ({"pretest": "standard", "test": "node a.js"}, "node a.js"),
        ({"pretest": "node build.js", "test": "node a.js"}, "npm test --silent"),
        ({"test": "node a.js && node b.js"}, "npm test --silent"),
        ({"test": "mocha test/*.js"}, "npm test --silent"),
        ({"test": "node a.js | tap-spec"}, "npm test --silent"),
        ({"test": "./run.sh"}, "npm test --silent"),
        ({"test": "npm run test"}, "npm test --silent"),
        ({"test": "node 'a.js"}, "npm test --silent"),
        ({"pretest": "tsc -p .", "test": "mocha dist"}, "npm test --silent"),
        ({"pretest": "tsc --noEmit", "test": "mocha"}, "node_modules/.bin/mocha"),
    ],
)
def test_tests_of_node_run_without_npm_linters_and_coverage(
    project: Project, scripts: dict[str, str], cmd: str
) -> None:
    package = {"scripts": scripts, "devDependencies": {"mocha": "*", "tape": "*"}}
    project.write("package.json", json.dumps(package))
    for name in ("a.js", "tests/tests.js"):
        project.write(name, "\n")
    assert proposals(project.root)[0].cmd == cmd


def test_of_scripts_that_run_many_others_npm_is_asked_at_once() -> None:
    many = " && ".join(["npm run a"] * 300)
    scripts = {
        "test": many,
        "a": many.replace("run a", "run b"),
        "b": many.replace("run a", "run c"),
        "c": "eslint .",
    }
    began = time.process_time()
    assert direct(scripts, "test", {}) == ""
    assert time.process_time() - began < 1
    assert direct({"test": "mocha " + "a " * 200_000}, "test", {}) == ""


def test_a_makefile_whose_values_are_long_is_read_in_little_memory(project: Project) -> None:
    names = "a" * 9_000
    project.write(
        "Makefile",
        f"A = {names}\ntest: {'$(A) ' * 1_000}\n\tcc {'$^' * 4_000} -o t\n\t./t\n"
        + f"check: {'$(A)' * 2_000}\n\t./t\n" * 4,
    )
    tracemalloc.start()
    assert {offer.cmd for offer in proposals(project.root)} == {"make check", "make test"}
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 50_000_000


def test_what_make_compiles_and_runs_is_compiled_once(project: Project) -> None:
    project.write(
        "Makefile",
        "test: test_a test_b\n"
        "test_a: test/tests.c a.h\n\t$(CC) $(CFLAGS) $< -o test/$@\n\t./test/$@\n"
        "test_b: test/tests.c a.h\n\t$(CC) -DB=1 $(CFLAGS) $< -o test/$@\n\t./test/$@\n"
        ".PHONY: test\n",
    )
    first = proposals(project.root)[0]
    assert first.commands == {"test_a": "./test/test_a", "test_b": "./test/test_b"}
    assert first.build == ("cc test/tests.c -o test/test_a", "cc -DB=1 test/tests.c -o test/test_b")


@pytest.mark.parametrize(
    "recipe",
    [
        "\tcc a.c -o a\n\t./b\n",
        "\tcc a.c -o a\n\t./a | tee log\n",
        "\tcc a.c -o a\n\t./a\n\trm a\n",
        "\tcc `cat flags` a.c -o a\n\t./a\n",
    ],
)
def test_a_target_that_does_more_than_compile_and_run_is_left_to_make(
    project: Project, recipe: str
) -> None:
    project.write("Makefile", f"test: a.c\n{recipe}")
    assert {offer.cmd for offer in proposals(project.root)} == {"make test"}


def test_tests_of_ruby_run_one_by_one_where_rake_fails(project: Project) -> None:
    project.write("Rakefile", "task :test\n")
    project.write("lib/mark.rb", "module Mark\nend\n")
    project.write("test/test_mark.rb", "require 'mark'\n")
    project.write("test/helper.rb", "\n")
    assert commands(project) == ["rake test", "ruby -Ilib -Itest test/test_mark.rb"]


def test_a_helper_of_tests_of_ruby_is_no_test(project: Project) -> None:
    project.write("lib/mark.rb", "module Mark\nend\n")
    project.write("test/test_helper.rb", "require 'mark'\n")
    project.write("test/mark_test.rb", "require 'test_helper'\n")
    assert commands(project) == ["ruby -Ilib -Itest test/mark_test.rb"]


def test_what_make_compiles_and_runs_is_a_test_whatever_it_is_called(project: Project) -> None:
    """Without it nothing would be left where the benchmark takes too long."""
    project.write(
        "Makefile",
        "all: smoke pow bench\n"
        "smoke: smoke.c eval.c\n\t$(CC) -o $@ $^ -lm\n\t./$@\n"
        "pow: smoke.c eval.c\n\t$(CC) -o $@ -DPOW $^ -lm\n\t./$@\n"
        "bench: bench.c eval.c\n\t$(CC) -o $@ $^ -lm\n",
    )
    bench, tests = proposals(project.root)
    assert bench.cmd == "./bench"
    assert tests.commands == {"smoke": "./smoke", "pow": "./pow"}
    assert tests.build == ("cc -o smoke smoke.c eval.c -lm", "cc -o pow -DPOW smoke.c eval.c -lm")
    assert [file for file, _ in tests.copied] == ["Makefile"] * 4


def node_project(project: Project, script: str, **needed: str) -> None:
    package = {"scripts": {"bench": script, "test": "node test.js"}, "devDependencies": needed}
    project.write("package.json", json.dumps(package))
    project.write("mark.js", "module.exports = n => n + 1\n")
    project.write("test.js", "require('./mark')\n")


def test_a_script_of_node_that_is_not_there_is_not_proposed(project: Project) -> None:
    """What is built is not there either, but git ignores it."""
    node_project(project, "node benchmark/index.js")
    assert commands(project)[0] == "node test.js"
    project.write(".gitignore", "/benchmark\n")
    assert commands(project)[0] == "node benchmark/index.js"
    node_project(project, "node ../../elsewhere.js")
    assert commands(project)[0] == "node test.js"


def test_a_benchmark_that_needs_no_package_is_tried_before_npm_installs_any(
    project: Project,
) -> None:
    node_project(project, "node bench/mark.js", tape="1")
    project.write("bench/mark.js", "const m = require('../mark')\nconst t = Date.now()\n")
    first, second = proposals(project.root)[:2]
    assert first.cmd == second.cmd == "node bench/mark.js"
    assert first.build == () and second.build[0].startswith("npm install")
    project.write("bench/mark.js", "const b = require('benchmark')\nrequire('../mark')\n")
    assert proposals(project.root)[0].build


def test_a_benchmark_whose_harness_reports_is_read_before_it_is_measured_as_a_whole(
    project: Project,
) -> None:
    """A command is proposed once, whatever names it: its place in a folder, or package.json."""
    node_project(project, "node bench/mark.js", benchmark="2")
    project.write("bench/mark.js", "const b = require('benchmark')\nrequire('../mark')\n")
    offers = [offer for offer in proposals(project.root) if "node bench/mark.js" in offer.cmd]
    assert [(offer.cmd, offer.reads) for offer in offers] == [
        ("env PERFVCS_BENCHMARK_SECONDS=0.5 node bench/mark.js", '"benchmark-js"'),
        ("node bench/mark.js", ""),
    ]


BENCHMARK_JS = """
function Benchmark(name, options) {
  this.name = name
  this.options = { ...Benchmark.options, ...options }
}
Benchmark.options = { maxTime: 5, minSamples: 5 }
Benchmark.Suite = function () {}
Benchmark.prototype.run = function () {
  const { maxTime, minSamples } = this.options
  console.log(`${this.name} x ${1 / maxTime} ops/sec \u00b11.00% (${minSamples} runs sampled)`)
}
module.exports = Benchmark
"""


@pytest.mark.needs("node")
@pytest.mark.parametrize(
    ("first", "taken"), [("", [0.2, 100.0]), ("env PERFVCS_BENCHMARK_SECONDS=0.5 ", [2.0, 5.0])]
)
@pytest.mark.parametrize(
    "starts",
    [
        {"mark.js": "const Benchmark = require('benchmark')\n"},
        {"mark.js": "import Benchmark from 'benchmark'\n", "package.json": '{"type": "module"}'},
    ],
)
def test_benchmark_js_takes_the_time_that_its_job_says(
    project: Project, perf: Perf, first: str, taken: list[float], starts: dict[str, str]
) -> None:
    """It has no option for that, and stands 5 s for a benchmark."""
    project.configure(f'cmd = "{first}node mark.js"\nreads = "benchmark-js"\nexecutions = 1')
    project.write("node_modules/benchmark/index.js", BENCHMARK_JS)
    run = "new Benchmark('turns', { minSamples: 100 }).run()\n"
    project.write(".gitignore", "")
    project.commit(**starts | {"mark.js": starts["mark.js"] + run})
    perf("collect")
    rows = csv.DictReader(perf("export", "--format", "csv").out.splitlines())
    (turns,) = (row for row in rows if row["uid"] == "turns")
    rate, samples = turns["throughput [ops/s higher]"], turns["throughput.samples [none]"]
    assert [float(rate), float(samples)] == taken
