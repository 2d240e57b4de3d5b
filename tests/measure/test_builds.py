"""Builds with flags of our own: compilers that add them, jobs that need them beside jobs that do
not.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import Project

from perfvcs.measure.builds import wrapped
from perfvcs.repository import Repository

FLAGS = ("-g", "-pg", "-mfentry")
SOURCE = """
int work(int n) { volatile int sum = 0; for (int i = 0; i < n; i++) sum += i; return sum; }
int main(void) { int sum = 0; for (int n = 10; n <= 200; n += 10) sum += work(n); return sum == 0; }
"""
MAKEFILE = (
    "CFLAGS ?= -O1 -DOWN\nprog: prog.o\n\t$(CC) -o $@ $<\nprog.o: prog.c\n\t$(CC) $(CFLAGS) -c -o"
    " $@ $<\n"
)
BOTH = '[[job]]\nname = "work"\ncmd = "./prog"\nexecutions = 2\nwarmup = 0\n'
COLLECTORS = 'collectors = ["time", { name = "complexity", functions = ["work"] }]\n'


def run(env: dict[str, str], *argv: str, cwd: Path) -> str:
    return subprocess.run(argv, cwd=cwd, env=env, check=True, capture_output=True, text=True).stdout


def calls_fentry(path: Path) -> bool:
    return "__fentry__" in run(dict(os.environ), "nm", str(path), cwd=path.parent)


def builds(project: Project) -> set[bool]:
    """Whether the object files of the builds that are kept call the recorder; there is none in the
    working tree, which is the user's.
    """
    assert not (project.root / "prog.o").exists()
    return {calls_fentry(path) for path in project.root.glob(".perf/builds/*/tree/prog.o")}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "code" / "prog.c"
    path.parent.mkdir()
    path.write_text(SOURCE)
    return path


@pytest.mark.needs("gcc")
@pytest.mark.parametrize("compiler", ["gcc", "cc", "g++", "c++"])
def test_a_compiler_on_the_path_adds_the_flags_where_it_compiles(compiler, source, tmp_path):
    env = wrapped(os.environ, FLAGS, tmp_path / "compilers")
    run(env, "sh", "-c", f"{compiler} -O1 -c prog.c", cwd=source.parent)
    assert calls_fentry(source.with_suffix(".o"))


@pytest.mark.needs("gcc")
def test_linking_brings_no_profiler_in(source, tmp_path):
    env = wrapped(os.environ, FLAGS, tmp_path / "compilers")
    run(env, "sh", "-c", "cc -c prog.c && cc -o prog prog.o && ./prog", cwd=source.parent)
    assert "monstartup" not in run(env, "nm", "-D", "prog", cwd=source.parent)
    assert not source.with_name("gmon.out").exists()


@pytest.mark.needs("gcc")
def test_arguments_with_spaces_and_quotes_stay_what_they_are(source, tmp_path):
    named = source.with_name("it's a prog.c")
    source.rename(named)
    env = wrapped(os.environ, FLAGS, tmp_path / "compilers")
    subprocess.run(
        ["cc", '-DTEXT="a b\'c"', "-c", named.name, "-o", "out.o"],
        cwd=named.parent,
        env=env,
        check=True,
    )
    assert calls_fentry(named.with_name("out.o"))


@pytest.mark.needs("gcc")
def test_a_compiler_that_cc_names_by_its_path_is_wrapped_too(source, tmp_path):
    found = run(dict(os.environ), "sh", "-c", "command -v gcc", cwd=tmp_path).strip()
    env = wrapped(
        {**os.environ, "CC": f"{found} -std=c11", "CXX": "g++"}, FLAGS, tmp_path / "compilers"
    )
    assert env["CC"] == f"{tmp_path}/compilers/gcc -std=c11" and env["CXX"] == "g++"
    run(env, "sh", "-c", "$CC -c prog.c", cwd=source.parent)
    assert calls_fentry(source.with_suffix(".o"))


@pytest.mark.needs("gcc")
@pytest.mark.parametrize("how", ["-flto -O2", "-flto=auto -O1", "-fomit-frame-pointer -O2"])
def test_builds_whose_own_flags_would_undo_ours_call_the_recorder_too(how, source, tmp_path):
    env = wrapped(os.environ, FLAGS, tmp_path / "compilers")
    run(
        env,
        "sh",
        "-c",
        f"gcc {how} -c prog.c && gcc {how} -o prog prog.o && ./prog",
        cwd=source.parent,
    )
    assert calls_fentry(source.with_name("prog"))


@pytest.mark.needs("gcc")
def test_functions_of_a_library_that_an_interpreter_loads_are_recorded(project, perf):
    build = "gcc -O1 -shared -fPIC -o code.so prog.c"
    load = "import ctypes, os; ctypes.CDLL(os.path.abspath('code.so')).work(7)"
    collectors = 'collectors = [{ name = "complexity", language = "native", functions = ["work"] }]'
    project.configure(f'cmd = "{sys.executable} use.py"\n{collectors}', top=f'build = ["{build}"]')
    project.commit("a library", **{"prog.c": SOURCE, "use.py": load, ".gitignore": "*.so\n"})
    perf("collect")
    (stored,) = Repository.find().profiles(
        Repository.find().index.headers([project.git("rev-parse", "HEAD")])
    )
    assert stored.resources.size == [7, 7]


def test_folders_of_the_path_that_are_not_there_do_no_harm(tmp_path):
    env = wrapped({"PATH": f"/no/such/folder:{tmp_path}"}, FLAGS, tmp_path / "compilers")
    assert list((tmp_path / "compilers").iterdir()) == [] and env["PATH"].startswith(
        f"{tmp_path}/compilers:"
    )


@pytest.mark.needs("gcc")
def test_a_job_that_needs_flags_gets_a_build_of_its_own(project, perf):
    project.write("perf.toml", f'build = ["make"]\n\n{BOTH}{COLLECTORS}')
    project.commit("a program", **{"prog.c": SOURCE, "Makefile": MAKEFILE})
    said = (
        perf("collect", "--no-progress")
        if "--no-progress" in perf("collect", "--help").out
        else perf("collect")
    )
    assert "preparing" in said.out + said.err and "with -g -pg -mfentry" in said.out + said.err
    assert builds(project) == {False, True}
    repository = Repository.find()
    stored = repository.profiles(
        one.header for one in repository.index.measured([project.git("rev-parse", "HEAD")])
    )
    assert sorted(profile.job.collector for profile in stored) == ["complexity", "time"]
    assert {profile.job.engine for profile in stored if profile.job.collector == "complexity"} == {
        "fentry/1"
    }


@pytest.mark.needs("gcc")
def test_a_build_that_names_its_compiler_says_where_the_flags_belong(project, perf):
    found = run(dict(os.environ), "sh", "-c", "command -v gcc", cwd=project.root).strip()
    build = f"{found} -O1 {{cflags}} -c prog.c"
    project.write(
        "perf.toml", f'build = ["{build}", "{found} -o prog prog.o"]\n\n{BOTH}{COLLECTORS}'
    )
    project.commit("a program", **{"prog.c": SOURCE})
    perf("collect")
    assert builds(project) == {False, True}


@pytest.mark.needs("gcc")
def test_a_build_that_fails_with_the_flags_costs_only_the_jobs_that_need_them(project, perf):
    project.write("perf.toml", f'build = ["make"]\n\n{BOTH}{COLLECTORS}')
    broken = MAKEFILE.replace(
        "\t$(CC) $(CFLAGS)",
        "\t$(CC) $(CFLAGS) -v 2>&1 | grep -q mfentry && exit 1; $(CC) $(CFLAGS)",
    )
    project.commit(
        "a program",
        **{"prog.c": SOURCE, "Makefile": broken.replace("-c -o $@ $<\n", "-c -o $@ $<\n")},
    )
    assert "$(CC) $(CFLAGS) -v" in broken
    project.write("Makefile", broken.replace(" -v 2>&1", " -v -c -o /dev/null $< 2>&1"))
    project.commit("it does not bear the flags")
    said = perf("collect", code=5)
    assert "the build with -g -pg -mfentry" in said.out + said.err
    assert "time" in perf("log").out


def test_what_was_kept_aside_goes_after_two_weeks(project, perf):
    project.commit("first")
    perf("init")
    aside = project.root / ".perf" / "aside"
    aside.mkdir()
    for name, age in (("old.json", 15 * 86400), ("new.json", 13 * 86400)):
        (aside / name).write_text("{}")
        os.utime(aside / name, (time.time() - age,) * 2)
    perf("gc")
    assert [path.name for path in aside.iterdir()] == ["new.json"]
