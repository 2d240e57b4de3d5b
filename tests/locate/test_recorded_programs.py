"""The functions that compiled programs run, out of callgrind's lists, and what `perf select` and
`perf bisect` make of them.
"""

import hashlib

import pytest

FILES = {
    ".gitignore": "work\n",
    "work.c": (
        '#include "shapes.h"\nstatic int inner(int n) { return n * 3; }\nstatic int left(int n) {'
        " return n * 5; }\nint main(int count, char **words) { return count > 7 ? left(count) +"
        " rare(count) : inner(count) * 0 + area(count) * 0; }\n"
    ),
    "shapes.h": (
        "int area(int n);\nint rare(int n);\nstatic inline int twice(int n) { return 2 * n; }\n"
    ),
    "shapes.c": '#include "shapes.h"\nint area(int n) { return twice(n) + 1; }\n',
    "rare.c": '#include "shapes.h"\nint rare(int n) { return n - 1; }\n',
}
TOP = 'build = ["gcc -O2 -o work work.c shapes.c rare.c"]'
pytestmark = pytest.mark.needs("gcc", "valgrind")


@pytest.fixture
def measured(project, perf):
    """Measure a program of three sources once: tests that measure the same one share its repository
    and its profiles.
    """

    def run(files=FILES, job='cmd = "./work"\ncollectors = ["time", "instructions"]', top=TOP):
        def make():
            project.configure(job, top=top)
            project.commit("begin", **files)
            perf("collect", "-n", "1", "-q")

        program = hashlib.sha256(repr((files, job, top)).encode()).hexdigest()[:12]
        project.begin(f"recorded program {program}", make)

    return run


def test_what_ran_is_recorded_and_the_rest_is_left_out(measured, project, perf):
    measured()
    project.commit("what never ran", **{"rare.c": FILES["rare.c"].replace("- 1", "- 2")})
    assert "left out (2)" in perf("select", "HEAD~1..HEAD").out
    assert "decided by what was recorded" in perf("select", "HEAD~1..HEAD", "--explain", "work").out
    assert [one.touches for one in suspects_of(project)] == [False]


def suspects_of(project):
    from perfvcs.jobs.config import load
    from perfvcs.locate.bisect.saved import Target
    from perfvcs.locate.bisect.span import span
    from perfvcs.locate.bisect.suspicion import suspects
    from perfvcs.measure.progress import Progress
    from perfvcs.measure.rig import Rig
    from perfvcs.repository import Repository

    found = Repository.find(project.root)
    between = span(found.project, *(found.project.resolve(name) for name in ("HEAD~1", "HEAD")))
    target = Target("work", "time", "work", None, "cpu", "s", "lower")
    rig = Rig(found, load(project.root / "perf.toml"), Progress())
    return suspects(rig, between, target)


@pytest.mark.parametrize(
    ("file", "old"),
    [("work.c", "n * 3"), ("shapes.h", "2 * n"), ("shapes.c", "+ 1;"), ("work.c", "n * 5")],
)
def test_what_a_compiler_put_inside_of_others_counts_as_run(measured, project, perf, file, old):
    measured()
    project.commit("inside", **{file: FILES[file].replace(old, "7 * n" if "n" in old else "+ 2;")})
    assert "can be touched (2)" in perf("select", "HEAD~1..HEAD").out


def recorded(project):
    from perfvcs.repository import Repository

    found = Repository.find(project.root)
    profiles = found.profiles(found.index.headers([found.project.resolve("HEAD")]))
    return {
        profile.job.collector: profile.reached.functions for profile in profiles if profile.reached
    }


def test_a_shell_that_runs_beside_it_is_noted_as_processes(measured, project):
    measured(job='cmd = "./work; true"\nshell = true\ncollectors = ["instructions"]')
    assert "(processes)" in recorded(project)["instructions"]


def test_a_stripped_program_tells_nothing(measured, project):
    measured(job='cmd = "./work"\ncollectors = ["instructions"]', top=TOP.replace("-O2", "-O2 -s"))
    assert recorded(project) == {}


def test_what_ran_and_stands_in_no_source_decides_nothing(measured, project, perf):
    files = FILES | {
        "shapes.c": "#define named(start) start##ea\nint named(ar)(int n) { return n; }\n"
    }
    measured(files)
    project.commit("what never ran", **{"rare.c": FILES["rare.c"].replace("- 1", "- 2")})
    assert (
        "decided by what was recorded"
        not in perf("select", "HEAD~1..HEAD", "--explain", "work").out
    )


DEFINED = TOP.replace('["gcc', '["""gcc -DSHAPES_H=\'"shapes.h"\'').replace('.c"]', '.c"""]')


@pytest.mark.parametrize("top", [TOP, DEFINED])
def test_an_include_that_a_macro_names_may_be_any(measured, project, perf, top):
    define = "" if "-D" in top else '#define SHAPES_H "shapes.h"\n'
    work = (
        FILES["work.c"]
        .replace("left(count)", "twice(count)")
        .replace("inner(count)", "twice(count)")
    )
    measured(FILES | {"work.c": define + work.replace('"shapes.h"', "SHAPES_H")}, top=top)
    project.commit("inside", **{"shapes.h": FILES["shapes.h"].replace("2 * n", "7 * n")})
    assert "can be touched (2)" in perf("select", "HEAD~1..HEAD").out


HELPER = "static __attribute__((noinline,used)) int unused_helper(int x) { return x * 3 + 1; }\n"


@pytest.mark.parametrize(
    "recorded", [True, False], ids=["by what was recorded", "by its sources alone"]
)
def test_a_function_that_nobody_names_is_left_out_whatever_keeps_it(
    measured, project, perf, recorded
):
    collectors = '["time", "instructions"]' if recorded else '["time"]'
    measured(job=f'cmd = "./work"\ncollectors = {collectors}')
    project.commit(
        "a helper", **{"work.c": FILES["work.c"].replace("int main", f"{HELPER}int main")}
    )
    said = perf("select", "HEAD~1..HEAD").out
    assert "left out" in said and "can be touched" not in said


@pytest.mark.parametrize(
    "other",
    [
        {"new.c": 'void jump(void) { __asm__("call unused_helper"); }\n'},
        {"new.s": ".globl jump\njump:\n    jmp unused_helper\n"},
    ],
    ids=["in C", "in a file"],
)
def test_a_function_that_is_kept_may_be_called_by_assembly(measured, project, perf, other):
    measured(FILES | other)
    project.commit("a helper", **{"rare.c": FILES["rare.c"] + HELPER})
    said = perf("select", "HEAD~1..HEAD", "--explain", "work").flat
    assert "can be touched" in said and "an attribute by which assembly can call it" in said


STARTING = [
    (
        "new.c",
        (
            "static void __attribute__((constructor)) begin(void) { for (volatile int i = 0; i < 9;"
            " i++); }\n"
        ),
    ),
    (
        "new.c",
        "static void begin(void) __attribute__((constructor));\nstatic void begin(void) {}\n",
    ),
    ("new.c", "#include <stdlib.h>\nvoid *malloc(size_t n) { return 0; }\n"),
    ("new.cc", "#include <new>\nvoid *operator new(std::size_t n) { return 0; }\n"),
    ("new.cc", "struct R { R() { for (volatile int i = 0; i < 9; i++); } };\nstatic R r;\n"),
    ("new.cc", "namespace {\nstruct R { R(int n) {} };\nR r(5);\n}\n"),
    ("new.cc", "struct R { R(int n) {} };\nR r{5};\n"),
    ("new.cc", "int begin();\nint begun = begin();\n"),
    ("new.cc", '#include "registry.h"\nREGISTER(one);\n'),
]
NEVER_STARTING = [
    (
        "new.c",
        (
            "#include <stdio.h>\nstruct pair { int a, b; };\nstatic struct pair one;\nint other(int"
            " n) { return n; }\n"
        ),
    ),
    ("new.c", "typedef struct { int a; } pair;\nstatic pair one;\nint table[] = { 1, 2 };\n"),
    (
        "new.cc",
        (
            "class K { K(); R member; };\nint other(int of);\nextern K k;\nconstexpr int size ="
            " 3;\nusing L = K;\nstatic int *p;\n"
        ),
    ),
    (
        "new.cc",
        (
            "template <class T> T double_it(T t) { return t; }\nint other(int of) { static R"
            " local(5); return of; }\nenum E { A };\n"
        ),
    ),
    ("tests/new.cc", "TEST(a, b) { run(); }\nINSTANTIATE(c);\n"),
]


@pytest.mark.parametrize(("file", "text"), STARTING)
def test_what_runs_before_main_in_a_new_file_keeps_all(measured, project, perf, file, text):
    measured()
    project.commit("begin", **{file: text})
    assert "can be touched (2)" in perf("select", "HEAD~1..HEAD").out


@pytest.mark.parametrize(("file", "text"), NEVER_STARTING)
def test_what_only_defines_in_a_new_file_keeps_none(measured, project, perf, file, text):
    measured()
    project.commit("begin", **{file: text})
    assert "left out (2)" in perf("select", "HEAD~1..HEAD").out
