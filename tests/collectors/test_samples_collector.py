"""Call stacks of Python and of compiled programs: what is seen, what it is called, and that the
program runs as it would alone.
"""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest
from cases import each
from hypothesis import given
from hypothesis import strategies as st
from waiting import happens

from perfvcs import plugins
from perfvcs.collectors._shared import frames
from perfvcs.collectors.samples import Samples, attach, linux, pyspy, sampler
from perfvcs.collectors.samples.sampler import LEFT_OUT_FRAMES, MOST_FRAMES, TRUNCATED, Folded
from perfvcs.errors import UsageError
from perfvcs.measure.blocks import JobRecording
from perfvcs.native import start_folder
from perfvcs.plugins.collector import CollectError, Observations, Run
from perfvcs.profile.decoding import decode
from perfvcs.repository import Repository
from perfvcs.system import linuxperf

NO_PERF = linux.LinuxPerf().missing()
NO_PYSPY = pyspy.PySpy().missing()
PERF, PYSPY = pytest.mark.unless(NO_PERF), pytest.mark.unless(NO_PYSPY)
BUSY = """
import time

class Heap:
    def push(self, seconds):
        end = time.process_time() + seconds
        while time.process_time() < end:
            pass

def main():
    Heap().push(0.5)

main()
"""
SORT = """
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
__attribute__((noinline)) long inner(long count) { long sum = 0; for (long i = 0; i < count; i++) sum += i % 7 * sum % 5 + 1; return sum; }
__attribute__((noinline)) long outer(long count) { return inner(count) + 1; }
int main(int argc, char **argv)
{
    printf("%ld\\n", outer(argc > 1 ? atol(argv[1]) : 60000000));
    FILE *used = fopen("used", "a");
    return !used || fprintf(used, "%f\\n", (double)clock() / CLOCKS_PER_SEC) < 0 || fclose(used);
}
"""


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Run]:
    """A prepared run of a command in a folder of its own."""
    count = iter(range(100))

    def prepare(*argv: str, **changed: object) -> Run:
        number = next(count)
        scratch, cwd = tmp_path / f"scratch{number}", tmp_path / f"revision{number}"
        scratch.mkdir()
        cwd.mkdir()
        env = MappingProxyType({"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"})
        return replace(Run(argv, cwd, env, scratch, "job", timeout=300.0), **changed)  # type: ignore[arg-type]

    return prepare


@pytest.fixture
def python(run: Callable[..., Run]) -> Callable[[str], Run]:
    """A prepared run of a Python program."""

    def prepare(script: str) -> Run:
        prepared = run(sys.executable, "program.py")
        (prepared.cwd / "program.py").write_text(script)
        return prepared

    return prepare


@pytest.fixture
def compiled(run: Callable[..., Run], tmp_path: Path) -> Callable[..., Run]:
    """A prepared run of a C program."""

    def prepare(*flags: str, source: str = SORT) -> Run:
        prepared = run("")
        (tmp_path / "sort.c").write_text(source)
        subprocess.run(
            [
                "gcc",
                "-O1",
                "-g",
                *flags,
                str(tmp_path / "sort.c"),
                "-o",
                str(prepared.cwd / "sort"),
            ],
            check=True,
        )
        return replace(prepared, argv=(str(prepared.cwd / "sort"),))

    return prepare


@pytest.fixture
def forgetful() -> Iterator[None]:
    """What was found out about the machine is asked again, now and after the test."""
    asked = (linux._unwinds, linux._kernel_too, linux._refused)
    for one in asked:
        one.cache_clear()
    yield
    for one in asked:
        one.cache_clear()


def shares(found: Observations) -> dict[tuple[str, ...], float]:
    """The share of each stack."""
    assert found.stacks is not None
    names = [
        tuple(found.stacks.frames[frame] for frame in found.stacks.stacks[trace])
        for trace in found.trace[1:]
    ]
    return {
        stack: share
        for stack, share in zip(names, found.values["share"][1:], strict=True)
        if share is not None
    }


def used(folder: Path) -> float:
    """The processor time of all programs that ran there, in s, as they saw it themselves."""
    return sum(map(float, (folder / "used").read_text().split()))


# what is seen


@pytest.mark.slow
@PYSPY
def test_python_functions_are_named_by_class_and_file(python: Callable[[str], Run]) -> None:
    found = Samples().collect(python(BUSY))
    assert found.engine == "py-spy/1"
    stacks = shares(found)
    hot = ("<module> (program.py)", "main (program.py)", "Heap.push (program.py)")
    assert stacks[hot] > 0.5
    assert sum(stacks.values()) == pytest.approx(1)
    assert found.uid[0] == "job" and found.uid[1:] == [stack[-1] for stack in stacks]


@pytest.mark.slow
@PERF
@pytest.mark.needs("gcc")
def test_compiled_functions_are_seen_below_main(compiled: Callable[..., Run]) -> None:
    found = Samples().collect(compiled())
    assert found.engine.startswith("perf-")
    stacks = shares(found)
    below = ("main (sort)", "outer (sort)", "inner (sort)")
    # a busy machine interrupts it: the kernel is below it then
    assert sum(share for stack, share in stacks.items() if stack[:3] == below) > 0.8
    assert not [
        frame
        for stack in stacks
        for frame in stack
        if "0x" in frame or "@" in frame or str(Path.cwd()) in frame
    ]


@pytest.mark.slow
@PERF
@pytest.mark.needs("gcc")
def test_frame_pointers_do_where_the_program_has_them(compiled: Callable[..., Run]) -> None:
    collector = Samples(unwind="fp")
    found = collector.collect(compiled(*collector.flags("sort"), "-fno-optimize-sibling-calls"))
    assert found.engine.startswith("perf-fp")
    assert (
        sum(
            share
            for stack, share in shares(found).items()
            if stack[0] == "main (sort)" and stack[-1] == "inner (sort)"
        )
        > 0.8
    )


@pytest.mark.slow
@PERF
@pytest.mark.needs("gcc")
def test_a_static_program_is_seen_too(compiled: Callable[..., Run]) -> None:
    stacks = shares(Samples().collect(compiled("-static")))
    assert sum(share for stack, share in stacks.items() if stack[-1] == "inner (sort)") > 0.8


@pytest.mark.slow
@PERF
@pytest.mark.needs("gcc")
def test_frame_pointers_find_the_callers_in_a_static_program(compiled: Callable[..., Run]) -> None:
    found = Samples(unwind="fp").collect(
        compiled("-static", *linux.FRAME_POINTERS, "-fno-optimize-sibling-calls")
    )
    assert (
        sum(
            share
            for stack, share in shares(found).items()
            if stack[0] == "main (sort)" and stack[-1] == "inner (sort)"
        )
        > 0.8
    )
    assert not found.warnings


@pytest.mark.parametrize(("alone", "warned"), [(3, True), (2, False)])
def test_stacks_without_callers_are_reported_with_the_cure(
    run: Callable[..., Run],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    alone: int,
    warned: bool,
) -> None:
    text = (
        "\t1 inner (/bin/sort)\n\n" * alone + "\t1 inner (/bin/sort)\n\t2 main (/bin/sort)\n\n" * 2
    )
    there(monkeypatch, str(tool(tmp_path, f"cat <<'END'\n{text}\nEND")))
    prepared = run("/bin/true")
    (prepared.scratch / linux.DATA).touch()
    found = linux.LinuxPerf(unwind="dwarf").read(prepared, prepared.scratch, "")
    assert [
        warning
        for warning in found.warnings
        if 'unwind = "fp", which static programs need' in warning
    ] == found.warnings
    assert bool(found.warnings) == warned


@pytest.mark.slow
@PERF
@pytest.mark.needs("gcc")
def test_the_time_is_that_of_the_processor(compiled: Callable[..., Run]) -> None:
    prepared = compiled()
    found = Samples().collect(prepared)
    (lost,) = found.values["lost"][:1]
    assert (found.values["busy"][0] or 0) + (lost or 0) / 997 == pytest.approx(
        used(prepared.cwd), rel=0.3
    )
    assert found.values["samples"][0] == sum(value or 0 for value in found.values["samples"][1:])
    assert found.values["busy"][0] == pytest.approx((found.values["samples"][0] or 0) / 997)
    assert found.values["rate"][0] == 997 and len(found.warnings) == bool(lost)


@pytest.mark.slow
@PERF
@pytest.mark.needs("gcc")
def test_child_processes_are_seen(compiled: Callable[..., Run]) -> None:
    prepared = compiled()
    found = Samples().collect(
        replace(prepared, argv=("/bin/sh", "-c", "./sort & ./sort & ./sort & ./sort; wait"))
    )
    assert (found.values["busy"][0] or 0) > 0.7 * used(prepared.cwd)


@pytest.mark.slow
@PYSPY
def test_two_checkouts_have_the_same_stacks(python: Callable[[str], Run]) -> None:
    first, second = python(BUSY), python(f"# another line\n\n{BUSY}")
    assert first.cwd != second.cwd
    hottest = [
        max(shares(found), key=shares(found).__getitem__)
        for found in map(Samples().collect, (first, second))
    ]
    assert hottest[0] == hottest[1]


@pytest.mark.slow
@PYSPY
def test_the_machinery_of_imports_is_one_frame(python: Callable[[str], Run]) -> None:
    prepared = python("import slow")
    (prepared.cwd / "slow.py").write_text(BUSY)
    stacks = shares(Samples().collect(prepared))
    assert (
        stacks[
            "<module> (program.py)",
            "[import]",
            "<module> (slow.py)",
            "main (slow.py)",
            "Heap.push (slow.py)",
        ]
        > 0.5
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("language", "rate"),
    [pytest.param("native", 1, marks=PERF), pytest.param("python", 1, marks=PYSPY)],
)
def test_a_program_that_ends_at_once_is_no_failure(
    run: Callable[..., Run], language: str, rate: int
) -> None:
    argv = ("/bin/true",) if language == "native" else (sys.executable, "-c", "")
    found = Samples(rate=rate, language=language).collect(run(*argv))  # type: ignore[arg-type]
    assert found.values["samples"][0] in (0, 1) and found.engine
    if not found.values["samples"][0]:
        assert found.values["busy"] == [None]
        assert found.warnings == [
            f"samples: {' '.join(argv) if argv[-1] else argv[0] + ' -c ' + chr(39) * 2} was never"
            " seen running: give it more to do, or raise rate"
        ]


# the program runs as it would alone

ALONE = """
import os, signal, sys
environment = open('/proc/self/environ', 'rb').read()
assert environment == b'PATH=' + os.environb[b'PATH'] + b'\\0LC_ALL=C.UTF-8\\0', environment
opened = sorted(os.listdir('/proc/self/fd'))
assert opened == ['0', '1', '2', '3'], opened
for number in range(1, 32):
    if number not in (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):
        assert signal.getsignal(number) in (signal.SIG_DFL, None), number
ignored = [line for line in open('/proc/self/status') if line.startswith('SigIgn')][0]
assert int(ignored.split()[1], 16) & (1 << 31) - 1 == 1 << 12 | 1 << 24, ignored
assert sys.argv == ['program.py'], sys.argv
assert os.getsid(0) == os.getpid()
try:
    os.waitpid(-1, os.WNOHANG)
except ChildProcessError:
    pass
else:
    raise SystemExit('there is a child')
"""


# without the compiled launcher there is a variable by which daemons are found
@pytest.mark.needs("cc")
@pytest.mark.parametrize(
    "language", [pytest.param("native", marks=PERF), pytest.param("python", marks=PYSPY)]
)
def test_environment_descriptors_signals_and_children_are_the_programs_own(
    python: Callable[[str], Run], language: str
) -> None:
    Samples(language=language).collect(python(ALONE))  # type: ignore[arg-type]


@PERF
@pytest.mark.needs("gcc")
def test_a_program_starts_with_the_signals_as_by_default(compiled: Callable[..., Run]) -> None:
    source = (
        "#include <signal.h>\nint main(void) { return signal(SIGPIPE, SIG_DFL) != SIG_DFL ||"
        " signal(SIGXFSZ, SIG_DFL) != SIG_DFL; }"
    )
    Samples().collect(compiled(source=source))


@pytest.mark.slow
@pytest.mark.parametrize(
    "language", [pytest.param("native", marks=PERF), pytest.param("python", marks=PYSPY)]
)
def test_a_program_that_leaves_its_place_is_still_seen(
    python: Callable[[str], Run], language: str
) -> None:
    leaving = (
        "import os, signal\nos.closerange(0,"
        " 256)\nos.chdir('/')\nos.environ.clear()\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    )
    found = Samples(language=language).collect(python(leaving + BUSY))  # type: ignore[arg-type]
    assert (found.values["busy"][0] or 0) > 0.2


@pytest.mark.parametrize(
    "language", [pytest.param("native", marks=PERF), pytest.param("python", marks=PYSPY)]
)
def test_a_program_that_a_signal_ends_is_named(python: Callable[[str], Run], language: str) -> None:
    collector = Samples(language=language)  # type: ignore[arg-type]
    with pytest.raises(CollectError, match=r"program\.py was killed by SIGSEGV: it broke"):
        collector.collect(
            python(
                "import os, sys; print('it broke', file=sys.stderr, flush=True);"
                " os.kill(os.getpid(), 11)"
            )
        )


@pytest.mark.parametrize(
    "language", [pytest.param("native", marks=PERF), pytest.param("python", marks=PYSPY)]
)
def test_a_program_reads_its_input(
    python: Callable[[str], Run], tmp_path: Path, language: str
) -> None:
    (tmp_path / "input").write_text("words\n")
    script = "import sys; assert sys.stdin.read() == 'words\\n'; sum(range(30_000_000))"
    Samples(language=language).collect(  # type: ignore[arg-type]
        replace(python(script), stdin=tmp_path / "input")
    )


@pytest.mark.slow
@PERF
def test_processes_left_running_are_stopped_and_reported(
    run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampler, "END_SECONDS", 3.0)
    found = Samples().collect(run("/bin/sh", "-c", "sleep 973.25 & exit 0"))
    assert found.warnings[-1].endswith(
        "left processes running, which perf stopped: wait for what it starts"
    )
    assert not [entry for entry in Path("/proc").glob("[0-9]*/cmdline") if b"973.25" in read(entry)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "language", [pytest.param("native", marks=PERF), pytest.param("python", marks=PYSPY)]
)
def test_a_program_that_takes_too_long_is_stopped_with_its_sampler(
    python: Callable[[str], Run], language: str
) -> None:
    prepared = replace(python("import time; time.sleep(973.75)"), timeout=1.5)
    with pytest.raises(CollectError, match=r"time-out of 1\.5 s"):
        Samples(language=language).collect(prepared)  # type: ignore[arg-type]
    assert not [
        entry
        for entry in Path("/proc").glob("[0-9]*/cmdline")
        if bytes(prepared.scratch) in read(entry)
    ]


def read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


# what is missing or refused


def there(monkeypatch: pytest.MonkeyPatch, program: str | None) -> None:
    """Have this be the Linux perf that is found."""
    monkeypatch.setattr(linuxperf, "find", lambda *_: program)


def test_without_either_tool_both_cures_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pyspy, "_tool", lambda: None)
    there(monkeypatch, None)
    reason = Samples().available()
    assert (
        reason is not None
        and "pip install 'py-spy>=0.4'" in reason
        and "apt install linux-perf" in reason
    )


def test_one_of_the_tools_is_enough_until_the_other_is_needed(
    monkeypatch: pytest.MonkeyPatch, python: Callable[[str], Run]
) -> None:
    there(monkeypatch, "/usr/bin/perf")
    monkeypatch.setattr(linux, "_refused", lambda: None)
    monkeypatch.setattr(pyspy, "_tool", lambda: None)
    assert Samples().available() is None
    with pytest.raises(CollectError, match="samples needs py-spy for Python programs: pip install"):
        Samples().collect(python(BUSY))


def test_another_system_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert Samples().available() == "samples needs Linux: measure on a Linux machine"


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.EACCES, "may not use perf events here: sysctl kernel.perf_event_paranoid=2"),
        (errno.ENOSYS, r"has no perf events \(ENOSYS\)"),
    ],
)
@pytest.mark.usefixtures("forgetful")
def test_a_kernel_that_refuses_is_reported_with_the_cure(
    monkeypatch: pytest.MonkeyPatch, run: Callable[..., Run], number: int, words: str
) -> None:
    there(monkeypatch, "/usr/bin/perf")
    monkeypatch.setattr(linux, "_open", lambda **_: number)
    with pytest.raises(CollectError, match=words):
        Samples().collect(run("/bin/true"))


@pytest.mark.slow
@PERF
@pytest.mark.usefixtures("forgetful")
def test_where_the_kernel_may_not_be_seen_the_engine_is_another(
    monkeypatch: pytest.MonkeyPatch, run: Callable[..., Run]
) -> None:
    monkeypatch.setattr(linux, "_open", lambda *, kernel: errno.EACCES if kernel else 0)
    found = Samples().collect(
        run("/bin/sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done")
    )
    assert found.engine.endswith("-user/1")
    assert not [stack for stack in shares(found) if frames.KERNEL in stack]


def test_a_machine_whose_number_of_the_call_is_not_known_is_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("platform.machine", lambda: "vax")
    assert linux._open(kernel=False) == 0
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert linux._open(kernel=True) == errno.EACCES


def test_the_systems_own_refusal_is_its_error_number() -> None:
    if os.geteuid() == 0:
        assert linux._open(kernel=True) in (0, errno.EACCES, errno.EPERM, errno.ENOSYS)
    assert linux._open(kernel=False) in (0, errno.EACCES, errno.EPERM, errno.ENOSYS)


def test_a_program_with_anothers_rights_is_refused(
    run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared = run("")
    program = prepared.cwd / "program"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o4755)
    monkeypatch.setattr(os, "geteuid", lambda: os.stat(program).st_uid + 1)  # noqa: PTH116
    monkeypatch.setattr(linux.LinuxPerf, "missing", lambda *_: None)
    with pytest.raises(
        CollectError, match=r"is setuid, so that only root may sample it: run perf as root"
    ):
        Samples().collect(replace(prepared, argv=(str(program),)))


def tool(folder: Path, script: str) -> Path:
    """A tool of our own in the place of a sampler."""
    path = folder / "tool"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            "Error: Permission Denied: Try running again as root",
            "is not allowed to read it: sysctl kernel.yama.ptrace_scope=0",
        ),
        (
            "Error: Failed to find python version from target",
            "py-spy failed: Error: Failed to find python.*: is it a Python",
        ),
        ("it is\nbroken", "py-spy failed: it is broken: is it"),
    ],
)
def test_a_py_spy_that_fails_is_reported(
    python: Callable[[str], Run],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    said: str,
    words: str,
) -> None:
    failed = tmp_path / "failed"
    path = tool(tmp_path, f"cat >&2 <<'END'\n{said}\nEND\n: >{failed}; exit 1")
    monkeypatch.setattr(pyspy, "_tool", lambda: str(path))
    with pytest.raises(CollectError, match=words) as caught:
        Samples().collect(
            python(f"import os, time\nwhile not os.path.exists({str(failed)!r}): time.sleep(0.01)")
        )
    assert "\n" not in str(caught.value)


READY = (
    'for word in "$@"; do case $word in --control=*) fds=${word#--control=fd:};; esac; done; '
    "read -r line <&${fds%,*}; printf 'ack\\n' >&${fds#*,}"
)


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo cannot >&2; exit 1", r"record did not start: cannot"),
        ("exit 1", r"record did not start: it said nothing"),
        ("rm $0; exec /no/such/tool", "did not start"),
        (
            f"case $1 in record) {READY};; script) exit 0;; esac",
            "perf recorded nothing: it said nothing",
        ),
        (
            (
                f'case $1 in record) {READY}; touch "$(eval echo \\${{$#}})";; script) echo damaged'
                " >&2; exit 3;; esac"
            ),
            "perf script failed with status 3: damaged",
        ),
    ],
)
def test_a_perf_that_does_not_start_or_writes_nothing_of_use_is_reported(
    run: Callable[..., Run],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    script: str,
    words: str,
) -> None:
    path = tool(tmp_path, script)
    there(monkeypatch, str(path))
    monkeypatch.setattr(linux.LinuxPerf, "missing", lambda *_: None)
    with pytest.raises(CollectError, match=words):
        Samples(unwind="fp").collect(run("/bin/true"))


def test_a_tool_that_is_no_program_is_reported(
    run: Callable[..., Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there(monkeypatch, str(tmp_path / "gone"))
    monkeypatch.setattr(linux.LinuxPerf, "missing", lambda *_: None)
    with pytest.raises(CollectError, match=r"did not start: Error: .*gone: No such file"):
        Samples(unwind="fp").collect(run("/bin/true"))


@PERF
def test_a_program_that_the_system_cannot_start_is_reported(run: Callable[..., Run]) -> None:
    prepared = run("")
    (prepared.cwd / "data").write_bytes(b"\x7fELF nothing")
    (prepared.cwd / "data").chmod(0o755)
    with pytest.raises(CollectError, match="data"):
        Samples().collect(replace(prepared, argv=(str(prepared.cwd / "data"),)))


@pytest.mark.parametrize("rate", [0, -1, 20_001, True])
def test_a_rate_that_cannot_be_is_refused(rate: int) -> None:
    with pytest.raises(UsageError, match=r"samples`?: rate"):
        plugins.build("collectors", "samples", {"rate": rate}, "here")


def test_the_language_is_that_of_the_command(tmp_path: Path) -> None:
    for name, first, expected in (
        ("python3.12", b"", True),
        ("work.py", b"", True),
        ("tool", b"#!/usr/bin/env python3\n", True),
        ("tool", b"#!/bin/sh\n", False),
        ("tool", b"\x7fELF", False),
    ):
        (tmp_path / name).write_bytes(first)
        assert Samples()._is_python(str(tmp_path / name)) is expected, name
    assert not Samples()._is_python(str(tmp_path / "missing"))
    assert Samples(language="python")._is_python("/bin/sh") and not Samples(
        language="native"
    )._is_python("python3")


# names


@each(
    "symbol name",
    [
        ("malloc", "malloc"),
        ("cfree@GLIBC_2.2.5", "cfree"),
        ("__libc_start_main@@GLIBC_2.34", "__libc_start_main"),
        ("unlink_chunk.constprop.0", "unlink_chunk"),
        ("work.part.3.isra.0", "work"),
        ("work [clone .cold]", "work"),
        ("core::slice::sort::h0123456789abcdef", "core::slice::sort"),
        ("", "[unknown]"),
        ("[unknown]", "[unknown]"),
        ("0x00007f12", "[unknown]"),
        ("added", "added"),
        ("operator<<", "operator<<"),
        ("operator->", "operator->"),
        (
            (
                "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char>"
                " >::_M_replace"
            ),
            "std::string::_M_replace",
        ),
        ("std::vector<int, std::allocator<int> >::push_back", "std::vector<int>::push_back"),
        (
            "std::map<int, long, std::less<int>, std::allocator<std::pair<int const, long> > >::at",
            "std::map<int, long>::at",
        ),
        ("Box<unsigned long>::total", "Box<unsigned long>::total"),
        ("(anonymous namespace)::hidden", "(anonymous namespace)::hidden"),
        ("a\nb\x1b[31m", "a?b?[31m"),
        ("broken<int, std::allocator<int", "broken<int, std::allocator<int"),
    ],
)
def test_a_symbol_is_reported_as_in_the_source(symbol: str, name: str) -> None:
    assert frames.function(symbol) == name


def test_long_template_arguments_are_left_out_from_the_inside() -> None:
    deep = frames.function("outer<" * 30 + "int" + " >" * 30 + "::work")
    assert (
        deep.startswith("outer<outer<")
        and deep.endswith("…>>>>>>>>>>>>>>>>>>>>>::work")
        and len(deep) <= frames.FRAME_NAME_WIDTH
    )
    assert frames.function("sort<" + "first<int>, " * 30 + "last>::go") == "sort<…>::go"
    assert len(frames.function("a" * 5000)) == frames.FRAME_NAME_WIDTH


@given(st.text(max_size=300))
def test_any_symbol_has_a_printable_name_of_bounded_length_that_stays(symbol: str) -> None:
    name = frames.function(symbol)
    assert name and name.isprintable() and len(name) <= frames.FRAME_NAME_WIDTH
    assert frames.function(name).isprintable()


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/home/me/p/pkg/a.py", "pkg/a.py"),
        ("pkg/a.py", "pkg/a.py"),
        ("/usr/lib/python3.11/json/decoder.py", "json/decoder.py"),
        ("/home/me/p/.venv/lib/python3.11/site-packages/numpy/core/x.py", "numpy/core/x.py"),
        ("/usr/lib/python3/dist-packages/x.py", "x.py"),
        ("/tmp/pytest-8/build/helper.py", "helper.py"),
        ("/", "[unknown]"),
        ("", "[unknown]"),
    ],
)
def test_a_path_is_the_same_in_every_checkout(path: str, place: str) -> None:
    assert frames.place(path, "/home/me/p") == place


@pytest.mark.parametrize(
    ("image", "frame"),
    [
        ("/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30", "f (libstdc++.so.6)"),
        ("/usr/lib/libc.so.6", "f (libc.so.6)"),
        ("/home/me/p/build/sort", "f (build/sort)"),
        ("[unknown]", "f"),
        ("", "f"),
        ("[kernel.kallsyms]", "[kernel]"),
        ("[vdso]", "f ([vdso])"),
        ("/x/libown.so", "f (libown.so)"),
    ],
)
def test_a_library_loses_its_place_and_its_small_versions(image: str, frame: str) -> None:
    assert frames.native("f", image, "/home/me/p") == frame


# what the tools write

STACKS = st.dictionaries(
    st.lists(st.sampled_from(["main", "f", "g", "h<int>"]), min_size=1, max_size=6).map(tuple),
    st.integers(1, 5),
    max_size=8,
)


@given(STACKS, st.lists(st.integers(0, 50), max_size=3))
def test_what_perf_script_writes_is_folded(
    stacks: dict[tuple[str, ...], int], lost: list[int]
) -> None:
    text = "".join(f" PERF_RECORD_LOST lost {count}\n" for count in lost)
    for stack, count in stacks.items():
        lines = "".join(
            f"\t    7f{number:04x} {name} (/bin/x)\n" for number, name in enumerate(reversed(stack))
        )
        text += f"\n{lines}\n" * count
    found = linux.fold(text.splitlines(keepends=True), "/")
    assert found.total == sum(stacks.values()) and found.lost == sum(lost)
    expected: dict[tuple[str, ...], int] = {}
    for stack, count in stacks.items():
        named = tuple(f"{name} (x)" for name in stack)
        named = named if stack[0] == "main" else (TRUNCATED, *named)
        expected[named] = expected.get(named, 0) + count
    assert found.stacks == expected


@pytest.mark.parametrize(
    ("leaf_first", "stack"),
    [
        (
            ["f (x)", "main (x)", "__libc_start_call_main (libc.so.6)", "_start (x)"],
            ("main (x)", "f (x)"),
        ),
        (
            ["f (x)", "start_thread (libc.so.6)", "clone3 (libc.so.6)"],
            ("clone3 (libc.so.6)", "start_thread (libc.so.6)", "f (x)"),
        ),
        (
            ["[kernel]", "[kernel]", "f (x)", "main (x)", "_start (x)"],
            ("main (x)", "f (x)", "[kernel]"),
        ),
        (["[kernel]"], ("[kernel]",)),
        (["f (x)"], (TRUNCATED, "f (x)")),
        (["f (x)", "[unknown]", "[unknown]"], (TRUNCATED, "f (x)")),
        (["[unknown]"], ("[unknown]",)),
        (
            ["f (x)", "main (x)", "__libc_start_call_main (x)", "__do_global_dtors_aux (x)"],
            ("main (x)", "f (x)"),
        ),
        (["main (y)", "f (x)"], (TRUNCATED, "f (x)", "main (y)")),
    ],
)
def test_a_stack_begins_at_main_or_says_that_its_beginning_is_not_known(
    leaf_first: list[str], stack: tuple[str, ...]
) -> None:
    assert linux.normal(leaf_first) == stack


def test_a_last_sample_without_an_empty_line_counts() -> None:
    assert linux.fold(["  7f00 main (/bin/x)\n", "nonsense\n"], "/").stacks == {("main (x)",): 1}


def test_what_is_too_much_is_refused(
    monkeypatch: pytest.MonkeyPatch, run: Callable[..., Run]
) -> None:
    monkeypatch.setattr("perfvcs.collectors.samples.sampler.MOST_STACKS", 3)
    found = Folded()
    with pytest.raises(CollectError, match="over 3 different stacks: lower rate"):
        for number in range(4):
            found.add((str(number),), 1)
    monkeypatch.setattr(linux, "LARGEST_REPORT", 5)
    with pytest.raises(CollectError, match="perf wrote over 0 GiB"):
        list(linux._bounded(["abc", "def"]))
    prepared = run("/bin/true")
    (prepared.scratch / pyspy.REPORT).write_text("{      }")
    monkeypatch.setattr(pyspy, "LARGEST_REPORT", 5)
    with pytest.raises(CollectError, match="py-spy wrote over 0 GiB"):
        pyspy.PySpy().read(prepared, prepared.scratch, "")


@pytest.mark.slow
@PYSPY
def test_of_a_deep_recursion_root_and_leaf_are_kept(python: Callable[[str], Run]) -> None:
    recursion = (
        "import sys\nsys.setrecursionlimit(5000)\ndef down(n):\n    return down(n - 1) if n else"
        f" main()\n{BUSY[:-8]}\ndown(2000)\n"
    )
    stacks = shares(Samples().collect(python(recursion)))
    # a sample may fall on the way down
    deepest = max(stacks, key=lambda stack: (len(stack), stacks[stack]))
    assert len(deepest) == MOST_FRAMES + 1 and deepest[:2] == (
        "<module> (program.py)",
        "down (program.py)",
    )
    assert deepest[MOST_FRAMES // 2] == LEFT_OUT_FRAMES and deepest[-2:] == (
        "main (program.py)",
        "Heap.push (program.py)",
    )


def folded(run: Run, *stacks: tuple[list[tuple[str, str | None]], int], said: str = "") -> Folded:
    """What is read of a report with so many samples of each stack, each stack a thread of its
    own.
    """
    frames = list(dict.fromkeys(frame for stack, _ in stacks for frame in stack))
    report = {
        "shared": {"frames": [{"name": name, "file": file, "line": None} for name, file in frames]},
        "profiles": [
            {"samples": [[frames.index(frame) for frame in stack]] * count, "unit": "seconds"}
            for stack, count in stacks
        ],
    }
    (run.scratch / pyspy.REPORT).write_text(json.dumps(report))
    return pyspy.PySpy().read(run, run.scratch, said)


def test_what_py_spy_writes_is_folded_over_processes(run: Callable[..., Run]) -> None:
    prepared = run("/bin/true")
    module, function = ("<module>", f"{prepared.cwd}/x.py"), ("f", f"{prepared.cwd}/x.py")
    first, second = (
        ('process 12:"python -c exec(\'f(";")\') 5\n\nf() 7"', ""),
        ('process 13:"python"', ""),
    )
    loading, site = (
        [(name, "<frozen importlib._bootstrap>") for name in ("_find_and_load", "_load")],
        ("<module>", "<frozen site>"),
    )
    threads = (
        ([first, module, function], 3),
        ([first, second, module, function], 2),
        ([second], 4),
        ([("odd", None)], 1),
        ([*loading, site], 1),
    )
    found = folded(prepared, *threads, said="Samples: 100 Errors: 20\n")
    assert found.stacks == {
        ("<module> (x.py)", "f (x.py)"): 5,
        ("[interpreter]",): 4,
        ("odd (<unknown>)",): 1,
        ("[import]", "<module> (<frozen site>)"): 1,
    }
    assert found.lost == 20 and found.warnings == [
        "samples: py-spy could not read 20 of 120 samples"
    ]
    assert folded(prepared, *threads, said="Samples: 100 Errors: 1\n").warnings == []


def test_what_shuffles_the_heap_is_in_no_sample(run: Callable[..., Run]) -> None:
    prepared = run("/bin/true")
    module = ("<module>", f"{prepared.cwd}/x.py")
    own = ("<module>", f"{start_folder()}/sitecustomize.py")
    shuffle = ("shuffle", f"{start_folder()}/perfvcs_shuffle.py")
    loading = ("_find_and_load", "<frozen importlib._bootstrap>")
    theirs = ("<module>", f"{prepared.cwd}/sitecustomize.py")
    found = folded(
        prepared,
        ([module], 5),
        ([own, shuffle], 3),
        ([own, loading], 2),
        ([own, loading, theirs], 1),
    )
    assert found.stacks == {("<module> (x.py)",): 5, ("[import]", "<module> (sitecustomize.py)"): 1}


@pytest.mark.slow
@PYSPY
def test_a_child_with_a_program_of_several_lines_as_its_command_has_its_own_frames_and_counts(
    python: Callable[[str], Run],
) -> None:
    programs = (
        "x = 5000000\nwhile x: x -= 1",
        "def child():\n    t = 0\n    while t < 20000000: t += 1\nchild()",
        'exec("for i in range(6000000): pass");',
    )
    found = Samples().collect(
        python(
            f"import subprocess, sys\nfor one in {programs!r}: subprocess.run([sys.executable,"
            " '-c', one])"
        )
    )
    frames = set(found.stacks.frames if found.stacks else ())
    assert {"<module> (<string>)", "child (<string>)"} <= frames
    assert not [frame for frame in frames if "<unknown>" in frame or "process " in frame]
    # the machine may be busy, but not for the 50,000 s of that counter
    assert 0 < (found.values["busy"][0] or 0) < 600


@pytest.mark.parametrize(
    "text",
    [
        "",
        "f (x.py) 1\n",
        '{"shared": {"frames": []}, "profiles": [{"samples": [[0]]}]}',
        '{"profiles": []}',
    ],
)
def test_a_report_that_makes_no_sense_is_refused(run: Callable[..., Run], text: str) -> None:
    prepared = run("/bin/true")
    (prepared.scratch / pyspy.REPORT).write_text(text)
    with pytest.raises(
        CollectError, match="what py-spy wrote cannot be read: update it: pip install"
    ):
        pyspy.PySpy().read(prepared, prepared.scratch, "")


# profiles


def test_executions_share_their_stacks() -> None:
    from perfvcs.profile import Metric, Stacks

    def seen(*stacks: str, trace: bool = True) -> Observations:
        names = sorted({frame for stack in stacks for frame in stack})
        rows = len(stacks) + 1
        return Observations(
            uid=["job", *(stack[-1] for stack in stacks)],
            size=[None] * rows,
            iteration=[0] * rows,
            mark=[0] * rows,
            values={"samples": [1.0] * rows},
            metrics={"samples": Metric("")},
            trace=[-1, *range(len(stacks))] if trace else [],
            stacks=(
                Stacks(names, [[names.index(frame) for frame in stack] for stack in stacks])
                if trace
                else None
            ),
        )

    recorded = JobRecording()
    for number, one in enumerate(
        (seen(trace=False), seen("ab", "ac"), seen("ac", "bc"), seen(trace=False))
    ):
        recorded.add(one, number, 0)
    stacks, rows = recorded.stacks(), recorded.resources()
    assert stacks is not None and rows.trace is not None and len(rows.trace) == len(rows)
    named = [
        "".join(stacks.frames[frame] for frame in stacks.stacks[trace]) if trace >= 0 else ""
        for trace in rows.trace
    ]
    assert named == ["", "", "ab", "ac", "", "ac", "bc", ""] and len(stacks.stacks) == 3
    assert JobRecording().stacks() is None


@PYSPY
def test_a_commits_stacks_are_stored_drawn_and_not_judged_one_by_one(project, perf) -> None:  # type: ignore[no-untyped-def]
    project.configure(f'cmd = "{sys.executable} work.py"\ncollectors = ["samples"]')
    project.commit(**{"work.py": BUSY})
    assert "busy" in perf("collect").out
    project.commit(**{"work.py": BUSY.replace("Heap", "Tree")})
    perf("collect")
    checked = perf("check", "HEAD~1", "HEAD", code=None).out
    assert "busy" in checked and "push" not in checked
    repository = Repository.find()
    (profile,) = repository.profiles(
        [one.header for one in repository.measured(repository.state("HEAD"))]
    )
    assert decode(profile.encode()).stacks == profile.stacks and profile.job.engine == "py-spy/1"
    perf("show", "HEAD", "-o", "page.html", "--no-open")
    assert (project.root / "page.html").read_text().count('data-view="flamegraph"') == 1
    perf("show", "--view", "flamegraph", "-o", "page.html", "--no-open")
    assert (project.root / "page.html").read_text().count("data-view=") == 1


# the script that starts both


def attached(
    tmp_path: Path, sampler: list[str], program: list[str], **env: str
) -> subprocess.CompletedProcess[str]:
    words = [
        sys.executable,
        "-I",
        "-S",
        attach.__file__,
        str(tmp_path / "report"),
        str(tmp_path / "log"),
        "0",
        str(len(sampler)),
        *sampler,
    ]
    return subprocess.run(
        [*words, *program], env=env, capture_output=True, text=True, check=False, timeout=300
    )


def test_a_sampler_is_asked_to_end_and_then_made_to(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    trap = f"trap 'echo asked; exit 0' INT; : >{ready}; while :; do sleep 0.05; done"
    path = tool(tmp_path, trap)
    program = f"until [ -e {ready} ]; do /bin/sleep 0.01; done; echo said"
    done = attached(tmp_path, [str(path), "{pid}"], ["/bin/sh", "-c", program], A="b c")
    assert (done.returncode, done.stdout, done.stderr) == (0, "said\n", "")
    assert happens(lambda: (tmp_path / "log").read_text() == "asked\n")


def test_a_program_that_cannot_be_started_leaves_its_reason(tmp_path: Path) -> None:
    done = attached(tmp_path, ["/bin/true"], [str(tmp_path)])
    assert done.returncode == attach.NOT_STARTED and (tmp_path / "report").read_text() == str(
        errno.EACCES
    )
