"""What a commit changes, file by file, and whether what a benchmark ran is among it."""

from __future__ import annotations

from itertools import pairwise

import pytest

from perfvcs.git.changes import WorkingChanges
from perfvcs.git.project import Project
from perfvcs.locate.bisect.suspicion import suspect
from perfvcs.locate.select.reached import Reach
from perfvcs.locate.sources.differences import UNREAD, Changes, changes, each

LIBRARY = "def work(n):\n    return n\n\ndef other():\n    return 2\n"


def last(project) -> Changes:
    found = Project.find(project.root)
    return changes(found, found.resolve("HEAD~1"), found.resolve("HEAD"))


def nothing(changed: Changes) -> bool:
    return not any(file.matters for file in changed.files)


@pytest.fixture
def library(project):
    project.commit(
        "library",
        **{
            "lib.py": LIBRARY,
            "README.md": "# A library\n",
            "setup.py": "from setuptools import setup\nsetup(version='1')\n",
        },
    )
    return project


def test_a_changed_function_is_named_as_profiles_name_it(library):
    library.commit("faster", **{"lib.py": LIBRARY.replace("return n", "return n + 0")})
    found = last(library)
    assert found.functions == {"lib.py:work"} and not found.unseen and not found.loaded
    ran = Reach("0" * 40, frozenset({"lib.py:work", "lib.py:<module>"}))
    assert ran.touched(found) == {"lib.py:work"}
    assert not Reach("0" * 40, frozenset({"lib.py:other"})).touched(found)


def test_what_runs_outside_of_functions_touches_whoever_loads_the_file(library):
    library.commit("constant", **{"lib.py": f"N = 1\n{LIBRARY}"})
    assert Reach("0" * 40, frozenset(), frozenset({"lib.py:<module>"})).touched(last(library)) == {
        "lib.py:<module>"
    }


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("README.md", "# The library\n"),
        ("docs/conf.py", "x = 1\n"),
        ("CHANGES", "1.1\n"),
        (".github/workflows/tests.yml", "on: push\n"),
        ("lib.py", f'"""A library."""\n{LIBRARY}'),
        ("setup.py", "from setuptools import setup\nsetup(version='2')\n"),
        ("perf-accepted.toml", ""),
        ("__pycache__/lib.cpython-311.pyc", "x"),
        ("tests/.gitignore", "*.o\n"),
        ("docs/_static/logo.png", "png"),
        ("conda.recipe/meta.yaml", "version: 2\n"),
        (".binstar.yml", "user: a\n"),
        ("setup.py", "from setuptools import setup\nsetup(version='1', python_requires='>=3.8')\n"),
    ],
)
def test_documents_and_descriptions_are_nothing(library, name, text):
    library.commit("describe", **{name: text})
    assert nothing(last(library))


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("data/words.csv", "a,b\n", "who reads it is not known"),
        (
            "setup.py",
            "from setuptools import setup\nsetup(version='1', ext_modules=[x])\n",
            "it says how the project is built or run",
        ),
        ("requirements.txt", "numpy\n", "it says which packages are installed"),
        ("a/requirements/dev/x.txt", "a", "it says which packages are installed"),
        ("a/dev-constraints.txt", "a", "it says which packages are installed"),
        ("a/.gitignored", "a", "who reads it is not known"),
        ("perf.toml", "", "it says what is measured"),
        ("lib.py", "def work(:\n", "no parser reads it"),
        ("Makefile", "all:\n", "it says how the project is built or run"),
        ("lib/fast.pyx", "cdef int f(): pass\n", "who reads it is not known"),
        (".hidden/words", "a", "who reads it is not known"),
        (".hidden/py.typed.words", "a", "who reads it is not known"),
        ("conda.yaml", "a", "it says which packages are installed"),
    ],
)
def test_what_cannot_be_seen_has_a_reason(library, name, text, why):
    library.commit("change", **{name: text})
    (file,) = last(library).unseen
    assert (file.path, file.why) == (name, why)


def test_a_submodule_and_a_link_cannot_be_seen(library):
    (library.root / "link.py").symlink_to("lib.py")
    library.git(
        "update-index", "--add", "--cacheinfo", f"160000,{library.git('rev-parse', 'HEAD')},part"
    )
    library.git("add", "link.py")
    library.git("commit", "--quiet", "--message", "both")
    assert {(file.path, file.why) for file in last(library).unseen} == {
        ("link.py", "it is a link"),
        ("part", "a submodule moved"),
    }


def test_a_file_that_comes_or_goes_changes_all_its_functions(library):
    library.commit("another", **{"more.py": LIBRARY})
    assert (
        last(library).functions == {"more.py:work", "more.py:other"}
        and last(library).files[0].added
    )
    library.git("rm", "--quiet", "more.py")
    library.commit("gone")
    assert (
        last(library).functions == {"more.py:work", "more.py:other"}
        and last(library).files[0].removed
    )


def test_the_working_tree_counts_where_it_is_asked_for(library):
    library.write("lib.py", LIBRARY.replace("return 2", "return 3"))
    library.write("new.py", "def f(): pass\n")
    library.write(".perf/x", "")
    found = Project.find(library.root)
    head = found.resolve("HEAD")
    assert nothing(changes(found, head, head))
    working = changes(found, head, head, working=WorkingChanges(found))
    assert working.functions == {"lib.py:other", "new.py:f"}
    library.commit("committed")
    library.write("lib.py", LIBRARY)
    assert changes(found, head, found.resolve("HEAD"), working=WorkingChanges(found)).functions == {
        "new.py:f"
    }, "and undone again"


def test_what_many_commits_change_is_what_each_of_them_changes(library):
    start = library.git("rev-parse", "HEAD")
    for number in range(20):
        library.commit(
            f"{number}", **{"lib.py": LIBRARY.replace("return n", f"return n + {number}")}
        )
    library.commit("nothing at all")
    library.git("rm", "--quiet", "lib.py")
    library.commit("gone", **{"odd \t name.c": "int f(void) { return 1; }\n", "data.bin": "x"})
    library.git("checkout", "--quiet", "-b", "side", start)
    library.commit("aside", **{"README.md": "# Another\n"})
    library.git("checkout", "--quiet", "main")
    library.git("merge", "--quiet", "--no-ff", "-m", "merge", "side")
    project = Project.find(library.root)
    main = library.git("rev-list", "--first-parent", "--reverse", "HEAD").split()
    for commits in (main, [library.git("rev-parse", "side"), main[-1]]):
        assert each(project, [*pairwise(commits)]) == [
            changes(project, *pair) for pair in pairwise(commits)
        ]


def test_of_more_sources_than_are_read_those_commits_come_first_that_change_little(library):
    library.commit("both", **{"large.py": f"x = 1\n# {'x' * 5000}\n", "lib.py": LIBRARY})
    library.commit("large", **{"large.py": f"x = 2\n# {'x' * 5000}\n", "notes.md": "a"})
    library.commit("small", **{"lib.py": LIBRARY.replace("return n", "return n + 1")})
    project = Project.find(library.root)
    commits = library.git("rev-list", "--reverse", "--max-count=3", "HEAD").split()
    large, small = each(project, [*pairwise(commits)], 1000)
    assert small.functions == {"lib.py:work"}
    assert [(file.path, file.why, file.matters) for file in large.files] == [
        ("large.py", UNREAD, True),
        ("notes.md", "", False),
    ]
    assert each(project, [*pairwise(commits)], 20_000) == each(project, [*pairwise(commits)])
    assert [
        file.why for one in each(project, [*pairwise(commits)], 0) for file in one.files if file.why
    ] == [UNREAD, UNREAD]


def test_a_suspect_commit_names_sources_before_other_files(library):
    library.commit("more", **{"docs/manual.yml": "a: 1\n", "Makefile": "all:\n", "lib.h": ""})
    library.commit(
        "all",
        **{
            "docs/manual.yml": "a: 2\n",
            "Makefile": "all: lib\n",
            "lib.h": "#define SIZE 2\n",
            "lib.py": LIBRARY.replace("return 2", "return 3"),
        },
    )
    assert suspect("HEAD", last(library), None).reasons == (
        "lib.h",
        "lib.py:other",
        "Makefile (it says how the project is built or run)",
        "docs/manual.yml (who reads it is not known)",
    )
