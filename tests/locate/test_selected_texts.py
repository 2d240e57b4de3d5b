"""What Python reads of its own sources and beside them keeps benchmarks: docstrings, annotations,
the order of imports, unnamed files.
"""

from __future__ import annotations

import pytest

OTHER = "import lib\n"
JOBS = (
    '[[job]]\nname = "w"\ncmd = "python work.py"\n[[job]]\nname = "other"\ncmd = "python'
    ' other.py"\n'
)
LIB = '"""A library."""\ndef f(x: int):\n    """Old."""\n    return x\n'


@pytest.fixture
def kept(project, perf):
    """Which of the jobs ``w`` and ``other`` are kept where a file changes from one text to
    another.
    """

    def kept(changed: str, old: str | None, new: str, **files: str) -> set[str]:
        before = {
            "perf.toml": JOBS,
            "work.py": "import lib\n",
            "other.py": OTHER,
            "lib.py": LIB,
            **files,
        }
        project.commit("first", **(before if old is None else before | {changed: old}))
        project.commit("change", **{changed: new})
        found = perf("select", "--json", "HEAD~1..HEAD").document
        return {row["benchmark"] for row in found["benchmarks"] if row["run"]}

    return kept


DOCSTRING = LIB.replace("Old", "New")
ANNOTATION = LIB.replace("x: int", "x: str")


READS_DOCSTRINGS = [
    "import lib\nprint(lib.f.__doc__)\n",
    "import inspect, lib\ndef run(): return inspect.getdoc(lib.f)\nrun()\n",
    "import ply.yacc, lib\nply.yacc.yacc(module=lib)\n",
]
READS_ANNOTATIONS = [
    "import lib\ndef run(): return lib.f.__annotations__\nrun()\n",
    "import typing, lib\nprint(typing.get_type_hints(lib.f))\n",
]
READS_SOURCES = ["import inspect, lib\nprint(inspect.getsource(lib))\n"]


@pytest.mark.parametrize(
    ("work", "new"),
    [
        *(
            (work, new)
            for work in READS_DOCSTRINGS
            for new in (DOCSTRING, LIB.replace("A library", "New"))
        ),
        *((work, ANNOTATION) for work in READS_ANNOTATIONS),
        *((work, new) for work in READS_SOURCES for new in (DOCSTRING, ANNOTATION, f"# so\n{LIB}")),
    ],
)
def test_who_reads_docstrings_or_annotations_is_kept(kept, work, new):
    assert kept("lib.py", LIB, new, **{"work.py": work}) == {"w"}


@pytest.mark.parametrize(
    "work",
    [
        READS_DOCSTRINGS[0].replace("import lib", "lib = None"),  # of others
        "import lib\ndef g(): pass\ng.__doc__ = lib.f.__doc__\n",  # which only hands them on
    ],
)
def test_who_reads_other_docstrings_is_not_kept(kept, work):
    assert kept("lib.py", LIB, DOCSTRING, **{"work.py": work}) == set()


@pytest.mark.parametrize("new", [DOCSTRING, ANNOTATION, f"# so\n{LIB}"])
def test_docstrings_and_annotations_that_nobody_reads_keep_none(kept, new):
    assert kept("lib.py", LIB, new) == set()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("def f(x: spin(1)): pass\n", "def f(x: spin(90000)): pass\n"),
        ("def f(x) -> [i for i in range(1)]: pass\n", "def f(x) -> [i for i in range(9)]: pass\n"),
        ("def g():\n    def f(x: spin(1)): pass\n", "def g():\n    def f(x: spin(2)): pass\n"),
    ],
)
def test_an_annotation_that_computes_counts(kept, old, new):
    assert "w" in kept("lib.py", old, new, **{"work.py": "from lib import *\nimport lib\nlib.g\n"})


A, B = "import state\nstate.value = 1\n", "import state\nstate.value = 2\n"


def test_the_order_of_imports_that_set_one_thing_counts(kept):
    modules = {"a.py": A, "b.py": B, "state.py": ""}
    assert kept("work.py", "import a\nimport b\n", "import b\nimport a\n", **modules) == {"w"}


def test_an_import_before_what_it_may_see_counts(kept):
    modules = {"a.py": "import os\nX = 1\nprint(os.environ)\n"}
    old, new = (
        "import os\nos.putenv('A', 'b')\nimport a\n",
        "import os\nimport a\nos.putenv('A', 'b')\n",
    )
    assert kept("work.py", old, new, **modules) == {"w"}


def test_the_order_of_other_imports_does_not_count(kept):
    modules = {"a.py": "def f(): pass\n", "b.py": "X = 1\n"}
    assert (
        kept(
            "work.py",
            "import os\nimport a\nimport b\n",
            "import b\nimport a\nimport os\n",
            **modules,
        )
        == set()
    )


@pytest.mark.parametrize(
    ("work", "changed"),
    [
        ("exec(open('code' + '.py').read())\n", "code.py"),
        ("print(open('helper.py').read())\n", "helper.py"),
        ("name = 'a'\nprint(open(f'docs/{name}.md').read())\n", "docs/a.md"),
        ("print(open('docs/%s.md' % 'a').read())\n", "docs/a.md"),
        ("import glob\nfor one in glob.glob('docs/*'): print(open(one).read())\n", "docs/a.md"),
        ("import os\ndef run():\n    for one in os.walk('docs'): print(one)\nrun()\n", "docs/a.md"),
        ("print(open('setup.cfg').read())\n", "setup.cfg"),
        ("import tomllib\nprint(tomllib.load(open('pyproject.toml', 'rb')))\n", "pyproject.toml"),
    ],
)
def test_who_opens_what_it_does_not_name_in_full_is_kept(kept, work, changed):
    texts = {
        "setup.cfg": ("[metadata]\nversion = 1\n", "[metadata]\nversion = 2\n"),
        "pyproject.toml": ('[project]\nversion = "1"\n', '[project]\nversion = "2"\n'),
    }
    old, new = texts.get(changed, ("X = 1 # a\n", "X = 1 # b\n"))
    assert kept(changed, old, new, **{"work.py": work}) == {"w"}


@pytest.mark.parametrize(
    "work",
    [
        'fopen("docs/" "a" ".md", "r");',
        'opendir("docs");',
        'sprintf(path, "docs/%s.md", words[1]);',
    ],
)
def test_a_program_in_c_that_opens_what_it_does_not_name_is_kept(kept, work):
    files = {"w.c": f"int main(int n, char **words) {{ char path[99]; {work} return 0; }}\n"}
    files["perf.toml"] = JOBS.replace("python work.py", "./w")
    assert kept("docs/a.md", "1\n", "2\n", **files) == {"w"}


@pytest.mark.parametrize(
    ("path", "expected"), [("copyreg.py", {"w", "other"}), ("src/json/__init__.py", {"w", "other"})]
)
def test_a_new_module_in_the_place_of_python_s_own_keeps_all(kept, path, expected):
    assert kept(path, None, "X = 1\n") == expected


@pytest.mark.parametrize("path", ["pkg/copyreg.py", "mine.py"])
def test_another_new_module_keeps_none(kept, path):
    assert kept(path, None, "X = 1\n", **{"pkg/__init__.py": ""}) == set()
