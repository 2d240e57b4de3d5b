"""What perf.toml and the build name keeps benchmarks, whatever it is called: inputs of jobs,
documents, and programs that make code.
"""

from __future__ import annotations

import pytest

C = "#include <stdio.h>\nint main(void) { return 0; }\n"
WORK = "import sys\ndef work(): return 1\nwork()\n"
OTHER = "def other(): return 1\nother()\n"
JOBS = '[[job]]\nname = "other"\ncmd = "python other.py"\n'
MAKE = 'build = ["make"]\n'


def job(cmd: str, more: str = "") -> str:
    return f'[[job]]\nname = "w"\ncmd = """{cmd}"""\n{more}\n'


@pytest.fixture
def kept(project, perf):
    """Which of the jobs ``w`` and ``other`` are kept where a file changes."""

    def kept(config: str, changed: str, text: str = "new\n", **files: str) -> set[str]:
        project.commit(
            "first",
            **{
                "perf.toml": f"{config}{JOBS}",
                "work.py": WORK,
                "other.py": OTHER,
                "w.c": C,
                changed: "old\n",
                **files,
            },
        )
        project.commit("change", **{changed: text})
        found = perf("select", "--json", "HEAD~1..HEAD").document
        return {row["benchmark"].split()[0] for row in found["benchmarks"] if row["run"]}

    return kept


@pytest.mark.parametrize(
    ("config", "changed"),
    [
        (job("python work.py", 'workloads = ["sample.md"]'), "sample.md"),
        (job("./w", 'workloads = ["docs"]'), "docs/a.rst"),
        (job("./w", 'args = ["-v LICENSE", ""]'), "LICENSE"),
        (job("sh -c 'python work.py < docs/a.md'"), "docs/a.md"),
        (job("sh -c 'cat docs/*.md'"), "docs/a.md"),
        (job("./w docs/{n}.md", "workloads = [{ integers = [1] }]"), "docs/1.md"),
        (job("./w .clang-format"), ".clang-format"),
        (job("./w 'a b.md'"), "a b.md"),
        (job("./w ."), "README"),
        (job("./w parsed.py"), "parsed.py"),
        (job("python work.py parsed.c"), "parsed.c"),
        (job("./w", 'workloads = [{ command = "cat README.md" }]'), "README.md"),
    ],
)
def test_what_a_job_is_given_is_data_of_that_job(kept, config, changed):
    assert kept(config, changed, "/* c */\n" if changed.endswith(".c") else "# c\n") >= {"w"}


def test_what_another_job_is_given_touches_only_that_one(kept):
    assert kept(job("python work.py", 'workloads = ["a.md"]'), "a.md") == {"w"}


@pytest.mark.parametrize(
    ("top", "changed"),
    [
        ('overlay = ["a.md"]\n', "a.md"),
        ('overlay = ["bench"]\n', "bench/a.md"),
        ('env = { INPUT = "docs/a.md" }\n', "docs/a.md"),
        ('build = ["make DOC=README.md"]\n', "README.md"),
        ('build = ["make CONFIG=.editorconfig"]\n', ".editorconfig"),
        ('[python]\ninstall = ["vendored/one"]\n', "vendored/one/README.md"),
    ],
)
def test_what_belongs_to_all_jobs_keeps_all(kept, top, changed):
    assert kept(f"{top}{job('python work.py')}", changed) == {"w", "other"}


GEN = "import helper\nprint(helper.size())\n"
HELPER = "def size(): return 1\ndef unused(): return 1\n"
RULE = "w: w.c gen.py\n\tpython3 gen.py > gen.h\n\tgcc -o w w.c\n"


@pytest.mark.parametrize(
    ("build", "changed", "files"),
    [
        (MAKE, "gen.py", {"Makefile": RULE}),
        (MAKE, "helper.py", {"Makefile": RULE, "gen.py": GEN}),
        (MAKE, "tools/gen.py", {"Makefile": "w: w.c\n\tpython3 -m tools.gen > gen.h\n"}),
        (MAKE, "tools/gen.py", {"Makefile": "T = tools\nw: w.c\n\tpython3 $(T)/$(G).py > gen.h\n"}),
        (MAKE, "spec.md", {"Makefile": "w: w.c spec.md\n\tgcc -o w w.c\n"}),
        (MAKE, "docs/a.md", {"Makefile": "w: w.c $(wildcard docs/*.md)\n\tgcc -o w w.c\n"}),
        (MAKE, ".github/n.mk", {"Makefile": "include .github/n.mk\nw: w.c\n\tgcc -o w w.c\n"}),
        (
            MAKE,
            "docs/n.md",
            {"Makefile": "include .github/n.mk\n", ".github/n.mk": "w: docs/n.md\n"},
        ),
        (
            MAKE,
            "ops.h",
            {
                "Makefile": "gen.h: ops.h gen.py\n\tpython3 gen.py $< > gen.h\n",
                "gen.py": GEN,
                "helper.py": HELPER,
            },
        ),
        (
            MAKE,
            "gen.c",
            {"Makefile": "gen.h: gen\n\t./gen > gen.h\ngen: gen.c\n\tgcc -o gen gen.c\n"},
        ),
        ('build = ["python3 gen.py", "gcc -O1 -o w w.c"]\n', "gen.py", {}),
        ('build = ["sh tools/mk"]\n', "gen.py", {"tools/mk": "python3 gen.py > gen.h\n"}),
        ('build = ["python3 gen.py"]\n', "spec.md", {"gen.py": "print(open('spec.md').read())\n"}),
        ('build = ["pip install ."]\n', "gen.py", {"setup.py": "import gen\n"}),
        (
            'build = ["cmake .", "make"]\n',
            "gen.py",
            {"CMakeLists.txt": "add_custom_command(COMMAND ${PY} gen.py)\n"},
        ),
        (
            'build = ["cmake .", "make"]\n',
            "README.md",
            {"CMakeLists.txt": "file(READ README.md TEXT)\nadd_executable(w w.c README.md)\n"},
        ),
    ],
)
def test_what_the_build_reads_and_runs_keeps_all(kept, build, changed, files):
    text = (
        C.replace("return 0", "return 1")
        if changed.endswith(".c")
        else "def size(): return 2\nsize()\n"
    )
    before = {changed: C if changed.endswith(".c") else "def size(): return 1\nsize()\n"}
    assert kept(f"{build}{job('./w')}", changed, text, **(before | files)) == {"w", "other"}


@pytest.mark.parametrize(
    ("build", "changed", "files"),
    [
        (MAKE, "README.md", {"Makefile": RULE, "gen.py": GEN, "helper.py": HELPER}),
        # only what the generator does not run
        (MAKE, "helper.py", {"Makefile": RULE, "gen.py": GEN}),
        (
            MAKE,
            "docs/index.md",
            {"Makefile": "w: w.c\n\tgcc -o w w.c\n.PHONY: docs\ndocs:\n\tsphinx-build docs\n"},
        ),
        (
            MAKE,
            "tests/test_it.py",
            {"Makefile": "w: w.c\n\tgcc -o w w.c\ntest:\n\tpytest tests/test_it.py\n"},
        ),
        ("", "README.md", {"Makefile": "w: w.c README.md\n\tgcc -o w w.c\n"}),
        (
            'build = ["pip install ."]\n',
            "README.md",
            {"setup.py": "setup(long_description=open('README.md').read())\n"},
        ),
        ('build = ["pip install ."]\n', "docs/a.md", {"Makefile": "docs: docs/a.md\n"}),
        (
            'build = ["cmake .", "make"]\n',
            "README.md",
            {"CMakeLists.txt": "ADD_EXECUTABLE (w w.c README.md)\ninstall(FILES README.md)\n"},
        ),
    ],
)
def test_what_no_build_reads_or_runs_keeps_none(kept, build, changed, files):
    before = {changed: HELPER}
    text = HELPER.replace("unused(): return 1", "unused(): return 2")
    assert kept(f"{build}{job('./w')}", changed, text, **(before | files)) == set()


def test_uncommitted_changes_of_a_job_s_input_are_measured(project, perf):
    project.configure('cmd = "sh work.sh"\nworkloads = ["sample.md"]')
    project.commit("one", **{"work.sh": "cat $1\n", "sample.md": "1\n"})
    project.write("sample.md", "2\n")
    said = perf("check", "--measure", "-n", "2", code=None)
    assert "HEAD and its changes in sample.md" in said.out
    assert "no job sees" not in said.out
