"""What native programs allocate, against programs that tell it themselves, and how the collector
bears what programs do.
"""

from __future__ import annotations

import os
import re
import resource
import subprocess
from collections.abc import Callable
from pathlib import Path

import heaps
import numpy as np
import pytest
from heaps import COLUMNS, Known, measured, of_functions, run_of, stacks_of, whole
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import observed

from perfvcs import plugins
from perfvcs.collectors._shared import symbols
from perfvcs.collectors.memory import census, heap, shim
from perfvcs.collectors.memory.heap import AllocationSite, HeapFrame, largest, owner, text
from perfvcs.errors import UsageError
from perfvcs.plugins.collector import CollectError

pytestmark = [pytest.mark.needs("gcc"), pytest.mark.needs("g++")]
KNOWN = heaps.programs()
Build = Callable[..., Path]
HEAD, SITE = np.dtype(census.HEAD_FIELDS), np.dtype(census.SITE)


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """Compile a source text as ``program``."""

    def make(source: str, *options: str, name: str = "program.c") -> Path:
        path = tmp_path / name
        path.write_text(source)
        return heaps.compile_(path, path.with_suffix(""), *options)

    return make


SMALL = """
#include <stdlib.h>
static volatile void *seen;
__attribute__((noinline)) static void inner(int n) { for (int i = 0; i < n; i++) seen = malloc(100); }
__attribute__((noinline)) static void outer(int n) { inner(n); }
int main(int count, char **words) { outer(count > 1 ? atoi(words[1]) : 10); return 0; }
"""


def test_there_are_programs_for_everything_that_allocates() -> None:
    text = "".join(one.source.read_text() for one in KNOWN)
    assert len(KNOWN) >= 12
    for word in (
        "realloc",
        "calloc",
        "reallocarray",
        "aligned_alloc",
        "pthread_create",
        "fork",
        "exec",
        "dlclose",
        "new (",
        "constructor",
    ):
        assert word in text, word


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: known.source.name)
def test_a_program_with_known_allocations_is_counted_exactly(known: Known, tmp_path: Path) -> None:
    found = measured((str(known.build(tmp_path)),), tmp_path)
    assert of_functions(found, known.functions) == known.totals
    sums = {name: sum(value or 0.0 for value in found.values[f"site_{name}"]) for name in COLUMNS}
    assert {name: whole(found)[name] for name in COLUMNS} == sums
    assert found.engine == "allocations/1" and not found.warnings


def test_what_is_counted_is_the_same_each_time(tmp_path: Path) -> None:
    known = next(one for one in KNOWN if one.source.name == "resized.c")
    argv = (str(known.build(tmp_path)),)
    first, second = measured(argv, tmp_path), measured(argv, tmp_path)
    assert first.uid == second.uid and first.stacks == second.stacks and first.trace == second.trace
    assert all(
        first.values[name] == second.values[name] for name in first.values if name != "moment"
    )


def test_a_site_has_its_allocator_and_its_callers_with_file_and_line(
    build: Build, tmp_path: Path
) -> None:
    found = measured((str(build(SMALL)),), tmp_path)
    (stack,) = stacks_of(found, "inner")
    assert stack[:4] == [
        "malloc",
        "inner (program.c:4)",
        "outer (program.c:5)",
        "main (program.c:6)",
    ]


def test_operator_new_is_named_as_the_allocator(tmp_path: Path) -> None:
    known = next(one for one in KNOWN if one.source.name == "news.cpp")
    found = measured((str(known.build(tmp_path)),), tmp_path)
    allocators = {stack[1].partition(" (lib")[0] for stack in stacks_of(found, "take()")}
    assert {
        "operator new(unsigned long)",
        "operator new(unsigned long, std::align_val_t)",
    } <= allocators


def test_depth_cuts_stacks_at_their_roots(build: Build, tmp_path: Path) -> None:
    found = measured((str(build(SMALL)),), tmp_path, depth=2)
    assert stacks_of(found, "inner") == [["malloc", "inner (program.c:4)", "outer (program.c:5)"]]


def test_the_sites_that_are_not_kept_are_one_row(tmp_path: Path) -> None:
    known = next(one for one in KNOWN if one.source.name == "recursive.c")
    found = measured((str(known.build(tmp_path)),), tmp_path, sites=3)
    assert (
        found.uid.count("tree")
        - sum(found.iteration[row] > 0 for row, uid in enumerate(found.uid) if uid == "tree")
        == 3
    )
    sums = {name: sum(value or 0.0 for value in found.values[f"site_{name}"]) for name in COLUMNS}
    assert sums == known.totals
    other = found.uid.index("(other)")
    assert found.trace[other] == -1 and (found.values["site_count"][other] or 0) > 0


def test_the_course_of_a_life_has_few_parts_and_ends_with_what_is_left(
    build: Build, tmp_path: Path
) -> None:
    found = measured((str(build(SMALL)), "10000"), tmp_path)
    live = [
        found.values["live"][row] or 0.0
        for row, uid in enumerate(found.uid)
        if uid == "inner" and found.iteration[row]
    ]
    moments = [
        found.values["moment"][row] or 0.0
        for row, uid in enumerate(found.uid)
        if uid == "inner" and found.iteration[row]
    ]
    assert 16 <= len(live) <= 32
    assert live == sorted(live) and live[-1] == 1_000_000
    assert moments == sorted(moments)


def test_a_size_goes_with_every_row(build: Build, tmp_path: Path) -> None:
    from dataclasses import replace

    made = build(SMALL)
    found = plugins.build("collectors", "memory", {}, "here").collect(
        replace(run_of((str(made), "7"), tmp_path), size=7.0)
    )
    assert set(found.size) == {7.0} and len(found.size) == len(found.uid)


@pytest.mark.slow
def test_a_million_allocations_are_stored_in_under_a_megabyte(build: Build, tmp_path: Path) -> None:
    found = measured((str(build(SMALL)), "1000000"), tmp_path)
    assert whole(found)["count"] == 1_000_000
    assert len(observed(found).encode()) < 100_000


def test_calls_are_found_without_libunwind_too(build: Build, tmp_path: Path) -> None:
    for name in ("libunwind.so.8", "libunwind.so"):
        build("", "-shared", "-fPIC", name="empty.c").rename(tmp_path / name)
    found = measured((str(build(SMALL)),), tmp_path, env={"LD_LIBRARY_PATH": str(tmp_path)})
    assert [stack[:3] for stack in stacks_of(found, "inner")] == [
        ["malloc", "inner (program.c:4)", "outer (program.c:5)"]
    ]
    assert whole(found)["count"] == 10 and found.warnings == [
        "memory: call stacks are found slowly: apt install libunwind8"
    ]


# what programs do


def test_what_is_preloaded_already_stays(build: Build, tmp_path: Path) -> None:
    library = build(
        '#include <stdlib.h>\n__attribute__((constructor)) static void say(void) { setenv("SAID",'
        ' "3", 1); }',
        "-shared",
        "-fPIC",
        name="other.c",
    )
    made = build(SMALL.replace("count > 1 ? atoi(words[1]) : 10", 'atoi(getenv("SAID"))'))
    assert (
        of_functions(
            measured((str(made),), tmp_path, env={"LD_PRELOAD": str(library)}), ("inner",)
        )["count"]
        == 3
    )


def test_a_program_sees_its_own_output_and_arguments(build: Build, tmp_path: Path) -> None:
    made = build(
        '#include <stdio.h>\nint main(int n, char **w) { fprintf(stderr, "%d %s", n, w[1]); return'
        " 7; }"
    )
    with pytest.raises(CollectError, match=r"exited with status 7: 2 two words$"):
        measured((str(made), "two words"), tmp_path)


def test_a_signal_is_reported(build: Build, tmp_path: Path) -> None:
    with pytest.raises(CollectError, match="was killed by SIGABRT"):
        measured((str(build("#include <stdlib.h>\nint main(void) { abort(); }")),), tmp_path)


def test_daemons_and_ends_without_ceremony_are_counted(build: Build, tmp_path: Path) -> None:
    source = """
    #include <stdlib.h>
    #include <signal.h>
    #include <unistd.h>
    static volatile void *seen;
    __attribute__((noinline)) static void take(void) { seen = malloc(100); }
    int main(void) {
        int ended[2];
        char none;
        if (pipe(ended)) return 1;
        signal(SIGTERM, SIG_IGN);
        if (!fork()) { setsid(); if (!fork()) { take(); take(); kill(getpid(), SIGKILL); } _exit(0); }
        take();
        close(ended[1]);
        return read(ended[0], &none, 1);
    }
    """
    assert whole(measured((str(build(source)),), tmp_path))["count"] == 3


@pytest.mark.slow
def test_threads_that_fork_while_others_allocate_do_not_hang(build: Build, tmp_path: Path) -> None:
    source = """
    #include <pthread.h>
    #include <stdlib.h>
    #include <sys/wait.h>
    #include <unistd.h>
    static volatile int over;
    static void *churn(void *data) { while (!over) free(malloc(50)); return data; }
    int main(void) {
        pthread_t threads[3];
        for (int i = 0; i < 3; i++) pthread_create(&threads[i], 0, churn, 0);
        for (int i = 0; i < 20; i++) { if (!fork()) { for (int j = 0; j < 10; j++) free(malloc(70)); _exit(0); } }
        while (wait(0) > 0) ;
        over = 1;
        for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
        return 0;
    }
    """
    found = measured((str(build(source)),), tmp_path)
    rows = [
        row
        for row, uid in enumerate(found.uid)
        if uid == "main" and found.values["site_count"][row]
    ]
    assert (
        sum(
            found.values["site_count"][row] or 0
            for row in rows
            if found.values["site_bytes"][row] == 70 * 200
        )
        == 200
    )


def test_a_shell_script_is_measured_with_what_it_starts(build: Build, tmp_path: Path) -> None:
    made = build(SMALL)
    script = tmp_path / "work.sh"
    script.write_text(f"#!/bin/sh\n{made} 5\n{made} 6\n")
    script.chmod(0o755)
    assert of_functions(measured((str(script),), tmp_path), ("inner",))["count"] == 11


def test_errno_is_left_alone(build: Build, tmp_path: Path) -> None:
    source = """
    #include <errno.h>
    #include <stdlib.h>
    int main(void) {
        errno = 77;
        for (int i = 0; i < 100000; i++) free(malloc(i));
        if (errno != 77) return 1;
        return reallocarray(0, (size_t)1 << 40, (size_t)1 << 40) || errno != ENOMEM;
    }
    """
    assert whole(measured((str(build(source)),), tmp_path))["count"] == 100_000


def test_many_live_blocks_grow_the_table(build: Build, tmp_path: Path) -> None:
    source = """
    #include <stdlib.h>
    static void *all[200000];
    int main(void) {
        for (int round = 0; round < 3; round++) {
            for (int i = 0; i < 200000; i++) all[i] = malloc(8);
            for (int i = 0; i < 200000; i++) free(all[(i * 7919L) % 200000]);
        }
        return 0;
    }
    """
    totals = whole(measured((str(build(source)),), tmp_path))
    assert totals["count"] == 600_000 and totals["peak"] == 1_600_000 and totals["leaked"] == 0


# what cannot be measured


def test_a_static_program_is_refused_with_the_cure(build: Build, tmp_path: Path) -> None:
    with pytest.raises(CollectError, match=r"linked statically.*without -static"):
        measured((str(build(SMALL, "-static")),), tmp_path)


def test_another_users_rights_are_refused(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    made = build(SMALL)
    made.chmod(0o4755)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(CollectError, match="setuid"):
        heap.check(str(made))


OWN = """
#include <stddef.h>
static char pool[1 << 20];
static size_t used;
%s void *malloc(size_t size) { used += size; return pool + used - size; }
%s void free(void *p) { (void)p; }
int main(void) { for (int i = 0; i < 10; i++) free(malloc(100)); return 0; }
"""


def test_a_malloc_of_the_programs_own_is_reported(build: Build, tmp_path: Path) -> None:
    with pytest.raises(
        CollectError,
        match=r"its own allocator and never through the C library's malloc: build it without",
    ):
        measured((str(build(OWN % ("", ""), "-rdynamic")),), tmp_path)


def test_a_program_that_allocates_nothing_has_zeros(build: Build, tmp_path: Path) -> None:
    found = measured((str(build("int main(void) { return 0; }")),), tmp_path)
    assert found.uid == ["whole"] and not found.warnings
    assert whole(found) == {"count": 0, "bytes": 0, "peak": 0, "leaked": 0, "mapped": 0}


def test_one_that_only_a_part_uses_is_a_warning(build: Build, tmp_path: Path) -> None:
    source = "#include <stdlib.h>\n#include <string.h>\n" + OWN.replace(
        "#include <stddef.h>", ""
    ).replace("return 0", 'return strdup("some") == 0') % (
        "__attribute__((noinline)) static",
        "__attribute__((noinline)) static",
    )
    source = source.replace("#include <stdlib.h>\n", "")
    found = measured((str(build(source)),), tmp_path)
    assert found.warnings == [
        f"memory: {tmp_path / 'program'} contains its own malloc: memory allocated with it is not"
        " seen"
    ]


def test_an_address_of_malloc_is_no_malloc_of_its_own(build: Build, tmp_path: Path) -> None:
    source = (
        "#include <stdlib.h>\nvoid *(*volatile take)(size_t) = malloc;\nint main(void) { return"
        " take(100) == 0; }"
    )
    found = measured((str(build(source, "-no-pie", "-fno-pic")),), tmp_path)
    assert whole(found)["bytes"] == 100 and not found.warnings


def test_memory_taken_from_the_system_is_reported_and_summed(build: Build, tmp_path: Path) -> None:
    source = """
    #include <stdlib.h>
    #include <sys/mman.h>
    static volatile void *seen;
    int main(void) {
        seen = malloc(10);
        for (int i = 0; i < 3; i++) mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return mmap(0, 0, 0, 0, -1, 0) != MAP_FAILED;
    }
    """
    found = measured((str(build(source)),), tmp_path)
    assert whole(found)["mapped"] == 3 << 20 and whole(found)["peak"] == 10
    (warning,) = found.warnings
    assert "3,145,728 bytes" in warning and "mmap" in warning


def test_a_limit_to_the_size_of_files_is_reported(build: Build, tmp_path: Path) -> None:
    made, before = build(SMALL), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, before[1]))
    try:
        with pytest.raises(
            CollectError,
            match=r"does not load what LD_PRELOAD names, or may not write files .*ulimit -f",
        ):
            measured((str(made),), tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_without_a_compiler_the_cure_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CollectError, match=r"memory needs a C compiler.*apt install gcc"):
        shim.preloaded()


def test_a_cache_folder_with_spaces_does(
    build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a cache: here"))
    assert whole(measured((str(build(SMALL)),), tmp_path))["count"] == 10


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"depth": 0}, "depth is 0"),
        ({"sites": 100_000}, "sites is 100000"),
        ({"depth": True}, "depth|bool"),
        ({"exact": True, "recorder": "shim"}, "exact is for"),
    ],
)
def test_an_option_out_of_range_is_reported(options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        plugins.build("collectors", "memory", options, "here")


# the files


@pytest.fixture
def left(build: Build, tmp_path: Path, request: pytest.FixtureRequest) -> Path:  # noqa: ARG001
    """The file that a small program left."""
    folder = tmp_path / "left"
    folder.mkdir()
    environment = {"PERFVCS_MEMORY": str(folder), "LD_PRELOAD": str(shim.preloaded())}
    subprocess.run([build(SMALL)], env=environment, check=True)
    (path,) = folder.glob("*.bin")
    return path


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (0, b"X", "is not a file of allocations"),
        (8, b"\x63", "has version 99"),
        (HEAD.fields["sites"][1], b"\xff\xff\xff\x7f", "counts more than it can hold"),
        (HEAD.fields["pool"][1], b"\xff\xff\xff\x7f", "counts more than it can hold"),
        (
            census.HEADER + SITE.itemsize + SITE.fields["stack"][1],
            b"\xff\xff\xff\x7f",
            "stacks that are not in it",
        ),
    ],
)
def test_a_file_that_was_changed_is_one_line(
    left: Path, place: int, value: bytes, message: str
) -> None:
    with left.open("r+b") as file:
        file.seek(place)
        file.write(value)
    with pytest.raises(CollectError, match=message):
        census.read(left.parent)


def test_a_file_that_was_cut_or_replaced_is_one_line(left: Path) -> None:
    os.truncate(left, 5000)
    with pytest.raises(CollectError, match="was cut off"):
        census.read(left.parent)
    left.unlink()
    left.symlink_to("/dev/zero")
    with pytest.raises(CollectError, match="cannot be read"):
        census.read(left.parent)
    left.unlink()
    os.mkfifo(left)
    with pytest.raises(CollectError, match="is no longer a file"):
        census.read(left.parent)


def test_a_list_of_modules_that_was_changed_costs_names_only(left: Path) -> None:
    left.with_suffix(".map").write_bytes(
        b"no line\0x y z a b\0" + b"1 0 0 ffffffffffffffff /no/such/file\0" + b"1 2"
    )
    (found,) = census.read(left.parent)
    assert [module.path for module in found.modules[1]] == ["/no/such/file"]
    assert found.module(1, 5) and not found.module(2, 5)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=300))
def test_whatever_a_list_of_modules_holds_is_read(content: bytes) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "some.map"
        path.write_bytes(content)
        assert all(isinstance(scan, int) for scan in census._modules(path))


# names


def test_both_ways_to_names_agree(build: Build) -> None:
    made = build(SMALL, "-O0")
    said = subprocess.run(["nm", made], capture_output=True, text=True, check=True).stdout
    starts = [
        int(line.split()[0], 16)
        for line in said.splitlines()
        if line.split()[-1] in ("inner", "outer", "main")
    ]
    addresses = [start + offset for start in starts for offset in (0, 8, 20)]
    asked = symbols.resolve(str(made), addresses)
    read = symbols.look_up(str(made), sorted(addresses))
    assert {address: places[0] for address, places in asked.items()} == {
        address: places[0] for address, places in read.items()
    }


def test_the_names_are_the_same_without_addr2line(
    build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(symbols, "_tool", lambda: None)
    monkeypatch.setattr(symbols, "_known", {})
    found = measured((str(build(SMALL, "-O0")),), tmp_path)
    assert stacks_of(found, "inner")[0][:3] == [
        "malloc",
        "inner (program.c:4)",
        "outer (program.c:5)",
    ]


def test_cpp_names_are_read_without_binutils() -> None:
    assert symbols.demangled("_ZN4PoolC1Ev") == "Pool::Pool()"
    assert symbols.demangled("_Znotaname") == "_Znotaname" and symbols.demangled("main") == "main"


def test_a_file_that_is_none_or_damaged_has_no_names(tmp_path: Path) -> None:
    assert symbols.resolve(str(tmp_path / "none"), [1]) == {1: []}
    (tmp_path / "text").write_text("no program")
    assert symbols.look_up(str(tmp_path / "text"), [1]) == {}
    assert symbols.resolve(str(tmp_path / "text"), [1]) == {1: []}


def test_a_program_without_symbols_has_places_instead_of_names(
    build: Build, tmp_path: Path
) -> None:
    made = build(SMALL, "-s")
    found = measured((str(made),), tmp_path)
    assert whole(found)["count"] == 10
    assert any(
        re.match(r"program\+0x[0-9a-f]+ \(program\)|.*\(program\)", frame)
        for frame in (found.stacks.frames if found.stacks else ())
    )


@pytest.mark.parametrize(
    ("frames", "name"),
    [
        (
            [
                "malloc",
                "operator new(unsigned long)",
                "std::vec<int>::grow()",
                "int*& std::vec<A<int>*>::push<int*&>(int)",
                "f()",
            ],
            "f()",
        ),
        (["malloc", "strdup@libc.so.6", "main"], "main"),
        (["malloc"], "malloc"),
        (
            ["operator new[](unsigned long)", "Pool::operator new(unsigned long)"],
            "Pool::operator new(unsigned long)",
        ),
        ([], "(other)"),
    ],
)
def test_a_site_is_called_after_the_code_that_wanted_memory(frames: list[str], name: str) -> None:
    stack = tuple(
        HeapFrame(name, "", f"/lib/{library}")
        for name, _, library in (frame.partition("@") for frame in frames)
    )
    assert owner(stack) == name


def test_a_frame_is_reported_with_its_line_or_its_file() -> None:
    assert (
        text(HeapFrame("f", "a.c:3", "/lib/x.so")) == "f (a.c:3)"
        and text(HeapFrame("f", "", "/lib/x.so")) == "f (x.so)"
        and text(HeapFrame("f", "", "")) == "f"
    )


def test_the_largest_sites_are_kept_and_nothing_is_lost() -> None:
    sites = [
        AllocationSite((HeapFrame(f"f{number % 7}", "", ""),), bytes=float(number), count=1.0)
        for number in range(100)
    ]
    kept = largest(sites, 3)
    assert len(kept) == 4 and kept[-1].stack == () and kept[0].peak is None
    assert (
        sum(site.bytes or 0 for site in kept) == sum(range(100))
        and sum(site.count or 0 for site in kept) == 100
    )
    assert largest([], 3) == [] and len(largest(sites, 100)) == 7


def test_more_stacks_than_there_is_room_for_are_one_site_and_nothing_is_lost(
    build: Build, tmp_path: Path
) -> None:
    source = """
    #include <stdlib.h>
    static volatile void *seen;
    __attribute__((noinline)) static void tree(int depth)
    {
        if (!depth) { seen = malloc(10); return; }
        tree(depth - 1);
        __asm__ volatile("");
        tree(depth - 1);
        __asm__ volatile("");
    }
    int main(void) { tree(17); return 0; }
    """
    found = measured((str(build(source)),), tmp_path, sites=100)
    assert whole(found) == {
        "count": 1 << 17,
        "bytes": 10 << 17,
        "peak": 10 << 17,
        "leaked": 10 << 17,
        "mapped": 0,
    }
    assert sum(value or 0 for value in found.values["site_count"]) == 1 << 17
    assert (
        found.warnings
        and "some call stacks did not fit" in found.warnings[0]
        and "(unknown)" not in found.uid
    )
    # there is room for half as many sites
    assert (found.values["site_count"][found.uid.index("(other)")] or 0) > 1 << 15


def test_a_program_that_cannot_be_looked_into_is_left_to_its_start(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(b"\x7fELF and nothing more")
    assert heap.check(str(tmp_path / "text")) == [] and heap.check(str(tmp_path / "none")) == []


def test_addr2line_that_fails_is_replaced_by_reading(
    build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = str(build(SMALL))
    for tool in ("/bin/false", "/no/addr2line"):
        monkeypatch.setattr(symbols, "_tool", lambda tool=tool: tool)
        assert symbols._asked(made, [1]) is None
