"""Why a proposal does not run is said in the line that says so, and what fails for one cause is tried
once.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from conftest import Perf, Project

from perfvcs.jobs.pythonoffers import PYTEST
from perfvcs.jobs.starter import Proposal
from perfvcs.launcher.execution import says_why
from perfvcs.measure.reason import Reason


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "run on 1: python run.py exited with status 1: Traceback | File x | import y"
            " | ModuleNotFoundError: No module named 'y'",
            "ModuleNotFoundError: No module named 'y'",
        ),
        (
            "the build failed: `make` exited with status 2: a.c:1: fatal error: z.h: No such file"
            " | compilation terminated. | make: *** [Makefile:3: a] Error 1 (log: /x/y.log)",
            "the build failed: `make` exited with status 2: a.c:1: fatal error: z.h: No such file",
        ),
        ("it takes more than 120 s", "it takes more than 120 s"),
        (
            "a on 1: ruby a.rb exited with status 1: a.rb:1:in `require': cannot load such file -- z"
            " (LoadError) | from a.rb:1:in `<main>' (submodule `z` is left empty (git submodule"
            " failed: no access))",
            "a on 1: ruby a.rb exited with status 1: a.rb:1:in `require': cannot load such file -- z"
            " (LoadError) (submodule `z` is left empty (git submodule failed: no access))",
        ),
    ],
)
def test_the_line_that_says_why_is_kept(text: str, said: str) -> None:
    assert str(Reason(text)) == said


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("lua: a.lua:4: failed to load 'b.lua'", True),
        ("[C]: in function 'error'", False),
        ("make: *** [Makefile:3: all] Error 1", False),
        ("Can't locate File/Next.pm in @INC", True),
        ("stack traceback:", False),
    ],
)
def test_lines_that_say_why(line: str, *, why: bool) -> None:
    assert says_why(line) == why


@pytest.mark.needs("make")
def test_a_dependency_that_cannot_be_downloaded_is_named(project: Project, perf: Perf) -> None:
    """Cargo says it in the first line, and then one cause of the other."""
    cause = "  download of config.json failed\n\nCaused by:\n"
    printed = f"error: failed to get `tally` as a dependency of `mark`\n\nCaused by:\n{cause * 9}"
    makefile = "all:\n\t@cat printed >&2; false\ncheck: all\n"
    project.commit(Makefile=makefile, printed=f"{printed}  [6] Could not resolve host\n")
    said = perf("init", "--yes")
    assert "it does not run: tally is missing: [6] Could not resolve host" in said.err


def test_files_that_cannot_be_collected_are_known() -> None:
    text = (
        "python -m pytest tests could not collect its tests: tests/a.py: No module named 'six';"
        " tests/b/c.py: NameError: x: correct them, or leave them out with --ignore"
    )
    assert Reason(text).files == ["tests/a.py", "tests/b/c.py"]
    assert Reason(text).module == "six"


def test_a_test_file_that_cannot_be_collected_is_left_out(
    project: Project, perf: Perf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    project.write("tests/test_good.py", "def test_good():\n    pass\n")
    project.write("tests/test_bad.py", "import no_such_module_here\n")
    project.commit(**{"a.py": "x = 1\n" * 9})
    said = perf("init", "--yes")
    assert "  leaving out tests/test_bad.py: nothing in the project asks for" in said.err
    assert (
        'cmd = "python -m pytest tests --ignore=tests/test_bad.py"'
        in (project.root / "perf.toml").read_text()
    )
    assert PYTEST in (project.root / "perf.toml").read_text()


@pytest.mark.needs("make")
def test_what_fails_for_one_cause_is_not_tried_a_third_time(project: Project, perf: Perf) -> None:
    makefile = "all:\n\t@echo no such host: example >&2; false\ncheck: all\ntest: all\ntests: all\n"
    project.commit(Makefile=makefile)
    said = perf("init", "--yes")
    assert said.err.count("trying ") == 1
    assert said.err.count("no such host") == 1


def test_a_python_that_is_not_here_is_named_once(project: Project, perf: Perf) -> None:
    project.write("tests/test_a.py", "def test_a():\n    pass\n")
    project.write("benchmarks/test_b.py", "def test_b():\n    pass\n")
    project.commit(**{"pyproject.toml": '[project]\nname = "a"\nrequires-python = ">=3.29"\n'})
    said = perf("init", "--yes")
    assert said.err.count("trying ") == 1
    assert "there is no Python 3.29 here" in said.err
    assert 'versions = ["3.29"]' in (project.root / "perf.toml").read_text()


def test_what_runs_before_a_command_is_shown_as_it_would_be_typed() -> None:
    proposal = Proposal(
        "x", "y", "z", python=(".[test]",), requires=("pytest",), versions=("3.13",)
    )
    assert proposal.preparation == ("python3.13 -m pip install pytest '.[test]'",)
