"""The complexity collector for C and C++: exact sizes, programs that do not notice, and clear words
where it cannot work.
"""

from __future__ import annotations

import dataclasses
import math
import os
import struct
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from cases import each
from conftest import TESTS, Once, lack
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perfvcs.collectors._shared.frames import without_arguments
from perfvcs.collectors.complexity import Complexity
from perfvcs.collectors.complexity.calls import Calls, Interrupted, RecordingRequest, parse
from perfvcs.collectors.complexity.native import fentry, records
from perfvcs.collectors.complexity.native.abi import ArgumentLocation, Piece, decode
from perfvcs.collectors.complexity.native.debugfunctions import BinaryFunctions
from perfvcs.collectors.complexity.native.elf import Elf, Unresolved, reading
from perfvcs.collectors.complexity.native.recordplan import TraceSelection, select
from perfvcs.plugins.collector import CollectError, Run
from perfvcs.repository import Repository

pytestmark = [pytest.mark.needs("gcc"), pytest.mark.needs("g++")]

FLAGS = ("-g", "-pg", "-mfentry")
NATIVE = TESTS / "native"
PROGRAMS = sorted(path for path in (NATIVE / "programs").iterdir() if ".so." not in path.name)
SIZES = [0, 1, 2, 5, 17, 100, 999, 20000]


def compile_(
    compiler: str,
    source: Path,
    target: Path,
    *options: str,
    flags: Sequence[str] = FLAGS,
    link: Sequence[str] = (),
) -> Path:
    """Compile and link in two steps, as builds do: linking gets no -pg."""
    compiler = {"gcc": "g++", "clang": "clang++"}[compiler] if source.suffix == ".cpp" else compiler
    standard = ["-std=gnu11"]
    if source.suffix == ".cpp":
        newest = any(header in source.read_text() for header in ("<coroutine>", "<span>"))
        standard = ["-std=c++20" if newest else "-std=c++17"]  # whose headers take half the time
    object_ = target.with_name(target.name + ".o")
    subprocess.run(
        [compiler, *standard, *flags, *options, "-pthread", "-w", "-c", source, "-o", object_],
        check=True,
    )
    subprocess.run([compiler, "-pthread", *link, object_, "-o", target, "-lm", "-ldl"], check=True)
    return target


def run_of(program: Path, scratch: Path, *args: str, cwd: Path | None = None, **env: str) -> Run:
    scratch.mkdir(parents=True, exist_ok=True)
    return Run(
        (str(program), *args),
        cwd or program.parent,
        {**os.environ, **env},
        scratch,
        "program",
        timeout=300,
    )


@pytest.fixture
def record(tmp_path: Path) -> Callable[..., Calls]:
    """Record functions of a program: ``record(program, "f=n", outermost=False)``."""
    count = iter(range(100))

    def recorded(
        program: Path,
        *functions: str,
        args: Sequence[str] = (),
        cwd: Path | None = None,
        **options: object,
    ) -> Calls:
        env = {str(key): str(options.pop(key)) for key in list(options) if key.isupper()}
        request = RecordingRequest(tuple(parse(one) for one in functions), **options)  # type: ignore[arg-type]
        return fentry.record(
            run_of(program, tmp_path / f"scratch-{next(count)}", *args, cwd=cwd, **env), request
        )

    return recorded


@pytest.fixture
def build(tmp_path: Path) -> Callable[..., Path]:
    """Compile a program from its text: ``build("int main(void) {...}", "-O2")``."""

    def built(
        text: str, *options: str, name: str = "program", suffix: str = ".c", **more: Sequence[str]
    ) -> Path:
        source = tmp_path / f"{name}{suffix}"
        source.write_text(text)
        return compile_("gcc", source, tmp_path / name, *options, **more)

    return built


# sizes

C_NAMES = """plain wide typedefed narrow third seventh ninth after_struct after_mixed after_big after_extended after_complex
    after_quad returns_big returns_pair returns_extended of_list of_reference of_inner=o->inner.used of_anonymous
    of_list_inside=o->list->count of_pair of_pair16 of_mixed of_big of_flags of_flags_value=f.count of_tight of_union of_pointer=*amount
    of_element=values[2] single=x eighth_real=x variadic removed=n recursive tail after_vector of_mixed_array
    of_weight=d.weight with_cold_part after_padding=n after_uneven=n after_halves=n after_tagged=n"""
CPP_NAMES = """of_string of_string_value of_string_view of_vector of_vector_pointer of_vector_value of_bits of_deque of_wide_deque
    of_list of_own_list of_map of_multiset of_unordered_map of_unordered_set of_span of_stack of_queue of_forward of_unique=v->size()
    returns_string returns_pair shop::Shelf::sort shop::Shelf::total shop::Shelf::print shop::Shelf::describe shop::Shelf::operator<
    shop::Shelf::work shop::Deep::work shop::Deep::insert=items.size() shop::Sort<int>::run after_empty of_copied of_holder=one.inside.count
    returns_holder shop::v2::inside Functor::operator()"""
C_SIZES: dict[str, list[float]] = {name: list(map(float, SIZES)) for name in C_NAMES.split()} | {
    "negative=x": [-float(n) for n in SIZES],
    "huge=x": [float(2**64 - 1 - n) for n in SIZES],
    "of_array=b->values[2]+1": [n + 1.0 for n in SIZES],
    "matrix=rows*columns": [3.0 * n for n in SIZES],
    "halves=(x + 1)/2 - 1": [(n + 1) // 2 - 1.0 for n in SIZES],
    "real=x": [n + 0.25 for n in SIZES],
    "scaled=n*x + 0.5": [n * 0.5 + 0.5 for n in SIZES],
    "fixed=n": [float(n) for n in SIZES for _ in range(2)],
}
CPP_SIZES: dict[str, list[float]] = {
    name: list(map(float, SIZES)) for name in CPP_NAMES.split()
} | {
    "shop::Shelf::put(int)=count": list(map(float, SIZES)),
    "shop::Shelf::put(double, int)": list(map(float, SIZES)),
    "of_array": [7.0] * 8,
    "of_fixed_span": [3.0] * 8,
    "of_initializers": [9.0] * 8,
}
BUILDS = [
    ("gcc", "-O0", "-fPIE", "-pie"),
    ("gcc", "-O2", "-fno-pie", "-gdwarf-4", "-no-pie"),
    ("clang", "-O2", "-fPIE", "-pie"),
]
BUILDS += [("clang", "-O0", "-fno-pie", "-no-pie")]


@pytest.fixture(scope="session")
def sized(once: Once) -> Callable[[str, tuple[str, ...]], Path]:
    """A source of the corpus of sizes, compiled in one of the ways."""

    def target(source: str, how: tuple[str, ...]) -> Path:
        compiler, *options, link = how

        def make(folder: Path) -> None:
            compile_(compiler, NATIVE / source, folder / source, *options, link=(link,))

        return once(f"{source}{''.join(how)}", make) / source

    return target


@pytest.mark.slow
@pytest.mark.parametrize(
    "how", [pytest.param(how, marks=pytest.mark.needs(how[0]), id=" ".join(how)) for how in BUILDS]
)
@pytest.mark.parametrize(
    ("source", "expected"), [("sizes.c", C_SIZES), ("sizes.cpp", CPP_SIZES)], ids=["c", "c++"]
)
def test_sizes_are_exact(how, source, expected, sized, record):
    assert len(expected) >= 30
    calls = record(sized(source, how), *expected)
    found = {
        name: calls.size[calls.function == number].tolist()
        for number, name in enumerate(calls.names)
    }
    assert found == {parse(entry).name: sizes for entry, sizes in expected.items()}
    assert (calls.rate == 1).all()


def test_a_struct_that_one_file_only_declares_is_found_in_another(tmp_path, record):
    (tmp_path / "one.c").write_text(
        """struct heap; __attribute__((noinline)) void f(struct heap *h) { __asm__ volatile("" : : "r"(h)); }
        struct heap *make(int n); int main(void) { f(make(5)); return 0; }"""
    )
    (tmp_path / "two.c").write_text(
        "struct heap { char tag; int used; }; struct heap *make(int n) { static struct heap h;"
        " h.used = n; return &h; }"
    )
    subprocess.run(["gcc", *FLAGS, "one.c", "two.c", "-o", "program"], cwd=tmp_path, check=True)
    calls = record(tmp_path / "program", "f")
    assert calls.size.tolist() == [5]
    assert "complexity: sizes were guessed: f=h->used" in calls.warnings


def test_bit_fields_of_old_debug_information_are_read(build, record):
    program = build(
        """struct s { unsigned a : 3, count : 12; int : 5; int low : 7; };
        __attribute__((noinline)) void f(struct s *s) { __asm__ volatile("" : : "r"(s)); }
        int main(void) { for (int i = 0; i < 4; i++) { struct s s = {5, 1000u + i, -i}; f(&s); } return 0; }""",
        "-gdwarf-3",
        "-gstrict-dwarf",
    )
    assert record(program, "f=s->count").size.tolist() == [1000, 1001, 1002, 1003]
    assert record(program, "f=s->low").size.tolist() == [0, -1, -2, -3]


def test_strings_of_the_old_abi_have_a_size_and_lists_have_none(build, record):
    program = build(
        """#include <list>
        #include <string>
        __attribute__((noinline)) void f(const std::string &text) { asm volatile("" : : "m"(text)); }
        __attribute__((noinline)) void g(const std::list<int> &list) { asm volatile("# 2" : : "m"(list)); }
        int main() { f(std::string(7, 'x')); g(std::list<int>(3)); }""",
        "-D_GLIBCXX_USE_CXX11_ABI=0",
        suffix=".cpp",
    )
    assert record(program, "f").size.tolist() == [7]
    with pytest.raises(Unresolved, match="does not store its size"):
        record(program, "g=list.size()")


INTEGER, VECTOR = "integer", "vector"


@each(
    "expression by_pointer place",
    [
        ([0x55], False, ArgumentLocation((Piece(INTEGER, 0),))),
        ([0x90, 5], False, ArgumentLocation((Piece(INTEGER, 0),))),
        ([0x61], False, ArgumentLocation((Piece(VECTOR, 0),))),
        (
            [0x54, 0x93, 8, 0x62, 0x93, 8],
            False,
            ArgumentLocation((Piece(INTEGER, 1), Piece(VECTOR, 1))),
        ),
        ([0x54, 0x93, 4], False, None),
        ([0x53], False, None),
        ([0x75, 0], True, ArgumentLocation((Piece(INTEGER, 0),), pointer=True)),
        ([0x91, 0x10], False, ArgumentLocation(stack=16)),
        ([0x91, 0x70], False, None),
        ([0x77, 0x18], False, ArgumentLocation(stack=16)),
        ([0x91, 0x10, 0x06], True, ArgumentLocation(stack=16, pointer=True)),
        ([0x91, 0x90, 0x01], False, ArgumentLocation(stack=144)),
        ([0x91, 0x90], False, None),
        ([0x9F], False, None),
        ([], False, None),
    ],
)
def test_places_in_debug_information_are_decoded(expression, by_pointer, place):
    assert decode(bytes(expression), by_pointer=by_pointer, frame_base=0) == place


@pytest.mark.slow
@pytest.mark.needs("clang")
def test_a_size_that_the_compiler_removed_is_not_made_up(sized, record):
    calls = record(sized("sizes.cpp", BUILDS[2]), "shop::apply")
    assert np.isnan(calls.size).all()
    assert any("write shop::apply" in line for line in calls.warnings)


def test_guesses_are_reported_and_prefer_sizes_over_capacities(build, record):
    program = build(
        """struct table { int capacity, max_count, used; void *rows; };
        __attribute__((noinline)) void fill(struct table *t, int elem_size, int k)
        { __asm__ volatile("" : : "r"(t), "r"(elem_size), "r"(k)); }
        __attribute__((noinline)) void other(int m, int count) { __asm__ volatile("" : : "r"(m), "r"(count)); }
        __attribute__((noinline)) void none(char *text) { __asm__ volatile("" : : "r"(text)); }
        int main(void) { struct table t = {8, 9, 3, 0}; fill(&t, 4, 5); other(1, 2); none(0); return 0; }"""
    )
    calls = record(program, "fill", "other", "none")
    assert calls.size[:2].tolist() == [3, 2]
    assert math.isnan(calls.size[2])
    assert "complexity: sizes were guessed: fill=t->used, other=count" in calls.warnings
    assert any(
        "none has no parameter that looks like a size: write none=expression" in line
        for line in calls.warnings
    )


def test_integers_of_one_byte_are_guessed_and_characters_are_not(build, record):
    program = build("""#include <stdint.h>
        typedef uint8_t small;
        struct list { small used; };
        __attribute__((noinline)) void f(unsigned char n_items) { __asm__ volatile("" : : "r"(n_items)); }
        __attribute__((noinline)) void g(signed char size) { __asm__ volatile("" : : "r"(size)); }
        __attribute__((noinline)) void h(const struct list *l) { __asm__ volatile("" : : "r"(l)); }
        __attribute__((noinline)) void text(char n, _Bool size) { __asm__ volatile("" : : "r"(n), "r"(size)); }
        int main(void) { struct list l = {201}; f(200); g(-5); h(&l); text('a', 1); return 0; }""")
    calls = record(program, "f", "g", "h", "text")
    assert calls.size[:3].tolist() == [200, -5, 201]
    assert math.isnan(calls.size[3])


def test_an_invalid_pointer_has_no_size_and_does_no_harm(build, record):
    program = build("""#include <stdint.h>
        #include <sys/mman.h>
        struct s { long pad[600]; long n; };
        __attribute__((noinline)) void f(struct s *s) { __asm__ volatile("" : : "r"(s)); }
        int main(void)
        {
            char *page = mmap(0, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            f(0), f((void *)8), f((void *)-1), f((void *)(1ull << 60)), f((void *)page);
            munmap(page, 1 << 20);
            f((void *)(page + (1 << 19)));
            return 0;
        }""")
    calls = record(program, "f=s->n")
    assert len(calls.size) == 6
    assert np.isnan(calls.size).all()
    assert any("f=s->n had no value in 6 calls" in line for line in calls.warnings)


@pytest.mark.parametrize(
    ("size", "message"),
    [
        ("m", "there is no parameter m; there are: s, n, x"),
        ("s->cout", "struct_s|no member cout; did you mean `count`?"),
        ("s.count", "write -> instead of ."),
        ("s", "a pointer is not a size"),
        ("*s", "is not a number"),
        ("n->x", "int is not a pointer"),
        ("s->values", "an array is not a size"),
        ("s->size()", "not a container of std"),
        ("s->compute()", "would have to be called"),
        ("n +", "ends too early"),
        ("(n", "a \\) is missing"),
        ("n n", "not understood"),
        ("n ? 1 : 2", "not understood"),
        ("s->values[n]", "an index has to be a number"),
        ("(" * 40 + "n" + ")" * 40, "too many brackets"),
        ("x", "long double is not a number"),
        ("n" + "+n" * 300, "too long"),
        ("n" * 1001, "too long"),
        (f"{2**70}", "too large"),
    ],
)
def test_a_wrong_size_is_reported_with_its_cure(size, message, build, record):
    program = build("""struct s { int count; long values[3]; };
        __attribute__((noinline)) void f(struct s *s, int n, long double x) { __asm__ volatile("" : : "r"(s), "r"(n), "m"(x)); }
        int main(void) { struct s s = {1}; f(&s, 1, 1); return 0; }""")
    with pytest.raises(Unresolved, match=message) as caught:
        record(program, f"f={size}")
    assert "\n" not in str(caught.value)


@pytest.mark.slow
@pytest.mark.needs("clang++")
def test_containers_of_the_other_library_have_sizes(tmp_path, record):
    program, source = tmp_path / "program", NATIVE / "containers.cpp"
    how = ["-std=c++20", "-stdlib=libc++", *FLAGS, "-O1"]
    done = subprocess.run(
        ["clang++", *how, "-c", source, "-o", f"{program}.o"],
        capture_output=True,
        text=True,
        check=False,
    )
    if "file not found" in done.stderr:
        lack("libc++-dev")
    assert done.returncode == 0, done.stderr
    subprocess.run(["clang++", "-stdlib=libc++", f"{program}.o", "-o", program], check=True)
    names = """of_string of_wide of_vector of_bits of_deque of_list of_map of_multiset of_unordered_map of_unordered_set of_span of_stack
        of_queue of_heap of_valarray of_view of_string_value of_unique=v->items.size() of_shared=v->name.size()"""
    calls = record(program, *names.split(), "of_array", "of_initializers", "of_forward")
    found = {
        name: calls.size[calls.function == number].tolist()
        for number, name in enumerate(calls.names)
    }
    assert np.isnan(found.pop("of_forward")).all()
    assert found.pop("of_array") == [7.0] * 8
    assert found.pop("of_initializers") == [3.0] * 8
    assert found == {
        parse(one).name: [0.0, 1.0, 2.0, 10.0, 22.0, 23.0, 100.0, 5000.0] for one in names.split()
    }


# names


def test_overloads_templates_and_files_are_distinguished(tmp_path, record):
    one, two, main = tmp_path / "one.cpp", tmp_path / "two.cpp", tmp_path / "main.cpp"
    body = (
        '__attribute__((noinline)) static void same(int n) { asm volatile("# %c1" : : "r"(n),'
        ' "i"(__LINE__ + 100)); }\n'
    )
    one.write_text("\n" + body + "void one() { same(1); }")
    two.write_text(body + "void two() { same(2); same(2); }")
    main.write_text(
        """void one(); void two();
        namespace box { template <typename T> struct List { int count = 4;
            __attribute__((noinline)) void add(T) { asm volatile("# %c1" : : "r"(this), "i"(sizeof(T)) : "memory"); } };
        __attribute__((noinline)) void put(int n) { asm volatile("" : : "r"(n)); }
        __attribute__((noinline)) void put(char, int n) { asm volatile("# 2" : : "r"(n)); } }
        int main() { one(); two(); box::List<int>().add(1); box::List<char>().add(1); box::put(5); box::put('a', 6); }"""
    )
    program = tmp_path / "program"
    subprocess.run(["g++", *FLAGS, "-O1", "-c", one, two, main], cwd=tmp_path, check=True)
    subprocess.run(["g++", *(tmp_path.glob("*.o")), "-o", program], check=True)

    def counts(*entries: str) -> dict[str, int]:
        calls = record(program, *entries)
        return {
            name: int((calls.function == number).sum()) for number, name in enumerate(calls.names)
        }

    assert counts("same") == {"same (one.cpp)": 1, "same (two.cpp)": 2}
    assert counts("two.cpp:same") == counts("same (two.cpp)") == {"same": 2}
    assert counts("put") == counts("box::put") == {"box::put(int)": 1, "box::put(char, int)": 1}
    assert counts("box::put( char,int )") == {"box::put": 1}
    assert counts("List::add") == {"box::List<int>::add": 1, "box::List<char>::add": 1}
    assert counts("box::List<char>::add=count") == {"box::List<char>::add": 1}
    assert counts("_ZN3box3putEi") == {"box::put": 1}


@pytest.mark.parametrize(
    ("name", "bare"),
    [
        ("Sort<int>::run", "Sort::run"),
        ("f<g<int>, (lambda at a.cpp:3:4)>", "f"),
        ("A<int>::operator<", "A::operator<"),
        ("A::operator<<", "A::operator<<"),
        ("A<B>::operator->", "A::operator->"),
        ("plain", "plain"),
    ],
)
def test_template_arguments_are_left_out(name, bare):
    assert without_arguments(name) == bare


def test_functions_that_are_not_there_are_named_with_the_reason(build, record):
    program = build(
        """static inline __attribute__((always_inline)) int gone(int n) { return n + 1; }
        __attribute__((noinline)) int insert(int n) { return gone(n); }
        __attribute__((noinline, no_instrument_function)) int plain(int n) { return n; }
        int main(void) { return insert(1) - 2 + plain(0); }""",
        "-O2",
    )
    with pytest.raises(
        Unresolved, match=r"there is no function insrt in .*program; did you mean `insert`\?"
    ):
        record(program, "insrt")
    with pytest.raises(
        Unresolved, match=r"gone was inlined everywhere .*noinline.*, or compile with -fno-inline$"
    ):
        record(program, "gone")
    with pytest.raises(Unresolved, match=r"plain in .* was not compiled with -g -pg -mfentry"):
        record(program, "plain")


def test_the_cure_for_an_inlined_function_works(build, record):
    text = """static inline int f(int n) { int sum = 0; for (int i = 0; i < n; i++) sum += i % 7; return sum; }
        int main(int argc, char **argv) { (void)argv; return f(argc + 8) == 1; }"""
    with pytest.raises(Unresolved, match=r"or compile with -fno-inline$"):
        record(build(text, "-O2"), "f")
    assert record(build(text, "-O2", "-fno-inline"), "f=n").size.tolist() == [9]


# what is recorded

COUNTING = """
#include <stdlib.h>
__attribute__((noinline)) long down(long n) { __asm__ volatile("" : : : "memory"); return n ? 1 + down(n - 1) : 0; }
__attribute__((noinline)) long twice(long n) { return down(n) + down(n); }
int main(int argc, char **argv)
{ (void)argc; long n = atol(argv[1]), sum = 0; for (long i = 0; i < n; i++) sum += twice(i % 7); return sum < 0; }
"""


def test_of_nested_calls_the_outermost_is_recorded_or_all(build, record):
    program = build(COUNTING, "-O1")
    outer = record(program, "down", args=["14"])
    assert outer.size.tolist() == [n for n in [*range(7), *range(7)] for _ in range(2)]
    assert outer.number.tolist() == list(range(28))
    every = record(program, "down", args=["14"], outermost=False)
    assert len(every.size) == sum(2 * (n % 7 + 1) for n in range(14))
    assert every.engine == "fentry/1"


def test_each_call_has_the_pace_that_the_machine_had_then(build, record):
    program = build(
        """__attribute__((noinline)) long work(long n) { long sum = 0; for (long i = 0; i < n; i++) sum += i ^ sum; return sum; }
        int main(void) { long sum = 0; for (int i = 0; i < 3000; i++) sum += work(100000 + i); return sum == 0; }""",
        "-O1",
    )
    calls = record(program, "work=n", keep=5000)
    # in the order of their starts
    assert calls.size.tolist() == [100_000 + number for number in range(3000)]
    assert ((calls.pace > 2e-7) & (calls.pace < 1e-3)).all()


def test_durations_grow_with_sizes_and_are_net_of_the_probes(build, record):
    program = build(
        """__attribute__((noinline)) void leaf(long n) { __asm__ volatile("" : : "r"(n)); }
        __attribute__((noinline)) void work(long n) { for (long i = 0; i < n; i++) leaf(i); }
        int main(void) { for (int i = 0; i < 2000; i++) work(1000); return 0; }""",
        "-O2",
    )
    calls = record(program, "leaf", "work")
    work, leaf = (calls.function == calls.names.index(name) for name in ("work", "leaf"))
    assert (calls.duration >= 0).all()
    assert (calls.cost > 0).any()
    gross = calls.duration[work] + calls.cost[work]
    assert np.median(calls.duration[work]) < 0.6 * np.median(gross), (
        "most of the time of `work` is what recording `leaf` takes"
    )
    assert calls.rate[leaf].max() > 100


def test_of_many_calls_a_bounded_uniform_sample_is_kept(build, record):
    program = build(
        """__attribute__((noinline)) void f(long n, long i) { __asm__ volatile("" : : "r"(n), "r"(i)); }
        int main(void) { for (long i = 0; i < 300000; i++) f(i % 3 ? 1000 : 7, i); return 0; }""",
        "-O2",
    )
    calls = record(program, "f=n", keep=50)
    assert len(calls.size) == 100
    assert dict(zip(*np.unique(calls.size, return_counts=True), strict=True)) == {
        7.0: 50,
        1000.0: 50,
    }
    assert calls.rate[calls.size == 7].tolist() == [2000.0] * 50
    assert calls.rate[calls.size == 1000].tolist() == [4000.0] * 50
    assert (np.diff(calls.number) > 0).all()
    middle = np.concatenate([record(program, "f=n", keep=400).number for _ in range(1)]).mean()
    assert abs(middle - 150_000) < 5 * 300_000 / math.sqrt(12 * 800)


def test_threads_and_processes_follow_one_another(build, record):
    program = build("""#include <pthread.h>
        #include <sys/wait.h>
        #include <unistd.h>
        __attribute__((noinline)) void f(long n) { __asm__ volatile("" : : "r"(n)); }
        static void *run(void *given) { for (long i = 0; i < 5; i++) f((long)given + i); return given; }
        int main(void)
        {
            pthread_t one, two;
            f(1);
            pthread_create(&one, 0, run, (void *)10), pthread_create(&two, 0, run, (void *)20);
            pthread_join(one, 0), pthread_join(two, 0);
            if (!fork()) { f(100); _exit(0); }
            wait(0);
            f(2);
            return 0;
        }""")
    calls = record(program, "f")
    assert sorted(calls.size.tolist()) == sorted([1, 2, 100, *range(10, 15), *range(20, 25)])
    assert calls.number.tolist() == list(range(13))


def test_threads_and_processes_make_one_sample(build, record):
    """Two threads that run at the same time keep samples of their own, and so does a child; one
    makes far more calls than the others.
    """
    program = build("""#include <pthread.h>
        #include <sys/wait.h>
        #include <unistd.h>
        static pthread_barrier_t both;
        __attribute__((noinline)) void f(long n) { __asm__ volatile("" : : "r"(n)); }
        static void *run(void *given)
        {
            f(3);
            pthread_barrier_wait(&both);
            for (long i = 0; i < (long)given; i++) f(100);
            pthread_barrier_wait(&both);
            return 0;
        }
        int main(void)
        {
            pthread_t one, two;
            pthread_barrier_init(&both, 0, 2);
            pthread_create(&one, 0, run, (void *)200000), pthread_create(&two, 0, run, (void *)500);
            pthread_join(one, 0), pthread_join(two, 0);
            if (!fork()) { for (int i = 0; i < 1000; i++) f(101); _exit(0); }
            wait(0);
            return 0;
        }""")
    calls = record(program, "f=n", keep=50)
    small, large = calls.rate[calls.size == 3], calls.rate[calls.size >= 100]
    assert small.tolist() == [1, 1]
    assert len(set(large.tolist())) == 1
    assert len(large) <= 50
    assert large.sum() == pytest.approx(201_500)
    assert (np.diff(calls.number) >= 0).all()


def test_threads_that_make_their_first_calls_at_the_same_time(build, record):
    """The first of them finds out what a recorded call costs, and the others wait; so in each of
    twelve processes.
    """
    program = build("""#include <pthread.h>
        #include <sys/wait.h>
        #include <unistd.h>
        enum { PROCESSES = 12, THREADS = 8, CALLS = 30 };
        static pthread_barrier_t all;
        __attribute__((noinline)) void f(long n) { __asm__ volatile("" : : "r"(n)); }
        static void *run(void *given)
        {
            pthread_barrier_wait(&all);
            for (long i = 0; i < CALLS; i++) f(i % 3);
            return given;
        }
        static void start(void)
        {
            pthread_t threads[THREADS];
            pthread_barrier_init(&all, 0, THREADS);
            for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], 0, run, 0);
            for (int i = 0; i < THREADS; i++) pthread_join(threads[i], 0);
        }
        int main(void)
        {
            int failed = 0, status;
            for (int i = 0; i < PROCESSES; i++) {
                if (!fork()) { start(); _exit(0); }
                wait(&status);
                failed += status != 0;
            }
            return failed;
        }""")
    calls = record(program, "f=n", keep=1000)
    assert calls.rate.sum() == 12 * 8 * 30
    assert calls.left == 0


def test_calls_that_exceptions_leave_are_counted_not_recorded(build, record):
    program = build(
        """__attribute__((noinline)) int f(int n) { if (n % 2) throw n; return n; }
        __attribute__((noinline)) int g(int n) { try { return f(n); } catch (int m) { return m; } }
        int main() { int sum = 0; for (int i = 0; i < 10; i++) sum += g(i); return sum != 45; }""",
        "-O2",
        suffix=".cpp",
    )
    calls = record(program, "f", "g")
    assert [int((calls.function == number).sum()) for number in range(2)] == [5, 10]
    assert (
        "complexity: 5 calls were left by an exception, a long jump or the thread's end and are not"
        " recorded" in calls.warnings
    )


def test_calls_that_were_all_left_are_no_calls_that_were_not_made(build, record, tmp_path):
    program = build(
        """#include <setjmp.h>
        static jmp_buf back;
        __attribute__((noinline)) void f(int n) { if (n) longjmp(back, n); }
        __attribute__((noinline)) void g(int n) { __asm__ volatile("" : : "r"(n)); }
        int main(void) { for (volatile int i = 1; i < 5; i++) if (!setjmp(back)) f(i); g(1); return 0; }""",
        "-O2",
    )
    calls = record(program, "f", "g")
    assert calls.left == 4
    assert "complexity: f has no recorded calls" in calls.warnings
    with pytest.raises(
        CollectError,
        match="all 4 calls of f were left by an exception or a long jump, or did not end",
    ):
        Complexity(("f",)).collect(run_of(program, tmp_path / "left"))


def test_a_library_of_the_project_is_recorded_linked_or_loaded(tmp_path, record):
    (tmp_path / "lib.c").write_text(
        '__attribute__((noinline)) void inside(int n) { __asm__ volatile("" : : "r"(n)); }'
    )
    (tmp_path / "linked.c").write_text(
        "void inside(int n); int main(void) { inside(7); return 0; }"
    )
    (tmp_path / "loading.c").write_text("""#include <dlfcn.h>
        int main(void)
        { for (int i = 0; i < 3; i++) { void *l = dlopen("./libown.so", RTLD_NOW);
          ((void (*)(int))dlsym(l, "inside"))(i); dlclose(l); } }""")
    for command in (
        ["gcc", *FLAGS, "-fPIC", "-shared", "lib.c", "-o", "libown.so"],
        ["gcc", *FLAGS, "linked.c", "-L.", "-lown", "-Wl,-rpath,$ORIGIN", "-o", "linked"],
        ["gcc", *FLAGS, "loading.c", "-ldl", "-o", "loading"],
    ):
        subprocess.run(command, cwd=tmp_path, check=True)
    assert record(tmp_path / "linked", "inside").size.tolist() == [7]
    assert record(tmp_path / "loading", "inside").size.tolist() == [0, 1, 2]
    assert not (tmp_path / "gmon.out").exists()


def test_a_script_that_starts_the_program_is_seen_through(build, record, tmp_path):
    program = build(COUNTING, "-O2")
    script = tmp_path / "run.sh"
    script.write_text("./program 3\n./program 2\n")
    calls = record(Path("/bin/sh"), "twice", args=["run.sh"], cwd=program.parent)
    assert calls.size.tolist() == [0, 1, 2, 0, 1]
    assert calls.number.tolist() == [0, 1, 2, 3, 4]


# auto


def test_auto_finds_the_functions_that_take_the_time(build, record):
    program = build(
        """__attribute__((noinline)) long slow(int n) { volatile long sum = 0; for (int i = 0; i < n * 300; i++) sum += i; return sum; }
        __attribute__((noinline)) long fast(int count) { volatile long sum = count; return sum; }
        __attribute__((noinline)) long never(int n) { return n; }
        int main(int argc, char **argv)
        { (void)argv; long sum = 0; for (int i = 0; i < 100; i++) sum += slow(i) + fast(i); return argc > 5 ? never(1) : sum < 0; }""",
        "-O1",
    )
    calls = record(program, most=1)
    assert calls.names == ["slow"]
    assert any('functions = ["slow=n"]' in line for line in calls.warnings)
    with pytest.raises(CollectError, match="name them as function=expression"):
        record(program, most=1, cwd=Path("/usr/lib"))


# programs do not notice


@pytest.fixture(scope="session")
def corpus(once: Once) -> Callable[[Path, str], Path]:
    """One of the programs, by gcc -O2 or by clang -O0 without PIE; gcc's are linked with -pg, which
    starts gprof.
    """

    def target(source: Path, compiler: str) -> Path:
        name = f"{source.name}-{compiler}"

        def make(folder: Path) -> None:
            how = ("-O2", "-fcf-protection=full") if compiler == "gcc" else ("-O0", "-fno-pie")
            compile_(
                compiler,
                source,
                folder / name,
                *how,
                link=("-pg",) if compiler == "gcc" else ("-no-pie",),
            )
            for library in source.parent.glob(f"{source.stem}.so.*"):
                by = (
                    {"gcc": "g++", "clang": "clang++"}[compiler]
                    if library.suffix == ".cpp"
                    else compiler
                )
                subprocess.run(
                    [by, *FLAGS, "-fPIC", "-shared", library, "-o", folder / f"{name}.so"],
                    check=True,
                )

        return once(name, make) / name

    return target


def everything(*paths: Path) -> TraceSelection:
    """All functions of programs, each with the size that is guessed."""
    found = [BinaryFunctions.read(Elf.read(path)) for path in paths if path.exists()]
    names = {
        one.symbol.name
        for functions in found
        for one in functions.found
        if one.symbol and "std::" not in one.name
    }
    return select([parse(name) for name in names], found)


def execute(program: Path, folder: Path, **env: str) -> tuple[int, bytes, bytes]:
    done = subprocess.run(
        [program],
        cwd=folder,
        env={**os.environ, **env},
        capture_output=True,
        check=False,
        timeout=300,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "compiler", ["gcc", pytest.param("clang", marks=pytest.mark.needs("clang"))]
)
@pytest.mark.parametrize("source", PROGRAMS, ids=lambda path: path.name)
def test_a_program_does_not_notice(source, compiler, corpus, tmp_path):
    program = corpus(source, compiler)
    plain = execute(program, tmp_path, GMON_OUT_PREFIX=str(tmp_path / "plain"))
    selection = everything(program, Path(f"{program}.so"))
    for outermost in (True, False):
        folder = tmp_path / f"outermost-{outermost}"
        folder.mkdir()
        fentry.write(folder / "request", selection, outermost=outermost, keep=20)
        recorded = execute(
            program,
            folder,
            LD_PRELOAD=str(fentry.runtime()),
            PERFVCS_FENTRY=str(folder / "request"),
        )
        assert recorded == plain
        assert not (folder / "gmon.out").exists()
        rows = records.read(folder, len(selection.names), 20)
        assert len(rows.function) or source.stem in (
            "uncaught",
            "noexcept",
            "quick",
            "aborts",
            "crashes",
        )
    assert len(PROGRAMS) >= 25


def test_handlers_that_jump_out_of_the_recorder_do_not_end_it(build, record):
    program = build("""#include <setjmp.h>
        #include <signal.h>
        #include <sys/time.h>
        #include <stdlib.h>
        static sigjmp_buf back; static volatile long jumps, calls, jumping;
        __attribute__((noinline)) void f(long n) { __asm__ volatile("" : : "r"(n)); }
        static void on(int number) { if (jumping) { jumps++; siglongjmp(back, number); } }
        int main(void)
        {
            struct itimerval often = {{0, 200}, {0, 200}}, never = {0};
            signal(SIGALRM, on), setitimer(ITIMER_REAL, &often, 0);
            while (jumps < 200)
                if (!sigsetjmp(back, 1))
                    for (jumping = 1;; calls++)
                        f(1);
                else
                    jumping = 0;
            setitimer(ITIMER_REAL, &never, 0);
            for (int i = 0; i < 1000; i++)
                f(2);
            return 0;
        }""")
    calls = record(program, "f=n")
    assert calls.rate[calls.size == 2].sum() == 1000
    assert calls.rate[calls.size == 1].sum() > 1000
    assert any("were left by an exception, a long jump" in line for line in calls.warnings)


def test_threads_of_c11_give_back_what_they_used(build, record):
    program = build("""#include <threads.h>
        __attribute__((noinline)) static int f(void *n) { __asm__ volatile("" : : "r"(n)); return 0; }
        int main(void)
        {
            for (long i = 0; i < 2500; i++) {
                thrd_t thread;
                thrd_create(&thread, f, (void *)i), thrd_join(thread, 0);
            }
            return 0;
        }""")
    assert record(program, "f", keep=10).rate.sum() == 2500


@pytest.mark.parametrize(("own", "told"), [(0.9, True), (1.1, False)])
def test_durations_that_are_mostly_the_recorders_are_reported(
    own, told, build, record, monkeypatch
):
    read = records.read

    def with_clock(*arguments: object) -> records.CallRows:
        rows = read(*arguments)
        assert (rows.cost > 0).all()
        return dataclasses.replace(rows, duration=own * rows.cost)

    monkeypatch.setattr(records, "read", with_clock)
    warnings = record(build(COUNTING, "-O1"), "down", args=["20"]).warnings
    assert (
        any("most of the time measured of down was the recorder's own" in line for line in warnings)
        == told
    )


# failures


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        ("return 3;", "exited with status 3"),
        ("abort();", "was killed by SIGABRT"),
        ("*(volatile int *)8 = 1;", "was killed by SIGSEGV"),
        ("kill(getpid(), SIGKILL);", "was killed by SIGKILL"),
        ("_exit(4);", "exited with status 4"),
    ],
)
def test_of_a_program_that_fails_half_way_everything_is_kept(end, reason, build, record):
    program = build(f"""#include <signal.h>
        #include <stdlib.h>
        #include <unistd.h>
        __attribute__((noinline)) void f(int n) {{ __asm__ volatile("" : : "r"(n)); }}
        int main(void) {{ for (int i = 0; i < 50; i++) f(i); {end} return 0; }}""")
    with pytest.raises(Interrupted, match=reason) as caught:
        record(program, "f")
    assert caught.value.calls.size.tolist() == list(range(50))


def test_a_program_that_was_not_built_for_it_is_reported_with_the_cure(build, record):
    text = "__attribute__((noinline)) int f(int n) { return n; } int main(void) { return f(0); }"
    plain = build(text, name="plain", flags=["-g"])
    with pytest.raises(
        Unresolved,
        match=r"plain was not compiled with -g -pg -mfentry: .*build.* write \{cflags\} behind it",
    ):
        record(plain, "f")
    static = build(text, name="static", link=["-static"])
    with pytest.raises(Unresolved, match=r"linked statically.*without -static"):
        record(static, "f")
    stripped = build(text, name="stripped", link=["-s"])
    with pytest.raises(Unresolved, match=r"is stripped"):
        record(stripped, "f")
    bare = build(text, name="bare", flags=["-pg", "-mfentry"])
    with pytest.raises(Unresolved, match=r"no debug information \(compile with -g\)"):
        record(bare, "f")
    with pytest.raises(Unresolved, match=r"names no program whose functions"):
        record(build(text, name="none").with_name("none.c"), "f")
    checked = build(text, "-fsanitize=address", name="checked", link=["-fsanitize=address"])
    with pytest.raises(
        Unresolved, match=r"-fsanitize, which does not work with the recorder: build it without"
    ):
        record(checked, "f")
    odd = plain.with_name("odd")
    odd.write_bytes(b"\x7fELF" + b"\0" * 100)
    odd.chmod(0o755)
    with pytest.raises(Unresolved, match=r"is not a readable program|is for"):
        record(odd, "f")


def test_debug_information_that_is_elsewhere_is_reported(build, record):
    program = build("int f(int n) { return n; } int main(void) { return f(0); }", "-gsplit-dwarf")
    with pytest.raises(Unresolved, match="compile without -gsplit-dwarf"):
        record(program, "f")


@pytest.mark.slow
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(seed=st.integers(0, 2**32), changes=st.integers(1, 60))
def test_a_damaged_program_gives_functions_or_one_line(seed, changes, tmp_path):
    whole = tmp_path / "whole"
    if not whole.exists():
        (tmp_path / "whole.c").write_text(
            "struct s { int count; }; int f(struct s *s) { return s->count; } int main(void) {"
            " return !f; }"
        )
        compile_("gcc", tmp_path / "whole.c", whole)
    generator = np.random.default_rng(seed)
    content = np.frombuffer(whole.read_bytes(), np.uint8).copy()
    content[generator.integers(0, len(content), changes)] = generator.integers(0, 256, changes)
    damaged = tmp_path / "damaged"
    damaged.write_bytes(content.tobytes())
    try:
        with reading(damaged):
            select([parse("f")], [BinaryFunctions.read(Elf.read(damaged))])
    except CollectError as error:
        assert "\n" not in str(error)
        assert str(error).isprintable()


def test_a_program_that_drops_the_preload_is_reported(build, record):
    program = build("""#include <stdlib.h>
        #include <unistd.h>
        __attribute__((noinline)) int f(int n) { return n; }
        int main(void) { return f(0); }""")
    with pytest.raises(CollectError, match=r"does not load what LD_PRELOAD names"):
        record(Path("/usr/bin/env"), "f", args=["-i", str(program)])


def test_no_compiler_is_reported(build, record, monkeypatch):
    program = build(
        "__attribute__((noinline)) int f(int n) { return n; } int main(void) { return f(0); }"
    )
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(CollectError, match=r"needs a C compiler to make its recorder"):
        record(program, "f")


def test_another_machine_is_reported(build, record, monkeypatch):
    program = build(
        "__attribute__((noinline)) int f(int n) { return n; } int main(void) { return f(0); }"
    )
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    with pytest.raises(CollectError, match=r"x86-64 only, this is riscv64"):
        record(program, "f")


def test_the_users_own_preload_stays(build, record, tmp_path):
    program = build(
        """__attribute__((weak)) int answer(void); __attribute__((noinline)) int f(int n) { return n; }
        int main(void) { return f(answer ? answer() : 41) - 42; }"""
    )
    (tmp_path / "own.c").write_text("int answer(void) { return 42; }")
    subprocess.run(["gcc", "-shared", "-fPIC", "own.c", "-o", "own.so"], cwd=tmp_path, check=True)
    assert record(program, "f", LD_PRELOAD=str(tmp_path / "own.so")).size.tolist() == [42]


@pytest.mark.slow
def test_a_cache_folder_with_a_space_in_its_name_is_fine(build, record, tmp_path, monkeypatch):
    program = build(
        "__attribute__((noinline)) int f(int n) { return n; } int main(void) { return f(0); }"
    )
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a folder"))
    assert record(program, "f").size.tolist() == [0]


# files of records


def block(kind: int, body: bytes) -> bytes:
    return (
        records.BLOCK_HEAD.pack(records.BLOCK_MAGIC, kind, records.BLOCK_HEAD.size + len(body))
        + body
    )


def process(
    magic: bytes = records.MAGIC,
    version: int = records.VERSION,
    ticks: tuple[int, int, int, int] = (0, 0, 2000, 1000),
) -> bytes:
    return block(records.PROCESS, records.ABOUT.pack(magic, version, 1, *ticks, 0, 0, 0, 0, 0))


def chunk(
    function: int, rows: Sequence[tuple[int, int, int, int]], seen: int | None = None
) -> bytes:
    head = records.PART.pack(function, 0, 0, 0, len(rows) if seen is None else seen, 0)
    return block(records.CHUNK, head + b"".join(struct.pack("<QQQQ", *row) for row in rows))


def test_the_files_give_rows_in_seconds(tmp_path):
    rows = [
        (0 | 1 << 62, 5, 4000, 20),
        (1 | 2 << 62, 2**64 - 1, 2, 0),
        (2, 0, 0, 0),
        (3 | 3 << 62, 0x7FF8 << 48, 0, 0),
    ]
    (tmp_path / "fentry-1-0.bin").write_bytes(process() + chunk(0, rows, seen=40) + b"\0" * 100)
    found = records.read(tmp_path, 1, 200)
    assert found.duration.tolist() == pytest.approx([2e-6, 1e-9, 0, 0])
    assert found.cost.tolist() == pytest.approx([10e-9, 0, 0, 0])
    assert found.size[:2].tolist() == [5, 2.0**64]
    assert np.isnan(found.size[2:]).all()
    assert found.rate.tolist() == [10] * 4


def test_the_files_of_several_processes_make_one_sample(tmp_path):
    def rows(size: int, kind: int, duration: int) -> list[tuple[int, int, int, int]]:
        return [(number | kind << 62, size, duration, 0) for number in range(200)]

    (tmp_path / "fentry-1-0.bin").write_bytes(
        process() + chunk(0, rows(100, 2, 20_000), seen=2_000_000)
    )
    (tmp_path / "fentry-2-0.bin").write_bytes(process() + chunk(0, rows(101, 1, 2000), seen=200))
    (tmp_path / "fentry-3-0.bin").write_bytes(process() + chunk(1, rows(5, 2, 4), seen=400))
    found = records.read(tmp_path, 2, 200)
    one = found.function == 0
    assert one.sum() == 200
    assert found.rate[one] == pytest.approx(2_000_200 / 200)
    assert found.duration[one].mean() == pytest.approx(10e-6, rel=0.05), (
        "all but some 0.02 rows are those of the first process"
    )
    assert found.rate[~one].tolist() == [2.0] * 200


BUCKET_PROGRAM = """
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
enum kind { NONE, SIGNED, UNSIGNED, REAL };
struct number { uint64_t bits; enum kind kind; };
%s
int main(void)
{
    uint64_t kind, bits;
    while (scanf("%%lu %%lu", &kind, &bits) == 2) printf("%%u\\n", bucket((struct number){bits, (enum kind)kind}));
    return 0;
}
"""


def test_rows_are_in_the_buckets_of_the_runtime(tmp_path):
    source = (Path(records.__file__).parents[1] / "inside/fentry/sizes.h").read_text()
    begin = source.index("enum { BUCKETS")
    (tmp_path / "bucket.c").write_text(BUCKET_PROGRAM % source[begin:])
    subprocess.run(["gcc", "-w", "-o", tmp_path / "bucket", tmp_path / "bucket.c"], check=True)
    random = np.random.default_rng(5)
    bits = [
        int(one) >> shift for one in random.integers(0, 2**64, 40, np.uint64) for shift in range(64)
    ]
    bits += [(1 << power) + more for power in range(64) for more in (-1, 0, 1)] + [
        2**64 - 1,
        0x7FF8 << 48,
        0xFFF8 << 48,
    ]
    bits += (
        np.array([0.25, -0.25, 1, -1.5, 1e9, 1e-9, -1e300, -0.0, np.inf]).view(np.uint64).tolist()
    )
    given = [(kind, one) for kind in range(4) for one in bits]
    said = subprocess.run(
        [tmp_path / "bucket"],
        input="".join(f"{kind} {one}\n" for kind, one in given),
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    rows = np.array([(kind << 62, one, 0, 0) for kind, one in given], records.CALL_RECORD)
    assert records._buckets(rows).tolist() == list(map(int, said.split()))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (process(magic=b"OTHER..."), "another version"),
        (process(version=9), "another version"),
        (process(ticks=(5, 5, 5, 5)), "no times"),
        (process() + chunk(3, [(0, 0, 0, 0)]), "not chosen"),
        (process() + records.BLOCK_HEAD.pack(records.BLOCK_MAGIC, records.CHUNK, 3), "damaged"),
        (process() + records.BLOCK_HEAD.pack(records.BLOCK_MAGIC, 99, 64), "damaged"),
        (
            process() + records.BLOCK_HEAD.pack(records.BLOCK_MAGIC, records.CHUNK, 1 << 40),
            "damaged",
        ),
    ],
)
def test_a_wrong_file_is_named(content, message, tmp_path):
    (tmp_path / "fentry-1-0.bin").write_bytes(content)
    with pytest.raises(CollectError, match=rf"fentry-1-0.bin .*{message}"):
        records.read(tmp_path, 1, 200)


def test_what_is_no_file_is_named(tmp_path):
    (tmp_path / "fentry-1-0.bin").mkdir()
    with pytest.raises(CollectError, match="no longer a file"):
        records.read(tmp_path, 1, 200)
    (tmp_path / "fentry-1-0.bin").rmdir()
    (tmp_path / "elsewhere").write_bytes(process())
    (tmp_path / "fentry-1-0.bin").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CollectError, match="cannot be read"):
        records.read(tmp_path, 1, 200)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.binary(max_size=80),
            st.sampled_from([process(), chunk(0, [(0, 1, 2, 3)] * 3, seen=2**63)]),
        ),
        max_size=6,
    )
)
def test_any_bytes_give_rows_or_one_line(tmp_path_factory, parts):
    folder = tmp_path_factory.mktemp("records")
    (folder / "fentry-1-0.bin").write_bytes(b"".join(parts))
    try:
        found = records.read(folder, 1, 200)
    except CollectError as error:
        assert "\n" not in str(error)
    else:
        assert (found.duration >= 0).all()


# the collector, from the front


def test_a_c_program_is_built_and_recorded_by_collect(project, perf):
    project.write(
        "sort.c",
        """#include <stdio.h>
        #include <stdlib.h>
        __attribute__((noinline)) void insertion_sort(int *a, int n)
        { for (int i = 1; i < n; i++) for (int j = i; j && a[j] < a[j - 1]; j--) { int t = a[j]; a[j] = a[j - 1]; a[j - 1] = t; } }
        int main(void) { static int a[300]; for (int n = 20; n <= 300; n += 20) {
           for (int i = 0; i < n; i++) a[i] = rand() % 1000; insertion_sort(a, n); } return 0; }
        """,
    )
    project.configure(
        'cmd = "./sort"\nexecutions = 2\ncollectors = [{ name = "complexity", functions ='
        ' ["insertion_sort"] }]',
        top='build = ["gcc -O2 -o sort sort.c"]',
    )
    project.commit("a sort")
    perf("collect")
    repository = Repository.find()
    (stored,) = repository.profiles(
        one.header for one in repository.measured(repository.current("HEAD"))
    )
    assert set(stored.resources.names) == {"insertion_sort"}
    assert sorted(set(stored.resources.size or [])) == [20.0 * n for n in range(1, 16)]
    assert stored.job.engine == "fentry/1"
