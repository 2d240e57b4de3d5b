"""What needs a tool is skipped where that is missing, in one line for each; a fresh system is built
only where that can be done.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

TOOLS = """
import pytest
from conftest import ROOT, lack, need

@pytest.mark.needs("sh", "no-such-tool")
@pytest.mark.parametrize("number", range(3))
def test_marked(number): pass

@pytest.mark.needs("no-such-header.h")
def test_header(): pass

@pytest.fixture
def tool(): need("no-such-tool")
def test_fixture(tool): pass

@pytest.mark.unless("a right")
def test_reason(): pass
@pytest.mark.unless(None)
def test_no_reason(): pass

@pytest.mark.needs("sh")
def test_present(): pass
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    (tmp_path / "test_tools.py").write_text(TOOLS)
    return tmp_path


def pytest_in(folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-c",
        str(ROOT / "pyproject.toml"),
        "--rootdir",
        str(folder),
        "-p",
        "no:cacheprovider",
    ]
    env |= {"PYTEST_DEBUG_TEMPROOT": str(folder)}
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("COVERAGE", "PERFVCS", "PYTEST"))
    }
    return subprocess.run(
        [*command, str(folder)],
        cwd=folder,
        env=kept | env,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_a_missing_tool_is_one_line_however_many_tests_need_it(folder: Path) -> None:
    done = pytest_in(folder)
    assert done.returncode == 0, done.stdout
    assert [line for line in done.stdout.splitlines() if line.startswith("SKIPPED")] == [
        "SKIPPED [4] missing here: no-such-tool",
        "SKIPPED [1] missing here: no-such-header.h",
        "SKIPPED [1] missing here: a right",
    ]
    assert "2 passed, 6 skipped" in done.stdout


@pytest.mark.slow
def test_a_missing_tool_fails_where_skipping_is_forbidden(folder: Path) -> None:
    done = pytest_in(folder, PERFVCS_NO_SKIP="1")
    assert done.returncode == 1
    assert (
        "missing here: no-such-tool, and skipping is forbidden" in done.stdout
        and "2 passed, 6 errors" in done.stdout
    )


@pytest.mark.slow
def test_make_test_learns_how_many_were_skipped(folder: Path) -> None:
    pytest_in(folder, COVERAGE_FILE=str(folder / ".coverage"))
    assert (folder / ".coverage-skipped").read_text() == "6\n"
    (folder / ".coverage-skipped").unlink()
    (folder / "test_tools.py").write_text(
        "import pytest\n\ndef test_own(): pytest.skip('of its own accord')\n"
    )
    pytest_in(folder, COVERAGE_FILE=str(folder / ".coverage"))
    assert not (folder / ".coverage-skipped").exists()


SETTINGS = {
    "FORCE_COLOR": "1",
    "LC_ALL": "C",
    "LC_TIME": "C",
    "LANGUAGE": "de",
    "TZ": "Asia/Tokyo",
    "CDPATH": "/",
    "GIT_DIR": "/",
}


@pytest.mark.slow
def test_settings_of_the_caller_reach_no_test(folder: Path) -> None:
    text = (
        f"import os, time\n\ndef test_none(): assert not {set(SETTINGS)} & set(os.environ) and"
        " time.tzname[0] != 'JST'\n"
    )
    (folder / "test_tools.py").write_text(text)
    done = pytest_in(folder, **SETTINGS)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("user", "there", "cure"),
    [
        (
            "1000",
            ["apt-get", "debootstrap"],
            "a system can only be built by root: sudo -E make fresh",
        ),
        ("0", ["debootstrap"], "this needs apt: run it on Debian, Ubuntu or the like"),
        ("0", ["apt-get"], "debootstrap is missing: apt-get install debootstrap"),
    ],
)
def test_a_fresh_system_that_cannot_be_built_names_the_cure(
    tmp_path: Path, user: str, there: list[str], cure: str
) -> None:
    (tmp_path / "dirname").symlink_to("/usr/bin/dirname")
    for name, says in {"id": user, **dict.fromkeys(there, "")}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\necho {says}\n")
        (tmp_path / name).chmod(0o755)
    done = subprocess.run(
        ["/bin/bash", ROOT / ".ci" / "fresh"],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"make fresh: {cure}\n")
