"""Jobs that read what their command's own harness reports."""

import json
import os

import pytest
from conftest import Perf, Project, need

from perfvcs.collectors._shared import harnessoutput
from perfvcs.errors import UsageError
from perfvcs.formats import log
from perfvcs.jobs.harness import HARNESSES, can_choose, checked, chosen
from perfvcs.plugins.collector import Reads
from perfvcs.profile import Profile
from perfvcs.repository import Repository

GO = """\
goos: linux
pkg: example.org/m
BenchmarkSort/n=100-2 300 {sort} ns/op 16 B/op
BenchmarkSort/n=100-2 300 {sort} ns/op 16 B/op
BenchmarkJoin-2 300 500 ns/op 0 B/op
PASS
"""

GOOGLE = '"google-benchmark"'


def stored(revision: str = "HEAD") -> Profile:
    repository = Repository.find()
    headers = repository.index.headers([repository.project.resolve(revision)])
    return repository.profiles(headers)[-1]


def values(profile: Profile, uid: str, metric: str) -> list[float | None]:
    rows = profile.resources
    return [
        rows.metrics[metric][place]
        for place, number in enumerate(rows.uid)
        if rows.names[number] == uid
    ]


def job(project: Project, script: str, reads: str, cmd: str = "sh bench.sh", **more: str) -> None:
    """A project whose job runs a script, and reads what that reports."""
    keys = "".join(f"{key} = {value}\n" for key, value in more.items())
    project.write("bench.sh", script)
    project.write(
        "perf.toml",
        f'[[job]]\nname = "bench"\ncmd = "{cmd}"\nreads = {reads}\nwarmup = 0\n'
        f"executions = 2\n{keys}",
    )
    project.commit("measured")


def printing(text: str) -> str:
    return f"cat <<'E'\n{text}E\n"


def test_what_the_harness_prints_becomes_units(project: Project, perf: Perf) -> None:
    job(project, printing(GO.format(sort=4000)), '"go"')
    perf("collect")
    profile = stored()
    assert profile.job.options == {"reads": "go"}
    assert values(profile, "example.org/m.Sort cpus=2", "wall") == [4e-6] * 4
    assert values(profile, "example.org/m.Join cpus=2", "allocated") == [0.0, 0.0]
    assert profile.resources.iteration == [0, 0, 1, 0] * 2
    assert profile.metrics["allocated"].unit == "B/op"
    # the process around it is recorded, and not judged
    assert values(profile, "bench", "wall") == [None, None]
    assert all(seconds for seconds in values(profile, "bench", "elapsed"))
    assert profile.metrics["elapsed"].better == "none"


def test_a_check_names_the_benchmark_that_became_slower(project: Project, perf: Perf) -> None:
    job(project, printing(GO.format(sort=4000)), '"go"')
    project.commit("slower", **{"bench.sh": printing(GO.format(sort=12000))})
    said = perf("check", "--measure", "HEAD~1", "HEAD", "-n", "5", code=3)
    assert "example.org/m.Sort cpus=2 [100] became slower: wall time +200 %" in said.flat


def test_one_benchmark_is_run_alone_where_the_harness_can(project: Project, perf: Perf) -> None:
    job(
        project,
        f'echo "$@" >> "{project.root}/ran"\n{printing(GO.format(sort=4000))}',
        '"go"',
        "sh bench.sh -test.bench .",
    )
    project.commit("other", other="")
    perf("collect")
    perf("check", "--measure", "HEAD~1", "HEAD", "-u", "Join", "-n", "2", code=None)
    ran = (project.root / "ran").read_text().splitlines()
    assert ran[0] == "-test.bench ."
    assert ran[-1] == "-test.bench . -test.bench ^BenchmarkJoin$"
    assert set(stored().resources.names) == {"bench", "example.org/m.Join cpus=2"}
    # a session of one unit hides nothing of the others
    perf("check", "--measure", "HEAD~1", "HEAD", "-n", "2", code=None)
    perf("check", "--measure", "HEAD~1", "HEAD", "-u", "Join", "-n", "2", code=None)
    said = perf("check", "HEAD~1", "HEAD", "-v", code=None).out
    assert "m.Sort" in said
    assert "missing" not in said


def test_a_unit_that_the_harness_does_not_report_is_named(project: Project, perf: Perf) -> None:
    script = f'echo "$@" | grep -q Join && exit 0\n{printing(GO.format(sort=4000))}'
    job(project, script, '"go"', "sh bench.sh")
    project.commit("other", other="")
    perf("collect")
    said = perf("check", "--measure", "HEAD~1", "HEAD", "-u", "Join", "-n", "2", code=5)
    assert "printed nothing" in said.err


@pytest.mark.parametrize(
    "around",
    [
        ("", ""),
        ("[12:00] starting\n", "took 3 s {ok}\n"),
        ('{"level": "info"}\n' * 300, '{"level": "info"}\n'),
        ('{\n "level": "info"\n}\n', "}\n"),
    ],
)
def test_logs_around_a_document_are_left_out(
    project: Project, perf: Perf, around: tuple[str, str]
) -> None:
    rows = [{"name": "BM_Sort/100", "real_time": 7, "cpu_time": 6, "time_unit": "us"}]
    document = json.dumps({"context": {"num_cpus": 2}, "benchmarks": rows}, indent=2)
    job(project, printing(f"{around[0]}{document}\n{around[1]}"), GOOGLE)
    perf("collect")
    assert values(stored(), "BM_Sort", "wall") == [7e-6, 7e-6]


def test_each_line_of_a_document_of_lines_is_read(project: Project, perf: Perf) -> None:
    """Of cargo criterion, and of `go test -json`."""
    complete = {"reason": "benchmark-complete", "iteration_count": [1], "measured_values": [7.0]}
    lines = [json.dumps(complete | {"id": name, "unit": "us"}) for name in ("sort", "join")]
    job(project, printing('\n{"level": "info"}\nlog\n'.join(lines) + "\n"), '"criterion"')
    perf("collect")
    assert values(stored(), "join", "wall") == values(stored(), "sort", "wall") == [7e-6] * 2
    events = [
        {"Time": "2026-12-01T10:00:00Z", "Action": "output", "Package": "m", "Output": said}
        for said in ("BenchmarkSort\n", "BenchmarkSort \t", " 300 \t 4000 ns/op\n")
    ]
    text = "\n".join(map(json.dumps, events)).replace("\\", "\\\\")
    job(project, f"printf '{text}\n'", '"go-test"')
    perf("collect")
    assert values(stored(), "Sort", "wall") == [4e-6] * 2


def test_a_log_in_another_encoding_is_left_out(project: Project, perf: Perf) -> None:
    job(project, f"printf 'caf\\351\\n'\n{printing(GO.format(sort=4000))}", '"go"')
    perf("collect")
    assert values(stored(), "example.org/m.Join cpus=2", "wall") == [5e-7] * 2


def test_two_documents_are_not_taken_for_one(project: Project, perf: Perf) -> None:
    rows = [{"name": "BM_Sort", "real_time": 7, "cpu_time": 6, "time_unit": "us"}]
    document = json.dumps({"context": {"num_cpus": 2}, "benchmarks": rows}, indent=2)
    job(project, printing(f"{document}\n{document.replace('Sort', 'Join')}\n"), GOOGLE)
    said = perf("collect", code=5)
    assert "prints 2 documents of `google-benchmark`: have it print one" in said.err


def test_xml_between_lines_of_a_log_is_read(project: Project, perf: Perf) -> None:
    document = (
        '<?xml version="1.0"?>\n<Catch name="b"><TestCase name="sort">'
        '<BenchmarkResults name="list" samples="5"><mean value="70" lowerBound="1"'
        ' upperBound="2" ci="0"/></BenchmarkResults></TestCase></Catch>'
    )
    job(project, printing(f"<log> starts\n{document}\n<log> ends\n"), '"catch2"')
    perf("collect")
    assert values(stored(), "sort > list", "wall") == [pytest.approx(7e-8)] * 2


def test_a_file_is_read_only_if_the_execution_wrote_it(project: Project, perf: Perf) -> None:
    reads = '{ format = "go", file = "out.txt" }'
    job(project, f"{{ {printing(GO.format(sort=9))[:-1]}\n}} > out.txt", reads)
    perf("collect")
    assert values(stored(), "example.org/m.Sort cpus=2", "wall") == [9e-9] * 4
    project.commit("stale", **{"bench.sh": "true", "out.txt": GO.format(sort=1)})
    said = perf("collect", code=5)
    assert "did not write out.txt" in said.err
    assert "times in a row" not in said.err


def test_a_folder_of_criterion_gives_what_the_execution_wrote(project: Project, perf: Perf) -> None:
    sample = json.dumps({"sampling_mode": "Linear", "iters": [10, 20], "times": [100, 240]})
    script = "\n".join(
        f"mkdir -p target/criterion/{name}/new\n"
        f"echo '{json.dumps({'full_id': name})}' > target/criterion/{name}/new/benchmark.json\n"
        f"echo '{sample}' > target/criterion/{name}/new/sample.json"
        for name in ("sort", "join")
    )
    job(project, f"{script}\n", '{ format = "criterion", file = "target/criterion" }')
    # of an earlier run, whose values these are not
    old = project.root / "target/criterion/old/new"
    old.mkdir(parents=True)
    (old / "benchmark.json").write_text('{"full_id": "old"}')
    (old / "sample.json").write_text(sample)
    perf("collect")
    assert set(stored().resources.names) == {"bench", "sort", "join"}
    assert values(stored(), "sort", "wall") == [1e-8, 1.2e-8] * 2


def test_plain_lines_are_read_by_a_regex(project: Project, perf: Perf) -> None:
    text = "start\nsort: 1204.5 us\njoin: 2 ms\nrate: 5 MB/s\nsort: 1000 us\n"
    regex = r"{ regex = '(?P<name>\w+): (?P<value>[\d.]+) (?P<unit>\S+)' }"
    job(project, printing(text), regex)
    perf("collect")
    profile = stored()
    assert values(profile, "sort", "wall") == [pytest.approx(0.0012045), 0.001] * 2
    assert values(profile, "join", "wall") == [0.002, 0.002]
    assert profile.metrics["rate_B"].better == "higher"


@pytest.mark.parametrize(
    ("script", "reads", "said"),
    [
        (printing(GO.format(sort=1)), '"jmh"', 'it looks like go: write reads = "go"'),
        ("true", '"go"', "it printed nothing: see that it runs benchmarks"),
        (printing("hello\n"), '"go"', "it printed “hello”"),
        (
            printing("hello\n"),
            r"{ regex = '(?P<name>a)(?P<value>\d)' }",
            "it printed “hello”: see that it runs benchmarks, and prints what the regex finds",
        ),
        (printing(2 * "pkg: m\nBenchmarkSort 300 4000 ns/op\n"), '"go"', "two programs of"),
        (
            f"{{ {printing(GO.format(sort=1))[:-1]}\n}} > out.txt",
            '{ format = "jmh", file = "out.txt" }',
            'looks like go: write reads = { format = "go", file = "out.txt" }',
        ),
        (
            printing('{"context": {}, "benchmarks": [{"name": "", "real_time": 7}]}\n'),
            GOOGLE,
            "has no name: give it one",
        ),
        (printing("main 12\n"), '"folded"', "holds stacks, not results of benchmarks"),
        (
            printing(
                GO.format(sort=1)
                .replace("example.org/m\n", "m\n")
                .replace("BenchmarkJoin-2", "BenchmarkJoin")
            ),
            '"go"',
            "is the name of the job and of a benchmark in it",
        ),
    ],
)
def test_what_cannot_be_read_is_said_at_the_first_execution(
    project: Project, perf: Perf, script: str, reads: str, said: str
) -> None:
    script = f'echo >> "{project.root}/ran"\n{script}'
    name = '"m.Join"' if "name of the job" in said else '"bench"'
    job(project, script, reads)
    text = (project.root / "perf.toml").read_text()
    project.commit("named", **{"perf.toml": text.replace('"bench"', name)})
    assert said in " ".join(perf("collect", code=5).err.split())
    assert (project.root / "ran").read_text().count("\n") == 1


def test_a_harness_that_fails_half_way_says_why(project: Project, perf: Perf) -> None:
    script = "echo 'BenchmarkSort 300 4000 ns/op'\nprintf -- '--- FAIL: \\033[31mBenchmarkJoin\\033[0m\\tm'"
    job(project, f"{script}\nexit 1", '"go"', retries="0")
    said = perf("collect", code=5)
    assert "exited with status 1: BenchmarkSort" in said.err
    assert "--- FAIL: BenchmarkJoin m\n" in said.err


def test_a_format_that_is_written_on_demand_names_its_page(project: Project, perf: Perf) -> None:
    job(project, printing("sort    4.0 us/iter\n"), '"mitata"', retries="0")
    assert "have it print `mitata` as docs/exchange/mitata.md says" in perf("collect", code=5).err
    job(project, "true > out.json", '{ format = "benchmark_dotnet", file = "out.json" }')
    said = " ".join(perf("collect", code=5).err.split())
    assert "(it was cut off): have /usr/bin/sh bench.sh write `benchmark-dotnet`" in said


def test_one_name_in_two_packages_is_two_units(project: Project, perf: Perf) -> None:
    lines = "pkg: m/{0}\nBenchmarkSort 300 {1} ns/op\nPASS\nok  m/{0} 1.2s\n"
    job(project, printing(lines.format("a", 4000) + lines.format("b", 9000)), '"go"')
    perf("collect")
    assert values(stored(), "m/a.Sort", "wall") == [4e-6] * 2
    assert values(stored(), "m/b.Sort", "wall") == [9e-6] * 2


@pytest.mark.needs("make")
def test_a_program_that_another_revision_left_in_the_tree_is_not_measured(
    project: Project, perf: Perf
) -> None:
    """Make takes it for newer than its source, and git ignores it."""
    line = "echo 'BenchmarkSort 300 {} ns/op'\n"
    job(project, line.format(4000), '"go"', "sh program")
    text = f'build = ["make program"]\n{(project.root / "perf.toml").read_text()}'
    makefile = "program: bench.sh\n\tcp bench.sh program\n"
    files = {"perf.toml": text, "Makefile": makefile, ".gitignore": "program\n"}
    project.commit("built", **files)
    project.write("program", line.format(1))
    os.utime(project.root / "program", (2e9, 2e9))
    project.commit("slower", **{"bench.sh": line.format(9000)})
    perf("collect")
    assert values(stored(), "Sort", "wall") == [9e-6] * 2


def test_benchmarks_that_ended_with_an_error_are_named(project: Project, perf: Perf) -> None:
    rows = [
        {"name": "BM_A", "real_time": 7, "cpu_time": 6, "time_unit": "us"},
        {"name": "BM_B", "error_occurred": True, "error_message": "no input"},
    ]
    document = json.dumps({"context": {"num_cpus": 2}, "benchmarks": rows})
    job(project, printing(f"{document}\n"), GOOGLE)
    assert "BM_B ended with an error: no input" in perf("collect").flat


def test_an_expression_that_would_take_years_is_ended(
    project: Project, perf: Perf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "SEARCH_SECONDS", 0.5)
    text = "a" * 60 + "\n"
    job(project, printing(text), "{ regex = '(?P<name>(a+)+)(?P<value>b)' }", retries="0")
    assert "takes over" in perf("collect", code=5).err


def test_fifty_megabytes_are_read_and_more_than_the_bound_stops_the_program(
    project: Project, perf: Perf, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = "BenchmarkSort 300 4000 ns/op\n"
    script = f"yes '{'x' * 99}' | head -c 50000000\necho; {printing(line)}"
    job(project, script, '"go"')
    perf("collect", "-n", "1")
    assert values(stored(), "Sort", "wall") == [4e-6]
    monkeypatch.setattr(harnessoutput, "MOST_PRINTED", 1 << 20)
    project.commit("endless", **{"bench.sh": "yes"})
    assert "was stopped after printing over 1 MiB" in perf("collect", "-n", "1", code=5).err


@pytest.mark.parametrize(
    ("reads", "said"),
    [
        ('"gooo"', "there is no format `gooo`"),
        ('"openmetrics"', "can only be written"),
        ('{ file = "a" }', "name a format"),
        ('{ format = "go", regex = "x" }', "name a format"),
        ('{ format = "go", file = "../a" }', "must be in the checkout"),
        ('{ format = "go", fil = "a" }', "there is no key `fil`; did you mean `file`?"),
        ("{ regex = '(' }", "is not a regular expression"),
        ("{ regex = '(?P<name>a)' }", "no group for the value"),
        ("3", "expected a string or a table"),
    ],
)
def test_a_wrong_key_is_said_with_the_cure(
    project: Project, perf: Perf, reads: str, said: str
) -> None:
    job(project, "true", reads)
    printed = " ".join(perf("collect", code=2).err.split())
    assert said in printed
    assert "reads" in printed


@pytest.mark.parametrize(
    ("reads", "argv", "unit", "added"),
    [
        ("go", "go test", "m.Sort cpus=2", "-bench ^BenchmarkSort$"),
        ("go", "/x/a.test", "Sort", "-test.bench ^BenchmarkSort$"),
        (
            "go",
            "go test",
            "a.b/m.Sort(kind=a.b)",
            r"-bench ^BenchmarkSort$/^(kind=a\.b|(.*=)?[-+.0-9eE]+)$",
        ),
        ("google-benchmark", "x", "BM<int>(a) [b]", "--benchmark_filter=^BM<int>([(/ ].*)?$"),
        ("google_benchmark", "x", "F.a", r"--benchmark_filter=^F\.a([(/ ].*)?$"),
        ("catch2", "x", "sort, all > list", r"sort\, all"),
        ("criterion", "cargo bench", "a/b+", r"-- ^a/b\+(/.*)?$"),
        ("libtest", "cargo bench -- -q", "tests::sort", "tests::sort"),
        ("jmh", "java", "org.A.b(n=1) [thrpt]", r"^org\.A\.b$"),
        ("pytest-benchmark", "pytest", "t/a.py::test_b[x]", "-k test_b"),
        ("vitest", "npx vitest", "a.js > b > c(1)", r"-t c\(1\)"),
        ("benchmark-dotnet", "dotnet", "A.B.C(n: 1)", "--filter *A.B.C*"),
        ("hyperfine", "hyperfine", "sort", ""),
        ("mitata", "node", "sort", ""),
    ],
)
def test_each_harness_has_its_own_filter(reads: str, argv: str, unit: str, added: str) -> None:
    words = argv.split()
    assert chosen(words, Reads(reads), unit) == [*words, *added.split(" " if added else None)] or (
        " ".join(chosen(words, Reads(reads), unit)) == f"{argv} {added}"
    )
    assert can_choose(Reads(reads)) == bool(added)


def test_words_of_a_shell_are_left_as_they_are() -> None:
    words = ["/bin/sh", "-c", "go test -bench . | tee log"]
    assert chosen(words, Reads("go"), "Sort") == words
    assert chosen(["go"], Reads("go"), "") == ["go"]


def test_options_for_counting_replace_those_of_the_command() -> None:
    """JMH, as Catch2, refuses an option that is given twice."""
    words = ["java", "-jar", "b.jar", "-f", "3", "-wi", "3", "-i=5", "-w", "200ms"]
    once = ["-f", "1", "-bm", "ss", "-wi", "0", "-i", "1"]
    assert chosen(words, Reads("jmh"), "org.A.b", once=True) == [
        *("java", "-jar", "b.jar", "-w", "200ms", r"^org\.A\.b$"),
        *once,
    ]


def test_every_harness_is_a_format() -> None:
    for name in HARNESSES:
        assert checked(name) == Reads(name)
    with pytest.raises(UsageError):
        checked(Reads())


def test_benchmarks_of_go_are_measured_one_by_one(project: Project, perf: Perf) -> None:
    need("go")
    project.write("go.mod", "module example.org/m\n\ngo 1.19\n")
    project.write(
        "m_test.go",
        """\
package m

import "testing"

func spin(n int) (sum int) {
	for ; n > 0; n-- {
		sum += n % 7
	}
	return
}

func BenchmarkFast(b *testing.B) {
	for n := 0; n < b.N; n++ {
		spin(10)
	}
}

func BenchmarkKinds(b *testing.B) {
	for _, kind := range []string{"a.b", "c"} {
		b.Run("kind="+kind, func(b *testing.B) {
			for n := 0; n < b.N; n++ {
				spin(100)
			}
		})
	}
}
""",
    )
    project.write(
        "perf.toml",
        'build = ["go test -c -o bench.test ."]\n[[job]]\nname = "bench"\nreads = "go"\n'
        'cmd = "./bench.test -test.run ^$ -test.bench . -test.benchtime 1ms -test.cpu 1"\n',
    )
    project.commit("measured")
    perf("collect", "-n", "2", "--warmup", "0", "--committed")
    units = {"example.org/m.Fast", "example.org/m.Kinds(kind=a.b)", "example.org/m.Kinds(kind=c)"}
    assert set(stored().resources.names) == {"bench", *units}
    project.commit("other", other="")
    perf("check", "--measure", "HEAD~1", "HEAD", "-u", "Kinds(kind=a.b)", "-n", "2")
    assert set(stored().resources.names) == {"bench", "example.org/m.Kinds(kind=a.b)"}


def test_counters_read_what_a_harness_reports(project: Project, perf: Perf) -> None:
    script = f"sleep 0.2\n{printing(GO.format(sort=4000))}"
    job(project, script, '"go"', collectors='[{ name = "counters", interval = 0.02 }]')
    perf("collect")
    profile = stored()
    assert values(profile, "example.org/m.Join cpus=2", "wall") == [5e-7, 5e-7]
    assert all(values(profile, "bench", "wall")[:1])


def test_a_collector_that_reads_nothing_is_refused(project: Project, perf: Perf) -> None:
    job(project, "true", '"go"', collectors='["memory"]')
    assert "`reads` goes with the collectors counters and time" in perf("collect", code=2).err


def test_a_folder_is_no_file_of_results(project: Project, perf: Perf) -> None:
    job(project, "mkdir -p out.txt", '{ format = "go", file = "out.txt" }')
    assert "did not write out.txt" in perf("collect", code=5).err


def test_a_program_of_the_working_tree_that_every_revision_runs_is_named(
    project: Project, perf: Perf
) -> None:
    program = project.write(
        "bench.test", f"#!/bin/sh\n{printing(GO.format(sort=1))}", executable=True
    )
    job(project, "", '"go"', str(program))
    project.commit("other", other="")
    said = perf("collect", "HEAD~1", "HEAD")
    words = " ".join((said.out + said.err).split())
    assert "every revision runs the same" in words
    assert "a file of the working tree" in words
