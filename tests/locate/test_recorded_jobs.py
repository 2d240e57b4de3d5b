"""The functions that ordinary Python jobs run: recorded in a warm-up execution, and what `perf
select` makes of them.
"""

import sys

import pytest

LIBRARY = """
def first(): return 1
def second(): return 2
def inner():
    def nested(): return [first() for _ in range(2)]
    return nested()
class Named:
    def method(self): return 3
"""
PROGRAM = """
import os, sys
import lib
getattr(lib, "in" + "ner")()
names = [name for name in (*sys.modules, *sys.path, *os.environ) if "perfvcs" in name or "FUNCTIONS" in name]
print(os.environ.get("PYTHONPATH"), names, file=open(os.environ["SAID"], "a"))
"""


@pytest.fixture
def measured(project, perf):
    """Configure a job, commit the program, measure it once; returns the functions that were
    recorded.
    """

    def run(program=PROGRAM, options=""):
        said = project.root.parent / "said"
        command = f'"{sys.executable} {options} work.py"'
        project.write(
            "perf.toml", f'env = {{ SAID = "{said}" }}\n[[job]]\nname = "work"\ncmd = {command}\n'
        )
        project.commit("begin", **{"work.py": program, "lib.py": LIBRARY})
        perf("collect", "-n", "1", "-q")
        return said.read_text().splitlines()

    return run


def reached(repository):
    from perfvcs.locate.select.reached import of_profile

    return [
        found
        for header in repository.index.headers([repository.project.resolve("HEAD")])
        for profile in repository.profiles([header])
        for unit, found in of_profile(profile).items()
        if not unit.uid
    ]


@pytest.fixture
def repository(project):
    from perfvcs.repository import Repository

    return lambda: Repository.find(project.root)


def test_the_functions_that_ran_are_recorded_without_measuring_them(measured, repository):
    measured()
    (found,) = reached(repository())
    assert found.functions == {
        "work.py:<module>",
        "lib.py:<module>",
        "lib.py:Named",
        "lib.py:inner",
        "lib.py:inner.<locals>.nested",
        "lib.py:first",
    }
    assert found.recorded and found.complete and not found.processes


def test_select_leaves_out_what_no_recorded_function_touches(measured, project, perf):
    measured()
    project.commit("another function", **{"lib.py": LIBRARY.replace("return 2", "return 4")})
    assert "left out (1)" in perf("select", "HEAD~1..HEAD").out
    assert "decided by what was recorded" in perf("select", "HEAD~1..HEAD", "--explain", "work").out
    project.commit("its function", **{"lib.py": LIBRARY.replace("return 1", "return 5")})
    assert "can be touched (1)" in perf("select", "HEAD~1..HEAD").out


def test_the_program_sees_nothing_of_it(measured):
    recorded, plain = measured()
    assert recorded == plain


@pytest.mark.parametrize("options", ["-S", "-I", "-E"])
def test_an_interpreter_that_does_not_listen_is_measured_without(measured, repository, options):
    measured("import sys; sys.path.insert(0, '.')\n" + PROGRAM, options=options)
    assert reached(repository()) == []


def test_a_program_that_fails_where_it_is_recorded_is_measured_all_the_same(measured, repository):
    measured("import sys\nif sys.getprofile(): sys.exit(3)\n" + PROGRAM)
    assert reached(repository()) == [] or sys.version_info >= (3, 12)


def test_processes_that_it_starts_are_noted(measured, repository):
    measured("import subprocess; subprocess.run(['true'])\n" + PROGRAM)
    (found,) = reached(repository())
    assert found.processes


def test_a_program_that_ends_at_once_leaves_nothing(measured, repository):
    measured(PROGRAM + "\nos._exit(0)\n")
    assert reached(repository()) == []


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="calls are watched once each")
def test_a_program_with_too_many_calls_is_not_recorded_and_goes_on(measured, repository):
    many = "def work(): pass\nfor _ in range(2_100_000): work()\n"
    assert len(measured(many + PROGRAM)) == 2
    assert reached(repository()) == []
