"""What perf.toml and the files of the build name is read, whatever it looks like."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Project, Said

from perfvcs.git.project import Project as Git
from perfvcs.jobs.config import load
from perfvcs.locate.select.named import NamedFiles
from perfvcs.locate.sources.differences import changes

Perf = Callable[..., Said]

RULES = 'build = ["make DOC=notes.rst"]\n[[job]]\nname = "w"\ncmd = "./w --file=LICENSE"\nworkloads = ["sample.md"]\n'
MAKEFILE = "include .github/n.mk\nw: w.c gen.py\n\tpython3 gen.py > gen.h\n\tcc w.c -o w\n"
FILES = {
    "perf.toml": RULES,
    "Makefile": MAKEFILE,
    "pyproject.toml": '[project]\nname = "w"\nreadme = "README.md"\n',
    "w.c": '#include "gen.h"\nint main(void) { return 0; }\n',
    "gen.py": "print('#define N 1')\n",
    "other.py": "print(1)\n",
}
NAMED = {
    "sample.md": "perf.toml",
    "notes.rst": "perf.toml",
    "LICENSE": "perf.toml",
    ".github/n.mk": "Makefile",
    "gen.py": "Makefile",
}
NOT_NAMED = ("README.md", "other.py", "docs/my-sample.md", ".github/workflow.yml")


def noted(project: Project, path: str) -> str:
    """Why any benchmark may notice that a file changed."""
    project.commit("before", **FILES)
    (project.root / path).parent.mkdir(exist_ok=True, parents=True)
    old = project.commit("with it", **{path: "a = 1\n"})
    new = project.commit("changed", **{path: "a = 2\n"})
    git = Git.find()
    found = NamedFiles(git, [old, new], load(Path("perf.toml"))).noted(changes(git, old, new))
    (file,) = found.files
    return file.why


@pytest.mark.parametrize(("path", "by"), NAMED.items(), ids=NAMED.keys())
def test_what_is_named_may_be_noticed_by_any(project: Project, path: str, by: str) -> None:
    assert noted(project, path) == f"{by} names it"


@pytest.mark.parametrize("path", NOT_NAMED)
def test_other_documents_and_programs_are_not(project: Project, path: str) -> None:
    assert noted(project, path) == ""


def test_a_document_that_a_job_reads_is_measured(project: Project, perf: Perf) -> None:
    rules = '[[job]]\nname = "read"\ncmd = "cat sample.md"\nexecutions = 1\nwarmup = 0\n'
    project.commit("one", **{"perf.toml": rules, "sample.md": "x\n"})
    project.write("sample.md", "x\n" * 9)
    said = perf("check", "--measure", "-n", "1", code=None)
    assert "HEAD and its changes in sample.md" in said.out
    project.commit("two")
    assert "can be touched (1)" in perf("select").out
