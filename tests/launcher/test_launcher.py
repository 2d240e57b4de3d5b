"""The launcher executes real programs: what it reports about them, and that nothing of them is
left.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from conftest import HIDDEN_DAEMON, children, emulated
from waiting import happens

from perfvcs import launcher
from perfvcs.launcher.execution import (
    STDERR_TAIL,
    Execution,
    LaunchError,
    NotStarted,
    Pace,
    name_command,
    name_signal,
    not_started,
)
from perfvcs.launcher.launchreport import executed
from perfvcs.native import compiled, native_folder

pytestmark = pytest.mark.needs("cc")
EMULATED = pytest.mark.unless(emulated())

Launch = Callable[..., Execution]
BUSY = "int main(void) { volatile unsigned long n = 100000000; while (n) n--; return 0; }"
RSS = """#include <stdlib.h>
int main(void) { volatile char *p = malloc(30 << 20); for (int i = 0; i < 30 << 20; i += 512) p[i] = 1; return 0; }"""
DAEMON = """#include <sys/wait.h>
#include <unistd.h>
int main(void) { /* double fork, a session of its own, standard error kept open */
    if (fork() == 0) { setsid(); if (fork() == 0) { execl("/bin/sleep", "sleep", "987.25", (char *)0); } _exit(0); }
    wait(0); usleep(200000); return 0; }"""
SPEW = """#include <string.h>
#include <unistd.h>
int main(void) {
    static char b[1 << 20]; memset(b, 'x', sizeof b - 1); b[sizeof b - 1] = '\\n';
    for (int i = 0; i < 200; i++) { write(1, b, sizeof b); write(2, b, sizeof b); }
    write(2, "the end\\n", 8); return 3; }"""
DESCRIPTORS = """#include <fcntl.h>
#include <stdio.h>
int main(void) { for (int n = 0; n < 1024; n++) if (fcntl(n, F_GETFD) >= 0) fprintf(stderr, "%d ", n); return 0; }"""
COPY = """#include <fcntl.h>
#include <unistd.h>
int main(int argc, char **argv) { /* read 50,000 bytes and write 70,000, when asked to */
    static char b[70000]; int zero = open("/dev/zero", O_RDONLY);
    return argc > 1 && (read(zero, b, 50000) != 50000 || write(1, b, 70000) != 70000); }"""
SIGNALS = """#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
int main(void) {
    sigset_t mask; struct sigaction a;
    sigprocmask(SIG_BLOCK, 0, &mask);
    for (int s = 1; s < 32; s++) {
        sigaction(s, 0, &a);
        if (sigismember(&mask, s)) fprintf(stderr, "blocked %d ", s);
        if (a.sa_handler == SIG_IGN) fprintf(stderr, "ignored %d ", s);
    }
    return 0; }"""


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """Compiles a C program and returns its path; the same source gives the same path."""
    folder = tmp_path_factory.mktemp("programs")
    compiler, env = shutil.which("cc"), dict(os.environ)  # some tests take them away
    assert compiler

    def compile_program(source: str) -> str:
        path = folder / str(abs(hash(source)))
        if not path.exists():
            path.with_suffix(".c").write_text(source)
            subprocess.run(
                [compiler, "-O1", "-w", "-o", path, path.with_suffix(".c")], check=True, env=env
            )
        return str(path)

    return compile_program


@pytest.fixture(params=["launcher/1", "wait4/1"])
def launch(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[Launch]:
    """``launch`` in a folder and an environment of the test, by either engine."""
    if request.param == "wait4/1":
        monkeypatch.setenv("PATH", str(tmp_path / "no-compiler"))
    launcher._prepared.cache_clear()
    assert launcher.engine() == request.param

    def call(
        *argv: str, timeout: float = 30.0, env: dict[str, str] | None = None, **options: object
    ) -> Execution:
        given = {"PATH": "/usr/bin:/bin"} if env is None else env
        asked = launcher.LaunchOptions(**options)  # type: ignore[arg-type]
        return launcher.launch(argv, cwd=tmp_path, env=given, timeout=timeout, options=asked)

    yield call
    launcher._prepared.cache_clear()


@pytest.fixture
def native(tmp_path: Path) -> Iterator[Launch]:
    """``launch`` by the compiled launcher."""
    launcher._prepared.cache_clear()

    def call(*argv: str, timeout: float = 30.0, **options: object) -> Execution:
        asked = launcher.LaunchOptions(**options)  # type: ignore[arg-type]
        return launcher.launch(argv, cwd=tmp_path, env={}, timeout=timeout, options=asked)

    yield call
    launcher._prepared.cache_clear()


def sh(script: str) -> tuple[str, str, str]:
    return ("/bin/sh", "-c", script)


def running(text: str) -> list[int]:
    """The living processes with ``text`` in their command line, but for those of this test run
    itself.
    """
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdecimal() and int(entry.name) != os.getpid():
                line = (
                    (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                )
                if (
                    text in line
                    and (entry / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
                ):
                    found.append(int(entry.name))
        except OSError:
            continue
    return found


def gone(text: str) -> bool:
    """Whether all processes with ``text`` in their command line end soon."""
    return happens(lambda: not running(text))


def test_an_execution_tells_what_it_took(launch: Launch, build: Callable[[str], str]) -> None:
    took = launch(build(BUSY))
    assert (took.status, took.signal, took.timed_out, took.leftover, took.stderr) == (
        0,
        None,
        False,
        0,
        "",
    )
    assert 0.001 < took.cpu <= took.wall * 1.2 + 0.01
    assert took.run_delay is not None
    assert 0 <= took.run_delay <= took.wall
    assert took.minor_faults > 10


@EMULATED
def test_memory_is_the_commands_own_however_large_the_caller_is(
    native: Launch, build: Callable[[str], str]
) -> None:
    ballast = bytearray(os.urandom(1)) * (200 << 20)
    small, large = native("/bin/true"), native(build(RSS))
    assert small.maxrss is not None
    assert large.maxrss is not None
    assert small.maxrss < 10 << 20
    assert 30 << 20 < large.maxrss < 40 << 20
    assert len(ballast) == 200 << 20


NICE = """import os
from pathlib import Path
from perfvcs import launcher
print(launcher.engine(), os.nice(7))
given = {"PATH": "/usr/bin:/bin"}
told = "sleep 0.3; cat /proc/self/autogroup > told"
launcher.launch(["/bin/sh", "-c", told], cwd=Path.cwd(), env=given, timeout=9)
"""


@pytest.mark.unless(
    "the kernel shares nothing among sessions" * (not Path("/proc/self/autogroup").exists())
)
@pytest.mark.parametrize(("engine", "path"), [("launcher/1", "/usr/bin:/bin"), ("wait4/1", "")])
def test_the_session_of_a_command_has_the_niceness_of_perf(
    tmp_path: Path, engine: str, path: str
) -> None:
    """Where the kernel shares processors among sessions, that of a process counts inside alone."""
    words = [sys.executable, "-c", NICE]
    env = os.environ | {"PATH": path}
    said = subprocess.run(words, cwd=tmp_path, env=env, check=True, text=True, capture_output=True)
    used, niceness = said.stdout.split()
    assert used == engine
    assert (tmp_path / "told").read_text().endswith(f" nice {niceness}\n")


def test_the_fallback_does_not_claim_to_know_memory(launch: Launch) -> None:
    assert (launch("/bin/true").maxrss is None) == (launcher.engine() == "wait4/1")


def test_input_and_output_are_counted_to_the_byte(
    native: Launch, build: Callable[[str], str]
) -> None:
    nothing, something = native(build(COPY)), native(build(COPY), "1")
    assert (nothing.write_chars, something.write_chars) == (0, 70_000)
    assert nothing.read_chars is not None
    assert something.read_chars == nothing.read_chars + 50_000
    assert something.write_bytes is not None


@pytest.mark.slow
def test_children_that_were_waited_for_are_counted(
    launch: Launch, build: Callable[[str], str]
) -> None:
    program = build(BUSY)
    alone, many = launch(program), launch(*sh("; ".join([program] * 8)))
    assert many.cpu > alone.cpu * 2


def test_the_exit_status_is_reported(launch: Launch) -> None:
    assert launch(*sh("exit 127")).status == 127
    assert launch(*sh("exit 255")).status == 255


def test_the_signal_is_reported(launch: Launch) -> None:
    took = launch(*sh("kill -SEGV $$"))
    assert (took.status, took.signal) == (None, signal.SIGSEGV)


def test_what_was_written_to_standard_error_is_kept(launch: Launch) -> None:
    assert launch(*sh("echo to stdout; echo 'Ärger' >&2; exit 1")).stderr == "Ärger\n"


def test_of_endless_output_only_the_end_is_kept(
    launch: Launch, build: Callable[[str], str]
) -> None:
    took = launch(build(SPEW))
    assert took.status == 3
    assert took.stderr.endswith("x\nthe end\n")
    assert len(took.stderr) == STDERR_TAIL


def test_folder_environment_and_arguments_are_as_given(launch: Launch, tmp_path: Path) -> None:
    took = launch(
        *sh('pwd >&2; env >&2; printf "%s\n" "$@" >&2'),
        "sh",
        "a b",
        "",
        "ü\n*",
        env={"NAME": "a b=ü", "PATH": "/usr/bin:/bin"},
    )
    lines = took.stderr.splitlines()
    assert lines[0] == str(tmp_path.resolve())
    assert "NAME=a b=ü" in lines
    assert lines[-4:] == ["a b", "", "ü", "*"]
    allowed = ("NAME=", "PATH=", "PWD=", "SHLVL=", "OLDPWD=", "_=", "PERFVCS_LAUNCH=")
    assert all(line.startswith(allowed) for line in lines[1:-4])


def test_the_launcher_adds_nothing_to_the_environment(native: Launch) -> None:
    assert native("/usr/bin/env").write_chars == 0


def test_a_preloaded_library_reaches_the_command_and_not_the_launcher(tmp_path: Path) -> None:
    source = tmp_path / "hello.c"
    source.write_text(
        "#include <unistd.h>\n__attribute__((constructor)) static void hello(void) { write(2,"
        ' "hello\\n", 6); }'
    )
    subprocess.run(
        ["cc", "-w", "-shared", "-fPIC", "-o", tmp_path / "hello.so", source], check=True
    )
    took = launcher.launch(
        ["/bin/true"], cwd=tmp_path, env={"LD_PRELOAD": str(tmp_path / "hello.so")}, timeout=30
    )
    assert took.stderr == "hello\n"


def test_no_descriptor_is_inherited(launch: Launch, build: Callable[[str], str]) -> None:
    kept = os.dup(0)
    os.set_inheritable(kept, True)
    try:
        assert launch(build(DESCRIPTORS)).stderr == "0 1 2 "
    finally:
        os.close(kept)
    assert (
        launch(*sh("test /proc/$$/fd/0 -ef /dev/null && test /proc/$$/fd/1 -ef /dev/null")).status
        == 0
    )


def test_signals_are_as_by_default(native: Launch, build: Callable[[str], str]) -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        assert native(build(SIGNALS)).stderr == ""
    finally:
        signal.signal(signal.SIGTERM, before)
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == set()


def test_a_command_can_be_pinned(launch: Launch) -> None:
    number = max(os.sched_getaffinity(0))
    before = os.sched_getaffinity(0)
    assert (
        launch(
            "/bin/grep",
            "-q",
            f"^Cpus_allowed_list:\t{number}$",
            "/proc/self/status",
            cpus=(number,),
        ).status
        == 0
    )
    assert os.sched_getaffinity(0) == before


def test_the_pace_is_read_while_the_command_runs(native: Launch, tmp_path: Path) -> None:
    before = time.monotonic_ns()
    found = native(
        *sh("i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; echo done >out"), pace=True
    )
    after = time.monotonic_ns()
    assert (tmp_path / "out").read_text() == "done\n"
    assert found.pace is not None
    readings = np.frombuffer(found.pace.readings, dtype=np.int64).reshape(-1, 2)
    assert len(readings) >= 3
    assert before < readings[0, 0]
    assert readings[-1].sum() < after
    assert (np.diff(readings[:, 0]) > 19_000_000).all()  # not more often: that would disturb
    # 12,288 additions and loads; a reading that another process interrupts takes longer
    assert (readings[:, 1] > 200).all()
    assert np.median(readings[:, 1]) < 1_000_000
    assert found.pace.at([before, after]).tolist() == pytest.approx(
        found.pace.at(readings[[0, -1], 0]).tolist()
    )


def test_the_pace_is_not_read_unasked_nor_by_the_fallback(launch: Launch) -> None:
    assert launch(*sh("sleep 0.05")).pace is None
    asked = launch(*sh("sleep 0.05"), pace=True).pace
    assert (asked is None) == (launcher.engine() == "wait4/1")


def test_the_pace_is_followed_to_the_commands_processor(native: Launch) -> None:
    found = native(
        *sh("i=0; while [ $i -lt 500000 ]; do i=$((i+1)); done"),
        cpus=[min(os.sched_getaffinity(0))],
        pace=True,
    )
    assert found.pace is not None
    assert found.pace.readings


def test_a_pace_without_readings_is_unknown() -> None:
    assert np.isnan(Pace().at([1.0, 2.0])).all()
    assert Pace().at([]).tolist() == []


def test_the_pace_between_readings_is_that_of_the_neighbours() -> None:
    took = [1000, 1000, 1000, 1000, 1000, 1600, 1600, 1600, 1600, 1600]
    pace = Pace(
        np.array(
            [(10 * number, value) for number, value in enumerate(took)], dtype=np.int64
        ).tobytes()
    )
    found = pace.at([-5, 0, 20, 45, 70, 90, 1000])
    assert found[[0, 1, 2]] == pytest.approx(1e-6)
    assert found[[4, 5, 6]] == pytest.approx(1.6e-6)
    assert found[3] == pytest.approx(1e-6 * 1.6**0.5)


def test_a_missing_processor_is_an_error_that_lists_the_present_ones(launch: Launch) -> None:
    for number in (1023, 5000, 2**40):
        with pytest.raises(NotStarted, match=f"{number}: this process may use 0"):
            launch("/bin/true", cpus=(number,))


def test_randomisation_can_be_switched_off(launch: Launch) -> None:
    fixed = {
        launch("/bin/sh", "-c", "grep -m1 stack /proc/$$/maps >&2", aslr=False).stderr
        for _ in range(3)
    }
    free = {launch("/bin/sh", "-c", "grep -m1 stack /proc/$$/maps >&2").stderr for _ in range(3)}
    assert len(fixed) == 1
    assert len(free) > 1


@EMULATED
@pytest.mark.slow
def test_a_hanging_command_is_stopped_with_its_children(launch: Launch) -> None:
    took = launch(*sh("sleep 981.5 & (setsid sleep 981.5 &) ; sleep 981.5"), timeout=0.5)
    assert took.timed_out
    assert took.signal == signal.SIGKILL
    assert gone("sleep 981.5")


def test_a_command_that_ignores_signals_is_stopped(launch: Launch) -> None:
    assert launch(*sh("trap '' TERM INT HUP QUIT; sleep 982.5; sleep 982.5"), timeout=0.3).timed_out
    assert gone("sleep 982.5")


def test_a_command_may_kill_its_own_group(launch: Launch) -> None:
    took = launch(*sh("sleep 983.5 & kill -9 0; sleep 983.5"))
    assert took.signal == signal.SIGKILL
    assert not took.timed_out
    assert gone("sleep 983.5")


@EMULATED
def test_a_daemon_is_stopped_and_counted(launch: Launch, build: Callable[[str], str]) -> None:
    took = launch(build(DAEMON))
    assert (took.status, took.leftover) == (0, 1)
    assert gone("sleep 987.25")


def test_what_ends_by_itself_in_time_is_not_left_over(launch: Launch) -> None:
    assert launch(*sh("sleep 0.05 & exit 0"), grace=5.0).leftover == 0


@EMULATED
def test_a_chain_of_descendants_is_stopped(launch: Launch) -> None:
    chain = "sh -c 'sh -c \"sleep 984.5 & touch begun; sleep 984.5; :\" & sleep 984.5; :' &"
    took = launch(*sh(f"{chain} while [ ! -e begun ]; do sleep 0.02; done; exit 4"))
    assert took.status == 4
    assert took.leftover >= 3
    assert gone("sleep 984.5")


@EMULATED
def test_a_daemon_that_shows_nothing_of_where_it_comes_from_is_stopped(
    launch: Launch, tmp_path: Path
) -> None:
    assert launch(sys.executable, "-S", "-c", HIDDEN_DAEMON, str(tmp_path / "number")).leftover == 1
    assert not Path("/proc", (tmp_path / "number").read_text()).exists()


@EMULATED
def test_a_process_that_forks_away_from_its_killer_is_stopped(launch: Launch) -> None:
    took = launch(*sh("fork() { /bin/true; (fork &) ; }; PATH=; fork 985.5 & /bin/sleep 0.1"))
    assert took.leftover > 0
    assert gone("fork 985.5")


@EMULATED
def test_a_file_that_is_not_there_never_ran(launch: Launch, tmp_path: Path) -> None:
    with pytest.raises(NotStarted, match=r"there is no file .*absent: build it first"):
        launch(str(tmp_path / "absent"))
    with pytest.raises(NotStarted, match=r"there is no folder .*nowhere"):
        launcher.launch(["/bin/true"], cwd=tmp_path / "nowhere", env={}, timeout=1)
    with pytest.raises(NotStarted, match=r"full path"):
        launch("true")


@EMULATED
def test_each_way_of_not_starting_has_its_cure(launch: Launch, tmp_path: Path) -> None:
    def file(name: str, content: bytes, mode: int = 0o755) -> str:
        path = tmp_path / name
        path.write_bytes(content)
        path.chmod(mode)
        return str(path)

    (tmp_path / "link").symlink_to(tmp_path / "nothing")
    for program, cure in (
        (file("no-interpreter", b"#!/opt/none/python -x\n"), "asks for /opt/none/python"),
        (file("no-first-line", b"echo hello\n"), "#!/bin/sh"),
        (file("bad-elf", b"\x7fELF" + b"\1" * 60), "neither a program of this machine"),
        (file("not-executable", b"#!/bin/sh\n", 0o644), "chmod"),
        (str(tmp_path), "is a folder"),
        (str(tmp_path / "link"), "link target"),
        (str(tmp_path / "not-executable" / "x"), "there is no file"),
    ):
        with pytest.raises(NotStarted, match=cure) as caught:
            launch(program)
        assert "\n" not in str(caught.value)


@EMULATED
def test_a_program_that_is_being_written_is_named(launch: Launch, tmp_path: Path) -> None:
    copy = tmp_path / "true"
    shutil.copy("/bin/true", copy)
    with copy.open("ab"), pytest.raises(NotStarted, match="open for writing"):
        launch(str(copy))


@EMULATED
def test_arguments_that_the_system_refuses_are_named(launch: Launch) -> None:
    with pytest.raises(NotStarted, match="pass them in a file"):
        launch("/bin/true", "x" * (1 << 20))
    with pytest.raises(NotStarted, match="pass them in a file"):
        launch("/bin/true", env={f"V{number}": "x" * 100_000 for number in range(100)})
    with pytest.raises(NotStarted, match=r"null byte|NUL"):
        launch("/bin/true", "a\0b")
    with pytest.raises(NotStarted, match=r"null byte|NUL"):
        launch("/bin/true", env={"A": "a\0b"})
    with pytest.raises(NotStarted, match=r"illegal|impossible"):
        launch("/bin/true", env={"A=B": "c"})


def test_names_need_not_be_ascii(launch: Launch, tmp_path: Path) -> None:
    folder = tmp_path / "Ümläut 空 \udcff"
    folder.mkdir()
    program = folder / "rün me"
    program.write_text("#!/bin/sh\nexit 7\n")
    program.chmod(0o755)
    assert launch(str(program)).status == 7
    assert launcher.launch([str(program)], cwd=folder, env={"Ä": "\udcfe"}, timeout=30).status == 7


def test_an_endless_timeout_is_taken(launch: Launch) -> None:
    assert launch("/bin/true", timeout=float("inf")).status == 0


@EMULATED
def test_descriptors_and_children_do_not_accumulate(launch: Launch) -> None:
    launch("/bin/true")
    before, others = sorted(path.name for path in Path("/proc/self/fd").iterdir()), children()
    for _ in range(5):
        launch("/bin/true")
        with pytest.raises(NotStarted):
            launch("/no/such/file")
    assert sorted(path.name for path in Path("/proc/self/fd").iterdir()) == before
    assert not children() - others


@pytest.mark.slow
def test_threads_may_launch_at_once(launch: Launch) -> None:
    def status(number: int) -> int | None:
        return launch(*sh(f"exit {number}")).status

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(status, range(20))) == list(range(20))


def test_a_command_that_kills_the_launcher_is_reported_and_stopped(launch: Launch) -> None:
    with pytest.raises(LaunchError, match="the launcher ended with SIGKILL"):
        launch(*sh("kill -9 $PPID; exec /bin/sleep 986.5"))
    assert gone("sleep 986.5")


def test_a_terminated_launcher_stops_the_command(launch: Launch) -> None:
    with pytest.raises(LaunchError, match="the launcher got SIGTERM"):
        launch(*sh("kill -TERM $PPID; exec /bin/sleep 988.5"))
    assert gone("sleep 988.5")


CALLER = """
import sys
from pathlib import Path
from perfvcs import launcher
assert launcher.engine() == {engine!r}
launcher.launch(["/bin/sh", "-c", {script!r}], cwd=Path("/"), env={{"PATH": "/usr/bin:/bin"}}, timeout=600)
"""


def start_caller(
    engine: str, script: str, env: dict[str, str] | None = None
) -> subprocess.Popen[bytes]:
    code = CALLER.format(engine=engine, script=script)
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env=os.environ | (env or {}),
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


@pytest.mark.parametrize("engine", ["launcher/1", "wait4/1"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_when_the_caller_dies_so_do_the_command_and_its_descendants(
    number: signal.Signals, engine: str
) -> None:
    seconds = f"9{number:02d}.{os.getpid()}"
    caller = start_caller(
        engine,
        f"sleep {seconds} & (setsid sleep {seconds} &); sleep {seconds}; :",
        {} if engine == "launcher/1" else {"PATH": "/nowhere"},
    )
    assert happens(lambda: len(running(f"sleep {seconds}")) >= 4)  # three times sleep, and sh
    caller.send_signal(number)
    said = caller.communicate(timeout=60)[1]
    assert gone(f"sleep {seconds}")
    assert gone(seconds)
    assert (b"KeyboardInterrupt" in said) == (number == signal.SIGINT)


@pytest.mark.slow
def test_a_launcher_that_is_frozen_is_given_up(
    launch: Launch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launcher, "LAUNCHER_SECONDS", 0.2)
    with pytest.raises(LaunchError, match="SIGKILL"):
        launch(*sh("kill -STOP $PPID; exec /bin/sleep 976.5"), timeout=2)
    assert gone("sleep 976.5")


def test_an_interrupted_caller_does_not_wait_for_a_frozen_launcher(
    native: Launch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launcher, "LAUNCHER_SECONDS", 0.2)
    main = threading.main_thread().ident
    assert main is not None
    timer = threading.Timer(0.5, signal.pthread_kill, (main, signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        native(*sh("kill -STOP $PPID; exec /bin/sleep 975.5"), timeout=60)
    assert gone("sleep 975.5")


def test_a_command_that_closes_standard_error_goes_on(launch: Launch) -> None:
    assert launch(*sh("sleep 0.02; echo x >&2; exec 2>&-; sleep 0.02; exit 5")).status == 5


# What the fallback is for, and the cache of compiled programs


def test_without_a_compiler_the_reason_names_the_cure(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert launcher.fallback_reason() is None
    monkeypatch.setenv("PATH", str(tmp_path))
    launcher._prepared.cache_clear()
    assert launcher.engine() == "wait4/1"
    assert "apt install gcc" in (launcher.fallback_reason() or "")
    launcher._prepared.cache_clear()


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[[str], None]]:
    """Puts a script in the place of the C compiler."""

    def install(script: str) -> None:
        path = tmp_path / "bin" / "cc"
        path.parent.mkdir()
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        monkeypatch.setenv("PATH", f"{path.parent}:/usr/bin:/bin")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        launcher._prepared.cache_clear()

    yield install
    launcher._prepared.cache_clear()


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo 'x.c:1:10: fatal error: stdlib.h: No such file' >&2; exit 1", "libc6-dev"),
        ("exit 1", "no message: check the compiler"),
        ("exit 0", "set XDG_CACHE_HOME"),
        ('while [ "$1" != -o ]; do shift; done; cp /bin/true "$2"', "remove it"),
        ("exec sleep 60", "took over 0 s"),
    ],
)
def test_a_compiler_that_does_not_work_gives_the_fallback_and_the_cure(
    tool: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    script: str,
    reason: str,
) -> None:
    monkeypatch.setattr(compiled, "COMPILE_TIMEOUT", 0.3 if "sleep" in script else 60.0)
    tool(script)
    assert launcher.engine() == "wait4/1"
    assert reason in (launcher.fallback_reason() or "")
    assert not [
        file for file in (tmp_path / "cache" / "perfvcs").iterdir() if file.name.startswith(".")
    ]


def test_the_launcher_is_compiled_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first = compiled.compiled(native_folder() / "launcher.c")
    about = first.stat()
    assert compiled.compiled(native_folder() / "launcher.c") == first
    assert first.stat().st_mtime_ns == about.st_mtime_ns
    assert [file.name for file in (tmp_path / "perfvcs").iterdir()] == [first.name]
    assert (tmp_path / "perfvcs").stat().st_mode & 0o777 == 0o700


@pytest.mark.slow
def test_four_processes_at_once_make_one_launcher(tmp_path: Path) -> None:
    code = (
        "from perfvcs import launcher; assert launcher.engine() == 'launcher/1',"
        " launcher.fallback_reason()"
    )
    env = os.environ | {"XDG_CACHE_HOME": str(tmp_path)}
    callers = [subprocess.Popen([sys.executable, "-c", code], env=env) for _ in range(4)]
    assert [caller.wait(60) for caller in callers] == [0, 0, 0, 0]
    assert len(list((tmp_path / "perfvcs").iterdir())) == 1


def test_other_flags_and_shared_objects_have_files_of_their_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    paths = {
        compiled.compiled(native_folder() / "launcher.c"),
        compiled.compiled(native_folder() / "launcher.c", flags=["-g"]),
        compiled.compiled(native_folder() / "launcher.c", shared=True),
    }
    assert len(paths) == 3
    assert sorted(path.suffix for path in paths) == ["", "", ".so"]


@pytest.mark.parametrize("folder", ["/proc/none", "file", "foreign", "open"])
def test_a_cache_folder_that_cannot_be_trusted_is_not_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, folder: str
) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "open" / "perfvcs").mkdir(parents=True)
    (tmp_path / "open" / "perfvcs").chmod(0o777)
    (tmp_path / "foreign" / "perfvcs").mkdir(parents=True)
    if folder == "foreign":
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / folder))
    path = compiled.compiled(native_folder() / "launcher.c")
    assert tmp_path not in path.parents
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_without_a_home_there_is_still_a_launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "relative is ignored")
    monkeypatch.setattr(Path, "home", lambda: (_ for _ in ()).throw(RuntimeError("no home")))
    assert compiled.compiled(native_folder() / "launcher.c").exists()


def test_a_full_disk_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def full(_number: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(compiled.NotCompiled, match="No space left on device: free some space"):
        compiled.compiled(native_folder() / "launcher.c")
    assert list((tmp_path / "perfvcs").iterdir()) == []


def test_the_launcher_alone_says_who_it_is() -> None:
    path = compiled.compiled(native_folder() / "launcher.c")
    assert (
        subprocess.run([path, "--version"], capture_output=True, check=True).stdout
        == b"perfvcs-launcher 1\n"
    )
    assert subprocess.run([path], capture_output=True, check=False).returncode == 2


def test_names_are_short_and_in_one_line() -> None:
    assert name_command(["/bin/echo", "a b", "c\nd"]) == "/bin/echo 'a b' 'c d'"
    assert len(name_command(["x" * 1000])) == 200
    assert name_signal(11) == "SIGSEGV"
    assert name_signal(99) == "signal 99"
    assert "Input/output error" in str(not_started(["/bin/true"], 5))


def test_a_report_of_another_version_is_refused() -> None:
    with pytest.raises(LaunchError, match="version 2: remove it"):
        executed(["/bin/true"], (), {"perfvcs-launcher": 2, "end": 1}, 0, "")
    with pytest.raises(NotStarted, match="ENOMEM"):
        executed(["/bin/true"], (), {"setup": 12, "end": 1}, 0, "")
    with pytest.raises(NotStarted, match="leave it on"):
        executed(["/bin/true"], (), {"aslr": 1, "end": 1}, 0, "")
    with pytest.raises(LaunchError, match="look at process 5"):
        executed(["/bin/true"], (), {"stuck": 1, "pid": 5, "end": 1}, 0, "")
