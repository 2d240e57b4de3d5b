"""What differs besides the code, by the fields of profiles."""

from __future__ import annotations

from perfvcs.git.project import Project as Git
from perfvcs.locate.blame.elsewhere import own_name, surroundings, upgraded
from perfvcs.profile import Collected, Environment, Job, Profile, Resources


def profile(*, fields=(), installed="", source=()):
    return Profile(
        commit="0" * 40,
        job=Job("work", "time", "python work.py", source=dict(source)),
        collected=Collected("s", "", "", "perfvcs"),
        metrics={},
        resources=Resources(),
        environment=Environment(dict(fields), "f", {"installed": installed}),
    )


def test_the_same_surroundings_are_not_reported():
    one = profile(
        fields=[("python", "CPython 3.11.7")], installed="numpy==1.26.0", source=[("data", "1")]
    )
    assert surroundings(one, one) == []
    assert upgraded(one, one) == []


def test_interpreter_packages_and_input_are_reported():
    a = profile(
        fields=[("python", "CPython 3.11.7"), ("CFLAGS", "-O2")],
        installed="numpy==1.26.0 six==1.0",
        source=[("data", "1")],
    )
    b = profile(
        fields=[("python", "CPython 3.12.1")],
        installed="numpy==2.0.0 rich==13.0",
        source=[("data", "2")],
    )
    assert surroundings(a, b) == [
        "CFLAGS: -O2 -> none",
        "python: CPython 3.11.7 -> CPython 3.12.1",
        "installed: numpy 1.26.0 -> 2.0.0, rich not installed -> 13.0, six 1.0 -> not installed",
        "input: data",
    ]


def test_the_project_itself_is_not_one_of_its_dependencies(project):
    project.commit("first", **{"pyproject.toml": '[project]\nname = "my_tool"\nversion = "2"\n'})
    git = Git.find(project.root)
    name = own_name(git, git.resolve("HEAD"))
    a, b = (
        profile(installed="my-tool==1 numpy==1.26.0"),
        profile(installed="my-tool==2 numpy==2.0.0"),
    )
    assert (name, upgraded(a, b, name)) == ("my_tool", ["numpy==2.0.0"])
