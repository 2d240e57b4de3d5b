"""The instructions collector: exact, the same each time, whatever the program does, and clear where
it cannot count.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from conftest import need
from waiting import happens

from perfvcs import plugins
from perfvcs.collectors.instructions import Instructions, countfiles, hardware, valgrind
from perfvcs.collectors.instructions.countfiles import CountedProgram
from perfvcs.environment import PADDING, clean
from perfvcs.errors import UsageError
from perfvcs.native.compiled import NotCompiled
from perfvcs.plugins.collector import CollectError, Observations, Run
from perfvcs.repository import Repository

WORK = """
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <string.h>
#include <signal.h>
#include <pthread.h>
#include <sys/wait.h>
#include <fcntl.h>
__attribute__((noinline)) long work(long n) { volatile long s = 0; for (long i = 0; i < n; i++) s += i; return s; }
static volatile int caught;
static void catch(int number) { (void)number; caught++; }
static void *thread(void *n) { work((long)n); return 0; }
int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    work(100000);
    if (!strcmp(what, "fork")) {
        if (!fork()) { work(50000); return 0; }
        wait(0);
    } else if (!strcmp(what, "kill")) {
        int ready[2];
        char byte;
        if (pipe(ready)) return 1;
        pid_t child = fork();
        if (!child) {
            dup2(ready[1], 1);
            close(ready[1]);
            char *a[] = {argv[0], "say", 0};
            execv(argv[0], a);
        }
        close(ready[1]);
        if (read(ready[0], &byte, 1) != 1) return 1;
        kill(child, SIGKILL);
        wait(0);
    } else if (!strcmp(what, "say")) {
        if (write(1, "x", 1) != 1) return 1;
        pause();
    } else if (!strcmp(what, "close")) {
        for (int i = 0; i < 1024; i++) close(i);
    } else if (!strcmp(what, "clear")) {
        clearenv();
        if (chdir("/")) return 1;
        if (!fork()) { char *a[] = {argv[2], 0}, *e[] = {0}; execve(a[0], a, e); _exit(9); }
        int status; wait(&status); return status != 0;
    } else if (!strcmp(what, "daemon")) {
        if (daemon(0, 0)) return 1;
        sleep(971);
    } else if (!strcmp(what, "write")) {
        static char block[1 << 16];
        for (int i = 0; i < 20000; i++) if (fwrite(block, 1, sizeof block, stdout) != sizeof block) return 1;
    } else if (!strcmp(what, "trap")) {
        for (int i = 1; i < 32; i++) signal(i, catch);
        raise(SIGTERM); raise(SIGSEGV); raise(SIGINT);
        return caught == 3 ? 0 : 1;
    } else if (!strcmp(what, "_exit")) {
        _exit(0);
    } else if (!strcmp(what, "newest")) {
#ifdef __x86_64__
        __asm__ volatile(".byte 0x62, 0xf1, 0x7d, 0x48, 0xfe, 0xc0"); /* AVX-512 */
#else
        raise(SIGILL);
#endif
    } else if (!strcmp(what, "abort")) {
        abort();
    } else if (!strcmp(what, "threads")) {
        pthread_t t[4];
        for (int i = 0; i < 4; i++) pthread_create(t + i, 0, thread, (void *)20000);
        for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
    } else if (!strcmp(what, "random")) {
        unsigned char byte = 0;
        int file = open("/dev/urandom", O_RDONLY);
        if (read(file, &byte, 1) != 1) return 1;
        work(byte * 1000);
    } else if (!strcmp(what, "hang")) {
        if (!fork()) sleep(972);
        sleep(972);
    } else if (!strcmp(what, "environment")) {
        const char *seed = getenv("PYTHONHASHSEED"), *padding = getenv("PERFVCS_PADDING");
        return !(seed && !strcmp(seed, "0") && padding && strcmp(padding, "random") && !getenv("VALGRIND_OPTS"));
    }
    return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need("gcc", "valgrind")
    folder = tmp_path_factory.mktemp("programs")
    (folder / "work.c").write_text(WORK)
    for name, flags in (("work", ()), ("static", ("-static",))):
        subprocess.run(
            ["gcc", "-g", "-O1", "-w", *flags, "work.c", "-pthread", "-o", name],
            cwd=folder,
            check=True,
        )
    return folder / "work"


Collect = Callable[..., Observations]


@pytest.fixture
def collect(tmp_path: Path) -> Collect:
    """Execute once: ``collect(program, "fork", tool="cachegrind", timeout=1.0)``."""
    count = iter(range(100))

    def collected(
        *argv: object,
        timeout: float = 300.0,
        env: dict[str, str] | None = None,
        cpus: tuple[int, ...] = (),
        **options: object,
    ) -> Observations:
        scratch = tmp_path / f"scratch {next(count)} %p"
        scratch.mkdir()
        cwd = tmp_path / "cwd"
        cwd.mkdir(exist_ok=True)
        run = Run(
            tuple(map(str, argv)),
            cwd,
            {**clean(os.environ), **(env or {})},
            scratch,
            "whole",
            timeout=timeout,
            size=7.0,
            cpus=cpus,
        )
        try:
            return plugins.build(
                "collectors", "instructions", {"repeat": 0} | options, "here"
            ).collect(run)  # type: ignore[no-any-return]
        finally:
            assert not list(cwd.iterdir())

    return collected


def total(found: Observations) -> float:
    assert found.uid[0] == "whole" and found.values["instructions"][0] is not None
    return found.values["instructions"][0]


def rows(found: Observations, metric: str) -> dict[str, float]:
    pairs = zip(found.uid, found.values[metric], found.trace, strict=True)
    return {uid: value for uid, value, trace in pairs if value is not None and trace < 0}


pytestmark = [pytest.mark.needs("valgrind"), pytest.mark.needs("gcc")]


def test_a_function_is_counted_by_itself_and_with_what_it_calls(program, collect):
    found = collect(program)
    exclusive, inclusive, calls = (
        rows(found, name) for name in ("exclusive", "inclusive", "calls")
    )
    assert 400_000 < exclusive["work"] == inclusive["work"] < total(found)
    # gcc makes five instructions of each comparison with a word, and some thirty of the rest
    comparisons = 5 * WORK.count("strcmp(what")
    assert comparisons < exclusive["main"] < comparisons + 50
    assert inclusive["main"] == pytest.approx(inclusive["work"], abs=2000)
    assert calls["work"] == calls["main"] == 1
    assert set(found.size) == {7.0}


def test_the_paths_have_all_instructions_root_first(program, collect):
    found = collect(program, least=0.01)
    paths = {
        tuple(found.stacks.frames[frame] for frame in found.stacks.stacks[trace]): (uid, value)
        for uid, value, trace in zip(found.uid, found.values["self"], found.trace, strict=True)
        if trace >= 0
    }
    assert sum(value for _, value in paths.values()) == pytest.approx(total(found), abs=len(paths))
    (longest,) = [path for path in paths if path[-1] == "work (work)"]
    assert "main (work)" in longest and paths[longest] == ("work", rows(found, "exclusive")["work"])
    assert (
        paths[("[rest]",)] if ("[rest]",) in paths else any(path[-1] == "[rest]" for path in paths)
    )
    assert not any(
        value for uid, value in rows(found, "inclusive").items() if value < 0.01 * total(found)
    )


INSIDE = """
static inline __attribute__((always_inline)) long inner(long n) { volatile long s = 0; for (long i = 0; i < n; i++) s += i; return s; }
static inline __attribute__((always_inline)) long middle(long n) { return inner(n) + 1; }
__attribute__((noinline)) long outer(long n) { return middle(n); }
int main(void) { return outer(50000) < 0; }
"""


def test_functions_that_the_compiler_put_into_others_are_counted_apart_on_request(
    collect, tmp_path
):
    need("gcc", "valgrind", "addr2line")
    (tmp_path / "inside.c").write_text(INSIDE)
    subprocess.run(["gcc", "-g", "-O2", "inside.c", "-o", "inside"], cwd=tmp_path, check=True)
    plain, apart = (
        collect(tmp_path / "inside", repeat=0, inlined=inlined) for inlined in (False, True)
    )
    assert total(plain) == total(apart)
    assert "inner" not in plain.uid and rows(plain, "exclusive")["outer"] > 100_000
    assert rows(apart, "exclusive")["inner"] > 100_000 and rows(apart, "exclusive")["outer"] < 100
    assert "inner" not in rows(apart, "calls") and rows(apart, "calls")["outer"] == 1
    heaviest = max(
        zip(apart.values["self"], apart.trace, strict=True), key=lambda row: row[0] or 0
    )[1]
    frames = [apart.stacks.frames[frame] for frame in apart.stacks.stacks[heaviest]]
    assert [frame.partition(" (")[0] for frame in frames[-3:]] == [
        "outer",
        "middle [inlined]",
        "inner [inlined]",
    ]


def test_it_counts_the_same_each_time_and_says_so(program, collect):
    first, second = (
        collect(program, repeat=3),
        collect(program, env={PADDING: "x" * 4000, "VALGRIND_OPTS": "--tool=none"}),
    )
    assert total(first) == total(second)
    assert first.values["repeatability"][0] == 0 and second.values["repeatability"][0] is None
    assert not first.warnings


STACK = """
#include <string.h>
int main(void)
{
    char text[512];
    size_t all = 0;
    for (int n = 0; n < 20000; n++) {
        memset(text, 'x', n % 500);
        text[n % 500] = 0;
        __asm__ volatile("" ::: "memory");
        all += strlen(text);
    }
    return all == 0;
}
"""


def test_the_length_of_the_environment_does_not_count(collect, tmp_path):
    (tmp_path / "stack.c").write_text(STACK)
    subprocess.run(
        ["gcc", "-O1", "-fno-builtin", "-o", tmp_path / "stack", tmp_path / "stack.c"], check=True
    )
    found = [
        total(collect(tmp_path / "stack", env={"PLACE": "/" * length}))
        for length in (1, 17, 33, 49)
    ]
    assert len(set(found)) == 1


@pytest.mark.parametrize("length", [0, 1, 16, 4090, 5000])
def test_the_environment_fills_whole_pages(length):
    assert (
        valgrind.size(valgrind.environment({"PLACE": "ä" * length, PADDING: "x" * 100}))
        % valgrind.PAGE_BYTES
        == 0
    )


def test_a_first_run_that_fills_a_cache_does_not_count(collect, tmp_path):
    cache = tmp_path / "cache"
    script = (
        f"[ -e {cache} ] || {{ i=0; while [ $i -lt 300 ]; do i=$((i+1)); done; echo >{cache}; }}"
    )
    first = collect("/bin/sh", "-c", script)
    cache.unlink()
    found = collect("/bin/sh", "-c", script, repeat=2)
    assert found.values["repeatability"][0] == 0 and not found.warnings
    assert total(first) > 1.05 * total(found) == 1.05 * total(collect("/bin/sh", "-c", script))


@pytest.mark.parametrize("seed", ["0", "random"])
def test_a_python_program_hashes_the_same_each_time_unless_set_otherwise(collect, seed):
    script = "import sys; print(hash('perf'), file=sys.stderr); {str(n) for n in range(3000)}"
    counts = {
        total(collect(sys.executable, "-S", "-B", "-c", script, env={"PYTHONHASHSEED": seed}))
        for _ in "ab"
    }
    assert (len(counts) == 1) == (seed == "0")


@pytest.mark.needs("perl")
@pytest.mark.parametrize("starter", [(), ("/bin/sh", "-c", "$0 && true")])
@pytest.mark.parametrize("first", ["{perl}", "{perl} -w", "/usr/bin/env perl"])
def test_a_script_of_perl_starts_perl_and_not_itself_again(collect, tmp_path, first, starter):
    """As prove does for each test; the script that is given words would end with 3."""
    script = tmp_path / "again"
    script.write_text(
        f"#!{first.format(perl=shutil.which('perl'))}\n"
        "exit 3 if @ARGV;\nexit(system($^X, '-e', 'exit 0') >> 8);\n"
    )
    script.chmod(0o755)
    assert total(collect(*starter, script, env={"PERL5OPT": "-w"})) > 1_000_000


def test_a_program_with_random_work_is_reported(program, collect):
    found = collect(program, "random", repeat=2)
    for _ in range(3):
        if found.warnings:
            break
        found = collect(program, "random", repeat=2)
    assert found.values["repeatability"][0] > 0.0002
    assert (
        "two runs in a row differ by" in found.warnings[0] and "fix its seeds" in found.warnings[0]
    )


@pytest.mark.parametrize("what", ["close", "write", "trap", "_exit", "environment"])
def test_whatever_a_program_does_it_is_counted(program, collect, what):
    found = collect(program, what, env={PADDING: "random", "VALGRIND_OPTS": "--tool=none"})
    assert rows(found, "exclusive")["work"] > 400_000 and not found.warnings


def test_a_child_counts_from_its_fork_on(program, collect):
    alone, forked = (rows(collect(program, what), "exclusive")["work"] for what in ("", "fork"))
    assert forked == pytest.approx(1.5 * alone, rel=1e-4)


def test_a_child_counts_from_its_fork_on_wherever_the_cache_is(
    program, collect, tmp_path, monkeypatch
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "with a space"))
    valgrind._switch.cache_clear()
    try:
        alone, forked = (rows(collect(program, what), "exclusive")["work"] for what in ("", "fork"))
    finally:
        valgrind._switch.cache_clear()
    assert forked == pytest.approx(1.5 * alone, rel=1e-4)


def test_a_child_that_is_killed_is_reported_and_its_parent_is_counted(program, collect):
    found = collect(program, "kill")
    assert rows(found, "exclusive")["work"] == rows(collect(program), "exclusive")["work"]
    assert found.warnings == [
        f"1 of the processes of {program} kill was killed, and counted nothing: let them end by"
        " themselves"
    ]


def test_a_child_with_another_program_and_an_empty_environment_is_counted(program, collect):
    found = collect(program, "clear", program)
    assert rows(found, "exclusive")["work"] == pytest.approx(
        2 * rows(collect(program), "exclusive")["work"], rel=1e-4
    )
    assert rows(found, "calls")["work"] == 2 and not found.warnings


def test_threads_are_counted(program, collect):
    found = collect(program, "threads")
    assert rows(found, "exclusive")["work"] == pytest.approx(
        1.8 * rows(collect(program), "exclusive")["work"], rel=1e-3
    )


def test_a_daemon_is_stopped_and_reported(program, collect):
    found = collect(program, "daemon")
    assert ["left 1 process running" in warning for warning in found.warnings] == [True]


def test_a_static_program_is_counted_and_its_fork_is_reported(program, collect):
    static = program.with_name("static")
    assert rows(collect(static), "exclusive")["work"] == rows(collect(program), "exclusive")["work"]
    found = collect(static, "fork")
    assert any("may be counted in both" in warning for warning in found.warnings)


def test_without_a_compiler_a_fork_is_reported(program, collect, monkeypatch):
    def missing(*_: object, **__: object) -> Path:
        raise NotCompiled("there is no C compiler: apt install gcc libc6-dev")

    monkeypatch.setattr(valgrind, "compiled", missing)
    valgrind._switch.cache_clear()
    try:
        assert not collect(program).warnings
        found = collect(program, "fork")
    finally:
        valgrind._switch.cache_clear()
    assert any("may be counted in both" in warning for warning in found.warnings)


def test_cachegrind_knows_functions_but_no_calls(program, collect):
    found = collect(program, tool="cachegrind", functions=["work"])
    full = collect(program)
    assert (
        found.metrics.keys() == {"instructions", "repeatability", "exclusive"}
        and found.stacks is None
    )
    assert (
        rows(found, "exclusive")["work"]
        == rows(found, "instructions")["work"]
        == rows(full, "exclusive")["work"]
    )
    assert found.engine.startswith("cachegrind-") and full.engine.startswith("callgrind-")
    with pytest.raises(CollectError, match="SIGABRT") as caught:
        collect(program, "abort", tool="cachegrind")
    assert "cache found" not in str(caught.value)
    assert any(
        "may be counted in both" in warning
        for warning in collect(program, "fork", tool="cachegrind").warnings
    )


def test_a_signal_is_reported(program, collect):
    with pytest.raises(CollectError, match=r"work abort was killed by SIGABRT"):
        collect(program, "abort")


def test_an_instruction_that_valgrind_does_not_know_is_reported_with_its_cure(program, collect):
    with pytest.raises(CollectError, match=r"SIGILL.*without -march=native") as caught:
        collect(program, "newest")
    assert "\n" not in str(caught.value) and "valgrind said" in str(caught.value)


def test_a_program_that_hangs_is_stopped_with_its_children(program, collect):
    with pytest.raises(CollectError, match=r"time-out of 1 s"):
        collect(program, "hang", timeout=1.0)

    def running() -> list[int]:
        words = {str(program), "hang"}
        return [
            process.pid
            for process in psutil.process_iter(["cmdline"])
            if words <= {*(process.info["cmdline"] or ())}
        ]

    assert happens(lambda: not running()), running()


def test_a_program_that_cannot_start_is_reported_as_the_system_does(collect, tmp_path):
    text, script, folder = tmp_path / "text", tmp_path / "script", tmp_path / "folder"
    text.write_text("no program\n")
    script.write_text("#!/no/such/interpreter\n")
    folder.mkdir()
    with pytest.raises(CollectError, match="chmod"):
        collect(text)
    for path in (text, script):
        path.chmod(0o755)
    for path, says in (
        (text, "neither a program"),
        (script, "/no/such/interpreter"),
        (folder, "is a folder"),
        ("work", "there is no file work"),
    ):
        with pytest.raises(CollectError, match=says):
            collect(path)


def test_a_processor_that_is_not_there_is_named(collect):
    with pytest.raises(CollectError, match="processors 9999"):
        collect("/bin/true", cpus=(9999,))


def test_a_program_that_becomes_another_user_is_refused_with_its_cure(program, collect, tmp_path):
    copy = tmp_path / "copy"
    shutil.copy(program, copy)
    copy.chmod(0o4755)
    with pytest.raises(CollectError, match=r"setuid.*chmod ug-s"):
        collect(copy)


def test_a_file_that_the_program_put_among_the_counts_is_refused(collect, tmp_path):
    script = (
        "import glob, os\nfor path in glob.glob('{}/scratch*/instructions-0'): open(path +"
        " '/counts.1', 'w').write('x')"
    )
    with pytest.raises(CollectError, match=r"counts\.1 counts no instructions"):
        collect(sys.executable, "-S", "-c", script.format(tmp_path))
    with pytest.raises(CollectError, match="counted nothing"):
        countfiles.read(tmp_path / "cwd", CountedProgram(("/x",)))


def test_many_processes_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(countfiles, "MAX_FILES", 2)
    for number in range(3):
        (tmp_path / f"counts.{number}").write_text("x")
    with pytest.raises(CollectError, match="over 2 processes"):
        countfiles.read(tmp_path, CountedProgram(("/x",)))


# what decides whether it can run


@pytest.fixture
def fresh() -> Iterator[None]:
    """Nothing remembered of the machine, before and after."""
    remembered = (valgrind.version, hardware.unavailable, valgrind.addresses_can_be_fixed)
    for one in remembered:
        one.cache_clear()
    yield
    for one in remembered:
        one.cache_clear()


def fake(folder: Path, name: str, script: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


COUNTING = """
while [ "$1" != -- ]; do [ "$1" = -o ] && out=$2; shift; done; shift
"$@"; code=$?
printf '# started\\n\\n%s,,instructions:u,1000,100.00,,\\n' "$COUNTED" >"$out"
exit $code
"""


@pytest.mark.usefixtures("fresh")
def test_without_valgrind_the_cure_is_a_package(tmp_path, monkeypatch, collect):
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    reason = Instructions().available()
    assert (
        "apt install valgrind" in reason
        and "apt install linux-perf" in reason
        and "\n" not in reason
    )
    assert Instructions(tool="callgrind").available() == valgrind.MISSING
    assert "apt install linux-perf" in Instructions(tool="perf").available()
    assert Instructions().engine == "callgrind/1"
    for tool in ("callgrind", "perf"):
        with pytest.raises(CollectError, match="apt install"):
            collect("/bin/true", tool=tool)


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize("script", ["exit 1", "echo no version"])
def test_a_valgrind_that_does_not_work_is_named(tmp_path, monkeypatch, script):
    fake(tmp_path / "bin", "valgrind", script)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert "valgrind does not start: reinstall" in Instructions(tool="cachegrind").available()


@pytest.mark.usefixtures("fresh")
def test_where_there_is_no_valgrind_the_processor_counts(tmp_path, monkeypatch, collect):
    fake(tmp_path / "bin", "perf", "COUNTED=${COUNTED:-12345}" + COUNTING)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert Instructions().available() is None and Instructions().engine == "perf/1"
    assert Instructions(functions=("f",)).engine == "callgrind/1"
    found = collect("/bin/sh", "-c", 'test "$PYTHONHASHSEED" = 0', repeat=1)
    assert (
        total(found) == 12345 and found.values["repeatability"] == [0.0] and found.uid == ["whole"]
    )
    assert found.metrics.keys() == {"instructions", "repeatability"} and found.engine == "perf/1"
    with pytest.raises(CollectError, match="exited with status 3"):
        collect("/bin/sh", "-c", "exit 3")
    with pytest.raises(CollectError, match="exited with status 139"):
        collect("/bin/sh", "-c", "kill -SEGV $$")
    with pytest.raises(CollectError, match="no file /no/such"):
        collect("/no/such", tool="perf")
    with pytest.raises(CollectError, match="processors 9999"):
        collect("/bin/true", cpus=(9999,))
    with pytest.raises(CollectError, match="counted no instructions"):
        collect("/bin/true", env={"COUNTED": "<not counted>"})


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("COUNTED='<not supported>'" + COUNTING, "does not count instructions"),
        ("exit 255", "perf_event_paranoid"),
    ],
)
def test_where_the_processor_cannot_count_the_reason_is_reported(
    tmp_path, monkeypatch, script, says
):
    fake(tmp_path / "bin", "perf", script)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert says in Instructions(tool="perf").available()


@pytest.mark.usefixtures("fresh")
def test_a_linux_perf_that_does_not_start_is_named(tmp_path, monkeypatch):
    fake(tmp_path / "bin", "perf", "exit 255")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(hardware, "PARANOID", tmp_path / "none")
    assert "this kernel has no perf events" in Instructions(tool="perf").available()
    hardware.unavailable.cache_clear()
    (tmp_path / "bin" / "perf").write_text("#!/no/such/interpreter\n")
    assert "perf does not start" in Instructions(tool="perf").available()


@pytest.mark.usefixtures("fresh")
def test_on_this_machine_both_ways_are_known():
    assert Instructions().available() is None
    reason = Instructions(tool="perf").available()
    assert reason is None or ": " in reason


def test_a_shell_variable_that_preloads_stays():
    found = valgrind.environment(
        {"LD_PRELOAD": "/a.so", "PYTHONHASHSEED": "5", PADDING: "x"}, Path("/zero.so")
    )
    assert found["LD_PRELOAD"] == "/zero.so:/a.so" and found["PYTHONHASHSEED"] == "5"
    assert "LD_PRELOAD" not in valgrind.environment({})


def test_threads_of_go_are_not_interrupted_by_signals_that_stop_callgrind():
    assert valgrind.environment({})["GODEBUG"] == "asyncpreemptoff=1"
    given = valgrind.environment({"GODEBUG": "gctrace=1"})
    assert given["GODEBUG"] == "gctrace=1,asyncpreemptoff=1"


@pytest.mark.needs("go", "valgrind")
def test_a_program_of_go_whose_goroutines_are_interrupted_is_counted(collect, tmp_path):
    source = tmp_path / "busy.go"
    source.write_text(
        "package main\n\nfunc count(n int) int {\n\tsum := 0\n\tfor i := 0; i < n; i++ {\n"
        "\t\tsum += i ^ sum\n\t}\n\treturn sum\n}\n\n"
        "func main() {\n\tdone := make(chan int)\n\tfor k := 0; k < 4; k++ {\n"
        "\t\tgo func() { done <- count(40000000) }()\n\t}\n"
        "\tfor k := 0; k < 4; k++ {\n\t\t<-done\n\t}\n}\n"
    )
    subprocess.run(["go", "build", "-o", "busy", source.name], cwd=tmp_path, check=True)
    total = collect(tmp_path / "busy").values["instructions"][0]
    assert total > 4 * 40_000_000


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"repeat": -1}, "repeat is -1"),
        ({"repeat": 101}, "from 0 to 100"),
        ({"least": 0}, "least is 0"),
        ({"least": float("nan")}, "least is nan"),
        ({"functions": [""]}, "functions is not a list of names"),
        ({"functions": ["f"], "tool": "perf"}, "perf counts no functions"),
        ({"tool": "lackey"}, "lackey"),
        ({"inlined": True, "tool": "perf"}, "only callgrind tells inlined functions apart"),
    ],
)
def test_options_that_make_no_sense_are_named(options, says):
    with pytest.raises(UsageError, match=says):
        plugins.build("collectors", "instructions", options, "here")


# the whole way


SORT = """
__attribute__((noinline)) long sort(long n) { volatile long s = 0; for (long i = 0; i < n; i++) s += i; return s; }
__attribute__((noinline)) long rest(long n) { volatile long s = 0; for (long i = 0; i < n; i++) s -= i; return s; }
int main(void) { return (sort(%d) + rest(100000)) == 1; }
"""
CONFIG = """
build = ["gcc -g -O1 sort.c -o sort"]

[[job]]
name = "sort"
cmd = "./sort"
executions = 1
warmup = 0
collectors = [{ name = "instructions", functions = ["%s"] }, "time"]
"""


@pytest.fixture
def sorting(project):
    project.write(".gitignore", "sort\n")
    project.write("perf.toml", CONFIG % "so?t")
    return project


def test_two_percent_more_work_is_a_degradation_and_none_is_the_same(sorting, perf):
    for count in (100_000, 100_000, 104_000):
        sorting.commit(f"{count}", **{"sort.c": SORT % count})
    perf("collect", "HEAD~2", "HEAD~1", "HEAD")
    said = perf("check", "HEAD~2", "HEAD~1", "--verbose").out
    assert "degradation" not in said and said.count("  same           instructions") == 2
    said = perf("check", "HEAD~1", "HEAD", code=3).out
    assert said.count("\n  degradation    sort") == 2
    assert "\n  degradation    sort: sort (sort)  instructions +4.0 %, " in said
    assert "inside: sort " in said
    repository = Repository.find()
    stored = repository.profiles(repository.index.headers([sorting.git("rev-parse", "HEAD")]))
    assert sorted(one.job.collector for one in stored) == ["instructions", "time"]
    profile = next(one for one in stored if one.job.collector == "instructions")
    assert profile.job.engine.startswith("callgrind-")
    assert profile.stacks is not None and any(
        frame == "sort (sort)" for frame in profile.stacks.frames
    )


def test_a_function_that_did_not_run_is_named_with_the_nearest(sorting, perf):
    sorting.write("perf.toml", CONFIG % "sorted")
    sorting.commit("one", **{"sort.c": SORT % 1000})
    assert "no function `sorted` ran; did you mean `sort`?" in perf("collect", code=5).err
