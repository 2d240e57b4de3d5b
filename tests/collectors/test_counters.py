"""The ``counters`` collector: what it samples of a tree of processes, its totals, and what it says
when it cannot see everything.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import Sampling

from perfvcs import launcher, plugins
from perfvcs.collectors import counters as module
from perfvcs.collectors.counters import Counters, events, processes, treesampler
from perfvcs.collectors.counters.processes import (
    LEVEL_METRICS,
    MACHINE_LEVELS,
    MACHINE_RATES,
    MACHINE_ROWS,
    RATE_METRICS,
    Ended,
    Stat,
    WatchedProcess,
    stat,
)
from perfvcs.collectors.counters.treesampler import ProcessTree, TreeSampler, leader
from perfvcs.errors import UsageError
from perfvcs.plugins.collector import CollectError, Observations, Run

pytestmark = pytest.mark.needs("cc")


@pytest.fixture
def sampling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sampling:
    return Sampling(tmp_path, monkeypatch)


@pytest.fixture
def run(tmp_path: Path, sampling: Sampling) -> Callable[..., Run]:
    """A prepared run of a Python script, which may wait until it is ``sampled``."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()

    def prepare(script: str, **fields: object) -> Run:
        env = {"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"}
        prepared = Run(
            (sys.executable, "-S", "-c", sampling.waits + script),
            tmp_path,
            env,
            scratch,
            "whole",
            timeout=300.0,
        )
        return replace(prepared, **fields)  # type: ignore[arg-type]

    return prepare


def samples(found: Observations, name: str, uid: str = "whole") -> list[float]:
    """The values of a counter in the order of its samples."""
    rows = zip(found.uid, found.iteration, found.values[name], strict=True)
    return [
        value for unit, iteration, value in rows if unit == uid and iteration and value is not None
    ]


def total(found: Observations, name: str) -> float:
    value = found.values[name][0]
    assert value is not None
    return value


@contextmanager
def waiting(script: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A Python process that ran a script, printed a line, and waits; with the line."""
    command = [
        "sh",
        "-c",
        '"$@"; :',
        "launcher",
        sys.executable,
        "-S",
        "-c",
        f"{script}\nimport sys; sys.stdin.read()",
    ]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin and process.stdout
        try:
            yield process, process.stdout.readline()
        finally:
            process.stdin.close()


# What is sampled


def test_levels_are_those_of_all_processes_together(run: Callable[..., Run]) -> None:
    script = """
import subprocess, threading
children = [subprocess.Popen(["sleep", "961.25"]) for _ in range(2)]
files = [open("/dev/null") for _ in range(40)]
memory = bytearray(b"x" * (64 << 20))
over = threading.Event()
threads = [threading.Thread(target=over.wait) for _ in range(3)]
for thread in threads: thread.start()
sampled(2)
over.set()
for thread in threads: thread.join()
for child in children: child.kill()
"""
    found = Counters(interval=0.05).collect(run(script))
    assert max(samples(found, "processes")) == 3
    assert max(samples(found, "threads")) == 6
    assert max(samples(found, "descriptors")) >= 43
    assert max(samples(found, "rss_anon")) >= 64 << 20
    assert max(samples(found, "rss")) == total(found, "peak_rss") >= 64 << 20
    assert max(samples(found, "vsize")) > max(samples(found, "data")) > 64 << 20


def test_samples_are_numbered_by_the_interval_and_the_machine_stands_beside_them(
    run: Callable[..., Run],
) -> None:
    found = Counters(interval=0.1).collect(run("sampled(4)", size=7.0))
    numbers = [
        number for uid, number in zip(found.uid, found.iteration, strict=True) if uid == "whole"
    ]
    assert numbers[0] == 0 and numbers[1:] == sorted(set(numbers[1:]))
    assert 4 <= len(numbers[1:]) <= numbers[-1]
    assert found.iteration[len(numbers) :] == numbers[1:]
    assert found.uid == ["whole"] * len(numbers) + [MACHINE_ROWS] * (len(numbers) - 1)
    assert found.size == [7.0] * len(numbers) + [None] * (len(numbers) - 1)
    for name in (*LEVEL_METRICS, *RATE_METRICS):
        assert len(samples(found, name)) == len(numbers) - 1 and not samples(
            found, name, MACHINE_ROWS
        )
    for name in (*MACHINE_LEVELS, *MACHINE_RATES):
        assert len(samples(found, name, MACHINE_ROWS)) == len(numbers) - 1 and not samples(
            found, name
        )
    assert min(samples(found, "machine_available", MACHINE_ROWS)) > 0


@pytest.mark.slow
def test_rates_add_up_to_what_was_used(run: Callable[..., Run], sampling: Sampling) -> None:
    script = """
import os, time
file = os.open("out", os.O_CREAT | os.O_WRONLY)
sampled(1)
for _ in range(60):
    os.write(file, b"x" * 10_000)
    time.sleep(0.01)
sampled(2)
"""
    found = Counters(interval=0.1).collect(run(script))
    written = sampling.used(samples(found, "write_char_rate"))
    assert written == pytest.approx(605_000, abs=5001)
    assert total(found, "write_chars") >= 600_000
    assert sampling.used(samples(found, "voluntary_switch_rate")) > 59.9


def test_totals_are_those_of_all_processes_that_ended(run: Callable[..., Run]) -> None:
    child = "open('/dev/null', 'w').write('x' * 500_000); sum(range(2_000_000))"
    found = Counters(interval=0.05).collect(
        run(
            "import subprocess, sys\nfor _ in range(4): subprocess.run([sys.executable, '-S',"
            f" '-c', {child!r}])"
        )
    )
    assert total(found, "cpu") > 0.04
    assert total(found, "wall") > total(found, "cpu") / 4
    assert total(found, "write_chars") >= 2_000_000
    assert total(found, "minor_faults") > 1000
    assert [name for name, metric in found.metrics.items() if metric.better != "none"] == [
        "wall",
        "cpu",
        "maxrss",
    ]


def test_what_short_processes_used_is_not_lost() -> None:
    script = """
import os, resource, subprocess, sys
child = "open('/dev/null', 'w').write('x' * 1_000_000); sum(range(3_000_000))"
for _ in range(5): subprocess.run([sys.executable, "-S", "-c", child])
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print(sum(one.ru_utime + one.ru_stime for one in used), sum(one.ru_minflt for one in used), flush=True)
"""
    with waiting(script) as (process, line):
        tree = ProcessTree(process.pid)
        levels, used = tree.read()
        tree.close()
    cpu, faults = map(float, line.split())
    assert levels["processes"] == 1
    assert used["cpu_use"] == pytest.approx(cpu, abs=0.03)
    assert used["user_use"] + used["system_use"] == pytest.approx(cpu, abs=0.06)
    assert used["minor_fault_rate"] == pytest.approx(faults, abs=150)  # with the shell's fork
    assert 5_000_000 <= used["write_char_rate"] < 5_100_000


def test_switches_of_threads_that_ended_stay_counted() -> None:
    script = """
import threading, time
slept, over = threading.Barrier(4), threading.Event()
def work():
    for _ in range(50): time.sleep(0.002)
    slept.wait(), over.wait()
threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads: thread.start()
slept.wait(); print(flush=True); input(); over.set()
for thread in threads: thread.join()
print(flush=True)
"""
    with waiting(script) as (process, _):
        assert process.stdin and process.stdout
        tree = ProcessTree(process.pid)
        assert tree.read()[0]["threads"] == 4
        process.stdin.write("\n")
        process.stdin.flush()
        process.stdout.readline()
        levels, used = tree.read()
        tree.close()
    assert levels["threads"] == 1
    assert used["voluntary_switch_rate"] >= 150
    assert used["timeslice_rate"] >= used["voluntary_switch_rate"]


def test_processes_that_leave_the_tree_stay_counted_and_close_their_files() -> None:
    script = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-S", "-c", "import time\\nfor _ in range(100): time.sleep(0.001)\\nprint(flush=True); input()"],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)
child.stdout.readline(); print(flush=True); input(); child.communicate(b"\\n"); print(flush=True)
"""
    before = WatchedProcess.opened
    with waiting(script) as (process, _):
        assert process.stdin and process.stdout
        tree = ProcessTree(process.pid)
        levels, with_child = tree.read()
        assert levels["processes"] == 2
        process.stdin.write("\n")
        process.stdin.flush()
        process.stdout.readline()
        levels, without = tree.read()
        tree.close()
    assert levels["processes"] == 1
    assert without["voluntary_switch_rate"] >= with_child["voluntary_switch_rate"] >= 100
    assert WatchedProcess.opened == before


def test_a_process_that_was_not_waited_for_is_no_process_any_more() -> None:
    with waiting(
        "import os, subprocess; child = subprocess.Popen(['true']); os.waitid(os.P_PID, child.pid,"
        " os.WEXITED | os.WNOWAIT); print(flush=True)"
    ) as (process, _):
        tree = ProcessTree(process.pid)
        levels = tree.read()[0]
        tree.close()
    assert (levels["processes"], levels["threads"]) == (1, 1)


def test_daemons_belong_to_the_tree_and_are_stopped(run: Callable[..., Run]) -> None:
    script = """
import subprocess
subprocess.run(["sh", "-c", "setsid sleep 961.5 & exit 0"])
sampled(3)
"""
    found = Counters(interval=0.05).collect(run(script))
    # samples come before the shell and while it is there, and after the script, too
    assert samples(found, "processes").count(2) >= 3
    assert any(
        "left 1 process(es) running, which perf stopped: wait for" in warning
        for warning in found.warnings
    )
    assert not running("961.5")


def running(word: str) -> list[str]:
    """The command lines of processes that have this word."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                words = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
            except OSError:
                continue
            found += [" ".join(words)] if word in words else []
    return found


@pytest.mark.parametrize(
    "script",
    [
        "import os\nos.closerange(0, 256)\nsampled(2)",
        "import os\nos.chdir('/')\nos.environ.clear()\nsampled(2)",
        (
            "import signal\nfor n in range(1, 32):\n    n in (9, 19) or signal.signal(n,"
            " signal.SIG_IGN)\nsampled(2)"
        ),
        "sampled(2, sleep=lambda _: print('x' * 1_000_000))",
        (
            "import os\nos.setsid if os.getsid(0) != os.getpid() else os.fork() and"
            " os._exit(0)\nsampled(2)"
        ),
    ],
    ids=[
        "closes its descriptors",
        "forgets where it is",
        "ignores signals",
        "writes much",
        "forks and leaves",
    ],
)
def test_programs_of_bad_manners_are_sampled_like_others(
    run: Callable[..., Run], script: str
) -> None:
    assert len(samples(Counters(interval=0.05).collect(run(script)), "processes")) >= 2


def test_a_program_that_ends_at_once_has_totals_and_a_hint(run: Callable[..., Run]) -> None:
    found = Counters(interval=10.0).collect(run("pass"))
    assert found.uid == ["whole"]
    assert total(found, "wall") > 0 and found.values["rss"] == [None]
    (warning,) = found.warnings
    assert "ended after 0 samples: shorten `interval` (10 s) or give it more to do" in warning


@pytest.mark.parametrize(
    ("interval", "skip", "cure"),
    [
        (0.1, 30.0, "shorten `skip` (30 s at both ends) or give it more to do"),
        (10.0, 0.01, "shorten `interval` (10 s) or give it more to do"),
    ],
)
def test_too_few_samples_are_reported_with_the_option_that_took_them(
    run: Callable[..., Run], interval: float, skip: float, cure: str
) -> None:
    (warning,) = (
        Counters(interval=interval, skip=skip).collect(run("import time; time.sleep(0.3)")).warnings
    )
    assert warning == f"it ended after 0 samples: {cure}"


@pytest.mark.slow
def test_beginning_and_end_can_be_skipped(run: Callable[..., Run]) -> None:
    found = Counters(interval=0.05, skip=0.5).collect(run("import time; time.sleep(1.4)"))
    numbers = [
        number for uid, number in zip(found.uid, found.iteration, strict=True) if uid == "whole"
    ][1:]
    assert max(numbers, default=0) <= (total(found, "wall") - 1.0) / 0.05 + 2
    assert (
        len(numbers)
        == len(samples(found, "machine_busy", MACHINE_ROWS))
        == len(samples(found, "rss"))
    )
    assert not samples(Counters(interval=0.05, skip=30.0).collect(run("pass")), "rss")


def test_what_the_program_reports_has_rows_of_its_own(run: Callable[..., Run]) -> None:
    report = (
        'import os; print(\'{"uid": "orders", "latency": 0.25}\','
        ' file=open(os.environ["PERFVCS_SAMPLES"], "a"))'
    )
    found = Counters(interval=10.0).collect(run(report))
    assert found.uid == ["whole", "orders"]
    assert found.values["latency"] == [None, 0.25]
    assert {len(column) for column in found.values.values()} == {2}


@pytest.mark.parametrize(
    ("reported", "reason"),
    [
        ("nonsense", "line 1: not JSON"),
        ('{"uid": "machine", "x": 1}', "'machine' names the rows of the whole machine: give"),
    ],
)
def test_garbage_that_the_program_reports_is_named(
    run: Callable[..., Run], reported: str, reason: str
) -> None:
    script = f'import os; print({reported!r}, file=open(os.environ["PERFVCS_SAMPLES"], "a"))'
    with pytest.raises(CollectError, match=reason):
        Counters().collect(run(script))


def test_a_program_that_hangs_is_stopped_with_its_children(run: Callable[..., Run]) -> None:
    script = (
        "import subprocess, time; subprocess.Popen(['setsid', 'sleep', '962.5']); time.sleep(962.5)"
    )
    with pytest.raises(CollectError, match=r"time-out of 0\.6 s"):
        Counters(interval=0.05).collect(run(script, timeout=0.6))
    assert not running("962.5")
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("perfvcs")]


@pytest.mark.slow
def test_groups_are_distinguished_by_a_word_of_their_command_line(
    run: Callable[..., Run], tmp_path: Path, sampling: Sampling
) -> None:
    (tmp_path / "database.py").write_text(
        "import subprocess\nx = bytearray(b'x' * (64 << 20))\nchild = subprocess.Popen(['sleep', '961.75'])\n"
        f"{sampling.waits}sampled(2)\nchild.kill(); child.wait()\n"
    )
    (tmp_path / "web.py").write_text(
        "import subprocess, sys\nsubprocess.run([sys.executable, '-S', 'database.py'])\n"
    )
    groups = ("web", "database", "cache")
    found = Counters(interval=0.05, groups=groups).collect(
        run("", argv=(sys.executable, "-S", "web.py"))
    )
    assert (
        found.metrics.keys()
        == Counters(groups=groups).metrics.keys()
        >= {"web.rss", "cache.cpu_use"}
    )
    columns = (samples(found, f"{prefix}processes") for prefix in ("", "web.", "database."))
    assert (3, 1, 2) in zip(*columns, strict=True), "what the database starts is the database's"
    assert max(samples(found, "database.rss_anon")) > 64 << 20 > max(samples(found, "web.rss_anon"))
    assert set(samples(found, "cache.rss")) == {0.0}


def test_what_a_group_did_stays_its_own_when_its_process_has_ended() -> None:
    script = """
import subprocess, sys
work = "import time; [time.sleep(0.001) for _ in range(100)]; print(flush=True); input('ca" + "che')"
child = subprocess.Popen([sys.executable, "-S", "-c", work], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
child.stdout.readline(); print(flush=True)
input(); child.communicate(bytes([10])); print(flush=True)
"""
    name = "voluntary_switch_rate"
    with waiting(script) as (process, _):
        assert process.stdin and process.stdout
        tree = ProcessTree(process.pid, groups=("cache", "communicate"))
        before = tree.read()[1]
        process.stdin.write("\n")
        process.stdin.flush()
        process.stdout.readline()
        after = tree.read()[1]
        tree.close()
    assert before[f"communicate.{name}"] + before[f"cache.{name}"] == before[name]
    assert after[f"cache.{name}"] == before[f"cache.{name}"] >= 100


# Without the compiled launcher


@pytest.mark.slow
@pytest.mark.usefixtures("no_compiler")
def test_without_a_compiler_the_tree_is_as_complete(run: Callable[..., Run]) -> None:
    script = """
import subprocess
child = subprocess.Popen(["/bin/sleep", "961.125"], start_new_session=True)
x = bytearray(b"x" * (32 << 20))
sampled(2)
child.kill(); child.wait()
"""
    found = Counters(interval=0.05).collect(run(script))
    assert Counters().engine.endswith("wait4/1")
    assert max(samples(found, "processes")) == 2
    assert max(samples(found, "rss_anon")) > 32 << 20
    assert "maxrss" not in found.metrics and total(found, "peak_rss") > 32 << 20
    assert any("memory is not measured" in warning for warning in found.warnings)


def test_a_command_is_found_below_its_launcher(tmp_path: Path) -> None:
    seen: list[int | None] = []

    def started(root: int) -> None:
        def look() -> None:
            while (pid := leader(root)) is None:
                time.sleep(0.005)
            seen.append(pid)
            (tmp_path / "found").touch()

        threading.Thread(target=look, daemon=True).start()

    options = launcher.LaunchOptions(started=started)
    words = ["/bin/sh", "-c", "until [ -e found ]; do /bin/sleep 0.01; done"]
    launcher.launch(words, cwd=tmp_path, env={}, timeout=120, options=options)
    assert seen and leader(os.getpid()) is None


# Options, engines and events


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"interval": 0.001}, "interval is 0.001: give 0.01 to 3600"),
        ({"interval": True}, "interval: give a number"),
        ({"interval": float("nan")}, "interval is nan"),
        ({"groups": ("a b",)}, "'a b' cannot name a group: take a letter"),
        ({"skip": -1.0}, "skip is -1.0: give"),
        ({"skip": float("inf")}, "skip is inf"),
    ],
)
def test_impossible_options_are_refused(options: dict[str, float], message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        plugins.build("collectors", "counters", options, "here")


def test_the_engine_says_which_events_there_are_and_what_launches() -> None:
    assert Counters().engine == f"proc+{launcher.engine()}"
    assert Counters(events=True).engine in {
        "+".join(filter(None, ("proc", tag, launcher.engine())))
        for tag in ("", "perf", "pmu", "pmu-user")
    }
    assert Counters().metrics.keys() <= Counters(events=True).metrics.keys()


def test_it_needs_linux_and_its_proc(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Counters().available() is None and Counters().flags("anything") == ()
    monkeypatch.setattr(module.os, "access", lambda *_: False)
    assert "mount -t proc proc /proc" in (Counters().available() or "")
    monkeypatch.setattr(sys, "platform", "darwin")
    assert "Linux machine" in (Counters().available() or "")


@pytest.fixture
def kernel(
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Callable[[Callable[[str, int], bool]], None]]:
    """Which events this kernel permits, by name and flags: no test can change the machine's own."""

    def permit(allowed: Callable[[str, int], bool]) -> None:
        monkeypatch.setattr(events, "_works", allowed)
        events.available.cache_clear()

    yield permit
    events.available.cache_clear()


def test_events_are_those_that_all_work(
    kernel: Callable[[Callable[[str, int], bool]], None],
) -> None:
    chip = ("cycles", "instructions", "cache_misses", "branch_misses")
    own = ("context_switches", "migrations")
    kernel(lambda *_: True)
    assert events.available() == ("pmu", (*own, *chip))
    kernel(lambda name, flags: name in chip and bool(flags))
    assert events.available() == ("pmu-user", chip)
    kernel(lambda name, _: name in own)
    assert events.available() == ("perf", own)
    kernel(lambda name, _: name == "cycles")
    assert events.available() == ("", ())
    assert events.metrics() == {} and events.Events().read() == {}


def test_an_unknown_machine_has_no_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events.platform, "machine", lambda: "pdp11")
    assert not events._works("context_switches", 0)


def test_what_the_kernel_forbids_is_an_os_error() -> None:
    with pytest.raises(OSError, match=r"\w"):
        events._open("cycles", 1 << 40)


def test_events_of_this_thread_itself_do_not_count(
    run: Callable[..., Run], sampling: Sampling
) -> None:
    if "context_switches" not in events.available()[1]:
        pytest.skip("the kernel permits no events here")
    counted = events.Events()
    # of those that fell between the opening of two counters
    begun = counted.read()["context_switches"]
    for _ in range(50):
        time.sleep(0.001)
    # which may fall between the reading of two
    assert abs(counted.read()["context_switches"] - begun) <= 1
    counted.close()
    assert counted.read() == {}
    found = Counters(interval=0.1, events=True).collect(
        run("sampled(1)\nfor _ in range(300): time.sleep(0.001)\nsampled(2)")
    )
    assert 300 <= total(found, "context_switches") < 2000
    assert sampling.used(samples(found, "context_switch_rate")) > 299.9


def test_counts_are_scaled_up_when_counters_took_turns() -> None:
    import struct

    reading, writing = os.pipe()
    os.write(writing, struct.pack("=QQQ", 100, 30, 10) + struct.pack("=QQQ", 100, 30, 0))
    assert (events._value(reading), events._value(reading)) == (300, 0)
    os.close(reading)
    os.close(writing)


# What /proc may look like


@settings(max_examples=200, deadline=None)
@given(
    name=st.binary(max_size=15).filter(lambda name: b")" not in name[-1:]),
    parent=st.integers(0, 1 << 22),
    state=st.sampled_from("RSDZX"),
)
def test_a_process_may_call_itself_anything(name: bytes, parent: int, state: str) -> None:
    found = Stat.of(b"7 (" + name + b") " + f"{state} {parent} 7 9 ".encode() + b"0 " * 40)
    assert (found.parent, found.session, found.zombie) == (parent, 9, state in "ZX")


def test_half_a_line_is_a_process_that_ended() -> None:
    with pytest.raises(Ended):
        Stat.of(b"7 (sh) R 1")
    assert stat(1 << 30) is None
    with pytest.raises(Ended):
        WatchedProcess(1 << 30).read()


def test_a_process_that_has_given_its_memory_back_has_no_level(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    process = WatchedProcess(os.getpid())
    process.read()
    assert process.levels["rss"] > 0
    content = process._content

    def ending(name: str) -> bytes:
        answer = content(name)
        if name != "stat":
            return answer
        head, _, rest = answer.rpartition(b")")
        fields = rest.split()
        fields[20:22] = b"0", b"0"
        return head + b") " + b" ".join(fields)

    monkeypatch.setattr(process, "_content", ending)
    process.read()
    process.close()
    assert process.levels == {}


def test_counters_of_another_user_are_left_out_and_reported(
    run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.open

    def refuse(path: str, *args: object, **options: object) -> int:
        if str(path).startswith("/proc/") and str(path).endswith("/io"):
            raise PermissionError(13, "no", path)
        return real(path, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(processes.os, "open", refuse)
    found = Counters(interval=0.05).collect(run("sampled(2)"))
    assert any(
        "1 of its processes belong to another user, whose counters are hidden: run perf as root"
        in text
        for text in found.warnings
    )
    assert set(samples(found, "write_char_rate")) == {0.0} and min(samples(found, "rss")) > 0


def test_clocks_and_folders_that_may_not_be_read_have_a_substitute(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> float:
        raise PermissionError(1, "no")

    with waiting("sum(range(5_000_000)); print(flush=True)") as (process, _):
        (child,) = psutil.Process(process.pid).children()
        seen = WatchedProcess(child.pid)
        seen.read()
        exact = seen.passed["cpu_use"]
        monkeypatch.setattr(processes.time, "clock_gettime", refuse)
        monkeypatch.setattr(processes.Path, "stat", refuse)
        seen.read()
        seen.close()
    assert seen.passed["cpu_use"] == pytest.approx(exact, abs=0.03) and exact > 0.02
    assert seen.hidden and seen.levels["descriptors"] == 0


def test_more_processes_than_files_may_be_open_are_sampled_all_the_same(
    run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "MOST_OPEN_FILES", WatchedProcess.opened + 2)
    script = (
        "import subprocess\nchildren = [subprocess.Popen(['sleep', '961.375']) for _ in range(5)]\n"
        "sampled(2)\nfor child in children: child.kill(), child.wait()"
    )
    found = Counters(interval=0.05).collect(run(script))
    assert max(samples(found, "processes")) == 6 and max(samples(found, "rss")) > 0


def test_a_kernel_with_fewer_counters_gives_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    contents = {"/proc/stat": b"cpu 1 2\nctxt 5\n"}
    monkeypatch.setattr(events, "_contents", lambda path: contents.get(path, b""))
    assert events.read_machine() == ({}, {"machine_switch_rate": 5.0})


def test_a_file_that_is_not_there_is_empty() -> None:
    assert events._contents("/proc/no-such-file") == b""
    assert processes._turns(b"voluntary_ctxt_switches:\t7\n", b"") == {"voluntary_switch_rate": 7.0}


def test_large_trees_are_sampled_less_often_and_that_is_reported(
    run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(treesampler, "PROCESSOR_SHARE", 1e-4)
    found = Counters(interval=0.01).collect(run("import time; time.sleep(0.5)"))
    assert len(samples(found, "rss")) <= 2
    assert any(
        "too many processes to be sampled every 0.01 s: raise `interval`" in text
        for text in found.warnings
    )


@pytest.mark.slow
def test_long_runs_keep_fewer_samples_from_beginning_to_end(
    run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch, sampling: Sampling
) -> None:
    monkeypatch.setattr(treesampler, "MOST_SAMPLES", 8)
    found = Counters(interval=0.01).collect(run("sampled(20)"))
    numbers = [
        number for uid, number in zip(found.uid, found.iteration, strict=True) if uid == "whole"
    ][1:]
    assert 4 <= len(numbers) <= 8 and numbers == sorted(numbers)
    # a share of the run, which is as long as the machine makes it
    first, *seen = (moment.at for moment in sampling.taken if moment.tree[0]["processes"])
    assert numbers[0] * 0.01 <= (first + seen[-1]) / 2 - sampling.taken[0].at
    assert numbers[-1] > 45
    assert len(samples(found, "machine_busy", MACHINE_ROWS)) == len(numbers)


def test_an_error_while_sampling_is_raised_where_the_samples_are_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken() -> None:
        raise ZeroDivisionError("broken")

    monkeypatch.setattr(treesampler, "read_machine", broken)
    taking = TreeSampler(0.01)
    taking.watch(os.getpid())
    with pytest.raises(ZeroDivisionError, match="broken"):
        taking.stop()
    assert TreeSampler(1.0).stop().number == []
